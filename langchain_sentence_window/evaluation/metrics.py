"""The arithmetic of evaluation: how much of the gold a context of a given size holds.

The measures are those of Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", 2024
(https://research.trychroma.com/evaluating-chunking), taken at equal context: what a retriever returns
is read best first until a budget is spent, and text that is returned twice is paid for twice.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Span

FULL_COVERAGE = 0.95
"""The recall from which on a question's gold counts as wholly covered: gold spans often take in a space
or a full stop more than the sentence does."""

RESAMPLES = 1_000
"""How often questions are drawn anew for an interval."""

CONFIDENCE = 0.95
"""The share of the resampled means that lie in an interval."""

Count = Callable[[str], int]
"""How much of a budget a text takes, e.g. ``len``."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that a retriever returned.

    Attributes:
        doc_id: The document it is from.
        start: Its first code point there; ``None`` if it isn't known, and it covers no gold then.
        text: What is paid for.
    """

    doc_id: str
    start: int | None
    text: str

    @property
    def span(self) -> Span | None:
        """Its place in the document, half-open; ``None`` if it isn't known."""
        return None if self.start is None else (self.start, self.start + len(self.text))


@dataclass(frozen=True, slots=True)
class Score:
    """How well a context answers one question.

    Attributes:
        used: What the context takes of the budget, in the budget's unit.
        recall: The share of the gold characters that the context holds.
        precision: The share of the context's characters that are gold; a repetition isn't.
        iou: Gold characters held, by the characters of gold and context together (intersection over union).
        full_coverage: 1 if the recall is at least `FULL_COVERAGE`, else 0.
    """

    used: int
    recall: float
    precision: float
    iou: float
    full_coverage: int


METRICS = ("recall", "precision", "iou", "full_coverage", "used")


@dataclass(frozen=True, slots=True)
class MeanCI:
    """A mean over questions, and the ends of its bootstrap interval."""

    mean: float
    low: float
    high: float


def within_budget(passages: Sequence[Passage], budget: int, count: Count) -> list[Passage]:
    """Take passages in their order until the budget is spent; the last one is cut to what is left."""
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
        context: What a model would be given; nothing of it scores 0 throughout.
        doc_id: The document of the gold.
        gold: Half-open spans, at least one, in any order.
        count: What a text takes of a budget.
    """
    gold = union(gold)
    wanted = sum(end - start for start, end in gold)
    paid = sum(len(passage.text) for passage in context)
    held = covered((passage.span for passage in context if passage.doc_id == doc_id and passage.span), gold)
    recall = held / wanted
    return Score(
        used=sum(count(passage.text) for passage in context),
        recall=recall,
        precision=held / paid if paid else 0.0,
        iou=held / (wanted + paid - held),
        full_coverage=int(recall >= FULL_COVERAGE),
    )


def union(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap or touch; what comes back is sorted and disjoint."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def covered(context: Iterable[Span], gold: Iterable[Span]) -> int:
    """Count the gold characters that lie in the context, each once."""
    gold = union(gold)
    return sum(max(0, min(b, d) - max(a, c)) for a, b in union(context) for c, d in gold)


def is_elsewhere(first: Passage | None, doc_id: str, gold: Iterable[Span], section_starts: Sequence[int]) -> bool:
    """Whether a passage lies in none of the sections that hold gold; no passage at all does.

    Args:
        first: What a retriever returned first. One that runs over several sections lies in each of them.
        doc_id: The document of the gold.
        gold: Half-open spans.
        section_starts: Where the sections of that document begin, in order.
    """
    if first is None or first.doc_id != doc_id or first.span is None:
        return True
    mine = _sections(first.span, section_starts)
    return not any(set(mine) & set(_sections(span, section_starts)) for span in gold)


def mean_cis(values: npt.ArrayLike, seed: int = 0) -> list[MeanCI]:
    """Average over questions, with percentile bootstrap intervals (Efron, 1979).

    Args:
        values: Of shape ``(questions, metrics)``.
        seed: Of the resampling; the same one gives the same intervals.

    Returns:
        One estimate for each metric.
    """
    table = np.asarray(values, dtype=np.float64)
    count = len(table)
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    low, high = np.quantile(drawn @ table / count, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return [MeanCI(*map(float, column)) for column in zip(table.mean(axis=0), low, high, strict=True)]


def _longest_prefix(text: str, budget: int, count: Count) -> str:
    # Some counters find tokens in an empty text as well.
    return text[: max(0, bisect_right(range(len(text) + 1), budget, key=lambda end: count(text[:end])) - 1)]


def _sections(span: Span, starts: Sequence[int]) -> range:
    return range(bisect_right(starts, span[0]), bisect_right(starts, span[1] - 1) + 1)
