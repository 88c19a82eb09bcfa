"""Find gold in documents as they are now: after an edit by its text, after a move by the name of the file.

Gold that isn't found is reported as `LostGold`. Nothing else is measured in its place.
"""

import warnings
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal, Protocol, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import STORABLE_ID, Span
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import batches
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.part_groups import group_by_name
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.source_documents import source_names
from langchain_sentence_window.documents.source_parts import source_of
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_documents import TextRun, text_runs
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.retrieval.stored_sentences import read_sentences

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
        says = {
            "missing": f"{name} isn't among the documents, or the filter hides its gold"
            + (f", and no other document of its file name says {sought}" if self.sought else ""),
            "changed": f"{name} doesn't say {sought} any more",
            "outside": f"{name} ends before its gold at {', '.join(map(str, self.question.spans))}",
            "ambiguous": f"{name} isn't among the documents, and several of its file name say {sought}: "
            f"{listed(self.documents)}",
        }
        cure = {
            "missing": "name the document as the index does, or mark the answer again",
            "changed": "mark the answer again",
            "outside": "count code points of the text as it is indexed, not bytes, or mark the answer again",
            "ambiguous": "write one of them as its doc_id",
        }
        return f"{shown(self.question.question)}: {says[self.reason]}; {cure[self.reason]}"


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
        find_sections: Returns the first code point of each of its sections, in order.
    """

    doc_id: str
    runs: Sequence[TextRun]
    is_whole: bool
    source: str | None
    find_sections: Callable[[], Sequence[int]] = field(repr=False)

    def slice(self, start: int, end: int) -> str | None:
        """Return the text of a span; ``None`` if it isn't known."""
        return next((text for run in self.runs if (text := run.slice(start, end)) is not None), None)

    def within(self, span: Span) -> Span | None:
        """Return a span without what no sentence holds at the ends of the document; ``None`` if it lies elsewhere."""
        first, last = self.runs[0], self.runs[-1]
        end = last.start + len(last.text)
        if self.is_whole and end < span[1] <= end + _LAST_LINE_BREAKS:
            span = span[0], end
        span = max(span[0], first.start) if self.is_whole else span[0], span[1]
        return span if span[0] < span[1] and self.slice(*span) is not None else None

    def places_of(self, text: str) -> list[int]:
        """Return where a text begins, each time that it occurs, in order."""
        found: list[int] = []
        for run in self.runs:
            at = run.text.find(text)
            while at >= 0:
                found.append(run.start + at)
                at = run.text.find(text, at + len(text))
        return found


def document_text(sentences: Sequence[StoredSentence], *, is_whole: bool) -> DocumentText:
    """Return the text of a document in an index from its sentences, at least one, in order."""
    return DocumentText(
        sentences[0].doc_id,
        list(text_runs(sentences)),
        is_whole,
        source_of(sentences[0].source),
        lambda: [each.start for each in sentences if each.section_start == each.index],
    )


def find_spans(question: Question, document: DocumentText) -> list[Span | None]:
    """Return where each span of a question's gold is in a document; ``None`` where it isn't.

    A text that isn't at its old place is where it occurs nearest to that. White space at its ends doesn't count. No two
    spans are found at one place.
    """
    if not question.texts:
        return [document.within(span) for span in question.spans]
    found: dict[Span, Span] = {}
    moved: dict[str, list[Span]] = {}
    for span, text in zip(question.spans, question.texts, strict=True):
        if document.slice(*span) == text:
            found[span] = span
        else:
            moved.setdefault(text.strip(), []).append(span)
    for text, spans in moved.items():
        taken = set(found.values())
        free = [at for at in document.places_of(text) if (at, at + len(text)) not in taken] if text else []
        for span in sorted(set(spans)):
            place = _nearest(free, span[0])
            if place is not None:
                free.remove(place)
                found[span] = place, place + len(text)
    return [found.get(span) for span in question.spans]


def _nearest(places: Sequence[int], wanted: int) -> int | None:
    at = bisect_left(places, wanted)
    return min(places[max(0, at - 1) : at + 1], key=lambda place: abs(place - wanted), default=None)


def find_in(question: Question, document: DocumentText) -> Question | LostGold:
    """Return a question with its gold as a document has it, and its text; or why it isn't there."""
    spans = find_spans(question, document)
    known = [span for span in spans if span is not None]
    if len(known) == len(spans):
        texts = tuple(document.slice(*span) or "" for span in known)
        return replace(question, doc_id=document.doc_id, spans=tuple(known), texts=texts)
    # Where the filter hides a part of the document, nothing is said of the rest.
    if not question.texts:
        return LostGold(question, "outside" if document.is_whole else "missing")
    sought = next(text for span, text in zip(spans, question.texts, strict=True) if span is None)
    return LostGold(question, "changed" if document.is_whole else "missing", sought)


class Corpus(Protocol):
    """Documents in which gold is sought."""

    async def read(self, io: IO, name: str) -> DocumentText | None:
        """Return the document of a name; ``None`` if there is none.

        Raises:
            UnreadableError: The store can't read documents.
        """

    async def named_alike(self, io: IO, name: str) -> Sequence[str]:
        """Return the names of the documents with the file name of one."""


class UnreadableError(InvalidInputError):
    """The store can't read documents."""


class StoredCorpus:
    """The documents of a store that a filter lets through."""

    def __init__(self, scope: Scope) -> None:
        """Seek in a store."""
        self._scope = scope
        self._listed: tuple[dict[str, list[str]], dict[str, list[str]]] | None = None

    async def read(self, io: IO, name: str) -> DocumentText | None:
        """Return the document of an id, or else the only one of a source."""
        found = await self._read(io, name)
        if found is None:
            by_source, _ = await self._ids(io)
            of_source = by_source.get(name, [])
            found = await self._read(io, of_source[0]) if len(of_source) == 1 else None
        return found

    async def named_alike(self, io: IO, name: str) -> Sequence[str]:
        """Return the ids of the documents with a file name; none if the store can't list them."""
        _, by_file_name = await self._ids(io)
        return by_file_name.get(file_name(name), [])

    async def _read(self, io: IO, doc_id: str) -> DocumentText | None:
        if not STORABLE_ID.fullmatch(doc_id):
            return None
        try:
            sentences, is_whole = await read_sentences(io, self._scope, doc_id)
        except (IncompleteWindowError, InvalidInputError) as error:
            raise UnreadableError(str(error)) from error
        return document_text(sentences, is_whole=is_whole) if sentences else None

    async def _ids(self, io: IO) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Return the ids of documents by source, and by file name."""
        if self._listed is None:
            listed: Sequence[IndexedDocument] = ()
            with suppress(InvalidInputError):  # the store can't list them
                listed = await self._scope.adapter.list_documents(io, self._scope.filter)
            by_source, by_file_name = dict[str, list[str]](), dict[str, list[str]]()
            for each in listed:
                if each.source is not None:
                    by_source.setdefault(each.source, []).append(each.doc_id)
                for name in {file_name(each.doc_id), file_name(each.source or "")}:
                    by_file_name.setdefault(name, []).append(each.doc_id)
            self._listed = by_source, by_file_name
        return self._listed


class GivenCorpus:
    """Source documents; parts of a source are joined, as they are when they are indexed."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Seek in documents."""
        self._texts: dict[str, tuple[str, str]] = {}  # by each name of a document, its id and its text
        self._alike: dict[str, dict[str, None]] = {}  # by file name, the ids
        for group in group_by_name(checked_documents(documents), join=True):
            joined = group.joined() if group.is_one_document else None
            for part in group.parts if joined is None else group.parts[:1]:
                named = group.parts if joined else [part]
                names = [group.doc_id, *(name for each in named for name in source_names(each.document))]
                for name in names:
                    self._texts.setdefault(name, (group.doc_id, joined.text if joined else part.text))
                    self._alike.setdefault(file_name(name), {})[group.doc_id] = None

    async def read(self, io: IO, name: str) -> DocumentText | None:
        """Return the document of a name."""
        if name not in self._texts:
            return None
        doc_id, text = self._texts[name]
        runs = [TextRun(0, text, ())]
        return DocumentText(doc_id, runs, is_whole=True, source=None, find_sections=lambda: _sections_of(text))

    async def named_alike(self, io: IO, name: str) -> Sequence[str]:
        """Return the ids of the documents with a file name."""
        return list(self._alike.get(file_name(name), ()))


def _sections_of(text: str) -> Sequence[int]:
    sentences = SentenceSplitter().split_text(text)
    return [one.start for index, one in enumerate(sentences) if one.section_start == index]


def file_name(name: str) -> str:
    """Return the last part of a path or an address."""
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2]


SectionStarts: TypeAlias = Mapping[str, Sequence[int]]
"""For each ``doc_id``, the first code point of each of its sections, in order."""


@dataclass(frozen=True, slots=True)
class FoundGold:
    """What became of the gold of questions.

    Attributes:
        results: For each question, itself with its gold as it is now, or why that isn't found.
        sections: The sections of the documents that hold gold.
        sources: Their sources, as far as they have any.
        unread: The documents that the store can't read. Questions about them are as they were.
    """

    results: Sequence[Question | LostGold]
    sections: SectionStarts
    sources: Mapping[str, str]
    unread: Collection[str]

    @property
    def questions(self) -> list[Question]:
        """Those that can be asked."""
        return [each for each in self.results if isinstance(each, Question)]

    @property
    def lost(self) -> tuple[LostGold, ...]:
        """Those that can't."""
        return tuple(each for each in self.results if isinstance(each, LostGold))


async def find_gold(io: IO, corpora: Sequence[Corpus], questions: Sequence[Question]) -> FoundGold:
    """Find the gold of questions in the first corpus that has it.

    Args:
        io: Makes the calls.
        corpora: Where to seek, such as a store with each of the filters under which it is asked; at least one.
        questions: The questions.
    """
    results: list[Question | LostGold] = [LostGold(question, "missing") for question in questions]
    seeking = _Seeking(io)
    for corpus in corpora:
        left = [at for at, each in enumerate(results) if isinstance(each, LostGold)]
        found = await seeking.seek(corpus, [questions[at] for at in left])
        for at, each in zip(left, found, strict=True):
            before = results[at]
            if isinstance(each, Question) or (isinstance(before, LostGold) and before.reason == "missing"):
                results[at] = each
    return FoundGold(results, seeking.sections, seeking.sources, seeking.unread)


class _Seeking:
    """Seeks the gold of questions, and notes what the documents are that hold it."""

    def __init__(self, io: IO) -> None:
        self.sections: dict[str, Sequence[int]] = {}
        self.sources: dict[str, str] = {}
        self.unread: dict[str, None] = {}
        self._io = io

    async def seek(self, corpus: Corpus, questions: Sequence[Question]) -> list[Question | LostGold]:
        results: dict[int, Question | LostGold] = {}
        moved: dict[tuple[str, ...], list[int]] = {}
        by_name = sorted(range(len(questions)), key=lambda at: questions[at].doc_id)
        # A document is read once for all of its questions, and then let go.
        for name, of_it in groupby(by_name, key=lambda at: questions[at].doc_id):
            places = list(of_it)
            try:
                document = await corpus.read(self._io, name)
            except UnreadableError:
                self.unread[name] = None
                results |= {at: questions[at] for at in places}
                continue
            if document is None:
                moved.setdefault(tuple(await corpus.named_alike(self._io, name)), []).extend(places)
                continue
            found = await self._find(document, [questions[at] for at in places])
            results |= dict(zip(places, found, strict=True))
        for names, places in moved.items():
            found = await self._find_moved(corpus, names, [questions[at] for at in places])
            results |= dict(zip(places, found, strict=True))
        return [results[at] for at in range(len(questions))]

    async def _find_moved(
        self, corpus: Corpus, names: Sequence[str], questions: Sequence[Question]
    ) -> list[Question | LostGold]:
        """Find gold in the only one of some documents that says it."""
        holding: list[list[Question]] = [[] for _ in questions]
        for name in names if any(question.texts for question in questions) else ():
            document = await corpus.read(self._io, name)
            if document is None:  # it was deleted just now
                continue
            for at, each in enumerate(await self._find(document, questions)):
                if isinstance(each, Question) and questions[at].texts:
                    holding[at].append(each)
        results: list[Question | LostGold] = []
        for question, found in zip(questions, holding, strict=True):
            sought = question.texts[0] if question.texts else ""
            if len(found) == 1:
                results.append(found[0])
            elif found:
                results.append(LostGold(question, "ambiguous", sought, tuple(each.doc_id for each in found)))
            else:
                results.append(LostGold(question, "missing", sought))
        return results

    async def _find(self, document: DocumentText, questions: Sequence[Question]) -> list[Question | LostGold]:
        def find() -> list[Question | LostGold]:
            results = [find_in(question, document) for question in questions]
            if document.doc_id not in self.sections and any(isinstance(each, Question) for each in results):
                self.sections[document.doc_id] = document.find_sections()
            return results

        if document.source is not None:
            self.sources[document.doc_id] = document.source
        return await self._io.in_thread(find)


def check_any_left(found: FoundGold) -> None:
    """Warn of questions whose gold isn't found.

    Raises:
        InvalidInputError: None is left.
    """
    lost, count = found.lost, len(found.results)
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


ID_BATCH_SIZE = 256
"""Sentences read in one call."""


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
            try:
                documents = await scope.fetch(io, [(doc_id, 0) for doc_id in part])
            except InvalidInputError:  # the filter can't be enforced by id
                documents = None
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
            SentenceWindowWarning,
            stacklevel=2,
        )
