"""The outcomes of documents, and the summary of an ingest."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_flag
from langchain_sentence_window.documents.keys import DOC_ID, INGEST_STATE
from langchain_sentence_window.documents.part_groups import Group, group_documents
from langchain_sentence_window.documents.source_documents import IngestState, with_state
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import Situate
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.indexing import Prepared

from .bulk_writer import MakeStore, OpenStore, checked_store_maker
from .document_rows import DocumentRows, MakeEmbedding, checked_maker, checked_splitter, fingerprint

T = TypeVar("T")

Status: TypeAlias = Literal["written", "unchanged", "pending", "failed", "stopped"]
"""Tells a document's fate. ``pending``: a dry run would have written it. ``stopped``: the store didn't answer."""

_MAX_LISTED = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a document.

    Attributes:
        doc_id: Its name.
        status: ``written``, ``unchanged``, ``pending``, ``failed`` or ``stopped``.
        sentences: The number of its sentences; 0 if it has no text, or failed before it was split.
        characters: The characters of its text; 0 if it couldn't be read.
        error: Why it failed; empty if it didn't.
    """

    doc_id: str
    status: Status
    sentences: int = 0
    characters: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """The work that an ingest did, and what is left to do.

    Attributes:
        documents: The number of documents that were given, as far as they were reached.
        written: The number of documents that were embedded and written.
        unchanged: The number of documents that the store had already, the same.
        deleted: The number of documents that were deleted, as they weren't given any more.
        sentences: The number of sentences that were written.
        characters: The characters of the documents that were written.
        seconds: How long the workers took, with the time in which they were started.
        workers: The most workers that wrote.
        failures: Why documents failed, by their names.
        pending: The number of documents that are still to be written: those that failed, and in a dry run those that
            would have been written.
        pending_sentences: The number of their sentences, as far as they were split.
        pending_characters: The characters of their texts, as far as they could be read.
    """

    documents: int = 0
    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    sentences: int = 0
    characters: int = 0
    seconds: float = 0.0
    workers: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)
    pending: int = 0
    pending_sentences: int = 0
    pending_characters: int = 0

    @property
    def sentences_per_second(self) -> float:
        """The throughput of all workers; 0 if nothing was written."""
        return self.sentences / self.seconds if self.seconds and self.sentences else 0.0

    @property
    def seconds_to_finish(self) -> float | None:
        """How long it would take to write what is pending, at the pace so far; ``None`` if the pace isn't known."""
        if not self.pending:
            return 0.0
        return self.pending_characters * self.seconds / self.characters if self.characters else None

    def __str__(self) -> str:
        """Write the summary in a few lines."""
        lines = [
            f"{self.documents:,} documents: {self.written:,} written, {self.unchanged:,} unchanged, "
            f"{self.deleted:,} deleted, {len(self.failures):,} failed",
            f"{self.sentences:,} sentences in {self.seconds:,.1f} s with {self.workers} workers, "
            f"{self.sentences_per_second:,.0f} a second",
        ]
        if self.pending:
            left = self.seconds_to_finish
            time = "" if left is None else f", about {left:,.0f} s at this pace"
            lines.append(
                f"to finish: {self.pending:,} documents with {self.pending_characters:,} characters and "
                f"{self.pending_sentences:,} sentences to embed{time}"
            )
        lines += [f"failed: {name}: {why}" for name, why in list(self.failures.items())[:_MAX_LISTED]]
        if len(self.failures) > _MAX_LISTED:
            lines.append(f"and {len(self.failures) - _MAX_LISTED:,} more failures")
        return "\n".join(lines)


class Tally:
    """Counts outcomes as they come."""

    def __init__(self) -> None:
        """Begin with none."""
        self.counts = Counter[str]()
        self.failures: dict[str, str] = {}

    def add(self, outcome: Outcome) -> None:
        """Count one."""
        is_pending = outcome.status not in ("written", "unchanged")
        self.counts.update(["documents", "pending" if is_pending else outcome.status])
        if outcome.status != "unchanged":
            of_pending = "pending_" if is_pending else ""
            self.counts[f"{of_pending}sentences"] += outcome.sentences
            self.counts[f"{of_pending}characters"] += outcome.characters
        if outcome.error:
            self.failures[outcome.doc_id] = outcome.error

    def summary(self, *, seconds: float, workers: int, deleted: int = 0) -> IngestSummary:
        """Return the summary of what was counted."""
        totals: dict[str, Any] = {**self.counts, "failures": dict(self.failures)}
        return IngestSummary(**totals, seconds=seconds, workers=workers, deleted=deleted)


BATCH_CHARS = 400_000
"""Characters of the documents that are embedded and written at once: some thousands of sentences."""

MAX_ERROR_CHARS = 500


class DocumentWriter:
    """Writes documents into a vector store, from any process.

    It can be pickled, so that Ray, Spark or Daft may send it to workers. Each of them opens the store and loads the
    embedder once. All parts of a document must be in one call, such as all pages of a file.

    Examples:
        >>> write = DocumentWriter(open_store, load_embedding)  # doctest: +SKIP
        >>> [outcome.status for outcome in write(documents)]      # doctest: +SKIP
        ['written', 'unchanged']
    """

    def __init__(
        self,
        store: MakeStore,
        embedding: MakeEmbedding | None = None,
        *,
        splitter: SentenceSplitter | None = None,
        embed_headings: bool = True,
        situate: Situate | None = None,
        namespace: str = "",
        force_update: bool = False,
        dry_run: bool = False,
        **settings: Any,
    ) -> None:
        """Choose what is written, and where; nothing is opened yet.

        Args:
            store: A function that opens the store. Each process calls it once, and again if the store didn't answer.
            embedding: An embedder that can be pickled, or a function that loads one, which each process calls once;
                ``None`` for the store's own.
            splitter: Splits documents; ``None`` for the default.
            embed_headings: Whether sentences are embedded with their heading path in front.
            situate: Writes a line to put in front of a sentence when it is embedded; ``None`` for no line.
            namespace: A name for these documents, if others ingest into the same store.
            force_update: Whether to write documents again that the store has already.
            dry_run: Whether to only say what would be written.
            **settings: Settings of `BulkWriter` for the store.

        Raises:
            InvalidInputError: A setting can't be used.
        """
        self._make = checked_store_maker(store)
        self._given = None if embedding is None else checked_maker(embedding)
        self._splitter = checked_splitter(splitter)
        self._embed_headings = checked_flag("embed_headings", embed_headings)
        self._situate = situate
        self._namespace = checked_namespace(namespace)
        self._force = checked_flag("force_update", force_update)
        self._is_dry = checked_flag("dry_run", dry_run)
        self._settings = settings
        self._store = OpenStore(self._make, settings)
        self._rows: DocumentRows | None = None

    def __call__(self, documents: Sequence[Document]) -> list[Outcome]:
        """Write documents, each in the place of its earlier version.

        Args:
            documents: Documents with all of their parts.

        Returns:
            What became of each document, in the order of their first parts. An error of a document is told in its
            outcome. If the store doesn't answer after several attempts, the outcomes of the rest are ``stopped``.

        Raises:
            InvalidInputError: Two documents have the same id, or one isn't a Document; nothing was written. Or the
                store can't be written so.
        """
        return list(self.write(group_documents(checked_documents(documents), self._splitter.join_parts)))

    def write(self, groups: Sequence[Group]) -> Iterator[Outcome]:
        """Write documents whose parts are grouped; yield what became of each, a batch at a time."""
        for batch in in_parts(groups, _chars, BATCH_CHARS):
            yield from self._write_batch(batch)

    def _write_batch(self, batch: Sequence[Group]) -> list[Outcome]:
        try:
            rows = self._store.calling(self._open)
            prints, known = dict[str, str](), set[str]()
            if self._store.adapter.limits.holds(INGEST_STATE, ""):
                settings = rows.settings()
                prints = {group.doc_id: fingerprint(settings, group.doc_id, group.parts) for group in batch}
            if prints and not self._force:
                known = self._store.calling(lambda: self._store.complete(prints, self._namespace))
        except InvalidInputError:
            raise
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            return [_outcome(group, "stopped", error=error) for group in batch]
        changed = [group for group in batch if group.doc_id not in known]
        made = {each.doc_id: each for each in self._written(rows, changed, prints)}
        return [made.get(group.doc_id) or _outcome(group, "unchanged") for group in batch]

    def _open(self) -> DocumentRows:
        """Open the store, and load the embedder."""
        adapter = self._store.adapter
        if self._rows is None:
            embedding = adapter.embedding if self._given is None else self._given
            if embedding is None:
                raise InvalidInputError(f"{adapter.name} doesn't say its embedder; give embedding=...")
            choices: dict[str, Any] = {"embed_headings": self._embed_headings, "situate": self._situate}
            self._rows = DocumentRows(embedding, splitter=self._splitter, limits=adapter.limits, **choices)
        return self._rows

    def _written(self, rows: DocumentRows, groups: Sequence[Group], prints: Mapping[str, str]) -> list[Outcome]:
        """Make and write the rows of documents; after an error those of each document by itself."""
        if not groups:
            return []
        sentences, emptied = 0, set[str]()
        try:
            prepared = rows.prepare(groups)
            sentences = len(prepared.sentences)
            if not self._is_dry:
                vectors = rows.embed(prepared)
                emptied = self._store.calling(lambda: self._put(prepared, vectors, prints))
        except Exception as error:  # noqa: BLE001 - documents, models and stores have errors of their own
            if not self._store.answers():
                return [_outcome(group, "stopped", error=error) for group in groups]
            if len(groups) == 1:
                return [_outcome(groups[0], "failed", sentences, error=error)]
            return [outcome for group in groups for outcome in self._written(rows, [group], prints)]
        counts = Counter(sentence.metadata[DOC_ID] for sentence in prepared.sentences)
        outcomes: list[Outcome] = []
        for group in groups:
            changes = counts[group.doc_id] or group.doc_id in emptied
            status = ("pending" if self._is_dry else "written") if changes else "unchanged"
            outcomes.append(_outcome(group, status, counts[group.doc_id]))
        return outcomes

    def _put(self, prepared: Prepared, vectors: Vectors, prints: Mapping[str, str]) -> set[str]:
        """Write the sentences of documents, and delete what the store has of documents without text.

        Returns:
            The names of documents without text that the store had.
        """
        of_each: dict[str, list[Document]] = {name: [] for name in prepared.doc_ids}
        for sentence in prepared.sentences:
            of_each[sentence.metadata[DOC_ID]].append(sentence)
        marked: list[Document] = []
        for name, sentences in of_each.items():
            if sentences and name in prints:
                state = IngestState(prints[name], len(sentences), secrets.token_hex(8), self._namespace)
                sentences = with_state(sentences, state)
            marked += sentences
        self._store.bulk.write(marked, vectors)
        return set(self._store.remove([name for name, sentences in of_each.items() if not sentences]))

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the state to pickle, without the store and what was loaded."""
        return {**self.__dict__, "_store": OpenStore(self._make, self._settings), "_rows": None}


def in_parts(items: Iterable[T], size_of: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Yield items in lists, each of which ends with the item that brings their sizes to ``most`` or more."""
    part, size = list[T](), 0
    for item in items:
        if part and size >= most:
            yield part
            part, size = [], 0
        part.append(item)
        size += size_of(item)
    if part:
        yield part


def _outcome(group: Group, status: Any, sentences: int = 0, *, error: Exception | None = None) -> Outcome:
    return Outcome(group.doc_id, status, sentences, _chars(group), describe_error(error) if error else "")


def describe_error(error: BaseException) -> str:
    """Return the class of an error and the beginning of its message."""
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]


def _chars(group: Group) -> int:
    return sum(len(part.text) for part in group.parts)


def checked_namespace(namespace: object) -> str:
    """Return the name of an ingest.

    Raises:
        InvalidInputError: It isn't a string that stores can keep.
    """
    if isinstance(namespace, str) and namespace.isprintable():
        return namespace
    raise InvalidInputError(f"namespace is {shown(namespace)}; give a string of printable characters")
