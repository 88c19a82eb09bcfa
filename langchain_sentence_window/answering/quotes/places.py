"""Stretches of sources as places in documents."""

from langchain_sentence_window.answering.locations import describe_location
from langchain_sentence_window.answering.quotes.records import QuotedPlace
from langchain_sentence_window.answering.quotes.sources import Found
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.window_slices import narrowed_window, pages_touched


def quoted_place(found: Found) -> QuotedPlace:
    """Return the place of a stretch in its source document."""
    passage = found.passage
    start, end = passage.base + found.start, passage.base + found.end
    text = passage.text[found.start : found.end]
    narrowed = narrowed_window(passage.document, start, end, text)
    doc_id = passage.document.metadata.get(DOC_ID)
    return QuotedPlace(
        passage.number,
        passage.document,
        doc_id if isinstance(doc_id, str) else None,
        start,
        end,
        text,
        pages_touched(narrowed),
        describe_location(narrowed),
    )
