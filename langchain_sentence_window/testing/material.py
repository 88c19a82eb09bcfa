"""An embedder and documents for the suite; what a store can do, found out by doing it; and a count of its calls."""

import re
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import ASYNC, BLOCKING, IN_STEPS, run
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

T = TypeVar("T")

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


class Client:
    """A stand-in for the client of a model's service. It counts the texts, as no vector depends on a client."""

    is_down = False
    embedded = 0


class WordVectors(Embeddings):
    """An embedder of texts by their words: texts that share words are similar. It counts the texts that it embeds.

    Attributes:
        client: Set ``client.is_down`` to make the embedder fail.
    """

    def __init__(self) -> None:
        """Begin to count."""
        self.model = "word vectors"  # so it is recognized by its name, and no text is embedded to compare it
        self.client = Client()

    @property
    def embedded(self) -> int:
        """The number of texts embedded so far."""
        return self.client.embedded

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts.

        Raises:
            ConnectionError: The client is down.
        """
        if self.client.is_down:
            raise ConnectionError("the embedder is down")
        self.client.embedded += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a text into a vector of length 1."""
        # A little of a direction of the whole text makes any two texts differ.
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
            lines += [f"# Part {section} of {number}"]
            picked = [" and ".join(choose.choice(fruit, 2, replace=False)) for _ in range(5)]
            lines += [
                " ".join([*(f"A {pair} for {number} in {place}." for place, pair in enumerate(picked)), "So be it."])
            ]
        yield source(f"s{number}", "\n\n".join(lines))


def _direction(word: str) -> Any:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIMENSION)


_KINDS = {"lists": ["a", "b"], "dicts": {"a": {"b": [1]}}, "null": None, "large numbers": 2**70}


@dataclass(frozen=True, slots=True)
class StoreAbilities:
    """The abilities of a vector store.

    Attributes:
        filters: Whether a search can be limited by metadata.
        fetches: Whether documents are fetched by id.
        fetches_within: Whether a filter holds for what is fetched by id, too.
        lists: Whether its documents can be listed.
        searches_words: Whether it searches by words through its adapter.
        in_one_transaction: Whether a document is replaced in one transaction.
        metadata: Kinds of values that it holds beside strings, numbers and booleans, joined by commas.
    """

    filters: bool
    fetches: bool
    fetches_within: bool
    lists: bool
    searches_words: bool
    in_one_transaction: bool
    metadata: str

    def to_dict(self) -> dict[str, bool | str]:
        """Return all attributes by their names."""
        return asdict(self)


def find_abilities(retriever: SentenceWindowRetriever, tenant_filter: Any) -> StoreAbilities:
    """Find out what the store of a retriever can do; two documents are left in it.

    Args:
        retriever: A retriever over an empty store.
        tenant_filter: A filter for documents of the tenant ``acme``; ``None`` if the store has no filters.
    """
    retriever.add_documents([source("mine", "One kiwi. Two kiwi.", "acme"), source("theirs", "One fig.", "umbra")])
    adapter = retriever.scope().adapter
    ids = [sentence_id("mine", 0), sentence_id("theirs", 0)]
    has_filters = tenant_filter is not None
    within = _unless_refused(adapter.fetch(BLOCKING, ids, adapter.join([tenant_filter]))) if has_filters else None
    listed = _unless_refused(adapter.list_documents(BLOCKING))
    return StoreAbilities(
        filters=has_filters,
        fetches=run(adapter.fetch(BLOCKING, ids)) is not None,
        fetches_within=[each.page_content for each in within or ()] == ["One kiwi."],
        lists=listed is not None and len(listed) == 2,  # noqa: PLR2004 - as many as were added
        searches_words=run(adapter.lexical_search(BLOCKING, "kiwi", {"k": 1})) is not None,
        in_one_transaction=run(adapter.prepare_replacement(BLOCKING, [], [], None)) is not None,
        metadata=", ".join(kind for kind, value in _KINDS.items() if adapter.holds("key", value)),
    )


def _unless_refused(flow: Coroutine[Any, Any, T]) -> T | None:
    try:
        return run(flow)
    except InvalidInputError:
        return None


_NO_ROUND_TRIPS = {"embed_query"}


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Record all calls of retrievers from now on, except those of embedders and what is computed in a thread."""
    made: list[object] = []

    def noted(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        def calling(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Awaitable[Any]:
            if getattr(function, "__name__", "") not in _NO_ROUND_TRIPS:
                made.append(function)
            return call(function, *arguments, **keywords)

        return calling

    for io in (BLOCKING, ASYNC, IN_STEPS):
        for name in ("call", "in_thread"):
            monkeypatch.setattr(io, name, noted(getattr(io, name)))
    return made
