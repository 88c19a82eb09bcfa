"""Find gold in documents as they are now: after an edit by its text, after a move by the name of the file.

Gold that isn't found is reported as `LostGold`. Nothing else is measured in its place.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import STORABLE_ID, Span
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.part_groups import group_by_name
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.source_documents import source_names
from langchain_sentence_window.documents.source_metadata import source_of
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_documents import TextRun, text_runs
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.retrieval.stored_sentences import read_document_sentences

from .questions import Question, as_record

Reason: TypeAlias = Literal["missing", "changed", "outside", "ambiguous"]
"""Why gold isn't found: ``missing`` if there is no document that has it, or the filter hides it; ``changed`` if the
document is there without its text; ``outside`` if its text isn't known, and a span ends after the document;
``ambiguous`` if the document is gone, and several of its file name have the text."""


@dataclass(frozen=True, slots=True)
class LostGold:
    """A question whose gold isn't in the documents any more, so that it isn't counted. ``str(lost)`` says why.

    Attributes:
        question: The question, as it was given.
        reason: ``missing``, ``changed``, ``outside`` or ``ambiguous``.
        sought: The text that wasn't found; empty if only its place is known.
        documents: The documents that may be meant, if it is ``ambiguous``.
    """

    question: Question
    reason: Reason
    sought: str = ""
    documents: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain types."""
        return {
            **as_record(self.question),
            "reason": self.reason,
            "sought": self.sought,
            "documents": list(self.documents),
            "message": str(self),
        }

    def __str__(self) -> str:
        """Return the question, its document, what was sought there, and what to do."""
        name, sought = shown(self.question.doc_id), shown(self.sought)
        elsewhere = f", and no other document of its file name says {sought}" if self.sought else ""
        spans = ", ".join(map(str, self.question.spans))
        why, cure = {
            "missing": (
                f"{name} isn't among the documents, or the filter hides its gold{elsewhere}",
                "name the document as the index does, or mark the answer again",
            ),
            "changed": (f"{name} doesn't say {sought} any more", "mark the answer again"),
            "outside": (
                f"{name} ends before its gold at {spans}",
                "count code points of the text as it is indexed, not bytes, or mark the answer again",
            ),
            "ambiguous": (
                f"{name} isn't among the documents, and several of its file name say {sought}: "
                f"{listed(self.documents)}",
                "write one of them as its doc_id",
            ),
        }[self.reason]
        return f"{shown(self.question.question)}: {why}; {cure}"


_LAST_LINE_BREAKS = 2
"""What no sentence holds at the end of a file, and a span may."""


@dataclass(frozen=True)
class DocumentText:
    """The text of a document, as far as it is known.

    Attributes:
        doc_id: The name by which retrievers know it.
        runs: Its text; several runs if a filter hides what is between them.
        is_whole: Whether the filter hides nothing of it.
        source: The path or address that its metadata names; ``None`` for none.
        stored_sections: The first code point of each of its sections, in order; ``None`` to find them in the text.
    """

    doc_id: str
    runs: Sequence[TextRun]
    is_whole: bool = True
    source: str | None = None
    stored_sections: Sequence[int] | None = None

    @cached_property
    def section_starts(self) -> Sequence[int]:
        """The first code point of each section, in order."""
        if self.stored_sections is not None:
            return self.stored_sections
        sentences = SentenceSplitter().split_text("".join(run.text for run in self.runs))
        return [each.start for index, each in enumerate(sentences) if each.section_start == index]

    def slice(self, start: int, end: int) -> str | None:
        """Return the text of a span; ``None`` if it isn't known."""
        return next((text for run in self.runs if (text := run.slice(start, end)) is not None), None)

    def within(self, span: Span) -> Span | None:
        """Return a span without what no sentence holds at the ends of the document; ``None`` if it lies elsewhere."""
        start, end = span
        if self.is_whole:
            last = self.runs[-1]
            document_end = last.start + len(last.text)
            start = max(start, self.runs[0].start)
            if document_end < end <= document_end + _LAST_LINE_BREAKS:
                end = document_end
        return (start, end) if start < end and self.slice(start, end) is not None else None

    def places_of(self, text: str) -> list[int]:
        """Return where a text begins, each time that it occurs, in order; nowhere if it is empty."""
        pattern = re.compile(re.escape(text))
        return [run.start + found.start() for run in self.runs if text for found in pattern.finditer(run.text)]


def document_text(sentences: Sequence[StoredSentence], *, is_whole: bool) -> DocumentText:
    """Return the text of a document in an index from its sentences, at least one, in order."""
    sections = [each.start for each in sentences if each.section_start == each.index]
    first = sentences[0]
    return DocumentText(first.doc_id, list(text_runs(sentences)), is_whole, source_of(first.source), sections)


def find_spans(question: Question, document: DocumentText) -> list[Span | None]:
    """Return where each span of a question's gold is in a document; ``None`` where it isn't.

    A text that isn't at its old place is where it occurs nearest to that. White space at its ends doesn't count. No two
    spans are found at one place.
    """
    if not question.texts:
        return [document.within(span) for span in question.spans]
    gold = sorted(set(zip(question.spans, question.texts, strict=True)))
    found: dict[Span, Span | None] = {span: span for span, text in gold if document.slice(*span) == text}
    for span, text in gold:
        if span not in found:
            words = text.strip()
            places = [(at, at + len(words)) for at in document.places_of(words)]
            free = [place for place in places if place not in found.values()]
            found[span] = min(free, key=lambda place: abs(place[0] - span[0]), default=None)
    return [found[span] for span in question.spans]


class FoundGold(NamedTuple):
    """The gold of a question, as it was sought.

    Attributes:
        question: The question with its gold as it is now; ``None`` if that isn't found.
        lost: Why it isn't found; ``None`` if it is.
        document: The document that was looked into. It is ``None`` if there is none, or if the store can't read it;
            then the question is as it was given.
    """

    question: Question | None
    lost: LostGold | None
    document: DocumentText | None


def find_gold_in(question: Question, document: DocumentText) -> FoundGold:
    """Find the gold of a question in a document."""
    spans = find_spans(question, document)
    known = [span for span in spans if span is not None]
    if len(known) == len(spans):
        texts = tuple(document.slice(*span) or "" for span in known)
        now = replace(question, doc_id=document.doc_id, spans=tuple(known), texts=texts)
        return FoundGold(now, None, document)
    sought = next((text for span, text in zip(spans, question.texts, strict=False) if span is None), "")
    # Where the filter hides a part of the document, nothing is said of the rest.
    reason: Reason = "missing" if not document.is_whole else "changed" if question.texts else "outside"
    return FoundGold(None, LostGold(question, reason, sought), document)


class UnreadableError(InvalidInputError):
    """The store can't read documents."""


class StoredCorpus:
    """The documents of a store that a filter lets through."""

    def __init__(self, scope: Scope) -> None:
        """Seek in a store."""
        self._scope = scope
        self._texts: dict[str, DocumentText | None] = {}  # by id
        self._ids: dict[tuple[str, str], list[str]] | None = None  # by source, and by file name

    async def read(self, io: IO, name: str) -> DocumentText | None:
        """Return the document of an id, or else the only one of a source.

        Raises:
            UnreadableError: The store can't read documents.
        """
        found = await self._read(io, name)
        if found is None:
            ids = (await self._listed(io)).get(("source", name), [])
            found = await self._read(io, ids[0]) if len(ids) == 1 else None
        return found

    async def named_alike(self, io: IO, name: str) -> list[DocumentText]:
        """Return the documents with a file name; none if the store can't list them."""
        ids = (await self._listed(io)).get(("file name", file_name(name)), [])
        found = [await self._read(io, doc_id) for doc_id in ids]
        return [document for document in found if document is not None]

    async def _read(self, io: IO, doc_id: str) -> DocumentText | None:
        if doc_id not in self._texts and STORABLE_ID.fullmatch(doc_id):
            try:
                sentences, is_whole = await read_document_sentences(io, self._scope, doc_id)
            except (IncompleteWindowError, InvalidInputError) as error:
                raise UnreadableError(str(error)) from error
            self._texts[doc_id] = document_text(sentences, is_whole=is_whole) if sentences else None
        return self._texts.get(doc_id)

    async def _listed(self, io: IO) -> Mapping[tuple[str, str], list[str]]:
        """Return the ids of documents by source, and by file name."""
        if self._ids is None:
            documents: Sequence[IndexedDocument] = ()
            with suppress(InvalidInputError):  # the store can't list them
                documents = await self._scope.adapter.list_documents(io, self._scope.filter)
            self._ids = {}
            for each in documents:
                source = each.source or ""
                for key in {
                    ("source", source),
                    ("file name", file_name(each.doc_id)),
                    ("file name", file_name(source)),
                }:
                    self._ids.setdefault(key, []).append(each.doc_id)
        return self._ids


class GivenCorpus:
    """Source documents; parts of a source are joined, as they are when they are indexed."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Seek in documents."""
        self._texts: dict[str, DocumentText] = {}  # by each name of a document
        self._alike = defaultdict[str, dict[str, DocumentText]](dict)  # by file name and id
        for group in group_by_name(checked_documents(documents), join=True):
            whole = group.joined().text if group.is_one_document else None
            for part in group.parts:
                text = part.text if whole is None else whole
                document = DocumentText(group.doc_id, [TextRun(0, text, ())])
                for name in (group.doc_id, *source_names(part.document)):
                    known = self._texts.setdefault(name, document)
                    self._alike[file_name(name)].setdefault(group.doc_id, known)

    async def read(self, io: IO, name: str) -> DocumentText | None:
        """Return the document of a name."""
        return self._texts.get(name)

    async def named_alike(self, io: IO, name: str) -> list[DocumentText]:
        """Return the documents with a file name."""
        return list(self._alike[file_name(name)].values())


Corpus: TypeAlias = StoredCorpus | GivenCorpus
"""Documents in which gold is sought."""


def file_name(name: str) -> str:
    """Return the last part of a path or an address."""
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]


async def find_gold(io: IO, corpora: Sequence[Corpus], questions: Iterable[Question]) -> list[FoundGold]:
    """Find the gold of each question in the first corpus that has it.

    Args:
        io: Makes the calls.
        corpora: Where to seek, such as a store with each of the filters under which it is asked.
        questions: The questions.
    """
    return [await _search_corpora(io, corpora, question) for question in questions]


async def _search_corpora(io: IO, corpora: Sequence[Corpus], question: Question) -> FoundGold:
    """Find a question's spans in the first corpus that holds them."""
    found = [FoundGold(None, LostGold(question, "missing"), None)]
    for corpus in corpora:
        found.append(await _find_within(io, corpus, question))
        if found[-1].question is not None:
            return found[-1]
    return next((each for each in found if each.lost and each.lost.reason != "missing"), found[-1])


async def _find_within(io: IO, corpus: Corpus, question: Question) -> FoundGold:
    """Find gold in the document of its name, or else in the only one of the same file name that says it."""
    try:
        document = await corpus.read(io, question.doc_id)
        if document is not None:
            return await io.in_thread(find_gold_in, question, document)
        alike = await corpus.named_alike(io, question.doc_id) if question.texts else []
    except UnreadableError:
        return FoundGold(question, None, None)
    found = [await io.in_thread(find_gold_in, question, each) for each in alike]
    moved = [each for each in found if each.question is not None]
    if len(moved) == 1:
        return moved[0]
    ids = tuple(each.question.doc_id for each in moved if each.question is not None)
    sought = question.texts[0] if question.texts else ""
    return FoundGold(None, LostGold(question, "ambiguous" if moved else "missing", sought, ids), None)


def check_any_left(lost: Sequence[LostGold], count: int) -> None:
    """Warn of questions whose gold isn't found.

    Raises:
        InvalidInputError: It is that of all ``count`` questions.
    """
    if not lost:
        return
    more = f"; and {len(lost) - 1:,} more" if len(lost) > 1 else ""
    if len(lost) == count:
        raise InvalidInputError(
            f"the gold of none of the {count:,} questions is found, so there is nothing to measure: {lost[0]}{more}"
        )
    warnings.warn(
        f"{len(lost):,} of {count:,} questions aren't counted, because their gold isn't found: {lost[0]}{more}. All "
        "are in `lost` of the result",
        SentenceWindowWarning,
        stacklevel=2,
    )
