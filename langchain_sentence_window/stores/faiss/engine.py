"""The store without LangChain: a database and its two caches, FAISS and tantivy, kept in step.

Turns of searching threads, of which no more run at once than are of use.

What a search does in Python takes turns at the interpreter's lock, which FAISS, tantivy and SQLite let go of for
moments. Each time, another thread takes it, so many searches at once interrupt each other hundreds of times and all
become slower. Those that wait here interrupt nobody.
"""

import copy
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Self, TypeVar

from langchain_sentence_window._io import COMPUTING_THREADS
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.documents.sentence_documents import Beside, FoundSentences
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.name_spans import Evidence, QueryWords
from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.database_file import run_slowly
from langchain_sentence_window.stores.faiss.database.database_opening import has_traces_of_index
from langchain_sentence_window.stores.faiss.database.leases import OneState
from langchain_sentence_window.stores.faiss.database.locks import (
    AccessLock,
    ClosedError,
    NestedWriteError,
    hold_off_forks,
    register_for_forks,
)
from langchain_sentence_window.stores.faiss.database.reads import ListedSource
from langchain_sentence_window.stores.faiss.database.schema import Record
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE, LEXICAL_FOLDER, make_folder
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.dense.dense_cache import BackgroundChange, VectorCache
from langchain_sentence_window.stores.faiss.dense.faiss_factory import AUTO, check_index_name
from langchain_sentence_window.stores.faiss.estimates import ClosestMatches, RecallEstimate, RecallEstimator, Sample
from langchain_sentence_window.stores.faiss.lexical_cache import LexicalCache
from langchain_sentence_window.stores.faiss.origin import Origin, RecordedEmbedder, Writer
from langchain_sentence_window.stores.faiss.search_reads import Rank
from langchain_sentence_window.stores.faiss.searcher import HybridQuery, Searcher
from langchain_sentence_window.stores.faiss.soundness import StoreStats, bytes_by_part

if TYPE_CHECKING:
    from langchain_sentence_window.stores.faiss.soundness import CheckResult


T = TypeVar("T")

MAX_ROWS_BEHIND = 50_000
"""Rows that a long series of writes adds before the caches catch up, as each update of theirs has a fixed cost."""


class StoreEngine:
    """Records and their unit vectors, on disk or in memory, for any number of threads.

    Each write is one transaction. Each read sees one state: a search ranks, filters and fetches records as they
    were when it began.
    """

    def __init__(
        self, folder: Path | None, factory: str | None, weights: Sequence[float] | None, *, read_only: bool
    ) -> None:
        """Open or create the index in a folder, or create one in memory.

        Args:
            folder: The folder of all files, as an absolute path, so that the process may change its working
                directory. ``None`` for an index in memory.
            factory: The name of the index for FAISS's index factory, or ``auto``. ``None`` keeps the current one; a
                new index is ``auto``.
            weights: The weights of a sentence and its neighbors in each vector. ``None`` keeps the current ones; a
                new index has `NEIGHBOR_WEIGHTS`.
            read_only: Whether to refuse writes.

        Raises:
            StoreError: The folder can't be created, or it holds something other than an index.
            IndexMismatchError: The index has a format that this version can't read.
        """
        self._folder = folder
        self.name = str(folder) if folder else "the store in memory"
        if factory is not None and not (isinstance(factory, str) and factory == AUTO):
            check_index_name(factory)
        self._gate = AccessLock()
        self._rows_behind = 0
        self.origin = Origin(self.name)
        self._writer = Writer(self.origin)
        hold_off_forks(lambda: self._open(factory, weights, read_only=read_only))
        # A store is often dropped without being closed.
        self._finalizer = weakref.finalize(self, _close, self._gate, self._database, self._vectors, self._lexical)

    def close(self) -> None:
        """Wait for running calls and close all files; all later calls fail."""
        _close(self._gate, self._database, self._vectors, self._lexical)
        self._finalizer.detach()

    @property
    def folder(self) -> Path | None:
        """The folder of all files; ``None`` for an index in memory."""
        return self._folder

    @property
    def is_closed(self) -> bool:
        """Whether the index was closed."""
        return self._gate.is_closed

    @property
    def is_read_only(self) -> bool:
        """Whether writes are refused."""
        return self._database.read_only

    def __len__(self) -> int:
        """Return the number of records."""
        return self._read(lambda snapshot: snapshot.state.sentences)

    def embedder(self) -> RecordedEmbedder:
        """Return what is recorded about the embedder of the vectors."""
        return self._read(Origin.recorded)

    def sample_embedded(self, size: int) -> tuple[RecordedEmbedder, list[tuple[str, Vectors]]]:
        """Return up to ``size`` texts as they were embedded, with their vectors, and the record of their embedder."""
        return self._read(lambda snapshot: (Origin.recorded(snapshot), snapshot.sample_embedded(size)))

    # Writing

    def unknown_texts(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that have no vector in the index yet, each once.

        Raises:
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        return self._read(lambda snapshot: self._writer.unknown_texts(snapshot, texts))

    def stage_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Keep half-precision vectors, by text, that will be written later, in case the call is interrupted.

        Raises:
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        self._write(lambda transaction: self._writer.stage_vectors(transaction, vectors))

    def discard_staged(self) -> int:
        """Drop all staged vectors and return their number."""
        return self._write(lambda transaction: transaction.discard_staged())

    def write(
        self,
        records: Sequence[Record] = (),
        vectors: Vectors | Mapping[str, bytes] | None = None,
        *,
        remove: Condition | None = None,
        forbidden: Condition | None = None,
        is_part: bool = False,
    ) -> None:
        """Remove records and add others, replacing those with the same id, in one transaction.

        Args:
            records: The records to add, each with another id.
            vectors: Unit vectors of shape ``(len(records), dimension)``, or half-precision vectors by text. Texts
                without a vector there have one in the index.
            remove: A condition on the records to remove first.
            forbidden: A condition that no record may meet; otherwise nothing is written.
            is_part: Whether more writes follow. Then the caches catch up once in `MAX_ROWS_BEHIND` rows, and at
                `catch_up_after_parts`.

        Raises:
            InvalidInputError: A record meets the forbidden condition; nothing was changed.
            EmbeddingError: The vectors are of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be; nothing was changed.
            StoreError: SQLite can't write; nothing was changed.
            StaleVectorError: The vector of a text isn't in the index any more; nothing was changed.
        """
        self._write(
            lambda transaction: self._writer.write(transaction, records, vectors, remove=remove, forbidden=forbidden)
        )
        self._rows_behind += len(records)
        if not is_part or self._rows_behind >= MAX_ROWS_BEHIND:
            self.catch_up_after_parts()

    def catch_up_after_parts(self) -> None:
        """Bring the caches up to date after writes of which each was a part."""
        rows, self._rows_behind = self._rows_behind, 0
        self._run(lambda: self._catch_up_after_write(rows))

    def remove_documents(self, condition: Condition) -> list[str]:
        """Remove whole documents in one transaction, and return their names; see `Transaction.remove_documents`."""
        removed = self._write(lambda transaction: transaction.remove_documents(condition))
        self._run(lambda: self._catch_up_after_write(0))
        return removed

    def _catch_up_after_write(self, rows_added: int) -> None:
        self._vectors.catch_up_after_write()
        self._lexical.catch_up_after_write(rows_added)

    # Reading

    def fetch(self, ids: Sequence[str], where: Condition = ("1", [])) -> dict[str, Record]:
        """Fetch the records with some ids that meet a condition; other ids are left out."""
        found = self._run(lambda: self._source.read(lambda snapshot: snapshot.by_ids(ids, where)))
        self._source.keep()
        return found

    @contextmanager
    def at_one_state(self, *, copies: bool) -> Iterator[Self]:
        """Return a context with an engine whose searches and fetches are all of one state, for one thread at a time.

        Args:
            copies: Whether to copy the state of an index in memory, which no write changes then; see `OneState`.
        """
        engine, state = copy.copy(self), self._database.one_state(copies=copies)
        engine._source, engine._searcher = state, self._searcher.at(state)
        try:
            yield engine
        finally:
            with suppress(StoreError):  # it was closed, and its connections with it
                self._run(state.end)

    def begin_anew(self) -> None:
        """Let go of the state that was searched; see `at_one_state`."""
        if isinstance(self._source, OneState):
            self._run(self._source.end)

    def together(self, work: Callable[[], T]) -> T:
        """Run a function whose searches are all of one state, whatever is written meanwhile; see `at_one_state`.

        Raises:
            StoreError: As for `hybrid_search`.
        """
        return self._search(lambda: self._searcher.together(work))

    def sources(self, of_sources: Condition | None, of_sentences: Condition) -> list[ListedSource]:
        """Return what is known of the documents that meet a condition; see `list_sources`."""
        return self._read(lambda snapshot: snapshot.sources(of_sources, of_sentences))

    def count_sources(self, of_sources: Condition | None, of_sentences: Condition) -> int:
        """Count the documents that meet a condition; see `list_sources`."""
        return self._read(lambda snapshot: snapshot.count_sources(of_sources, of_sentences))

    def check(self) -> "CheckResult":
        """Check everything that the index holds; see `check_folder`."""
        from langchain_sentence_window.stores.faiss.soundness import check_folder, check_memory

        folder = self._folder
        return self._run(lambda: check_memory(self._database) if folder is None else check_folder(folder))

    def unknown_keys(self, keys: Sequence[str]) -> list[str]:
        """Return the keys that no record has in its metadata; none for an empty index."""
        return self._read(lambda snapshot: self._searcher.unknown_keys(snapshot, keys))

    def in_order(self) -> Iterator[tuple[list[Record], Vectors]]:
        """Yield all records by document and index, with their vectors, in slices that split no section.

        All are from the state of the index at the first slice. No writer waits between two slices.
        """
        copy = self._run(self._database.private_copy)
        source = copy or self._database
        reading = self._run(lambda: source.begin_reading(_slices))
        try:
            while part := self._run(lambda: source.read_on(reading)):
                yield part
        finally:
            if copy is not None:
                copy.close()
            else:
                with suppress(StoreError):
                    self._run(reading.end)

    def search(
        self, vector: Vectors, k: int, where: Condition | None = None, effort: float = 1.0
    ) -> list[tuple[Record, float]]:
        """Find the ``k`` records nearest to a unit vector among those that meet a condition.

        Args:
            vector: The unit vector.
            k: The maximum number of records.
            where: A condition on the records.
            effort: How many times as much to look at as usual; infinity for everything.

        Returns:
            Records with their cosines, best first.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        return self._search(lambda: self._searcher.search(vector, k, where, effort))

    def search_with_vectors(
        self, vector: Vectors, k: int, where: Condition | None = None, effort: float = 1.0
    ) -> list[tuple[Record, Vectors]]:
        """Find the same records as `search`, with their vectors as they were embedded instead of the cosines."""
        return self._search(lambda: self._searcher.search_with_vectors(vector, k, where, effort))

    def lexical_search(self, query: str, k: int, where: Condition | None = None) -> list[tuple[Record, float]]:
        """Find the ``k`` records that match a query's words best, with their BM25 scores, best first."""
        return self._search(lambda: self._searcher.lexical_search(query, k, where))

    def hybrid_search(self, query: HybridQuery) -> list[tuple[Record, float]]:
        """Find the records that match best by meaning and words together; see `fuse`.

        Returns:
            Records with their scores, best first.

        Raises:
            InvalidInputError: ``rank`` doesn't return a finite number for each candidate.
            EmbeddingError: The vector is of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
            StoreError: Others write so often that no state lasts as long as a search.
        """
        return self._search(lambda: self._searcher.hybrid_search(query))

    def hybrid_sentences(self, query: HybridQuery, rank: Rank, beside: Beside) -> FoundSentences:
        """Find sentences as `hybrid_search` does, and read others in the same state.

        Args:
            query: The search.
            rank: Ranks the candidates.
            beside: Returns which sentences to read beside those that were found. It is called in the middle of a read,
                so it must not write to the store.

        Raises:
            IncompleteWindowError: A record that was found isn't a sentence.
        """
        return self._search(lambda: self._searcher.hybrid_sentences(query, rank, beside))

    def kept_matches(self, asked: int) -> Numbers | None:
        """Return the closest matches that were found before, if they still hold; see `ClosestMatches.kept`."""
        return self._run(lambda: self._closest_matches.kept(asked))

    def sample_sentences(self, asked: int) -> Sample:
        """Return sentences spread evenly over the index, to find their closest matches."""
        return self._run(lambda: self._closest_matches.sample(asked))

    def find_closest_matches(self, sample: Sample, vectors: Vectors) -> Numbers:
        """Find and keep the closest matches of sampled sentences; see `ClosestMatches.find`."""
        return self._run(lambda: self._closest_matches.find(sample, vectors))

    def recall_estimate(self, questions: Vectors, k: int, effort: float, *, is_embedded: bool) -> RecallEstimate:
        """Estimate how many of the ``k`` nearest vectors a search finds; see `RecallEstimator`.

        Args:
            questions: Unit vectors of shape ``(n, dimension)``.
            k: The number of nearest vectors.
            effort: How many times as much to look at as usual.
            is_embedded: Whether the questions were embedded now, so that the embedder must be that of the index.

        Raises:
            EmbeddingError: The vectors are of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        estimator = RecallEstimator(self._database, self._vectors, self.weights, self._run)
        return estimator.estimate(questions, k, effort, self.origin.check if is_embedded else lambda _: None)

    def name_evidence(self, words: QueryWords, keys: Sequence[str], where: Condition | None = None) -> Evidence:
        """Collect what tells which documents a query names; see `langchain_sentence_window.ranking.names`.

        Args:
            words: The words of the query.
            keys: Keys of metadata that hold names, beside the title, the file name and its folder.
            where: A condition on the records; of others, nothing is told.
        """
        return self._search(lambda: self._searcher.name_evidence(words, keys, where))

    def stats(self) -> StoreStats:
        """Count the contents of the index and measure its size."""
        state, documents, staged, in_use = self._read(
            lambda snapshot: (
                snapshot.state,
                snapshot.count_documents(),
                snapshot.count_staged(),
                self._vectors.in_use(snapshot),
            )
        )
        return StoreStats(
            documents=documents,
            sentences=state.sentences,
            bytes=bytes_by_part(self._folder),
            index=self.factory,
            index_in_use=in_use.name,
            index_reason=in_use.reason,
            index_to_come=self._vectors.to_come(),
            neighbor_weights=self.weights,
            tombstones=self._vectors.tombstones,
            rebuild_saves=self._vectors.wasted_bytes,
            generation=state.generation,
            staged_texts=staged,
        )

    # The files

    def save(self) -> None:
        """Bring the caches up to date and write them to their files, so that the next opening is fast.

        Raises:
            StoreError: The index is in memory or read-only, or a file can't be written.
        """
        if self._folder is None:
            raise StoreError("the store is in memory only; give save() a path to write it to")

        # A change that is due is made first, so that the next opening needn't make it.
        self._run(self._vectors.catch_up)
        self._vectors.wait_for_change()

        def work() -> None:
            self._vectors.save()
            self._lexical.catch_up()
            self._database.seal()

        self._run(work)

    def copy_to(self, folder: Path) -> None:
        """Copy the records into a folder that holds no index yet.

        Raises:
            StoreError: The folder can't be created, or it holds an index.
        """
        if self._folder is not None and folder.is_relative_to(self._folder):
            raise StoreError(f"{str(folder)!r} is inside the store's own folder; choose another folder")
        make_folder(folder)
        if (folder / DATABASE_FILE).exists() or has_traces_of_index(folder / DATABASE_FILE):
            raise StoreError(f"{str(folder)!r} holds an index already; choose another folder, or remove that one")
        self._run(lambda: self._database.copy_to(folder / DATABASE_FILE))

    # Forks

    def before_fork(self) -> None:
        """Close everything that must not cross a fork."""
        self._database.before_fork()

    def after_fork_in_parent(self) -> None:
        """Resume what was closed."""
        self._database.after_fork_in_parent()

    def after_fork(self, *, was_quiet: bool) -> None:
        """Start afresh in the child process."""
        self._gate.reset()
        self._check.after_fork()
        self._database.after_fork(was_quiet=was_quiet)
        self._vectors.after_fork(was_quiet=was_quiet)
        self._lexical.after_fork()

    # Machinery

    def _open(self, factory: str | None, weights: Sequence[float] | None, *, read_only: bool) -> None:
        folder = self._folder
        if folder and not read_only:
            make_folder(folder)
        self._database = Database(folder / DATABASE_FILE if folder else None, read_only=read_only)
        try:
            kept = self._database.read(lambda snapshot: snapshot.fact("settings")) or {}
            self.factory: str = factory or kept.get("index", AUTO)
            self.weights: tuple[float, ...] = tuple(weights or kept.get("weights", NEIGHBOR_WEIGHTS))
            settings = {"index": self.factory, "weights": list(self.weights)}
            if settings != kept and not read_only:
                self._database.write(lambda transaction: transaction.set_fact("settings", settings))
        except BaseException:
            self._database.close()
            raise
        self._source: Database | OneState = self._database
        self._vectors = VectorCache(self._database, folder, self.factory, self.weights, _gated(self._gate))
        self._lexical = LexicalCache(self._database, folder / LEXICAL_FOLDER if folder else None)
        self._searcher = Searcher(self._database, self._vectors, self._lexical, self.origin)
        self._closest_matches = ClosestMatches(self._database, self._vectors, self.origin)
        self._check = BackgroundChange(self.name)
        if self._database.is_checked_later:
            self._check.start(partial(run_slowly, partial(_gated(self._gate), self._database.check_on)))
        register_for_forks(self)

    def _read(self, work: Callable[[Snapshot], T]) -> T:
        return self._run(lambda: self._database.read(work))

    def _search(self, work: Callable[[], T]) -> T:
        return SEARCHES.run(lambda: self._run(work))

    def _write(self, work: Callable[[Transaction], T]) -> T:
        return self._run(lambda: self._database.write(work))

    def _run(self, work: Callable[[], T]) -> T:
        """Run a function that closing and forks wait for."""
        try:
            return hold_off_forks(lambda: self._gate.read(work))
        except ClosedError:
            raise StoreError(f"{self.name} is closed; open it again") from None
        except NestedWriteError as error:
            raise StoreError(f"{self.name} can't be written: {error}; let the first call end") from None


def _close(gate: AccessLock, database: Database, vectors: VectorCache, lexical: LexicalCache) -> None:
    """Close an index, also after it was garbage-collected, when only its parts are left."""

    def finish() -> None:
        try:
            database.close()
        finally:
            vectors.close()
            lexical.close()

    gate.close(lambda: hold_off_forks(finish))


def _gated(gate: AccessLock) -> Callable[[Callable[[], T]], T]:
    """Return what runs a function that closing and forks wait for, without keeping the engine."""
    return lambda work: hold_off_forks(lambda: gate.read(work))


def _slices(snapshot: Snapshot, first: int) -> Iterator[tuple[list[Record], Vectors]]:
    for rows, vectors, _ in islice(snapshot.vectors_in_order(("1", [])), first, None):
        records = snapshot.by_rows(rows.tolist())
        yield [records[row] for row in rows.tolist()], vectors


MAX_WAIT_SECONDS = 1.0
"""The longest time to wait for a turn. Turns are for speed, so nothing may depend on one that doesn't end."""


class Turns:
    """Lets so many threads run at once, and others wait for them."""

    def __init__(self, at_once: int) -> None:
        """Start with nobody in.

        Args:
            at_once: The number of threads that run at once.
        """
        self._at_once = at_once
        self._thread = threading.local()
        self.reset()

    def reset(self) -> None:
        """Forget the threads that are in. After a fork they don't exist."""
        # Unlike a semaphore, a simple queue may be used again by a signal handler that interrupts its use.
        free: SimpleQueue[object] = SimpleQueue()
        for _ in range(self._at_once):
            free.put(object())
        self._free = free

    def run(self, work: Callable[[], T]) -> T:
        """Run a function when it is this thread's turn; at once within another turn of the same thread."""
        if getattr(self._thread, "has_turn", False):
            return work()
        free, turn = self._next()
        try:
            self._thread.has_turn = True
            return work()
        finally:
            self._thread.has_turn = False
            free.put(turn)

    def _next(self) -> tuple[SimpleQueue[object], object]:
        """Wait for a turn; return it, and where it is given back."""
        while True:
            free = self._free
            try:
                return free, free.get(timeout=MAX_WAIT_SECONDS)
            except Empty:
                # Many wait, or an exception such as Ctrl-C came just between taking a turn and giving it back.
                if self._free is free:
                    self.reset()


SEARCHES = Turns(COMPUTING_THREADS)
"""The turns of all searches in this process, as all stores share its cores."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SEARCHES.reset)
