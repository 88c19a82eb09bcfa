"""Reading what a vector store holds that was filled elsewhere: chunks, or single sentences with their vectors.

Chunks are read document by document, each with its chunks in order, as parts that the retriever joins. The ``doc_id``
or the source of a chunk tells its document. Its ``start_index``, its page or another number that loaders write tells
where it stands there. Else its text does, where it begins as another one ends. Else the order of the store does, if it
keeps one; what a store without one lists would be joined to a text that nobody wrote, so it is refused.

A store is read twice: the names of its chunks first, and then its texts, some documents at a time. So memory doesn't
grow with its texts. What is written to it meanwhile may be missed.
"""

import warnings
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import checked_vectorstore
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import as_integer, listed
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.store_adapter import StoreAdapter, batches
from langchain_sentence_window.documents.joining import by_number, in_overlap_order, overlap
from langchain_sentence_window.documents.keys import (
    DOC_ID,
    END_INDEX,
    RENAMED,
    SECTION_START,
    SENTENCE_INDEX,
    SOURCE,
    START_INDEX,
)
from langchain_sentence_window.documents.part_groups import Group, JoinParts, document_ids
from langchain_sentence_window.documents.part_headings import with_headings
from langchain_sentence_window.documents.part_spans import PartSpan
from langchain_sentence_window.documents.source_documents import JSON, MetadataFitter, sentence_documents
from langchain_sentence_window.documents.source_metadata import IDENTITY_KEYS, source_of
from langchain_sentence_window.documents.source_parts import JoinedDocument, Part, part_of, shared_metadata
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning, StoreChangedError
from langchain_sentence_window.splitting.blocks import trim
from langchain_sentence_window.splitting.sentences import Sentence

T = TypeVar("T")

_IDS_AT_ONCE = 500
_MAX_NAMED = 3


@dataclass
class ChunkSurvey:
    """A count of what a store of chunks holds, and of what can't be told about it; ``print`` shows it.

    Attributes:
        documents: The documents that its chunks make up.
        chunks: The chunks.
        characters: The characters of the documents, each counted once.
        repeated: The characters that stand in more than one chunk.
        unnamed: Chunks that name no source. Each becomes a document of its own.
        unplaced: Chunks of which neither a number nor an overlap says what they follow, by the name of their document.
            They stand where the store lists them, each as the beginning of a section; if the store keeps no order,
            they can't be read.
        odd: What is missing, differs or came twice, by the name of the document.
        differing: The documents whose chunks have different values of a key, by key. Each sentence keeps its chunk's.
        is_ordered: Whether the store lists chunks in the order in which they were added.
    """

    documents: int = 0
    chunks: int = 0
    characters: int = 0
    repeated: int = 0
    unnamed: int = 0
    unplaced: dict[str, int] = field(default_factory=dict)
    odd: dict[str, tuple[str, ...]] = field(default_factory=dict)
    differing: Counter[str] = field(default_factory=Counter)
    is_ordered: bool = True

    @property
    def remarks(self) -> list[str]:
        """Notes on what can't be told, one a line; none if all of it is known."""
        found: list[str] = []
        if self.unnamed:
            found.append(
                f"chunks without a source, each a document of its own: {self.unnamed:,}. If a key of their metadata "
                "names their document, give it as source_key."
            )
        if self.unplaced:
            fate = (
                "They stand where the store lists them, and begin sections."
                if self.is_ordered
                else "The store keeps no order, so they can't be joined."
            )
            found.append(
                f"chunks that no number and no overlap places: {sum(self.unplaced.values()):,}, of "
                f"{listed(self.unplaced)}. {fate} If a key of their metadata numbers them, give it as join_parts; else "
                "index the files themselves."
            )
        found += [f"of {shown(name)}: {', '.join(each)}" for name, each in list(self.odd.items())[:_MAX_NAMED]]
        if len(self.odd) > _MAX_NAMED:
            found.append(f"the same of more documents: {len(self.odd) - _MAX_NAMED:,}")
        return found

    def __str__(self) -> str:
        """Return the counts, then the remarks, a line each."""
        counts = {
            "chunks": self.chunks,
            "documents": self.documents,
            "characters": self.characters,
            "characters repeated in other chunks": self.repeated,
            **{f"documents in which {shown(key)} differs": self.differing[key] for key in sorted(self.differing)},
        }
        lines = [*(f"{name}: {count:,}" for name, count in counts.items()), *self.remarks]
        return "\n".join(lines)


def read_chunks(
    store: VectorStore, *, source_key: str | None = None, join_parts: JoinParts = True
) -> Iterator[Document]:
    """Read all chunks of a store, document by document, for `SentenceWindowRetriever.from_documents`.

    The retriever joins the chunks of each document, takes what overlaps once, splits it into sentences and embeds
    these. `survey_chunks` tells before what it comes to.

    Args:
        store: A store that was filled with chunks, such as Chroma, ``PGVectorStore``, Qdrant, LanceDB or ``FAISS``.
        source_key: The metadata key that names the document of a chunk; ``None`` for ``doc_id``, ``source`` and what
            else loaders write.
        join_parts: The metadata key that numbers the chunks of a document; give the retriever
            ``SentenceSplitter(join_parts=...)`` with the same. ``True`` for the numbers of loaders and splitters.

    Yields:
        The chunks without their ids. At the end, one `SentenceWindowWarning` says what can't be told.

    Raises:
        InvalidInputError: The store can't list what it holds, or holds sentences of this package. Or it keeps no order,
            and nothing else says how some chunks follow each other; `survey_chunks` counts these before.
        StoreChangedError: A chunk was deleted meanwhile.
    """
    return _blocking(_ChunkReader(store, source_key, join_parts))


def _blocking(reader: "_ChunkReader") -> Iterator[Document]:
    groups = reader.groups(BLOCKING)
    while (group := run(_next(groups))) is not None:
        yield from group.chunks
    reader.warn()


async def aread_chunks(
    store: VectorStore, *, source_key: str | None = None, join_parts: JoinParts = True
) -> AsyncIterator[Document]:
    """Async version of `read_chunks`, for `SentenceWindowRetriever.afrom_documents`."""
    reader = _ChunkReader(store, source_key, join_parts)
    async for group in reader.groups(ASYNC):
        for chunk in group.chunks:
            yield chunk
    reader.warn()


def survey_chunks(store: VectorStore, *, source_key: str | None = None, join_parts: JoinParts = True) -> ChunkSurvey:
    """Count what `read_chunks` reads, and what is unknown about it; nothing is embedded or stored.

    Args:
        store: As for `read_chunks`.
        source_key: As for `read_chunks`.
        join_parts: As for `read_chunks`.

    Raises:
        InvalidInputError: As for `read_chunks`.
        StoreChangedError: A chunk was deleted meanwhile.
    """
    return run(_ChunkReader(store, source_key, join_parts).count(BLOCKING))


async def asurvey_chunks(
    store: VectorStore, *, source_key: str | None = None, join_parts: JoinParts = True
) -> ChunkSurvey:
    """Async version of `survey_chunks`."""
    return await _ChunkReader(store, source_key, join_parts).count(ASYNC)


async def sentence_slices(
    io: IO, store: VectorStore, source_key: str | None, join_parts: JoinParts
) -> AsyncIterator[tuple[list[Document], Vectors]]:
    """Yield the texts of a store as sentence Documents with their vectors, document by document; see `copy_index`.

    Raises:
        InvalidInputError: The store can't list what it holds, or give its vectors; or these are mixed.
        StoreChangedError: A text was deleted meanwhile.
    """
    reader = _ChunkReader(store, source_key, join_parts, takes_sentences=True)
    is_mixed = isinstance(reader.adapter.embedding, NeighborMixedEmbeddings)
    async for group in reader.groups(io):
        if is_mixed and group.is_ours:
            raise InvalidInputError(
                f"{reader.adapter.name} holds vectors that were made with the headings and neighbors of sentences, not "
                "those of sentences alone; read the documents with a retriever's get, and index them again. Nothing "
                "was copied."
            )
        sentences, ids = group.as_sentences(reader.adapter)
        if sentences:
            vectors = dict[str, Sequence[float]]()
            for some in batches(ids, _IDS_AT_ONCE):
                vectors |= await reader.adapter.vectors_of(io, some)
            yield sentences, np.array([_look_up_chunk(vectors, id_) for id_ in ids], dtype=np.float32)
    reader.warn()


class _Chunks(NamedTuple):
    """The chunks of one document.

    Attributes:
        name: The name of the document.
        parts: Its chunks in order, with the ids that they have in the store.
    """

    name: str
    parts: list[Part]

    @property
    def chunks(self) -> Iterator[Document]:
        """The chunks as a loader would have returned them."""
        return (Document(page_content=part.text, metadata=part.document.metadata) for part in self.parts)

    @property
    def is_ours(self) -> bool:
        """Whether they are sentences of this package."""
        return all(_is_ours(part.document) for part in self.parts)

    @property
    def unplaced(self) -> int:
        """The number of chunks of which nothing says what they follow."""
        return 0 if self.is_ours else sum(not _chunk_follows(before, part) for before, part in pairwise(self.parts))

    def as_sentences(self, adapter: StoreAdapter) -> tuple[list[Document], list[str]]:
        """Return sentence Documents, and the ids of the texts that they are; blank texts are left out."""
        if self.is_ours:
            ordered = sorted((part.document for part in self.parts), key=lambda each: key_of(each)[1])
            for each in ordered:
                adapter.read(each)
            return ordered, [str(each.id) for each in ordered]
        parts = [part for part in self.parts if part.text.strip()]
        joined = _join_chunks(self.name, parts)
        sentences = [Sentence(span.source_start, span.source_end, 0, len(parts)) for span in joined.spans]
        return sentence_documents(joined, sentences, None, MetadataFitter(JSON)), [
            str(part.document.id) for part in parts
        ]


class _ChunkReader:
    """Reads the documents of a store one after the other."""

    def __init__(
        self, store: VectorStore, source_key: str | None, join_parts: JoinParts, *, takes_sentences: bool = False
    ) -> None:
        """Check the arguments, and read nothing yet.

        Raises:
            InvalidInputError: One can't be used.
        """
        self.adapter = adapter_of(checked_vectorstore("store", store))
        for name, given, usual in (("source_key", source_key, None), ("join_parts", join_parts, True)):
            if given is not usual and (not isinstance(given, str) or not given):
                raise InvalidInputError(f"{name} is {shown(given)}; give a metadata key, or leave it out")
        self._source_key, self._number_key = source_key, join_parts if isinstance(join_parts, str) else None
        self._takes_sentences = takes_sentences
        self._refuses = True
        self.survey = ChunkSurvey(is_ordered=self.adapter.lists_in_order)

    async def groups(self, io: IO) -> AsyncIterator[_Chunks]:
        """Yield the documents, each with its chunks in order."""
        waiting: dict[str, list[str]] = {}
        for name, ids in (await self._names(io)).items():
            waiting[name] = ids
            if sum(map(len, waiting.values())) >= _IDS_AT_ONCE:
                for group in await self._read(io, waiting):
                    yield group
                waiting = {}
        for group in await self._read(io, waiting):
            yield group

    async def count(self, io: IO) -> ChunkSurvey:
        """Read all, join each document, and count."""
        survey, self._refuses = self.survey, False
        async for name, parts in self.groups(io):
            joined = Group(name, parts).joined()
            survey.characters += len(joined.text)
            survey.repeated += max(0, sum(len(part.text.strip()) for part in parts) - len(joined.text))
            if joined.remarks:
                survey.odd[name] = (*survey.odd.get(name, ()), *joined.remarks)
            metadata = [part.document.metadata for part in parts]
            differing = {key for each in metadata for key in each} - shared_metadata(metadata).keys()
            survey.differing.update(differing - {START_INDEX, self._number_key, *IDENTITY_KEYS})
        return survey

    def warn(self) -> None:
        """Warn of what the chunks leave unknown, such as their order, if there is anything."""
        if remarks := self.survey.remarks:
            warnings.warn(f"{self.adapter.name}: {' '.join(remarks)}", SentenceWindowWarning, stacklevel=3)

    async def _names(self, io: IO) -> dict[str, list[str]]:
        """Return the ids of the chunks of each document."""
        names: dict[str, list[str]] = {}
        copies: Counter[bytes] = Counter()
        async for page in self.adapter.list_pages(io):
            documents = [self._as_loaded(each) for each in page]
            names_of = document_ids(documents, join=True, copies=copies)
            for document, given, name in zip(page, documents, names_of, strict=True):
                names.setdefault(name, []).append(str(document.id))
                self.survey.unnamed += DOC_ID not in given.metadata and source_of(given.metadata) is None
        return names

    async def _read(self, io: IO, names: Mapping[str, Sequence[str]]) -> list[_Chunks]:
        """Fetch the chunks of some documents."""
        ids = [id_ for each in names.values() for id_ in each]
        found = await self.adapter.fetch(io, ids) if ids else []
        if found is None:
            raise InvalidInputError(f"{self.adapter.name} can't fetch by id, so its chunks can't be read")
        by_id = {str(document.id): document for document in found}
        groups = [
            _Chunks(name, self._ordered([_look_up_chunk(by_id, id_) for id_ in each])) for name, each in names.items()
        ]
        for group in groups:
            self.survey.documents += 1
            self.survey.chunks += len(group.parts)
            if unplaced := group.unplaced:
                if self._refuses and not self.survey.is_ordered:
                    raise InvalidInputError(
                        f"{self.adapter.name} keeps no order, and neither a number nor an overlap says what "
                        f"{unplaced:,} of the {len(group.parts):,} chunks of {shown(group.name)} follow, so their text "
                        "would be scrambled; if a key of their metadata numbers them, give it as join_parts, else "
                        "index the files themselves. survey_chunks counts such chunks"
                    )
                self.survey.unplaced[group.name] = unplaced
            texts = [part.text for part in group.parts if not part.is_numbered]
            if (copies := len(texts) - len(set(texts))) and not self._takes_sentences:
                self.survey.odd[group.name] = (f"{copies:,} have the text of another, as if they were added twice",)
        return groups

    def _ordered(self, documents: Sequence[Document]) -> list[Part]:
        parts = []
        for document in documents:
            part = part_of(self._as_loaded(document), self._number_key)
            part.document.id = document.id
            parts.append(part)
        is_told_by_text = not self.adapter.lists_in_order and not self._takes_sentences
        if is_told_by_text and not all(part.is_numbered for part in parts):
            parts = [parts[index] for index in in_overlap_order([part.text for part in parts])]
        return by_number(with_headings(parts))

    def _as_loaded(self, document: Document) -> Document:
        """Return a chunk as a loader or a splitter gave it to the store, without an id.

        Raises:
            InvalidInputError: It is a sentence of this package.
        """
        added = self.adapter.added_keys
        metadata = {key: value for key, value in document.metadata.items() if value is not None and key not in added}
        if _is_ours(document):
            if not self._takes_sentences:
                raise InvalidInputError(
                    f"{self.adapter.name} holds sentences of this package, not chunks; search it with "
                    "SentenceWindowRetriever(vectorstore=store), or copy it with copy_index"
                )
            return Document(page_content=document.page_content, metadata=metadata)
        start, end = as_integer(metadata.get(START_INDEX)), as_integer(metadata.get(END_INDEX))
        if start is not None and end == start + len(document.page_content):
            del metadata[END_INDEX]
        if self._source_key is not None and (source := metadata.get(self._source_key)) is not None:
            if SOURCE in metadata and self._source_key != SOURCE:
                metadata[RENAMED + SOURCE] = metadata[SOURCE]
            metadata[SOURCE] = str(source)
            metadata.pop(DOC_ID, None)
        elif DOC_ID in metadata and source_of(metadata) is None:
            metadata[SOURCE] = str(metadata[DOC_ID])  # or chunks without a number would be documents of one name
        return Document(page_content=document.page_content, metadata=metadata)


async def _next(groups: AsyncIterator[_Chunks]) -> _Chunks | None:
    return await anext(groups, None)


def _look_up_chunk(found: Mapping[str, T], id_: str) -> T:
    """Return what was found for a chunk's id."""
    if id_ not in found:
        raise StoreChangedError(f"the chunk {shown(id_)} was deleted while the store was read; read it again")
    return found[id_]


def _is_ours(document: Document) -> bool:
    return all(key in document.metadata for key in (DOC_ID, SENTENCE_INDEX, SECTION_START))


def _chunk_follows(before: Part, part: Part) -> bool:
    """Return whether a number, or an overlap, says that one chunk comes after another."""
    if part.is_numbered and before.is_numbered:
        if part.identity != before.identity:
            return True
        if part.start is not None and before.start is not None:
            return part.start > before.start or (part.start, part.text) == (before.start, before.text)
    return overlap(before.text.rstrip(), part.text.lstrip()) > 0


def _join_chunks(name: str, parts: Sequence[Part]) -> JoinedDocument:
    """Put sentences one after the other, with the white space that their positions tell, or a space."""
    texts, spans, at = list[str](), list[PartSpan](), 0
    for index, part in enumerate(parts):
        low, high = trim(part.text, 0, len(part.text))
        if spans:
            gap = _gap(parts[index - 1], part)
            texts.append(gap)
            at += len(gap)
        texts.append(part.text[low:high])
        spans.append(part.span(index, low, high, at))
        at += high - low
    return JoinedDocument(name, "".join(texts), tuple(parts), tuple(spans), ())


def _gap(before: Part, part: Part) -> str:
    if before.end is None or part.start is None or before.identity != part.identity:
        return " "
    return {0: "", 1: " "}.get(part.start - before.end, "\n\n" if part.start > before.end else " ")
