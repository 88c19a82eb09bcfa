"""The commands that measure retrieval: ``evaluate``, ``sweep`` and ``fit``."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_sentence_window.cli import options
from langchain_sentence_window.cli.output import Output
from langchain_sentence_window.errors import InvalidInputError

if TYPE_CHECKING:
    from langchain_sentence_window.evaluation.questions import Question
    from langchain_sentence_window.evaluation.report import Comparison, Report
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

MEASURED_K = 40
"""The windows that are asked for when a context of several thousand characters is measured."""


def _plot_file(given: Path | None) -> Path | None:
    if given is not None and given.suffix.lower() not in (".svg", ".png"):
        raise typer.BadParameter(f"{given} is neither .svg nor .png")
    return given


Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", callback=_plot_file, help="Draw recall at each budget, as .svg or .png."),
]


def evaluate(
    questions: options.Questions,
    *,
    k: Annotated[int, typer.Option("-k", "--k", metavar="N", help="The number of windows.")] = MEASURED_K,
    window: options.Window = None,
    filter: options.Filter = None,
    more: options.Settings = None,
    budgets: options.Budgets = None,
    plot: Plot = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure how much of the right text is found."""
    from langchain_sentence_window.cli.opening import existing_index, open_index
    from langchain_sentence_window.cli.values import call_settings, read_filter
    from langchain_sentence_window.evaluation.measurement import evaluate as measure
    from langchain_sentence_window.evaluation.questions import read_questions

    out = Output(as_json=as_json, quiet=quiet)
    asked, sizes = read_questions(questions), _budgets(budgets)
    settings = call_settings(more, window, k=k)
    with open_index(out, existing_index(index), embedding, filter=read_filter(filter), **settings) as retriever:
        report = measure(retriever, _named(out, retriever, asked), sizes, show_progress=out.shows_progress)
    _show(out, report, plot)


def sweep(
    questions: options.Questions,
    *,
    k: Annotated[str | None, typer.Option("-k", "--k", metavar="N,N", help="Numbers of windows.")] = None,
    window: Annotated[
        list[str] | None,
        typer.Option("--window", "-w", metavar="WINDOW", help="A window to try: auto, 2, or 1,6. Repeat it."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Another setting to try. Repeat it for other values."),
    ] = None,
    filter: options.Filter = None,
    budgets: options.Budgets = None,
    plot: Plot = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure each combination of some settings."""
    from langchain_sentence_window.cli.opening import existing_index, open_index
    from langchain_sentence_window.cli.values import call_settings, read_filter, read_numbers
    from langchain_sentence_window.evaluation.measurement import sweep as measure
    from langchain_sentence_window.evaluation.questions import read_questions

    out = Output(as_json=as_json, quiet=quiet)
    asked, sizes = read_questions(questions), _budgets(budgets)
    tried: dict[str, Any] = {}
    if window:
        tried["window"] = [call_settings(None, each)["window"] for each in window]
    tried["k"] = [
        call_settings(None, None, k=each)["k"] for each in ([MEASURED_K] if k is None else read_numbers("-k", k))
    ]
    for each in more or []:
        for name, value in call_settings([each], None).items():
            tried.setdefault(name, []).append(value)
    with open_index(out, existing_index(index), embedding, filter=read_filter(filter)) as retriever:
        compared = measure(retriever, _named(out, retriever, asked), sizes, show_progress=out.shows_progress, **tried)
    _show(out, compared, plot)


def fit(
    questions: options.Questions,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file; else ranking.json in the index.")
    ] = None,
    use: Annotated[bool, typer.Option("--use", help="Search with it from now on, if it gains.")] = False,
    budgets: options.Budgets = None,
    index: options.Index = None,
    embedding: options.Embedding = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit the ranking to a few dozen questions.

    It is saved if questions that it wasn't fitted to gain by it.
    """
    from langchain_sentence_window.cli.opening import existing_index, open_index, remember
    from langchain_sentence_window.cli.settings import RANKING_FILE, changed_settings
    from langchain_sentence_window.evaluation.fitted_ranking import fit_ranking
    from langchain_sentence_window.evaluation.questions import read_questions

    out = Output(as_json=as_json, quiet=quiet)
    asked, sizes, folder = read_questions(questions), _budgets(budgets), existing_index(index)
    with open_index(out, folder, embedding) as retriever:
        fitted = fit_ranking(retriever, _named(out, retriever, asked), sizes, show_progress=out.shows_progress)
    saved = None
    if fitted.is_recommended:
        saved = folder / RANKING_FILE if output is None else output
        fitted.save(saved)
        if use:
            remember(folder, **changed_settings(folder, [f"ranking={saved}"], []))
    out.line(str(fitted))
    out.document(
        {
            "recommended": fitted.is_recommended,
            "saved": saved,
            "used": saved is not None and use,
            "budgets": fitted.budgets,
            "recall_before": fitted.recall_before,
            "recall_after": fitted.recall_after,
            "gain": fitted.gain,
            "gains": fitted.gains,
            "questions": fitted.questions,
            "without_gold": fitted.without_gold,
            "weights": fitted.fitted.weights,
        }
    )
    if saved is None:
        out.note("Nothing was saved.")
    else:
        out.note(f"The ranking is in {saved}" + (", and is used from now on." if use else "; use it with --use."))


def _show(out: Output, measured: "Report | Comparison", plot: Path | None) -> None:
    out.line(str(measured))
    out.document(measured.to_dict())
    if plot is not None:
        measured.plot(plot)
        out.note(f"The plot is in {plot}.")


def _named(out: Output, retriever: "SentenceWindowRetriever", questions: list["Question"]) -> list["Question"]:
    """Return questions with the ids of documents that they name by their path, or its end; warn of those unknown."""
    from langchain_sentence_window._validation import listed
    from langchain_sentence_window.cli.names import EMPTY, DocumentNames
    from langchain_sentence_window.evaluation.questions import UnknownDocumentsWarning

    known = DocumentNames(retriever.documents())
    found = {name: known.named(name) for name in dict.fromkeys(question.doc_id for question in questions)}
    unknown = [name for name, ids in found.items() if len(ids) != 1]
    if not known.has_any:
        raise InvalidInputError(EMPTY)
    if unknown:
        out.complain(
            f"Warning: questions name documents {listed(unknown)}, which isn't what one document is called, so they "
            "score 0; see what documents are called with: sentence-window ls"
        )
    warnings.simplefilter("ignore", UnknownDocumentsWarning)  # it would say the same
    return [
        replace(question, doc_id=found[question.doc_id][0]) if len(found[question.doc_id]) == 1 else question
        for question in questions
    ]


def _budgets(given: str | None) -> Any:
    from langchain_sentence_window.cli.values import read_numbers
    from langchain_sentence_window.evaluation.measurement import BUDGETS

    sizes = BUDGETS if given is None else read_numbers("--budgets", given)
    if any(size < 1 for size in sizes):
        raise InvalidInputError("--budgets must be numbers of characters, 1 or more")
    return sizes
