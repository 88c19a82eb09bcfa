"""From documents to sentences, and into a vector store that knows only sentences: split, replace, delete, copy.

A store may replace documents in one transaction, see `StoreAdapter.prepare_replacement`. In the others a document's
sentences are written from first to last and deleted from last to first. A call that is cut short leaves no gap, and
calling it again completes it.

Where a filter binds, new sentences must match it, and so must those that they replace. `FaissStore` checks that in its
transaction. Other stores are read before, so what another process writes meanwhile isn't seen.

An index is copied to another store without embedding again: from `FaissStore`, which keeps the vectors as they were
embedded, or from any store that holds single sentences and gives their vectors. They are mixed with their neighbors'
and stored in slices, so memory doesn't grow with the index.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from tqdm.auto import tqdm

from langchain_sentence_window._arguments import checked_vectorstore
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run, with_arguments_of
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.keys import DOC_ID, SENTENCE_KEYS, sentence_id
from langchain_sentence_window.documents.part_groups import Group, JoinParts, warn_of_parts
from langchain_sentence_window.documents.source_documents import MetadataFitter, StoreLimits
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import (
    CarriedVectors,
    NeighborMixedEmbeddings,
    Situate,
    carry_mixed,
    contexts_of,
    embed_and_mix,
)
from langchain_sentence_window.embedding.identity import describe_embedder, longest_texts, makes_vectors
from langchain_sentence_window.errors import IndexMismatchError, InvalidInputError
from langchain_sentence_window.store.bm25_index import BM25Index
from langchain_sentence_window.store.faiss_store import FaissStore

from .stored_chunks import sentence_slices
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


Slice = tuple[Sequence[Document], Vectors]
"""Sentence Documents and their vectors as they were embedded, shape ``(n, dimension)``. No section is in two
slices."""


def copy_index(
    source: VectorStore,
    target: VectorStore,
    *,
    source_key: str | None = None,
    join_parts: JoinParts = True,
    show_progress: bool = False,
) -> int:
    """Copy all sentences from one store to another; nothing is embedded but a few texts, to compare their vectors.

    Args:
        source: Where they are: a `FaissStore`, or a store of single sentences that gives its vectors, such as Chroma,
            ``PGVectorStore``, Qdrant, LanceDB or ``FAISS``. There, the sentences of a document are those with the same
            ``doc_id`` or source, and count as one section.
        target: Where they go, in place of those with the same ids. It is a `FaissStore`, or was built with
            `NeighborMixedEmbeddings`, which has the weights that the vectors are mixed with.
        source_key: The metadata key that names the document of a sentence, as for `read_chunks`.
        join_parts: The metadata key that numbers the sentences of a document, as for `read_chunks`.
        show_progress: Whether to show a progress bar.

    Returns:
        The number of sentences that were copied. After an error, call it again. Metadata that the target can't hold is
        left out, with one warning that names the keys. Another one says what can't be told of the sentences' order.

    Raises:
        InvalidInputError: The target is the source, or can't take vectors; or the source can't give those of single
            sentences.
        IndexMismatchError: The target embeds queries with another model.
        StoreChangedError: A sentence was deleted meanwhile.
    """
    return run(
        _copy_between_stores(
            BLOCKING, source, target, source_key=source_key, join_parts=join_parts, show_progress=show_progress
        )
    )


@with_arguments_of(copy_index)
async def acopy_index(*given: Any, **settings: Any) -> int:
    """Async version of `copy_index`."""
    return await _copy_between_stores(ASYNC, *given, **settings)


async def _copy_between_stores(
    io: IO,
    source: VectorStore,
    target: VectorStore,
    *,
    source_key: str | None = None,
    join_parts: JoinParts = True,
    show_progress: bool = False,
) -> int:
    checked_vectorstore("source", source)
    adapter = adapter_of(checked_vectorstore("target", target))
    if adapter_of(source).is_same(adapter):
        raise InvalidInputError(
            f"source and target are the same {adapter.name}, which would be written while it is read; give "
            "another store, or another path, as the target"
        )
    mixing = adapter.embedding
    embedding = mixing.embedding if isinstance(mixing, NeighborMixedEmbeddings) else mixing
    if not adapter.mixes_neighbors and not isinstance(mixing, NeighborMixedEmbeddings):
        raise InvalidInputError(
            f"{adapter.name} can't be handed vectors, as it was built with {type(mixing).__name__}; "
            "build it with NeighborMixedEmbeddings(embedding), or NeighborMixedEmbeddings(embedding, (1,)) for "
            "vectors of sentences alone"
        )
    total = None
    slices: AsyncIterator[Slice]
    if isinstance(source, FaissStore):
        if source_key is not None or join_parts is not True:
            raise InvalidInputError(
                "source is a FaissStore, whose sentences are copied with the documents and the order that they have; "
                "leave out source_key and join_parts"
            )
        if embedding is not None and not await io.in_thread(source.is_made_with, embedding):
            sample = await io.in_thread(source.sample_embedded)
            await _check_embedder(io, embedding, sample, describe_embedder(source.embeddings))
        slices, total = _read_slices(io, source.export()), len(source)
    else:
        slices = _proven(io, sentence_slices(io, source, source_key, join_parts), embedding)
    copied, fitter = 0, MetadataFitter(adapter.limits)
    with tqdm(total=total, desc="Copying", unit=" sentences", disable=not show_progress) as bar:
        async for given, vectors in slices:
            documents = fitter.fit(given, untouched=SENTENCE_KEYS)
            if adapter.mixes_neighbors:
                await adapter.add_vectors(io, documents, vectors)
            elif isinstance(mixing, NeighborMixedEmbeddings):
                prepared = carry_mixed(mixing, documents, vectors)
                await adapter.put(io, prepared.documents)
                prepared.finish(target)
            copied += len(documents)
            bar.update(len(documents))
    fitter.warn()
    return copied


async def _proven(io: IO, slices: AsyncIterator[Slice], embedding: Embeddings | None) -> AsyncIterator[Slice]:
    """Yield slices, after the longest texts of the first were embedded again."""
    is_proven = embedding is None
    async for documents, vectors in slices:
        if embedding is not None and not is_proven:
            texts = [document.page_content for document in documents]
            sample = longest_texts(list(zip(texts, vectors, strict=True)))
            await _check_embedder(io, embedding, sample, "another embedder")
            is_proven = True
        yield documents, vectors


async def _check_embedder(io: IO, embedding: Embeddings, sample: Sequence[tuple[str, Vectors]], made_with: str) -> None:
    """Check that the target embeds queries with the model that the source's vectors are from.

    Raises:
        IndexMismatchError: It embeds some texts of the source otherwise.
    """
    if not await makes_vectors(io, embedding, sample):
        raise IndexMismatchError(
            f"the source's vectors are from {made_with}, and the target embeds with "
            f"{describe_embedder(embedding)}, which embeds the same text otherwise; build the target with "
            "the first, or index the documents again. Nothing was copied."
        )


async def _read_slices(io: IO, slices: Iterator[Slice]) -> AsyncIterator[Slice]:
    """Yield slices, each of them read in a thread."""
    while (part := await io.in_thread(next, slices, None)) is not None:
        yield part
