"""`Ranking`: how much each signal counts, and the reordering of candidates by it.

A ranking is a few named numbers that a reader can check and change in a text file. The default one holds for any
collection; `langchain_sentence_window.evaluation` fits one to yours.

A signal says one thing about a candidate that a reader can check, such as the share of the query's words around it. No
signal needs a vector, so they are the same for every embedder and store.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_number, checked_list, checked_weight
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import CANDIDATES, Candidates, Indexes, Numbers, standardized
from langchain_sentence_window.ranking.evidence import Evidence, best_mean, ends_with_question_mark, rank

_DIGIT = re.compile(r"\d")
_CAPITALIZED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]")
_NEIGHBOR_SHARE = 0.3
_LONG, _SHORT = 400, 40
_LOG_CHARS = 5.0  # about the logarithm of an average sentence's characters


@dataclass(frozen=True, slots=True)
class Signal:
    """The meaning of a signal, and how it is computed.

    Attributes:
        meaning: Its meaning, in a line.
        compute: Computes it for all candidates.
        is_standardized: Whether it counts by its distance from the mean of the candidates, in standard deviations.
        is_of_words: Whether it compares words of the query with words of the text.
        outweighs_others: Whether it is to outweigh all others where it is set. Then it isn't smaller among few
            candidates, and the scale of the scores doesn't follow its weight.
    """

    meaning: str
    compute: Callable[[Evidence], Numbers]
    is_standardized: bool = False
    is_of_words: bool = False
    outweighs_others: bool = False


_scored = partial(Signal, is_standardized=True)
_of_words = partial(Signal, is_standardized=True, is_of_words=True)

_TABLE: dict[str, Signal] = {
    # How it was found.
    "dense": _scored("score by meaning", lambda facts: facts.dense),
    "dense_rank": _scored(
        "minus the logarithm of 1 + the number of better scores by meaning", lambda facts: -np.log1p(rank(facts.dense))
    ),
    "dense_near": _scored(
        "best score by meaning of another candidate up to two sentences away in its section",
        lambda facts: facts.dense_near,
    ),
    "document": _scored(
        "mean of its document's three best scores by meaning", lambda facts: best_mean(facts.dense, facts.documents)
    ),
    "section": _scored(
        "mean of its section's three best scores by meaning", lambda facts: best_mean(facts.dense, facts.sections)
    ),
    "lexical": _of_words("BM25 score", lambda facts: facts.lexical),
    "lexical_rank": _of_words(
        "minus the logarithm of 1 + the number of better BM25 scores", lambda facts: -np.log1p(rank(facts.lexical))
    ),
    # Words of the query that it holds.
    "coverage_own": _of_words(
        "share of the query's words in it; rare ones count more", lambda facts: facts.own_coverage
    ),
    "coverage": _of_words(
        "share of the query's words in it, its neighbors or its heading path; rare ones count more",
        lambda facts: facts.coverage,
    ),
    "bigrams": _of_words("pairs of adjacent query words in it; rare ones count more", lambda facts: facts.bigrams),
    "bigrams_near": _of_words(
        "the same, with 0.3 of those in each neighbor",
        lambda facts: facts.bigrams + _NEIGHBOR_SHARE * facts.neighbor_bigrams,
    ),
    "numbers": Signal("share of the query's whole numbers in it", lambda facts: facts.numbers, is_of_words=True),
    "names": Signal(
        "share of the query's capitalized words in it, the query's first word left out",
        lambda facts: facts.names,
        is_of_words=True,
    ),
    # Where it stands.
    "place": Signal(
        "1 for the first sentence of a section, less by a factor of e every three sentences",
        lambda facts: np.exp(-facts.places / 3),
    ),
    "first": Signal(
        "1 for the first sentence of a section, else 0", lambda facts: (facts.places == 0).astype(np.float64)
    ),
    "early": Signal(
        "1 for the first sentence of a document, less by a factor of e every five sentences",
        lambda facts: np.exp(-facts.indexes / 5),
    ),
    # Its text and its kind.
    "length": Signal("logarithm of its characters, minus 5", lambda facts: _log_chars(facts.lengths)),
    "window_length": Signal(
        "logarithm of the characters of its window, minus 5: of it, and of the next one if it is short or a label",
        lambda facts: _log_chars(facts.window_lengths),
    ),
    "long": Signal("1 for more than 400 characters, else 0", lambda facts: (facts.lengths > _LONG).astype(np.float64)),
    "short": Signal("1 for less than 40 characters, else 0", lambda facts: (facts.lengths < _SHORT).astype(np.float64)),
    "label": Signal("1 if it only names what follows, else 0", lambda facts: facts.labels),
    "question": Signal("1 if it ends with a question mark, else 0", lambda facts: facts.flags(ends_with_question_mark)),
    "line_break": Signal("1 if it holds a line break, else 0", lambda facts: facts.flags(lambda text: "\n" in text)),
    "digit": Signal("1 if it holds a digit, else 0", lambda facts: facts.flags(_has_digit)),
    "digit_asked": Signal(
        "the same if the query asks for a number or a date in English, else 0",
        lambda facts: facts.flags(_has_digit) if facts.asks_number else np.zeros(len(facts.lengths)),
    ),
    "capitals": Signal(
        "logarithm of 1 + the number of capitalized words inside it", lambda facts: np.log1p(facts.counts(_CAPITALIZED))
    ),
    "capitals_asked": Signal(
        "the same if the query asks for a person, a place or a body in English, else 0",
        lambda facts: np.log1p(facts.counts(_CAPITALIZED)) * facts.asks_name,
    ),
    "heading": Signal("1 for a heading, else 0", lambda facts: facts.kinds("heading")),
    "item": Signal("1 for a list item or a table row, else 0", lambda facts: facts.kinds("list_item", "table_row")),
    "contents": Signal(
        "1 for a line of a table of contents, else 0",
        lambda facts: facts.kinds("contents"),
        outweighs_others=True,
    ),
    "repeated": Signal("1 if another candidate has the same text, else 0", lambda facts: facts.repeated),
}

SIGNALS: Mapping[str, Signal] = MappingProxyType(_TABLE)
"""All signals by name."""


def signals(query: str, candidates: Candidates, names: Sequence[str] = tuple(SIGNALS)) -> Numbers:
    """Compute signals of candidates.

    Args:
        query: Any text.
        candidates: The candidates of a search.
        names: The signals to compute; see `SIGNALS`.

    Returns:
        An array of shape ``(candidates, names)``. With fewer candidates than `CANDIDATES`, signals that aren't
        standardized are smaller than the table says, unless they are to outweigh others.

    Raises:
        InvalidInputError: A name isn't the name of a signal, or a score of the candidates isn't finite.
    """
    unknown = [name for name in checked_list("names", names) if name not in SIGNALS]
    if unknown:
        raise InvalidInputError(f"{shown(unknown[0])} isn't the name of a signal; give names of SIGNALS")
    matrix = np.zeros((len(candidates), len(names)))
    if not matrix.size:
        return matrix
    for scores in (candidates.dense, candidates.lexical):
        if not np.isfinite(scores).all():
            raise InvalidInputError(
                f"a score of {shown(query)} is not finite; give an embedder and a store with finite scores"
            )
    evidence = Evidence(query, candidates)
    for column, name in enumerate(names):
        matrix[:, column] = SIGNALS[name].compute(evidence)
    is_standardized = np.array([SIGNALS[name].is_standardized for name in names])
    matrix[:, is_standardized] = standardized(matrix[:, is_standardized])
    # Among few candidates, the best stands fewer standard deviations above the mean, so the others would outweigh it.
    is_smaller = ~is_standardized & [not SIGNALS[name].outweighs_others for name in names]
    matrix[:, is_smaller] *= min(1.0, np.log(len(candidates)) / np.log(CANDIDATES))
    return matrix


def _log_chars(lengths: Indexes) -> Numbers:
    return np.asarray(np.log(np.maximum(lengths, 1)) - _LOG_CHARS)


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


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
