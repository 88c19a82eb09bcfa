"""FaissStore: what goes in comes out, survives, and is found."""

import copy
import sqlite3
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import (
    EmbeddingError,
    IndexMismatchError,
    IndexNotFoundError,
    InvalidInputError,
    SentenceWindowWarning,
    StoreError,
)
from tests.conftest import Invoke
from tests.toys import WordEmbeddings

TEXTS = ["refund annual", "refund monthly", "card", "trial"]
DATABASE = "sentences.sqlite3"


@pytest.fixture
def store(words: WordEmbeddings) -> FaissStore:
    return FaissStore.from_texts(TEXTS, words, [{"n": n} for n in range(4)], ids=["a", "b", "c", "d"])


async def test_scores_are_cosines_best_first(store: FaissStore, way: Invoke) -> None:
    found = await way(store, "similarity_search_with_score", "refund annual", k=3)
    assert [document.id for document, _ in found] == ["a", "b", "c"]
    # (1, 1, 0.1) and (1, 1, 0.1); (1, 0, 1, 0.1); (1, 0.1) in their own dimension.
    assert [score for _, score in found] == pytest.approx([1, 1.01 / 2.01, 0.01 / (2.01 * 1.01) ** 0.5], abs=1e-3)


async def test_relevance_scores_are_cosines_in_0_to_1(store: FaissStore, way: Invoke) -> None:
    found = await way(store, "similarity_search_with_relevance_scores", "refund annual", k=4)
    assert all(0 <= score <= 1 for _, score in found)
    assert found[0][1] == pytest.approx(1, abs=1e-3)


async def test_documents_come_back_as_they_went_in(words: WordEmbeddings, way: Invoke) -> None:
    metadata = {
        "text": "ü\x00'\"",
        "float": 0.1,
        "none": None,
        "nested": {"list": [1, [2]]},
        "true": True,
        "big": 2**70,
    }
    documents = [
        Document(page_content="lone \ud800 surrogate, NUL \x00 and 👩\u200d👧", metadata=metadata, id="1"),
        Document(page_content="", metadata={}, id="2"),
    ]
    before = copy.deepcopy(documents)
    with FaissStore(words) as store:
        assert await way(store, "add_documents", documents) == ["1", "2"]
        assert documents == before
        found = await way(store, "get_by_ids", ["2", "unknown", "1", "\ud800", "2"])
        assert found == [before[1], before[0]]
        found[1].metadata["nested"]["list"].append(3)
        assert await way(store, "get_by_ids", ["1"]) == [before[0]]


async def test_an_id_that_is_known_is_replaced(store: FaissStore, way: Invoke) -> None:
    await way(
        store, "add_documents", [Document(page_content="backup", id="a"), Document(page_content="replica", id="a")]
    )
    assert len(store) == 4
    (document,) = store.get_by_ids(["a"])
    assert document == Document(page_content="replica", id="a")
    assert [found.id for found in store.similarity_search("refund annual", k=1)] == ["b"]
    assert [found.id for found in store.similarity_search("replica", k=1)] == ["a"]
    assert store.similarity_search_with_score("backup", k=1)[0][1] < 0.5


async def test_deleted_documents_are_gone(store: FaissStore, way: Invoke) -> None:
    assert await way(store, "delete", ["a", "unknown"])
    assert await way(store, "delete", filter={"n": {"$gte": 3}})
    assert len(store) == 2
    assert {document.id for document in store.similarity_search("refund", k=9)} == {"b", "c"}
    assert await way(store, "delete", [])
    assert len(store) == 2


@pytest.mark.parametrize("arguments", [{}, {"ids": ["a"], "filter": {}}])
def test_delete_without_saying_what_deletes_nothing(store: FaissStore, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="either ids or a filter"):
        store.delete(**arguments)
    assert len(store) == 4


async def test_a_filter_is_applied_before_the_search(words: WordEmbeddings, way: Invoke) -> None:
    texts = ["refund annual"] * 200 + ["card"] * 4
    store = FaissStore.from_texts(texts, words, [{"rare": n >= 200} for n in range(204)])
    found = await way(store, "similarity_search", "refund annual", k=4, filter={"rare": True})
    assert [document.page_content for document in found] == ["card"] * 4


@given(
    st.lists(st.lists(st.floats(-1, 1, width=16), min_size=3, max_size=3), min_size=1, max_size=30), st.integers(1, 9)
)
def test_search_agrees_with_brute_force_over_the_vectors(vectors: list[list[float]], k: int) -> None:
    class Axes(WordEmbeddings):
        def vector(self, text: str) -> list[float]:
            return [1.0, 2.0, 3.0]

    with FaissStore(Axes()) as store:
        store.add_embeddings([Document(page_content=str(n), id=str(n)) for n in range(len(vectors))], vectors)
        found = store.similarity_search_with_score("", k=k)
    array = np.array(vectors)
    lengths = np.linalg.norm(array, axis=1)
    cosines = array @ np.array([1, 2, 3]) / 14**0.5 / np.where(lengths > 0, lengths, 1)
    assert [score for _, score in found] == pytest.approx(sorted(cosines, reverse=True)[:k], abs=2e-3)
    for document, score in found:
        assert cosines[int(document.page_content)] == pytest.approx(score, abs=2e-3)


async def test_vectors_made_elsewhere_are_not_embedded(words: WordEmbeddings, way: Invoke) -> None:
    store = FaissStore(words)
    ids = await way(store, "add_embeddings", [Document(page_content="anything")], [words.vector("refund")])
    assert words.calls == 0
    assert [document.id for document in store.similarity_search("refund")] == ids
    for method in ("similarity_search_by_vector", "max_marginal_relevance_search_by_vector"):
        assert [each.id for each in await way(store, method, words.vector("refund"))] == ids
    ((found, score),) = await way(store, "similarity_search_with_score_by_vector", words.vector("refund"))
    assert found.id == ids[0]
    assert score == pytest.approx(1, abs=1e-3)


def test_a_store_is_opened_as_it_was_left_and_embeds_nothing(words: WordEmbeddings, tmp_path: Path) -> None:
    for saved in (False, True):
        path = tmp_path / str(saved)
        with FaissStore.from_texts(TEXTS, words, path=path) as store:
            expected = store.similarity_search_with_score("refund monthly", k=4)
            if saved:
                store.save()
        calls = words.calls
        with FaissStore.open(path, words) as store:
            assert store.similarity_search_with_score("refund monthly", k=4) == expected
        assert words.calls == calls


async def test_a_store_in_memory_can_be_saved_into_a_folder(
    store: FaissStore, words: WordEmbeddings, tmp_path: Path, way: Invoke
) -> None:
    with pytest.raises(StoreError, match="give save\\(\\) a path"):
        await way(store, "save")
    await way(store, "save", tmp_path / "copy")
    with FaissStore.open(tmp_path / "copy", words) as copied:
        assert copied.similarity_search_with_score("card") == store.similarity_search_with_score("card")
    with pytest.raises(StoreError, match="holds an index already"):
        await way(store, "save", tmp_path / "copy")


@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped", "garbage", "behind"])
def test_the_faiss_file_is_a_cache(words: WordEmbeddings, tmp_path: Path, damage: str) -> None:
    with FaissStore.from_texts(TEXTS, words, ids=list("abcd"), path=tmp_path) as store:
        store.save()
        if damage == "behind":
            store.delete(["a"])
            store.add_texts(["backup"], ids=["e"])
        expected = store.similarity_search_with_score("refund annual", k=9)
    file = tmp_path / "vectors.faiss"
    content = file.read_bytes()
    damaged = {
        "truncated": content[:100],
        "flipped": content[:-5] + bytes([content[-5] ^ 255]) + content[-4:],
        "garbage": b"cos\nsystem\n(S'x'\ntR.",
    }
    if damage == "missing":
        file.unlink()
    elif damage in damaged:
        file.write_bytes(damaged[damage])
    with FaissStore.open(tmp_path, words) as store:
        assert store.similarity_search_with_score("refund annual", k=9) == expected


def test_a_second_connection_sees_what_was_written(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path) as writer, FaissStore.open(tmp_path, words) as reader:
        assert reader.similarity_search("card") == []
        for number, text in enumerate(TEXTS, 1):
            writer.add_texts([text], ids=[str(number)])
            assert [document.id for document in reader.similarity_search(text, k=1)] == [str(number)]
        reader.delete(["1"])
        assert {document.id for document in writer.similarity_search("refund", k=9)} == {"2", "3", "4"}


async def test_an_embedder_that_fails_half_way_leaves_the_store_as_it_was(
    words: WordEmbeddings, tmp_path: Path, way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain_sentence_window.embedding.embedder.EMBED_BATCH_SIZE", 2)

    class Failing(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if "x" in texts:
                raise ConnectionError("the provider hung up")
            return super().embed_documents(texts)

    failing = Failing()
    with FaissStore.from_texts(TEXTS, failing, path=tmp_path, ids=list("abcd")) as store:
        before = store.get_by_ids(list("abcd")), store.similarity_search_with_score("refund", k=9)
        documents = [
            Document(page_content=text, id=id_) for id_, text in zip("abcd", ("a1", "b1", "c1", "x"), strict=True)
        ]
        with pytest.raises(ConnectionError, match="hung up"):
            await way(store, "add_documents", documents)
        assert failing.embedded[-2:] == ["a1", "b1"]
        assert (store.get_by_ids(list("abcd")), store.similarity_search_with_score("refund", k=9)) == before


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 2.0]] * 2, r"vectors of 2 numbers don't fit an index of vectors of 11"),
        ([[0.0] * 11], r"each of 2 texts, .* and got numbers of shape \(1, 11\)"),
        ([[0.0] * 11, [1.0]], "all of one length, and got"),
        ([[0.0] * 11, [float("nan")] * 11], "vector 1 of 2 holds NaN"),
        ([["x"] * 11] * 2, "expected a list of numbers"),
        ([[], []], r"numbers of shape \(2, 0\)"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(store: FaissStore, vectors: Any, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        store.add_embeddings([Document(page_content="x"), Document(page_content="y")], vectors)
    assert len(store) == 4


def test_a_query_vector_of_another_size_is_refused(store: FaissStore) -> None:
    with pytest.raises(EmbeddingError, match="vectors of 3 numbers don't fit"):
        store.similarity_search_by_vector([1.0, 2.0, 3.0])


def test_an_empty_store_is_searched_and_takes_the_size_of_its_first_vectors(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    assert store.similarity_search_by_vector([1.0, 2.0]) == []
    store.add_texts(["refund"], ids=["a"])
    assert [document.id for document in store.similarity_search("refund")] == ["a"]


def test_threads_that_read_at_once_get_what_they_asked_for(words: WordEmbeddings) -> None:
    """From Python 3.12 on, threads that share a connection of sqlite3 may be given each other's rows."""
    ids = [str(n) for n in range(100)]
    store = FaissStore.from_texts([f"card {id_}" for id_ in ids], words, ids=ids)

    def read(start: int) -> list[str]:
        asked = [ids[start * n % 100] for n in range(400)]
        return [id_ for id_ in asked if [document.id for document in store.get_by_ids([id_])] != [id_]]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(1, 9))) == [[]] * 8
    store.close()


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "4"])
def test_a_bad_k_is_refused(store: FaissStore, k: Any) -> None:
    with pytest.raises(InvalidInputError, match="k is "):
        store.similarity_search("refund", k=k)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document(page_content="x", metadata={"when": {1j}}), "can't be stored as JSON"),
        (Document(page_content="x", metadata={"n": float("nan")}), "can't be stored as JSON"),
        (Document(page_content="x", metadata={"keys": {1: 2, "1": 2}}), "its keys aren't different strings"),
        (Document(page_content="x", metadata={2: 1}), "its key isn't a string"),
        (Document(page_content="x", id=""), "can't be an id"),
        (Document(page_content="x", id="a\x00"), "can't be an id"),
        (Document(page_content="x", id="\ud800"), "can't be an id"),
    ],
)
def test_what_cannot_be_stored_is_refused(store: FaissStore, document: Document, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        store.add_documents([Document(page_content="fine"), document])
    assert len(store) == 4


def test_another_embedder_is_told_apart_by_what_it_embeds(tmp_path: Path) -> None:
    class Same(WordEmbeddings):
        model_name = "the same model, loaded from elsewhere"

    made_with = WordEmbeddings()
    FaissStore.from_texts(TEXTS, made_with, path=tmp_path).close()
    FaissStore.open(tmp_path, Same()).close()
    for other in (DeterministicFakeEmbedding(size=11), DeterministicFakeEmbedding(size=5)):
        with pytest.raises(IndexMismatchError, match="vectors of .*WordEmbeddings.*DeterministicFakeEmbedding"):
            FaissStore.open(tmp_path, other)
        with pytest.raises(IndexMismatchError):
            FaissStore(other, tmp_path)
    with FaissStore.open(tmp_path, made_with) as store:
        assert len(store) == 4


def test_the_same_class_with_another_model_is_another_embedder(tmp_path: Path) -> None:
    FaissStore.from_texts(TEXTS, DeterministicFakeEmbedding(size=8), path=tmp_path).close()
    with pytest.raises(IndexMismatchError, match=r"size=8.*size=9"):
        FaissStore.open(tmp_path, DeterministicFakeEmbedding(size=9))


@pytest.mark.parametrize(("newer", "cure"), [(-1, "index the documents again"), (1, "pip install --upgrade")])
def test_an_index_of_another_version_is_refused_and_kept(
    words: WordEmbeddings, tmp_path: Path, newer: int, cure: str
) -> None:
    FaissStore.from_texts(TEXTS, words, path=tmp_path).close()
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        (own,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {own + newer}")
    content = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(
        IndexMismatchError, match=f"has format {own + newer}, and this version .* reads format {own}; .*{cure}"
    ):
        FaissStore.open(tmp_path, words)
    assert (tmp_path / DATABASE).read_bytes() == content


def test_paths_that_hold_no_index(words: WordEmbeddings, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    with pytest.raises(StoreError, match="can't be used as an index's folder"):
        FaissStore(words, file)
    with pytest.raises(StoreError, match="is a file, and an index is a folder; give the path that from_documents was"):
        FaissStore.open(file, words)
    assert file.read_text() == "text"
    for missing in (tmp_path / "none", tmp_path):
        with pytest.raises(IndexNotFoundError, match="there is no index at .*from_documents"):
            FaissStore.open(missing, words)
    assert not (tmp_path / "none").exists()
    (tmp_path / DATABASE).write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="can't be opened as an index"):
        FaissStore.open(tmp_path, words)
    (tmp_path / DATABASE).unlink()
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(StoreError, match="not one of langchain-sentence-window"):
        FaissStore(words, tmp_path)


async def test_max_marginal_relevance_takes_what_is_unlike(store: FaissStore, way: Invoke) -> None:
    await way(store, "add_documents", [Document(page_content="refund annual", id="twin")])
    search: dict[str, Any] = {"k": 2, "fetch_k": 4}
    near = await way(store, "max_marginal_relevance_search", "refund annual", lambda_mult=1, **search)
    assert {each.id for each in near} == {"a", "twin"}
    varied = await way(store, "max_marginal_relevance_search", "refund annual", lambda_mult=0.3, **search)
    assert varied[0].id in ("a", "twin")
    assert varied[1].id not in ("a", "twin")
    filtered = await way(store, "max_marginal_relevance_search", "refund annual", filter={"n": {"$gt": 0}}, **search)
    assert {each.id for each in filtered} <= {"b", "c", "d"}
    assert await way(store.as_retriever(search_type="mmr", search_kwargs=search), "invoke", "refund annual")
    for wrong in ({"k": 0}, {"fetch_k": 0}, {"lambda_mult": 1.1}, {"lambda_mult": -0.1}):
        with pytest.raises(InvalidInputError, match=f"{next(iter(wrong))} is"):
            await way(store, "max_marginal_relevance_search", "refund", **wrong)


async def test_what_the_store_holds_is_counted(words: WordEmbeddings, tmp_path: Path, way: Invoke) -> None:
    with FaissStore(words, tmp_path) as store:
        empty = await way(store, "stats")
        assert (empty.documents, empty.sentences, empty.generation, empty.index) == (0, 0, 0, "auto")
        assert (empty.index_in_use, empty.index_to_come) == ("exact", None)
        sentences = [Document(page_content=text, id=text, metadata={"doc_id": text[0]}) for text in TEXTS]
        store.add_documents(sentences)
        store.add_texts(["of no document"])
        await way(store, "save")
        stats = await way(store, "stats")
        assert (stats.documents, stats.sentences, stats.generation) == (3, 5, 2)
        assert (stats.tombstones, stats.staged_texts) == (0, 0)
        assert stats.bytes == _sizes(tmp_path)
        store.delete(["trial"])
        assert (store.stats().documents, store.stats().sentences) == (2, 4)
    assert FaissStore(words).stats().bytes == {}


def _sizes(folder: Path) -> dict[str, int]:
    parts: dict[str, Iterable[Path]] = {
        "database": folder.glob("sentences.*"),
        "vectors": [folder / "vectors.faiss"],
        "lexical": (folder / "words").iterdir(),
    }
    return {part: sum(file.stat().st_size for file in files) for part, files in parts.items()}


def test_the_log_of_changes_stays_short(words: WordEmbeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Else 10,000 removals are kept.
    monkeypatch.setattr("langchain_sentence_window.store.tables._MIN_REMOVALS_LOGGED", 5)
    with FaissStore(words, tmp_path) as store, FaissStore.open(tmp_path, words) as behind:
        store.add_texts(TEXTS, ids=list("abcd"))
        assert len(behind.similarity_search("refund", k=9)) == 4
        store.save()
        for number in range(40):
            store.add_texts([f"page {number}"], ids=["a"])
            with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
                for table in ("writes", "removed"):
                    assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] <= 13  # noqa: S608
        # Too far behind to catch up, so built anew.
        for each in (behind, FaissStore.open(tmp_path, words)):
            assert [found.page_content for found in each.similarity_search("page", k=1)] == ["page 39"]
            assert [found.page_content for found, _ in each.lexical_search("39 38")] == ["page 39"]
            assert len(each) == len(each.similarity_search("page", k=9)) == 4


async def test_a_query_that_is_searched_again_is_not_embedded_again(way: Invoke) -> None:
    class Counting(WordEmbeddings):
        asked: list[str] = []  # noqa: RUF012

        def embed_query(self, text: str) -> list[float]:
            self.asked.append(text)
            return super().embed_query(text)

    store = FaissStore(Counting())
    store.add_documents([Document(page_content="A refund.")] * 9)
    first = await way(store, "similarity_search_with_score", "refund", k=2)
    assert await way(store, "hybrid_search", "refund", k=2, lexical_weight=0) == first
    await way(store, "max_marginal_relevance_search", "refund")
    await way(store, "similarity_search", "card")
    assert Counting.asked == ["refund", "card"]


@pytest.mark.parametrize("search", ["similarity_search", "max_marginal_relevance_search"])
async def test_arguments_that_no_search_takes(store: FaissStore, way: Invoke, search: str) -> None:
    """A filter by another name would let all documents through."""
    with pytest.raises(InvalidInputError, match="takes no 'filters'; give the filter as filter="):
        await way(store, search, "card", filters={"n": 1})
    with pytest.warns(SentenceWindowWarning, match="takes no 'fetch', so it is ignored"):
        assert await way(store, search, "card", fetch=3) == await way(store, search, "card")


async def test_nothing_is_embedded_for_a_search_that_cannot_be_made(way: Invoke) -> None:
    class Counting(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            self.embedded.append(text)
            return super().embed_query(text)

    embedding = Counting()
    store = FaissStore(embedding)
    settings: list[dict[str, Any]] = [{"k": 0}, {"filter": {"$x": 1}}]
    for each in settings:
        with pytest.raises(InvalidInputError):
            await way(store, "similarity_search", "card", **each)
    assert embedding.embedded == []


@pytest.mark.parametrize("error", [ConnectionError("refused"), sqlite3.OperationalError("own"), ValueError("own")])
async def test_an_error_of_a_rank_passes_as_it_is(store: FaissStore, way: Invoke, error: Exception) -> None:
    def rank(_: object) -> list[float]:
        raise error

    with pytest.raises(type(error)) as raised:
        await way(store, "hybrid_search", "card", rank=rank)
    assert raised.value is error
