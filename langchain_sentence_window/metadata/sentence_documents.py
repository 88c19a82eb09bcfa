"""Sentence Documents, which a vector store holds: written, and read back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.ids import ID_LENGTH, sentence_id
from langchain_sentence_window.metadata.keys import (
    DOC_ID,
    END_INDEX,
    HEADING,
    KIND,
    SECTION_END,
    SECTION_START,
    SENTENCE_INDEX,
    SEPARATOR,
    START_INDEX,
    WINDOW_END,
    WINDOW_FIRST,
    WINDOW_LAST,
    WINDOW_SEPARATOR,
    WINDOW_SPANS,
    WINDOW_START,
    WINDOW_TEXT,
)
from langchain_sentence_window.splitting.blocks import PROSE
from langchain_sentence_window.splitting.sentences import Sentence
from langchain_sentence_window.windows import Hit, Window, expand

_LARGEST_INDEX = 2**62
_COLLECTION = "_collection_name"  # Qdrant's, beside the id
_INLINE_KEYS = frozenset(
    {WINDOW_TEXT, WINDOW_FIRST, WINDOW_LAST, WINDOW_START, WINDOW_END, WINDOW_SPANS, WINDOW_SEPARATOR}
)
_SENTENCE_KEYS = _INLINE_KEYS | frozenset(
    {DOC_ID, SENTENCE_INDEX, START_INDEX, END_INDEX, SECTION_START, SECTION_END, SEPARATOR, KIND, HEADING}
)


@dataclass(frozen=True, slots=True)
class StoredSentence:
    """A sentence as a store gives it back.

    Attributes:
        doc_id: The source document.
        index: Its place among the document's sentences, from 0.
        start: First code point in the source.
        end: One past its last code point.
        section_start: Index of the first sentence of its section.
        section_end: One past the index of the section's last sentence.
        separator: White space between it and the next sentence of the document.
        heading: The heading path, empty where there is none.
        text: The sentence.
        source: What the source document's own metadata was, scalars only.
        window: The sentences of its inline window, in order; none where it has no such window.
    """

    doc_id: str
    index: int
    start: int
    end: int
    section_start: int
    section_end: int
    separator: str
    heading: str
    text: str
    source: Mapping[str, Any]
    window: tuple["StoredSentence", ...] = ()


SentencesByPlace: TypeAlias = Mapping[tuple[str, int], StoredSentence]
"""Sentences by document and index."""


def sentence_documents(
    document: Document, doc_id: str, sentences: Sequence[Sentence], inline_window: tuple[int, int] | None = None
) -> list[Document]:
    """Make the Documents a store holds, one for each sentence of a document.

    Args:
        document: The source.
        doc_id: Its name.
        sentences: Its sentences, in order.
        inline_window: Sentences before and after each, whose text is to go into its metadata; ``None``
            for no such text.
    """
    text = document.page_content
    own = {key: value for key, value in document.metadata.items() if _is_scalar(value)}
    made: list[Document] = []
    for index, sentence in enumerate(sentences):
        metadata = own | {
            DOC_ID: doc_id,
            SENTENCE_INDEX: index,
            START_INDEX: sentence.start,
            END_INDEX: sentence.end,
            SECTION_START: sentence.section_start,
            SECTION_END: sentence.section_end,
        }
        separator = _separator(text, sentences, index)
        optional = ((SEPARATOR, separator, " "), (KIND, sentence.kind, PROSE), (HEADING, sentence.heading, ""))
        for key, value, usual in optional:
            metadata.pop(key, None)
            if value != usual:
                metadata[key] = value
        if inline_window is not None:
            alone = Hit(doc_id, index, sentence.section_start, sentence.section_end, score=0.0)
            metadata |= _inline(text, sentences, expand(alone, *inline_window))
        made.append(
            Document(
                id=sentence_id(doc_id, index),
                page_content=text[sentence.start : sentence.end],
                metadata=metadata,
            )
        )
    return made


def _inline(text: str, sentences: Sequence[Sentence], window: Window) -> dict[str, Any]:
    start, end = sentences[window.first].start, sentences[window.last].end
    spans = [(sentence.start - start, sentence.end - start) for sentence in sentences[window.first : window.last + 1]]
    separator = _separator(text, sentences, window.last)
    return {
        WINDOW_TEXT: text[start:end],
        WINDOW_FIRST: window.first,
        WINDOW_LAST: window.last,
        WINDOW_START: start,
        WINDOW_END: end,
        WINDOW_SPANS: " ".join(f"{first}:{last}" for first, last in spans),
        **({WINDOW_SEPARATOR: separator} if separator != " " else {}),
    }


def _separator(text: str, sentences: Sequence[Sentence], index: int) -> str:
    """The white space between a sentence and the next; one space after the last."""
    is_last = index + 1 == len(sentences)
    return " " if is_last else text[sentences[index].end : sentences[index + 1].start]


def read_sentence(document: Document) -> StoredSentence:
    """Read a sentence Document.

    Raises:
        IncompleteWindowError: It doesn't carry the metadata that `sentence_documents` writes.
    """
    metadata = document.metadata
    try:
        sentence = StoredSentence(
            doc_id=metadata[DOC_ID],
            # Some stores give numbers back as floats.
            index=int(metadata[SENTENCE_INDEX]),
            start=int(metadata[START_INDEX]),
            end=int(metadata[END_INDEX]),
            section_start=int(metadata[SECTION_START]),
            section_end=int(metadata[SECTION_END]),
            separator=metadata.get(SEPARATOR, " "),
            heading=metadata.get(HEADING, ""),
            text=document.page_content,
            source=_own_metadata(metadata),
        )
    except KeyError as error:
        raise IncompleteWindowError(
            f"the store returned a document (id {document.id!r}) without {error.args[0]!r} in its metadata, so "
            "its window can't be read; add documents through the retriever, or split them with "
            "SentenceSplitter before they go into the store"
        ) from None
    return replace(sentence, window=_inline_sentences(sentence, metadata)) if WINDOW_SPANS in metadata else sentence


def _own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What the source document had; not our keys, nor what a store adds: the id, its collection, empty columns."""
    own = {key: value for key, value in metadata.items() if key not in _SENTENCE_KEYS and value is not None}
    # Told by their length first, as working out the id takes longer than all else.
    ids = [key for key, value in own.items() if isinstance(value, str) and len(value) == ID_LENGTH]
    if ids:
        id_ = sentence_id(metadata[DOC_ID], int(metadata[SENTENCE_INDEX]))
        added = [key for key in ids if own[key] == id_]
        for key in [*added, _COLLECTION] if added else []:
            own.pop(key, None)
    return own


def _inline_sentences(sentence: StoredSentence, metadata: Mapping[str, Any]) -> tuple[StoredSentence, ...]:
    """Make the sentences of an inline window; of the same section, so of the same heading path."""
    text, at, first = metadata[WINDOW_TEXT], int(metadata[WINDOW_START]), int(metadata[WINDOW_FIRST])
    spans = [tuple(map(int, span.split(":"))) for span in metadata[WINDOW_SPANS].split()]
    separators = [text[end:start] for (_, end), (start, _) in pairwise(spans)]
    separators.append(metadata.get(WINDOW_SEPARATOR, " "))
    return tuple(
        replace(sentence, index=index, start=at + start, end=at + end, separator=separator, text=text[start:end])
        for index, ((start, end), separator) in enumerate(zip(spans, separators, strict=True), first)
    )


def by_place(sentences: Iterable[StoredSentence]) -> dict[tuple[str, int], StoredSentence]:
    """Key sentences by document and index."""
    return {(sentence.doc_id, sentence.index): sentence for sentence in sentences}


def as_hit(sentence: StoredSentence, score: float) -> Hit:
    """Make a hit of a sentence that a search found."""
    return Hit(sentence.doc_id, sentence.index, sentence.section_start, sentence.section_end, score)


def neighbourhood(metadata: Mapping[str, Any]) -> tuple[str | None, int | None, int]:
    """What says which sentences are neighbours: the document, the index in it, and its section.

    Returns:
        ``None`` for a document or an index that the metadata doesn't hold.
    """
    doc_id, index, section = metadata.get(DOC_ID), metadata.get(SENTENCE_INDEX), metadata.get(SECTION_START, 0)
    return (
        doc_id if isinstance(doc_id, str) else None,
        index if _is_index(index) else None,
        section if _is_index(section) else 0,
    )


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_INDEX
