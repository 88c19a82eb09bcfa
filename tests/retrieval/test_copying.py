"""`copy_index`: an index is copied to another store with its vectors."""

from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, acopy_index, copy_index
from langchain_sentence_window.errors import IndexMismatchError, InvalidInputError
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.forms import Invoke
from tests.toys import WordEmbeddings

DOCUMENTS = [
    Document(
        "# Cards\n\nA card. It is refused.\n\n# Seats\n\nA seat. It is free.", id=f"d{number}", metadata={"n": number}
    )
    for number in range(40)
]


class Copying:
    copy_index, acopy_index = staticmethod(copy_index), staticmethod(acopy_index)


def filled(store: VectorStore) -> VectorStore:
    SentenceWindowRetriever(vectorstore=store).add_documents(DOCUMENTS)
    return store


def whole(store: VectorStore) -> list[dict[str, Any]]:
    names = [each.id or "" for each in DOCUMENTS]
    return [each.model_dump() for each in SentenceWindowRetriever(vectorstore=store).get(names)]


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
async def test_sentences_are_copied_with_their_vectors(way: Invoke, kind: Any, words: WordEmbeddings) -> None:
    source = filled(kind(words))
    before, target = len(words.embedded), FaissStore(words)
    assert await way(Copying, "copy_index", source, target) == len(target) == 6 * len(DOCUMENTS)
    assert len(words.embedded) - before <= 5, "no more than a sample is embedded"
    assert whole(target) == whole(source)
    if kind is InMemoryVectorStore:  # FaissStore embeds under headings
        for documents, vectors in target.export():
            expected = np.array([words.vector(each.page_content) for each in documents])
            assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-3)


def test_a_faiss_store_is_copied_to_another_store(words: WordEmbeddings) -> None:
    source, target = filled(FaissStore(words)), InMemoryVectorStore(NeighborMixedEmbeddings(words))
    assert copy_index(source, target) == len(target.store) == 6 * len(DOCUMENTS)
    assert whole(target) == whole(source)


class OtherWords(WordEmbeddings):
    def vector(self, text: str) -> list[float]:
        return super().vector(text)[::-1]


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
async def test_another_embedder_is_refused(way: Invoke, kind: Any, words: WordEmbeddings) -> None:
    target = FaissStore(OtherWords())
    with pytest.raises(IndexMismatchError, match="the target embeds with .*Nothing was copied"):
        await way(Copying, "copy_index", filled(kind(words)), target)
    assert len(target) == 0


def test_stores_that_cannot_be_copied_say_why(words: WordEmbeddings) -> None:
    mixed, plain = InMemoryVectorStore(NeighborMixedEmbeddings(words)), InMemoryVectorStore(words)
    for source, target, message in (
        (filled(mixed), FaissStore(words), "with the headings and neighbors of sentences.*Nothing was copied"),
        (plain, plain, "source and target are the same InMemoryVectorStore"),
        (FaissStore(words), plain, r"can't be handed vectors.*NeighborMixedEmbeddings\(embedding\)"),
        ("chroma", plain, "source is 'chroma'"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            copy_index(source, target)  # type: ignore[arg-type]
