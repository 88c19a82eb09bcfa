"""Answer a question with a chat model: the windows first, then the statements as they come, then the citations.

A line of the answer is one of

- ``{"question": "..."}``: of a follow-up, the question that is searched with,
- ``{"windows": [...], "seconds": s}``: the cards of the windows that the model is shown,
- ``{"text": "...", "quotes": [...]}``: what the answer grows by, and the quotes of it that were verified,
- ``{"done": {...}}``: the whole ``answer``, its ``citations`` and ``quotes``, and the ``seconds`` that it took.

All places are spans of code points: of the answer, or of a document.
"""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window._text import encodable
from langchain_sentence_window.answering.chain import (
    HISTORY,
    PROMPT,
    QUESTION,
    QUOTING_PROMPT,
    Citing,
    read_conversation,
    rewriter,
)
from langchain_sentence_window.answering.citations import LOCATION, NUMBER, SOURCE_END, SOURCE_START
from langchain_sentence_window.answering.content_blocks import MARK, VERDICT, citation_blocks
from langchain_sentence_window.answering.context import format_context
from langchain_sentence_window.answering.quoted_answer import answer_in_quotes, quotes_as_cited
from langchain_sentence_window.answering.quotes.verification import VerifiedQuote, verify_quotes
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, START_INDEX
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.studio.asking import Asking, asked_with
from langchain_sentence_window.studio.cards import card
from langchain_sentence_window.studio.replies import Arguments, Refused, calling, lines
from langchain_sentence_window.studio.state import Studio

logger = logging.getLogger("langchain_sentence_window")

MAX_ERROR_CHARS = 500
"""The most characters of a chat model's error that the page shows."""


_Found: TypeAlias = tuple[list[Document], float]
"""Windows, and the seconds that the retriever took."""


class Said(Arguments):
    """A message of the conversation."""

    role: Literal["user", "assistant"]
    content: str


class Answering(Asking):
    """A question, the settings of its search, how its answer cites, and what was said before."""

    citations: Citing = "quotes"
    history: list[Said] = Field(default_factory=list)


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
        raise Refused(
            409,
            "this page has no chat model; start it with one: sentence-window serve --model NAME, or "
            "serve_studio(retriever, chat_model=...)",
        )
    retriever, settings = await ASYNC.in_thread(asked_with, studio, given.settings)
    search = partial(_search, retriever, settings)
    # What can't be searched with is refused before a line is sent. A follow-up must be rewritten first.
    found = None if given.history else await search(given.query)
    return lines(_answered(studio.chat_model, given, search, found))


async def _search(
    retriever: SentenceWindowRetriever, settings: Mapping[str, Any], query: str
) -> tuple[list[Document], float]:
    began = time.perf_counter()
    windows = await retriever.ainvoke(query, **settings)
    return windows, time.perf_counter() - began


async def _answered(
    model: BaseChatModel, given: Answering, search: Callable[[str], Awaitable[_Found]], found: _Found | None
) -> AsyncIterator[Mapping[str, Any]]:
    began = time.perf_counter()
    said = [{"role": each.role, "content": encodable(each.content)} for each in given.history]
    state = read_conversation({QUESTION: encodable(given.query), HISTORY: said})
    if found is None:
        with _as_refusal():
            standalone = await rewriter(model).ainvoke(state)
        yield {"question": standalone}
        found = await search(standalone)
    windows, seconds = found
    yield {"windows": [card(window, rank) for rank, window in enumerate(windows, 1)], "seconds": seconds}
    text, quotes = "", list[VerifiedQuote]()
    # Without sources there is nothing that a model could answer from.
    if windows:
        with _as_refusal():
            async for added, more in _parts(model, given.citations, state | {"context": windows}):
                text += added
                quotes += more
                yield {"text": added, "quotes": [_quote(each) for each in more]}
    if given.citations == "numbers":
        quotes = await ASYNC.in_thread(verify_quotes, text, windows)
    whole = await ASYNC.in_thread(_whole, given.citations, text, windows, quotes)
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
    if citing == "quotes":
        async for part in answer_in_quotes(prompt | QUOTING_PROMPT, model, "mark").astream(state):
            if part.get("answer") or part.get("quotes"):
                yield part["answer"], part["quotes"]
    else:
        async for text in (prompt | PROMPT | model | StrOutputParser()).astream(state):
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
        logger.warning("the chat model failed: %r", error)
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
