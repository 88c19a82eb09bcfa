"""Questions with gold spans: read, checked and written."""

import csv
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from io import StringIO
from os import PathLike
from typing import Any, TypeAlias

from langchain_core.runnables import Runnable

from langchain_sentence_window._arguments import checked_path
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import LONE_SURROGATE, Span
from langchain_sentence_window._validation import checked_list
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning

_FORM = '{"question": "…", "doc_id": "…", "spans": [[start, end], …], "texts": ["…", …]}'


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the spans of a document that answer it.

    Attributes:
        question: The question as a user would ask it.
        doc_id: The document that answers it.
        spans: The gold: half-open ``(start, end)`` in code points of the document's text, in any order. Where spans
            overlap, each character counts once.
        texts: The text of each span, by which the gold is found again after the document was edited or moved. Empty
            if it isn't known; then the gold is whatever stands at its spans.
        others: Other keys of its line, such as notes of your own, which `write_questions` writes back.
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
                raise InvalidInputError(f"{name} is {shown(value)}; it must be a string that isn't blank")
        spans = list(self.spans) if isinstance(self.spans, list | tuple) else []
        if not spans:
            raise InvalidInputError(f"spans is {shown(self.spans)}; give at least one (start, end) of the evidence")
        object.__setattr__(self, "spans", tuple(map(_checked_span, spans)))
        object.__setattr__(self, "texts", _checked_texts(self.texts, self.spans))


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question whose gold nobody has confirmed yet.

    Attributes:
        question: The question as a user would ask it.
        answer: Its answer in words; empty if it isn't known.
    """

    question: str
    answer: str = ""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            InvalidInputError: One isn't a string, or the question is blank.
        """
        if not isinstance(self.question, str) or not self.question.strip():
            raise InvalidInputError(f"question is {shown(self.question)}; it must be a string that isn't blank")
        if not isinstance(self.answer, str):
            raise InvalidInputError(f"answer is {shown(self.answer)}; it must be a string")


AnyQuestion: TypeAlias = Question | OpenQuestion
Record: TypeAlias = tuple[AnyQuestion, dict[str, Any]]
"""A question, and all keys of its line or row."""


def read_questions(path: str | PathLike[str]) -> list[Question]:
    """Read questions from a file of JSON lines.

    It leaves out questions without gold, with a warning.

    Args:
        path: A UTF-8 file with ``{"question": …, "doc_id": …, "spans": [[start, end], …], "texts": […]}`` on each line;
            ``texts`` may be missing. Blank lines are ignored, and other keys are kept as `Question.others`.

    Raises:
        InvalidInputError: The file doesn't exist or has no questions, or a line can't be read. The message says which
            line and why.
    """
    found = read_any_questions(path)
    known = [question for question in found if isinstance(question, Question)]
    if len(known) < len(found):
        warnings.warn(
            f"{len(found) - len(known):,} of {len(found):,} questions of {path} have no gold, and are left out; "
            "confirm their answers in the studio: sentence-window serve --questions FILE",
            SentenceWindowWarning,
            stacklevel=2,
        )
    return known


def read_any_questions(path: str | PathLike[str]) -> list[AnyQuestion]:
    """Read questions from a file as people have it, with gold or without; see `parse_questions`.

    Raises:
        InvalidInputError: As `read_questions`.
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


def parse_questions(text: str, where: str) -> list[Record]:
    """Read questions from JSON lines, from CSV, or from text as people write it.

    Args:
        text: JSON lines with gold, or with ``question`` and ``answer`` alone. Or CSV, tabs or semicolons with columns
            of these names, or without a header and a question mark at the end of each question. Or paragraphs: a
            question, and its answer on the lines below.
        where: Where they are from, for messages.

    Returns:
        Each question, and all keys of its line. Blank lines are ignored.

    Raises:
        InvalidInputError: A line can't be read. The message says which one and why.
    """
    # Not splitlines: a JSON string may hold U+2028.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines or lines[0][1].lstrip()[0] in "[{":
        return [_parse_question_line(line, f"line {number} of {where}") for number, line in lines]
    return _read_table(text, where) or _read_paragraphs(text, where)


def write_questions(path: str | PathLike[str], questions: Iterable[Question]) -> None:
    """Write questions to a file that `read_questions` reads; an existing file is replaced.

    Raises:
        InvalidInputError: The questions aren't a list of `Question`, or the file can't be written. Nothing was
            written.
    """
    file = checked_path(path)
    lines = [question_line(as_record(question)) + "\n" for question in checked_questions(questions)]
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


def as_record(asked: AnyQuestion) -> dict[str, Any]:
    """Return the keys of a question's line."""
    record = asdict(asked)
    others = record.pop("others", {})
    if not record.get("texts", True):
        del record["texts"]
    return record | {key: value for key, value in others.items() if key not in record}


def question_line(record: Mapping[str, Any]) -> str:
    """Write the keys of a question, and others, as a line of JSON without its end."""
    line = json.dumps(record, ensure_ascii=False)
    # UTF-8 has no bytes for lone surrogates, so they are written as JSON escapes.
    return json.dumps(record) if LONE_SURROGATE.search(line) else line


def _parse_question_line(line: str, where: str) -> Record:
    """Read a question, with spans or an answer, from a line of JSON."""
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where} isn't JSON ({error}); write {_FORM}") from None
    keys = record.keys() if isinstance(record, dict) else set[str]()
    is_open = "answer" in keys and not {"doc_id", "spans"} & keys
    needed = ("question",) if is_open else ("question", "doc_id", "spans")
    missing = [key for key in needed if key not in keys]
    if missing:
        raise InvalidInputError(f"{where}: it lacks {', '.join(map(repr, missing))}; write {_FORM}")
    try:
        if is_open:
            return OpenQuestion(record["question"], record["answer"]), record
        others = {key: value for key, value in record.items() if key not in (*needed, "texts")}
        texts = record.get("texts", ())
        return Question(record["question"], record["doc_id"], record["spans"], texts, others), record
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None


_SEPARATORS = ",;\t|"
_MARK = r"[?\u037e\u061f\uff1f]"
_PAIR = re.compile(rf"\s*\"?(?P<question>[^\n]*?{_MARK})\"?[ ]*[{_SEPARATORS}](?P<answer>[^\n]*)")
_ASKS = re.compile(rf"{_MARK}\W*\Z")
_NUMBER = re.compile(r"\s*\d{1,6}[.)]\s+")
_COLON = r"\s*\d{0,6}\s*[:\uff1a]\s*"
_QUESTION = re.compile(
    rf"\s*(?:[QFPD]|Question|Frage|Pregunta|Domanda|Pergunta|Вопрос|[问問]|質問){_COLON}", re.IGNORECASE
)
_ANSWER = re.compile(
    rf"\s*(?:[AR]|Answer|Antwort|Respuesta|Réponse|Risposta|Resposta|Ответ|答|回答){_COLON}", re.IGNORECASE
)


def _read_table(text: str, where: str) -> list[Record]:
    """Read rows whose columns a header names, or lines of a question and an answer; none if it is another text."""
    try:
        for separator in _SEPARATORS:
            rows = csv.reader(StringIO(text.lstrip()), delimiter=separator)
            names = [name.strip().lower() for name in next(rows, [])]
            if "question" in names:
                records = [dict(zip(names, row, strict=False)) for row in rows if any(map(str.strip, row))]
                return [_parse_open_question(each, f"row {at} of {where}") for at, each in enumerate(records, 2)]
    except csv.Error as error:
        raise InvalidInputError(f"{where} can't be read as a table ({error}); save it as CSV again") from None
    pairs = [_PAIR.fullmatch(line) for line in text.splitlines() if line.strip()]
    return [_parse_open_question(pair.groupdict(), where) for pair in pairs if pair] if all(pairs) else []


def _read_paragraphs(text: str, where: str) -> list[Record]:
    """Read questions that a blank line or a label ends, each with its answer on the lines below."""
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if not line.strip() or _QUESTION.match(line):
            paragraphs.append([])
        if line.strip():
            paragraphs[-1].append(line)
    found: list[Record] = []
    for question, *lines in filter(None, paragraphs):
        label = _QUESTION.match(question) or _NUMBER.match(question)
        if label is None and not _ASKS.search(question):
            raise InvalidInputError(
                f"{shown(question)} of {where} isn't a question; write one that ends in a question mark, its answer "
                f"on the lines below, or {_FORM} on each line"
            )
        answer = "\n".join(lines)
        answer_label = _ANSWER.match(answer)
        row = {
            "question": question[label.end() if label else 0 :],
            "answer": answer[answer_label.end() if answer_label else 0 :],
        }
        found.append(_parse_open_question(row, where))
    return found


def _parse_open_question(row: Mapping[str, str], where: str) -> Record:
    """Read a question and its answer, without spans, from a row of a table."""
    try:
        opened = OpenQuestion(row["question"].strip(), row.get("answer", "").strip(' \t\n"'))
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None
    return opened, asdict(opened)


def _checked_span(span: Any) -> Span:
    # By type, as `isinstance` would take a bool for a number.
    if isinstance(span, list | tuple) and [type(end) for end in span] == [int, int] and 0 <= span[0] < span[1]:
        return span[0], span[1]
    raise InvalidInputError(
        f"the span is {shown(span)}; it must be (start, end) in code points of the document, with 0 <= start < end"
    )


def _checked_texts(texts: Any, spans: tuple[Span, ...]) -> tuple[str, ...]:
    found = list(texts) if isinstance(texts, list | tuple) else None
    if found is None or not all(isinstance(text, str) for text in found) or len(found) not in (0, len(spans)):
        raise InvalidInputError(f"texts is {shown(texts)}; give the text of each of the {len(spans)} spans, or none")
    for text, (start, end) in zip(found, spans, strict=False):
        if len(text) != end - start:
            raise InvalidInputError(
                f"the text {shown(text)} has {len(text)} characters, and its span {shown((start, end))} has "
                f"{shown(end - start)}; give the text as the document has it, counted in code points"
            )
    return tuple(found)
