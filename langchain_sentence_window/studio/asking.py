"""Ask the index."""

import time
from collections.abc import Mapping
from typing import Any

from pydantic import Field
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.answering.citation_format import on_one_line
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.questions import read_questions
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.studio.call_settings import to_ask
from langchain_sentence_window.studio.cards import card
from langchain_sentence_window.studio.replies import Arguments, calling, reading
from langchain_sentence_window.studio.state import Studio

MAX_EXAMPLES = 3
MAX_EXAMPLE_CHARS = 200

_MAY_LEAVE_OUT = ("filter", "min_score", "min_relevance")
"""Settings by which a search may return nothing."""


class Asking(Arguments):
    """A question, and the settings of its call."""

    query: str
    settings: dict[str, Any] = Field(default_factory=dict)


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [calling("/api/ask", Asking, ask), reading("/api/examples", Arguments, examples)]


def asked_with(studio: Studio, settings: Mapping[str, Any]) -> tuple[SentenceWindowRetriever, dict[str, Any]]:
    """Return the retriever to call, and the settings to call it with; see `to_ask`."""
    return to_ask(studio.retriever, settings)


async def ask(studio: Studio, given: Asking) -> object:
    """Return the windows of a question as cards.

    With them come the ``seconds`` that the retriever took, and ``limits``: the settings by which it may have left
    something out, if it found nothing.
    """
    retriever, settings = await ASYNC.in_thread(asked_with, studio, given.settings)
    began = time.perf_counter()
    windows = await retriever.ainvoke(given.query, **settings)
    seconds = time.perf_counter() - began
    return {
        "windows": [card(window, rank) for rank, window in enumerate(windows, 1)],
        "seconds": seconds,
        "limits": [] if windows else _limits(retriever, settings),
    }


async def examples(studio: Studio, _: Arguments) -> object:
    """Return a few questions to try: the first ones with gold spans, else one for each of the first documents."""
    found: list[str] = []
    # The questions may be on documents that a filter hides.
    if studio.questions is not None and not studio.retriever.scope().is_bound:
        try:
            found = [each.question for each in await ASYNC.in_thread(read_questions, studio.questions)]
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
    own = {name: getattr(retriever, name) for name in _MAY_LEAVE_OUT}
    own["filter"] = True if retriever.scope().is_bound else None
    # A call's filter narrows the retriever's own, and doesn't replace it.
    given = {name: value for name, value in settings.items() if name != "filter" or value is not None}
    return [name for name, value in (own | given).items() if name in own and value is not None]
