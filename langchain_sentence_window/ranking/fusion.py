"""Fusion of cosines and BM25 scores of sentences into one score.

Both are spread over neighbors, as a sentence often answers a question whose words are in the sentence before. Vectors
are mixed when they are stored (see `langchain_sentence_window.embedding.mixing`). BM25 scores are spread per query.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import checked_weight, finite_numbers
from langchain_sentence_window.errors import InvalidInputError

LEXICAL_WEIGHT = 0.25
"""Default weight of a standard deviation of BM25 scores, in standard deviations of the cosines. See the benchmarks
page."""

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

    Raises:
        InvalidInputError: A row of ``neighbors`` has no score, or is farther away.
    """
    try:
        summed = dict(scores)
        for row, other, apart in neighbors:
            summed[other] = summed.get(other, 0.0) + SPREAD[apart] * scores[row]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"scores are {shown(scores)} and neighbors are {shown(neighbors)}, which don't match; give numbers by "
            "row, and (row, other row, sentences apart) for rows that have a score"
        ) from error
    return summed


def fuse(cosines: Mapping[int, float], lexical: Mapping[int, float], weight: float) -> list[tuple[int, float]]:
    """Rank rows by cosine and BM25 score together.

    Each score counts by its z-score over the rows, as embedders differ in the range of their cosines, and queries in
    that of their BM25 scores. The result is on the scale of the cosines.

    Args:
        cosines: Cosines by row.
        lexical: BM25 scores by row. A missing one is 0, and rows without a cosine are left out.
        weight: The weight of a standard deviation of ``lexical``, in standard deviations of ``cosines``; 0 or more.

    Returns:
        ``(row, cosine + bonus)``, best first, equal ones by row. The bonus is below 0 for a BM25 score below the mean.

    Raises:
        InvalidInputError: The scores aren't finite numbers by row, or the weight isn't a number of 0 or more.
    """
    weight = checked_weight("weight", weight)
    if not isinstance(cosines, Mapping) or not isinstance(lexical, Mapping):
        raise InvalidInputError(
            f"cosines are {shown(cosines)} and BM25 scores {shown(lexical)}; they must be mappings from rows to numbers"
        )
    if not cosines:
        return []
    rows = finite_numbers("rows", list(cosines)).astype(np.int64)
    scores = finite_numbers("cosines", list(cosines.values()))
    words = finite_numbers("lexical", [lexical.get(row, 0.0) for row in cosines])
    fused = fused_scores(scores, words, weight)
    order = np.lexsort((rows, -fused))
    return list(zip(rows[order].tolist(), fused[order].tolist(), strict=True))


def fused_scores(
    cosines: npt.NDArray[np.float64], lexical: npt.NDArray[np.float64], weight: float
) -> npt.NDArray[np.float64]:
    """Return the cosine and the bonus of each row, added; see `fuse`.

    Args:
        cosines: The cosines of one row or more, all finite.
        lexical: Their BM25 scores, all finite; 0 for none.
        weight: The weight of words.
    """
    return np.asarray(cosines + weight * cosines.std() * standardized(lexical))


def zscores(values: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the distance of each value from the mean, in standard deviations; 0 if all values are equal.

    Raises:
        InvalidInputError: They aren't finite numbers.
    """
    return standardized(finite_numbers("values", values))


def standardized(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the distance of each value from the mean of its column, in standard deviations; see `zscores`.

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
