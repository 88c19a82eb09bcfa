"""What a question costs on real text, which has headings, lists, tables and documents with names.

Synthetic sentences hid it: on a manual of 4,608 sentences a question once ran ten times the functions that it ran on
as many made-up ones. Vectors are made of hashed words, so that hardly more than the package is measured.
"""

import cProfile
import hashlib
import json
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from benchmarks.corpus import Vectors, unit
from benchmarks.processes import cpu_each, cpu_seconds
from benchmarks.recall import read_corpus
from langchain_sentence_window import FaissStore, SentenceWindowRetriever

DOCS = Path(__file__).parent.parent / "docs"
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "k=4": {"k": 4},
    "max_tokens=800": {"max_tokens": 800},
    "names=False": {"names": False},
}
QUESTIONS = 40
_DIMENSION = 256


class HashedWords(Embeddings):
    """Counts a text's words by the hash of each, and notes the seconds that takes."""

    model = "hashed words"

    def __init__(self) -> None:
        """Begin with no seconds."""
        self.seconds = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts."""
        start = time.thread_time()
        found: list[list[float]] = unit(np.array([self._counts(text) for text in texts])).tolist()
        self.seconds += time.thread_time() - start
        return found

    def embed_query(self, text: str) -> list[float]:
        """Embed a question."""
        return self.embed_documents([text])[0]

    def _counts(self, text: str) -> Vectors:
        hashes = [hashlib.blake2b(word.encode(), digest_size=2).digest() for word in re.findall(r"\w+", text.lower())]
        places = [int.from_bytes(each, "big") % _DIMENSION for each in hashes]
        return np.bincount(places, minlength=_DIMENSION).astype(np.float32) + np.float32(1e-3)


def read_questions(folder: Path) -> list[str]:
    """Read the questions of a collection; of pages without any, the headings that ask."""
    path = folder / "questions.jsonl"
    if path.exists():
        lines = path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line)["question"] for line in lines if line][:QUESTIONS]
    pages = [page.read_text(encoding="utf-8") for page in sorted(folder.rglob("*.md"))]
    return [heading for page in pages for heading in re.findall(r"^#+ (.*\?)$", page, re.MULTILINE)][:QUESTIONS]


def measure_text(folder: Path, place: Path) -> dict[str, tuple[float, str]]:
    """Index a collection, and ask its questions with each setting.

    Args:
        folder: The collection, as `benchmarks.recall` reads it.
        place: Where its index is written.

    Returns:
        Values and units by name: milliseconds are medians of processor time, calls are means of functions of Python
        and C, the embedding of the question included.
    """
    documents, questions = read_corpus(folder), read_questions(folder)
    embedding = HashedWords()
    store = FaissStore(embedding, place / "text")
    retriever = SentenceWindowRetriever(vectorstore=store)
    seconds = cpu_seconds(lambda: retriever.add_documents(documents)) - embedding.seconds
    figures = {
        "sentences": (float(len(store)), ""),
        "ingest, embedding left out": (seconds / len(store) * 1e6, "us a sentence"),
    }
    for name, settings in SETTINGS.items():
        asks = [partial(retriever.invoke, text, **settings) for text in questions]
        figures[f"whole query, {name}"] = (float(np.median(cpu_each(asks))) * 1e3, "ms")
        profile = cProfile.Profile()
        profile.enable()
        for ask in asks:
            ask()
        profile.disable()
        calls = sum(entry.callcount for entry in profile.getstats())
        figures[f"whole query, {name}, functions called"] = (calls / len(asks), "")
    return figures
