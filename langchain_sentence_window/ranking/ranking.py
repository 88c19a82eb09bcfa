"""`Ranking`: how much each signal counts, and the reordering of candidates by it.

A ranking is a few named numbers that a reader can check and change in a text file. The default one holds for any
collection.

A signal says one thing about a candidate that a reader can check, such as the share of the query's words around it. No
signal needs a vector, so they are the same for every embedder and store.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_number, checked_list, checked_weight
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.windows.completion import MAX_LABEL_CHARS, MIN_CHARS, is_label

from .candidates import CANDIDATES, Candidates, Indexes, JoinedTexts, Numbers, standardized
from .words import Flags, QueryTerms, WordMatches, find_words, inverse_document_frequency, query_terms

NEAR = 2
"""Sentences between which scores count as near, in the same section."""

BEST = 3
"""Scores of a document or section that speak for it, the best ones."""

_WORD_CHARACTER = re.compile(r"\w")
_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|old|often)|when|what (?:year|date|century)|which (?:year|date)|percent|percentage|"
    r"number of|amount|rate)\b",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(
    r"\b(?:who|whom|whose|where|which person|name of|"
    r"what (?:is the name|was the name|city|country|place|river|company|group|university|team))\b",
    re.IGNORECASE,
)
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
    compute: Callable[["Evidence"], Numbers]
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
        "mean of its document's three best scores by meaning", lambda facts: best_mean(facts.dense, facts.groups[0])
    ),
    "section": _scored(
        "mean of its section's three best scores by meaning", lambda facts: best_mean(facts.dense, facts.groups[1])
    ),
    "lexical": _of_words("BM25 score", lambda facts: facts.lexical),
    "lexical_rank": _of_words(
        "minus the logarithm of 1 + the number of better BM25 scores", lambda facts: -np.log1p(rank(facts.lexical))
    ),
    # Words of the query that it holds.
    "coverage_own": _of_words(
        "share of the query's words in it; rare ones count more", lambda facts: facts.share(facts.rarity)
    ),
    "coverage": _of_words(
        "share of the query's words in it, its neighbors or its heading path; rare ones count more",
        lambda facts: facts.coverage,
    ),
    "bigrams": _of_words(
        "pairs of adjacent query words in it; rare ones count more", lambda facts: facts.bigrams[: len(facts.lengths)]
    ),
    "bigrams_near": _of_words(
        "the same, with 0.3 of those in each neighbor",
        lambda facts: (
            facts.bigrams[: len(facts.lengths)]
            + _NEIGHBOR_SHARE * (facts.bigrams[facts.candidates.before] + facts.bigrams[facts.candidates.after])
        ),
    ),
    "numbers": Signal(
        "share of the query's whole numbers in it",
        lambda facts: facts.share(np.array([word.isdecimal() for word in facts.terms.words], dtype=np.float64)),
        is_of_words=True,
    ),
    "names": Signal(
        "share of the query's capitalized words in it, the query's first word left out",
        lambda facts: facts.share(np.array(facts.terms.capitalized, dtype=np.float64)),
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
    "length": Signal(
        "logarithm of its characters, minus 5", lambda facts: np.log(np.maximum(facts.lengths, 1)) - _LOG_CHARS
    ),
    "window_length": Signal(
        "logarithm of the characters of its window, minus 5: of it, and of the next one if it is short or a label",
        lambda facts: np.log(np.maximum(facts.window_lengths, 1)) - _LOG_CHARS,
    ),
    "long": Signal("1 for more than 400 characters, else 0", lambda facts: (facts.lengths > _LONG).astype(np.float64)),
    "short": Signal("1 for less than 40 characters, else 0", lambda facts: (facts.lengths < _SHORT).astype(np.float64)),
    "label": Signal("1 if it only names what follows, else 0", lambda facts: facts.labels),
    "question": Signal("1 if it ends with a question mark, else 0", lambda facts: facts.flags(ends_with_question_mark)),
    "line_break": Signal("1 if it holds a line break, else 0", lambda facts: facts.flags(lambda text: "\n" in text)),
    "digit": Signal("1 if it holds a digit, else 0", lambda facts: facts.flags(_DIGIT.search)),
    "digit_asked": Signal(
        "the same if the query asks for a number or a date in English, else 0",
        lambda facts: facts.flags(_DIGIT.search) if _ASKS_NUMBER.search(facts.query) else np.zeros(len(facts.lengths)),
    ),
    "capitals": Signal("logarithm of 1 + the number of capitalized words inside it", lambda facts: facts.capitals()),
    "capitals_asked": Signal(
        "the same if the query asks for a person, a place or a body in English, else 0",
        lambda facts: facts.capitals() * (_ASKS_NAME.search(facts.query) is not None),
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
    return _computed(query, candidates, names)[0]


def _computed(query: str, candidates: Candidates, names: Sequence[str]) -> "tuple[Numbers, Evidence | None]":
    """Compute signals by names that are known, and return the facts that they are of, too."""
    size = len(candidates.keys)
    matrix = np.zeros((size, len(names)))
    if not matrix.size:
        return matrix, None
    if not (np.isfinite(candidates.dense).all() and np.isfinite(candidates.lexical).all()):
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
    matrix[:, is_smaller] *= min(1.0, np.log(size) / np.log(CANDIDATES))
    return matrix, evidence


class Evidence:
    """Facts about ``n`` candidates, one or more, from which signals are computed.

    All are finite if the dense and the lexical scores are. What several signals need is computed once, when it is first
    asked for. Each array has ``n`` numbers, if nothing else is said.

    Attributes:
        query: The query.
        candidates: The candidates.
        terms: The words of the query.
        dense: Scores by meaning, divided by one number so that their sums are finite.
        lexical: BM25 scores, divided likewise.
        indexes: Indexes of the sentences in their documents.
        places: Indexes of the sentences in their sections.
        lengths: Characters of the sentences.
    """

    def __init__(self, query: str, candidates: Candidates) -> None:
        """Look at candidates."""
        self.query: str = query
        self.candidates: Candidates = candidates
        self.terms: QueryTerms = query_terms(query)
        texts = candidates.texts
        self._texts = texts if isinstance(texts, JoinedTexts) else JoinedTexts.of(texts)
        self._all_lengths = np.append(self._texts.ends - self._texts.starts, 0)  # no text is row -1
        dense, lexical = (np.asarray(each, dtype=np.float64) for each in (candidates.dense, candidates.lexical))
        self.dense: Numbers = dense / max(1.0, float(np.abs(dense).max()))
        self.lexical: Numbers = lexical / max(1.0, float(np.abs(lexical).max()))
        self.indexes: Indexes = np.array([index for _, index in candidates.keys], dtype=np.int64)
        self.places: Indexes = np.asarray(self.indexes - candidates.section_starts)
        self.lengths: Indexes = self._all_lengths[: len(self.indexes)]

    @property
    def dense_near(self) -> Numbers:
        """The best score by meaning of other candidates near it; the lowest score if there is none."""
        candidates, lowest = self.candidates, float(self.dense.min())
        scores = dict(zip(candidates.keys, self.dense.tolist(), strict=True))
        starts = np.maximum(candidates.section_starts, self.indexes - NEAR).tolist()
        ends = np.minimum(candidates.section_ends, self.indexes + NEAR + 1).tolist()
        around = [
            [scores.get((document, near), lowest) for near in range(start, end) if near != index]
            for (document, index), start, end in zip(candidates.keys, starts, ends, strict=True)
        ]
        return np.array([max(near, default=lowest) for near in around])

    @cached_property
    def groups(self) -> tuple[Indexes, Indexes]:
        """A number for the document of each, from 0, and one for its section."""
        documents = self.candidates.documents
        if documents is None:
            numbers: dict[str, int] = {}
            documents = np.array([numbers.setdefault(document, len(numbers)) for document, _ in self.candidates.keys])
        documents = np.asarray(np.unique(documents, return_inverse=True)[1])
        different, starts = np.unique(self.candidates.section_starts, return_inverse=True)
        return documents, np.asarray(np.unique(documents * len(different) + starts, return_inverse=True)[1])

    @cached_property
    def labels(self) -> Numbers:
        """1 for a sentence that only names what follows, else 0."""
        labels, texts = np.zeros(len(self.lengths)), self._texts
        short = np.flatnonzero(self.lengths < MAX_LABEL_CHARS)
        spans = zip(texts.starts[short].tolist(), texts.ends[short].tolist(), strict=True)
        labels[short] = [is_label(texts.joined[start:end]) for start, end in spans]
        return labels

    @property
    def window_lengths(self) -> Indexes:
        """Characters of the windows: of a sentence, and of the next one if it is short or a label."""
        after = self.candidates.after
        opens = ((self.lengths < MIN_CHARS) | (self.labels > 0)) & (after >= 0)
        return np.where(opens, self.lengths + 1 + self._all_lengths[after], self.lengths)

    @cached_property
    def matches(self) -> WordMatches:
        """The query's words in all texts, then in the different headings, then in no text, which is row -1."""
        texts, headings = self._texts, JoinedTexts.of([*dict.fromkeys(self.candidates.headings), ""])
        beyond = len(texts.joined) + 1
        starts = np.concatenate([texts.starts, headings.starts + beyond])
        ends = np.concatenate([texts.ends, headings.ends + beyond])
        return find_words(self.terms, JoinedTexts(f"{texts.joined}\n{headings.joined}", starts, ends))

    @cached_property
    def rarity(self) -> Numbers:
        """How rare the query's words are in the collection, or among the candidates if only these are known."""
        count, size = self.candidates.document_frequency, len(self.lengths)
        if count is None or not self.terms.words:
            return inverse_document_frequency(self.matches.words[:size].sum(axis=0), size)
        return inverse_document_frequency(*count(self.terms.words))

    @cached_property
    def bigrams(self) -> Numbers:
        """The weight of the pairs of query words in each text of `matches`; those in few candidates weigh more."""
        pairs, size = self.matches.pairs, len(self.lengths)
        return np.asarray(np.einsum("ij,j->i", pairs, inverse_document_frequency(pairs[:size].sum(axis=0), size)))

    @property
    def repeated(self) -> Numbers:
        """1 for a text that another candidate has too, letter case and white space aside, else 0."""
        texts = [" ".join(text.lower().split()) for text in islice(self._texts, len(self.lengths))]
        counts = Counter(texts)
        return np.array([counts[text] > 1 for text in texts], dtype=np.float64)

    @cached_property
    def coverage(self) -> Numbers:
        """The share of the query's words in a sentence, those beside it, or its heading path; rare ones count more."""
        words, candidates = self.matches.words, self.candidates
        rows = {heading: row for row, heading in enumerate(dict.fromkeys(candidates.headings), len(self._texts.starts))}
        headings = words[[rows[heading] for heading in candidates.headings]]
        around = words[candidates.before] | words[candidates.after] | headings
        return self.share(self.rarity, around)

    def share(self, weights: Numbers, around: Flags | None = None) -> Numbers:
        """Return the share of the query's words that each sentence or what is around it holds; 0 for no weights."""
        held = self.matches.words[: len(self.lengths)]
        held = held if around is None else held | around
        total = float(weights.sum())
        return np.asarray(np.einsum("ij,j->i", held, weights) / total) if total > 0 else np.zeros(len(held))

    def flags(self, holds: Callable[[str], object]) -> Numbers:
        """Return 1 for each sentence whose text something holds of, else 0."""
        return np.array([bool(holds(text)) for text in islice(self._texts, len(self.lengths))], dtype=np.float64)

    def capitals(self) -> Numbers:
        """Return the logarithm of 1 + the number of capitalized words inside each sentence."""
        texts = islice(self._texts, len(self.lengths))
        return np.log1p(np.array([len(_CAPITALIZED.findall(text)) for text in texts], dtype=np.float64))

    def kinds(self, *kinds: str) -> Numbers:
        """Return 1 for each sentence of a block of one of some kinds, else 0."""
        return np.array([kind in kinds for kind in self.candidates.kinds], dtype=np.float64)


def rank(scores: Numbers) -> Numbers:
    """Return the number of better scores for each score."""
    return np.asarray(np.searchsorted(np.sort(-scores), -scores, side="left"), dtype=np.float64)


def best_mean(scores: Numbers, groups: Indexes) -> Numbers:
    """Return for each score the mean of the best scores of its group, `BEST` or fewer."""
    order = np.lexsort((-scores, groups))
    starts = np.searchsorted(groups[order], groups[order], side="left")
    best = order[np.arange(len(order)) - starts < BEST]
    sums = np.bincount(groups[best], weights=scores[best])
    return np.asarray((sums / np.bincount(groups[best]))[groups])


def ends_with_question_mark(text: str) -> bool:
    """Tell whether a text ends with a question mark, with quotation marks and brackets after it or not."""
    mark = text.rfind("?")
    return mark >= 0 and _WORD_CHARACTER.search(text, mark) is None


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
        content = {"format": FORMAT, "version": VERSION, "description": self.description, "weights": dict(self.weights)}
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
                f"{where} has version {shown(version)}, and this version reads {VERSION}; upgrade, or fit it again"
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
        evidence: The facts that they were ordered by; ``None`` if there are none.
    """

    order: Indexes
    scores: Numbers
    names: tuple[str, ...]
    contributions: Numbers
    evidence: "Evidence | None" = None


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
    given = ranking.weights
    weighed = {name: weight * (word_weight if SIGNALS[name].is_of_words else 1.0) for name, weight in given.items()}
    # Where words count less, what says nothing of the query counts less in proportion.
    matching = [name for name in given if SIGNALS[name].is_standardized]
    before, after = (sum(abs(each[name]) for name in matching) for each in (given, weighed))
    kept = min(1.0, after / before) if before else 1.0
    weighed = {name: weight * (1.0 if name in matching else kept) for name, weight in weighed.items()}
    weights = np.array([weight for weight in weighed.values() if weight])
    names = tuple(name for name, weight in weighed.items() if weight)
    scale = sum(abs(weight) for name, weight in weighed.items() if not SIGNALS[name].outweighs_others)
    shares = weights / (SCALE * (scale or 1.0))
    computed, evidence = _computed(query, candidates, names)
    contributions = computed * shares + 0.0  # no minus before a zero
    totals = contributions.sum(axis=1)
    order = np.lexsort((-np.asarray(candidates.dense), -totals))
    return Reordered(order, np.clip(totals, -1.0, 1.0), names, contributions, evidence)


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
        raise ValueError("a key occurs twice")
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
