"""Restoring over what isn't an index: damaged files, and databases of other programs."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, check_index
from langchain_sentence_window.errors import StoreError
from tests.toys import WordEmbeddings

NAME = "sentences.sqlite3"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    with FaissStore(WordEmbeddings(), tmp_path / "index") as store:
        store.add_documents([Document("The desk opens at eight.", id="desk")])
        store.backup(tmp_path / "backup")
    return tmp_path / "backup"


def foreign(path: Path, _: bytes) -> None:
    """Make a database whose pages have another size, which SQLite can't change in a write-ahead log."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; CREATE TABLE other (id)")


OLD: dict[str, Callable[[Path, bytes], object]] = {
    "no database": lambda path, content: path.write_bytes(random.Random(0).randbytes(len(content))),
    "cut": lambda path, content: path.write_bytes(content[: len(content) // 2]),
    "damaged": lambda path, content: path.write_bytes(content[:100] + random.Random(0).randbytes(len(content) - 100)),
    "foreign": foreign,
}


@pytest.mark.parametrize("make", OLD.values(), ids=OLD)
def test_a_backup_replaces_what_is_no_index(
    make: Callable[[Path, bytes], object], backup: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    make(folder / NAME, (backup / NAME).read_bytes())
    FaissStore.restore(backup, folder)
    assert check_index(folder).is_sound
    with FaissStore.open(folder, WordEmbeddings()) as store:
        assert [found.id for found in store.similarity_search("desk", k=1)] == ["desk"]


def test_a_store_of_texts_alone_is_sound(backup: Path) -> None:
    assert check_index(backup).problems == ()


def test_an_error_of_restoring_is_not_blamed_on_the_backup(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    foreign(folder / NAME, b"")
    # SQLite waits a minute, as for any other write.
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **settings: connect(*given, **{**settings, "timeout": 0}))
    with closing(connect(folder / NAME)) as user:
        user.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"can't be restored to .*another process is using it"):
            FaissStore.restore(backup, folder)
    assert check_index(backup).is_sound
