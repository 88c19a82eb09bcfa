"""`create_tools`: tools with which an agent searches an index, and reads what is stored in it.

Numbers continue through a conversation, and a search shows only new passages, unless it finds none: see
`langchain_sentence_window.agents.numbering`. `read_around` always shows what it was asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, model_validator

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import BLOCKING, IO, arun, run
from langchain_sentence_window._primitives import STORABLE_ID
from langchain_sentence_window._validation import checked_flag, checked_list
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.answering.conversation import NumberedSource
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.stored_sentences import in_one_state

from .numbering import AgentCall, SourceNumbers
from .reading import MAX_FOUND, MAX_SENTENCES, find_passages, pattern_matcher, read_around, read_sections, words_matcher
from .source_labels import MAX_DOC_ID_CHARS, list_line, section_line, source_blocks
from .tool_errors import advice, explained

MAX_ARGUMENT_CHARS = 12 * MAX_DOC_ID_CHARS + 2
"""The most characters of a ``doc_id`` that a label shows, as a JSON string."""

MAX_WINDOWS = 20
"""The most windows that an agent may ask for in one search."""

MAX_LISTED = 100
"""The most documents, and the most sections of one, that are listed in one call."""

MAX_INDEX = 2**31
"""A number above the index of any sentence."""

Result: TypeAlias = tuple[str, list[Document]]
"""The text for the model, and its sources as the artifact."""

Runtime = Annotated[Any, InjectedToolArg]
"""The argument that LangGraph injects, which the model doesn't see: the state of the conversation and the call."""


class Arguments(BaseModel):
    """The arguments of a tool. One that is null counts as left out, as models send it so in strict mode."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if value is not None}


class ToolArguments(Arguments):
    """The arguments of a tool in LangGraph. MCP tools have no ``runtime``, so they extend `Arguments`."""

    runtime: Runtime = None


class SearchArguments(Arguments):
    """The arguments of a search."""

    query: str = Field(description="What to look for, as a question or in key words.")
    # Not ``int | None``: older models of Gemini refuse a schema with ``anyOf``.
    k: int = Field(
        default=cast("int", None), ge=1, le=MAX_WINDOWS, description=f"How many passages to return, 1 to {MAX_WINDOWS}."
    )


class ReadArguments(Arguments):
    """The arguments of reading around a passage."""

    doc_id: str = Field(
        max_length=MAX_ARGUMENT_CHARS, description="The doc_id of a passage that was found, as the search gave it."
    )
    first: int = Field(ge=0, le=MAX_INDEX, description="Number of the passage's first sentence, as the search gave it.")
    last: int = Field(ge=0, le=MAX_INDEX, description="Number of the passage's last sentence, as the search gave it.")
    before: int = Field(default=5, ge=0, le=MAX_SENTENCES, description="Sentences to read before the passage.")
    after: int = Field(default=5, ge=0, le=MAX_SENTENCES, description="Sentences to read after the passage.")


class _FindInput(ToolArguments):
    """The arguments of finding words."""

    text: str = Field(
        min_length=1, max_length=1_000, description="The words, as they appear in a document, or a regular expression."
    )
    doc_id: str = Field(
        default="", max_length=MAX_ARGUMENT_CHARS, description="The doc_id of the document to look in; none for all."
    )
    regex: bool = Field(
        default=False, description="Whether the text is a regular expression. Case counts, unless it begins with (?i)."
    )


class _ListInput(ToolArguments):
    skip: int = Field(default=0, ge=0, le=MAX_INDEX, description="How many to leave out at the beginning.")


class _DocumentsInput(_ListInput):
    """The arguments of listing documents."""

    name: str = Field(
        default="",
        max_length=MAX_DOC_ID_CHARS,
        description="What the doc_id, the title or the source holds; none for all.",
    )


class _OutlineInput(_ListInput):
    """The arguments of an outline."""

    doc_id: str = Field(max_length=MAX_ARGUMENT_CHARS, description="The doc_id of the document.")


class _SearchInput(ToolArguments, SearchArguments):
    pass


class _ReadInput(ToolArguments, ReadArguments):
    pass


KINDS: Mapping[str, tuple[type[Arguments], str]] = {
    "search": (
        _SearchInput,
        "Search the documents. Returns the passages that fit best, each with its location, the doc_id of its "
        "document and the numbers of its sentences. Of passages that you have, it returns the number alone.",
    ),
    "read_around": (
        _ReadInput,
        "Read more of a document around a passage that was found: the sentences before and after it. Use it when "
        "a passage seems to lack a condition, an exception or a definition, instead of searching again.",
    ),
    "documents": (
        _DocumentsInput,
        f"List the documents that can be searched, {MAX_LISTED} at a time: for each its doc_id, how long it is, its "
        "title and its source.",
    ),
    "outline": (
        _OutlineInput,
        "List the headings of a document, each with the numbers of the first and the last sentence below it. Give "
        "these to read_around to read there.",
    ),
    "find": (
        _FindInput,
        "Find exact words, such as a name, a number or a code, in one document or in all, ignoring case; or what "
        f"matches a regular expression. Returns the sentences that hold them, at most {MAX_FOUND} passages, as a "
        "search does. To find what is said in other words, search.",
    ),
}
"""The arguments and the description of each tool, which calls the method of `Reader` with its name."""


def create_tools(
    retriever: SentenceWindowRetriever,
    *,
    tools: Iterable[str] = ("search", "read_around"),
    prefix: str = "",
    show_again: bool = False,
) -> list[BaseTool]:
    """Create tools with which an agent reads an index.

    - ``search`` finds windows.
    - ``read_around`` reads the sentences around one of them, past headings too, so an agent can widen a window instead
      of searching again.
    - ``documents`` lists the documents.
    - ``outline`` lists the headings of a document.
    - ``find`` finds exact words, or what matches a regular expression, in time that grows with the text alone. The
      expressions are Rust's, which have neither look-around nor backreferences.

    The model gets sources between tags, as `format_context` writes them, each with its ``doc_id`` and the numbers of
    its sentences. The artifact is the list of Documents. After a wrong call, the model gets a text that says what to
    do.

    All tools read only what the retriever's filter allows, regardless of what a model asks for. A run can narrow it:
    ``agent.invoke(..., {"configurable": {"filter": {"tenant": "a"}}})``.

    In a conversation, each passage has its own number and keeps it. A search shows new passages, and only the numbers
    of passages that were shown before. If it finds nothing new in an agent, it shows everything again. In an agent or a
    LangGraph graph, the conversation is read from its ``messages``. Elsewhere the tools remember it by the
    ``thread_id`` of the run's configuration; without one, make new tools for each conversation. In a forgotten
    conversation, numbers start from 1 again.

    Args:
        retriever: The retriever to search with. Its store must be able to fetch by id; for ``documents``, and ``find``
            in all documents, also to list what it holds.
        tools: Which of them.
        prefix: A prefix for the names of the tools, to distinguish several indexes.
        show_again: Whether a search also shows passages that the conversation has shown before.

    Returns:
        The tools, in the order of their names, for ``create_agent``, LangGraph's ``ToolNode`` or ``bind_tools``.

    Raises:
        InvalidInputError: The retriever isn't a `SentenceWindowRetriever`, or another argument can't be used.
    """
    return tools_of(Reader(retriever, checked_flag("show_again", show_again)), tools, prefix)


def tools_of(reader: "Reader", tools: object, prefix: object) -> list[BaseTool]:
    """Make tools that share their functions, see `create_tools`."""
    if not isinstance(prefix, str):
        raise InvalidInputError(f"prefix is {shown(prefix)}; give a string, such as 'terms_'")
    names = dict.fromkeys(checked_list("tools", tools))
    if unknown := [name for name in names if name not in KINDS]:
        raise InvalidInputError(f"tools has {shown(unknown[0])}; give some of {', '.join(KINDS)}")
    return [_make_tool(reader, str(name), prefix) for name in names]


def is_own_tool(tool: object) -> bool:
    """Return whether a tool is one of `create_tools`."""
    takes = tool.args_schema if isinstance(tool, BaseTool) else None
    return isinstance(takes, type) and issubclass(takes, Arguments)


@dataclass(frozen=True)
class Reader:
    """The functions of the tools. They can be pickled whenever the retriever can.

    Each takes the configuration of the run, what LangGraph gives a tool, and the arguments of its tool.

    Attributes:
        retriever: The retriever.
        show_again: Whether a search shows again what the conversation has shown before.
        numbers: Numbers what is shown.
    """

    retriever: SentenceWindowRetriever
    show_again: bool = False
    numbers: SourceNumbers = field(default_factory=SourceNumbers)

    def __post_init__(self) -> None:
        """Check the retriever.

        Raises:
            InvalidInputError: It isn't a `SentenceWindowRetriever`.
        """
        if not isinstance(self.retriever, SentenceWindowRetriever):
            raise InvalidInputError(
                f"the retriever is a {type(self.retriever).__name__}; give a SentenceWindowRetriever, as the tools "
                "read on around what they found, e.g. SentenceWindowRetriever(vectorstore=store)"
            )

    async def search(
        self, io: IO, config: RunnableConfig, runtime: object, asked: SearchArguments
    ) -> list[NumberedSource]:
        """Search, and number what is found."""
        if asked.query and not STORABLE_ID.fullmatch(asked.query):
            raise ToolException(
                "The query holds a NUL or a lone surrogate, which no text does. Ask again without such characters."
            )
        settings = {"k": asked.k, "filter": _filter_of(config)}
        given = {name: value for name, value in settings.items() if value is not None}
        called: RunnableConfig = {"callbacks": config.get("callbacks")}
        documents = await io.call(self.retriever.invoke, self.retriever.ainvoke, asked.query, called, **given)
        return self.numbered(documents, config, runtime, whole=self.show_again)

    async def read_around(
        self, io: IO, config: RunnableConfig, runtime: object, asked: ReadArguments
    ) -> list[NumberedSource]:
        """Read around a passage, and number what is read."""
        documents = await read_around(io, self.scope(config), **asked.model_dump(exclude={"runtime"}))
        return self.numbered(documents, config, runtime)

    async def find(self, io: IO, config: RunnableConfig, runtime: object, asked: _FindInput) -> Result:
        """Find words, and show the sentences that hold them."""
        matches = pattern_matcher(asked.text) if asked.regex else words_matcher(asked.text)
        find = partial(find_passages, io, matches=matches, doc_id=asked.doc_id)
        passages, others = await in_one_state(self.scope(config), find)
        text, sources = _tool_result(self.numbered(passages, config, runtime))
        if others:
            text += f"\n\nNot shown: {others:,} more. Give more words, or the doc_id of one document."
        return text, sources

    async def documents(self, io: IO, config: RunnableConfig, _: object, asked: _DocumentsInput) -> Result:
        """List the documents."""
        scope = self.scope(config)
        listed = await scope.adapter.list_documents(io, scope.filter)
        name = asked.name.casefold()
        fitting = [each for each in listed if name in f"{each.doc_id}\n{each.title}\n{each.source}".casefold()]
        return _page([list_line(each) for each in fitting], asked.skip, "documents"), []

    async def outline(self, io: IO, config: RunnableConfig, _: object, asked: _OutlineInput) -> Result:
        """List the headings of a document."""
        sections = await read_sections(io, self.scope(config), asked.doc_id)
        return _page(list(map(section_line, sections)), asked.skip, "sections"), []

    def scope(self, config: RunnableConfig) -> Scope:
        """Return what a run may read."""
        return self.retriever.scope(_filter_of(config))

    def numbered(
        self, documents: Iterable[Document], config: RunnableConfig, runtime: object = None, *, whole: bool = True
    ) -> list[NumberedSource]:
        """Number documents that are to be shown in a conversation.

        Args:
            documents: The documents.
            config: The configuration of the run.
            runtime: What LangGraph gives a tool: its ``state`` has the ``messages``, and ``tool_call_id`` names the
                call.
            whole: Whether all of each is shown, regardless of what the conversation has shown before.
        """
        call = AgentCall.of(getattr(runtime, "state", None), getattr(runtime, "tool_call_id", None))
        return self.numbers.add(documents, config, call, whole=whole)


def _filter_of(config: RunnableConfig) -> Any:
    """Return the filter that a run sets, which narrows that of the retriever."""
    return config.get("configurable", {}).get("filter")


def _page(lines: list[str], skip: int, what: str) -> str:
    """Return some of the lines of a list, and how to get others."""
    listed = lines[skip : skip + MAX_LISTED]
    if len(listed) == len(lines):
        return "\n".join(listed) or f"There are no such {what}."
    listed.append(f"These are {len(listed)} of {len(lines):,} {what}, after {skip:,}. Set skip for others.")
    return "\n".join(listed)


def _tool_result(sources: list[NumberedSource]) -> Result:
    return source_blocks(sources), [each.document for each in sources]


@dataclass(frozen=True, slots=True)
class _Function:
    """The function of a tool, which can be pickled."""

    reader: Reader
    name: str

    def blocking(self, *, config: RunnableConfig, runtime: Any = None, **given: Any) -> Result:
        return run(self._result(BLOCKING, config, runtime, given))

    async def asynchronous(self, *, config: RunnableConfig, runtime: Any = None, **given: Any) -> Result:
        return await arun(lambda io: self._result(io, config, runtime, given))

    async def _result(self, io: IO, config: RunnableConfig, runtime: object, given: Mapping[str, Any]) -> Result:
        asked = KINDS[self.name][0](**given)
        try:
            result = await getattr(self.reader, self.name)(io, config, runtime, asked)
        except SentenceWindowError as error:
            raise advice(error) from error
        return _tool_result(result) if isinstance(result, list) else result


def _make_tool(reader: Reader, name: str, prefix: str) -> BaseTool:
    function, (takes, description) = _Function(reader, name), KINDS[name]
    return StructuredTool.from_function(
        function.blocking,
        function.asynchronous,
        name=f"{prefix}{name}",
        description=description,
        args_schema=takes,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=explained,
    )
