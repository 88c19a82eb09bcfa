"""The package's logger: one line for a query, and one for an ingest."""

import logging
import re
import subprocess
import sys

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, NeighborMixedEmbeddings, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.ranking.relevance import Relevance
from langchain_sentence_window.retrieval.telemetry import LOGGER, _relevance
from tests.conftest import Invoke
from tests.toys import WordEmbeddings, document

NAME = "langchain_sentence_window"
TIME = r"\d+\.\d{3}"


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    found = [(each.levelname, each.getMessage()) for each in caplog.records if each.name == NAME]
    caplog.clear()
    assert all("\n" not in message for _, message in found)
    return found


def assert_one(caplog: pytest.LogCaptureFixture, level: str, pattern: str) -> None:
    ((told, message),) = records(caplog)
    assert told == level
    assert re.fullmatch(pattern, message), message


async def test_a_query_is_told_in_one_line(
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


async def test_what_the_question_supports_is_told(
    words: WordEmbeddings, way: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = SentenceWindowRetriever.from_documents([document("A refund. A card.")], words, min_relevance="auto")
    caplog.set_level(logging.DEBUG, NAME)
    await way(retriever, "invoke", "refund")
    assert_one(caplog, "DEBUG", r"the query .*\); relevance \d\.\d\d")
    assert _relevance(Relevance(0.5, 1, {})) == "; relevance 0.50"
    assert _relevance(Relevance(0.01, 0, {})) == "; relevance 0.01, so nothing is returned"


@pytest.mark.parametrize(
    ("store", "embedded"),
    [
        (FaissStore, [3, 1, 0]),
        (InMemoryVectorStore, [3, 3, 3]),
        (lambda words: InMemoryVectorStore(NeighborMixedEmbeddings(words)), [3, 3, 3]),
    ],
    ids=["FaissStore", "InMemoryVectorStore", "mixed"],
)
async def test_an_ingest_is_told_in_one_line(
    store: object, embedded: list[int], words: WordEmbeddings, way: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    assert callable(store)
    held = store(words)
    retriever = SentenceWindowRetriever(vectorstore=held)
    caplog.set_level(logging.INFO, NAME)
    name = type(held).__name__
    for (text, replaced), texts in zip(
        (("A refund. A card. A seat.", 0), ("A refund. A card. A secret.", 1), ("A refund. A card. A secret.", 1)),
        embedded,
        strict=True,
    ):
        before = len(words.embedded)
        await way(retriever, "add_documents", [document(text)])
        assert len(words.embedded) - before == texts
        assert_one(
            caplog,
            "INFO",
            rf"added 1 document of 3 sentences to {name} in {TIME} s: embedded {texts} texts?, replaced {replaced} "
            "documents?",
        )
    await way(retriever, "invoke", "refund")
    assert records(caplog) == []


async def test_what_is_not_known_is_not_told(
    words: WordEmbeddings, way: Invoke, caplog: pytest.LogCaptureFixture
) -> None:
    class WithoutIds(InMemoryVectorStore):
        def get_by_ids(self, ids: object, /) -> list[Document]:
            raise NotImplementedError

        async def aget_by_ids(self, ids: object, /) -> list[Document]:
            raise NotImplementedError

    splitter = SentenceSplitter(inline_window=1)
    retriever = SentenceWindowRetriever(vectorstore=WithoutIds(words), splitter=splitter)
    caplog.set_level(logging.INFO, NAME)
    await way(retriever, "add_documents", [document("A refund.")])
    assert_one(caplog, "INFO", rf"added 1 document of 1 sentence to WithoutIds in {TIME} s: embedded 1 text")


def test_nothing_is_read_or_written_for_a_logger_that_is_off(
    words: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store)
    monkeypatch.setattr(LOGGER, "disabled", True)
    monkeypatch.setattr(store, "get_by_ids", lambda ids: pytest.fail("the store was asked for a log"))
    retriever.add_documents([document("A refund.")])


@pytest.mark.process
@pytest.mark.slow
def test_a_program_that_configures_no_logging_hears_nothing() -> None:
    code = (
        "import logging\n"
        "from tests.toys import WordEmbeddings, document\n"
        "from langchain_sentence_window import SentenceWindowRetriever\n"
        "logging.getLogger('langchain_sentence_window').setLevel(logging.DEBUG)\n"
        "SentenceWindowRetriever.from_documents([document('A refund.')], WordEmbeddings()).invoke('refund')\n"
        "logger = logging.getLogger('langchain_sentence_window')\n"
        "assert [type(each).__name__ for each in logger.handlers] == ['NullHandler'], logger.handlers\n"
        "assert not logging.getLogger().handlers\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
