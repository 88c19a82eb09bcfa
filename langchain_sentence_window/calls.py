"""One story for sync and async: a generator yields the calls it needs, a driver makes them.

A step that could block (an embedder, a store, a reranker) is yielded as a `Call` that names the sync
and the async way to do it, and what it returned is sent back::

    def steps() -> Steps[int]:
        found = yield Call(store.search, store.asearch, ("query",))
        return len(found)

    run(steps())            # calls store.search
    await arun(steps())     # awaits store.asearch
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

from langchain_core.runnables import run_in_executor

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """Something to do in one of two ways, with the same arguments."""

    sync: Callable[..., Any]
    asynchronous: Callable[..., Awaitable[Any]]
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)


def in_thread(method: Callable[..., Any], *arguments: Any) -> Call:
    """A call of something that has no async form, and would block the event loop."""
    return Call(method, lambda *given: run_in_executor(None, method, *given), arguments)


Steps: TypeAlias = Generator[Call, Any, T]


def run(steps: Steps[T]) -> T:
    """Make the calls one after the other and return what the steps return."""
    advance = partial(steps.send, None)
    while True:
        try:
            call = advance()
        except StopIteration as stop:
            return cast("T", stop.value)
        try:
            advance = partial(steps.send, call.sync(*call.arguments, **call.keywords))
        except Exception as error:  # noqa: BLE001 - the steps see it where they yielded
            advance = partial(steps.throw, error)


async def arun(steps: Steps[T]) -> T:
    """Await the calls one after the other and return what the steps return."""
    advance = partial(steps.send, None)
    while True:
        try:
            call = advance()
        except StopIteration as stop:
            return cast("T", stop.value)
        try:
            advance = partial(steps.send, await call.asynchronous(*call.arguments, **call.keywords))
        except Exception as error:  # noqa: BLE001 - the steps see it where they yielded
            advance = partial(steps.throw, error)
