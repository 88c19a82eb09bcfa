"""How one sentence ranks for a query by meaning alone and by words alone, however far down."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.retrieval.indexing import fill_bm25_index
from langchain_sentence_window.retrieval.pipeline import Request
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.retrieval.tracing.fate import ordinal

MAX_RANK = 2_000
"""How far down a sentence's ranks are looked for."""


@dataclass(frozen=True, slots=True)
class OwnRanks:
    """How a sentence ranks for a query.

    Attributes:
        dense_rank: Its rank by meaning alone, from 1; ``None`` if it is beyond `depth`.
        cosine: The store's score by meaning; ``None`` if it isn't known.
        lexical_rank: Its rank by words alone, from 1; ``None`` if it is beyond `depth` or has no word of the query.
        lexical_score: Its BM25 score; 0 if it has no word of the query, ``None`` if there is no search by words.
        depth: How many sentences were ranked by meaning and by words, at most.
    """

    dense_rank: int | None = None
    cosine: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    depth: int = 0

    def sentence(self, rank: int | None, candidates: int) -> str:
        """Write the ranks as a sentence of English; empty if nothing is known.

        Args:
            rank: Its rank among the candidates; ``None`` if it isn't one of them.
            candidates: The number of candidates.
        """
        parts = list[str]()
        if self.dense_rank is not None:
            parts.append(f"{ordinal(self.dense_rank)} by meaning")
        elif self.depth:
            parts.append(f"beyond the best {self.depth:,} by meaning")
        if self.lexical_rank is not None:
            parts.append(f"{ordinal(self.lexical_rank)} by words")
        elif self.lexical_score:
            parts.append(f"beyond the best {self.depth:,} by words")
        if rank is not None:
            parts.append(f"{ordinal(rank)} of {candidates:,} candidates")
        if not parts:
            return ""
        without = ", and has no word of the question" if self.lexical_score == 0 else ""
        return f"It is {_joined(parts)}{without}."


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


async def own_ranks(io: IO, request: Request, sentence: StoredSentence) -> OwnRanks:
    """Search by meaning alone and by words alone for a sentence's ranks, and for its scores among no others."""
    adapter, query = request.scope.adapter, request.search.query
    depth = MAX_RANK if adapter.ranks_candidates else max(CANDIDATES, request.fetch_k, request.k)
    by_meaning = replace(
        request.search,
        lexical_weight=0.0,
        ranking=None,
        bm25_index=None,
        names=False,
        min_relevance=None,
        observe=None,
    )
    searched = await find_sentences(io, request.scope, by_meaning, depth)
    at = next((at for at, each in enumerate(searched.sentences) if each.key == sentence.key), None)
    rank, cosine = (None, None) if at is None else (at + 1, searched.hits[at].score)
    alone = _alone(request.scope, sentence)
    if cosine is None and alone is not None:
        (found, scores) = await _searched_alone(io, alone, query)
        cosine = scores[0] if found and adapter.read(found[0]).key == sentence.key else None
    lexical_rank, lexical_score = await _by_words(
        io, request, sentence, alone=alone, depth=depth, known=searched.sentences
    )
    return OwnRanks(rank, cosine, lexical_rank, lexical_score, depth)


async def _searched_alone(io: IO, alone: Scope, query: str) -> tuple[Sequence[Document], Sequence[float]]:
    scored = await alone.adapter.search(io, query, {"k": 1, **alone.search_settings})
    return [document for document, _ in scored], [score for _, score in scored]


async def _by_words(
    io: IO,
    request: Request,
    sentence: StoredSentence,
    *,
    alone: Scope | None,
    depth: int,
    known: Sequence[StoredSentence],
) -> tuple[int | None, float | None]:
    """Return the rank and the score of a sentence by words."""
    adapter, search = request.scope.adapter, request.search
    settings: dict[str, Any] = {"k": depth, **request.scope.search_settings}
    found = await adapter.lexical_search(io, search.query, settings)
    if found is None:
        if search.bm25_index is None:
            return None, None
        await fill_bm25_index(io, adapter, search.bm25_index, known)
        scored = await io.in_thread(search.bm25_index.scores, search.query, known)
        ranked = [(known[number].key, score) for number, score in scored]
    else:
        ranked = [(adapter.read(document).key, score) for document, score in found]
    at = next((at for at, (key, _) in enumerate(ranked) if key == sentence.key), None)
    if at is not None:
        return at + 1, ranked[at][1]
    if found is None:
        return None, None  # it may not be among those whose words were compared
    if alone is None:
        return None, None if len(found) >= depth else 0.0
    one = await adapter.lexical_search(io, search.query, {"k": 1, **alone.search_settings})
    return None, one[0][1] if one else 0.0


def _alone(scope: Scope, sentence: StoredSentence) -> Scope | None:
    """Return the scope narrowed to one sentence; ``None`` if the store's filters can't say that."""
    base = scope.filter if scope.is_bound else scope.adapter.of_documents([sentence.doc_id])
    narrowed = None if base is None else scope.adapter.narrow(base, [sentence.key])
    return None if narrowed is None else replace(scope, filter=narrowed, filters=[narrowed])
