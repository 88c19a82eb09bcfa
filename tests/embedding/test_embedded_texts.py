"""Who listens hears of every text that is embedded, and can end the call."""

from pathlib import Path

import pytest

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.embedding.embedder import EMBED_BATCH_SIZE, count_texts, counted_texts, on_embedded_texts
from langchain_sentence_window.testing.material import Way
from tests.toys import WordEmbeddings, document

LONG = document(" ".join(f"A card has {i} sides." for i in range(2 * EMBED_BATCH_SIZE + 10)), "long")


def retriever_at(folder: Path) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings(), folder), ranking=None)


async def test_texts_are_heard_as_they_are_embedded(tmp_path: Path, way: Way) -> None:
    heard: list[int] = []
    with on_embedded_texts(heard.append):
        await way(retriever_at(tmp_path), "add_documents", [LONG])
    assert heard == [EMBED_BATCH_SIZE, EMBED_BATCH_SIZE, 10]


async def test_an_error_of_the_listener_ends_the_call_and_changes_nothing(tmp_path: Path, way: Way) -> None:
    class StopError(Exception):
        pass

    def stop(count: int) -> None:
        raise StopError

    retriever = retriever_at(tmp_path)
    retriever.add_documents([document("A seat.", "long")])
    with pytest.raises(StopError), on_embedded_texts(stop):
        await way(retriever, "add_documents", [LONG])
    (kept,) = retriever.documents()
    assert kept.sentences == 1
    await way(retriever, "add_documents", [LONG])  # nobody listens any more
    assert retriever.documents()[0].sentences == 2 * EMBED_BATCH_SIZE + 10


def test_listening_ends_with_its_block_and_counting_goes_on_within() -> None:
    heard: list[int] = []
    with on_embedded_texts(heard.append), counted_texts() as texts:
        count_texts(3)
    count_texts(5)
    assert (heard, texts.count) == ([3], 3)
