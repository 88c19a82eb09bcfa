"""Query the index: windows as cards, answers of a chat model, and why a sentence is found or isn't.

An answer comes as lines: the windows first, then the statements as they come, then the citations. A line is one of

- ``{"question": "..."}``: of a follow-up, the question that is searched with,
- ``{"windows": [...], "seconds": s}``: the cards of the windows that the model is shown,
- ``{"text": "...", "quotes": [...]}``: what the answer grows by, and the quotes of it that were verified,
- ``{"done": {...}}``: the whole ``answer``, its ``citations`` and ``quotes``, and the ``seconds`` that it took.

All places are spans of code points: of the answer, or of a document.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Annotated, Any, Literal, TypeAlias

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel, Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window import SentenceWindowRetriever, create_rag_chain, describe_location
from langchain_sentence_window.citations import Citation, VerifiedQuote
from langchain_sentence_window.documents import DOC_ID
from langchain_sentence_window.errors import InvalidInputError
from sentence_window.studio.page_state import Studio, base_name, calling, source_of, title_of
from sentence_window.studio.read_document import window_layout
from sentence_window.studio.replies import Refused, fields_of, lines
from sentence_window.studio.setting_form import NO_SETTINGS, Settings, checked_settings

CARD_KEYS = [
    "doc_id",
    "source",
    "start_index",
    "end_index",
    "sentences",
    "hits",
    "score",
    "relevance",
    "relevance_score",
    "window_id",
    "heading",
    "lead_ins",
    "also_in",
    "sentence_spans",
    "tokens",
]
"""The metadata of a window that its card has."""

MAX_INDEX = 10_000_000

Index: TypeAlias = Annotated[int, Field(ge=0, le=MAX_INDEX)]


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        calling("/api/ask", ask),
        calling("/api/answer", answer),
        calling("/api/explain", explain),
        calling("/api/why", why),
    ]


async def ask(studio: Studio, query: str, settings: Settings = NO_SETTINGS) -> object:
    """Return the windows of a question as cards, and the ``seconds`` that the retriever took."""
    windows, seconds = await _search(studio.retriever, checked_settings(settings), query)
    return {"windows": await asyncio.to_thread(cards_of, windows), "seconds": seconds}


async def _search(
    retriever: SentenceWindowRetriever, settings: Mapping[str, Any], query: str
) -> tuple[list[Document], float]:
    began = time.perf_counter()
    windows = await retriever.ainvoke(query, **settings)
    return windows, time.perf_counter() - began


def cards_of(windows: Sequence[Document]) -> list[dict[str, Any]]:
    """Return what the page shows of windows."""
    return [_card(window, rank) for rank, window in enumerate(windows, 1)]


def _card(window: Document, rank: int) -> dict[str, Any]:
    """Return what the page shows of a window.

    Returns:
        ``rank``, from 1; ``name`` and ``title`` of its document, equal if it has no title; ``location``; ``url`` on the
        web; ``text``, its ``kind`` and the same in ``blocks``; and those of `CARD_KEYS` that its metadata has.
    """
    metadata = window.metadata
    name = source_of(metadata) or str(metadata.get(DOC_ID))
    location = describe_location(window)
    return {
        "rank": rank,
        "name": name,
        "title": title_of(metadata) or base_name(name),
        "location": location,
        "url": _web_address(Citation(number=rank, location=location, document=window).url),
        "text": window.page_content,
        **window_layout(window),
        **{key: metadata[key] for key in CARD_KEYS if metadata.get(key) is not None},
    }


def _web_address(address: str | None) -> str | None:
    """Return an address of the web; ``None`` for a file's, which browsers don't open from a page of the web."""
    return address if address is not None and address.lower().startswith(("http://", "https://")) else None


class HistoryMessage(BaseModel):
    """A message of the conversation."""

    role: Literal["user", "assistant"]
    content: str


async def answer(
    studio: Studio,
    query: str,
    settings: Settings = NO_SETTINGS,
    citations: Literal["quotes", "numbers"] = "quotes",
    history: tuple[HistoryMessage, ...] = (),
) -> Response:
    """Answer a question, as lines. The answer ends when the page goes away.

    Raises:
        Refused: There is no chat model.
        InvalidInputError: A setting can't be used.
    """
    if studio.chat_model is None:
        raise Refused(
            409,
            "this page has no chat model; start it with one: sentence-window serve --model NAME, or "
            "serve_studio(retriever, chat_model=...)",
        )
    call = checked_settings(settings)
    given = {"question": query, "history": [each.model_dump() for each in history]}
    return lines(_answer_lines(studio.retriever, call, studio.chat_model, citations, given))


class _NothingFoundError(Exception):
    """There is nothing that a model could answer from."""


async def _answer_lines(
    retriever: SentenceWindowRetriever,
    settings: Mapping[str, Any],
    model: BaseChatModel,
    citing: Literal["quotes", "numbers"],
    given: Mapping[str, Any],
) -> AsyncIterator[dict[str, Any]]:
    began = time.perf_counter()
    text, quotes, citations = "", list[VerifiedQuote](), list[dict[str, Any]]()
    searched = 0.0

    async def search(question: str) -> list[Document]:
        nonlocal searched
        windows, searched = await _search(retriever, settings, question)
        if not windows:
            raise _NothingFoundError
        return windows

    chain = create_rag_chain(RunnableLambda(search), model, citations=citing, history=True)
    try:
        async with aclosing(chain.astream(dict(given))) as parts:  # type: ignore[type-var]
            async for part in parts:
                if given["history"] and "standalone_question" in part:
                    yield {"question": part["standalone_question"]}
                if "context" in part:
                    yield {"windows": await asyncio.to_thread(cards_of, part["context"]), "seconds": searched}
                added, more = part.get("answer", ""), part.get("quotes", [])
                if added or more:
                    text, quotes = text + added, [*quotes, *more]
                    yield {"text": added, "quotes": [_quote(each) for each in more]}
                if "message" in part:
                    citations = _citations_of(part["message"])
    except _NothingFoundError:
        yield {"windows": [], "seconds": searched}
    done = {"answer": text, "quotes": [_quote(each) for each in quotes], "citations": citations}
    yield {"done": {**done, "seconds": time.perf_counter() - began}}


def _citations_of(message: AIMessage) -> list[dict[str, Any]]:
    """Return the citations of an answer: number and mark in the answer, and the place in a document."""
    blocks: Sequence[Any] = message.content_blocks
    annotations = [each for block in blocks for each in block.get("annotations", ())]
    return [
        {
            **{name: each["extras"].get(name) for name in ("number", "mark", "doc_id", "start", "end", "location")},
            "url": _web_address(each.get("url")),
            "verdict": each["extras"].get("verdict"),
        }
        for each in annotations
    ]


def _quote(quote: VerifiedQuote) -> dict[str, Any]:
    """Return a quote of an answer with its verdict, its places in the sources, and what a paraphrase is like."""
    places, closest = (
        [fields_of(place, "number doc_id start end text location") for place in found]
        for found in (quote.places, [quote.closest] if quote.closest else [])
    )
    about = fields_of(quote, "kind text start end cited verdict similarity")
    return about | {"places": places, "closest": closest[0] if closest else None}


async def explain(studio: Studio, query: str, settings: Settings = NO_SETTINGS) -> object:
    """Return the trace of a question, and the names of its documents."""
    call = checked_settings(settings)
    trace = (await studio.retriever.aexplain(query, **call)).to_dict()
    # The call's filter; the retriever's own always applies, and isn't shown.
    trace["settings"]["filter"] = call.get("filter")
    wanted = {each["doc_id"] for each in [*trace["candidates"], *trace["hits"], *trace["named"]]}
    names = dict[str, str]()
    with suppress(InvalidInputError):  # the store can't list documents
        names = {each.doc_id: each.source or each.doc_id for each in await studio.documents() if each.doc_id in wanted}
    return {**trace, "names": names}


async def why(studio: Studio, query: str, doc_id: str, sentence: Index, settings: Settings = NO_SETTINGS) -> object:
    """Return what happened to a sentence, and the settings that would return it."""
    fate = await studio.retriever.awhy(query, doc_id, sentence, **checked_settings(settings))
    return {**fate.to_dict(), "is_shown": fate.is_shown}
