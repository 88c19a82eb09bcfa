"""Check that what a store can do is answered by its adapter, and nowhere else."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.vectorstores import VectorStore

import langchain_sentence_window

PACKAGE = Path(langchain_sentence_window.__file__).parent
ADAPTERS = {"adapters", "store", "testing"}
"""Folders that may ask: the adapters, `FaissStore` itself, and the suite that compares stores with it."""

LEFT = {
    "retrieval/indexing.py": ["isinstance(source, FaissStore)"],  # only it exports vectors
}
STORES = re.compile(r"(?:.*_)?(?:vector_?)?store|target", re.I)
PACKAGES = re.compile(
    r"langchain_(chroma|community|elasticsearch|lancedb|mariadb|milvus|mongodb|pinecone|postgres|qdrant|redis|weaviate)"
    r"|(chromadb|elasticsearch|lancedb|pinecone|pymilvus|pymongo|qdrant_client|redis|redisvl|weaviate)\b"
)
METHODS = {name for name in vars(VectorStore) if not name.startswith("_")} - {"as_retriever"}


def questions(code: str) -> list[str]:
    """Return what code asks of a store by itself: its class, its methods, what is private to it, its package."""
    return [ast.unparse(node) for node in ast.walk(ast.parse(code)) if asks(node)]


def asks(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[subject, *_]):
            return is_store(subject)
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
            return any(kind.endswith("Store") and kind != "VectorStore" for kind in names_in(kinds))
        case ast.Attribute(value=subject, attr=name):
            return is_store(subject) and (name in METHODS or bool(re.match("_[^_]", name)))
        case ast.ClassDef(name=name, bases=bases):
            return name.endswith("Store") and any("Protocol" in names_in(base) for base in bases)
        case ast.Import(names=names):
            return any(PACKAGES.match(each.name) for each in names)
        case ast.ImportFrom(module=str(module), level=0):  # a relative one is of the package
            return bool(PACKAGES.match(module))
        case ast.Constant(value=str(text)):
            return bool(PACKAGES.match(text))
    return False


def is_store(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return STORES.fullmatch(name) is not None


def names_in(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute):
            yield each.id if isinstance(each, ast.Name) else each.attr


def test_only_adapters_ask_what_a_store_can_do() -> None:
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
    found = {
        name: asked
        for name, path in paths.items()
        if name.split("/")[0] not in ADAPTERS and (asked := questions(path.read_text(encoding="utf-8")))
    }
    assert found == LEFT


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(store, HybridStore)",
        "isinstance(request.scope.store, (int, stores.InMemoryVectorStore))",
        "hasattr(self.vectorstore, 'hybrid_search')",
        "getattr(vectorstore, 'replace_documents', None)",
        "scope.adapter.store.get_by_ids(ids)",
        "store.embeddings",
        "target.add_documents",
        "store._primary_field",
        "import qdrant_client.models",
        "from langchain_milvus import Milvus",
        "'langchain_chroma'",
        "class LexicalStore(typing.Protocol): ...",
    ],
)
def test_a_question_of_a_store_is_found(code: str) -> None:
    assert questions(code)


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(store, VectorStore)",
        "hasattr(model, 'score')",
        "adapter.embedding",
        "target.export()",
        "from langchain_sentence_window.adapters.weaviate import WeaviateAdapter",
        "from .weaviate import WeaviateAdapter",
        "from . import weaviate",
    ],
)
def test_other_questions_are_left_alone(code: str) -> None:
    assert questions(code) == []
