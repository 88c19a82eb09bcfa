"""Measure the retriever by questions with gold spans, and try other settings on them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window.evaluation import Comparison, Question, QuestionResult, Report, acompare, aevaluate
from sentence_window.studio.page_state import Studio, calling
from sentence_window.studio.question_list import Entry
from sentence_window.studio.questions import find_golds
from sentence_window.studio.replies import Refused, progress_lines
from sentence_window.studio.setting_form import NO_SETTINGS, Settings, retriever_with
from sentence_window.studio.spans import Span, union, without

FEW_QUESTIONS = 20
"""With fewer questions, intervals are rough."""

WHOLE = 1_000_000_000
"""A size of the context, in characters, that holds all that a call returns."""

SHOWN = 1_600
"""The size of the context, in characters, at which the page says how a question fared."""

LEAST_CHANGE = 0.05
"""The change of recall above which a question wins or loses; a space or a full stop of the gold is less."""

MIN_K = 40
"""Windows that a measurement asks for, enough to fill the usual budgets."""

METRICS = {"recall": "recall", "precision": "precision", "full_coverage": "fully covered"}
"""The metrics that the page shows at each budget, and what it calls them."""

OnProgress: TypeAlias = Callable[[int, int], None]


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [calling("/api/evaluate", evaluate), calling("/api/trial", try_settings)]


async def evaluate(studio: Studio) -> object:
    """Ask the questions as the retriever is, and report the progress; the result is what was found of their gold."""
    retriever = studio.retriever.model_copy(update={"k": max(MIN_K, studio.retriever.k)})

    async def work(asked: Sequence[Entry], questions: Sequence[Question], on_progress: OnProgress) -> dict[str, Any]:
        report = await aevaluate(retriever, questions, on_progress=on_progress)
        return await asyncio.to_thread(_measured, report, asked)

    return await _ask_all(studio, work)


def _measured(report: Report, asked: Sequence[Entry]) -> dict[str, Any]:
    at = report.budgets.index(SHOWN)
    return {
        "budgets": report.budgets,
        "shown": SHOWN,
        "rows": [
            {"name": name, "means": [asdict(getattr(each, metric)) for each in report.averages]}
            for metric, name in METRICS.items()
        ],
        "wrong_section": None if report.wrong_section is None else asdict(report.wrong_section),
        "questions": [
            {"id": entry.id, "recall": result.scores[at].recall, "missed": _missed(result)}
            for entry, result in zip(asked, report.results, strict=True)
        ],
    }


def _missed(result: QuestionResult) -> list[Span]:
    """Return the parts of a question's gold that aren't in the first `SHOWN` characters that were returned."""
    read, left = list[Span](), SHOWN
    for passage in result.passages:
        if passage.doc_id == result.question.doc_id and passage.start is not None and left > 0:
            read.append((passage.start, passage.start + min(left, len(passage.text))))
        left -= len(passage.text)
    return without(union(result.question.spans), union(read))


async def try_settings(studio: Studio, other: Settings, settings: Settings = NO_SETTINGS) -> object:
    """Ask the questions with settings and with others, and report the progress.

    The result says of which questions the others return more of the gold, of which less, and how much they read.
    """
    retrievers = {"now": retriever_with(studio, settings), "other": retriever_with(studio, other)}

    async def work(asked: Sequence[Entry], questions: Sequence[Question], on_progress: OnProgress) -> dict[str, Any]:
        compared = await acompare(retrievers, questions, [WHOLE], on_progress=on_progress)
        return await asyncio.to_thread(_tried, compared, asked)

    return await _ask_all(studio, work)


def _tried(compared: Comparison, asked: Sequence[Entry]) -> dict[str, Any]:
    reports = [compared.reports[name] for name in ("now", "other")]
    before, after = ([result.scores[0].recall for result in report.results] for report in reports)
    changes = list(zip(asked, before, after, strict=True))

    def rows(sign: int) -> list[dict[str, Any]]:
        return [
            {"question": entry.question, "before": one, "after": other}
            for entry, one, other in changes
            if sign * (other - one) > LEAST_CHANGE
        ]

    return {
        "recall": [report.averages[0].recall.mean for report in reports],
        "used": [report.averages[0].used.mean for report in reports],
        "difference": asdict(compared.difference("other", "now", WHOLE)),
        "won": rows(1),
        "lost": rows(-1),
    }


async def _ask_all(
    studio: Studio, work: Callable[[Sequence[Entry], Sequence[Question], OnProgress], Awaitable[Mapping[str, Any]]]
) -> Response:
    """Ask the questions whose gold is in the index, and report the progress.

    Args:
        studio: The page.
        work: Asks questions, given as the list has them and with their gold in the index, and reports how many are done
            of how many. To what it returns are added the number of questions, of those that aren't asked, and a remark.

    Raises:
        Refused: There are no such questions.
    """
    entries = await asyncio.to_thread(studio.question_list.all)
    golds = await find_golds(studio, entries)
    asked = [(entry, gold) for entry, gold in zip(entries, golds, strict=True) if isinstance(gold, Question)]
    if not asked:
        reason = "the gold of none of them is in the index" if entries else "there are none"
        raise Refused(409, f"no question can be asked: {reason}; mark an answer in Ask, or import questions")
    about = {
        "count": len(asked),
        "left_out": len(entries) - len(asked),
        "remark": f"With fewer than {FEW_QUESTIONS} questions, intervals are rough."
        if len(asked) < FEW_QUESTIONS
        else "",
    }

    async def reporting(report: Callable[..., None]) -> object:
        chosen, questions = zip(*asked, strict=True)
        return {**await work(chosen, questions, lambda done, total: report(done=done, total=total)), **about}

    return progress_lines(reporting)
