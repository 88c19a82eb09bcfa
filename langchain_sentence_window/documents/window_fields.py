"""The metadata of window Documents: each key, and how its value is made.

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
``sentence_spans``   the span of each sentence
``lead_ins``         text before the window that gives it meaning
``also_in``          where windows of equal text stand that were found
``relevance_score``  a reranker's score
===================  =================================================

An entry of ``parts`` holds what names the part, such as ``page``; ``start_index`` and ``end_index`` in the part's own
text, or, of a chunk with a ``start_index``, in the text that it was cut from; and ``span``, the same stretch in the
document. Each stretch stands in its part character for character.

An entry of ``lead_ins`` holds ``kind`` (``header`` of a table, ``list`` for the sentence that introduces a list,
``speaker`` of a message), ``text``, and ``start_index`` and ``end_index`` of that text in the document. They are in
order of position, and before the window.

An entry of ``also_in`` holds ``doc_id``, ``start_index`` and ``end_index`` of a window that was found too and isn't
returned, as its text is equal, and its ``heading``, ``source`` and ``pages`` if it has them. They are in order of rank.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from langchain_sentence_window.documents.joined_document import (
    PartSpan,
    as_entries,
    joined_spans,
    page_labels_of,
    pages_of,
    read_spans,
)
from langchain_sentence_window.documents.keys import (
    ALSO_IN,
    DOC_ID,
    END_INDEX,
    HEADING,
    HITS,
    LEAD_INS,
    PAGE_LABELS,
    PAGES,
    PART_METADATA,
    PARTS,
    RELEVANCE_SCORE,
    SCORE,
    SENTENCE_INDEX,
    SENTENCE_KEYS,
    SENTENCE_SPANS,
    SENTENCES,
    SEPARATOR,
    SIMILARITY,
    START_INDEX,
    WINDOW_ID,
    window_id,
)
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.windows.geometry import Hit, Window

if TYPE_CHECKING:
    from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence


def _hit(hit: Hit, sentences: "SentencesByKey") -> dict[str, Any]:
    found = sentences[hit.key]
    made = {SENTENCE_INDEX: hit.index, START_INDEX: found.start, END_INDEX: found.end, SCORE: hit.score}
    return made if hit.similarity is None else made | {SIMILARITY: hit.similarity}


def part_spans(held: "Iterable[StoredSentence]") -> list[PartSpan]:
    """Return where sentences that follow each other stand in the parts of their document; nothing if it has none.

    Raises:
        IncompleteWindowError: What the store says of that can't be right.
    """
    try:
        return joined_spans(
            span
            for each in held
            if each.part_spans
            for span in read_spans(each.part_spans, each.source, each.text, each.start)
        )
    except ValueError as error:
        raise IncompleteWindowError(
            f"the metadata of a sentence can't be right, as {error}; delete its document and add it again"
        ) from None


def part_metadata(window: Window, sentences: "SentencesByKey") -> dict[str, Any]:
    """Return the metadata of a window of a document that is made of parts; nothing for other documents."""
    held = [sentences[window.doc_id, index] for index in range(window.first, window.last + 1)]
    spans = part_spans(held)
    if not spans:
        return {}
    return {
        PARTS: as_entries(spans),
        PAGES: pages_of(spans) or None,
        PAGE_LABELS: page_labels_of(spans) or None,
    }


def _sentence_spans(window: Window, sentences: "SentencesByKey") -> list[list[int]]:
    held = (sentences[window.doc_id, index] for index in range(window.first, window.last + 1))
    return [[each.start, each.end] for each in held]


def _separator(window: Window, sentences: "SentencesByKey") -> str | None:
    last = sentences[window.doc_id, window.last]
    return last.separator if window.last + 1 < last.section_end else None


def _lead_ins(window: Window, sentences: "SentencesByKey") -> list[dict[str, Any]]:
    from langchain_sentence_window.documents.window_documents import lead_ins  # a cycle, as above

    return lead_ins(window, sentences)


WINDOW_METADATA: Mapping[str, Callable[[Window, "SentencesByKey"], Any]] = {
    DOC_ID: lambda window, _: window.doc_id,
    START_INDEX: lambda window, sentences: sentences[window.doc_id, window.first].start,
    END_INDEX: lambda window, sentences: sentences[window.doc_id, window.last].end,
    SENTENCES: lambda window, _: [window.first, window.last],
    HITS: lambda window, sentences: [_hit(hit, sentences) for hit in window.hits],
    SCORE: lambda window, _: window.score,
    WINDOW_ID: lambda window, _: window_id(window.doc_id, window.first, window.last),
    HEADING: lambda window, sentences: sentences[window.doc_id, window.best.index].heading or None,
    SEPARATOR: _separator,
    LEAD_INS: lambda window, sentences: _lead_ins(window, sentences) or None,
    SENTENCE_SPANS: _sentence_spans,
}
"""The value of each key, from a window and its sentences; a key whose value is ``None`` is left out."""

CONTRACT_KEYS = SENTENCE_KEYS | WINDOW_METADATA.keys() | PART_METADATA | {ALSO_IN, RELEVANCE_SCORE}
"""The keys of sentence Documents and window Documents. A source document's own keys among them are renamed."""
