"""Samples of the sentences that hold a word: how many there are, and in which documents some of them stand.

Questions repeat words, so samples are kept until the next write.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._types import Rows
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.lexical.index import LexicalSearcher

NO_DOCUMENT = -1
"""Stands for the document of a Document that isn't a sentence."""

_MAX_SENTENCES = 2_000
"""A word that more sentences hold is no name. Under a filter too, all of them count."""

_MAX_KEPT = 5_000


class WordSample(NamedTuple):
    """Sentences that hold a word.

    Attributes:
        sentences: How many there are.
        documents: How many of those that were looked at are in each document; none if there are too many.
    """

    sentences: int
    documents: Counter[int]


class WordSamples:
    """Samples of words in one state of the store after the other."""

    def __init__(self) -> None:
        """Start empty."""
        # Both are replaced together and nothing is taken out, so a search of the state before keeps what is its own.
        self._kept: tuple[Version | None, dict[str, WordSample]] = (None, {})

    def few(
        self, snapshot: Snapshot, searcher: LexicalSearcher, words: Sequence[str], size: int, allowed: Rows | None
    ) -> dict[str, WordSample]:
        """Return a sample of each word, as `samples` does; ``size`` is the same in all calls."""
        if allowed is not None:
            return samples(snapshot, searcher, words, size, allowed)
        version = snapshot.version
        kept_at, kept = self._kept
        if kept_at != version or len(kept) > _MAX_KEPT:
            kept = {}
            self._kept = version, kept
        kept |= samples(snapshot, searcher, [word for word in words if word not in kept], size, None)
        return {word: kept[word] for word in words}


def samples(
    snapshot: Snapshot, searcher: LexicalSearcher, words: Sequence[str], size: int, allowed: Rows | None
) -> dict[str, WordSample]:
    """Look at some of the sentences that hold each word, spread evenly over the store.

    Args:
        snapshot: The state of the database.
        searcher: The lexical index of that state.
        words: Words as the lexical index has them.
        size: The most sentences of each to look at.
        allowed: The rows to look at, in order; ``None`` for all.
    """
    if not words:
        return {}
    found = {word: searcher.sample(word, size, _MAX_SENTENCES, allowed) for word in words}
    rows = np.unique(np.concatenate([rows for _, rows in found.values()]))
    documents: Mapping[int, int | None] = snapshot.documents_of(rows.tolist()) if len(rows) else {}
    return {
        word: WordSample(count, Counter(documents.get(row) or NO_DOCUMENT for row in of_word.tolist()))
        for word, (count, of_word) in found.items()
    }
