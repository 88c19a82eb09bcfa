"""Window Documents, which a retriever returns: made from sentences, read, and shown with their lead-ins.

Lead-ins are sentences before a window that give it meaning: a table's header row, the sentence that introduces a list,
or who speaks in a message. A sentence names its lead-in by index, and a lead-in may have one of its own, as the item of
a list that others are nested in.

Contracts, policies and manuals repeat their clauses word for word. A model that reads one twice learns nothing new, but
a reader may want to know that a second contract says it too: ``also_in`` says where.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.windows.geometry import Window

from . import keys
from .joined_document import as_entries, cut_parts, shared_metadata
from .metadata_values import SCALARS, own_values
from .sentence_documents import SentencesByKey, StoredSentence, by_key
from .source_parts import line_breaks
from .window_fields import (
    FIELDS,
    CountTokens,
    CutWindow,
    NewWindow,
    each_once,
    estimate_tokens,
    lead_ins,
    part_spans,
    places_in,
    window_lines,
)
from .window_runs import lines_touched, read_parts, source_span


def window_document(window: Window, sentences: SentencesByKey) -> Document:
    """Make the Document that a retriever returns for a window, but for what is counted; see `with_counts`.

    Args:
        window: The window.
        sentences: Its sentences, and perhaps others.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't begin where the one before it ends.
    """
    text = window_text(window, sentences)
    best = sentences[window.doc_id, window.best.index]
    held = [sentences[key] for key in window.keys]
    new = NewWindow(window, sentences, held, held[0], held[-1], part_spans(held))
    made = {field.key: value for field in FIELDS if field.make and (value := field.make(new)) is not None}
    return Document(id=made[keys.WINDOW_ID], page_content=text, metadata={**own_values(best.source), **made})


def with_counts(document: Document, count_tokens: CountTokens) -> Document:
    """Return a copy of a window Document with the fields that are counted of all that it shows."""
    counts = {field.key: count(shown_text(document), count_tokens) for field, count in _COUNTED}
    return document.model_copy(update={"metadata": document.metadata | counts})


def counts_anew(made: Document, windows: Iterable[Document], count_tokens: CountTokens) -> Document:
    """Return a copy of a Document that was made of windows, with the fields that are counted made anew.

    A field is left out if its value in one of the windows isn't what this counter counts there.
    """
    given = [(each.metadata, shown_text(each)) for each in windows if _COUNTED]
    values = {
        field.key: count(shown_text(made), count_tokens)
        if all(metadata.get(field.key) == count(shown, count_tokens) for metadata, shown in given)
        else None
        for field, count in _COUNTED
    }
    return _with_values(made, values)


def window_slice(document: Document, low: int, high: int) -> Document:
    """Return the Document of a part of a window: its text and place, its pages, and what the window says else.

    Args:
        document: The window.
        low: First code point of the part in the window's text.
        high: One past the last code point.
    """
    own, text = source_span(document), document.page_content[low:high]
    if own is not None:
        return narrowed_window(document, own[0] + low, own[0] + high, text)
    return _cut(document, CutWindow(document.metadata, None, None, None), text)


def narrowed_window(document: Document, start: int, end: int, text: str) -> Document:
    """Return the Document of a stretch of a window's source, such as a part of the window, or a lead-in.

    Of a document with parts, each sentence that is known is one of its ``sentence_spans``, cut to the stretch.

    Args:
        document: The window, or any Document.
        start: The stretch's first code point in the source.
        end: One past its last code point.
        text: The text there.
    """
    parts = read_parts(document.metadata)
    held = cut_parts(parts, start, end) if parts else None
    return _cut(document, CutWindow(document.metadata, (start, end), held, _cut_lines(document, start, end)), text)


def unsearched(document: Document) -> Document:
    """Return a copy of a window Document without what says how it was found."""
    return _with_values(document, {field.key: None for field in FIELDS if field.is_of_search})


def without_lead_ins(document: Document) -> Document:
    """Return a copy of a window Document without its lead-ins."""
    return _with_values(document, {keys.LEAD_INS: None})


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
        keys.DOC_ID: first.doc_id,
        keys.START_INDEX: first.start,
        keys.END_INDEX: last.end,
    }
    if lines := window_lines(first, last):
        metadata[keys.LINES] = lines
    if spans := part_spans(sentences):
        metadata[keys.PARTS] = as_entries(spans)
    return Document(id=first.doc_id, page_content=window_text(whole, by_key(sentences)), metadata=metadata)


@dataclass(frozen=True, slots=True)
class TextRun:
    """Sentences of a document that follow each other without a gap.

    Attributes:
        start: The first code point in the document.
        text: The text from the first sentence to the last.
        sentences: The sentences.
    """

    start: int
    text: str
    sentences: Sequence[StoredSentence]

    def slice(self, start: int, end: int) -> str | None:
        """Return the text of a span of the document; ``None`` if the run doesn't hold all of it."""
        is_inside = self.start <= start and end <= self.start + len(self.text)
        return self.text[start - self.start : end - self.start] if is_inside else None


def text_runs(sentences: Sequence[StoredSentence]) -> Iterator[TextRun]:
    """Yield the runs of a document's sentences: one, if a filter hides none between them."""
    begin = 0
    for at in range(1, len(sentences) + 1):
        last = sentences[at - 1]
        if at < len(sentences):
            each = sentences[at]
            if each.index == last.index + 1 and each.start == last.end + len(last.separator):
                continue
        run = sentences[begin:at]
        text = "".join([part for each in run for part in (each.text, each.separator)])
        yield TextRun(run[0].start, text[: len(text) - len(last.separator)], run)
        begin = at


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
    return str(document.metadata.get(keys.DOC_ID, "")), int(document.metadata.get(keys.START_INDEX, 0))


def hit_spans(document: Document) -> list[Span]:
    """Return the spans of a window's hits in its text; none for a Document that isn't a slice of its source."""
    metadata = document.metadata
    start = metadata.get(keys.START_INDEX)
    end = as_integer(metadata.get(keys.END_INDEX))
    if not isinstance(start, int) or end != start + len(document.page_content):
        return []
    hits: Sequence[Mapping[str, int]] = metadata.get(keys.HITS) or ()
    return [(hit[keys.START_INDEX] - start, hit[keys.END_INDEX] - start) for hit in hits]


def read_lead_ins(document: Document) -> list[tuple[Span, str]]:
    """Read the lead-ins of a window Document: the span of each in the source, and the text there."""
    given = document.metadata.get(keys.LEAD_INS)
    found = list[tuple[Span, str]]()
    for each in given if isinstance(given, list) else []:
        values = each if isinstance(each, dict) else {}
        start, end = (as_integer(values.get(key)) for key in (keys.START_INDEX, keys.END_INDEX))
        text = values.get(keys.TEXT)
        if isinstance(text, str) and text.strip() and start is not None and end == start + len(text):
            found.append(((start, end), text))
    return found


def shown_lead_ins(document: Document) -> list[tuple[Span, str]]:
    """Read the lead-ins of a window Document: the span of each in the source, and its text on one line."""
    return [(span, " ".join(text.split())) for span, text in read_lead_ins(document)]


def shown_text(document: Document) -> str:
    """Return what is shown of a window Document: its lead-ins, each on a line, and its text."""
    if not document.metadata.get(keys.LEAD_INS):  # the usual case, quickly
        return document.page_content
    return "\n".join([*(text for _, text in shown_lead_ins(document)), document.page_content])


def brief_values(document: Document) -> list[str]:
    """Return what the fields of a window Document say in a few words, of those whose values can be right."""
    values = ((field.brief, document.metadata.get(field.key)) for field in FIELDS)
    return [brief(value) for brief, value in values if brief is not None and isinstance(value, int | float)]


def shown_window(window: Window, sentences: SentencesByKey) -> str:
    """Return what `shown_text` returns of a window's Document, without making it.

    Args:
        window: The window.
        sentences: Its sentences, and its lead-ins as far as they are at hand.
    """
    led = (" ".join(each[keys.TEXT].split()) for each in lead_ins(window, sentences))
    return "\n".join([*filter(None, led), window_text(window, sentences)])


_COUNTED = tuple((field, field.count) for field in FIELDS if field.count)


def _cut_lines(document: Document, start: int, end: int) -> Span | None:
    """Return the lines of a stretch of a window; ``None`` if they aren't known, or it isn't all in the window."""
    lines, own = lines_touched(document), source_span(document)
    if not lines or own is None or not own[0] <= start <= end <= own[1]:
        return None
    text, low, high = document.page_content, start - own[0], end - own[0]
    first = lines[0] + line_breaks(text, 0, low)
    return first, first + line_breaks(text, low, high)


def _cut(document: Document, cut: CutWindow, text: str) -> Document:
    made = Document(id=document.id, page_content=text, metadata=dict(document.metadata))
    made = _with_values(made, {field.key: field.cut(cut) for field in FIELDS if field.cut})
    return counts_anew(made, [document], estimate_tokens)


def _with_values(document: Document, values: Mapping[str, Any]) -> Document:
    """Return a copy of a Document with values of its metadata; ``None`` leaves a key out."""
    metadata = {key: value for key, value in {**document.metadata, **values}.items() if values.get(key, "") is not None}
    return document.model_copy(update={"metadata": metadata})


_WORDS = re.compile(r"[^\W_]+")
_BETWEEN_WORDS = re.compile(r"\W+")
_ASCII_BETWEEN_WORDS = bytes(code for code in range(128) if not chr(code).isalnum())
_MARKUP = frozenset("|~^`")
"""Symbols that draw tables and markup, and say nothing."""


def unite_equal(documents: Sequence[Document]) -> list[Document]:
    """Return windows of equal text once, each with the places of the others.

    Texts are equal if they differ in case, white space and punctuation only. Symbols count, such as ``<``, ``+`` and
    ``€``, and so does what belongs to a number, as in ``-1.5``. What leads a window in must be equal too, as the header
    row of a table. Windows without a single word or symbol are kept apart, and so are Documents that aren't windows.

    Args:
        documents: Window Documents, best first.

    Returns:
        The best of equal windows in its place, a copy whose metadata holds ``also_in``: where the others stand, and
        what their own ``also_in`` names, in order of rank. Documents that no other equals are the given ones.
    """
    better = better_of(documents)
    others: dict[int, list[Document]] = {}
    for position, best in better.items():
        others.setdefault(best, []).append(documents[position])
    return [
        with_places(document, others[position]) if position in others else document
        for position, document in enumerate(documents)
        if position not in better
    ]


def better_of(documents: Sequence[Document]) -> dict[int, int]:
    """Return the position of the best window of the same text, by the position of each other one."""
    found: dict[int, int] = {}
    known: dict[tuple[str, ...], int] = {}
    rough: list[str | None] = []
    for document in documents:
        metadata, text = document.metadata, document.page_content
        start, end = as_integer(metadata.get(keys.START_INDEX)), as_integer(metadata.get(keys.END_INDEX))
        is_slice = start is not None and end == start + len(text)
        is_window = is_slice and keys.SENTENCES in metadata and isinstance(metadata.get(keys.DOC_ID), str)
        rough.append(rough_key(text) if is_window else None)
    counts = Counter(rough)
    for position, document in enumerate(documents):
        is_alone = rough[position] is None or counts[rough[position]] == 1
        key = "" if is_alone else text_key(document.page_content)
        if key:
            led = (text_key(text) for _, text in shown_lead_ins(document))
            best = known.setdefault((key, *led), position)
            if best != position:
                found[position] = best
    return found


def with_places(best: Document, others: Iterable[Document]) -> Document:
    """Return a copy of a window with the places of others of equal text, best first, in ``also_in``."""
    named = places_in(best)
    for other in others:
        metadata, pages = other.metadata, other.metadata.get(keys.PAGES)
        place = {keys.DOC_ID: metadata[keys.DOC_ID]} | {
            key: as_integer(metadata[key]) for key in (keys.START_INDEX, keys.END_INDEX)
        }
        place |= {key: metadata[key] for key in (keys.HEADING, keys.SOURCE) if isinstance(metadata.get(key), SCALARS)}
        place |= {keys.PAGES: list(pages)} if isinstance(pages, list) else {}
        named += [place, *places_in(other)]
    own = best.metadata
    places = each_once(named, own[keys.DOC_ID], own[keys.START_INDEX], own[keys.END_INDEX])
    added = {keys.ALSO_IN: places} if places else {}
    return best.model_copy(update={"metadata": {**own, **added}})


def rough_key(text: str) -> str:
    """Return the letters and digits of a text, which equal texts share, as others may; it is quickly made."""
    if text.isascii():
        return text.lower().encode().translate(None, _ASCII_BETWEEN_WORDS).decode()
    return "".join(_WORDS.findall(text.lower()))


def text_key(text: str) -> str:
    """Return what equal texts share: their words in lower case, with their symbols; empty if there are none."""
    return _BETWEEN_WORDS.sub(_symbols_of, text.lower()).strip(" =")


def _symbols_of(between: re.Match[str]) -> str:
    """Return what stands between words without white space and punctuation; a space if nothing is left."""
    text, (start, end) = between[0], between.span()
    is_before_digit = between.string[end : end + 1].isdigit()
    if len(text) == 1 and is_before_digit and between.string[start - 1 : start].isdigit():
        return " " if text.isspace() else text
    kept = [each for each in text if each not in _MARKUP and unicodedata.category(each)[0] in "MS"]
    is_negative = text[-1] == "-" and is_before_digit and (len(text) > 1 or start == 0)
    return ("".join(kept) or " ") + ("-" if is_negative else "")
