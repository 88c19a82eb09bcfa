"""Small pages for tests, without a model."""

from typing import Any

from starlette.testclient import TestClient

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.studio import create_studio
from tests.toys import BY_COSINE, WordEmbeddings, document

ADDRESS = "http://127.0.0.1:8321"
TERMS = "A refund is quick. It takes days.\n\n# Cards\n\nA card has a limit. Each seat has a card."


def small_retriever(**settings: Any) -> SentenceWindowRetriever:
    given = [document(TERMS, "terms", source="terms.md"), document("A seat is free. Für alle.", "other")]
    return SentenceWindowRetriever.from_documents(given, WordEmbeddings(), **{**BY_COSINE, **settings})


def client_of(retriever: SentenceWindowRetriever, *, address: str = ADDRESS, **settings: Any) -> TestClient:
    """Return a client that follows no redirect and keeps no cookie by itself."""
    return TestClient(create_studio(retriever, **settings), base_url=address, follow_redirects=False)
