"""Which adapter a store gets."""

import subprocess
import sys
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.adapters import StoreAdapter, adapter_of, register
from langchain_sentence_window.adapters.cloud_stores import MongoDBAdapter, PineconeAdapter
from langchain_sentence_window.adapters.faiss_adapter import FaissStoreAdapter
from langchain_sentence_window.adapters.json_text import LanceDBAdapter, MariaDBAdapter
from langchain_sentence_window.adapters.local_stores import ChromaAdapter, CommunityFaissAdapter, InMemoryAdapter
from langchain_sentence_window.adapters.milvus import MilvusAdapter
from langchain_sentence_window.adapters.postgres import PGVectorAdapter, PGVectorStoreAdapter
from langchain_sentence_window.adapters.qdrant import QdrantAdapter
from langchain_sentence_window.adapters.search_engines import ElasticsearchAdapter, RedisAdapter
from langchain_sentence_window.adapters.weaviate import WeaviateAdapter
from langchain_sentence_window.errors import InvalidInputError
from tests.toys import WordEmbeddings, document


def store_of(module: str, base: type = VectorStore) -> Any:
    """A store whose class stands in a module; the live tests have the real ones."""
    methods = {"__module__": module, "__init__": lambda self: None, "from_texts": None, "similarity_search": None}
    names = dict.fromkeys(("id_column", "content_column", "embedding_column", "schema_name", "table_name"), "a")
    return type("Made", (base,), {**methods, **names, "metadata_columns": []})()


@pytest.mark.parametrize(
    ("module", "adapter"),
    [
        ("langchain_chroma.vectorstores", ChromaAdapter),
        ("langchain_community.vectorstores.faiss", CommunityFaissAdapter),
        ("langchain_elasticsearch._sync.vectorstores", ElasticsearchAdapter),
        ("langchain_elasticsearch._async.vectorstores", ElasticsearchAdapter),
        ("langchain_lancedb.vectorstores", LanceDBAdapter),
        ("langchain_mariadb.vectorstores", MariaDBAdapter),
        ("langchain_milvus.vectorstores.milvus", MilvusAdapter),
        ("langchain_mongodb.vectorstores", MongoDBAdapter),
        ("langchain_mongodb.graphrag.graph", StoreAdapter),
        ("langchain_pinecone.vectorstores", PineconeAdapter),
        ("langchain_pinecone.vectorstores_sparse", StoreAdapter),
        ("langchain_redis.vectorstores", RedisAdapter),
        ("langchain_weaviate.vectorstores", WeaviateAdapter),
        ("langchain_postgres.v2.vectorstores", PGVectorStoreAdapter),
        ("langchain_postgres.vectorstores", PGVectorAdapter),
        ("langchain_qdrant.qdrant", QdrantAdapter),
        ("langchain_qdrant.vectorstores", StoreAdapter),
        ("langchain_milvus_extra.vectorstores", StoreAdapter),
        ("langchain_community.vectorstores.azuresearch", StoreAdapter),
    ],
)
def test_the_module_of_a_class_or_of_its_base_tells_the_adapter(module: str, adapter: type) -> None:
    store = store_of(module)
    assert type(adapter_of(store)) is adapter
    assert type(adapter_of(store_of("elsewhere", type(store)))) is adapter


def test_the_stores_that_are_always_there_have_theirs(words: WordEmbeddings) -> None:
    class Derived(InMemoryVectorStore):
        pass

    for store, adapter in ((FaissStore(words), FaissStoreAdapter), (Derived(words), InMemoryAdapter)):
        assert type(adapter_of(store)) is adapter
        assert adapter_of(store).store is store


def test_the_nearest_class_that_has_an_adapter_tells_it(words: WordEmbeddings) -> None:
    class Parent(InMemoryVectorStore):
        pass

    class Child(Parent):
        pass

    class ForParent(InMemoryAdapter):
        pass

    class ForChild(InMemoryAdapter):
        pass

    parent, child = Parent(words), Child(words)
    assert type(adapter_of(child)) is InMemoryAdapter
    register(Parent, ForParent)
    assert (type(adapter_of(parent)), type(adapter_of(child))) == (ForParent, ForParent)
    register(Child, ForChild)
    assert (type(adapter_of(parent)), type(adapter_of(child))) == (ForParent, ForChild)
    register(Child, ForParent)
    assert type(adapter_of(child)) is ForParent
    assert type(adapter_of(InMemoryVectorStore(words))) is InMemoryAdapter


@pytest.mark.parametrize(
    ("store_class", "adapter", "message"),
    [
        ("MyStore", StoreAdapter, "store_class is 'MyStore'; give a class that derives from VectorStore"),
        (dict, StoreAdapter, "store_class is .*dict.*; give a class that derives from VectorStore"),
        (InMemoryVectorStore, VectorStore, "adapter is .*; give a class that derives from StoreAdapter"),
        (InMemoryVectorStore, StoreAdapter(None), "adapter is .*; give a class that derives from StoreAdapter"),
    ],
)
def test_what_is_no_class_of_its_kind_is_refused(store_class: Any, adapter: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        register(store_class, adapter)


class Labeled(InMemoryVectorStore):
    """Takes its filter as ``labels``."""

    def similarity_search_with_score(self, query: str, k: int = 4, *, labels: Any = (), **_: Any) -> Any:
        wanted = dict(labels)
        return super().similarity_search_with_score(
            query, k, filter=lambda found: wanted.items() <= found.metadata.items()
        )


class LabeledAdapter(StoreAdapter):
    filter_name = "labels"


def labeled(embedding: Embeddings) -> Labeled:
    register(Labeled, LabeledAdapter)
    store = Labeled(embedding)
    sources = [document("A refund.", name, tenant=name) for name in ("mine", "theirs")]
    SentenceWindowRetriever(vectorstore=store).add_documents(sources)
    return store


def test_a_filter_goes_by_the_name_that_its_adapter_gives(words: WordEmbeddings) -> None:
    store = labeled(words)
    mine = {"tenant": "mine"}
    by_setting = SentenceWindowRetriever(vectorstore=store, filter=mine)
    by_hand = SentenceWindowRetriever(vectorstore=store, search_kwargs={"labels": mine})
    mine["tenant"] = "theirs"
    for retriever in (by_setting, by_hand, by_hand.model_copy(), by_hand.model_copy(update={"k": 3})):
        assert [each.id for each in retriever.get(["mine", "theirs"])] == ["mine"]
        assert [each.metadata["tenant"] for each in retriever.invoke("refund")] == ["mine"]
        assert retriever.invoke("refund", filter={"tenant": "theirs"}) == []
    with pytest.raises(InvalidInputError, match="matches everything"):
        SentenceWindowRetriever(vectorstore=store, search_kwargs={"labels": {}})
    with pytest.raises(InvalidInputError, match="'filter', which may not be a filter"):
        SentenceWindowRetriever(vectorstore=store, search_kwargs={"filter": {"tenant": "mine"}})


@pytest.mark.process
@pytest.mark.process
def test_choosing_an_adapter_imports_no_store() -> None:
    code = "import sys, langchain_sentence_window.adapters; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "faiss",
        "tantivy",
        "chromadb",
        "qdrant_client",
        "pymilvus",
        "sqlalchemy",
        "langchain_community",
        "lancedb",
    }
    heavy |= {"elasticsearch", "pinecone", "pymongo", "redis", "redisvl", "weaviate"}
    assert "langchain_sentence_window.adapters" in loaded
    assert not heavy.intersection(loaded)
