"""Read sentence Documents, which a vector store holds, and inline windows in their metadata.

The module `source_documents` writes them.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import SentenceKey, Span
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.splitting.blocks import PROSE
from langchain_sentence_window.windows.geometry import Hit

from . import keys
from .metadata_values import number, numbers, texts
from .part_spans import PartSpan, read_part_spans, write_part_spans
from .source_metadata import identity_in, line_breaks

_TEXTS = (keys.DOC_ID, keys.SEPARATOR, keys.KIND, keys.HEADING, keys.PART_SPANS)
_NUMBERS = (keys.SENTENCE_INDEX, keys.START_INDEX, keys.END_INDEX, keys.SECTION_START, keys.SECTION_END)
_RARE_NUMBERS = (keys.LEAD_IN, keys.START_LINE, keys.HEADING_LEVEL, keys.PIECES_START, keys.PIECES_END)
USUAL: Mapping[str, Any] = {
    keys.SEPARATOR: " ",
    keys.KIND: PROSE,
    keys.HEADING: "",
    keys.PART_SPANS: "",
    **dict.fromkeys(_RARE_NUMBERS),
}
"""Values of a sentence that aren't stored, as most sentences have them."""

_WINDOW_TEXTS = (keys.WINDOW_TEXT, keys.WINDOW_SPANS)
_USUAL_WINDOW = {keys.WINDOW_SEPARATOR: " ", keys.WINDOW_PARTS: ""}


@dataclass(slots=True)  # not frozen, as a query reads hundreds, and that takes four times as long
class StoredSentence:
    """A sentence that was read from a store.

    Attributes:
        doc_id: The source document.
        index: Its index among the document's sentences, from 0.
        start: First code point in the source.
        end: One past its last code point.
        section_start: Index of the first sentence of its section.
        section_end: One past the index of the section's last sentence.
        separator: What is between it and the next sentence of the document: white space, perhaps with markup.
        kind: The kind of its block, see `Block`; empty if it isn't known, as in inline windows.
        heading: The heading path; empty if there is none.
        lead_in: Index of the sentence that introduces it, before it in its section; ``None`` if there is none, or it
            isn't known.
        text: Its text.
        source: The source document's own metadata; of several parts, that of the first.
        line: The line that it starts on in its file, from 1; 0 if it isn't known.
        level: The level of a heading, if the document has parts; 0 if it isn't known.
        part_spans: Its places in the parts of the document, see `write_part_spans`; empty if the document has no parts.
        window: The sentences of its inline window, in order; empty if it has no such window.
        pieces: Indexes ``[start, end)`` of all pieces of the sentence that this is a piece of; ``None`` if it is whole.
    """

    doc_id: str
    index: int
    start: int
    end: int
    section_start: int
    section_end: int
    separator: str
    kind: str
    heading: str
    lead_in: int | None
    text: str
    source: Mapping[str, Any]
    line: int = 0
    level: int = 0
    part_spans: str = ""
    window: tuple["StoredSentence", ...] = ()
    pieces: Span | None = None

    @property
    def key(self) -> SentenceKey:
        """The key of the sentence."""
        return self.doc_id, self.index

    @property
    def spans(self) -> list[PartSpan]:
        """Its places in the parts of the document.

        Raises:
            ValueError: ``part_spans`` isn't what `write_part_spans` writes.
        """
        if not self.part_spans:
            return []
        return read_part_spans(self.part_spans, self.text, self.start, identity_in(self.source))


SentencesByKey: TypeAlias = Mapping[SentenceKey, StoredSentence]
"""Sentences by document and index."""


def read_sentence(document: Document) -> StoredSentence:
    """Read a sentence Document.

    Raises:
        IncompleteWindowError: Its metadata lacks a key that `sentence_documents` writes, or holds a value that it
            can't have written.
    """
    return read_parts(document.metadata, document.page_content, lambda: document.id)


def read_parts(
    metadata: Mapping[str, Any],
    text: str,
    id_: Callable[[], str | None],
    source: Mapping[str, Any] | None = None,
) -> StoredSentence:
    """Read a sentence from the metadata and the text of its Document.

    Args:
        metadata: The metadata.
        text: The text.
        id_: Returns the id of its Document, for messages alone.
        source: The source document's own metadata; ``None`` to take it from ``metadata``.

    Raises:
        IncompleteWindowError: As for `read_sentence`.
    """
    try:
        sentence = _sentence_from_metadata(metadata, text, source)
        return replace(sentence, window=_window_of(sentence, metadata)) if keys.WINDOW_SPANS in metadata else sentence
    except KeyError as error:
        key, id_shown = error.args[0], shown(id_())
        problem = f"the store returned a document (id {id_shown}) without {key!r} in its metadata"
        if key not in (keys.DOC_ID, keys.SENTENCE_INDEX):
            raise IncompleteWindowError(f"{problem}, so its window can't be read; delete it and add it again") from None
        # Documents that weren't written by the retriever. LangChain's index() does so if it is given the store, and
        # then passes over them when it is given the retriever, as its records have them.
        raise IncompleteWindowError(
            f"{problem}, so it isn't a sentence: it was added to the store itself. Delete it with "
            f"store.delete([{id_shown}]); if LangChain's index() added it, delete all that it added with "
            "index([], records, store, cleanup='full'). Then call retriever.add_documents(documents), or "
            "index(documents, records, retriever.as_document_index()), or split them with SentenceSplitter first"
        ) from None
    except ValueError as error:
        raise IncompleteWindowError(
            f"the store returned a sentence of document {shown(metadata[keys.DOC_ID])} (id {shown(id_())}) whose "
            f"metadata is invalid, as {error}; delete that document and add it again"
        ) from None


def _sentence_from_metadata(metadata: Mapping[str, Any], text: str, source: Mapping[str, Any] | None) -> StoredSentence:
    """Read a stored sentence from its metadata and text."""
    values = {**USUAL, **metadata}
    doc_id, separator, kind, heading, part_spans = texts(values, _TEXTS)
    index, start, end, section_start, section_end = numbers(values, _NUMBERS)
    rare = [None if values[key] is None else _index(values, key) for key in _RARE_NUMBERS]
    lead_in, line, level, first_piece, end_piece = rare
    if source is None:
        source = _without_id(own_metadata(metadata), doc_id, index)
    pieces = (index, index + 1) if first_piece is None or end_piece is None else (first_piece, end_piece)
    is_sound = (
        start <= end
        and section_start <= pieces[0] <= index < pieces[1] <= section_end
        and (lead_in is None or section_start <= lead_in < index)
    )
    if not is_sound:
        places = (*_NUMBERS, *_RARE_NUMBERS)
        raise ValueError(", ".join(f"{key} is {shown(metadata[key])}" for key in places if key in metadata))
    return StoredSentence(
        doc_id,
        index,
        start,
        end,
        section_start,
        section_end,
        separator,
        kind,
        heading,
        lead_in,
        text,
        source,
        line=line or 0,
        level=level or 0,
        part_spans=part_spans,
        pieces=None if first_piece is None or end_piece is None else pieces,
    )


def _without_id(metadata: dict[str, Any], doc_id: str, index: int) -> dict[str, Any]:
    """Return metadata without the sentence's id, which some stores add under keys of their own."""
    # By the length first, as making the id takes longer than all else.
    if not any(isinstance(value, str) and len(value) == keys.ID_LENGTH for value in metadata.values()):
        return metadata
    id_ = keys.sentence_id(doc_id, index)
    return {key: value for key, value in metadata.items() if not (isinstance(value, str) and value == id_)}


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the keys of this package."""
    return {key: value for key, value in metadata.items() if key not in keys.CONTRACT_KEYS}


def _index(metadata: Mapping[str, Any], key: str) -> int | None:
    """Read an index that most sentences lack; stores with columns return ``None`` or NaN for none."""
    value = metadata.get(key)
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else number(metadata, key)


def _window_of(sentence: StoredSentence, metadata: Mapping[str, Any]) -> tuple[StoredSentence, ...]:
    """Return the sentences of an inline window, which share the section and heading path of that sentence.

    Raises:
        KeyError: A key is missing.
        ValueError: A value can't be what the module `source_documents` wrote.
    """
    text, written_spans, after, written_parts = texts({**_USUAL_WINDOW, **metadata}, (*_WINDOW_TEXTS, *_USUAL_WINDOW))
    spans = [_parse_span(written, sentence.start) for written in written_spans.split()]
    own, at = (sentence.start, sentence.end), min(spans, default=(0, 0))[0]
    first = sentence.index - spans.index(own) if own in spans else -1
    edges = [at, *(edge for span in spans for edge in span), at + len(text)]
    is_sound = (
        edges == sorted(edges)
        and sentence.section_start <= first
        and first + len(spans) <= sentence.section_end
        and text[own[0] - at : own[1] - at] == sentence.text
    )
    if not is_sound:
        raise ValueError(f"{keys.WINDOW_SPANS} is {shown(written_spans)}")
    separators = [text[one[1] - at : two[0] - at] for one, two in pairwise(spans)]
    line = sentence.line and sentence.line - line_breaks(text, 0, sentence.start - at)
    parts = read_part_spans(written_parts, text, at, {}) if written_parts else []
    return tuple(
        replace(
            sentence,
            index=index,
            start=start,
            end=end,
            separator=separator,
            # Of others than the sentence itself a window doesn't hold these.
            kind=sentence.kind if index == sentence.index else "",
            lead_in=sentence.lead_in if index == sentence.index else None,
            text=text[start - at : end - at],
            line=line and line + line_breaks(text, 0, start - at),
            part_spans=write_part_spans(parts, text[start - at : end - at], start, {}) if parts else "",
        )
        for index, ((start, end), separator) in enumerate(zip(spans, [*separators, after], strict=True), first)
    )


def by_key(sentences: Iterable[StoredSentence]) -> dict[SentenceKey, StoredSentence]:
    """Return sentences in a dict, by document and index."""
    return {(sentence.doc_id, sentence.index): sentence for sentence in sentences}  # quicker than each.key


def as_hit(sentence: StoredSentence, score: float, similarity: float | None = None) -> Hit:
    """Convert a stored sentence to a hit, the form that windows are made of."""
    return Hit(
        sentence.doc_id,
        sentence.index,
        sentence.section_start,
        sentence.section_end,
        score,
        similarity,
        sentence.pieces,
    )


def _parse_span(written: str, start: int) -> Span:
    """Read a span such as ``3:14``, which is relative to a start."""
    low, high = written.split(":")
    return start + int(low), start + int(high)
