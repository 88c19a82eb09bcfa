"""A corpus made by chance: sentences with vectors of 384 numbers, the same each time."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window.documents.keys import sentence_id

Vectors = npt.NDArray[np.float32]

DIMENSION = 384
PER_DOCUMENT = 20
BATCH_SIZE = 50_000
"""Sentences in one call."""
QUERIES = 40


class Corpus:
    """Sentences in documents of 20, with vectors that are alike within a document."""

    def __init__(self, sentences: int, seed: int = 1) -> None:
        chance = np.random.default_rng(seed)
        self.count = sentences
        self.texts = texts_of(sentences, chance)
        centers = unit(chance.standard_normal((sentences // PER_DOCUMENT + 1, DIMENSION), dtype=np.float32))
        self.vectors = np.empty((sentences, DIMENSION), dtype=np.float32)
        for start in range(0, sentences, BATCH_SIZE):
            end = min(start + BATCH_SIZE, sentences)
            noise = unit(chance.standard_normal((end - start, DIMENSION), dtype=np.float32))
            self.vectors[start:end] = unit(centers[np.arange(start, end) // PER_DOCUMENT] + noise)
        at = chance.integers(0, sentences, QUERIES)
        noise = unit(chance.standard_normal((QUERIES, DIMENSION), dtype=np.float32))
        self.queries = unit(self.vectors[at] + 0.5 * noise)
        self.questions = [" ".join(self.texts[i].split()[:12]) for i in at]

    def documents(self, start: int, end: int) -> list[Document]:
        return [
            Document(
                id=sentence_id(str(i // PER_DOCUMENT), i % PER_DOCUMENT),
                page_content=self.texts[i],
                metadata={
                    "source": f"folder/{i // PER_DOCUMENT}.md",
                    "doc_id": str(i // PER_DOCUMENT),
                    "sentence_index": i % PER_DOCUMENT,
                    "start_index": i % PER_DOCUMENT * 133,
                    "end_index": i % PER_DOCUMENT * 133 + len(self.texts[i]),
                    "section_start": 0,
                    "section_end": PER_DOCUMENT,
                },
            )
            for i in range(start, end)
        ]

    def slices(self) -> Iterator[tuple[list[Document], Vectors]]:
        for start in range(0, self.count, BATCH_SIZE):
            end = min(start + BATCH_SIZE, self.count)
            yield self.documents(start, end), self.vectors[start:end]


class KnownEmbeddings(Embeddings):
    """Looks vectors up, so that embedding costs next to nothing."""

    def __init__(self, vectors: dict[str, list[float]] | None = None) -> None:
        self.cached = vectors or {}
        # By its name a store knows the embedder in the next process, which has no vectors of texts to compare.
        self.model = "known vectors"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.cached[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0] * DIMENSION


def texts_of(count: int, chance: np.random.Generator) -> list[str]:
    """Sentences of about 132 characters, their words as often as in a language: the n-th 1/n times."""
    return sentences_of(words_of(chance), count, chance)


def words_of(chance: np.random.Generator) -> list[str]:
    """30,000 words, frequent ones short."""
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    lengths = np.clip(chance.normal(3 + np.log10(np.arange(30_000) + 1), 1.3), 1, 14).round().astype(int)
    return ["".join(chance.choice(letters, length)) for length in lengths]


def sentences_of(words: list[str], count: int, chance: np.random.Generator) -> list[str]:
    """Sentences of 23 words each, the n-th word 1/n times as often."""
    odds = 1 / (np.arange(len(words)) + 2.7)
    drawn = chance.choice(len(words), (count, 23), p=odds / odds.sum())
    return [f"{' '.join([words[i] for i in row])}." for row in drawn.tolist()]


def unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
