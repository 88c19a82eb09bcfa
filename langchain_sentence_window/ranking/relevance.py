"""How likely it is that what a search found answers the query, and which candidates are worth returning.

Whether a cosine is high depends on the embedder: unrelated texts have cosines of 0 with one, and of 0.7 with another.
So the scale comes from the collection itself: from the least cosines that its sentences have with the query, whose
subject most of them don't touch. How far the best cosine is above these, and how many of the query's words are near
the first candidates, give a probability, by weights that were fitted to questions of several collections asked of each
other.

This recognizes other subjects and nonsense. It says less about a query of the same subject that has no answer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._primitives import Vectors

from .candidates import Indexes, Numbers

SAMPLED_SENTENCES = 200
"""Sentences of a collection, spread evenly, whose cosines with a query show how close unrelated ones are."""

UNRELATED_SHARE = 0.05
"""The share of their cosines that is below that of unrelated ones. It is small, as in a collection of a single document
most sentences have something to do with a question on it."""

MAX_UNRELATED = 0.99
"""The largest cosine of unrelated sentences. Above it they are copies of one sentence, which show nothing."""

MIN_SAMPLED = 8
"""Sentences that are needed for that."""

READ_FIRST = 3
"""Leading candidates whose words are looked at."""

CLOSENESS_WEIGHT = 25.0
"""The weight of a closeness of 1 in the logit of the probability. Fitted, as are the others; see the benchmarks
page."""

COVERAGE_WEIGHT = 9.0
"""The weight of a coverage of 1."""

CODE_WEIGHT = 2.4
"""Added where the first candidates are source code, which is farther from any question than prose is."""

SIZE_WEIGHT = -1.05
"""The weight of the logarithm of the number of sentences: the more there are, the closer is the closest of unrelated
ones."""

START = -6.3
"""The logit for a closeness and a coverage of 0 in a collection of one sentence."""

UNKNOWN_COVERAGE = 0.25
"""Used as the coverage if no word of the query is near any candidate, as in another language, where words say
nothing."""

COVERAGE_ALONE_WEIGHT, START_ALONE = 16.0, -3.8
"""The weight of a coverage of 1, and the logit for one of 0, where only words are known. The fitted logit is -3.3; this
one puts a coverage near 0 below `NEEDED`."""

NEEDED = 0.03
"""The probability that a query needs for ``min_relevance="auto"`` to return something. See the benchmarks page."""

DOUBTFUL = 0.05
"""The probability below which people and models are warned that what was found may not answer."""

MIN_SHARE = 0.1
"""The least share of the best candidate's lead over the mean that a candidate needs. See the benchmarks page."""

MIN_CANDIDATES = 50
"""Candidates that are needed to leave some out: the mean of fewer says little about sentences that don't answer."""

MAX_CLOSENESS = 2.0
"""The largest closeness, and minus the smallest, as scores may be of any scale."""

_EQUAL = 1e-9  # values that differ by less, as a share of the largest, differ only by rounding


class Unrelated(NamedTuple):
    """How close sentences of a collection are that have little to do with a query.

    Attributes:
        cosine: Their cosine with the query, below 1.
        sentences: The number of sentences of the collection, 1 or more.
    """

    cosine: float
    sentences: int


def unrelated_to(query: Vectors, sample: Vectors, sentences: int) -> Unrelated | None:
    """Look at a sample of a collection; return ``None`` if it is too small.

    Args:
        query: The unit vector of the query.
        sample: Those of sentences of the collection, shape ``(n, dimension)``.
        sentences: The number of all its sentences.
    """
    if len(sample) < MIN_SAMPLED:
        return None
    # Not by `@`, whose threads spin, and don't survive a fork.
    cosines = np.sort(np.einsum("ij,j->i", sample, query))
    return Unrelated(min(MAX_UNRELATED, float(cosines[int(UNRELATED_SHARE * len(cosines))])), sentences)


@dataclass(frozen=True, slots=True)
class Relevance:
    """How likely candidates answer a query.

    Attributes:
        probability: How likely it is that the query is answered, from 0 to 1; ``None`` if neither closeness nor words
            are known.
        supported: The number of leading candidates to return; 0 if the query is of another subject.
        numbers: The numbers that decided, by name, to be shown: ``coverage``; ``best``, ``unrelated`` and ``closeness``
            where the cosine of unrelated sentences is known; ``relevance``, the probability, and ``needed``. None for
            no candidates.
    """

    probability: float | None
    supported: int
    numbers: Mapping[str, float]


def judge_relevance(
    order: Indexes,
    scores: Numbers,
    dense: Numbers,
    coverage: Numbers,
    unrelated: Unrelated | None = None,
    *,
    is_code: Sequence[bool] = (),
    needed: float | None = NEEDED,
) -> Relevance:
    """Judge how likely candidates answer a query, and count those to return.

    Adding one number to all ``scores``, or multiplying them by one above 0, changes nothing.

    Args:
        order: The positions of the ``n`` candidates, best first.
        scores: Their ``n`` scores after reordering, in the order of the candidates, all finite; higher is better.
        dense: Their ``n`` scores by meaning, all finite; higher is better.
        coverage: For each, the share of the query's words in it, its neighbors or its heading path; rare
            words count more. From 0 to 1.
        unrelated: How close sentences are that have little to do with the query, if ``dense`` are cosines. Without
            it, words alone decide. Without words either, there is no probability.
        is_code: Whether each is source code; none if that isn't known.
        needed: The probability below which none is returned; ``None`` to return all candidates.

    Returns:
        The probability, how many to return, and why.
    """
    if not len(order):
        return Relevance(None, 0, MappingProxyType({}))
    first = order[:READ_FIRST].tolist()
    covered, has_words = float(coverage[first].mean()), bool(coverage.max() > 0)
    numbers = {"coverage": covered}
    logit = CODE_WEIGHT * sum([is_code[at] for at in first]) / len(first) if len(is_code) else 0.0
    if unrelated is not None:
        best = float(dense.max())
        closeness = min(MAX_CLOSENESS, max(-MAX_CLOSENESS, (best - unrelated.cosine) / (1 - unrelated.cosine)))
        numbers |= {"best": best, "unrelated": unrelated.cosine, "closeness": closeness}
        logit += START + SIZE_WEIGHT * math.log(unrelated.sentences) + CLOSENESS_WEIGHT * closeness
        logit += COVERAGE_WEIGHT * (covered if has_words else UNKNOWN_COVERAGE)
    elif has_words:
        logit += START_ALONE + COVERAGE_ALONE_WEIGHT * covered
    probability = None if unrelated is None and not has_words else 1 / (1 + math.exp(-logit))
    if probability is not None:
        numbers["relevance"] = probability
    if needed is None:
        return Relevance(probability, len(order), MappingProxyType(numbers))
    numbers["needed"] = needed
    is_answered = probability is None or probability >= needed
    return Relevance(probability, _leading(scores[order]) if is_answered else 0, MappingProxyType(numbers))


def _leading(ordered: Numbers) -> int:
    """Count the candidates before the first whose lead over the mean is a small share of the best one's."""
    ordered = ordered / (float(np.abs(ordered).max()) or 1.0)  # so that sums stay finite
    leads = ordered - ordered.mean()
    if len(ordered) < MIN_CANDIDATES or leads[0] <= _EQUAL:
        return len(ordered)
    below = np.flatnonzero(leads < MIN_SHARE * leads[0])
    return int(below[0]) if len(below) else len(ordered)
