"""Flows, written once for sync and async: async functions that make their blocking calls through an interface.

A flow takes the interface as its first argument, ``io``::

    async def count(io: IO, store: Store) -> int:
        found = await io.call(store.search, store.asearch, "query")
        return len(found)

    run(count(BLOCKING, store))     # calls store.search; needs no event loop
    await count(ASYNC, store)       # awaits store.asearch
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

from langchain_core.runnables import run_in_executor

P = ParamSpec("P")
T = TypeVar("T")


class IO(Protocol):
    """The interface through which a flow calls what blocks."""

    async def call(
        self,
        blocking: Callable[P, T],
        asynchronous: Callable[P, Awaitable[T]],
        /,
        *arguments: P.args,
        **keywords: P.kwargs,
    ) -> T:
        """Call a function that has a blocking and an asynchronous form."""

    async def in_thread(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call a function that has only a blocking form; an event loop continues meanwhile."""


class _Blocking:
    async def call(
        self,
        blocking: Callable[P, T],
        _: Callable[P, Awaitable[T]],
        /,
        *arguments: P.args,
        **keywords: P.kwargs,
    ) -> T:
        return blocking(*arguments, **keywords)

    async def in_thread(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        return function(*arguments, **keywords)


class _Async:
    async def call(
        self,
        _: Callable[P, T],
        asynchronous: Callable[P, Awaitable[T]],
        /,
        *arguments: P.args,
        **keywords: P.kwargs,
    ) -> T:
        return await asynchronous(*arguments, **keywords)

    async def in_thread(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> T:
        return await run_in_executor(None, partial(function, *arguments, **keywords))


BLOCKING: IO = _Blocking()
ASYNC: IO = _Async()


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
