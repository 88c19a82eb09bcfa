"""Which words and pairs of words of a query are in which texts, and how rare they are.

Words are compared in lower case and without accents, as in the lexical index.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .words import plain_words

Flags: TypeAlias = npt.NDArray[np.bool_]

MAX_QUERY_WORDS = 64
"""Different words of a query that count: the first ones."""

MAX_WORDS_READ = 256
"""Words of a query that are read, repeated ones counted; the rest is ignored."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The words of a query, and its pairs of adjacent words.

    Attributes:
        words: Its different words in lower case, in the order in which they come first.
        pairs: The different pairs of adjacent words, as indexes in ``words``.
    """

    words: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class WordMatches:
    """The words and pairs of words of a query that texts hold.

    Attributes:
        words: Of shape ``(texts, words)``, whether a text holds a word.
        pairs: Of shape ``(texts, pairs)``, whether it holds a pair: both words with no other word between them.
    """

    words: Flags
    pairs: Flags


def query_terms(query: str) -> QueryTerms:
    """Read a query: at most `MAX_QUERY_WORDS` different words among the first `MAX_WORDS_READ`, and their pairs."""
    read = plain_words(query).split()[:MAX_WORDS_READ]
    words = tuple(dict.fromkeys(read))[:MAX_QUERY_WORDS]
    number_of = {word: number for number, word in enumerate(words)}
    pairs = [(number_of[a], number_of[b]) for a, b in pairwise(read) if a in number_of and b in number_of]
    return QueryTerms(words, tuple(dict.fromkeys(pairs)))


def find_words(terms: QueryTerms, texts: Sequence[str]) -> WordMatches:
    """Find the words and the pairs of a query in texts."""
    number_of_word = {word: number for number, word in enumerate(terms.words)}
    number_of_pair = {pair: number for number, pair in enumerate(terms.pairs)}
    words, pairs = list[tuple[int, int]](), list[tuple[int, int]]()
    for row, text in enumerate(texts):
        before = None
        for word in plain_words(text).split():
            if word not in number_of_word:
                before = None
                continue
            number = number_of_word[word]
            words.append((row, number))
            if before is not None and (before, number) in number_of_pair:
                pairs.append((row, number_of_pair[before, number]))
            before = number
    return WordMatches(_flags(words, len(texts), len(terms.words)), _flags(pairs, len(texts), len(terms.pairs)))


def inverse_document_frequency(counts: npt.ArrayLike, total: int) -> npt.NDArray[np.float64]:
    """Return the idf of BM25 for words: higher the fewer texts hold a word, and above 0.

    See Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.

    Args:
        counts: How many texts hold each word; a count outside of 0 to ``total`` is clipped to that range.
        total: The number of texts.
    """
    held = np.clip(counts, 0, total)
    return np.asarray(np.log1p((total - held + 0.5) / (held + 0.5)))


def _flags(places: Sequence[tuple[int, int]], rows: int, columns: int) -> Flags:
    """Return an array that is true at some places, each a row and a column."""
    flags = np.zeros((rows, columns), dtype=np.bool_)
    if places:
        flags[tuple(np.array(places).T)] = True
    return flags
