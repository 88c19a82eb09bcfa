"""Tell whether a collection answers a query at all, and which candidates are worth returning.

Whether a cosine is high depends on the embedder: unrelated texts have cosines of 0 with one, and of 0.7 with another.
So the scale comes from the collection's own sentences: how close a sentence, asked like a question, usually comes to
the one that is most like it elsewhere. A query that is much farther from every sentence, and whose rare words aren't
found near the first candidates, is of another subject.

Both say little about a query of the same subject without an answer.

Almost every sentence is close to itself, to those next to it and to its copies. None of these says how close another
place is that speaks of the same, so they are left out of the scale.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import finite_numbers
from langchain_sentence_window.errors import InvalidInputError

from .candidates import Indexes, Numbers

SAMPLED_SENTENCES = 100
"""Sentences of a collection whose closest matches make its scale. See the benchmarks page."""

NEARBY = 8
"""Sentences on each side, in the same document, that aren't taken for the closest match of a sentence: vectors of the
nearest ones are mixed with its own. Nor are sentences with the same text."""

MIN_SAMPLED = 8
"""Closest matches that are needed for a scale."""

READ_FIRST = 3
"""Leading candidates whose words are looked at."""

COVERAGE_WEIGHT = 4.0
"""The weight of a coverage of 1, in standard deviations of closest matches. See the benchmarks page."""

NEEDED = -0.5
"""The support that a query needs. Tuned on questions asked of the wrong collection; see the benchmarks page."""

NEEDED_CLOSENESS = -1.9
"""The same where no word of the query stands near any candidate, as in another language, or in one that is written
without spaces: then words say nothing. See the benchmarks page."""

NEEDED_COVERAGE = 0.15
"""The coverage that a query needs where there is no scale. See the benchmarks page."""

MIN_SHARE = 0.1
"""The least share of the best candidate's lead over the mean that a candidate needs. See the benchmarks page."""

MIN_CANDIDATES = 50
"""Candidates that are needed to leave some out: the mean of fewer says little about sentences that don't answer."""

MAX_CLOSENESS = 10.0
"""The largest closeness, and minus the smallest: beyond it, more tells nothing."""

MAX_SCORE = 1e100
"""The largest score, so that sums and differences are finite."""

_EQUAL = 1e-9  # values that differ by less, as a share of the largest, differ only by rounding


@dataclass(frozen=True, slots=True)
class Relevance:
    """The support for the candidates of a search.

    Attributes:
        supported: The number of leading candidates that the query supports; 0 if it is of another subject.
        numbers: The numbers that decided, by name, to be shown: ``coverage``; ``best``, ``typical``, ``spread`` and
            ``closeness`` where there is a scale; ``support`` and ``needed`` where there is a scale or a word of the
            query. None for no candidates.
    """

    supported: int
    numbers: Mapping[str, float]


def judge_relevance(
    order: Sequence[int] | Indexes,
    scores: Sequence[float] | Numbers,
    dense: Sequence[float] | Numbers,
    coverage: Sequence[float] | Numbers,
    matches: Sequence[float] | Numbers = (),
) -> Relevance:
    """Count the leading candidates that a query supports.

    Adding one number to all of ``dense`` and ``matches``, or multiplying all by one above 0, changes nothing. Neither
    does it for all ``scores``.

    Args:
        order: The positions of the ``n`` candidates, best first.
        scores: The ``n`` scores after reordering, in the order of the candidates; higher is better.
        dense: Their ``n`` scores by meaning, such as cosines; higher is better.
        coverage: For each, the share of the query's words in it, its neighbors or its heading path; rare
            words count more. From 0 to 1.
        matches: For a sample of sentences of the same collection, each asked like a question, the score by meaning of
            the sentence elsewhere in it that is closest; on the scale of ``dense``. Without `MIN_SAMPLED` of them, or
            if all are equal, words alone decide; where there are no words either, nothing is taken to be of another
            subject.

    Returns:
        How many are supported, and why.

    Raises:
        InvalidInputError: The numbers aren't finite, a coverage is out of range, or there isn't one for each candidate.
    """
    scores, dense = _numbers("scores", scores), _numbers("dense", dense)
    coverage, matches = _numbers("coverage", coverage), _numbers("matches", matches)
    order = _checked_order(order, scores, dense, coverage)
    if not len(order):
        return Relevance(0, MappingProxyType({}))
    covered = float(coverage[order[:READ_FIRST]].mean())
    numbers = _closeness(float(dense.max()), matches) | {"coverage": covered}
    closeness, has_words = numbers.get("closeness"), coverage.max() > 0
    if closeness is None and not has_words:
        return Relevance(_leading(scores[order]), MappingProxyType(numbers))
    if closeness is None:
        support, needed = covered, NEEDED_COVERAGE
    elif has_words:
        support, needed = closeness + COVERAGE_WEIGHT * covered, NEEDED
    else:
        support, needed = closeness, NEEDED_CLOSENESS
    numbers |= {"support": support, "needed": needed}
    supported = _leading(scores[order]) if support >= needed else 0
    return Relevance(supported, MappingProxyType(numbers))


def _closeness(best: float, matches: Numbers) -> dict[str, float]:
    """Compare the best score by meaning with closest matches; return no numbers if these are too few, or all equal."""
    if len(matches) < MIN_SAMPLED:
        return {}
    unit = _unit(matches)
    typical, spread = float((matches / unit).mean()), float((matches / unit).std())
    if spread <= _EQUAL:
        return {}
    closeness = float(np.clip((best / unit - typical) / spread, -MAX_CLOSENESS, MAX_CLOSENESS))
    return {"best": best, "typical": typical * unit, "spread": spread * unit, "closeness": closeness}


def _leading(ordered: Numbers) -> int:
    """Count the candidates before the first whose lead over the mean is a small share of the best one's."""
    ordered = ordered / _unit(ordered)
    leads = ordered - ordered.mean()
    if len(ordered) < MIN_CANDIDATES or leads[0] <= _EQUAL:
        return len(ordered)
    below = np.flatnonzero(leads < MIN_SHARE * leads[0])
    return int(below[0]) if len(below) else len(ordered)


def _unit(values: Numbers) -> float:
    """Return the largest absolute value, by which sums of the values stay finite; 1 if all are 0."""
    return float(np.abs(values).max()) or 1.0


def _numbers(name: str, values: Sequence[float] | Numbers | Indexes) -> Numbers:
    array = finite_numbers(name, values)
    if np.abs(array).max(initial=0.0) > MAX_SCORE:
        raise InvalidInputError(f"{name} is {shown(values)}; give numbers of at most {MAX_SCORE:g}")
    return array


def _checked_order(order: Sequence[int] | Indexes, *columns: Numbers) -> Indexes:
    positions = _numbers("order", order)
    if sorted(positions.tolist()) != list(range(len(positions))):
        raise InvalidInputError(f"order is {shown(order)}; give each position, from 0, once")
    for name, column in zip(("scores", "dense", "coverage"), columns, strict=True):
        if len(column) != len(positions):
            raise InvalidInputError(
                f"{name} has {len(column):,} numbers for {len(positions):,} candidates; give one for each"
            )
    coverage = columns[-1]
    if not ((coverage >= -_EQUAL) & (coverage <= 1 + _EQUAL)).all():
        raise InvalidInputError(f"coverage is {shown(coverage)}; give shares from 0 to 1")
    return positions.astype(np.int64)


class PlacedText(NamedTuple):
    """The text of a sentence, or of another Document, and where it stands.

    Attributes:
        document: The number of its source document; ``None`` if it isn't a sentence of one.
        sentence_index: The index of the sentence in its source document; ``None`` if it has none.
        text: Its text.
    """

    document: int | None
    sentence_index: int | None
    text: str


def closest_match(sentence: PlacedText, found: Iterable[tuple[PlacedText, float]]) -> float | None:
    """Return the score of the best match that is elsewhere and says something else.

    Matches don't count if they are at most `NEARBY` sentences away in the same document, which the sentence itself is
    too, or if their text differs in case and white space only.

    Args:
        sentence: The sentence that was searched with.
        found: What was found, with its scores, best first.

    Returns:
        ``None`` if no match counts.
    """
    text = _plain(sentence.text)
    others = (pair for pair in found if not _is_nearby(sentence, pair[0]))
    return next((score for other, score in others if _plain(other.text) != text), None)


def _is_nearby(one: PlacedText, other: PlacedText) -> bool:
    if one.document is None or one.document != other.document:
        return False
    if one.sentence_index is None or other.sentence_index is None:
        return False
    return abs(one.sentence_index - other.sentence_index) <= NEARBY


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
