"""Questions with gold spans: edit, import and export them, measure the retriever by them, and try settings on them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, TypeAlias

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC
from langchain_sentence_window._primitives import Span
from langchain_sentence_window.answering.quotes.verification import find_said
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.gold import DocumentText, document_text, find_spans
from langchain_sentence_window.evaluation.measurement import BUDGETS, acompare, aevaluate
from langchain_sentence_window.evaluation.metrics import FULL_COVERAGE, title, union, within_budget
from langchain_sentence_window.evaluation.questions import AnyQuestion, OpenQuestion, Question, parse_questions
from langchain_sentence_window.evaluation.report import Comparison, QuestionResult, Report, few_questions, remarks
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.settings import OF_CALL, SETTINGS

from .page_state import Job, Studio, calling, check_writable, reading
from .queries import NO_SETTINGS, Settings
from .question_list import FILE_NAME, NAME_CHARS, Entry, gold_of
from .read_document import Gold, read_document
from .replies import LINES, Refused, fields_of
from .setting_form import to_ask

MAX_SPANS = 1_000
MAX_QUESTION_CHARS = 10_000


Words: TypeAlias = Annotated[str, Field(max_length=MAX_QUESTION_CHARS)]
Spans: TypeAlias = Annotated[tuple[Span, ...], Field(max_length=MAX_SPANS)]
Version: TypeAlias = Annotated[str, Field(min_length=NAME_CHARS)]
"""The version of a question, as a person saw it."""


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/questions", list_questions),
        reading("/api/questions/export", export_questions),
        reading("/api/questions/gold", list_gold),
        calling("/api/questions/mark", mark_answer),
        calling("/api/questions/propose", propose_answer),
        calling("/api/questions/add", add_question),
        calling("/api/questions/change", change_question),
        calling("/api/questions/delete", delete_question),
        calling("/api/questions/undo", undo_change),
        calling("/api/questions/import", import_questions),
        calling("/api/evaluate", evaluate),
        calling("/api/trial", try_settings),
    ]


async def list_questions(studio: Studio) -> object:
    """Return all questions, with their gold as the index has it."""
    entries = await ASYNC.in_thread(studio.question_list.all)
    undoable = studio.question_list.undoable
    return {
        "questions": await _rows(studio, entries),
        "undo": None if undoable is None else undoable[1],
        "file": None if studio.question_list.path is None else str(studio.question_list.path),
    }


async def add_question(
    studio: Studio, question: Words, doc_id: str | None = None, spans: Spans = (), answer: str = ""
) -> object:
    """Add a question: without gold, or with gold that is in the index."""
    check_writable(studio)
    asked: AnyQuestion = OpenQuestion(question.strip(), answer)
    if doc_id is not None:
        asked = await _in_index(studio, Question(asked.question, doc_id, spans))
    added = await ASYNC.in_thread(studio.question_list.add, [asked])
    if not added:
        raise Refused(409, "this question is in the list already")
    return (await _rows(studio, added))[0]


async def list_gold(studio: Studio, question: str) -> object:
    """Return the gold of a question in each of its documents."""
    own = await _golds_of(studio, question)
    return {"golds": [{"doc_id": doc_id, "spans": spans} for doc_id, spans in map(gold_of, own.values()) if spans]}


async def mark_answer(studio: Studio, question: Words, doc_id: str, spans: Spans) -> object:
    """Make text the gold of a question, or, if it is that already, take it out.

    Returns:
        The ``question`` as it is now, ``None`` if nothing is left of it; whether the text ``is_gold`` now; and the
        number of the ``change``, to take it back.
    """
    check_writable(studio)
    wanted = await _in_index(studio, Question(question.strip(), doc_id, spans))
    read = await read_document(studio.retriever, doc_id)
    document = document_text(read.sentences, is_whole=read.is_whole)
    is_gold = True

    def change(old: Question | None) -> Question | None:
        nonlocal is_gold
        # What isn't there any more is left out.
        now = union(span for span in ([] if old is None else find_spans(old, document)) if span is not None)
        is_gold = bool(without(union(wanted.spans), now))
        rest = without(now, union(wanted.spans))
        kept = [*now, *wanted.spans] if is_gold else [each for span in rest if (each := trimmed(document, span))]
        left = tuple(union(kept))
        return replace(wanted, spans=left, texts=tuple(document.slice(*span) or "" for span in left)) if left else None

    golds = await _golds_of(studio, question)
    moved = {each: gold_of(now)[0] for each, now in golds.items()}
    entry = await ASYNC.in_thread(studio.question_list.mark, wanted.question, doc_id, change, moved)
    undoable = studio.question_list.undoable
    return {
        "question": None if entry is None else (await _rows(studio, [entry]))[0],
        "is_gold": is_gold,
        "change": undoable and undoable[0],
    }


async def propose_answer(studio: Studio, number: int) -> object:
    """Return sentences of a document that say what the answer of a question says, for a person to confirm."""
    entries = await ASYNC.in_thread(studio.question_list.all)
    asked = next((each.question for each in entries if each.number == number), None)
    if not isinstance(asked, OpenQuestion) or not asked.answer.strip():
        return {"proposal": None}
    windows = [
        window for text in (asked.answer, asked.question) for window in await studio.retriever.ainvoke(text, k=MIN_K)
    ]
    said = await ASYNC.in_thread(find_said, asked.answer, windows)
    if said is None:
        return {"proposal": None}
    (gold,) = await studio.gold_texts.read(studio.retriever, [Question(asked.question, said.doc_id, said.spans)])
    return {
        "proposal": {**fields_of(gold.question, "doc_id spans texts"), "name": gold.name, "is_exact": said.is_exact}
    }


async def change_question(studio: Studio, number: int, version: Version, question: Words) -> object:
    """Give a question other words."""
    check_writable(studio)
    changed = await ASYNC.in_thread(studio.question_list.change, number, version, question.strip())
    return (await _rows(studio, [changed]))[0]


async def delete_question(studio: Studio, number: int, version: Version) -> object:
    """Delete a question."""
    check_writable(studio)
    await ASYNC.in_thread(studio.question_list.remove, number, version)
    return {}


async def undo_change(studio: Studio, change: int | None = None) -> object:
    """Take the last change of the questions back."""
    check_writable(studio)
    return {"undone": await ASYNC.in_thread(studio.question_list.undo, change)}


async def import_questions(studio: Studio, text: str) -> object:
    """Add the questions of a file, apart from those that are in the list; add none if a line can't be read."""
    check_writable(studio)
    found = await ASYNC.in_thread(parse_questions, text.removeprefix("\ufeff"), "the import")
    if not found:
        raise Refused(400, "there are no questions in it; write a question and its answer on each line")
    # Gold that is in the index gets its text, and its document as the index names it.
    golds = await studio.gold_texts.read(studio.retriever, [question for question, _ in found])
    questions, records = [gold.question for gold in golds], [record for _, record in found]
    added = await ASYNC.in_thread(studio.question_list.add, questions, records)
    return {"added": [entry.number for entry in added], "skipped": len(found) - len(added)}


async def export_questions(studio: Studio) -> Response:
    """Return the questions as a file of JSON lines."""
    content = await ASYNC.in_thread(studio.question_list.lines)
    headers = {"Content-Disposition": f'attachment; filename="{FILE_NAME}"', "Cache-Control": "no-store"}
    return Response(content, media_type=LINES, headers=headers)


async def _rows(studio: Studio, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    golds = await studio.gold_texts.read(studio.retriever, [entry.question for entry in entries])
    return [_row(entry, gold) for entry, gold in zip(entries, golds, strict=True)]


def _row(entry: Entry, gold: Gold) -> dict[str, Any]:
    doc_id, spans = gold_of(gold.question)
    return {
        **fields_of(entry, "number version"),
        "question": entry.question.question,
        "answer": entry.record.get("answer", ""),
        "doc_id": doc_id,
        "spans": spans,
        "texts": gold.question.texts if isinstance(gold.question, Question) else (),
        **fields_of(gold, "name state problem"),
    }


async def _golds_of(studio: Studio, question: str) -> dict[AnyQuestion, AnyQuestion]:
    """Return the entries of a question whose gold is in the index, each with what it is there."""
    entries = await ASYNC.in_thread(studio.question_list.all)
    own = [each.question for each in entries if each.question.question.strip() == question.strip()]
    golds = await studio.gold_texts.read(studio.retriever, own)
    return {each: gold.question for each, gold in zip(own, golds, strict=True) if gold.state in _IN_INDEX}


def trimmed(document: DocumentText, span: Span) -> Span | None:
    """Return a span without the white space at its ends; ``None`` if there is nothing else."""
    text = document.slice(*span) or ""
    start, end = span[0] + len(text) - len(text.lstrip()), span[0] + len(text.rstrip())
    return (start, end) if start < end else None


_IN_INDEX = ("ok", "unknown")


async def _in_index(studio: Studio, question: Question) -> Question:
    """Return a question with the text of its gold.

    Raises:
        Refused: It isn't in the index, or the filter hides it.
    """
    (gold,) = await studio.gold_texts.read(studio.retriever, [question])
    if gold.state not in _IN_INDEX or not isinstance(gold.question, Question):
        raise Refused(400, f"the gold isn't in the index: {gold.problem}")
    return gold.question


WHOLE = 1_000_000_000
"""A size of the context, in characters, that holds all that a call returns."""

SHOWN = 1_600
"""The size of the context, in characters, at which the page says how a question fared."""

LEAST_CHANGE = 1 - FULL_COVERAGE
"""The change of recall above which a question wins or loses; a space or a full stop of the gold is less."""

MIN_K = 40
"""Windows that a measurement asks for, enough to fill the usual budgets."""

MEASURED = ("recall", "precision", "full_coverage")
"""The metrics that the page shows at each budget."""


async def evaluate(studio: Studio) -> object:
    """Start to ask the questions as the retriever is; the job's result is what was found of their gold."""
    retriever = studio.retriever.model_copy(update={"k": max(MIN_K, studio.retriever.k)})

    async def work(asked: Sequence[Entry], questions: Sequence[Question], report: OnProgress) -> Mapping[str, Any]:
        found = await aevaluate(retriever, questions, BUDGETS, on_progress=report)
        return await ASYNC.in_thread(_measured, found, asked)

    return await start_asking(studio, "evaluate", work)


def _measured(report: Report, asked: Sequence[Entry]) -> dict[str, Any]:
    at = report.budgets.index(SHOWN)
    return {
        "budgets": report.budgets,
        "shown": SHOWN,
        "rows": [
            {"name": title(metric), "means": [asdict(getattr(each, metric)) for each in report.averages]}
            for metric in MEASURED
        ],
        "wrong_section": None if report.wrong_section is None else asdict(report.wrong_section),
        "remarks": remarks([report]),
        "questions": [
            {
                **fields_of(entry, "number version"),
                "recall": result.scores[at].recall,
                "missed": _missed(result, report),
            }
            for entry, result in zip(asked, report.results, strict=True)
        ],
    }


def _missed(result: QuestionResult, report: Report) -> list[Span]:
    """Return the parts of a question's gold that aren't in what was read."""
    passages = within_budget(result.passages, SHOWN, report.count)
    read = union(each.span for each in passages if each.span and each.doc_id == result.question.doc_id)
    return [left for span in result.question.spans for left in without([span], read)]


async def try_settings(studio: Studio, other: Settings, settings: Settings = NO_SETTINGS) -> object:
    """Start to ask the questions with settings and with others, as a call asks.

    The job's result says of which questions the others return more of the gold, of which less, and how much they read.
    """
    own = {"k": studio.retriever.k}
    both = {"now": own | settings, "other": own | other}
    copies = await ASYNC.in_thread(lambda: {name: retriever_with(studio, each) for name, each in both.items()})

    async def work(asked: Sequence[Entry], questions: Sequence[Question], report: OnProgress) -> Mapping[str, Any]:
        compared = await acompare(copies, questions, [WHOLE], on_progress=report)
        return await ASYNC.in_thread(_tried, compared, asked)

    return await start_asking(studio, "trial", work)


def _tried(compared: Comparison, asked: Sequence[Entry]) -> dict[str, Any]:
    now, other = compared.reports.values()
    pairs = list(zip(now.values("recall", WHOLE), other.values("recall", WHOLE), strict=True))

    def rows(sign: int) -> list[dict[str, Any]]:
        return [
            {"number": entry.number, "question": entry.question.question, "before": before, "after": after}
            for entry, (before, after) in zip(asked, pairs, strict=True)
            if sign * (after - before) > LEAST_CHANGE
        ]

    return {
        "recall": [each.averages[0].recall.mean for each in (now, other)],
        "used": [each.averages[0].used.mean for each in (now, other)],
        "difference": asdict(compared.difference("other", "now", WHOLE)),
        "won": rows(1),
        "lost": rows(-1),
        "remark": few_questions(len(pairs)),
    }


def retriever_with(studio: Studio, settings: Mapping[str, Any]) -> SentenceWindowRetriever:
    """Return a copy of the page's retriever with other settings; a filter among them narrows its own.

    Raises:
        InvalidInputError: A setting doesn't exist, or its value can't be used.
    """
    retriever, given = to_ask(studio.retriever, settings)
    unknown = sorted(given.keys() - OF_CALL)
    if unknown:
        raise InvalidInputError(f"a trial can't set {shown(unknown[0])}")
    given = {name: value for name, value in given.items() if value is not None or not SETTINGS[name].is_own_if_none}
    if isinstance(given.get("window"), list):
        given["window"] = tuple(given["window"])
    if "filter" in given:
        given["filter"] = retriever.scope(given["filter"]).filter
    return retriever.model_copy(update=given)


OnProgress: TypeAlias = Callable[[int, int], None]


async def start_asking(
    studio: Studio,
    kind: str,
    work: Callable[[Sequence[Entry], Sequence[Question], OnProgress], Awaitable[Mapping[str, Any]]],
) -> object:
    """Start a job that asks the questions whose gold is in the index.

    Args:
        studio: The page.
        kind: What the job does.
        work: Asks questions, given as the list has them and alone, and says how many are done of how many. It returns
            the job's result, to which the number of questions is added, and that of those that aren't asked.

    Raises:
        Refused: There are none.
    """
    entries = await ASYNC.in_thread(studio.question_list.all)
    golds = await studio.gold_texts.read(studio.retriever, [entry.question for entry in entries])
    asked = [
        (entry, gold.question)
        for entry, gold in zip(entries, golds, strict=True)
        if isinstance(gold.question, Question) and gold.state in _IN_INDEX
    ]
    if not asked:
        reason = "the gold of none of them is in the index" if entries else "there are none"
        raise Refused(409, f"no question can be asked: {reason}; mark an answer in Ask, or import questions")

    async def reporting(job: Job) -> object:
        chosen, questions = zip(*asked, strict=True)
        found = await work(chosen, questions, lambda done, total: job.report(done=done, total=total))
        return {**found, "count": len(asked), "left_out": len(entries) - len(asked)}

    return {"job": studio.jobs.start(kind, f"{len(asked):,} questions", reporting).to_dict()}


def without(gold: Sequence[Span], read: Sequence[Span]) -> list[Span]:
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
