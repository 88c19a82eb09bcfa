"""The vectors of a store are all of one embedder, though others open it."""

import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, copy_index
from langchain_sentence_window.embedding.identity import describe_embedder
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.errors import IndexMismatchError, StoreError
from tests.store.folders import DATABASE
from tests.torture.corpus import DIMENSION, TextEmbeddings, Vectors


class ModelEmbeddings(TextEmbeddings):
    """A model whose vectors differ from those of any other; it can be interrupted after some calls."""

    def __init__(self, model: str, size: int = DIMENSION, kind: str = "described") -> None:
        super().__init__(size)
        self.name = model
        del self.model
        if kind == "described":
            self.model = model
        self._calls_left = sys.maxsize

    def interrupt_after(self, calls: int) -> None:
        self._calls_left = calls

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self._calls_left:
            raise KeyboardInterrupt
        self._calls_left -= 1
        return super().embed_documents(texts)

    def vector(self, text: str) -> Vectors:
        return super().vector(f"{self.name} says {text}")


KINDS = ("described", "private")
"""Whether the embedder's name shows its model."""

PAGES = [Document(page_content=f"page {number}", id=str(number)) for number in range(60)]
MANY = [Document(page_content=f"page {number}", id=str(number)) for number in range(600)]
"""More than an embedder is given at once."""


def pair(kind: str, size: int = 32) -> tuple[ModelEmbeddings, ModelEmbeddings]:
    """Return two models, whose names are the same unless the kind is ``described``."""
    first, second = ModelEmbeddings("A", 32, kind), ModelEmbeddings("B", size, kind)
    assert (describe_embedder(first) == describe_embedder(second)) == (kind != "described" and size == 32)
    return first, second


def check_vectors(store: FaissStore, embedding: TextEmbeddings, count: int) -> None:
    """Check that a store holds so many documents, each with the vector of an embedder."""
    held = {
        doc.page_content: vector for docs, vectors in store.export() for doc, vector in zip(docs, vectors, strict=True)
    }
    assert len(held) == count
    for text, vector in held.items():
        assert float(vector @ embedding.vector(text)) == pytest.approx(1, abs=1e-3)


def calls(embedding: ModelEmbeddings) -> dict[str, tuple[Any, ...]]:
    """Return the methods that need an embedder or its vectors, with arguments."""
    return {
        "add_texts": (["new"],),
        "add_embeddings": ([Document(page_content="new")], [embedding.vector("new").tolist()]),
        "replace_documents": ([Document(page_content="new", metadata={"doc_id": "new"})], ["new"]),
        "similarity_search": ("page 1",),
        "hybrid_search": ("page 1",),
        "max_marginal_relevance_search": ("page 1",),
    }


@pytest.mark.parametrize(("kind", "size"), [*((kind, 32) for kind in KINDS), ("described", 16)])
def test_vectors_of_an_interrupted_call_are_used_by_their_embedder_alone(kind: str, size: int, tmp_path: Path) -> None:
    first, second = pair(kind, size)
    first.interrupt_after(2)
    with FaissStore(first, tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            store.add_documents(MANY)
        assert (len(store), store.stats().staged_texts) == (0, 512)
    with FaissStore(second, tmp_path) as store:
        store.add_documents(PAGES)
        check_vectors(store, second, 60)
        assert store.stats().staged_texts == 0
        for text in ("page 3", "page 33"):
            ((found, score),) = store.similarity_search_with_score(text, k=1)
            assert found.page_content == text
            assert score == pytest.approx(1, abs=1e-3)
    first.interrupt_after(10)
    with pytest.raises(IndexMismatchError), FaissStore.open(tmp_path, first) as store:
        store.similarity_search("page 3")


@pytest.mark.parametrize("kind", KINDS)
def test_another_embedder_is_refused(kind: str, tmp_path: Path) -> None:
    first, second = pair(kind)
    with FaissStore(first, tmp_path) as store:
        store.add_documents(PAGES)
    for method, given in calls(second).items():
        for _ in range(2):
            with pytest.raises(IndexMismatchError, match="the same text"), FaissStore.open(tmp_path, second) as store:
                getattr(store, method)(*given)  # a described one is refused on opening
    with FaissStore.open(tmp_path, pair(kind)[0]) as store:
        assert store.similarity_search("page 7", k=1)[0].id == "7"
        store.add_texts(["new"])
        check_vectors(store, first, 61)
        with FaissStore(second) as other:
            with pytest.raises(IndexMismatchError):
                copy_index(store, other)
            assert len(other) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_two_embedders_on_an_empty_folder_do_not_both_write(kind: str, tmp_path: Path) -> None:
    first, second = pair(kind)
    with FaissStore(first, tmp_path) as a, FaissStore(second, tmp_path) as b:
        assert b.similarity_search("hello") == []
        a.add_texts(["hello"], ids=["a"])
        for method, given in calls(second).items():
            with pytest.raises(IndexMismatchError, match="holds vectors of .*, and was opened with"):
                getattr(b, method)(*given)
        check_vectors(a, first, 1)
        # An index without sentences takes any embedder, but then not the earlier one.
        a.delete(["a"])
        b.add_texts(["world"], ids=["b"])
        check_vectors(b, second, 1)
        for method, given in calls(first).items():
            with pytest.raises(IndexMismatchError):
                getattr(a, method)(*given)


class Logging(TextEmbeddings):
    """Notes the texts that it embeds; its name says its model if that is a public attribute."""

    def __init__(self, **named: str) -> None:
        super().__init__()
        self.embedded = list[str]()
        del self.model
        vars(self).update(named)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return super().embed_documents(texts)


@pytest.mark.parametrize("named", [{"model": "A"}, {"_model": "A"}], ids=["named", "unnamed"])
def test_texts_are_embedded_again_only_for_embedders_whose_names_say_no_model(
    named: dict[str, str], tmp_path: Path
) -> None:
    added = iter(range(99))

    def embedded_by(embedding: Logging, *names: str) -> list[int]:
        counts = []
        with FaissStore(embedding, tmp_path) as store:
            for name in names:
                before = len(embedding.embedded)
                if name == "search":
                    store.similarity_search("page 1")
                else:
                    store.add_documents(PAGES if name == "ingest" else [Document(page_content=f"new {next(added)}")])
                counts.append(len(embedding.embedded) - before)
        return counts

    is_known = "model" in named
    assert embedded_by(Logging(**named), "search", "ingest", "search", "add", "ingest") == [0, 60, 0, 1, 0]
    assert embedded_by(Logging(**named), "search", "search", "ingest", "add") == [0 if is_known else 5, 0, 0, 1]
    assert embedded_by(Logging(**named), "ingest", "add", "search") == [0, 1 if is_known else 6, 0]


def test_an_emptied_store_takes_vectors_of_another_length(tmp_path: Path) -> None:
    first, second = pair("described", 16)
    with FaissStore(first, tmp_path) as store:
        store.add_documents(PAGES)
        assert store.similarity_search("page 1")
        store.delete(filter={})
        store.save()
    with FaissStore(second, tmp_path) as store:
        assert store.similarity_search("page 1") == []
        store.add_documents(PAGES)
        assert store.similarity_search("page 7", k=1)[0].id == "7"
        check_vectors(store, second, 60)


def test_an_opening_that_is_refused_changes_no_setting(tmp_path: Path) -> None:
    one, other = pair("described")
    with FaissStore(one, tmp_path) as store:
        store.add_texts(["a", "b"])
    with pytest.raises(IndexMismatchError):
        FaissStore(other, tmp_path, index="exact", neighbor_weights=(1,))
    with FaissStore(one, tmp_path) as store:
        assert (store.stats().index, store.stats().neighbor_weights) == ("auto", NEIGHBOR_WEIGHTS)


def test_a_damaged_database_without_vectors_keeps_no_search_waiting(tmp_path: Path) -> None:
    with FaissStore(ModelEmbeddings("A", kind="private"), tmp_path) as store:
        store.add_documents(PAGES)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database, database:
        database.execute("DELETE FROM vectors")
    with FaissStore.open(tmp_path, ModelEmbeddings("A", kind="private")) as store:
        with suppress(StoreError):
            store.similarity_search("page 1")
        assert not store.check().is_sound
