"""An index of words beside a store that has none."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import BM25Index, NeighborMixedEmbeddings, SentenceWindowRetriever
from langchain_sentence_window.errors import StoreError
from tests.conftest import Invoke
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


async def test_a_trace_tells_the_ranks_by_words(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(InMemoryVectorStore(words), BM25Index(), k=3)
    await way(retriever, "add_documents", [*SOURCES, NAMED])
    trace = await way(retriever, "explain", "Zanzibar", lexical_weight=5.0)
    ranks = {(hit.doc_id, hit.text): hit.lexical_rank for hit in trace.hits}
    assert ranks["z", "It goes to Zanzibar."] == 1
    assert [rank for rank in ranks.values() if rank is not None] == [1]
    (score,) = [hit.lexical_score for hit in trace.hits if hit.lexical_rank]
    assert score is not None
    assert score > 1


async def test_a_word_brings_in_nothing_that_a_filter_leaves_out(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(InMemoryVectorStore(words), BM25Index(), k=50)
    await way(retriever, "add_documents", [*SOURCES, NAMED])
    found = await way(retriever, "invoke", "Zanzibar", filter=lambda stored: stored.metadata["doc_id"] != "z")
    assert found
    assert all("Zanzibar" not in window.page_content for window in found)


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


async def test_ranks_are_those_of_meaning_where_no_word_is_known(way: Invoke, words: WordEmbeddings) -> None:
    store = InMemoryVectorStore(NeighborMixedEmbeddings(words))
    retriever = over(store, BM25Index(), k=9)
    await way(retriever, "add_documents", [document("Card refund. Card. Seat page. Trial refund refund.", "a")])
    by_both = await way(retriever, "invoke", "annual")
    by_meaning = await way(over(store, None, k=9), "invoke", "annual")
    assert [window.id for window in by_both] == [window.id for window in by_meaning]


async def test_the_words_of_a_heading_path_count(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(InMemoryVectorStore(words), BM25Index(), k=3, lexical_weight=5.0)
    sources = [document(f"# {name}\n\nA refund is paid. So it is.", name) for name in ("Plovdiv", "Zanzibar", "Oslo")]
    await way(retriever, "add_documents", sources)
    found = await way(retriever, "invoke", "a refund in Zanzibar")
    assert found[0].metadata["doc_id"] == "Zanzibar"
    assert "refund" in found[0].page_content


def test_an_index_without_headings_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of an earlier version; it can't be built again, as it doesn't hold the texts."""
    with monkeypatch.context() as patch:
        patch.setattr("langchain_sentence_window.stores.faiss.lexical.index._TEXT", "text")
        BM25Index(tmp_path).change([], [])
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(StoreError, match="remove the folder and add the documents again"):
        BM25Index(tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(StoreError, match="choose another"):
        BM25Index(file)
