"""The fields of a window: one row for each key of a window Document's metadata.

A row of `FIELDS` says how the value is made from sentences, what it becomes when windows are joined and when a window
is cut, whether rerankers may set it, and who shows it. Whoever makes, joins, cuts or shows windows goes through the
rows. To add a field, name its key in `langchain_sentence_window.documents.keys`, and write its row here.

===================  =================================================
key                  meaning
===================  =================================================
``doc_id``           the source document
``start_index``      first code point in the source
``end_index``        one past the last code point
``heading``          titles of the headings above, joined by `` > ``
``sentences``        ``[first, last]`` sentence index, both included
``hits``             the sentences found: index, span and scores
``score``            the best hit's score
``window_id``        equal for the same sentences of the same document
``separator``        white space after it, if its section goes on
``parts``            each part of the document that it touches
``pages``            numbers of the pages that it touches, from 0
``page_labels``      what is printed on them, if the loader says it
``times``            when it is shown, from and to, in seconds, of subtitles
``lines``            first and last line that it touches, from 1, of a text file
``sentence_spans``   the span of each sentence
``lead_ins``         text before the window that gives it meaning
``tokens``           what it costs, with its lead-ins
``also_in``          where windows of equal text stand that were found
``relevance``        how likely the question is answered, from 0 to 1
``relevance_score``  a reranker's score
``citation_number``  its number in a conversation, of what a tool found
===================  =================================================

An entry of ``parts`` holds what names the part, such as ``page``; ``start_index`` and ``end_index`` in the part's own
text, or, of a chunk with a ``start_index``, in the text that it was cut from; and ``span``, the same stretch in the
document. Each stretch stands in its part character for character.

An entry of ``lead_ins`` holds ``kind`` (``header`` of a table, ``list`` for the sentence that introduces a list,
``speaker`` of a message, ``signature`` of a function), ``text``, and ``start_index`` and ``end_index`` of that text in
the document. They are in order of position, and before the window.

An entry of ``also_in`` holds ``doc_id``, ``start_index`` and ``end_index`` of a window that was found too and isn't
returned, as its text is equal, and its ``heading``, ``source`` and ``pages`` if it has them. They are in order of rank.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer, as_number
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.splitting.lead_ins import lead_in_part
from langchain_sentence_window.windows.geometry import Hit, Window

from . import keys
from .joined_document import PartSpan, as_entries, joined_spans, page_labels_of, pages_of, read_spans, times_of
from .sentence_documents import SentencesByKey, StoredSentence
from .source_parts import line_breaks
from .window_runs import RunHit, WindowRun, lines_touched, read_span

CountTokens: TypeAlias = Callable[[str], int]
"""Counts the tokens of a text."""

MAX_LEAD_INS = 4
"""The most lead-ins of a window. Of more, those nearest to it are taken."""


@dataclass(frozen=True, slots=True)
class NewWindow:
    """A window and what its Document is made from.

    Attributes:
        window: The window.
        sentences: Its sentences, and perhaps others.
        held: Its sentences alone, in order.
        first: The first of them.
        last: The last.
        parts: Its places in the parts of the document; empty if the document has none.
    """

    window: Window
    sentences: SentencesByKey
    held: Sequence[StoredSentence]
    first: StoredSentence
    last: StoredSentence
    parts: Sequence[PartSpan]


@dataclass(frozen=True, slots=True)
class JoinedRuns:
    """Windows of one text that become one.

    Attributes:
        runs: The windows, in order of position.
        ranked: The same, best first.
        first: Index of the first sentence.
        last: Index of the last sentence, included.
        start: First code point in the source.
        end: One past the last code point.
        separator: The white space after it; ``None`` if its section ends or that isn't known.
        hits: The hits by the index of their sentences, each with its best score.
        best: The best hit.
        holder: The window that the best hit is from, whose own metadata the joined window carries.
        parts: The places in the parts of the document; empty if the document has none.
    """

    runs: Sequence[WindowRun]
    ranked: Sequence[WindowRun]
    first: int
    last: int
    start: int
    end: int
    separator: str | None
    hits: Mapping[int, RunHit]
    best: RunHit
    holder: WindowRun
    parts: Sequence[PartSpan]

    @property
    def doc_id(self) -> str:
        """The source document."""
        return self.holder.doc_id


@dataclass(frozen=True, slots=True)
class CutWindow:
    """A stretch that is cut out of a window.

    Attributes:
        metadata: The metadata of the window, or of any other Document.
        span: The stretch in the source; ``None`` if it isn't known.
        parts: Its places in the parts of the document; ``None`` if they aren't known, or the document has none.
        lines: The first and the last line that it touches; ``None`` if they aren't known.
    """

    metadata: Mapping[str, Any]
    span: Span | None
    parts: Sequence[PartSpan] | None
    lines: Span | None


def left_out(_: object) -> None:
    """Leave a field out, as it isn't true of what is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowField:
    """A key of a window's metadata. A value of ``None`` leaves the key out.

    Attributes:
        key: The key.
        make: Makes the value from sentences; ``None`` for a field that is added to a window later.
        join: Makes the value of windows that are joined; ``None`` to take that of the window with the best hit.
        cut: Makes the value of a stretch of a window; ``None`` to leave it as it is.
        count: Makes the value from all that is shown of a window, lead-ins and text, by a counter of tokens. Such a
            value is made anew whenever a window is made, joined, cut or rewritten, so the other rules are ``None``.
        is_of_search: Whether it says how the window was found, and so isn't true of a text that is only read.
        is_of_reranker: Whether a reranker sets it. What a reranker writes into other fields is undone.
        is_on_page: Whether the studio's page gets it.
        brief: Says the value in a few words, which the command shows after the place of a window; ``None`` to show
            nothing.
    """

    key: str
    make: Callable[[NewWindow], Any] | None = None
    join: Callable[[JoinedRuns], Any] | None
    cut: Callable[[CutWindow], Any] | None
    count: Callable[[str, CountTokens], Any] | None = None
    is_of_search: bool = False
    is_of_reranker: bool = False
    is_on_page: bool = True
    brief: Callable[[Any], str] | None = None


def _of_parts(
    key: str, read: Callable[[Sequence[PartSpan]], list[Any]], *, is_kept: bool = False, is_on_page: bool = True
) -> WindowField:
    """Return a field that is read from the places of a window in the parts of its document.

    Args:
        key: Its key.
        read: Reads the value from places.
        is_kept: Whether a stretch whose places aren't known keeps the value of a window on one page.
        is_on_page: See `WindowField`.
    """
    return WindowField(
        key=key,
        make=lambda new: (new.parts and read(new.parts)) or None,
        join=lambda joined: read(joined.parts) or None if joined.parts else joined.holder.document.metadata.get(key),
        cut=lambda cut: _cut_pages(cut, key, read) if is_kept else (read(cut.parts or ()) or None),
        is_on_page=is_on_page,
    )


FIELDS: tuple[WindowField, ...] = (
    WindowField(key=keys.DOC_ID, make=lambda new: new.window.doc_id, join=None, cut=None),
    WindowField(
        key=keys.START_INDEX,
        make=lambda new: new.first.start,
        join=lambda joined: joined.start,
        cut=lambda cut: cut.span and cut.span[0],
    ),
    WindowField(
        key=keys.END_INDEX,
        make=lambda new: new.last.end,
        join=lambda joined: joined.end,
        cut=lambda cut: cut.span and cut.span[1],
    ),
    WindowField(
        key=keys.SENTENCES,
        make=lambda new: [new.window.first, new.window.last],
        join=lambda joined: [joined.first, joined.last],
        cut=left_out,
    ),
    WindowField(
        key=keys.HITS,
        make=lambda new: [_hit(hit, new.sentences) for hit in new.window.hits],
        join=lambda joined: [dict(joined.hits[index].entry) for index in sorted(joined.hits)],
        cut=left_out,
        is_of_search=True,
    ),
    WindowField(
        key=keys.SCORE,
        make=lambda new: new.window.best.score,
        join=lambda joined: joined.best.entry[keys.SCORE],
        cut=None,
        is_of_search=True,
        brief=lambda score: f"score {score:.2f}",
    ),
    WindowField(
        key=keys.RELEVANCE,
        join=lambda joined: _best_of(keys.RELEVANCE, joined),
        cut=None,
        is_of_search=True,
    ),
    WindowField(
        key=keys.RELEVANCE_SCORE,
        join=lambda joined: _best_of(keys.RELEVANCE_SCORE, joined),
        cut=None,
        is_of_search=True,
        is_of_reranker=True,
        brief=lambda score: f"reranked {score:.2f}",
    ),
    WindowField(
        key=keys.WINDOW_ID,
        make=lambda new: keys.window_id(new.window.doc_id, new.window.first, new.window.last),
        join=lambda joined: keys.window_id(joined.doc_id, joined.first, joined.last),
        cut=left_out,
    ),
    WindowField(
        key=keys.HEADING,
        make=lambda new: new.sentences[new.window.doc_id, new.window.best.index].heading or None,
        join=None,
        cut=None,
    ),
    WindowField(
        key=keys.SEPARATOR,
        make=lambda new: new.last.separator if new.window.last + 1 < new.last.section_end else None,
        join=lambda joined: joined.separator,
        cut=left_out,
        is_on_page=False,
    ),
    WindowField(
        key=keys.LEAD_INS,
        make=lambda new: lead_ins(new.window, new.sentences) or None,
        join=lambda joined: _joined_lead_ins(joined) or None,
        cut=left_out,
    ),
    WindowField(
        key=keys.ALSO_IN,
        join=lambda joined: (
            joined_places((run.document for run in joined.ranked), joined.doc_id, joined.start, joined.end) or None
        ),
        cut=left_out,
    ),
    _of_parts(keys.PARTS, as_entries, is_on_page=False),
    _of_parts(keys.PAGES, pages_of, is_kept=True),
    _of_parts(keys.PAGE_LABELS, page_labels_of, is_kept=True),
    _of_parts(keys.TIMES, times_of),
    WindowField(
        key=keys.LINES,
        make=lambda new: window_lines(new.first, new.last),
        join=lambda joined: _joined_lines(joined.runs),
        cut=lambda cut: cut.lines and list(cut.lines),
    ),
    WindowField(
        key=keys.SENTENCE_SPANS,
        make=lambda new: [[each.start, each.end] for each in new.held],
        join=lambda joined: _joined_sentences(joined.runs) or None,
        cut=lambda cut: _cut_sentences(cut.metadata, cut.span) if cut.parts and cut.span else None,
    ),
    WindowField(key=keys.CITATION_NUMBER, join=None, cut=None, is_of_search=True, is_on_page=False),
    WindowField(key=keys.TOKENS, join=None, cut=None, count=lambda shown, count_tokens: count_tokens(shown)),
)


_BLOCK_BITS = 7
_COST_UNITS = 20
_COST_FROM = (
    (0x0000, 5),  # Latin letters of Western Europe, digits, punctuation
    (0x0100, 20),  # other Latin letters, phonetic letters, combining marks
    (0x0380, 8),  # Greek, Cyrillic, Armenian, Hebrew, Arabic
    (0x0700, 40),
    (0x0900, 8),  # Devanagari, Bengali, Gurmukhi, Gujarati, Oriya, Tamil, Telugu, Kannada, Malayalam
    (0x0D80, 20),  # Sinhala
    (0x0E00, 8),  # Thai
    (0x0E80, 40),  # Lao, Tibetan
    (0x1000, 20),  # Burmese
    (0x1080, 8),  # Georgian
    (0x1100, 20),  # Hangul
    (0x1200, 40),  # Ethiopic, Cherokee
    (0x1780, 20),  # Khmer
    (0x1800, 40),
    (0x1E00, 20),  # Latin letters of Vietnamese, old Greek
    (0x2000, 5),  # punctuation and symbols
    (0x2C00, 40),
    (0x2E80, 20),  # Chinese, Japanese, Korean
    (0xD800, 40),  # private use
    (0xF900, 20),  # Chinese, Japanese, Korean
    (0xFB00, 40),  # forms of Arabic letters
    (0xFE00, 20),  # Chinese, Japanese, Korean
    (0xFE80, 40),  # forms of Arabic letters
    (0xFF00, 20),  # letters of full width
    (0x10000, 40),  # emoji, rare Chinese characters
)
"""What a character costs in `_COST_UNITS` of a token, from this block of 128 code points to the next.

Measured on current tokenizers; see the page on choosing a window. A quarter of a token is rather too much for English
prose, and too little for digits."""

_COSTS = np.repeat(
    np.array([cost for _, cost in _COST_FROM], np.uint8),
    np.diff([*(start >> _BLOCK_BITS for start, _ in _COST_FROM), (sys.maxunicode + 1) >> _BLOCK_BITS]),
)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text by its scripts, rounded up.

    Four characters of English count as a token, and so do four digits, marks or other letters of Western Europe. A
    character counts 0.4 tokens in Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic, Thai and most scripts of India.
    It counts 1 in Chinese, Japanese and Korean, and for other Latin letters, such as those of Polish or Vietnamese. An
    emoji counts 2, as does a character of a rare script.

    This is a rule of thumb. If precision matters, pass your model's own counter as ``count_tokens``.
    """
    if text.isascii():
        return -(-len(text) // 4)
    characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    return -(-int(_COSTS[characters >> _BLOCK_BITS].sum()) // _COST_UNITS)


def part_spans(held: Sequence[StoredSentence]) -> list[PartSpan]:
    """Return where sentences that follow each other stand in the parts of their document; nothing if it has none.

    Raises:
        IncompleteWindowError: What the store says of that can't be right.
    """
    in_parts = [each for each in held if each.part_spans]
    try:
        spans = [span for each in in_parts for span in read_spans(each.part_spans, each.source, each.text, each.start)]
        return joined_spans(spans) if spans else []
    except ValueError as error:
        raise IncompleteWindowError(
            f"the metadata of a sentence can't be right, as {error}; delete its document and add it again"
        ) from None


def window_lines(first: StoredSentence, last: StoredSentence) -> list[int] | None:
    """Return the first and the last line of sentences; ``None`` if they aren't known."""
    known = first.line and last.line
    return [first.line, last.line + line_breaks(last.text, 0, len(last.text))] if known else None


def lead_ins(window: Window, sentences: SentencesByKey) -> list[dict[str, Any]]:
    """Return the lead-ins of a window, in order of position.

    Args:
        window: The window.
        sentences: Its sentences, and those that lead in, as far as they are at hand. Others are left out.

    Returns:
        For each: ``kind`` (``header``, ``list``, ``speaker`` or ``signature``), ``text``, and ``start_index`` and
        ``end_index`` of that text in the source.
    """
    found = list[dict[str, Any]]()
    for index, led in lead_in_indexes(window, sentences).items():
        sentence = sentences.get((window.doc_id, index))
        if sentence is None or not sentence.kind:
            continue
        kind, end = lead_in_part(led, sentence.text, sentence.kind)
        if end:
            span = {keys.START_INDEX: sentence.start, keys.END_INDEX: sentence.start + end}
            found.append({keys.KIND: kind, keys.TEXT: sentence.text[:end], **span})
    return found


def lead_in_indexes(window: Window, sentences: SentencesByKey) -> dict[int, str]:
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


def places_in(document: Document) -> list[dict[str, Any]]:
    """Return copies of the places that ``also_in`` of a window names; none for what can't be places."""
    given = document.metadata.get(keys.ALSO_IN)
    places = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    return [
        {key: list(value) if isinstance(value, list) else value for key, value in each.items()}
        for each in places
        if isinstance(each.get(keys.DOC_ID), str)
        and as_integer(each.get(keys.START_INDEX)) is not None
        and as_integer(each.get(keys.END_INDEX)) is not None
    ]


def joined_places(documents: Iterable[Document], doc_id: str, start: int, end: int) -> list[dict[str, Any]]:
    """Join what ``also_in`` of several windows names, each place once.

    Args:
        documents: The windows, best first.
        doc_id: The document of the window that they become. Places inside that window are left out.
        start: Its first code point.
        end: One past its last code point.
    """
    return each_once((place for document in documents for place in places_in(document)), doc_id, start, end)


def each_once(places: Iterable[dict[str, Any]], doc_id: str, start: int, end: int) -> list[dict[str, Any]]:
    """Return places that aren't inside a window, each once."""
    found: dict[tuple[str, int, int], dict[str, Any]] = {}
    for place in places:
        span = place[keys.DOC_ID], place[keys.START_INDEX], place[keys.END_INDEX]
        if span[0] != doc_id or not start <= span[1] <= span[2] <= end:
            found.setdefault(span, place)
    return list(found.values())


def _hit(hit: Hit, sentences: "SentencesByKey") -> dict[str, Any]:
    found = sentences[hit.key]
    made = {
        keys.SENTENCE_INDEX: hit.index,
        keys.START_INDEX: found.start,
        keys.END_INDEX: found.end,
        keys.SCORE: hit.score,
    }
    return made if hit.similarity is None else made | {keys.SIMILARITY: hit.similarity}


def _best_of(key: str, joined: JoinedRuns) -> Any:
    given = [run.document.metadata.get(key) for run in joined.ranked]
    numbers = [each for each in given if not math.isnan(as_number(each))]
    return max(numbers, key=as_number) if numbers else joined.holder.document.metadata.get(key)


def _joined_lead_ins(joined: JoinedRuns) -> list[dict[str, Any]]:
    """Return the lead-ins of windows that stand before the window that they become, in order, each once."""
    found: dict[int, dict[str, Any]] = {}
    for run in joined.runs:
        given = run.document.metadata.get(keys.LEAD_INS)
        for each in given if isinstance(given, list) else []:
            span = read_span([each.get(keys.START_INDEX), each.get(keys.END_INDEX)]) if isinstance(each, dict) else None
            if span is not None and span[1] <= joined.start:
                found.setdefault(span[0], dict(each))
    return [found[at] for at in sorted(found)][-MAX_LEAD_INS:]


def _joined_sentences(runs: Sequence[WindowRun]) -> list[list[int]]:
    """Return the span of each sentence; nothing if one of the windows doesn't say it."""
    if not all(run.sentences for run in runs):
        return []
    sentences = list(runs[0].sentences)
    for run in runs:
        sentences += run.sentences[len(sentences) - (run.first - runs[0].first) :]
    return [list(each) for each in sentences]


def _joined_lines(runs: Sequence[WindowRun]) -> list[int] | None:
    lines = [lines_touched(run.document) for run in runs]
    return [lines[0][0], max(last for _, last in lines)] if all(lines) else None


def _cut_pages(cut: CutWindow, key: str, read: Callable[[Sequence[PartSpan]], list[Any]]) -> Any:
    if cut.parts is not None:
        return read(cut.parts) or None
    kept = cut.metadata.get(key)
    return kept if isinstance(kept, list) and len(kept) == 1 else None  # on one page it is with all of its parts


def _cut_sentences(metadata: Mapping[str, Any], stretch: Span) -> list[list[int]]:
    start, end = stretch
    given = metadata.get(keys.SENTENCE_SPANS)
    spans = [span for each in (given if isinstance(given, list) else []) if (span := read_span(each))]
    return [[max(start, low), min(end, high)] for low, high in spans if low < end and start < high] or [[start, end]]
