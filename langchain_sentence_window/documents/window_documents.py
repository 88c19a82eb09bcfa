"""Window Documents, which a retriever returns: made from sentences, read, and shown with their lead-ins.

Lead-ins are sentences before a window that give it meaning: a table's header row, the sentence that introduces a list,
or who speaks in a message. A sentence names its lead-in by index, and a lead-in may have one of its own, as the item of
a list that others are nested in.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._primitives import SentenceKey, Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.documents.joined_document import as_entries, shared_metadata
from langchain_sentence_window.documents.keys import (
    DOC_ID,
    END_INDEX,
    HITS,
    KIND,
    LEAD_INS,
    PARTS,
    START_INDEX,
    TEXT,
    WINDOW_ID,
)
from langchain_sentence_window.documents.metadata_values import own_values
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, by_key
from langchain_sentence_window.documents.window_fields import WINDOW_METADATA, part_metadata, part_spans
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.splitting.lead_ins import lead_in_part
from langchain_sentence_window.windows.geometry import Window


def window_document(window: Window, sentences: SentencesByKey) -> Document:
    """Make the Document that a retriever returns for a window.

    Args:
        window: The window.
        sentences: Its sentences, and perhaps others.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't begin where the one before it ends.
    """
    text = window_text(window, sentences)
    best = sentences[window.doc_id, window.best.index]
    made = {key: make(window, sentences) for key, make in WINDOW_METADATA.items()} | part_metadata(window, sentences)
    added = {key: value for key, value in made.items() if value is not None}
    return Document(id=made[WINDOW_ID], page_content=text, metadata={**own_values(best.source), **added})


def source_document(sentences: Sequence[StoredSentence]) -> Document:
    """Join all sentences of a source document: its text from the first sentence to the last.

    Its metadata is what all of its parts share, and ``parts`` says where each of them stands.

    Args:
        sentences: All sentences of the document, in order.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't begin where the one before it ends.
    """
    first, last = sentences[0], sentences[-1]
    whole = Window(first.doc_id, first.index, last.index, ())
    metadata = {
        **own_values(shared_metadata([each.source for each in sentences])),
        DOC_ID: first.doc_id,
        START_INDEX: first.start,
        END_INDEX: last.end,
    }
    if spans := part_spans(sentences):
        metadata[PARTS] = as_entries(spans)
    return Document(id=first.doc_id, page_content=window_text(whole, by_key(sentences)), metadata=metadata)


def window_text(window: Window, sentences: SentencesByKey) -> str:
    """Return the source's text from the window's first sentence to its last.

    Args:
        window: The window.
        sentences: Its sentences, and perhaps others.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't begin where the one before it ends.
    """
    parts: list[str] = []
    at: int | None = None
    for index in range(window.first, window.last + 1):
        sentence = sentences.get((window.doc_id, index))
        if sentence is None:
            raise IncompleteWindowError(
                f"the store has no sentence {index} of document {window.doc_id!r}, which is in the window "
                f"{window.first} to {window.last}; add the document again"
            )
        if at not in (None, sentence.start) or sentence.end - sentence.start != len(sentence.text):
            raise IncompleteWindowError(
                f"sentence {index} of document {window.doc_id!r} is of another version of the document than the "
                "sentences before it; add the document again"
            )
        at = sentence.end + len(sentence.separator)
        parts += [sentence.text, sentence.separator]
    return "".join(parts[:-1])


def window_position(document: Document) -> tuple[str, int]:
    """Return the source document of a window Document, and where the window starts in it."""
    return str(document.metadata.get(DOC_ID, "")), int(document.metadata.get(START_INDEX, 0))


def hit_spans(document: Document) -> list[Span]:
    """Return the spans of a window's hits in its text; none for a Document that isn't a slice of its source."""
    metadata = document.metadata
    start = metadata.get(START_INDEX)
    end = as_integer(metadata.get(END_INDEX))
    if not isinstance(start, int) or end != start + len(document.page_content):
        return []
    hits: Sequence[Mapping[str, int]] = metadata.get(HITS) or ()
    return [(hit[START_INDEX] - start, hit[END_INDEX] - start) for hit in hits]


MAX_LEAD_INS = 4
"""The most lead-ins of a window. Of more, those nearest to it are taken."""


def lead_ins(window: Window, sentences: SentencesByKey) -> list[dict[str, Any]]:
    """Return the lead-ins of a window, in order of position.

    Args:
        window: The window.
        sentences: Its sentences, and those that lead in, as far as they are at hand. Others are left out.

    Returns:
        For each: ``kind`` (``header``, ``list`` or ``speaker``), ``text``, and ``start_index`` and ``end_index`` of
        that text in the source.
    """
    found = list[dict[str, Any]]()
    for index, led in _lead_ins(window, sentences).items():
        sentence = sentences.get((window.doc_id, index))
        if sentence is None or not sentence.kind:
            continue
        kind, end = lead_in_part(led, sentence.text)
        if end:
            span = {START_INDEX: sentence.start, END_INDEX: sentence.start + end}
            found.append({KIND: kind, TEXT: sentence.text[:end], **span})
    return found


def missing_lead_ins(window: Window, sentences: SentencesByKey) -> list[SentenceKey]:
    """Return which lead-ins of a window aren't at hand, in order."""
    keys = [(window.doc_id, index) for index in _lead_ins(window, sentences)]
    return [key for key in keys if key not in sentences or not sentences[key].kind]


def read_lead_ins(document: Document) -> list[tuple[Span, str]]:
    """Read the lead-ins of a window Document: the span of each in the source, and the text there."""
    given = document.metadata.get(LEAD_INS)
    found = list[tuple[Span, str]]()
    for each in given if isinstance(given, list) else []:
        values = each if isinstance(each, dict) else {}
        start, end, text = as_integer(values.get(START_INDEX)), as_integer(values.get(END_INDEX)), values.get(TEXT)
        if isinstance(text, str) and text.strip() and start is not None and end == start + len(text):
            found.append(((start, end), text))
    return found


def shown_lead_ins(document: Document) -> list[tuple[Span, str]]:
    """Read the lead-ins of a window Document: the span of each in the source, and its text on one line."""
    return [(span, " ".join(text.split())) for span, text in read_lead_ins(document)]


def shown_text(document: Document) -> str:
    """Return what is shown of a window Document: its lead-ins, each on a line, and its text."""
    return "\n".join([*(text for _, text in shown_lead_ins(document)), document.page_content])


def shown_window(window: Window, sentences: SentencesByKey) -> str:
    """Return what `shown_text` returns of a window's Document, without making it.

    Args:
        window: The window.
        sentences: Its sentences, and its lead-ins as far as they are at hand.
    """
    led = (" ".join(each[TEXT].split()) for each in lead_ins(window, sentences))
    return "\n".join([*filter(None, led), window_text(window, sentences)])


def without_lead_ins(document: Document) -> Document:
    """Return a copy of a window Document without its lead-ins."""
    metadata = {key: value for key, value in document.metadata.items() if key != LEAD_INS}
    return document.model_copy(update={"metadata": metadata})


def _lead_ins(window: Window, sentences: SentencesByKey) -> dict[int, str]:
    """Return the index of each lead-in before a window, in order, with the kind of a sentence that it leads in."""
    found: dict[int, str] = {}
    indexes: Sequence[int] = range(window.first, window.last + 1)
    while indexes:
        reached = list[int]()
        for index in indexes:
            sentence = sentences.get((window.doc_id, index))
            lead_in = None if sentence is None else sentence.lead_in
            if sentence is not None and lead_in is not None and lead_in < window.first and lead_in not in found:
                found[lead_in] = sentence.kind
                reached.append(lead_in)
        indexes = reached
    return {index: found[index] for index in sorted(found)[-MAX_LEAD_INS:]}
