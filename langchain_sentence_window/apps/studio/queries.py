"""Query the index: windows as cards, answers of a chat model, and why a sentence is found or isn't.

An answer comes as lines: the windows first, then the statements as they come, then the citations. A line is one of

- ``{"question": "..."}``: of a follow-up, the question that is searched with,
- ``{"windows": [...], "doubt": "...", "seconds": s}``: the cards of the windows that the model is shown, and a sentence
  if they may not answer the question,
- ``{"text": "...", "quotes": [...]}``: what the answer grows by, and the quotes of it that were verified,
- ``{"done": {...}}``: the whole ``answer``, its ``citations`` and ``quotes``, and the ``seconds`` that it took.

All places are spans of code points: of the answer, or of a document.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel, Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window._primitives import encodable
from langchain_sentence_window.answering.chain import (
    HISTORY,
    PROMPT,
    QUESTION,
    QUOTING_PROMPT,
    Citing,
    read_conversation,
    rewriter,
)
from langchain_sentence_window.answering.citation_format import on_one_line
from langchain_sentence_window.answering.citations import LOCATION, NUMBER, SOURCE_END, SOURCE_START, VERDICT
from langchain_sentence_window.answering.content_blocks import MARK, citation_blocks
from langchain_sentence_window.answering.context import format_context
from langchain_sentence_window.answering.links import link_to
from langchain_sentence_window.answering.locations import (
    describe_location,
    display_name,
    document_title,
    doubt_about,
    numbered_place,
)
from langchain_sentence_window.answering.quoted_answer import answer_in_quotes, answer_with_numbers, quotes_as_cited
from langchain_sentence_window.answering.quotes.verification import VerifiedQuote, verify_quotes
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, SOURCE, START_INDEX
from langchain_sentence_window.documents.window_fields import FIELDS
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.ranking.signals import SIGNALS
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.settings import SETTINGS
from langchain_sentence_window.retrieval.telemetry import LOGGER
from langchain_sentence_window.retrieval.tracing.trace import Trace

from .page_state import Studio, calling, reading
from .read_document import window_layout
from .replies import Refused, fields_of, lines
from .setting_form import to_ask

MAX_EXAMPLES = 3
MAX_EXAMPLE_CHARS = 200


Settings: TypeAlias = dict[str, Any]
"""The settings of a call by name."""

NO_SETTINGS: Any = Field(default_factory=dict)


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        calling("/api/ask", ask),
        reading("/api/examples", examples),
        calling("/api/answer", answer),
        calling("/api/explain", explain),
        calling("/api/why", why),
    ]


async def ask(studio: Studio, query: str, settings: Settings = NO_SETTINGS) -> object:
    """Return the windows of a question as cards.

    With them come ``doubt``, a sentence if they may not answer it, the ``seconds`` that the retriever took, and
    ``limits``: advice on the settings by which it may have left something out, if it found nothing.
    """
    retriever, call = await ASYNC.in_thread(to_ask, studio.retriever, settings)
    windows, seconds = await search(retriever, call, query)
    return {
        "windows": await ASYNC.in_thread(cards_of, windows),
        "doubt": doubt_about(windows),
        "seconds": seconds,
        "limits": [] if windows else _limits(retriever, call),
    }


async def examples(studio: Studio) -> object:
    """Return a few questions to try: the first ones with gold spans, else one for each of the first documents."""
    found: list[str] = []
    # The questions may be on documents that a filter hides.
    if studio.question_list.path is not None and studio.retriever.scope().filter is None:
        try:
            found = [each.question.question for each in await ASYNC.in_thread(studio.question_list.all)]
        except InvalidInputError:  # there is no such file yet, or the page of questions says what is wrong with it
            found = []
    if not found:
        found = [f"What is said in “{title}”?" for title in await _titles(studio)]
    return {"examples": [each for each in dict.fromkeys(found) if len(each) <= MAX_EXAMPLE_CHARS][:MAX_EXAMPLES]}


async def _titles(studio: Studio) -> list[str]:
    try:
        documents = await studio.documents()
    except InvalidInputError:  # the store can't list them
        return []
    return [title for each in documents if (title := on_one_line(each.title or "", MAX_EXAMPLE_CHARS))]


def _limits(retriever: SentenceWindowRetriever, settings: Mapping[str, Any]) -> list[str]:
    own = {name: getattr(retriever, name) for name, row in SETTINGS.items() if row.advice}
    own["filter"] = True if retriever.scope().filter is not None else None
    # A call's filter narrows the retriever's own, and doesn't replace it.
    given = {name: value for name, value in settings.items() if name != "filter" or value is not None}
    return [SETTINGS[name].advice for name, value in (own | given).items() if name in own and value is not None]


def cards_of(windows: Sequence[Document]) -> list[dict[str, Any]]:
    """Return what the page shows of windows."""
    return [card(window, rank) for rank, window in enumerate(windows, 1)]


def card(window: Document, rank: int) -> dict[str, Any]:
    """Return what the page shows of a window.

    Args:
        window: A window Document.
        rank: Its position in the result, from 1.

    Returns:
        ``rank``, ``name`` and ``title`` (of its document, equal if it has no title), ``location``, ``place`` (its
        slides or rows), ``url``, ``text``, its ``kind`` and the same in ``blocks``, and the fields of the window that
        the page gets, as they are; see `WindowField`. Missing ones are left out.
    """
    keys = [SOURCE, *(field.key for field in FIELDS if field.is_on_page)]
    carried = {key: window.metadata[key] for key in keys if window.metadata.get(key) is not None}
    return {
        "rank": rank,
        "name": display_name(window),
        "title": document_title(window),
        "location": describe_location(window),
        "place": numbered_place(window).removeprefix(", "),
        "url": web_address(link_to(window)),
        "text": window.page_content,
        **window_layout(window),
        **carried,
    }


def web_address(address: str | None) -> str | None:
    """Return an address of the web; ``None`` for a file's, which browsers don't open from a page of the web."""
    return address if address is not None and address.lower().startswith(("http://", "https://")) else None


MAX_ERROR_CHARS = 500
"""The most characters of a chat model's error that the page shows."""


Found: TypeAlias = tuple[list[Document], float]
"""Windows, and the seconds that the retriever took."""


class HistoryMessage(BaseModel):
    """A message of the conversation."""

    role: Literal["user", "assistant"]
    content: str


async def answer(
    studio: Studio,
    query: str,
    settings: Settings = NO_SETTINGS,
    citations: Citing = "quotes",
    history: tuple[HistoryMessage, ...] = (),
) -> Response:
    """Answer a question, as lines.

    The answer ends when the page goes away, and the model's with it.

    Raises:
        Refused: There is no chat model.
        InvalidInputError: The question or a setting can't be used.
    """
    if studio.chat_model is None:
        raise Refused(
            409,
            "this page has no chat model; start it with one: sentence-window serve --model NAME, or "
            "serve_studio(retriever, chat_model=...)",
        )
    retriever, call = await ASYNC.in_thread(to_ask, studio.retriever, settings)
    search_with = partial(search, retriever, call)
    # What can't be searched with is refused before a line is sent. A follow-up must be rewritten first.
    found = None if history else await search_with(query)
    said = [{"role": each.role, "content": encodable(each.content)} for each in history]
    state = read_conversation({QUESTION: encodable(query), HISTORY: said})
    return lines(_answered(studio.chat_model, citations, state, search_with, found))


async def search(retriever: SentenceWindowRetriever, settings: Mapping[str, Any], query: str) -> Found:
    """Search, and measure the seconds."""
    began = time.perf_counter()
    windows = await retriever.ainvoke(query, **settings)
    return windows, time.perf_counter() - began


async def _answered(
    model: BaseChatModel,
    citing: Citing,
    state: dict[str, Any],
    search: Callable[[str], Awaitable[Found]],
    found: Found | None,
) -> AsyncIterator[Mapping[str, Any]]:
    began = time.perf_counter()
    if found is None:
        with _as_refusal():
            standalone = await rewriter(model).ainvoke(state)
        yield {"question": standalone}
        found = await search(standalone)
    windows, seconds = found
    yield {"windows": await ASYNC.in_thread(cards_of, windows), "doubt": doubt_about(windows), "seconds": seconds}
    text, quotes = "", list[VerifiedQuote]()
    # Without sources there is nothing that a model could answer from.
    if windows:
        with _as_refusal():
            async for added, more in _parts(model, citing, state | {"context": windows}):
                text += added
                quotes += more
                yield {"text": added, "quotes": [_quote(each) for each in more]}
    if citing == "numbers":
        quotes = await ASYNC.in_thread(verify_quotes, text, windows)
    whole = await ASYNC.in_thread(_whole, citing, text, windows, quotes)
    yield {"done": whole | {"seconds": time.perf_counter() - began}}


async def _parts(
    model: BaseChatModel, citing: Citing, state: dict[str, Any]
) -> AsyncIterator[tuple[str, list[VerifiedQuote]]]:
    """Yield what an answer grows by, with its quotes.

    It is that of `create_rag_chain`, without the tasks that LangChain starts in such a chain: these go on when nobody
    reads the answer any more, and so does the model.

    Raises:
        AnswerFormatError: The model wrote no statements with quotes.
    """
    prompt = RunnableLambda(_prompt_values)
    numbered = answer_with_numbers(prompt | PROMPT, model, "keep")
    if citing == "quotes":
        async for part in answer_in_quotes(prompt | QUOTING_PROMPT, model, "mark", numbered).astream(state):
            if part.get("answer") or part.get("quotes"):
                yield part["answer"], part.get("quotes", [])
    else:
        async for text in numbered.astream(state):
            if text:
                yield text, []


@contextmanager
def _as_refusal() -> Iterator[None]:
    """Tell of what the model's own client raises.

    Raises:
        Refused: It raised something.
    """
    try:
        yield
    except SentenceWindowError:
        raise
    except Exception as error:
        LOGGER.warning("the chat model failed: %r", error)
        raise Refused(502, f"the chat model failed with {type(error).__name__}: {_short(str(error))}") from error


def _prompt_values(state: Mapping[str, Any]) -> dict[str, Any]:
    return {**state, "context": format_context(state["context"])}


def _whole(citing: Citing, text: str, windows: Sequence[Document], quotes: Sequence[VerifiedQuote]) -> dict[str, Any]:
    """Return what the page shows of a whole answer."""
    cited = quotes if citing == "numbers" else quotes_as_cited(quotes)
    return {
        "answer": text,
        "citations": [
            _citation(cast("Mapping[str, Any]", each)) for each in citation_blocks(text, windows, quotes=cited)
        ],
        "quotes": [_quote(quote) for quote in quotes],
    }


def _citation(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a citation: its number, its mark and its statement in the answer, and what it cites in a document."""
    extras = block["extras"]
    return {
        "number": extras[NUMBER],
        "mark": extras[MARK],
        "statement": [block[START_INDEX], block[END_INDEX]],
        "doc_id": extras.get(DOC_ID),
        "start": extras.get(SOURCE_START),
        "end": extras.get(SOURCE_END),
        "text": block["cited_text"],
        "location": extras[LOCATION],
        "url": web_address(block.get("url")),
        "verdict": extras.get(VERDICT),
    }


def _quote(quote: VerifiedQuote) -> dict[str, Any]:
    """Return a quote of an answer with its verdict, the places where it stands, and what a paraphrase is like."""
    places, closest = (
        [fields_of(place, "number doc_id start end text location") for place in given]
        for given in (quote.places, [quote.closest] if quote.closest else [])
    )
    told = fields_of(quote, "kind text start end cited verdict similarity")
    return told | {"places": places, "closest": closest[0] if closest else None}


def _short(text: str) -> str:
    return text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"


MAX_INDEX = 10_000_000


Index: TypeAlias = Annotated[int, Field(ge=0, le=MAX_INDEX)]


async def explain(studio: Studio, query: str, settings: Settings = NO_SETTINGS) -> object:
    """Return the trace of a question, the names of its documents, and the meanings of its signals."""
    retriever, call = await ASYNC.in_thread(to_ask, studio.retriever, settings)
    trace = await retriever.aexplain(query, **call)
    found = trace.to_dict()
    # The call's filter; the retriever's own binds anyway, and isn't the page's to tell.
    return {
        **found,
        "settings": {**found["settings"], "filter": call.get("filter")},
        "names": await _names(retriever, trace),
        "meanings": _meanings(name for hit in trace.hits for name in hit.signals),
    }


async def why(studio: Studio, query: str, doc_id: str, sentence: Index, settings: Settings = NO_SETTINGS) -> object:
    """Return what became of a sentence, and the settings that would return it."""
    retriever, call = await ASYNC.in_thread(to_ask, studio.retriever, settings)
    fate = await retriever.awhy(query, doc_id, sentence, **call)
    return {**fate.to_dict(), "is_shown": fate.is_shown, "meanings": _meanings(fate.signals)}


def _meanings(signals: Iterable[str]) -> dict[str, str]:
    return {name: SIGNALS[name].meaning for name in signals if name in SIGNALS}


async def _names(retriever: SentenceWindowRetriever, trace: Trace) -> dict[str, str]:
    """Return what documents of a trace are called: their sources, else their titles."""
    wanted = {each.doc_id for each in trace.candidates} | {each.doc_id for each in trace.named}
    adapter = retriever.scope().adapter
    within = adapter.of_documents(sorted(wanted)) if wanted else None
    if within is None:
        return {}
    try:
        listed = await retriever.adocuments(within)
    except InvalidInputError:  # the store can't list documents
        return {}
    return {each.doc_id: str(each.source or each.title) for each in listed if each.source or each.title}
