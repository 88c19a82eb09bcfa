"""How each store is made, empty, for an embedder; with what its users would choose."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
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


# Filters of tenants


def _mapping(tenant: str) -> Any:
    return {"tenant": tenant}


def _qdrant_filter(tenant: str) -> Any:
    from qdrant_client.models import FieldCondition, Filter, MatchValue

    return Filter(must=[FieldCondition(key="metadata.tenant", match=MatchValue(value=tenant))])


def _qdrant_any() -> Any:
    from qdrant_client.models import Filter

    return Filter()


def _redis_filter(tenant: str) -> Any:
    from redisvl.query.filter import Tag

    return Tag("tenant") == tenant


def _redis_any() -> Any:
    from redisvl.query.filter import Tag

    return Tag("tenant") != "nobody"


def _weaviate_filter(tenant: str) -> Any:
    from weaviate.classes.query import Filter

    return Filter.by_property("tenant").equal(tenant)


def _weaviate_any() -> Any:
    from weaviate.classes.query import Filter

    return Filter.by_property("tenant").not_equal("nobody")


class StoreCase(NamedTuple):
    """A kind of store.

    Attributes:
        make: Makes an empty store.
        tenant: Makes the filter of a tenant.
        anything: Makes a filter that matches every document.
        fixture: The fixture of its server; ``None`` for a store in memory.
        many: Sentences of the largest document in the conformance suite.
    """

    make: Callable[..., VectorStore]
    tenant: Callable[[str], Any]
    anything: Callable[[], Any]
    fixture: str | None
    many: int = 10_000

    def maker(self, request: pytest.FixtureRequest) -> MakeStore:
        """Return a function that makes an empty store for an embedder."""
        if self.fixture is None:
            return self.make
        server = request.getfixturevalue(self.fixture)
        if self.fixture == "folder":
            server /= uuid4().hex
            server.mkdir()
        return lambda embedding: self.make(embedding, server)


CASES = {
    "FAISS": StoreCase(community_faiss, _mapping, lambda: {"tenant": {"$neq": "nobody"}}, None),
    "Chroma": StoreCase(chroma, _mapping, lambda: {"tenant": {"$ne": "nobody"}}, "folder"),
    "Qdrant": StoreCase(qdrant, _qdrant_filter, _qdrant_any, None),
    "Milvus": StoreCase(milvus, lambda tenant: f'tenant == "{tenant}"', lambda: 'tenant != "nobody"', "folder"),
    "PostgreSQL": StoreCase(postgres, _mapping, lambda: {"tenant": {"$ne": "nobody"}}, "postgres"),
    "LanceDB": StoreCase(lancedb, _mapping, lambda: {"tenant": {"$ne": "nobody"}}, "folder"),
    "MariaDB": StoreCase(mariadb, _mapping, lambda: {"tenant": {"$ne": "nobody"}}, "mariadb"),
    "Redis": StoreCase(redis, _redis_filter, _redis_any, "redis_socket"),
    # Their clients talk to servers of ours, as the real ones don't start here.
    "Elasticsearch": StoreCase(
        elasticsearch,
        lambda tenant: [{"term": {"metadata.tenant.keyword": tenant}}],
        lambda: [{"bool": {"must_not": [{"term": {"metadata.tenant.keyword": "nobody"}}]}}],
        "elasticsearch",
        2_000,
    ),
    "MongoDB": StoreCase(
        mongodb,
        lambda tenant: {"tenant": {"$eq": tenant}},
        lambda: {"tenant": {"$in": ["mine", "theirs"]}},
        "mongodb",
        2_000,
    ),
    "Pinecone": StoreCase(pinecone, _mapping, lambda: {"tenant": {"$ne": "nobody"}}, "pinecone_url", 2_000),
    "Weaviate": StoreCase(weaviate, _weaviate_filter, _weaviate_any, "weaviate", 2_000),
}
"""The stores that the conformance suite and the tests of tenants run on."""


def _made(store: Any) -> VectorStore:
    assert isinstance(store, VectorStore)
    return store


def _dimension(embedding: Embeddings) -> int:
    return len(embedding.embed_query("any"))
