"""How close sentences of a store come to others elsewhere in it: by hand, beside naive computations, and when."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.documents.ids import sentence_id
from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.relevance import NEARBY
from langchain_sentence_window.stores.faiss import closest_matches
from langchain_sentence_window.stores.faiss.dense import comparing
from langchain_sentence_window.stores.faiss.dense.index import VectorIndex
from tests.conftest import Invoke
from tests.stores.faiss.test_index_types import COUNT, INDEXES, documents, fill
from tests.torture.corpus import TextEmbeddings
from tests.torture.corpus import document as sentences

Made = tuple[list[Document], list[list[float]]]


def sentence(doc_id: str, index: int, text: str, section: tuple[int, int] = (0, 100)) -> Document:
    metadata = {"doc_id": doc_id, "sentence_index": index, "section_start": section[0], "section_end": section[1]}
    return Document(id=sentence_id(doc_id, index), page_content=text, metadata=metadata)


def over(given: Sequence[tuple[Document, list[float]]], **settings: Any) -> FaissStore:
    """Return a store of sentences with their vectors."""
    vectors = [vector for _, vector in given]
    store = FaissStore(TextEmbeddings(len(vectors[0])), **settings)
    store.add_embeddings([each for each, _ in given], vectors)
    return store


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the number of sampled sentences each time that matches are found."""
    found: list[int] = []
    search = VectorIndex.search_together

    def count(index: VectorIndex, vectors: Any, k: int) -> Any:
        found.append(len(vectors))
        return search(index, vectors, k)

    monkeypatch.setattr(VectorIndex, "search_together", count)
    return found


def test_cosines_by_hand() -> None:
    given = [
        (sentence("a", 0, "one"), [3.0, 4.0, 0.0]),
        (sentence("a", 1, "two"), [3.0, 4.0, 0.0]),  # beside the first
        (sentence("b", 0, "three"), [4.0, 3.0, 0.0]),
        (sentence("c", 0, " ONE"), [3.0, 4.0, 0.0]),  # the first one's text, but not the second's
        (sentence("c", 50, "four"), [0.0, 0.6, 0.8]),
    ]
    for neighbor_weights in ([1.0], [1.0, 0.0]):
        store = over(given, neighbor_weights=neighbor_weights)
        assert store.closest_matches() == pytest.approx([0.96, 1, 0.96, 1, 0.48], abs=1e-3)
        assert store.closest_matches().dtype == np.float64


def test_vectors_as_they_were_embedded_are_compared_with_those_that_are_searched() -> None:
    given = [
        (sentence("a", 0, "one"), [1.0, 0.0]),
        (sentence("a", 1, "two"), [0.0, 1.0]),
        (sentence("b", 0, "three"), [1.0, 0.0]),
    ]
    store = over(given, neighbor_weights=(1, 0.75))
    # Mixed, the first is (1, 0.75) / 1.25 and the second (0.75, 1) / 1.25.
    assert store.closest_matches() == pytest.approx([1, 0, 0.8], abs=1e-3)


def test_the_nearest_sentences_of_a_document_do_not_count() -> None:
    given = [(sentence("a", n, f"text {n}"), [1.0, 0.0]) for n in range(NEARBY + 1)]
    assert len(over(given).closest_matches()) == 0
    given += [(sentence("a", NEARBY + 1, "far"), [0.6, 0.8])]
    assert over(given, neighbor_weights=(1,)).closest_matches() == pytest.approx([0.6, 0.6], abs=1e-3)


def test_other_documents_are_near_nothing_but_their_copies() -> None:
    store = FaissStore(TextEmbeddings(2))
    vectors = [[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]]
    store.add_embeddings([Document(page_content=text) for text in ("one", "One ", "two")], vectors)
    assert store.closest_matches() == pytest.approx([0.6, 0.6, 0.6], abs=1e-3)


def test_a_sentence_of_which_only_copies_are_found_is_left_out() -> None:
    given = [(sentence(f"copy {n}", 0, "We may end this."), [1.0, 0.0]) for n in range(60)]
    given += [(sentence("other", 0, "Else."), [0.6, 0.8])]
    assert over(given).closest_matches() == pytest.approx([0.6], abs=1e-3)


@st.composite
def corpora(draw: st.DrawFn) -> Made:
    """Draw fewer sentences than are found with each, some with the same text or vector, and other documents."""
    texts, numbers = st.sampled_from(["one", "two", "ONE", "three "]), st.integers(-2, 2).map(float)
    vectors = st.lists(numbers, min_size=4, max_size=4).filter(any)
    indexes = st.lists(st.integers(0, 25), max_size=12, unique=True)
    found = [
        sentence(name, index, draw(texts), (index // 7 * 7, index // 7 * 7 + 7))
        for name in "ab"
        for index in sorted(draw(indexes))
    ]
    found += [Document(id=f"other {n}", page_content=draw(texts)) for n in range(draw(st.integers(0, 3)))]
    return found, [draw(vectors) for _ in found]


def naive(store: FaissStore) -> list[float]:
    """Compare each sentence with each other one."""
    found: list[float] = []
    for some, vectors in store.export():
        for one, vector in zip(some, vectors, strict=True):
            cosines = [
                cosine
                for other, cosine in store.similarity_search_with_score_by_vector(vector, 1_000)
                if other.page_content.strip().lower() != one.page_content.strip().lower()
                and not (
                    "doc_id" in one.metadata
                    and one.metadata["doc_id"] == other.metadata.get("doc_id")
                    and abs(one.metadata["sentence_index"] - other.metadata["sentence_index"]) <= 8
                )
            ]
            found += [max(cosines)] if cosines else []
    return sorted(found)


@given(corpora(), st.sampled_from([(1,), (1, 0.3, 0.2)]), st.integers(1, 9))
def test_they_are_those_of_a_naive_computation(made: Made, weights: tuple[float, ...], block: int) -> None:
    store = FaissStore(TextEmbeddings(4), neighbor_weights=weights)
    store.add_embeddings(*made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "_BLOCK_SIZE", block)
        found = store.closest_matches()
    assert sorted(found) == pytest.approx(naive(store), abs=1e-5)
    store.close()


@pytest.mark.parametrize("index", INDEXES)
def test_indexes_find_together_what_they_find_one_by_one(index: str) -> None:
    store = FaissStore(TextEmbeddings(), index=index)
    fill(store, documents())
    store.delete([str(n) for n in range(0, COUNT, 5)])
    inner: Any = store._engine
    inner.search(TextEmbeddings().vector("query"), 1)
    vectors: VectorIndex = inner._vectors._current[0]
    queries = np.array([TextEmbeddings().vector(f"query {n}") for n in range(30)])
    for k in (1, 40, 2 * COUNT) if index in ("Flat", "SQ8", "SQfp16") else (1, 40):
        together, alone = vectors.search_together(queries, k), [vectors.search(each, k, None) for each in queries]
        assert [len(pairs) for pairs in together] == [min(k, COUNT * 4 // 5)] * 30
        ones, others = (np.array([[cosine for _, cosine in pairs] for pairs in each]) for each in (together, alone))
        assert ones == pytest.approx(others, abs=1e-5)
        assert all({*dict(one)} == {*dict(other)} for one, other in zip(together, alone, strict=True))
    assert len(store.closest_matches()) == 200
    store.delete([str(n) for n in range(COUNT)])
    assert len(store.closest_matches()) == 0
    assert vectors.search_together(queries, 5) == [[]] * 30


def test_the_sample_is_spread_over_the_store_whatever_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FaissStore(TextEmbeddings(), index="HNSW32")
    fill(store, documents())
    store.delete([str(n) for n in range(1_100)])
    inner: Any = store._engine
    inner.search(TextEmbeddings().vector("query"), 1)
    rows = inner._vectors._current[0].spread_rows(10)
    assert list(rows) == [1101, 1112, 1123, 1134, 1145, 1156, 1167, 1178, 1189, 1200]
    assert len(store.closest_matches()) == 100
    assert len(store.closest_matches(7)) == 7
    found = counted(monkeypatch)
    monkeypatch.setattr(closest_matches, "MAX_COMPARISONS", 6_000)
    assert [len(store.closest_matches(size)) for size in (50, 70, 10)] == [50, 60, 10]
    monkeypatch.setattr(closest_matches, "MAX_COMPARISONS", 100)
    assert [len(store.closest_matches(size)) for size in (200, 8)] == [50, 8]
    assert found == [50, 60, 10, 50, 8]


def test_none_are_found_in_an_empty_store_nor_for_a_single_sentence(tmp_path: Path) -> None:
    for path in (None, tmp_path / "s"):
        store = FaissStore(TextEmbeddings(), path)
        assert store.closest_matches().shape == (0,)
        store.add_documents([sentence("a", 0, "one")])
        assert store.closest_matches().shape == (0,)
        store.add_documents([sentence("b", 0, "two")])
        assert store.closest_matches().shape == (2,)
        store.delete_documents(["a", "b"])
        assert store.closest_matches().shape == (0,)
        store.close()


@pytest.mark.parametrize("sample", [0, -1, 1.5, "5", None, True])
def test_the_sample_is_a_whole_number_above_0(sample: Any) -> None:
    with pytest.raises(InvalidInputError, match="sample is"):
        FaissStore(TextEmbeddings()).closest_matches(sample)


def test_they_are_found_again_when_more_than_a_tenth_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = counted(monkeypatch)
    store = FaissStore(TextEmbeddings(), tmp_path)

    def finds(change: Callable[[], object]) -> bool:
        before = len(found)
        change()
        after, expected = store.closest_matches(), len(found)
        assert list(store.closest_matches()) == list(after)
        assert len(found) == expected
        return len(found) > before

    assert finds(lambda: fill(store, documents(100)))
    assert not finds(lambda: None)
    assert not finds(lambda: fill(store, documents(110)[100:]))
    assert finds(lambda: fill(store, documents(111)[110:]))
    assert not finds(lambda: store.delete([str(n) for n in range(11)]))
    assert finds(lambda: store.delete(["11"]))
    # Others take the place of some: 99 as before.
    assert not finds(lambda: fill(store, documents(20)[12:20]))
    assert finds(lambda: fill(store, documents(25)[20:25]))
    assert finds(lambda: store.closest_matches(5))
    # By another process, as it were.
    with FaissStore.open(tmp_path, TextEmbeddings()) as other:
        assert finds(lambda: fill(other, documents(200)))
    store.close()


def test_another_embedder_gets_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = counted(monkeypatch)
    given = [(sentence(name, 0, name), vector) for name, vector in (("a", [1.0, 0.0]), ("b", [0.6, 0.8]))]
    store = over(given, path=tmp_path)
    assert store.closest_matches() == pytest.approx([0.6, 0.6], abs=1e-3)
    store.delete_documents(["a", "b"])
    other = FaissStore(TextEmbeddings(3), tmp_path)
    other.add_embeddings([each for each, _ in given], [[1.0, 0.0, 0.0], [0.28, 0.0, 0.96]])
    assert other.closest_matches() == pytest.approx([0.28, 0.28], abs=1e-3)
    assert store.closest_matches() == pytest.approx([0.28, 0.28], abs=1e-3)
    assert found == [2, 2, 2]
    store.close()
    other.close()


def test_other_weights_give_others(tmp_path: Path) -> None:
    given = [
        (sentence("a", 0, "one"), [1.0, 0.0]),
        (sentence("a", 1, "two"), [0.0, 1.0]),
        (sentence("b", 0, "three"), [1.0, 0.0]),
    ]
    for weights, expected in (((1, 0.75), 0.8), ((1,), 1), ((1, 0.75), 0.8)):
        with FaissStore(TextEmbeddings(2), tmp_path, neighbor_weights=weights) as store:
            if not len(store):
                store.add_embeddings([each for each, _ in given], [vector for _, vector in given])
            assert store.closest_matches()[2] == pytest.approx(expected, abs=1e-3)
            store.save()


async def test_callers_may_change_what_they_got(way: Invoke) -> None:
    store = FaissStore(TextEmbeddings())
    fill(store, documents(30))
    first: Numbers = await way(store, "closest_matches", 9)
    kept = first.tolist()
    first[:] = 7
    assert (await way(store, "closest_matches", 9)).tolist() == kept
    assert len(kept) == 9


def test_stores_that_are_read_only_or_closed(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, documents(300))
        expected = store.closest_matches().tolist()
        store.save()
    with pytest.raises(StoreError, match="closed"):
        store.closest_matches()
    # Mapped from its file.
    with FaissStore(TextEmbeddings(), tmp_path, read_only=True) as store:
        assert store.closest_matches().tolist() == pytest.approx(expected, abs=1e-6)
    with FaissStore(TextEmbeddings(), tmp_path, index="HNSW32", read_only=True) as store:
        assert store.closest_matches().tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("on_disk", [True, False])
def test_all_are_from_one_state(on_disk: bool, tmp_path: Path) -> None:
    store = FaissStore(TextEmbeddings(8), tmp_path if on_disk else None, neighbor_weights=(1,))
    names = [f"d{n}" for n in range(6)]
    stop = threading.Event()

    def write(version: int) -> None:
        """Give all documents the same vector, which is at right angles to the one before."""
        given = [sentence(name, 0, f"{name} {version}") for name in names]
        store.add_embeddings(given, [np.eye(8)[version % 8].tolist()] * len(names))

    def go_on() -> None:
        version = 0
        # A store in memory lets readers in between two writes.
        while not stop.wait(0.02):
            version += 1
            write(version)

    write(0)
    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        for size in range(1, 40):
            found = store.closest_matches(10 + size)
            assert found.tolist() == pytest.approx([1] * len(names), abs=1e-3)
    finally:
        stop.set()
        writer.join()
    store.close()


FORKED = """
import multiprocessing, sys, warnings
import numpy as np
from langchain_sentence_window import FaissStore
from tests.stores.faiss.test_index_types import documents, fill
from tests.torture.corpus import TextEmbeddings

def child(store, queue):
    queue.put([store.closest_matches(size).tolist() for size in (100, 150)])

warnings.simplefilter("ignore", DeprecationWarning)
store = FaissStore(TextEmbeddings(), sys.argv[1] or None, index=sys.argv[2])
fill(store, documents(1_100))
expected = [store.closest_matches(size).tolist() for size in (150, 100)][::-1]
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(store, queue))
process.start()
for found in (queue.get(timeout=60), [store.closest_matches(size).tolist() for size in (100, 150)]):
    assert [np.allclose(*pair, atol=1e-5) for pair in zip(found, expected, strict=True)] == [True, True]
process.join(60)
assert process.exitcode == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize("index", ["Flat", "SQ8", "HNSW32"])
def test_a_forked_process_finds_the_same(on_disk: bool, index: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKED, str(tmp_path) if on_disk else "", index]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_texts_of_any_kind_are_compared() -> None:
    texts = ["", "\0", "\ud800", "x" * 100_000, "\U0001f600"]
    given = [(sentence(str(n), 0, text), [1.0, float(n)]) for n, text in enumerate(texts)]
    assert len(over(given).closest_matches()) == len(texts)


def test_versions_of_documents_are_those_of_the_store() -> None:
    store = FaissStore(TextEmbeddings())
    names = [f"document {n}" for n in range(4)]
    store.replace_documents([each for n in range(4) for each in sentences(n, 0)], names)
    before = store.closest_matches()
    store.replace_documents([each for n in range(4) for each in sentences(n, 1)], names)
    after = store.closest_matches()
    assert len(before) == len(after) == 32
    assert sorted(after) == pytest.approx(naive(store), abs=1e-5)
    assert before.tolist() != after.tolist()
