"""Fit the ranking to the questions, see what it gains, and use it."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.evaluation.fitted_ranking import FittedRanking, afit_ranking
from langchain_sentence_window.evaluation.measurement import BUDGETS
from langchain_sentence_window.folders.syncing import index_folder
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.ranking.signals import SIGNALS
from langchain_sentence_window.studio.asked_entries import asked_entries
from langchain_sentence_window.studio.index_folder import RANKING_FILE, remember
from langchain_sentence_window.studio.jobs import Job
from langchain_sentence_window.studio.replies import (
    JSON,
    Arguments,
    Changed,
    Refused,
    calling,
    changing,
    check_writable,
    reading,
)
from langchain_sentence_window.studio.state import Studio


class Fit(Arguments):
    """The questions and budgets to fit to."""

    budgets: list[int] = Field(default_factory=lambda: list(BUDGETS), min_length=1, max_length=12)
    leave_out_lost: bool = True


class Fitted(Arguments):
    """The number of the job that fitted a ranking."""

    job: int


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        calling("/api/fit", Fit, fit),
        changing("/api/fit/use", Fitted, use_ranking),
        reading("/api/fit/ranking", Fitted, export_ranking),
    ]


async def fit(studio: Studio, given: Fit) -> object:
    """Start to fit the retriever's ranking."""
    asked = await asked_entries(studio, leave_out_lost=given.leave_out_lost)

    async def work(job: Job) -> object:
        fitted = await afit_ranking(
            studio.retriever,
            asked.questions,
            given.budgets,
            on_progress=lambda done, total: job.report(done=done, total=total),
        )
        job.report()  # the last moment to stop
        studio.runs.fitted[job.number] = fitted
        return {"job": job.number, "left_out": asked.left_out, **_as_dict(fitted)}

    return {"job": studio.jobs.start("fit", f"{len(asked.entries):,} questions", work).to_dict()}


async def use_ranking(studio: Studio, given: Fitted) -> Changed:
    """Return a page that uses the fitted ranking, and where it is kept; an index on disk remembers it.

    Raises:
        Refused: The page is read-only, the ranking isn't known, or it isn't recommended.
        StoreError: The folder of the index can't be written.
    """
    check_writable(studio)
    fitted = _fitted(studio, given.job)
    if not fitted.is_recommended:
        raise Refused(409, "this ranking may gain nothing, so the ranking stays as it was; more questions may help")
    retriever = studio.retriever.model_copy(update={"ranking": fitted.ranking})
    folder = index_folder(studio.retriever)
    if folder is not None:
        await ASYNC.in_thread(remember, folder, {"ranking": fitted.ranking})
    saved = None if folder is None else str(folder / RANKING_FILE)
    return replace(studio, retriever=retriever), {"saved": saved, "description": fitted.ranking.description}


async def export_ranking(studio: Studio, given: Fitted) -> Response:
    """Return the fitted ranking as a file."""
    content = _fitted(studio, given.job).fitted.to_json() + "\n"
    headers = {"Content-Disposition": f'attachment; filename="{RANKING_FILE}"', "Cache-Control": "no-store"}
    return Response(content, media_type=JSON, headers=headers)


def _fitted(studio: Studio, job: int) -> FittedRanking:
    if job not in studio.runs.fitted:
        raise Refused(404, "this ranking isn't known any more; fit it again")
    return studio.runs.fitted[job]


def _as_dict(fitted: FittedRanking) -> dict[str, Any]:
    return {
        "budgets": fitted.budgets,
        "recall_before": fitted.recall_before,
        "recall_after": fitted.recall_after,
        "gains": [asdict(each) for each in fitted.gains],
        "gain": asdict(fitted.gain),
        "is_recommended": fitted.is_recommended,
        "count": fitted.questions,
        "without_gold": fitted.without_gold,
        "groups": fitted.groups,
        "weights": _changes(fitted.prior, fitted.fitted),
    }


def _changes(prior: Ranking, fitted: Ranking) -> list[Mapping[str, Any]]:
    """Return the weights before and after, the largest changes first."""
    rows = [
        {
            "name": name,
            "meaning": signal.meaning,
            "before": prior.weights.get(name, 0.0),
            "after": fitted.weights.get(name, 0.0),
        }
        for name, signal in SIGNALS.items()
    ]
    changed = [row for row in rows if row["before"] != row["after"]]
    return sorted(changed, key=lambda row: -abs(row["after"] - row["before"]))
