"""Questions with gold spans: edit, import and export them, measure the retriever by them, and compare the runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC
from langchain_sentence_window._primitives import Span
from langchain_sentence_window.answering.quotes.verification import find_said
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.measurement import BUDGETS, acompare
from langchain_sentence_window.evaluation.metrics import FULL_COVERAGE, union
from langchain_sentence_window.evaluation.questions import Asked, OpenQuestion, Question, parse_questions
from langchain_sentence_window.evaluation.report import Comparison, few_questions, remarks
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.settings import OF_CALL, REMEMBERED, SETTINGS

from .page_state import Job, Studio, calling, check_writable, reading
from .question_list import NAME_CHARS, Entry, difference, gold_of, without
from .read_document import Gold, read_document
from .replies import LINES, Arguments, Refused, fields_of
from .setting_form import FORM, to_ask

FILE_NAME = "questions.jsonl"

MAX_SPANS = 1_000
MAX_QUESTION_CHARS = 10_000

_WRONG = {
    "missing": "the document {!r} isn't in the index, or the filter doesn't let it through; choose one that is",
    "outside": "a span ends behind the end of the document {!r}; mark the gold again",
}


class Written(Arguments):
    """A question as the page writes it, without gold at first."""

    question: str = Field(max_length=MAX_QUESTION_CHARS)
    doc_id: str | None = None
    spans: list[tuple[int, int]] = Field(default_factory=list, max_length=MAX_SPANS)
    answer: str = ""


class Marked(Arguments):
    """Text of a document that answers a question."""

    question: str = Field(max_length=MAX_QUESTION_CHARS)
    doc_id: str
    spans: list[tuple[int, int]] = Field(min_length=1, max_length=MAX_SPANS)


class Chosen(Arguments):
    """A question, and its version."""

    number: int
    version: str = Field(min_length=NAME_CHARS)


class Reworded(Chosen):
    """Other words for a question."""

    question: str = Field(max_length=MAX_QUESTION_CHARS)


class Worded(Arguments):
    """The words of a question."""

    question: str


class OneQuestion(Arguments):
    """The number of a question."""

    number: int


class Undone(Arguments):
    """The change to take back; ``None`` for the last one."""

    change: int | None = None


class Imported(Arguments):
    """Questions as JSON lines, CSV or text."""

    text: str


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/questions", Arguments, list_questions),
        reading("/api/questions/export", Arguments, export_questions),
        reading("/api/questions/gold", Worded, list_gold),
        calling("/api/questions/mark", Marked, mark_answer),
        calling("/api/questions/propose", OneQuestion, propose_answer),
        calling("/api/questions/add", Written, add_question),
        calling("/api/questions/change", Reworded, change_question),
        calling("/api/questions/delete", Chosen, delete_question),
        calling("/api/questions/undo", Undone, undo_change),
        calling("/api/questions/import", Imported, import_questions),
        calling("/api/evaluate", Measured, evaluate),
        calling("/api/sweep", Swept, sweep),
        calling("/api/trial", Tried, try_settings),
        reading("/api/runs", Arguments, list_runs),
        reading("/api/runs/questions", OfRun, questions_of_run),
        reading("/api/runs/question", OfQuestion, question_of_run),
        calling("/api/runs/compare", Compared, compare_runs),
        calling("/api/runs/forget", Forgotten, forget_runs),
    ]


async def list_questions(studio: Studio, _: Arguments) -> object:
    """Return all questions, with their gold as the index has it."""
    entries = await ASYNC.in_thread(studio.question_list.all)
    undoable = studio.question_list.undoable
    return {
        "questions": await _rows(studio, entries),
        "undo": None if undoable is None else undoable[1],
        "file": None if studio.question_list.path is None else str(studio.question_list.path),
    }


async def add_question(studio: Studio, given: Written) -> object:
    """Add a question: without gold, or with gold that is in the index."""
    check_writable(studio)
    question: Asked = OpenQuestion(given.question.strip(), given.answer)
    if given.doc_id is not None:
        question = Question(question.question, given.doc_id, tuple(given.spans))
        await _check_gold(studio, question)
    added = await ASYNC.in_thread(studio.question_list.add, [question])
    if not added:
        raise Refused(409, "this question is in the list already")
    return (await _rows(studio, added))[0]


async def list_gold(studio: Studio, given: Worded) -> object:
    """Return the gold of a question in each of its documents."""
    entries = await ASYNC.in_thread(studio.question_list.all)
    own = [gold_of(each.question) for each in entries if each.question.question.strip() == given.question.strip()]
    return {"golds": [{"doc_id": doc_id, "spans": spans} for doc_id, spans in own if spans]}


async def mark_answer(studio: Studio, given: Marked) -> object:
    """Make text the gold of a question, or, if it is that already, take it out.

    Returns:
        The ``question`` as it is now, ``None`` if nothing is left of it; whether the text ``is_gold`` now; and the
        number of the ``change``, to take it back.
    """
    check_writable(studio)
    wanted = Question(given.question.strip(), given.doc_id, tuple(given.spans))
    await _check_gold(studio, wanted)
    document = await read_document(studio.retriever, given.doc_id)
    is_gold = True

    def change(spans: Sequence[Span]) -> Sequence[Span]:
        nonlocal is_gold
        is_gold = bool(without(union(wanted.spans), union(spans)))
        if is_gold:
            return union([*spans, *wanted.spans])
        return [left for span in without(union(spans), union(wanted.spans)) if (left := trimmed(document.slice, span))]

    entry = await ASYNC.in_thread(studio.question_list.mark, wanted.question, given.doc_id, change)
    undoable = studio.question_list.undoable
    return {
        "question": None if entry is None else (await _rows(studio, [entry]))[0],
        "is_gold": is_gold,
        "change": undoable and undoable[0],
    }


async def propose_answer(studio: Studio, given: OneQuestion) -> object:
    """Return sentences of a document that say what the answer of a question says, for a person to confirm."""
    entries = await ASYNC.in_thread(studio.question_list.all)
    asked = next((each.question for each in entries if each.number == given.number), None)
    if not isinstance(asked, OpenQuestion) or not asked.answer.strip():
        return {"proposal": None}
    windows = [
        window for text in (asked.answer, asked.question) for window in await studio.retriever.ainvoke(text, k=MIN_K)
    ]
    said = await ASYNC.in_thread(find_said, asked.answer, windows)
    if said is None:
        return {"proposal": None}
    (gold,) = await studio.gold_texts.read(studio.retriever, [Question(asked.question, said.doc_id, said.spans)])
    return {"proposal": {**fields_of(said, "doc_id spans is_exact"), **fields_of(gold, "name texts")}}


async def change_question(studio: Studio, given: Reworded) -> object:
    """Give a question other words."""
    check_writable(studio)
    changed = await ASYNC.in_thread(studio.question_list.change, given.number, given.version, given.question.strip())
    return (await _rows(studio, [changed]))[0]


async def delete_question(studio: Studio, given: Chosen) -> object:
    """Delete a question."""
    check_writable(studio)
    await ASYNC.in_thread(studio.question_list.remove, given.number, given.version)
    return {}


async def undo_change(studio: Studio, given: Undone) -> object:
    """Take the last change of the questions back."""
    check_writable(studio)
    return {"undone": await ASYNC.in_thread(studio.question_list.undo, given.change)}


async def import_questions(studio: Studio, given: Imported) -> object:
    """Add the questions of a file, apart from those that are in the list; add none if a line can't be read."""
    check_writable(studio)
    found = await ASYNC.in_thread(parse_questions, given.text.removeprefix("\ufeff"), "the import")
    if not found:
        raise Refused(400, "there are no questions in it; write a question and its answer on each line")
    questions, records = zip(*found, strict=True)
    added = await ASYNC.in_thread(studio.question_list.add, questions, records)
    return {"added": [entry.number for entry in added], "skipped": len(found) - len(added)}


async def export_questions(studio: Studio, _: Arguments) -> Response:
    """Return the questions as a file of JSON lines."""
    content = await ASYNC.in_thread(studio.question_list.lines)
    headers = {"Content-Disposition": f'attachment; filename="{FILE_NAME}"', "Cache-Control": "no-store"}
    return Response(content, media_type=LINES, headers=headers)


async def _rows(studio: Studio, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    golds = await studio.gold_texts.read(studio.retriever, [entry.question for entry in entries])
    return [_row(entry, gold) for entry, gold in zip(entries, golds, strict=True)]


def _row(entry: Entry, gold: Gold) -> dict[str, Any]:
    doc_id, spans = gold_of(entry.question)
    return {
        **fields_of(entry, "number version"),
        "question": entry.question.question,
        "answer": entry.record.get("answer", ""),
        "doc_id": doc_id,
        "spans": spans,
        **fields_of(gold, "name state texts"),
    }


def trimmed(texts: Callable[[int, int], str | None], span: Span) -> Span | None:
    """Return a span without the white space at its ends; ``None`` if there is nothing else."""
    text = texts(*span) or ""
    start, end = span[0] + len(text) - len(text.lstrip()), span[0] + len(text.rstrip())
    return (start, end) if start < end else None


async def _check_gold(studio: Studio, question: Question) -> None:
    (gold,) = await studio.gold_texts.read(studio.retriever, [question])
    if gold.state in _WRONG:
        raise Refused(400, _WRONG[gold.state].format(question.doc_id))


MAX_VARIANTS = 60
"""The most combinations of settings in a sweep."""

AS_IT_IS = "as it is"
"""The name of the run of a sweep without any of its settings."""

WHOLE = 1_000_000_000
"""A size of the context, in characters, that holds all that a call returns."""

LEAST_CHANGE = 1 - FULL_COVERAGE
"""The change of recall above which a question wins or loses; a space or a full stop of the gold is less."""

MIN_K = 40
"""Windows that a run asks for unless its settings say so, enough to fill the usual budgets."""

SWEPT = [name for name in FORM if name in OF_CALL & REMEMBERED and SETTINGS[name].is_swept]
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


class Tried(Arguments):
    """Settings to ask with, and others to try in their place."""

    settings: dict[str, Any] = Field(default_factory=dict)
    other: dict[str, Any]


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


async def try_settings(studio: Studio, given: Tried) -> object:
    """Start to ask the questions with settings and with others, as a call asks.

    The job's result says of which questions the others return more of the gold, of which less, and how much they read.
    """
    own = {"k": studio.retriever.k}
    settings = {"now": own | given.settings, "other": own | given.other}
    copies = await ASYNC.in_thread(lambda: {name: retriever_with(studio, each) for name, each in settings.items()})
    asked = await asked_entries(studio, leave_out_lost=True)

    async def work(job: Job) -> object:
        def report(done: int, total: int) -> None:
            job.report(done=done, total=total)

        compared = await acompare(copies, asked.questions, [WHOLE], on_progress=report)
        return await ASYNC.in_thread(_tried, compared, asked)

    return {"job": studio.jobs.start("trial", f"{len(asked.entries):,} questions", work).to_dict()}


def _tried(compared: Comparison, asked: "AskedEntries") -> dict[str, Any]:
    now, other = compared.reports.values()
    pairs = list(zip(now.values("recall", WHOLE), other.values("recall", WHOLE), strict=True))

    def rows(sign: int) -> list[dict[str, Any]]:
        return [
            {"number": entry.number, "question": entry.question.question, "before": before, "after": after}
            for entry, (before, after) in zip(asked.entries, pairs, strict=True)
            if sign * (after - before) > LEAST_CHANGE
        ]

    return {
        "count": len(pairs),
        "left_out": asked.left_out,
        "recall": [each.averages[0].recall.mean for each in (now, other)],
        "used": [each.averages[0].used.mean for each in (now, other)],
        "difference": asdict(compared.difference("other", "now", WHOLE)),
        "won": rows(1),
        "lost": rows(-1),
        "remark": few_questions(len(pairs)),
    }


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
    retriever, given = to_ask(studio.retriever, settings)
    unknown = sorted(given.keys() - OF_CALL)
    if unknown:
        raise InvalidInputError(f"a run can't set {shown(unknown[0])}")
    given = {name: value for name, value in given.items() if value is not None or not SETTINGS[name].is_own_if_none}
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


@dataclass(frozen=True, slots=True)
class AskedEntries:
    """The questions that a run asks.

    Attributes:
        entries: The questions, as the list has them.
        questions: The questions alone.
        left_out: The number of those that it doesn't ask.
    """

    entries: Sequence[Entry]
    questions: Sequence[Question]
    left_out: int


async def asked_entries(studio: Studio, *, leave_out_lost: bool) -> AskedEntries:
    """Return the questions that a run asks: those with gold.

    Args:
        studio: The page.
        leave_out_lost: Whether those are left out whose gold isn't in the index, and which would score 0.

    Raises:
        Refused: There are none.
    """
    entries = await ASYNC.in_thread(studio.question_list.all)
    golds = await studio.gold_texts.read(studio.retriever, [entry.question for entry in entries])
    asked = [
        (entry, entry.question)
        for entry, gold in zip(entries, golds, strict=True)
        if isinstance(entry.question, Question) and (gold.state in ("ok", "unknown") or not leave_out_lost)
    ]
    if not asked:
        reason = "the gold of none of them is in the index" if entries else "there are none"
        raise Refused(409, f"no question can be asked: {reason}; mark an answer in Ask, or import questions")
    return AskedEntries([entry for entry, _ in asked], [each for _, each in asked], len(entries) - len(asked))
