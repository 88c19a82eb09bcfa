"""Window Documents, which a retriever returns: made from sentences, and read."""

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document

from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.documents.json_values import own_values
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, START_INDEX
from langchain_sentence_window.documents.parts.joined_document import shared_metadata
from langchain_sentence_window.documents.parts.spans import as_entries
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, by_key
from langchain_sentence_window.documents.window_metadata import (
    HITS,
    PARTS,
    WINDOW_ID,
    WINDOW_METADATA,
    part_metadata,
    part_spans,
)
from langchain_sentence_window.errors import IncompleteWindowError
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
