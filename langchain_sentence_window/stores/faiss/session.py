"""One open index: reads and writes of one state, and what opening, closing and forks do to it; without LangChain."""

import copy
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.errors import IndexMismatchError, StoreError

from .database.database import Database, OneState
from .database.database_file import run_slowly
from .database.database_opening import has_traces_of_index
from .database.locks import FORKS, SEARCHES, AccessLock, Gate, register_for_forks, within
from .database.reads import vectors_in_order
from .database.schema import Record
from .database.snapshot import Snapshot
from .database.store_files import DATABASE_FILE, LEXICAL_FOLDER, make_folder
from .database.transaction import Transaction
from .dense.dense_cache import BackgroundChange, VectorCache
from .dense.faiss_factory import AUTO, check_index_name
from .dense.fine_vectors import DamagedRecordError
from .dense.vector_index import VectorIndex
from .format_conversion import convert_earlier
from .index_state import IndexAtState, IndexState, SearchCache
from .lexical_index import LexicalCache
from .origin import Origin
from .search_reads import best_pairs
from .soundness import StoreStats, bytes_by_part

if TYPE_CHECKING:
    from .soundness import CheckResult

T = TypeVar("T")

MAX_ROWS_BEHIND = 50_000
"""Rows that a long series of writes adds before the caches catch up, as each update of theirs has a fixed cost."""

MIN_ROWS_TO_CATCH_UP = 2_000
"""The least number of rows for which a write brings the lexical index up to date itself. Each update has a fixed cost,
so after smaller writes the next lexical search makes one update for all of them."""

_MAX_ATTEMPTS = 100
_ATTEMPTS_TOGETHER = 3
"""Attempts at a read beside others' writes, before it keeps them out."""


class IndexSession:
    """Records and their unit vectors, on disk or in memory, for any number of threads.

    Each write is one transaction. Each read sees one state: what it searches and fetches is as it was when it began.

    Attributes:
        folder: The folder of all files; ``None`` for an index in memory.
        name: The name of the index in messages.
        origin: The embedder of its vectors.
        factory: The name of its FAISS index for the index factory, or ``auto``.
        weights: The weights of a sentence and its neighbors in each vector.
        effort: How many times as much to look at as usual when vectors are searched.
    """

    def __init__(
        self,
        folder: Path | None,
        factory: str | None,
        weights: Sequence[float] | None,
        *,
        search_effort: float = 1.0,
        read_only: bool,
    ) -> None:
        """Open or create the index in a folder, or create one in memory.

        Args:
            folder: The folder of all files, as an absolute path, so that the process may change its working
                directory. ``None`` for an index in memory.
            factory: The name of the index for FAISS's index factory, or ``auto``. ``None`` keeps the current one; a
                new index is ``auto``.
            weights: The weights of a sentence and its neighbors in each vector. ``None`` keeps the current ones; a
                new index has `NEIGHBOR_WEIGHTS`.
            search_effort: How many times as much to look at as usual when vectors are searched.
            read_only: Whether to refuse writes.

        Raises:
            StoreError: The folder can't be created, or it holds something other than an index.
            IndexMismatchError: The index has a format that this version can't read.
        """
        self.folder = folder
        self.name = str(folder) if folder else "the store in memory"
        if factory is not None and not (isinstance(factory, str) and factory == AUTO):
            check_index_name(factory)
        self.origin, self.effort, self._searched = Origin(self.name), search_effort, SearchCache()
        self._gate = AccessLock(self.name)
        self._calls = FORKS, self._gate
        self._rows_behind = 0
        self._state: OneState | None = None
        FORKS.read(lambda: self._open(factory, weights, read_only=read_only))
        # A store is often dropped without being closed.
        self._finalizer = weakref.finalize(self, _close, self._gate, self._database, self._vectors, self._lexical)

    @property
    def is_closed(self) -> bool:
        """Whether the index was closed."""
        return self._gate.is_closed

    @property
    def is_read_only(self) -> bool:
        """Whether writes are refused."""
        return self._database.read_only

    # Reading and writing

    def read(self, work: Callable[[IndexState], T], *, dense: bool = False, words: bool = False) -> T:
        """Run a function of one state of the index, whatever is written meanwhile.

        Args:
            work: The function; it must not write to the index. It is called again from its beginning if a file turns
                out to be damaged or was changed under a process that can't lock it.
            dense: Whether it searches vectors.
            words: Whether it searches words.

        Raises:
            StoreChangedError: The state of `at_one_state` doesn't exist any more.
            StoreError: SQLite can't read, the lexical index can't be brought up to date, the index was closed, or
                others write so often that no state lasts as long as a read.
        """
        state = self._state
        gates = (SEARCHES, *self._calls) if dense or words else self._calls
        gates = (*gates, self._vectors.lock, self._database.lock) if dense else (*gates, self._database.lock)
        of_state: tuple[Gate, ...] = () if state is None else (state.calls, state.calls.alone)
        for attempt in range(_MAX_ATTEMPTS):
            index, _ = self._vectors.current
            try:
                if state is None and attempt >= _ATTEMPTS_TOGETHER and dense != words:
                    done = within(self._calls, lambda: self._read_alone(work, words=words))
                else:
                    at = partial(self._read_at, work, dense=dense, words=words)
                    done = within((*gates, *of_state), partial((state or self._database).read_state, at))
            except DamagedRecordError:
                within(self._calls, partial(self._vectors.drop_damaged, index))
                continue
            if isinstance(done, tuple):
                if state is not None:
                    state.is_kept = True
                return done[0]
            if state is not None:
                within((*self._calls, *of_state), partial(state.end, is_outdated=True))
            within(self._calls, done)
        raise StoreError(f"{self.name} changes too often to be searched in one state; search again")

    def nearest(self, vector: Vectors, k: int, effort: float) -> list[tuple[Record, float]] | None:
        """Search an exact index as it is, and fetch the records if it is current; ``None`` if it isn't.

        FAISS's comparison evicts everything else from the CPU's caches, so little is left to do after it: one statement
        sees one state, and needs no transaction, which would take three more.
        """

        def work(snapshot: Snapshot) -> list[tuple[Record, float]] | None:
            index, version = self._vectors.current
            if not isinstance(index, VectorIndex) or not index.is_exact or version is None:
                return None
            found = index.search(vector, k, None, effort)
            if not found or not self.origin.was_checked_at(version):
                return None
            if len({cosine for _, cosine in found}) < len(found):
                found = best_pairs(snapshot, found, k)
            records = snapshot.by_rows([row for row, _ in found], latest=version)
            return [(records[row], score) for row, score in found] if len(records) == len(found) else None

        if self._state is not None:
            return None
        gates = (SEARCHES, *self._calls, self._vectors.lock, self._database.lock)
        return within(gates, partial(self._database.read_state, work, begins=False))

    def write(self, work: Callable[[Transaction], T], *, rows_added: int = 0, is_part: bool = False) -> T:
        """Run a function of a transaction, which takes effect completely or not at all; then the caches catch up.

        Args:
            work: The function.
            rows_added: The records that it adds.
            is_part: Whether more writes follow. Then the caches catch up once in `MAX_ROWS_BEHIND` rows, and at
                `catch_up_after_parts`.

        Raises:
            StoreError: SQLite can't write, or the index was opened for reading only; nothing was changed.
        """
        gates = (*self._calls, self._database.lock.alone)
        result = within(gates, partial(self._database.transact, work))
        self._rows_behind += rows_added
        if not is_part or self._rows_behind >= MAX_ROWS_BEHIND:
            if self._vectors.current[0] is not None:
                self._vectors.catch_up(self._calls)
            self._catch_up_words()
        return result

    def catch_up_after_parts(self) -> None:
        """Bring the caches up to date after writes of which each was a part; small writes leave words to a search."""
        if self._vectors.current[0] is not None:
            self._vectors.catch_up(self._calls)
        self._catch_up_words()

    def _catch_up_words(self) -> None:
        rows, self._rows_behind = self._rows_behind, 0
        if rows >= MIN_ROWS_TO_CATCH_UP:
            with suppress(StoreError):  # the next search by words tries again
                within(self._calls, self._lexical.catch_up)

    @contextmanager
    def at_one_state(self, *, copies: bool) -> Iterator[Self]:
        """Return a context with a session whose reads are all of one state.

        It lasts as long as any of them: an async call that is canceled leaves a thread behind, which still reads.

        Args:
            copies: Whether to copy the state of an index in memory, which no write changes then; see `OneState`.
        """
        session, state = copy.copy(self), OneState(self._database, copies=copies)
        session._state = state
        try:
            yield session
        finally:
            # From within a call of the state, so that nothing waits here: the last call to end ends the state.
            try:
                within((*self._calls, state.calls), partial(state.calls.close, state.end))
            except StoreError:  # it was closed, and its connections with it
                within((state.calls,), partial(state.calls.close, state.drop_copy))

    def in_order(self) -> Iterator[tuple[list[Record], Vectors]]:
        """Yield all records by document and index, in slices that split no section.

        All are from the state of the index at the first slice. No writer waits between two slices.
        """
        parts: Iterator[tuple[list[Record], Vectors]] = iter(())
        given, on = 0, object()

        def read_on(state: IndexState) -> tuple[list[Record], Vectors] | None:
            nonlocal on, parts
            if on is not state.snapshot:  # at the beginning, and after a fork
                on, parts = state.snapshot, _slices(state.snapshot, given)
            return next(parts, None)

        with self.at_one_state(copies=True) as session:
            while part := session.read(read_on):
                given += 1
                yield part

    def step(self, work: Callable[[], T]) -> T:
        """Run a step of a long work, which closing and forks wait for."""
        return within(self._calls, work)

    # The index as a whole

    def stats(self) -> StoreStats:
        """Count the contents of the index and measure its size."""

        def count(state: IndexState) -> StoreStats:
            snapshot, vectors = state.snapshot, self._vectors
            in_use, (index, _) = vectors.in_use(snapshot), vectors.current
            return StoreStats(
                documents=snapshot.count_documents(),
                sentences=snapshot.state.sentences,
                bytes=bytes_by_part(self.folder),
                index=self.factory,
                index_in_use=in_use.name,
                index_reason=in_use.reason,
                index_to_come=vectors.to_come(),
                neighbor_weights=self.weights,
                tombstones=0 if index is None else index.tombstones,
                rebuild_saves=0 if index is None else index.wasted_bytes,
                generation=snapshot.state.generation,
                staged_texts=snapshot.count_staged(),
            )

        return self.read(count)

    def check(self) -> "CheckResult":
        """Check everything that the index holds; see `check_folder`."""
        from .soundness import check_folder, check_memory

        folder = self.folder
        return self.step(lambda: check_memory(self._database) if folder is None else check_folder(folder))

    def save(self) -> None:
        """Bring the caches up to date and write them to their files, so that the next opening is fast.

        Raises:
            StoreError: The index is in memory or read-only, or a file can't be written.
        """
        if self.folder is None:
            raise StoreError("the store is in memory only; give save() a path to write it to")

        # A change that is due is made first, so that the next opening needn't make it.
        self.step(self._vectors.catch_up)
        self._vectors.wait_for_change()

        def work() -> None:
            self._vectors.save()
            self._lexical.catch_up()
            self._database.seal()

        self.step(work)

    def copy_to(self, folder: Path) -> None:
        """Copy the records into a folder that holds no index yet.

        Raises:
            StoreError: The folder can't be created, or it holds an index.
        """
        if self.folder is not None and folder.is_relative_to(self.folder):
            raise StoreError(f"{str(folder)!r} is inside the store's own folder; choose another folder")
        make_folder(folder)
        if (folder / DATABASE_FILE).exists() or has_traces_of_index(folder / DATABASE_FILE):
            raise StoreError(f"{str(folder)!r} holds an index already; choose another folder, or remove that one")
        self.step(lambda: self._database.copy_to(folder / DATABASE_FILE))

    def close(self) -> None:
        """Wait for running calls and close all files; all later calls fail."""
        _close(self._gate, self._database, self._vectors, self._lexical)
        self._finalizer.detach()

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
        folder = self.folder
        if folder and not read_only:
            make_folder(folder)
        open_database = partial(Database, folder / DATABASE_FILE if folder else None, read_only=read_only)
        try:
            self._database = open_database()
        except StoreError as error:
            # Another process may have converted it since.
            if folder is None or read_only or not (convert_earlier(folder) or isinstance(error, IndexMismatchError)):
                raise
            self._database = open_database()
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
        step = partial(within, self._calls)  # doesn't keep the session
        self._vectors = VectorCache(self._database, folder, self.factory, self.weights, step)
        self._lexical = LexicalCache(self._database, folder / LEXICAL_FOLDER if folder else None)
        self._check = BackgroundChange(self.name)
        if self._database.is_checked_later:
            self._check.start(partial(run_slowly, partial(step, self._database.check_on)))
        register_for_forks(self)

    def _read_at(
        self, work: Callable[[IndexState], T], snapshot: Snapshot, *, dense: bool = False, words: bool = False
    ) -> tuple[T] | Callable[[], None]:
        """Run a function of one state; return what brings a cache to that state if one that it searches isn't."""
        index = searcher = None
        if dense:
            present, version = self._vectors.current
            if version != snapshot.version:
                return self._vectors.catch_up
            index = None if present is None else IndexAtState(present, snapshot, self.weights)
        if words:
            version, searcher = self._lexical.current
            if version != snapshot.version:
                return self._lexical.catch_up
        return (work(IndexState(snapshot, self.origin, self._searched, self.effort, index, searcher)),)

    def _read_alone(self, work: Callable[[IndexState], T], *, words: bool) -> tuple[T] | Callable[[], None]:
        """Run a function of one state, to which a cache is brought meanwhile: others write faster than it can read."""

        def read_words(snapshot: Snapshot) -> tuple[T] | Callable[[], None]:
            self._lexical.advance_to_read(snapshot)
            return self._read_at(work, snapshot, words=True)

        def write_words(transaction: Transaction) -> tuple[T] | Callable[[], None]:
            self._lexical.advance(transaction)
            return self._read_at(work, transaction, words=True)

        def read_vectors(snapshot: Snapshot) -> tuple[T] | Callable[[], None]:
            self._vectors.advance(snapshot)
            return self._read_at(work, snapshot, dense=True)

        if words:
            return self._database.read(read_words) if self.is_read_only else self._lexical.change(write_words)
        return self._vectors.lock.write(lambda: self._database.read(read_vectors))


def _close(gate: AccessLock, database: Database, vectors: VectorCache, lexical: LexicalCache) -> None:
    """Close an index, also after it was garbage-collected, when only its parts are left."""

    def finish() -> None:
        try:
            database.close()
        finally:
            vectors.close()
            lexical.close()

    gate.close(lambda: FORKS.read(finish))


def _slices(snapshot: Snapshot, first: int) -> Iterator[tuple[list[Record], Vectors]]:
    for rows, vectors, _ in islice(vectors_in_order(snapshot.execute, ("1", [])), first, None):
        records = snapshot.by_rows(rows.tolist())
        yield [records[row] for row in rows.tolist()], vectors
