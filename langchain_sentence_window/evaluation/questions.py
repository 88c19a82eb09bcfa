"""Questions with gold spans: read, checked and written; and the documents that they are about."""

import contextlib
import csv
import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import StringIO
from os import PathLike
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from langchain_sentence_window._arguments import checked_documents, checked_path
from langchain_sentence_window._display import UPGRADE, shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import LONE_SURROGATE, STORABLE_ID, SentenceKey, Span
from langchain_sentence_window._validation import checked_list, gathered, listed
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import batches
from langchain_sentence_window.documents.part_groups import group_by_name
from langchain_sentence_window.documents.source_documents import source_names
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning

VERSION = 1
"""The version of a line of questions. It increases when a key gets another meaning, not when one is added."""

_VERSION_KEY = "format_version"
_FORM = '{"question": "…", "doc_id": "…", "spans": [[start, end], …]}'


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the spans of a document that answer it.

    Attributes:
        question: The question as a user would ask it.
        doc_id: The document that answers it.
        spans: The gold: half-open ``(start, end)`` in code points of the document's text, in any order. Where spans
            overlap, each character counts once.
        others: Other keys of its line, such as notes of your own, which `write_questions` writes back.
    """

    question: str
    doc_id: str
    spans: tuple[Span, ...]
    others: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

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


Asked: TypeAlias = Question | OpenQuestion
Record: TypeAlias = tuple[Asked, dict[str, Any]]
"""A question, and all keys of its line or row."""


def read_questions(path: str | PathLike[str]) -> list[Question]:
    """Read questions from a file of JSON lines.

    It leaves out questions without gold, with a warning.

    Args:
        path: A UTF-8 file with ``{"question": …, "doc_id": …, "spans": [[start, end], …]}`` on each line. Blank lines
            are ignored, and other keys are kept as `Question.others`. A line of a later version of the package says
            so as ``format_version``: what can be read of it is read, with a warning.

    Raises:
        InvalidInputError: The file doesn't exist or has no questions, or a line can't be read. The message says which
            line and why.
    """
    found = read_asked(path)
    known = [question for question in found if isinstance(question, Question)]
    if len(known) < len(found):
        warnings.warn(
            f"{len(found) - len(known):,} of {len(found):,} questions of {path} have no gold, and are left out; "
            "confirm their answers in the studio: sentence-window serve --questions FILE",
            SentenceWindowWarning,
            stacklevel=2,
        )
    return known


def read_asked(path: str | PathLike[str]) -> list[Asked]:
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
        Each question, and all keys of its line. Blank lines are ignored. A question of a later version, with gold that
        can't be read, counts as one without gold.

    Raises:
        InvalidInputError: A line can't be read. The message says which one and why.
    """
    # Not splitlines: a JSON string may hold U+2028.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines or lines[0][1].lstrip()[0] in "[{":
        found = [_read(line, f"line {number} of {where}") for number, line in lines]
        later = sum(_is_later(record) for _, record in found)
        if later:
            warnings.warn(
                f"a later version of this package wrote {later:,} of {len(found):,} questions of {where}; what this "
                f"version doesn't know of them is kept, and isn't used. To use it: {UPGRADE}",
                SentenceWindowWarning,
                stacklevel=2,
            )
        return found
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


def as_record(asked: Asked) -> dict[str, Any]:
    """Return the keys of a question's line."""
    record = asdict(asked)
    others = record.pop("others", {})
    return record | {key: value for key, value in others.items() if key not in record}


def question_line(record: Mapping[str, Any]) -> str:
    """Write the keys of a question, and others, as a line of JSON without its end."""
    line = json.dumps(record, ensure_ascii=False)
    # UTF-8 has no bytes for lone surrogates, so they are written as JSON escapes.
    return json.dumps(record) if LONE_SURROGATE.search(line) else line


def _read(line: str, where: str) -> Record:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where} isn't JSON ({error}); write {_FORM}") from None
    keys = record.keys() if isinstance(record, dict) else ()
    is_open = "answer" in keys and not {"doc_id", "spans"} & set(keys)
    needed = ("question",) if is_open else ("question", "doc_id", "spans")
    missing = [key for key in needed if key not in keys]
    try:
        if missing:
            raise InvalidInputError(f"it lacks {', '.join(map(repr, missing))}; write {_FORM}")
        if is_open:
            return OpenQuestion(record["question"], record["answer"]), record
        others = {key: value for key, value in record.items() if key not in needed}
        return Question(record["question"], record["doc_id"], record["spans"], others), record
    except InvalidInputError as error:
        if "question" in keys and _is_later(record):
            with contextlib.suppress(InvalidInputError):
                return OpenQuestion(record["question"]), record
        raise InvalidInputError(f"{where}: {error}") from None


def _is_later(record: Mapping[str, Any]) -> bool:
    version = record.get(_VERSION_KEY)
    return type(version) is int and version > VERSION


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
                return [_opened(each, f"row {at} of {where}") for at, each in enumerate(records, 2)]
    except csv.Error as error:
        raise InvalidInputError(f"{where} can't be read as a table ({error}); save it as CSV again") from None
    pairs = [_PAIR.fullmatch(line) for line in text.splitlines() if line.strip()]
    found = [pair.groupdict() for pair in pairs if pair]
    return [_opened(each, where) for each in found] if len(found) == len(pairs) else []


def _read_paragraphs(text: str, where: str) -> list[Record]:
    """Read questions that a blank line or a label ends, each with its answer on the lines below."""
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if not line.strip() or _QUESTION.match(line):
            paragraphs.append([])
        if line.strip():
            paragraphs[-1].append(line)
    found: list[Record] = []
    for question, *answer in filter(None, paragraphs):
        label = _QUESTION.match(question) or _NUMBER.match(question)
        if label is None and not _ASKS.search(question):
            raise InvalidInputError(
                f"{shown(question)} of {where} isn't a question; write one that ends in a question mark, its answer "
                f"on the lines below, or {_FORM} on each line"
            )
        words = (
            _ANSWER.sub("", "\n".join(answer), count=1) if answer and _ANSWER.match(answer[0]) else "\n".join(answer)
        )
        found.append(_opened({"question": question[label.end() if label else 0 :], "answer": words}, where))
    return found


def _opened(row: Mapping[str, str], where: str) -> Record:
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


SectionStarts: TypeAlias = Mapping[str, Sequence[int]]
"""For each ``doc_id``, the first code point of each of its sections, in order."""

ID_BATCH_SIZE = 256
"""Sentences read in one call."""


def texts_by_name(documents: Iterable[Document], questions: Iterable[Question]) -> dict[str, str]:
    """Find the texts that questions are about; parts of a source are joined, as they are when they are indexed.

    Returns:
        The text of each question's document, by the name that the question gives it.

    Raises:
        InvalidInputError: There is none of that name, or a span runs past its end.
    """
    known: dict[str, str] = {}
    for group in group_by_name(checked_documents(documents), join=True):
        joined = group.joined() if group.is_one_document else None
        for part in group.parts:
            text = joined.text if joined else part.text
            for name in (group.doc_id, *source_names(part.document)):
                known.setdefault(name, text)
    texts: dict[str, str] = {}
    for question in questions:
        if question.doc_id not in known:
            raise InvalidInputError(
                f"the question {shown(question.question)} is about {shown(question.doc_id)}, which isn't among the "
                f"documents given: {listed(known)}; write the id, the doc_id or the source of one of them"
            )
        text = texts[question.doc_id] = known[question.doc_id]
        end = max(end for _, end in question.spans)
        if end > len(text):
            raise InvalidInputError(
                f"a span of the question {shown(question.question)} ends at {shown(end)}, and "
                f"{shown(question.doc_id)} has {len(text)} characters; count code points, not bytes, in the "
                "text as it is indexed"
            )
    return texts


def sections_of_texts(texts: Mapping[str, str]) -> SectionStarts:
    """Find the sections of texts by their headings, as `SentenceSplitter` does."""
    splitter = SentenceSplitter()
    found: dict[str, list[int]] = {}
    for doc_id, text in texts.items():
        sentences = splitter.split_text(text)
        found[doc_id] = [one.start for index, one in enumerate(sentences) if one.section_start == index]
    return found


async def sections_in_store(io: IO, scope: Scope, questions: Sequence[Question]) -> SectionStarts | None:
    """Read the sections of the documents of questions from the metadata of their sentences.

    It warns of gold that ends behind the end of its document.

    Returns:
        The sections of those documents that may be read; ``None`` if the store can't fetch by id, or not within the
        filter.
    """
    found = dict[str, list[int]]()
    ends: dict[str, int] = {}
    for doc_id in filter(STORABLE_ID.fullmatch, dict.fromkeys(question.doc_id for question in questions)):
        index = 0
        while True:
            documents = await _fetched(io, scope, [(doc_id, index + i) for i in range(ID_BATCH_SIZE)])
            if documents is None:
                return None
            sentences = sorted(map(scope.adapter.read, documents), key=lambda sentence: sentence.index)
            starts = [one.start for one in sentences if one.section_start == one.index]
            if sentences:
                found.setdefault(doc_id, []).extend(starts)
                ends[doc_id] = sentences[-1].end
            # Under a filter, some that are missing may be forbidden.
            if not sentences or (len(sentences) < ID_BATCH_SIZE and scope.filter is None):
                break
            index += ID_BATCH_SIZE
    _warn_of_gold_outside(questions, ends)
    return found


def _warn_of_gold_outside(questions: Sequence[Question], ends: Mapping[str, int]) -> None:
    """Warn of spans that end where no sentence of their document stands any more, so that nothing can find them."""
    lost = [
        f"{shown(question.question)} ({shown(question.doc_id)} ends at {ends[question.doc_id]}, a span at {shown(end)})"
        for question in questions
        if question.doc_id in ends
        for end in [max(end for _, end in question.spans)]
        if end > ends[question.doc_id]
    ]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        warnings.warn(
            f"gold lies beyond the end of its document in the question {lost[0]}{more}, and can't be found; count "
            "code points, not bytes, in the text as it is indexed",
            SentenceWindowWarning,
            stacklevel=2,
        )


class UnknownDocumentsWarning(SentenceWindowWarning):
    """Questions name documents that the index doesn't hold."""


async def warn_of_unknown(io: IO, scopes: Sequence[Scope], doc_ids: Sequence[str]) -> None:
    """Warn of documents that can't be found, as questions about them score 0 whatever is found.

    Args:
        io: Makes the calls.
        scopes: A store, with each of the filters under which it is asked.
        doc_ids: The documents.
    """
    missing = dict.fromkeys(doc_ids)
    for scope in {repr(scope.filter): scope for scope in scopes}.values():
        storable = [doc_id for doc_id in missing if STORABLE_ID.fullmatch(doc_id)]
        for part in batches(storable, ID_BATCH_SIZE):
            documents = await _fetched(io, scope, [(doc_id, 0) for doc_id in part])
            if documents is None:
                return
            for document in documents:
                missing.pop(scope.adapter.read(document).doc_id, None)
    if missing:
        within = " that the filter lets through" if any(scope.filter is not None for scope in scopes) else ""
        warnings.warn(
            f"the index holds no documents {listed(missing)}{within}, and questions with these doc_ids score 0. "
            "Name documents in the questions as the index does: see metadata['doc_id'] of what the retriever "
            "returns",
            UnknownDocumentsWarning,
            stacklevel=2,
        )


async def _fetched(io: IO, scope: Scope, keys: Sequence[SentenceKey]) -> list[Document] | None:
    """Fetch sentences; return ``None`` if the store can't fetch by id, or not within the filter."""
    try:
        return await scope.fetch(io, keys)
    except InvalidInputError:
        return None
