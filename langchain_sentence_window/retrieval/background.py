"""A thread that works beside the caller's."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Background:
    """One thread, which does one job after the other. It begins with the first."""

    def __init__(self) -> None:
        """Begin nothing yet."""
        self._thread: ThreadPoolExecutor | None = None

    def begin(self, job: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> Future[T]:
        """Begin a job, in a copy of the caller's context."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sentence-window")
        return self._thread.submit(copy_context().run, partial(job, *arguments, **keywords))

    def close(self) -> None:
        """Wait for all jobs that were begun."""
        if self._thread is not None:
            self._thread.shutdown()
