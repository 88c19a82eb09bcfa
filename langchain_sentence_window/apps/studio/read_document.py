"""`ReadDocument`: a document as the index holds it, as far as the filter lets it through; `GoldTexts`: its gold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window._primitives import LONE_SURROGATE
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.answering.locations import display_name
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, PAGES, SENTENCE_SPANS, START_INDEX
from langchain_sentence_window.documents.page_documents import PagedSentence, sentences_on_pages
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.source_metadata import CONTENT_TYPE, TITLE, page_of, source_of, total_pages
from langchain_sentence_window.documents.window_documents import TextRun, source_document, text_runs
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation.gold import FoundGold, Reason, StoredCorpus, find_gold
from langchain_sentence_window.evaluation.questions import AnyQuestion, Question
from langchain_sentence_window.loaders.file_loader import SUFFIXES
from langchain_sentence_window.loaders.markup.light_markup import FORMATS
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.stored_sentences import read_document_sentences
from langchain_sentence_window.splitting import blocks as splitting
from langchain_sentence_window.splitting.markdown import is_markdown

from .document_blocks import GAP, PageBlock, Sentences, markdown_blocks, plain_blocks
from .replies import Refused

DocumentKind: TypeAlias = Literal["markdown", "text", "pdf"]

_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
_LIGHT_MARKUP = frozenset(suffix for each in FORMATS for suffix in each.suffixes)
_LIGHT_TYPES = frozenset(each.content_type for each in FORMATS)
_OTHER_TYPES = _LIGHT_TYPES | {SUFFIXES[each] for each in (".txt", ".srt", ".vtt", ".pdf")}
# The text of all other files is Markdown, see `load_file`.
_MARKDOWN_TYPES = frozenset(SUFFIXES.values()) - _OTHER_TYPES
_PDF = ".pdf"


async def read_document(retriever: SentenceWindowRetriever, doc_id: str) -> "ReadDocument":
    """Read a document.

    Raises:
        Refused: There is none of that name, or the filter lets nothing of it through.
        IncompleteWindowError: The store can't fetch by id.
    """
    sentences, is_whole = await read_document_sentences(ASYNC, retriever.scope(), doc_id)
    if not sentences:
        raise Refused(404, "there is no such document in the index; it may have been deleted just now")
    return ReadDocument(tuple(sentences), is_whole)


@dataclass(frozen=True)
class ReadDocument:
    """A document as the index holds it.

    Attributes:
        sentences: Its sentences that may be shown, in order; at least one.
        is_whole: Whether these are all that it has.
    """

    sentences: tuple[StoredSentence, ...]
    is_whole: bool

    @property
    def doc_id(self) -> str:
        """The name by which the index knows it."""
        return self.sentences[0].doc_id

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of its first sentence's source."""
        return self.sentences[0].source

    @property
    def name(self) -> str:
        """The name that the page calls it by; never blank."""
        return display_name(Document(page_content="", metadata={**self.metadata, DOC_ID: self.doc_id}))

    @property
    def source(self) -> str | None:
        """The path or address that its metadata names."""
        return source_of(self.metadata)

    @cached_property
    def runs(self) -> list[TextRun]:
        """Its text; in several runs if the filter hides sentences between them."""
        return list(text_runs(self.sentences))

    @cached_property
    def pages(self) -> list[int] | None:
        """For each sentence, the page that it begins on, from 0; ``None`` if the metadata doesn't say it of each."""
        found = [page for each in self.sentences if (page := page_of(each.source)) is not None]
        return found if len(found) == len(self.sentences) else None

    @property
    def page_count(self) -> int | None:
        """The number of its pages; ``None`` if it has none."""
        if self.pages is None:
            return None
        return max(total_pages(self.metadata) or 0, max(self.pages) + 1)

    @property
    def kind(self) -> DocumentKind:
        """Its kind."""
        metadata = {**self.metadata, DOC_ID: self.doc_id}
        return kind_of(metadata, (each.text for each in self.runs), has_pages=self.pages is not None)

    @cached_property
    def on_pages(self) -> list[PagedSentence]:
        """The sentences with the pages that they stand on.

        Raises:
            InvalidInputError: The metadata doesn't say it.
        """
        whole = source_document(self.sentences)
        spans = [[each.start, each.end] for each in self.sentences]
        return sentences_on_pages(
            Document(page_content=whole.page_content, metadata={**whole.metadata, SENTENCE_SPANS: spans})
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what the page needs to lay it out."""
        first, last = self.sentences[0], self.sentences[-1]
        title = self.metadata.get(TITLE)
        return {
            "doc_id": self.doc_id,
            "name": self.name,
            "source": self.source,
            "title": title if isinstance(title, str) and title.strip() else None,
            "kind": self.kind,
            "pages": self.page_count,
            "start": first.start,
            "length": last.end,
            "sentences": [(each.start, each.end) for each in self.sentences],
            "indexes": None if self.is_whole else [each.index for each in self.sentences],
            "sentence_pages": self.pages,
            "blocks": list(self._written_blocks()),
        }

    def _written_blocks(self) -> Iterator[dict[str, Any]]:
        is_marked = self.kind == "markdown"
        headers = {
            each.lead_in for each in self.sentences if each.kind == splitting.TABLE_ROW and each.lead_in is not None
        }
        for number, run in enumerate(self.runs):
            if number:
                yield {"kind": GAP, "start": run.start, "runs": ([], [], [])}
            found = markdown_blocks(run.text) if is_marked else _plain(run, headers)
            spans = [(each.start - run.start, each.end - run.start, each.index) for each in run.sentences]
            yield from _written(found, run.text, run.start, spans)


def kind_of(metadata: Mapping[str, Any], texts: Iterable[str], *, has_pages: bool) -> DocumentKind:
    """Return the kind of a document.

    Args:
        metadata: Its metadata, with its ``doc_id``.
        texts: Its text, or parts of it.
        has_pages: Whether the pages of its sentences are known.
    """
    suffix = PurePath(source_of(metadata) or metadata[DOC_ID]).suffix.lower()
    content_type = metadata.get(CONTENT_TYPE)  # of any type, as it may be the user's own
    if suffix in _LIGHT_MARKUP or (isinstance(content_type, str) and content_type in _LIGHT_TYPES):
        return "text"
    is_marked = isinstance(content_type, str) and content_type in _MARKDOWN_TYPES
    if has_pages and not is_marked:
        return "pdf" if suffix == _PDF else "text"
    return "markdown" if is_marked or suffix in _MARKDOWN or any(map(is_markdown, texts)) else "text"


def window_layout(window: Document) -> dict[str, Any]:
    """Return the ``kind`` of a window's text, and its ``blocks``, as those of a document; sentences count from 0."""
    text, metadata = window.page_content, window.metadata
    start, end = as_integer(metadata.get(START_INDEX)), as_integer(metadata.get(END_INDEX))
    if start is None or end is None or end - start != len(text):  # another step shortened or rewrote it
        start, within = 0, []
    else:
        within = [(first - start, last - start) for first, last in metadata.get(SENTENCE_SPANS, ())]
    kind = kind_of({DOC_ID: "", **metadata}, [text], has_pages=PAGES in metadata)
    plain = [splitting.Block(first, last) for first, last in within]
    found = markdown_blocks(text) if kind == "markdown" else plain_blocks(text, plain)
    spans = [(first, last, at) for at, (first, last) in enumerate(within)]
    return {"kind": kind, "blocks": list(_written(found, text, start, spans))}


def _written(
    found: Iterable[PageBlock], text: str, start: int, spans: Sequence[tuple[int, int, int]]
) -> Iterator[dict[str, Any]]:
    # JSON can't hold lone surrogates. Each is one character, so no offset moves.
    shown, sentences = LONE_SURROGATE.sub("\ufffd", text), Sentences(spans)
    for block in found:
        yield block.to_dict(shown, start, sentences)


def _plain(run: TextRun, headers: set[int]) -> list[PageBlock]:
    sentences = [
        splitting.Block(each.start - run.start, each.end - run.start, each.kind, each.level, each.index in headers)
        for each in run.sentences
    ]
    return plain_blocks(run.text, sentences)


State: TypeAlias = Literal["ok", "unknown", "open"] | Reason
"""Whether the gold is in the index: ``ok``, or why it isn't, see `Reason`; ``unknown`` if the store can't say; ``open``
for a question without gold."""


MAX_GOLDS = 50_000
"""The most golds that are remembered."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold of a question in the index.

    Attributes:
        question: The question, with its gold as the index has it now, or as it was given if that isn't known.
        name: What the document is called.
        state: Whether it is there.
        problem: What was sought and isn't there, in a sentence; empty for nothing.
    """

    question: AnyQuestion
    name: str
    state: State
    problem: str = ""


class GoldTexts:
    """Finds the gold of questions, and remembers it while the list of documents stays as it is."""

    def __init__(self) -> None:
        """Begin without any."""
        self._listed: Mapping[str, object] = {}
        self._known: dict[tuple[object, ...], Gold] = {}

    async def read(self, retriever: SentenceWindowRetriever, questions: Iterable[AnyQuestion]) -> list[Gold]:
        """Return what the gold of each question is in the index, within the retriever's filter."""
        asked = list(questions)
        listed = await _listed(retriever)
        # Without the times when documents were added, nothing tells whether they have changed.
        if listed is None or listed != self._listed or None in listed.values() or len(self._known) > MAX_GOLDS:
            self._known, self._listed = {}, listed or {}
        wanted = [each for each in asked if isinstance(each, Question) and _key(each) not in self._known]
        if wanted:
            found = await find_gold(ASYNC, [StoredCorpus(retriever.scope())], wanted)
            for given, each in zip(wanted, found, strict=True):
                self._known[_key(given)] = _gold(given, each)
        known = {_key(each): self._known[_key(each)] for each in asked if isinstance(each, Question)}
        return [known[_key(each)] if isinstance(each, Question) else Gold(each, "", "open") for each in asked]


def _key(question: Question) -> tuple[object, ...]:
    return question.question, question.doc_id, question.spans, question.texts


def _gold(given: Question, found: FoundGold) -> Gold:
    question = found.question or given
    name = None if found.document is None else found.document.source
    if found.lost is not None:
        return Gold(given, name or given.doc_id, found.lost.reason, str(found.lost))
    return Gold(question, name or question.doc_id, "unknown" if found.document is None else "ok")


async def _listed(retriever: SentenceWindowRetriever) -> Mapping[str, object] | None:
    """Return when each document was added, ``None`` if that isn't known; ``None`` if the store can't list them."""
    try:
        documents = await retriever.adocuments()
    except SentenceWindowError:
        return None
    return {each.doc_id: None if each.added is None else (each.added, each.sentences) for each in documents}
