"""Backups, restores, and databases next to the log of another one."""

import os
import random
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import IndexNotFoundError, InvalidInputError, StoreError
from tests.store.folders import DATABASE, HEAD, LOG, VECTORS, WORDS, be_killed, files_of
from tests.torture.churn import fill
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")

FIRST = {number: {0} for number in range(10)}
"""What the fixture ``index`` holds, and ``backup``, which was made of it."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "index"
    with FaissStore(TextEmbeddings(), folder) as store:
        fill(store, 80)
        store.save()
    return folder


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Path:
    """The folder of a store with ten documents, closed."""
    return Path(shutil.copytree(made, tmp_path / "index"))


@pytest.fixture
def backup(index: Path, tmp_path: Path) -> Path:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    return tmp_path / "backup"


def holds(folder: Path, expected: dict[int, set[int]]) -> bool:
    """Return whether an index holds what it should, by each way to search it."""
    with FaissStore.open(folder, TextEmbeddings()) as store:
        check_against_brute_force(store, TextEmbeddings())
        return contents(store) == expected and store.check().is_sound


# Backups


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_backup_is_the_store_of_that_moment(on_disk: bool, tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path / "index" if on_disk else None) as store:
        fill(store, 80)
        store.backup(tmp_path / "backup")
        store.replace_documents(document(3, 5), ["document 3"])
        with pytest.raises(StoreError, match="holds an index already; choose another folder"):
            store.backup(tmp_path / "backup")
    assert holds(tmp_path / "backup", FIRST)


def test_a_backup_is_not_made_in_the_folder_of_the_store(index: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        for folder in (index / "backup", index / WORDS):
            with pytest.raises(StoreError, match="inside the store's own folder"):
                store.backup(folder)


# Restores


def foreign(path: Path) -> None:
    """Make a database whose pages have another size, which SQLite can't change in a write-ahead log."""
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; CREATE TABLE other (id)")


OLD: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: shutil.rmtree(path.parent),
    "an empty file": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(random.Random(0).randbytes(path.stat().st_size)),
    "damaged": lambda path: path.write_bytes(path.read_bytes()[:100] + random.Random(0).randbytes(100_000)),
    "foreign": foreign,
    "no head": lambda path: path.with_name(HEAD).unlink(),
}


@pytest.mark.parametrize("change", OLD.values(), ids=OLD)
def test_a_backup_is_restored_over_anything(index: Path, backup: Path, change: Callable[[Path], object]) -> None:
    change(index / DATABASE)
    FaissStore.restore(str(backup), str(index))
    assert holds(index, FIRST)


@pytest.mark.process
def test_a_backup_is_restored_over_an_index_that_was_killed(index: Path, backup: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        for version in range(1, 5):
            store.replace_documents(document(3, version), ["document 3"])
    be_killed(index, "write search")
    FaissStore.restore(backup, index)
    assert holds(index, FIRST)


def test_a_store_that_is_open_sees_what_was_restored_and_goes_on(index: Path, backup: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        for version in range(1, 4):
            store.replace_documents(document(3, version), ["document 3"])
        check_against_brute_force(store, TextEmbeddings())
        with store.at_one_state() as before:
            assert contents(before)[3] == {3}
            FaissStore.restore(backup, index)
            assert contents(before)[3] == {3}
        store.save()
        assert contents(store) == FIRST
        check_against_brute_force(store, TextEmbeddings())
        store.replace_documents(document(5, 7), ["document 5"])
    assert holds(index, FIRST | {5: {7}})


def test_a_damaged_backup_changes_nothing(index: Path, backup: Path, tmp_path: Path) -> None:
    sound, before = (backup / DATABASE).read_bytes(), files_of(index)
    at = sound.index(b"Sentence s3 of document d7")
    for damaged in (sound[:at] + b"X" + sound[at + 1 :], sound[:at], b""):
        (backup / DATABASE).write_bytes(damaged)
        with pytest.raises(StoreError):
            FaissStore.restore(backup, index)
        assert files_of(index) == before
    with pytest.raises(IndexNotFoundError, match="no index at .* to restore"):
        FaissStore.restore(tmp_path / "nowhere", index)
    with pytest.raises(StoreError, match="can't be restored to itself"):
        FaissStore.restore(index, index)


def test_those_may_use_an_index_who_may_use_new_files(index: Path, tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        FaissStore(TextEmbeddings(), tmp_path / "new").close()
        FaissStore.restore(index, tmp_path / "restored")
        with FaissStore.open(index, TextEmbeddings()) as store:
            store.backup(tmp_path / "copied")
    finally:
        os.umask(before)
    for name in ("new", "restored", "copied"):
        assert stat.S_IMODE((tmp_path / name / DATABASE).stat().st_mode) == 0o664


# Files of another state


@pytest.mark.process
def test_the_log_of_a_process_that_was_killed_is_applied(index: Path) -> None:
    be_killed(index)
    assert holds(index, FIRST | {2: {9}})


@pytest.mark.process
@pytest.mark.parametrize("acts", ["write", "write search", "stage"])
@pytest.mark.parametrize("with_head", [True, False])
def test_the_log_of_another_version_is_never_applied(index: Path, backup: Path, acts: str, with_head: bool) -> None:
    """This happens when a backup is copied over an index whose process was killed."""
    with FaissStore.open(index, TextEmbeddings()) as store:
        for number in range(10):
            store.replace_documents(document(number, 4), [f"document {number}"])
    be_killed(index, acts)
    if not with_head:
        (index / HEAD).unlink()
    shutil.copytree(backup, index, dirs_exist_ok=True)
    copied = (index / DATABASE).read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"-wal is the write-ahead log of another version.*delete .*-wal and"):
            FaissStore.open(index, TextEmbeddings())
        assert (index / DATABASE).read_bytes() == copied, "the log was brought into the file"
    for name in (LOG, f"{DATABASE}-shm", HEAD):
        (index / name).unlink(missing_ok=True)
    assert holds(index, FIRST)


@pytest.mark.process
def test_a_copy_of_the_file_that_was_made_while_it_was_in_use_takes_no_later_log(index: Path) -> None:
    """The log was moved into the database, and started again, since the copy was made."""
    be_killed(index, "write copy write much")
    shutil.move(f"{index}.copy", index / DATABASE)
    with pytest.raises(StoreError, match=r"-wal is the write-ahead log of another version"):
        FaissStore.open(index, TextEmbeddings())


@pytest.mark.process
@pytest.mark.parametrize("with_head", [True, False])
def test_a_log_without_its_database_is_not_that_of_a_new_one(index: Path, with_head: bool) -> None:
    be_killed(index)
    (index / DATABASE).unlink()
    if not with_head:
        (index / HEAD).unlink()
    with pytest.raises(StoreError, match="is missing or is empty, though there was an index; restore it"):
        FaissStore(TextEmbeddings(), index)
    with FaissStore(TextEmbeddings()) as other, pytest.raises(StoreError, match="holds an index already"):
        other.backup(index)


@pytest.mark.process
@pytest.mark.parametrize("share", [0, 0.5])
def test_a_lost_or_cut_log_is_detected(index: Path, share: float) -> None:
    be_killed(index)
    log = (index / LOG).read_bytes()
    (index / LOG).write_bytes(log[: int(len(log) * share)])
    (index / f"{DATABASE}-shm").unlink()
    with pytest.raises(StoreError, match="has 1 of 2 writes: its file or its write-ahead log was lost"):
        FaissStore.open(index, TextEmbeddings())
    (index / HEAD).unlink()
    assert holds(index, FIRST)


def test_an_older_copy_of_the_database_is_not_mixed_with_newer_caches(index: Path) -> None:
    older = (index / DATABASE).read_bytes()
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.replace_documents(document(3, 9), ["document 3"])
        store.lexical_search("a")
        store.save()
    (index / DATABASE).write_bytes(older)
    with pytest.raises(StoreError, match=r"has 1 of 2 writes.*to continue without the missing writes, delete"):
        FaissStore.open(index, TextEmbeddings())
    (index / HEAD).unlink()
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.replace_documents(document(5, 7), ["document 5"])  # another past, as long as that of the caches
    assert holds(index, FIRST | {5: {7}})


@pytest.mark.parametrize("is_there", [True, False])
def test_a_database_that_was_lost_is_not_taken_for_an_empty_one(index: Path, is_there: bool) -> None:
    (index / DATABASE).unlink()
    if is_there:
        (index / DATABASE).touch()
    with pytest.raises(StoreError, match="is missing or is empty, though there was an index; restore it"):
        FaissStore(TextEmbeddings(), index)


def test_a_rollback_journal_is_not_applied(index: Path) -> None:
    (index / f"{DATABASE}-journal").write_bytes(b"x" * 600)
    with pytest.raises(StoreError, match="is a rollback journal, which no store writes"):
        FaissStore.open(index, TextEmbeddings())


# Strangers' folders


@pytest.mark.parametrize("name", [HEAD, DATABASE, LOG, f"{DATABASE}-shm"])
def test_links_are_not_written_through(index: Path, backup: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes((index / name).read_bytes() if (index / name).exists() else b"precious")
    before = victim.read_bytes()
    (index / name).unlink(missing_ok=True)
    (index / name).symlink_to(victim)
    for call in (lambda: FaissStore.open(index, TextEmbeddings()), lambda: FaissStore.restore(backup, index)):
        with pytest.raises(StoreError, match="is a symbolic link"):
            call()
    assert victim.read_bytes() == before


@pytest.mark.parametrize("name", [HEAD, DATABASE])
def test_a_file_with_a_name_elsewhere_is_not_written(index: Path, tmp_path: Path, name: str) -> None:
    os.link(index / name, tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="has another name elsewhere"):
        FaissStore.open(index, TextEmbeddings())


def test_links_among_the_caches_are_replaced(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.lexical_search("a")
    victims = {VECTORS: tmp_path / "vectors", f"{WORDS}/meta.json": tmp_path / "meta"}
    for name, victim in victims.items():
        (index / name).rename(victim)
        (index / name).symlink_to(victim)
    before = {path: path.read_bytes() for path in victims.values()}
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.replace_documents(document(3, 5), ["document 3"])
        store.save()
        check_against_brute_force(store, TextEmbeddings())
    assert {path: path.read_bytes() for path in victims.values()} == before
    assert not any((index / name).is_symlink() for name in victims)


@pytest.mark.parametrize("name", [HEAD, VECTORS, f"{WORDS}/meta.json"])
def test_a_pipe_is_not_waited_for(index: Path, name: str) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.lexical_search("a")
    (index / name).unlink()
    os.mkfifo(index / name)
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.replace_documents(document(3, 5), ["document 3"])
        store.save()
    assert holds(index, FIRST | {3: {5}})


@pytest.mark.parametrize("name", [LOG, f"{DATABASE}-shm", f"{DATABASE}-journal", HEAD])
def test_a_folder_in_place_of_a_file_is_left_alone(index: Path, backup: Path, name: str) -> None:
    (index / name).unlink(missing_ok=True)
    (index / name).mkdir()
    (index / name / "mine").write_text("precious")
    before = files_of(index)
    with pytest.raises(StoreError, match=rf"{name}.* is a folder.*move it"):
        FaissStore.restore(backup, index)
    assert files_of(index) == before
    shutil.rmtree(index / name)
    assert holds(index, FIRST)


# Paths


@pytest.mark.parametrize("path", ["", "a\0b", b"index", None, "\ud800"])
def test_an_invalid_path_is_refused(path: Any, index: Path) -> None:
    calls: list[Any] = [
        lambda: FaissStore.open(path, TextEmbeddings()),
        lambda: FaissStore.exists(path),
        lambda: FaissStore.restore(path, index),
        lambda: FaissStore.restore(index, path),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError, match="the path is "):
            call()
    with FaissStore.open(index, TextEmbeddings()) as store, pytest.raises(InvalidInputError, match="the path is "):
        store.backup(path)
