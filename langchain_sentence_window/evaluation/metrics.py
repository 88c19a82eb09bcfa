"""The metrics of an evaluation: how much of the gold a context of a given size contains.

They are those of Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", 2024
(https://research.trychroma.com/evaluating-chunking), at equal context: passages are read best first until a budget is
spent, and text that is returned twice counts twice.

To add a metric, add a field to `Score` and to `Averages`, and compute it in `score`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Span

FULL_COVERAGE = 0.95
"""The recall at which a question's gold counts as wholly covered. It is below 1, as a gold span often has a space or a
full stop more than the sentence."""

RESAMPLES = 1_000
"""The number of bootstrap samples for an interval."""

CONFIDENCE = 0.95
"""The share of the bootstrap means that lie in an interval."""

OF_SHARES, OF_DIFFERENCES = (0.0, 1.0), (-1.0, 1.0)
"""The lowest and the highest value that a share can have, and the difference of two shares."""

Count = Callable[[str], int]
"""Returns how much of a budget a text takes, such as ``len``."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that a retriever returned.

    Attributes:
        doc_id: The document that it is from.
        start: Its first code point there; ``None`` if unknown, so that it covers no gold.
        text: The text, all of which counts against the budget.
    """

    doc_id: str
    start: int | None
    text: str

    @property
    def span(self) -> Span | None:
        """Its half-open span in the document; ``None`` if unknown."""
        return None if self.start is None else (self.start, self.start + len(self.text))


@dataclass(frozen=True, slots=True)
class Score:
    """The metrics of one question.

    Attributes:
        recall: The share of the gold characters that the context contains.
        precision: The share of the context's characters that are gold. A repetition isn't gold.
        iou: The gold characters in the context, divided by the characters of gold and context together
            (intersection over union).
        full_coverage: 1 if the recall is at least `FULL_COVERAGE`, else 0.
        used: The size of the context, in the budget's unit.
    """

    recall: float
    precision: float
    iou: float
    full_coverage: int
    used: int


@dataclass(frozen=True, slots=True)
class MeanCI:
    """A mean over questions, and the ends of its interval; see `mean_cis`."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Averages:
    """The means of each metric over all questions at one budget; see `Score`."""

    budget: int
    recall: MeanCI
    precision: MeanCI
    iou: MeanCI
    full_coverage: MeanCI
    used: MeanCI


METRICS = tuple(field.name for field in fields(Score))
"""The names of all metrics."""

SHARES = tuple(name for name in METRICS if name != "used")
"""The names of the metrics that lie between 0 and 1."""

_TITLES = {"iou": "IoU", "full_coverage": "wholly covered"}


def title(metric: str) -> str:
    """Return the title of a metric's column."""
    return _TITLES.get(metric, metric)


def average(budget: int, scores: Sequence[Score]) -> Averages:
    """Average the scores of all questions at one budget."""
    means = mean_cis([[getattr(score, name) for name in SHARES] for score in scores], OF_SHARES)
    (used,) = mean_cis([[score.used] for score in scores], None)
    return Averages(budget, used=used, **dict(zip(SHARES, means, strict=True)))


def within_budget(passages: Sequence[Passage], budget: int, count: Count) -> list[Passage]:
    """Return passages in their order until the budget is spent; the last one is cut to the rest of it."""
    left, taken = budget, list[Passage]()
    for passage in passages:
        cost = count(passage.text)
        if cost > left:
            text = _longest_prefix(passage.text, left, count)
            return [*taken, Passage(passage.doc_id, passage.start, text)] if text else taken
        taken.append(passage)
        left -= cost
    return taken


def score(context: Sequence[Passage], doc_id: str, gold: Iterable[Span], count: Count) -> Score:
    """Compare a context with the gold spans of a document.

    Args:
        context: The passages that a model would be given. Without any, every metric is 0.
        doc_id: The document of the gold.
        gold: Half-open spans, at least one, in any order.
        count: Counts how much of a budget a text takes.
    """
    gold = union(gold)
    wanted = sum(end - start for start, end in gold)
    paid = sum(len(passage.text) for passage in context)
    held = covered((passage.span for passage in context if passage.doc_id == doc_id and passage.span), gold)
    recall = held / wanted
    return Score(
        recall=recall,
        precision=held / paid if paid else 0.0,
        iou=held / (wanted + paid - held),
        full_coverage=int(recall >= FULL_COVERAGE),
        used=sum(count(passage.text) for passage in context),
    )


def union(spans: Iterable[Span]) -> list[Span]:
    """Merge spans that overlap or touch; the result is sorted and disjoint."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def covered(context: Iterable[Span], gold: Iterable[Span]) -> int:
    """Return the number of gold characters in the context, each counted once."""
    gold = union(gold)
    return sum(max(0, min(b, d) - max(a, c)) for a, b in union(context) for c, d in gold)


def is_wrong_section(first: Passage | None, doc_id: str, gold: Iterable[Span], section_starts: Sequence[int]) -> bool:
    """Return whether the first passage shares no section with the gold, or there is no passage.

    Args:
        first: The first passage that a retriever returned. If it spans several sections, it lies in each of them.
        doc_id: The document of the gold.
        gold: Half-open spans.
        section_starts: The first code point of each section of that document, in order.
    """
    if first is None or first.doc_id != doc_id or first.span is None:
        return True
    mine = _section_numbers(first.span, section_starts)
    return not any(set(mine) & set(_section_numbers(span, section_starts)) for span in gold)


def mean_cis(values: npt.ArrayLike, ends: tuple[float, float] | None) -> list[MeanCI]:
    """Average over questions, with percentile bootstrap intervals (Efron, 1979).

    If all questions have the same value, their resamples are equal, too, and the interval would have no width even for
    two questions. But a share of ``1 - 0.025 ** (1 / n)`` of all questions may have other values and not appear among
    ``n`` questions (Clopper and Pearson, 1934). The interval extends as far as this share can move the mean.

    Args:
        values: An array of shape ``(questions, metrics)``.
        ends: The lowest and the highest value that a question can have; ``None`` if there is no highest. The interval
            of equal values has no width then.

    Returns:
        One estimate for each metric.
    """
    table = np.asarray(values, dtype=np.float64)
    count = len(table)
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    means = table.mean(axis=0)
    resampled = np.einsum("ij,jk->ik", drawn, table) / count
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    if ends is not None:
        missed = 1 - ((1 - CONFIDENCE) / 2) ** (1 / count)
        is_equal = np.ptp(table, axis=0) == 0
        low = np.where(is_equal, means - missed * (means - ends[0]), low)
        high = np.where(is_equal, means + missed * (ends[1] - means), high)
    return [MeanCI(*map(float, column)) for column in zip(means, low, high, strict=True)]


def _longest_prefix(text: str, budget: int, count: Count) -> str:
    # Some counters count tokens of an empty text too.
    return text[: max(0, bisect_right(range(len(text) + 1), budget, key=lambda end: count(text[:end])) - 1)]


def _section_numbers(span: Span, starts: Sequence[int]) -> range:
    """Return the numbers of the sections that a span touches."""
    return range(bisect_right(starts, span[0]), bisect_right(starts, span[1] - 1) + 1)
