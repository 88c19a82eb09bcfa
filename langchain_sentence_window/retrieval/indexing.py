"""From documents to sentences, and into a vector store that knows only sentences: split, replace, delete.

A store may replace documents in one transaction, see `StoreAdapter.prepare_replacement`. In the others a document's
sentences are written from first to last and deleted from last to first. A call that is cut short leaves no gap, and
calling it again completes it.

Where a filter binds, new sentences must match it, and so must those that they replace. `FaissStore` checks that in its
transaction. Other stores are read before the write, so a concurrent write of another process isn't seen.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.keys import DOC_ID, sentence_id
from langchain_sentence_window.documents.part_groups import Group, warn_of_parts
from langchain_sentence_window.documents.source_documents import StoreLimits
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import (
    CarriedVectors,
    NeighborMixedEmbeddings,
    Situate,
    contexts_of,
    embed_and_mix,
)
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.store.bm25_index import BM25Index

from .stored_sentences import fetch_documents as fetch_sentences
from .stored_sentences import sentences_to_change, whole_documents

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
    if scope.filter is not None:
        await _check_writable(io, scope, sentences, doc_ids)
    adapter = scope.adapter
    replacement = await adapter.prepare_replacement(io, sentences, doc_ids, contexts, scope.filter)
    if replacement is not None:
        await replacement.make(io, show_progress=show_progress)
        return None
    stored = await fetch_sentences(io, adapter, doc_ids)
    if stored is None:
        _check_lengths(adapter, sentences)
        stale = [sentence_id(doc_id, index) for doc_id in doc_ids for index in range(MAX_UNSEEN)]
    else:
        stale = [sentence_id(*key_of(each)) for all_of in stored.values() for each in all_of]
    await _write_sentences(io, adapter, sentences, contexts, show_progress=show_progress)
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
    if scope.filter is not None:
        doc_ids = [name for name, each in (await whole_documents(io, scope, doc_ids)).items() if each.sentences]
    if not doc_ids:
        return []
    were_there = await replace_documents(io, scope, [], doc_ids, show_progress=False, bm25_index=bm25_index)
    return list(dict.fromkeys(doc_ids)) if were_there is None else were_there


async def _check_writable(io: IO, scope: Scope, sentences: Sequence[Document], doc_ids: Sequence[str]) -> None:
    """Check that the filter matches what is to be written, and what is stored of the same documents.

    Raises:
        InvalidInputError: It doesn't, or that can't be checked. Nothing was written.
    """
    matches = scope.matcher
    if sentences and matches is None:
        raise InvalidInputError(
            f"only {scope.adapter.name} itself can apply its filters, so a retriever with a filter can't check "
            "whether it may add a document; add the document with a retriever that has no filter"
        )
    for sentence in sentences:
        if matches is not None and not matches(sentence):
            raise InvalidInputError(
                f"the filter doesn't let through document {sentence.metadata[DOC_ID]!r}; give it metadata that the "
                "filter wants, or add it with a retriever that has no filter. Nothing was stored."
            )
    await sentences_to_change(io, scope, doc_ids)


async def _write_sentences(
    io: IO,
    adapter: StoreAdapter,
    sentences: Sequence[Document],
    contexts: Sequence[str] | None,
    *,
    show_progress: bool,
) -> None:
    if not sentences:
        return
    embedding = adapter.embedding
    if isinstance(embedding, NeighborMixedEmbeddings):
        vectors = await embed_and_mix(io, embedding, sentences, contexts, show_progress=show_progress)
        carried = CarriedVectors(sentences, vectors)
        await adapter.put(io, carried.documents)
        carried.finish(adapter.store)
    else:
        await adapter.put(io, sentences)


def _check_lengths(adapter: StoreAdapter, sentences: Sequence[Document]) -> None:
    counts = Counter(sentence.metadata[DOC_ID] for sentence in sentences)
    for name, count in counts.items():
        if count > MAX_UNSEEN:
            raise InvalidInputError(
                f"document {name!r} has {count:,} sentences, and {adapter.name} can't fetch by id, so no more "
                f"than {MAX_UNSEEN:,} could ever be deleted; split it into several documents"
            )


class Prepared(NamedTuple):
    """Documents that are split.

    Attributes:
        sentences: Their sentence Documents, document by document, in order.
        doc_ids: Their names; a document without text has no sentence.
        contexts: For each sentence, the text to put before it when it is embedded.
    """

    sentences: list[Document]
    doc_ids: list[str]
    contexts: list[str]


@dataclass(frozen=True, slots=True)
class Preparation:
    """Splits documents and describes the context of each sentence.

    It can be pickled if ``situate`` can, so that other processes may do this.

    Attributes:
        splitter: Splits them into sentences.
        limits: What metadata the store can hold.
        embed_headings: Whether sentences are embedded with their heading path in front.
        situate: Writes a line to put in front of a sentence when it is embedded; ``None`` for no line.
    """

    splitter: SentenceSplitter
    limits: StoreLimits
    embed_headings: bool
    situate: Situate | None

    def __call__(self, groups: Sequence[Group]) -> Prepared:
        """Join the parts of each document, split it and describe the contexts.

        Raises:
            InvalidInputError: The metadata of one names a language that isn't known, or ``situate`` didn't return a
                string.
        """
        joined = [group.joined() for group in groups]
        warn_of_parts(joined)
        sentences = self.splitter.split_joined(joined, self.limits)
        by_id = {} if self.situate is None else {document.doc_id: document.document for document in joined}
        contexts = contexts_of(sentences, by_id, self.situate, headings=self.embed_headings)
        return Prepared(sentences, [document.doc_id for document in joined], contexts)
