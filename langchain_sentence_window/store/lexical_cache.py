"""Keeps a lexical index in step with the database."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.store.database import Database
from langchain_sentence_window.store.lexical import LexicalIndex, LexicalSearcher
from langchain_sentence_window.store.reading import Snapshot
from langchain_sentence_window.store.seals import seal_of, seals_in
from langchain_sentence_window.store.tables import Version
from langchain_sentence_window.store.writing import Transaction

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
        self._index: LexicalIndex | None = None
        self._current: tuple[Version, LexicalSearcher] | None = None

    def read(self, work: Callable[[Snapshot, LexicalSearcher], T]) -> T:
        """Do something with one state of the database and a searcher of that very state.

        Raises:
            StoreError: The index can't be brought up to date.
        """
        for _ in range(_TRIES):
            with self._database.snapshot() as snapshot:
                current = self._current
                if current and current[0] == snapshot.version:
                    return work(snapshot, current[1])
                if self._database.read_only:
                    return work(snapshot, self._read_only_searcher(snapshot))
            self.catch_up()
        # Others write faster than this thread gets to read.
        with self._transaction() as transaction:
            return work(transaction, self._advance(transaction))

    def close(self) -> None:
        """Let go of the index, and of its files."""
        self._index = self._current = None

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
        with self._transaction() as transaction:
            self._advance(transaction)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        try:
            with self._database.transaction() as transaction:
                yield transaction
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

    def _read_only_searcher(self, snapshot: Snapshot) -> LexicalSearcher:
        """A copy of the index if it is current, as tantivy writes locks beside what it reads; else a new one."""
        state, kept = snapshot.state, snapshot.fact(_FACT)
        is_current = kept is not None and (kept["generation"], kept["token"]) == state.version
        if is_current and self._folder and kept["files"] and seals_in(self._folder) == kept["files"]:
            copy = Path(tempfile.mkdtemp(prefix="lexical"))
            weakref.finalize(self, shutil.rmtree, copy, ignore_errors=True)
            self._index = LexicalIndex(shutil.copytree(self._folder, copy, dirs_exist_ok=True))
        else:
            self._index = LexicalIndex(None)
            self._index.change(np.empty(0, dtype=np.int64), snapshot.texts_after(0))
        self._current = state.version, self._index.searcher()
        return self._current[1]
