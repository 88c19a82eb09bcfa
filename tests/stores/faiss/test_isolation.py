"""One store shared by threads, processes, embedders and users: nothing lost, nothing mixed, nobody blocked."""

import asyncio
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_sentence_window.stores.faiss.database.connections import Connection, Connections, Lease
from langchain_sentence_window.stores.faiss.database.database_file import Head, read_head
from langchain_sentence_window.stores.faiss.database.locks import HeldFiles, NestedWriteError, identity_of
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE, seal_of
from langchain_sentence_window.stores.faiss.lexical_index import LexicalSearcher

from langchain_sentence_window import FaissStore, acopy_index, copy_index
from langchain_sentence_window.embedding.embedder_state import describe_embedder
from langchain_sentence_window.errors import IndexMismatchError, StoreError
from langchain_sentence_window.ranking.candidates import Candidates
from tests.interpreters import run_code
from tests.patience import PATIENCE
from tests.torture.churn import fill
from tests.torture.corpus import TextEmbeddings, Vectors, check_against_brute_force, contents, document
from tests.torture.embedders import KINDS, ModelEmbeddings, model_of

# Embedders


class Salted(TextEmbeddings):
    """Another model for each name."""

    def __init__(self, model: str, size: int = 32) -> None:
        super().__init__(size)
        self.model = model
        self._calls_left = 10**9

    def vector(self, text: str) -> Vectors:
        return super().vector(f"{self.model} {text}")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self._calls_left:
            raise KeyboardInterrupt
        self._calls_left -= 1
        return super().embed_documents(texts)


PAGES = [Document(page_content=f"page {number}", id=str(number)) for number in range(60)]


def check_vectors(store: FaissStore, embedding: TextEmbeddings, count: int) -> None:
    held = {
        doc.page_content: vector for docs, vectors in store.export() for doc, vector in zip(docs, vectors, strict=True)
    }
    assert len(held) == count
    for text, vector in held.items():
        assert float(vector @ embedding.vector(text)) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("size", [32, 16])
def test_what_one_model_left_of_an_interrupted_call_is_not_used_by_another(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain_sentence_window.embedding.embedder.EMBED_BATCH_SIZE", 10)
    first, second = Salted("A"), Salted("B", size)
    first._calls_left = 3
    with FaissStore(first, tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            store.add_documents(PAGES)
        assert store.stats().staged_texts == 30
    with FaissStore(second, tmp_path) as store:
        store.add_documents(PAGES)
        assert store.stats().staged_texts == 0
        check_vectors(store, second, 60)
        for text in ("page 3", "page 33"):
            ((found, score),) = store.similarity_search_with_score(text, k=1)
            assert found.page_content == text
            assert score == pytest.approx(1, abs=1e-3)
    first._calls_left = 10
    with pytest.raises(IndexMismatchError, match="was made with .*model='B'"):
        FaissStore.open(tmp_path, first)


def test_what_was_left_of_an_interrupted_call_can_be_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_sentence_window.embedding.embedder.EMBED_BATCH_SIZE", 10)
    embedding = Salted("A")
    embedding._calls_left = 3
    with FaissStore(embedding, tmp_path) as store:
        with pytest.raises(KeyboardInterrupt):
            store.add_documents(PAGES)
        assert store.discard_staged() == 30
        assert store.discard_staged() == 0
        assert store.stats().staged_texts == 0


def test_two_embedders_on_an_empty_folder_do_not_both_write(tmp_path: Path) -> None:
    first, second = Salted("A"), Salted("B")
    with FaissStore(first, tmp_path) as a, FaissStore(second, tmp_path) as b:
        a.add_texts(["hello"], ids=["a"])
        for call in (
            lambda: b.add_texts(["world"], ids=["b"]),
            lambda: b.add_embeddings([Document(page_content="x")], [[1.0] * 32]),
            lambda: b.similarity_search("hello"),
            lambda: b.hybrid_search("hello"),
            lambda: b.max_marginal_relevance_search("hello"),
        ):
            with pytest.raises(IndexMismatchError, match=r"now holds vectors of .*'A'.*, but .* opened with .*'B'"):
                call()
        check_vectors(a, first, 1)
        # An index without sentences is anybody's, but not the one's who wrote to it before.
        a.delete(["a"])
        b.add_texts(["world"], ids=["b"])
        check_vectors(b, second, 1)
        with pytest.raises(IndexMismatchError):
            a.add_texts(["hello"])
        with pytest.raises(IndexMismatchError):
            a.similarity_search("world")


def test_an_emptied_index_takes_vectors_of_another_length(tmp_path: Path) -> None:
    with FaissStore(Salted("A"), tmp_path) as store:
        store.add_documents(PAGES)
        assert store.similarity_search("page 1")
        store.delete(filter={})
        store.save()
    second = Salted("B", 16)
    with FaissStore(second, tmp_path) as store:
        assert store.similarity_search("page 1") == []
        store.add_documents(PAGES)
        assert store.similarity_search("page 7", k=1)[0].id == "7"
        check_vectors(store, second, 60)


def test_vectors_are_not_copied_to_a_store_of_another_embedder() -> None:
    source = FaissStore(Salted("A"))
    source.add_documents(PAGES)
    target = FaissStore(Salted("B"))
    with pytest.raises(IndexMismatchError, match="the target embeds with .*Nothing was copied"):
        copy_index(source, target)
    assert len(target) == 0


# Embedders whose descriptions are equal

HIDDEN = [kind for kind in KINDS if kind != "described"]


def pair(kind: str) -> tuple[ModelEmbeddings, ModelEmbeddings]:
    first, second = (model_of(model, 32, kind) for model in "AB")
    assert describe_embedder(first) == describe_embedder(second)
    return first, second


@pytest.mark.parametrize("kind", HIDDEN)
def test_an_embedder_of_equal_description_is_refused(kind: str, tmp_path: Path) -> None:
    first, second = pair(kind)
    with FaissStore(first, tmp_path) as store:
        store.add_documents(PAGES)
    calls: list[Any] = [
        lambda: store.add_texts(["new"]),
        lambda: store.add_embeddings([Document(page_content="new")], [second.vector("new").tolist()]),
        lambda: store.similarity_search("page 1"),
        lambda: store.hybrid_search("page 1"),
        lambda: store.max_marginal_relevance_search("page 1"),
        lambda: asyncio.run(store.aadd_texts(["new"])),
        lambda: asyncio.run(store.asimilarity_search("page 1")),
        lambda: copy_index(store, FaissStore(second)),
    ]
    for call in calls:
        for _ in range(2):
            with (
                FaissStore.open(tmp_path, second) as store,
                pytest.raises(IndexMismatchError, match="the same text"),
            ):
                call()
    with FaissStore.open(tmp_path, pair(kind)[0]) as store:
        assert store.similarity_search("page 7", k=1)[0].id == "7"
        store.add_texts(["new"])
        check_vectors(store, first, 61)


@pytest.mark.parametrize("kind", HIDDEN)
def test_what_an_embedder_of_equal_description_left_is_not_used(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langchain_sentence_window.embedding.embedder.EMBED_BATCH_SIZE", 10)
    first, second = pair(kind)
    first.interrupt_after(3)
    with FaissStore(first, tmp_path) as store, pytest.raises(KeyboardInterrupt):
        store.add_documents(PAGES)
    with FaissStore(second, tmp_path) as store:
        assert store.stats().staged_texts == 30
        store.add_documents(PAGES[:30])
        check_vectors(store, second, 30)
        assert store.stats().staged_texts == 0


@pytest.mark.parametrize("kind", HIDDEN)
def test_two_of_equal_description_on_an_empty_folder_do_not_both_write(kind: str, tmp_path: Path) -> None:
    first, second = pair(kind)
    with FaissStore(first, tmp_path) as a, FaissStore(second, tmp_path) as b:
        assert b.similarity_search("hello") == []
        a.add_texts(["hello"], ids=["a"])
        for call in (lambda: b.add_texts(["world"]), lambda: b.similarity_search("hello")):
            with pytest.raises(IndexMismatchError, match="opened with another embedder of that description"):
                call()
        a.delete(["a"])
        b.add_texts(["world"])
        with pytest.raises(IndexMismatchError):
            a.add_texts(["hello"])
        check_vectors(b, second, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_embedder_that_becomes_another_is_refused_at_the_next_write(kind: str, tmp_path: Path) -> None:
    embedding, same = model_of("A", 32, kind), model_of("A", 32, kind)
    with FaissStore(embedding, tmp_path) as store, FaissStore(embedding, tmp_path) as other:
        store.add_documents(PAGES)
        embedding.become("B", kind)
        for each in (store, other, store):
            with pytest.raises(IndexMismatchError):
                each.add_texts(["new"])
            with pytest.raises(IndexMismatchError):
                each.add_embeddings([Document(page_content="new")], [embedding.vector("new").tolist()])
        embedding.become("A", kind)
        for each in (store, other):
            each.add_texts(["new"], ids=["new"])
        check_vectors(store, same, 61)


def test_queries_that_were_embedded_before_a_change_are_embedded_again() -> None:
    embedding = model_of("A", 32, "private")
    store = FaissStore(embedding)
    store.add_texts(["one", "two", "three"])
    store.similarity_search("two")
    store.delete(filter={})
    embedding.become("B", "private")
    store.add_texts(["one", "two", "three"])
    ((found, score),) = store.similarity_search_with_score("two", k=1)
    assert found.page_content == "two"
    assert score == pytest.approx(1, abs=1e-3)


def test_texts_are_embedded_again_only_for_embedders_that_are_not_described_in_full(tmp_path: Path) -> None:
    class Logging(Salted):
        def __init__(self, model: str, **hidden: str) -> None:
            super().__init__(model)
            del self._calls_left
            vars(self).update(hidden)
            self.embedded: list[str] = []

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.embedded += texts
            return [self.vector(text).tolist() for text in texts]

    def texts_of_calls(embedding: Logging, *calls: Any) -> list[int]:
        counts = []
        with FaissStore(embedding, tmp_path / str(vars(embedding).get("_hidden"))) as store:
            for call in calls:
                before = len(embedding.embedded)
                call(store)
                counts.append(len(embedding.embedded) - before)
        return counts

    def ingest(store: FaissStore) -> None:
        store.add_documents(PAGES)

    def search(store: FaissStore) -> None:
        store.similarity_search("page 1")

    def add(store: FaissStore) -> None:
        store.add_texts([f"new {time.perf_counter()}"])

    described, hidden = Logging("A"), Logging("A", _hidden="a")
    for embedding in (described, hidden):
        assert texts_of_calls(embedding, search, ingest, search, add, ingest) == [0, 60, 0, 1, 0]
        assert texts_of_calls(embedding, search, add) == [0, 1]  # the very object that wrote
    assert texts_of_calls(Logging("A"), search, ingest, add, search) == [0, 0, 1, 0]
    assert texts_of_calls(Logging("A", _hidden="a"), search, search, ingest, add, add) == [1, 0, 0, 6, 1]
    assert texts_of_calls(Logging("A", _hidden="a"), ingest, add, search) == [0, 6, 0]


# Closing


def test_closing_waits_for_calls_that_are_at_work(tmp_path: Path) -> None:
    store = FaissStore(TextEmbeddings(), tmp_path)
    fill(store, 800)
    outcomes = list[str]()

    def work() -> None:
        while True:
            try:
                assert len(store.similarity_search("x", k=800, filter={"version": 0})) == 800
                assert len(store.get_by_ids([str(document(1, 0)[0].id)])) == 1
            except StoreError as error:
                outcomes.append(str(error))
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    store.close()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(outcomes) == 4
    assert all("is closed; open it again" in each for each in outcomes)


@pytest.mark.parametrize("on_disk", [True, False])
def test_closing_ends_an_export_that_was_begun(on_disk: bool, tmp_path: Path) -> None:
    store = FaissStore(TextEmbeddings(), tmp_path if on_disk else None)
    fill(store, 80)
    slices = store.export()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        next(slices)
    other = FaissStore(TextEmbeddings(), tmp_path if on_disk else None)
    if not on_disk:
        fill(other, 80)
    slices = other.export()
    next(slices)
    other.close()
    with pytest.raises(StoreError, match="closed"):
        next(slices)


@pytest.mark.slow
async def test_closing_waits_for_a_search_that_nobody_waits_for(tmp_path: Path) -> None:
    store = FaissStore(TextEmbeddings(), tmp_path)
    fill(store, 8_000)
    for _ in range(5):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(store.asimilarity_search("x", k=8_000, filter={"version": 0}), 0.001)
    await asyncio.to_thread(store.close)
    with pytest.raises(StoreError, match="closed"):
        await store.asimilarity_search("x")


# Nobody waits for ever


@pytest.mark.parametrize("on_disk", [True, False])
def test_writing_while_exporting(on_disk: bool, tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path if on_disk else None) as store:
        fill(store, 80)
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

    source, target = FaissStore(TextEmbeddings()), Slow(TextEmbeddings())
    fill(source, 24_000)

    async def use() -> None:
        for number in range(10):
            await source.asimilarity_search("x", filter={"number": number})

    copied, *_ = await asyncio.wait_for(
        asyncio.gather(acopy_index(source, target), source.aadd_texts(["x"]), *[use() for _ in range(40)]), PATIENCE
    )
    assert copied in (24_000, 24_001)


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_read_that_fails_halfway_keeps_no_lock(
    on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception keeps the frames it passed through, and so a cursor with unread rows."""
    with FaissStore(TextEmbeddings(), tmp_path if on_disk else None) as store:
        fill(store, 80)

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("langchain_sentence_window.stores.faiss.database.snapshot.Record._make", stop)
            with pytest.raises(KeyboardInterrupt) as kept:
                store.get_by_ids([str(each.id) for each in document(3, 0)])
        store.replace_documents(document(3, 1), ["document 3"])
        assert contents(store)[3] == {1}
        assert kept.value.__traceback__ is not None


def test_a_checkpoint_that_is_interrupted_stops_no_later_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 80)
        execute = Connection.execute

        def execute_and_stop(self: Connection, sql: str, *given: Any) -> sqlite3.Cursor:
            cursor = execute(self, sql, *given)
            if "wal_checkpoint" in sql:
                raise KeyboardInterrupt
            return cursor

        with monkeypatch.context() as patch:
            patch.setattr(Connection, "execute", execute_and_stop)
            with pytest.raises(KeyboardInterrupt) as kept:
                store.save()
        store.replace_documents(document(3, 1), ["document 3"])
        assert contents(store)[3] == {1}
        assert kept.value.__traceback__ is not None


INTERRUPTED = """
import os, signal, sqlite3, sys, threading
from langchain_sentence_window import FaissStore
from langchain_sentence_window.stores.faiss.database import connections as connection
from tests.torture.corpus import TextEmbeddings
connection.SECONDS_TO_WAIT = 1e6  # it isn't the end of the wait that ends it
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
store = FaissStore.from_texts(["a"], TextEmbeddings(), path=sys.argv[1])
other = sqlite3.connect(sys.argv[1] + "/sentences.sqlite3", isolation_level=None, check_same_thread=False)
other.execute("BEGIN IMMEDIATE")
kept = None
try:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    store.add_texts(["b"])
except KeyboardInterrupt as error:
    kept = error
assert kept is not None
other.execute("ROLLBACK")
store.add_texts(["c"])
with FaissStore.open(sys.argv[1], TextEmbeddings()) as another:
    another.add_texts(["d"])
assert len(store) == 3
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_while_another_process_writes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


LOCKED_OUT = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(0.5)
"""


@pytest.mark.parametrize("take", [lambda found: found.writer, lambda found: Lease(found).take()])
def test_opening_waits_for_a_process_that_lets_nobody_in(
    take: Callable[[Connections], Connection | Snapshot], tmp_path: Path
) -> None:
    """The last process to close an index does this, while it moves the log into the file."""
    FaissStore.from_texts(["a"], TextEmbeddings(), path=tmp_path).close()
    path = tmp_path / DATABASE_FILE
    with subprocess.Popen([sys.executable, "-c", LOCKED_OUT, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        connections = Connections(path, read_only=False)
        assert take(connections).execute("SELECT count(*) FROM sentences").fetchone() == (1,)
        connections.close()


def test_a_store_that_is_collected_while_another_opens_its_file_lets_go_of_it(tmp_path: Path) -> None:
    """The garbage collector may run anywhere, also within a call that it has to wait for."""
    for name in "ab":
        (tmp_path / name).write_text(name)
    held, first, second = HeldFiles(), object(), object()
    known = held.hold(tmp_path / "a", first)
    assert known is not None

    class Collecting(type(tmp_path)):  # type: ignore[misc]
        def stat(self, **settings: Any) -> Any:
            held.release(first)
            with pytest.raises(NestedWriteError):
                held.seal(known)
            return super().stat(**settings)

    held.hold(Collecting(tmp_path / "b"), second)
    assert [identity_of(tmp_path / name) in held._files for name in "ab"] == [False, True]
    held.release(second)
    assert not held._files


@pytest.mark.skipif(not hasattr(os, "pread"), reason="only where processes fork")
def test_a_file_is_read_where_no_forked_process_can_move_its_place(tmp_path: Path) -> None:
    """A forked process has the same open file, and moves its place by reading."""
    path, holder = tmp_path / "a", object()
    path.write_bytes(b"0123456789" * 1_000_000)
    held = HeldFiles()
    known = held.hold(path, holder)
    place = held._files[known][0][0]
    place.seek(7)
    assert held.seal(known) == seal_of(path)
    assert held.read(known, 3, 4) == b"3456"
    assert os.lseek(place.fileno(), 0, os.SEEK_CUR) == 7
    held.release(holder)


def test_what_a_process_that_was_killed_has_left_unfinished_goes_when_it_is_old(tmp_path: Path) -> None:
    FaissStore.from_texts(["a"], TextEmbeddings(), path=tmp_path).close()
    left = [tmp_path / f"{DATABASE_FILE}.{letter * 16}.part" for letter in "abcd"]
    for number, path in enumerate(left):
        if number % 2:
            path.mkdir()
        (path / "new" if number % 2 else path).write_text("half")
        for each in (path, *path.rglob("*")) if number < 2 else ():
            os.utime(each, (0, 0))
    FaissStore.open(tmp_path, TextEmbeddings(), read_only=True).close()
    assert all(path.exists() for path in left)
    FaissStore.open(tmp_path, TextEmbeddings()).close()
    assert [path.exists() for path in left] == [False, False, True, True]


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


def test_opening_while_another_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record of the last write is read first, as a writer writes it last."""
    with FaissStore(TextEmbeddings(), tmp_path) as writer:
        fill(writer, 80)

        def write_and_read(folder: Path) -> Head | None:
            writer.add_texts(["written meanwhile"])
            return read_head(folder)

        monkeypatch.setattr(
            "langchain_sentence_window.stores.faiss.database.database_opening.read_head", write_and_read
        )
        with FaissStore.open(tmp_path, TextEmbeddings()) as other:
            assert len(other) == 81


@pytest.mark.parametrize("rank", [None, lambda found: found.dense])
def test_hybrid_search_is_of_one_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: Callable[[Candidates], Any] | None
) -> None:
    """Another store writes after the words were searched, before the vectors are."""
    query, embedding = "Sentence s3 of document d4 in version v0.", TextEmbeddings()
    with FaissStore(embedding, tmp_path) as store, FaissStore(embedding, tmp_path) as other:
        fill(store, 80)
        before = store.hybrid_search(query, k=20, rank=rank)
        search_words, written = LexicalSearcher.search, list[bool]()

        def search_and_write(self: LexicalSearcher, *given: Any) -> list[tuple[int, float]]:
            found = search_words(self, *given)
            if not written:
                written.append(True)
                other.replace_documents([], ["document 4"])
                other.replace_documents(document(5, 1), ["document 5"])
            return found

        monkeypatch.setattr(LexicalSearcher, "search", search_and_write)
        assert store.hybrid_search(query, k=20, rank=rank) == before
        after = store.hybrid_search(query, k=20, rank=rank)
        assert after == other.hybrid_search(query, k=20, rank=rank) != before
        assert all(found.metadata["number"] != 4 for found, _ in after)


def test_candidates_are_of_the_state_that_was_searched(tmp_path: Path) -> None:
    """Another store replaces and deletes documents between the search and the reading of the best."""
    query, embedding = "Sentence s3 of document d4 in version v0.", TextEmbeddings()
    with FaissStore(embedding, tmp_path) as store, FaissStore(embedding, tmp_path) as other:
        fill(store, 80)
        texts: list[list[str]] = []

        def rank(candidates: Candidates) -> Any:
            texts.append(list(candidates.texts))
            if len(texts) == 1:
                other.delete(filter={})
            return candidates.dense

        found = store.hybrid_search(query, k=20, rank=rank)
        assert len(found) == 20
        assert {each.page_content for each, _ in found} <= {*texts[0]}
        assert store.hybrid_search(query, k=20, rank=rank) == []


# Paths


def test_a_relative_path_means_the_folder_it_meant_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        FaissStore.from_texts([f"text of {name}"], TextEmbeddings(), path="index").close()
    monkeypatch.chdir(tmp_path / "one")
    with FaissStore.open("index", TextEmbeddings()) as store:
        monkeypatch.chdir(tmp_path / "two")
        barrier = threading.Barrier(4)

        def read(_: object) -> list[str]:
            store._session._database.read(lambda _: barrier.wait(PATIENCE))
            return [each.page_content for each in store.similarity_search("x", k=9)]

        found: dict[int, list[str]] = {}
        threads = [threading.Thread(target=lambda n=n: found.update({n: read(n)})) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert list(found.values()) == [["text of one"]] * 4
        store.add_texts(["more of one"])
        store.save()
    with FaissStore.open("index", TextEmbeddings()) as store:
        assert [each.page_content for each in store.similarity_search("x", k=9)] == ["text of two"]


@pytest.mark.skipif(sys.platform == "win32", reason="a folder with open files can't be moved on Windows")
def test_a_folder_that_is_swapped_is_told(tmp_path: Path) -> None:
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
def test_a_folder_that_is_deleted_is_told(tmp_path: Path) -> None:
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
import concurrent.futures, faiss, tantivy, langchain_core.vectorstores.utils, encodings.ascii
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
        store = FaissStore(TextEmbeddings(), folder)
        fill(store, 80)
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
    with FaissStore(TextEmbeddings(), tmp_path / "index") as writer:
        fill(writer, 80)
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


def test_a_faiss_file_that_cannot_be_read_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another release of FAISS may have written it, with a correct checksum."""
    import faiss

    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 80)
        store.save()

    def refuse(*_: object) -> None:
        raise RuntimeError("Error in read_index_up: Index type 0x46785432 not recognized")

    with monkeypatch.context() as patch, FaissStore.open(tmp_path, TextEmbeddings()) as store:
        patch.setattr(faiss, "read_index", refuse)
        check_against_brute_force(store, TextEmbeddings())


# Forks

FORKED = """
import multiprocessing, os, sys, warnings
import numpy as np
from langchain_core.documents import Document
from langchain_sentence_window import FaissStore
from tests.patience import PATIENCE
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.churn import fill

def child(store, queue):
    # The parent may have written one more by now.
    assert len(store.similarity_search("x", k=99)) in (80, 88)
    store.replace_documents(document(20, 1), ["document 20"])
    check_against_brute_force(store, TextEmbeddings())
    queue.put(sorted(contents(store)))

warnings.simplefilter("ignore", DeprecationWarning)
path = sys.argv[1] or None
store = FaissStore(TextEmbeddings(), path, index=sys.argv[2])
fill(store, 80)
store.similarity_search("x"), store.lexical_search("x")
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(store, queue))
process.start()
store.replace_documents(document(30, 1), ["document 30"])
seen = queue.get(timeout=PATIENCE)
process.join(PATIENCE)
assert process.exitcode == 0
assert set(seen) - {30} == {*range(10), 20}, seen
assert sorted(contents(store)) == [*range(10), *([20] if path else []), 30]
check_against_brute_force(store, TextEmbeddings())
store.close()
if path:
    os.remove(path + "/sentences.seal")
    with FaissStore.open(path, TextEmbeddings()) as store:
        assert sorted(contents(store)) == [*range(10), 20, 30]
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize("index", ["Flat", "HNSW32"])
def test_both_processes_go_on_after_a_fork(on_disk: bool, index: str, tmp_path: Path) -> None:
    done = run_code(FORKED, tmp_path if on_disk else "", index)
    assert done.returncode == 0, done.stderr


FORKED_WHILE_EXPORTING = """
import multiprocessing, sys, warnings
from itertools import chain
from langchain_sentence_window import FaissStore
from langchain_sentence_window.stores.faiss.database import snapshot as reading
from tests.patience import PATIENCE
from tests.torture.churn import fill
from tests.torture.corpus import TextEmbeddings, contents, document

warnings.simplefilter("ignore", DeprecationWarning)
reading._BATCH_SIZE = 16
context = multiprocessing.get_context("fork")

def rest_of(export):
    return list(chain.from_iterable(documents for documents, _ in export))

def child(export, expected, has_read):
    assert rest_of(export) == expected
    has_read.set()
    store.add_documents(document(20, 0))

store = FaissStore(TextEmbeddings(), sys.argv[1] or None)
fill(store, 80)
every = rest_of(store.export())
exports = [store.export() for _ in range(3)]
begun = [rest_of([next(export)]) for export in exports]
begun[1] += rest_of([next(exports[1])])
has_read = context.Event()
process = context.Process(target=child, args=(exports[0], every[len(begun[0]):], has_read))
process.start()
assert has_read.wait(PATIENCE)
store.replace_documents(document(30, 1), ["document 30"])
process.join(PATIENCE)
assert process.exitcode == 0
assert [given + rest_of(export) for export, given in zip(exports, begun)] == [every] * 3
assert {30, *([20] if sys.argv[1] else [])} < set(contents(store))
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
@pytest.mark.parametrize("on_disk", [True, False])
def test_an_export_goes_on_after_a_fork(on_disk: bool, tmp_path: Path) -> None:
    done = run_code(FORKED_WHILE_EXPORTING, tmp_path if on_disk else "")
    assert done.returncode == 0, done.stderr


FORKED_AND_WRITTEN = """
import os, sys, warnings
from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database import snapshot as reading
from langchain_sentence_window.stores.faiss.session import IndexSession
from tests.torture.churn import fill
from tests.torture.corpus import TextEmbeddings

warnings.simplefilter("ignore", DeprecationWarning)
reading._BATCH_SIZE = 16
store = FaissStore(TextEmbeddings(), sys.argv[1])
fill(store, 80)
export = store.export()
next(export)
go_on = IndexSession.after_fork_in_parent

def wait_and_go_on(index):
    os.wait()
    go_on(index)

IndexSession.after_fork_in_parent = wait_and_go_on
if not os.fork():
    store.add_texts(["b"])
    os._exit(0)
try:
    list(export)
except StoreError as error:
    assert "changes too often to be read in one state" in str(error), error
else:
    raise AssertionError("two states were exported as one")
assert len(list(store.export())) > 1
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
def test_an_export_does_not_go_on_with_another_state(tmp_path: Path) -> None:
    done = run_code(FORKED_AND_WRITTEN, tmp_path)
    assert done.returncode == 0, done.stderr


FORKING_THREADS = """
import multiprocessing, sys, warnings
from concurrent.futures import ThreadPoolExecutor
from langchain_sentence_window import FaissStore
from tests.torture.corpus import TextEmbeddings
warnings.simplefilter("ignore", DeprecationWarning)
def nothing():
    pass
store = FaissStore.from_texts(["a"], TextEmbeddings(), path=sys.argv[1], ids=["a"])
def work(number):
    if number % 2:
        process = multiprocessing.get_context("fork").Process(target=nothing)
        process.start()
        process.join()
        return
    for _ in range(5):
        store.add_texts([f"t{number}"])
        assert len(store.get_by_ids(["a"])) == 1
with ThreadPoolExecutor(4) as threads:
    list(threads.map(work, range(24)))
assert len(store) == 61
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
def test_threads_that_fork_at_once(tmp_path: Path) -> None:
    done = run_code(FORKING_THREADS, tmp_path)
    assert done.returncode == 0, done.stderr


def test_vectors_that_lie_far_out_are_not_lost() -> None:
    store = FaissStore(TextEmbeddings())
    store.add_embeddings([Document(page_content="far", id="far")], np.full((1, 32), 1e20))
    ((_, score),) = store.similarity_search_with_score_by_vector([1e-20] * 32, k=1)
    assert score == pytest.approx(1, abs=1e-3)
