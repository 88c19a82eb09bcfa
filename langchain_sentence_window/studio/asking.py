"""Ask the index."""

import time
from typing import Any

from pydantic import Field
from starlette.routing import BaseRoute

from langchain_sentence_window.studio.cards import card
from langchain_sentence_window.studio.replies import Arguments, calling
from langchain_sentence_window.studio.state import Studio

MAX_QUERY_CHARS = 10_000


class Asking(Arguments):
    """A question, and the settings of its call."""

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS)
    settings: dict[str, Any] = Field(default_factory=dict)


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [calling("/api/ask", Asking, ask)]


async def ask(studio: Studio, given: Asking) -> object:
    """Return the windows of a question as cards, and the seconds that the retriever took."""
    began = time.perf_counter()
    windows = await studio.retriever.ainvoke(given.query, **given.settings)
    seconds = time.perf_counter() - began
    return {"windows": [card(window, rank) for rank, window in enumerate(windows, 1)], "seconds": seconds}
