"""Vectors of new texts between embedding and the transaction: kept in memory, staged when that is worth it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.stores.faiss import session
from langchain_sentence_window.stores.faiss import store_writer as replacement
from langchain_sentence_window.stores.faiss import store_writer as write_methods
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.lexical_index import LexicalCache
from tests.conftest import Invoke
from tests.toys import WordEmbeddings

TEXTS = [f"card {number}" for number in range(30)]


class Watched(WordEmbeddings):
    """Notes how many texts are staged before each call, and may fail in one."""

    def __init__(self) -> None:
        super().__init__()
        self._staged: list[int] = []
        self._store: FaissStore | None = None
        self.client_fails_at = -1

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        assert self._store is not None
        self._staged.append(self._store.stats().staged_texts)
        if len(self._staged) == self.client_fails_at:
            raise ZeroDivisionError
        return super().embed_documents(texts)


def watched(path: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[Watched, FaissStore]:
    monkeypatch.setattr("langchain_sentence_window.embedding.embedder.EMBED_BATCH_SIZE", 5)
    for name, value in settings.items():
        monkeypatch.setattr(replacement, name, value)
    words = Watched()
    words._store = FaissStore(words, path)
    return words, words._store


def test_nothing_is_staged_by_a_call_that_goes_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, store = watched(tmp_path, monkeypatch)
    with store:
        store.add_texts(TEXTS)
        assert words._staged == [0] * 6
        assert (len(store), store.stats().generation) == (30, 1)


@pytest.mark.parametrize("setting", [{"MAX_UNSTAGED": 10}, {"MAX_SECONDS_UNSTAGED": -1.0}])
def test_many_and_late_vectors_are_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: dict[str, Any]
) -> None:
    words, store = watched(tmp_path, monkeypatch, **setting)
    with store:
        store.add_texts(TEXTS)
        assert words._staged == ([0, 0, 10, 10, 20, 20] if "MAX_UNSTAGED" in setting else [0, 5, 10, 15, 20, 25])
        assert (len(store), store.stats().staged_texts) == (30, 0)
        for text in TEXTS:
            ((found, score),) = store.similarity_search_with_score(text, k=1)
            assert score == pytest.approx(1, abs=2e-3)
            assert found.page_content.startswith("card")


def test_an_interrupted_call_stages_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, store = watched(tmp_path, monkeypatch)
    words.client_fails_at = 4
    with store:
        with pytest.raises(ZeroDivisionError):
            store.add_texts(TEXTS)
        assert (len(store), store.stats().staged_texts) == (0, 15)
        store.add_texts(TEXTS)
        assert sorted(words.embedded) == sorted(TEXTS)
        assert (len(store), store.stats().staged_texts) == (30, 0)


def test_the_error_of_the_embedder_is_told_also_if_nothing_can_be_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise StoreError("the disk is full")

    words, store = watched(tmp_path, monkeypatch)
    words.client_fails_at = 4
    monkeypatch.setattr(Transaction, "stage_vectors", full)
    with store, pytest.raises(ZeroDivisionError):
        store.add_texts(TEXTS)


def test_the_error_of_a_single_call_stages_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, store = watched(tmp_path, monkeypatch)
    words.client_fails_at = 1
    with store:
        with pytest.raises(ZeroDivisionError):
            store.add_texts(TEXTS[:5])
        assert store.stats().staged_texts == 0


# Parts of a long series


def part(number: int) -> list[Document]:
    place = {"doc_id": f"d{number}", "sentence_index": 0}
    return [Document(id=f"d{number}", page_content=f"card {number}", metadata=place)]


def test_caches_catch_up_once_in_many_parts(
    words: WordEmbeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MAX_ROWS_BEHIND", 4)
    caught_up: list[int] = []
    monkeypatch.setattr(session, "MIN_ROWS_TO_CATCH_UP", 1)
    with FaissStore(words, tmp_path) as store:
        monkeypatch.setattr(LexicalCache, "catch_up", lambda _: caught_up.append(len(store)))
        for number in range(10):
            prepared = run(store.prepare_replacement(BLOCKING, part(number), [f"d{number}"], [""]))
            run(prepared.embed(BLOCKING, {}, show_progress=False))
            assert prepared.write_part()
        assert caught_up == [4, 8]
        store.catch_up()
        assert caught_up == [4, 8, 10]
        assert [each.page_content for each in store.similarity_search("card", k=20, filter={"doc_id": "d7"})] == [
            "card 7"
        ]


def test_a_part_relies_on_vectors_that_are_not_written_yet(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path) as store:
        first = run(store.prepare_replacement(BLOCKING, part(1), ["d1"], [""]))
        run(first.embed(BLOCKING, {}, show_progress=False))
        same = [
            each.model_copy(update={"id": "e", "metadata": {"doc_id": "e", "sentence_index": 0}}) for each in part(1)
        ]
        second = run(store.prepare_replacement(BLOCKING, same, ["e"], [""]))
        run(second.embed(BLOCKING, first.vectors, show_progress=False))
        assert words.embedded == ["card 1"]
        assert second.write_part()
        assert first.write_part()
        assert len(store) == 2
        assert len(store.similarity_search_with_score("card", k=5)) == 2


def test_a_part_whose_vector_was_deleted_meanwhile_is_made_again(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path) as store:
        store.add_texts(["card 1"], ids=["old"])
        prepared = run(store.prepare_replacement(BLOCKING, part(1), ["d1"], [""]))
        run(prepared.embed(BLOCKING, {}, show_progress=False))
        assert words.embedded == ["card 1"]
        store.delete(["old"])
        assert not prepared.write_part()
        assert len(store) == 0
        run(prepared.make(BLOCKING, show_progress=False))
        assert words.embedded == ["card 1"] * 2
        assert len(store) == 1


# Iterators


async def test_an_iterator_of_documents_is_added_in_batches(
    words: WordEmbeddings, way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_methods, "DOCUMENT_BATCH_SIZE", 10)

    def given(bad_at: int = 99) -> Iterator[Any]:
        for number in range(25):
            yield None if number == bad_at else Document(id=str(number % 23), page_content=f"card {number}")

    store = FaissStore(words)
    assert await way(store, "add_documents", given()) == [str(number % 23) for number in range(25)]
    assert (len(store), store.stats().generation) == (23, 3)
    assert store.get_by_ids(["0"])[0].page_content == "card 23"  # the last one with that id
    other = FaissStore(words)
    with pytest.raises(InvalidInputError, match=r"documents\[17\] is None"):
        await way(other, "add_documents", given(17))
    assert len(other) == 10
    assert await way(other, "add_documents", given(), ids=[f"new {number}" for number in range(25)])
    assert (len(other), other.stats().generation) == (35, 2)
