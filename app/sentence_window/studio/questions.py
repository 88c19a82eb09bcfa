"""Questions with gold spans: list, mark, edit, import and export them."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, TypeAlias

from pydantic import Field
from starlette.responses import Response
from starlette.routing import BaseRoute

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation import LostGold, Question, afind_gold
from sentence_window.studio.page_state import Studio, base_name, calling, check_writable, reading
from sentence_window.studio.question_list import FILE_NAME, Entry, as_lines, parse_entries, position_of
from sentence_window.studio.read_document import ReadDocument, read_document
from sentence_window.studio.replies import LINES, Refused
from sentence_window.studio.spans import Span, union, without

MAX_SPANS = 1_000
MAX_QUESTION_CHARS = 10_000

Words: TypeAlias = Annotated[str, Field(max_length=MAX_QUESTION_CHARS, pattern=r"\S")]
Spans: TypeAlias = Annotated[tuple[Span, ...], Field(max_length=MAX_SPANS)]


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/questions", list_questions),
        reading("/api/questions/export", export_questions),
        reading("/api/questions/gold", list_gold),
        calling("/api/questions/mark", mark_answer),
        calling("/api/questions/add", add_question),
        calling("/api/questions/change", change_question),
        calling("/api/questions/delete", delete_question),
        calling("/api/questions/import", import_questions),
    ]


async def list_questions(studio: Studio) -> object:
    """Return all questions, with their gold as the index has it."""
    entries = await asyncio.to_thread(studio.question_list.all)
    path = studio.question_list.path
    return {"questions": await _rows(studio, entries), "file": None if path is None else str(path)}


async def _rows(studio: Studio, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    golds = await find_golds(studio, entries)
    return [_row(entry, gold) for entry, gold in zip(entries, golds, strict=True)]


def _row(entry: Entry, found: Question | LostGold | None) -> dict[str, Any]:
    """Return what the page shows of a question: ``state`` is ``ok``, ``open`` without gold, or why it is lost."""
    gold = found.question if isinstance(found, LostGold) else found
    lost = found if isinstance(found, LostGold) else None
    return {
        "id": entry.id,
        "question": entry.question,
        "answer": entry.record.get("answer", ""),
        "doc_id": "" if gold is None else gold.doc_id,
        "spans": () if gold is None else gold.spans,
        "texts": () if gold is None else gold.texts,
        "name": "" if gold is None else base_name(gold.doc_id),
        "state": lost.reason if lost else "open" if gold is None else "ok",
        "problem": str(lost) if lost else "",
    }


async def find_golds(studio: Studio, entries: Iterable[Entry]) -> list[Question | LostGold | None]:
    """Return where the gold of each entry is in the index; ``None`` for an entry without gold."""
    asked = list(entries)
    listed = dict[str, object]()
    with suppress(InvalidInputError):  # the store can't list documents
        listed = {each.doc_id: each.added and (each.added, each.sentences) for each in await studio.documents()}
    # Without the times when documents were added, nothing says whether they have changed.
    if not listed or None in listed.values() or listed != studio.golds_of:
        studio.golds, studio.golds_of = {}, listed
    known = studio.golds
    wanted = {each.id: each.gold for each in asked if each.gold is not None and each.id not in known}
    known.update(zip(wanted, await afind_gold(studio.retriever, wanted.values()), strict=True))
    return [None if each.gold is None else known[each.id] for each in asked]


async def add_question(studio: Studio, question: Words) -> object:
    """Add a question without gold."""
    check_writable(studio)
    added = await _add(studio, [Entry({"question": question.strip(), "answer": ""})])
    if not added:
        raise Refused(409, "this question is in the list already")
    return (await _rows(studio, added))[0]


async def import_questions(studio: Studio, text: str) -> object:
    """Add the questions of a file, except those that are in the list; add none if a line can't be read."""
    check_writable(studio)
    found = await asyncio.to_thread(parse_entries, text.removeprefix("\ufeff"), "the import")
    if not found:
        raise Refused(400, "there are no questions in it; write a question on each line, as JSON or as a table")
    added = await _add(studio, found)
    return {"added": [entry.id for entry in added], "skipped": len(found) - len(added)}


async def _add(studio: Studio, new: Sequence[Entry]) -> list[Entry]:
    def add(entries: list[Entry]) -> list[Entry]:
        known = {entry.id for entry in entries}
        added = list({entry.id: entry for entry in new if entry.id not in known}.values())
        entries += added
        return added

    return await asyncio.to_thread(studio.question_list.edit, add)


async def change_question(studio: Studio, id: str, question: Words) -> object:
    """Give a question other words."""
    check_writable(studio)

    def change(entries: list[Entry]) -> Entry:
        position = position_of(entries, id)
        entries[position] = entries[position].with_question(question.strip())
        return entries[position]

    return (await _rows(studio, [await asyncio.to_thread(studio.question_list.edit, change)]))[0]


async def delete_question(studio: Studio, id: str) -> object:
    """Delete a question."""
    check_writable(studio)
    await asyncio.to_thread(studio.question_list.edit, lambda entries: entries.pop(position_of(entries, id)))
    return {}


async def export_questions(studio: Studio) -> Response:
    """Return the questions as a file of JSON lines."""
    content = as_lines(await asyncio.to_thread(studio.question_list.all))
    return Response(content, media_type=LINES, headers={"Content-Disposition": f'attachment; filename="{FILE_NAME}"'})


async def list_gold(studio: Studio, question: str) -> object:
    """Return the gold of a question in each of its documents."""
    golds = await _golds_of(studio, question)
    return {"golds": [{"doc_id": gold.doc_id, "spans": gold.spans} for _, gold in golds]}


async def _golds_of(studio: Studio, question: str) -> list[tuple[Entry, Question]]:
    """Return the entries of a question whose gold is in the index, each with its gold there."""
    entries = await asyncio.to_thread(studio.question_list.all)
    own = [each for each in entries if each.question.strip() == question.strip()]
    golds = await find_golds(studio, own)
    return [(entry, gold) for entry, gold in zip(own, golds, strict=True) if isinstance(gold, Question)]


async def mark_answer(studio: Studio, question: Words, doc_id: str, spans: Spans) -> object:
    """Make text the gold of a question, or, if it is that already, remove it from the gold.

    Returns:
        The ``question`` as it is now, ``None`` if nothing is left of it; and whether the text ``is_gold`` now.
    """
    check_writable(studio)
    async with studio.writing:
        (wanted,) = await afind_gold(studio.retriever, [Question(question.strip(), doc_id, spans)])
        if isinstance(wanted, LostGold):
            raise Refused(400, f"the gold isn't in the index: {wanted}")
        document = await read_document(studio.retriever, wanted.doc_id)
        golds = await _golds_of(studio, question)
        old = next((pair for pair in golds if pair[1].doc_id == wanted.doc_id), None)
        now, chosen = union(old[1].spans if old else ()), union(wanted.spans)
        is_gold = bool(without(chosen, now))
        kept = (
            union([*now, *chosen])
            if is_gold
            else [span for each in without(now, chosen) for span in _trimmed(document, each)]
        )
        gold = (
            Question(question.strip(), wanted.doc_id, tuple(kept), tuple(map(document.slice, kept))) if kept else None
        )
        entry = await asyncio.to_thread(studio.question_list.edit, _replacement(question, old and old[0], doc_id, gold))
    return {"question": None if entry is None else (await _rows(studio, [entry]))[0], "is_gold": is_gold}


def _replacement(
    question: str, old: Entry | None, doc_id: str, gold: Question | None
) -> Callable[[list[Entry]], Entry | None]:
    """Return what gives a question other gold in a document.

    A question that isn't in the list is added; one without gold, or whose gold in the document is lost, gets the gold.
    Without any gold left it is removed, unless its answer is known in words.
    """

    def change(entries: list[Entry]) -> Entry | None:
        position = None if old is None else position_of(entries, old.id)
        if position is None:
            own = [at for at, each in enumerate(entries) if each.question.strip() == question.strip()]
            lost = [at for at in own if entries[at].record.get("doc_id") in (None, doc_id)]
            position = lost[0] if lost else None
        base = Entry({"question": question.strip()}) if position is None else entries[position]
        new = base.with_gold(gold) if gold or "answer" in base.record else None
        entries[len(entries) if position is None else position : (position or 0) + 1] = [] if new is None else [new]
        return new

    return change


def _trimmed(document: ReadDocument, span: Span) -> list[Span]:
    """Return a span without the white space at its ends; nothing if it is blank."""
    text = document.slice(span)
    start, end = span[0] + len(text) - len(text.lstrip()), span[0] + len(text.rstrip())
    return [(start, end)] if start < end else []
