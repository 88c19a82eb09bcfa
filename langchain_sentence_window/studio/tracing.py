"""See why: every stage of a question, and what became of a single sentence."""

from starlette.routing import BaseRoute

from langchain_sentence_window.studio.asking import Asking
from langchain_sentence_window.studio.replies import calling
from langchain_sentence_window.studio.state import Studio


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [calling("/api/explain", Asking, explain)]


async def explain(studio: Studio, given: Asking) -> object:
    """Return the trace of a question."""
    trace = await studio.retriever.aexplain(given.query, **given.settings)
    return trace.to_dict()
