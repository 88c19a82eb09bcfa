"""Which words and pairs of words of a query are in which of many texts, and how rare they are.

Words are compared in lower case and without accents, as in the lexical index. All texts are read at once as one array
of characters, so that the time hardly depends on how many texts and words there are.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .words import UNSPACED_RUN, folded, is_of_word, separated

Flags: TypeAlias = npt.NDArray[np.bool_]
_Codes: TypeAlias = npt.NDArray[np.uint32]
_Indexes: TypeAlias = npt.NDArray[np.int64]

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
    words = np.zeros((len(texts), len(terms.words)), dtype=np.bool_)
    pairs = np.zeros((len(texts), len(terms.pairs)), dtype=np.bool_)
    if not words.size:
        return WordMatches(words, pairs)
    of_texts = _WordSpans.of("\n".join(texts))
    places, numbers = _match_words(_WordSpans.of(" ".join(terms.words)), of_texts)
    ends_of_texts = np.cumsum(np.array([*map(len, texts)]) + 1)
    holders = np.searchsorted(ends_of_texts, of_texts.starts[places] - 1, side="right")
    words[holders, numbers] = True
    if terms.pairs:
        pair_of = np.full((len(terms.words), len(terms.words)), -1)
        pair_of[tuple(np.array(terms.pairs).T)] = range(len(terms.pairs))
        found = pair_of[numbers[:-1], numbers[1:]]
        is_pair = (found >= 0) & (np.diff(places) == 1) & (holders[1:] == holders[:-1])
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


@dataclass(frozen=True, slots=True)
class _WordSpans:
    """The words of a text, in order.

    Attributes:
        codes: The `_folded_code` of each character of the text, and of a line break before and after it.
        starts: Where each word starts in ``codes``.
        ends: One past where each ends.
    """

    codes: _Codes
    starts: _Indexes
    ends: _Indexes

    @classmethod
    def of(cls, text: str) -> "_WordSpans":
        codes = _folded_codes(f"\n{text}\n")
        return cls(codes, *_bounds_of_words(codes))

    @property
    def hashes(self) -> _Codes:
        """A number for each word that most other words don't have: of its length, its first and its last letter."""
        lengths = (self.ends - self.starts).astype(np.uint32)
        return lengths + 31 * self.codes[self.starts] + 1009 * self.codes[self.ends - 1]

    def written(self, chosen: _Indexes) -> list[bytes]:
        """Return some words, as the bytes of their codes."""
        data, size = self.codes.tobytes(), self.codes.itemsize
        spans = zip((self.starts[chosen] * size).tolist(), (self.ends[chosen] * size).tolist(), strict=True)
        return [data[start:end] for start, end in spans]


def _match_words(words: _WordSpans, others: _WordSpans) -> tuple[_Indexes, _Indexes]:
    """Return which of other words are among some different words, and the number of each among these."""
    number_of = {word: number for number, word in enumerate(words.written(np.arange(len(words.starts))))}
    # To cut out every word would take ten times as long as the rest.
    likely = np.flatnonzero(np.isin(others.hashes, words.hashes))
    written = others.written(likely)
    numbers = np.array([number_of[word] for word in written if word in number_of], dtype=np.int64)
    return likely[[word in number_of for word in written]], numbers


def _bounds_of_words(codes: _Codes) -> tuple[_Indexes, _Indexes]:
    """Return where each word starts and ends, in order."""
    in_word, is_unspaced = codes > _NO_LETTER, codes >= _UNSPACED_CODES
    if not is_unspaced.any():
        edges = np.flatnonzero(in_word[1:] != in_word[:-1]) + 1
        return edges[::2], edges[1::2]
    edges = np.flatnonzero((in_word[1:] != in_word[:-1]) | (is_unspaced[1:] != is_unspaced[:-1])) + 1
    inside = in_word[edges[:-1]]
    starts, ends = edges[:-1][inside], edges[1:][inside]
    # A run of a script without spaces has a word for each two neighboring characters.
    pairs = np.where(is_unspaced[starts], ends - starts - 1, 0)
    counts = np.maximum(pairs, 1)
    runs = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(runs)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = starts[runs] + within
    return starts, np.where(pairs[runs] > 0, starts + 2, ends[runs])


_UNKNOWN, _NO_LETTER = 0, 1
_UNSPACED_CODES = 1 << 24  # above all code points
_FOLDED_CODES = np.zeros(sys.maxunicode + 1, dtype=np.uint32)
"""The `_folded_code` of each code point; filled as texts need them, so hardly any of its memory is used."""


def _folded_codes(text: str) -> _Codes:
    """Return the `_folded_code` of each character."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    codes: _Codes = _FOLDED_CODES[points]
    unknown = codes == _UNKNOWN
    if unknown.any():
        for point in set(points[unknown].tolist()):
            _FOLDED_CODES[point] = _folded_code(chr(point))
        codes = _FOLDED_CODES[points]
    return codes


def _folded_code(character: str) -> int:
    """Return the code point of a letter in lower case and without accents.

    `_UNSPACED_CODES` is added for scripts without spaces between words. A character in no word has `_NO_LETTER`.
    """
    if not is_of_word(character):
        return _NO_LETTER
    return ord(folded(character)) + (_UNSPACED_CODES if UNSPACED_RUN.match(character) else 0)
