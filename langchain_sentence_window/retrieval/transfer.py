"""Copy an index from `FaissStore` to any other vector store, without embedding again.

`FaissStore` keeps the vectors as they were embedded. They are mixed with their neighbors' and stored in slices, so
memory doesn't grow with the index.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from tqdm.auto import tqdm

from langchain_sentence_window._arguments import checked_documents, checked_vectorstore
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.documents.keys import SENTENCE_KEYS
from langchain_sentence_window.documents.stored_metadata import MetadataFitter
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings, carry_mixed
from langchain_sentence_window.embedding.embedder import check_same_embedder
from langchain_sentence_window.embedding.embedder_state import describe_embedder
from langchain_sentence_window.errors import IndexMismatchError, InvalidInputError
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

Slice = tuple[Sequence[Document], Vectors]
"""Sentence Documents and their vectors as they were embedded, shape ``(n, dimension)``. No section is in two
slices."""


def copy_index(source: FaissStore, target: VectorStore, *, show_progress: bool = False) -> int:
    """Copy all sentences from a `FaissStore` to any other store; nothing is embedded.

    Args:
        source: Where they are.
        target: Where they go, in place of those with the same ids. It is a `FaissStore`, or was built with
            `NeighborMixedEmbeddings`, which has the weights that the vectors are mixed with.
        show_progress: Whether to show a progress bar.

    Returns:
        The number of sentences that were copied. After an error, call it again. Metadata that the target can't hold is
        left out, with one warning that names the keys.

    Raises:
        InvalidInputError: The target can't take vectors.
        IndexMismatchError: The target embeds queries with another model.
    """
    return run(_copy(BLOCKING, source, target, show_progress=show_progress))


async def acopy_index(source: FaissStore, target: VectorStore, *, show_progress: bool = False) -> int:
    """Async version of `copy_index`."""
    return await _copy(ASYNC, source, target, show_progress=show_progress)


def import_sentences(slices: Iterable[Slice], target: VectorStore) -> int:
    """Add sentences with their vectors, such as `FaissStore.export` yields; see `copy_index`."""
    return run(_import(BLOCKING, _slices(slices), target, total=None))


async def aimport_sentences(slices: Iterable[Slice], target: VectorStore) -> int:
    """Async version of `import_sentences`."""
    return await _import(ASYNC, _slices(slices), target, total=None)


async def _copy(io: IO, source: FaissStore, target: VectorStore, *, show_progress: bool) -> int:
    if not isinstance(source, FaissStore):
        raise InvalidInputError(f"source is {shown(source)}; only a FaissStore keeps the vectors that are copied")
    checked_vectorstore("target", target)
    await _check_embedders(io, source, target)
    total = len(source) if show_progress else None
    return await _import(io, source.export(), target, total=total)


async def _check_embedders(io: IO, source: FaissStore, target: VectorStore) -> None:
    """Check that the target embeds queries with the model that the source's vectors are from."""
    embedding = adapter_of(target).embedding
    if isinstance(embedding, NeighborMixedEmbeddings):
        embedding = embedding.embedding
    if embedding is None or (await io.in_thread(source.is_made_with, embedding)):
        return
    sample = await io.in_thread(source.sample_embedded)
    is_same: bool = await check_same_embedder(io, embedding, sample)
    if not is_same:
        raise IndexMismatchError(
            f"the source's vectors are from {describe_embedder(source.embeddings)}, and the target embeds with "
            f"{describe_embedder(embedding)}, which embeds the same text otherwise; build the target with "
            "the first, or index the documents again. Nothing was copied."
        )


async def _import(io: IO, slices: Iterator[Slice], target: VectorStore, *, total: int | None) -> int:
    adapter = adapter_of(checked_vectorstore("target", target))
    embedding = adapter.embedding
    if not adapter.mixes_neighbors and not isinstance(embedding, NeighborMixedEmbeddings):
        raise InvalidInputError(
            f"{adapter.name} can't be handed vectors, as it was built with {type(embedding).__name__}; "
            "build it with NeighborMixedEmbeddings(embedding), or NeighborMixedEmbeddings(embedding, (1,)) for "
            "vectors of sentences alone"
        )
    copied, fitter = 0, MetadataFitter(adapter.limits)
    with tqdm(total=total, desc="Copying", unit=" sentences", disable=total is None) as bar:
        while part := (await io.in_thread(next, slices, None)):
            given, vectors = _checked_slice(part)
            documents = fitter.fit(given, untouched=SENTENCE_KEYS)
            if adapter.mixes_neighbors:
                await adapter.add_vectors(io, documents, vectors)
            elif isinstance(embedding, NeighborMixedEmbeddings):
                prepared = carry_mixed(embedding, documents, vectors)
                await adapter.put(io, prepared.documents, None)
                prepared.finish(target)
            copied += len(documents)
            bar.update(len(documents))
    fitter.warn()
    return copied


def _slices(given: object) -> Iterator[Slice]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInputError(f"slices is {shown(given)}; give what FaissStore.export() yields")
    return iter(given)


def _checked_slice(given: object) -> Slice:
    if not isinstance(given, tuple | list) or len(given) != 2:  # noqa: PLR2004
        raise InvalidInputError(
            f"a slice is {shown(given)}; give pairs (documents, vectors), as FaissStore.export() does"
        )
    return checked_documents(given[0]), given[1]
