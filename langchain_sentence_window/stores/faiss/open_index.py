"""An open index, as LangChain sees it: what it holds, its size, its soundness, its files, and what searches find."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run, with_arguments_of
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_count, checked_list
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.keys import checked_ids
from langchain_sentence_window.embedding.vectors import normalized
from langchain_sentence_window.errors import InvalidInputError

from .conversion import to_documents, to_indexed_documents
from .database.filters import Filter, compile_filter, compile_for_sources
from .database.reads import count_sources, list_sources
from .database.restoring import restore_index
from .database.store_files import as_folder
from .dense.dense_index import Place, next_part, start_of
from .dense.faiss_factory import compare_in_blocks, make_faiss_index, threads_for
from .embedder_guard import TEXTS_TO_WRITE, EmbedderGuard
from .index_state import IndexState, checked_effort
from .session import IndexSession
from .soundness import StoreStats

if TYPE_CHECKING:
    from .soundness import CheckResult


SAMPLED_QUESTIONS = 100
"""Sentences that are searched with, unless questions are given."""


@dataclass(frozen=True, slots=True)
class RecallEstimate:
    """The share of the ``k`` nearest vectors that searches found.

    Attributes:
        recall: The mean over all questions; 1 if all were found.
        low: The lower end of its confidence interval, of 19 in 20.
        high: The upper end.
        questions: The number of questions.
        k: The number of nearest vectors that were asked for.
        search_effort: The effort of the searches.
        index: The name of the index that was searched.
    """

    recall: float
    low: float
    high: float
    questions: int
    k: int
    search_effort: float
    index: str


class OpenIndex(VectorStore):
    """An open index, apart from its searches: what it holds, its size, its soundness, its files."""

    _session: IndexSession
    _guard: EmbedderGuard

    # Reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Fetch documents, in the order of the ids; ids that don't exist are left out.

        Raises:
            InvalidInputError: The ids aren't a list of strings.
        """
        wanted = checked_ids(ids)
        found = self._session.read(lambda state: state.snapshot.by_ids(wanted))
        return to_documents([found[id_] for id_ in dict.fromkeys(wanted) if id_ in found])

    def get_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Fetch the documents that match a filter, in the order of the ids.

        Raises:
            InvalidInputError: The ids aren't a list of strings.
            FilterError: The filter is invalid.
        """
        wanted = checked_ids(ids)
        condition = compile_filter(filter)
        found = self._session.read(lambda state: state.snapshot.by_ids(wanted, condition))
        return to_documents([found[id_] for id_ in dict.fromkeys(wanted) if id_ in found])

    async def aget_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Async version of `get_by_ids_within`."""
        return await run_in_executor(None, self.get_by_ids_within, ids, filter)

    def list_documents(self, filter: Filter | None = None) -> list[IndexedDocument]:
        """List the documents that a retriever added, in the order in which they were last written.

        No sentence is read, unless the filter asks for what differs among a document's sentences.

        Args:
            filter: A filter on the metadata of their sentences; ``None`` for no filter. A document of which it matches
                a part is listed with that part's sentences and pages.

        Raises:
            FilterError: The filter is invalid.
        """
        given = {} if filter is None else filter
        of_sources, of_sentences = compile_for_sources(given), compile_filter(given)
        sources = self._session.read(lambda state: list_sources(state.snapshot.execute, of_sources, of_sentences))
        return to_indexed_documents(sources)

    async def alist_documents(self, filter: Filter | None = None) -> list[IndexedDocument]:
        """Async version of `list_documents`."""
        return await run_in_executor(None, self.list_documents, filter)

    def count_documents(self, filter: Filter | None = None) -> int:
        """Count the documents that `list_documents` lists, without reading them.

        Args:
            filter: A filter on the metadata of their sentences; ``None`` for no filter.

        Raises:
            FilterError: The filter is invalid.
        """
        given = {} if filter is None else filter
        of_sources, of_sentences = compile_for_sources(given), compile_filter(given)
        return self._session.read(lambda state: count_sources(state.snapshot.execute, of_sources, of_sentences))

    async def acount_documents(self, filter: Filter | None = None) -> int:
        """Async version of `count_documents`."""
        return await run_in_executor(None, self.count_documents, filter)

    def sample_embedded(self) -> list[tuple[str, Vectors]]:
        """Return a few texts as they were embedded, with their unit vectors.

        By these, one can tell whether an embedder is the store's. They are long, as a model that truncates its input
        may give the same vectors for short ones.
        """
        return self._guard.sample(TEXTS_TO_WRITE)[1]

    def is_made_with(self, embedding: Embeddings) -> bool:
        """Return whether an embedder is known to have made the vectors, without embedding anything."""
        return self._guard.is_made_with(embedding)

    def export(self) -> Iterator[tuple[list[Document], Vectors]]:
        """Yield all documents with their vectors as they were embedded, in slices; the reverse of `add_embeddings`.

        Yields:
            Documents and unit vectors of shape ``(n, dimension)``, in the order of source documents and sentences. No
            section is in two slices. All slices are from the state of the store at the first one.
        """
        for records, vectors in self._session.in_order():
            yield to_documents(records), vectors

    def __len__(self) -> int:
        """Return the number of documents in the store; a retriever adds one for each sentence."""
        return self._session.read(lambda state: state.snapshot.state.sentences)

    def __bool__(self) -> bool:
        """Return true, also for an empty store."""
        return True

    # What searches find

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
        return run(self._estimate(BLOCKING, questions, sample=sample, k=k, search_effort=search_effort))

    @with_arguments_of(recall_estimate)
    async def arecall_estimate(self, *given: Any, **settings: Any) -> RecallEstimate:
        """Async version of `recall_estimate`."""
        return await self._estimate(ASYNC, *given, **settings)

    async def _estimate(
        self,
        io: IO,
        questions: Sequence[str] | None = None,
        *,
        sample: int = SAMPLED_QUESTIONS,
        k: int = 50,
        search_effort: float | None = None,
    ) -> RecallEstimate:
        asked, k = _checked(questions, sample), checked_count("k", k)
        effort = self._session.effort if search_effort is None else checked_effort(search_effort)
        if isinstance(asked, int):
            sampled = await io.in_thread(self._session.read, lambda state: state.snapshot.sample_embedded(asked))
            vectors = [vector for _, vector in sampled]
        else:
            vectors = [await self._guard.queries.ask(io, text) for text in asked]
        stacked: Vectors = normalized(np.stack(vectors)) if vectors else np.empty((0, 0), dtype=np.float32)
        is_embedded = not isinstance(asked, int)
        estimate = partial(_estimate_recall, self._session, stacked, k, effort, is_embedded=is_embedded)
        found: RecallEstimate = await io.in_thread(self._guard.run_proven, estimate)
        return found

    # The files

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

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()


def _checked(questions: Sequence[str] | None, sample: int) -> list[str] | int:
    """Return the questions, or how many sentences to search with."""
    if questions is None:
        return checked_count("sample", sample)
    given = checked_list("questions", questions)
    texts = [each for each in given if isinstance(each, str)]
    if len(texts) < len(given):
        raise InvalidInputError(f"questions are {shown(questions)}; give a list of strings")
    return texts


_TOLERANCE = 1e-5
"""How far below the last exact cosine a cosine may be and still count, as sums of floats depend on their order."""

_Z = 1.96  # of an interval that holds the truth 19 times in 20


def _estimate_recall(
    session: IndexSession, questions: Vectors, k: int, effort: float, *, is_embedded: bool
) -> RecallEstimate:
    """Estimate how many of the ``k`` nearest vectors a search finds, by comparing some searches with exact ones.

    Others read and write between the steps; writes change the result slightly.

    Args:
        session: The index.
        questions: Unit vectors of shape ``(n, dimension)``.
        k: The number of nearest vectors.
        effort: How many times as much to look at as usual.
        is_embedded: Whether the questions were embedded now, so that the embedder must be that of the index.

    Raises:
        EmbeddingError: The vectors are of another length than those of the index.
        IndexMismatchError: The vectors in the index are from another embedder now.
        UnprovenError: They may be.
    """

    def search(state: IndexState) -> tuple[str, list[Vectors]]:
        index = state.dense
        if is_embedded:
            state.origin.check(state.snapshot)
        if index is None:
            return "", [np.empty(0, dtype=np.float32) for _ in questions]
        found = [index.search(question, k, None, effort) for question in questions]
        return index.index.name, [np.array([cosine for _, cosine in pairs], dtype=np.float32) for pairs in found]

    name, found = session.read(search, dense=True)
    best, place = np.empty((len(questions), 0), dtype=np.float32), session.read(lambda state: start_of(state.snapshot))
    while len(questions) and not place.is_end:
        place, best = session.read(partial(_compare_part, questions, k, best, after=place, weights=session.weights))
    shares = _shares_found(found, best)
    recall, low, high = _interval(shares, k)
    return RecallEstimate(recall, low, high, len(shares), k, effort, name)


def _compare_part(
    questions: Vectors, k: int, best: Vectors, state: IndexState, *, after: Place, weights: Sequence[float]
) -> tuple[Place, Vectors]:
    """Read the next vectors, and return the ``k`` highest cosines of each question so far, best first."""
    place, parts = next_part(state.snapshot, after, weights)
    for _, vectors in parts:
        index = make_faiss_index("Flat", vectors.shape[1])
        index.add(vectors)
        with threads_for(1):
            cosines = compare_in_blocks(index, questions, min(k, len(vectors)))
        best = -np.sort(-np.concatenate([best, np.minimum(cosines, 1)], axis=1), axis=1)[:, :k]
    return place, best


def _shares_found(found: Sequence[Vectors], exact: Vectors) -> list[float]:
    """Return the share of the highest cosines that were found for each question; 1 if there are none."""
    if not exact.shape[1]:
        return [1.0] * len(exact)
    return [
        min(1.0, float(np.count_nonzero(cosines >= line[-1] - _TOLERANCE)) / len(line))
        for cosines, line in zip(found, exact, strict=True)
    ]


def _interval(shares: Sequence[float], k: int) -> tuple[float, float, float]:
    """Return the mean of shares of ``k``, and its interval by Wilson.

    Each of the ``k`` counts as a trial. The more the shares vary, the more alike those of a question are, and the fewer
    trials they count for; see https://en.wikipedia.org/wiki/Design_effect.
    """
    if not shares:
        return math.nan, 0.0, 1.0
    mean = float(np.mean(shares))
    spread = mean * (1 - mean)
    effect = max(1.0, float(np.var(shares)) * k / spread) if spread > 0 else 1.0
    trials = len(shares) * k / effect
    center = (mean + _Z**2 / (2 * trials)) / (1 + _Z**2 / trials)
    half = _Z * math.sqrt(spread / trials + _Z**2 / (4 * trials**2)) / (1 + _Z**2 / trials)
    return mean, max(0.0, min(mean, center - half)), min(1.0, max(mean, center + half))
