"""Sentence windows from Qdrant, in a folder here or on a server.

    python examples/qdrant.py FOLDER_OR_URL

It fills the collection ``sentences`` with the example documents, their vectors mixed with their neighbors', keeps an
index of their words beside it, and asks. It needs langchain-qdrant.
"""

import sys

from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, FieldCondition, Filter, MatchValue, VectorParams
from shared import DOCUMENTS, load_embeddings, read_documents

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.stores import BM25Index, NeighborMixedEmbeddings

COLLECTION = "sentences"


def main(address: str) -> None:
    """Fill a collection, and ask it."""
    client = QdrantClient(url=address) if "://" in address else QdrantClient(path=address)
    if not client.collection_exists(COLLECTION):
        client.create_collection(COLLECTION, vectors_config=VectorParams(size=384, distance=Distance.COSINE))
    store = QdrantVectorStore(client, COLLECTION, NeighborMixedEmbeddings(load_embeddings()))

    retriever = SentenceWindowRetriever(vectorstore=store, bm25_index=BM25Index(), k=2)
    retriever.add_documents(read_documents(DOCUMENTS), show_progress=True)  # once more replaces them
    only_billing = Filter(must=[FieldCondition(key="metadata.source", match=MatchValue(value="billing-policy.md"))])
    for window in retriever.invoke("Until when can I ask for a refund of an annual plan?", filter=only_billing):
        where = "{source}:{start_index}-{end_index}".format_map(window.metadata)
        print(f"{where}\n    {window.page_content}")
    client.close()


if __name__ == "__main__":
    main(sys.argv[1])
