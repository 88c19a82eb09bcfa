"""`ReadDocument`: a whole document as the index holds it, and its text in blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.documents import (
    CONTENT_TYPE,
    DOC_ID,
    END_INDEX,
    PAGES,
    SENTENCE_SPANS,
    START_INDEX,
    TOTAL_PAGES,
)
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting import is_markdown
from sentence_window.files.pdf.page_documents import PagedSentence, sentences_on_pages
from sentence_window.messages import LONE_SURROGATE
from sentence_window.studio.document_blocks import markdown_blocks, plain_blocks, written_blocks
from sentence_window.studio.page_state import source_of, title_of
from sentence_window.studio.replies import Refused
from sentence_window.studio.spans import Span

DocumentKind: TypeAlias = Literal["markdown", "text", "pdf"]

_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
# The text of all other kinds of files that we read is Markdown, see `load_file`.
_PLAIN = frozenset({".txt", ".text", ".srt", ".vtt", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".pdf"})


async def read_document(retriever: SentenceWindowRetriever, doc_id: str) -> "ReadDocument":
    """Read a document.

    Raises:
        Refused: There is no such document, or the filter hides a part of it.
        IncompleteWindowError: The store can't fetch by id.
    """
    found = await retriever.aget([doc_id])
    if not found:
        raise Refused(
            404, "there is no such document in the index; it may have been deleted, or a filter hides a part of it"
        )
    return ReadDocument(found[0])


@dataclass(frozen=True)
class ReadDocument:
    """A document as the index holds it.

    Attributes:
        document: What `SentenceWindowRetriever.get` returns.
    """

    document: Document

    @property
    def doc_id(self) -> str:
        """The name by which the index knows it."""
        return str(self.metadata[DOC_ID])

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Its metadata."""
        return self.document.metadata

    @property
    def source(self) -> str | None:
        """The path or address that its metadata names."""
        return source_of(self.metadata)

    @property
    def start(self) -> int:
        """Where its first sentence starts; places count from there."""
        return int(self.metadata[START_INDEX])

    @property
    def spans(self) -> Sequence[Span]:
        """Its sentences."""
        spans: Sequence[Span] = self.metadata[SENTENCE_SPANS]
        return spans

    def slice(self, span: Span) -> str:
        """Return the text of a span."""
        return self.document.page_content[span[0] - self.start : span[1] - self.start]

    @cached_property
    def on_pages(self) -> list[PagedSentence] | None:
        """The sentences with the pages that they are on; ``None`` if the metadata doesn't say."""
        try:
            return sentences_on_pages(self.document)
        except InvalidInputError:
            return None

    @property
    def pages(self) -> list[int] | None:
        """For each sentence, the page that it begins on, from 0; ``None`` if the metadata doesn't say."""
        return None if self.on_pages is None else [each.pieces[0].page for each in self.on_pages]

    @property
    def page_count(self) -> int | None:
        """The number of its pages; ``None`` if it has none."""
        if self.pages is None:
            return None
        total = self.metadata.get(TOTAL_PAGES)
        return max(total if isinstance(total, int) else 0, max(self.pages) + 1)

    @property
    def kind(self) -> DocumentKind:
        """Its kind."""
        return kind_of(self.metadata, self.document.page_content, has_pages=self.pages is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return what the page needs to lay it out."""
        name = self.source or self.doc_id
        return {
            "doc_id": self.doc_id,
            "name": name,
            "source": self.source,
            "title": title_of(self.metadata),
            "kind": self.kind,
            "pages": self.page_count,
            "start": self.start,
            "length": self.metadata[END_INDEX],
            "sentences": self.spans,
            "sentence_pages": self.pages,
            "blocks": _blocks(self.document, self.kind, self.start, self.spans),
        }


def kind_of(metadata: Mapping[str, Any], text: str, *, has_pages: bool) -> DocumentKind:
    """Return the kind of a document by its suffix, its content type, its pages, and its text."""
    suffix = PurePath(source_of(metadata) or str(metadata.get(DOC_ID))).suffix.lower()
    if has_pages and suffix == ".pdf":
        return "pdf"
    if suffix in _PLAIN:
        return "text"
    is_converted = isinstance(metadata.get(CONTENT_TYPE), str)
    return "markdown" if suffix in _MARKDOWN or is_converted or is_markdown(text) else "text"


def window_layout(window: Document) -> dict[str, Any]:
    """Return the ``kind`` of a window's text, and its ``blocks``, as those of a document; sentences count from 0."""
    start, end = window.metadata.get(START_INDEX), window.metadata.get(END_INDEX)
    spans = window.metadata.get(SENTENCE_SPANS, ())
    if not isinstance(start, int) or not isinstance(end, int) or end - start != len(window.page_content):
        start, spans = 0, ()  # another step shortened or rewrote it
    kind = kind_of(window.metadata, window.page_content, has_pages=PAGES in window.metadata)
    return {"kind": kind, "blocks": _blocks(window, kind, start, spans)}


def _blocks(document: Document, kind: DocumentKind, start: int, spans: Sequence[Span]) -> list[dict[str, Any]]:
    text = document.page_content
    found = markdown_blocks(text) if kind == "markdown" else plain_blocks(text)
    # JSON can't hold lone surrogates. Each is one character, so no offset moves.
    writable = LONE_SURROGATE.sub("\ufffd", text)
    return list(written_blocks(found, writable, start, [(low - start, high - start) for low, high in spans]))
