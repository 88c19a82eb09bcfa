"""Any LangChain vector store, behind the few calls that are needed of it.

What stores do otherwise than the interface says is dealt with here, and in `filtering`, and nowhere else:

- Some can't fetch by id (`NotImplementedError`); Milvus can, by a query of its own.
- PostgreSQL plans a fetch anew for each number of ids that it hasn't seen; so they are asked for by powers of two.
- Some limit how much one call may hold: Chroma 5,461 documents, PostgreSQL 32,767 ids.
- Some refuse an id that they have (FAISS of langchain-community) or keep both (a Milvus server), where others
  put the new document in the place of the old.
- Some refuse to delete an id that they don't have (FAISS of langchain-community).
- Some score by distance, others by similarity.
- Milvus takes its filter, an expression, by another name.
- They filter by values of many kinds, and few of them when they fetch by id; see `filtering`.
- FAISS of langchain-community filters what it has found, so all has to be found.
- Some write into the settings of a search (PGVectorStore keeps the first query of a hybrid search).
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import repeat
from typing import Any, TypeVar

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._io import IO

READ_BATCH_SIZE = 10_000
"""Ids in one call; more are asked for in several."""

WRITE_BATCH_SIZE = 5_000
"""Documents in one call. A store that embeds them itself has written those of the calls before when its embedder
fails."""

T = TypeVar("T")


async def search(io: IO, store: VectorStore, query: str, settings: Mapping[str, Any]) -> list[tuple[Document, float]]:
    """Search a store, best first.

    Returns:
        Pairs of document and score, higher for a better one.
    """
    given = {name: copy.deepcopy(value) if is_dataclass(value) else value for name, value in settings.items()}
    if "filter" in given and is_milvus(store):
        given["expr"] = given.pop("filter")
    elif "filter" in given and is_community_faiss(store):
        given.setdefault("fetch_k", store.index.ntotal)  # type: ignore[attr-defined]
    call, acall = store.similarity_search_with_score, store.asimilarity_search_with_score
    scored: list[tuple[Document, float]] = await io.call(call, acall, query, **given)
    sign = -1.0 if _scores_by_distance(store, [float(score) for _, score in scored]) else 1.0
    return [(document, sign * float(score)) for document, score in scored]


async def fetch(io: IO, store: VectorStore, ids: Sequence[str]) -> list[Document] | None:
    """Fetch documents by id, in any order; ids that don't exist are left out.

    Returns:
        ``None`` if the store can't do that.
    """
    found: list[Document] = []
    for part in slices(ids):
        if is_milvus(store):
            found += await fetch_from_milvus(io, store, part)
            continue
        try:
            found += await io.call(store.get_by_ids, store.aget_by_ids, _padded(store, part))
        except NotImplementedError:
            return None
    return found


async def put(io: IO, store: VectorStore, documents: Sequence[Document], existing: Sequence[str] | None) -> None:
    """Add documents, in the place of those with the same ids.

    Args:
        io: Makes the calls.
        store: Where they go.
        documents: Each with an id.
        existing: Ids that the store has; ``None`` if they are yet to be found.
    """
    old = [] if _replaces_by_id(store) else (await _old_ones(io, store, documents, existing))
    if not old:
        for part in slices(documents, WRITE_BATCH_SIZE):
            await io.call(store.add_documents, store.aadd_documents, list(part), ids=[each.id for each in part])
        return
    # Embedded before the old ones go, so that a failing embedder leaves them.
    embedding = embedder_of(store)
    texts = [document.page_content for document in documents]
    vectors = await io.call(embedding.embed_documents, embedding.aembed_documents, texts)
    await remove(io, store, old)
    for part, their_vectors in zip(slices(documents, WRITE_BATCH_SIZE), slices(vectors, WRITE_BATCH_SIZE), strict=True):
        await _add_with_vectors(io, store, part, their_vectors)


async def remove(io: IO, store: VectorStore, ids: Sequence[str]) -> None:
    """Delete documents that the store has."""
    for part in slices(ids, WRITE_BATCH_SIZE):
        await io.call(store.delete, store.adelete, list(part))


def embedder_of(store: VectorStore) -> Any:
    """What the store embeds with; ``None`` if it doesn't say. Some, such as Milvus, may have several."""
    embedding = store.embeddings
    return embedding[0] if isinstance(embedding, list) and embedding else embedding


def _scores_by_distance(store: VectorStore, scores: Sequence[float]) -> bool:
    """Whether the lower of two scores is the better one.

    Results come best first, so scores that rise are distances. Where all are equal, the function that makes
    relevance scores of them tells it, if the store has one.
    """
    if scores and scores[0] != scores[-1]:
        return scores[0] < scores[-1]
    try:
        relevance = store._select_relevance_score_fn()
        return bool(relevance(0.0) > relevance(1.0))
    except Exception:  # noqa: BLE001 - many stores have none, or none for their metric
        return False


def _replaces_by_id(store: VectorStore) -> bool:
    return not (is_milvus(store) or is_community_faiss(store))


def _padded(store: VectorStore, ids: Sequence[str]) -> list[str]:
    """Ids, the last of them repeated until there are 1, 2, 4, 8 ... of them, for a store to which that matters."""
    wanted = 1 << (len(ids) - 1).bit_length() if comes_from(store, "langchain_postgres") else len(ids)
    return [*ids, *repeat(ids[-1], wanted - len(ids))]


def is_milvus(store: VectorStore) -> bool:
    """Whether it is langchain-milvus's."""
    return comes_from(store, "langchain_milvus")


def is_community_faiss(store: VectorStore) -> bool:
    """Whether it is the FAISS of langchain-community."""
    return comes_from(store, "langchain_community.vectorstores.faiss")


def comes_from(store: VectorStore, module: str) -> bool:
    """Whether its class, or one that it is made from, stands in a module or a package."""
    return any(f"{base.__module__}.".startswith(f"{module}.") for base in type(store).__mro__)


async def _old_ones(io: IO, store: Any, documents: Sequence[Document], existing: Sequence[str] | None) -> list[str]:
    """The ids of documents that the store has already."""
    ids = [str(document.id) for document in documents]
    if existing is None:
        found = await fetch(io, store, ids)
        existing = ids if found is None else [_id_of(store, document) for document in found]
    return sorted(set(existing).intersection(ids))


def _id_of(store: Any, document: Document) -> str:
    return document.id or str(document.metadata[store._primary_field])


async def _add_with_vectors(io: IO, store: Any, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
    """Add documents with their vectors to a store that doesn't replace by id."""
    texts = [document.page_content for document in documents]
    metadata = [document.metadata for document in documents]
    ids = [document.id for document in documents]
    if is_milvus(store):
        await io.call(store.add_embeddings, store.aadd_embeddings, texts, vectors, metadata, ids=ids)
    else:
        await io.in_thread(store.add_embeddings, list(zip(texts, vectors, strict=True)), metadata, ids=ids)


async def fetch_from_milvus(io: IO, store: Any, ids: Sequence[str], filter: str | None = None) -> list[Document]:
    """Fetch documents by id, of those that an expression lets through."""
    if store.col is None:  # made when the first document comes
        return []
    # Ids of this package hold nothing that an expression would have to escape.
    expression = f"{store._primary_field} in [{', '.join(map(repr, ids))}]"
    if filter is not None:
        expression = f"({expression}) and ({filter})"
    settings = {"filter": expression, "output_fields": store._get_output_fields(), "limit": len(ids)}

    async def query(*given: Any, **keywords: Any) -> Any:
        return await store.aclient.query(*given, **keywords)

    rows = await io.call(store.client.query, query, store.collection_name, **settings)
    return [store._parse_document(dict(row)) for row in rows]


def slices(items: Sequence[T], length: int = READ_BATCH_SIZE) -> Iterator[Sequence[T]]:
    """Yield items so many at a time."""
    for start in range(0, len(items), length):
        yield items[start : start + length]
