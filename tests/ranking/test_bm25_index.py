"""An index of words beside a store that has none."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import (
    BM25Index,
    FaissStore,
    NeighborMixedEmbeddings,
    SentenceWindowRetriever,
    copy_index,
)
from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters import StoreAdapter, register
from langchain_sentence_window.adapters.local_stores import InMemoryAdapter
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning, StoreError
from tests.conftest import Invoke
from tests.interpreters import run_code
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
        patch.setattr("langchain_sentence_window.store.words._TEXT", "text")
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


async def test_an_index_of_another_store_keeps_what_it_holds(way: Invoke, words: WordEmbeddings) -> None:
    index, other = BM25Index(), Counted(words)
    await way(over(other, index), "add_documents", [document("A refund to Oslo.", "o")])
    store = Counted(words)
    await way(over(store, None), "add_documents", [*SOURCES, NAMED])
    assert (await way(filled(store, index), "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "z"
    assert (await way(filled(other, index), "invoke", "refund Oslo"))[0].metadata["doc_id"] == "o"
    assert (store.listings, other.listings) == (1, 0)
    assert size(index) == 4 * 7 + 1


async def test_filling_replaces_nothing_and_deletes_and_additions_follow(way: Invoke, words: WordEmbeddings) -> None:
    store, index = Counted(words), BM25Index()
    await way(over(store, None), "add_documents", [*SOURCES, NAMED])
    retriever = filled(store, index)
    await way(retriever, "add_documents", [document("To Zanzibar a refund.", "b")])
    await way(retriever, "delete", ["z"])
    assert (await way(retriever, "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "b"
    assert size(index) == 4 * 5 + 1
    await way(retriever, "add_documents", [document("A refund in Zanzibar.", "c")])
    await way(retriever, "delete", ["b"])
    assert (await way(retriever, "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "c"
    assert store.listings == 1


async def test_a_filter_still_decides_what_is_found_in_a_filled_index(way: Invoke, words: WordEmbeddings) -> None:
    store, index = Counted(words), BM25Index()
    await way(over(store, None), "add_documents", [*SOURCES, NAMED])
    retriever = filled(store, index, k=50, filter=lambda stored: stored.metadata["doc_id"] in "az")
    assert {each.metadata["doc_id"] for each in await way(retriever, "invoke", "refund Zanzibar")} == {"a", "z"}
    found = await way(retriever, "invoke", "Zanzibar", filter=lambda stored: stored.metadata["doc_id"] != "z")
    assert {each.metadata["doc_id"] for each in found} == {"a"}
    assert store.listings == 1


async def test_a_trace_fills_the_index_too(way: Invoke, words: WordEmbeddings) -> None:
    store = Counted(words)
    await way(over(store, None), "add_documents", [*SOURCES, NAMED])
    trace = await way(filled(store, BM25Index(), k=3), "explain", "refund Zanzibar", lexical_weight=0)
    assert trace.counts["lexical"] > 0
    fate = await way(filled(store, BM25Index()), "why", "Zanzibar", "z", 2, lexical_weight=0)
    assert fate.lexical_rank == 1


async def test_a_copied_index_can_be_given_an_empty_one(way: Invoke, words: WordEmbeddings) -> None:
    source = SentenceWindowRetriever.from_documents([*SOURCES, NAMED], words)
    target = InMemoryVectorStore(NeighborMixedEmbeddings(words))
    copy_index(cast("FaissStore", source.vectorstore), target)
    assert (await way(filled(target, BM25Index()), "invoke", "refund Zanzibar"))[0].metadata["doc_id"] == "z"


@pytest.mark.parametrize("in_folder", [True, False])
def test_threads_and_processes_that_ask_first_at_once_get_the_same(
    words: WordEmbeddings, tmp_path: Path, in_folder: bool
) -> None:
    store = InMemoryVectorStore(words)
    over(store, None).add_documents([*SOURCES, NAMED])
    # Two objects on one folder lock each other out as two processes do.
    indexes = [BM25Index(tmp_path), BM25Index(tmp_path)] if in_folder else [BM25Index()]
    retrievers = [filled(store, indexes[number % len(indexes)]) for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda retriever: retriever.invoke("refund Zanzibar"), retrievers))
    assert {window.metadata["doc_id"] for windows in found for window in windows} == {"z"}
    assert {size(index) for index in indexes} == {4 * 7}


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


async def test_what_is_no_sentence_is_left_out_when_an_index_is_filled(way: Invoke, words: WordEmbeddings) -> None:
    store = Counted(words)
    await way(over(store, None), "add_documents", [*SOURCES, NAMED])
    store.add_texts(["Nothing of this package."])
    retriever = filled(store, BM25Index(), filter=lambda stored: "doc_id" in stored.metadata)
    found = await way(retriever, "invoke", "refund Zanzibar")
    assert found[0].metadata["doc_id"] == "z"


FORKED = """
import os, sys, threading
from langchain_core.documents import Document
from langchain_sentence_window import BM25Index, SentenceSplitter
from langchain_sentence_window.documents.sentence_documents import read_sentence

def sentences(text, id):
    return SentenceSplitter().split_documents([Document(text, id=id)])

index, other = BM25Index(sys.argv[1] or None), sentences("A trial. A card.", "other")
many, is_over = sentences("A refund is paid. " * 500, "many"), threading.Event()

def change():
    while not is_over.is_set():
        index.change([], many)

changing = threading.Thread(target=change)
changing.start()
children = []
for _ in range(3):
    until_it_is_over, end = os.pipe()
    child = os.fork()
    if not child:
        os.read(until_it_is_over, 1)  # as one process may write at a time
        index.change([each.id for each in many], other)
        found = [read_sentence(each) for each in [*many, *other]]
        os._exit(len(index.lacking(found)) != len(many))
    children.append((child, end))
is_over.set()
changing.join()
for child, end in children:
    os.write(end, b"x")
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
@pytest.mark.parametrize("in_folder", [True, False])
def test_a_child_goes_on_though_a_thread_of_its_parent_was_writing(tmp_path: Path, in_folder: bool) -> None:
    done = run_code("import warnings; warnings.simplefilter('ignore')" + FORKED, tmp_path if in_folder else "")
    assert done.returncode == 0, done.stderr
