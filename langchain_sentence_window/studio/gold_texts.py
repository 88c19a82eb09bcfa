"""The gold of questions as the index has it now, if it has it at all."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window._types import Span
from langchain_sentence_window.answering.locations import name_of
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.stored_documents import read_sentences

State: TypeAlias = Literal["ok", "missing", "outside", "unknown"]
"""Whether the gold is in the index; ``missing`` if the document isn't, or may not be read; ``outside`` if a span
ends behind its end; ``unknown`` if the store can't say."""


MAX_DOCUMENTS = 20_000
"""Documents whose gold is remembered."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold of a question in the index.

    Attributes:
        name: What the document is called.
        state: Whether it is there.
        texts: The text of each span, in their order; empty unless all are there.
    """

    name: str
    state: State
    texts: tuple[str, ...] = ()


def document_name(sentence: StoredSentence) -> str:
    """Return what the page calls the document of a sentence; never blank."""
    return name_of(Document(page_content="", metadata={**sentence.source, DOC_ID: sentence.doc_id}))


class GoldTexts:
    """Reads the gold of questions, and remembers it while its document stays as it is."""

    def __init__(self) -> None:
        """Begin without any."""
        self._known: dict[str, tuple[object, dict[tuple[Span, ...], Gold]]] = {}

    async def read(self, retriever: SentenceWindowRetriever, questions: Iterable[Question]) -> list[Gold]:
        """Return what the gold of each question is in the index, within the retriever's filter."""
        asked = list(questions)
        wanted: dict[str, set[tuple[Span, ...]]] = {}
        for question in asked:
            wanted.setdefault(question.doc_id, set()).add(question.spans)
        versions = await _versions(retriever)
        if len(self._known) > MAX_DOCUMENTS:
            self._known.clear()
        found: dict[str, dict[tuple[Span, ...], Gold]] = {}
        for doc_id, spans in wanted.items():
            if versions is not None and doc_id not in versions:
                found[doc_id] = dict.fromkeys(spans, Gold(doc_id, "missing"))
                continue
            version = None if versions is None else versions[doc_id]
            known_version, golds = self._known.get(doc_id, (None, {}))
            if version is None or version != known_version:
                golds = {}
            if unknown := spans - golds.keys():
                golds = {**golds, **await _read(retriever, doc_id, unknown)}
            found[doc_id] = golds
            self._known[doc_id] = version, golds
        return [found[question.doc_id][question.spans] for question in asked]


async def _versions(retriever: SentenceWindowRetriever) -> Mapping[str, object] | None:
    """Return for each document what changes whenever it does, ``None`` if that isn't known.

    Returns:
        ``None`` if the store can't list documents.
    """
    try:
        documents = await retriever.adocuments()
    except SentenceWindowError:
        return None
    return {each.doc_id: None if each.added is None else (each.added, each.sentences) for each in documents}


async def _read(
    retriever: SentenceWindowRetriever, doc_id: str, spans: Iterable[tuple[Span, ...]]
) -> dict[tuple[Span, ...], Gold]:
    try:
        sentences, is_whole = await read_sentences(ASYNC, retriever.scope(), doc_id)
    except SentenceWindowError:  # the store can't read it, or lacks sentences of it
        return dict.fromkeys(spans, Gold(doc_id, "unknown"))
    if not sentences:
        return dict.fromkeys(spans, Gold(doc_id, "missing"))
    starts = [each.start for each in sentences]
    name = document_name(sentences[0])
    found = {}
    for each in spans:
        texts = [_text(sentences, starts, span) for span in each]
        known = tuple(text for text in texts if text is not None)
        is_there = len(known) == len(each)
        # Where the filter hides a part of the document, it isn't told what else is.
        lost: State = "outside" if is_whole else "missing"
        found[each] = Gold(name, "ok", known) if is_there else Gold(name, lost)
    return found


def _text(sentences: Sequence[StoredSentence], starts: Sequence[int], span: Span) -> str | None:
    """Return the text of a span; ``None`` if sentences that aren't there hold a part of it."""
    at, end = span
    parts = []
    number = max(0, bisect_right(starts, at) - 1)
    while at < end:
        if number == len(sentences):
            return None
        each = sentences[number]
        is_last = number + 1 == len(sentences)
        text = each.text if is_last else each.text + each.separator
        if not each.start <= at < each.start + len(text):
            return None
        parts.append(text[at - each.start : end - each.start])
        at, number = each.start + len(text), number + 1
    return "".join(parts)
