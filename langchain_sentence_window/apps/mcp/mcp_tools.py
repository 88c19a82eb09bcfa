"""The tools of the MCP server, on the official SDK."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import ToolException
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from langchain_sentence_window._io import ASYNC, arun
from langchain_sentence_window._primitives import STORABLE_ID
from langchain_sentence_window.agents import tools
from langchain_sentence_window.agents.reading import MAX_SENTENCES
from langchain_sentence_window.agents.source_labels import NOTHING_FOUND, source_blocks
from langchain_sentence_window.agents.tool_errors import advice, explained, no_document
from langchain_sentence_window.answering.citation_format import source_number
from langchain_sentence_window.answering.locations import doubt_about
from langchain_sentence_window.documents.keys import DOC_ID, HEADING, SENTENCES
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, StoreUnavailableError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.telemetry import LOGGER

from .mcp_passages import (
    EXPLANATIONS,
    MAX_PASSAGE_ID_CHARS,
    NOT_IN_DOCUMENT,
    Excerpt,
    FetchResult,
    QuoteResult,
    ReadResult,
    SearchToolResult,
    Text,
    ToolPassage,
    UrlOf,
    passage_of,
    place_document,
    read_excerpt,
    read_passage_id,
    verified,
)

READ_ONLY = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}

_MISTAKES = (InvalidInputError, IncompleteWindowError)
"""Errors that tell a model what to do otherwise."""

_FAILED = "failed on the server, whose log says why. Try again once; if it fails again, tell the user."

_BUSY = "{}, as the server is busy. Try again in {} s; if that fails too, tell the user that it is busy now."

_AWAY = (
    "got no answer from the documents in time. Try again in a minute; if that fails too, tell the user that they can't "
    "be reached now."
)

_MAX_WAIT = 2
"""The longest wait before a client tries again, in limits of a call. It is random, so that not all come at once."""


class _BusyError(Exception):
    """A call that took longer than its limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"gave no answer within {seconds:g} s")
        self.wait = math.ceil(random.uniform(1, _MAX_WAIT) * seconds)  # noqa: S311 - nothing secret


@dataclass(frozen=True)
class _Kind:
    """A tool as it is listed for clients; it calls the method of its name of `_ToolFunctions`."""

    name: str
    title: str
    takes: type[BaseModel]
    returns: type[BaseModel]
    description: str


MAX_QUERY_CHARS = 4_000
"""The most characters of a query."""


class BoundedSearchInput(tools.SearchArguments):
    """The arguments of ``search``."""

    query: str = Field(
        min_length=1,
        max_length=MAX_QUERY_CHARS,
        description="What to look for, as a question or in key words. Ask for one thing at a time.",
    )


class BoundedReadInput(tools.ReadArguments):
    """The arguments of ``read_around``."""


class FetchInput(BaseModel):
    """The arguments of ``fetch``."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(
        min_length=1,
        max_length=MAX_PASSAGE_ID_CHARS,
        description="The id of a result, to read the document around it, or a doc_id, to read it from its beginning.",
    )


MAX_QUOTE_CHARS = 4_000
"""The most characters of a quote."""


class QuoteInput(BaseModel):
    """The arguments of ``verify_quote``."""

    model_config = ConfigDict(extra="forbid")

    quote: str = Field(
        min_length=1, max_length=MAX_QUOTE_CHARS, description="The quotation alone, without its quotation marks."
    )
    doc_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=tools.MAX_ARGUMENT_CHARS,
        description="The document that the quotation is said to be from, as a search gave it. Leave it out to look in "
        "all documents.",
    )


_KINDS = (
    _Kind(
        "search",
        "Search the documents",
        BoundedSearchInput,
        SearchToolResult,
        "Search the documents. Returns the passages that fit best, word for word, each with its location, the doc_id "
        "of its document and the numbers of its sentences. If they don't answer the question, search again in other "
        "words. If one is cut short, read on with fetch or read_around. Of passages that you have, it returns the "
        "numbers alone.",
    ),
    _Kind(
        "fetch",
        "Read a document",
        FetchInput,
        FetchResult,
        "Read a document: around a passage that was found, if given the id of a result, or from its beginning, if "
        "given a doc_id. Long documents are cut; the note then says how to read on.",
    ),
    _Kind(
        "read_around",
        "Read around a passage",
        BoundedReadInput,
        ReadResult,
        "Read more of a document around a passage that was found: the sentences before and after it. Use it when a "
        "passage seems to lack a condition, an exception or a definition, instead of searching again.",
    ),
    _Kind(
        "verify_quote",
        "Verify a quotation",
        QuoteInput,
        QuoteResult,
        "Check a quotation against the documents before you use it. Says whether it is there word for word, with "
        "other spaces, case, quotation marks or hyphens, in pieces, in another document, or not at all, and "
        "where. Quote what it returns.",
    ),
)


_Answer: TypeAlias = tuple[BaseModel, str]
"""The answer of a tool, as structured content and as sources between tags."""


class _AdvisingTool(Tool):
    """A tool whose errors say what to do next, and show nothing else of what went wrong."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:  # noqa: FBT001, FBT002 - the SDK's signature
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError as error:
            cause = error.__cause__
            if isinstance(cause, _BusyError):
                LOGGER.warning("%s %s", self.name, cause)
                raise ToolError(f"{self.name} {_BUSY.format(cause, cause.wait)}") from None
            if isinstance(cause, StoreUnavailableError | TimeoutError):
                LOGGER.warning("%s got no answer from the store: %r", self.name, cause.__cause__ or cause)
                raise ToolError(f"{self.name} {_AWAY}") from None
            raise UnexpectedToolError(f"{self.name} {_FAILED}") from cause
        except ToolError as error:
            cause = error.__cause__
            told = explained(cause) if isinstance(cause, ValidationError) else str(cause or error)
            raise ToolError(told) from cause


@dataclass(frozen=True)
class _ToolFunctions:
    """The functions of the tools."""

    retriever: SentenceWindowRetriever
    reader: tools.Reader
    url_of: UrlOf | None

    async def search(self, session: RunnableConfig, **query: Any) -> _Answer:
        found = await self.reader.search(ASYNC, session, None, tools.SearchArguments(**query))
        known = {each.number: each.document for each in found if not each.is_new}
        notes = [doubt_about([each.document for each in found]), _also_found(known) if known else ""]
        said = " ".join(filter(None, notes)) if found else NOTHING_FOUND
        note = {"note": said} if said else {}
        new = self._passages([each.document for each in found if each.is_new])
        return SearchToolResult(results=new, **note), source_blocks(found)

    async def read_around(self, session: RunnableConfig, **place: Any) -> _Answer:
        found = await self.reader.read_around(ASYNC, session, None, tools.ReadArguments(**place))
        passages = self._passages([each.document for each in found])
        return ReadResult(results=passages), source_blocks(found)

    async def fetch(self, session: RunnableConfig, id: str) -> _Answer:
        for doc_id, passage in read_passage_id(id):
            excerpt = await arun(partial(read_excerpt, scope=self.retriever.scope(), doc_id=doc_id, passage=passage))
            if excerpt is not None:
                return self._fetched(session, id, excerpt)
        raise no_document(id)

    async def verify_quote(self, session: RunnableConfig, quote: str, doc_id: str | None = None) -> _Answer:
        if not STORABLE_ID.fullmatch(quote):
            raise ToolException("The quote holds a NUL or a lone surrogate, which no text does. Give it without these.")
        found = await verified(self.retriever, quote, doc_id)
        sources = self.reader.numbered(map(place_document, found.places), session)
        passages = [
            ToolPassage(**passage_of(source.document, self.url_of, place.location))
            for source, place in zip(sources, found.places, strict=True)
        ]
        is_nowhere = found.verdict == "not_found" and doc_id is not None
        explanation = NOT_IN_DOCUMENT if is_nowhere else EXPLANATIONS[found.verdict]
        result = QuoteResult(quote=quote, verdict=found.verdict, explanation=explanation, places=passages)
        shown = source_blocks(sources) if sources else ""
        return result, f"{found.verdict}: {explanation}\n\n{shown}".rstrip()

    def _passages(self, documents: Sequence[Document]) -> list[ToolPassage]:
        return [ToolPassage(**passage_of(document, self.url_of)) for document in documents]

    def _fetched(self, session: RunnableConfig, given: str, excerpt: Excerpt) -> _Answer:
        sources = self.reader.numbered([excerpt.document], session)
        fields: dict[str, Any] = passage_of(sources[0].document, self.url_of) | {"id": given}
        metadata = {name: fields[name] for name in (DOC_ID, "location", HEADING) if fields[name]}
        note = _note(excerpt)
        if note:
            fields["note"] = note
        return FetchResult(**fields, metadata=metadata), f"{source_blocks(sources)}\n\n{note}".rstrip()


def mcp_tools(
    retriever: SentenceWindowRetriever,
    *,
    about: str | None,
    text: Text,
    url_of: UrlOf | None,
    timeout: float | None,
    show_again: bool,
) -> list[Tool]:
    """Make the tools of the server.

    Args:
        retriever: What they search and read; its filter binds them all.
        about: What the documents are about, for the description of ``search``.
        text: What the text of a result is.
        url_of: Returns the address of a window; ``None`` for the one in its metadata.
        timeout: The most seconds that a call takes; ``None`` for any time.
        show_again: Whether a search shows again what the session has shown before.
    """
    server = _ToolFunctions(retriever, tools.Reader(retriever, show_again=show_again), url_of)
    about = f" Documents: {about}." if about else ""
    return [
        _tool(kind, getattr(server, kind.name), about if kind.name == "search" else "", text, timeout)
        for kind in _KINDS
    ]


T = TypeVar("T")


async def _patiently(function: Callable[[], Awaitable[T]], seconds: float | None) -> T:
    """Make a call that only reads, again and again while the store doesn't answer.

    Args:
        function: Makes the call.
        seconds: The most that it takes, with all its tries; ``None`` for any time.

    Raises:
        StoreUnavailableError: The store didn't answer the last time.
        _BusyError: It took too long.
    """
    away: BaseException | None = None
    try:
        async with asyncio.timeout(seconds) as limit:
            for pause in _PAUSES:
                try:
                    return await function()
                except (StoreUnavailableError, ToolException) as error:
                    away = next(
                        (each for each in (error, error.__cause__) if isinstance(each, StoreUnavailableError)), None
                    )
                    if away is None:
                        raise
                await asyncio.sleep(pause * random.uniform(1 - _SPREAD, 1 + _SPREAD))  # noqa: S311 - nothing secret
            return await function()
    except TimeoutError:
        if seconds is None or not limit.expired():  # the store's own
            raise
        raise (away or _BusyError(seconds)) from None


def _tool(
    kind: _Kind, function: Callable[..., Awaitable[_Answer]], about: str, text: Text, timeout: float | None
) -> Tool:
    async def call(context: Context[Any, Any], **arguments: Any) -> CallToolResult:
        try:
            answer, sources = await _patiently(partial(function, _session(context), **arguments), timeout)
        except ToolException as error:
            raise ToolError(str(error)) from None
        except _MISTAKES as error:
            raise ToolError(str(advice(error))) from error
        content = answer.model_dump(mode="json", exclude_unset=True)
        shown = answer.model_dump_json(exclude_unset=True) if text == "json" else sources
        return CallToolResult(content=[TextContent(type="text", text=shown)], structured_content=content)

    arguments: Any = create_model(f"{kind.takes.__name__}Arguments", __base__=(kind.takes, ArgModelBase))
    return _AdvisingTool(
        fn=call,
        name=kind.name,
        title=kind.title,
        description=kind.description + about,
        parameters=arguments.model_json_schema(),
        fn_metadata=FuncMetadata(arg_model=arguments, output_model=kind.returns),
        is_async=True,
        context_kwarg="context",
        annotations=ToolAnnotations(title=kind.title, **READ_ONLY),
    )


_SESSION_HEADER = "mcp-session-id"


def _session(context: "Context[Any, Any]") -> RunnableConfig:
    """Return the configuration by which the sources of a session are remembered.

    Over HTTP, a client without a session can't be told from another one.
    """
    headers = context.headers
    return {"configurable": {"thread_id": "" if headers is None else headers.get(_SESSION_HEADER)}}


def _also_found(known: Mapping[int, Document]) -> str:
    named = [f"{source_number(number)} ({passage_of(each, None)['id']})" for number, each in known.items()]
    return f"Also found, and shown before: {', '.join(named)}. fetch shows one again."


def _note(excerpt: Excerpt) -> str:
    first, last = excerpt.document.metadata[SENTENCES]
    before = f"before sentence {first} (read_around with first={first}, last={first}, before={MAX_SENTENCES}, after=0)"
    after = f"after sentence {last} (read_around with first={last}, last={last}, before=0, after={MAX_SENTENCES})"
    sides = [side for side, goes_on in ((before, excerpt.goes_on_before), (after, excerpt.goes_on_after)) if goes_on]
    return f"The document goes on {' and '.join(sides)}." if sides else ""


_PAUSES = (0.25, 0.5, 1.0, 2.0)
"""About the seconds to wait before a call is made again, so a call is made five times at most."""

_SPREAD = 0.5
"""The share by which a pause is longer or shorter at random, lest all calls come back at the same moment."""
