"""FAISS indexes of each kind: what they find, filters, deletions, equal scores, changes of the kind, files."""

import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import EmbeddingError, StoreError

# Limits are lowered, so that a few thousand vectors are searched as millions are.
from langchain_sentence_window.store import faiss_index, vectors
from tests.recorded import RecordedEmbeddings
from tests.store.folders import DATABASE
from tests.store.searching import candidates_of
from tests.torture.corpus import TextEmbeddings

KINDS = ["exact", "codes", "clusters"]
NAMES = {"exact": "exact", "codes": "codes", "clusters": "codes in 64 clusters"}
LEAST_RECALL = {"exact": 1, "codes": 0.99, "clusters": 0.7}
"""The vectors are random, which is hard on clusters: the nearest of a vector are in many."""

COUNT = 2_600


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each kind of index, of which a search looks at few candidates."""
    kind: str = request.param
    monkeypatch.setattr(vectors, "MAX_COMPARED_DIRECTLY", 50)
    monkeypatch.setattr(vectors, "MIN_CANDIDATES", 200)
    if kind == "clusters":
        monkeypatch.setattr(faiss_index, "MAX_WHOLE_NUMBERS", 0)
    return kind


def asked_for(kind: str) -> str:
    return "exact" if kind == "exact" else "codes"


def documents(count: int = COUNT) -> list[Document]:
    return [Document(page_content=f"text {n}", id=str(n), metadata={"n": n}) for n in range(count)]


@lru_cache(None)
def vector_of(text: str) -> Any:
    return TextEmbeddings().vector(text)


def fill(store: FaissStore, given: list[Document]) -> None:
    store.add_embeddings(given, np.array([vector_of(each.page_content) for each in given]))


def filled(kind: str, path: Path | None = None) -> FaissStore:
    store = FaissStore(TextEmbeddings(), path, asked_for(kind))
    fill(store, documents())
    return store


def nearest(query: str, ids: list[str], k: int) -> list[str]:
    exact = np.array([vector_of(f"text {id_}") for id_ in ids]).astype(np.float16).astype(np.float32)  # as stored
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


def test_an_index_finds_through_additions_deletions_and_updates(kind: str) -> None:
    store = filled(kind)
    assert len(found(store, "query", k=2 * COUNT)) == COUNT
    fill(store, documents(COUNT // 2))
    gone = {str(n) for n in range(0, COUNT, 3)}
    store.delete(sorted(gone))
    ids = [str(n) for n in range(COUNT) if str(n) not in gone]
    assert recall(store, ids) >= LEAST_RECALL[kind]
    assert sorted(found(store, "query", k=2 * COUNT)) == sorted(ids)
    stats = store.stats()
    assert (stats.index, stats.index_in_use, stats.sentences) == (asked_for(kind), NAMES[kind], len(ids))
    store.close()


@pytest.mark.parametrize(("index", "least"), [("codes", 0.99), ("clusters", 0.9)])  # of some 20 vectors each
def test_a_search_finds_nearly_all_of_the_nearest_of_a_real_model(
    index: str, least: float, recorded: RecordedEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MIN_CANDIDATES", 0)
    monkeypatch.setattr(vectors, "MAX_COMPARED_DIRECTLY", 0)
    if index == "clusters":
        monkeypatch.setattr(faiss_index, "MAX_WHOLE_NUMBERS", 0)
        monkeypatch.setattr(faiss_index, "_MIN_PER_CLUSTER", 10)
    texts = sorted(recorded.vectors)
    questions, texts = [text for text in texts if "?" in text], [text for text in texts if "?" not in text]
    exact = np.array(recorded.embed_documents(questions)) @ np.array(recorded.embed_documents(texts)).T
    with FaissStore(recorded, index="codes", neighbor_weights=(1,)) as store:
        store.add_documents([Document(page_content=text, id=str(number)) for number, text in enumerate(texts)])
        shares, by_codes = list[float](), list[float]()
        for question, cosines in zip(questions, exact, strict=True):
            best = set(np.argsort(-cosines)[:50].tolist())
            scored = store.similarity_search_with_score(question, k=50)
            of_them = [cosines[int(str(each.id))] for each, _ in scored]
            assert [score for _, score in scored] == pytest.approx(of_them, abs=2e-4)
            shares.append(len(best & {int(str(each.id)) for each, _ in scored}) / 50)
            ranked = candidates_of(store, question, lexical_weight=0).keys[:50]
            by_codes.append(len(best & {int(id_) for id_, _ in ranked}) / 50)
        assert store.stats().index_in_use == NAMES[index]
    assert np.mean(shares) > least
    assert np.mean(by_codes) > least - 0.04  # by codes of six bits, which aren't compared again


def test_a_filter_lets_k_through_whatever_the_index(kind: str) -> None:
    store = filled(kind)
    store.delete(["0"])
    for kept in (1, 5, 50, 500, COUNT - 1):
        ids = [str(n) for n in range(1, kept + 1)]
        for query in ("query", "other", "third"):
            hits = found(store, query, filter={"n": {"$lte": kept}})
            assert len(hits) == min(10, kept), kept
            assert {*hits} <= {*ids}
            if kind == "exact" or kept <= 50:
                assert hits == nearest(query, ids, 10)
        assert recall(store, ids, min(10, kept), filter={"n": {"$lte": kept}}) >= LEAST_RECALL[kind]
    store.close()


def test_scores_do_not_depend_on_the_index(kind: str) -> None:
    exact, store = filled("exact"), filled(kind)
    for query in ("a", "b", "c"):
        right = {each.id: score for each, score in exact.similarity_search_with_score(query, k=COUNT)}
        scored = store.similarity_search_with_score(query, k=10)
        assert len(scored) == 10
        assert all(abs(right[each.id] - score) < 1e-6 for each, score in scored)
        assert [score for _, score in scored] == sorted((score for _, score in scored), reverse=True)


def test_what_words_alone_find_has_its_cosine_too(kind: str) -> None:
    store, vector = filled(kind), vector_of("query")
    far = nearest("query", [str(n) for n in range(COUNT)], COUNT)[-1]
    store.delete([str(n) for n in range(0, COUNT, 5) if str(n) != far])
    assert (far, 0) not in candidates_of(store, "query").keys
    # It is embedded as "query" and searched by the words of the farthest text.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextEmbeddings, "embed_query", lambda *_: vector.tolist())
        found = candidates_of(store, f"text {far}")
    cosine = found.dense[found.keys.index((far, 0))]
    assert cosine == pytest.approx(float(vector_of(f"text {far}") @ vector), abs=0.05)
    with pytest.raises(EmbeddingError, match="vectors of 31 numbers don't fit"):
        store.similarity_search_by_vector(vector[:-1])


@pytest.mark.parametrize("is_reversed", [False, True])
def test_equal_ones_are_ordered_by_document_and_index_in_any_order_of_adding(kind: str, is_reversed: bool) -> None:
    equal = [
        Document(
            page_content="equal",
            id=f"{number:03d}",
            metadata={"doc_id": f"d{number // 4:02d}", "sentence_index": number % 4, "section_start": number % 4},
        )
        for number in range(100)
    ]
    store = FaissStore(TextEmbeddings(), index=asked_for(kind))
    for part in (equal[::-1], documents()) if is_reversed else (documents(), equal):
        fill(store, part)
    assert found(store, "equal", k=7) == [f"{number:03d}" for number in range(7)]
    scored = store.hybrid_search("equal", k=7)
    assert [each.id for each, _ in scored] == [f"{number:03d}" for number in range(7)]
    assert store.stats().index_in_use == NAMES[kind]


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


# Few vectors


def test_too_few_vectors_to_train_are_compared_exactly_until_there_are_enough() -> None:
    store = FaissStore(TextEmbeddings(), None, "codes")
    in_use = []
    for count in (900, 1_000):
        fill(store, documents(count))
        assert len(found(store, "query")) == 10
        in_use.append((store.stats().index, store.stats().index_in_use))
    assert in_use == [("codes", "exact"), ("codes", "codes")]
    for left, expected in ((500, "codes"), (499, "exact")):  # down to half, so that it doesn't change to and fro
        store.delete([str(n) for n in range(left, 1_000)])
        assert len(found(store, "query")) == 10
        assert store.stats().index_in_use == expected


def test_codes_are_trained_with_enough_vectors_wherever_rows_were_removed(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path, "codes") as store:
        fill(store, documents(1))
    # As if many were added and removed since.
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database, database:
        database.execute("UPDATE writes SET last_row = 600000")
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        fill(store, documents(1_200)[1:])
        assert recall(store, [str(n) for n in range(1_200)]) >= LEAST_RECALL["codes"]
        assert store.stats().index_in_use == "codes"


def test_a_database_that_lacks_most_vectors_is_damaged(tmp_path: Path) -> None:
    filled("codes", tmp_path).close()
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database, database:
        database.execute("DELETE FROM vectors WHERE row > 10")
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        with pytest.raises(StoreError, match="lacks vectors of its sentences, so it is damaged; restore it"):
            found(store, "text 3", 1)
        assert not store.check().is_sound


def test_a_store_that_is_almost_emptied_is_searched_and_filled_again(kind: str) -> None:
    store = filled(kind)
    found(store, "query")
    for left in (3, 0):
        store.delete([str(n) for n in range(left, COUNT)])
        assert sorted(found(store, "query")) == [str(n) for n in range(left)]
    fill(store, documents())
    assert len(found(store, "query")) == 10
    assert store.stats().index_in_use == NAMES[kind]


def test_tombstones_are_cleared_when_they_are_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_MIN_TOMBSTONES", 10)
    store = FaissStore(TextEmbeddings())
    fill(store, documents(100))
    found(store, "query")
    for number in range(60):
        store.delete([str(number)])
        assert store.stats().tombstones <= 51
        assert len(found(store, "query", k=100)) == 99 - number
    assert store.stats().tombstones < 10


# Files


def test_the_index_is_changed_without_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled("exact", tmp_path) as store:
        right = found(store, "query")
        store.save()
    embedding = TextEmbeddings()
    monkeypatch.setattr(TextEmbeddings, "embed_documents", None)
    for index, in_use, files in (
        ("codes", "codes", 2),
        ("auto", "exact", 1),
        ("codes", "codes", 2),
        ("exact", "exact", 1),
    ):
        with FaissStore(embedding, tmp_path, index) as store:
            assert found(store, "query") == right
            store.save()
        assert len([*tmp_path.glob("vectors.*")]) == files
        with FaissStore.open(tmp_path, embedding) as store:
            assert found(store, "query") == right
            assert (store.stats().index, store.stats().index_in_use) == (index, in_use)


def test_a_read_only_store_changes_nothing_and_follows_what_others_write(kind: str, tmp_path: Path) -> None:
    with filled(kind, tmp_path) as store:
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
