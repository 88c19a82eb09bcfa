"""Calling embedders of any kind: what they return, what can't be used, and what isn't an embedder."""

import asyncio
import math
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import numpy as np
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import OpenAIEmbeddings
from openai import APIStatusError, BadRequestError
from pydantic import SecretStr

from langchain_sentence_window import FaissStore, NeighborMixedEmbeddings, SentenceWindowRetriever
from langchain_sentence_window._io import ASYNC, BLOCKING, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding import embedder
from langchain_sentence_window.embedding.embedder import QueryEmbedder, embed_in_slices, unit_vector, unit_vectors
from langchain_sentence_window.embedding.named_embedders import checked_embedding
from langchain_sentence_window.embedding.vectors import NOWHERE, Positions, mix_neighbors, normalized
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError
from tests.conftest import Invoke
from tests.loopback import Answer, Loopback, loopback
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings

# Lengths


@pytest.mark.parametrize(
    "scale", [1e-320, 1e-300, 1e-45, 1e-42, 1e-30, 1e-20, 1e-15, 1, 1e15, 1e20, 1e30, 1e38, 1e200, 1e307]
)
def test_vectors_of_any_length_are_brought_to_length_1(scale: float) -> None:
    given = [[3 * scale, -4 * scale], [scale, 0.0], [0.0, 0.0]]
    expected = [[0.6, -0.8], [1, 0], [0, 0]]
    error = 0.2 if scale < 1e-318 else 1e-6  # numbers as small as that have few digits
    assert unit_vectors(given, 3) == pytest.approx(np.array(expected), abs=error)
    for vector, unit in zip(given, expected, strict=True):
        assert unit_vector(vector) == pytest.approx(np.array(unit), abs=error)
    if 1e-40 < scale < 1e38:
        singles = np.array(given, dtype=np.float32)
        assert normalized(singles) == pytest.approx(np.array(expected), abs=1e-3 if scale < 1e-38 else 1e-6)
        assert (singles == np.array(given, dtype=np.float32)).all()


@given(
    st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=6),
    st.integers(-1_000, 1_000),
    st.sampled_from([np.float32, np.float64]),
)
def test_lengths_are_1_or_0_whatever_the_scale(numbers: list[float], power: int, kind: Any) -> None:
    with np.errstate(all="ignore"):
        vector = np.ldexp(np.array(numbers, dtype=kind), power)
    if np.isfinite(vector).all():
        length = float(np.linalg.norm(unit_vector(vector)))
        assert length == pytest.approx(1 if vector.any() else 0, abs=1e-6)


def test_numbers_of_very_different_size_are_brought_to_length_1_under_any_settings_of_numpy() -> None:
    with np.errstate(all="raise"):
        unit = unit_vectors([[1e300, 1e-300], [1e-300, 5e-324]], 2)
    assert unit == pytest.approx(np.array([[1, 0], [1, 0]]))


def test_a_store_finds_texts_whose_vectors_are_very_long_or_very_short() -> None:
    class Scaled(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            scales = {"refund": 1e20, "annual": 1e-30, "card": 1e300}
            return [[scales[text] * number for number in self.vector(text)] for text in texts]

    store = FaissStore.from_texts(["refund", "annual", "card"], Scaled())
    for text in ("refund", "annual", "card"):
        ((found, score),) = store.similarity_search_with_score(text, k=1)
        assert found.page_content == text
        assert score == pytest.approx(1, abs=2e-3)
        ((found, score),) = store.similarity_search_with_score_by_vector(Scaled().embed_documents([text])[0], k=1)
        assert found.page_content == text
        assert score == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize(
    ("weights", "as_if"),
    [
        ((1e30, 3e29), (1, 0.3)),
        ((1e-30, 3e-31), (1, 0.3)),
        ((1e300, 3e299), (1, 0.3)),
        ((5e-324, 0), (1, 0)),
        ((1e-300, 1), (1e-20, 1)),
        ((10, 3), (1, 0.3)),
    ],
)
def test_only_the_proportions_of_weights_count(weights: tuple[float, ...], as_if: tuple[float, ...]) -> None:
    vectors = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    numbers = np.array([0, 0, 0, NOWHERE, 1])
    places = Positions(numbers, np.zeros(5, dtype=np.int64), np.arange(5))
    mixed = mix_neighbors(vectors, places, weights)
    assert mixed == pytest.approx(mix_neighbors(vectors, places, as_if), abs=1e-6)
    assert np.linalg.norm(mixed, axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    assert mixed[3] == pytest.approx(normalized(vectors)[3], abs=1e-6)


@pytest.mark.parametrize("weights", [(), None, 3, "123", (0, 1), (1, -1), (1, "2"), (True,), (1, math.nan), (10**400,)])
def test_weights_that_cannot_be_used_are_refused(weights: Any) -> None:
    with pytest.raises(InvalidInputError, match="neighbor_weights is .*it must be numbers of 0 or more"):
        NeighborMixedEmbeddings(WordEmbeddings(), weights)


def test_weights_that_are_changed_later_change_nothing() -> None:
    weights: list[Any] = [np.float32(1), 0.5]
    embedding = NeighborMixedEmbeddings(WordEmbeddings(), weights)
    weights[1] = 7
    assert embedding.neighbor_weights == (1.0, 0.5)


# What embedders return


ROWS = [[1.0, 2.0], [4.0, 3.0]]
KINDS: dict[str, Callable[[], Any]] = {
    "lists": lambda: ROWS,
    "tuples": lambda: tuple(map(tuple, ROWS)),
    "deque": lambda: deque(ROWS),
    "integers": lambda: [[1, 2], [4, 3]],
    "numpy numbers": lambda: [[np.float32(number) for number in row] for row in ROWS],
    "float16": lambda: np.array(ROWS, dtype=np.float16),
    "float32": lambda: np.array(ROWS, dtype=np.float32),
    "float64": lambda: np.array(ROWS),
    "longdouble": lambda: np.array(ROWS, dtype=np.longdouble),
    "int8": lambda: np.array(ROWS, dtype=np.int8),
    "uint64": lambda: np.array(ROWS, dtype=np.uint64),
    "other bytes": lambda: np.array(ROWS, dtype=">f4"),
    "fortran": lambda: np.asfortranarray(np.array(ROWS, dtype=np.float32)),
    "list of arrays": lambda: [np.array(row) for row in ROWS],
    "mixed": lambda: [np.array(ROWS[0], dtype=np.float16), ROWS[1]],
}


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_of_every_kind_are_read(kind: str) -> None:
    check_read(KINDS[kind])


@pytest.mark.model
def test_tensors_of_every_kind_are_read() -> None:
    import torch

    check_read(lambda: torch.tensor(ROWS, requires_grad=True))
    for kind in (torch.bfloat16, torch.float16, torch.float64):
        check_read(partial(torch.tensor, ROWS, dtype=kind))
    check_read(lambda: [torch.tensor(row, dtype=torch.bfloat16, requires_grad=True) for row in ROWS])


def check_read(made: Callable[[], Any]) -> None:
    expected = np.array([[1, 2], [4, 3]]) / np.array([[math.sqrt(5)], [5]])
    unit = unit_vectors(made(), 2)
    assert unit.dtype == np.float32
    assert unit == pytest.approx(expected, abs=1e-6)
    assert unit_vector(next(iter(made()))) == pytest.approx(expected[0], abs=1e-6)


def test_half_precision_of_any_size_is_read() -> None:
    largest = np.array([[65504, 65504], [6e-8, 6e-8]], dtype=np.float16)
    assert unit_vectors(largest, 2) == pytest.approx(np.full((2, 2), math.sqrt(0.5)), abs=1e-6)


BAD: list[tuple[Any, str]] = [
    ([[1.0, math.nan], [1.0, 2.0]], "vector 0 of 2, of the text 'one', holds NaN or infinity at position 1"),
    ([[1.0, 2.0], [-math.inf, 2.0]], "vector 1 of 2, of the text 'two', holds NaN or infinity at position 0"),
    ([[1.0, 2.0], [10**400, 2.0]], "got .*more than 30 digits, 2.0"),
    (
        [[1.0, 2.0], [1.0]],
        r"each of 2 texts, all of one length, and got \[\[1.0, 2.0\], \[1.0\]\]",
    ),
    ([[1.0, 2.0], ["1", "2"]], "got .*'1', '2'"),
    ([[1.0, 2.0], "12"], "got .*, '12'"),
    ([[1.0, 2.0], None], "got .*, None"),
    ([[1.0, 2.0], [1.0, None]], "got .*, None"),
    ([[1.0, 2.0], [1.0, 2j]], "got .*, a complex"),
    ([[True, False]] * 2, "got .*True, False"),
    ([[1.0, 2.0], [object(), 1]], "got .*an object, 1"),
    ([[1.0, 2.0], [[1.0], 2.0]], "got .*a list of 1, 2.0"),
    ([[1.0, 2.0], {0: 1.0, 1: 2.0}], "got .*, {0: …, 1: …}"),
    ([[1.0, 2.0], 3.0], "got .*, 3.0"),
    ([1.0, 2.0], r"got numbers of shape \(2,\)"),
    ([[1.0, 2.0]], r"for each of 2 texts, .* and got numbers of shape \(1, 2\)"),
    ([[1.0, 2.0]] * 3, r"got numbers of shape \(3, 2\)"),
    ([], r"got numbers of shape \(0,\)"),
    ([[], []], r"got numbers of shape \(2, 0\)"),
    ([[[1.0], [2.0]], [[1.0], [2.0]]], r"got numbers of shape \(2, 2, 1\)"),
    (([1.0, 2.0] for _ in range(2)), "got a generator"),
    (None, "got None"),
    ("vectors", "got 'vectors'"),
    ({"data": [[1.0, 2.0]] * 2}, "got {'data': …}"),
    (object(), "got an object"),
    (np.zeros((2, 2, 2)), r"got numbers of shape \(2, 2, 2\)"),
    (np.float32(3), r"got numbers of shape \(\)"),
    (np.array([["a", "b"]] * 2), "got a ndarray"),
    (np.zeros((2, 2), dtype=bool), "got a ndarray"),
    (np.array([[1.0, None]] * 2), "got a ndarray"),
]


@pytest.mark.parametrize(("vectors", "message"), BAD, ids=range(len(BAD)))
def test_vectors_that_cannot_be_used_are_refused_by_the_text(vectors: Any, message: str) -> None:
    check_refused(vectors, message)


@pytest.mark.model
def test_tensors_that_cannot_be_used_are_refused() -> None:
    import torch

    for tensor in (torch.zeros((2, 2), dtype=torch.complex64), torch.zeros((2, 2), dtype=torch.bool)):
        check_refused(tensor, "a list of numbers for each of 2 texts, all of one length, and got a Tensor")
    check_refused(torch.eye(2).to_sparse(), "and got a Tensor")


def check_refused(vectors: object, message: str) -> None:
    class Returning(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return vectors

    kept: list[Vectors] = []

    async def keep(_: Any, unit: Vectors) -> None:
        kept.append(unit)

    with pytest.raises(EmbeddingError, match=message):
        run(embed_in_slices(BLOCKING, Returning(), ["one", "two"], keep, show_progress=False))
    assert not kept


@pytest.mark.parametrize(
    "vector",
    [None, "1", 3.0, [], [[1.0, 2.0]], [math.nan], [1.0, math.inf], ["1"], [1j], [True], [None], {1: 2}, object()],
)
def test_a_query_vector_that_cannot_be_used_is_refused(vector: Any) -> None:
    store = FaissStore.from_texts(["refund"], WordEmbeddings())
    with pytest.raises(EmbeddingError):
        store.similarity_search_by_vector(vector)
    with pytest.raises(EmbeddingError):
        store.max_marginal_relevance_search_by_vector(vector)


async def test_what_an_embedder_does_with_its_lists_later_changes_nothing(way: Invoke) -> None:
    class Reusing(WordEmbeddings):
        """Fills one list and one array, again and again, and empties what it was handed."""

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
        ((found, score),) = await way(store, "similarity_search_with_score", text, k=1)
        assert found.id == text
        assert score == pytest.approx(1, abs=1e-3)
    assert embedding.row.any()


# Queries


class Counting(WordEmbeddings):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        if text == "fails":
            raise ConnectionError("the provider hung up")
        return [math.nan] if text == "bad" else [1.0, float(len(text))]


async def asked(way: Invoke, queries: QueryEmbedder, query: Any) -> Vectors:
    """Embed a query."""

    class Asking:
        def embed(self) -> Vectors:
            return run(queries.embed(BLOCKING, query))

        async def aembed(self) -> Vectors:
            return await queries.embed(ASYNC, query)

    return cast("Vectors", await way(Asking(), "embed"))


async def test_queries_are_embedded_once_and_kept_as_long_as_they_are_few(
    way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "MAX_CACHED_QUERIES", 3)
    monkeypatch.setattr(embedder, "MAX_CACHED_QUERY_CHARS", 5)
    embedding = Counting()
    queries = QueryEmbedder(embedding)
    for text in ("a", "a", "b", "c", "a", "d", "a", "d"):
        await asked(way, queries, text)
    assert embedding.asked == ["a", "b", "c", "d", "a"]
    assert list(queries._cached) == ["c", "d", "a"]
    for _ in range(2):
        await asked(way, queries, "longer")
    assert embedding.asked[-2:] == ["longer"] * 2
    assert list(queries._cached) == ["c", "d", "a"]


async def test_what_failed_is_asked_again(way: Invoke) -> None:
    embedding = Counting()
    queries = QueryEmbedder(embedding)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await asked(way, queries, "fails")
        with pytest.raises(EmbeddingError, match="holds NaN"):
            await asked(way, queries, "bad")
    assert embedding.asked == ["fails", "bad"] * 2
    assert (await asked(way, queries, "good")).shape == (2,)


async def test_a_kept_vector_cannot_be_written_to(way: Invoke) -> None:
    queries = QueryEmbedder(Counting())
    vector = await asked(way, queries, "abc")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 7
    assert await asked(way, queries, "abc") is vector


@pytest.mark.parametrize("query", [None, 3, ["a"], b"a", {"query": "a"}])
async def test_a_query_that_is_no_text_is_refused(query: Any, way: Invoke) -> None:
    with pytest.raises(InvalidInputError, match="the query is .*; it must be a string"):
        await asked(way, QueryEmbedder(Counting()), query)


def test_an_interrupt_anywhere_leaves_queries_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop at every line that is run, and ask something else."""
    monkeypatch.setattr(embedder, "MAX_CACHED_QUERIES", 2)
    queries, stops, interrupted = QueryEmbedder(Counting()), 0, True
    while interrupted:
        lines = 0

        def trace(frame: Any, event: str, argument: Any, stop: int = stops) -> Any:
            nonlocal lines
            if event == "line" and Path(frame.f_code.co_filename).parent.name == "embedding":
                lines += 1
                if lines > stop:
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            run(queries.embed(BLOCKING, f"new {stops}"))
            interrupted = False
        except KeyboardInterrupt:
            stops += 1
        finally:
            sys.settrace(before)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(run, queries.embed(BLOCKING, f"again {stops}")).result(timeout=PATIENCE).shape == (2,)
        assert len(queries._cached) <= 2
    assert stops > 10


def test_threads_that_ask_at_once_get_what_they_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "MAX_CACHED_QUERIES", 9)
    queries = QueryEmbedder(Counting())

    def ask(start: int) -> list[int]:
        lengths = [start * number % 30 + 1 for number in range(500)]
        return [
            length
            for length in lengths
            if run(queries.embed(BLOCKING, "x" * length))[1] != unit_vector([1.0, length])[1]
        ]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(1, 9))) == [[]] * 8
    assert len(queries._cached) == 9


# Services that take few texts a call


def service(most: int, status: int) -> AbstractContextManager[Loopback]:
    """Serve OpenAI's API, and refuse more than some texts with a status."""

    def answer(_: str, body: dict[str, Any]) -> Answer:
        if len(body["input"]) > most or "refused" in body["input"]:
            return Answer({"error": {"message": f"batch size {len(body['input'])} is above {most}"}}, status=status)
        rows = [{"index": at, "embedding": [1.0, len(text)]} for at, text in enumerate(body["input"])]
        return Answer({"object": "list", "data": rows, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}})

    return loopback(answer)


def client(server: Loopback) -> Embeddings:
    return OpenAIEmbeddings(
        model="m",
        base_url=f"{server.url}/v1",
        api_key=SecretStr("none"),
        check_embedding_ctx_length=False,
        max_retries=0,
    )


async def added(way: Invoke, embedding: Embeddings, texts: int) -> FaissStore:
    store = FaissStore(embedding)
    await way(store, "add_texts", [f"text {'x' * number}" for number in range(texts)])
    return store


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_batch_that_a_service_refuses_is_halved(status: int, way: Invoke) -> None:
    with service(10, status) as server:
        embedding = client(server)
        store = await added(way, embedding, 300)
        sizes = [len(body["input"]) for _, body in server.requests]
        assert sizes[:6] == [256, 128, 64, 32, 16, 8]
        assert max(sizes[5:]) == 8  # the size is kept for the rest of the call
        embedded = [text for _, body in server.requests if len(body["input"]) <= 10 for text in body["input"]]
        assert len(embedded) == len(set(embedded)) == len(store) == 300


async def test_a_text_that_a_service_refuses_alone_ends_the_call(way: Invoke) -> None:
    with service(1_000, 400) as server:
        store = FaissStore(client(server))
        with pytest.raises(BadRequestError, match="batch size 1 is above"):
            await way(store, "add_texts", [*(f"text {number}" for number in range(99)), "refused"])
        embedded = [text for _, body in server.requests if "refused" not in body["input"] for text in body["input"]]
        assert len(embedded) == len(set(embedded))
        refused = [len(body["input"]) for _, body in server.requests if "refused" in body["input"]]
        assert refused == [100, 50, 25, 1]
        server.requests.clear()
        await way(store, "add_texts", [f"other {number}" for number in range(99)])
        assert len(server.requests) == 1  # it was no matter of the size


@pytest.mark.parametrize("status", [401, 403, 404, 408, 409, 429, 500, 503])
async def test_another_error_of_a_service_is_raised_at_once(status: int, way: Invoke) -> None:
    with service(10, status) as server:
        with pytest.raises(APIStatusError):
            await added(way, client(server), 99)
        assert len(server.requests) == 1


class Refusing(WordEmbeddings):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.sizes = list[int]()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.sizes.append(len(texts))
        if len(texts) > 32:
            raise self.error
        return super().embed_documents(texts)


def with_cause(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def refused_by_requests() -> requests.Response:
    response = requests.Response()
    response.status_code = 400
    return response


REQUEST = httpx.Request("POST", "http://localhost/embed")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("batch size is invalid, it should not be larger than 32"),
        RuntimeError("too many inputs"),
        httpx.HTTPStatusError("413", request=REQUEST, response=httpx.Response(413, request=REQUEST)),
        with_cause(Exception("the service failed"), requests.HTTPError(response=refused_by_requests())),
    ],
)
async def test_errors_of_a_refused_batch_are_of_many_classes(error: Exception, way: Invoke) -> None:
    embedding = Refusing(error)
    assert len(await added(way, embedding, 60)) == 60
    assert embedding.sizes == [60, 30, 30]


@pytest.mark.parametrize(
    "error",
    [
        TypeError("a fault of the program"),
        ConnectionResetError("reset"),
        httpx.ConnectError("refused"),
        with_cause(RuntimeError("the service failed"), TimeoutError()),
        with_cause(ValueError("wrong"), httpx.HTTPStatusError("", request=REQUEST, response=httpx.Response(401))),
        ValueError("Error raised by inference API HTTP code: 429, slow down"),
        RuntimeError("Invalid API key"),
        EmbeddingError("no vectors"),
    ],
)
async def test_an_error_that_fewer_texts_do_not_help_against_is_raised_at_once(error: Exception, way: Invoke) -> None:
    embedding = Refusing(error)
    with pytest.raises(type(error)) as raised:
        await added(way, embedding, 60)
    assert raised.value is error
    assert embedding.sizes == [60]


async def test_other_stores_get_texts_that_are_embedded_in_halved_batches(way: Invoke) -> None:
    embedding = Refusing(ValueError("too many"))
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(NeighborMixedEmbeddings(embedding)))
    text = " ".join(f"Card {'x' * number} has sides." for number in range(1, 61))
    await way(retriever, "add_documents", [Document(text, id="a")])
    assert embedding.sizes == [60, 30, 30]
    plain = await way(NeighborMixedEmbeddings(embedding), "embed_documents", [f"plain {at}" for at in range(40)])
    assert len(plain) == 40
    assert embedding.sizes[3:] == [40, 20, 20]


# What isn't an embedder


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, r"embedding is None; pass an embedder: init_embeddings\('openai:text-embedding-3-small'\)"),
        ("text-embedding-3-large", r"'text-embedding-3-large'; .*init_embeddings\('openai:text-embedding-3-small'\)"),
        ("sk-proj-abcdefghij0123456789abcdef", r"a string that looks like a key; pass an embedder"),
        (WordEmbeddings, r"the class WordEmbeddings; pass an instance: WordEmbeddings\(\.\.\.\)"),
        (lambda text: [1.0], "a function; .* an object with embed_documents"),
        (FakeListChatModel(responses=[]), "FakeListChatModel; pass an embedder: init_embeddings"),
        (SimpleNamespace(embed_documents=len), "a SimpleNamespace; .* with embed_documents and embed_query"),
        ([1.0], r"embedding is \[1.0\]; pass an embedder"),
    ],
)
def test_what_is_no_embedder_is_refused_with_what_to_pass(given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        checked_embedding(given)
    with pytest.raises(InvalidInputError, match=message):
        NeighborMixedEmbeddings(given)


class Duck:
    """Embed as what LangChain's own stores embed with too, though it isn't an `Embeddings`."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return WordEmbeddings().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return WordEmbeddings().embed_query(text)


class Delegating:
    def __init__(self, inner: Embeddings) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize("make", [Duck, lambda: Delegating(WordEmbeddings()), WordEmbeddings])
async def test_whatever_has_the_methods_is_an_embedder(make: Callable[[], Any], way: Invoke) -> None:
    embedding = make()
    assert checked_embedding(embedding) is embedding
    InMemoryVectorStore(embedding).add_texts(["refund"])
    for store in (FaissStore(embedding), InMemoryVectorStore(NeighborMixedEmbeddings(embedding))):
        retriever = SentenceWindowRetriever(vectorstore=store)
        await way(retriever, "add_documents", [Document(page_content="A refund. The card.", id="a")])
        (found, *_) = await way(store, "similarity_search", "refund", k=1)
        assert found.page_content == "A refund."


# In context


async def test_an_embedder_that_gives_another_number_of_vectors_is_told(way: Invoke) -> None:
    class Wrong(WordEmbeddings):
        by = -1

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            vectors = super().embed_documents(texts)
            return vectors[:-1] if self.by < 0 else vectors * 2

    embedding = Wrong()
    for by, got in ((-1, 1), (1, 4)):
        embedding.by = by
        with pytest.raises(EmbeddingError, match=rf"for each of 2 texts, .*and got numbers of shape \({got}, "):
            await way(NeighborMixedEmbeddings(embedding), "embed_documents", ["refund", "card"])


async def test_an_embedder_that_returns_arrays_is_put_in_context(way: Invoke) -> None:
    class Arrays(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return np.array(super().embed_documents(texts))

    plain = await way(NeighborMixedEmbeddings(WordEmbeddings()), "embed_documents", ["refund", "card"])
    found = await way(NeighborMixedEmbeddings(Arrays()), "embed_documents", ["refund", "card"])
    assert [list(row) for row in found] == plain


def test_a_query_of_lone_surrogates_is_embedded_in_a_loop() -> None:
    queries = QueryEmbedder(DeterministicFakeEmbedding(size=4))
    assert (asyncio.run(queries.embed(ASYNC, "a\ud800")) == run(queries.embed(BLOCKING, "a?"))).all()
