"""Listeners are called with the number of texts that are embedded, and can end the call."""

from pathlib import Path

import pytest

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.embedding.embedder import EMBED_BATCH_SIZE, on_embedded_texts
from langchain_sentence_window.testing.material import Way
from tests.toys import WordEmbeddings, document

LONG = document(" ".join(f"A card has {i} sides." for i in range(2 * EMBED_BATCH_SIZE + 10)), "long")


async def test_a_listener_is_called_for_each_batch_and_can_end_the_call(tmp_path: Path, way: Way) -> None:
    class StopError(Exception):
        pass

    def stop(count: int) -> None:
        raise StopError

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings(), tmp_path), ranking=None)
    await way(retriever, "add_documents", [document("A seat.", "long")])
    with pytest.raises(StopError), on_embedded_texts(stop):
        await way(retriever, "add_documents", [LONG])
    (kept,) = retriever.documents()
    assert kept.sentences == 1
    counts: list[int] = []
    with on_embedded_texts(counts.append):
        await way(retriever, "add_documents", [LONG])
    await way(retriever, "add_documents", [document("A trial.", "other")])
    assert counts == [EMBED_BATCH_SIZE, EMBED_BATCH_SIZE, 10]
