"""The documents in an index: listed with their names, and their parts reconstructed from sentences."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window.splitting.blocks import MAX_LEVEL, PROSE, TABLE_ROW, Block

from .joining import BLANK_LINE
from .metadata_values import own_values
from .part_blocks import Continuation
from .part_spans import PART
from .sentence_documents import StoredSentence
from .source_metadata import TITLE, page_of, source_of
from .source_parts import Part, part_of, shared_metadata


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document in an index, or the part of it that a filter allows.

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
    return [_make_indexed_document(doc_id, of_it) for doc_id, of_it in by_document.items()]


def sentence_runs(sentences: Iterable[StoredSentence]) -> list[SentenceRun]:
    """Return a run for each sentence, in the order of their documents' first sentences and in each by index."""
    by_document: dict[str, dict[int, StoredSentence]] = {}
    for sentence in sentences:
        by_document.setdefault(sentence.doc_id, {})[sentence.index] = sentence
    return [
        SentenceRun(doc_id, 1, of_it[index].heading, of_it[index].source)
        for doc_id, of_it in by_document.items()
        for index in sorted(of_it)
    ]


def _make_indexed_document(doc_id: str, runs: list[SentenceRun]) -> IndexedDocument:
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


_Name: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(slots=True)
class _StoredPart:
    """A part, reconstructed from its sentences.

    Attributes:
        start: Where its text begins in its own text.
        metadata: The metadata of the first sentence that begins in it.
        texts: Its text in pieces.
        length: The length of its text.
        blocks: Its blocks.
        continues: How its first block begins.
    """

    start: int
    metadata: dict[str, Any] | None = None
    texts: list[str] = field(default_factory=list)
    length: int = 0
    blocks: list[Block] = field(default_factory=list)
    continues: Continuation = ""

    def add(self, text: str, separator: str, block: Block, *, begins: bool) -> None:
        """Add a stretch of text after some white space; it begins a block, or continues the last one."""
        if not self.texts:
            separator = ""
        self.texts += [separator, text]
        start = self.length + len(separator)
        self.length = start + len(text)
        if begins or not self.blocks:
            self.blocks.append(replace(block, start=start, end=self.length))
        else:
            self.blocks[-1] = replace(self.blocks[-1], end=self.length)


def stored_parts(sentences: Sequence[StoredSentence], *, with_blocks: bool, key: str | None = None) -> list[Part]:
    """Return the parts of a document.

    Args:
        sentences: All of its sentences, in order.
        with_blocks: Whether to return what kinds of blocks they were.
        key: A key of the user's own that numbers the parts.

    Returns:
        The parts, in order. A document without parts is a chunk that begins where its source does; one whose parts
        aren't numbered has none.

    Raises:
        ValueError: A sentence's metadata is invalid.
    """
    if sentences and not any(sentence.part_spans for sentence in sentences):
        return [_document_as_part(sentences)]
    parts: dict[_Name, _StoredPart] = {}
    headers = {sentence.lead_in for sentence in sentences if sentence.kind == TABLE_ROW}
    before: StoredSentence | None = None
    last: _StoredPart | None = None
    for sentence in sentences:
        begins = before is None or _begins_block(before, sentence)
        gap = before.separator if before else ""
        block = Block(0, 1, sentence.kind, min(sentence.level, MAX_LEVEL), _is_header(sentence, headers))
        end = sentence.start
        for number, span in enumerate(sentence.spans):
            if PART in span.identity:
                return []
            part = parts.setdefault(tuple(span.identity.items()), _StoredPart(span.start))
            start, is_next = span.source_start, part is last
            if number:
                gap, begins = sentence.text[end - sentence.start : start - sentence.start], False
                if not part.texts:
                    part.continues = "+" if gap else "~"
            elif part.metadata is None:
                part.metadata = dict(sentence.source)
            end = span.source_end
            text = sentence.text[start - sentence.start : end - sentence.start]
            part.add(text, gap if is_next else "", block, begins=begins or not is_next)
            last = part
        before = sentence
    shared = shared_metadata([sentence.source for sentence in sentences]) if sentences else {}
    return [_as_part(name, part, shared, key, with_blocks=with_blocks) for name, part in parts.items()]


def _document_as_part(sentences: Sequence[StoredSentence]) -> Part:
    """Put a stored document without parts together as a single chunk, at the place of its first sentence."""
    texts = [text for sentence in sentences for text in (sentence.text, sentence.separator)]
    document = Document(page_content="".join(texts[:-1]), metadata=dict(sentences[0].source))
    return Part(document, {}, start=sentences[0].start, offset=sentences[0].start)


def _as_part(name: _Name, part: _StoredPart, shared: dict[str, Any], key: str | None, *, with_blocks: bool) -> Part:
    identity = dict(name)
    metadata = {**(shared if part.metadata is None else part.metadata), **identity}
    return replace(
        part_of(Document(page_content="", metadata=metadata), key),
        document=Document(page_content="".join(part.texts), metadata=metadata),
        identity=identity,
        start=None if identity else part.start,
        offset=part.start,
        blocks=tuple(part.blocks) if with_blocks else None,
        continues=part.continues if with_blocks else "",
    )


def _is_header(sentence: StoredSentence, headers: Collection[int | None]) -> bool | None:
    """Return whether a row is the header of a table, or below one; ``None`` if it has none, or is no row."""
    if sentence.kind != TABLE_ROW or (sentence.lead_in is None and sentence.index not in headers):
        return None
    return sentence.lead_in is None


def _begins_block(before: StoredSentence, sentence: StoredSentence) -> bool:
    """Return whether a sentence begins a block."""
    if sentence.kind != before.kind or sentence.kind == TABLE_ROW:
        return True
    return (BLANK_LINE if sentence.kind == PROSE else "\n") in before.separator
