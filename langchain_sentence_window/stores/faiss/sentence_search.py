"""The searches of `FaissStore` that a retriever makes: sentences and what stands beside them, all of one state."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Self, TypeVar

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_count, checked_weight
from langchain_sentence_window.documents.found_sentences import Beside, FoundSentences
from langchain_sentence_window.embedding.embedder import NotEmbeddedError, PreparedQueries
from langchain_sentence_window.stores.faiss.candidates import Rank
from langchain_sentence_window.stores.faiss.database.filters import Filter
from langchain_sentence_window.stores.faiss.search_arguments import condition_of
from langchain_sentence_window.stores.faiss.search_methods import SearchMethods
from langchain_sentence_window.stores.faiss.searcher import HybridQuery

T = TypeVar("T")


class SentenceSearch(SearchMethods):
    """The methods of a store that find sentences without making Documents of them."""

    _prepared: PreparedQueries

    @contextmanager
    def at_one_state(self, *, copies: bool = False) -> Iterator[Self]:
        """Return a context with the store as it is at the first search or read, whatever is written meanwhile.

        What searches and fetches there raises a `StoreChangedError` if the state doesn't exist any more: a store in
        memory was written, or a FAISS index caught up with another state between two searches. Then begin anew.

        Args:
            copies: Whether to copy a store in memory, so that writes don't change what is read.
        """
        with self._engine.at_one_state(copies=copies) as engine:
            store = copy.copy(self)
            store._engine, (store._guard, store._prepared) = engine, self._guard.of_one_search()
            given = dict(store.__dict__)
            try:
                yield store
            finally:  # what a subclass notes of itself is the store's
                noted = store.__dict__.items()
                self.__dict__.update({name: each for name, each in noted if given.get(name, given) is not each})

    async def search_together(self, io: IO, query: str, search: Callable[[], T]) -> T:
        """Run a function whose searches are all of one state; in `at_one_state` alone, and before any other read.

        Args:
            io: Makes the calls. Texts are embedded in an event loop, and the rest is computed in a thread.
            query: What the function most likely searches for.
            search: The function. It is run from its beginning again after another text was embedded.
        """
        while True:
            await io.call(self._prepared.embed, self._prepared.aembed, query)
            found = await io.compute(self._search_together, search)
            if not isinstance(found, NotEmbeddedError):
                return found
            query = found.query
            self._engine.begin_anew()

    def _search_together(self, search: Callable[[], T]) -> T | NotEmbeddedError:
        def prepared() -> T | NotEmbeddedError:
            try:
                return search()
            except NotEmbeddedError as error:
                return error

        self._prepared.may_embed = False
        try:
            return self._engine.together(prepared)
        finally:
            self._prepared.may_embed = True

    async def find_sentences(
        self,
        io: IO,
        query: str,
        k: int,
        *,
        rank: Rank,
        beside: Beside,
        lexical_weight: float,
        filter: Filter | None = None,
        spreads: bool = False,
        search_effort: float | None = None,
    ) -> FoundSentences:
        """Find the ``k`` sentences that match a text best, and read others beside them in the same state of the store.

        Args:
            io: Makes the calls. The query is embedded in an event loop, and the rest is computed in a thread.
            query: Any text.
            k: The maximum number of sentences.
            rank: Ranks the candidates; see `hybrid_search`.
            beside: Returns which sentences to read beside those that were found; it must not write to the store.
            lexical_weight: The weight of words; see `hybrid_search`.
            filter: A filter on their metadata, which binds those beside them, too.
            spreads: Whether words in the sentences beside it count for a sentence.
            search_effort: How many times as much to look at as usual when vectors are searched; see the class.

        Raises:
            IncompleteWindowError: The store found a Document that isn't a sentence.
            InvalidInputError: As for `hybrid_search`, which raises the other errors, too.
        """
        effort = self._effort(search_effort)
        queries = self._guard.queries
        vector: Vectors = await io.call(queries.embed, queries.aembed, query)
        asked = HybridQuery(vector, query, k, lexical_weight, spreads=spreads, effort=effort)
        return await io.compute(self._find, asked, rank, beside, filter)

    def _find(self, asked: HybridQuery, rank: Rank, beside: Beside, filter: Filter | None) -> FoundSentences:
        checked_count("k", asked.k)
        checked_weight("lexical_weight", asked.weight)
        query = replace(asked, where=condition_of(filter))
        found = self._guard.run_proven(lambda: self._engine.hybrid_sentences(query, rank, beside))
        self._check_found(found.sentences, filter)
        return found
