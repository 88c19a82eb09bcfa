"""The nearest sentences, found by comparing all of them in single precision, and recall against these.

Equal scores make more than one answer right: a sentence counts as found if its exact score is that of the k-th nearest
or better.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

KEPT = 100
"""How many of the nearest are kept for each question, so that equal ones beyond the k-th are known."""
TOLERANCE = 1e-6

FILTERS: Mapping[str, Callable[[Rows, int], npt.NDArray[np.bool_]]] = {
    "": lambda rows, _: np.ones(len(rows), dtype=bool),
    "half": lambda rows, per_document: rows % per_document < per_document // 2,
    "5 %": lambda rows, per_document: rows % per_document == 3,
}
"""The filters that recall is measured under, as conditions on the numbers of sentences."""


@dataclass
class Nearest:
    """The nearest sentences of each question.

    Attributes:
        rows: Numbers of sentences, best first, shape ``(questions, KEPT)``; -1 where there are fewer.
        scores: Their cosines; minus infinity where there are fewer.
    """

    rows: Rows
    scores: Vectors

    @classmethod
    def none(cls, questions: int) -> "Nearest":
        """Start with no sentences."""
        shape = questions, KEPT
        return cls(np.full(shape, -1, dtype=np.int64), np.full(shape, -np.inf, dtype=np.float32))

    def add(self, rows: Rows, vectors: Vectors, questions: Vectors) -> None:
        """Compare more sentences with the questions."""
        if not len(rows):
            return
        scores = questions @ vectors.T
        if scores.shape[1] > KEPT:
            best = np.argpartition(-scores, KEPT - 1, axis=1)[:, :KEPT]
            scores, found = np.take_along_axis(scores, best, axis=1), rows[best]
        else:
            found = np.broadcast_to(rows, scores.shape)
        every, of = np.concatenate([self.scores, scores], axis=1), np.concatenate([self.rows, found], axis=1)
        order = np.argsort(-every, axis=1, kind="stable")[:, :KEPT]
        self.scores, self.rows = np.take_along_axis(every, order, axis=1), np.take_along_axis(of, order, axis=1)

    def recall(self, found: Sequence[Iterable[int]], k: int) -> list[float]:
        """Return the share of the ``k`` nearest that was found, for each question.

        Args:
            found: The numbers of the sentences that a search returned, for each question.
            k: How many were asked for.
        """
        shares = []
        for rows, scores, given in zip(self.rows, self.scores, found, strict=True):
            right = set(rows[scores >= scores[min(k, KEPT) - 1] - TOLERANCE].tolist()) - {-1}
            most = min(k, len(right))
            shares.append(min(len(right & set(given)), most) / most if most else 1.0)
        return shares
