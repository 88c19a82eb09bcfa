"""Closing a store, or forgetting to: running calls are waited for, no thread hangs, and no file stays open."""

import asyncio
import gc
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.forms import Invoke
from tests.interpreters import run_code
from tests.patience import PATIENCE
from tests.torture.calls import filled, open_files
from tests.torture.corpus import TextEmbeddings
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
def test_closing_waits_for_the_thread_of_a_canceled_call(in_memory: bool, tmp_path: Path) -> None:
    store = filled(None if in_memory else tmp_path)
    reading, may_end, log = threading.Event(), threading.Event(), list[str]()

    def read(_: object) -> None:
        reading.set()
        assert may_end.wait(PATIENCE)
        log.append("read")

    def close() -> None:
        store.close()
        log.append("closed")

    async def cancel() -> threading.Thread:
        task = asyncio.create_task(asyncio.to_thread(store.read, read))
        assert await asyncio.to_thread(reading.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        closing = threading.Thread(target=close)
        closing.start()
        closing.join(0.05)
        may_end.set()
        return closing

    asyncio.run(cancel()).join(PATIENCE)
    assert log == ["read", "closed"]


@in_file_and_in_memory
def test_closing_within_a_call_does_not_wait_for_others_that_wait_for_it(in_memory: bool, tmp_path: Path) -> None:
    """A signal handler may close a store in the middle of a call."""
    store = filled(None if in_memory else tmp_path)
    store.lexical_search("x")  # brings the lexical index up to date
    asked = threading.Event()

    def search() -> None:
        asked.set()
        with suppress(StoreError):  # it is closed
            store.similarity_search("x")

    other = threading.Thread(target=search)

    def read(state: Any) -> int:
        other.start()
        assert asked.wait(PATIENCE)
        store.close()
        return len(state.matching("document d3", 8, None))

    assert store.read(read) == 8
    other.join(PATIENCE)
    assert not other.is_alive()
    with pytest.raises(StoreError, match="is closed"):
        store.similarity_search("x")
    assert not open_files(tmp_path)


@in_file_and_in_memory
@pytest.mark.parametrize("index", ["exact", "codes"])
def test_a_store_that_is_forgotten_leaves_no_file_open(
    index: str, in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resource that is collected open is a warning, which is an error here."""
    lower(monkeypatch.setattr)
    store = filled(None if in_memory else tmp_path, index=index)
    if not in_memory:
        store.save()
    store.similarity_search("x")
    store.lexical_search("document d3")
    exporting, at_one_state = store.export(), store.at_one_state()
    next(exporting)
    at_one_state.__enter__().get_by_ids(["1"])
    circle: list[Any] = [store, exporting, at_one_state]
    circle.append(circle)
    del store, exporting, at_one_state, circle
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
