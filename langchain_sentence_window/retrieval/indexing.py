"""Replace and delete source documents in a vector store that knows only sentences.

A store may do that in one transaction, see `StoreAdapter.replace_documents`. In the others a document's sentences are
written from first to last and deleted from last to first. A call that is cut short leaves no gap, and calling it again
completes it.

Where a filter binds, new sentences must match it, and so must those that they replace. `FaissStore` checks that in its
transaction. Other stores are read before, so what another process writes meanwhile isn't seen.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.keys import DOC_ID, sentence_id
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.embedding.contextual_vectors import (
    CarriedVectors,
    NeighborMixedEmbeddings,
    embed_and_mix,
)
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.retrieval.stored_documents import fetch_sentences, sentences_to_change, whole_documents
from langchain_sentence_window.stores.bm25_index import BM25Index

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
) -> list[str] | None:
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
        The names of the documents that were there; ``None`` if that isn't known.

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
    stored = await fetch_sentences(io, adapter, doc_ids)
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
    return None if stored is None else [name for name, all_of in stored.items() if all_of]


async def delete_documents(
    io: IO,
    scope: Scope,
    doc_ids: Sequence[str] | None,
    *,
    source: str | None = None,
    bm25_index: BM25Index | None = None,
) -> Sequence[str]:
    """Delete all sentences of source documents; ignore those that don't exist or that the filter forbids.

    Args:
        io: Makes the calls.
        scope: The store, and the filter that all sentences of a document must match.
        doc_ids: The names of the documents; ``None`` for all that match.
        source: The source that their metadata names; ``None`` for any.
        bm25_index: A lexical index to update too.

    Returns:
        The names of the documents that were deleted. A store that can't fetch by id is believed to have had them all.

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
        doc_ids = [name for name, each in (await whole_documents(io, scope, doc_ids)).items() if each.sentences]
    if not doc_ids:
        return []
    were_there = await replace_documents(io, scope, [], doc_ids, show_progress=False, bm25_index=bm25_index)
    return list(dict.fromkeys(doc_ids)) if were_there is None else were_there


async def fill_bm25_index(
    io: IO, adapter: StoreAdapter, bm25_index: BM25Index, found: Sequence[StoredSentence]
) -> None:
    """Fill a lexical index from the store, if it lacks some of the sentences that a search has found.

    All of the store is read, whatever the filter, so that scores don't depend on who asks first.

    Raises:
        InvalidInputError: It lacks them all, and the store can't list what it holds.
        StoreError: The index can't be written.
    """
    lacking = await io.in_thread(bm25_index.lacking, found)
    if not lacking:
        return
    try:
        stored = await adapter.list_sentences(io, None)
    except InvalidInputError as error:
        stored = []
        told = f"{bm25_index!r} lacks {len(lacking)} of {len(found)} sentences that were found, and {error}"
        if len(lacking) == len(found):
            raise InvalidInputError(f"{told}; or add the documents again, or leave out bm25_index") from error
        # Another thread may have replaced them meanwhile.
        warnings.warn(f"{told}; or add the documents again", SentenceWindowWarning, stacklevel=2)
    await io.in_thread(bm25_index.fill, _readable(adapter, stored), lacking)


def _readable(adapter: StoreAdapter, stored: Sequence[Document]) -> Iterator[StoredSentence]:
    for document in stored:
        with suppress(IncompleteWindowError):  # a store may hold other things too
            yield adapter.read(document)


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
