"""Flows, written once for sync and async: async functions that make their blocking calls through an interface.

A flow takes the interface as its first argument, ``io``::

    async def count(io: IO, store: Store) -> int:
        hits = await io.call(store.search, store.asearch, "query")
        return len(hits)

    run(count(BLOCKING, store))             # calls store.search; needs no event loop
    await count(ASYNC, store)               # awaits store.asearch
    await arun(lambda io: count(io, store)) # the same, but code between the calls runs in a thread
"""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from typing import Any, Generic, NoReturn, ParamSpec, Self, SupportsIndex, TypeVar

from langchain_core.runnables import run_in_executor

from .errors import StoreError

P = ParamSpec("P")
T = TypeVar("T")

COMPUTING_THREADS = min(4, max(2, os.cpu_count() or 2))
"""Threads in which flows compute and search in memory. All of them compete with the event loop for Python's global
lock, so more threads would delay the loop and compute no faster."""


class IO:
    """The interface for blocking calls of a flow; this one makes them in the caller's thread."""

    async def call(
        self,
        blocking: Callable[P, T],
        asynchronous: Callable[P, Awaitable[T]],
        /,
        *arguments: P.args,
        **keywords: P.kwargs,
    ) -> T:
        """Call a function that has a blocking and an asynchronous form."""
        return blocking(*arguments, **keywords)

    async def in_thread(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function that has only a blocking form, without blocking an event loop."""
        return function(*arguments, **keywords)

    async def to_end(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function as `in_thread` does, and wait for its end even if the flow is canceled.

        For functions whose files or processes the flow's ``finally`` closes, and for ``finally`` itself.
        """
        return function(*arguments, **keywords)

    async def compute(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function that computes, or searches in memory or files, without blocking an event loop."""
        return function(*arguments, **keywords)


class _Async(IO):
    """The interface for a flow in an event loop."""

    async def _awaited(self, make: Callable[[], Awaitable[T]]) -> T:
        return await make()

    async def call(
        self,
        _: Callable[P, T],
        asynchronous: Callable[P, Awaitable[T]],
        /,
        *arguments: P.args,
        **keywords: P.kwargs,
    ) -> T:
        return await self._awaited(partial(asynchronous, *arguments, **keywords))

    async def in_thread(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        return await self._awaited(partial(run_in_executor, None, partial(function, *arguments, **keywords)))

    async def to_end(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        called = partial(copy_context().run, function, *arguments, **keywords)
        # Not a task: an event loop that is closing would cancel it.
        running = asyncio.get_running_loop().run_in_executor(None, called)
        canceled = await _until_done(running)
        if canceled is not None:
            raise canceled
        return running.result()

    async def compute(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        return await run_in_executor(_threads(), partial(function, *arguments, **keywords))


class _Awaited(Generic[T]):
    """What a flow in a thread yields: something to await in the event loop."""

    def __init__(self, make: Callable[[], Awaitable[T]]) -> None:
        self.make = make

    def __await__(self) -> Generator["_Awaited[T]", T, T]:
        return (yield self)


class _InSteps(_Async):
    """The interface for a flow that `arun` runs: async calls are awaited in the loop, the rest runs in a thread."""

    async def _awaited(self, make: Callable[[], Awaitable[T]]) -> T:
        result: T = await _Awaited(make)
        return result

    to_end = IO.to_end
    compute = IO.compute


BLOCKING, ASYNC, IN_STEPS = IO(), _Async(), _InSteps()
"""The interfaces; only `arun` uses the last one."""


def with_arguments_of(other: Callable[P, object]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Give an async function the arguments of its blocking form, which it passes on as they are."""

    def decorated(function: Callable[..., T]) -> Callable[P, T]:
        function.__signature__ = inspect.signature(other)  # type: ignore[attr-defined]
        return function

    return decorated


def run(flow: Coroutine[Any, Any, T]) -> T:
    """Run a flow whose ``io`` is `BLOCKING` in this thread.

    Raises:
        RuntimeError: The flow awaited something other than calls of its ``io``.
    """
    try:
        flow.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    flow.close()
    raise RuntimeError("a blocking flow awaited something other than a call of its io")


async def arun(begin: Callable[[IO], Coroutine[Any, Any, T]]) -> T:
    """Run a flow without blocking the event loop while it computes.

    Between its calls, the flow runs in one of the `COMPUTING_THREADS`. Async calls are awaited in the event loop, where
    drivers of databases belong. All of it shares one copy of the caller's context.

    Args:
        begin: Makes the flow for an interface.

    Raises:
        RuntimeError: The flow awaited something other than calls of its ``io``.
    """
    flow, context = begin(IN_STEPS), copy_context()
    advance: Callable[[], object] = partial(flow.send, None)
    while True:
        step = _threads().submit(context.run, _advanced, advance)
        canceled = await _until_done(asyncio.wrap_future(step), step.cancel)  # if it is still queued
        if canceled is not None and step.cancelled():
            flow.close()
            raise canceled
        has_ended, value = step.result()
        if has_ended:
            if canceled is not None:
                raise canceled
            result: T = value
            return result
        if not isinstance(value, _Awaited):
            flow.close()
            raise RuntimeError("a flow awaited something other than a call of its io")
        try:
            if canceled is not None:
                raise canceled
            advance = partial(flow.send, await asyncio.create_task(_made(value), context=context))
        except BaseException as error:  # noqa: BLE001 - the flow handles it
            advance = partial(flow.throw, error)


def _advanced(advance: Callable[[], object]) -> tuple[bool, Any]:
    """Run a flow until it awaits something or ends; return whether it has ended, and what it awaits or its result."""
    try:
        return False, advance()
    except StopIteration as end:
        return True, end.value


async def _made(awaited: _Awaited[T]) -> T:
    return await awaited.make()


async def _until_done(
    waiting: asyncio.Future[Any], when_canceled: Callable[[], object] = lambda: None
) -> asyncio.CancelledError | None:
    """Wait for a thread, which can't be interrupted; return the cancellation that arrived in the meantime."""
    canceled: asyncio.CancelledError | None = None
    while not waiting.done():
        try:
            await asyncio.wait([waiting])
        except asyncio.CancelledError as error:
            canceled = error
            when_canceled()
    if not waiting.cancelled():
        waiting.exception()  # else asyncio logs that the exception was never retrieved
    return canceled


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(COMPUTING_THREADS, thread_name_prefix="sentence-window-flow")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a child process has no copies of threads


class OpenFiles:
    """An object with open files: shallow copies share them; deep copies and pickling are refused."""

    def __copy__(self) -> Self:
        """Return another handle of the same open files."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Refuse a deep copy.

        Raises:
            StoreError: Always. The message says how to open the files a second time.
        """
        raise self._not_copyable("deep-copied")

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickling.

        Raises:
            StoreError: Always. The message says how to open the files in another process.
        """
        raise self._not_copyable("pickled")

    def _reopened(self) -> str:
        """Return how to open the files again, as the end of a message."""
        raise NotImplementedError

    def _not_copyable(self, how: str) -> StoreError:
        return StoreError(
            f"a {type(self).__name__} can't be {how}, because it holds open files; open it again where you need "
            f"it, also in another process: {self._reopened()}. copy.copy and model_copy share it"
        )
