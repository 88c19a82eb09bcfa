"""The search of `FaissStore` that a retriever makes: sentences and what stands beside them, in one round."""

from dataclasses import replace

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_count, checked_weight
from langchain_sentence_window.documents.found_sentences import Beside, FoundSentences
from langchain_sentence_window.stores.faiss.candidates import Rank
from langchain_sentence_window.stores.faiss.database.filters import Filter
from langchain_sentence_window.stores.faiss.search_arguments import condition_of
from langchain_sentence_window.stores.faiss.search_methods import SearchMethods
from langchain_sentence_window.stores.faiss.searcher import HybridQuery


class SentenceSearch(SearchMethods):
    """The methods of a store that find sentences without making Documents of them."""

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
