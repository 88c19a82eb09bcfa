"""Embeddings whose geometry can be checked by hand, and other small helpers."""

import re
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

VOCABULARY = ("refund", "annual", "monthly", "invoice", "seat", "card", "trial", "backup", "replica", "page")


class WordEmbeddings(Embeddings):
    """One dimension for each word of `VOCABULARY`, and one that every text has 0.1 of.

    So the cosine of "refund" and "refund" is 1, of "refund" and "refund annual" about 0.71, and of
    "refund" and "card" about 0.01. All texts and calls are counted. It names its model, so a store that is opened again
    embeds nothing to recognize it.
    """

    def __init__(self) -> None:
        self.model = "words"
        self.embedded: list[str] = []
        self.calls = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        self.embedded += texts
        return [self.vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.vector(text)

    def vector(self, text: str) -> list[float]:
        found = re.findall(r"[a-z]+", text.lower())
        return [*(float(found.count(word)) for word in VOCABULARY), 0.1]


def document(text: str, doc_id: str = "a", **metadata: object) -> Document:
    return Document(page_content=text, metadata={"doc_id": doc_id, **metadata})


def nested_list(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


PLAIN: dict[str, Any] = {"lexical_weight": 0, "neighbor_weights": (1,)}
"""Settings of a retriever that searches by the cosines of single sentences."""

BY_COSINE: dict[str, Any] = {**PLAIN, "ranking": None}
"""The same without reordering, so that scores are cosines, which can be worked out by hand."""
