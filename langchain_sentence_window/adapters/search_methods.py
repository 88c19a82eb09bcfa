"""`SearchMethods`: how the package searches a vector store."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.traits import StoreTraits
from langchain_sentence_window.documents.found_sentences import Beside, FoundSentences
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.ranking.candidates import Candidates, Numbers
from langchain_sentence_window.ranking.names import Evidence, QueryWords

T = TypeVar("T")

Scored: TypeAlias = list[tuple[Document, float]]
"""Documents with their scores, best first. A higher score is better."""

Read: TypeAlias = list[tuple[StoredSentence, float]]
"""Sentences with their scores, best first. A higher score is better."""

Rank: TypeAlias = Callable[[Candidates], Numbers]
"""Takes candidates, and returns a score for each; higher is better."""


class SearchMethods(StoreTraits):
    """The methods of an adapter that search: by meaning, by words, or for the documents that a query names."""

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search by meaning.

        Args:
            io: Makes the calls.
            query: Any text.
            settings: ``k``, the filter by its name, and ``search_kwargs``.

        Returns:
            Documents with their scores, best first. A higher score is better.
        """
        store = self.store
        found: Scored = await io.call(
            store.similarity_search_with_score, store.asimilarity_search_with_score, query, **settings
        )
        sign = -1.0 if self._are_distances([float(score) for _, score in found]) else 1.0
        return [(document, sign * float(score)) for document, score in found]

    async def search_sentences(self, io: IO, query: str, settings: Mapping[str, Any]) -> Read | None:
        """Search as `search` does, and read the sentences at once; only asked for without a filter.

        Returns:
            ``None`` if the store is better asked with `search`.
        """
        return None

    async def hybrid_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search by meaning and words together; ``settings`` hold ``lexical_weight`` too, see `search`."""
        raise NotImplementedError

    async def find_sentences(
        self, io: IO, query: str, settings: Mapping[str, Any], rank: Rank, beside: Beside
    ) -> FoundSentences | None:
        """Search as `hybrid_search` does with ``rank``, and read what is wanted beside what was found, in one round.

        Args:
            io: Makes the calls.
            query: Any text.
            settings: As for `hybrid_search`, without ``rank``.
            rank: Ranks the candidates.
            beside: Returns which sentences to read beside those that were found.

        Returns:
            ``None`` if the store can't.
        """
        return None

    async def search_together(self, io: IO, query: str, search: Callable[[IO], Coroutine[Any, Any, T]]) -> T:
        """Run a flow of several searches, most likely for one query, in one state of the store where it can tell."""
        return await search(io)

    async def search_both(self, io: IO, query: str, settings: Mapping[str, Any]) -> list[tuple[Document, float, float]]:
        """Search by meaning and by words, see `search`; works if `finds_words`.

        Returns:
            Documents that either finds, each with its score by meaning and its BM25 score, 0 for one without a word
            of the query. A higher score is better.
        """
        raise NotImplementedError

    async def lexical_search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored | None:
        """Search by words alone, see `search`; return ``None`` if the store can't."""
        return None

    async def name_evidence(self, io: IO, words: QueryWords, keys: Sequence[str], filter: Any) -> Evidence | None:
        """Collect what tells which documents a query names; see `langchain_sentence_window.ranking.names`.

        Args:
            io: Makes the calls.
            words: The words of the query.
            keys: Keys of metadata that hold names, beside the title, the file name and its folder.
            filter: A filter, in the store's form; of what it forbids, nothing is told. ``None`` for no filter.

        Returns:
            ``None`` if the store can't; then names are heard from what a search finds.
        """
        return None

    async def closest_matches(self, io: IO) -> Numbers:
        """Return how close sentences of the store are to the closest one elsewhere in it, for a sample of them.

        They are of the whole store, whatever the filter of a search.

        Returns:
            Scores by meaning, see `judge_relevance`; none if the store can't say.
        """
        return np.empty(0, dtype=np.float64)

    def _are_distances(self, scores: Sequence[float]) -> bool:
        """Check whether a lower score is better.

        Results come best first, so rising scores are distances. Where all are equal, the function that makes
        relevance scores of them tells, if the store has one.
        """
        if scores and scores[0] != scores[-1]:
            return scores[0] < scores[-1]
        try:
            relevance = self.store._select_relevance_score_fn()
            return bool(relevance(0.0) > relevance(1.0))
        except Exception:  # noqa: BLE001 - many stores have none, or none for their metric
            return False
