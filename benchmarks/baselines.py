"""Baselines for sentence windows: fixed chunks with BM25, and plain windows."""

import re
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import PrivateAttr

from langchain_sentence_window import SentenceSplitter

Floats = npt.NDArray[np.floating]

RETURNED = 40
"""Windows or chunks returned, enough for the largest budget."""
LEXICAL_WEIGHT = 0.3
"""What BM25 adds to the dense score, both as z-scores."""


class HybridChunks(BaseRetriever):
    """Chunks ranked by the sum of z-scored cosine and BM25."""

    k: int = RETURNED
    lexical_weight: float = LEXICAL_WEIGHT
    _chunks: list[Document] = PrivateAttr()
    _embedding: Embeddings = PrivateAttr()
    _vectors: Floats = PrivateAttr()
    _bm25: bm25s.BM25 = PrivateAttr()

    def __init__(self, chunks: list[Document], embedding: Embeddings, **settings: Any) -> None:
        """Index chunks in memory."""
        super().__init__(**settings)
        self._chunks, self._embedding = chunks, embedding
        self._vectors = np.array(embedding.embed_documents([chunk.page_content for chunk in chunks]))
        self._bm25 = bm25s.BM25()
        self._bm25.index([words(chunk.page_content) for chunk in chunks], show_progress=False)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        dense = self._vectors @ np.array(self._embedding.embed_query(query))
        scores = z_scores(dense) + self.lexical_weight * z_scores(self._bm25.get_scores(words(query)))
        return [self._chunks[i] for i in np.argsort(-scores)[: self.k]]


class PlainWindows(BaseRetriever):
    """Each hit's own window, as LlamaIndex's sentence windows are returned: neither merged nor cut at headings."""

    store: InMemoryVectorStore

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.store.similarity_search(query, k=RETURNED)
        return [Document(page_content=hit.metadata["window"], metadata=hit.metadata) for hit in hits]


def plain_windows(documents: list[Document], size: int) -> list[Document]:
    """Make a Document of each sentence, with the window around it in its metadata."""
    made: list[Document] = []
    for document in documents:
        text = document.page_content
        spans = SentenceSplitter().spans(text)
        for i, (start, end) in enumerate(spans):
            first, last = spans[max(0, i - size)][0], spans[min(len(spans) - 1, i + size)][1]
            place = {**document.metadata, "start_index": first, "window": text[first:last]}
            made.append(Document(page_content=text[start:end], metadata=place))
    return made


class CachedEmbeddings(Embeddings):
    """Embeds no text twice, as several of the retrievers embed the same sentences and questions."""

    def __init__(self, embedding: Embeddings) -> None:
        """Wrap an embedder."""
        self.embedding = embedding
        self.known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed those that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, self.embedding.embed_documents(new), strict=True))
        return [self.known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a question; the model makes no difference between questions and documents."""
        return self.embed_documents([text])[0]


def words(text: str) -> list[str]:
    """The words that BM25 counts; an empty one where there are none, as it refuses no words at all."""
    return re.findall(r"\w+", text.lower()) or [""]


def z_scores(scores: Floats) -> Floats:
    """Scores with a mean of 0 and a standard deviation of 1."""
    scaled: Floats = (scores - scores.mean()) / (scores.std() + 1e-9)
    return scaled
