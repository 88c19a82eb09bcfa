"""The methods of `FaissStore` for the store as a whole: its size, its soundness, its files, what its searches find."""

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_count, checked_list
from langchain_sentence_window.embedding.vectors import normalized
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.database.restoring import restore_index
from langchain_sentence_window.stores.faiss.database.store_files import as_folder
from langchain_sentence_window.stores.faiss.embedder_guard import EmbedderGuard
from langchain_sentence_window.stores.faiss.estimates import RecallEstimate, estimate_recall
from langchain_sentence_window.stores.faiss.index_state import checked_effort
from langchain_sentence_window.stores.faiss.session import IndexSession
from langchain_sentence_window.stores.faiss.soundness import StoreStats

if TYPE_CHECKING:
    from langchain_sentence_window.stores.faiss.soundness import CheckResult


class FileMethods(VectorStore):
    """The methods that measure, check, copy and close a store."""

    _session: IndexSession

    @property
    def folder(self) -> Path | None:
        """The folder of the store, as an absolute path; ``None`` for a store in memory."""
        return self._session.folder

    def stats(self) -> StoreStats:
        """Count the contents of the store and measure its size; see `StoreStats`."""
        return self._session.stats()

    async def astats(self) -> StoreStats:
        """Async version of `stats`."""
        return await run_in_executor(None, self.stats)

    def check(self) -> "CheckResult":
        """Read everything that the store holds, and list what is wrong.

        Each row of the database is compared with its checksum, the sentences of each document with each other, and the
        saved FAISS index and lexical index with the database. One that is only behind is no problem: it catches up
        before the next search. Nothing is changed or embedded.
        """
        return self._session.check()

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
            self._session.save()
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
        self._session.copy_to(as_folder(path))

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
        self._session.close()

    def __enter__(self) -> Self:
        """Use the store in a ``with`` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()


SAMPLED_QUESTIONS = 100
"""Sentences that are searched with, unless questions are given."""


class RecallMethods(VectorStore):
    """The methods of a store that estimate the recall of its searches."""

    _session: IndexSession
    _guard: EmbedderGuard

    def recall_estimate(
        self,
        questions: Sequence[str] | None = None,
        *,
        sample: int = SAMPLED_QUESTIONS,
        k: int = 50,
        search_effort: float | None = None,
    ) -> RecallEstimate:
        """Estimate how many of the ``k`` nearest documents a search finds, compared with an exact search.

        All vectors are read and compared with each question, part by part, while others read and write. Questions like
        those of your users give the best estimate; those farther from any sentence find less.

        Args:
            questions: Texts to search with; ``None`` for sentences of the store, by their stored vectors.
            sample: The number of sentences, spread evenly over the store, if no questions are given.
            k: The number of nearest documents.
            search_effort: The effort to estimate for; ``None`` for that of the store.

        Raises:
            InvalidInputError: ``questions`` isn't a list of strings, ``sample`` or ``k`` isn't a whole number above 0,
                or ``search_effort`` isn't a number above 0.
            EmbeddingError: The embedder's vectors are unusable, or of another length than the store's.
            IndexMismatchError: The store's vectors are from another embedder.
        """
        asked = self._asked(questions, sample, k, search_effort)
        return run(_estimate(BLOCKING, self._session, self._guard, asked))

    async def arecall_estimate(
        self,
        questions: Sequence[str] | None = None,
        *,
        sample: int = SAMPLED_QUESTIONS,
        k: int = 50,
        search_effort: float | None = None,
    ) -> RecallEstimate:
        """Async version of `recall_estimate`."""
        asked = self._asked(questions, sample, k, search_effort)
        return await _estimate(ASYNC, self._session, self._guard, asked)

    def _asked(self, questions: Sequence[str] | None, sample: int, k: int, search_effort: float | None) -> "_Asked":
        effort = self._session.effort if search_effort is None else checked_effort(search_effort)
        return _Asked(_checked(questions, sample), checked_count("k", k), effort)


class _Asked(NamedTuple):
    questions: list[str] | int
    k: int
    effort: float


def _checked(questions: Sequence[str] | None, sample: int) -> list[str] | int:
    """Return the questions, or how many sentences to search with."""
    if questions is None:
        return checked_count("sample", sample)
    given = checked_list("questions", questions)
    texts = [each for each in given if isinstance(each, str)]
    if len(texts) < len(given):
        raise InvalidInputError(f"questions are {shown(questions)}; give a list of strings")
    return texts


async def _estimate(io: IO, session: IndexSession, guard: EmbedderGuard, asked: _Asked) -> RecallEstimate:
    if isinstance(asked.questions, int):
        size = asked.questions
        sampled = await io.in_thread(session.read, lambda state: state.snapshot.sample_embedded(size))
        vectors = [vector for _, vector in sampled]
    else:
        vectors = [await io.call(guard.queries.embed, guard.queries.aembed, text) for text in asked.questions]
    stacked: Vectors = normalized(np.stack(vectors)) if vectors else np.empty((0, 0), dtype=np.float32)
    is_embedded = not isinstance(asked.questions, int)
    estimate = partial(estimate_recall, session, stacked, asked.k, asked.effort, is_embedded=is_embedded)
    found: RecallEstimate = await io.in_thread(guard.run_proven, estimate)
    return found
