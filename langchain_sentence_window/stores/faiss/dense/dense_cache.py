"""Keeping a FAISS index in step with the database, for many threads that search and one that writes.

Making another index in the background, while searches and writes go on with the present one.

The work is done in steps of seconds at most. Each step is a call of the store like any other: closing the store and
forks of the process wait for the step, and no step begins after that.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from langchain_sentence_window.embedding.vectors import mix_neighbors, normalized
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.locks import AccessLock, ClosedError, Gate, within
from langchain_sentence_window.stores.faiss.database.reads import vectors_in_order
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.transaction import Transaction

from .dense_index import TRAINING_SAMPLE_SIZE, DenseIndex, IndexMaker, Step, load_index, remove_others, save_index
from .faiss_factory import Choice, choose, is_automatic, make_faiss_index
from .fine_vectors import DamagedRecordError
from .quantized import QuantizedIndex

T = TypeVar("T")

Current: TypeAlias = tuple[DenseIndex | None, Version | None]
"""An index, and the version of the database that it is at."""

_NOTHING: Current = (None, None)
VECTORS_FACT = "vectors"
"""The name of the fact that describes the saved index."""

MAX_CHANGED_AT_ONCE = 10_000
"""The most vectors of an index that is made anew within the call that made it due. Larger ones are made in the
background."""

MIN_SAVED = 20_000
"""The least number of vectors whose records are in memory for which the index is saved again in the background."""

SAVED_SHARE = 1 / 16
"""The share of all vectors whose records may be in memory."""

_MAX_ATTEMPTS = 3
_MIN_TOMBSTONES = 1_000


class VectorCache:
    """A FAISS index of one state of the database, which catches up before each search.

    Attributes:
        lock: Is held by those who search the index, and exclusively by who changes it.
        current: The index, and the version of the database that it is at.
    """

    def __init__(
        self,
        database: Database,
        folder: Path | None,
        asked: str,
        weights: Sequence[float],
        step: Step = lambda work: work(),
    ) -> None:
        """Start empty; the first search loads the files, or builds the index.

        Args:
            database: The database to cache.
            folder: The folder of the saved index; ``None`` for a store in memory.
            asked: The name of the index for FAISS's index factory, or ``auto``; see `choose`.
            weights: The weights of a sentence and its neighbors in each vector; ``(1,)`` for no mixing.
            step: Runs a step of a change in the background, as a call of the store.
        """
        self._database = database
        self._folder = folder
        self._asked = asked
        self._weights = tuple(weights)
        self._step = step
        self._maker = IndexMaker(None if database.read_only else folder, asked, self._weights)
        self.lock = AccessLock(database.name)
        # Replaced as a whole, so that no exception can leave an index with the version of another.
        self.current: Current = _NOTHING
        self._change = BackgroundChange(database.name)
        self._damaged: set[str] = set()

    def in_use(self, snapshot: Snapshot) -> Choice:
        """Return the index that is searched, or that the next search makes or loads, and why."""
        index, _ = self.current
        dimension, count = snapshot.fact("dimension") or 0, snapshot.state.sentences
        present = index.name if index is not None else (self._wanted(snapshot) or {}).get("index")
        chosen = choose(self._asked, dimension, count, present)
        if index is None or index.name == chosen.name:
            return chosen
        return Choice(index.name, f"{chosen.name} is to replace it, as {chosen.reason}")

    def to_come(self) -> str | None:
        """Return the name of the index that is being made in the background; ``None`` if none is."""
        index, _ = self.current
        due = None if index is None or not self._change.is_running else change_due(index, self._asked)
        return None if due is None else due.name

    # Following the database

    def catch_up(self, calls: Sequence[Gate] = ()) -> None:
        """Bring the index up to date with the database, and begin to make another one if that is due.

        Args:
            calls: What a call of the store enters, unless it is in one.
        """
        gates = (*calls, self.lock.alone, self._database.lock)
        within(gates, partial(self._database.read_state, self.advance))
        index, _ = self.current
        if index is None or self._database.read_only:
            return
        if change_due(index, self._asked) is None:
            if self._folder is not None and index.in_memory > max(MIN_SAVED, SAVED_SHARE * len(index)):
                self._change.start(lambda: self._step(self.save))
        elif len(index) + index.tombstones <= MAX_CHANGED_AT_ONCE:
            # Others search the old index meanwhile.
            step = partial(within, (*calls, self._database.lock))
            made = self._maker.make(self._database.read_state, index.name, step)
            within((*calls, self.lock.alone), partial(self.put, made or _NOTHING))
            within(gates, partial(self._database.read_state, self.advance))
        else:
            self._change.start(self._make_another)

    def wait_for_change(self) -> None:
        """Wait until no index is being made in the background; not within a call of the store."""
        self._change.wait()

    def close(self) -> None:
        """Release the index and its files; no call of the store is running."""
        self._change.end()
        self.lock.write(lambda: self.put(_NOTHING))

    def after_fork(self, *, was_quiet: bool) -> None:
        """Start afresh in the child process; drop an index that another thread may have been changing."""
        self.lock.reset()
        self._change.after_fork()
        index, _ = self.current
        # Parent and child would both append to a file that isn't saved.
        if not was_quiet or (isinstance(index, QuantizedIndex) and index.fine.is_appending):
            self.put(_NOTHING)

    def save(self) -> None:
        """Write the index into files.

        Raises:
            StoreError: They can't be written.
        """
        folder = self._folder
        if folder is None:
            return
        for _ in range(_MAX_ATTEMPTS):
            try:
                # In a transaction, so that the files and their record are from one process.
                self._database.write(lambda transaction: self._save(folder, transaction))
                break
            except DamagedRecordError:
                self.drop_damaged(self.current[0])
        # In another one, as until now a failure would have left the old ones in use.
        self._database.write(lambda transaction: remove_others(folder, transaction.fact(VECTORS_FACT)))

    def _save(self, folder: Path, transaction: Transaction) -> None:
        index, version = self.lock.write(lambda: self.advance(transaction))
        if index is None or version is None:
            return
        files, adopt = self.lock.read(lambda: save_index(folder, index))
        self.lock.write(adopt)
        written = {"generation": version[0], "token": version[1], "weights": self._weights}
        transaction.set_fact(VECTORS_FACT, {**written, **files})

    def put(self, current: Current) -> Current:
        """Put an index in place; the caller holds the lock exclusively."""
        self.current = current
        return current

    def advance(self, snapshot: Snapshot) -> Current:
        """Bring the index to a state, and return it; the caller holds the lock exclusively."""
        index, version = current = self.current
        if index is None or version != snapshot.version:
            # An exception such as Ctrl-C may interrupt the changes; there is no index then.
            self.current = _NOTHING
            name = None if index is None else index.name
            self.current = (
                self._followed(current, snapshot)
                or self._followed(self._loaded(snapshot), snapshot)
                or self._maker.make(lambda work: work(snapshot), name)
                or (None, snapshot.version)
            )
        return self.current

    def _followed(self, current: Current, snapshot: Snapshot) -> Current | None:
        """Return an index with the changes since; ``None`` if they can't be applied or aren't known."""
        index, at = current
        if index is None or at is None or index.dimension != snapshot.fact("dimension"):
            return None
        if at == snapshot.version:
            return current
        changes = None if index.is_mapped else snapshot.changes_since(*at)
        if changes is None:
            return None
        index.remove(changes.removed)
        is_mixed = len(self._weights) > 1
        if is_mixed:
            # All sentences of a changed document may have new neighbors.
            numbers = ",".join(map(str, sorted(changes.documents)))
            of_changed = f"document IN ({numbers})", list[Any]()
            changed = snapshot.rows(of_changed)
            if len(changed):
                index.remove(changed)
                for rows, vectors, positions in vectors_in_order(snapshot.execute, of_changed):
                    index.add(rows, np.ascontiguousarray(mix_neighbors(vectors, positions, self._weights)))
        for rows, vectors in snapshot.vectors_after(changes.last_row, of_no_document=is_mixed):
            index.add(rows, normalized(vectors))
        return index, snapshot.version

    # Loading

    def _loaded(self, snapshot: Snapshot) -> Current:
        """Load the saved index, and the version that it is at."""
        saved = self._wanted(snapshot)
        if self._folder is None or saved is None:
            return _NOTHING
        version = (saved["generation"], saved["token"])
        if snapshot.changes_since(*version) is None:
            return _NOTHING
        mapped = self._database.read_only and version == snapshot.version
        index = load_index(self._folder, saved, mapped=mapped)
        return (index, version) if index is not None else _NOTHING

    def _wanted(self, snapshot: Snapshot) -> dict[str, Any] | None:
        """Return the record of the saved index, if it is one that was asked for."""
        saved: dict[str, Any] | None = snapshot.fact(VECTORS_FACT)
        if saved is None or tuple(saved["weights"]) != self._weights or str(saved.get("file")) in self._damaged:
            return None
        dimension, count, name = snapshot.fact("dimension") or 0, snapshot.state.sentences, str(saved["index"])
        # Any index does that `auto` may have chosen; it is changed in the background.
        is_asked_for = name == choose(self._asked, dimension, count, name).name
        return saved if is_asked_for or is_automatic(self._asked, name) else None

    def drop_damaged(self, index: DenseIndex | None) -> None:
        """Drop an index whose file is damaged, so that another one is built, unless that has happened already."""
        saved = self._database.read(lambda snapshot: snapshot.fact(VECTORS_FACT))
        if saved is not None:
            self._damaged.add(str(saved.get("file")))
        self.lock.write(lambda: self.put(_NOTHING) if self.current[0] is index else None)

    # Making another index

    def _make_another(self) -> None:
        """Make the index that is due, step by step, put it in place, and save it."""
        for _ in range(_MAX_ATTEMPTS):
            present, _ = self.current
            if present is None:
                return  # the next search makes the one that is due
            made = self._maker.make(self._database.read, present.name, self._step)
            # Twice, as others wait for the second time only.
            near = self._step(partial(self._database.read, partial(self._followed, made or _NOTHING)))
            if near is not None and self._step(partial(self.lock.write, partial(self._put_followed, near))):
                self._step(self.save)
                return

    def _put_followed(self, made: Current) -> bool:
        """Bring an index that was made up to date and put it in place; return whether that could be done."""
        current = self._database.read(partial(self._followed, made))
        if current is not None:
            self.put(current)
        return current is not None


def change_due(index: DenseIndex, asked: str) -> Choice | None:
    """Return the index that should replace one, and why; ``None`` if it should stay.

    Args:
        index: The present index.
        asked: The name that was asked for; see `choose`.
    """
    chosen = choose(asked, index.dimension, len(index), index.name)
    if chosen.name != index.name:
        return chosen
    if index.tombstones > max(len(index), _MIN_TOMBSTONES):
        return Choice(chosen.name, f"{index.tombstones:,} of its vectors are removed ones")
    outgrown = index.trained_on < TRAINING_SAMPLE_SIZE and len(index) > 4 * index.trained_on
    if outgrown and not make_faiss_index(chosen.name, index.dimension).is_trained:
        return Choice(chosen.name, f"it was trained with {index.trained_on:,} vectors only")
    return None


_LOGGER = logging.getLogger(__name__)
_ONLY = "change"
_SECONDS_TO_END = 5.0


class BackgroundChange:
    """A thread that makes a change; at most one at a time."""

    def __init__(self, name: str) -> None:
        """Start without a thread.

        Args:
            name: The name of the store, for the log.
        """
        self._name = name
        self._threads: dict[str, threading.Thread] = {}
        self.has_failed = False

    @property
    def is_running(self) -> bool:
        """Whether a change is being made."""
        return bool(self._threads)

    def start(self, work: Callable[[], None]) -> None:
        """Make a change, unless one is being made already, or one has failed.

        A failure is logged. Another attempt would likely fail too, so there is none until the store is opened again.
        """
        if self.has_failed:
            return
        thread = threading.Thread(target=self._run, args=(work,), name=f"index of {self._name}", daemon=True)
        try:
            if self._threads.setdefault(_ONLY, thread) is thread:
                thread.start()
        except BaseException as error:
            if thread.ident is None and self._threads.get(_ONLY) is thread:
                self._threads.pop(_ONLY, None)
            if not isinstance(error, RuntimeError):  # no more threads can be started, as at the end of the process
                raise

    def wait(self, seconds: float | None = None) -> None:
        """Wait until no change is being made; not within a call of the store, for which the change may wait."""
        thread = self._threads.get(_ONLY)
        if thread is not None and thread is not threading.current_thread() and thread.ident is not None:
            thread.join(seconds)

    def end(self) -> None:
        """Wait for a change whose store was closed."""
        self.wait(_SECONDS_TO_END)

    def after_fork(self) -> None:
        """Forget the thread, which the child process doesn't have."""
        self._threads.clear()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except ClosedError:
            pass
        except Exception:
            self.has_failed = True
            _LOGGER.exception(
                "the index of %s couldn't be changed; searches go on with the present one, and opening the store "
                "again tries again",
                self._name,
            )
        finally:
            self._threads.pop(_ONLY, None)
