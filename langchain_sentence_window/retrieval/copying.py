"""`copy_index`: copy an index to another store without embedding its sentences again.

Vectors come from `FaissStore`, which keeps them as they were embedded, or from another store that a retriever filled
and that returns its vectors. They are mixed with their neighbors' and written slice by slice, so memory doesn't grow
with the texts.
"""

from collections.abc import AsyncIterator, Iterator, Sequence

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from tqdm.auto import tqdm

from langchain_sentence_window._arguments import checked_vectorstore
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.store_adapter import StoreAdapter, batches
from langchain_sentence_window.documents.keys import SENTENCE_KEYS
from langchain_sentence_window.documents.source_documents import MetadataFitter
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings, carry_mixed
from langchain_sentence_window.embedding.identity import describe_embedder, longest_texts, makes_vectors
from langchain_sentence_window.errors import IndexMismatchError, InvalidInputError, StoreChangedError
from langchain_sentence_window.store.faiss_store import FaissStore

from .stored_sentences import fetch_documents

DOCUMENTS_PER_SLICE = 16

Slice = tuple[Sequence[Document], Vectors]
"""Sentence Documents and their vectors as they were embedded, shape ``(n, dimension)``. No section is in two
slices."""


def copy_index(source: VectorStore, target: VectorStore, *, show_progress: bool = False) -> int:
    """Copy all sentences from one store to another.

    Nothing is embedded except a few texts, to check that both stores use the same model.

    Args:
        source: A `FaissStore`, or another store that a retriever filled and that returns its vectors, such as Chroma,
            ``PGVectorStore``, Qdrant, LanceDB or ``FAISS``.
        target: A `FaissStore`, or a store that was built with `NeighborMixedEmbeddings`, which has the weights that
            the vectors are mixed with. Sentences with the same ids are replaced.
        show_progress: Whether to show a progress bar.

    Returns:
        The number of copied sentences. After an error, call it again. Metadata that the target can't hold is left out,
        with one warning that names the keys.

    Raises:
        InvalidInputError: The target is the source or can't take vectors, or the source can't return the vectors of
            single sentences.
        IndexMismatchError: The target embeds queries with another model.
        StoreChangedError: A sentence was deleted while it was copied.
    """
    return run(_copy(BLOCKING, source, target, show_progress=show_progress))


async def acopy_index(source: VectorStore, target: VectorStore, *, show_progress: bool = False) -> int:
    """Async version of `copy_index`."""
    return await _copy(ASYNC, source, target, show_progress=show_progress)


async def _copy(io: IO, source: VectorStore, target: VectorStore, *, show_progress: bool) -> int:
    read_from = adapter_of(checked_vectorstore("source", source))
    adapter = adapter_of(checked_vectorstore("target", target))
    if read_from.is_same(adapter):
        raise InvalidInputError(
            f"source and target are the same {adapter.name}, which would be written while it is read; give "
            "another store, or another path, as the target"
        )
    mixing = adapter.embedding
    embedding = mixing.embedding if isinstance(mixing, NeighborMixedEmbeddings) else mixing
    if not adapter.is_whole_index and not isinstance(mixing, NeighborMixedEmbeddings):
        raise InvalidInputError(
            f"{adapter.name} can't be handed vectors, as it was built with {type(mixing).__name__}; "
            "build it with NeighborMixedEmbeddings(embedding), or NeighborMixedEmbeddings(embedding, (1,)) for "
            "vectors of sentences alone"
        )
    total: int | None = None
    if isinstance(source, FaissStore):
        if embedding is not None:
            sample = await io.in_thread(source.sample_for, embedding)
            await _check_embedder(io, embedding, sample, describe_embedder(source.embeddings))
        slices, total = _exported_slices(io, source.export()), len(source)
    else:
        slices = _stored_slices(io, read_from, embedding)
    copied, fitter = 0, MetadataFitter(adapter.limits)
    with tqdm(total=total, desc="Copying", unit=" sentences", disable=not show_progress) as bar:
        async for sentences, vectors in slices:
            documents = fitter.fit(sentences, untouched=SENTENCE_KEYS)
            if adapter.is_whole_index:
                await adapter.add_vectors(io, documents, vectors)
            elif isinstance(mixing, NeighborMixedEmbeddings):
                carried = carry_mixed(mixing, documents, vectors)
                await adapter.put(io, carried.documents)
                carried.finish(target)
            copied += len(documents)
            bar.update(len(documents))
    fitter.warn()
    return copied


async def _exported_slices(io: IO, slices: Iterator[Slice]) -> AsyncIterator[Slice]:
    while (part := await io.in_thread(next, slices, None)) is not None:
        yield part


async def _stored_slices(io: IO, adapter: StoreAdapter, embedding: Embeddings | None) -> AsyncIterator[Slice]:
    """Yield the sentences of a store that isn't a `FaissStore`, after checking the first slice against the embedder.

    Raises:
        InvalidInputError: The store's vectors are mixed, or it can't list its sentences, fetch them or return vectors.
    """
    if isinstance(adapter.embedding, NeighborMixedEmbeddings):
        raise InvalidInputError(
            f"{adapter.name} holds vectors that were made with the headings and neighbors of sentences, not those of "
            "sentences alone; read the documents with a retriever's get, and index them again. Nothing was copied."
        )
    names = dict[str, None]()
    async for page in adapter.list_pages(io):
        names |= dict.fromkeys(adapter.read(document).doc_id for document in page)
    is_checked = embedding is None
    for doc_ids in batches(list(names), DOCUMENTS_PER_SLICE):
        stored = await fetch_documents(io, adapter, doc_ids)
        if stored is None:
            raise InvalidInputError(f"{adapter.name} can't fetch by id, so its sentences can't be copied")
        sentences = [_without_added_keys(adapter, each) for of_document in stored.values() for each in of_document]
        found = await adapter.vectors_of(io, [str(each.id) for each in sentences])
        if missing := [each.id for each in sentences if str(each.id) not in found]:
            raise StoreChangedError(f"the sentence {missing[0]} was deleted while it was copied; copy again")
        vectors = np.array([found[str(each.id)] for each in sentences], dtype=np.float32)
        if embedding is not None and not is_checked:
            texts = [each.page_content for each in sentences]
            sample = longest_texts(list(zip(texts, vectors, strict=True)))
            await _check_embedder(io, embedding, sample, "another embedder")
            is_checked = True
        if sentences:
            yield sentences, vectors


def _without_added_keys(adapter: StoreAdapter, document: Document) -> Document:
    """Return a sentence Document without the metadata that its store added."""
    added = adapter.added_keys
    metadata = {key: value for key, value in document.metadata.items() if value is not None and key not in added}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


async def _check_embedder(io: IO, embedding: Embeddings, sample: Sequence[tuple[str, Vectors]], made_with: str) -> None:
    """Check that the target embeds queries with the model that made the source's vectors.

    Raises:
        IndexMismatchError: It embeds some texts of the source differently.
    """
    if not await makes_vectors(io, embedding, sample):
        raise IndexMismatchError(
            f"the source's vectors are from {made_with}, and the target embeds with "
            f"{describe_embedder(embedding)}, which embeds the same text differently; build the target with "
            "the first, or index the documents again. Nothing was copied."
        )
