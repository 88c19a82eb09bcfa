"""The metadata contract: the only module that knows the keys.

A sentence Document, which a vector store holds, carries flat scalars only, as some stores refuse
anything else. A window Document, which a retriever returns, also carries lists.

======================  =====================================================  ==========
key                     meaning                                                carried by
======================  =====================================================  ==========
``doc_id``              the source document                                    both
``start_index``         first code point in the source                         both
``end_index``           one past the last code point                           both
``heading``             titles of the headings above, joined by `` > ``        both
``sentence_index``      place among the document's sentences, from 0           sentence
``section_start``       index of the section's first sentence                  sentence
``section_end``         one past the index of its last sentence                sentence
``separator``           white space up to the next sentence, if not one space  sentence
``kind``                the block's kind, if not prose                         sentence
``window_text``         the window around it, if it was asked for              sentence
``window_first``        index of that window's first sentence                  sentence
``window_last``         index of its last sentence, which is in it             sentence
``window_start``        the window's first code point in the source            sentence
``window_end``          one past its last code point                           sentence
``window_spans``        where its sentences stand in it: ``0:12 13:40``        sentence
``window_separator``    white space after it, if not one space                 sentence
``sentences``           ``[first, last]`` sentence index, both included        window
``hits``                the sentences found: index, place and score            window
``score``               the best hit's score                                   window
``window_id``           the same for the same sentences of the same document   window
``relevance_score``     a reranker's score                                     window
======================  =====================================================  ==========

``heading`` is left out where there is none. What else a source document's metadata holds is carried along;
a key of its own that stands in this table gives way.

Stores add keys of their own to what they give back, such as its id; those don't come out.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window.embedding.mixing import NOWHERE, Places
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ids import ID_LENGTH, is_storable_id, sentence_id, window_id
from langchain_sentence_window.spans import Span
from langchain_sentence_window.splitting.blocks import PROSE
from langchain_sentence_window.splitting.sentences import Sentence
from langchain_sentence_window.windows import Hit, Window, expand

DOC_ID = "doc_id"
SENTENCE_INDEX = "sentence_index"
START_INDEX = "start_index"
END_INDEX = "end_index"
SECTION_START = "section_start"
SECTION_END = "section_end"
SEPARATOR = "separator"
KIND = "kind"
HEADING = "heading"
WINDOW_TEXT = "window_text"
WINDOW_FIRST = "window_first"
WINDOW_LAST = "window_last"
WINDOW_START = "window_start"
WINDOW_END = "window_end"
WINDOW_SPANS = "window_spans"
WINDOW_SEPARATOR = "window_separator"
SENTENCES = "sentences"
HITS = "hits"
SCORE = "score"
WINDOW_ID = "window_id"
RELEVANCE_SCORE = "relevance_score"
SOURCE = "source"

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


def document_ids(documents: Sequence[Document]) -> list[str]:
    """Name each document: by its id, else its metadata's ``doc_id``, else a hash of source and text.

    Documents alike in source and text (blank pages, say) are told apart by their order, so that the
    same documents in the same order get the same names again.

    Raises:
        InvalidInputError: Two documents have the same id.
    """
    names: list[str] = []
    copies: dict[str, int] = {}
    for document in documents:
        given = document.id if document.id is not None else document.metadata.get(DOC_ID)
        if given is not None:
            names.append(_checked_id(given))
            continue
        key = repr((str(document.metadata.get(SOURCE, "")), document.page_content))
        copies[key] = copies.get(key, 0) + 1
        content = f"{key}{copies[key]}".encode("utf-8", "surrogatepass")
        names.append(hashlib.sha256(content).hexdigest()[:32])
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidInputError(
            f"two documents of this call have the doc_id {twice!r}; give each its own, or join their "
            "texts into one document. Nothing was stored."
        )
    return names


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


def places_of(documents: Iterable[Document]) -> Places:
    """Where sentence Documents stand, for mixing their vectors; they are in order, document by document."""
    known = [neighbourhood(document.metadata) for document in documents]
    numbers: dict[str | None, int] = {}
    for doc_id, _, _ in known:
        numbers.setdefault(doc_id, len(numbers))
    placed = [
        (NOWHERE if None in (doc_id, index) else numbers[doc_id], section, index or 0)
        for doc_id, index, section in known
    ]
    documents_, sections, indexes = np.array(placed, dtype=np.int64).reshape(-1, 3).T
    return Places(documents_, sections, indexes)


def by_place(sentences: Iterable[StoredSentence]) -> dict[tuple[str, int], StoredSentence]:
    """Key sentences by document and index."""
    return {(sentence.doc_id, sentence.index): sentence for sentence in sentences}


def as_hit(sentence: StoredSentence, score: float) -> Hit:
    """Make a hit of a sentence that a search found."""
    return Hit(sentence.doc_id, sentence.index, sentence.section_start, sentence.section_end, score)


def document_place(document: Document) -> tuple[str, int]:
    """The source document of a window Document, and where the window starts in it."""
    return str(document.metadata.get(DOC_ID, "")), int(document.metadata.get(START_INDEX, 0))


def hit_spans(document: Document) -> list[Span]:
    """Where a window's hits stand in its text; none for Documents that aren't a slice of their source."""
    metadata = document.metadata
    start = metadata.get(START_INDEX)
    if not isinstance(start, int) or metadata.get(END_INDEX) != start + len(document.page_content):
        return []
    hits: Sequence[Mapping[str, int]] = metadata.get(HITS) or ()
    return [(hit[START_INDEX] - start, hit[END_INDEX] - start) for hit in hits]


def source_names(document: Document) -> list[str]:
    """What a source Document may be known by to a retriever: its id, its ``doc_id``, its ``source``."""
    given = (document.id, document.metadata.get(DOC_ID), document.metadata.get(SOURCE))
    return [str(name) for name in given if name is not None]


def found_span(document: Document) -> tuple[str, int | None]:
    """The source document of whatever a retriever returned, and where its text starts there.

    Returns:
        Its ``doc_id``, else its ``source``; and ``start_index``, or ``None`` where that is negative, as
        LangChain's splitters write it for a text that they can't find again.

    Raises:
        InvalidInputError: The metadata doesn't say it, or the text isn't what stands at that place.
    """
    metadata = document.metadata
    name = metadata.get(DOC_ID, metadata.get(SOURCE))
    start, end = metadata.get(START_INDEX), metadata.get(END_INDEX)
    if name is None or not isinstance(start, int | float):
        raise InvalidInputError(
            f"the retriever returned a document that can't be placed, as its metadata is {metadata!r}; it must hold "
            "'start_index', as RecursiveCharacterTextSplitter(add_start_index=True) writes it, and 'doc_id' or 'source'"
        )
    if end is not None and int(end) - int(start) != len(document.page_content):
        raise InvalidInputError(
            f"the retriever returned a document of {len(document.page_content)} characters that says it is "
            f"[{start}, {end}) of {name!r}; what was rewritten can't be compared with gold spans"
        )
    return str(name), int(start) if start >= 0 else None


def window_text(window: Window, sentences: SentencesByPlace) -> str:
    """The source's text from the window's first sentence to its last.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't stand where the one before it ends.
    """
    parts: list[str] = []
    at: int | None = None
    for index in range(window.first, window.last + 1):
        sentence = sentences.get((window.doc_id, index))
        if sentence is None:
            raise IncompleteWindowError(
                f"the store has no sentence {index} of document {window.doc_id!r}, which stands in the window "
                f"{window.first} to {window.last}; add the document again"
            )
        if at not in (None, sentence.start) or sentence.end - sentence.start != len(sentence.text):
            raise IncompleteWindowError(
                f"sentence {index} of document {window.doc_id!r} isn't of the same version of the document as those "
                "before it; add the document again"
            )
        at = sentence.end + len(sentence.separator)
        parts += [sentence.text, sentence.separator]
    return "".join(parts[:-1])


def window_document(window: Window, sentences: SentencesByPlace) -> Document:
    """Make the Document a retriever returns for a window.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't stand where the one before it ends.
    """
    text = window_text(window, sentences)
    first, last = sentences[window.doc_id, window.first], sentences[window.doc_id, window.last]
    best = sentences[window.doc_id, window.best.index]
    hits = [(hit, sentences[window.doc_id, hit.index]) for hit in window.hits]
    name = window_id(window.doc_id, window.first, window.last)
    return Document(
        id=name,
        page_content=text,
        metadata={
            **best.source,
            DOC_ID: window.doc_id,
            START_INDEX: first.start,
            END_INDEX: last.end,
            SENTENCES: [window.first, window.last],
            HITS: [
                {SENTENCE_INDEX: hit.index, START_INDEX: found.start, END_INDEX: found.end, SCORE: hit.score}
                for hit, found in hits
            ],
            SCORE: window.score,
            WINDOW_ID: name,
            **({HEADING: best.heading} if best.heading else {}),
        },
    )


def source_document(sentences: Sequence[StoredSentence]) -> Document:
    """Put a source document together of all its sentences, in order: its text from the first to the last.

    Raises:
        IncompleteWindowError: A sentence is missing, or doesn't stand where the one before it ends.
    """
    first, last = sentences[0], sentences[-1]
    whole = Window(first.doc_id, first.index, last.index, ())
    metadata = {**first.source, DOC_ID: first.doc_id, START_INDEX: first.start, END_INDEX: last.end}
    return Document(id=first.doc_id, page_content=window_text(whole, by_place(sentences)), metadata=metadata)


def _checked_id(given: object) -> str:
    name = str(given)
    if not is_storable_id(name):
        raise InvalidInputError(
            f"{name!r} can't be a doc_id, as it is empty or holds a NUL or a lone surrogate, which stores can't keep; "
            "give the document another id, or none"
        )
    return name


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_INDEX
