"""The documents in an index, told from the metadata of their sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from langchain_sentence_window.documents.json_values import own_values
from langchain_sentence_window.documents.parts.numbering import page_of, source_of
from langchain_sentence_window.documents.sentence_documents import StoredSentence

TITLE = "title"


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document in an index, as far as a filter lets it through.

    Attributes:
        doc_id: Its name.
        source: What its metadata calls the source, such as a path or an address; ``None`` if there is none.
        title: The ``title`` in its metadata, else the heading path of its first sentence; ``None`` without either.
        sentences: The number of its sentences.
        pages: The number of pages that its sentences begin on; ``None`` if their metadata names no page.
        metadata: The metadata of its first sentence's source, without the keys of this package.
        added: When the store last wrote it, in UTC; ``None`` if the store doesn't say.
    """

    doc_id: str
    source: str | None
    title: str | None
    sentences: int
    pages: int | None
    metadata: Mapping[str, Any]
    added: datetime | None = None


class SentenceRun(NamedTuple):
    """Some sentences of a document that have the same metadata.

    Attributes:
        doc_id: The document.
        sentences: The number of sentences.
        heading: The heading path of the first; empty if there is none.
        metadata: The source document's own metadata.
        added: When the document was last written; ``None`` if that isn't known.
    """

    doc_id: str
    sentences: int
    heading: str
    metadata: Mapping[str, Any]
    added: datetime | None = None


def indexed_documents(runs: Iterable[SentenceRun]) -> list[IndexedDocument]:
    """Put documents together.

    Args:
        runs: Those of each document in its order; runs of several documents may be mixed.

    Returns:
        The documents, in the order of their first runs.
    """
    by_document: dict[str, list[SentenceRun]] = {}
    for run in runs:
        by_document.setdefault(run.doc_id, []).append(run)
    return [_document(doc_id, of_it) for doc_id, of_it in by_document.items()]


def runs_of(sentences: Iterable[StoredSentence]) -> list[SentenceRun]:
    """Return a run for each sentence, in the order of their documents' first sentences and in each by index."""
    by_document: dict[str, dict[int, StoredSentence]] = {}
    for sentence in sentences:
        by_document.setdefault(sentence.doc_id, {})[sentence.index] = sentence
    return [
        SentenceRun(doc_id, 1, of_it[index].heading, of_it[index].source)
        for doc_id, of_it in by_document.items()
        for index in sorted(of_it)
    ]


def _document(doc_id: str, runs: list[SentenceRun]) -> IndexedDocument:
    metadata, heading = runs[0].metadata, runs[0].heading
    title = metadata.get(TITLE)
    pages = {page for run in runs if (page := page_of(run.metadata)) is not None}
    return IndexedDocument(
        doc_id=doc_id,
        source=source_of(metadata),
        title=title if isinstance(title, str) and title.strip() else heading or None,
        sentences=sum(run.sentences for run in runs),
        pages=len(pages) or None,
        metadata=own_values(metadata),
        added=runs[0].added,
    )
