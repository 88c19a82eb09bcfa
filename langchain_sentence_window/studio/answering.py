"""Answer a question with a chat model: the windows first, then the statements as they come, then the citations.

A line of the answer is one of

- ``{"windows": [...], "seconds": s}``: the cards of the windows that the model is shown,
- ``{"text": "...", "quotes": [...]}``: what the answer grows by, and the quotes of it that were verified,
- ``{"done": {...}}``: the whole ``answer``, its ``citations`` and ``quotes``, and the ``seconds`` that it took.

All places are spans of code points: of the answer, or of a document.
"""

import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.utils import AddableDict
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.answering.chain import Citing, create_rag_chain
from langchain_sentence_window.answering.content_blocks import MARK, VERDICT, citation_blocks
from langchain_sentence_window.answering.message_citations import LOCATION, NUMBER, SOURCE_END, SOURCE_START
from langchain_sentence_window.answering.quotes.records import VerifiedQuote
from langchain_sentence_window.answering.quotes.verify import verify_quotes
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, START_INDEX
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.studio.asking import Asking, asked_with
from langchain_sentence_window.studio.cards import card
from langchain_sentence_window.studio.replies import Refused, calling, lines
from langchain_sentence_window.studio.state import Studio

logger = logging.getLogger("langchain_sentence_window")

MAX_ERROR_CHARS = 500
"""The most characters of a chat model's error that the page shows."""

_WANTED = ("answer", "quotes", "message")


class Answering(Asking):
    """A question, the settings of its search, and how its answer cites."""

    citations: Citing = "quotes"


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [calling("/api/answer", Answering, answer)]


async def answer(studio: Studio, given: Answering) -> Response:
    """Answer a question, as lines.

    The answer ends when the page goes away, and the model's with it.

    Raises:
        Refused: There is no chat model.
        InvalidInputError: The question or a setting can't be used.
    """
    if studio.chat_model is None:
        raise Refused(409, "this page has no chat model; start it with one: serve_studio(retriever, chat_model=...)")
    retriever, settings = asked_with(studio, given.settings)
    began = time.perf_counter()
    windows = await retriever.ainvoke(given.query, **settings)
    seconds = time.perf_counter() - began
    return lines(_answered(studio.chat_model, given, windows, seconds))


async def _answered(
    model: BaseChatModel, given: Answering, windows: list[Document], seconds: float
) -> AsyncIterator[Mapping[str, Any]]:
    yield {"windows": [card(window, rank) for rank, window in enumerate(windows, 1)], "seconds": seconds}
    began = time.perf_counter()
    state = AddableDict()
    # Without sources there is nothing that a model could answer from.
    if windows:
        async for part in _parts(model, given, windows):
            state += AddableDict({key: value for key, value in part.items() if key in _WANTED})
            added, quotes = part.get("answer") or "", part.get("quotes") or []
            if added or quotes:
                yield {"text": added, "quotes": [_quote(each) for each in quotes]}
    whole = await ASYNC.in_thread(_whole, state, windows)
    yield {"done": whole | {"seconds": time.perf_counter() - began}}


async def _parts(model: BaseChatModel, given: Answering, windows: list[Document]) -> AsyncIterator[dict[str, Any]]:
    """Yield the parts of the chain's answer.

    Raises:
        Refused: The model failed.
        SentenceWindowError: It wrote something else than an answer.
    """
    chain = create_rag_chain(RunnableLambda(lambda _: windows), model, citations=given.citations)
    try:
        async for part in chain.astream(given.query):
            yield part
    except SentenceWindowError:
        raise
    except Exception as error:
        logger.warning("the chat model failed", exc_info=error)
        raise Refused(502, f"the chat model failed with {type(error).__name__}: {_short(str(error))}") from error


def _whole(state: Mapping[str, Any], windows: Sequence[Document]) -> dict[str, Any]:
    """Return what the page shows of a whole answer.

    Args:
        state: What the chain returned. It has ``quotes`` if the model was asked for quotes; else they are looked for.
        windows: The sources.
    """
    text: str = state.get("answer") or ""
    if "quotes" in state:
        quotes: Sequence[VerifiedQuote] = state["quotes"]
        blocks = _annotations(state["message"])
    else:
        quotes = verify_quotes(text, windows)
        blocks = citation_blocks(text, windows, quotes=quotes)
    return {
        "answer": text,
        "citations": [_citation(cast("Mapping[str, Any]", block)) for block in blocks],
        "quotes": [_quote(quote) for quote in quotes],
    }


def _annotations(message: AIMessage) -> list[Any]:
    return [each for block in message.content_blocks if block["type"] == "text" for each in block["annotations"]]


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
        "verdict": extras.get(VERDICT),
    }


def _quote(quote: VerifiedQuote) -> dict[str, Any]:
    """Return a quote of an answer with its verdict, and the places where it stands."""
    places = [
        {
            "number": place.number,
            "doc_id": place.doc_id,
            "start": place.start,
            "end": place.end,
            "text": place.text,
            "location": place.location,
        }
        for place in quote.places
    ]
    return {
        "kind": quote.kind,
        "text": quote.text,
        "start": quote.start,
        "end": quote.end,
        "cited": quote.cited,
        "verdict": quote.verdict,
        "places": places,
    }


def _short(text: str) -> str:
    return text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"
