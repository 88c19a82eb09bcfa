"""What an evaluation found: tables, JSON, a plot, samples for ragas."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from langchain_sentence_window._showing import shown
from langchain_sentence_window._tables import aligned
from langchain_sentence_window._validation import as_integer, listed, optional_count
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.metrics import (
    CONFIDENCE,
    METRICS,
    Count,
    MeanCI,
    Passage,
    Score,
    mean_cis,
    within_budget,
)
from langchain_sentence_window.evaluation.plots import plot_recall
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.evaluation.sources import texts_by_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIN_USED = 0.9
"""The share of the largest budget below which a table says that too little came back to compare."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What a retriever returned for a question, and what it is worth.

    Attributes:
        question: The question.
        passages: What came back, as it came back.
        scores: One for each budget.
        wrong_section: Whether the first passage lies in none of the sections that hold gold, or there is
            none; ``None`` if the sections aren't known.
    """

    question: Question
    passages: tuple[Passage, ...]
    scores: tuple[Score, ...]
    wrong_section: bool | None


@dataclass(frozen=True, slots=True)
class Averages:
    """The means over all questions at one budget, each with its bootstrap interval; see `Score`."""

    budget: int
    recall: MeanCI
    precision: MeanCI
    iou: MeanCI
    full_coverage: MeanCI
    used: MeanCI


@dataclass(frozen=True)
class Report:
    """How a retriever answers questions at each budget.

    ``str(report)`` is a table. All shares lie between 0 and 1; the table shows them in percent.

    Attributes:
        budgets: In rising order.
        unit: What budgets count: ``characters`` or ``tokens``.
        results: One for each question, in their order.
        count: What a text takes of a budget.
    """

    budgets: tuple[int, ...]
    unit: str
    results: tuple[QuestionResult, ...] = field(repr=False)
    count: Count

    @cached_property
    def averages(self) -> tuple[Averages, ...]:
        """The means over questions, one for each budget."""
        return tuple(
            Averages(
                budget, *mean_cis([[getattr(result.scores[i], name) for name in METRICS] for result in self.results])
            )
            for i, budget in enumerate(self.budgets)
        )

    @cached_property
    def wrong_section(self) -> MeanCI | None:
        """The share of questions whose first passage is from another section; ``None`` if it isn't known."""
        known = [[result.wrong_section] for result in self.results if result.wrong_section is not None]
        return mean_cis(known)[0] if len(known) == len(self.results) else None

    def at(self, budget: int) -> Averages:
        """The means at one of the budgets.

        Raises:
            InvalidInputError: It isn't one of those that were measured.
        """
        if as_integer(budget) not in self.budgets:
            raise InvalidInputError(
                f"{shown(budget)} wasn't measured; the budgets are {', '.join(map(str, self.budgets))}"
            )
        return self.averages[self.budgets.index(budget)]

    def values(self, metric: str, budget: int) -> list[float]:
        """One of `METRICS` at a budget, for each question."""
        self.at(budget)
        if not isinstance(metric, str) or metric not in METRICS:
            raise InvalidInputError(f"{shown(metric)} isn't measured; the metrics are {', '.join(METRICS)}")
        return [float(getattr(result.scores[self.budgets.index(budget)], metric)) for result in self.results]

    def to_dict(self) -> dict[str, Any]:
        """The report in plain types, with the places of what was found but without its text."""
        return {
            "unit": self.unit,
            "budgets": list(self.budgets),
            "averages": [asdict(averages) for averages in self.averages],
            "wrong_section": None if self.wrong_section is None else asdict(self.wrong_section),
            "questions": [
                {
                    **asdict(result.question),
                    "found": [{"doc_id": passage.doc_id, "span": passage.span} for passage in result.passages],
                    "scores": [asdict(score) for score in result.scores],
                    "wrong_section": result.wrong_section,
                }
                for result in self.results
            ],
        }

    def to_json(self) -> str:
        """What `to_dict` gives, as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def to_ragas(self, documents: Iterable[Document], budget: int | None = None) -> list[dict[str, Any]]:
        """Make the samples that ragas reads: ``EvaluationDataset.from_list(report.to_ragas(documents))``.

        Args:
            documents: The source documents, from which the text of the gold spans is taken.
            budget: What is left of the context; ``None`` for all that was retrieved.

        Returns:
            For each question ``user_input``, ``retrieved_contexts`` and ``reference_contexts``, as ragas'
            ``SingleTurnSample`` names them.

        Raises:
            InvalidInputError: The document of a question isn't there, or is shorter than its spans.
        """
        optional_count("budget", budget)
        texts = texts_by_name(documents, [result.question for result in self.results])
        return [
            {
                "user_input": result.question.question,
                "retrieved_contexts": [
                    passage.text
                    for passage in (
                        result.passages if budget is None else within_budget(result.passages, budget, self.count)
                    )
                ],
                "reference_contexts": [
                    texts[result.question.doc_id][start:end] for start, end in result.question.spans
                ],
            }
            for result in self.results
        ]

    @property
    def curve(self) -> list[tuple[float, float]]:
        """Mean context used and mean recall at each budget."""
        return [(means.used.mean, means.recall.mean) for means in self.averages]

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """Draw the mean recall against the mean context used, as `Comparison.plot` does."""
        return plot_recall({"retriever": self.curve}, self.budgets, self.unit, path)

    def __str__(self) -> str:
        """A table with a line for each budget."""
        rows = [[self.unit, "recall", "precision", "IoU", "wholly covered", "used"]]
        for means in self.averages:
            shares = (means.recall, means.precision, means.iou, means.full_coverage)
            rows.append([f"{means.budget:,}", *map(_interval, shares), f"{means.used.mean:,.0f}"])
        return "\n".join(
            [
                f"{len(self.results):,} questions, means in % [{CONFIDENCE:.0%} interval]",
                *aligned(rows),
                f"first passage from a wrong section: {_interval(self.wrong_section) if self.wrong_section else '-'}",
                *_remarks([self]),
            ]
        )


@dataclass(frozen=True)
class Comparison:
    """Reports of several retrievers on the same questions and budgets; ``str(comparison)`` is a table.

    Attributes:
        reports: By the retriever's name, or by its settings.
    """

    reports: Mapping[str, Report]

    def difference(self, one: str, other: str, budget: int, metric: str = "recall") -> MeanCI:
        """How much better one is than another, question by question.

        Args:
            one: A name in ``reports``.
            other: Another one, whose values are taken off.
            budget: One of the budgets.
            metric: One of `METRICS`.

        Returns:
            The mean difference; an interval that doesn't hold 0 tells one from the other.

        Raises:
            InvalidInputError: A name, the budget or the metric isn't there.
        """
        for name in (one, other):
            if not isinstance(name, str) or name not in self.reports:
                raise InvalidInputError(
                    f"{shown(name)} wasn't measured; there are {', '.join(map(repr, self.reports))}"
                )
        left, right = (self.reports[name].values(metric, budget) for name in (one, other))
        return mean_cis([[a - b] for a, b in zip(left, right, strict=True)])[0]

    def to_dict(self) -> dict[str, Any]:
        """Each report's `Report.to_dict`, by name."""
        return {name: report.to_dict() for name, report in self.reports.items()}

    def to_json(self) -> str:
        """What `to_dict` gives, as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """Draw the mean recall against the mean context used, a line for each retriever.

        Args:
            path: Where to save it; the suffix, such as ``.svg`` or ``.png``, says as what.

        Raises:
            MissingExtraError: matplotlib isn't installed.
        """
        some = next(iter(self.reports.values()))
        curves = {name: report.curve for name, report in self.reports.items()}
        return plot_recall(curves, some.budgets, some.unit, path)

    def __str__(self) -> str:
        """A table with a line for each retriever."""
        some = next(iter(self.reports.values()))
        columns = [(metric, budget) for metric in ("recall", "full_coverage") for budget in some.budgets]
        rows = [
            [
                f"% of {len(some.results):,} questions",
                *(f"{'covered' if metric == 'full_coverage' else metric} at {budget:,}" for metric, budget in columns),
                "wrong section",
            ]
        ]
        for name, report in self.reports.items():
            shares = [getattr(report.at(budget), metric) for metric, budget in columns]
            rows.append([name, *map(_percent, [*shares, report.wrong_section])])
        return "\n".join([*aligned(rows), *_remarks(self.reports.values())])


def _remarks(reports: Collection[Report]) -> list[str]:
    """What a reader of a table should know before trusting it."""
    some = next(iter(reports))
    remarks = []
    scarce = [report for report in reports if report.averages[-1].used.mean < MIN_USED * some.budgets[-1]]
    if scarce:
        least = min(report.averages[-1].used.mean for report in scarce)
        remarks.append(
            f"Note: of {some.budgets[-1]:,} {some.unit}, as few as {least:,.0f} came back on average; raise k to "
            "compare at equal context."
        )
    seen = {passage.doc_id for report in reports for result in report.results for passage in result.passages}
    unseen = {result.question.doc_id: None for result in some.results if result.question.doc_id not in seen}
    if unseen:
        remarks.append(
            f"Note: nothing was found of {listed(unseen)}; see that questions and retriever name documents alike."
        )
    return remarks


def _percent(estimate: MeanCI | None) -> str:
    """A share as percent; a dash if it isn't known."""
    return "-" if estimate is None else f"{100 * estimate.mean:.1f}"


def _interval(estimate: MeanCI) -> str:
    """A share as percent, with the ends of its interval."""
    return f"{100 * estimate.mean:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
