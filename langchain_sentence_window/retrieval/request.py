"""`Request`: a question with all its settings, resolved once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._arguments import ASK_WITH_TEXT
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import encodable
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.questions import Needs
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.store.bm25_index import BM25Index
from langchain_sentence_window.windows.assembly import Order

from .expansion import WindowSetting

MinRelevance: TypeAlias = Literal["auto"] | float | None
"""The probability below which nothing is returned; ``auto`` for `NEEDED` of
`langchain_sentence_window.ranking.relevance`, ``None`` to return windows for any question."""

MAX_QUERY_CHARS = 32_000
"""The most characters of a query, about 8,000 tokens. Common embedders read fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question with all its settings: those of the retriever, of the run's configuration and of the call together.

    Attributes:
        query: The question.
        needs: What it needs.
        scope: The store, and what of it may be read.
        k: The most windows to return.
        fetch_k: The sentences to search at first.
        window: How far hits are expanded.
        window_key: The metadata key that a mapping in ``window`` looks at; ``None`` for any.
        max_tokens: The most tokens that all windows may have together; ``None`` for no limit.
        count_tokens: Counts the tokens of a text.
        order: The order in which windows are returned.
        min_score: The lowest similarity of a hit; ``None`` for any.
        lexical_weight: How much words count next to meaning, where the store or ``bm25_index`` can search by words.
        ranking: How candidates are reordered; ``None`` to keep the order of the search.
        names: Whether documents that the question names are preferred; keys of metadata that hold names, besides the
            title, the file name and its folder.
        min_relevance: Whether what isn't likely to answer the question is left out.
        search_kwargs: Further arguments of the store's search.
        bm25_index: Searches by words if the store can't.
        reranker: Ranks all windows before the best are taken; ``None`` for none.
    """

    query: str
    needs: Needs
    scope: Scope
    k: int
    fetch_k: int
    window: WindowSetting
    window_key: str | None
    max_tokens: int | None
    count_tokens: Callable[[str], int]
    order: Order
    min_score: float | None
    lexical_weight: float
    ranking: Ranking | None
    names: bool | Sequence[str]
    min_relevance: MinRelevance
    search_kwargs: Mapping[str, Any]
    bm25_index: BM25Index | None
    reranker: BaseDocumentCompressor | None

    @property
    def filter(self) -> Any:
        """What is searched and read, in the form that the store's search takes; ``None`` for no filter."""
        return self.scope.filter

    @property
    def needs_candidates(self) -> bool:
        """Whether more sentences are looked at than are taken: to rank them, or to judge whether they answer."""
        return self.ranking is not None or self.min_relevance is not None


def checked_query(query: object) -> str:
    """Return the query with ``?`` for lone surrogates, which embedders refuse.

    Raises:
        InvalidInputError: The query isn't a string, is blank, or is longer than `MAX_QUERY_CHARS`.
    """
    if not isinstance(query, str):
        raise InvalidInputError(f"the query is {shown(query)}; {ASK_WITH_TEXT}")
    if not query.strip():
        raise InvalidInputError(f"the query is {shown(query)}; ask with at least one word")
    if len(query) > MAX_QUERY_CHARS:
        raise InvalidInputError(
            f"the query has {len(query):,} characters, and embedders read no more than about {MAX_QUERY_CHARS:,}; ask "
            "with the question alone"
        )
    return encodable(query)
