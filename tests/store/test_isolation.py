"""One store shared by threads, processes and users: each read sees one state, and nobody waits for ever."""

import asyncio
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

import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, acopy_index
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ranking.candidates import Candidates
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
def test_a_rank_may_read_the_store_and_the_state_that_is_searched(in_memory: bool, tmp_path: Path) -> None:
    with filled(None if in_memory else tmp_path) as store:
        plain = store.hybrid_search("document d3", k=8, rank=lambda candidates: candidates.dense)
        for copies in (False, True):
            with store.at_one_state(copies=copies) as state:

                def rank(candidates: Candidates, state: FaissStore = state) -> Any:
                    for each in (state, store):
                        assert len(each.get_by_ids([str(found.id) for found, _ in plain])) == 8
                        assert len(each.similarity_search("x", k=5)) == len(each.lexical_search("d3", k=5)) == 5
                    return candidates.dense

                assert state.hybrid_search("document d3", k=8, rank=rank) == plain
                assert len(state.get_by_ids([str(plain[0][0].id)])) == 1


def test_candidates_are_of_the_state_that_was_searched(tmp_path: Path) -> None:
    """Another store deletes documents between the search and the reading of the best."""
    query = "Sentence s3 of document d4 in version v0."
    with filled(tmp_path, 10) as store, FaissStore(TextEmbeddings(), tmp_path) as other:
        texts = list[str]()

        def rank(candidates: Candidates) -> Any:
            texts.extend(candidates.texts)
            other.delete(filter={})
            return candidates.dense

        found = store.hybrid_search(query, k=20, rank=rank)
        assert len(found) == 20
        assert {each.page_content for each, _ in found} <= {*texts}
        assert store.hybrid_search(query, k=20) == []


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


@pytest.mark.slow
async def test_a_store_in_memory_is_copied_while_others_use_it() -> None:
    class Slow(FaissStore):
        async def aadd_embeddings(self, *given: Any) -> list[str]:
            await asyncio.sleep(0.1)
            return await super().aadd_embeddings(*given)

    source, target = filled(None, 3_000), Slow(TextEmbeddings())

    async def use() -> None:
        for number in range(10):
            await source.asimilarity_search("x", filter={"number": number})

    copied, *_ = await asyncio.wait_for(
        asyncio.gather(acopy_index(source, target), source.aadd_texts(["x"]), *[use() for _ in range(40)]), PATIENCE
    )
    assert copied in (24_000, 24_001)


# Opening


def test_many_threads_make_one_store(tmp_path: Path) -> None:
    begin = threading.Barrier(8)

    def make(number: int) -> None:
        begin.wait(PATIENCE)
        FaissStore.from_texts([f"text {number}"], TextEmbeddings(), path=tmp_path / "index").close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(8), timeout=PATIENCE))
    with FaissStore.open(tmp_path / "index", TextEmbeddings()) as store:
        assert len(store) == 8


@pytest.mark.process
@pytest.mark.slow
def test_many_processes_make_one_store(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom langchain_sentence_window import FaissStore\n"
        "from tests.torture.corpus import TextEmbeddings\n"
        "FaissStore.from_texts([sys.argv[2]], TextEmbeddings(), path=sys.argv[1]).close()"
    )
    made = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(number)]) for number in range(6)]
    assert [process.wait(PATIENCE) for process in made] == [0] * 6
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        assert len(store) == 6


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


LOCKED_OUT = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(0.5)
"""


@pytest.mark.process
@pytest.mark.slow
def test_opening_waits_for_a_process_that_lets_nobody_in(tmp_path: Path) -> None:
    """The last process to close an index does this, while it moves the log into the file."""
    FaissStore.from_texts(["a"], TextEmbeddings(), path=tmp_path).close()
    command = [sys.executable, "-c", LOCKED_OUT, str(tmp_path / DATABASE_FILE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        with FaissStore.open(tmp_path, TextEmbeddings()) as store:
            assert len(store) == 1


def test_what_a_killed_process_left_unfinished_goes_when_it_is_old(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        store.save()
        old, new = (tmp_path / f"vectors.faiss.{letter * 16}.part" for letter in "ab")
        for path in (old, new):
            path.write_text("half")
        os.utime(old, (0, 0))
        store.replace_documents(document(3, 1), ["document 3"])
        store.save()
        assert (old.exists(), new.exists()) == (False, True)


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

        def rank(candidates: Candidates) -> Any:
            together.wait(PATIENCE)  # so that each thread needs a connection of its own
            return candidates.dense

        def read(_: int) -> list[str]:
            return [each.page_content for each, _ in store.hybrid_search("text", k=9, rank=rank)]

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(read, range(4), timeout=PATIENCE)) == [["text of one"]] * 4
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


# Caches


def test_a_faiss_file_of_another_release_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import faiss

    with filled(tmp_path) as store:
        store.save()

    def refuse(*_: object) -> None:
        raise RuntimeError("Error in read_index_up: Index type 0x46785432 not recognized")

    with monkeypatch.context() as patch, FaissStore.open(tmp_path, TextEmbeddings()) as store:
        patch.setattr(faiss, "deserialize_index", refuse)
        check_against_brute_force(store, TextEmbeddings())


def test_vectors_that_lie_far_out_are_not_lost() -> None:
    store = FaissStore(TextEmbeddings())
    store.add_embeddings([Document(page_content="far", id="far")], np.full((1, 32), 1e20))
    ((_, score),) = store.similarity_search_with_score_by_vector([1e-20] * 32, k=1)
    assert score == pytest.approx(1, abs=1e-3)
