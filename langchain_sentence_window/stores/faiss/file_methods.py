"""The methods of `FaissStore` for the store as a whole: its size, its soundness, its files."""

from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.stores.faiss.database.files import as_folder
from langchain_sentence_window.stores.faiss.database.restoring import restore_index
from langchain_sentence_window.stores.faiss.engine import StoreEngine
from langchain_sentence_window.stores.faiss.stats import StoreStats

if TYPE_CHECKING:
    from langchain_sentence_window.stores.faiss.checks.result import CheckResult


class FileMethods(VectorStore):
    """The methods that measure, check, copy and close a store."""

    _engine: StoreEngine

    @property
    def folder(self) -> Path | None:
        """The folder of the store, as an absolute path; ``None`` for a store in memory."""
        return self._engine.folder

    def stats(self) -> StoreStats:
        """Count the contents of the store and measure its size; see `StoreStats`."""
        return self._engine.stats()

    async def astats(self) -> StoreStats:
        """Async version of `stats`."""
        return await run_in_executor(None, self.stats)

    def check(self) -> "CheckResult":
        """Read everything that the store holds, and list what is wrong.

        Each row of the database is compared with its checksum, the sentences of each document with each other, and the
        saved FAISS index and lexical index with the database. One that is only behind is no problem: it catches up
        before the next search. Nothing is changed or embedded.
        """
        return self._engine.check()

    async def acheck(self) -> "CheckResult":
        """Async version of `check`."""
        return await run_in_executor(None, self.check)

    def save(self, path: str | PathLike[str] | None = None) -> None:
        """Write the FAISS index and the lexical index beside the database, so that the next opening is fast.

        Documents need no saving: they are in the database when the call that adds them returns.

        Args:
            path: A folder without an index to copy the store into instead, as `backup` does. This is the only way to
                save a store in memory.

        Raises:
            StoreError: The folder holds an index already, or a store in memory got no path.
        """
        if path is None:
            self._engine.save()
        else:
            self.backup(path)

    async def asave(self, path: str | PathLike[str] | None = None) -> None:
        """Async version of `save`."""
        await run_in_executor(None, self.save, path)

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the current state of the store into a folder, while others read and write.

        The copy appears only when it is complete. Its FAISS index and lexical index are built at its first search.

        Args:
            path: A folder that holds no index yet.

        Raises:
            StoreError: The folder holds an index already, or can't be written.
        """
        self._engine.copy_to(as_folder(path))

    async def abackup(self, path: str | PathLike[str]) -> None:
        """Async version of `backup`."""
        await run_in_executor(None, self.backup, path)

    @staticmethod
    def restore(backup: str | PathLike[str], path: str | PathLike[str]) -> None:
        """Replace an index, whatever its state, with a backup.

        The backup is checked row by row before anything is changed. If the call fails, or is interrupted by Ctrl-C,
        the old index is unchanged. If the process is killed, make the call again: until then, opening the path gives
        the old index, the new one, or an error. Stores that are open at the path raise `StoreError` from then on; open
        them again.

        Args:
            backup: A folder that `backup` or ``save(path)`` made, or that of any closed index.
            path: The folder of the index to replace; it is created if it doesn't exist.

        Raises:
            IndexNotFoundError: There is no index in the backup's folder.
            StoreError: The backup is damaged, or the path can't be written; nothing was changed.
        """
        restore_index(as_folder(backup), as_folder(path))

    def close(self) -> None:
        """Wait for running calls and close the files.

        Later calls raise `StoreError`. Nothing needs to be saved first.
        """
        self._engine.close()

    def __enter__(self) -> Self:
        """Use the store in a ``with`` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()
