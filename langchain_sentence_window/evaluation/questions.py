"""Questions with gold spans, and the files that hold them."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from langchain_core.runnables import Runnable

from langchain_sentence_window._arguments import checked_path
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Span
from langchain_sentence_window._validation import checked_list, gathered
from langchain_sentence_window.errors import InvalidInputError

_SURROGATE = re.compile("[\ud800-\udfff]")
_FORM = '{"question": "…", "doc_id": "…", "spans": [[start, end], …]}'


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the spans of a document that answer it.

    Attributes:
        question: The question as a user would ask it.
        doc_id: The document that answers it.
        spans: The gold: half-open ``(start, end)`` in code points of the document's text, in any order. Where spans
            overlap, each character counts once.
    """

    question: str
    doc_id: str
    spans: tuple[Span, ...]

    def __post_init__(self) -> None:
        """Check the fields, and turn lists of spans into tuples.

        Raises:
            InvalidInputError: A field is empty or of a wrong type, or a span isn't ``0 <= start < end``.
        """
        for name, value in (("question", self.question), ("doc_id", self.doc_id)):
            if not isinstance(value, str) or not value.strip():
                raise InvalidInputError(f"{name} is {shown(value)}; it must be a string that isn't blank")
        spans = gathered(self.spans) if isinstance(self.spans, list | tuple) else []
        if not spans:
            raise InvalidInputError(f"spans is {shown(self.spans)}; give at least one (start, end) of the evidence")
        object.__setattr__(self, "spans", tuple(map(_checked_span, spans)))


def read_questions(path: str | PathLike[str]) -> list[Question]:
    """Read questions from a file of JSON lines.

    Args:
        path: A UTF-8 file with ``{"question": …, "doc_id": …, "spans": [[start, end], …]}`` on each line. Blank lines
            and other keys are ignored.

    Raises:
        InvalidInputError: The file doesn't exist or has no questions, or a line can't be read. The message says which
            line and why.
    """
    file = checked_path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInputError(
            f"{shown(str(path))} can't be read ({error.strerror}); give a file that write_questions wrote, or one with "
            f"{_FORM} on each line"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} isn't UTF-8 ({error}); save it as UTF-8") from None
    found = parse_questions(text, str(path))
    if not found:
        raise InvalidInputError(f"{path} holds no questions; write one on each line, as {_FORM}")
    return [question for question, _ in found]


def parse_questions(text: str, where: str) -> list[tuple[Question, dict[str, Any]]]:
    """Read questions from JSON lines.

    Args:
        text: The lines. Blank ones are ignored.
        where: Where they are from, for messages.

    Returns:
        Each question, and all keys of its line.

    Raises:
        InvalidInputError: A line can't be read. The message says which one and why.
    """
    # Not splitlines: a JSON string may hold U+2028.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [_read(line, f"line {number} of {where}") for number, line in lines]


def write_questions(path: str | PathLike[str], questions: Iterable[Question]) -> None:
    """Write questions to a file that `read_questions` reads; an existing file is replaced.

    Raises:
        InvalidInputError: The questions aren't a list of `Question`, or the file can't be written. Nothing was
            written.
    """
    file = checked_path(path)
    lines = [question_line(asdict(question)) + "\n" for question in checked_questions(questions)]
    try:
        file.write_bytes("".join(lines).encode())
    except OSError as error:
        raise InvalidInputError(f"{shown(str(path))} can't be written ({error.strerror}); choose another") from error


def checked_questions(questions: object) -> list[Question]:
    """Return questions as a list.

    Raises:
        InvalidInputError: The argument isn't a list of `Question`. The message says which element is wrong.
    """
    if isinstance(questions, Question):
        raise InvalidInputError("questions is a single Question; give a list of them: [question]")
    if isinstance(questions, Runnable):
        raise InvalidInputError(
            f"questions is {shown(questions)}; the retriever comes first: evaluate(retriever, questions)"
        )
    if isinstance(questions, str | PathLike):
        raise InvalidInputError(f"questions is {shown(questions)}; read a file with read_questions(path)")
    found = checked_list("questions", questions)
    for position, question in enumerate(found):
        if not isinstance(question, Question):
            raise InvalidInputError(
                f"questions[{position}] is {shown(question)}; give a Question, or read a file with read_questions"
            )
    return [question for question in found if isinstance(question, Question)]


def question_line(record: Mapping[str, Any]) -> str:
    """Write the keys of a question, and others, as a line of JSON without its end."""
    line = json.dumps(record, ensure_ascii=False)
    # UTF-8 has no bytes for lone surrogates, so they are written as JSON escapes.
    return json.dumps(record) if _SURROGATE.search(line) else line


def _read(line: str, where: str) -> tuple[Question, dict[str, Any]]:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where} isn't JSON ({error}); write {_FORM}") from None
    missing = [key for key in ("question", "doc_id", "spans") if not isinstance(record, dict) or key not in record]
    if missing:
        raise InvalidInputError(f"{where} lacks {', '.join(map(repr, missing))}; write {_FORM}")
    try:
        return Question(record["question"], record["doc_id"], record["spans"]), record
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None


def _checked_span(span: Any) -> Span:
    # By type, as `isinstance` would take a bool for a number.
    if isinstance(span, list | tuple) and [type(end) for end in span] == [int, int] and 0 <= span[0] < span[1]:
        return span[0], span[1]
    raise InvalidInputError(
        f"the span is {shown(span)}; it must be (start, end) in code points of the document, with 0 <= start < end"
    )
