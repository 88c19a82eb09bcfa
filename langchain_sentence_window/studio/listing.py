"""All documents of an index, kept until it changes; searched and sorted."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.answering.citation_format import on_one_line
from langchain_sentence_window.answering.locations import MAX_NAME_CHARS
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

FRESH_SECONDS = 5.0
"""How long a list is used if the store doesn't say whether it has changed."""

Sort: TypeAlias = Literal["name", "sentences", "pages", "added"]


class Listing:
    """The documents of an index at one moment.

    Attributes:
        documents: The documents.
    """

    def __init__(self, documents: Sequence[IndexedDocument]) -> None:
        """Keep the documents."""
        self.documents = documents

    @cached_property
    def by_id(self) -> Mapping[str, IndexedDocument]:
        """The documents by their ``doc_id``."""
        return {each.doc_id: each for each in self.documents}

    @cached_property
    def _texts(self) -> Sequence[str]:
        return ["\n".join([each.doc_id, each.source or "", each.title or ""]).casefold() for each in self.documents]

    def found(self, search: str, sort: Sort = "name", *, is_down: bool = False) -> list[IndexedDocument]:
        """Search and sort.

        Args:
            search: Words that the id, the source or the title must hold, in any case; empty for all documents.
            sort: What to sort by; documents without it come last.
            is_down: Whether the highest comes first.
        """
        words = search.casefold().split()
        found = [
            each for each, text in zip(self.documents, self._texts, strict=True) if all(word in text for word in words)
        ]
        found.sort(key=lambda each: (name_of(each).casefold(), each.doc_id), reverse=is_down and sort == "name")
        if sort == "name":
            return found
        having = [each for each in found if getattr(each, sort) is not None]
        having.sort(key=lambda each: getattr(each, sort), reverse=is_down)
        return having + [each for each in found if getattr(each, sort) is None]


class Library:
    """The list of an index's documents, read again when the index has changed.

    Attributes:
        writing: Held by a job that writes, so that they write one after the other.
    """

    def __init__(self) -> None:
        """Begin without a list."""
        self.writing = asyncio.Lock()
        self._kept: tuple[object, float, Listing] | None = None

    async def current(self, retriever: SentenceWindowRetriever) -> Listing:
        """Return the list as it is now; of a store that counts no writes, as it was `FRESH_SECONDS` ago at most."""
        version = await _version(retriever)
        if self._kept is not None:
            kept_version, at, listing = self._kept
            is_fresh = version is not None or time.monotonic() - at < FRESH_SECONDS
            if kept_version == version and is_fresh:
                return listing
        listing = Listing(await retriever.adocuments())
        self._kept = version, time.monotonic(), listing
        return listing

    def forget(self) -> None:
        """Read the list anew when it is asked for."""
        self._kept = None


def row(document: IndexedDocument) -> dict[str, Any]:
    """Return what the list shows of a document."""
    return {
        "doc_id": document.doc_id,
        "name": name_of(document),
        "source": document.source,
        "title": document.title,
        "sentences": document.sentences,
        "pages": document.pages,
        "added": None if document.added is None else document.added.isoformat(),
    }


def name_of(document: IndexedDocument) -> str:
    """Return the last part of a document's source, such as the name of its file."""
    return base_name(document.source or document.doc_id)


def base_name(path: str) -> str:
    """Return the last part of a path, on one line and never empty."""
    last = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return on_one_line(last or path, MAX_NAME_CHARS) or "document"


async def _version(retriever: SentenceWindowRetriever) -> object:
    """Return what changes whenever the index or the filter does; ``None`` if the store doesn't say."""
    adapter = retriever.scope().adapter
    writes = await adapter.count_writes(ASYNC)
    return None if writes is None else (writes, id(adapter.store), repr(retriever.filter))
