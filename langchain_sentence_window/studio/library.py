"""The documents of the index: list them, look into one, and delete them; to add some, see `adding`."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field
from starlette.routing import BaseRoute

from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.retrieval import indexing
from langchain_sentence_window.retrieval.one_state import in_one_state
from langchain_sentence_window.studio.listing import Sort, row
from langchain_sentence_window.studio.replies import Arguments, calling, check_writable, not_found, reading
from langchain_sentence_window.studio.state import Studio
from langchain_sentence_window.studio.uploads import what_can_be_added

MAX_ROWS = 500
"""The most documents of one reply, as a table shows only some."""

MAX_SENTENCES = 100
"""The most sentences of one reply."""

MAX_DELETED = 100_000
"""The most documents of one call."""

_FETCHED = 256
_MAX_FETCHES = 20


class Wanted(Arguments):
    """Which documents, in which order."""

    search: str = Field(default="", max_length=1_000)
    sort: Sort = "name"
    order: Literal["up", "down"] = "up"
    first: int = Field(default=0, ge=0)
    limit: int = Field(default=100, ge=1, le=MAX_ROWS)


class Searched(Arguments):
    """Which documents."""

    search: str = Field(default="", max_length=1_000)


class One(Arguments):
    """A document, and the index of the first sentence to show."""

    doc_id: str
    first: int = Field(default=0, ge=0)


class Several(Arguments):
    """Documents."""

    doc_ids: list[str] = Field(min_length=1, max_length=MAX_DELETED)


def routes() -> list[BaseRoute]:
    """Return the calls of this module."""
    return [
        reading("/api/documents", Wanted, list_documents),
        reading("/api/documents/ids", Searched, list_ids),
        reading("/api/documents/details", One, show_document),
        calling("/api/documents/delete", Several, delete_documents),
    ]


async def list_documents(studio: Studio, wanted: Wanted) -> object:
    """Return a part of the documents that a search finds, how many there are, and what may be added."""
    listing = await studio.library.current(studio.retriever)
    found = listing.found(wanted.search, wanted.sort, is_down=wanted.order == "down")
    return {
        "documents": [row(each) for each in found[wanted.first : wanted.first + wanted.limit]],
        "found": len(found),
        "total": len(listing.documents),
        "sentences": sum(each.sentences for each in found),
        "can_change": not studio.is_read_only,
        "adding": what_can_be_added(studio),
    }


async def list_ids(studio: Studio, wanted: Searched) -> object:
    """Return the names of all documents that a search finds, and the numbers of their sentences, to choose them all."""
    found = (await studio.library.current(studio.retriever)).found(wanted.search)[:MAX_DELETED]
    return {"doc_ids": [each.doc_id for each in found], "sentences": [each.sentences for each in found]}


async def show_document(studio: Studio, wanted: One) -> object:
    """Return what is known of a document, and some of its sentences.

    Raises:
        Refused: There is no such document within the retriever's filter.
    """
    document = await _listed(studio, wanted.doc_id)
    sentences, following = await in_one_state(
        studio.retriever.scope(), lambda scope: _sentences(scope, document, wanted.first)
    )
    return {**row(document), "metadata": document.metadata, "texts": sentences, "next": following}


async def delete_documents(studio: Studio, wanted: Several) -> object:
    """Delete documents, and the files of those that were added from the page and that this call deleted."""
    check_writable(studio)
    retriever = studio.retriever
    deleted = await indexing.delete_documents(ASYNC, retriever.scope(), wanted.doc_ids, bm25_index=retriever.bm25_index)
    studio.library.forget()
    return {"deleted": len(deleted), "files": await ASYNC.in_thread(studio.uploads.kept.remove, deleted)}


async def _listed(studio: Studio, doc_id: str) -> IndexedDocument:
    found = (await studio.library.current(studio.retriever)).by_id.get(doc_id)
    if found is None:
        raise not_found("there is no such document in the index; it may have been deleted")
    return found


async def _sentences(
    scope: Scope, document: IndexedDocument, first: int
) -> tuple[Sequence[dict[str, Any]] | None, int | None]:
    """Return sentences from an index on, and the index to go on from; ``None`` if the store can't fetch by id."""
    sentences: list[dict[str, Any]] = []
    for start in range(first, first + _FETCHED * _MAX_FETCHES, _FETCHED):
        fetched = await scope.fetch(ASYNC, [(document.doc_id, index) for index in range(start, start + _FETCHED)])
        if fetched is None:
            return None, None
        read = sorted(map(scope.adapter.read, fetched), key=lambda each: each.index)
        sentences += [{"index": each.index, "start": each.start, "end": each.end, "text": each.text} for each in read]
        if len(sentences) > MAX_SENTENCES:
            return sentences[:MAX_SENTENCES], sentences[MAX_SENTENCES]["index"]
        if len(sentences) >= document.sentences or not fetched:  # a filter may let through few of many
            break
    return sentences, None
