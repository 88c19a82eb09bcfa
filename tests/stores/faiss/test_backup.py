"""Backups, restores, and databases beside the log of another one."""

import errno
import os
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import IndexNotFoundError, InvalidInputError, StoreError
from langchain_sentence_window.stores.faiss.database import restoring
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.database_file import RESTORING_FILE, SEAL_FILE, write_head
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE
from tests.conftest import Invoke
from tests.interpreters import run_code
from tests.torture.churn import fill
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document

LOG = f"{DATABASE_FILE}-wal"

WRITE_AND_DIE = """
import os, signal, sys
from langchain_sentence_window import FaissStore
from tests.torture.corpus import TextEmbeddings, document
store = FaissStore.open(sys.argv[1], TextEmbeddings())
store.replace_documents(document(int(sys.argv[2]), 9), [f"document {sys.argv[2]}"])
os.kill(os.getpid(), signal.SIGKILL)
"""


def write_and_die(path: Path, number: int = 2) -> None:
    """Write to a store in a process that is killed before it closes it, so that its log stays."""
    done = run_code(WRITE_AND_DIE, path, number)
    assert done.returncode == -signal.SIGKILL
    assert (path / LOG).stat().st_size


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """The folder of a store with ten documents, closed."""
    with FaissStore(TextEmbeddings(), tmp_path / "index") as store:
        fill(store, 80)
        store.save()
    return tmp_path / "index"


async def test_a_backup_is_the_store_of_that_moment(index: Path, tmp_path: Path, way: Invoke) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        await way(store, "backup", tmp_path / "backup")
        store.replace_documents(document(3, 5), ["document 3"])
    with FaissStore.open(tmp_path / "backup", TextEmbeddings()) as store:
        assert contents(store) == {number: {0} for number in range(10)}
        check_against_brute_force(store, TextEmbeddings())
    with FaissStore.open(index, TextEmbeddings()) as store, pytest.raises(StoreError, match="holds an index already"):
        store.backup(tmp_path / "backup")


def test_a_store_in_memory_is_backed_up_and_restored(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings()) as store:
        fill(store, 80)
        store.backup(tmp_path / "backup")
    FaissStore.restore(tmp_path / "backup", tmp_path / "index")
    with FaissStore.open(tmp_path / "index", TextEmbeddings()) as store:
        assert len(contents(store)) == 10


@pytest.mark.process
def test_a_backup_is_restored_over_an_index_that_was_killed(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
        for version in range(1, 5):
            store.replace_documents(document(3, version), ["document 3"])
    write_and_die(index)
    FaissStore.restore(tmp_path / "backup", index)
    assert not (index / LOG).exists()
    with FaissStore.open(index, TextEmbeddings()) as store:
        assert contents(store) == {number: {0} for number in range(10)}
        check_against_brute_force(store, TextEmbeddings())
        store.replace_documents(document(4, 1), ["document 4"])


def test_a_backup_is_restored_over_what_is_damaged_or_not_there(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    (index / DATABASE_FILE).write_bytes(b"not a database")
    for folder in (index, tmp_path / "new"):
        FaissStore.restore(str(tmp_path / "backup"), str(folder))
        with FaissStore.open(folder, TextEmbeddings()) as store:
            assert len(contents(store)) == 10


def test_a_store_that_is_open_while_its_index_is_replaced_says_so(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
        store.replace_documents(document(3, 5), ["document 3"])
        FaissStore.restore(tmp_path / "backup", index)
        for call in (
            lambda: store.similarity_search("x"),
            lambda: store.lexical_search("x"),
            lambda: store.add_texts(["x"]),
            lambda: store.get_by_ids(["x"]),
            store.save,
        ):
            with pytest.raises(StoreError, match="was moved, replaced or deleted while it was open; close this store"):
                call()
        with FaissStore.open(index, TextEmbeddings()) as new:
            new.replace_documents(document(5, 7), ["document 5"])
    with FaissStore.open(index, TextEmbeddings()) as new:
        assert contents(new) == {number: {7 if number == 5 else 0} for number in range(10)}


def test_a_damaged_backup_changes_nothing(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    file = tmp_path / "backup" / DATABASE_FILE
    content = bytearray(file.read_bytes())
    at = content.index(b"Sentence s3 of document d7")
    content[at] ^= 1
    file.write_bytes(content)
    before = {path.name: path.read_bytes() for path in index.iterdir() if path.is_file()}
    with pytest.raises(StoreError, match="is damaged"):
        FaissStore.restore(tmp_path / "backup", index)
    assert {path.name: path.read_bytes() for path in index.iterdir() if path.is_file()} == before
    with pytest.raises(IndexNotFoundError, match="no index at .* to restore"):
        FaissStore.restore(tmp_path / "nowhere", index)
    with pytest.raises(StoreError, match="can't be restored to itself"):
        FaissStore.restore(index, index)


def test_an_interrupted_restore_is_told_and_can_be_made_again(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    (index / RESTORING_FILE).touch()
    with pytest.raises(
        StoreError, match=r"is being restored from a backup, or that was interrupted.*restore\(\) again"
    ):
        FaissStore.open(index, TextEmbeddings())
    FaissStore.restore(tmp_path / "backup", index)
    with FaissStore.open(index, TextEmbeddings()) as store:
        assert len(contents(store)) == 10


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("with_seal", [True, False])
def test_the_log_of_another_version_is_never_applied(index: Path, tmp_path: Path, with_seal: bool) -> None:
    """This happens when a backup is copied over an index whose process was killed."""
    with FaissStore.open(index, TextEmbeddings()) as store:
        fill(store, 8_000)
    shutil.copytree(index, tmp_path / "backup")
    with FaissStore.open(index, TextEmbeddings()) as store:
        for number in range(0, 1_000, 100):
            store.replace_documents(document(number, 4), [f"document {number}"])
    write_and_die(index)
    if not with_seal:
        (tmp_path / "backup" / SEAL_FILE).unlink()
    shutil.copytree(tmp_path / "backup", index, dirs_exist_ok=True)
    copied = (index / DATABASE_FILE).read_bytes()
    match = r"-wal is the write-ahead log of another version.*delete .*-wal and .*-shm" if with_seal else "is damaged"
    for _ in range(2):
        with pytest.raises(StoreError, match=match):
            FaissStore.open(index, TextEmbeddings())
        assert (index / DATABASE_FILE).read_bytes() == copied, "the log was brought into the file"
    for ending in ("-wal", "-shm"):
        (index / f"{DATABASE_FILE}{ending}").unlink()
    with FaissStore.open(index, TextEmbeddings()) as store:
        assert contents(store) == {number: {0} for number in range(1_000)}


@pytest.mark.process
def test_the_log_of_a_process_that_was_killed_is_applied(index: Path) -> None:
    write_and_die(index)
    with FaissStore.open(index, TextEmbeddings()) as store:
        assert contents(store) == {number: {9 if number == 2 else 0} for number in range(10)}


KILLED_WHILE_COPYING = """
import os, signal, sys
from langchain_sentence_window import FaissStore
from langchain_sentence_window.stores.faiss.database import store_files as files
from tests.torture.corpus import TextEmbeddings
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
files._sync = die
FaissStore.open(sys.argv[1], TextEmbeddings()).backup(sys.argv[2])
"""


@pytest.mark.process
def test_a_backup_that_was_killed_is_no_index(index: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    done = run_code(KILLED_WHILE_COPYING, index, target)
    assert done.returncode == -signal.SIGKILL
    assert [path.suffix for path in target.iterdir()] == [".part"]
    with pytest.raises(IndexNotFoundError):
        FaissStore.open(target, TextEmbeddings())
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(target)
    with FaissStore.open(target, TextEmbeddings()) as store:
        assert len(contents(store)) == 10


def test_an_empty_file_is_no_empty_store(tmp_path: Path) -> None:
    (tmp_path / DATABASE_FILE).touch()
    with pytest.raises(StoreError, match="is empty, though there was an index"):
        FaissStore.open(tmp_path, TextEmbeddings())
    with pytest.raises(StoreError, match="is empty, though there was an index"):
        FaissStore(TextEmbeddings(), tmp_path)


@pytest.mark.parametrize("path", ["", "a\0b", b"index", 5, None])
def test_what_is_no_path_is_told(path: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: FaissStore.open(path, TextEmbeddings()),
        lambda: FaissStore.exists(path),
        lambda: FaissStore(TextEmbeddings(), "" if path is None else path),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError, match="the path is .*; give the name of a folder"):
            call()


def test_a_rollback_journal_is_not_applied(index: Path) -> None:
    (index / f"{DATABASE_FILE}-journal").write_bytes(b"x" * 600)
    with pytest.raises(StoreError, match="is a rollback journal, which no store writes"):
        FaissStore.open(index, TextEmbeddings())


# Strangers' folders


@pytest.mark.parametrize("name", ["sentences.head", "sentences.seal", DATABASE_FILE, LOG, f"{DATABASE_FILE}-shm"])
def test_links_are_not_written_through(index: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes((index / name).read_bytes() if (index / name).exists() else b"precious")
    before = victim.read_bytes()
    (index / name).unlink(missing_ok=True)
    (index / name).symlink_to(victim)
    with pytest.raises(StoreError, match="is a symbolic link"):
        FaissStore.open(index, TextEmbeddings())
    assert victim.read_bytes() == before


def test_links_among_the_caches_are_replaced(index: Path, tmp_path: Path) -> None:
    victims = {name: tmp_path / name for name in ("vectors.faiss", "vectors.part", "sentences.part", "meta.json")}
    for victim in victims.values():
        victim.write_bytes(b"precious")
    (index / "vectors.faiss").unlink()
    (index / "lexical" / "meta.json").unlink()
    for name, victim in victims.items():
        (index / "lexical" / name if name == "meta.json" else index / name).symlink_to(victim)
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.replace_documents(document(3, 5), ["document 3"])
        assert len(store.lexical_search("d3 v5", k=99, filter={"number": 3})) == 8
        store.save()
        check_against_brute_force(store, TextEmbeddings())
    assert all(victim.read_bytes() == b"precious" for victim in victims.values())


def test_a_lexical_folder_that_is_a_link_is_replaced(index: Path, tmp_path: Path) -> None:
    (index / "lexical").rename(tmp_path / "elsewhere")
    (index / "lexical").symlink_to(tmp_path / "elsewhere")
    before = {path.name: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()}
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.replace_documents(document(3, 5), ["document 3"])
        assert len(store.lexical_search("d3 v5", k=99, filter={"number": 3})) == 8
    assert {path.name: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()} == before
    assert not (index / "lexical").is_symlink()


def test_a_file_with_a_name_elsewhere_is_not_written(index: Path, tmp_path: Path) -> None:
    os.link(index / "sentences.head", tmp_path / "head")
    before = (tmp_path / "head").read_bytes()
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.replace_documents(document(3, 5), ["document 3"])
    assert (tmp_path / "head").read_bytes() == before
    os.link(index / DATABASE_FILE, tmp_path / "database")
    with pytest.raises(StoreError, match="has another name elsewhere"):
        FaissStore.open(index, TextEmbeddings())


def test_what_is_left_of_making_a_store_is_cleared_away(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        store.add_documents([Document(page_content="a")])
    part = tmp_path / f"{DATABASE_FILE}.0123456789abcdef.part"
    os.link(tmp_path / DATABASE_FILE, part)
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        assert len(store) == 1
    assert not part.exists()


@pytest.mark.process
def test_a_log_without_its_database_is_not_taken_for_that_of_a_new_one(index: Path, tmp_path: Path) -> None:
    write_and_die(index)
    for name in (DATABASE_FILE, "sentences.head", "sentences.seal"):
        (index / name).unlink(missing_ok=True)
    with pytest.raises(StoreError, match="is missing or is empty, though there was an index"):
        FaissStore(TextEmbeddings(), index)
    with FaissStore(TextEmbeddings()) as other, pytest.raises(StoreError, match="holds an index already"):
        other.backup(index)


@pytest.mark.process
def test_a_backup_that_is_copied_over_an_index_that_was_killed_is_not_ignored(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    write_and_die(index)
    shutil.copytree(tmp_path / "backup", index, dirs_exist_ok=True)
    with pytest.raises(StoreError, match="is the write-ahead log of another version"):
        FaissStore.open(index, TextEmbeddings())


def test_a_backup_is_kept_out_of_the_stores_own_folder(index: Path) -> None:
    with (
        FaissStore.open(index, TextEmbeddings()) as store,
        pytest.raises(StoreError, match="inside the store's own folder"),
    ):
        store.backup(index / "lexical")


@pytest.mark.parametrize("name", ["sentences.seal", "sentences.head", "vectors.faiss"])
def test_a_pipe_is_not_waited_for(index: Path, name: str) -> None:
    (index / name).unlink()
    os.mkfifo(index / name)
    with FaissStore.open(index, TextEmbeddings()) as store:
        assert len(contents(store)) == 10


@pytest.mark.parametrize("path", ["a" * 300, "\ud800"])
def test_a_name_that_no_folder_can_have_is_told(path: str, index: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store, pytest.raises(InvalidInputError, match="the path is"):
        store.backup(path)
    for arguments in ((path, index), (index, path)):
        with pytest.raises(InvalidInputError, match="the path is"):
            FaissStore.restore(*arguments)


def test_restoring_writes_through_no_link(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    (index / RESTORING_FILE).symlink_to(tmp_path / "victim")
    FaissStore.restore(tmp_path / "backup", index)
    assert not (tmp_path / "victim").exists()


# Restores that meet something else


def test_a_restore_between_a_write_and_its_head_leaves_an_index_that_opens(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
        for version in range(1, 5):
            store.replace_documents(document(3, version), ["document 3"])
        noted = "langchain_sentence_window.stores.faiss.database.database.write_head"

        def restore_and_note(*given: Any) -> None:
            monkeypatch.setattr(noted, write_head)
            FaissStore.restore(tmp_path / "backup", index)
            write_head(*given)

        monkeypatch.setattr(noted, restore_and_note)
        with suppress(StoreError):
            store.replace_documents(document(3, 5), ["document 3"])
    with FaissStore.open(index, TextEmbeddings()) as store:
        assert contents(store) == {number: {0} for number in range(10)}
        check_against_brute_force(store, TextEmbeddings())


def test_an_index_is_restored_from_one_that_is_written_meanwhile(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_copy = Database.write_copy
    with FaissStore.open(index, TextEmbeddings()) as store:

        def copy_and_write(database: Database, path: Path) -> None:
            write_copy(database, path)
            store.replace_documents(document(3, 5), ["document 3"])

        monkeypatch.setattr(Database, "write_copy", copy_and_write)
        FaissStore.restore(index, tmp_path / "new")
    with FaissStore.open(tmp_path / "new", TextEmbeddings()) as store:
        assert contents(store) == {number: {0} for number in range(10)}


@pytest.mark.parametrize("name", [LOG, f"{DATABASE_FILE}-shm", f"{DATABASE_FILE}-journal", SEAL_FILE, "vectors.faiss"])
def test_a_folder_where_a_file_should_be_changes_nothing(index: Path, tmp_path: Path, name: str) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
        store.replace_documents(document(3, 5), ["document 3"])
    (index / name).unlink(missing_ok=True)
    (index / name).mkdir()
    (index / name / "mine").write_text("precious")
    before = files_of(index)
    with pytest.raises(StoreError, match=rf"{name}.* is a folder.*move it"):
        FaissStore.restore(tmp_path / "backup", index)
    assert files_of(index) == before
    shutil.rmtree(index / name)
    with FaissStore.open(index, TextEmbeddings()) as store:
        assert contents(store) == {number: {5 if number == 3 else 0} for number in range(10)}


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


STEPS = ("rename", "replace", "unlink", "mkdir", "open", "fsync", "rmdir")


class Fault:
    """Makes one system call fail, counted from 0 among those that change something."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, action: Callable[[], object]) -> None:
        self._at, self._action, self._thread = at, action, threading.get_ident()
        self.was_met = False
        for name in STEPS:
            monkeypatch.setattr(os, name, partial(self._call, getattr(os, name)))

    def _call(self, call: Callable[..., Any], *given: Any, **settings: Any) -> Any:
        self._at -= 1
        if self._at == -1 and threading.get_ident() == self._thread:
            self.was_met = True
            self._action()
        return call(*given, **settings)


def be_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.process
@pytest.mark.slow
def test_a_restore_that_fails_at_any_step_changes_nothing(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    write_and_die(index)
    before, failures = files_of(index), 0
    for step in count():
        folder = tmp_path / f"index {step}"
        shutil.copytree(index, folder)
        is_done = False
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(patch, step, be_full)
            with suppress(StoreError):
                FaissStore.restore(tmp_path / "backup", folder)
                is_done = True
        if not is_done:
            failures += 1
            left = files_of(folder)
            assert {name: left[name] for name in before} == before, f"something else after step {step} failed"
            assert not (folder / RESTORING_FILE).exists()
        with FaissStore.open(folder, TextEmbeddings()) as store:
            assert contents(store) == {number: {9 if number == 2 and not is_done else 0} for number in range(10)}
        if not fault.was_met:
            break
    assert failures > 12


KILLED_AND_FAILED = """
import os, shutil, sys, warnings
from itertools import count
from pathlib import Path
import pytest
from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.stores.faiss.test_backup import Fault, be_full
from tests.torture.corpus import TextEmbeddings, contents

warnings.simplefilter("ignore", DeprecationWarning)
backup, index, scratch = map(Path, sys.argv[1:])
was_killed = True
for step in count():
    folder = scratch / str(step)
    shutil.copytree(index, folder)
    child = os.fork()
    if not child:
        Fault(pytest.MonkeyPatch(), step, lambda: os._exit(9))
        FaissStore.restore(backup, folder)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status == 0:
        break
    with pytest.MonkeyPatch.context() as patch:
        Fault(patch, 3 + step % 20, be_full)
        try:
            FaissStore.restore(backup, folder)
            is_done = True
        except StoreError:
            is_done = False
    try:
        store = FaissStore.open(folder, TextEmbeddings())
    except StoreError as error:
        assert "restore() again" in str(error), error
    else:
        found = contents(store)
        store.close()
        old, new = ({number: {last if number == 2 else 0} for number in range(10)} for last in (9, 0))
        assert found in ([new] if is_done else [old, new]), (step, is_done, found)
    FaissStore.restore(backup, folder)
    with FaissStore.open(folder, TextEmbeddings()) as store:
        assert contents(store) == {number: {0} for number in range(10)}
assert step > 15
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
def test_a_restore_that_is_killed_at_any_step_is_told_or_made_again(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    write_and_die(index)
    (tmp_path / "scratch").mkdir()
    done = run_code(KILLED_AND_FAILED, tmp_path / "backup", index, tmp_path / "scratch")
    assert done.returncode == 0, done.stderr


def test_what_is_restored_may_be_read_and_written_by_those_who_may_what_is_made(index: Path, tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        FaissStore.restore(index, tmp_path / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / DATABASE_FILE).stat().st_mode) == 0o664


def test_two_restores_at_once(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaissStore.open(index, TextEmbeddings()) as store:
        store.backup(tmp_path / "backup")
    refused = list[str]()

    def restore_meanwhile(*given: Any) -> None:
        monkeypatch.setattr(restoring, "_exchange", exchange)
        for call in (
            lambda: FaissStore.restore(tmp_path / "backup", index),
            lambda: FaissStore.open(index, TextEmbeddings()),
        ):
            with pytest.raises(StoreError, match="is being restored") as caught:
                call()
            refused.append(str(caught.value))
        exchange(*given)

    exchange = restoring._exchange
    monkeypatch.setattr(restoring, "_exchange", restore_meanwhile)
    FaissStore.restore(tmp_path / "backup", index)
    assert len(refused) == 2
    with FaissStore.open(index, TextEmbeddings()) as store:
        assert len(contents(store)) == 10
