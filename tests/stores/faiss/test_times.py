"""When documents were written."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.database_file import SEAL_FILE
from langchain_sentence_window.stores.faiss.database.schema import checksum_of
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
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


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE documents SET written = written + 1",
        "UPDATE documents SET document = document + 7",
        "DELETE FROM documents WHERE document = 1",
        "INSERT INTO documents VALUES (99, 'c', 5, 0)",
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
        transaction._drop("documents", "document = 1", [])
        transaction._insert("documents", [(1, "a", written, checksum_of(1, "a", written))])
        transaction.finish()
        connection.execute("COMMIT")
    shutil.rmtree(tmp_path / "lexical", ignore_errors=True)
    (tmp_path / SEAL_FILE).unlink()
    with FaissStore.open(tmp_path, WordEmbeddings()) as store:
        times = added(store)
        assert None in times.values()
        assert len(known(store)) == 1
