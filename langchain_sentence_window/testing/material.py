"""An embedder and documents for the suite."""

import re
import zlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

DIMENSION = 64
"""Numbers of each vector."""

Way = Callable[..., Awaitable[Any]]
"""Calls a method by its name, in its sync or its async form: ``await way(retriever, "invoke", "query")``."""


def either_way(kind: str) -> Way:
    """Return a function that calls methods in their ``sync`` or their ``async`` form."""

    async def call(thing: object, method: str, *arguments: Any, **keywords: Any) -> Any:
        if kind == "sync":
            return getattr(thing, method)(*arguments, **keywords)
        return await getattr(thing, f"a{method}")(*arguments, **keywords)

    return call


class WordVectors(Embeddings):
    """An embedder of texts by their words: texts that share words are similar. It counts the texts that it embeds.

    Attributes:
        embedded: The number of texts embedded so far.
        is_down: Set it to make the embedder fail.
    """

    def __init__(self) -> None:
        """Start to count."""
        self.model = "word vectors"  # compared by its name, so that no text is embedded for a comparison
        self.embedded = 0
        self.is_down = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts.

        Raises:
            ConnectionError: The embedder is down.
        """
        if self.is_down:
            raise ConnectionError("the embedder is down")
        self.embedded += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a text into a vector of length 1."""
        # A small vector of the whole text makes any two texts differ.
        vector = 0.1 * _direction(text) + sum(map(_direction, re.findall(r"\w+", text.lower())), np.zeros(DIMENSION))
        return list((vector / np.linalg.norm(vector)).tolist())


def source(doc_id: str, text: str, tenant: str = "one", **metadata: Any) -> Document:
    """Make a source document."""
    return Document(page_content=text, metadata={"doc_id": doc_id, "tenant": tenant, **metadata})


def stories() -> Iterator[Document]:
    """Yield documents in sections, in which some sentences occur several times."""
    fruit = ["kiwi", "plum", "fig", "date", "lime", "nut", "apple", "pear"]
    choose = np.random.default_rng(7)
    for number in range(12):
        lines: list[str] = []
        for section in range(3):
            lines.append(f"# Part {section} of {number}")
            picked = [" and ".join(choose.choice(fruit, 2, replace=False)) for _ in range(5)]
            sentences = [f"A {pair} for {number} in {place}." for place, pair in enumerate(picked)]
            lines.append(" ".join([*sentences, "So be it."]))
        yield source(f"s{number}", "\n\n".join(lines))


def _direction(word: str) -> Any:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIMENSION)
