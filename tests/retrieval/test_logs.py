"""The package's logger: one line for a query, and one for an ingest."""

import logging
import re

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

NAME = "langchain_sentence_window"
TIME = r"\d+\.\d{3}"


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    found = [(each.levelname, each.getMessage()) for each in caplog.records if each.name == NAME]
    caplog.clear()
    assert all("\n" not in message for _, message in found)
    return found


def assert_one(caplog: pytest.LogCaptureFixture, level: str, pattern: str) -> None:
    ((name, message),) = records(caplog)
    assert name == level
    assert re.fullmatch(pattern, message), message


async def test_a_query_and_an_ingest_are_one_line_each(
    words: WordEmbeddings, way: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    texts = {"zebra.md": "A refund for a card. A secret.", "gnu.md": "A seat. A trial.", "yak.md": "A page. A backup."}
    documents = [Document(page_content=text, metadata={"source": name}) for name, text in texts.items()]
    retriever = SentenceWindowRetriever.from_documents(documents, words, k=2)
    caplog.set_level(logging.DEBUG, NAME)
    await way(retriever, "invoke", "refund")
    stages = rf"in {TIME} s \(search {TIME}, windows {TIME}\)"
    assert_one(caplog, "DEBUG", rf".* returned 2 windows, of 3 found around 6 hits, {stages}; relevance 1\.00")
    await way(retriever, "invoke", "What of zebra.md?", filter={"source": "zebra.md"}, k=1, min_relevance="auto")
    assert_one(caplog, "DEBUG", rf"the query 'What of zebra.md\?' under a filter returned 1 window, of .* {stages}.*")
    await way(retriever, "invoke", "What does zebra.md say?")
    assert_one(caplog, "DEBUG", rf"the query .* {stages}; it names 'zebra.md'")
    long = f"refund {'x' * 500}\n secret"
    await way(retriever, "invoke", long)
    (_, message), *_ = records(caplog)
    assert "(515 characters)" in message
    assert "secret" not in message
    await way(retriever, "explain", "refund")
    assert len(records(caplog)) == 1
    await way(retriever, "add_documents", [document("A refund. A card.")])
    assert_one(caplog, "INFO", rf"added 1 document of 2 sentences to FaissStore in {TIME} s")
