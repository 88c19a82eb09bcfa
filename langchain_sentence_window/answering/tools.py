"""`create_tools`: what an agent needs to search, and to read on around what it found."""

from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import Document
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.vectorstores import VectorStore
from pydantic import BaseModel, Field, ValidationError

from langchain_sentence_window.answering.context import describe_place, tagged
from langchain_sentence_window.any_store.access import fetch
from langchain_sentence_window.calls import Steps, arun, run
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.ids import is_storable_id, sentence_id
from langchain_sentence_window.metadata.keys import DOC_ID, HITS, SCORE, SENTENCES
from langchain_sentence_window.metadata.sentence_documents import as_hit, by_place, read_sentence
from langchain_sentence_window.metadata.window_documents import window_document
from langchain_sentence_window.retriever import SentenceWindowRetriever
from langchain_sentence_window.windows import Window

MOST_WINDOWS = 20
"""Windows an agent may ask for in one search."""

MOST_SENTENCES = 50
"""Sentences an agent may read on each side in one call."""

NOTHING_FOUND = "Nothing was found. Search again in other words."

Result = tuple[str, list[Document]]


class SearchInput(BaseModel):
    """What the search tool takes."""

    query: str = Field(description="What to look for, as a question or in key words.")
    k: int | None = Field(
        default=None, ge=1, le=MOST_WINDOWS, description=f"How many passages to return, 1 to {MOST_WINDOWS}."
    )


class ReadInput(BaseModel):
    """What the reading tool takes."""

    doc_id: str = Field(description="The doc_id of a passage that was found.")
    first: int = Field(ge=0, description="Number of the passage's first sentence, as the search gave it.")
    last: int = Field(ge=0, description="Number of the passage's last sentence, as the search gave it.")
    before: int = Field(default=5, ge=0, le=MOST_SENTENCES, description="Sentences to read before the passage.")
    after: int = Field(default=5, ge=0, le=MOST_SENTENCES, description="Sentences to read after the passage.")


def create_tools(retriever: SentenceWindowRetriever, *, prefix: str = "") -> list[BaseTool]:
    """Make the two tools with which an agent reads an index.

    ``search`` finds windows; ``read_around`` reads on around one of them, past headings too, so that an
    agent can widen a window instead of searching again. What a model is shown are sources between tags,
    as for `format_context`, each with its ``doc_id`` and the numbers of its sentences; the
    artifact is the list of Documents. A mistake comes back to the model as text that says what to do.

    Args:
        retriever: Its store must be able to fetch by id.
        prefix: Put before the names of the tools, to tell those of several indexes apart.

    Returns:
        ``search`` and ``read_around``, in this order, for ``create_agent``, LangGraph's ``ToolNode`` or
        ``bind_tools``.
    """

    def search(query: str, k: int | None = None, callbacks: Callbacks = None) -> Result:
        found = _tried(lambda: retriever.invoke(query, {"callbacks": callbacks}, **_given(k)))
        return _shown(found)

    async def asearch(query: str, k: int | None = None, callbacks: Callbacks = None) -> Result:
        try:
            found = await retriever.ainvoke(query, {"callbacks": callbacks}, **_given(k))
        except SentenceWindowError as error:
            raise ToolException(_advice(error)) from error
        return _shown(found)

    def read_around(doc_id: str, first: int, last: int, before: int = 5, after: int = 5) -> Result:
        return _shown(_tried(lambda: run(_read(retriever.vectorstore, doc_id, (first, last), before, after))))

    async def aread_around(doc_id: str, first: int, last: int, before: int = 5, after: int = 5) -> Result:
        try:
            found = await arun(_read(retriever.vectorstore, doc_id, (first, last), before, after))
        except SentenceWindowError as error:
            raise ToolException(_advice(error)) from error
        return _shown(found)

    return [
        _tool(
            f"{prefix}search",
            "Search the documents. Returns the passages that fit best, each with its place, the doc_id of its "
            "document and the numbers of its sentences.",
            SearchInput,
            search,
            asearch,
        ),
        _tool(
            f"{prefix}read_around",
            "Read more of a document around a passage that was found: the sentences before and after it. Use it when "
            "a passage seems to lack a condition, an exception or a definition, instead of searching again.",
            ReadInput,
            read_around,
            aread_around,
        ),
    ]


def _tool(
    name: str, description: str, takes: type[BaseModel], function: Callable[..., Any], asynchronous: Callable[..., Any]
) -> BaseTool:
    return StructuredTool.from_function(
        function,
        asynchronous,
        name=name,
        description=description,
        args_schema=takes,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=_explained,
    )


def _given(k: int | None) -> dict[str, Any]:
    return {} if k is None else {"k": k}


def _tried(ask: Callable[[], list[Document]]) -> list[Document]:
    try:
        return ask()
    except SentenceWindowError as error:
        raise ToolException(_advice(error)) from error


def _advice(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _explained(error: Any) -> str:
    """Say which arguments were wrong, in a line each."""
    problems = error.errors() if isinstance(error, ValidationError) else [{"loc": (), "msg": str(error)}]
    lines = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems]
    return "These arguments can't be used. Call the tool again with others.\n" + "\n".join(lines)


def _read(
    store: VectorStore, doc_id: str, sentences: tuple[int, int], before: int, after: int
) -> Steps[list[Document]]:
    """The sentences, and those before and after, as far as the document goes, as one Document."""
    first, last = sentences
    if last < first:
        raise ToolException(f"first is {first} and last is {last}; give the numbers as the search gave them")
    if last - first > 2 * MOST_SENTENCES:
        raise ToolException(f"{first} to {last} are more than {2 * MOST_SENTENCES} sentences; read a part at a time")
    if not is_storable_id(doc_id):
        raise ToolException(f"{doc_id!r} is no doc_id. Search first, and use the doc_id of a passage that was found.")
    ids = [sentence_id(doc_id, index) for index in range(max(0, first - before), last + after + 1)]
    documents = yield from fetch(store, ids)
    if documents is None:
        raise ToolException("This index can't be read sentence by sentence. Search again instead.")
    read = by_place(map(read_sentence, documents))
    found = sorted(index for _, index in read)
    inside = [index for index in found if first <= index <= last]
    if not inside:
        raise ToolException(
            f"Document {doc_id!r} has no sentence {first}. Search first, and use the doc_id and the sentence numbers "
            "of a passage that was found."
        )
    hits = tuple(as_hit(read[doc_id, index], 0.0) for index in inside)
    window = window_document(Window(doc_id, found[0], found[-1], hits), read)
    # Nothing was searched, so there are neither hits nor scores.
    metadata = {key: value for key, value in window.metadata.items() if key not in (HITS, SCORE)}
    return [window.model_copy(update={"metadata": metadata})]


def _shown(documents: list[Document]) -> Result:
    """What the model reads, and the Documents themselves."""
    blocks = [
        tagged(f"[{number}] {_label(document)}\n{document.page_content}")
        for number, document in enumerate(documents, 1)
    ]
    return "\n\n".join(blocks) or NOTHING_FOUND, documents


def _label(document: Document) -> str:
    first, last = document.metadata[SENTENCES]
    doc_id = " ".join(str(document.metadata[DOC_ID]).split())
    return f"{describe_place(document)} · doc_id: {doc_id} · first: {first} · last: {last}"
