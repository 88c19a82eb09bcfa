"""`QuestionList`: the questions of the page, in memory or in a file that other programs may change too."""

import csv
import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation import Question
from sentence_window.safe_files import open_regular, replace_file
from sentence_window.studio.replies import Refused

FILE_NAME = "questions.jsonl"
"""The file of questions in the folder of an index."""

MAX_FILE_BYTES = 100_000_000
"""Size of the largest file of questions."""

ID_CHARS = 16

_GOLD = ("doc_id", "spans", "texts")
_SEPARATORS = ",;\t"

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """A question of the list.

    Attributes:
        record: The keys of its line in the file: ``question``; ``answer``, if that is known in words; ``doc_id``,
            ``spans`` and ``texts`` of its gold, if it has any; and others that other programs wrote.
    """

    record: Mapping[str, Any]

    @property
    def question(self) -> str:
        """The question."""
        return str(self.record["question"])

    @cached_property
    def gold(self) -> Question | None:
        """The question with its gold; ``None`` if it has none."""
        if "spans" not in self.record:
            return None
        return Question(self.question, self.record["doc_id"], self.record["spans"], self.record.get("texts", ()))

    @cached_property
    def id(self) -> str:
        """A name for the question and its gold as they are now."""
        gold = None if self.gold is None else (self.gold.doc_id, self.gold.spans)
        return hashlib.sha256(repr((self.question, gold)).encode(errors="surrogatepass")).hexdigest()[:ID_CHARS]

    def with_question(self, question: str) -> "Entry":
        """Return the entry with other words."""
        return Entry({**self.record, "question": question})

    def with_gold(self, gold: Question | None) -> "Entry":
        """Return the entry with other gold, or without any."""
        kept = {name: value for name, value in self.record.items() if name not in _GOLD}
        if gold is None:
            return Entry({"answer": "", **kept})
        return Entry({**kept, "doc_id": gold.doc_id, "spans": gold.spans, "texts": gold.texts})


class QuestionList:
    """The questions of the page. All methods block, and may be called from any thread.

    The file is read whenever it is needed, so what other programs write into it isn't lost.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Begin a list.

        Args:
            path: The file to read and write, made at the first change; ``None`` to keep the questions in memory.
        """
        self.path = path
        self._in_memory: list[Entry] = []
        self._lock = threading.Lock()

    def all(self) -> list[Entry]:
        """Return all questions, as the file has them now.

        Raises:
            InvalidInputError: The file can't be read. The message names the line.
        """
        return list(self._in_memory) if self.path is None else parse_entries(_content(self.path), str(self.path))

    def edit(self, change: Callable[[list[Entry]], T]) -> T:
        """Change the questions while no other thread or page does, and return what the function returns.

        Args:
            change: Changes the list that it is given. If it raises, nothing is changed.

        Raises:
            InvalidInputError: The file can't be read or written. Nothing was changed.
        """
        with self._lock, ExitStack() as stack:
            if self.path is None:
                entries = self.all()
                result = change(entries)
                self._in_memory = entries
                return result
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(_locked(self.path))
                entries = self.all()
                result = change(entries)
                replace_file(self.path, as_lines(entries))
            except OSError as error:
                raise InvalidInputError(
                    f"{str(self.path)!r} can't be written ({error.strerror}); make room, or start the page with "
                    "another file of questions"
                ) from error
            return result


def position_of(entries: Sequence[Entry], entry_id: str) -> int:
    """Return where a question is in the list.

    Raises:
        Refused: It isn't there any more.
    """
    for position, entry in enumerate(entries):
        if entry.id == entry_id:
            return position
    raise Refused(
        409, "this question was changed or deleted in the meantime, in another tab or by another program; look again"
    )


def parse_entries(text: str, where: str) -> list[Entry]:
    """Read questions from JSON lines, or from a table with the columns ``question`` and perhaps ``answer``.

    Args:
        text: The lines, or the table as CSV, with commas, semicolons or tabs.
        where: Where the text is from, for messages.

    Raises:
        InvalidInputError: A line can't be read. The message says which one and why.
    """
    if text.strip() and text.lstrip()[0] not in "{[":
        return _parse_table(text, where)
    # Not splitlines: a JSON string may hold U+2028.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [_parse_line(line, f"line {number} of {where}") for number, line in lines]


def _parse_line(line: str, where: str) -> Entry:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where} isn't JSON ({error})") from None
    if not isinstance(record, dict):
        raise InvalidInputError(f"{where} is {shown(record)}; write an object with 'question'")
    question = record.get("question")
    if not isinstance(question, str) or not question.strip():
        raise InvalidInputError(f"{where}: question is {shown(question)}; write a string that isn't blank")
    if ("doc_id" in record) != ("spans" in record):
        raise InvalidInputError(f"{where}: it has only one of 'doc_id' and 'spans'; write both, or neither")
    entry = Entry(record)
    try:
        entry.gold  # noqa: B018 - checks it
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None
    return entry


def _parse_table(text: str, where: str) -> list[Entry]:
    header = text.partition("\n")[0]
    separator = max(_SEPARATORS, key=header.count)
    rows = csv.DictReader(text.splitlines(), delimiter=separator, skipinitialspace=True)
    names = {name.strip().lower(): name for name in rows.fieldnames or ()}
    if "question" not in names:
        raise InvalidInputError(
            f"{where} begins with {shown(header)}; give JSON lines, or a table whose first line names the columns "
            "question and answer"
        )
    entries: list[Entry] = []
    for row in rows:
        question, answer = ((row.get(names.get(name, "")) or "").strip() for name in ("question", "answer"))
        if question:
            entries.append(Entry({"question": question, "answer": answer}))
    return entries


def as_lines(entries: Sequence[Entry]) -> bytes:
    """Write questions as JSON lines, which `read_questions` reads."""
    lines = [json.dumps(dict(entry.record), ensure_ascii=False) for entry in entries]
    try:
        return "".join(f"{line}\n" for line in lines).encode()
    except UnicodeEncodeError:  # lone surrogates
        return "".join(f"{json.dumps(dict(entry.record))}\n" for entry in entries).encode()


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


def _content(path: Path) -> str:
    try:
        with open_regular(path) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise InvalidInputError(
            f"{str(path)!r} can't be read ({error.strerror}); make it readable, or start the page with another file "
            "of questions"
        ) from error
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInputError(f"{str(path)!r} has more than {MAX_FILE_BYTES // 1_000_000} MB; split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{str(path)!r} isn't UTF-8 ({error}); save it as UTF-8") from None
