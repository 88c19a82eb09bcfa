"""Sentences with made-up vectors, and questions about them, for stores that other programs serve.

Documents lie around subjects, and sentences around their document, in a space of 48 dimensions that is turned into
384, as the vectors of real sentences lie near few dimensions.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from benchmarks.stores import SENTENCES_OF_A_DOCUMENT, corpus
from langchain_sentence_window import SentenceSplitter

DIMENSION = 384
INNER_DIMENSION = 48
DOCUMENTS_OF_A_SUBJECT = 10
"""The same at each size, so that a search has as much to tell apart in a small collection as in a large one."""
DOCUMENTS_AT_ONCE = 250

Vectors = npt.NDArray[np.float32]


class Space:
    """Synthetic vectors: those of a document's sentences, and of questions about them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._turn = rng.standard_normal((INNER_DIMENSION, DIMENSION), dtype=np.float32)

    def sentences(self, document: int) -> Vectors:
        rng = np.random.default_rng(document)
        subject = np.random.default_rng(2 * 10**9 + document // DOCUMENTS_OF_A_SUBJECT)
        about = subject.standard_normal(INNER_DIMENSION, dtype=np.float32)
        about += 0.7 * rng.standard_normal(INNER_DIMENSION, dtype=np.float32)
        return self._vectors(rng, about, SENTENCES_OF_A_DOCUMENT)

    def question(self, number: int, documents: int) -> Vectors:
        """A question about a document: as near to its sentences as they are to each other."""
        rng = np.random.default_rng(10**9 + number)
        near = int(rng.integers(documents)), int(rng.integers(SENTENCES_OF_A_DOCUMENT))
        about = self.sentences(near[0])[near[1]] + 0.05 * rng.standard_normal(DIMENSION, dtype=np.float32)
        found: Vectors = about / np.linalg.norm(about)
        return found

    def _vectors(self, rng: np.random.Generator, about: Vectors, count: int) -> Vectors:
        inner = about + 0.7 * rng.standard_normal((count, INNER_DIMENSION), dtype=np.float32)
        turned = inner @ self._turn
        vectors: Vectors = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        return vectors


class Questions(Embeddings):
    """Knows the vectors of questions, and gives any text a vector of zeros but one."""

    def __init__(self, known: dict[str, list[float]]) -> None:
        self._known = known

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._known.get(text) or [1.0, *([0.0] * (DIMENSION - 1))]


def rows(space: Space, sentences: int) -> Iterator[tuple[list[Document], Vectors]]:
    """Sentences of whole documents with their vectors, some thousands at once."""
    splitter = SentenceSplitter()
    documents, vectors = list[Document](), list[Vectors]()
    for number, source in enumerate(corpus(sentences)):
        documents += splitter.split_documents([source])
        vectors.append(space.sentences(number))
        if len(vectors) == DOCUMENTS_AT_ONCE:
            yield documents, np.concatenate(vectors)
            documents, vectors = [], []
    if vectors:
        yield documents, np.concatenate(vectors)
