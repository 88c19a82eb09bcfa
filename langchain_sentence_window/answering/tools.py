"""`create_tools`: tools with which an agent searches an index and reads more around what it found.

The line above each source is a label. Nothing in a document can forge its fields::

    [1] terms.md, line 5 (Refunds) · doc_id: terms · first: 2 · last: 2

A place is written as people read it, and a plain ``doc_id`` as it is. A place in which a field could begin, and any
other ``doc_id``, are written as a JSON string in which no field, no tag and no line can begin. `read_doc_id` reads a
``doc_id`` in either form.

Numbers run on through a conversation, and a search shows no passage twice: see
`langchain_sentence_window.answering.conversation`. What is read around a passage is shown whole, as it was asked for.

An error is shown to the model as advice: what to do next, without a traceback or a path.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, cast

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, arun, run
from langchain_sentence_window._primitives import STORABLE_ID, SentenceKey, Span, runs_of
from langchain_sentence_window._validation import checked_flag
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.keys import DOC_ID, SENTENCES
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, as_hit, by_key
from langchain_sentence_window.documents.window_documents import shown_text, unsearched
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.stored_sentences import in_one_state
from langchain_sentence_window.retrieval.window_reader import WindowReader
from langchain_sentence_window.windows.geometry import Window

from .citation_format import INVISIBLE, disguised, escaped_offsets, looks, source_number, visible
from .context import tagged
from .conversation import MOST_SOURCES, Conversation, Conversations, NumberedSource, conversation_of
from .locations import also_in, describe_location, doubt_about

MAX_DOC_ID_CHARS = 1_000
"""The most characters of a ``doc_id`` that a label shows. Around a source of a longer one, no more can be read."""

MAX_ARGUMENT_CHARS = 12 * MAX_DOC_ID_CHARS + 2
"""The most characters of such a ``doc_id`` as a JSON string."""


MAX_WINDOWS = 20
"""The most windows that an agent may ask for in one search."""

MAX_GAP_CHARS = 1_500
"""The most characters between two sentences that are read in one call; a picture in base64 has more."""

MAX_SENTENCES = 50
"""The most sentences that an agent may read on each side in one call."""

MAX_INDEX = 2**31
"""A number above the index of any sentence."""

NOTHING_FOUND = "Nothing was found. Search again in other words."

Result = tuple[str, list[Document]]


Runtime = Annotated[Any, InjectedToolArg]
"""The argument that LangGraph gives a tool, which a model isn't told of: the state of the conversation and the call."""


class Arguments(BaseModel):
    """The arguments of a tool. One that is null counts as left out, as models send it so in strict mode."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if value is not None}


class SearchArguments(Arguments):
    """The arguments of a search."""

    query: str = Field(description="What to look for, as a question or in key words.")
    # Not ``int | None``: older models of Gemini refuse a schema with ``anyOf``.
    k: int = Field(
        default=cast("int", None), ge=1, le=MAX_WINDOWS, description=f"How many passages to return, 1 to {MAX_WINDOWS}."
    )


class SearchInput(SearchArguments):
    """The arguments of the search tool."""

    runtime: Runtime = None


class ReadArguments(Arguments):
    """The arguments of reading around a passage."""

    doc_id: str = Field(
        max_length=MAX_ARGUMENT_CHARS, description="The doc_id of a passage that was found, as the search gave it."
    )
    first: int = Field(ge=0, le=MAX_INDEX, description="Number of the passage's first sentence, as the search gave it.")
    last: int = Field(ge=0, le=MAX_INDEX, description="Number of the passage's last sentence, as the search gave it.")
    before: int = Field(default=5, ge=0, le=MAX_SENTENCES, description="Sentences to read before the passage.")
    after: int = Field(default=5, ge=0, le=MAX_SENTENCES, description="Sentences to read after the passage.")


class ReadInput(ReadArguments):
    """The arguments of the reading tool."""

    runtime: Runtime = None


def create_tools(retriever: SentenceWindowRetriever, *, prefix: str = "", show_again: bool = False) -> list[BaseTool]:
    """Create the two tools with which an agent reads an index.

    ``search`` finds windows. ``read_around`` reads the sentences around one of them, past headings too, so an agent can
    widen a window instead of searching again. The model gets sources between tags, as `format_context` writes them,
    each with its ``doc_id`` and the numbers of its sentences. The artifact is the list of Documents. After a wrong
    call, the model gets a text that says what to do.

    Both tools read only what the retriever's filter allows, whatever a model asks for.

    In a conversation, each passage has its own number and keeps it. A search shows new passages, and only the numbers
    of passages that were shown before. In an agent or a LangGraph graph, the conversation is read from its
    ``messages``. Elsewhere the tools remember it by the ``thread_id`` of the run's configuration; without one, make new
    tools for each conversation. In a forgotten conversation, numbers start from 1 again.

    Args:
        retriever: The retriever to search with. Its store must be able to fetch by id.
        prefix: A prefix for the names of the tools, to tell several indexes apart.
        show_again: Whether a search also shows passages that the conversation has shown before.

    Returns:
        ``search`` and ``read_around``, in this order, for ``create_agent``, LangGraph's ``ToolNode`` or
        ``bind_tools``.

    Raises:
        InvalidInputError: The retriever isn't a `SentenceWindowRetriever`, or another argument can't be used.
    """
    _check_arguments(retriever, prefix)
    checked_flag("show_again", show_again)
    reader = Reader(retriever, f"{prefix}search", show_again)
    return [
        _make_tool(
            f"{prefix}search",
            "Search the documents. Returns the passages that fit best, each with its location, the doc_id of its "
            "document and the numbers of its sentences. Of passages that you have, it returns the number alone.",
            SearchInput,
            reader.search,
            reader.asearch,
            most_sources=retriever.k,
        ),
        _make_tool(
            f"{prefix}read_around",
            "Read more of a document around a passage that was found: the sentences before and after it. Use it when "
            "a passage seems to lack a condition, an exception or a definition, instead of searching again.",
            ReadInput,
            reader.read_around,
            reader.aread_around,
            most_sources=1,
        ),
    ]


@dataclass(frozen=True)
class Reader:
    """The functions of the tools. They can be pickled whenever the retriever can.

    Attributes:
        retriever: The retriever.
        search_name: The name of the tool that searches.
        show_again: Whether a search shows again what the conversation has shown before.
        conversations: The conversations without messages.
    """

    retriever: SentenceWindowRetriever
    search_name: str = "search"
    show_again: bool = False
    conversations: Conversations = field(default_factory=Conversations)

    def search(self, *, config: RunnableConfig, runtime: Any = None, **query: Any) -> Result:
        """Search, and show the sources."""
        return _tool_result(run(self.found(BLOCKING, config, runtime, **query)))

    async def asearch(self, *, config: RunnableConfig, runtime: Any = None, **query: Any) -> Result:
        """Search, and show the sources."""
        return _tool_result(await self.found(ASYNC, config, runtime, **query))

    def read_around(self, *, config: RunnableConfig, runtime: Any = None, **place: Any) -> Result:
        """Read around a passage, and show the source."""
        return _tool_result(run(self.read(BLOCKING, config, runtime, **place)))

    async def aread_around(self, *, config: RunnableConfig, runtime: Any = None, **place: Any) -> Result:
        """Read around a passage, and show the source."""
        return _tool_result(await arun(lambda io: self.read(io, config, runtime, **place)))

    async def found(
        self, io: IO, config: RunnableConfig, runtime: object = None, *, query: str, k: int | None = None
    ) -> list[NumberedSource]:
        """Search, and number what is found."""
        _check_text(query)
        given = {} if k is None else {"k": k}
        called: RunnableConfig = {"callbacks": config.get("callbacks")}
        documents = await _advised(io.call(self.retriever.invoke, self.retriever.ainvoke, query, called, **given))
        return self.numbered(documents, config, runtime, whole=self.show_again)

    async def read(self, io: IO, config: RunnableConfig, runtime: object = None, **place: Any) -> list[NumberedSource]:
        """Read around a passage, see `ReadArguments`, and number what is read."""
        documents = await _advised(_read_passage(io, self.retriever.scope(), ReadArguments(**place)))
        return self.numbered(documents, config, runtime)

    def numbered(
        self, documents: Iterable[Document], config: RunnableConfig, runtime: object = None, *, whole: bool = True
    ) -> list[NumberedSource]:
        """Number documents that are to be shown in a conversation.

        Args:
            documents: The documents.
            config: The configuration of the run.
            runtime: What LangGraph gives a tool.
            whole: Whether all of each is shown, whatever the conversation has shown before.
        """
        conversation = conversation_of(runtime, {self.search_name: self.retriever.k})
        thread = config.get("configurable", {}).get("thread_id", "")
        if conversation is None and thread is not None:
            sources = self.conversations.add(str(thread), documents, whole=whole)
        else:
            sources = (conversation or Conversation()).add(documents, whole=whole)
        return [replace(source, is_new=True) for source in sources] if whole else sources


def _tool_result(sources: Sequence[NumberedSource]) -> Result:
    return source_blocks(sources), [each.document for each in sources]


def _make_tool(
    name: str,
    description: str,
    takes: type[BaseModel],
    function: Callable[..., Any],
    asynchronous: Callable[..., Any],
    *,
    most_sources: int,
) -> BaseTool:
    return StructuredTool.from_function(
        function,
        asynchronous,
        name=name,
        description=description,
        args_schema=takes,
        metadata={MOST_SOURCES: most_sources},
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=explained,
    )


def _check_arguments(retriever: object, prefix: object) -> None:
    if not isinstance(prefix, str):
        raise InvalidInputError(f"prefix is {shown(prefix)}; give a string, such as 'terms_'")
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(
            f"create_tools takes a SentenceWindowRetriever, not {type(retriever).__name__}, as its tools read on "
            "around what they found; make one over the store, e.g. SentenceWindowRetriever(vectorstore=store)"
        )


def _check_text(query: str) -> None:
    if query and not STORABLE_ID.fullmatch(query):
        raise ToolException(
            "The query holds a NUL or a lone surrogate, which no text does. Ask again without such characters."
        )


async def _read_passage(io: IO, scope: Scope, place: ReadArguments) -> list[Document]:
    """Read sentences and those around them, as far as the document goes, as one Document."""
    given, first, last = place.doc_id, place.first, place.last
    if last < first:
        raise ToolException(f"first is {first} and last is {last}; give the numbers as the search gave them")
    if last - first > 2 * MAX_SENTENCES:
        raise ToolException(f"{first} to {last} are more than {2 * MAX_SENTENCES} sentences; read a part at a time")
    # A label quotes a doc_id that isn't plain, but a doc_id may have quotes of its own too.
    for doc_id in dict.fromkeys([read_doc_id(given), given]):
        if not STORABLE_ID.fullmatch(doc_id):
            continue
        wanted = range(max(0, first - place.before), last + place.after + 1)
        found = await in_one_state(
            scope,
            partial(_read_run, io, doc_id=doc_id, sentences=(first, last), wanted=wanted),
        )
        if found is not None:
            return [found]
    raise ToolException(
        f"There is no document {quoted(given)} with a sentence {first}. Search first, and use the doc_id "
        "and the sentence numbers of a passage that was found."
    )


async def _read_run(io: IO, scope: Scope, *, doc_id: str, sentences: Span, wanted: range) -> Document | None:
    read = await read_sentence_range(io, scope, doc_id, wanted)
    run = _run_of([index for _, index in read], sentences, bound=scope.filter is not None)
    if not run:
        return None
    ends = [index for index in run[:-1] if len(read[doc_id, index].separator) > MAX_GAP_CHARS]
    begin = next((end for end in reversed(ends) if end < sentences[0]), -1)
    stop = next((end for end in ends if end >= sentences[0]), run[-1])
    run = [index for index in run if begin < index <= stop]
    hits = tuple(as_hit(read[doc_id, index], 0.0) for index in run if sentences[0] <= index <= sentences[1])
    return await unsearched_window(io, scope, Window(doc_id, run[0], run[-1], hits), read)


async def read_sentence_range(io: IO, scope: Scope, doc_id: str, indexes: range) -> dict[SentenceKey, StoredSentence]:
    """Read those of a document's sentences that exist, by document and index.

    Raises:
        ToolException: The store can't fetch by id.
    """
    documents = await scope.fetch(io, [(doc_id, index) for index in indexes])
    if documents is None:
        raise ToolException("This index can't be read sentence by sentence. Search again instead.")
    return by_key(map(scope.adapter.read, documents))


async def unsearched_window(io: IO, scope: Scope, window: Window, read: SentencesByKey) -> Document:
    """Return the Document of a window that was read without a search, so that it has neither hits nor scores.

    Args:
        io: Makes the calls.
        scope: The store, and what may be read of it.
        window: The window; the hits that it needs are any of its sentences.
        read: Its sentences.
    """
    (document,) = await WindowReader(io, scope, read, read).documents([window])
    return unsearched(document)


def _run_of(found: Sequence[int], sentences: Span, *, bound: bool) -> list[int]:
    """Return the indexes to show of those found; none if the wanted ones aren't among them.

    Under a filter it is the first unbroken run, as a missing sentence may be forbidden. Without one a gap is damage,
    which raises an error later.
    """
    there = sorted(found)
    inside = [index for index in there if sentences[0] <= index <= sentences[1]]
    if not inside or not bound:
        return there if inside else []
    return next(run for run in runs_of(there) if inside[0] in run)


async def _advised(found: Awaitable[list[Document]]) -> list[Document]:
    try:
        return await found
    except SentenceWindowError as error:
        raise advice(error) from error


def source_blocks(sources: Sequence[NumberedSource]) -> str:
    """Return the new ones of some sources between tags, below a doubt if any, and a line that names the others."""
    blocks = [tagged(each.number, label(each.document), shown_text(each.document)) for each in sources if each.is_new]
    if known := dict.fromkeys(source_number(each.number) for each in sources if not each.is_new):
        blocks.append(f"Also found: {', '.join(known)}. You have {'these' if len(known) > 1 else 'it'} already.")
    doubt = doubt_about([each.document for each in sources])
    return "\n\n".join([doubt, *blocks] if doubt else blocks) or NOTHING_FOUND


_MAX_LOCATION_CHARS = 300
_PLAIN_ID = re.compile(r"[\w./:@#+~=-]+")
_FIELD = re.compile(rf"(?:{disguised('doc')}[\W_]?\w\w|{disguised('first')}|{disguised('last')})\s*(?=:)")
_SEPARATOR = "·"
_UNSEEN_LOOKS = (" ", "\n", INVISIBLE)
"""The looks of characters that a model may drop, or replace by a plain space."""

_SUSPECT = re.compile(r"(?<= ) |[^ -~]")


def label(document: Document) -> str:
    """Return where a window is from, and the fields with which more around it can be read, if they are known."""
    if SENTENCES not in document.metadata:
        return _location(document)
    first, last = document.metadata[SENTENCES]
    doc_id = str(document.metadata[DOC_ID])
    field = f"doc_id: {_format_doc_id(doc_id)}" if len(doc_id) <= MAX_DOC_ID_CHARS else "doc_id too long to be read on"
    return f"{_location(document)} {_SEPARATOR} {field} {_SEPARATOR} first: {first} {_SEPARATOR} last: {last}"


def read_doc_id(given: str) -> str:
    """Return the ``doc_id`` that a label shows, either quoted or as it is."""
    if len(given) > 1 and given.startswith('"') and given.endswith('"'):
        try:
            return str(json.loads(given, strict=False))
        except ValueError:
            return given
    return given


def _format_doc_id(doc_id: str) -> str:
    """Return a doc_id as it is shown to a model, which may give it back: in quotes unless it is plain."""
    return doc_id if _PLAIN_ID.fullmatch(doc_id) and not _field_ends(doc_id) else _quote_as_json(doc_id)


def _location(document: Document) -> str:
    location = describe_location(document)
    if len(location) > _MAX_LOCATION_CHARS:
        location = f"{location[:_MAX_LOCATION_CHARS]}…"
    others = also_in(document)
    location += others and f" {_SEPARATOR} also in {others}"
    return _quote_as_json(location) if _field_ends(location) else location


def _quote_as_json(text: str) -> str:
    """Return a text as a JSON string on one line, with all escaped that a model may drop or `tagged` would change."""
    quoted = json.dumps(text, ensure_ascii=False)
    marks = _field_ends(quoted) | escaped_offsets(quoted)
    quoted = "".join(_escaped(each) if offset in marks else each for offset, each in enumerate(quoted))
    return _SUSPECT.sub(_unless_seen, quoted)


def _field_ends(text: str) -> set[int]:
    """Return the offsets of colons that follow something like a field's name."""
    look, offsets = visible(text)
    return {offsets[match.end()] for match in _FIELD.finditer(look)}


def _unless_seen(found: re.Match[str]) -> str:
    character = found[0]
    is_seen = character.isprintable() and character != " " and looks(character) not in _UNSEEN_LOOKS
    return character if is_seen else _escaped(character)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 126 else f"\\u{ord(character):04x}"  # noqa: PLR2004


MAX_ADVICE_CHARS = 500
"""The most characters of an error that a model is shown, so that it doesn't read again all that it sent."""

_MAX_NAME_CHARS = 50
_MAX_PROBLEM_CHARS = 200
_MAX_SHOWN_CHARS = 100


def advice(error: SentenceWindowError) -> ToolException:
    """Return the error to raise in place of one of this package."""
    return ToolException(_truncate(f"{type(error).__name__}: {error}", MAX_ADVICE_CHARS))


def explained(error: object) -> str:
    """Return one line for each argument that can't be used; what was given isn't shown again."""
    problems = error.errors(include_input=False) if isinstance(error, ValidationError) else []
    listed = [(".".join(map(str, problem["loc"])), problem["msg"]) for problem in problems] or [("", str(error))]
    lines = [f"{_truncate(where, _MAX_NAME_CHARS)}: {_truncate(what, _MAX_PROBLEM_CHARS)}" for where, what in listed]
    return _truncate(
        "\n".join(["These arguments can't be used. Call the tool again with others.", *lines]), MAX_ADVICE_CHARS
    )


def quoted(given: str) -> str:
    """Return what a model gave, shortened, as it is shown again."""
    return _truncate(repr(given), _MAX_SHOWN_CHARS)


def no_document(given: str) -> ToolException:
    """Return the error for an id that names nothing, or nothing that may be read: the words are the same."""
    return ToolException(
        f"There is no document {quoted(given)}. Search first, and use the id or the doc_id of a passage that was found."
    )


def _truncate(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
