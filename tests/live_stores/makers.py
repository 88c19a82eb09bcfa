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


def lancedb(embedding: Embeddings, folder: Path) -> VectorStore:
    from langchain_lancedb import LanceDB

    return _made(LanceDB(embedding, folder / "lancedb", f"t{uuid4().hex}"))


def mariadb(embedding: Embeddings, engine: Any) -> VectorStore:
    from langchain_mariadb import MariaDBStore
    from langchain_mariadb.vectorstores import MariaDBStoreSettings, TableConfig

    # A table's index serves all collections in it, and finds fewer of one the more there are of others.
    config = MariaDBStoreSettings(tables=TableConfig(embedding_table=f"t{uuid4().hex}"))
    name = f"c{uuid4().hex}"
    return _made(MariaDBStore(embedding, _dimension(embedding), datasource=engine, collection_name=name, config=config))


def elasticsearch(embedding: Embeddings, client: Any) -> VectorStore:
    from langchain_elasticsearch import ElasticsearchStore

    return _made(ElasticsearchStore(f"i{uuid4().hex}", embedding=embedding, client=client))


def mongodb(embedding: Embeddings, client: Any) -> VectorStore:
    from langchain_mongodb import MongoDBAtlasVectorSearch

    return _made(MongoDBAtlasVectorSearch(client["db"][f"c{uuid4().hex}"], embedding))


def pinecone(embedding: Embeddings, url: str) -> VectorStore:
    from langchain_pinecone import PineconeVectorStore

    return _made(PineconeVectorStore(embedding=embedding, host=url, pinecone_api_key="key", namespace=uuid4().hex))


def weaviate(embedding: Embeddings, client: Any) -> VectorStore:
    from langchain_weaviate import WeaviateVectorStore

    return _made(WeaviateVectorStore(client, f"C{uuid4().hex}", "text", embedding))


def redis(embedding: Embeddings, socket: str, **settings: Any) -> VectorStore:
    from langchain_redis import RedisConfig, RedisVectorStore
    from redis import Redis

    config = RedisConfig(
        index_name=f"i{uuid4().hex}",
        redis_client=Redis(unix_socket_path=socket),
        metadata_schema=[{"name": "tenant", "type": "tag"}, {"name": "doc_id", "type": "tag"}],
        embedding_dimensions=_dimension(embedding),
        **settings,
    )
    return _made(RedisVectorStore(embedding, config))


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


def pgvector(embedding: Embeddings, url: str, *, is_async: bool = False) -> VectorStore:
    """`PGVector`, the older class of langchain-postgres."""
    from langchain_postgres import PGVector
    from sqlalchemy.pool import NullPool

    url, name = url.replace("asyncpg", "psycopg"), f"c{uuid4().hex}"
    closing = {"poolclass": NullPool}
    return _made(PGVector(embedding, connection=url, collection_name=name, engine_args=closing, async_mode=is_async))


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
