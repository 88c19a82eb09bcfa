"""Replies: JSON in, checked; JSON out; errors as JSON; and work that reports its progress in lines of JSON.

An error becomes ``{"error": {"type": ..., "message": ...}}``, which the page shows as it is.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from inspect import signature
from typing import Any, TypeAlias

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from langchain_sentence_window.errors import SentenceWindowError
from sentence_window.messages import one_line

MAX_UNEXPECTED_CHARS = 500
"""The most characters of an unexpected error that the page shows: it may quote anything."""

MAX_BODY_BYTES = 20_000_000
"""The most bytes of the JSON that a call sends."""

JSON = "application/json"
LINES = "application/x-ndjson"
LOGGER = logging.getLogger("sentence_window")


def arguments_of(handler: Callable[..., object]) -> type[BaseModel]:
    """Return what checks the arguments of a call: its parameters after the first one. Unknown ones are refused."""
    parameters = list(signature(handler).parameters.values())[1:]
    fields: dict[str, Any] = {
        each.name: (each.annotation, ... if each.default is each.empty else each.default) for each in parameters
    }
    return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)


class Refused(Exception):  # noqa: N818 - a refusal is an answer
    """A call that can't be served.

    Attributes:
        status: The HTTP status.
        message: What the page shows: the reason and the cure.
    """

    def __init__(self, status: int, message: str) -> None:
        """Refuse with a status and a message."""
        super().__init__(message)
        self.status = status
        self.message = message


async def body_of(request: Request) -> object:
    """Read the JSON of a call.

    Raises:
        Refused: It isn't JSON, or too long.
    """
    # A page of another origin can't send this type without asking first, and is refused then.
    check_type(request, JSON)
    content = await bytes_of(request, MAX_BODY_BYTES)
    try:
        return json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the arguments aren't JSON: {error}") from None


def check_type(request: Request, content_type: str) -> None:
    """Check the type of what a call sends."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != content_type:
        raise Refused(415, f"send this as {content_type}")


async def bytes_of(request: Request, most: int) -> bytes:
    """Read the body of a call, of a limited number of bytes."""
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > most:
            raise Refused(413, f"that is more than {most // 1_000_000} MB; split it")
    return bytes(parts)


def reply(value: object, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(as_json(value), status, media_type=JSON)


def reply_to(error: Exception) -> Response:
    """Return an error as JSON: 400 for what the caller can mend, 500 for anything else."""
    status = 400 if isinstance(error, ValidationError | SentenceWindowError) else 500
    return reply({"error": error_dict(error)}, error.status if isinstance(error, Refused) else status)


def error_dict(error: Exception) -> dict[str, Any]:
    """Return what the page shows of an error: its ``type`` and its ``message``. An unexpected one is logged."""
    name = type(error).__name__
    if isinstance(error, ValidationError):
        problems = [f"{'.'.join(map(str, each['loc'])) or 'the arguments'}: {each['msg']}" for each in error.errors()]
        return {"type": name, "message": "; ".join(problems)}
    if isinstance(error, Refused | SentenceWindowError):
        return {"type": name, "message": str(error)}
    LOGGER.error("a call of the page failed", exc_info=error)
    return {"type": name, "message": f"{name}: {one_line(str(error), MAX_UNEXPECTED_CHARS)}"}


def lines(events: AsyncIterator[Mapping[str, Any]]) -> Response:
    """Return events as they come, each as a line of JSON. An error ends them with ``{"error": ...}``."""

    async def written() -> AsyncIterator[bytes]:
        try:
            async for event in events:
                yield as_json(event) + b"\n"
        except Exception as error:  # noqa: BLE001 - the status line is sent already, so the error is an event
            yield as_json({"error": error_dict(error)}) + b"\n"

    return StreamingResponse(written(), media_type=LINES)


class Stopped(Exception):  # noqa: N818 - it isn't an error
    """The page that waits for some work went away."""


Report: TypeAlias = Callable[..., None]
"""Takes how far some work is, as keywords, from any thread. It raises `Stopped` if the result isn't wanted any more."""

_running: set[asyncio.Task[object]] = set()


def progress_lines(work: Callable[[Report], Awaitable[object]]) -> Response:
    """Start work, and return lines: ``{"progress": {...}}`` whenever it reports, and ``{"done": ...}`` with its result.

    If the page goes away, the work ends when it next reports. It isn't canceled, so that threads that it started don't
    outlive the locks that it holds.
    """
    return lines(_progress(work))


async def _progress(work: Callable[[Report], Awaitable[object]]) -> AsyncIterator[dict[str, Any]]:
    loop, events = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None]()
    is_stopped = False

    def report(**progress: Any) -> None:
        if is_stopped:
            raise Stopped
        loop.call_soon_threadsafe(events.put_nowait, {"progress": progress})

    def ended(task: asyncio.Task[object]) -> None:
        _running.discard(task)
        if not task.cancelled():
            task.exception()  # else asyncio logs that it was never retrieved
        events.put_nowait(None)

    task = asyncio.ensure_future(work(report))
    _running.add(task)
    task.add_done_callback(ended)
    try:
        while (event := await events.get()) is not None:
            yield event
        yield {"done": task.result()}
    finally:
        is_stopped = True


def fields_of(record: object, names: str) -> dict[str, Any]:
    """Return some attributes of a record by their names, which white space separates."""
    return {name: getattr(record, name) for name in names.split()}


def as_json(value: object) -> bytes:
    """Return a value as JSON, with any text that a document may hold."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):  # lone surrogates, or numbers beyond 64 bits
        return json.dumps(value, default=str).encode()
