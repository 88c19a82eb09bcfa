"""What a store holds survives: rounds of torture, full disks, folders that can't be written, odd paths."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores import check_index
from tests.interpreters import run_code
from tests.patience import until
from tests.store.folders import LOG
from tests.torture import churn, damage, kill
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document

FIRST = {number: {0} for number in range(10)}


# Kills, concurrent readers and writers, damage


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("beside", [False, True])
def test_kill_9_at_random_moments_loses_nothing_that_was_acknowledged(beside: bool) -> None:
    done = Counter[str]()

    def some_calls_were_acknowledged() -> bool:
        counts = kill.torture(4, longest=0.8, seed=3, beside=beside)
        assert counts["kills"] == 4
        done.update(counts)
        return done["calls acknowledged"] > 5

    until(some_calls_were_acknowledged)


@pytest.mark.process
@pytest.mark.slow
def test_kill_9_within_a_change_of_the_index_loses_nothing() -> None:
    counts = kill.torture(1, seed=4, in_change=True)
    assert counts["changes cut"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("on_disk", [True, False])
def test_readers_see_whole_documents_while_one_writes(on_disk: bool, tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path if on_disk else None) as store:
        documents, done = churn.fill(store, 800), Counter[str]()

        def all_have_worked() -> bool:
            done.update(churn.churn(store, documents, seconds=2))
            return done["documents replaced"] > 3 and done["searches of the slowest reader"] > 0

        until(all_have_worked)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("index", ["exact", "codes"])
def test_damage_is_repaired_or_reported(index: str) -> None:
    only = "" if index == "exact" else "vectors"
    outcomes = damage.torture(12, 1, index, only)
    assert sum(counts.total() for counts in outcomes.values()) == 12 * len(outcomes) >= 48


WRITE_AND_CLOSE = """
import sys
from tests.torture.corpus import TextEmbeddings, document
from langchain_sentence_window import FaissStore
with FaissStore.open(sys.argv[1], TextEmbeddings()) as store:
    store.replace_documents(document(2, 5), ["document 2"])
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open can't be deleted on Windows")
def test_a_process_that_closes_leaves_the_log_of_one_that_goes_on(tmp_path: Path) -> None:
    """Reading a file of the index here must not release the locks that SQLite holds on it."""
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        churn.fill(store, 80)
        store.save()
        FaissStore.open(tmp_path, TextEmbeddings()).close()
        assert check_index(tmp_path).is_sound
        store.replace_documents(document(1, 5), ["document 1"])
        log = (tmp_path / LOG).stat().st_ino
        assert run_code(WRITE_AND_CLOSE, tmp_path).returncode == 0
        assert (tmp_path / LOG).stat().st_ino == log
        store.replace_documents(document(3, 5), ["document 3"])
        with FaissStore.open(tmp_path, TextEmbeddings()) as other:
            assert contents(other) == FIRST | {number: {5} for number in (1, 2, 3)}


MAKE = """
import sys
from tests.torture.corpus import TextEmbeddings, document
from langchain_sentence_window import FaissStore
FaissStore(TextEmbeddings(), sys.argv[1]).add_documents(document(int(sys.argv[2]), 0))
"""


@pytest.mark.process
@pytest.mark.slow
def test_processes_may_make_one_index_at_once(tmp_path: Path) -> None:
    makers = [subprocess.Popen([sys.executable, "-c", MAKE, tmp_path / "index", str(number)]) for number in range(4)]
    assert [maker.wait() for maker in makers] == [0] * 4
    with FaissStore.open(tmp_path / "index", TextEmbeddings()) as store:
        assert contents(store) == {number: {0} for number in range(4)}


# Disks and folders

FULL_DISK = """
import resource, signal, sys
from tests.torture.corpus import TextEmbeddings, contents, check_against_brute_force, document
from tests.torture.churn import fill
from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = FaissStore(TextEmbeddings(), sys.argv[1])
fill(store, 800)
store.save()
before = contents(store)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
failed = 0
for version in range(1, 60):
    try:
        store.add_documents([each for number in range(40) for each in document(number, version)])
        before |= {number: {version} for number in range(40)}
        store.save()
        assert len(store.lexical_search(f"d3 v{version}", k=999, filter={"number": 3})) == 8
    except StoreError as error:
        failed += 1
        assert "as it was before the call" in str(error) or "can't be written" in str(error), error
    assert contents(store) == before
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert contents(store) == before
check_against_brute_force(store, TextEmbeddings())
store.close()
with FaissStore.open(sys.argv[1], TextEmbeddings()) as store:
    assert contents(store) == before
    check_against_brute_force(store, TextEmbeddings())
print(failed)
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a file's size can't be limited on Windows")
@pytest.mark.parametrize("most", [30_000, 400_000, 800_000])
def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path, most: int) -> None:
    done = run_code(FULL_DISK, tmp_path, most)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with FaissStore(TextEmbeddings(), folder) as store:
        churn.fill(store, 80)
        store.save()
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        mounted = folder
        folder.chmod(0o555)
    elif subprocess.run(["mount", "-o", "bind,ro", folder, mounted], check=False, capture_output=True).returncode:  # noqa: S607
        pytest.skip("root writes to any folder, and may not mount one read-only here")
    try:
        with pytest.raises(StoreError, match="can't be .*; open it with read_only=True"):
            FaissStore(TextEmbeddings(), mounted).add_texts(["new"])
        with FaissStore.open(mounted, TextEmbeddings(), read_only=True) as store:
            assert contents(store) == FIRST
            check_against_brute_force(store, TextEmbeddings())
        assert check_index(mounted).is_sound
    finally:
        if mounted != folder:
            subprocess.run(["umount", mounted], check=True)  # noqa: S607
        folder.chmod(0o755)


# Paths

PATHS: list[bytes] = [
    b"plain",
    "naïve Ordner – 文档 🦜".encode(),
    b"100% of #1? 'a' \"b\"; c=d&e",
    b"line\nbreak and\ttab",
    b"..dots..",
]


@pytest.mark.parametrize("name", PATHS if sys.platform != "linux" else [*PATHS, b"caf\xe9", b"\xff\x80"])
def test_an_index_may_be_in_a_folder_of_any_name(tmp_path: Path, name: bytes) -> None:
    folder = tmp_path / os.fsdecode(name) / "index"
    with FaissStore(TextEmbeddings(), folder, "exact") as store:
        churn.fill(store, 80)
        store.save()
        check_against_brute_force(store, TextEmbeddings())
        store.backup(folder.with_name("backup"))
        store.replace_documents(document(3, 1), ["document 3"])
        check_against_brute_force(store, TextEmbeddings())
        assert repr(store).encode()
    with FaissStore.open(str(folder), TextEmbeddings(), read_only=True) as store:
        assert contents(store) == FIRST | {3: {1}}
        check_against_brute_force(store, TextEmbeddings())
    FaissStore.restore(folder.with_name("backup"), folder)
    with FaissStore.open(folder, TextEmbeddings()) as store:
        assert contents(store) == FIRST
        check_against_brute_force(store, TextEmbeddings())
    checked = check_index(folder)
    assert (checked.problems, checked.notes) == ((), ())
