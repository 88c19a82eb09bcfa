"""Read whole documents from any store, in one state of it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.window_documents import source_document
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, StoreChangedError

T = TypeVar("T")

MAX_ATTEMPTS = 10
"""The most attempts to read a store where a concurrent write and a missing sentence look the same."""

MAX_BUSY = 100
"""The most attempts to read a store that detects concurrent writes. Hardly any read needs a third."""


async def in_one_state(scope: Scope, read: Callable[[Scope], Awaitable[T]]) -> T:
    """Search and read one state of a store, or do it again if documents were replaced in between.

    Args:
        scope: The store, and what may be read of it.
        read: Searches and reads in the scope that it is given.

    Raises:
        IncompleteWindowError: The store lacks something, also without a concurrent write.
        StoreChangedError: The store is written faster than it can be read.
    """
    attempt = 0
    while True:
        attempt += 1
        with scope.adapter.at_one_state(attempt) as adapter:
            try:
                return await read(replace(scope, adapter=adapter))
            except StoreChangedError:
                if attempt == MAX_BUSY:
                    raise
            except IncompleteWindowError:
                if adapter.reads_one_state or attempt == MAX_ATTEMPTS:
                    raise


ASK_BATCH_SIZE = 256
"""Sentences of a document in one call, after its first, when all of them are read."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document in the store.

    Attributes:
        sentences: Those of its sentences that the filter lets through, in order.
        count: The number of all its sentences.
    """

    sentences: Sequence[StoredSentence]
    count: int

    @property
    def is_whole(self) -> bool:
        """Whether the filter lets through all of them."""
        return len(self.sentences) == self.count


async def join_documents(io: IO, scope: Scope, doc_ids: Sequence[str]) -> list[Document]:
    """Join source documents from their sentences; leave out those that don't exist.

    Leave out those of which the filter forbids anything, too.

    Raises:
        IncompleteWindowError: The store can't fetch by id, or lacks sentences.
    """

    async def read(scope: Scope) -> list[Document] | None:
        stored = await _stored_within(io, scope, doc_ids)
        if stored is None:
            return None
        return [source_document(each.sentences) for each in stored.values() if each.sentences and each.is_whole]

    found = await in_one_state(scope, read)
    if found is None:
        raise _unreadable(scope)
    return found


async def read_document_sentences(io: IO, scope: Scope, doc_id: str) -> tuple[Sequence[StoredSentence], bool]:
    """Read the sentences of a document that the filter lets through.

    Returns:
        The sentences, in order, and whether they are all that the document has. No sentences if there is no such
        document.

    Raises:
        IncompleteWindowError: The store can't fetch by id.
    """
    stored = await in_one_state(scope, lambda scope: _stored_within(io, scope, [doc_id]))
    if stored is None:
        raise _unreadable(scope)
    return stored[doc_id].sentences, stored[doc_id].is_whole


async def sentences_to_change(
    io: IO, scope: Scope, doc_ids: Sequence[str]
) -> dict[str, Sequence[StoredSentence]] | None:
    """Read all sentences of documents that are to be changed, by document, in order.

    Returns:
        ``None`` if the store can't fetch by id, and there is no filter.

    Raises:
        InvalidInputError: The filter forbids one of them, or that can't be checked.
    """
    if scope.filter is None:
        found = await _stored_within(io, scope, doc_ids)
    else:
        found = await whole_documents(io, scope, doc_ids)
    for name, each in (found or {}).items():
        if each.count and not each.sentences:
            raise InvalidInputError(
                f"the doc_id {name!r} is the id of a document that the filter forbids; choose another. Nothing was "
                "stored."
            )
    return None if found is None else {name: each.sentences for name, each in found.items()}


async def whole_documents(io: IO, scope: Scope, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
    """Read all sentences of the documents, and none of those that the filter forbids whole.

    Raises:
        InvalidInputError: The filter matches only a part of a document, or the store can't fetch by id.
    """
    stored = await _stored_within(io, scope, doc_ids)
    if stored is None:
        raise InvalidInputError(
            f"{scope.adapter.name} can't fetch by id, so a retriever with a filter can't check whose documents it "
            "would replace or delete; add and delete with a retriever that has no filter"
        )
    for name, each in stored.items():
        if each.sentences and not each.is_whole:
            raise InvalidInputError(
                f"the filter lets through only a part of document {name!r}; replace or delete it with a retriever "
                "that has no filter. Nothing was changed."
            )
    return stored


async def _stored_within(io: IO, scope: Scope, doc_ids: Sequence[str]) -> dict[str, StoredDocument] | None:
    """Read documents within the filter; return ``None`` if the store can't fetch by id."""
    stored = await fetch_documents(io, scope.adapter, doc_ids)
    if stored is None:
        return None
    counts = {name: len(of_it) for name, of_it in stored.items()}
    if scope.filter is not None:
        # Read once more, within the filter. Of the others nothing is read but that they are there.
        keys = [key_of(document) for of_it in stored.values() for document in of_it]
        within = _by_document((await scope.fetch(io, keys)) if keys else [], doc_ids)
        stored = {name: within[name] for name in stored}
    return {
        name: StoredDocument([scope.adapter.read(document) for document in of_it], counts[name])
        for name, of_it in stored.items()
    }


async def fetch_documents(io: IO, adapter: StoreAdapter, doc_ids: Sequence[str]) -> dict[str, list[Document]] | None:
    """Fetch all sentence Documents of documents, in order, without any filter, and don't read what is in them."""
    has: dict[str, list[Document]] = {doc_id: [] for doc_id in doc_ids}
    first, asked, unfinished = 0, 1, list(has)  # a document without a first sentence has none
    while unfinished:
        ids = [sentence_id(doc_id, index) for doc_id in unfinished for index in range(first, first + asked)]
        found = await adapter.fetch(io, ids)
        if found is None:
            return None
        for name, of_it in _by_document(found, unfinished).items():
            has[name] += of_it
        first, asked = first + asked, ASK_BATCH_SIZE
        unfinished = [doc_id for doc_id in unfinished if has[doc_id] and key_of(has[doc_id][-1])[1] + 1 == first]
    return has


def _by_document(found: Sequence[Document] | None, doc_ids: Sequence[str]) -> dict[str, list[Document]]:
    """Return sentence Documents by the document that they belong to, in order."""
    of_each: dict[str, list[Document]] = {doc_id: [] for doc_id in doc_ids}
    for document in sorted(found or [], key=key_of):
        of_each.get(key_of(document)[0], []).append(document)
    return of_each


def _unreadable(scope: Scope) -> IncompleteWindowError:
    return IncompleteWindowError(
        f"{scope.adapter.name} can't fetch documents by id, so what it has of a source document can't be read"
    )
