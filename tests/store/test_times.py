"""When documents were written."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
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


@pytest.mark.parametrize("written", [2**62, -(2**62), "soon"])
def test_an_invalid_time_is_left_out(tmp_path: Path, written: object) -> None:
    with FaissStore(WordEmbeddings(), tmp_path) as store:
        store.replace_documents([*sentences("a", "refund", "card"), *sentences("b", "seat")], ["a", "b"])
    with closing(sqlite3.connect(tmp_path / "sentences.sqlite3", isolation_level=None)) as connection:
        connection.execute("UPDATE documents SET written = ? WHERE doc_id = 'a'", [written])
    with FaissStore.open(tmp_path, WordEmbeddings()) as store:
        assert added(store)["a"] is None
        assert list(known(store)) == ["b"]
