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
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.windows.geometry import Window

from .keys import (
    ALSO_IN,
    DOC_ID,
    END_INDEX,
    HEADING,
    LEAD_INS,
    LINES,
    PAGES,
    PARTS,
    SEARCH_KEYS,
    SENTENCE_SPANS,
    SENTENCES,
    SOURCE,
    START_INDEX,
    TEXT,
    TOKENS,
    WINDOW_ID,
)
from .metadata_values import SCALARS, own_values
from .part_spans import as_entries, cut_parts
from .sentence_documents import SentencesByKey, StoredSentence
from .source_metadata import line_breaks
from .source_parts import shared_metadata
from .window_fields import (
    CountTokens,
    cut_values,
    lead_ins,
    made_values,
    part_spans,
    places_in,
    places_outside,
    window_lines,
)
from .window_runs import lines_touched, parts_of_window, placed_entries, source_span


def window_document(window: Window, sentences: SentencesByKey) -> Document:
    """Make the Document that a retriever returns for a window, without ``tokens``; see `with_counts`.

    Args:
        window: The window.
        sentences: Its sentences, and perhaps others.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't begin where the one before it ends.
    """
    held = _held(window, sentences)
    values = made_values(window, held, lead_ins(window, sentences))
    own = own_values(held[window.best.index - window.first].source)
    return Document(id=values[WINDOW_ID], page_content=_joined_text(held), metadata={**own, **values})


def with_counts(document: Document, count_tokens: CountTokens) -> Document:
    """Return a copy of a window Document that says how many tokens it has, with its lead-ins."""
    return _with(document, {**document.metadata, TOKENS: count_tokens(shown_text(document))})


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
    return Document(id=document.id, page_content=text, metadata=cut_values(document.metadata, None, None, None))


def narrowed_window(document: Document, start: int, end: int, text: str) -> Document:
    """Return the Document of a stretch of a window's source, such as a part of the window, or a lead-in.

    Of a document with parts, each sentence that is known is one of its ``sentence_spans``, cut to the stretch.

    Args:
        document: The window, or any Document.
        start: The stretch's first code point in the source.
        end: One past its last code point.
        text: The text there.
    """
    parts = parts_of_window(document.metadata)
    held = cut_parts(parts, start, end) if parts else None
    values = cut_values(document.metadata, (start, end), held, _cut_lines(document, start, end))
    return Document(id=document.id, page_content=text, metadata=values)


def unsearched(document: Document) -> Document:
    """Return a copy of a window Document without what says how it was found."""
    return without_keys(document, SEARCH_KEYS)


def without_lead_ins(document: Document) -> Document:
    """Return a copy of a window Document without its lead-ins."""
    return without_keys(document, {LEAD_INS})


def source_document(sentences: Sequence[StoredSentence]) -> Document:
    """Join all sentences of a source document: its text from the first sentence to the last.

    Its metadata is what all of its parts share, and ``parts`` says where each of them is.

    Args:
        sentences: All sentences of the document, in order.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't begin where the one before it ends.
    """
    text, first, last, parts = _joined_text(sentences), sentences[0], sentences[-1], part_spans(sentences)
    metadata = {
        **own_values(shared_metadata([each.source for each in sentences])),
        DOC_ID: first.doc_id,
        START_INDEX: first.start,
        END_INDEX: last.end,
        SENTENCES: [first.index, last.index],
        SENTENCE_SPANS: [[each.start, each.end] for each in sentences],
    }
    if lines := window_lines(first, last):
        metadata[LINES] = lines
    if parts:
        metadata[PARTS] = as_entries(parts)
    return Document(id=first.doc_id, page_content=text, metadata=metadata)


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
    gaps = [
        at
        for at, (one, two) in enumerate(pairwise(sentences), 1)
        if two.index != one.index + 1 or two.start != one.end + len(one.separator)
    ]
    for low, high in pairwise([0, *gaps, len(sentences)]):
        if run := sentences[low:high]:
            yield TextRun(run[0].start, _joined_text(run), run)


def window_text(window: Window, sentences: SentencesByKey) -> str:
    """Return the source's text from the window's first sentence to its last.

    Args:
        window: The window.
        sentences: Its sentences, and perhaps others.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't begin where the one before it ends.
    """
    return _joined_text(_held(window, sentences))


def _held(window: Window, sentences: SentencesByKey) -> list[StoredSentence]:
    try:
        return [sentences[window.doc_id, index] for index in range(window.first, window.last + 1)]
    except KeyError as error:
        raise IncompleteWindowError(
            f"the store has no sentence {error.args[0][1]} of document {window.doc_id!r}, which is in the window "
            f"{window.first} to {window.last}; add the document again"
        ) from None


def _joined_text(sentences: Iterable[StoredSentence]) -> str:
    """Return the text of sentences that follow each other.

    Raises:
        IncompleteWindowError: One doesn't begin where the one before it ends.
    """
    texts: list[str] = []
    at: int | None = None
    for each in sentences:
        if at not in (None, each.start) or each.end - each.start != len(each.text):
            raise IncompleteWindowError(
                f"sentence {each.index} of document {each.doc_id!r} is of another version of the document than the "
                "sentences before it; add the document again"
            )
        at = each.end + len(each.separator)
        texts += [each.text, each.separator]
    return "".join(texts[:-1])


def window_position(document: Document) -> tuple[str, int]:
    """Return the source document of a window Document, and where the window starts in it."""
    return str(document.metadata.get(DOC_ID, "")), int(document.metadata.get(START_INDEX, 0))


def read_lead_ins(document: Document) -> list[tuple[Span, str]]:
    """Read the lead-ins of a window Document: the span of each in the source, and the text there."""
    if LEAD_INS not in document.metadata:  # the usual case, quickly
        return []
    entries = [(span, each.get(TEXT)) for span, each in placed_entries(document.metadata, LEAD_INS)]
    return [
        (span, text)
        for span, text in entries
        if isinstance(text, str) and text.strip() and span[1] - span[0] == len(text)
    ]


def shown_lead_ins(document: Document) -> list[tuple[Span, str]]:
    """Read the lead-ins of a window Document: the span of each in the source, and its text on one line."""
    return [(span, " ".join(text.split())) for span, text in read_lead_ins(document)]


def shown_text(document: Document) -> str:
    """Return what is shown of a window Document: its lead-ins, each on a line, and its text."""
    if LEAD_INS not in document.metadata:  # the usual case, quickly
        return document.page_content
    return "\n".join([*(text for _, text in shown_lead_ins(document)), document.page_content])


def shown_window(window: Window, sentences: SentencesByKey) -> str:
    """Return what `shown_text` returns of a window's Document, without making it.

    Args:
        window: The window.
        sentences: Its sentences, and its lead-ins as far as they are at hand.
    """
    lines = [" ".join(each[TEXT].split()) for each in lead_ins(window, sentences)]
    return "\n".join([*filter(None, lines), window_text(window, sentences)])


def _cut_lines(document: Document, start: int, end: int) -> Span | None:
    """Return the lines of a stretch of a window; ``None`` if they aren't known, or it isn't all in the window."""
    lines, own = lines_touched(document), source_span(document)
    if not lines or own is None or not own[0] <= start <= end <= own[1]:
        return None
    first = lines[0] + line_breaks(document.page_content, 0, start - own[0])
    return first, first + line_breaks(document.page_content, start - own[0], end - own[0])


def without_keys(document: Document, left_out: Collection[str]) -> Document:
    """Return a copy of a Document without some keys of its metadata."""
    return _with(document, {key: value for key, value in document.metadata.items() if key not in left_out})


def _with(document: Document, metadata: dict[str, Any]) -> Document:
    """Return a copy of a Document with other metadata, made quicker than by pydantic's ``model_copy``."""
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


_WORDS = re.compile(r"[^\W_]+")
_PUNCTUATION = re.compile(r"""(?<!\W)[\s!"#%&'()*,\-./:;?@[\\\]{}]++(?!\W|\d)""")
"""Punctuation between two words or after the last, without meaning; most of what `_symbols_of` would look at."""
_OTHERS_BETWEEN_WORDS = re.compile(r"(?! (?:[^\W\d]|\Z))\W+")
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
        The best of equal windows in its place, a copy whose metadata holds ``also_in``: where the others are, and
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
    rough = [rough_key(each.page_content) if _is_window(each) else None for each in documents]
    counts = Counter(rough)
    better: dict[int, int] = {}
    best_by_key: dict[tuple[str, ...], int] = {}
    for position, document in enumerate(documents):
        if rough[position] is None or counts[rough[position]] == 1:
            continue
        texts = [document.page_content, *(text for _, text in shown_lead_ins(document))]
        key = tuple([text_key(text) for text in texts])
        best = best_by_key.setdefault(key, position)
        if key[0] and best != position:
            better[position] = best
    return better


def _is_window(document: Document) -> bool:
    """Return whether a Document is a window whose text is still a slice of its source."""
    metadata = document.metadata
    has_keys = SENTENCES in metadata and END_INDEX in metadata and isinstance(metadata.get(DOC_ID), str)
    return has_keys and source_span(document) is not None


def with_places(best: Document, others: Iterable[Document]) -> Document:
    """Return a copy of a window with the places of others of equal text, best first, in ``also_in``."""
    places = places_in(best)
    for other in others:
        metadata = other.metadata
        place = {key: metadata[key] for key in (DOC_ID, START_INDEX, END_INDEX)}
        place |= {key: metadata[key] for key in (HEADING, SOURCE) if isinstance(metadata.get(key), SCALARS)}
        if isinstance(metadata.get(PAGES), list):
            place[PAGES] = list(metadata[PAGES])
        places += [place, *places_in(other)]
    own = best.metadata
    once = places_outside(places, own[DOC_ID], own[START_INDEX], own[END_INDEX])
    return _with(best, {**own, ALSO_IN: once} if once else own)


def rough_key(text: str) -> str:
    """Return the letters and digits of a text, which equal texts share, as others may; it is quickly made."""
    if text.isascii():
        return text.lower().encode().translate(None, _ASCII_BETWEEN_WORDS).decode()
    return "".join(_WORDS.findall(text.lower()))


def text_key(text: str) -> str:
    """Return what equal texts share: their words in lower case, with their symbols; empty if there are none."""
    spaced = _PUNCTUATION.sub(" ", text.lower())
    return _OTHERS_BETWEEN_WORDS.sub(_symbols_of, spaced).strip(" =")


def _symbols_of(between: re.Match[str]) -> str:
    """Return the symbols between two words, without white space and punctuation; a space if nothing is left."""
    text, (start, end) = between[0], between.span()
    is_before_digit = between.string[end : end + 1].isdigit()
    if len(text) == 1 and is_before_digit and between.string[start - 1 : start].isdigit():
        return " " if text.isspace() else text
    kept = [each for each in text if each not in _MARKUP and unicodedata.category(each)[0] in "MS"]
    is_negative = text[-1] == "-" and is_before_digit and (len(text) > 1 or start == 0)
    return ("".join(kept) or " ") + ("-" if is_negative else "")
