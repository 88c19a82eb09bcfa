"""What searches find of the nearest vectors, also of a real model's, and the estimate of it with its interval."""

import math
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError, StoreError
from langchain_sentence_window.store import vectors

# The statistics alone: no store has searches that find all or nothing.
from langchain_sentence_window.store.faiss_store import _interval
from tests.conftest import Invoke
from tests.recorded import RecordedEmbeddings
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
    monkeypatch.setattr(vectors, "MIN_CANDIDATES", 0)
    monkeypatch.setattr(vectors, "CANDIDATES_PER_RESULT", 1)
    store = filled("RaBitQ")
    questions = [f"question {number}" for number in range(30)]
    exact = np.array([TextEmbeddings().vector(f"text {number}") for number in range(COUNT)])
    shares = []
    for question in questions:
        best = np.argsort(-(exact @ TextEmbeddings().vector(question)))[:25]
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
    assert (found.low, found.high, found.questions, found.index) == (0, 1, 0, "Flat")
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


@pytest.mark.parametrize("index", ["SQ8", "RaBitQ", "IVF1,PQ192x4fs", "IVF8,PQ192x4fs", "HNSW32"])
def test_a_search_finds_almost_all_of_the_nearest_of_a_real_model(
    index: str, recorded: RecordedEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MIN_CANDIDATES", 0)
    monkeypatch.setattr(vectors, "MAX_COMPARED_DIRECTLY", 0)
    texts = sorted(recorded.vectors)
    questions, texts = [text for text in texts if "?" in text], [text for text in texts if "?" not in text]
    exact = np.array(recorded.embed_documents(questions)) @ np.array(recorded.embed_documents(texts)).T
    with FaissStore(recorded, index=index, neighbor_weights=(1,)) as store:
        store.add_documents([Document(page_content=text, id=str(number)) for number, text in enumerate(texts)])
        shares, by_codes = list[float](), list[float]()
        for question, cosines in zip(questions, exact, strict=True):
            best = set(np.argsort(-cosines)[:50].tolist())
            found = store.similarity_search_with_score(question, k=50)
            of_them = [cosines[int(str(each.id))] for each, _ in found]
            assert [score for _, score in found] == pytest.approx(of_them, abs=2e-4)
            shares.append(len(best & {int(str(each.id)) for each, _ in found}) / 50)
            ranked = store.hybrid_search(question, k=50, lexical_weight=0, rank=lambda candidates: candidates.dense)
            by_codes.append(len(best & {int(str(each.id)) for each, _ in ranked}) / 50)
    assert np.mean(shares) > 0.99
    assert np.mean(by_codes) > 0.95  # by codes of six bits, which aren't compared again


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
    class Shorter(TextEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            return super().embed_query(text)[:7]

    store = FaissStore.from_texts(["a", "b"], Shorter())
    with pytest.raises(EmbeddingError, match="vectors of 7 numbers don't fit an index of vectors of 32"):
        store.recall_estimate(["a"])
