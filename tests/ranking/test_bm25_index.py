"""An index of words beside a store that has none."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.local_stores import InMemoryAdapter
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.stores import BM25Index, StoreAdapter, register
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

# To the embedder all are the same; "Zanzibar" is no word of its vocabulary.
SOURCES = [document(f"# Part {name}\n\nA refund is paid. It goes to {name}. So it is.", name) for name in "abcdef"]
NAMED = document("# Part z\n\nA refund is paid. It goes to Zanzibar. So it is.", "z")


def over(store: Any, words: BM25Index | None, **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=store, bm25_index=words, **{"window": 0, "k": 1, **settings})


async def test_words_decide_where_meaning_does_not(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(InMemoryVectorStore(words), BM25Index())
    await way(retriever, "add_documents", [*SOURCES, NAMED])
    (window,) = await way(retriever, "invoke", "refund Zanzibar")
    # The sentence before has the refund, and gets a share of the name's score.
    assert window.page_content == "A refund is paid."
    assert window.metadata["doc_id"] == "z"
    plain = over(retriever.vectorstore, BM25Index(), lexical_weight=0)
    assert (await way(plain, "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "a"


async def test_words_follow_what_is_replaced_and_deleted(way: Invoke, words: WordEmbeddings, tmp_path: Path) -> None:
    store, folder = InMemoryVectorStore(words), tmp_path / "words"
    await way(over(store, BM25Index(folder)), "add_documents", [*SOURCES, NAMED])
    retriever = over(store, BM25Index(folder))  # opened again
    assert (await way(retriever, "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "z"
    index = retriever.bm25_index
    assert index is not None
    assert index._index.searcher()._searcher.num_docs == 4 * 7
    await way(retriever, "add_documents", [document("A refund is late.", "z"), document("To Zanzibar a refund.", "b")])
    assert (await way(retriever, "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "b"
    await way(retriever, "delete", ["b"])
    assert index._index.searcher()._searcher.num_docs == 4 * 5 + 1
    (found,) = await way(retriever, "invoke", "refund Zanzibar")
    assert found.page_content == "A refund is late."  # the only refund under no heading, so of the fewest words


# An index that lacks what the store holds


class Counted(InMemoryVectorStore):
    """A store that is told how often all of it was read."""

    listings = 0


class CountingAdapter(InMemoryAdapter):
    """Counts how often a store is listed."""

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        self.store.listings += 1
        return await super().list_sentences(io, filter)


class Unlistable(InMemoryVectorStore):
    """A store that can't list what it holds."""


class UnlistableAdapter(InMemoryAdapter):
    """Says that it can't."""

    select = StoreAdapter.select


@pytest.fixture(autouse=True)
def _registered() -> None:
    register(Counted, CountingAdapter)
    register(Unlistable, UnlistableAdapter)


def filled(store: Any, words: BM25Index, **settings: Any) -> SentenceWindowRetriever:
    """Return a retriever that can tell a store's sentences apart by the index alone."""
    return over(store, words, **{"ranking": None, **settings})


def size(index: BM25Index) -> int:
    return int(index._index.searcher()._searcher.num_docs)


@pytest.mark.parametrize("has", [0, 1, 5])
@pytest.mark.parametrize("in_folder", [True, False])
async def test_what_an_index_lacks_is_read_from_the_store_once(
    way: Invoke, words: WordEmbeddings, tmp_path: Path, has: int, in_folder: bool
) -> None:
    store, index = Counted(words), BM25Index(tmp_path if in_folder else None)
    await way(filled(store, index), "add_documents", SOURCES[:has])
    await way(over(store, None), "add_documents", [*SOURCES[has:], NAMED])
    retriever = filled(store, index)
    for _ in range(2):
        assert (await way(retriever, "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "z"
    assert store.listings == 1
    assert size(index) == 4 * 7
    if in_folder:
        assert (await way(filled(store, BM25Index(tmp_path)), "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "z"
        assert store.listings == 1


async def test_a_filled_index_scores_as_one_that_was_updated_with_the_store(way: Invoke, words: WordEmbeddings) -> None:
    updated = filled(InMemoryVectorStore(words), BM25Index(), k=9, lexical_weight=2.0)
    await way(updated, "add_documents", [*SOURCES, NAMED])
    other = updated.model_copy(update={"bm25_index": BM25Index()})
    for query in ("refund Zanzibar", "Part b", "it goes to d"):
        expected, found = [
            [(window.id, window.metadata["score"]) for window in await way(each, "invoke", query)]
            for each in (updated, other)
        ]
        assert found == expected


async def test_a_filter_still_decides_what_is_found_in_a_filled_index(way: Invoke, words: WordEmbeddings) -> None:
    store, index = Counted(words), BM25Index()
    await way(over(store, None), "add_documents", [*SOURCES, NAMED])
    retriever = filled(store, index, k=50, filter=lambda stored: stored.metadata["doc_id"] in "az")
    assert {each.metadata["doc_id"] for each in await way(retriever, "invoke", "refund Zanzibar")} == {"a", "z"}
    found = await way(retriever, "invoke", "Zanzibar", filter=lambda stored: stored.metadata["doc_id"] != "z")
    assert {each.metadata["doc_id"] for each in found} == {"a"}
    assert store.listings == 1


async def test_a_store_that_cannot_be_listed_says_how_to_fill_the_index(way: Invoke, words: WordEmbeddings) -> None:
    store, index = Unlistable(words), BM25Index()
    await way(over(store, None), "add_documents", SOURCES)
    retriever = filled(store, index)
    with pytest.raises(InvalidInputError, match=r"<BM25Index in memory> lacks .*can't list .*add the documents again"):
        await way(retriever, "invoke", "refund")
    assert await way(retriever, "invoke", "refund", lexical_weight=0)
    await way(retriever, "add_documents", [NAMED])
    with pytest.warns(SentenceWindowWarning, match=r"lacks 24 of 28 sentences .*can't list .*add the documents again"):
        assert (await way(retriever, "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "z"
    assert await way(retriever, "invoke", "refund Zanzibar")  # it is told once
    await way(retriever, "add_documents", SOURCES)
    assert await way(retriever, "invoke", "refund Zanzibar")
