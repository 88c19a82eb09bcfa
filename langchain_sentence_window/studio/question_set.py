"""Questions with gold spans: make, change, import and export them."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.evaluation.questions import Question, parse_questions
from langchain_sentence_window.retrieval.stored_documents import read_sentences
from langchain_sentence_window.studio.gold_texts import Gold, document_name
from langchain_sentence_window.studio.question_list import Entry
from langchain_sentence_window.studio.replies import (
    LINES,
    Arguments,
    Refused,
    calling,
    check_writable,
    not_found,
    reading,
)
from langchain_sentence_window.studio.state import Studio

FILE_NAME = "questions.jsonl"

MAX_FOUND = 50
"""Documents that a search by name returns."""

MAX_SPANS = 1_000
MAX_QUESTION_CHARS = 10_000

_WRONG = {
    "missing": "the document {!r} isn't in the index, or the filter doesn't let it through; choose one that is",
    "outside": "a span ends behind the end of the document {!r}; mark the gold again",
}


class Written(Arguments):
    """A question as the page writes it."""

    question: str = Field(max_length=MAX_QUESTION_CHARS)
    doc_id: str
    spans: list[tuple[int, int]] = Field(max_length=MAX_SPANS)


class Changed(Written):
    """A question that takes the place of another."""

    number: int


class Chosen(Arguments):
    """Some questions."""

    numbers: list[int] = Field(min_length=1)


class Sought(Arguments):
    """A part of a document's name; empty for any."""

    name: str = ""


class OfDocument(Arguments):
    """A document of the index."""

    doc_id: str


class Imported(Arguments):
    """Questions as JSON lines."""

    text: str


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/questions", Arguments, list_questions),
        reading("/api/questions/export", Arguments, export_questions),
        reading("/api/questions/documents", Sought, find_documents),
        reading("/api/questions/sentences", OfDocument, list_sentences),
        calling("/api/questions/add", Written, add_question),
        calling("/api/questions/change", Changed, change_question),
        calling("/api/questions/delete", Chosen, delete_questions),
        calling("/api/questions/undo", Arguments, undo_change),
        calling("/api/questions/import", Imported, import_questions),
    ]


async def list_questions(studio: Studio, _: Arguments) -> object:
    """Return all questions, with their gold as the index has it."""
    entries = await ASYNC.in_thread(studio.question_list.all)
    return {
        "questions": await _shown(studio, entries),
        "undo": studio.question_list.undoable,
        "file": None if studio.question_list.path is None else str(studio.question_list.path),
    }


async def add_question(studio: Studio, given: Written) -> object:
    """Add a question whose gold is in the index."""
    check_writable(studio)
    question = _question(given)
    await _check_gold(studio, question)
    added = await ASYNC.in_thread(studio.question_list.add, [question])
    if not added:
        raise Refused(409, "this question with this gold is in the list already")
    return (await _shown(studio, added))[0]


async def change_question(studio: Studio, given: Changed) -> object:
    """Change a question; new gold must be in the index."""
    check_writable(studio)
    question = _question(given)
    entries = await ASYNC.in_thread(studio.question_list.all)
    old = next((entry.question for entry in entries if entry.number == given.number), None)
    # The words of a question may be corrected while its document isn't there.
    if old is None or (old.doc_id, old.spans) != (question.doc_id, question.spans):
        await _check_gold(studio, question)
    changed = await ASYNC.in_thread(studio.question_list.change, given.number, question)
    return (await _shown(studio, [changed]))[0]


async def delete_questions(studio: Studio, given: Chosen) -> object:
    """Delete questions."""
    check_writable(studio)
    gone = await ASYNC.in_thread(studio.question_list.remove, given.numbers)
    return {"deleted": [entry.number for entry in gone]}


async def undo_change(studio: Studio, _: Arguments) -> object:
    """Take the last change of the questions back."""
    check_writable(studio)
    return {"undone": await ASYNC.in_thread(studio.question_list.undo)}


async def import_questions(studio: Studio, given: Imported) -> object:
    """Add the questions of JSON lines, apart from those that are in the list; add none if a line can't be read."""
    check_writable(studio)
    found = await ASYNC.in_thread(parse_questions, given.text.removeprefix("\ufeff"), "the import")
    if not found:
        raise Refused(400, "there are no questions in it; write one on each line of JSON")
    questions, records = zip(*found, strict=True)
    added = await ASYNC.in_thread(studio.question_list.add, questions, records)
    return {"added": [entry.number for entry in added], "skipped": len(found) - len(added)}


async def export_questions(studio: Studio, _: Arguments) -> Response:
    """Return the questions as a file of JSON lines."""
    content = await ASYNC.in_thread(studio.question_list.lines)
    headers = {"Content-Disposition": f'attachment; filename="{FILE_NAME}"', "Cache-Control": "no-store"}
    return Response(content, media_type=LINES, headers=headers)


async def find_documents(studio: Studio, given: Sought) -> object:
    """Return the first documents whose name, title or id holds a text, in any case, and the number of all."""
    wanted = given.name.strip().casefold()
    found = [
        each
        for each in await studio.documents()
        if any(wanted in text.casefold() for text in (each.doc_id, each.title or "", each.source or ""))
    ]
    shown = [{"doc_id": each.doc_id, "title": each.title, "sentences": each.sentences} for each in found[:MAX_FOUND]]
    return {"documents": shown, "total": len(found)}


async def list_sentences(studio: Studio, given: OfDocument) -> object:
    """Return of each sentence of a document its first code point, its text, what is before the next, and its index."""
    sentences, _ = await read_sentences(ASYNC, studio.retriever.scope(), given.doc_id)
    if not sentences:
        raise not_found("there is no such document in the index; it may have been deleted just now")
    return {
        "doc_id": given.doc_id,
        "name": document_name(sentences[0]),
        "sentences": [[each.start, each.text, each.separator, each.index] for each in sentences],
    }


async def _shown(studio: Studio, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    golds = await studio.gold_texts.read(studio.retriever, [entry.question for entry in entries])
    return [_row(entry, gold) for entry, gold in zip(entries, golds, strict=True)]


def _row(entry: Entry, gold: Gold) -> dict[str, Any]:
    question = entry.question
    return {
        "number": entry.number,
        "question": question.question,
        "doc_id": question.doc_id,
        "spans": question.spans,
        "name": gold.name,
        "state": gold.state,
        "texts": gold.texts,
    }


def _question(given: Written) -> Question:
    return Question(given.question.strip(), given.doc_id, tuple(given.spans))


async def _check_gold(studio: Studio, question: Question) -> None:
    (gold,) = await studio.gold_texts.read(studio.retriever, [question])
    if gold.state in _WRONG:
        raise Refused(400, _WRONG[gold.state].format(question.doc_id))
