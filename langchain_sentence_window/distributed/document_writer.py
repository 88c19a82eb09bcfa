"""`DocumentWriter`: documents into a vector store, from any process; a document that the store has isn't written."""

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_flag
from langchain_sentence_window.documents.keys import DOC_ID, INGEST_STATE
from langchain_sentence_window.documents.part_groups import Group
from langchain_sentence_window.documents.source_documents import IngestState, with_state
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import Situate
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.indexing import Prepared

from .document_rows import DocumentRows, MakeEmbedding
from .ingest_summary import Outcome, Status
from .store_connection import MakeStore, OpenStore, StoreConnection

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
            dry_run: Whether to only say what would be written.
            **settings: Settings of `BulkWriter` for the store.

        Raises:
            InvalidInputError: A setting can't be used.
        """
        if not isinstance(namespace, str) or not namespace.isprintable():
            raise InvalidInputError(f"namespace is {shown(namespace)}; give a string of printable characters")
        self._connection = StoreConnection(store, settings)
        given = self._embedding_of_store if embedding is None else embedding
        self._rows = DocumentRows(given, splitter=splitter, embed_headings=embed_headings, situate=situate)
        self._namespace = namespace
        self._is_dry = checked_flag("dry_run", dry_run)

    def __call__(self, documents: Sequence[Document]) -> list[Outcome]:
        """Write documents, each in the place of its earlier version.

        Args:
            documents: Documents with all of their parts.

        Returns:
            The outcome of each document, in the order of their first parts. An error of a document is in its outcome.
            If the store doesn't answer after several attempts, the outcomes of the rest are ``stopped``.

        Raises:
            InvalidInputError: Two documents have the same id, or one isn't a Document; nothing was written. Or the
                store can't be written so.
        """
        return list(self.write(self._rows.group(documents)))

    def write(self, groups: Sequence[Group]) -> Iterator[Outcome]:
        """Write documents whose parts are grouped; yield the outcome of each, a batch at a time."""
        batch, size = list[Group](), 0
        for group in groups:
            batch.append(group)
            size += _characters(group)
            if size >= BATCH_CHARS:
                yield from self._write_batch(batch)
                batch, size = [], 0
        yield from self._write_batch(batch)

    def _write_batch(self, batch: Sequence[Group]) -> list[Outcome]:
        if not batch:
            return []
        try:
            fingerprints, unchanged = self._compare(batch)
        except InvalidInputError:
            raise
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            return [_group_outcome(group, "stopped", error=error) for group in batch]
        changed = [group for group in batch if group.doc_id not in unchanged]
        written = {outcome.doc_id: outcome for outcome in self._write_changed(changed, fingerprints)}
        return [written.get(group.doc_id) or _group_outcome(group, "unchanged") for group in batch]

    def _compare(self, batch: Sequence[Group]) -> tuple[Mapping[str, str], set[str]]:
        """Return the fingerprints of documents, and the names of those that the store has, the same.

        There are none if the store can't hold the state of an ingest.
        """
        limits = self._connection.call(lambda store: store.adapter.limits)
        self._rows.limits = limits
        if not limits.holds(INGEST_STATE, ""):
            return {}, set()
        fingerprints = self._rows.fingerprints(batch)
        return fingerprints, self._connection.call(lambda store: store.complete(fingerprints, self._namespace))

    def _write_changed(self, groups: Sequence[Group], fingerprints: Mapping[str, str]) -> list[Outcome]:
        """Make and write the rows of documents; after an error those of each document by itself."""
        if not groups:
            return []
        sentences, emptied = 0, set[str]()
        try:
            prepared = self._rows.prepare(groups)
            sentences = len(prepared.sentences)
            if not self._is_dry:
                vectors = self._rows.embed(prepared)
                emptied = self._connection.call(partial(self._put, prepared, vectors, fingerprints))
        except Exception as error:  # noqa: BLE001 - documents, models and stores have errors of their own
            if not self._connection.answers():
                return [_group_outcome(group, "stopped", error=error) for group in groups]
            if len(groups) == 1:
                return [_group_outcome(groups[0], "failed", sentences, error=error)]
            return [outcome for group in groups for outcome in self._write_changed([group], fingerprints)]
        counts = Counter(sentence.metadata[DOC_ID] for sentence in prepared.sentences)
        done: Status = "pending" if self._is_dry else "written"
        changed = counts.keys() | emptied
        return [
            _group_outcome(group, done if group.doc_id in changed else "unchanged", counts[group.doc_id])
            for group in groups
        ]

    def _put(self, prepared: Prepared, vectors: Vectors, fingerprints: Mapping[str, str], store: OpenStore) -> set[str]:
        """Write the sentences of documents, and delete what the store has of documents without text.

        Returns:
            The names of documents without text that the store had.
        """
        of_each: dict[str, list[Document]] = {name: [] for name in prepared.doc_ids}
        for sentence in prepared.sentences:
            of_each[sentence.metadata[DOC_ID]].append(sentence)
        marked: list[Document] = []
        for name, sentences in of_each.items():
            if sentences and name in fingerprints:
                state = IngestState(fingerprints[name], len(sentences), secrets.token_hex(8), self._namespace)
                sentences = with_state(sentences, state)
            marked += sentences
        store.bulk.write(marked, vectors)
        return set(store.remove([name for name, sentences in of_each.items() if not sentences]))

    def _embedding_of_store(self) -> Embeddings:
        """Return the embedder of the store."""
        adapter = self._connection.call(lambda store: store.adapter)
        if adapter.embedding is None:
            raise InvalidInputError(f"{adapter.name} doesn't say its embedder; give embedding=...")
        return adapter.embedding


def describe_error(error: BaseException) -> str:
    """Return the class of an error and the beginning of its message."""
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]


def _group_outcome(group: Group, status: Status, sentences: int = 0, *, error: Exception | None = None) -> Outcome:
    why = "" if error is None else describe_error(error)
    return Outcome(group.doc_id, status, sentences, _characters(group), why)


def _characters(group: Group) -> int:
    return sum(len(part.text) for part in group.parts)
