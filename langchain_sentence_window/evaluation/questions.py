"""Questions with gold spans, and the files they are kept in."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.spans import Span

_FORM = '{"question": "…", "doc_id": "…", "spans": [[start, end], …]}'


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where in a document its evidence stands.

    Attributes:
        question: As a user would ask it.
        doc_id: The document that answers it.
        spans: The gold: half-open ``(start, end)`` in code points of the document's text, in any order;
            what two of them share counts once.
    """

    question: str
    doc_id: str
    spans: tuple[Span, ...]

    def __post_init__(self) -> None:
        """Check the fields; lists of spans become tuples.

        Raises:
            InvalidInputError: One is empty or of a wrong type, or a span isn't ``0 <= start < end``.
        """
        for name, value in (("question", self.question), ("doc_id", self.doc_id)):
            if not isinstance(value, str) or not value.strip():
                raise InvalidInputError(f"{name} is {value!r}; it must be a string that isn't blank")
        if not isinstance(self.spans, list | tuple) or not self.spans:
            raise InvalidInputError(f"spans is {self.spans!r}; give at least one (start, end) of the evidence")
        object.__setattr__(self, "spans", tuple(map(_checked_span, self.spans)))


def read_questions(path: str | PathLike[str]) -> list[Question]:
    """Read questions from a file of JSON lines.

    Args:
        path: A UTF-8 file with ``{"question": …, "doc_id": …, "spans": [[start, end], …]}`` a line. Blank
            lines and other keys are passed over.

    Raises:
        InvalidInputError: A line can't be read; the message says which and why. Or there is none.
        OSError: The file can't be opened.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} isn't UTF-8 ({error}); save it as UTF-8") from None
    # Not splitlines: a JSON string may hold U+2028.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise InvalidInputError(f"{path} holds no questions; write one on each line, as {_FORM}")
    return [_read(line, f"line {number} of {path}") for number, line in lines]


def write_questions(path: str | PathLike[str], questions: Iterable[Question]) -> None:
    """Write questions to a file that `read_questions` reads; one that is there is replaced."""
    lines = [json.dumps(asdict(question), ensure_ascii=False) + "\n" for question in questions]
    Path(path).write_bytes("".join(lines).encode())


def _read(line: str, place: str) -> Question:
    try:
        record: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{place} isn't JSON ({error}); write {_FORM}") from None
    missing = [key for key in ("question", "doc_id", "spans") if not isinstance(record, dict) or key not in record]
    if missing:
        raise InvalidInputError(f"{place} lacks {', '.join(map(repr, missing))}; write {_FORM}")
    try:
        return Question(record["question"], record["doc_id"], record["spans"])
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from None


def _checked_span(span: Any) -> Span:
    # No "isinstance int" for a bool: true is no position.
    if isinstance(span, list | tuple) and [type(end) for end in span] == [int, int] and 0 <= span[0] < span[1]:
        return span[0], span[1]
    raise InvalidInputError(
        f"the span {span!r} is none; it must be (start, end) in code points of the document, with 0 <= start < end"
    )
