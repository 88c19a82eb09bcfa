"""Find gold in documents as they are now: after an edit by its text, after a move by the name of the file.

Gold that isn't found is reported as `LostGold`. No other text is measured instead.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, IO
from langchain_sentence_window._primitives import STORABLE_ID, Span
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.part_groups import group_by_name
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.source_documents import source_names
from langchain_sentence_window.documents.source_metadata import source_of
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_documents import TextRun, text_runs
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.retrieval.stored_sentences import read_document_sentences

from .questions import Question

if TYPE_CHECKING:
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

Reason: TypeAlias = Literal["missing", "changed", "outside", "ambiguous"]
"""Why gold isn't found: ``missing`` if no document has it, or the filter hides it; ``changed`` if the document doesn't
contain its text any more; ``outside`` if its text is unknown, and a span ends after the document; ``ambiguous`` if the
document is gone, and several with its file name contain the text."""


@dataclass(frozen=True, slots=True)
class LostGold:
    """A question whose gold isn't in the documents any more, so that it isn't counted. ``str(lost)`` says why.

    Attributes:
        question: The question, as it was given.
        reason: ``missing``, ``changed``, ``outside`` or ``ambiguous``.
        sought: The text that wasn't found; empty if only its place is known.
        documents: The documents that contain the text, if it is ``ambiguous``.
    """

    question: Question
    reason: Reason
    sought: str = ""
    documents: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the question, its document, the missing text, and what to do."""
        name, sought = shown(self.question.doc_id), shown(self.sought)
        elsewhere = f", and no other document of its file name contains {sought}" if self.sought else ""
        spans = ", ".join(map(str, self.question.spans))
        why = {
            "missing": f"{name} isn't among the documents, or the filter hides its gold{elsewhere}; name the document "
            "as the index does, or mark the answer again",
            "changed": f"{name} doesn't contain {sought} any more; mark the answer again",
            "outside": f"{name} ends before its gold at {spans}; count code points of the text as it is indexed, not "
            "bytes, or mark the answer again",
            "ambiguous": f"{name} isn't among the documents, and several of its file name contain {sought}: "
            f"{listed(self.documents)}; write one of them as its doc_id",
        }[self.reason]
        return f"{shown(self.question.question)}: {why}"


_MAX_LAST_LINE_BREAKS = 2
"""Characters at the end of a file that a span may include, but no sentence does."""


@dataclass(frozen=True)
class DocumentText:
    """The text of a document, as far as it is known.

    Attributes:
        doc_id: Its id.
        runs: Its text; several runs if a filter hides what is between them.
        is_whole: Whether the filter hides nothing of it.
        source: The path or address in its metadata; ``None`` if there is none.
        stored_sections: The first code point of each of its sections, in order; ``None`` to split the text.
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
        """Return a span without white space outside the first and last sentence; ``None`` if its text isn't known."""
        start, end = span
        if self.is_whole:
            last = self.runs[-1]
            document_end = last.start + len(last.text)
            start = max(start, self.runs[0].start)
            if document_end < end <= document_end + _MAX_LAST_LINE_BREAKS:
                end = document_end
        return (start, end) if start < end and self.slice(start, end) is not None else None

    def occurrences(self, text: str) -> list[Span]:
        """Return the spans at which a text occurs, in order; none if it is empty."""
        starts = [run.start + match.start() for run in self.runs for match in re.finditer(re.escape(text), run.text)]
        return [(start, start + len(text)) for start in starts if text]


def document_text(sentences: Sequence[StoredSentence], *, is_whole: bool) -> DocumentText:
    """Return the text of an indexed document from its sentences, at least one, in order."""
    sections = [each.start for each in sentences if each.section_start == each.index]
    first = sentences[0]
    return DocumentText(first.doc_id, list(text_runs(sentences)), is_whole, source_of(first.source), sections)


def find_spans(question: Question, document: DocumentText) -> list[Span | None]:
    """Return where each span of a question's gold is in a document; ``None`` where it isn't.

    A text that isn't at its old place is found where it occurs nearest to it. White space at its ends is ignored. Two
    spans are never found at the same place.
    """
    if not question.texts:
        return [document.within(span) for span in question.spans]
    gold = sorted(set(zip(question.spans, question.texts, strict=True)))
    places: dict[Span, Span | None] = {span: span for span, text in gold if document.slice(*span) == text}
    for span, text in gold:
        if span not in places:
            free = [place for place in document.occurrences(text.strip()) if place not in places.values()]
            places[span] = min(free, key=lambda place: abs(place[0] - span[0]), default=None)
    return [places[span] for span in question.spans]


class FoundGold(NamedTuple):
    """The result of a search for the gold of a question.

    Attributes:
        question: The question with its gold as it is now; ``None`` if that isn't found.
        lost: Why it isn't found; ``None`` if it is.
        document: The document that was searched; ``None`` if there is none, or the store can't read it. In the latter
            case the question is as it was given.
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
    # If the filter hides a part of the document, the message doesn't reveal whether the rest contains the text.
    reason: Reason = "missing" if not document.is_whole else "changed" if question.texts else "outside"
    return FoundGold(None, LostGold(question, reason, sought), document)


class Corpus(ABC):
    """Documents in which gold is searched."""

    @abstractmethod
    async def read(self, io: IO, doc_id: str) -> DocumentText | None:
        """Return a document; ``None`` if there is none of that id.

        Raises:
            IncompleteWindowError: The store lacks sentences of it.
            InvalidInputError: The store can't read documents.
        """

    @abstractmethod
    async def ids_by_name(self, io: IO) -> Mapping[tuple[str, str], set[str]]:
        """Return the ids of documents by ``("name", …)`` and by ``("file", …)``; empty if they can't be listed."""

    async def find(self, io: IO, question: Question) -> FoundGold:
        """Find gold in the document of its name, or else in the only one of the same file name that contains it."""
        name = question.doc_id
        missing = LostGold(question, "missing", next(iter(question.texts), ""))
        try:
            document = await self.read(io, name)
            if document is None:
                named = await self._all(io, "name", name)
                document = named[0] if len(named) == 1 else None
            if document is not None:
                return await io.in_thread(find_gold_in, question, document)
            alike = await self._all(io, "file", file_name(name)) if question.texts else []
        except (IncompleteWindowError, InvalidInputError):
            return FoundGold(question, None, None)
        results = [await io.in_thread(find_gold_in, question, each) for each in alike]
        moved = [each for each in results if each.question is not None]
        if len(moved) == 1:
            return moved[0]
        if not moved:
            return FoundGold(None, missing, None)
        ids = tuple(each.document.doc_id for each in moved if each.document is not None)
        return FoundGold(None, replace(missing, reason="ambiguous", documents=ids), None)

    async def _all(self, io: IO, kind: str, name: str) -> list[DocumentText]:
        ids = (await self.ids_by_name(io)).get((kind, name), ())
        documents = [await self.read(io, doc_id) for doc_id in sorted(ids)]
        return [document for document in documents if document is not None]


def _index_names(names_of: Iterable[tuple[str, Iterable[str]]]) -> dict[tuple[str, str], set[str]]:
    """Return the ids of documents by their names, and by the file names in these."""
    ids: dict[tuple[str, str], set[str]] = {}
    for doc_id, names in names_of:
        for name in names:
            ids.setdefault(("name", name), set()).add(doc_id)
            ids.setdefault(("file", file_name(name)), set()).add(doc_id)
    return ids


class StoredCorpus(Corpus):
    """The documents of a store that a filter lets through."""

    def __init__(self, scope: Scope) -> None:
        """Search a store with a filter."""
        self._scope = scope
        self._documents: dict[str, DocumentText | None] = {}
        self._ids: dict[tuple[str, str], set[str]] | None = None

    async def read(self, io: IO, doc_id: str) -> DocumentText | None:
        """Return a document from its sentences."""
        if doc_id not in self._documents and STORABLE_ID.fullmatch(doc_id):
            sentences, is_whole = await read_document_sentences(io, self._scope, doc_id)
            self._documents[doc_id] = document_text(sentences, is_whole=is_whole) if sentences else None
        return self._documents.get(doc_id)

    async def ids_by_name(self, io: IO) -> Mapping[tuple[str, str], set[str]]:
        """List the documents once."""
        if self._ids is None:
            self._ids = {}
            with suppress(InvalidInputError):  # the store can't list them
                documents = await self._scope.adapter.list_documents(io, self._scope.filter)
                self._ids = _index_names((each.doc_id, (each.doc_id, each.source or "")) for each in documents)
        return self._ids


class GivenCorpus(Corpus):
    """Source documents; parts of a source are joined as they are when they are indexed."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Group documents by source."""
        self._documents: dict[str, DocumentText] = {}
        names: list[tuple[str, Iterable[str]]] = []
        for group in group_by_name(checked_documents(documents), join=True):
            text = (group.joined() if group.is_one_document else group.parts[0]).text
            self._documents.setdefault(group.doc_id, DocumentText(group.doc_id, [TextRun(0, text, ())]))
            names += [(group.doc_id, (group.doc_id, *source_names(part.document))) for part in group.parts]
        self._ids = _index_names(names)

    async def read(self, io: IO, doc_id: str) -> DocumentText | None:
        """Return a document."""
        return self._documents.get(doc_id)

    async def ids_by_name(self, io: IO) -> Mapping[tuple[str, str], set[str]]:
        """Return the names in the metadata."""
        return self._ids


def file_name(name: str) -> str:
    """Return the last part of a path or an address."""
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]


async def find_gold(io: IO, corpora: Sequence[Corpus], questions: Iterable[Question]) -> list[FoundGold]:
    """Find the gold of each question in the first corpus that has it.

    Args:
        io: Makes the calls.
        corpora: At least one, such as a store with each of the filters of a sweep.
        questions: The questions.
    """
    return [await _find_in_any(io, corpora, question) for question in questions]


async def _find_in_any(io: IO, corpora: Sequence[Corpus], question: Question) -> FoundGold:
    results: list[FoundGold] = []
    for corpus in corpora:
        results.append(await corpus.find(io, question))
        if results[-1].question is not None:
            return results[-1]
    return next((each for each in results if each.lost and each.lost.reason != "missing"), results[-1])


async def afind_gold(retriever: "SentenceWindowRetriever", questions: Iterable[Question]) -> list[Question | LostGold]:
    """Find the gold of questions in the documents of a retriever as they are now.

    Args:
        retriever: The retriever; its filter limits the documents.
        questions: The questions.

    Returns:
        For each question, the question with the document, the spans and the texts of its gold as they are now, or as it
        was given if the store can't read documents; or why its gold isn't found.
    """
    given = list(questions)
    found = await find_gold(ASYNC, [StoredCorpus(retriever.scope())], given)
    return [each.lost or each.question or question for each, question in zip(found, given, strict=True)]
