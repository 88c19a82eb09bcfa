"""Closing a store, and forgetting to: calls that run are waited for, nobody hangs, and no file stays open."""

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ranking.candidates import Candidates
from tests.conftest import Invoke
from tests.interpreters import run_code
from tests.patience import PATIENCE
from tests.torture.calls import filled
from tests.torture.canceling import open_files
from tests.torture.corpus import TextEmbeddings, document
from tests.torture.limits import lower

in_file_and_in_memory = pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])


@in_file_and_in_memory
async def test_a_closed_store_says_so(in_memory: bool, tmp_path: Path, way: Invoke) -> None:
    store = filled(None if in_memory else tmp_path)
    store.close()
    store.close()
    for method, given in (("similarity_search", "x"), ("get_by_ids", ["1"]), ("add_texts", ["x"])):
        with pytest.raises(StoreError, match="is closed; open it again"):
            await way(store, method, given)


@in_file_and_in_memory
def test_closing_waits_for_calls_that_are_at_work(in_memory: bool, tmp_path: Path) -> None:
    store = filled(None if in_memory else tmp_path, 100)
    begun = threading.Barrier(5)

    def work() -> str:
        begun.wait(PATIENCE)
        while True:
            try:
                assert len(store.similarity_search("x", k=800, filter={"version": 0})) == 800
                assert len(store.get_by_ids([str(document(1, 0)[0].id)])) == 1
            except StoreError as error:
                return str(error)

    with ThreadPoolExecutor(4) as threads:
        working = [threads.submit(work) for _ in range(4)]
        begun.wait(PATIENCE)
        store.close()
        assert all("is closed; open it again" in each.result(PATIENCE) for each in working)
    assert not open_files(tmp_path)


@in_file_and_in_memory
def test_closing_waits_for_the_thread_of_a_canceled_call(in_memory: bool, tmp_path: Path) -> None:
    store = filled(None if in_memory else tmp_path)
    ranking, may_end, log = threading.Event(), threading.Event(), list[str]()

    def rank(candidates: Candidates) -> Any:
        ranking.set()
        assert may_end.wait(PATIENCE)
        log.append("ranked")
        return candidates.dense

    def close() -> None:
        store.close()
        log.append("closed")

    async def cancel() -> threading.Thread:
        task = asyncio.create_task(store.ahybrid_search("document d3", rank=rank))
        assert await asyncio.to_thread(ranking.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        closing = threading.Thread(target=close)
        closing.start()
        closing.join(0.05)
        may_end.set()
        return closing

    asyncio.run(cancel()).join(PATIENCE)
    assert log == ["ranked", "closed"]


@in_file_and_in_memory
def test_closing_within_a_call_does_not_wait_for_others_that_wait_for_it(in_memory: bool, tmp_path: Path) -> None:
    """A signal handler may close a store in the middle of a call."""
    store = filled(None if in_memory else tmp_path)
    asked, other = threading.Event(), list[threading.Thread]()

    def search() -> None:
        asked.set()
        with suppress(StoreError):  # it is closed
            store.similarity_search("x")

    def rank(candidates: Candidates) -> Any:
        other.append(threading.Thread(target=search))
        other[0].start()
        assert asked.wait(PATIENCE)
        store.close()
        return candidates.dense

    assert len(store.hybrid_search("document d3", k=8, rank=rank)) == 8
    other[0].join(PATIENCE)
    assert not other[0].is_alive()
    with pytest.raises(StoreError, match="is closed"):
        store.similarity_search("x")
    assert not open_files(tmp_path)


@in_file_and_in_memory
def test_closing_ends_an_export(in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_sentence_window.store.faiss_store.DOCUMENT_BATCH_SIZE", 16)
    with filled(None if in_memory else tmp_path) as store:
        begun, not_begun = store.export(), store.export()
        next(begun)
    for slices in (begun, not_begun):
        with pytest.raises(StoreError, match="is closed"):
            next(slices)
    assert not open_files(tmp_path)


def in_a_circle(store: FaissStore) -> None:
    circle: list[Any] = [store]
    circle.append(circle)


def within_an_export_in_a_circle(store: FaissStore) -> None:
    exporting = store.export()
    next(exporting)
    in_a_circle(store)
    circle: list[Any] = [exporting]
    circle.append(circle)


def at_one_state_in_a_circle(store: FaissStore) -> None:
    at_one_state = store.at_one_state()
    at_one_state.__enter__().get_by_ids(["1"])
    circle: list[Any] = [at_one_state, store]
    circle.append(circle)


@in_file_and_in_memory
@pytest.mark.parametrize("index", ["exact", "codes"])
@pytest.mark.parametrize("forget", [in_a_circle, within_an_export_in_a_circle, at_one_state_in_a_circle])
def test_a_store_that_is_forgotten_leaves_no_file_open(
    forget: Callable[[FaissStore], None], index: str, in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resource that nobody closes is a warning, which is an error here."""
    lower(monkeypatch.setattr)
    store = filled(None if in_memory else tmp_path, index=index)
    if not in_memory:
        store.save()
    store.similarity_search("x")
    store.lexical_search("document d3")
    forget(store)
    del store
    gc.collect()
    assert not open_files(tmp_path)


LEFT_WHILE_MAKING = """
import sys, threading
from langchain_sentence_window import FaissStore
from tests.torture.calls import READS, filled
from tests.torture.limits import lower
import random
lower()
store = filled(sys.argv[1] or None, 60, index="auto")
for _ in range(4):
    threading.Thread(target=lambda: [store.similarity_search(str(each)) for each in range(10**6)], daemon=True).start()
store.similarity_search("x")
if sys.argv[2] == "closed":
    store.close()
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "fork"), reason="it is tried where processes fork")
@in_file_and_in_memory
@pytest.mark.parametrize("how", ["closed", "left"])
def test_a_process_ends_while_an_index_is_made(in_memory: bool, how: str, tmp_path: Path) -> None:
    done = run_code(LEFT_WHILE_MAKING, "" if in_memory else tmp_path, how)
    errors = [line for line in done.stderr.splitlines() if "is closed; open it again" not in line]
    assert done.returncode == 0, done.stderr
    if how == "left":
        assert errors == []
        FaissStore.open(tmp_path, TextEmbeddings()).close() if not in_memory else None
