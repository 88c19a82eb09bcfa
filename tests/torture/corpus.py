"""Documents for torture: each sentence describes itself, and its vector follows from its text."""

import hashlib
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import FaissStore
from langchain_sentence_window.documents.keys import sentence_id

Vectors = npt.NDArray[np.float32]

DIMENSION = 32
SENTENCES = 8
"""The number of sentences in each document."""

TOLERANCE = 3e-3
"""How far half precision may move a cosine."""


class TextEmbeddings(Embeddings):
    """Embeds each text as a random direction, always the same."""

    def __init__(self, size: int = DIMENSION) -> None:
        self.size, self.model = size, "random directions"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vector(text).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return list(map(float, self.vector(text)))

    def vector(self, text: str) -> Vectors:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        vector = np.random.default_rng(seed).standard_normal(self.size, dtype=np.float32)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def text_of(number: int, index: int, version: int) -> str:
    """Return a sentence that names its numbers."""
    return f"Sentence s{index} of document d{number} in version v{version}."


def document(number: int, version: int, sentences: int = SENTENCES) -> list[Document]:
    """Return one version of a source document, as its sentences."""
    doc_id, texts = f"document {number}", [text_of(number, index, version) for index in range(sentences)]
    ends = list(accumulate(len(text) + 1 for text in texts))
    return [
        Document(
            id=sentence_id(doc_id, index),
            page_content=text,
            metadata={
                "doc_id": doc_id,
                "sentence_index": index,
                "start_index": end - 1 - len(text),
                "end_index": end - 1,
                "section_start": 0,
                "section_end": sentences,
                "separator": " ",
                "number": number,
                "version": version,
            },
        )
        for index, (text, end) in enumerate(zip(texts, ends, strict=True))
    ]


def contents(store: FaissStore) -> dict[int, set[int]]:
    """Return the versions of each document in a store, and check that each is complete."""
    found: dict[int, dict[int, int]] = {}
    for text, metadata in everything(store):
        number, version = metadata["number"], metadata["version"]
        assert text == text_of(number, metadata["sentence_index"], version), text
        versions = found.setdefault(number, {})
        versions[version] = versions.get(version, 0) + 1
    for number, versions in found.items():
        assert list(versions.values()) == [SENTENCES], f"document {number} is not complete: {versions}"
    return {number: set(versions) for number, versions in found.items()}


def everything(store: FaissStore) -> list[tuple[str, dict[str, Any]]]:
    """Return all texts with their metadata, through a search that finds everything."""
    size = len(store)
    if not size:
        return []
    found = store.similarity_search("anything", k=size)
    assert len(found) == size
    return [(each.page_content, each.metadata) for each in found]


def check_against_brute_force(store: FaissStore, embedding: TextEmbeddings, queries: int = 3) -> None:
    """Check searches, with and without a filter, against a comparison with every text."""
    held = everything(store)
    if not held:
        return
    vectors = searched_vectors(held, embedding, store.stats().neighbor_weights)
    texts = sorted(vectors)
    for number in range(queries):
        query = f"query {number}"
        scores = np.array([vectors[text] for text in texts]) @ embedding.vector(query)
        best = np.sort(scores)[::-1][:5]
        found = store.similarity_search_with_score(query, k=5)
        assert len(found) == min(5, len(texts))
        assert np.allclose([score for _, score in found], best, atol=TOLERANCE), (found, best)
        for each, score in found:
            assert abs(float(vectors[each.page_content] @ embedding.vector(query)) - score) < TOLERANCE, each
    text = texts[len(texts) // 2]
    words = store.lexical_search(text, k=len(texts))
    assert len(words) == len(texts)
    assert words[0][0].page_content == text, (text, words[:2])
    number = int(text.split()[4][1:])
    filtered = store.lexical_search(text, k=99, filter={"number": number})
    assert {each.metadata["number"] for each, _ in filtered} == {number}
    assert len(filtered) == len(store.similarity_search(text, k=99, filter={"number": number})) == SENTENCES


def searched_vectors(
    held: list[tuple[str, dict[str, Any]]], embedding: TextEmbeddings, weights: Sequence[float]
) -> dict[str, Vectors]:
    """Compute the vector that each text is searched by, mixed with its neighbors', one by one."""
    alone = {(metadata["doc_id"], metadata["sentence_index"]): embedding.vector(text) for text, metadata in held}
    mixed = dict[str, Vectors]()
    for text, metadata in held:
        around = range(-len(weights) + 1, len(weights))
        places = [(weights[abs(by)], (metadata["doc_id"], metadata["sentence_index"] + by)) for by in around]
        vector = np.sum([weight * alone[place] for weight, place in places if place in alone], axis=0)
        mixed[text] = vector / np.linalg.norm(vector)
    return mixed


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
