"""`QuestionList`: the questions of the page, in memory or in a file that others may change too."""

import hashlib
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.questions import (
    AnyQuestion,
    OpenQuestion,
    Question,
    Record,
    as_record,
    parse_questions,
    question_line,
)
from langchain_sentence_window.store.files import open_regular, replace_file

from .replies import Refused

FILE_NAME = "questions.jsonl"
"""The file of questions in the folder of an index."""

MAX_UNDONE = 50
"""Changes that can be undone."""

MAX_FILE_BYTES = 100_000_000
"""Size of the largest file of questions."""

NAME_CHARS = 12
"""Characters of a name of a question's words, or of its gold."""

_QUOTED_CHARS = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """A question of the list.

    Attributes:
        number: Its number, which it keeps as long as it is in the list, whoever changes it.
        question: The question, with gold or without.
        record: All keys of its line in the file, with those that other programs wrote.
    """

    number: int
    question: AnyQuestion
    record: Mapping[str, Any] = field(repr=False, hash=False)

    @property
    def version(self) -> str:
        """A name for the question as it is now: one for its words, and one for its gold."""
        return f"{_name(self.question.question)}-{_name(repr(gold_of(self.question)))}"

    def with_question(self, question: AnyQuestion) -> "Entry":
        """Return the entry with another question. Other keys of its line stay."""
        kept = {name: value for name, value in self.record.items() if name not in ("doc_id", "spans", "texts")}
        return Entry(self.number, question, _in_order(self.record, {**kept, **as_record(question)}))


Entries: TypeAlias = tuple[Entry, ...]

Moved: TypeAlias = Mapping[AnyQuestion, str]
"""The documents that hold the gold of questions now, where the list names others."""

NONE_MOVED: Moved = MappingProxyType({})


class Conflict(Refused):
    """A change of a question that isn't what it was when it was looked at."""

    def __init__(self, current: Entry | None) -> None:
        """Refuse, and say what the question is now; ``None`` if it was deleted."""
        happened = "deleted" if current is None else "changed"
        now = current and as_record(current.question) | {"number": current.number, "version": current.version}
        where = "in another tab or by another program"
        super().__init__(409, f"this question was {happened} meanwhile, {where}; nothing was written", current=now)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change that can be taken back: the entries that it was about, by number, with where they stood."""

    number: int
    what: str
    before: Mapping[int, tuple[int, Entry]]
    after: Mapping[int, tuple[int, Entry]]


class QuestionList:
    """The questions of the page. All methods block, and may be called from any thread.

    What other programs write into the file meanwhile stays: a change is made in what the file holds at that moment.
    Other lists of the same file wait until it is written.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Begin a list.

        Args:
            path: The file to read and write, made at the first change; ``None`` to keep the questions in memory.
        """
        self.path = path
        self._entries: Entries = ()
        self._numbers = itertools.count(1)
        self._changes = itertools.count(1)
        self._seen: bytes | None = None
        self._undone: list[_Change] = []
        self._lock = threading.Lock()

    def all(self) -> Entries:
        """Return all questions, as the file has them now.

        Raises:
            InvalidInputError: The file can't be read. The message names the line.
        """
        with self._lock:
            return self._read()

    @property
    def undoable(self) -> tuple[int, str] | None:
        """The number of the change that `undo` would take back, and the change in words; ``None`` for none."""
        return (self._undone[-1].number, self._undone[-1].what) if self._undone else None

    def add(self, questions: Iterable[AnyQuestion], records: Iterable[Mapping[str, Any]] | None = None) -> Entries:
        """Add questions at the end, apart from those that are in the list.

        Args:
            questions: The questions.
            records: All keys of the line of each; ``None`` for no others.

        Returns:
            Those that were added.

        Raises:
            InvalidInputError: The file can't be read or written. Nothing was added.
        """
        found = list(questions)
        given = list(records) if records is not None else [{} for _ in found]
        with self._alone():
            entries = self._read()
            known = {entry.question for entry in entries}
            fresh: list[Entry] = []
            for question, record in zip(found, given, strict=True):
                if question not in known:
                    known.add(question)
                    fresh.append(Entry(next(self._numbers), question, {**record, **as_record(question)}))
            if fresh:
                self._put(f"adding {_quoted(fresh)}", (*entries, *fresh))
            return tuple(fresh)

    def mark(
        self,
        question: str,
        doc_id: str,
        change: Callable[[Question | None], Question | None],
        moved: Moved = NONE_MOVED,
    ) -> Entry | None:
        """Change the gold that a question has in a document.

        A question that isn't in the list is added; one without gold gets its gold. Without any left it is removed,
        unless its answer is known: then it is one without gold again.

        Args:
            question: Its words.
            doc_id: The document.
            change: Returns the question with its gold from now on, given it as it was; ``None`` for no gold.
            moved: The documents that hold the gold of some questions now.

        Returns:
            The question as it is now; ``None`` if it was removed.

        Raises:
            InvalidInputError: The file can't be read or written. Nothing was changed.
        """
        with self._alone():
            entries = self._read()
            own = [each for each in entries if each.question.question.strip() == question]
            old = next((each for each in own if moved.get(each.question, gold_of(each.question)[0]) == doc_id), None)
            gold = change(old.question if old is not None and isinstance(old.question, Question) else None)
            old = old or next((each for each in own if isinstance(each.question, OpenQuestion)), None)
            if gold:
                old = old or Entry(next(self._numbers), OpenQuestion(question), {})
                new = old.with_question(replace(gold, question=old.question.question))
            elif old is not None and "answer" in old.record:
                new = old.with_question(OpenQuestion(old.question.question, old.record["answer"]))
            else:
                new = None
            is_new = old not in entries
            what = "adding" if is_new else "deleting" if new is None else "changing"
            rest = tuple(each for each in (new if each is old else each for each in entries) if each is not None)
            if old is not None:
                self._put(f"{what} {_quoted([old])}", (*rest, new) if is_new and new else rest)
            return new

    def change(self, number: int, version: str, question: str) -> Entry:
        """Give a question other words.

        Raises:
            Conflict: It isn't what it was any more. Nothing was changed.
            InvalidInputError: The words are blank, or the file can't be read or written. Nothing was changed.
        """
        with self._alone():
            entries = self._read()
            old = _of(entries, number, version.partition("-")[0])  # whoever marks gold meanwhile changes no words
            new = old.with_question(replace(old.question, question=question))
            self._put(f"changing {_quoted([old])}", tuple(new if one is old else one for one in entries))
            return new

    def remove(self, number: int, version: str) -> None:
        """Remove a question.

        Raises:
            Conflict: It isn't what it was any more. Nothing was removed.
            InvalidInputError: The file can't be read or written. Nothing was removed.
        """
        with self._alone():
            entries = self._read()
            gone = _of(entries, number, version)
            self._put(f"deleting {_quoted([gone])}", tuple(entry for entry in entries if entry is not gone))

    def undo(self, number: int | None = None) -> str:
        """Take the last change back, and return what that was, in words.

        Args:
            number: The change that it must be; ``None`` for any.

        Raises:
            Conflict: A question of it was changed since. Nothing was taken back.
            Refused: Another change came after it.
            InvalidInputError: There is nothing to take back, or the file can't be read or written.
        """
        with self._alone():
            now = {entry.number: entry for entry in self._read()}
            if not self._undone:
                raise InvalidInputError("there is no change of the questions to take back")
            last = self._undone[-1]
            if number not in (None, last.number):
                raise Refused(409, f"another change came after it: {last.what}; take that back first, in Evaluate")
            for each in last.before.keys() | last.after.keys():
                left = last.after.get(each)
                if (left and left[1].question) != (now[each].question if each in now else None):
                    raise Conflict(now.get(each))
            entries = [last.before[each.number][1] if each.number in last.before else each for each in now.values()]
            entries = [each for each in entries if each.number not in last.after or each.number in last.before]
            for place, entry in sorted(last.before.values(), key=itemgetter(0)):
                if entry.number not in now:
                    entries.insert(place, entry)
            self._write(tuple(entries))
            self._undone.pop()
            return last.what

    def lines(self) -> bytes:
        """Return the questions as a file of JSON lines, which `read_questions` reads."""
        return _lines(self.all())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads and other processes from changing the questions until the block ends."""
        with self._lock, ExitStack() as stack:
            if self.path is not None:
                try:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                    stack.enter_context(_locked(self.path))
                except OSError as error:
                    raise self._unwritable(error) from error
            yield

    def _unwritable(self, error: OSError) -> InvalidInputError:
        return InvalidInputError(
            f"{str(self.path)!r} can't be written ({error.strerror}); make room, or start the page with another file "
            "of questions"
        )

    def _put(self, what: str, entries: Entries) -> None:
        known, fresh = set(self._entries), set(entries)
        before = {each.number: (at, each) for at, each in enumerate(self._entries) if each not in fresh}
        after = {each.number: (at, each) for at, each in enumerate(entries) if each not in known}
        self._write(entries)
        self._undone = [*self._undone, _Change(next(self._changes), what, before, after)][-MAX_UNDONE:]

    def _write(self, entries: Entries) -> None:
        if self.path is not None:
            content = _lines(entries)
            try:
                replace_file(self.path, content)
            except OSError as error:
                raise self._unwritable(error) from error
            self._seen = _hash(content)
        self._entries = entries

    def _read(self) -> Entries:
        """Read the file, if another program changed it since it was last read or written."""
        if self.path is None:
            return self._entries
        content = _content(self.path)
        if _hash(content) != self._seen:
            try:
                found = parse_questions(content.decode("utf-8-sig"), str(self.path))
            except UnicodeDecodeError as error:
                raise InvalidInputError(f"{str(self.path)!r} isn't UTF-8 ({error}); save it as UTF-8") from None
            self._entries, self._seen = tuple(self._numbered(found)), _hash(content)
        return self._entries

    def _numbered(self, found: Sequence[Record]) -> Iterator[Entry]:
        """Yield what a file holds; a question keeps its number if its words or its gold are what they were."""
        numbers: dict[int, int] = {}
        left = dict.fromkeys(self._entries)
        for key in (
            lambda each: each,
            lambda each: (each.question, gold_of(each)[0]),
            gold_of,
            lambda each: each.question,
        ):
            known: dict[object, list[Entry]] = {}
            for entry in left:
                known.setdefault(key(entry.question), []).append(entry)
            for at, (question, _) in enumerate(found):
                same = known.get(key(question), []) if at not in numbers and key(question) != gold_of(_NO_GOLD) else []
                if same:
                    numbers[at] = same[0].number
                    del left[same.pop(0)]
        for at, (question, record) in enumerate(found):
            yield Entry(numbers[at] if at in numbers else next(self._numbers), question, record)


_NO_GOLD = OpenQuestion("?")


def gold_of(question: AnyQuestion) -> tuple[str, tuple[Span, ...]]:
    """Return the document and the spans of a question's gold; nothing if it has none."""
    return (question.doc_id, question.spans) if isinstance(question, Question) else ("", ())


def _name(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:NAME_CHARS]


def _of(entries: Sequence[Entry], number: int, version: str) -> Entry:
    found = next((each for each in entries if each.number == number), None)
    if found is None or not found.version.startswith(version):
        raise Conflict(found)
    return found


def _in_order(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {name: new[name] for name in [*old, *new] if name in new}


def _lines(entries: Iterable[Entry]) -> bytes:
    return "".join(question_line(entry.record) + "\n" for entry in entries).encode()


def _quoted(entries: Sequence[Entry]) -> str:
    if len(entries) > 1:
        return f"{len(entries):,} questions"
    text = entries[0].question.question
    return f"“{text if len(text) <= _QUOTED_CHARS else text[: _QUOTED_CHARS - 1] + '…'}”"


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that the system releases when this process ends; the file itself is replaced, so it can't be locked.

    Raises:
        OSError: Nothing can be locked there.
    """
    if sys.platform == "win32":
        import msvcrt

        # A folder can't be locked there.
        with path.with_name(f"{path.name}.lock").open("ab") as file:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            yield
        return
    import fcntl

    handle = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


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
