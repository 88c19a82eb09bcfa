"""Source documents in a vector store that knows only sentences: replace and delete.

Works with any LangChain vector store. A store that can do it in one transaction says so with a method of its
own, as `FaissStore.replace_documents` does. In the others a document's sentences are written from the first to
the last and deleted from the last to the first, so that whatever is cut short leaves no gap, and doing it again
puts it right.

Where a filter binds, what is written must pass it, and so must all that it replaces or deletes. `FaissStore` sees to
that in its transaction; other stores are read before, so what another process writes meanwhile isn't seen.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.access import embedder_of, fetch, put, remove
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.ids import sentence_id
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.sentence_documents import StoredSentence, by_key, read_sentence
from langchain_sentence_window.documents.window_documents import source_document
from langchain_sentence_window.embedding.neighbor_mixing import NeighborMixedEmbeddings, embed_and_mix
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.bm25_index import BM25Index
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

ASK_BATCH_SIZE = 256
"""Sentences of a document asked for in one call when looking for all that it has in a store."""

MOST_UNSEEN = 4_096
"""Sentences that a document may have in a store that can't fetch by id. What such a store has of a document
can't be known, so all that it may have is deleted."""


async def replace_documents(
    io: IO,
    scope: Scope,
    sentences: Sequence[Document],
    doc_ids: Sequence[str],
    contexts: Sequence[str] | None = None,
    *,
    show_progress: bool,
    bm25_index: BM25Index | None = None,
) -> None:
    """Put sentences in the place of all that the source documents had in the store.

    A failing embedder leaves what was there, of up to `WRITE_BATCH_SIZE` sentences in a store that embeds them itself.

    Args:
        io: Makes the calls.
        scope: Where they go, and the filter that they, and what they replace, must pass.
        sentences: Sentence Documents, document by document, in order.
        doc_ids: The source documents they replace; those without a sentence now are removed.
        contexts: What is put before each sentence when it is embedded, where the store lets us embed: one that
            was built with `NeighborMixedEmbeddings`, or `FaissStore`.
        show_progress: Whether to show a progress bar while embedding, where the store lets us embed.
        bm25_index: An index of words that is kept in step.

    Raises:
        InvalidInputError: A document is too long for a store that can't fetch by id, or the filter forbids it.
    """
    if scope.is_bound:
        await _check_writable(io, scope, sentences, doc_ids)
    store = scope.store
    replace: Any = getattr(store, "replace_documents", None)
    if replace is not None:
        areplace: Any = store.areplace_documents  # type: ignore[attr-defined]
        before: dict[str, Any] = {"contexts": contexts}
        if scope.is_bound and isinstance(store, FaissStore):
            before["within"] = scope.filter
        progress = {"show_progress": show_progress}
        await io.call(partial(replace, **progress), areplace, sentences, doc_ids, **before)
        return
    stored = await _stored(io, store, doc_ids)
    if stored is None:
        _check_lengths(store, sentences)
        existing = None
        stale = [sentence_id(doc_id, index) for doc_id in doc_ids for index in range(MOST_UNSEEN)]
    else:
        existing = stale = [sentence_id(each.doc_id, each.index) for all_of in stored.values() for each in all_of]
    await _write(io, store, sentences, contexts, existing, show_progress=show_progress)
    new = {sentence.id for sentence in sentences}
    await remove(io, store, [id_ for id_ in reversed(stale) if id_ not in new])
    if bm25_index is not None:
        await io.in_thread(bm25_index.change, stale, sentences)


async def delete_documents(
    io: IO, scope: Scope, doc_ids: Sequence[str], *, bm25_index: BM25Index | None = None
) -> None:
    """Delete all sentences of the source documents; those that don't exist, or that a filter forbids, are ignored.

    Raises:
        InvalidInputError: The filter lets through only a part of a document.
    """
    if scope.is_bound:
        doc_ids = [name for name, sentences in (await _readable(io, scope, doc_ids)).items() if sentences]
    if doc_ids:
        await replace_documents(io, scope, [], doc_ids, show_progress=False, bm25_index=bm25_index)


async def read_documents(io: IO, scope: Scope, doc_ids: Sequence[str]) -> list[Document]:
    """Put source documents together again of their sentences; those that don't exist are left out.

    Those of which a filter forbids anything are left out too.

    Raises:
        IncompleteWindowError: The store can't fetch by id, or lacks sentences.
    """
    found = await _stored(io, scope.store, doc_ids)
    if found is None:
        raise IncompleteWindowError(
            f"{type(scope.store).__name__} can't fetch documents by id, so what it has of a source document can't be "
            "read"
        )
    if scope.is_bound:
        within = await _within(io, scope, found)
        found = {name: within[name] for name, sentences in found.items() if len(within[name]) == len(sentences)}
    return [source_document(sentences) for sentences in found.values() if sentences]


async def _check_writable(io: IO, scope: Scope, sentences: Sequence[Document], doc_ids: Sequence[str]) -> None:
    """See that the filter lets through what is to be written, and what is there of the same documents.

    Raises:
        InvalidInputError: It doesn't, or that can't be seen; nothing was written.
    """
    passes = scope.passes
    if sentences and passes is None:
        raise InvalidInputError(
            f"only {type(scope.store).__name__} itself knows what its filters let through, so a retriever with a "
            "filter can't see whether it may add a document; add it with a retriever that has none"
        )
    for sentence in sentences:
        if passes is not None and not passes(sentence):
            raise InvalidInputError(
                f"the filter doesn't let through document {sentence.metadata[DOC_ID]!r}; give it metadata that the "
                "filter wants, or add it with a retriever that has no filter. Nothing was stored."
            )
    readable = await _readable(io, scope, doc_ids)
    stored = await _stored(io, scope.store, [name for name, there in readable.items() if not there])
    for name, there in (stored or {}).items():
        if there:
            raise InvalidInputError(
                f"the doc_id {name!r} is taken by a document that the filter doesn't let through; choose another. "
                "Nothing was stored."
            )


async def _readable(io: IO, scope: Scope, doc_ids: Sequence[str]) -> dict[str, list[StoredSentence]]:
    """All sentences of the documents, none of those that a filter forbids whole.

    Raises:
        InvalidInputError: The filter lets through only a part of a document, or the store can't fetch by id.
    """
    stored = await _stored(io, scope.store, doc_ids)
    if stored is None:
        raise InvalidInputError(
            f"{type(scope.store).__name__} can't fetch by id, so a retriever with a filter can't see whose documents "
            "it would replace or delete; add and delete with a retriever that has no filter"
        )
    within = await _within(io, scope, stored)
    for name, sentences in within.items():
        if sentences and len(sentences) < len(stored[name]):
            raise InvalidInputError(
                f"the filter lets through only a part of document {name!r}; replace or delete it with a retriever "
                "that has no filter. Nothing was changed."
            )
    return within


async def _within(
    io: IO, scope: Scope, stored: Mapping[str, Sequence[StoredSentence]]
) -> dict[str, list[StoredSentence]]:
    """Those of the sentences that the filter lets through, read once more within it."""
    places = [(each.doc_id, each.index) for sentences in stored.values() for each in sentences]
    found = (await scope.fetch(io, places)) if places else []
    read = by_key(map(read_sentence, found or []))
    return {
        name: [read[place] for each in sentences for place in [(name, each.index)] if place in read]
        for name, sentences in stored.items()
    }


async def _write(
    io: IO,
    store: VectorStore,
    sentences: Sequence[Document],
    contexts: Sequence[str] | None,
    existing: Sequence[str] | None,
    *,
    show_progress: bool,
) -> None:
    if not sentences:
        return
    embedding = embedder_of(store)
    if isinstance(embedding, NeighborMixedEmbeddings):
        prepared = await embed_and_mix(io, embedding, sentences, contexts, show_progress=show_progress)
        await put(io, store, prepared.documents, existing)
        prepared.finish(store)
    else:
        await put(io, store, sentences, existing)


async def _stored(io: IO, store: VectorStore, doc_ids: Sequence[str]) -> dict[str, list[StoredSentence]] | None:
    """All sentences that the store has of documents, by document, in order; ``None`` if it can't fetch by id."""
    has: dict[str, list[StoredSentence]] = {doc_id: [] for doc_id in doc_ids}
    first, asked, open_ones = 0, 1, list(has)  # a document without a first sentence has none
    while open_ones:
        ids = [sentence_id(doc_id, index) for doc_id in open_ones for index in range(first, first + asked)]
        found = await fetch(io, store, ids)
        if found is None:
            return None
        for sentence in sorted(map(read_sentence, found), key=lambda sentence: sentence.index):
            has[sentence.doc_id].append(sentence)
        first, asked = first + asked, ASK_BATCH_SIZE
        open_ones = [doc_id for doc_id in open_ones if has[doc_id] and has[doc_id][-1].index + 1 == first]
    return has


def _check_lengths(store: VectorStore, sentences: Sequence[Document]) -> None:
    counts: dict[str, int] = {}
    for sentence in sentences:
        name = sentence.metadata[DOC_ID]
        counts[name] = counts.get(name, 0) + 1
    for name, count in counts.items():
        if count > MOST_UNSEEN:
            raise InvalidInputError(
                f"document {name!r} has {count:,} sentences, and {type(store).__name__} can't fetch by id, so no more "
                f"than {MOST_UNSEEN:,} could ever be deleted; split it into several documents"
            )
