"""Each store's own hybrid search, through ``search_kwargs``: words decide where the embedder can't."""

import re
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import SentenceWindowRetriever
from tests.forms import Invoke
from tests.live_stores import makers
from tests.toys import WordEmbeddings, document

# The embedder knows "refund" and none of the names.
NAMES = ["Aachen", "Bergen", "Calais", "Dover", "Essen", "Faro", "Ghent", "Hull"]
SOURCES = [document(f"A refund is paid. The refund goes to {name}. So it is.", name) for name in NAMES]


async def assert_names_are_found(way: Invoke, store: VectorStore, **search_kwargs: Any) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store, k=1, window=1, search_kwargs=search_kwargs)
    await way(retriever, "add_documents", SOURCES)
    await way(retriever, "add_documents", SOURCES[:2])  # again, in the place of the old
    for name in NAMES:
        (window,) = await way(retriever, "invoke", f"refund {name}")
        assert (window.metadata["doc_id"], window.page_content) == (name, by_name(name).page_content)


def by_name(name: str) -> Document:
    return next(source for source in SOURCES if source.metadata["doc_id"] == name)


async def test_postgres(way: Invoke, words: WordEmbeddings, postgres: Any) -> None:
    from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion

    def config() -> HybridSearchConfig:
        return HybridSearchConfig(
            tsv_lang="pg_catalog.simple",
            fusion_function=reciprocal_rank_fusion,
            primary_top_k=50,
            secondary_top_k=50,
        )

    store = makers.postgres(words, postgres, hybrid_search_config=config())
    # plainto_tsquery wants all words of the question; a sentence has both.
    await assert_names_are_found(way, store, hybrid_search_config=config())


async def test_qdrant(way: Invoke, words: WordEmbeddings) -> None:
    from langchain_qdrant import RetrievalMode
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector
    from qdrant_client.models import Fusion, FusionQuery

    class WordCounts(SparseEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[SparseVector]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> SparseVector:
            counts = Counter(zlib.crc32(word.encode()) for word in re.findall(r"[A-Z]\w+", text))
            return SparseVector(indices=list(counts), values=[float(count) for count in counts.values()])

    store = makers.qdrant(words, retrieval_mode=RetrievalMode.HYBRID, sparse_embedding=WordCounts())
    await assert_names_are_found(way, store, hybrid_fusion=FusionQuery(fusion=Fusion.DBSF))


async def test_milvus(way: Invoke, words: WordEmbeddings, tmp_path: Path) -> None:
    from langchain_milvus import BM25BuiltInFunction
    from pymilvus import Function, FunctionType

    store = makers.milvus(
        words,
        tmp_path,
        builtin_function=BM25BuiltInFunction(),
        vector_field=["dense", "sparse"],
        index_params=[
            {"index_type": "FLAT", "metric_type": "COSINE"},
            {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25"},
        ],
        # What langchain-milvus searches with else is more than Milvus Lite can.
        search_params=[{"metric_type": "COSINE"}, {"metric_type": "BM25"}],
    )
    ranker = Function(
        name="weighted",
        input_field_names=[],
        function_type=FunctionType.RERANK,
        params={"reranker": "weighted", "weights": [0.5, 0.5]},
    )
    await assert_names_are_found(way, store, reranker=ranker)
