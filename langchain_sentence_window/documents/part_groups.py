"""Which Documents make up one document, its name, and what becomes of the parts that are known of it.

A document is named by its id, else by ``doc_id`` in its metadata, else by its source. Documents of one source are its
parts. A text without any of these is named by a hash of the text.

A source has one version. All of its parts given in one call replace it; a part given alone, such as a page within a
loop over pages, is added to it, in place of the same part.
"""

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import STORABLE_ID
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.splitting.subtitles import Cue, find_cues

from .joining import join_parts
from .keys import DOC_ID, MAX_ID_CHARS, SOURCE, START_INDEX, checked_id, storable_text
from .part_headings import with_headings
from .source_metadata import CUE_END, CUE_START, SHEET, SPEAKER, source_of, total_pages
from .source_parts import JoinedDocument, Part, Segment, part_of

JoinParts: TypeAlias = bool | str
"""Whether the parts of a source are joined; a metadata key that numbers them, if loaders don't."""


class Group(NamedTuple):
    """The Documents that make up one document.

    Attributes:
        doc_id: Its name.
        parts: One part, or several in the order given.
    """

    doc_id: str
    parts: list[Part]

    @property
    def is_one_document(self) -> bool:
        """Whether its Documents may be parts of one document, and don't only have the same name."""
        documents = [part.document for part in self.parts]
        if len(documents) == 1:
            return True
        sources = {source_of(document.metadata) for document in documents}
        are_parts = all(part.is_numbered for part in self.parts) or (len(sources) == 1 and None not in sources)
        return are_parts and all(document.id is None for document in documents)

    def joined(self) -> JoinedDocument:
        """Join the parts."""
        is_alone = len(self.parts) == 1 and self.parts[0].time is None
        joined = self._alone() if is_alone else join_parts(self.doc_id, self.parts)
        is_text = all(not part.identity and part.blocks is None for part in self.parts)
        if is_text and (cues := find_cues(joined.text)):
            joined = replace(join_parts(self.doc_id, _cue_parts(joined, cues)), remarks=joined.remarks)
        return joined

    def _alone(self) -> JoinedDocument:
        """Return the only part as a document."""
        (part,) = with_headings(self.parts)
        text = part.text
        is_part = part.is_numbered and part.start != 0
        spans = (part.span(0, 0, len(text), 0),) if is_part else ()
        blocks = None if part.blocks is None else list(part.blocks)
        segment = Segment(0, len(text), [] if part.is_furniture else blocks, part.headings)
        return JoinedDocument(self.doc_id, text, (part,), spans, (segment,))


def _cue_parts(subtitles: JoinedDocument, cues: Iterable[Cue]) -> list[Part]:
    """Return the cues of subtitles as parts, with the places that they have in the text."""
    metadata = {key: value for key, value in subtitles.metadata.items() if key != START_INDEX}
    parts: list[Part] = []
    for cue in cues:
        identity: dict[str, Any] = {CUE_START: cue.begins, CUE_END: cue.ends}
        identity |= {SPEAKER: cue.speaker} if cue.speaker else {}
        document = Document(subtitles.text[cue.start : cue.end], metadata={**metadata, **identity})
        parts.append(replace(part_of(document), identity=identity, offset=cue.start))
    return parts


def group_documents(documents: Sequence[Document], join: JoinParts, names: Sequence[str] | None = None) -> list[Group]:
    """Find the documents that some Documents make up.

    Args:
        documents: Pages, elements, rows, chunks, or whole texts, in any order.
        join: ``False`` if each Document is a document of its own; a metadata key that numbers parts.
        names: What `document_ids` returns for the Documents, if that is known.

    Returns:
        The documents, in the order of their first parts.

    Raises:
        InvalidInputError: Two Documents have the same id, or one has an id that stores can't keep.
    """
    groups = group_by_name(documents, join, names)
    for group in groups:
        if not group.is_one_document:
            raise InvalidInputError(
                f"two documents of this call have the doc_id {group.doc_id!r}; give each a different one, or join "
                "their texts into one document. Nothing was stored."
            )
    return groups


def group_by_name(documents: Sequence[Document], join: JoinParts, names: Sequence[str] | None = None) -> list[Group]:
    """Group Documents by the name of the document that each is, or is a part of, as `group_documents` does.

    Args:
        documents: The Documents.
        join: As for `group_documents`.
        names: As for `group_documents`.
    """
    key = join if isinstance(join, str) else None
    groups: dict[str, Group] = {}
    for name, document in zip(document_ids(documents, join) if names is None else names, documents, strict=True):
        groups.setdefault(name, Group(name, [])).parts.append(part_of(document, key))
    return list(groups.values())


def document_ids(documents: Sequence[Document], join: JoinParts, copies: Counter[bytes] | None = None) -> list[str]:
    """Return the name of the document that each Document is, or is a part of.

    The same Documents in the same order always get the same names. Texts without a source that are equal, such as
    blank pages, are numbered.

    Args:
        documents: The Documents.
        join: As for `group_documents`.
        copies: How often each text without a source came before these Documents, which is counted on; ``None`` if none
            came before.

    Raises:
        InvalidInputError: A Document has an id that stores can't keep.
    """
    sources = [source_of(document.metadata) for document in documents]
    counts = Counter(sources)
    copies = Counter() if copies is None else copies
    names: list[str] = []
    for document, source in zip(documents, sources, strict=True):
        name = document.id if document.id is not None else document.metadata.get(DOC_ID)
        if name is not None:
            names.append(checked_id(name))
        elif source and (join or counts[source] == 1) and len(source) <= MAX_ID_CHARS and STORABLE_ID.fullmatch(source):
            names.append(source)
        else:
            names.append(_hash_document(document, copies))
    return names


def _hash_document(document: Document, copies: Counter[bytes]) -> str:
    # A source that can't be written as text doesn't count.
    """Return a name of a Document without one: a hash of its source, its text and the number of its copy."""
    key = repr((storable_text(document.metadata.get(SOURCE, "")) or "", document.page_content))
    hashed = hashlib.sha256(key.encode("utf-8", "surrogatepass"))
    copies[hashed.digest()] += 1
    hashed.update(str(copies[hashed.digest()]).encode())
    return hashed.hexdigest()[:32]


MAX_BATCH_CHARS = 1_000_000
"""Characters after which a batch ends: some thousands of sentences, which are enough to sort them by length."""

_DOCUMENT_CHARS = 200  # what a Document takes besides its text, in characters


class Batch(NamedTuple):
    """Some Documents of a stream.

    Attributes:
        names: For each Document, the name of the document that it is, or is a part of.
        groups: The documents that they make up.
        continues: Whether one of them has parts that came in an earlier batch.
    """

    names: list[str]
    groups: list[Group]
    continues: bool


class Batches:
    """Collects the Documents of a stream into batches.

    Of each document that it has passed on it keeps a few bytes.
    """

    def __init__(self, join: JoinParts) -> None:
        """Begin without a Document.

        Args:
            join: As for `group_documents`. With ``False`` there is one batch, as a source names a document only if no
                other Document has that source.
        """
        self._join = join
        self._copies: Counter[bytes] = Counter()
        self._passed_on: set[int] = set()  # hashes, which take less than names
        self._documents: list[Document] = []
        self._names: list[str] = []
        self._chars = 0

    def put(self, document: Document) -> Batch | None:
        """Add the next Document; return the batch before it if that is complete.

        Raises:
            InvalidInputError: The Document has an id that stores can't keep; or as for `rest`.
        """
        name = "" if self._join is False else document_ids([document], self._join, self._copies)[0]
        complete = self._end() if self._chars >= MAX_BATCH_CHARS and name not in ("", self._names[-1]) else None
        self._documents.append(document)
        self._names.append(name)
        self._chars += len(document.page_content) + _DOCUMENT_CHARS
        return complete

    def rest(self) -> Batch | None:
        """Return the last batch; ``None`` if there is no Document in it.

        Raises:
            InvalidInputError: Two documents have the same name.
        """
        return self._end() if self._documents else None

    def _end(self) -> Batch:
        names = document_ids(self._documents, self._join) if self._join is False else self._names
        groups = group_documents(self._documents, self._join, names)
        again = [group for group in groups if hash(group.doc_id) in self._passed_on]
        for group in again:
            if is_whole(group.parts):
                raise InvalidInputError(
                    f"{shown(group.doc_id)} comes again, long after other documents of this call; give the parts of a "
                    "document one after the other, and different documents different ids"
                )
        self._passed_on.update(hash(group.doc_id) for group in groups)
        self._documents, self._names, self._chars = [], [], 0
        return Batch(names, groups, bool(again))


_Name: TypeAlias = tuple[tuple[str, Any], ...]


def is_whole(parts: Sequence[Part]) -> bool:
    """Return whether parts are surely all that their source has, or aren't known to be parts.

    A Document with an id of its own is a whole document. The rows of all sheets of a file come in one call.
    """
    if parts[0].document.id is not None or SHEET in parts[0].identity or not all(part.is_numbered for part in parts):
        return True
    total = total_pages(parts[0].document.metadata)
    return total is not None and {part.page for part in parts} >= set(range(total))


def has_first(parts: Sequence[Part]) -> bool:
    """Return whether the first part of the source is among some numbered parts."""
    return any(not part.page and (part.row is None or part.row <= 1) and not part.start for part in parts)


def with_stored(new: Sequence[Part], stored: Sequence[Part]) -> list[Part]:
    """Return the parts of a document after new ones were given.

    Args:
        new: Parts given in one call, which aren't known to be all.
        stored: The parts that the store holds.
    """
    if _is_new_version(new, stored):
        return list(new)
    total = total_pages(new[0].document.metadata)
    by_name: dict[_Name, list[Part]] = {}
    for part in new:
        by_name.setdefault(_part_name(part), []).append(part)
    merged: list[Part] = []
    for old in stored:
        if total is not None and old.page is not None and old.page >= total:
            continue
        same = by_name.pop(_part_name(old), [])
        if same and same[0].start is None:
            merged += same
        elif all(_is_in(chunk, old) for chunk in same):
            merged.append(old)
        elif any(chunk.start == 0 for chunk in same):  # a new version of the text that chunks are cut from
            merged += same
        else:
            merged += [*_outside(old, same), *same]
    return [*merged, *(part for parts in by_name.values() for part in parts)]


def _is_new_version(new: Sequence[Part], stored: Sequence[Part]) -> bool:
    """Return whether several new parts begin where the stored ones do, and so replace all of them."""
    if len(new) == 1 or not stored:
        return not stored
    if any(part.is_element for part in new):
        names = set(map(_part_name, new))
        return _part_name(stored[0]) in names or 2 * sum(_part_name(part) in names for part in stored) >= len(stored)
    return has_first(new) and total_pages(new[0].document.metadata) is None


def _is_in(chunk: Part, old: Part) -> bool:
    """Return whether a stored text holds a chunk at the chunk's own position."""
    at = (chunk.start or 0) - old.offset
    return at >= 0 and old.text.startswith(chunk.text, at)


def _outside(old: Part, chunks: Sequence[Part]) -> list[Part]:
    """Return what is left of a stored text where new chunks of it were given."""
    at, left = old.offset, list[Part]()
    edges = sorted((chunk.start or 0, chunk.end or 0) for chunk in chunks)
    for start, end in [*edges, (at + len(old.text), at)]:
        text = old.text[at - old.offset : max(at, start) - old.offset]
        if text.strip():
            document = Document(text, metadata=old.document.metadata)
            left.append(replace(old, document=document, start=at, offset=at, blocks=None))
        at = max(at, end)
    return left


def _part_name(part: Part) -> _Name:
    return tuple(part.identity.items())


_MAX_SHOWN = 3


def warn_of_parts(joined: Iterable[JoinedDocument]) -> None:
    """Warn once of parts of some documents that are missing, came twice or in another order."""
    remarks = [f"{shown(document.doc_id)}: {remark}" for document in joined for remark in document.remarks]
    if not remarks:
        return
    more = f"; and {len(remarks) - _MAX_SHOWN} more" if len(remarks) > _MAX_SHOWN else ""
    warnings.warn(
        f"the parts of a document were joined as well as possible ({'; '.join(remarks[:_MAX_SHOWN])}{more}); give all "
        "parts of a source in one call, each once, or switch joining off with SentenceSplitter(join_parts=False)",
        SentenceWindowWarning,
        stacklevel=3,
    )
