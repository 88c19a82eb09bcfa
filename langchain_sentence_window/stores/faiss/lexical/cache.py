"""Keeps a lexical index in step with the database."""

import shutil
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss.database.checksums import seal_of, seals_in
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.locks import AccessLock
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.lexical.index import LexicalIndex, LexicalSearcher

T = TypeVar("T")

MANY_ROWS = 2_000
"""Rows a write adds from which on it brings the lexical index up to date itself. Each time costs about
10 ms, so after smaller writes the next lexical search does it for all of them."""

_FACT = "lexical"
_STATE_FILE = "meta.json"  # tantivy's list of what is in the index
_REWRITTEN = frozenset({_STATE_FILE, ".managed.json"})  # tantivy writes all others once
_TRIES = 3


class LexicalCache:
    """A lexical index of one state of the database, brought up to date before it is searched.

    It changes only inside a transaction of the database, whose lock keeps other processes away.
    """

    def __init__(self, database: Database, folder: Path | None) -> None:
        """Begin with nothing; the first search opens the index, or builds it.

        Args:
            database: What the index is a cache of.
            folder: Where it is kept; ``None`` for a store in memory.
        """
        self._database = database
        self._folder = folder
        self._lock = AccessLock()
        self._index: LexicalIndex | None = None
        self._current: tuple[Version, LexicalSearcher] | None = None

    def read(self, work: Callable[[Snapshot, LexicalSearcher], T]) -> T:
        """Do something with one state of the database and a searcher of that very state.

        Raises:
            StoreError: The index can't be brought up to date.
        """

        def if_current(snapshot: Snapshot) -> tuple[T] | None:
            current = self._current
            return (work(snapshot, current[1]),) if current and current[0] == snapshot.version else None

        for _ in range(_TRIES):
            done = self._database.read(if_current)
            if done is not None:
                return done[0]
            self.catch_up()
        # Others write faster than this thread gets to read.
        if self._database.read_only:
            return self._database.read(lambda snapshot: work(snapshot, self._searcher_to_read(snapshot)[1]))
        return self._change(lambda transaction: work(transaction, self._advance(transaction)))

    def searcher_at(self, version: Version) -> LexicalSearcher | None:
        """What searches the state that a write led to; ``None`` if the index isn't at that state."""
        current = self._current
        return current[1] if current is not None and current[0] == version else None

    def close(self) -> None:
        """Let go of the index, and of its files."""
        self._index = self._current = None

    def after_fork(self) -> None:
        """Begin anew in another process, where tantivy's threads don't exist."""
        self._lock.reset()
        self.close()

    def follow(self, rows_added: int) -> None:
        """Catch up after a write that added many rows; what fails is left to the next search."""
        if rows_added >= MANY_ROWS:
            with suppress(StoreError):
                self.catch_up()

    def catch_up(self) -> None:
        """Bring the index to the state of the database.

        Raises:
            StoreError: It can't be written.
        """
        if self._database.read_only:
            self._lock.write(self._catch_up_to_read)
        else:
            self._change(self._advance)

    def _catch_up_to_read(self) -> None:
        current = self._current
        if current is None or current[0] != self._database.read(lambda snapshot: snapshot.version):
            self._current = self._database.read(self._searcher_to_read)

    def _change(self, work: Callable[[Transaction], T]) -> T:
        try:
            return self._database.write(work)
        except (OSError, ValueError, RuntimeError) as error:
            self.close()
            raise StoreError(
                f"the lexical index of {self._database.name} can't be written: {error}; see that there is room and "
                "that the folder can be written to, and search again, which builds it anew if it was damaged"
            ) from error
        except BaseException:
            # The index may be ahead of what was noted of it; it is opened, and checked, anew.
            self.close()
            raise

    def _advance(self, transaction: Transaction) -> LexicalSearcher:
        state = transaction.state
        if self._current and self._current[0] == state.version:
            return self._current[1]
        kept = self._open(transaction)
        at = (kept["generation"], kept["token"]) if kept else None
        changes = transaction.changes_since(*at) if at else None
        if at is None or changes is None or self._index is None:
            self._index = self._emptied()
            self._index.change(np.empty(0, dtype=np.int64), transaction.texts_after(0))
        elif at != state.version:
            self._index.change(changes.removed, transaction.texts_after(changes.last_row))
        searcher = self._index.searcher()
        if at != state.version:
            # What was damaged since it was written must not be sealed anew; and reading all takes its time.
            written = kept["files"] if kept else {}
            unchanged = {name: seal for name, seal in written.items() if name not in _REWRITTEN}
            files = seals_in(self._folder, unchanged) if self._folder else {}
            transaction.set_fact(_FACT, {"generation": state.generation, "token": state.token, "files": files})
        self._current = state.version, searcher
        return searcher

    def _open(self, snapshot: Snapshot) -> dict[str, Any] | None:
        """Open the index if it isn't; return what was noted of it when it was last brought up to date."""
        kept: dict[str, Any] | None = snapshot.fact(_FACT)
        if kept is None:
            return None
        if self._index is None:
            if self._folder is None or not kept["files"] or seals_in(self._folder) != kept["files"]:
                return None
            self._index = LexicalIndex(self._folder)
        elif self._folder and seal_of(self._folder / _STATE_FILE) != kept["files"].get(_STATE_FILE):
            return None  # another process was killed between changing it and noting that
        return kept

    def _emptied(self) -> LexicalIndex:
        if self._folder:
            if self._folder.is_symlink() or self._folder.is_file():
                self._folder.unlink()
            elif self._folder.exists():
                shutil.rmtree(self._folder)
            self._folder.mkdir()
        return LexicalIndex(self._folder)

    def _searcher_to_read(self, snapshot: Snapshot) -> tuple[Version, LexicalSearcher]:
        """A searcher where nothing may be written."""
        return snapshot.version, (self._copied(snapshot) or self._built(snapshot)).searcher()

    def _copied(self, snapshot: Snapshot) -> LexicalIndex | None:
        """A copy of the index if it is current, as tantivy writes locks beside what it reads."""
        kept = snapshot.fact(_FACT)
        is_current = kept is not None and (kept["generation"], kept["token"]) == snapshot.version
        if not (is_current and self._folder and kept["files"]):
            return None
        copy = _TemporaryFolder()
        try:
            for name in kept["files"]:
                shutil.copyfile(self._folder / name, copy.path / name, follow_symlinks=False)
        except OSError:
            return None
        # The copy is checked, not what it was made of, which may have changed meanwhile.
        return LexicalIndex(copy.path, owner=copy) if seals_in(copy.path) == kept["files"] else None

    def _built(self, snapshot: Snapshot) -> LexicalIndex:
        index = LexicalIndex(None)
        index.change(np.empty(0, dtype=np.int64), snapshot.texts_after(0))
        return index


class _TemporaryFolder:
    """A folder that is removed when nothing refers to this any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lexical"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
