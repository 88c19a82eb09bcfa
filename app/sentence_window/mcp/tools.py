"""The tools of the MCP server, on the official SDK: they call the tools that the library makes for agents."""

import asyncio
import json
import logging
import math
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from langchain_core.documents import Document
from langchain_core.tools import BaseTool, ToolException
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from langchain_sentence_window import SentenceWindowRetriever, create_tools, merge_windows, verify_quote
from langchain_sentence_window.citations import QuotedPlace, VerifiedQuote, doubt_about
from langchain_sentence_window.errors import (
    IncompleteWindowError,
    InvalidInputError,
    SentenceWindowError,
    StoreUnavailableError,
)
from sentence_window.mcp.passages import (
    MAX_DOC_ID_CHARS,
    MAX_PASSAGE_ID_CHARS,
    FetchResult,
    QuoteResult,
    ReadResult,
    SearchResult,
    Text,
    ToolPassage,
    UrlOf,
    passage_id,
    passage_of,
    read_passage_id,
)
from sentence_window.messages import encodable

LOGGER = logging.getLogger("sentence_window")

_MISTAKES = (InvalidInputError, IncompleteWindowError)
"""Errors whose messages say what to do instead."""

READ_ONLY = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}

MAX_QUERY_CHARS = MAX_QUOTE_CHARS = 4_000
"""The most characters of a query and of a quote."""

MAX_SENTENCES = 50
"""The most sentences on each side of a passage that `read_around` reads in one call."""

FETCHED_SENTENCES = 100
"""The sentences that `fetch` reads from the beginning of a document, before what `read_around` adds after them."""

MAX_INDEX = 2**31

_MAX_PROBLEM_CHARS = 200


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchInput(_Input):
    """The arguments of ``search``."""

    query: str = Field(
        min_length=1,
        max_length=MAX_QUERY_CHARS,
        description="What to look for, as a question or keywords. Ask for one thing at a time.",
    )
    k: int | None = Field(default=None, ge=1, le=20, description="How many passages to return, 1 to 20.")


class ReadInput(_Input):
    """The arguments of ``read_around``."""

    doc_id: str = Field(max_length=MAX_DOC_ID_CHARS, description="The doc_id of a passage, as search returned it.")
    first: int = Field(ge=0, le=MAX_INDEX, description="Number of the passage's first sentence, as search returned it.")
    last: int = Field(ge=0, le=MAX_INDEX, description="Number of the passage's last sentence, as search returned it.")
    before: int = Field(default=5, ge=0, le=MAX_SENTENCES, description="Sentences to read before the passage.")
    after: int = Field(default=5, ge=0, le=MAX_SENTENCES, description="Sentences to read after the passage.")


class FetchInput(_Input):
    """The arguments of ``fetch``."""

    id: str = Field(
        min_length=1,
        max_length=MAX_PASSAGE_ID_CHARS,
        description="The id of a result, to read the document around it, or a doc_id, to read it from its beginning.",
    )


class QuoteInput(_Input):
    """The arguments of ``verify_quote``."""

    quote: str = Field(
        min_length=1, max_length=MAX_QUOTE_CHARS, description="The quotation alone, without its quotation marks."
    )
    doc_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_DOC_ID_CHARS,
        description="The doc_id of the document that the quotation is attributed to, as search returned it. Leave it "
        "out to look in all documents.",
    )


@dataclass(frozen=True)
class _Kind:
    """A tool as it is listed for clients; it calls the method of `_Server` with its name."""

    name: str
    title: str
    takes: type[BaseModel]
    returns: type[BaseModel]
    description: str


_KINDS = (
    _Kind(
        "search",
        "Search the documents",
        SearchInput,
        SearchResult,
        "Search the documents. Returns the passages that fit best, word for word, each with its location, the doc_id "
        "of its document and the numbers of its sentences. If they don't answer the question, search again in other "
        "words. If one is cut short, read on with fetch or read_around. Passages that you already have are "
        "returned as numbers only.",
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
        ReadInput,
        ReadResult,
        "Read more of a document around a passage that was found: the sentences before and after it. Use it when a "
        "passage seems to lack a condition, an exception or a definition, instead of searching again.",
    ),
    _Kind(
        "verify_quote",
        "Verify a quotation",
        QuoteInput,
        QuoteResult,
        "Check a quotation against the documents before you use it. Returns whether it is there word for word, with "
        "other spaces, case, quotation marks or hyphens, in pieces, in another document, or not at all, and "
        "where. Quote what it returns.",
    ),
)

NOT_IN_DOCUMENT = (
    "The quote is neither in that document nor in the passages that a search for it finds. Don't use it as a "
    "quotation. Search for what it says, and quote the text of a result."
)
"""The explanation of ``not_found`` if a document was named."""

EXPLANATIONS: Mapping[str, str] = {
    "verbatim": "The quote is there word for word.",
    "normalized": "The quote is there, except for white space, case, quotation marks or hyphens. To quote it word for "
    "word, take the text from the places.",
    "stitched": "The quote is made of pieces from different places. Quote each piece separately, from the places.",
    "misattributed": "The quote isn't in that document, but in the places. Cite these instead.",
    "not_found": "The quote is in none of the passages that a search for it finds. Don't use it as a quotation. "
    "Search for what it says, and quote the text of a result.",
}

QUOTE_SEARCH: Mapping[str, Any] = {
    "k": 8,
    "window": 3,
    "max_tokens": None,
    "min_score": None,
    "min_relevance": None,
    "order": "relevance",
}
"""The settings of a search for a quote, which must find the place rather than save tokens."""

MAX_QUOTE_SEARCHES = 8
"""The most sentences of a quote that are searched for."""

_Answer: TypeAlias = tuple[BaseModel, str]
"""The answer of a tool, as structured content and as sources between tags."""

_SHOWN_NUMBER = re.compile(r"^<source>\n\[(\d+)\]", re.MULTILINE)
"""The start of a source in the text of the library's tools, which only list the numbers of known sources."""


@dataclass(frozen=True)
class _Server:
    """The functions of the tools; each takes the id of a session, which numbers its sources."""

    retriever: SentenceWindowRetriever
    tools: Mapping[str, BaseTool]
    url_of: UrlOf | None

    async def search(self, session: str | None, query: str, k: int | None = None) -> _Answer:
        text, documents = await self._call("search", session, query=query, **({} if k is None else {"k": k}))
        shown = set(map(int, _SHOWN_NUMBER.findall(text)))
        new = [each for each in documents if each.metadata["citation_number"] in shown]
        known = [each for each in documents if each.metadata["citation_number"] not in shown]
        notes = [doubt_about(documents), _also_found(known), "" if documents else text]
        note = " ".join(filter(None, notes))
        return SearchResult(results=self._passages(new), **({"note": note} if note else {})), text

    async def read_around(self, session: str | None, **place: Any) -> _Answer:
        text, documents = await self._call("read_around", session, **place)
        return ReadResult(results=self._passages(documents)), text

    async def fetch(self, session: str | None, id: str) -> _Answer:
        error: ToolException | None = None
        for doc_id, passage in read_passage_id(id):
            first, last = passage or (0, FETCHED_SENTENCES)
            last = min(last, first + FETCHED_SENTENCES)
            try:
                text, (document,) = await self._call(
                    "read_around",
                    session,
                    doc_id=doc_id,
                    first=first,
                    last=last,
                    before=MAX_SENTENCES if passage else 0,
                    after=MAX_SENTENCES,
                )
            except ToolException as caught:
                error = error or caught
            else:
                note = _reading_on(document, last + MAX_SENTENCES)
                fields = passage_of(document, self.url_of) | {"id": id}
                fields["metadata"] = {name: fields[name] for name in ("doc_id", "location", "heading") if fields[name]}
                if note:
                    fields["note"] = note
                return FetchResult(**fields), f"{text}\n\n{note}".rstrip()
        raise error or ToolException("There is nothing with this id. Give the id of a passage that was found.")

    async def verify_quote(self, session: str | None, quote: str, doc_id: str | None = None) -> _Answer:
        if "\0" in quote or encodable(quote) != quote:
            raise ToolException("The quote has a NUL or a lone surrogate, which no text has. Give it without these.")
        found = await self._verified(quote, doc_id)
        passages, texts = [], []
        for place in found.places:
            text, number = await self._numbered(session, place)
            texts.append(text)
            fields = passage_of(place.window(), self.url_of, place.location) | {"score": None} | number
            passages.append(ToolPassage(**fields))
        is_nowhere = found.verdict == "not_found" and doc_id is not None
        explanation = NOT_IN_DOCUMENT if is_nowhere else EXPLANATIONS[found.verdict]
        result = QuoteResult(quote=quote, verdict=found.verdict, explanation=explanation, places=passages)
        return result, "\n\n".join([f"{found.verdict}: {explanation}", *texts])

    async def _verified(self, quote: str, doc_id: str | None) -> VerifiedQuote:
        """Verify a quote in what a search for its sentences finds, and in all of a document if one is named."""
        if doc_id is not None:
            doc_id = _unquoted(doc_id)
        own = [] if doc_id is None else await self.retriever.aget([doc_id])
        others: list[Document] = []
        splitter = self.retriever.splitter
        sentences = [quote[start:end] for start, end in await asyncio.to_thread(splitter.spans, quote)]
        queries = dict.fromkeys(text for text in sentences or [quote] if text.strip())
        for query in [*queries][:MAX_QUOTE_SEARCHES]:
            for document in await self.retriever.ainvoke(query, **QUOTE_SEARCH):
                (own if document.metadata.get("doc_id") == doc_id else others).append(document)
        if doc_id is not None and not own:
            raise ToolException(
                f"There is no document {doc_id[:100]!r}. Search first, and use the doc_id of a passage that was found."
            )
        merged = merge_windows(others, count_tokens=self.retriever.count_tokens)
        return await asyncio.to_thread(verify_quote, quote, [*own, *merged], tuple(range(1, len(own) + 1)))

    async def _numbered(self, session: str | None, place: QuotedPlace) -> tuple[str, dict[str, Any]]:
        """Number the sentences of a place in a session; return them between tags, and the fields with the number."""
        first, last = place.first_sentence, place.last_sentence
        if place.doc_id is None or first is None or last is None:
            return "", {}
        given = {"doc_id": place.doc_id, "first": first, "last": last, "before": 0, "after": 0}
        text, (document,) = await self._call("read_around", session, **given)
        number = document.metadata["citation_number"]
        return text, {"number": number, "sentences": [first, last], "id": passage_id(place.doc_id, (first, last))}

    async def _call(self, name: str, session: str | None, **given: Any) -> tuple[str, list[Document]]:
        """Call a tool of the library; return its text for the model, and its sources."""
        call = {"type": "tool_call", "id": name, "name": name, "args": given}
        try:
            message = await self.tools[name].ainvoke(call, {"configurable": {"thread_id": session}})
        except ToolException as error:
            cause = error.__cause__
            if isinstance(cause, SentenceWindowError) and not isinstance(cause, _MISTAKES):
                raise cause  # noqa: B904 - with its own cause; the log names it, and the client isn't shown paths
            raise
        return message.text, list(message.artifact)

    def _passages(self, documents: Sequence[Document]) -> list[ToolPassage]:
        return [ToolPassage(**passage_of(document, self.url_of)) for document in documents]


def _unquoted(doc_id: str) -> str:
    """Return a ``doc_id`` as it is; the library's tools show unusual ones as a JSON string."""
    if len(doc_id) > 1 and doc_id[0] == doc_id[-1] == '"':
        with suppress(ValueError):
            return str(json.loads(doc_id, strict=False))
    return doc_id


def _also_found(known: Sequence[Document]) -> str:
    named = [f"[{each.metadata['citation_number']}] ({passage_of(each, None)['id']})" for each in known]
    return f"Also found, and shown before: {', '.join(named)}. fetch shows one again." if named else ""


def _reading_on(document: Document, asked: int) -> str:
    """Return how to read on on both sides of what was read; ``asked`` is the last sentence that was asked for."""
    first, last = document.metadata["sentences"]
    before = f"before sentence {first} (read_around with first={first}, last={first}, before={MAX_SENTENCES}, after=0)"
    after = f"after sentence {last} (read_around with first={last}, last={last}, before=0, after={MAX_SENTENCES})"
    sides = [side for side, goes_on in ((before, first > 0), (after, last >= asked)) if goes_on]
    return f"The document goes on {' and '.join(sides)}." if sides else ""


def make_tools(
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
        retriever: What they search and read; its filter applies to all of them.
        about: What the documents are about, for the description of ``search``.
        text: The format of a result's text.
        url_of: Returns the address of a window; ``None`` for the one in its metadata.
        timeout: The most seconds that a call takes; ``None`` for no limit.
        show_again: Whether a search shows passages again that the session has already shown.
    """
    tools = {tool.name: tool for tool in create_tools(retriever, show_again=show_again)}
    for tool in tools.values():
        tool.handle_tool_error = False  # the error's cause says whether to try again
    server = _Server(retriever, tools, url_of)
    suffix = f" Documents: {about}." if about else ""
    return [
        _tool(kind, getattr(server, kind.name), suffix if kind.name == "search" else "", text, timeout)
        for kind in _KINDS
    ]


def _tool(
    kind: _Kind, function: Callable[..., Awaitable[_Answer]], about: str, text: Text, timeout: float | None
) -> Tool:
    async def call(context: Context[Any, Any], **arguments: Any) -> CallToolResult:
        try:
            answer, sources = await _patiently(partial(function, _session(context), **arguments), timeout)
        except ToolException as error:
            raise ToolError(str(error)) from None
        except _MISTAKES as error:
            raise ToolError(str(error)[:500]) from error
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


def _session(context: "Context[Any, Any]") -> str | None:
    """Return the id of a session; ``None`` over HTTP without one, where clients can't be distinguished."""
    headers = context.headers
    return "" if headers is None else headers.get(_SESSION_HEADER)


# Patience, and errors as advice

_FAILED = "failed on the server, whose log says why. Try again once; if it fails again, tell the user."

_BUSY = "{}, as the server is busy. Try again in {} s; if that fails too, tell the user that it is busy now."

_AWAY = (
    "got no answer from the documents in time. Try again in a minute; if that fails too, tell the user that they can't "
    "be reached now."
)

_MAX_WAIT = 2
"""The longest wait before a client tries again, as a multiple of the call's limit. The wait is random."""

_PAUSES = (0.25, 0.5, 1.0, 2.0)
"""Approximate seconds between attempts; a call is made five times at most."""

_SPREAD = 0.5
"""The random share by which a pause is longer or shorter, so that calls don't come back at the same moment."""


class _BusyError(Exception):
    """A call took longer than its limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"gave no answer within {seconds:g} s")
        self.wait = math.ceil(random.uniform(1, _MAX_WAIT) * seconds)  # noqa: S311 - nothing secret


T = TypeVar("T")


async def _patiently(function: Callable[[], Awaitable[T]], seconds: float | None) -> T:
    """Make a call that only reads, and repeat it if the store doesn't answer.

    Args:
        function: Makes the call.
        seconds: The limit for all attempts together; ``None`` for no limit.

    Raises:
        StoreUnavailableError: The store didn't answer the last attempt.
        _BusyError: The call took too long.
    """
    away: BaseException | None = None
    try:
        async with asyncio.timeout(seconds) as limit:
            for pause in (*_PAUSES, None):
                try:
                    return await function()
                except StoreUnavailableError as error:
                    away = error
                if pause is not None:
                    await asyncio.sleep(pause * random.uniform(1 - _SPREAD, 1 + _SPREAD))  # noqa: S311 - nothing secret
    except TimeoutError:
        if seconds is None or not limit.expired():  # the store's own
            raise
        raise (away or _BusyError(seconds)) from None
    raise away or _BusyError(0)


class _AdvisingTool(Tool):
    """A tool whose errors say what to do next, and reveal nothing else about the cause."""

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
            raise ToolError(_explained(cause) if isinstance(cause, ValidationError) else str(cause or error)) from cause


def _explained(error: ValidationError) -> str:
    """Return a line for each invalid argument, without its value."""
    problems = error.errors(include_input=False)
    lines = [f"{'.'.join(map(str, each['loc']))[:50]}: {each['msg'][:_MAX_PROBLEM_CHARS]}" for each in problems]
    return "\n".join(["These arguments are invalid. Call the tool again with others.", *lines])[:500]
