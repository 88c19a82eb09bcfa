"""Flows, written once for sync and async: async functions that make their blocking calls through an interface.

A flow takes the interface as its first argument, ``io``::

    async def count(io: IO, store: Store) -> int:
        found = await io.call(store.search, store.asearch, "query")
        return len(found)

    run(count(BLOCKING, store))             # calls store.search; needs no event loop
    await count(ASYNC, store)               # awaits store.asearch
    await arun(lambda io: count(io, store)) # the same, and what the flow computes between its calls runs in a thread

`with_arguments_of` gives a function the arguments of another form, such as the blocking one, which are written there
alone.

And `OpenFiles`, the base class of objects with open files: copies share them, and pickling is refused.
"""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from typing import Any, Generic, NoReturn, ParamSpec, Self, SupportsIndex, TypeVar

from langchain_core.runnables import run_in_executor

from .errors import StoreError

P = ParamSpec("P")
T = TypeVar("T")

COMPUTING_THREADS = min(4, max(2, os.cpu_count() or 2))
"""Threads in which flows compute and search this machine's memory. They take turns at Python's lock with the event
loop, which waits longer the more there are, and more would compute no faster."""


class IO:
    """The interface through which a flow calls what blocks; as it is, in the caller's thread."""

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
        """Call a function that has only a blocking form; an event loop continues meanwhile."""
        return function(*arguments, **keywords)

    async def to_end(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function as `in_thread` does, and wait for its end even if the flow is canceled.

        It is for what the flow's ``finally`` frees, and for ``finally`` itself: a file, a process, a folder.
        """
        return function(*arguments, **keywords)

    async def compute(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function that computes, or searches this machine's memory and files; an event loop continues."""
        return function(*arguments, **keywords)

    async def result_of(self, future: Future[T], /) -> T:
        """Wait for the result of what another thread does; an event loop continues meanwhile."""
        return future.result()


class _Async(IO):
    """The interface for a flow of an event loop."""

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
        # No task of its own, which an event loop that ends would cancel.
        running = asyncio.get_running_loop().run_in_executor(None, called)
        canceled = await _until_done(running)
        if canceled is not None:
            raise canceled
        return running.result()

    async def compute(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        return await run_in_executor(_threads(), partial(function, *arguments, **keywords))

    async def result_of(self, future: Future[T], /) -> T:
        return await self._awaited(partial(asyncio.wrap_future, future))


class _Wanted(Generic[T]):
    """A wish of a flow in a thread: to have something awaited in the event loop."""

    def __init__(self, make: Callable[[], Awaitable[T]]) -> None:
        self.make = make

    def __await__(self) -> Generator["_Wanted[T]", T, T]:
        return (yield self)


class _InSteps(_Async):
    """The interface for a flow that `arun` runs: what it calls is awaited in the loop, and the rest is in a thread."""

    async def _awaited(self, make: Callable[[], Awaitable[T]]) -> T:
        result: T = await _Wanted(make)
        return result

    to_end = IO.to_end
    compute = IO.compute


BLOCKING, ASYNC, IN_STEPS = IO(), _Async(), _InSteps()
"""The interfaces; the last one only for a flow that `arun` runs."""


def with_arguments_of(other: Callable[P, object]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Return a decorator of functions that hand on whatever arguments another form of them takes."""

    def decorated(function: Callable[..., T]) -> Callable[P, T]:
        function.__signature__ = inspect.signature(other)  # type: ignore[attr-defined]  # as `help` shows it
        return function

    return decorated


def run(flow: Coroutine[Any, Any, T]) -> T:
    """Run a flow whose ``io`` is `BLOCKING`, to its end and in this thread.

    Raises:
        RuntimeError: The flow awaited something that its ``io`` didn't give it.
    """
    try:
        flow.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    flow.close()
    raise RuntimeError("a blocking flow awaited something that its io didn't give it")


async def arun(begin: Callable[[IO], Coroutine[Any, Any, T]]) -> T:
    """Run a flow whose event loop goes on while it computes.

    Between two calls, the flow runs in a thread, in one of few for the whole program. What it calls in an async form is
    awaited in the event loop, so drivers of databases need no thread. All of it is in one copy of the caller's context.

    Args:
        begin: Makes the flow for the interface that it is given.

    Raises:
        RuntimeError: The flow awaited something that its ``io`` didn't give it.
    """
    flow, context = begin(IN_STEPS), copy_context()
    advance: Callable[[], object] = partial(flow.send, None)
    while True:
        step = _threads().submit(context.run, _next_wanted, advance)
        canceled = await _until_done(asyncio.wrap_future(step), step.cancel)  # it cancels one that hasn't begun
        if canceled is not None and step.cancelled():
            flow.close()
            raise canceled
        has_ended, wanted = step.result()
        if has_ended:
            if canceled is not None:
                raise canceled
            result: T = wanted
            return result
        if not isinstance(wanted, _Wanted):
            flow.close()
            raise RuntimeError("a flow awaited something that its io didn't give it")
        try:
            if canceled is not None:
                raise canceled
            advance = partial(flow.send, await asyncio.create_task(_made(wanted), context=context))
        except BaseException as error:  # noqa: BLE001 - it is the flow's, which raises it
            advance = partial(flow.throw, error)


def _next_wanted(advance: Callable[[], object]) -> tuple[bool, Any]:
    """Run a flow up to what it wants next or to its end; return whether it has ended, and its wish or its result."""
    try:
        return False, advance()
    except StopIteration as end:
        return True, end.value


async def _made(wanted: _Wanted[T]) -> T:
    return await wanted.make()


async def _until_done(
    waiting: asyncio.Future[Any], when_canceled: Callable[[], object] = lambda: None
) -> asyncio.CancelledError | None:
    """Wait for a thread, which can't be cut short; return a request to cancel that came in the meantime."""
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
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads stay behind


class OpenFiles:
    """An object that holds open files, so it can't be deep-copied or sent to another process."""

    def __copy__(self) -> Self:
        """Return another handle of the same open files."""
        copied = type(self).__new__(type(self))
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
