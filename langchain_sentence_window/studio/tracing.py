"""See why: every stage of a question, and what became of a single sentence."""

from typing import Any

from pydantic import Field
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.signals import SIGNALS
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.tracing.outcomes import LEFT_OUT
from langchain_sentence_window.retrieval.tracing.trace import Trace
from langchain_sentence_window.studio.asking import Asking, asked_with
from langchain_sentence_window.studio.replies import calling
from langchain_sentence_window.studio.state import Studio

MAX_INDEX = 10_000_000


class OfSentence(Asking):
    """A question, and a sentence to ask about."""

    doc_id: str
    sentence: int = Field(ge=0, le=MAX_INDEX)


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [calling("/api/explain", Asking, explain), calling("/api/why", OfSentence, why)]


async def explain(studio: Studio, given: Asking) -> object:
    """Return the trace of a question, the names of its documents, and the meanings of its signals and codes."""
    retriever, call = await ASYNC.in_thread(asked_with, studio, given.settings)
    trace = await retriever.aexplain(given.query, **call)
    return {
        **_told(trace, call.get("filter")),
        "reasons": LEFT_OUT,
        "names": await _names(retriever, trace),
        "meanings": _meanings(trace),
    }


async def why(studio: Studio, given: OfSentence) -> object:
    """Return what became of a sentence, and the settings that would return it."""
    retriever, call = await ASYNC.in_thread(asked_with, studio, given.settings)
    fate = await retriever.awhy(given.query, given.doc_id, given.sentence, **call)
    meanings = {name: SIGNALS[name].meaning for name in fate.signals if name in SIGNALS}
    return {**fate.to_dict(), "is_shown": fate.is_shown, "meanings": meanings}


def _told(trace: Trace, filter: Any) -> dict[str, Any]:
    """Return a trace without the sentences around its windows, which the document shows, and with the call's filter.

    The retriever's own filter binds anyway, and isn't the page's to tell.
    """
    found = trace.to_dict()
    for window in found["windows"]:
        del window["surroundings"]
    return {**found, "settings": {**found["settings"], "filter": filter}}


def _meanings(trace: Trace) -> dict[str, str]:
    names = {name for hit in trace.hits for name in hit.signals}
    return {name: SIGNALS[name].meaning for name in names if name in SIGNALS}


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
