"""Write sentence Documents, which a vector store holds; the module `sentence_documents` reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.documents.ids import sentence_id
from langchain_sentence_window.documents.inline_windows import separator_after, write_window
from langchain_sentence_window.documents.keys import (
    DOC_ID,
    END_INDEX,
    HEADING,
    HEADING_LEVEL,
    KIND,
    LEAD_IN,
    PART_SPANS,
    PIECES_END,
    PIECES_START,
    SECTION_END,
    SECTION_START,
    SENTENCE_INDEX,
    SEPARATOR,
    START_INDEX,
    WINDOW_PARTS,
)
from langchain_sentence_window.documents.parts.joined_document import JoinedDocument
from langchain_sentence_window.documents.parts.numbering import NAMING_KEYS
from langchain_sentence_window.documents.parts.spans import first_piece, write_spans
from langchain_sentence_window.documents.source_documents import carried_metadata
from langchain_sentence_window.documents.stored_metadata import MetadataFitter
from langchain_sentence_window.splitting.blocks import PROSE
from langchain_sentence_window.splitting.markdown import read_front_matter
from langchain_sentence_window.splitting.sentences import Sentence
from langchain_sentence_window.windows.geometry import Hit, expand


def sentence_documents(
    joined: JoinedDocument,
    sentences: Sequence[Sentence],
    fitter: MetadataFitter,
    inline_window: tuple[int, int] | None = None,
) -> list[Document]:
    """Make the Documents that a store holds, one for each sentence of a document.

    Args:
        joined: The source document.
        sentences: Its sentences, in order.
        fitter: Fits the metadata of its parts to the store.
        inline_window: Sentences before and after each sentence to write into its metadata; ``None`` for none.
    """
    text, doc_id = joined.text, joined.doc_id
    front_matter = _front_matter(text, sentences)
    own = [
        carried_metadata(each, doc_id)
        for each in fitter.fit([_with_metadata(part.carried, front_matter) for part in joined.parts])
    ]
    spans = [(sentence.start, sentence.end) for sentence in sentences]
    made: list[Document] = []
    for index, sentence in enumerate(sentences):
        part = joined.pieces[first_piece(joined, sentence.start)].part if joined.pieces else 0
        metadata = own[part] | {
            DOC_ID: doc_id,
            SENTENCE_INDEX: index,
            START_INDEX: sentence.start,
            END_INDEX: sentence.end,
            SECTION_START: sentence.section_start,
            SECTION_END: sentence.section_end,
        }
        separator = separator_after(text, spans, index)
        optional = (
            (SEPARATOR, separator, " "),
            (KIND, sentence.kind, PROSE),
            (HEADING, sentence.heading, ""),
            (LEAD_IN, sentence.lead_in, None),
            (PIECES_START, sentence.pieces and sentence.pieces[0], None),
            (PIECES_END, sentence.pieces and sentence.pieces[1], None),
            (HEADING_LEVEL, sentence.level if joined.pieces else 0, 0),
            (PART_SPANS, write_spans(joined, sentence.start, sentence.end) if joined.pieces else "", ""),
        )
        metadata |= {key: value for key, value, usual in optional if value != usual}
        if inline_window is not None:
            alone = Hit(doc_id, index, sentence.section_start, sentence.section_end, score=0.0)
            window = expand(alone, *inline_window)
            metadata |= write_window(text, spans, window)
            if joined.pieces:
                start, end = spans[window.first][0], spans[window.last][1]
                metadata[WINDOW_PARTS] = write_spans(joined, start, end, names_first=True)
        made.append(
            Document(
                id=sentence_id(doc_id, index),
                page_content=text[sentence.start : sentence.end],
                metadata=metadata,
            )
        )
    return made


def _front_matter(text: str, sentences: Sequence[Sentence]) -> Mapping[str, Any]:
    """Return the values of the front matter, unless it was split into sentences, as in plain text.

    A text can't say where it is from.
    """
    found = read_front_matter(text)
    if found is None or (sentences and sentences[0].start < found.end):
        return {}
    return {key: value for key, value in found.values.items() if key not in NAMING_KEYS}


def _with_metadata(document: Document, more: Mapping[str, Any]) -> Document:
    """Return a document with more metadata, where it has no such keys of its own."""
    return document.model_copy(update={"metadata": {**more, **document.metadata}}) if more else document
