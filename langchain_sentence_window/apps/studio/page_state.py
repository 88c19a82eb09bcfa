"""`Studio`: what one page works on, how calls reach it, its list of documents, and its jobs."""

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.answering.citation_format import on_one_line
from langchain_sentence_window.answering.locations import MAX_NAME_CHARS
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.retrieval.index_settings import IndexSettings
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

from .replies import Refused, arguments_of, body_of, error_dict, fields_of, lines, reply, reply_to

if TYPE_CHECKING:
    from .question_list import QuestionList
    from .read_document import GoldTexts
    from .uploads import Uploads


@dataclass(frozen=True, slots=True)
class Studio:
    """The things that a page works on, and its permissions.

    Attributes:
        retriever: The retriever that is asked.
        jobs: The long work that was started from the page.
        question_list: The questions with gold spans that the page edits.
        gold_texts: What their gold says.
        folders: The folders and files whose contents the page may show, resolved. Nothing else on disk is read.
        chat_model: The model that answers; ``None`` for no answers.
        library: The list of the index's documents.
        uploads: The files that are added from the page.
        is_read_only: Whether the page may change neither the index nor the questions.
        before: The page before its settings became the default; ``None`` if none did.
    """

    retriever: SentenceWindowRetriever
    jobs: "Jobs"
    question_list: "QuestionList"
    gold_texts: "GoldTexts"
    library: "Library"
    uploads: "Uploads"
    folders: tuple[Path, ...] = ()
    chat_model: BaseChatModel | None = None
    is_read_only: bool = False
    before: "Before | None" = None

    async def documents(self) -> Sequence[IndexedDocument]:
        """Return the documents of the index as the retriever's filter lets them through, without listing them anew."""
        return (await self.library.current(self.retriever)).documents


@dataclass(frozen=True, slots=True)
class Before:
    """A page before settings became its default, to bring it back.

    Attributes:
        studio: The page.
        settings: What its index remembered; ``None`` for an index in memory.
        version: The name of what is remembered since.
    """

    studio: Studio
    settings: IndexSettings | None
    version: str = ""


def check_writable(studio: Studio) -> None:
    """Refuse a call that would change something.

    Raises:
        Refused: The page is read-only.
    """
    if studio.is_read_only:
        raise Refused(403, "this page is read-only; start it without --read-only to make changes")


Handler: TypeAlias = Callable[..., Awaitable[object]]
"""Answers a call: it takes the studio, and the arguments of the call by the names of its parameters."""

Changed: TypeAlias = tuple[Studio, object]
"""The studio that the page works on from now on, and the answer of the call."""


def reading(path: str, handler: Handler) -> Route:
    """Return the route of a call that changes nothing: ``GET``, with its arguments in the query string."""

    async def given(request: Request) -> object:
        return dict(request.query_params)

    return Route(path, _endpoint(given, arguments_of(handler), handler), methods=["GET"])


def calling(path: str, handler: Handler) -> Route:
    """Return the route of any other call: ``POST``, with its arguments as JSON."""
    return Route(path, _endpoint(body_of, arguments_of(handler), handler), methods=["POST"])


def changing(path: str, handler: Callable[..., Awaitable[Changed]]) -> Route:
    """Return the route of a call that makes the page work on something else; as `calling` otherwise."""
    arguments = arguments_of(handler)

    async def endpoint(request: Request) -> Response:
        async def changed(studio: Studio, **given: Any) -> object:
            request.app.state.studio, answer = await handler(studio, **given)
            return answer

        return await _endpoint(body_of, arguments, changed)(request)

    return Route(path, endpoint, methods=["POST"])


def studio_of(request: Request) -> Studio:
    """Return the studio of the app that serves a request."""
    studio: Studio = request.app.state.studio
    return studio


def _endpoint(
    read: Callable[[Request], Awaitable[object]], arguments: type[BaseModel], handler: Handler
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            checked = arguments.model_validate(await read(request))
            result = await handler(studio_of(request), **dict(checked))
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - the page shows it
            return reply_to(error)
        return result if isinstance(result, Response) else reply(result)

    return endpoint


FRESH_SECONDS = 5.0
"""How long a list is used if the store doesn't say whether it has changed."""

Sort: TypeAlias = Literal["name", "sentences", "pages", "added"]


class Listing:
    """The documents of an index at one moment.

    Attributes:
        documents: The documents.
    """

    def __init__(self, documents: Sequence[IndexedDocument]) -> None:
        """Keep the documents."""
        self.documents = documents

    @cached_property
    def by_id(self) -> Mapping[str, IndexedDocument]:
        """The documents by their ``doc_id``."""
        return {each.doc_id: each for each in self.documents}

    @cached_property
    def _texts(self) -> Sequence[str]:
        return ["\n".join([each.doc_id, each.source or "", each.title or ""]).casefold() for each in self.documents]

    def found(self, search: str, sort: Sort = "name", *, is_down: bool = False) -> list[IndexedDocument]:
        """Search and sort.

        Args:
            search: Words that the id, the source or the title must hold, in any case; empty for all documents.
            sort: What to sort by; documents without it come last.
            is_down: Whether the highest comes first.
        """
        words = search.casefold().split()
        found = [
            each for each, text in zip(self.documents, self._texts, strict=True) if all(word in text for word in words)
        ]
        found.sort(key=lambda each: (name_of(each).casefold(), each.doc_id), reverse=is_down and sort == "name")
        if sort == "name":
            return found
        having = [each for each in found if getattr(each, sort) is not None]
        having.sort(key=lambda each: getattr(each, sort), reverse=is_down)
        return having + [each for each in found if getattr(each, sort) is None]


class Library:
    """The list of an index's documents, read again when the index has changed.

    Attributes:
        writing: Held by a job that writes, so that they write one after the other.
    """

    def __init__(self) -> None:
        """Begin without a list."""
        self.writing = asyncio.Lock()
        self._kept: tuple[object, float, Listing] | None = None

    async def current(self, retriever: SentenceWindowRetriever) -> Listing:
        """Return the list as it is now; of a store that counts no writes, as it was `FRESH_SECONDS` ago at most."""
        version = await _version(retriever)
        if self._kept is not None:
            kept_version, at, listing = self._kept
            is_fresh = version is not None or time.monotonic() - at < FRESH_SECONDS
            if kept_version == version and is_fresh:
                return listing
        listing = Listing(await retriever.adocuments())
        self._kept = version, time.monotonic(), listing
        return listing

    def forget(self) -> None:
        """Read the list anew when it is asked for."""
        self._kept = None


def row(document: IndexedDocument) -> dict[str, Any]:
    """Return what the list shows of a document."""
    added = None if document.added is None else document.added.isoformat()
    return {**fields_of(document, "doc_id source title sentences pages"), "name": name_of(document), "added": added}


def name_of(document: IndexedDocument) -> str:
    """Return the last part of a document's source, such as the name of its file."""
    return base_name(document.source or document.doc_id)


def base_name(path: str) -> str:
    """Return the last part of a path, on one line and never empty."""
    last = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return on_one_line(last or path, MAX_NAME_CHARS) or "document"


async def _version(retriever: SentenceWindowRetriever) -> object:
    """Return what changes whenever the index or the filter does; ``None`` if the store doesn't say."""
    adapter = retriever.scope().adapter
    writes = await adapter.count_writes(ASYNC)
    return None if writes is None else (writes, id(adapter.store), repr(retriever.filter))


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
        return fields_of(self, "number kind title status progress result error")


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
            raise Refused(404, f"there is no job {number}; it ended long ago, or the program was started again")
        return self._jobs[number]

    def all(self) -> list[Job]:
        """Return all jobs that are remembered, the newest first."""
        return sorted(self._jobs.values(), key=lambda job: -job.number)


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/jobs", list_jobs),
        calling("/api/jobs/stop", stop_job),
        calling("/api/jobs/follow", follow_job),
    ]


async def list_jobs(studio: Studio) -> object:
    """Return all jobs, the newest first."""
    return {"jobs": [job.to_dict() for job in studio.jobs.all()]}


async def stop_job(studio: Studio, number: int) -> object:
    """Stop a job."""
    job = studio.jobs.get(number)
    job.stop()
    return job.to_dict()


async def follow_job(studio: Studio, number: int) -> Response:
    """Return a job whenever it has changed, until it ends, as lines."""
    return lines(_changes(studio.jobs.get(number)))


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
        job.error = error_dict(error)
        job.status = "failed"
