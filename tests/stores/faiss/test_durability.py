"""Durability of a store: short runs of the torture scripts, full disks, hostile values, interruptions."""

import ast
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_sentence_window.stores.faiss.database import locks as held_files
from langchain_sentence_window.stores.faiss.database.conditions import MAX_VALUES
from langchain_sentence_window.stores.faiss.database.database_file import HEAD_FILE, SEAL_FILE
from langchain_sentence_window.stores.faiss.database.locks import HELD_FILES
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import FilterError, InvalidInputError, StoreError
from tests.conftest import Invoke
from tests.interpreters import run_code
from tests.patience import until
from tests.torture import churn, damage, kill
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document
from tests.toys import WordEmbeddings


@pytest.mark.process
@pytest.mark.slow
def test_kill_9_at_random_moments_loses_nothing_that_was_acknowledged() -> None:
    done = Counter[str]()

    def some_calls_were_acknowledged() -> bool:
        counts = kill.torture(5, longest=0.8, seed=3)
        assert counts["kills"] == 5
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
def test_processes_queue_and_see_what_others_wrote(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        documents, done = churn.fill(store, 800), Counter[str]()

        def all_have_worked() -> bool:
            done.update(churn.processes(tmp_path, documents, seconds=2))
            return min(done["documents replaced"], done["searches"]) > 3

        until(all_have_worked)


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
    """Reading the database's file for its checksum must not release SQLite's locks on it."""
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        churn.fill(store, 80)
        store.save()
        FaissStore.open(tmp_path, TextEmbeddings()).close()
        store.replace_documents(document(1, 5), ["document 1"])
        log = (tmp_path / f"{DATABASE_FILE}-wal").stat().st_ino
        assert run_code(WRITE_AND_CLOSE, tmp_path).returncode == 0
        assert (tmp_path / f"{DATABASE_FILE}-wal").stat().st_ino == log
        store.replace_documents(document(3, 5), ["document 3"])
        with FaissStore.open(tmp_path, TextEmbeddings()) as other:
            assert contents(other) == {number: {5 if number in (1, 2, 3) else 0} for number in range(10)}


@pytest.mark.process
@pytest.mark.slow
def test_damage_is_repaired_or_told() -> None:
    outcomes = damage.torture(12, seed=1)
    assert sum(counts.total() for counts in outcomes.values()) == 12 * len(outcomes) >= 120


def test_a_database_that_was_lost_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        churn.fill(store, 80)
    content = (tmp_path / DATABASE_FILE).read_bytes()
    for is_there in (True, False):
        (tmp_path / DATABASE_FILE).unlink()
        if is_there:
            (tmp_path / DATABASE_FILE).touch()
        with pytest.raises(StoreError, match="is empty, though there was an index; restore it"):
            FaissStore(TextEmbeddings(), tmp_path)
    (tmp_path / DATABASE_FILE).write_bytes(content)
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        assert len(contents(store)) == 10


def test_an_older_copy_of_the_database_is_not_mixed_with_newer_caches(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        churn.fill(store, 80)
    older = (tmp_path / DATABASE_FILE).read_bytes()
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        store.replace_documents(document(3, 9), ["document 3"])
        store.save()
    (tmp_path / DATABASE_FILE).write_bytes(older)
    with pytest.raises(StoreError, match=r"holds 1 writes, and 2 were made.*to go on without what is missing, delete"):
        FaissStore.open(tmp_path, TextEmbeddings())
    (tmp_path / HEAD_FILE).unlink()
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        # Another past of the same length as that of the caches.
        store.replace_documents(document(5, 7), ["document 5"])
        assert contents(store) == {number: {7 if number == 5 else 0} for number in range(10)}
        check_against_brute_force(store, TextEmbeddings())


def test_a_store_that_was_not_sealed_is_checked_row_by_row(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        churn.fill(store, 80)
    (tmp_path / SEAL_FILE).unlink()
    with sqlite3.connect(tmp_path / DATABASE_FILE) as connection:
        connection.execute("UPDATE sentences SET text = CAST('x' AS BLOB) WHERE row = 7")
    connection.close()
    with pytest.raises(StoreError, match="damaged: row 7 of the sentences isn't as it was written; restore it"):
        FaissStore.open(tmp_path, TextEmbeddings())


FULL_DISK = """
import resource, sys
from tests.torture.corpus import TextEmbeddings, contents, check_against_brute_force, document
from tests.torture.churn import fill
from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
import signal
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
def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, most: int) -> None:
    done = run_code(FULL_DISK, tmp_path, most)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_a_folder_that_cannot_be_written_is_told_and_can_be_read(tmp_path: Path) -> None:
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
        with pytest.raises(StoreError, match="can't be opened as an index: .*; open it with read_only=True"):
            FaissStore(TextEmbeddings(), mounted)
        with FaissStore.open(mounted, TextEmbeddings(), read_only=True) as store:
            assert len(contents(store)) == 10
            check_against_brute_force(store, TextEmbeddings())
    finally:
        if mounted != folder:
            subprocess.run(["umount", mounted], check=True)  # noqa: S607
        folder.chmod(0o755)


AS_NOBODY = """
import os, resource, signal, sys, tempfile
from langchain_sentence_window import FaissStore
from tests.torture.corpus import TextEmbeddings
import faiss, tantivy, langchain_core.vectorstores.utils, encodings.ascii
with FaissStore.from_texts(["warm"], TextEmbeddings()) as warm:
    warm.similarity_search("x"), warm.lexical_search("x")
tempfile.tempdir = "/tmp"
os.setgroups([]); os.setgid(65534); os.setuid(65534)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
for work in (
    lambda: FaissStore(TextEmbeddings(), sys.argv[1]).add_texts(["new"]),
    lambda: len(FaissStore.open(sys.argv[1], TextEmbeddings(), read_only=True).lexical_search("a")),
):
    try:
        print(work())
    except Exception as error:
        print(type(error).__name__, error)
"""
OPEN_READ_ONLY = "; open it with read_only=True, or let this user write in its folder and to the files there"
MAY_READ = "; let this user read the folder and its files"
MAY_WRITE = "; let this user read and write the folder and its files"


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    ("modes", "most_bytes", "to_write", "to_read"),
    [
        ({"": 0o555}, 10**9, OPEN_READ_ONLY, "1"),
        ({"": 0o555, "sentences.sqlite3": 0o444, "lexical": 0o555}, 10**9, OPEN_READ_ONLY, "1"),
        ({"sentences.sqlite3": 0o444}, 10**9, OPEN_READ_ONLY, "1"),
        ({"sentences.sqlite3": 0}, 10**9, MAY_WRITE, MAY_READ),
        ({"": 0}, 10**9, MAY_WRITE, MAY_READ),
        ({"sentences.sqlite3-wal": 0}, 10**9, MAY_WRITE, MAY_READ),
        ({"sentences.sqlite3-shm": 0}, 10**9, MAY_WRITE, MAY_READ),
        ({}, 20_000, "; make sure that the disk has room", "; make sure that the disk has room"),
    ],
)
def test_what_a_user_may_not_do_and_a_full_disk_are_not_told_as_damage(
    modes: dict[str, int], most_bytes: int, to_write: str, to_read: str
) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        with FaissStore.from_texts(["a b"], TextEmbeddings(), path=folder) as store:
            store.save()
            store.add_texts(["c"])
            if not any(name.endswith(("-wal", "-shm")) for name in modes):
                store.close()  # otherwise, its log stays
            for path in (folder, *folder.rglob("*")):
                path.chmod(0o777 if path.is_dir() else 0o666)
            for name, mode in modes.items():
                (folder / name).chmod(mode)
            done = run_code(AS_NOBODY, folder, most_bytes)
        written, read = done.stdout.splitlines()
        assert written.startswith("StoreError ")
        assert to_write in written
        assert read.startswith("StoreError ") == (to_read != "1")
        assert to_read in read
        assert "backup" not in done.stdout
    finally:
        shutil.rmtree(folder)


def test_an_index_that_another_process_keeps_is_not_told_as_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FaissStore.from_texts(["a"], TextEmbeddings(), path=tmp_path).close()
    monkeypatch.setattr("langchain_sentence_window.stores.faiss.database.connections.SECONDS_TO_WAIT", 0.0)
    with closing(sqlite3.connect(tmp_path / "sentences.sqlite3", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="is locked; another process is using it; try again") as raised:
            FaissStore(TextEmbeddings(), tmp_path)
    assert "backup" not in str(raised.value)


@pytest.mark.parametrize("at", ["before", "begun", "after"])
def test_closing_that_is_cut_short_while_files_are_let_go_can_be_done_again(
    words: WordEmbeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    release = HELD_FILES.release

    def cut_short(holder: object) -> None:
        if at == "begun":
            HELD_FILES._leaving[holder] = None
        elif at == "after":
            release(holder)
        raise KeyboardInterrupt

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    store = FaissStore.from_texts(["card"], words, path=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(held_files, "seal_of_parts", interrupted)
        patch.setattr(HELD_FILES, "release", cut_short)
        with pytest.raises(KeyboardInterrupt):
            store.close()
    store.close()
    assert not HELD_FILES._files
    with FaissStore.open(tmp_path, words) as again:
        assert len(again) == 1


def test_nothing_is_written_through_a_closed_store(tmp_path: Path) -> None:
    store = FaissStore(TextEmbeddings(), tmp_path)
    churn.fill(store, 80)
    store.close()
    store.close()
    for call in (lambda: store.similarity_search("x"), lambda: store.lexical_search("x"), lambda: store.delete(["x"])):
        with pytest.raises(StoreError, match="closed"):
            call()


@pytest.mark.parametrize("is_same_process", [True, False])
def test_a_lexical_index_that_is_ahead_of_what_was_noted_is_built_anew(
    is_same_process: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store, FaissStore.open(tmp_path, TextEmbeddings()) as other:
        churn.fill(store, 80)
        for each in (store, other):
            assert len(each.lexical_search("d3", k=99)) == 8
        store.replace_documents(document(3, 1), ["document 3"])
        with monkeypatch.context() as patch:
            patch.setattr("langchain_sentence_window.stores.faiss.database.transaction.Transaction.set_fact", None)
            with pytest.raises(TypeError):
                store.lexical_search("d3")
        then = store if is_same_process else other
        then.replace_documents(document(4, 1), ["document 4"])
        for number in (3, 4):
            found = [each.id for each, _ in then.lexical_search(f"d{number} v1", k=99, filter={"number": number})]
            assert sorted(map(str, found)) == sorted(str(each.id) for each in document(number, 1))


# Embedding


async def test_only_texts_that_are_new_to_the_store_are_embedded(words: WordEmbeddings, way: Invoke) -> None:
    store = FaissStore(words)
    await way(store, "add_documents", [Document(page_content=text) for text in ("refund", "card", "card")])
    assert words.embedded == ["refund", "card"]
    await way(store, "add_documents", [Document(page_content=text) for text in ("card", "trial")])
    assert words.embedded == ["refund", "card", "trial"]
    sentences = [Document(page_content=text, id=text, metadata={"doc_id": "a"}) for text in ("seat", "card", "page")]
    await way(store, "replace_documents", sentences, ["a"])
    assert words.embedded == ["refund", "card", "trial", "seat", "page"]
    await way(store, "replace_documents", [sentences[2], sentences[0], sentences[1]], ["a"])
    await way(store, "replace_documents", sentences[:1], ["a"])
    assert words.embedded == ["refund", "card", "trial", "seat", "page"]
    # What was deleted is unknown again.
    await way(store, "replace_documents", sentences, ["a"])
    assert words.embedded[5:] == ["page"]
    ((found, score),) = store.similarity_search_with_score("page", k=1)
    assert found.id == "page"
    assert score == pytest.approx(1, abs=1e-3)


async def test_an_interrupted_call_goes_on_where_it_was(
    tmp_path: Path, way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain_sentence_window.embedding.embedder.EMBED_BATCH_SIZE", 10)

    class Interrupted(WordEmbeddings):
        left = 3

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            return super().embed_documents(texts)

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return self.embed_documents(texts)

    given = [Document(page_content=f"page {n}", id=str(n)) for n in range(95)]
    embedding = Interrupted()
    with FaissStore(embedding, tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            await way(store, "add_documents", given)
        assert len(store) == 0
        assert store.stats().staged_texts == 30
        assert store.similarity_search("page") == []
    embedding.left = 99
    with FaissStore.open(tmp_path, embedding) as store:
        await way(store, "add_documents", given)
        assert len(store) == 95
        assert store.stats().staged_texts == 0
        assert sorted(embedding.embedded) == sorted(each.page_content for each in given)


def test_a_text_that_another_deletes_meanwhile_is_embedded_again(tmp_path: Path) -> None:
    class Meddling(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if "new" in texts:
                other.delete(["a"])
            return super().embed_documents(texts)

    embedding = Meddling()
    with FaissStore(embedding, tmp_path) as store, FaissStore(embedding, tmp_path) as other:
        store.add_texts(["old"], ids=["a"])
        store.add_texts(["old", "new"], ids=["b", "c"])
        assert embedding.embedded == ["old", "new", "old"]
        assert {each.id for each in other.get_by_ids(["a", "b", "c"])} == {"b", "c"}


def test_progress_is_shown_when_asked_for(words: WordEmbeddings, capsys: pytest.CaptureFixture[str]) -> None:
    store = FaissStore(words)
    store.add_documents([Document(page_content="refund")])
    assert capsys.readouterr().err == ""
    store.add_documents([Document(page_content=text) for text in ("refund", "card")], show_progress=True)
    assert "Embedding: 100%" in capsys.readouterr().err


# Hostile values

HOSTILE = [
    "'; DROP TABLE sentences; --",
    '"quoted" and \\',
    "a\x00b",
    "%_*?[]",
    "x" * 1_000_000,
    "🦜" * 1_000,
    "$.a.b",
    "null",
    "1",
    "\ue000\ue0000\ue0001",
]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_any_string_is_only_a_value(words: WordEmbeddings, tmp_path: Path, value: str) -> None:
    given = [Document(page_content=value, id="other", metadata={"key": "other", "doc_id": "other"})]
    if "\x00" in value:
        with pytest.raises(InvalidInputError, match="can't be an id"):
            FaissStore(words).add_texts(["x"], ids=[value])
        given.append(Document(page_content=value, id="id", metadata={"key": value, value: 1}))
    else:
        given.append(Document(page_content=value, id=value, metadata={"key": value, value: 1, "doc_id": value}))
    with FaissStore(words, tmp_path) as store:
        ids = store.add_documents(given)
        assert store.get_by_ids(ids) == given
        for asked in ({"key": value}, {"key": {"$in": [value, 3]}}, {value: 1}, {value: {"$exists": True}}):
            if value == "$.a.b" and value in asked:
                with pytest.raises(FilterError, match="isn't an operator"):
                    store.similarity_search("x", filter=asked)
            else:
                assert [each.id for each in store.similarity_search("x", filter=asked)] == ids[1:]
        assert store.similarity_search("x", filter={"key": value[:1]}) == (given[1:] if value == "1" else [])
        assert [each.id for each in store.similarity_search("x", filter={"key": {"$ne": value}})] == ["other"]
        if "\x00" not in value:
            assert [each.id for each in store.similarity_search("x", filter={"doc_id": value})] == ids[1:]
        store.delete([value])
        store.delete(filter={"key": value})
        assert [each.id for each in store.similarity_search("x")] == ["other"]
    with FaissStore.open(tmp_path, words) as store:
        assert len(store) == 1


def test_deep_wide_and_long_filters_are_answered_or_refused(words: WordEmbeddings) -> None:
    store = FaissStore.from_texts(["refund", "card"], words, [{"n": 0}, {"n": 1}])
    for wrap in (lambda x: {"$not": x}, lambda x: {"$and": [x]}, lambda x: {"$or": [x, {}]}, lambda x: {"n": x}):
        deep: Any = {"n": 1}
        for _ in range(1_000):
            deep = wrap(deep)
        with pytest.raises(FilterError):
            store.similarity_search("x", filter=deep)
    many = {"$or": [{"n": n} for n in range(1, 5_000)]}
    assert [each.page_content for each in store.similarity_search("x", filter=many)] == ["card"]
    listed = {"n": {"$in": list(range(1, MAX_VALUES - 1))}}
    assert [each.page_content for each in store.similarity_search("x", filter=listed)] == ["card"]
    with pytest.raises(FilterError, match="too many for one search"):
        store.similarity_search("x", filter={"n": {"$in": list(range(100_000))}})


@pytest.mark.slow
def test_nothing_in_the_folder_is_run(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore.from_texts(["refund"], words, path=tmp_path) as store:
        store.save()
    for sql in (
        "CREATE TRIGGER evil AFTER INSERT ON sentences BEGIN DELETE FROM sentences; END",
        "CREATE VIEW evil AS SELECT load_extension('evil')",
    ):
        evil = tmp_path.with_name("evil")
        shutil.rmtree(evil, ignore_errors=True)
        shutil.copytree(tmp_path, evil)
        with sqlite3.connect(evil / DATABASE_FILE) as connection:
            connection.execute(sql)
        connection.close()
        with pytest.raises(StoreError, match="doesn't have the tables of an index"):
            FaissStore.open(evil, words)
    pickled = b"cos\nsystem\n(S'touch /tmp/evil'\ntR."
    for path in [*tmp_path.glob("*.faiss"), *tmp_path.glob("*.seal"), *(tmp_path / "lexical").iterdir()]:
        path.write_bytes(pickled)
    with FaissStore.open(tmp_path, words) as store:
        assert len(store.similarity_search("refund")) == len(store.lexical_search("refund")) == 1
    runs_code = {"pickle", "marshal", "shelve", "dill", "joblib", "eval", "exec"}
    for module in Path(sys.modules["langchain_sentence_window"].__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
            called = {node.func.id} if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else set()
            source = {node.module} if isinstance(node, ast.ImportFrom) and not node.level else set()
            assert not (names | called | source) & runs_code, module
