"""Long work: it goes on when the page is closed, says how far it is, and can be stopped."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window.studio.replies import Arguments, calling, lines, not_found, reading, told
from langchain_sentence_window.studio.state import Studio

MAX_KEPT = 50
"""Ended jobs that are remembered."""

_FOLLOW_SECONDS = 0.1

Status: TypeAlias = Literal["running", "done", "failed", "stopped"]
Work: TypeAlias = "Callable[[Job], Awaitable[object]]"


class Stopped(Exception):  # noqa: N818 - it isn't an error
    """The user stopped a job."""


@dataclass(eq=False)
class Job:
    """A piece of long work.

    Attributes:
        number: Its number, from 1.
        kind: What it does, such as ``evaluate``.
        title: What the page calls it.
        status: Where it stands.
        progress: How far it is: numbers and texts by name, which the page shows.
        result: What it returned; ``None`` until it is done.
        error: What went wrong, as a reply has it; ``None`` for nothing.
    """

    number: int
    kind: str
    title: str
    status: Status = "running"
    progress: Mapping[str, Any] = field(default_factory=dict)
    result: object = None
    error: Mapping[str, Any] | None = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def report(self, **progress: Any) -> None:
        """Say how far the job is, from any thread.

        Raises:
            Stopped: The user has stopped the job; let it through.
        """
        self.progress = progress
        if self._stop.is_set():
            raise Stopped

    def stop(self) -> None:
        """Stop the job when it next reports."""
        self._stop.set()

    def to_dict(self) -> dict[str, Any]:
        """Return what the page shows of the job."""
        shown = ("number", "kind", "title", "status", "progress", "result", "error")
        return {name: getattr(self, name) for name in shown}


class Jobs:
    """The jobs of a page."""

    def __init__(self) -> None:
        """Begin without jobs."""
        self._jobs: dict[int, Job] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, kind: str, title: str, work: Work) -> Job:
        """Start a job in the running event loop.

        Args:
            kind: What it does.
            title: What the page calls it.
            work: Does it. It is given the job, to report to. It must not block the loop.
        """
        job = Job(next(self._numbers), kind, title)
        self._jobs[job.number] = job
        ended = [number for number, each in self._jobs.items() if each.status != "running"]
        for number in ended[: max(0, len(ended) - MAX_KEPT)]:
            del self._jobs[number]
        task = asyncio.get_running_loop().create_task(_done(job, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    def get(self, number: int) -> Job:
        """Return a job.

        Raises:
            Refused: There is none of that number.
        """
        if number not in self._jobs:
            raise not_found(f"there is no job {number}; it ended long ago, or the program was started again")
        return self._jobs[number]

    def all(self) -> list[Job]:
        """Return all jobs that are remembered, the newest first."""
        return sorted(self._jobs.values(), key=lambda job: -job.number)


class Numbered(Arguments):
    """The number of a job."""

    number: int


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/jobs", Arguments, list_jobs),
        calling("/api/jobs/stop", Numbered, stop_job),
        calling("/api/jobs/follow", Numbered, follow_job),
    ]


async def list_jobs(studio: Studio, _: Arguments) -> object:
    """Return all jobs, the newest first."""
    return {"jobs": [job.to_dict() for job in studio.jobs.all()]}


async def stop_job(studio: Studio, given: Numbered) -> object:
    """Stop a job."""
    job = studio.jobs.get(given.number)
    job.stop()
    return job.to_dict()


async def follow_job(studio: Studio, given: Numbered) -> Response:
    """Return a job whenever it has changed, until it ends, as lines."""
    return lines(_changes(studio.jobs.get(given.number)))


async def _changes(job: Job) -> AsyncIterator[dict[str, Any]]:
    last: dict[str, Any] = {}
    while True:
        now = job.to_dict()
        if now != last:
            yield {"job": now}
            last = now
        if now["status"] != "running":
            return
        await asyncio.sleep(_FOLLOW_SECONDS)


async def _done(job: Job, work: Work) -> None:
    try:
        job.result = await work(job)
        job.status = "done"
    except Stopped:
        job.status = "stopped"
    except Exception as error:  # noqa: BLE001 - the page shows it
        job.error = told(error)
        job.status = "failed"
