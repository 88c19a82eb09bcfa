"""A call that is interrupted writes all or nothing, and what it has embedded isn't embedded again."""

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count as count_from
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.torture.calls import filled
from tests.torture.corpus import TextEmbeddings, contents, document
from tests.toys import WordEmbeddings

BATCH = 256
"""Texts that an embedder is given at once."""

TEXTS = [f"card {number}" for number in range(4 * BATCH)]


class Watched(WordEmbeddings):
    """Calls a function before each call, with the number of calls so far."""

    def __init__(self, before: Callable[[int], object]) -> None:
        super().__init__()
        self._before = before

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self._before(self.calls)
        return super().embed_documents(texts)


def failing_at(call: int, error: type[BaseException] = ZeroDivisionError) -> Callable[[int], None]:
    """Return a function that raises once, before a call of that number."""
    left = [call]

    def fail(calls: int) -> None:
        if left == [calls]:
            left.clear()
            raise error

    return fail


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
async def test_an_interrupted_call_adds_nothing_and_goes_on_where_it_was(
    error: type[BaseException], tmp_path: Path, way: Invoke
) -> None:
    words = Watched(failing_at(3, error))
    with FaissStore(words, tmp_path) as store:
        with pytest.raises(error):
            await way(store, "add_texts", TEXTS)
        assert (len(store), store.stats().staged_texts) == (0, 3 * BATCH)
    with FaissStore(words, tmp_path) as store:
        await way(store, "add_texts", TEXTS)
        assert sorted(words.embedded) == sorted(TEXTS)
        assert (len(store), store.stats().staged_texts) == (len(TEXTS), 0)


def texts_of_one_key(count: int) -> list[str]:
    """Return texts of which the first and the last have the same CRC-32, as two of 200,000 sentences probably have."""
    keys: dict[int, str] = {}
    for number in count_from(0):
        text = f"card {number}"
        other = keys.setdefault(zlib.crc32(text.encode()), text)
        if other != text:
            return [other, *(f"seat {each}" for each in range(count)), text]
    raise AssertionError


def test_staged_texts_with_the_same_checksum_are_each_written(tmp_path: Path) -> None:
    """They are looked up by it, and written in several parts."""
    texts = texts_of_one_key(6_000)
    words = Watched(failing_at(len(texts) // BATCH))
    with FaissStore(words, tmp_path) as store:
        with pytest.raises(ZeroDivisionError):
            store.add_texts(texts)
        store.add_texts(texts)
        assert (len(store), store.stats().staged_texts) == (len(texts), 0)
    assert sorted(words.embedded) == sorted(texts)


async def test_what_is_left_of_an_interrupted_call_can_be_dropped(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(Watched(failing_at(1)), tmp_path) as store:
        with pytest.raises(ZeroDivisionError):
            store.add_texts(TEXTS)
        assert store.discard_staged() == BATCH
        assert store.discard_staged() == store.stats().staged_texts == 0


def test_a_call_of_one_batch_stages_nothing(tmp_path: Path) -> None:
    with FaissStore(Watched(failing_at(0)), tmp_path) as store:
        with pytest.raises(ZeroDivisionError):
            store.add_texts(TEXTS[:BATCH])
        assert store.stats().staged_texts == 0


def test_only_many_vectors_are_staged_by_a_call_that_goes_well(tmp_path: Path) -> None:
    staged = list[int]()
    with FaissStore(Watched(lambda _: staged.append(store.stats().staged_texts)), tmp_path) as store:
        store.add_texts(TEXTS)
        assert staged == [0] * 4
        assert (len(store), store.stats().generation) == (len(TEXTS), 1)
        many = 8_192
        store.add_texts([f"seat {number}" for number in range(many + 2 * BATCH)])
        assert staged[-3:] == [0, many, many]
        assert (len(store), store.stats().staged_texts) == (len(TEXTS) + many + 2 * BATCH, 0)


class Broken(sqlite3.Connection):
    """Raises an exception after a statement, once, and keeps its cursor, as the exception's traceback may."""

    error: type[BaseException] | None = None
    sql = ""
    kept: sqlite3.Cursor | None = None

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        return self._raise_after(sql, super().execute(sql, parameters))

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        return self._raise_after(sql, super().executemany(sql, parameters))

    def _raise_after(self, sql: str, cursor: sqlite3.Cursor) -> sqlite3.Cursor:
        if Broken.error is not None and Broken.sql in sql:
            error, Broken.error, Broken.kept = Broken.error, None, cursor
            raise error
        return cursor

    @classmethod
    def next_at(cls, sql: str, error: type[BaseException]) -> None:
        """Raise after the next statement with this text."""
        cls.error, cls.sql = error, sql


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Broken]]:
    """Open databases by connections that can be made to break."""
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Broken))
    yield Broken
    Broken.error = Broken.kept = None


def test_the_error_of_the_embedder_is_raised_also_if_nothing_can_be_staged(
    broken: type[Broken], tmp_path: Path
) -> None:
    with FaissStore(Watched(failing_at(2)), tmp_path) as store:
        broken.next_at("INSERT INTO staged", sqlite3.OperationalError)
        with pytest.raises(ZeroDivisionError):
            store.add_texts(TEXTS)
        assert store.stats().staged_texts == 0


def read_at_one_state(store: FaissStore, ids: list[str]) -> list[Document]:
    with store.at_one_state() as at_one_state:
        return at_one_state.get_by_ids(ids)


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
@pytest.mark.parametrize("read", [FaissStore.get_by_ids, read_at_one_state])
def test_a_read_that_is_interrupted_halfway_keeps_no_state(
    broken: type[Broken], read: Callable[[FaissStore, list[str]], list[Document]], in_memory: bool, tmp_path: Path
) -> None:
    with filled(None if in_memory else tmp_path) as writer, ExitStack() as stack:
        store = writer if in_memory else stack.enter_context(FaissStore.open(tmp_path, TextEmbeddings()))
        ids = [str(each.id) for each in document(3, 0)]
        broken.next_at("FROM sentences", KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            read(store, ids)
        assert broken.kept is not None
        for version in (1, 2):
            writer.replace_documents(document(3, version), ["document 3"])
            assert {each.metadata["version"] for each in store.get_by_ids(ids)} == {version}
        store.replace_documents(document(3, 3), ["document 3"])
        assert contents(store)[3] == {3}


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
@pytest.mark.parametrize("sql", ["INSERT INTO documents", "INSERT INTO sentences", "INSERT INTO writes", "COMMIT"])
def test_a_write_that_is_interrupted_is_all_or_nothing(
    broken: type[Broken], sql: str, in_memory: bool, tmp_path: Path
) -> None:
    with filled(None if in_memory else tmp_path) as store:
        broken.next_at(sql, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            store.replace_documents(document(3, 1), ["document 3", "document 4"])
        found = contents(store)
        is_done = sql == "COMMIT"
        assert (found[3], found.get(4)) == (({1}, None) if is_done else ({0}, {0}))
        store.replace_documents(document(3, 2), ["document 3"])
        assert contents(store) == {**found, 3: {2}}


def test_a_vector_that_another_call_deletes_is_made_again(tmp_path: Path) -> None:
    def delete(calls: int) -> None:
        if calls == 1:
            store.delete(["old"])

    words = Watched(delete)
    with FaissStore(words, tmp_path) as store:
        store.add_texts(["card 1"], ids=["old"])
        store.add_texts(["card 1", "card 2"], ids=["1", "2"])  # the first has a vector until the second is embedded
        assert words.embedded == ["card 1", "card 2", "card 1"]
        assert [each.id for each in store.get_by_ids(["old", "1", "2"])] == ["1", "2"]


async def test_an_iterator_is_added_in_batches(
    words: WordEmbeddings, way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain_sentence_window.store.faiss_store.DOCUMENT_BATCH_SIZE", 10)

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
