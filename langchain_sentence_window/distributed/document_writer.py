"""`DocumentWriter`: writes documents into a vector store, from any process, unless the store holds them already."""

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_flag
from langchain_sentence_window.documents.keys import DOC_ID, INGEST_STATE
from langchain_sentence_window.documents.part_groups import Group, group_documents
from langchain_sentence_window.documents.source_documents import IngestState, StoreLimits, with_state
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import Situate
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.indexing import Prepared

from .ingest_summary import Outcome, Status
from .row_maker import MakeEmbedding, RowMaker
from .store_connection import MakeStore, OpenStore, StoreConnection

BATCH_CHARS = 400_000
"""Characters of the documents that are embedded and written at once: some thousands of sentences."""

MAX_ERROR_CHARS = 500


class DocumentWriter:
    """Writes documents into a vector store, from any process.

    It splits, embeds and mixes as a `SentenceWindowRetriever` does, and skips documents that the store holds, complete
    and written with the same settings. It can be pickled, so that Ray, Spark or Daft can send it to workers. Each of
    them opens the store and loads the embedder once. All parts of a document must be in one call, such as all pages of
    a file.

    Examples:
        >>> write = DocumentWriter(open_store, load_embedding)  # doctest: +SKIP
        >>> [outcome.status for outcome in write(documents)]      # doctest: +SKIP
        ['written', 'unchanged']
        >>> write.finish()                                       # doctest: +SKIP
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
        """Take the settings; nothing is opened yet.

        Args:
            store: A function that opens the store. Each process calls it once, and again if the store didn't answer.
                The store must take ready-made vectors, as PostgreSQL, Qdrant and Milvus do, or be built with
                `NeighborMixedEmbeddings`.
            embedding: An embedder that can be pickled, or a function that loads one, which each process calls once;
                ``None`` for the store's own.
            splitter: Splits documents; ``None`` for the default.
            embed_headings: Whether sentences are embedded with their heading path in front.
            situate: Writes a line to put in front of a sentence when it is embedded; ``None`` for no line.
            namespace: A name for these documents, if others are written into the same store.
            dry_run: Whether to only report what would be written.
            **settings: For PostgreSQL: ``index=False`` to build no index in `finish`; ``build_memory_mb`` and
                ``build_workers``, the memory and the parallel workers of the build.

        Raises:
            InvalidInputError: A setting can't be used.
        """
        if not isinstance(namespace, str) or not namespace.isprintable():
            raise InvalidInputError(f"namespace is {shown(namespace)}; give a string of printable characters")
        self._connection = StoreConnection(store, settings)
        given = self._embedding_of_store if embedding is None else embedding
        self._rows = RowMaker(given, splitter, situate, headings=embed_headings)
        self._namespace = namespace
        self._is_dry = checked_flag("dry_run", dry_run)

    def __call__(self, documents: Sequence[Document]) -> list[Outcome]:
        """Write documents, each in the place of its earlier version.

        Args:
            documents: Documents with all of their parts.

        Returns:
            The outcome of each document, in the order of their first parts. It holds the error of a document that
            failed. If the store doesn't answer after several attempts, the outcomes of the rest are ``stopped``.

        Raises:
            InvalidInputError: Two documents have the same id, or one isn't a Document; nothing was written. Or the
                store doesn't support this.
        """
        groups = group_documents(checked_documents(documents), self._rows.splitter.join_parts)
        return list(self._write_groups(groups))

    def finish(self) -> None:
        """Build the indexes that the store lacks, after the last document was written; call it once."""
        self._connection.call(OpenStore.finish)

    def _write_groups(self, groups: Sequence[Group]) -> Iterator[Outcome]:
        """Write documents whose parts are grouped; yield the outcome of each, a batch at a time."""
        batch, size = list[Group](), 0
        for group in groups:
            batch.append(group)
            size += _characters(group)
            if size >= BATCH_CHARS:
                yield from self._write_batch(batch)
                batch, size = [], 0
        if batch:
            yield from self._write_batch(batch)

    def _write_batch(self, batch: Sequence[Group]) -> list[Outcome]:
        try:
            limits = self._connection.call(lambda store: store.adapter.limits)
            # Without fingerprints, if the store can't hold them, all documents are written.
            fingerprints = self._rows.fingerprints(batch) if limits.holds(INGEST_STATE, "") else {}
            unchanged = self._connection.call(lambda store: store.complete(fingerprints, self._namespace))
        except InvalidInputError:
            raise
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            return [_group_outcome(group, "stopped", error=error) for group in batch]
        changed = [group for group in batch if group.doc_id not in unchanged]
        written = {outcome.doc_id: outcome for outcome in self._write_changed(changed, fingerprints, limits)}
        return [written.get(group.doc_id) or _group_outcome(group, "unchanged") for group in batch]

    def _write_changed(
        self, groups: Sequence[Group], fingerprints: Mapping[str, str], limits: StoreLimits
    ) -> list[Outcome]:
        """Write documents together; after an error, write each by itself."""
        if not groups:
            return []
        sentences, emptied = 0, set[str]()
        try:
            prepared = self._rows.split(groups, limits)
            sentences = len(prepared.sentences)
            if not self._is_dry:
                vectors = self._rows.embed(prepared)
                emptied = self._connection.call(partial(self._put, prepared, vectors, fingerprints))
        except Exception as error:  # noqa: BLE001 - documents, models and stores have errors of their own
            if not self._connection.answers():
                return [_group_outcome(group, "stopped", error=error) for group in groups]
            if len(groups) == 1:
                return [_group_outcome(groups[0], "failed", sentences, error=error)]
            return [outcome for group in groups for outcome in self._write_changed([group], fingerprints, limits)]
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
        store.write(marked, vectors)
        return set(store.remove([name for name, sentences in of_each.items() if not sentences]))

    def _embedding_of_store(self) -> Embeddings:
        adapter = self._connection.call(lambda store: store.adapter)
        if adapter.embedding is None:
            raise InvalidInputError(f"{adapter.name} doesn't say its embedder; give embedding=...")
        return adapter.embedding


def describe_error(error: BaseException) -> str:
    """Return the class of an error and the beginning of its message."""
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS]


def _group_outcome(group: Group, status: Status, sentences: int = 0, *, error: Exception | None = None) -> Outcome:
    reason = "" if error is None else describe_error(error)
    return Outcome(group.doc_id, status, sentences, _characters(group), reason)


def _characters(group: Group) -> int:
    return sum(len(part.text) for part in group.parts)
