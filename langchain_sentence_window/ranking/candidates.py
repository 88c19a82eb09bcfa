"""The sentences that a search found, as columns that ranking reads, and the fusion of their scores into one.

Cosines and BM25 scores are both spread over neighbors, as a sentence often answers a question whose words are in the
sentence before. Vectors are mixed when they are put into the index that is searched (see
`langchain_sentence_window.embedding.vectors`). BM25 scores are spread per query.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import SentenceKey

Numbers: TypeAlias = npt.NDArray[np.float64]
Indexes: TypeAlias = npt.NDArray[np.int64]

DocumentFrequency: TypeAlias = Callable[[Sequence[str]], tuple[Sequence[int], int]]
"""Takes words, and returns how many sentences hold each, and how many sentences there are."""

NO_TEXT = -1
"""The position of a text that isn't known, or is in another section."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sentences that a search found, in any order.

    There are ``n`` candidates. Arrays and sequences have ``n`` items, if nothing else is said.

    Attributes:
        keys: The document and the index of each.
        section_starts: Index of the first sentence of its section.
        section_ends: One past the index of its section's last sentence.
        dense: Its score by meaning, such as a cosine; higher is better.
        lexical: Its BM25 score, with shares of its neighbors'; 0 without a lexical search.
        texts: ``n`` texts of the candidates in their order, then any number of texts of their neighbors.
        before: The position in ``texts`` of the sentence before it in its section; `NO_TEXT` if it isn't known.
        after: The position of the sentence after it, likewise.
        headings: Its heading path; empty if there is none.
        kinds: The kind of its block, see `langchain_sentence_window.splitting.blocks`; empty if it isn't known.
        document_frequency: Counts the sentences of the collection that hold a word; ``None`` if only the candidates are
            known. Words are in lower case.
        scores: The score that the search itself gives it, by meaning and words; ``None`` if it gives none.
    """

    keys: Sequence[SentenceKey]
    section_starts: Indexes
    section_ends: Indexes
    dense: Numbers
    lexical: Numbers
    texts: Sequence[str]
    before: Indexes
    after: Indexes
    headings: Sequence[str]
    kinds: Sequence[str]
    document_frequency: DocumentFrequency | None = None
    scores: Numbers | None = None

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.keys)


LEXICAL_WEIGHT = 0.25
"""Default weight of the BM25 scores, which are scaled to the spread of the cosines. See the benchmarks page."""

SPREAD = (1.0, 0.3, 0.15)
"""Shares of its BM25 score that a sentence gives to itself, to the sentences next to it, and to those two away."""

CANDIDATES = 200
"""Sentences that the dense and the lexical search each find, at least, before their scores are fused."""


def spread(scores: Mapping[int, float], neighbors: Iterable[tuple[int, int, int]]) -> dict[int, float]:
    """Add to each row's score a share of its neighbors' scores; see `SPREAD`.

    Args:
        scores: BM25 scores by row.
        neighbors: ``(row, other row, sentences apart)`` for each row with a score and each other row of its section
            that is at most two sentences away.

    Returns:
        Scores by row, of rows with a score and their neighbors.
    """
    summed = dict(scores)
    for row, other, apart in neighbors:
        summed[other] = summed.get(other, 0.0) + SPREAD[apart] * scores[row]
    return summed


def fused_scores(
    cosines: npt.NDArray[np.float64], lexical: npt.NDArray[np.float64], weight: float
) -> npt.NDArray[np.float64]:
    """Add a bonus for words to the cosine of each row.

    Scores count by their z-scores over the rows, as embedders differ in the range of their cosines, and queries in that
    of their BM25 scores. The result is on the scale of the cosines.

    Args:
        cosines: The cosines of one row or more, all finite.
        lexical: Their BM25 scores, all finite; 0 for none.
        weight: The weight of a standard deviation of ``lexical``, in standard deviations of ``cosines``; 0 or more.
    """
    return np.asarray(cosines + weight * cosines.std() * standardized(lexical))


def standardized(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the distance of each value from the mean of its column, in standard deviations; 0 if all are equal.

    Args:
        values: One column, or an array of shape ``(n, columns)``; all finite.
    """
    if not len(values):
        return values
    deviations = values.std(axis=0)
    # Values that differ only by rounding are equal.
    differ = deviations > 1e-9 * np.maximum(1.0, np.abs(values).max(axis=0))
    centered = (values - values.mean(axis=0)) * differ
    return np.asarray(centered / np.where(differ, deviations, 1.0))
