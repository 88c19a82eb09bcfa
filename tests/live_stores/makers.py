"""How each store is made, empty, for an embedder; with what its users would choose."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

MakeStore = Callable[[Embeddings], VectorStore]


def community_faiss(embedding: Embeddings) -> VectorStore:
    import faiss

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that the package is archived
        from langchain_community.docstore import InMemoryDocstore
        from langchain_community.vectorstores import FAISS

    return _made(FAISS(embedding, faiss.IndexFlatL2(_dimension(embedding)), InMemoryDocstore(), {}))


def chroma(embedding: Embeddings, folder: Path) -> VectorStore:
    from langchain_chroma import Chroma

    # Its index is approximate; with its own settings it misses some of 10,000 nearly equal vectors.
    configuration: Any = {"hnsw": {"ef_construction": 200, "ef_search": 400, "max_neighbors": 32}}
    name = f"c{uuid4().hex}"
    return _made(Chroma(name, embedding, str(folder), collection_configuration=configuration))


def qdrant(embedding: Embeddings, **settings: Any) -> VectorStore:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient
    from qdrant_client.models import Distance, SparseVectorParams, VectorParams

    client = QdrantClient(":memory:")
    vectors = VectorParams(size=_dimension(embedding), distance=Distance.COSINE)
    sparse = {"langchain-sparse": SparseVectorParams()} if "sparse_embedding" in settings else None
    client.create_collection("c", vectors_config=vectors, sparse_vectors_config=sparse)
    return _made(QdrantVectorStore(client, "c", embedding, **settings))


def milvus(embedding: Embeddings, folder: Path, **settings: Any) -> VectorStore:
    from langchain_milvus import Milvus

    return _made(
        Milvus(
            embedding,
            collection_name=f"c{uuid4().hex}",
            connection_args={"uri": str(folder / "milvus.db")},
            enable_dynamic_field=True,
            consistency_level="Strong",
            **{"index_params": {"index_type": "FLAT", "metric_type": "COSINE"}, **settings},
        )
    )


def postgres(
    embedding: Embeddings, engine: Any, hybrid_search_config: Any = None, *, index: bool = True
) -> VectorStore:
    from langchain_postgres import Column, PGVectorStore
    from langchain_postgres.v2.indexes import HNSWQueryOptions

    table = f"t{uuid4().hex}"
    engine.init_vectorstore_table(
        table,
        _dimension(embedding),
        metadata_columns=[Column("tenant", "TEXT")],
        hybrid_search_config=hybrid_search_config,
    )
    store = PGVectorStore.create_sync(
        engine,
        embedding,
        table,
        metadata_columns=["tenant"],
        # The index returns no more than ef_search rows, so this is the largest fetch_k that it can serve.
        index_query_options=HNSWQueryOptions(ef_search=400),
        hybrid_search_config=hybrid_search_config,
    )
    if index:
        index_vectors(store)
    return _made(store)


def index_vectors(store: Any) -> None:
    """Make the HNSW index of a PostgreSQL store."""
    from langchain_postgres.v2.indexes import HNSWIndex

    store.apply_vector_index(HNSWIndex())


def table_of(store: Any) -> str:
    """The name of a PostgreSQL store's table."""
    return str(store._PGVectorStore__vs.table_name)


def vacuum(store: Any) -> None:
    """Clear deleted rows out of a PostgreSQL store's table and index."""
    from sqlalchemy import text

    async def clear() -> None:
        async with store._engine._pool.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(text("VACUUM"))

    store._engine._run_as_sync(clear())


def of_tenant(tenant: str) -> Callable[[Document], bool]:
    """A filter for stores that take a function."""
    return lambda document: document.metadata["tenant"] == tenant


def _made(store: Any) -> VectorStore:
    assert isinstance(store, VectorStore)
    return store


def _dimension(embedding: Embeddings) -> int:
    return len(embedding.embed_query("any"))
