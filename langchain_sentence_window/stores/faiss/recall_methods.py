"""The method of `FaissStore` that estimates what its searches find."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_count, checked_list
from langchain_sentence_window.embedding.mixing import normalized
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.embedder_guard import EmbedderGuard
from langchain_sentence_window.stores.faiss.engine import StoreEngine
from langchain_sentence_window.stores.faiss.recall import RecallEstimate
from langchain_sentence_window.stores.faiss.search_arguments import checked_effort

SAMPLED_QUESTIONS = 100
"""Sentences that are searched with, unless questions are given."""


class RecallMethods(VectorStore):
    """The methods of a store that estimate the recall of its searches."""

    _engine: StoreEngine
    _guard: EmbedderGuard
    _search_effort: float

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
        return run(_estimate(BLOCKING, self._engine, self._guard, asked))

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
        return await _estimate(ASYNC, self._engine, self._guard, asked)

    def _asked(self, questions: Sequence[str] | None, sample: int, k: int, search_effort: float | None) -> "_Asked":
        effort = self._search_effort if search_effort is None else checked_effort(search_effort)
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


async def _estimate(io: IO, engine: StoreEngine, guard: EmbedderGuard, asked: _Asked) -> RecallEstimate:
    is_embedded = not isinstance(asked.questions, int)
    if isinstance(asked.questions, int):
        _, sampled = await io.in_thread(engine.sample_embedded, asked.questions)
        vectors = [vector for _, vector in sampled]
    else:
        vectors = [await io.call(guard.queries.embed, guard.queries.aembed, text) for text in asked.questions]
    stacked: Vectors = normalized(np.stack(vectors)) if vectors else np.empty((0, 0), dtype=np.float32)
    estimate = partial(engine.recall_estimate, stacked, asked.k, asked.effort, is_embedded=is_embedded)
    found: RecallEstimate = await io.in_thread(guard.run_proven, estimate)
    return found
