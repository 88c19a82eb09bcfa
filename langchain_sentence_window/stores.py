"""Vector stores: adapters, index settings and checks, embedders by name, and word search for other stores."""

from ._io import IO
from .adapters.families import BlockingAdapter
from .adapters.registry import adapter_of, register
from .adapters.store_adapter import StoreAdapter
from .documents.indexed_documents import IndexedDocument
from .embedding.contextual_vectors import NeighborMixedEmbeddings
from .embedding.named_embedders import DEFAULT_EMBEDDING, DeferredEmbeddings, embedding_name
from .retrieval.index_settings import IndexSettings, check_index, read_index_settings, write_index_settings
from .store.bm25_index import BM25Index
from .store.check import CheckResult

__all__ = [
    "DEFAULT_EMBEDDING",
    "IO",
    "BM25Index",
    "BlockingAdapter",
    "CheckResult",
    "DeferredEmbeddings",
    "IndexSettings",
    "IndexedDocument",
    "NeighborMixedEmbeddings",
    "StoreAdapter",
    "adapter_of",
    "check_index",
    "embedding_name",
    "read_index_settings",
    "register",
    "write_index_settings",
]
