"""Embedders of any kind: what they return, how many texts they take, and what isn't an embedder."""

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import OpenAIEmbeddings
from openai import APIStatusError, BadRequestError
from pydantic import SecretStr

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.forms import Invoke
from tests.loopback import Answer, loopback
from tests.toys import WordEmbeddings


class Returning(Embeddings):
    """Returns a value for any texts, and its first row for any query."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def embed_documents(self, texts: list[str]) -> Any:
        return self.make()

    def embed_query(self, text: str) -> Any:
        return next(iter(self.make()))


def cosines(make: Callable[[], Any]) -> list[float]:
    """Return the scores of two texts for the query, whose vector is that of the first."""
    store = FaissStore.from_texts(["one", "two"], Returning(make), neighbor_weights=(1,))
    scores = {each.page_content: score for each, score in store.similarity_search_with_score("x", k=2)}
    return [scores["one"], scores["two"]]


ROWS = [[1.0, 2.0], [4.0, 3.0]]
COSINES = pytest.approx([1, 10 / (5 * math.sqrt(5))], abs=1e-3)
KINDS: dict[str, Callable[[], Any]] = {
    "tuples": lambda: tuple(map(tuple, ROWS)),
    "deque": lambda: deque(ROWS),
    "integers": lambda: [[1, 2], [4, 3]],
    "numpy numbers": lambda: [[np.float32(number) for number in row] for row in ROWS],
    **{kind: partial(np.array, ROWS, dtype=kind) for kind in ("float16", "float64", "longdouble", "int8", ">f4")},
    "fortran": lambda: np.asfortranarray(np.array(ROWS, dtype=np.float32)),
    "mixed": lambda: [np.array(ROWS[0], dtype=np.float16), ROWS[1]],
}


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_of_every_kind_are_read(kind: str) -> None:
    assert cosines(KINDS[kind]) == COSINES


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-42, 1e-20, 1e20, 1e38, 1e200, 1e307])
def test_vectors_of_any_length_are_scaled_to_length_1(scale: float) -> None:
    error = 0.2 if scale < 1e-318 else 1e-3  # such small numbers have few digits
    assert cosines(lambda: [[3 * scale, -4 * scale], [scale, 0.0]]) == pytest.approx([1, 0.6], abs=error)


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=6),
    st.integers(-1_000, 1_000),
    st.sampled_from([np.float32, np.float64]),
)
def test_a_vector_has_cosine_1_with_itself_at_any_scale(numbers: list[float], power: int, kind: Any) -> None:
    with np.errstate(all="ignore"):
        vector = np.ldexp(np.array(numbers, dtype=kind), power)
    if np.isfinite(vector).all():
        assert cosines(lambda: [vector, vector])[0] == pytest.approx(1 if vector.any() else 0, abs=1e-3)


INVALID: dict[str, Any] = {
    "vector 0 of 2, of the text 'one', holds NaN or infinity at position 1": [[1.0, math.nan], [1.0, 2.0]],
    "vector 1 of 2, of the text 'two', holds NaN or infinity at position 0": [[1.0, 2.0], [-math.inf, 2.0]],
    r"each of 2 texts, all of one length, and got \[\[1.0, 2.0\], \[1.0\]\]": [[1.0, 2.0], [1.0]],
    "got .*more than 30 digits": [[1.0, 2.0], [10**400, 2.0]],
    "got .*'1', '2'": [[1.0, 2.0], ["1", "2"]],
    "got .*, None": [[1.0, 2.0], None],
    "got .*a complex": [[1.0, 2.0], [1.0, 2j]],
    "got .*True, False": [[True, False]] * 2,
    r"got numbers of shape \(1, 2\)": [[1.0, 2.0]],
    r"got numbers of shape \(3, 2\)": [[1.0, 2.0]] * 3,
    r"got numbers of shape \(2, 0\)": [[], []],
    r"got numbers of shape \(2, 2, 1\)": [[[1.0], [2.0]], [[1.0], [2.0]]],
    "got None": None,
    "got {'data': …}": {"data": [[1.0, 2.0]] * 2},
    "got a ndarray": np.array([["a", "b"]] * 2),
}


@pytest.mark.parametrize("message", INVALID)
async def test_invalid_vectors_are_refused_and_nothing_is_stored(message: str, way: Invoke) -> None:
    embedding = Returning(lambda: INVALID[message])
    store = FaissStore(embedding)
    for target, method in ((store, "add_texts"), (NeighborMixedEmbeddings(embedding), "embed_documents")):
        with pytest.raises(EmbeddingError, match=message):
            await way(target, method, ["one", "two"])
    assert len(store) == 0


@pytest.mark.parametrize("vector", [None, [], [1.0, math.nan], [[1.0, 2.0]], "12"])
async def test_an_invalid_vector_of_a_query_is_refused(vector: Any, way: Invoke) -> None:
    class OfQueries(WordEmbeddings):
        def embed_query(self, text: str) -> Any:
            return vector

    store = FaissStore.from_texts(["refund"], OfQueries())
    with pytest.raises(EmbeddingError):
        await way(store, "similarity_search", "card")
    with pytest.raises(EmbeddingError):
        await way(store, "similarity_search_by_vector", vector)


async def test_lists_that_an_embedder_reuses_are_copied(way: Invoke) -> None:
    class Reusing(WordEmbeddings):
        row = np.zeros(11, dtype=np.float32)

        def embed_documents(self, texts: list[str]) -> Any:
            self.rows = [self.vector(text) for text in texts]
            texts.clear()
            return self.rows

        def embed_query(self, text: str) -> Any:
            self.row[:] = self.vector(text)
            return self.row

    embedding = Reusing()
    store = FaissStore(embedding)
    await way(store, "add_documents", [Document(page_content=text, id=text) for text in ("refund", "card")])
    for row in embedding.rows:
        row[:] = [0.0] * 11
    for text in ("refund", "card", "refund"):
        ((hit, score),) = await way(store, "similarity_search_with_score", text, k=1)
        assert (hit.id, score) == (text, pytest.approx(1, abs=1e-3))


async def test_the_last_thousand_queries_are_cached_unless_they_failed_or_are_long(way: Invoke) -> None:
    class Counting(WordEmbeddings):
        asked: list[str]

        def embed_query(self, text: str) -> list[float]:
            self.asked.append(text)
            if text == "fails":
                raise ConnectionError("the provider hung up")
            return super().embed_query(text)

    embedding = Counting()
    embedding.asked = []
    store = FaissStore.from_texts(["refund"], embedding)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await way(store, "similarity_search", "fails")
        for text in ("refund", "x" * 2_001, "lone \ud800"):
            await way(store, "similarity_search", text)
    assert sorted(map(len, embedding.asked)) == [5, 5, 6, 6, 2_001, 2_001]
    for number in range(1_000):
        store.similarity_search(f"query {number}")
    await way(store, "similarity_search", "query 1")
    await way(store, "similarity_search", "refund")
    assert embedding.asked[-2:] == ["query 999", "refund"]


# How many texts an embedder takes


def client(url: str) -> Embeddings:
    settings: dict[str, Any] = {"model": "m", "max_retries": 0, "check_embedding_ctx_length": False}
    return OpenAIEmbeddings(base_url=f"{url}/v1", api_key=SecretStr("none"), **settings)


def service(most: int, status: int) -> Any:
    """Serve OpenAI's API, and reject more than some texts, or "rejected", with a status."""

    def answer(_: str, body: dict[str, Any]) -> Answer:
        if len(body["input"]) > most or "rejected" in body["input"]:
            return Answer({"error": {"message": f"batch size {len(body['input'])} is above {most}"}}, status=status)
        rows = [{"index": at, "embedding": [1.0, len(text)]} for at, text in enumerate(body["input"])]
        return Answer({"object": "list", "data": rows, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}})

    return loopback(answer)


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_batch_that_a_service_rejects_is_halved(status: int, way: Invoke) -> None:
    with service(10, status) as server:
        store = FaissStore(client(server.url))
        await way(store, "add_texts", [f"text {number}" for number in range(300)])
    sizes = [len(body["input"]) for _, body in server.requests]
    assert sizes[:6] == [256, 128, 64, 32, 16, 8]
    assert max(sizes[5:]) == 8  # the size is kept for the rest of the call
    embedded = [text for _, body in server.requests if len(body["input"]) <= 10 for text in body["input"]]
    assert len(embedded) == len(set(embedded)) == len(store) == 300


async def test_a_single_text_that_a_service_rejects_ends_the_call(way: Invoke) -> None:
    with service(1_000, 400) as server:
        with pytest.raises(BadRequestError, match="batch size 1 is above"):
            await way(FaissStore(client(server.url)), "add_texts", [*(f"text {i}" for i in range(99)), "rejected"])
        assert [len(body["input"]) for _, body in server.requests if "rejected" in body["input"]] == [100, 50, 25, 1]


@pytest.mark.parametrize("status", [401, 408, 429, 500])
async def test_another_error_of_a_service_is_raised_at_once(status: int, way: Invoke) -> None:
    with service(10, status) as server:
        with pytest.raises(APIStatusError):
            await way(FaissStore(client(server.url)), "add_texts", [f"text {i}" for i in range(99)])
        assert len(server.requests) == 1


class Rejecting(WordEmbeddings):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.sizes = list[int]()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.sizes.append(len(texts))
        if len(texts) > 32:
            raise self.error
        return super().embed_documents(texts)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def http_error(status: int) -> Exception:
    response = requests.Response()
    response.status_code = status
    return requests.HTTPError(response=response)


REQUEST = httpx.Request("POST", "http://localhost/embed")


@pytest.mark.parametrize(
    ("error", "is_rejection"),
    [
        (ValueError("batch size is invalid, it should not be larger than 32"), True),
        (RuntimeError("too many inputs"), True),
        (httpx.HTTPStatusError("413", request=REQUEST, response=httpx.Response(413, request=REQUEST)), True),
        (caused(Exception("the service failed"), http_error(400)), True),
        (TypeError("a fault of the program"), False),
        (httpx.ConnectError("refused"), False),
        (caused(RuntimeError("the service failed"), TimeoutError()), False),
        (caused(ValueError("wrong"), http_error(401)), False),
        (ValueError("Error raised by inference API HTTP code: 429, slow down"), False),
        (RuntimeError("Invalid API key"), False),
        (EmbeddingError("no vectors"), False),
    ],
)
async def test_batches_are_halved_if_the_error_may_be_a_rejection(
    error: Exception, is_rejection: bool, way: Invoke
) -> None:
    embedding = Rejecting(error)
    store, texts = FaissStore(embedding), [f"text {number}" for number in range(60)]
    if is_rejection:
        await way(store, "add_texts", texts)
    else:
        with pytest.raises(type(error)) as raised:
            await way(store, "add_texts", texts)
        assert raised.value is error
    assert embedding.sizes == ([60, 30, 30] if is_rejection else [60])


async def test_texts_for_other_stores_are_embedded_in_halved_batches_too(way: Invoke) -> None:
    embedding = Rejecting(ValueError("too many"))
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(NeighborMixedEmbeddings(embedding)))
    text = " ".join(f"Card {'x' * number} has sides." for number in range(1, 61))
    await way(retriever, "add_documents", [Document(text, id="a")])
    assert embedding.sizes == [60, 30, 30]


# What is an embedder


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("text-embedding-3-large", r"'text-embedding-3-large'; .*init_embeddings\('openai:text-embedding-3-small'\)"),
        ("sk-proj-abcdefghij0123456789abcdef", r"a string that looks like a key; pass an embedder"),
        (WordEmbeddings, r"the class WordEmbeddings; pass an instance: WordEmbeddings\(\.\.\.\)"),
        (SimpleNamespace(embed_documents=len), "a SimpleNamespace; .* with embed_documents and embed_query"),
    ],
)
def test_other_values_are_refused_with_the_cure(value: Any, message: str) -> None:
    for make in (FaissStore, NeighborMixedEmbeddings):
        with pytest.raises(InvalidInputError, match=message):
            make(value)


class Delegating:
    """Has the methods of an embedder, but isn't an ``Embeddings``."""

    def __getattr__(self, name: str) -> Any:
        return getattr(WordEmbeddings(), name)


async def test_any_object_with_the_methods_is_an_embedder(way: Invoke) -> None:
    embedding: Any = Delegating()
    for store in (FaissStore(embedding), InMemoryVectorStore(NeighborMixedEmbeddings(embedding))):
        retriever = SentenceWindowRetriever(vectorstore=store)
        await way(retriever, "add_documents", [Document(page_content="A refund. The card.", id="a")])
        (hit, *_) = await way(store, "similarity_search", "refund", k=1)
        assert hit.page_content == "A refund."


@pytest.mark.parametrize("weights", [(), 3, "123", (0, 1), (1, -1), (1, "2"), (True,), (1, math.nan), (10**400,)])
def test_invalid_weights_of_neighbors_are_refused(weights: Any) -> None:
    for make in (FaissStore, NeighborMixedEmbeddings):
        with pytest.raises(InvalidInputError, match="neighbor_weights is .*it must be numbers of 0 or more"):
            make(DeterministicFakeEmbedding(size=4), neighbor_weights=weights)
