"""Which adapter a store gets: that of its class, or of the nearest class that it derives from."""

from functools import cache

from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._display import shown
from langchain_sentence_window.errors import InvalidInputError

from .cloud_stores import MongoDBAdapter, PineconeAdapter
from .faiss_adapter import FaissStoreAdapter
from .json_text import LanceDBAdapter, MariaDBAdapter
from .local_stores import ChromaAdapter, CommunityFaissAdapter, InMemoryAdapter
from .milvus import MilvusAdapter
from .postgres import PGVectorAdapter, PGVectorStoreAdapter
from .qdrant import QdrantAdapter
from .search_engines import ElasticsearchAdapter, RedisAdapter
from .store_adapter import StoreAdapter
from .weaviate import WeaviateAdapter

_BUILT_IN: dict[str, type[StoreAdapter]] = {
    "langchain_sentence_window.store": FaissStoreAdapter,
    "langchain_core.vectorstores.in_memory": InMemoryAdapter,
    "langchain_chroma": ChromaAdapter,
    "langchain_community.vectorstores.faiss": CommunityFaissAdapter,
    "langchain_elasticsearch._sync": ElasticsearchAdapter,
    "langchain_lancedb": LanceDBAdapter,
    "langchain_mariadb": MariaDBAdapter,
    "langchain_milvus": MilvusAdapter,
    "langchain_mongodb.vectorstores": MongoDBAdapter,
    "langchain_pinecone.vectorstores": PineconeAdapter,
    "langchain_postgres.v2": PGVectorStoreAdapter,
    "langchain_postgres": PGVectorAdapter,
    "langchain_qdrant.qdrant": QdrantAdapter,
    "langchain_redis": RedisAdapter,
    "langchain_weaviate": WeaviateAdapter,
}
"""Adapters by the module or package of a store's class, the narrower first. No store is imported for it."""

_registered: dict[type, type[StoreAdapter]] = {}


def register(store_class: type[VectorStore], adapter: type[StoreAdapter]) -> None:
    """Use an adapter for all stores of a class, and of classes that derive from it.

    Args:
        store_class: The class of the store.
        adapter: A subclass of `StoreAdapter`. It replaces one that was registered before, or is built in.

    Raises:
        InvalidInputError: An argument is of another type.
    """
    for name, given, base in (("store_class", store_class, VectorStore), ("adapter", adapter, StoreAdapter)):
        if not (isinstance(given, type) and issubclass(given, base)):
            raise InvalidInputError(f"{name} is {shown(given)}; give a class that derives from {base.__name__}")
    _registered[store_class] = adapter
    _adapter_class.cache_clear()


def adapter_of(store: VectorStore) -> StoreAdapter:
    """Return the adapter of a store."""
    return _adapter_class(type(store))(store)


@cache
def _adapter_class(kind: type) -> type[StoreAdapter]:
    for each in kind.__mro__:
        if each in _registered:
            return _registered[each]
        for module, adapter in _BUILT_IN.items():
            if f"{each.__module__}.".startswith(f"{module}."):
                return adapter
    return StoreAdapter
