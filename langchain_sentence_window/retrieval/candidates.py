"""Candidates of a question from any store: sentences with scores by meaning and by words, best first.

`FaissStore` returns candidates itself. Any other store is searched through LangChain's interface, and what it lacks is
added: scores by words, from a `BM25Index`, and the texts next to each sentence, if they were found, too.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window._validation import finite_numbers
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import SearchedCandidates, StoreAdapter
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.ranking.candidates import CANDIDATES, NO_TEXT, Candidates, fused_scores
from langchain_sentence_window.store.bm25_index import BM25Index

from .request import Request


async def find_candidates(io: IO, scope: Scope, request: Request, text: str, k: int) -> SearchedCandidates:
    """Search for a text.

    Args:
        io: Makes the calls.
        scope: Where the sentences are, and which of them may be found.
        request: The settings of the search.
        text: The text to search for.
        k: The number of sentences that are enough. More are found if they are to be ranked.
    """
    adapter, weight, spreads = scope.adapter, request.lexical_weight, request.ranking is None
    given = await adapter.candidates(io, text, k, scope.filter, lexical_weight=weight, spreads=spreads)
    if given is not None:
        return given
    # A ranking counts words itself, in all candidates.
    index = request.bm25_index if weight and request.ranking is None else None
    most = max(k, CANDIDATES)
    depth = most if request.needs_candidates or index is not None else k
    settings = {"k": depth, **request.search_kwargs, **scope.search_settings}
    scored = await adapter.search(io, text, settings)
    scope.check_found([document for document, _ in scored])
    read = [(adapter.read(document), float(score)) for document, score in scored]
    read.sort(key=lambda each: (-each[1], each[0].key))  # so that words are added up in one order
    found = [sentence for sentence, _ in read]
    dense = finite_numbers("scores", [score for _, score in read])
    bm25: Mapping[int, float] = {}
    if index is not None:
        await fill_bm25_index(io, adapter, index, found)
        # Under a filter, a neighbor that wasn't found may be forbidden, and a score would reveal its words.
        found_alone = scope.filter is not None
        bm25 = await io.in_thread(partial(index.spread_scores, text, found, found_alone=found_alone))
    lexical = finite_numbers("lexical scores", [bm25.get(number, 0.0) for number in range(len(found))])
    scores = fused_scores(dense, lexical, weight) if bm25 else dense
    order = np.argsort(-scores, kind="stable")[: most if request.needs_candidates else k]
    taken = [found[number] for number in order.tolist()]
    texts, before, after = _texts_around(taken, hides_inline=scope.filter is not None)
    candidates = Candidates(
        keys=[sentence.key for sentence in taken],
        section_starts=np.array([sentence.section_start for sentence in taken], dtype=np.int64),
        section_ends=np.array([sentence.section_end for sentence in taken], dtype=np.int64),
        dense=dense[order],
        lexical=lexical[order],
        texts=texts,
        before=np.array(before, dtype=np.int64),
        after=np.array(after, dtype=np.int64),
        headings=[sentence.heading for sentence in taken],
        kinds=[sentence.kind for sentence in taken],
        scores=scores[order],
    )
    return _ReadCandidates(candidates, taken)


@dataclass(frozen=True, slots=True)
class _ReadCandidates:
    """Candidates whose sentences were read with them."""

    candidates: Candidates
    found: Sequence[StoredSentence]
    unrelated: None = None

    def sentences(self, order: Sequence[int]) -> list[StoredSentence]:
        """Return the sentences of some candidates, by position."""
        return [self.found[at] for at in order]


def _texts_around(found: Sequence[StoredSentence], *, hides_inline: bool) -> tuple[list[str], list[int], list[int]]:
    """Return the texts of sentences and those next to them, and the positions of the texts before and after each.

    The texts next to a sentence are known if they were found too, or if they are in its inline window.

    Args:
        found: The sentences.
        hides_inline: Whether inline windows aren't looked at, as they may hold the words of a sentence that a filter
            forbids.
    """
    texts = [sentence.text for sentence in found]
    positions: dict[SentenceKey, int] = {}
    for position, sentence in enumerate(found):
        positions.setdefault(sentence.key, position)
    for sentence in () if hides_inline else found:
        for other in sentence.window:
            if abs(other.index - sentence.index) == 1 and other.key not in positions:
                positions[other.key] = len(texts)
                texts.append(other.text)
    before, after = (
        [
            positions.get((sentence.doc_id, sentence.index + step), NO_TEXT)
            if sentence.section_start <= sentence.index + step < sentence.section_end
            else NO_TEXT
            for sentence in found
        ]
        for step in (-1, 1)
    )
    return texts, before, after


async def fill_bm25_index(
    io: IO, adapter: StoreAdapter, bm25_index: BM25Index, found: Sequence[StoredSentence]
) -> None:
    """Fill a lexical index from the store, if it lacks some of the sentences that a search has found.

    All of the store is read regardless of the filter, so that scores don't depend on the first query.

    Raises:
        InvalidInputError: It lacks them all, and the store can't list what it holds.
        StoreError: The index can't be written.
    """
    lacking = await io.in_thread(bm25_index.lacking, found)
    if not lacking:
        return
    try:
        stored = await adapter.list_sentences(io, None)
    except InvalidInputError as error:
        stored = []
        message = f"{bm25_index!r} lacks {len(lacking)} of {len(found)} sentences that were found, and {error}"
        if len(lacking) == len(found):
            raise InvalidInputError(f"{message}; or add the documents again, or leave out bm25_index") from error
        # Another thread may have replaced them since the search.
        warnings.warn(f"{message}; or add the documents again", SentenceWindowWarning, stacklevel=2)
    await io.in_thread(bm25_index.fill, _readable_sentences(adapter, stored), lacking)


def _readable_sentences(adapter: StoreAdapter, stored: Sequence[Document]) -> Iterator[StoredSentence]:
    """Yield the sentences among stored Documents."""
    for document in stored:
        with suppress(IncompleteWindowError):  # a store may hold other things too
            yield adapter.read(document)
