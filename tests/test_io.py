"""A flow makes the same calls, and has the same results and errors, in the caller's thread and in an event loop."""

import asyncio
import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from langchain_sentence_window._io import ASYNC, BLOCKING, COMPUTING_THREADS, IO, arun, run
from tests.patience import PATIENCE


class Store:
    """Records which of its forms are called, and in which thread."""

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


def in_steps(flow: Callable[..., Any], *arguments: Any) -> Any:
    return asyncio.run(arun(lambda io: flow(io, *arguments)))


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


@pytest.mark.parametrize("drive", [blocking, awaited, in_steps])
def test_errors_reach_the_flow_and_the_caller_with_their_traceback(drive: Callable[..., Any]) -> None:
    assert drive(search_or_none, Store(), "") is None
    with pytest.raises(ValueError, match="nothing was asked") as raised:
        drive(search_and_count, Store(), "")
    names = [entry.name for entry in raised.traceback]
    between = {"in_steps": ["_awaited", "__await__", "arun", "_made"], "awaited": ["_awaited"]}.get(drive.__name__, [])
    names = names[names.index("search_and_count") :]
    assert names in (
        ["search_and_count", "call", "search", "_found"],
        ["search_and_count", "call", *between, "asearch", "_found"],
    )


@pytest.mark.parametrize("fails", [False, True])
async def test_a_call_to_its_end_has_ended_before_its_flow_continues(fails: bool) -> None:
    begun, going_on, events = threading.Event(), threading.Event(), list[str]()

    def use() -> None:
        begun.set()
        assert going_on.wait(PATIENCE)
        events.append("used")
        if fails:
            raise ValueError("it failed after the cancellation")

    async def flow() -> None:
        try:
            await ASYNC.to_end(use)
        finally:
            events.append("freed")

    task = asyncio.create_task(flow())
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    for _ in range(3):  # as an anyio scope does until the task has ended
        task.cancel()
        await asyncio.sleep(0)
    assert not events
    going_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events == ["used", "freed"]


@pytest.mark.parametrize("drive", [blocking, awaited, in_steps])
def test_a_call_to_its_end_returns_and_raises_as_the_function_does(drive: Callable[..., Any]) -> None:
    async def flow(io: IO, text: str) -> tuple[int, str]:
        with pytest.raises(ValueError, match="invalid literal"):
            await io.to_end(int, text)
        return await io.to_end(int, "ff", base=16), await io.to_end(tenant.get)

    tenant: ContextVar[str] = ContextVar("tenant", default="c")
    assert drive(flow, "x") == (255, "c")


def awaiting_something_else() -> tuple[Callable[[IO], Coroutine[Any, Any, None]], list[bool]]:
    """A flow that awaits something other than a call of its io, and a list that says whether it was closed."""
    closed: list[bool] = []

    async def flow(_: IO) -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    return flow, closed


def run_blocking(flow: Callable[[IO], Coroutine[Any, Any, None]]) -> None:
    run(flow(BLOCKING))


def run_in_steps(flow: Callable[[IO], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(arun(flow))


@pytest.mark.parametrize("drive", [run_blocking, run_in_steps])
def test_a_flow_that_awaits_something_else_is_refused_and_closed(drive: Callable[..., None]) -> None:
    flow, closed = awaiting_something_else()
    with pytest.raises(RuntimeError, match="awaited something other than a call of its io"):
        drive(flow)
    assert closed == [True]


# Flows in steps, which don't block the event loop while they compute


async def nap(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def test_a_flow_computes_in_a_thread_and_awaits_in_the_loop() -> None:
    store = Store()

    async def flow(io: IO) -> list[object]:
        here = threading.current_thread() is threading.main_thread()
        found = await io.call(store.search, store.asearch, "a", k=2)
        name = await io.compute(lambda: threading.current_thread().name)
        other = await io.in_thread(lambda: threading.current_thread().name)
        return [here, found, name.startswith("sentence-window-flow"), other.startswith("sentence-window-flow")]

    assert await arun(flow) == [False, ["a", "a"], True, False]
    assert store.called == [("asearch", True)]


async def test_a_computing_flow_does_not_block_the_loop() -> None:
    went_on = threading.Event()

    async def flow(io: IO) -> bool:
        return went_on.wait(PATIENCE)

    asyncio.get_running_loop().call_soon(went_on.set)
    assert await arun(flow)


async def test_more_flows_than_threads_end() -> None:
    async def flow(io: IO, number: int) -> int:
        await io.call(time.sleep, nap, 0.001)
        return number

    assert await asyncio.gather(*(arun(partial(flow, number=each)) for each in range(50))) == list(range(50))


async def test_a_flow_in_steps_has_its_own_context() -> None:
    tenant: ContextVar[str] = ContextVar("tenant")
    tenant.set("a")

    async def read() -> str:
        return tenant.get()

    async def flow(io: IO) -> list[str]:
        seen = [tenant.get()]
        token = tenant.set("b")
        seen.append(await io.call(lambda: "", read))
        seen.append(await io.in_thread(tenant.get))
        tenant.reset(token)
        return [*seen, await io.call(lambda: "", read)]

    assert await arun(flow) == ["a", "b", "b", "a"]
    assert tenant.get() == "a"


@pytest.mark.parametrize("when", ["queued", "computing", "waiting"])
async def test_a_canceled_flow_in_steps_runs_its_cleanup(when: str) -> None:
    running = COMPUTING_THREADS if when == "queued" else 1
    begun, going_on, ended = threading.Semaphore(0), threading.Event(), list[str]()
    in_the_loop = asyncio.Event()

    async def wait_in_the_loop(_: float) -> None:
        in_the_loop.set()
        await asyncio.sleep(3600)

    async def flow(io: IO, name: str) -> None:
        try:
            begun.release()
            if name != "waiting":
                await io.compute(going_on.wait, PATIENCE)
            await io.call(time.sleep, wait_in_the_loop, 3600)
        finally:
            ended.append(name)

    tasks = [asyncio.create_task(arun(partial(flow, name=when))) for _ in range(running + (when == "queued"))]
    for _ in range(running):
        assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE)
    if when == "waiting":
        await in_the_loop.wait()
    tasks[-1].cancel()
    await asyncio.sleep(0)  # in which it notices
    if when == "queued":
        await asyncio.wait([tasks[-1]], timeout=PATIENCE)
        assert tasks[-1].cancelled()
    going_on.set()
    for task in tasks:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in outcomes)
    assert ended == [when] * (len(tasks) - (when == "queued"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_flows_run_in_a_forked_process() -> None:
    def flow_runs() -> bool:
        return bool(in_steps(search_and_count, Store(), "a") == 3)

    assert flow_runs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads run, which is what is tested
        process = multiprocessing.get_context("fork").Process(target=lambda: os._exit(0 if flow_runs() else 1))
        process.start()
    process.join(PATIENCE)
    assert process.exitcode == 0
