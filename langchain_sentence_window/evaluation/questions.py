"""Questions with gold spans: read, checked and written."""

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any

from langchain_core.runnables import Runnable

from langchain_sentence_window._arguments import checked_path
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import LONE_SURROGATE, Span
from langchain_sentence_window._validation import checked_list, invalid
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning

FORM = '{"question": "…", "doc_id": "…", "spans": [[start, end], …], "texts": ["…", …]}'
"""The keys of a line of a file of questions."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the spans of a document that answer it.

    Attributes:
        question: The question as a user would ask it.
        doc_id: The document that answers it.
        spans: The gold: half-open ``(start, end)`` in code points of the document's text, in any order. Where spans
            overlap, each character counts once.
        texts: The text of each span, by which the gold is found again after the document was edited or moved. If it is
            empty, the gold is the text that is at the spans now.
        others: Other keys of its line, such as your own notes, which `write_questions` writes back.
    """

    question: str
    doc_id: str
    spans: tuple[Span, ...]
    texts: tuple[str, ...] = field(default=(), compare=False)
    others: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields, and turn lists of spans into tuples.

        Raises:
            InvalidInputError: A field is empty or of a wrong type, a span isn't ``0 <= start < end``, or a text isn't
                as long as its span.
        """
        for name, value in (("question", self.question), ("doc_id", self.doc_id)):
            if not isinstance(value, str) or not value.strip():
                raise invalid(name, value, "it must be a string that isn't blank")
        if not isinstance(self.spans, list | tuple) or not self.spans:
            raise invalid("spans", self.spans, "give at least one (start, end) of the evidence")
        object.__setattr__(self, "spans", tuple(map(_checked_span, self.spans)))
        object.__setattr__(self, "texts", _checked_texts(self.texts, self.spans))


def read_questions(path: str | PathLike[str]) -> list[Question]:
    """Read questions from a file of JSON lines.

    It leaves out questions with an ``answer`` but without gold, with a warning.

    Args:
        path: A UTF-8 file with ``{"question": …, "doc_id": …, "spans": [[start, end], …], "texts": […]}`` on each line;
            ``texts`` may be missing. Blank lines are ignored, and other keys are kept as `Question.others`.

    Raises:
        InvalidInputError: The file doesn't exist or has no questions, or a line can't be read. The message says which
            line and why.
    """
    records = read_records(read_text(path), str(path))
    questions = [as_question(record, where) for where, record in records if not lacks_gold(record)]
    if not records:
        raise no_questions(path)
    if len(questions) < len(records):
        warnings.warn(
            f"{len(records) - len(questions):,} of {len(records):,} questions of {path} have no gold, and are left "
            "out; confirm their answers in the studio: sentence-window serve --questions FILE",
            SentenceWindowWarning,
            stacklevel=2,
        )
    return questions


def read_text(path: str | PathLike[str]) -> str:
    """Read a file of questions.

    Raises:
        InvalidInputError: It can't be read, or isn't UTF-8.
    """
    try:
        return checked_path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInputError(
            f"{shown(str(path))} can't be read ({error.strerror}); give a file that write_questions wrote, or one with "
            f"{FORM} on each line"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} isn't UTF-8 ({error}); save it as UTF-8") from None


def no_questions(path: object) -> InvalidInputError:
    """Make the error for a file without questions."""
    return InvalidInputError(f"{path} holds no questions; write one on each line, as {FORM}")


def read_records(text: str, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return each line of JSON lines, with its place for messages.

    Raises:
        InvalidInputError: A line isn't a JSON object.
    """
    records: list[tuple[str, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines: a JSON string may contain U+2028
        where = f"line {number} of {name}"
        try:
            record = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{where} isn't JSON ({error}); write {FORM}") from None
        if line.strip():
            records.append((where, record if isinstance(record, dict) else {}))
    return records


def lacks_gold(record: Mapping[str, Any]) -> bool:
    """Return whether the keys of a line are those of a question with an answer in words."""
    return "answer" in record and "doc_id" not in record and "spans" not in record


def as_question(record: Mapping[str, Any], where: str) -> Question:
    """Return the question of a line.

    Raises:
        InvalidInputError: A key is missing, or its value is invalid.
    """
    needed = ("question", "doc_id", "spans")
    missing_keys = [key for key in needed if key not in record]
    if missing_keys:
        raise InvalidInputError(f"{where}: it lacks {', '.join(map(repr, missing_keys))}; write {FORM}")
    others = {key: value for key, value in record.items() if key not in (*needed, "texts")}
    try:
        return Question(record["question"], record["doc_id"], record["spans"], record.get("texts", ()), others)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None


def write_questions(path: str | PathLike[str], questions: Iterable[Question]) -> None:
    """Write questions to a file that `read_questions` reads; an existing file is replaced.

    Raises:
        InvalidInputError: The questions aren't a list of `Question`, or the file can't be written. Nothing was
            written.
    """
    lines = [question_line(as_record(question)) + "\n" for question in checked_questions(questions)]
    try:
        checked_path(path).write_bytes("".join(lines).encode())
    except OSError as error:
        raise InvalidInputError(f"{shown(str(path))} can't be written ({error.strerror}); choose another") from error


def checked_questions(questions: object) -> list[Question]:
    """Return questions as a list.

    Raises:
        InvalidInputError: The argument isn't a list of `Question`. The message says which element is wrong.
    """
    if isinstance(questions, Runnable):
        raise invalid("questions", questions, "the retriever comes first: evaluate(retriever, questions)")
    if isinstance(questions, Question | str | PathLike):
        raise invalid("questions", questions, "give a list of Question, or read a file with read_questions(path)")
    checked: list[Question] = []
    for position, question in enumerate(checked_list("questions", questions)):
        if not isinstance(question, Question):
            raise invalid(f"questions[{position}]", question, "give a Question, or read a file with read_questions")
        checked.append(question)
    return checked


def as_record(question: Question) -> dict[str, Any]:
    """Return the keys of a question's line."""
    record = asdict(question)
    others = record.pop("others")
    if not question.texts:
        del record["texts"]
    return record | {key: value for key, value in others.items() if key not in record}


def question_line(record: Mapping[str, Any]) -> str:
    """Write the keys of a question as a line of JSON, without its end."""
    line = json.dumps(record, ensure_ascii=False)
    # UTF-8 has no bytes for lone surrogates, so they are written as JSON escapes.
    return json.dumps(record) if LONE_SURROGATE.search(line) else line


def _checked_span(span: Any) -> Span:
    # By type, as `isinstance` would take a bool for a number.
    if isinstance(span, list | tuple) and [type(end) for end in span] == [int, int] and 0 <= span[0] < span[1]:
        return span[0], span[1]
    raise invalid("the span", span, "it must be (start, end) in code points of the document, with 0 <= start < end")


def _checked_texts(texts: Any, spans: tuple[Span, ...]) -> tuple[str, ...]:
    is_list = isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts)
    if not is_list or len(texts) not in (0, len(spans)):
        raise invalid("texts", texts, f"give the text of each of the {len(spans)} spans, or none")
    for text, (start, end) in zip(texts, spans, strict=False):
        if len(text) != end - start:
            raise InvalidInputError(
                f"the text {shown(text)} has {len(text)} characters, and its span {shown((start, end))} has "
                f"{shown(end - start)}; give the text as the document has it, counted in code points"
            )
    return tuple(texts)
