"""FaissStore: what goes in comes out, survives, and is found."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import (
    EmbeddingError,
    IndexMismatchError,
    IndexNotFoundError,
    InvalidInputError,
    SentenceWindowWarning,
    StoreError,
)
from tests.forms import Invoke
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


def test_vectors_made_elsewhere_are_not_embedded(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    ids = store.add_embeddings([Document(page_content="anything")], [words.vector("refund")])
    assert words.calls == 0
    assert [document.id for document in store.similarity_search("refund")] == ids
    assert [each.id for each in store.similarity_search_by_vector(words.vector("refund"))] == ids
    ((found, score),) = store.similarity_search_with_score_by_vector(words.vector("refund"))
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


def test_an_empty_store_is_searched_and_takes_the_size_of_its_first_vectors(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    assert store.similarity_search_by_vector([1.0, 2.0]) == []
    store.add_texts(["refund"], ids=["a"])
    assert [document.id for document in store.similarity_search("refund")] == ["a"]


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


def test_stats_count_the_contents(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path) as store:
        empty = store.stats()
        assert (empty.documents, empty.sentences, empty.generation, empty.index) == (0, 0, 0, "auto")
        assert (empty.index_in_use, empty.index_to_come) == ("exact", None)
        sentences = [Document(page_content=text, id=text, metadata={"doc_id": text[0]}) for text in TEXTS]
        store.add_documents(sentences)
        store.add_texts(["of no document"])
        store.save()
        stats = store.stats()
        assert (stats.documents, stats.sentences, stats.generation) == (3, 5, 2)
        assert (stats.tombstones, stats.staged_texts) == (0, 0)
        assert stats.bytes == _sizes(tmp_path)
        store.delete(["trial"])
        assert (store.stats().documents, store.stats().sentences) == (2, 4)
    with FaissStore(words) as store:
        assert store.stats().bytes == {}
        with pytest.raises(StoreError, match="give backup\\(\\) a path"):
            store.save()


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
        # Too far behind to catch up, so rebuilt.
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
    assert store.hybrid_search("refund", k=2, lexical_weight=0) == first
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
