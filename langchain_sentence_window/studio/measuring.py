"""Measure the retriever on the questions, sweep its settings, and compare the runs."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from pydantic import Field
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.measurement import BUDGETS, acompare
from langchain_sentence_window.evaluation.report import Comparison, remarks
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.settings import CallSettings
from langchain_sentence_window.studio import fitting
from langchain_sentence_window.studio.asked_entries import asked_entries
from langchain_sentence_window.studio.asking import asked_with
from langchain_sentence_window.studio.jobs import Job
from langchain_sentence_window.studio.replies import Arguments, Refused, calling, reading
from langchain_sentence_window.studio.runs import difference
from langchain_sentence_window.studio.state import Studio

MAX_VARIANTS = 60
"""The most combinations of settings in a sweep."""

AS_IT_IS = "as it is"
"""The name of the run of a sweep without any of its settings."""

MIN_K = 40
"""Windows that a run asks for unless its settings say so, enough to fill the usual budgets."""

SWEPT = ("window", "k", "fetch_k", "lexical_weight", "min_score", "max_tokens", "names", "min_relevance", "ranking")
"""The settings that a sweep may try."""


class Measured(Arguments):
    """The settings and budgets to measure with."""

    budgets: list[int] = Field(default_factory=lambda: list(BUDGETS), min_length=1, max_length=12)
    settings: dict[str, Any] = Field(default_factory=dict)
    name: str = Field(default="", max_length=200)
    leave_out_lost: bool = True


class Swept(Measured):
    """The settings to try: values by name."""

    values: dict[str, list[Any]]


class OfRun(Arguments):
    """The number of a run."""

    run: int


class OfQuestion(OfRun):
    """A question of a run."""

    question: int


class Compared(Arguments):
    """The numbers of a run, and of others that it is compared with."""

    one: int
    others: list[int] = Field(max_length=MAX_VARIANTS + 1)


class Forgotten(Arguments):
    """The numbers of runs."""

    runs: list[int]


def routes() -> list[BaseRoute]:
    """Return the calls of this module, and those that fit a ranking."""
    return [
        calling("/api/evaluate", Measured, evaluate),
        calling("/api/sweep", Swept, sweep),
        reading("/api/runs", Arguments, list_runs),
        reading("/api/runs/questions", OfRun, questions_of_run),
        reading("/api/runs/question", OfQuestion, question_of_run),
        calling("/api/runs/compare", Compared, compare_runs),
        calling("/api/runs/forget", Forgotten, forget_runs),
        *fitting.routes(),
    ]


async def evaluate(studio: Studio, given: Measured) -> object:
    """Start to ask the questions with one set of settings; the job's result names the run."""
    name = given.name.strip() or _described(given.settings) or AS_IT_IS
    return await _started(studio, given, "evaluate", {name: given.settings})


async def sweep(studio: Studio, given: Swept) -> object:
    """Start to ask the questions with each combination of settings, and without any of them."""
    wrong = [name for name in given.values if name not in SWEPT]
    empty = [name for name, values in given.values.items() if not values]
    if wrong or empty or not given.values:
        raise Refused(400, f"a sweep tries at least one value for some of {', '.join(SWEPT)}")
    combinations = list(product(*given.values.values()))
    if len(combinations) > MAX_VARIANTS:
        raise Refused(400, f"these are {len(combinations):,} combinations; try at most {MAX_VARIANTS} at once")
    variants = {_described(given.settings) or AS_IT_IS: given.settings}
    base = await ASYNC.in_thread(retriever_with, studio, given.settings)
    for values in combinations:
        chosen = dict(zip(given.values, values, strict=True))
        settings = {**given.settings, **chosen}
        copy = await ASYNC.in_thread(retriever_with, studio, settings)
        if any(getattr(copy, name) != getattr(base, name) for name in chosen):
            variants[_described(chosen)] = settings
    return await _started(studio, given, "sweep", variants)


async def list_runs(studio: Studio, _: Arguments) -> object:
    """Return all runs, the newest first."""
    return {"runs": [run.to_dict() for run in studio.runs.all()], "budgets": BUDGETS, "k": MIN_K, "swept": SWEPT}


async def questions_of_run(studio: Studio, given: OfRun) -> object:
    """Return the scores of each question of a run."""
    run = studio.runs.get(given.run)
    entries = await ASYNC.in_thread(studio.question_list.all)
    return {"run": run.number, "budgets": run.budgets, "questions": await ASYNC.in_thread(run.rows, entries)}


async def question_of_run(studio: Studio, given: OfQuestion) -> object:
    """Return what a run read for a question, and what it missed."""
    run = studio.runs.get(given.run)
    return {"run": run.number, "settings": run.settings, **await ASYNC.in_thread(run.detail, given.question)}


async def compare_runs(studio: Studio, given: Compared) -> object:
    """Return how much better runs are than another one, question by question."""
    one, others = studio.runs.get(given.one), [studio.runs.get(number) for number in given.others]
    return {"differences": [await ASYNC.in_thread(difference, other, one) for other in others]}


async def forget_runs(studio: Studio, given: Forgotten) -> object:
    """Forget runs."""
    studio.runs.remove(given.runs)
    return await list_runs(studio, given)


def retriever_with(studio: Studio, settings: Mapping[str, Any]) -> SentenceWindowRetriever:
    """Return a copy of the page's retriever with other settings; a filter among them narrows its own.

    Raises:
        InvalidInputError: A setting doesn't exist, or its value can't be used.
    """
    retriever, given = asked_with(studio, settings)
    unknown = sorted(given.keys() - CallSettings.__annotations__.keys())
    if unknown:
        raise InvalidInputError(f"a run can't set {shown(unknown[0])}")
    given = {name: value for name, value in given.items() if value is not None or name not in ("k", "window")}
    given.setdefault("k", max(MIN_K, retriever.k))
    if isinstance(given.get("window"), list):
        given["window"] = tuple(given["window"])
    if "filter" in given:
        given["filter"] = retriever.scope(given["filter"]).filter
    return retriever.model_copy(update=given)


async def _started(studio: Studio, given: Measured, kind: str, variants: Mapping[str, Mapping[str, Any]]) -> object:
    copies = await ASYNC.in_thread(
        lambda: {name: retriever_with(studio, settings) for name, settings in variants.items()}
    )
    asked = await asked_entries(studio, leave_out_lost=given.leave_out_lost)

    async def work(job: Job) -> object:
        compared = await acompare(
            copies,
            asked.questions,
            given.budgets,
            on_progress=lambda done, total: job.report(done=done, total=total),
        )
        return await ASYNC.in_thread(remembered, job, compared)

    def remembered(job: Job, compared: Comparison) -> object:
        runs = [
            studio.runs.add(
                report,
                asked.entries,
                name=name,
                group=job.number,
                settings=variants[name],
                k=copies[name].k,
                remarks=remarks([report]),
                left_out=asked.left_out,
            )
            for name, report in compared.reports.items()
        ]
        return {"runs": [run.number for run in runs]}

    title = next(iter(variants)) if len(variants) == 1 else f"{len(variants)} settings"
    return {"job": studio.jobs.start(kind, title, work).to_dict()}


def _described(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={shown(tuple(v) if isinstance(v, list) else v)}" for name, v in settings.items())
