"""`Ranking`: how much each signal counts, and the reordering of candidates by it.

A ranking is a few named numbers that a reader can check and change in a text file. The default one holds for any
collection; `langchain_sentence_window.evaluation` fits one to yours.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_number, checked_weight
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import Candidates, Indexes, Numbers
from langchain_sentence_window.ranking.signals import SIGNALS, signals

FORMAT = "langchain-sentence-window ranking"
VERSION = 1

MAX_BYTES = 100_000
"""Size of the largest file that `Ranking.read` reads."""

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
        description: A note for readers, such as what the weights were fitted to.
    """

    weights: Mapping[str, float] = field(hash=False)
    description: str = ""

    def __post_init__(self) -> None:
        """Check the weights, put them into the order of the signals, and leave out those of 0.

        Raises:
            InvalidInputError: A name isn't the name of a signal, a weight isn't a finite number of at most
                `MAX_WEIGHT`, or the description isn't a string.
        """
        if not isinstance(self.description, str):
            raise InvalidInputError(f"description is {shown(self.description)}; give a string")
        weights = _checked_weights(self.weights)
        ordered = {name: weights[name] for name in SIGNALS if weights.get(name)}
        object.__setattr__(self, "weights", MappingProxyType(ordered))

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, float], str]]:
        """Return the arguments to make the ranking again, for copies, also in another process."""
        return type(self), (dict(self.weights), self.description)

    def to_json(self) -> str:
        """Write the ranking as JSON, which `from_json` reads."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "description": self.description,
            "weights": dict(self.weights),
        }
        return json.dumps(content, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a ranking that `to_json` wrote, or that was written by hand in the same form.

        Raises:
            InvalidInputError: The text isn't such JSON, is larger than `MAX_BYTES`, or holds a name or a weight that
                can't be used.
        """
        return cls._read(text, "the ranking")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the ranking to a JSON file; an existing file is replaced.

        Raises:
            InvalidInputError: The file can't be written.
        """
        try:
            _as_path(path).write_text(self.to_json() + "\n", encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"{shown(str(path))} can't be written ({error}); choose another path") from error

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read a ranking from a JSON file; see `from_json`.

        Raises:
            InvalidInputError: The file can't be read, or `from_json` raises it.
        """
        try:
            with _as_path(path).open("rb") as file:
                text = file.read(MAX_BYTES + 1).decode("utf-8-sig")
        except (OSError, ValueError) as error:
            raise InvalidInputError(
                f"{shown(str(path))} can't be read ({error}); give the path of a file that Ranking.save wrote"
            ) from error
        return cls._read(text, str(path))

    @classmethod
    def _read(cls, text: str, where: str) -> Self:
        cure = "write it as Ranking.save does"
        if not isinstance(text, str) or len(text) > MAX_BYTES:
            raise InvalidInputError(f"{where} is {shown(text)}; give JSON of at most {MAX_BYTES:,} characters; {cure}")
        try:
            content = json.loads(text, object_pairs_hook=_unique, parse_constant=_refused)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{where} isn't JSON of a ranking ({error}); {cure}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidInputError(f'{where} isn\'t a ranking, as it lacks "format": "{FORMAT}"; {cure}')
        version = content.get("version")
        if type(version) is not int or version != VERSION:
            raise InvalidInputError(
                f"{where} has version {shown(version)}, and this package reads version {VERSION}; fit the ranking again"
            )
        extra = sorted(content.keys() - {"format", "version", "description", "weights"})
        if extra or "weights" not in content:
            wrong = f"has an unknown key {shown(extra[0])}" if extra else "has no weights"
            raise InvalidInputError(f"{where} {wrong}; {cure}")
        try:
            return cls(content["weights"], content.get("description", ""))
        except InvalidInputError as error:
            raise InvalidInputError(f"{where}: {error}") from None


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


def reorder(query: str, candidates: Candidates, ranking: Ranking, word_weight: float = 1.0) -> Reordered:
    """Order candidates by the weighted sum of their signals.

    Args:
        query: The query.
        candidates: The candidates of a search.
        ranking: The weights.
        word_weight: Multiplies the weights of signals that compare words; 0 leaves them out.

    Returns:
        The order and the scores: the sum of weight times signal, divided by `SCALE` times the sum of all weights
        without their signs, see `Signal.outweighs_others`. Equal ones are ordered by their score by meaning, then as
        they were given.

    Raises:
        InvalidInputError: ``word_weight`` isn't a number of 0 or more, or a score of the candidates isn't finite.
    """
    word_weight = checked_weight("word_weight", word_weight)
    weighed = _weighed(ranking.weights, word_weight)
    weights = np.array([weight for weight in weighed.values() if weight])
    names = tuple(name for name, weight in weighed.items() if weight)
    scale = sum(abs(weight) for name, weight in weighed.items() if not SIGNALS[name].outweighs_others)
    shares = weights / (SCALE * (scale or 1.0))
    contributions = signals(query, candidates, names) * shares + 0.0  # no minus before a zero
    totals = contributions.sum(axis=1)
    order = np.lexsort((-np.asarray(candidates.dense), -totals))
    return Reordered(order, np.clip(totals, -1.0, 1.0), names, contributions)


def _weighed(weights: Mapping[str, float], word_weight: float) -> dict[str, float]:
    """Weigh words; where they count less, what says nothing of the query counts less in proportion."""
    weighed = {name: weight * (word_weight if SIGNALS[name].is_of_words else 1.0) for name, weight in weights.items()}
    matching = [name for name in weights if SIGNALS[name].is_standardized]
    before, after = (sum(abs(each[name]) for name in matching) for each in (weights, weighed))
    share = min(1.0, after / before) if before else 1.0
    return {name: weight * (1.0 if name in matching else share) for name, weight in weighed.items()}


def _checked_weights(weights: object) -> dict[str, float]:
    if not isinstance(weights, Mapping):
        raise InvalidInputError(f"weights is {shown(weights)}; give numbers by name, such as {{'dense': 1.0}}")
    checked = {}
    for name, weight in weights.items():
        if not isinstance(name, str) or name not in SIGNALS:
            raise InvalidInputError(f"{shown(name)} isn't the name of a signal; give names of {', '.join(SIGNALS)}")
        number = as_number(weight)
        if not math.isfinite(number) or abs(number) > MAX_WEIGHT:
            raise InvalidInputError(
                f"the weight of {name} is {shown(weight)}; give a number from {-MAX_WEIGHT:,.0f} to {MAX_WEIGHT:,.0f}"
            )
        checked[name] = number
    return checked


def _as_path(path: object) -> Path:
    if not isinstance(path, str | PathLike):
        raise InvalidInputError(f"the path is {shown(path)}; give the path of a file as a string or a pathlib.Path")
    return Path(path)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} isn't a finite number")


DEFAULT_RANKING = Ranking(
    {
        "dense_rank": 0.62,
        "document": 0.27,
        "section": 0.37,
        "coverage_own": 0.2,
        "coverage": 0.6,
        "bigrams": 0.13,
        "place": 0.87,
        "early": 0.8,
        "window_length": -0.4,
        "label": 0.2,
        "digit_asked": 0.3,
        "contents": -4.0,
    },
    "The default for any collection.",
)
"""Weights that were tuned on questions. See the benchmarks page."""
