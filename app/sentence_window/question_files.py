"""Files of questions, with gold or without, as people have them: JSON lines, tables and text."""

import csv
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from io import StringIO
from os import PathLike
from typing import Any, TypeAlias

from langchain_sentence_window._validation import invalid
from langchain_sentence_window.documents import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation import Question, questions
from langchain_sentence_window.evaluation.questions import (
    FORM,
    as_question,
    lacks_gold,
    no_questions,
    read_records,
    read_text,
)


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question whose gold isn't confirmed yet.

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
            raise invalid("question", self.question, "it must be a string that isn't blank")
        if not isinstance(self.answer, str):
            raise invalid("answer", self.answer, "it must be a string")


AnyQuestion: TypeAlias = Question | OpenQuestion
"""A question with gold or without."""

Record: TypeAlias = tuple[AnyQuestion, dict[str, Any]]
"""A question, and all keys of its line or row."""


def as_record(question: AnyQuestion) -> dict[str, Any]:
    """Return the keys of a question's line."""
    return questions.as_record(question) if isinstance(question, Question) else asdict(question)


def read_any_questions(path: str | PathLike[str]) -> list[AnyQuestion]:
    """Read questions from a file, with gold or without; see `parse_questions`.

    Raises:
        InvalidInputError: The file doesn't exist or has no questions, or a line can't be read.
    """
    records = parse_questions(read_text(path), str(path))
    if not records:
        raise no_questions(path)
    return [question for question, _ in records]


def parse_questions(text: str, where: str) -> list[Record]:
    """Read questions from JSON lines, from a table, or from text as people write it.

    Args:
        text: JSON lines with gold, or with ``question`` and ``answer`` alone. Or columns with these names, separated by
            commas, semicolons or tabs; or without a header, if each question ends in a question mark. Or paragraphs: a
            question, and its answer on the lines below.
        where: The name of the file, for messages.

    Returns:
        Each question, and all keys of its line. Blank lines are ignored.

    Raises:
        InvalidInputError: A line can't be read. The message says which one and why.
    """
    if not text.strip() or text.lstrip()[0] in "[{":
        return [(_from_record(record, line), record) for line, record in read_records(text, where)]
    return _read_table(text, where) or _read_paragraphs(text, where)


def _from_record(record: Mapping[str, Any], where: str) -> AnyQuestion:
    if not (lacks_gold(record) and "question" in record):
        return as_question(record, where)
    return _open_question(record["question"], record["answer"], where)


def _open_question(question: str, answer: str, where: str) -> OpenQuestion:
    try:
        return OpenQuestion(question, answer)
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
    """Read rows under a header, or lines of a question and an answer; return nothing for other text."""
    try:
        for separator in _SEPARATORS:
            rows = csv.reader(StringIO(text.lstrip()), delimiter=separator)
            names = [name.strip().lower() for name in next(rows, [])]
            if "question" in names:
                records = [dict(zip(names, row, strict=False)) for row in rows if any(map(str.strip, row))]
                return [_from_row(each, f"row {at} of {where}") for at, each in enumerate(records, 2)]
    except csv.Error as error:
        raise InvalidInputError(f"{where} can't be read as a table ({error}); save it as CSV again") from None
    pairs = [_PAIR.fullmatch(line) for line in text.splitlines() if line.strip()]
    return [_from_row(pair.groupdict(), where) for pair in pairs if pair] if all(pairs) else []


def _read_paragraphs(text: str, where: str) -> list[Record]:
    """Read questions, each before a blank line or a label, with its answer on the lines below."""
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
                f"on the lines below, or {FORM} on each line"
            )
        answer = "\n".join(lines)
        answer_label = _ANSWER.match(answer)
        row = {
            "question": question[label.end() if label else 0 :],
            "answer": answer[answer_label.end() if answer_label else 0 :],
        }
        found.append(_from_row(row, where))
    return found


def _from_row(row: Mapping[str, str], where: str) -> Record:
    """Read a question and its answer from a row of a table."""
    opened = _open_question(row["question"].strip(), row.get("answer", "").strip(' \t\n"'), where)
    return opened, asdict(opened)
