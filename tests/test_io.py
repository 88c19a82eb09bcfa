"""One flow, run in the caller's thread or awaited: calls, results and errors are the same."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run


class Store:
    """Notes which of its forms are called, and in which thread."""

    def __init__(self) -> None:
        self.called: list[tuple[str, bool]] = []

    def _note(self, form: str) -> None:
        self.called.append((form, threading.current_thread() is threading.main_thread()))

    def search(self, query: str, *, k: int) -> list[str]:
        self._note("search")
        return self._found(query, k)

    async def asearch(self, query: str, *, k: int) -> list[str]:
        self._note("asearch")
        return self._found(query, k)

    def count(self, found: list[str]) -> int:
        self._note("count")
        return len(found)

    def _found(self, query: str, k: int) -> list[str]:
        if not query:
            raise ValueError("nothing was asked")
        return [query] * k


async def search_and_count(io: IO, store: Store, query: str) -> int:
    found = await io.call(store.search, store.asearch, query, k=3)
    return await io.in_thread(store.count, found)


async def search_or_none(io: IO, store: Store, query: str) -> int | None:
    try:
        return await search_and_count(io, store, query)
    except ValueError:
        return None


def blocking(flow: Callable[..., Any], *arguments: Any) -> Any:
    return run(flow(BLOCKING, *arguments))


def awaited(flow: Callable[..., Any], *arguments: Any) -> Any:
    return asyncio.run(flow(ASYNC, *arguments))


async def test_a_blocking_run_makes_all_calls_in_its_thread_and_needs_no_loop() -> None:
    """It works in a running loop too, as in a notebook."""
    store = Store()
    assert asyncio.get_running_loop()
    assert blocking(search_and_count, store, "a") == 3
    assert store.called == [("search", True), ("count", True)]
    store.called.clear()
    thread = threading.Thread(target=lambda: blocking(search_and_count, store, "a"))
    thread.start()
    thread.join()
    assert store.called == [("search", False), ("count", False)]


async def test_an_awaited_flow_takes_the_async_form_or_a_thread() -> None:
    store = Store()
    assert await search_and_count(ASYNC, store, "a") == 3
    assert store.called == [("asearch", True), ("count", False)]


async def test_what_has_no_async_form_does_not_block_the_loop() -> None:
    went_on = threading.Event()
    asyncio.get_running_loop().call_soon(went_on.set)
    assert await ASYNC.in_thread(went_on.wait, 10)


async def test_a_thread_sees_the_caller_s_context() -> None:
    tenant: ContextVar[str] = ContextVar("tenant")
    tenant.set("a")
    assert await ASYNC.in_thread(tenant.get) == "a"


@pytest.mark.parametrize("drive", [blocking, awaited])
def test_errors_reach_the_flow_and_the_caller_with_their_traceback(drive: Callable[..., Any]) -> None:
    assert drive(search_or_none, Store(), "") is None
    with pytest.raises(ValueError, match="nothing was asked") as raised:
        drive(search_and_count, Store(), "")
    names = [entry.name for entry in raised.traceback]
    assert names[-4:] in (
        ["search_and_count", "call", "search", "_found"],
        ["search_and_count", "call", "asearch", "_found"],
    )


async def test_a_flow_can_be_canceled() -> None:
    started = asyncio.Event()

    async def forever(_: str, *, k: int) -> list[str]:
        started.set()
        await asyncio.sleep(3600 * k)
        return []

    async def flow(io: IO) -> list[str]:
        return await io.call(Store().search, forever, "a", k=1)

    task = asyncio.create_task(flow(ASYNC))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_blocking_flow_that_awaits_something_else_is_refused_and_closed() -> None:
    closed: list[bool] = []

    async def flow(_: IO) -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    with pytest.raises(RuntimeError, match="awaited something that its io didn't give it"):
        run(flow(BLOCKING))
    assert closed == [True]


def test_an_interrupt_leaves_a_flow_and_runs_what_it_has_to_finish() -> None:
    finished: list[bool] = []

    def interrupted() -> None:
        raise KeyboardInterrupt

    async def flow(io: IO) -> None:
        try:
            await io.in_thread(interrupted)
        finally:
            finished.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(flow(BLOCKING))
    assert finished == [True]
