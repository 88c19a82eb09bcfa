"""One store shared by threads, processes and users: each read sees one state, and no call waits forever."""

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.patience import PATIENCE
from tests.torture.calls import filled
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document

in_file_and_in_memory = pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
DATABASE_FILE = "sentences.sqlite3"


# Threads


@in_file_and_in_memory
def test_threads_search_write_and_export_at_once(in_memory: bool, tmp_path: Path) -> None:
    with filled(None if in_memory else tmp_path, 20) as store:

        def work(number: int) -> None:
            for version in range(1, 6):
                store.replace_documents(document(number, version), [f"document {number}"])
                assert len(store.similarity_search("x", k=99, filter={"number": number})) == 8
                for find in (store.lexical_search, store.hybrid_search):
                    found = [each for each, _ in find(f"document d{number}", k=99, filter={"number": number})]
                    assert {each.metadata["version"] for each in found} == {version}
                with store.at_one_state(copies=True) as state:
                    before, after = (sum(len(each) for each, _ in state.export()) for _ in range(2))
                    assert before == after == 20 * 8

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8), timeout=PATIENCE))
        assert contents(store) == {number: {5 if number < 8 else 0} for number in range(20)}
        check_against_brute_force(store, TextEmbeddings())


@in_file_and_in_memory
def test_an_export_is_of_the_state_at_its_beginning(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain_sentence_window.store.faiss_store.DOCUMENT_BATCH_SIZE", 16)
    with filled(None if in_memory else tmp_path, 10) as store:
        seen = 0
        for documents, vectors in store.export():
            assert len(documents) == len(vectors)
            seen += len(documents)
            store.delete(filter={})
        assert (seen, len(store)) == (80, 0)


# Opening


def test_a_store_is_opened_while_another_writes(tmp_path: Path) -> None:
    over = threading.Event()
    with FaissStore.from_texts(["a"], TextEmbeddings(), path=tmp_path) as writer:

        def write() -> int:
            written = 1
            while not over.is_set():
                writer.add_texts(["a text"])
                written += 1
            return written

        with ThreadPoolExecutor(1) as thread:
            writing, seen = thread.submit(write), [0]
            for _ in range(30):
                with FaissStore.open(tmp_path, TextEmbeddings()) as other:
                    seen.append(len(other))
            over.set()
            assert sorted(seen) == seen
            assert seen[-1] <= writing.result(PATIENCE) == len(writer)


# Paths


def test_a_relative_path_keeps_its_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        FaissStore.from_texts([f"text of {name}"], TextEmbeddings(), path="index").close()
    monkeypatch.chdir(tmp_path / "one")
    with FaissStore.open("index", TextEmbeddings()) as store:
        monkeypatch.chdir(tmp_path / "two")
        together = threading.Barrier(4)

        def read(_: int) -> int:
            def work(state: Any) -> int:
                together.wait(PATIENCE)  # so that each thread needs a connection of its own
                return len(state.matching("text of one", 9, None))

            return store.read(work)

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(read, range(4), timeout=PATIENCE)) == [1] * 4
        store.add_texts(["more of one"])
        store.save()
    with FaissStore.open("index", TextEmbeddings()) as store:
        assert [each.page_content for each in store.similarity_search("x", k=9)] == ["text of two"]


@pytest.mark.skipif(sys.platform == "win32", reason="a folder with open files can't be moved on Windows")
def test_a_folder_that_is_swapped_is_noticed(tmp_path: Path) -> None:
    for name in ("index", "new"):
        with FaissStore(TextEmbeddings(), tmp_path / name) as store:
            store.add_texts([f"text of {name}"], ids=[name])
    store = FaissStore.open(tmp_path / "index", TextEmbeddings())
    assert len(store.similarity_search("x")) == 1
    (tmp_path / "index").rename(tmp_path / "old")
    (tmp_path / "new").rename(tmp_path / "index")
    other = FaissStore.open(tmp_path / "index", TextEmbeddings())
    other.add_texts(["written meanwhile"], ids=["meanwhile"])
    log = (tmp_path / "index" / f"{DATABASE_FILE}-wal").stat().st_ino
    for call in (lambda: store.similarity_search("x"), lambda: store.add_texts(["lost?"]), lambda: len(store)):
        with pytest.raises(StoreError, match="was moved, replaced or deleted"):
            call()
    # SQLite deletes a log by its path, which leads to that of another store.
    store.close()
    assert (tmp_path / "index" / f"{DATABASE_FILE}-wal").stat().st_ino == log
    other.close()
    for name, ids in (("index", ["new", "meanwhile"]), ("old", ["index"])):
        with FaissStore.open(tmp_path / name, TextEmbeddings()) as store:
            assert sorted(str(each.id) for each in store.similarity_search("x", k=9)) == sorted(ids)


@pytest.mark.skipif(sys.platform == "win32", reason="a folder with open files can't be deleted on Windows")
def test_a_folder_that_is_deleted_is_noticed(tmp_path: Path) -> None:
    store = FaissStore.from_texts(["a"], TextEmbeddings(), path=tmp_path / "index")
    shutil.rmtree(tmp_path / "index")
    with pytest.raises(StoreError, match="was moved, replaced or deleted"):
        store.add_texts(["b"])
    store.close()
    assert not (tmp_path / "index").exists()


# Users who may only read

READ_AS_NOBODY = """
import os, sys, tempfile
from langchain_sentence_window import FaissStore
from tests.torture.corpus import TextEmbeddings, contents
import concurrent.futures, faiss, tantivy, langchain_core.vectorstores.utils, encodings.ascii, encodings.cp437
with FaissStore.from_texts(["warm"], TextEmbeddings()) as warm:
    warm.similarity_search("x"), warm.lexical_search("x")
tempfile.tempdir = "/tmp"
os.setgroups([]); os.setgid(65534); os.setuid(65534)
store = FaissStore.open(sys.argv[1], TextEmbeddings(), read_only=True)
for line in sys.stdin:
    found = contents(store)
    assert len(store) == 8 * len(found) == len(store.similarity_search("x", k=999, filter={"version": {"$gte": 0}}))
    assert len(store.lexical_search("sentence", k=999)) == len(store)
    print(sorted(found), {version for each in found.values() for version in each}, flush=True)
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("while_open", [True, False])
def test_a_user_who_may_not_write_sees_what_is_written(while_open: bool) -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    try:
        store = filled(folder, 10)
        store.save()
        if not while_open:
            store.close()
        command = [sys.executable, "-c", READ_AS_NOBODY, str(folder)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
            assert reader.stdin is not None
            assert reader.stdout is not None

            def ask() -> str:
                assert reader.stdin is not None
                assert reader.stdout is not None
                print(file=reader.stdin, flush=True)
                return reader.stdout.readline().strip()

            assert ask() == f"{list(range(10))} {{0}}"
            for version in range(1, 4):
                store = FaissStore(TextEmbeddings(), folder) if not while_open else store
                whole = [each for number in range(10) for each in document(number, version)]
                store.replace_documents(whole, [f"document {number}" for number in range(10)])
                assert ask() == f"{list(range(10))} {{{version}}}"
                store.save()
                assert ask() == f"{list(range(10))} {{{version}}}"
                if not while_open:
                    store.close()
                assert ask() == f"{list(range(10))} {{{version}}}"
            reader.stdin.close()
        assert reader.returncode == 0
        store.close()
    finally:
        shutil.rmtree(folder)


@pytest.mark.slow
def test_copies_of_the_lexical_index_go_when_they_are_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with filled(tmp_path / "index", 10) as writer:
        writer.lexical_search("d1")
        with FaissStore.open(tmp_path / "index", TextEmbeddings(), read_only=True) as reader:
            for version in range(1, 6):
                writer.replace_documents(document(3, version), ["document 3"])
                writer.lexical_search("d1")
                assert len(reader.lexical_search("d3", k=99, filter={"version": version})) == 8
                gc.collect()
                assert len(list(temporary.iterdir())) <= 1
        gc.collect()
        assert list(temporary.iterdir()) == []
