"""Meaning and words together: cosines and BM25 scores of sentences as one score.

Both are spread over neighbors, as a sentence often answers with words of the one before: the vectors
when they are stored (see `langchain_sentence_window.embedding.mixing`), the BM25 scores here, at query time.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import checked_weight
from langchain_sentence_window.errors import InvalidInputError

LEXICAL_WEIGHT = 0.25
"""What a standard deviation of BM25 counts, in standard deviations of the cosines. With 40 windows and the
other settings' defaults, all-MiniLM-L6-v2, recall within 800 / 1,600 characters was, on questions of Chroma's
benchmark, Doc2Dial and SQuAD: 67.6 / 79.3, 73.3 / 78.2, 84.9 / 90.8 without words; 72.0 / 80.2, 75.6 / 80.8,
88.4 / 92.7 with .15; 70.8 / 80.4, 75.9 / 80.7, 88.7 / 93.0 with .25; 70.3 / 79.0, 75.4 / 80.3, 86.6 / 93.0 with .4.
It was chosen on these questions."""

SPREAD = (1.0, 0.3, 0.15)
"""What share of its BM25 score a sentence gives itself, the ones next to it, those two away."""

CANDIDATES = 200
"""How many sentences each of the two searches finds at least before they are put together."""


def spread(scores: Mapping[int, float], neighbors: Iterable[tuple[int, int, int]]) -> dict[int, float]:
    """Give each row the weighted sum of its own score and its neighbors'.

    Args:
        scores: BM25 scores by row.
        neighbors: ``(row, other row of the same section, how many sentences apart)``, for each row that has
            a score and each other one at most two away.
    """
    try:
        summed = dict(scores)
        for row, other, apart in neighbors:
            summed[other] = summed.get(other, 0.0) + SPREAD[apart] * scores[row]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"scores are {shown(scores)} and neighbors {shown(neighbors)}, which don't go together; give numbers by "
            "row, and (row, other row, how many apart) of rows that have one"
        ) from error
    return summed


def fuse(cosines: Mapping[int, float], lexical: Mapping[int, float], weight: float) -> list[tuple[int, float]]:
    """Rank rows by cosine and BM25 score together.

    Both are compared by how far they stand from their mean over the rows, in standard deviations, as
    embedders differ in the range of their cosines and questions in that of their BM25 scores. What comes
    out is put back on the scale of the cosines.

    Args:
        cosines: By row.
        lexical: BM25 scores by row; 0 for rows that it lacks, and rows without a cosine are left out.
        weight: What a standard deviation of ``lexical`` counts, in standard deviations of ``cosines``.

    Returns:
        ``(row, cosine + bonus)``, best first, equal ones by row. The bonus is below 0 for rows with a
        score below the mean.

    Raises:
        InvalidInputError: They aren't finite numbers by row, or the weight is below 0.
    """
    weight = checked_weight("weight", weight)
    if not isinstance(cosines, Mapping) or not isinstance(lexical, Mapping):
        raise InvalidInputError(
            f"cosines are {shown(cosines)} and BM25 scores {shown(lexical)}; they must be mappings from rows to numbers"
        )
    if not cosines:
        return []
    rows = np.asarray(_numbers(list(cosines)), dtype=np.int64)
    scores = _numbers(list(cosines.values()))
    fused = scores + weight * scores.std() * zscores([lexical.get(row, 0.0) for row in cosines])
    order = np.lexsort((rows, -fused))
    return list(zip(rows[order].tolist(), fused[order].tolist(), strict=True))


def zscores(values: Sequence[float]) -> npt.NDArray[np.float64]:
    """How far each value stands from their mean, in standard deviations; 0 where all are equal.

    Raises:
        InvalidInputError: They aren't finite numbers.
    """
    array = _numbers(values)
    deviation = array.std() if len(array) else 0.0
    # Equal values say nothing; what their rounding left is no difference.
    if deviation <= 1e-9 * max(1.0, float(np.abs(array).max(initial=0.0))):
        return np.zeros(len(array))
    return np.asarray((array - array.mean()) / deviation)


def _numbers(values: Sequence[float]) -> npt.NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except Exception:  # noqa: BLE001 - what a type makes of itself may raise anything
        array = np.full(1, np.nan)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InvalidInputError(f"scores are {shown(values)}; they must be finite numbers")
    return array
