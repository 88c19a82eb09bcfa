"""Which adapter a store gets."""

import subprocess
import sys
from typing import Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores import StoreAdapter, adapter_of, register
from tests.toys import WordEmbeddings


def store_of(module: str, base: type = VectorStore) -> Any:
    """A store whose class is defined in a module; `tests.live_stores` has the real ones."""
    methods = {"__module__": module, "__init__": lambda self: None, "from_texts": None, "similarity_search": None}
    names = dict.fromkeys(("id_column", "content_column", "embedding_column", "schema_name", "table_name"), "a")
    return type("Made", (base,), {**methods, **names, "metadata_columns": []})()


@pytest.mark.parametrize(
    ("module", "adapter"),
    [
        ("langchain_community.vectorstores.faiss", "CommunityFaissAdapter"),
        ("langchain_elasticsearch._sync.vectorstores", "ElasticsearchAdapter"),
        ("langchain_mongodb.vectorstores", "MongoDBAdapter"),
        ("langchain_mongodb.graphrag.graph", "StoreAdapter"),
        ("langchain_pinecone.vectorstores_sparse", "StoreAdapter"),
        ("langchain_postgres.v2.vectorstores", "PGVectorStoreAdapter"),
        ("langchain_postgres.vectorstores", "PGVectorAdapter"),
        ("langchain_qdrant.vectorstores", "StoreAdapter"),
        ("langchain_milvus_extra.vectorstores", "StoreAdapter"),
        ("langchain_community.vectorstores.azuresearch", "StoreAdapter"),
    ],
)
def test_the_module_of_a_class_or_of_its_base_decides_the_adapter(module: str, adapter: str) -> None:
    store = store_of(module)
    for each in (store, store_of("elsewhere", type(store))):
        assert type(adapter_of(each)).__name__ == adapter


def test_the_nearest_registered_class_decides_the_adapter(words: WordEmbeddings) -> None:
    class Parent(InMemoryVectorStore):
        pass

    class Child(Parent):
        pass

    class ForParent(StoreAdapter):
        pass

    class ForChild(StoreAdapter):
        pass

    parent, child = Parent(words), Child(words)
    assert type(adapter_of(child)) is type(adapter_of(InMemoryVectorStore(words)))
    register(Parent, ForParent)
    assert (type(adapter_of(parent)), type(adapter_of(child))) == (ForParent, ForParent)
    register(Child, ForChild)
    assert (type(adapter_of(parent)), type(adapter_of(child))) == (ForParent, ForChild)
    register(Child, ForParent)
    assert type(adapter_of(child)) is ForParent
    assert type(adapter_of(InMemoryVectorStore(words))) is not ForParent


@pytest.mark.parametrize(
    ("store_class", "adapter", "message"),
    [
        ("MyStore", StoreAdapter, "store_class is 'MyStore'; give a class that derives from VectorStore"),
        (dict, StoreAdapter, "store_class is .*dict.*; give a class that derives from VectorStore"),
        (InMemoryVectorStore, VectorStore, "adapter is .*; give a class that derives from StoreAdapter"),
        (InMemoryVectorStore, StoreAdapter(None), "adapter is .*; give a class that derives from StoreAdapter"),
    ],
)
def test_other_classes_are_refused(store_class: Any, adapter: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        register(store_class, adapter)


@pytest.mark.process
def test_choosing_an_adapter_imports_no_store() -> None:
    code = "import sys, langchain_sentence_window.adapters; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"faiss", "tantivy", "chromadb", "qdrant_client", "pymilvus", "sqlalchemy", "langchain_community"}
    heavy |= {"lancedb", "elasticsearch", "pinecone", "pymongo", "redis", "redisvl", "weaviate"}
    assert "langchain_sentence_window.adapters" in loaded
    assert not heavy.intersection(loaded)
