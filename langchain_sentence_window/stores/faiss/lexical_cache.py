"""Keeps the lexical index in step with the database."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.conversion import texts_with_headings
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.locks import AccessLock, within
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.store_files import Seal, is_intact, seal_of, seals_in
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.lexical_index import LexicalIndex, LexicalSearcher

T = TypeVar("T")

MAX_WRITTEN_ANEW = 2_000
"""The most rows of an index that is written anew after rows were removed. A larger one counts removed texts in the
frequency of words for some time, which changes scores slightly."""

FORMAT = 3
"""Increases whenever something else is indexed for a sentence. An index of another format is rebuilt."""

_FACT = "lexical"
_STATE_FILE = "meta.json"  # tantivy's list of the index's files
_REWRITTEN = frozenset({_STATE_FILE, ".managed.json"})  # tantivy never changes other files


class LexicalCache:
    """A lexical index of one state of the database, which catches up before each search.

    It changes only within a transaction of the database, whose lock excludes other processes.
    """

    def __init__(self, database: Database, folder: Path | None) -> None:
        """Start empty; the first search opens the index, or builds it.

        Args:
            database: The database to cache.
            folder: The folder of the index; ``None`` for a store in memory.
        """
        self._database = database
        self._folder = folder
        self._lock = AccessLock()
        self._index: LexicalIndex | None = None
        self._current: tuple[Version, LexicalSearcher] | None = None

    def searcher_at(self, version: Version) -> LexicalSearcher | None:
        """Return the searcher of a version of the database; ``None`` if the index is at another version."""
        current = self._current
        return current[1] if current is not None and current[0] == version else None

    def close(self) -> None:
        """Release the index and its files."""
        self._index = self._current = None

    def after_fork(self) -> None:
        """Start afresh in the child process, which has no threads of tantivy's."""
        self._lock.reset()
        self.close()

    def catch_up(self) -> None:
        """Bring the index up to date with the database.

        Raises:
            StoreError: The index can't be written.
        """
        if self._database.read_only:
            self._lock.write(lambda: self._database.read(self.advance_to_read))
        else:
            self.change(self.advance)

    def advance_to_read(self, snapshot: Snapshot) -> None:
        """Bring what a read-only store searches to a state: a copy of the index, or one in memory."""
        if self._current is None or self._current[0] != snapshot.version:
            index = self._copied(snapshot) or self._built(snapshot)
            self._current = snapshot.version, index.searcher()

    def change(self, work: Callable[[Transaction], T]) -> T:
        """Run a function of a transaction that may change the index.

        Raises:
            StoreError: The index can't be written.
        """
        try:
            return within((self._database.lock.alone,), partial(self._database.transact, work))
        except (OSError, ValueError, RuntimeError) as error:
            self.close()
            raise StoreError(
                f"the lexical index of {self._database.name} can't be written: {error}; make sure that there is room "
                "and that the folder can be written, or open the store with read_only=True, and search again, which "
                "rebuilds the index if it was damaged"
            ) from error
        except BaseException:
            # The index may be newer than its record; it is opened and checked again.
            self.close()
            raise

    def advance(self, transaction: Transaction) -> None:
        """Bring the index to the state of a transaction, which records it."""
        state = transaction.state
        if self._current and self._current[0] == state.version:
            return
        kept = self._open(transaction)
        at = (kept["generation"], kept["token"]) if kept else None
        changes = transaction.changes_since(*at) if at else None
        if at is None or changes is None or self._index is None:
            self._index = self._emptied()
            self._index.change(None, texts_with_headings(transaction.texts_after(0)))
        elif at != state.version and len(changes.removed) and state.sentences <= MAX_WRITTEN_ANEW:
            self._index.change(None, texts_with_headings(transaction.texts_after(0)))
        elif at != state.version:
            self._index.change(changes.removed, texts_with_headings(transaction.texts_after(changes.last_row)))
        searcher = self._index.searcher()
        if at != state.version:
            # A file that was damaged since it was written must not get a new seal; and reading all files takes time.
            written = kept["files"] if kept else {}
            unchanged = {name: seal for name, seal in written.items() if name not in _REWRITTEN}
            files = seals_in(self._folder, unchanged) if self._folder else {}
            record = {"format": FORMAT, "generation": state.generation, "token": state.token, "files": files}
            transaction.set_fact(_FACT, record)
        self._current = state.version, searcher

    def _open(self, snapshot: Snapshot) -> dict[str, Any] | None:
        """Open the index, if it isn't open, and return its record from when it was last brought up to date."""
        kept = recorded_index(snapshot)
        if kept is None:
            return None
        if self._index is None:
            if self._folder is None or not is_intact(seals_in(self._folder), kept["files"]):
                return None
            self._index = LexicalIndex(self._folder)
        elif self._folder and seal_of(self._folder / _STATE_FILE) != kept["files"].get(_STATE_FILE):
            return None  # another process was killed between changing the index and recording it
        return kept

    def _emptied(self) -> LexicalIndex:
        if self._folder:
            if self._folder.is_symlink() or self._folder.is_file():
                self._folder.unlink()
            elif self._folder.exists():
                shutil.rmtree(self._folder)
            self._folder.mkdir()
        return LexicalIndex(self._folder)

    def _copied(self, snapshot: Snapshot) -> LexicalIndex | None:
        """Return a copy of the index if it is current, as tantivy writes lock files beside an index that it reads."""
        kept = recorded_index(snapshot)
        if kept is None or (kept["generation"], kept["token"]) != snapshot.version:
            return None
        return copied_index(self._folder, kept["files"]) if self._folder and kept["files"] else None

    def _built(self, snapshot: Snapshot) -> LexicalIndex:
        index = LexicalIndex(None)
        index.change(np.empty(0, dtype=np.int64), texts_with_headings(snapshot.texts_after(0)))
        return index


def copied_index(folder: Path, files: Mapping[str, Seal]) -> LexicalIndex | None:
    """Open a copy of an index, which is removed when nothing uses it any more.

    Args:
        folder: The folder of the index.
        files: The seals of its files by name.

    Returns:
        ``None`` if the files aren't those that were sealed.
    """
    copy = _TemporaryFolder()
    try:
        for name in files:
            shutil.copyfile(folder / name, copy.path / name, follow_symlinks=False)
    except OSError:
        return None
    # The copy is checked, not the original, which may have changed meanwhile.
    return LexicalIndex(copy.path, owner=copy) if is_intact(seals_in(copy.path), files) else None


def recorded_index(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the record of the index from when it was last brought up to date, if it has this format."""
    kept: dict[str, Any] | None = snapshot.fact(_FACT)
    return kept if kept is not None and kept.get("format") == FORMAT else None


class _TemporaryFolder:
    """A folder that is removed when nothing refers to this object any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lexical"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
