"""The results of an evaluation, as tables and JSON."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from langchain_sentence_window._display import aligned, shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.errors import InvalidInputError

from . import metrics
from .gold import LostGold
from .questions import Question, as_record

MIN_USED = 0.9
"""The share of the largest budget that must be used; below it, a table notes that results aren't comparable."""

MIN_QUESTIONS = 20
"""With fewer questions, a table notes that its intervals are rough."""

MAX_LOST = 10
"""Questions with lost gold that a table names."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """A question, the passages that a retriever returned for it, and their scores.

    Attributes:
        question: The question.
        passages: The passages, in the retriever's order.
        scores: One score for each budget.
        wrong_section: Whether the first passage shares no section with the gold, or there is no passage;
            ``None`` if the sections are unknown.
    """

    question: Question
    passages: tuple[metrics.Passage, ...]
    scores: tuple[metrics.Score, ...]
    wrong_section: bool | None


@dataclass(frozen=True)
class Report:
    """The evaluation of one retriever.

    ``str(report)`` is a table. All shares lie between 0 and 1; the table shows them in percent.

    Attributes:
        budgets: The budgets, in rising order.
        unit: The unit of the budgets: ``characters`` or ``tokens``.
        results: One result for each question whose gold was found, in their order. Each question has its gold as it was
            when it was measured, and its text.
        count: Counts how much of a budget a text takes.
        lost: The questions whose gold wasn't found. They aren't counted.
    """

    budgets: tuple[int, ...]
    unit: str
    results: tuple[QuestionResult, ...] = field(repr=False)
    count: metrics.Count
    lost: tuple[LostGold, ...] = ()

    @cached_property
    def averages(self) -> tuple[metrics.Averages, ...]:
        """The means over questions, one for each budget."""
        return tuple(
            metrics.average(budget, [result.scores[i] for result in self.results])
            for i, budget in enumerate(self.budgets)
        )

    @cached_property
    def wrong_section(self) -> metrics.MeanCI | None:
        """The share of questions whose first passage is from a wrong section; ``None`` if unknown."""
        known = [[result.wrong_section] for result in self.results if result.wrong_section is not None]
        return metrics.mean_cis(known, metrics.OF_SHARES)[0] if len(known) == len(self.results) else None

    def at(self, budget: int) -> metrics.Averages:
        """Return the means at one of the budgets.

        Raises:
            InvalidInputError: The budget wasn't measured.
        """
        return self.averages[self._index_of(budget)]

    def values(self, metric: str, budget: int) -> list[float]:
        """Return the values of a metric at a budget, one for each question.

        Raises:
            InvalidInputError: The metric doesn't exist, or the budget wasn't measured.
        """
        at = self._index_of(budget)
        if metric not in metrics.METRICS:
            raise _not_measured(metric, metrics.METRICS)
        return [float(getattr(result.scores[at], metric)) for result in self.results]

    def _index_of(self, budget: int) -> int:
        if budget not in self.budgets:
            raise _not_measured(budget, self.budgets)
        return self.budgets.index(budget)

    def to_dict(self) -> dict[str, Any]:
        """Return the report in plain types, with the spans of all passages but without their text."""
        return {
            "unit": self.unit,
            "budgets": list(self.budgets),
            "averages": [asdict(averages) for averages in self.averages],
            "wrong_section": None if self.wrong_section is None else asdict(self.wrong_section),
            "questions": [
                {
                    **as_record(result.question),
                    "found": [{"doc_id": passage.doc_id, "span": passage.span} for passage in result.passages],
                    "scores": [asdict(score) for score in result.scores],
                    "wrong_section": result.wrong_section,
                }
                for result in self.results
            ],
            "lost": [
                {
                    **as_record(each.question),
                    "reason": each.reason,
                    "sought": each.sought,
                    "documents": list(each.documents),
                    "message": str(each),
                }
                for each in self.lost
            ],
        }

    def to_json(self) -> str:
        """Return the result of `to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def __str__(self) -> str:
        """Return a table with a line for each budget."""
        rows = [[self.unit, *map(metrics.title, metrics.SHARES), "used"]]
        for means in self.averages:
            shares = [getattr(means, name) for name in metrics.SHARES]
            rows.append([f"{means.budget:,}", *map(_interval, shares), f"{means.used.mean:,.0f}"])
        return "\n".join(
            [
                f"{len(self.results):,} questions, means in % [{metrics.CONFIDENCE:.0%} interval]",
                *aligned(rows),
                f"first passage from a wrong section: {_interval(self.wrong_section) if self.wrong_section else '-'}",
                *remarks([self]),
            ]
        )


@dataclass(frozen=True)
class Comparison:
    """Reports of several retrievers on the same questions and budgets; ``str(comparison)`` is a table.

    Attributes:
        reports: The reports, by the retriever's name or its settings.
    """

    reports: Mapping[str, Report]

    def difference(self, one: str, other: str, budget: int, metric: str = "recall") -> metrics.MeanCI:
        """Return how much better one retriever is than another, question by question.

        Args:
            one: A name in ``reports``.
            other: Another name, whose values are subtracted.
            budget: One of the budgets.
            metric: ``recall``, ``precision``, ``iou``, ``full_coverage`` or ``used``.

        Returns:
            The mean difference. An interval without 0 means that the two differ.

        Raises:
            InvalidInputError: A name, the budget or the metric doesn't exist.
        """
        for name in (one, other):
            if name not in list(self.reports):  # also of names that can't be hashed
                raise _not_measured(name, self.reports)
        left, right = (self.reports[name].values(metric, budget) for name in (one, other))
        ends = metrics.OF_DIFFERENCES if metric in metrics.SHARES else None
        return metrics.mean_cis([[a - b] for a, b in zip(left, right, strict=True)], ends)[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the `Report.to_dict` of each report by name."""
        return {name: report.to_dict() for name, report in self.reports.items()}

    def __str__(self) -> str:
        """Return a table with a line for each retriever."""
        some = next(iter(self.reports.values()))
        columns = [(metric, budget) for metric in ("recall", "full_coverage") for budget in some.budgets]
        heads = ["covered" if metric == "full_coverage" else metric for metric, _ in columns]
        rows = [
            ["", *heads, "wrong"],
            [f"% of {len(some.results):,} questions", *(f"at {budget:,}" for _, budget in columns), "section"],
        ]
        for name, report in self.reports.items():
            shares = [getattr(report.at(budget), metric) for metric, budget in columns]
            rows.append([name, *map(_percent, [*shares, report.wrong_section])])
        return "\n".join([*aligned(rows), *remarks(self.reports.values())])


def _not_measured(value: object, measured: Iterable[object]) -> InvalidInputError:
    return InvalidInputError(f"{shown(value)} wasn't measured; choose from {', '.join(map(repr, measured))}")


def remarks(reports: Collection[Report]) -> list[str]:
    """Return notes on what makes a table less reliable."""
    some = next(iter(reports))
    few = few_questions(len(some.results))
    notes = [few] if few else []
    if some.lost:
        notes.append(f"Note: {len(some.lost):,} more questions aren't counted, because their gold isn't found:")
        notes += [f"  {each}" for each in some.lost[:MAX_LOST]]
    if len(some.lost) > MAX_LOST:
        notes.append(f"  and {len(some.lost) - MAX_LOST:,} more; the JSON names all of them")
    least = min(report.averages[-1].used.mean for report in reports)
    if least < MIN_USED * some.budgets[-1]:
        notes.append(
            f"Note: of {some.budgets[-1]:,} {some.unit}, as few as {least:,.0f} came back on average; raise k to "
            "compare at equal context."
        )
    seen = {passage.doc_id for report in reports for result in report.results for passage in result.passages}
    unseen = {result.question.doc_id: None for result in some.results if result.question.doc_id not in seen}
    if unseen:
        notes.append(
            f"Note: nothing was found of {listed(unseen)}; check that questions and retriever use the same names."
        )
    return notes


def few_questions(count: int) -> str:
    """Return a note that intervals are rough; an empty string if there are enough questions."""
    if count >= MIN_QUESTIONS:
        return ""
    few = f"{count} question{'s' * (count != 1)}"
    return f"Note: with only {few}, intervals are rough, and mostly too narrow; ask {MIN_QUESTIONS} or more."


def _percent(estimate: metrics.MeanCI | None) -> str:
    """Return a share in percent; a dash if unknown."""
    return "-" if estimate is None else f"{100 * estimate.mean:.1f}"


def _interval(estimate: metrics.MeanCI) -> str:
    """Return a share in percent, with the ends of its interval."""
    return f"{100 * estimate.mean:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
