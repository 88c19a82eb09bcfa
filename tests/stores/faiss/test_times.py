"""When documents were written: kept by the database, also by one that an older version made."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.schema import FORMAT_VERSION, FORMAT_WITHOUT_TIMES, checksum_of
from langchain_sentence_window.stores.faiss.database.state_files import SEAL_FILE
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.layout import DATABASE_FILE
from tests.toys import WordEmbeddings


def sentences(name: str, *texts: str) -> list[Document]:
    return [
        Document(id=f"{name}{at}", page_content=text, metadata={"doc_id": name, "sentence_index": at})
        for at, text in enumerate(texts)
    ]


def added(store: FaissStore) -> dict[str, datetime | None]:
    return {each.doc_id: each.added for each in store.list_documents()}


def known(store: FaissStore) -> dict[str, datetime]:
    return {name: time for name, time in added(store).items() if time is not None}


def make(folder: Path) -> None:
    with FaissStore(WordEmbeddings(), folder) as store:
        store.replace_documents(sentences("a", "refund", "card"), ["a"])
        store.replace_documents(sentences("b", "seat"), ["b"])
        store.save()


def make_older(folder: Path) -> None:
    """Take the times out of an index, as the version before left it."""
    with closing(sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)) as connection:
        transaction = Transaction(connection, 1)
        transaction.remove(("0", []))
        transaction._drop("times", "1", [])
        connection.execute("BEGIN")
        transaction.finish()
        connection.execute("DROP TABLE times")
        connection.execute(f"PRAGMA user_version = {FORMAT_WITHOUT_TIMES}")
        connection.execute("COMMIT")
    (folder / SEAL_FILE).unlink()


def format_of(folder: Path) -> int:
    with closing(sqlite3.connect(folder / DATABASE_FILE)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_time_of_the_last_write(tmp_path: Path) -> None:
    before = datetime.now(UTC) - timedelta(microseconds=1)
    with FaissStore(WordEmbeddings(), tmp_path / "index") as store:
        store.replace_documents(sentences("a", "refund", "card"), ["a"])
        store.replace_documents(sentences("b", "seat"), ["b"])
        first = known(store)
        assert before <= first["a"] <= first["b"] <= datetime.now(UTC)
        assert first["a"].tzinfo is UTC
        store.replace_documents(sentences("a", "refund"), ["a"])
        second = known(store)
        assert second["b"] == first["b"] < second["a"]
        store.add_documents(sentences("b", "seat", "page")[1:])
        third = known(store)
        assert third["a"] == second["a"] < third["b"]
        store.delete(["b1"])
        assert known(store) == third
        store.backup(tmp_path / "backup")
    with FaissStore.open(tmp_path / "index", WordEmbeddings()) as store:
        assert known(store) == third
        store.replace_documents([], ["b"])
        assert known(store) == {"a": third["a"]}
    FaissStore.restore(tmp_path / "backup", tmp_path / "index")
    with FaissStore.open(tmp_path / "index", WordEmbeddings()) as store:
        assert known(store) == third


def test_documents_of_one_call_have_one_time() -> None:
    with FaissStore(WordEmbeddings()) as store:
        store.add_documents([*sentences("a", "refund"), *sentences("b", "seat"), Document(page_content="card")])
        times = known(store)
        assert times["a"] == times["b"]
        assert len(times) == 2


@pytest.mark.parametrize("read_only", [False, True])
def test_index_of_the_version_before_is_read_as_it_is(tmp_path: Path, read_only: bool) -> None:
    make(tmp_path)
    make_older(tmp_path)
    with FaissStore.open(tmp_path, WordEmbeddings(), read_only=read_only) as store:
        assert added(store) == {"a": None, "b": None}
        assert [each.page_content for each in store.similarity_search("refund", k=1)] == ["refund"]
    assert format_of(tmp_path) == FORMAT_WITHOUT_TIMES


def test_index_of_the_version_before_gets_times_with_its_next_write(tmp_path: Path) -> None:
    make(tmp_path / "index")
    make_older(tmp_path / "index")
    with FaissStore.open(tmp_path / "index", WordEmbeddings()) as store:
        store.backup(tmp_path / "backup")
        store.replace_documents(sentences("a", "page"), ["a"])
        assert known(store).keys() == {"a"}
        store.replace_documents([], ["b"])
        assert added(store).keys() == {"a"}
    assert format_of(tmp_path / "index") == FORMAT_VERSION
    (tmp_path / "index" / SEAL_FILE).unlink()  # so that each row is checked
    with FaissStore.open(tmp_path / "index", WordEmbeddings()) as store:
        assert known(store).keys() == {"a"}
    FaissStore.restore(tmp_path / "backup", tmp_path / "index")
    with FaissStore.open(tmp_path / "index", WordEmbeddings()) as store:
        assert added(store) == {"b": None, "a": None} or added(store) == {"a": None, "b": None}


def test_write_that_fails_leaves_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)
    make_older(tmp_path)

    def fail(_: Transaction) -> None:
        raise ZeroDivisionError

    with FaissStore.open(tmp_path, WordEmbeddings()) as store:
        monkeypatch.setattr(Transaction, "finish", fail)
        with pytest.raises(ZeroDivisionError):
            store.replace_documents(sentences("a", "page"), ["a"])
        assert added(store) == {"a": None, "b": None}
    assert format_of(tmp_path) == FORMAT_WITHOUT_TIMES


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE times SET written = written + 1",
        "UPDATE times SET document = document + 7",
        "DELETE FROM times WHERE document = 1",
        "INSERT INTO times VALUES (99, 5, 0)",
        "DROP TABLE times",
        f"PRAGMA user_version = {FORMAT_WITHOUT_TIMES}",
    ],
)
def test_damaged_times_are_noticed(tmp_path: Path, damage: str) -> None:
    make(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)) as connection:
        connection.execute(damage)
    (tmp_path / SEAL_FILE).unlink()
    with pytest.raises(StoreError, match="damaged"):
        FaissStore.open(tmp_path, WordEmbeddings())


@pytest.mark.parametrize("written", [2**62, -(2**62), "soon"])
def test_time_that_is_none_in_a_forged_index(tmp_path: Path, written: object) -> None:
    make(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)) as connection:
        transaction = Transaction(connection, 1)
        connection.execute("BEGIN")
        transaction.remove(("0", []))
        transaction._drop("times", "document = 1", [])
        transaction._insert("times", [(1, written, checksum_of(1, written))])
        transaction.finish()
        connection.execute("COMMIT")
    shutil.rmtree(tmp_path / "lexical", ignore_errors=True)
    (tmp_path / SEAL_FILE).unlink()
    with FaissStore.open(tmp_path, WordEmbeddings()) as store:
        times = added(store)
        assert None in times.values()
        assert len(known(store)) == 1
