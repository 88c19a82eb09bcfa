"""FAISS indexes of all kinds: how many are found, filters, deletions, effort, equal scores, files."""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError, StoreError
from langchain_sentence_window.store import vectors
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
ONE_OF_EACH = ["Flat", "SQ8", "HNSW32", "IVF16,SQ8", "RaBitQ2", "IVF16,PQ16x4fs"]
LEAST_RECALL = {"Flat": 0.999, "SQfp16": 0.999, "SQ8": 0.999, "RaBitQ2": 0.99, "IVF1,PQ16x4fs": 0.99}
COUNT = 1_200


@pytest.fixture(autouse=True)
def lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes are compared of as few vectors as these, and of fewer candidates."""
    monkeypatch.setattr(vectors, "MAX_COMPARED_DIRECTLY", 50)
    monkeypatch.setattr(vectors, "MIN_CANDIDATES", 200)


def documents(count: int = COUNT) -> list[Document]:
    return [Document(page_content=f"text {n}", id=str(n), metadata={"n": n}) for n in range(count)]


@lru_cache(None)
def vector_of(text: str) -> Any:
    return TextEmbeddings().vector(text)


def fill(store: FaissStore, given: list[Document]) -> None:
    store.add_embeddings(given, np.array([vector_of(each.page_content) for each in given]))


def filled(index: str, path: Path | None = None) -> FaissStore:
    store = FaissStore(TextEmbeddings(), path, index)
    fill(store, documents())
    return store


def nearest(query: str, ids: list[str], k: int) -> list[str]:
    exact = np.array([vector_of(f"text {id_}") for id_ in ids])
    return [ids[i] for i in np.argsort(-(exact @ vector_of(query)), kind="stable")[:k]]


def found(store: FaissStore, query: str, k: int = 10, **keywords: Any) -> list[str]:
    return [str(each.id) for each in store.similarity_search(query, k, **keywords)]


def recall(store: FaissStore, ids: list[str], k: int = 10, **keywords: Any) -> float:
    queries = [f"query {n}" for n in range(20)]
    hits = [{*found(store, query, k, **keywords)} & {*nearest(query, ids, k)} for query in queries]
    return sum(map(len, hits)) / k / len(queries)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Searching


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_finds_through_additions_deletions_and_updates(index: str) -> None:
    store = filled(index)
    assert len(found(store, "query", k=2 * COUNT)) == COUNT
    fill(store, documents(COUNT // 2))
    gone = {str(n) for n in range(0, COUNT, 3)}
    store.delete(sorted(gone))
    ids = [str(n) for n in range(COUNT) if str(n) not in gone]
    # The vectors are random, which is hard on graphs and clusters.
    assert recall(store, ids) >= LEAST_RECALL.get(index, 0.7)
    assert recall(store, ids, search_effort=math.inf) == 1
    assert sorted(found(store, "query", k=2 * COUNT)) == sorted(ids)
    stats = store.stats()
    assert (stats.index, stats.sentences, stats.tombstones) == (index, len(ids), COUNT // 2 + len(gone))
    assert stats.rebuild_saves > 0
    store.close()


@pytest.mark.parametrize("index", INDEXES)
def test_a_filter_lets_k_through_whatever_the_index(index: str) -> None:
    store = filled(index)
    store.delete(["0"])
    for kept in (1, 5, 60, 500, 1_100):
        ids = [str(n) for n in range(1, kept + 1)]
        for query in ("query", "other", "third"):
            hits = found(store, query, filter={"n": {"$lte": kept}})
            assert len(hits) == min(10, kept), kept
            assert {*hits} <= {*ids}
            if kept < 100 or (search_is_exact(index) and kept < COUNT // 2):
                assert hits == nearest(query, ids, 10)
            assert found(store, query, filter={"n": {"$lte": kept}}, search_effort=math.inf) == nearest(query, ids, 10)
    store.close()


def search_is_exact(index: str) -> bool:
    """Whether all that a filter matches is compared exactly where that is less than half."""
    return not any(codes in index for codes in ("RaBitQ", "x4fs"))


@pytest.mark.parametrize("index", INDEXES)
def test_scores_do_not_depend_on_the_index(index: str) -> None:
    exact, store = filled("Flat"), filled(index)
    for query in ("a", "b", "c"):
        right = {each.id: score for each, score in exact.similarity_search_with_score(query, k=COUNT)}
        scored = store.similarity_search_with_score(query, k=10)
        assert len(scored) == 10
        assert all(abs(right[each.id] - score) < 1e-6 for each, score in scored)
        assert [score for _, score in scored] == sorted((score for _, score in scored), reverse=True)


@pytest.mark.parametrize("index", INDEXES)
def test_what_words_alone_find_has_its_cosine_too(index: str) -> None:
    store, seen = filled(index), dict[str, float]()
    vector = vector_of("query")
    far = nearest("query", [str(n) for n in range(COUNT)], COUNT)[-1]
    store.delete([str(n) for n in range(0, COUNT, 5) if str(n) != far])

    def rank(candidates: Any) -> Any:
        seen.update((key, cosine) for (key, _), cosine in zip(candidates.keys, candidates.dense, strict=True))
        return candidates.dense

    store.hybrid_search("query", 5, rank=rank)
    assert far not in seen
    # It is embedded as "query" and searched by the words of the farthest text.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextEmbeddings, "embed_query", lambda *_: vector.tolist())
        store.hybrid_search(f"text {far}", 5, rank=rank)
    assert seen[far] == pytest.approx(float(vector_of(f"text {far}") @ vector), abs=0.05)
    with pytest.raises(EmbeddingError, match="vectors of 31 numbers don't fit"):
        store.similarity_search_by_vector(vector[:-1])


@pytest.mark.parametrize("index", [index for index in INDEXES if not index.startswith("HNSW")])  # a graph finds any
@pytest.mark.parametrize("is_reversed", [False, True])
def test_equal_ones_are_ordered_by_document_and_index_whatever_was_added_first(index: str, is_reversed: bool) -> None:
    equal = [
        Document(
            page_content="equal",
            id=f"{number:03d}",
            metadata={"doc_id": f"d{number // 4:02d}", "sentence_index": number % 4, "section_start": number % 4},
        )
        for number in range(100)
    ]
    store = FaissStore(TextEmbeddings(), index=index)
    for part in (equal[::-1], documents()) if is_reversed else (documents(), equal):
        fill(store, part)
    assert found(store, "equal", k=7) == [f"{number:03d}" for number in range(7)]
    scored = store.hybrid_search("equal", k=7)
    assert [each.id for each, _ in scored] == [f"{number:03d}" for number in range(7)]


@pytest.mark.parametrize("index", ["HNSW32", "IVF16,Flat", "RaBitQ", "IVF16,PQ16x4fs"])
def test_more_effort_finds_more(index: str) -> None:
    store, ids = filled(index), [str(n) for n in range(COUNT)]
    little, usual, everything = (recall(store, ids, search_effort=effort) for effort in (0.05, 1, math.inf))
    assert little < usual <= everything == 1
    assert len(found(store, "query", search_effort=1e-9)) == 10
    store = FaissStore(TextEmbeddings(), index=index, search_effort=math.inf)
    fill(store, documents())
    assert recall(store, ids) == 1


@pytest.mark.parametrize("effort", [0, -1, float("nan"), "2", None, True])
def test_an_effort_is_a_number_above_zero(effort: Any) -> None:
    with pytest.raises(InvalidInputError, match="search_effort is .*; it must be a number above 0: 1 is usual"):
        FaissStore(TextEmbeddings(), search_effort=effort)
    store = FaissStore.from_texts(["a"], TextEmbeddings())
    if effort is not None:
        for find in (store.similarity_search, store.hybrid_search, store.max_marginal_relevance_search):
            with pytest.raises(InvalidInputError, match="search_effort is"):
                find("a", search_effort=effort)


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


# Names


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
    message = "into 5 equal parts, and they have 32 numbers; .* index='auto'"
    with filled("IVF1,PQ5x4fs", tmp_path) as store, pytest.raises(InvalidInputError, match=message):
        found(store, "query")
    with FaissStore.open(tmp_path, TextEmbeddings(), index="auto") as store:
        assert len(found(store, "query")) == 10


def test_too_few_vectors_to_train_are_kept_flat_until_there_are_enough() -> None:
    store = FaissStore(TextEmbeddings(), None, "SQ8")
    fill(store, documents(900))
    assert len(found(store, "query")) == 10
    stats = store.stats()
    assert (stats.index, stats.index_in_use) == ("SQ8", "Flat")
    assert stats.index_reason == "SQ8 can't be trained with 900 vectors yet"
    fill(store, documents(1_000))
    assert len(found(store, "query")) == 10
    assert store.stats().index_in_use == "SQ8"
    store.delete(["0"])
    assert len(found(store, "query")) == 10
    assert store.stats().index_in_use == "SQ8"  # so that it doesn't change to and fro


@pytest.mark.parametrize("index", INDEXES)
def test_a_store_that_is_almost_emptied_is_searched_and_filled_again(index: str) -> None:
    store = filled(index)
    found(store, "query")
    for left in (3, 0):
        store.delete([str(n) for n in range(left, COUNT)])
        assert sorted(found(store, "query")) == [str(n) for n in range(left)]
    fill(store, documents())
    assert len(found(store, "query")) == 10
    assert store.stats().index_in_use == index


def test_tombstones_are_cleared_when_they_are_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_MIN_TOMBSTONES", 10)
    store = FaissStore(TextEmbeddings(), None, "HNSW32")
    fill(store, documents(100))
    found(store, "query")
    for number in range(60):
        store.delete([str(number)])
        assert store.stats().tombstones <= 51
        assert len(found(store, "query", k=100)) == 99 - number
    assert store.stats().tombstones < 10


# Files


def test_the_index_is_changed_without_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled("auto", tmp_path) as store:
        exact = found(store, "query")
        store.save()
    embedding = TextEmbeddings()
    monkeypatch.setattr(TextEmbeddings, "embed_documents", None)
    for index in (*ONE_OF_EACH, "auto"):
        with FaissStore(embedding, tmp_path, index) as store:
            assert len({*found(store, "query")} & {*exact}) >= 5
            store.save()
        assert len([*tmp_path.glob("vectors.*")]) == (1 if search_is_exact(index) else 2)
        with FaissStore.open(tmp_path, embedding) as store:
            found(store, "query")
            assert (store.stats().index, store.stats().index_in_use) == (index, "Flat" if index == "auto" else index)
    assert found(FaissStore.open(tmp_path, embedding), "query") == exact


@pytest.mark.parametrize("index", ONE_OF_EACH)
def test_a_read_only_store_changes_nothing_and_follows_what_others_write(index: str, tmp_path: Path) -> None:
    with filled(index, tmp_path) as store:
        store.save()
        expected, words = found(store, "query"), store.lexical_search("text 7")
    before = contents(tmp_path)
    with FaissStore.open(tmp_path, TextEmbeddings(), read_only=True) as store:
        assert found(store, "query") == expected
        assert store.lexical_search("text 7") == words
        for change in (lambda: store.delete(["1"]), lambda: fill(store, documents(1)), store.save):
            with pytest.raises(StoreError, match="opened for reading only"):
                change()
        after = contents(tmp_path)
        assert {path: after[path] for path in before} == before
        with FaissStore.open(tmp_path, TextEmbeddings()) as writer:
            writer.delete(["6"])
            assert "6" not in found(store, "query", k=2 * COUNT)
            writer.save()
            writer.delete(["7"])
        assert sorted(found(store, "query", k=2 * COUNT)) == sorted({str(n) for n in range(COUNT)} - {"6", "7"})
        assert store.lexical_search("6 7") == []
    with FaissStore.open(tmp_path, TextEmbeddings(), read_only=True) as store:  # which isn't saved
        assert len(found(store, "query", k=2 * COUNT)) == COUNT - 2
        assert store.lexical_search("6 7") == []


@pytest.mark.parametrize("index", ONE_OF_EACH)
def test_a_file_that_is_cut_while_it_is_open_does_no_harm(index: str, tmp_path: Path) -> None:
    with filled(index, tmp_path) as store:
        store.save()
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        expected = found(store, "query")
        for saved in tmp_path.glob("vectors.*"):
            with saved.open("rb+") as file:  # of a mapped one, the process would end here
                file.truncate(100)
        assert found(store, "query") == expected
        store.delete(expected[:1])
        assert expected[0] not in found(store, "query")
        store.save()
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        assert found(store, "query", k=9) == expected[1:]
