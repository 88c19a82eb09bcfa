"""`Ranking`: how much each signal counts, and the reordering of candidates by it.

A ranking is a few named numbers that a reader can check and change. The default one holds for any collection.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_number
from langchain_sentence_window.errors import InvalidInputError

from .candidates import Indexes, Numbers
from .signals import SIGNALS, CandidateFacts, signals

MAX_WEIGHT = 1e6
"""The largest weight; what counts is how weights compare with each other."""

SCALE = 4.0
"""The number that, times the sum of the weights, divides a candidate's weighted signals. A standardized signal of the
best candidate is often 3 to 5, so scores rarely leave ``[-1, 1]``."""


@dataclass(frozen=True)
class Ranking:
    """Weights of signals.

    Attributes:
        weights: Weights by name of signal, see `SIGNALS`; a signal without one doesn't count. Can't be changed.
    """

    weights: Mapping[str, float] = field(hash=False)

    def __post_init__(self) -> None:
        """Check the weights, put them into the order of the signals, and leave out those of 0.

        Raises:
            InvalidInputError: A name isn't the name of a signal, or a weight isn't a finite number of at most
                `MAX_WEIGHT`.
        """
        if not isinstance(self.weights, Mapping):
            raise InvalidInputError(
                f"weights is {shown(self.weights)}; give numbers by name, such as {{'coverage': 1.0}}"
            )
        weights = {name: _checked_weight(name, weight) for name, weight in self.weights.items()}
        ordered = {name: weights[name] for name in SIGNALS if weights.get(name)}
        object.__setattr__(self, "weights", MappingProxyType(ordered))

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, float]]]:
        """Return the arguments to make the ranking again, for copies, also in another process."""
        return type(self), (dict(self.weights),)


@dataclass(frozen=True, slots=True)
class Reordered:
    """Candidates in a better order.

    Attributes:
        order: The positions of the candidates, best first.
        scores: The score of each candidate, in the order of the candidates, in ``[-1, 1]``. They compare candidates of
            one search.
        names: The ``m`` signals that count.
        contributions: Of shape ``(candidates, m)``, what each signal adds to the score. A row's sum is the score, if
            that is in ``[-1, 1]``.
    """

    order: Indexes
    scores: Numbers
    names: tuple[str, ...]
    contributions: Numbers


def reorder(facts: CandidateFacts, ranking: Ranking, word_weight: float = 1.0) -> Reordered:
    """Order candidates by the weighted sum of their signals.

    Args:
        facts: Facts about the candidates of a search.
        ranking: The weights.
        word_weight: Multiplies the weights of signals that compare words, 0 or more; 0 leaves them out.

    Returns:
        The order and the scores: the sum of weight times signal, divided by `SCALE` times the sum of the weights
        without their signs, but those that `Signal` leaves out. Equal ones are ordered by their score by meaning, then
        as they were given.
    """
    weights = _with_word_weight(ranking.weights, word_weight)
    names = tuple(weights)
    matrix = signals(facts, names)
    counts = [
        not SIGNALS[name].outweighs_others and (not SIGNALS[name].is_conditional or matrix[:, column].any())
        for column, name in enumerate(names)
    ]
    scale = sum(abs(weight) for weight, is_counted in zip(weights.values(), counts, strict=True) if is_counted)
    shares = np.array(list(weights.values())) / (SCALE * (scale or 1.0))
    contributions = matrix * shares + 0.0  # no minus before a zero
    totals = contributions.sum(axis=1)
    order = np.lexsort((-facts.candidates.dense, -totals))
    return Reordered(order, np.clip(totals, -1.0, 1.0), names, contributions)


def _with_word_weight(weights: Mapping[str, float], word_weight: float) -> dict[str, float]:
    """Multiply the weights of signals that compare words, and return those that aren't 0."""
    weighted = {name: weight * word_weight if SIGNALS[name].is_of_words else weight for name, weight in weights.items()}
    # Where words count less, what says nothing of the query counts less in proportion.
    matching = [name for name in weights if SIGNALS[name].is_standardized]
    before = sum(map(abs, [weights[name] for name in matching]))
    after = sum(map(abs, [weighted[name] for name in matching]))
    kept = min(1.0, after / before) if before else 1.0
    scaled = {name: weight if SIGNALS[name].is_standardized else weight * kept for name, weight in weighted.items()}
    return {name: weight for name, weight in scaled.items() if weight}


def _checked_weight(name: object, weight: object) -> float:
    if not isinstance(name, str) or name not in SIGNALS:
        raise InvalidInputError(f"{shown(name)} isn't the name of a signal; give names of {', '.join(SIGNALS)}")
    number = as_number(weight)
    if not math.isfinite(number) or abs(number) > MAX_WEIGHT:
        raise InvalidInputError(
            f"the weight of {name} is {shown(weight)}; give a number from {-MAX_WEIGHT:,.0f} to {MAX_WEIGHT:,.0f}"
        )
    return number


DEFAULT_RANKING = Ranking(
    {
        "dense_rank": 0.62,
        "document": 0.27,
        "section": 0.37,
        "coverage_own": 0.2,
        "coverage": 0.6,
        "passage": 1.0,
        "complement": 9.0,
        "bigrams": 0.13,
        "place": 0.87,
        "early": 0.8,
        "window_length": -0.4,
        "label": 0.2,
        "digit_asked": 0.3,
        "contents": -4.0,
        "file_head": -4.0,
    }
)
"""Weights that were tuned on questions. See the benchmarks page."""
