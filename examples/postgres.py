"""Sentence windows from PostgreSQL with pgvector: for many machines, tenants and writers.

    python examples/postgres.py postgresql+asyncpg://user:password@host/database

It makes the table ``sentences``, fills it with the example documents for two tenants, and asks each tenant's
question. What a `FaissStore` holds isn't embedded again. It needs langchain-postgres.
"""

import asyncio
import sys

from langchain_postgres import Column, PGEngine, PGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion
from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions
from shared import DOCUMENTS, load_embeddings, read_documents

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, copy_index
from langchain_sentence_window.stores import NeighborMixedEmbeddings

QUESTIONS = {
    "desk": "Until when can a customer on an annual plan ask for a refund?",
    "operations": "What are cold tables recovered to?",
}


def open_store(engine: PGEngine, embedding: NeighborMixedEmbeddings) -> PGVectorStore:
    """Make the table and its index, and open it."""
    tenant = Column("tenant", "TEXT")  # what queries filter by
    engine.init_vectorstore_table("sentences", 384, metadata_columns=[tenant], overwrite_existing=True)
    query = HNSWQueryOptions(ef_search=200)  # no more rows are found, so set it above the retriever's fetch_k
    settings = {"index_query_options": query, "metadata_columns": ["tenant"]}
    store = PGVectorStore.create_sync(engine, embedding, "sentences", **settings)
    store.apply_vector_index(HNSWIndex())
    return store


def main(url: str) -> None:
    """Copy an index of one machine to PostgreSQL, and ask there."""
    documents = read_documents(DOCUMENTS)
    for document, tenant in zip(documents, QUESTIONS, strict=True):
        document.metadata["tenant"] = tenant
    embedding = load_embeddings()
    local = FaissStore(embedding)
    SentenceWindowRetriever(vectorstore=local).add_documents(documents)

    engine = PGEngine.from_connection_string(url)
    store = open_store(engine, NeighborMixedEmbeddings(embedding))
    print(f"Copied {copy_index(local, store)} sentences.")
    hybrid = HybridSearchConfig(fusion_function=reciprocal_rank_fusion, primary_top_k=50, secondary_top_k=50)
    retriever = SentenceWindowRetriever(vectorstore=store, k=2, search_kwargs={"hybrid_search_config": hybrid})
    for tenant, question in QUESTIONS.items():
        print(f"\n{tenant}: {question}")
        for window in retriever.invoke(question, filter={"tenant": tenant}):
            where = "{source}:{start_index}-{end_index}".format_map(window.metadata)
            print(f"{where}\n    {window.page_content}")
    asyncio.run(engine.close())


if __name__ == "__main__":
    main(sys.argv[1])
