"""Which words and pairs of words of a query are in which of many texts, and how rare they are.

Words are compared in lower case and without accents, as in the lexical index. All texts are folded at once as one array
of characters, and their words are compared in C, as a query reads hundreds of texts.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .words import FIRST_UNSPACED, folded, in_pairs, is_of_word, separated

Flags: TypeAlias = npt.NDArray[np.bool_]

MAX_QUERY_WORDS = 64
"""Different words of a query that count: the first ones."""

MAX_WORDS_READ = 256
"""Words of a query that are read, repeated ones counted; what follows them is ignored."""


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
    read = folded(separated(query)).split()[:MAX_WORDS_READ]
    words = tuple(dict.fromkeys(read))[:MAX_QUERY_WORDS]
    number_of = {word: number for number, word in enumerate(words)}
    pairs = [(number_of[a], number_of[b]) for a, b in pairwise(read) if a in number_of and b in number_of]
    return QueryTerms(words, tuple(dict.fromkeys(pairs)))


def find_words(terms: QueryTerms, texts: Sequence[str]) -> WordMatches:
    """Find the words and the pairs of a query in texts, in time linear in the texts."""
    count = len(terms.words)
    words = np.zeros((len(texts), count), dtype=np.bool_)
    pairs = np.zeros((len(texts), len(terms.pairs)), dtype=np.bool_)
    if not words.size:
        return WordMatches(words, pairs)
    number_of = {word: number for number, word in enumerate(terms.words)}
    # Mapped in C: a loop of Python over all words of all texts would take longer than the rest of the ranking.
    words_of_texts = list(map(str.split, _folded_texts(texts)))
    numbers = np.fromiter(map(number_of.get, chain.from_iterable(words_of_texts), repeat(_OTHER)), dtype=np.int64)
    holders = np.repeat(np.arange(len(texts)), [*map(len, words_of_texts)])
    is_known = numbers != _OTHER
    words[holders[is_known], numbers[is_known]] = True
    if terms.pairs:
        pair_of = np.full((count + 1, count + 1), _OTHER)  # the last row and column are those of `_OTHER`
        pair_of[tuple(np.array(terms.pairs).T)] = range(len(terms.pairs))
        found = pair_of[numbers[:-1], numbers[1:]]
        is_pair = (found != _OTHER) & (holders[1:] == holders[:-1])
        pairs[holders[1:][is_pair], found[is_pair]] = True
    return WordMatches(words, pairs)


def inverse_document_frequency(counts: npt.ArrayLike, total: int) -> npt.NDArray[np.float64]:
    """Return the idf of BM25 for words: higher the fewer texts hold a word, and above 0.

    See Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.

    Args:
        counts: How many texts hold each word; what lies outside of 0 to ``total`` counts as the nearer end.
        total: The number of texts.
    """
    held = np.clip(counts, 0, total)
    return np.asarray(np.log1p((total - held + 0.5) / (held + 0.5)))


_OTHER = -1
"""The number of a word or a pair that isn't in the query."""

_FOLDED = np.zeros(sys.maxunicode + 1, dtype="<u4")
"""The code points of folded characters, and of a space for those in no word, by code point.

It is filled as texts need it, so hardly any of its memory is used."""


def _folded_texts(texts: Sequence[str]) -> list[str]:
    """Return the folded words of each text, with spaces between them."""
    points = np.frombuffer("\n".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    for point in set(points[_FOLDED[points] == 0].tolist()):
        character = chr(point)
        _FOLDED[point] = ord(folded(character) if is_of_word(character) else " ")
    codes = _FOLDED[points]
    whole = codes.tobytes().decode("utf-32-le")
    ends = np.cumsum(np.array([*map(len, texts)]) + 1).tolist()
    parts = [whole[start:end] for start, end in pairwise([0, *ends])]
    return list(map(in_pairs, parts)) if codes.max(initial=0) >= FIRST_UNSPACED else parts
