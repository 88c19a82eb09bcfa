"""FAISS indexes of all kinds: how many are found, filters, deletions, rebuilding, files."""

from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window._primitives import Rows
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError, StoreError
from langchain_sentence_window.stores.faiss.dense import dense_index as building
from langchain_sentence_window.stores.faiss.dense.faiss_factory import CodeBuffer, GrowableArray, make_faiss_index
from langchain_sentence_window.stores.faiss.dense.vector_index import VectorIndex, read_index, write_index
from tests.torture.corpus import TextEmbeddings

INDEXES = [
    "Flat",
    "SQ8",
    "SQfp16",
    "HNSW32",
    "HNSW32_SQ8",
    "IVF16,Flat",
    "IVF16,SQ8",
    "RaBitQ",
    "RaBitQ2",
    "IVF16,RaBitQ2",
    "IVF1,PQ16x4fs",
    "IVF16,PQ16x4fs",
]
LEAST_RECALL = {"Flat": 0.999, "SQfp16": 0.999, "SQ8": 0.999, "RaBitQ2": 0.99, "IVF1,PQ16x4fs": 0.99}
COUNT = 1_200


def documents(count: int = COUNT) -> list[Document]:
    return [Document(page_content=f"text {n}", id=str(n), metadata={"n": n}) for n in range(count)]


def fill(store: FaissStore, given: list[Document]) -> None:
    store.add_embeddings(given, [TextEmbeddings().embed_query(each.page_content) for each in given])


def nearest(query: str, ids: list[str], k: int) -> list[str]:
    vectors = np.array([TextEmbeddings().vector(f"text {id_}") for id_ in ids])
    return [ids[i] for i in np.argsort(-(vectors @ TextEmbeddings().vector(query)), kind="stable")[:k]]


def found(store: FaissStore, query: str, k: int = 10, **keywords: Any) -> list[str]:
    return [str(each.id) for each in store.similarity_search(query, k, **keywords)]


def recall(store: FaissStore, ids: list[str], k: int = 10) -> float:
    queries = [f"query {n}" for n in range(30)]
    return float(np.mean([len({*found(store, query, k)} & {*nearest(query, ids, k)}) / k for query in queries]))


@pytest.mark.slow
@pytest.mark.parametrize("index", INDEXES)
def test_an_index_finds_through_additions_deletions_and_updates(index: str, tmp_path: Path) -> None:
    store = FaissStore(TextEmbeddings(), tmp_path, index)
    fill(store, documents())
    assert len(found(store, "query", k=2 * COUNT)) == COUNT
    fill(store, documents(COUNT // 2))
    gone = {str(n) for n in range(0, COUNT, 3)}
    store.delete(sorted(gone))
    ids = [str(n) for n in range(COUNT) if str(n) not in gone]
    # The vectors are random, which is hard on graphs and clusters: of 16 clusters, 8 are searched.
    assert recall(store, ids) >= LEAST_RECALL.get(index, 0.7)
    assert sorted(found(store, "query", k=2 * COUNT)) == sorted(ids)
    stats = store.stats()
    assert (stats.index, stats.sentences) == (index, len(ids))
    # Half of them were replaced, too.
    assert stats.tombstones == (0 if index in ("Flat", "SQ8", "SQfp16") else COUNT // 2 + len(gone))
    assert bool(stats.rebuild_saves) == bool(stats.tombstones)
    store.close()


@pytest.mark.parametrize("index", INDEXES)
def test_a_filter_lets_k_through_whatever_the_index(index: str) -> None:
    store = FaissStore(TextEmbeddings(), None, index)
    fill(store, documents())
    store.delete(["0"])
    for kept in (1, 5, 60, 500, 1_100):
        ids = [str(n) for n in range(1, kept + 1)]
        for query in ("query", "other", "third"):
            hits = found(store, query, filter={"n": {"$lte": kept}})
            assert len(hits) == min(10, kept), kept
            assert {*hits} <= {*ids}
            if index not in ("HNSW32_SQ8", "IVF16,SQ8") and kept < COUNT // 2:
                assert hits == nearest(query, ids, 10)


@pytest.mark.parametrize("index", INDEXES)
def test_the_cosines_of_some_rows_are_those_of_a_search(index: str) -> None:
    store = FaissStore(TextEmbeddings(), index=index)
    fill(store, documents())
    store.delete([str(n) for n in range(0, COUNT, 5)])
    vector = TextEmbeddings().vector("query")
    vectors: Any = store._session.read(lambda state: state.dense, dense=True)
    rows = np.array([2, 3, 5, 7, 11, COUNT, 10 * COUNT], dtype=np.int64)  # of removed ones, and of none, too
    there = [2, 3, 5, 7, COUNT]
    found, of_search = vectors.candidates(vector, 9, rows)
    assert sorted(found.tolist()) == there
    beside, of_beside = vectors.candidates(vector, 9, None, also=rows)
    assert {*there} <= {*beside.tolist()}
    assert len({*beside.tolist()}) == len(beside) <= 9 + len(there)
    cosines = dict(zip(beside.tolist(), of_beside.tolist(), strict=True))
    assert [cosines[row] for row in there] == [of_search[found == row] for row in there]
    nearest_alone, of_nearest = vectors.candidates(vector, 9, None, also=rows[:0])
    assert len(nearest_alone) == len(of_nearest) == 9
    assert max(cosines.values()) == max(of_nearest)
    with pytest.raises(EmbeddingError):
        vectors.candidates(vector[:-1], 9, None, also=rows)


def test_the_index_is_changed_without_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, documents())
        exact = found(store, "query")
        store.save()

    embedding = TextEmbeddings()
    monkeypatch.setattr(TextEmbeddings, "embed_documents", None)
    for index in ("HNSW32", "RaBitQ2", "SQfp16", "IVF16,RaBitQ2", "IVF16,Flat", "IVF16,PQ16x4fs", "RaBitQ", "Flat"):
        with FaissStore(embedding, tmp_path, index) as store:
            assert len({*found(store, "query")} & {*exact}) >= 5
            store.save()
        (file,) = tmp_path.glob("vectors.*faiss")
        assert len([*tmp_path.glob("vectors.*")]) == 1 + ("RaBitQ" in index or "PQ" in index)
        saved: Any = faiss.read_index(str(file))
        assert isinstance(
            faiss.downcast_index(saved.index), type(faiss.index_factory(32, index, faiss.METRIC_INNER_PRODUCT))
        )
        with FaissStore.open(tmp_path, embedding) as store:
            assert store.stats().index == index
    assert found(FaissStore.open(tmp_path, embedding), "query") == exact


@pytest.mark.parametrize(
    "index",
    [
        "",
        "Flut",
        "LSH",
        "PQ8",
        "PQ8x4fs",
        "IVF16,PQ0x4fs",
        "IVF16,PQ99999x4fs",
        "RaBitQfs",
        "IDMap,Flat",
        "HNSW32,PQ8",
        "IVF16,PQ8",
        5,
    ],
)
def test_an_index_that_cannot_be_kept_up_to_date_is_refused(index: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="index is .*try 'Flat'"):
        FaissStore(TextEmbeddings(), tmp_path / "new", index)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("index", ["IVF1,PQ192x4fs", "IVF1024,PQ1536x4fs", "IVF16,PQ1x4fs"])
def test_an_index_of_parts_is_named_before_the_dimension_is_known(index: str) -> None:
    assert FaissStore(TextEmbeddings(), None, index).stats().index == index


def test_parts_that_do_not_fit_the_vectors_are_told_and_nothing_is_lost(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path, "IVF1,PQ5x4fs") as store:
        fill(store, documents())
        with pytest.raises(InvalidInputError, match="into 5 equal parts, and they have 32 numbers; .* index='auto'"):
            found(store, "query")
    with FaissStore.open(tmp_path, TextEmbeddings(), index="auto") as store:
        assert len(found(store, "query")) == 10


@pytest.mark.slow
def test_too_few_vectors_to_train_are_kept_flat_until_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    make = building.empty_index

    def noting(name: str, *others: Any, **settings: Any) -> building.DenseIndex:
        index = make(name, *others, **settings)
        built.append(type(index.faiss_index).__name__)
        return index

    monkeypatch.setattr(building, "empty_index", noting)
    store = FaissStore(TextEmbeddings(), None, "SQ8")
    for start in range(0, 6_000, 200):
        fill(store, documents(6_000)[start : start + 200])
        assert len(found(store, "query")) == 10
    # At first, at 1,000, and when it is more than 4 times as large as when it was trained.
    assert built == ["IndexFlat", "IndexScalarQuantizer", "IndexScalarQuantizer"]


def test_tombstones_are_cleared_when_they_are_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_sentence_window.stores.faiss.dense.dense_cache._MIN_TOMBSTONES", 10)
    store = FaissStore(TextEmbeddings(), None, "HNSW32")
    fill(store, documents(100))
    found(store, "query")
    for number in range(60):
        store.delete([str(number)])
        assert store.stats().tombstones <= 51
        assert len(found(store, "query", k=100)) == 99 - number
    assert store.stats().tombstones < 10


@pytest.mark.parametrize("index", ["Flat", "HNSW32", "RaBitQ2", "IVF16,RaBitQ2", "IVF1,PQ16x4fs", "IVF16,PQ16x4fs"])
def test_a_read_only_store_maps_its_index_and_changes_nothing(index: str, tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path, index) as store:
        fill(store, documents())
        store.save()
        expected, words = found(store, "query"), store.lexical_search("text 7")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with FaissStore.open(tmp_path, TextEmbeddings(), read_only=True) as store:
        assert found(store, "query") == expected
        assert store.lexical_search("text 7") == words
        codes: Any = store._session._vectors.current[0].faiss_index  # type: ignore[union-attr]
        codes = faiss.downcast_index(codes.storage) if index == "HNSW32" else codes
        assert index.startswith("IVF") or not codes.codes.is_owned
        del codes
        for change in (lambda: store.delete(["1"]), lambda: fill(store, documents(1)), store.save):
            with pytest.raises(StoreError, match="opened for reading only"):
                change()
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before


def test_a_mapped_index_follows_what_others_write(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, documents(100))
        store.save()
    with FaissStore.open(tmp_path, TextEmbeddings(), read_only=True) as store:
        assert "6" in found(store, "query", k=200)
        with FaissStore.open(tmp_path, TextEmbeddings()) as writer:
            writer.delete(["6"])
            assert "6" not in found(store, "query", k=200)
            writer.save()
            writer.delete(["7"])
        assert sorted(found(store, "query", k=200)) == sorted({str(n) for n in range(100)} - {"6", "7"})


def test_a_read_only_store_that_was_not_saved_is_read_as_it_is(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, documents(100))
        store.save()
        store.delete(["5"])
    with FaissStore.open(tmp_path, TextEmbeddings(), read_only=True) as store:
        assert "5" not in found(store, "query", k=200)
        assert [each.id for each, _ in store.lexical_search("5 6")] == ["6"]
        with FaissStore.open(tmp_path, TextEmbeddings()) as writer:
            writer.delete(["6"])
        assert "6" not in found(store, "query", k=200)
        assert store.lexical_search("5 6") == []


def test_a_search_leaves_faiss_its_threads() -> None:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        store = FaissStore(TextEmbeddings())
        fill(store, documents(10))
        found(store, "query")
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_removing_moves_the_last_into_the_gaps() -> None:
    index = VectorIndex(faiss.index_factory(2, "Flat", faiss.METRIC_INNER_PRODUCT), np.empty(0, dtype=np.int64), 0)
    rows: Rows = np.arange(1, 7)
    index.add(rows, np.array([[n, 0] for n in rows], dtype=np.float32))
    index.remove(np.array([2, 5, 6, 99]))
    index.add(np.array([7]), np.array([[7, 0]], dtype=np.float32))
    everything = np.array([0.1, 0], dtype=np.float32)
    assert [(row, round(score, 1)) for row, score in index.search(everything, 9, None)] == [
        (7, 0.7),
        (4, 0.4),
        (3, 0.3),
        (1, 0.1),
    ]
    assert [row for row, _ in index.search(everything, 9, np.array([1, 2, 3]))] == [3, 1]


@given(
    first=st.integers(0, 5),
    changes=st.lists(
        st.one_of(st.integers(0, 20), st.sets(st.integers(0, 40)), st.just("reserve")),
        max_size=12,
    ),
)
def test_a_growing_array_is_a_list_from_which_the_last_move_into_gaps(first: int, changes: list[Any]) -> None:
    array, model, number = GrowableArray(np.arange(first)), list(range(first)), 100
    for change in changes:
        if change == "reserve":
            array.reserve(2 * len(model) + 1)
        elif isinstance(change, int):
            array.append(np.arange(number, number + change))
            model += range(number, number + change)
            number += change
        else:
            at = sorted(place for place in change if place < len(model))
            array.remove(np.array(at, dtype=np.intp))
            model = _without(model, at)
        assert array.filled.tolist() == model
        assert len(array.filled) == len(model)


def test_the_first_rows_that_are_added_have_room() -> None:
    array = GrowableArray(np.arange(80))
    first = array.filled.base
    array.append(np.arange(10))
    assert array.filled.base is first
    array.append(np.arange(1))
    assert array.filled.base is not first
    assert array.filled.tolist() == [*range(80), *range(10), 0]


def _without(values: list[int], at: list[int]) -> list[int]:
    kept = len(values) - len(at)
    movers = [values[place] for place in range(kept, len(values)) if place not in at]
    gaps = [place for place in at if place < kept]
    moved = values[:kept]
    for gap, mover in zip(gaps, movers, strict=True):
        moved[gap] = mover
    return moved


@pytest.mark.parametrize("kind", ["Flat", "SQ8", "SQfp16"])
def test_codes_are_those_of_faiss_and_are_read_where_they_lie(kind: str) -> None:
    vectors = np.array([TextEmbeddings().vector(f"text {n}") for n in range(500)], dtype=np.float32)
    plain: Any = faiss.index_factory(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    plain.train(vectors)
    ours: Any = faiss.clone_index(plain)
    plain.add(vectors)
    codes = CodeBuffer(ours)
    for start in range(0, 500, 90):
        codes.add(vectors[start : start + 90])
    assert not ours.codes.is_owned
    assert (ours.ntotal, ours.codes.size()) == (plain.ntotal, plain.codes.size())
    assert faiss.serialize_index(ours).tobytes() == faiss.serialize_index(plain).tobytes()
    for mine, theirs in zip(ours.search(vectors[:5], 9), plain.search(vectors[:5], 9), strict=True):
        np.testing.assert_array_equal(mine, theirs)

    taken_over = CodeBuffer(plain)
    taken_over.codes.remove(np.arange(10, 500))
    taken_over.show()
    assert plain.search(vectors[9:10], 1)[1].tolist() == [[9]]
    assert plain.ntotal == 10


@pytest.mark.parametrize(
    "index", ["Flat", "SQ8", "HNSW32", "RaBitQ2", "IVF16,RaBitQ2", "IVF1,PQ16x4fs", "IVF16,PQ16x4fs"]
)
def test_a_store_that_may_be_changed_does_not_read_its_vectors_from_the_file(index: str, tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path, index) as store:
        fill(store, documents())
        store.save()
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        expected = found(store, "query")
        (saved,) = tmp_path.glob("vectors.*faiss")
        with saved.open("rb+") as file:  # of a mapped one, the process would end here
            file.truncate(100)
        assert found(store, "query") == expected
        store.delete(expected[:1])
        assert expected[0] not in found(store, "query")


@pytest.mark.parametrize("kind", ["IVF1,PQ16x4fs", "IVF16,PQ16x4fs"])
def test_codes_are_made_in_the_faster_way_and_are_the_same(kind: str, tmp_path: Path) -> None:
    vectors = np.array([TextEmbeddings().vector(f"text {n}") for n in range(COUNT)], dtype=np.float32)
    index = make_faiss_index(kind, vectors.shape[1])
    index.train(vectors)
    codes = index.pq.compute_codes(vectors)
    write_index(tmp_path / "index", index, np.zeros(0, dtype=np.int64))
    assert not index.pq.transposed_centroids.size()
    loaded = read_index(tmp_path / "index", mapped=False)
    assert loaded is not None
    assert loaded.index.pq.transposed_centroids.size() == index.pq.centroids.size()
    np.testing.assert_array_equal(loaded.index.pq.compute_codes(vectors), codes)
