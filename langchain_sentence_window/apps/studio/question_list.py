"""`QuestionList`: the questions of the page, in memory or in a file that others may change too; their gold; and `Runs`.

A run is a measurement of the questions with one set of settings, to list, to compare and to look into.
"""

import hashlib
import itertools
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.evaluation.fitted_ranking import FittedRanking
from langchain_sentence_window.evaluation.metrics import MeanCI, Passage, mean_cis, union, within_budget
from langchain_sentence_window.evaluation.questions import Question, parse_questions, question_line
from langchain_sentence_window.evaluation.report import QuestionResult, Report
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.stores.faiss.database.store_files import open_regular, replace_file

from .read_document import read_document
from .replies import Refused, fields_of, not_found

MAX_UNDONE = 50
"""Changes that can be undone."""

MAX_FILE_BYTES = 100_000_000
"""Size of the largest file of questions."""

_KEYS = ("question", "doc_id", "spans")
_QUOTED_CHARS = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """A question of the list.

    Attributes:
        number: Its number, which it keeps as long as it is in the list.
        question: The question.
        record: All keys of its line in the file, with those that other programs wrote.
    """

    number: int
    question: Question
    record: Mapping[str, Any] = field(repr=False)


Entries: TypeAlias = tuple[Entry, ...]


class QuestionList:
    """The questions of the page. All methods block, and may be called from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        """Begin a list.

        Args:
            path: The file to read and write, made at the first change; ``None`` to keep the questions in memory.
        """
        self.path = path
        self._entries: Entries = ()
        self._next = 1
        self._seen: bytes | None = None
        self._undone: list[tuple[str, Entries]] = []
        self._lock = threading.Lock()

    def all(self) -> Entries:
        """Return all questions, as the file has them now.

        Raises:
            InvalidInputError: The file can't be read. The message names the line.
        """
        with self._lock:
            self._read()
            return self._entries

    @property
    def undoable(self) -> str | None:
        """The change that `undo` would take back, in words; ``None`` for none."""
        return self._undone[-1][0] if self._undone else None

    def add(self, questions: Iterable[Question], records: Iterable[Mapping[str, Any]] | None = None) -> Entries:
        """Add questions at the end, apart from those that are in the list.

        Args:
            questions: The questions.
            records: All keys of the line of each; ``None`` for no others.

        Returns:
            Those that were added.

        Raises:
            Refused: Another program changed the file. Nothing was added.
            InvalidInputError: The file can't be read or written. Nothing was added.
        """
        found = list(questions)
        given = list(records) if records is not None else [{} for _ in found]
        with self._lock:
            entries = self._current()
            known = {entry.question for entry in entries}
            fresh: list[Entry] = []
            for question, record in zip(found, given, strict=True):
                if question not in known:
                    known.add(question)
                    fresh.append(self._entry(question, record))
            if fresh:
                what = _quoted(fresh[0].question) if len(fresh) == 1 else f"{len(fresh):,} questions"
                self._put(f"adding {what}", (*entries, *fresh))
            return tuple(fresh)

    def change(self, number: int, question: Question) -> Entry:
        """Replace a question. Other keys of its line stay.

        Raises:
            Refused: Another program changed the file. Nothing was changed.
            InvalidInputError: There is no such question, or the file can't be read or written. Nothing was changed.
        """
        with self._lock:
            entries = self._current()
            old = _of(entries, number)
            new = Entry(number, question, {**old.record, **_record(question)})
            self._put(f"changing {_quoted(old.question)}", tuple(new if one is old else one for one in entries))
            return new

    def remove(self, numbers: Collection[int]) -> Entries:
        """Remove questions, and return them.

        Raises:
            Refused: Another program changed the file. Nothing was removed.
            InvalidInputError: There is no such question, or the file can't be read or written. Nothing was removed.
        """
        with self._lock:
            entries = self._current()
            gone = tuple(_of(entries, number) for number in dict.fromkeys(numbers))
            if gone:
                what = _quoted(gone[0].question) if len(gone) == 1 else f"{len(gone):,} questions"
                self._put(f"deleting {what}", tuple(entry for entry in entries if entry not in gone))
            return gone

    def undo(self) -> str:
        """Take the last change back, and return what that was, in words.

        Raises:
            Refused: Another program changed the file. Nothing was taken back.
            InvalidInputError: There is nothing to take back, or the file can't be read or written.
        """
        with self._lock:
            self._current()
            if not self._undone:
                raise InvalidInputError("there is no change of the questions to take back")
            what, before = self._undone[-1]
            self._write(before)
            self._undone.pop()
            return what

    def lines(self) -> bytes:
        """Return the questions as a file of JSON lines, which `read_questions` reads."""
        return _lines(self.all())

    def _entry(self, question: Question, record: Mapping[str, Any]) -> Entry:
        number, self._next = self._next, self._next + 1
        return Entry(number, question, {**record, **_record(question)})

    def _current(self) -> Entries:
        """Return the questions, if they are those that the page has seen."""
        if self._read():
            raise Refused(
                409,
                f"another program changed {str(self.path)!r}, so nothing was written; the list was read again: look at "
                "it, and repeat the change",
            )
        return self._entries

    def _put(self, what: str, entries: Entries) -> None:
        before = self._entries
        self._write(entries)
        self._undone = [*self._undone, (what, before)][-MAX_UNDONE:]

    def _write(self, entries: Entries) -> None:
        if self.path is not None:
            content = _lines(entries)
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self.path, content)
            except OSError as error:
                raise InvalidInputError(
                    f"{str(self.path)!r} can't be written ({error.strerror}); make room, or start the page with "
                    "another file of questions"
                ) from error
            self._seen = _hash(content)
        self._entries = entries

    def _read(self) -> bool:
        """Read the file, and return whether another program changed it since it was last read or written."""
        if self.path is None:
            return False
        content = _content(self.path)
        if _hash(content) == self._seen:
            return False
        try:
            found = parse_questions(content.decode("utf-8-sig"), str(self.path))
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{str(self.path)!r} isn't UTF-8 ({error}); save it as UTF-8") from None
        # Questions that stayed keep their numbers.
        numbers: dict[Question, list[int]] = {}
        for entry in reversed(self._entries):
            numbers.setdefault(entry.question, []).append(entry.number)
        entries = []
        for question, record in found:
            entry = self._entry(question, record)
            known = numbers.get(question)
            entries.append(Entry(known.pop(), question, entry.record) if known else entry)
        is_first, self._seen = self._seen is None, _hash(content)
        self._entries, self._undone = tuple(entries), []
        return not is_first


def _of(entries: Sequence[Entry], number: int) -> Entry:
    for entry in entries:
        if entry.number == number:
            return entry
    raise InvalidInputError(f"there is no question {number}; it was deleted")


def _record(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in _KEYS}


def _lines(entries: Iterable[Entry]) -> bytes:
    return "".join(question_line(entry.record) + "\n" for entry in entries).encode()


def _quoted(question: Question) -> str:
    text = question.question
    return f"“{text if len(text) <= _QUOTED_CHARS else text[: _QUOTED_CHARS - 1] + '…'}”"


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _content(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InvalidInputError(
            f"{shown(str(path))} can't be read ({error.strerror}); make it readable, or start the page with another "
            "file of questions"
        ) from error
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInputError(f"{shown(str(path))} has more than {MAX_FILE_BYTES // 1_000_000} MB; split it")
    return content


State: TypeAlias = Literal["ok", "missing", "outside", "unknown"]
"""Whether the gold is in the index; ``missing`` if the document isn't, or may not be read; ``outside`` if a span
ends behind its end; ``unknown`` if the store can't say."""


MAX_DOCUMENTS = 20_000
"""Documents whose gold is remembered."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold of a question in the index.

    Attributes:
        name: What the document is called.
        state: Whether it is there.
        texts: The text of each span, in their order; empty unless all are there.
    """

    name: str
    state: State
    texts: tuple[str, ...] = ()


class GoldTexts:
    """Reads the gold of questions, and remembers it while its document stays as it is."""

    def __init__(self) -> None:
        """Begin without any."""
        self._known: dict[str, tuple[object, dict[tuple[Span, ...], Gold]]] = {}

    async def read(self, retriever: SentenceWindowRetriever, questions: Iterable[Question]) -> list[Gold]:
        """Return what the gold of each question is in the index, within the retriever's filter."""
        asked = list(questions)
        wanted: dict[str, set[tuple[Span, ...]]] = {}
        for question in asked:
            wanted.setdefault(question.doc_id, set()).add(question.spans)
        versions = await _versions(retriever)
        if len(self._known) > MAX_DOCUMENTS:
            self._known.clear()
        found: dict[str, dict[tuple[Span, ...], Gold]] = {}
        for doc_id, spans in wanted.items():
            if versions is not None and doc_id not in versions:
                found[doc_id] = dict.fromkeys(spans, Gold(doc_id, "missing"))
                continue
            version = None if versions is None else versions[doc_id]
            known_version, golds = self._known.get(doc_id, (None, {}))
            if version is None or version != known_version:
                golds = {}
            if unknown := spans - golds.keys():
                golds = {**golds, **await _read(retriever, doc_id, unknown)}
            found[doc_id] = golds
            self._known[doc_id] = version, golds
        return [found[question.doc_id][question.spans] for question in asked]


async def _versions(retriever: SentenceWindowRetriever) -> Mapping[str, object] | None:
    """Return for each document what changes whenever it does, ``None`` if that isn't known.

    Returns:
        ``None`` if the store can't list documents.
    """
    try:
        documents = await retriever.adocuments()
    except SentenceWindowError:
        return None
    return {each.doc_id: None if each.added is None else (each.added, each.sentences) for each in documents}


async def _read(
    retriever: SentenceWindowRetriever, doc_id: str, spans: Iterable[tuple[Span, ...]]
) -> dict[tuple[Span, ...], Gold]:
    try:
        document = await read_document(retriever, doc_id)
    except SentenceWindowError:  # the store can't read it, or lacks sentences of it
        return dict.fromkeys(spans, Gold(doc_id, "unknown"))
    except Refused:
        return dict.fromkeys(spans, Gold(doc_id, "missing"))
    # Where the filter hides a part of the document, nothing is said of the rest.
    lost = Gold(document.name, "outside" if document.is_whole else "missing")
    found = {}
    for each in spans:
        texts = [text for span in each if (text := document.slice(*span)) is not None]
        found[each] = Gold(document.name, "ok", tuple(texts)) if len(texts) == len(each) else lost
    return found


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
