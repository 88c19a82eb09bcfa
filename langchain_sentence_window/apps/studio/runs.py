"""The measurements: each run of the questions, to list, to compare and to look into."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from langchain_sentence_window._primitives import Span
from langchain_sentence_window.evaluation.fitted_ranking import FittedRanking
from langchain_sentence_window.evaluation.metrics import MeanCI, Passage, mean_cis, union, within_budget
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.evaluation.report import QuestionResult, Report

from .question_list import Entry
from .replies import fields_of, not_found

MAX_RUNS = 200
"""Runs that are remembered; the oldest are forgotten."""

Place: TypeAlias = tuple[str, int, int]
"""A document, and a half-open span there."""

COMPARED = ("recall", "precision", "full_coverage")
"""The metrics whose differences are shown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a run fared with a question.

    Attributes:
        number: The question's number in the list.
        question: The question as it was.
        result: Its scores; its passages have no text.
        read: Where the passages stand that were read, best first, the last one cut to the largest budget.
    """

    number: int
    question: Question
    result: QuestionResult
    read: Sequence[Place]


@dataclass(frozen=True)
class Run:
    """An evaluation with one set of settings.

    Attributes:
        number: Its number, from 1.
        name: What the page calls it.
        group: The number of the job that it belongs to; the runs of a sweep have one.
        settings: The settings that it was asked with, where they differ from the retriever's.
        k: The windows that it asked for.
        budgets: The sizes of the context, in characters.
        summary: The means and their intervals, as `Report.to_dict` has them.
        remarks: What makes it less reliable.
        left_out: The number of questions that weren't asked, as their gold isn't in the index.
        answers: One for each question.
        began: When, in UTC.
    """

    number: int
    name: str
    group: int
    settings: Mapping[str, Any]
    k: int
    budgets: Sequence[int]
    summary: Mapping[str, Any]
    remarks: Sequence[str]
    left_out: int
    answers: Sequence[Answer] = field(repr=False)
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    def to_dict(self) -> dict[str, Any]:
        """Return the run without its questions."""
        own = fields_of(self, "number name group settings k budgets remarks left_out")
        return {**own, **self.summary, "count": len(self.answers), "began": self.began.isoformat()}

    def rows(self, entries: Iterable[Entry]) -> list[dict[str, Any]]:
        """Return the scores of each question, and whether it was changed or deleted since."""
        now = {entry.number: entry.question for entry in entries}
        return [
            {
                "number": each.number,
                "question": each.question.question,
                "recall": [round(score.recall, 4) for score in each.result.scores],
                "wrong_section": each.result.wrong_section,
                "is_stale": now.get(each.number) != each.question,
            }
            for each in self.answers
        ]

    def detail(self, number: int) -> dict[str, Any]:
        """Return what was read for a question, and which parts of its gold weren't, at each budget.

        Raises:
            Refused: The run didn't ask that question.
        """
        for each in self.answers:
            if each.number == number:
                return _detail(each, self.budgets)
        raise not_found(f"the run {self.name!r} didn't ask question {number}; run it again")


class Runs:
    """The runs of a page.

    Attributes:
        fitted: The rankings that were fitted, by the number of the job.
    """

    def __init__(self) -> None:
        """Begin without runs."""
        self._runs: dict[int, Run] = {}
        self.fitted: dict[int, FittedRanking] = {}
        self._numbers = itertools.count(1)

    def add(
        self,
        report: Report,
        entries: Sequence[Entry],
        *,
        name: str,
        group: int,
        settings: Mapping[str, Any],
        k: int,
        remarks: Sequence[str],
        left_out: int,
    ) -> Run:
        """Remember the report of some questions."""
        summary = {
            "averages": [asdict(each) for each in report.averages],
            "wrong_section": None if report.wrong_section is None else asdict(report.wrong_section),
        }
        answers = [_answer(entry, result, report) for entry, result in zip(entries, report.results, strict=True)]
        run = Run(next(self._numbers), name, group, settings, k, report.budgets, summary, remarks, left_out, answers)
        self._runs[run.number] = run
        for old in sorted(self._runs)[:-MAX_RUNS]:
            del self._runs[old]
        return run

    def all(self) -> list[Run]:
        """Return all runs, the newest first."""
        return [self._runs[number] for number in sorted(self._runs, reverse=True)]

    def get(self, number: int) -> Run:
        """Return a run.

        Raises:
            Refused: There is none of that number.
        """
        if number not in self._runs:
            raise not_found(f"there is no run {number}; it was forgotten, or the program was started again")
        return self._runs[number]

    def remove(self, numbers: Iterable[int]) -> None:
        """Forget runs; those that don't exist are ignored."""
        for number in numbers:
            self._runs.pop(number, None)


def difference(one: Run, other: Run) -> dict[str, Any]:
    """Return how much better a run is than another, question by question, at the budgets of both.

    Returns:
        ``budgets``, ``count`` of questions that both asked, and for each of `COMPARED` a list of the mean difference
        at each budget with its interval; without a common question or budget the lists are empty.
    """
    budgets = [budget for budget in one.budgets if budget in other.budgets]
    theirs = {each.question: each.result for each in other.answers}
    pairs = [(each.result, theirs[each.question]) for each in one.answers if each.question in theirs]
    found: dict[str, list[MeanCI]] = {}
    for metric in COMPARED:
        table = [
            [
                float(getattr(mine.scores[one.budgets.index(budget)], metric))
                - float(getattr(their.scores[other.budgets.index(budget)], metric))
                for budget in budgets
            ]
            for mine, their in pairs
        ]
        found[metric] = mean_cis(table) if pairs and budgets else []
    differences = {metric: [asdict(each) for each in means] for metric, means in found.items()}
    return {"one": one.number, "other": other.number, "budgets": budgets, "count": len(pairs), **differences}


def _answer(entry: Entry, result: QuestionResult, report: Report) -> Answer:
    passages = within_budget(result.passages, max(report.budgets), report.count)
    read = [(each.doc_id, *each.span) for each in passages if each.span is not None]
    # The text of forty passages for each of a thousand questions would fill the memory.
    slim = QuestionResult(result.question, (), result.scores, result.wrong_section)
    return Answer(entry.number, entry.question, slim, read)


def _detail(answer: Answer, budgets: Sequence[int]) -> dict[str, Any]:
    question = answer.question
    at_each = []
    for budget, score in zip(budgets, answer.result.scores, strict=True):
        read = [each.span for each in _cut(answer.read, budget) if each.doc_id == question.doc_id]
        missed = _without(union(question.spans), union(span for span in read if span is not None))
        at_each.append({"budget": budget, **asdict(score), "missed": missed})
    return {
        "number": answer.number,
        "question": question.question,
        "doc_id": question.doc_id,
        "spans": question.spans,
        "wrong_section": answer.result.wrong_section,
        "read": answer.read,
        "at": at_each,
    }


def _cut(read: Sequence[Place], budget: int) -> list[Passage]:
    passages = [Passage(doc_id, start, " " * (end - start)) for doc_id, start, end in read]
    return within_budget(passages, budget, len)


def _without(gold: Sequence[Span], read: Sequence[Span]) -> list[Span]:
    """Return the parts of spans that aren't in others; both are sorted and disjoint."""
    left: list[Span] = []
    for first, last in gold:
        at = first
        for start, end in read:
            if end <= at or start >= last:
                continue
            if start > at:
                left.append((at, start))
            at = max(at, end)
        if at < last:
            left.append((at, last))
    return left
