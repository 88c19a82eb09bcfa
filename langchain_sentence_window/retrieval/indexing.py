"""Replace, delete and read source documents in a vector store that knows only sentences.

A store may do that in one transaction, see `StoreAdapter.replace_documents`. In the others a document's sentences are
written from first to last and deleted from last to first. A call that is cut short leaves no gap, and calling it again
completes it.

Where a filter binds, new sentences must match it, and so must those that they replace. `FaissStore` checks that in its
transaction. Other stores are read before, so what another process writes meanwhile isn't seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.filtering import key_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.ids import sentence_id
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.window_documents import source_document
from langchain_sentence_window.embedding.neighbor_mixing import (
    CarriedVectors,
    NeighborMixedEmbeddings,
    embed_and_mix,
)
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.bm25_index import BM25Index

ASK_BATCH_SIZE = 256
"""Sentences of a document in one call, after its first, when all of them are read."""

MAX_UNSEEN = 4_096
"""The most sentences of a document in a store that can't fetch by id. It isn't known how many such a store holds, so
all that it may hold are deleted."""


async def replace_documents(
    io: IO,
    scope: Scope,
    sentences: Sequence[Document],
    doc_ids: Sequence[str],
    contexts: Sequence[str] | None = None,
    *,
    show_progress: bool,
    bm25_index: BM25Index | None = None,
) -> int | None:
    """Replace all sentences of the source documents in the store.

    If an embedder fails, the old sentences stay. A store that embeds may have replaced whole batches before, see
    `StoreAdapter.write_batch_size`.

    Args:
        io: Makes the calls.
        scope: Where they go, and the filter that they, and what they replace, must match.
        sentences: Sentence Documents, document by document, in order.
        doc_ids: The source documents they replace; those without a sentence now are removed.
        contexts: Text to put before each sentence when it is embedded, if the store lets us embed: `FaissStore`, or
            one that was built with `NeighborMixedEmbeddings`.
        show_progress: Whether to show a progress bar while embedding, if the store lets us embed.
        bm25_index: A lexical index to update too.

    Returns:
        The number of the documents that were there; ``None`` if that isn't known.

    Raises:
        InvalidInputError: A document is too long for a store that can't fetch by id, or the filter forbids it.
    """
    if scope.is_bound:
        await _check_writable(io, scope, sentences, doc_ids)
    adapter = scope.adapter
    if await adapter.replace_documents(
        io, sentences, doc_ids, contexts=contexts, within=scope.filter, show_progress=show_progress
    ):
        return None
    stored = await _stored_documents(io, adapter, doc_ids)
    if stored is None:
        _check_lengths(adapter, sentences)
        existing = None
        stale = [sentence_id(doc_id, index) for doc_id in doc_ids for index in range(MAX_UNSEEN)]
    else:
        existing = stale = [sentence_id(*key_of(each)) for all_of in stored.values() for each in all_of]
    await _write(io, adapter, sentences, contexts, existing, show_progress=show_progress)
    new = {sentence.id for sentence in sentences}
    await adapter.remove(io, [id_ for id_ in reversed(stale) if id_ not in new])
    if bm25_index is not None:
        await io.in_thread(bm25_index.change, stale, sentences)
    return None if stored is None else sum(map(bool, stored.values()))


async def delete_documents(
    io: IO,
    scope: Scope,
    doc_ids: Sequence[str] | None,
    *,
    source: str | None = None,
    bm25_index: BM25Index | None = None,
) -> int:
    """Delete all sentences of source documents; ignore those that don't exist or that the filter forbids.

    Args:
        io: Makes the calls.
        scope: The store, and the filter that all sentences of a document must match.
        doc_ids: The names of the documents; ``None`` for all that match.
        source: The source that their metadata names; ``None`` for any.
        bm25_index: A lexical index to update too.

    Returns:
        The number of documents that were deleted. A store that can't fetch by id is believed to have had them all.

    Raises:
        InvalidInputError: The filter matches only a part of a document, or the store can't list its documents and
            there are no names. Nothing was deleted.
    """
    deleted = await scope.adapter.delete_documents(io, doc_ids, scope.filter, source)
    if deleted is not None:
        return deleted
    if doc_ids is None or source is not None:
        found = [each.doc_id for each in await scope.adapter.list_documents(io, scope.filter, source)]
        doc_ids = found if doc_ids is None else [name for name in found if name in set(doc_ids)]
    if scope.is_bound:
        doc_ids = [name for name, each in (await _readable(io, scope, doc_ids)).items() if each.sentences]
    if not doc_ids:
        return 0
    were_there = await replace_documents(io, scope, [], doc_ids, show_progress=False, bm25_index=bm25_index)
    return len(set(doc_ids)) if were_there is None else were_there


async def read_documents(io: IO, scope: Scope, doc_ids: Sequence[str]) -> list[Document]:
    """Join source documents from their sentences; leave out those that don't exist.

    Leave out those of which the filter forbids anything, too.

    Raises:
        IncompleteWindowError: The store can't fetch by id, or lacks sentences.
    """
    stored = await _stored_within(io, scope, doc_ids)
    if stored is None:
        raise _unreadable(scope)
    return [source_document(each.sentences) for each in stored.values() if each.sentences and each.is_whole]


async def read_sentences(io: IO, scope: Scope, doc_id: str) -> tuple[Sequence[StoredSentence], bool]:
    """Read the sentences of a document that the filter lets through.

    Returns:
        The sentences, in order, and whether they are all that the document has. None if there is no such document.

    Raises:
        IncompleteWindowError: The store can't fetch by id.
    """
    stored = await _stored_within(io, scope, [doc_id])
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
    if not scope.is_bound:
        stored = await _stored_within(io, scope, doc_ids)
        return None if stored is None else {name: each.sentences for name, each in stored.items()}
    found = await _readable(io, scope, doc_ids)
    for name, each in found.items():
        if each.count and not each.sentences:
            raise InvalidInputError(
                f"the doc_id {name!r} is taken by a document that the filter doesn't let through; choose another. "
                "Nothing was stored."
            )
    return {name: each.sentences for name, each in found.items()}


def _unreadable(scope: Scope) -> IncompleteWindowError:
    return IncompleteWindowError(
        f"{scope.adapter.name} can't fetch documents by id, so what it has of a source document can't be read"
    )


@dataclass(frozen=True, slots=True)
class _Stored:
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


async def _stored_within(io: IO, scope: Scope, doc_ids: Sequence[str]) -> dict[str, _Stored] | None:
    """Read documents within the filter; return ``None`` if the store can't fetch by id."""
    stored = await _stored_documents(io, scope.adapter, doc_ids)
    if stored is None:
        return None
    counts = {name: len(of_it) for name, of_it in stored.items()}
    if scope.is_bound:
        # Read once more, within the filter. Of the others nothing is read but that they are there.
        keys = [key_of(document) for of_it in stored.values() for document in of_it]
        within = _by_document((await scope.fetch(io, keys)) if keys else [], doc_ids)
        stored = {name: within[name] for name in stored}
    return {
        name: _Stored([scope.adapter.read(document) for document in of_it], counts[name])
        for name, of_it in stored.items()
    }


async def _stored_documents(io: IO, adapter: StoreAdapter, doc_ids: Sequence[str]) -> dict[str, list[Document]] | None:
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


async def _check_writable(io: IO, scope: Scope, sentences: Sequence[Document], doc_ids: Sequence[str]) -> None:
    """Check that the filter matches what is to be written, and what is stored of the same documents.

    Raises:
        InvalidInputError: It doesn't, or that can't be checked. Nothing was written.
    """
    matches = scope.matcher
    if sentences and matches is None:
        raise InvalidInputError(
            f"only {scope.adapter.name} itself knows what its filters let through, so a retriever with a "
            "filter can't see whether it may add a document; add it with a retriever that has none"
        )
    for sentence in sentences:
        if matches is not None and not matches(sentence):
            raise InvalidInputError(
                f"the filter doesn't let through document {sentence.metadata[DOC_ID]!r}; give it metadata that the "
                "filter wants, or add it with a retriever that has no filter. Nothing was stored."
            )
    await sentences_to_change(io, scope, doc_ids)


async def _readable(io: IO, scope: Scope, doc_ids: Sequence[str]) -> dict[str, _Stored]:
    """Read all sentences of the documents, and none of those that the filter forbids whole.

    Raises:
        InvalidInputError: The filter matches only a part of a document, or the store can't fetch by id.
    """
    stored = await _stored_within(io, scope, doc_ids)
    if stored is None:
        raise InvalidInputError(
            f"{scope.adapter.name} can't fetch by id, so a retriever with a filter can't see whose documents "
            "it would replace or delete; add and delete with a retriever that has no filter"
        )
    for name, each in stored.items():
        if each.sentences and not each.is_whole:
            raise InvalidInputError(
                f"the filter lets through only a part of document {name!r}; replace or delete it with a retriever "
                "that has no filter. Nothing was changed."
            )
    return stored


async def _write(
    io: IO,
    adapter: StoreAdapter,
    sentences: Sequence[Document],
    contexts: Sequence[str] | None,
    existing: Sequence[str] | None,
    *,
    show_progress: bool,
) -> None:
    if not sentences:
        return
    embedding = adapter.embedding
    if isinstance(embedding, NeighborMixedEmbeddings):
        vectors = await embed_and_mix(io, embedding, sentences, contexts, show_progress=show_progress)
        carried = CarriedVectors(sentences, vectors)
        await adapter.put(io, carried.documents, existing)
        carried.finish(adapter.store)
    else:
        await adapter.put(io, sentences, existing)


def _check_lengths(adapter: StoreAdapter, sentences: Sequence[Document]) -> None:
    counts: dict[str, int] = {}
    for sentence in sentences:
        name = sentence.metadata[DOC_ID]
        counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        if count > MAX_UNSEEN:
            raise InvalidInputError(
                f"document {name!r} has {count:,} sentences, and {adapter.name} can't fetch by id, so no more "
                f"than {MAX_UNSEEN:,} could ever be deleted; split it into several documents"
            )
