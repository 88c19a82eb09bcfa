"""A window as the page shows it: a card."""

from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.answering.locations import describe_location, document_title, name_of
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, HEADING, SOURCE, START_INDEX
from langchain_sentence_window.documents.lead_ins import shown_text
from langchain_sentence_window.documents.window_metadata import (
    ALSO_IN,
    HITS,
    LEAD_INS,
    PAGE_LABELS,
    PAGES,
    RELEVANCE_SCORE,
    SCORE,
    SENTENCE_SPANS,
    SENTENCES,
    WINDOW_ID,
)
from langchain_sentence_window.retrieval.budget import estimate_tokens

_CARRIED = (
    WINDOW_ID,
    DOC_ID,
    SOURCE,
    HEADING,
    START_INDEX,
    END_INDEX,
    SENTENCES,
    SENTENCE_SPANS,
    HITS,
    SCORE,
    RELEVANCE_SCORE,
    LEAD_INS,
    ALSO_IN,
    PAGES,
    PAGE_LABELS,
)


def card(window: Document, rank: int) -> dict[str, Any]:
    """Return what the page shows of a window.

    Args:
        window: A window Document.
        rank: Its position in the result, from 1.

    Returns:
        ``rank``, ``name`` and ``title`` (of its document, equal if it has no title), ``location``, ``text``, ``tokens``
        (an estimate, with the lead-ins), and the keys of the window's metadata that say where it stands and why it was
        found, as they are. Missing ones are left out.
    """
    carried = {key: window.metadata[key] for key in _CARRIED if window.metadata.get(key) is not None}
    return {
        "rank": rank,
        "name": name_of(window),
        "title": document_title(window),
        "location": describe_location(window),
        "text": window.page_content,
        "tokens": estimate_tokens(shown_text(window)),
        **carried,
    }
