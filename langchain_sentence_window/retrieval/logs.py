"""The package's logger: what a query did, at DEBUG, and what adding documents did, at INFO.

It is silent until the program configures logging. A record shows the question, shortened, and the names of documents,
but none of their texts.
"""

import logging
from collections.abc import Mapping

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.ranking.name_spans import Heard
from langchain_sentence_window.ranking.relevance import Relevance
from langchain_sentence_window.retrieval.pipeline import Request, Retrieval

LOGGER = logging.getLogger(__name__.partition(".")[0])
"""The logger ``langchain_sentence_window``."""

LOGGER.addHandler(logging.NullHandler())


def log_query(request: Request, retrieval: Retrieval) -> None:
    """Tell in one line what a query did."""
    if not LOGGER.isEnabledFor(logging.DEBUG):
        return
    found, searched = retrieval.found, retrieval.found.searched
    LOGGER.debug(
        "the query %s%s returned %s, of %s around %s, in %s%s%s",
        shown(request.search.query),
        " under a filter" if request.scope.is_bound else "",
        _count(len(retrieval.documents), "window"),
        f"{len(found.windows):,} found",
        _count(len(found.expansion.hits), "hit"),
        _times(retrieval.seconds),
        _names(searched.heard),
        _relevance(searched.relevance),
    )


def log_ingest(
    store: str, *, documents: int, sentences: int, embedded: int, replaced: int | None, seconds: float
) -> None:
    """Tell in one line what adding documents did.

    Args:
        store: The name of the store's class.
        documents: The documents that were added.
        sentences: Their sentences.
        embedded: The texts that were embedded; others had vectors.
        replaced: How many of the documents were there before; ``None`` if that isn't known.
        seconds: The time that it took.
    """
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    LOGGER.info(
        "added %s of %s to %s in %.3f s: embedded %s%s",
        _count(documents, "document"),
        _count(sentences, "sentence"),
        store,
        seconds,
        _count(embedded, "text"),
        "" if replaced is None else f", replaced {_count(replaced, 'document')}",
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _times(seconds: Mapping[str, float]) -> str:
    stages = ", ".join(f"{stage} {taken:.3f}" for stage, taken in seconds.items())
    return f"{sum(seconds.values()):.3f} s ({stages})"


def _names(heard: Heard | None) -> str:
    return "" if heard is None else f"; it names {listed([each.doc_id for each in heard.documents])}"


def _relevance(relevance: Relevance | None) -> str:
    if relevance is None:
        return ""
    return (
        f"; it supports {_count(relevance.supported, 'hit')}" if relevance.supported else "; nothing is on its subject"
    )
