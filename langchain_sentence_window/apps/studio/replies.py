"""Replies: JSON in, checked; JSON out; errors as JSON.

An error becomes ``{"error": {"type": ..., "message": ...}}``, which the page shows as it is.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from inspect import signature
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from langchain_sentence_window.answering.citation_format import on_one_line
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.retrieval.telemetry import LOGGER

MAX_UNEXPECTED_CHARS = 300
"""The most characters of an unexpected error that the page shows: it may quote anything."""

MAX_BODY_BYTES = 20_000_000
"""The most bytes of the JSON that a call sends."""

JSON = "application/json"
LINES = "application/x-ndjson"


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
        more: What else the page is told.
    """

    def __init__(self, status: int, message: str, **more: Any) -> None:
        """Refuse with a status and a message."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = more


async def body_of(request: Request) -> object:
    """Read the JSON of a call.

    Raises:
        Refused: It isn't JSON, or too long.
    """
    # A page of another origin can't send this type without asking first, and is refused then.
    if request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
        raise Refused(415, f"send the arguments as {JSON}")
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > MAX_BODY_BYTES:
            raise Refused(413, f"that is more than {MAX_BODY_BYTES // 1_000_000} MB; send less")
    try:
        return json.loads(parts or b"{}")
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the arguments aren't JSON: {error}") from None


def reply(value: object, status: int = 200) -> Response:
    """Return a value as JSON."""
    return Response(as_json(value), status, media_type=JSON)


def reply_to(error: Exception) -> Response:
    """Return an error as JSON: 400 for what the caller can mend, 500 for anything else."""
    status = 400 if isinstance(error, ValidationError | SentenceWindowError) else 500
    return reply({"error": error_dict(error)}, error.status if isinstance(error, Refused) else status)


def error_dict(error: Exception) -> dict[str, Any]:
    """Return what the page shows of an error: its ``type`` and its ``message``. An unexpected one is logged."""
    if isinstance(error, Refused):
        return {"type": "Refused", "message": error.message, **error.more}
    if isinstance(error, ValidationError):
        return {"type": "InvalidInputError", "message": _problems(error)}
    if isinstance(error, SentenceWindowError):
        return {"type": type(error).__name__, "message": str(error)}
    LOGGER.error("a call of the page failed", exc_info=error)
    return {"type": type(error).__name__, "message": on_one_line(str(error), MAX_UNEXPECTED_CHARS)}


def lines(events: AsyncIterator[Mapping[str, Any]]) -> Response:
    """Return events as they come, each as a line of JSON.

    An error ends them with ``{"error": ...}``.
    """

    async def written() -> AsyncIterator[bytes]:
        try:
            async for event in events:
                yield as_json(event) + b"\n"
        except Exception as error:  # noqa: BLE001 - the status line is gone, so the error is an event
            yield as_json({"error": error_dict(error)}) + b"\n"

    return StreamingResponse(written(), media_type=LINES)


def fields_of(record: object, names: str) -> dict[str, Any]:
    """Return some attributes of a record by their names, which white space separates."""
    return {name: getattr(record, name) for name in names.split()}


def as_json(value: object) -> bytes:
    """Return a value as JSON, with whatever a document's text may hold."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):  # lone surrogates, or numbers beyond 64 bits
        return json.dumps(value, default=str).encode()


def _problems(error: ValidationError) -> str:
    found = [f"{'.'.join(map(str, each['loc'])) or 'the arguments'}: {each['msg']}" for each in error.errors()]
    return "; ".join(found)
