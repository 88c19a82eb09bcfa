"""`Studio`: what one page works on, how calls reach it, and the list of its documents."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.evaluation import LostGold, Question
from langchain_sentence_window.stores import IndexedDocument
from sentence_window.messages import one_line
from sentence_window.studio.replies import Refused, arguments_of, body_of, reply, reply_to

if TYPE_CHECKING:
    from sentence_window.studio.question_list import QuestionList

FRESH_SECONDS = 2.0
"""How long the list of documents is used before it is read again; another program may have changed the index."""

MAX_NAME_CHARS = 300


@dataclass(eq=False)
class Studio:
    """The things that a page works on, and its permissions.

    Attributes:
        retriever: The retriever that is asked. Another one takes its place when its settings become the default.
        question_list: The questions with gold spans that the page edits.
        folders: The folders and files whose contents the page may show, resolved. Nothing else on disk is read.
        uploads: The folder of files that are added from the page; ``None`` if there is none.
        chat_model: The model that answers; ``None`` for no answers.
        is_read_only: Whether the page may change neither the index nor the questions.
        writing: Held while the index or the questions are changed.
        golds: Where the gold of questions is in the index, while the list of documents is `golds_of`.
    """

    retriever: SentenceWindowRetriever
    question_list: "QuestionList"
    folders: tuple[Path, ...] = ()
    uploads: Path | None = None
    chat_model: BaseChatModel | None = None
    is_read_only: bool = False
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    golds: dict[str, Question | LostGold] = field(default_factory=dict)
    golds_of: Mapping[str, object] = field(default_factory=dict)
    _documents: Sequence[IndexedDocument] = ()
    _read_at: float | None = None

    async def documents(self) -> Sequence[IndexedDocument]:
        """Return the documents that the retriever's filter allows, as they were `FRESH_SECONDS` ago at most."""
        if self._read_at is None or time.monotonic() - self._read_at > FRESH_SECONDS:
            self._documents = await self.retriever.adocuments()
            self._read_at = time.monotonic()
        return self._documents

    def forget_documents(self) -> None:
        """Read the documents again when they are asked for."""
        self._read_at = None


def index_folder(retriever: SentenceWindowRetriever) -> Path | None:
    """Return the folder of a retriever's index; ``None`` if it is in memory or in another store."""
    folder = getattr(retriever.vectorstore, "folder", None)
    return folder if isinstance(folder, Path) else None


def check_writable(studio: Studio) -> None:
    """Refuse a call that would change something on a read-only page."""
    if studio.is_read_only:
        raise Refused(403, "this page is read-only; start it without --read-only to make changes")


Handler: TypeAlias = Callable[..., Awaitable[object]]
"""Answers a call: it takes the studio, and the arguments of the call by the names of its parameters."""


def reading(path: str, handler: Handler) -> Route:
    """Return the route of a call that changes nothing: ``GET``, with its arguments in the query string."""

    async def query_of(request: Request) -> object:
        return dict(request.query_params)

    return Route(path, _endpoint(query_of, arguments_of(handler), handler), methods=["GET"])


def calling(path: str, handler: Handler) -> Route:
    """Return the route of any other call: ``POST``, with its arguments as JSON."""
    return Route(path, _endpoint(body_of, arguments_of(handler), handler), methods=["POST"])


def _endpoint(
    read: Callable[[Request], Awaitable[object]], arguments: type[BaseModel], handler: Handler
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            checked = arguments.model_validate(await read(request))
            result = await handler(request.app.state.studio, **dict(checked))
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - the page shows it
            return reply_to(error)
        return result if isinstance(result, Response) else reply(result)

    return endpoint


def base_name(path: str) -> str:
    """Return the last part of a path, on one line and never empty."""
    last = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return one_line(last or path, MAX_NAME_CHARS) or "document"


def source_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the path or address that metadata names as the source."""
    source = metadata.get("source")
    return source if isinstance(source, str) and source.strip() else None


def title_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the title in metadata, on one line."""
    title = metadata.get("title")
    return (one_line(title, MAX_NAME_CHARS) if isinstance(title, str) else "") or None
