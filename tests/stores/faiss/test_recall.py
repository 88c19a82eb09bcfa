"""The estimate of what searches find: compared with brute force, with its interval, for any questions and effort."""

import math
from typing import Any

import numpy as np
import pytest

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError, StoreError
from langchain_sentence_window.stores.faiss.dense import quantized
from langchain_sentence_window.stores.faiss.open_index import _interval
from tests.conftest import Invoke
from tests.torture.corpus import TextEmbeddings

COUNT = 3_000


def filled(index: str, count: int = COUNT) -> FaissStore:
    store = FaissStore(TextEmbeddings(), index=index)
    store.add_texts([f"text {number}" for number in range(count)])
    return store


@pytest.mark.parametrize("index", ["Flat", "SQ8"])
async def test_an_exact_search_finds_all(index: str, way: Invoke) -> None:
    found = await way(filled(index), "recall_estimate", sample=40, k=20)
    assert (found.recall, found.high) == (1, 1)
    assert 0.99 < found.low < 1
    assert (found.questions, found.k, found.search_effort, found.index) == (40, 20, 1, index)


async def test_the_estimate_is_that_of_brute_force(way: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantized, "MIN_CANDIDATES", 0)
    monkeypatch.setattr(quantized, "CANDIDATES_PER_RESULT", 1)
    store = filled("RaBitQ")
    questions = [f"question {number}" for number in range(30)]
    vectors = np.array([TextEmbeddings().vector(f"text {number}") for number in range(COUNT)])
    shares = []
    for question in questions:
        best = np.argsort(-(vectors @ TextEmbeddings().vector(question)))[:25]
        right = {f"text {number}" for number in best.tolist()}
        shares.append(len(right & {each.page_content for each in store.similarity_search(question, k=25)}) / 25)
    found = await way(store, "recall_estimate", questions, k=25)
    assert found.recall == pytest.approx(np.mean(shares), abs=0.01)
    assert found.low < found.recall < found.high < 1
    more = await way(store, "recall_estimate", questions, k=25, search_effort=4)
    assert found.recall < more.recall
    assert more.search_effort == 4
    everything = await way(store, "recall_estimate", questions, k=25, search_effort=math.inf)
    assert everything.recall == 1


def test_an_empty_store_has_no_recall() -> None:
    found = FaissStore(TextEmbeddings()).recall_estimate()
    assert math.isnan(found.recall)
    assert (found.low, found.high, found.questions, found.index) == (0, 1, 0, "")
    store = filled("Flat", 3)
    assert math.isnan(store.recall_estimate([]).recall)
    assert store.recall_estimate(["a"], k=50).recall == 1
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.recall_estimate()


def test_an_interval_narrows_with_questions_and_widens_with_their_differences() -> None:
    def width(shares: list[float]) -> float:
        mean, low, high = _interval(shares, 10)
        assert low <= mean <= high
        return high - low

    assert width([1.0] * 100) < width([1.0] * 10)
    assert width([0.9] * 50) < width([1.0] * 45 + [0.0] * 5)
    # A share that is all or nothing counts as one trial.
    assert width([1.0] * 45 + [0.0] * 5) == pytest.approx(0.17, abs=0.02)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"questions": "one"}, "questions is 'one'; give a list"),
        ({"questions": ["one", 2]}, "give a list of strings"),
        ({"sample": 0}, "sample is 0"),
        ({"k": 1.5}, "k is 1.5"),
        ({"search_effort": 0}, "search_effort is 0"),
    ],
)
async def test_arguments_are_checked(given: dict[str, Any], message: str, way: Invoke) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await way(FaissStore(TextEmbeddings()), "recall_estimate", **given)


def test_questions_of_another_embedder_are_refused() -> None:
    store = filled("Flat", 3)
    store._guard.queries._embedding = TextEmbeddings(7)
    with pytest.raises(EmbeddingError):
        store.recall_estimate(["a"])
