"""Test what descriptions of embedders leave out, and embedders that change."""

import gc
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from pydantic import SecretStr

from langchain_sentence_window import FaissStore, NeighborMixedEmbeddings
from langchain_sentence_window.embedding import embedder_state as watching
from langchain_sentence_window.embedding.embedder_state import describe_embedder, look_at, watch_of
from tests.embedding.test_description import Attributes, Declared, cached, cohere, hugging_face, openai
from tests.toys import WordEmbeddings


def scaled(by: float) -> Embeddings:
    class Scaled(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            return [by * number for number in self.vector(text)]

    return Scaled()


@pytest.mark.parametrize(
    "make",
    [
        hugging_face,
        openai,
        cohere,
        partial(openai, default_headers={"Authorization": "Bearer a"}, model_kwargs={"a": [1, {"b": None}]}),
        lambda: cached(openai()),
        lambda: NeighborMixedEmbeddings(hugging_face()),
        lambda: DeterministicFakeEmbedding(size=3),
        lambda: Declared(settings=[1, {"a": (2, "b")}, DeterministicFakeEmbedding(size=3)]),
        lambda: Attributes(model="a", dim=3, scale=0.5, normalize=False, options={"prompt": "a", "layers": (1, 2)}),
        lambda: Attributes(_api_key="a", client=object(), _lock=threading.Lock(), hidden=SecretStr("a"), when=None),
        lambda: Attributes(_inner=DeterministicFakeEmbedding(size=3), members=[DeterministicFakeEmbedding(size=3)]),
        lambda: Attributes(
            counted=0, _count=0, log=[], _cache={}, _loaded=None, _prefix="", store=FaissStore(openai())
        ),
    ],
)
def test_embedders_that_are_described_in_full(make: Callable[[], Embeddings]) -> None:
    assert look_at(make()).says_all


@pytest.mark.parametrize(
    "make",
    [
        lambda: Attributes(_model="a"),
        lambda: Attributes(kind=3),
        lambda: Attributes(layers=[1, 2]),
        lambda: Attributes(options={"layers": [1]}),
        lambda: Attributes(_members=[DeterministicFakeEmbedding(size=3)]),
        lambda: Attributes(_options={"inner": DeterministicFakeEmbedding(size=3)}),
        lambda: Attributes(inner=SimpleNamespace()),
        lambda: Attributes(weights=np.ones(3)),
        lambda: Attributes(called=len),
        lambda: Attributes(called=lambda text: text),
        lambda: Attributes(kind=int),
        lambda: Attributes(_inner=Attributes(_model="a")),
        lambda: Declared(settings=len),
        lambda: scaled(2),
        lambda: NeighborMixedEmbeddings(scaled(2)),
        lambda: Attributes(**{f"setting_{number}": "a" for number in range(1_000)}),
        type("InAScript", (WordEmbeddings,), {"__module__": "__main__"}),
    ],
)
def test_embedders_that_are_more_than_their_description(make: Callable[[], Embeddings]) -> None:
    assert not look_at(make()).says_all


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"model": "a"}, {"model": "b"}),
        ({"_model": "a"}, {"_model": "b"}),
        ({"_model": ""}, {"_model": "b"}),
        ({"kind": 3}, {"kind": 4}),
        ({"dim": 0}, {"dim": 4}),
        ({"normalize": False}, {"normalize": True}),
        ({"_scale": 1.0}, {"_scale": float("nan")}),
        ({}, {"_model": "a"}),
        ({}, {"embed_query": len}),
        ({"options": {}}, {"options": {"prompt": "a"}}),
        ({"options": {"prompt": "a"}}, {"options": {}}),
        ({"layers": [1, 2]}, {"layers": [1, 3]}),
        ({"_options": {"a": "b"}}, {"_options": {"a": "c"}}),
        ({"inner": SimpleNamespace(deep=SimpleNamespace(a=1))}, {"inner": SimpleNamespace(deep=SimpleNamespace(a=1))}),
        ({"called": lambda: 1}, {"called": lambda: 1}),
        ({"called": partial(max, 1)}, {"called": partial(max, 2)}),
        ({"called": [].append}, {"called": [1].append}),
    ],
)
def test_changes_are_seen(before: dict[str, Any], after: dict[str, Any]) -> None:
    embedding = Attributes(**before)
    proofs = watch_of(embedding).look()
    assert watch_of(embedding).look() is proofs
    vars(embedding).update(after)
    assert watch_of(embedding).look() is not proofs


def test_changes_within_objects_are_seen() -> None:
    hidden = ["a"]
    inner = SimpleNamespace(deep=[SimpleNamespace(model="a")])
    embedding = Attributes(inner=inner, method=inner.__repr__, called=lambda: hidden, given=lambda text=inner: text)
    before = look_at(embedding)
    assert not look_at(embedding).differs_from(before)
    hidden[0] = "b"
    assert look_at(embedding).differs_from(before)
    hidden[0] = "a"
    assert not look_at(embedding).differs_from(before)
    inner.deep[0].model = "b"
    assert look_at(embedding).differs_from(before)


def test_what_calls_leave_behind_is_no_change() -> None:
    embedding = Attributes(kind=0, log=[], _cache={}, calls=3, client=object())
    before = look_at(embedding)
    vars(embedding).update(kind=7, log=["a", 3, False], _cache={"a": object()}, calls=4, client=object())
    assert not look_at(embedding).differs_from(before)
    grown = look_at(embedding)
    vars(embedding).update(kind=0, log=["a"], _cache={})
    assert not look_at(embedding).differs_from(grown)


def test_a_watch_lasts_as_long_as_the_embedder() -> None:
    class Slots:
        """Can't be referred to weakly."""

        __slots__ = ()
        embed_documents = WordEmbeddings.embed_documents
        embed_query = WordEmbeddings.embed_query

    embedding = WordEmbeddings()
    key = id(embedding)
    assert watch_of(embedding) is watch_of(embedding)
    assert key in watching._watches
    del embedding
    gc.collect()
    assert key not in watching._watches
    slots = Slots()
    assert watch_of(cast("Any", slots)).look()
    assert id(slots) not in watching._watches


def test_what_is_not_described_is_not_stored(tmp_path: Path) -> None:
    secret = "Qj7correcthorse"  # noqa: S105
    hidden: dict[str, Any] = {
        "_model": secret,
        "_options": {"a": [secret]},
        "inner": SimpleNamespace(model=secret),
        "called": lambda: secret,
        "given": partial(print, secret),
        "log": [secret],
    }
    embedding = Attributes(model="a", **hidden)
    assert describe_embedder(embedding) == describe_embedder(Attributes(model="a"))
    with FaissStore(embedding, tmp_path) as store:
        store.add_texts(["refund"])
        store.save()
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert files
        assert not any(secret.encode() in file.read_bytes() for file in files)
