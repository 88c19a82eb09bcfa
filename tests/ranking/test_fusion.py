"""Fusion, with numbers worked out by hand, and hybrid search on a real store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import fuse, spread
from tests.conftest import Invoke

scores = st.dictionaries(st.integers(0, 30), st.floats(0, 50), max_size=20)


def test_scores_are_spread_over_neighbors() -> None:
    # Rows 1 to 4 of one section; 2 and 4 were hit.
    neighbors = [(2, 1, 1), (2, 3, 1), (2, 4, 2), (4, 3, 1), (4, 2, 2)]
    assert spread({2: 10.0, 4: 2.0}, neighbors) == pytest.approx({1: 3, 2: 10.3, 3: 3.6, 4: 3.5})
    assert spread({}, []) == {}


def test_fusion_by_hand() -> None:
    # Cosines: mean .5, deviation .2. BM25 scores 8, 0, 4: mean 4, deviation sqrt(32 / 3).
    cosines = {1: 0.5 - 0.2 * 1.5**0.5, 2: 0.5, 3: 0.5 + 0.2 * 1.5**0.5}
    fused = dict(fuse(cosines, {1: 8.0, 3: 4.0, 9: 99.0}, 0.5))
    step = 0.5 * 0.2 * 4 / (32 / 3) ** 0.5
    assert fused == pytest.approx({1: cosines[1] + step, 2: 0.5 - step, 3: cosines[3]})


def test_equal_scores_are_told_by_row_and_nothing_by_nothing() -> None:
    assert fuse({7: 0.5, 3: 0.5}, {}, 1.0) == [(3, 0.5), (7, 0.5)]
    assert fuse({}, {1: 2.0}, 1.0) == []


@given(scores.map(lambda found: {row: score / 50 for row, score in found.items()}), scores)
def test_fusion_keeps_the_rows_and_without_weight_the_cosines(
    cosines: dict[int, float], words: dict[int, float]
) -> None:
    assert dict(fuse(cosines, words, 0)) == cosines
    ranked = fuse(cosines, words, 0.3)
    assert {row for row, _ in ranked} == set(cosines)
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)


async def test_words_find_what_vectors_miss(minilm: Embeddings, way: Invoke) -> None:
    texts = [
        "Error E-4711 means that the disk is full.",
        *(f"Error {n} means that the fan has stopped." for n in range(400)),
    ]
    store = FaissStore.from_texts(texts, minilm, [{"n": n} for n in range(len(texts))])
    found = await way(store, "hybrid_search", "E-4711", k=1, lexical_weight=1.0)
    assert [document.page_content for document, _ in found] == texts[:1]
    within = await way(store, "hybrid_search", "E-4711", k=2, filter={"n": {"$gt": 398}})
    assert sorted(document.metadata["n"] for document, _ in within) == [399, 400]
    plain = await way(store, "hybrid_search", "E-4711", k=5, lexical_weight=0)
    assert plain == await way(store, "similarity_search_with_score", "E-4711", k=5)
    for document, _ in found:
        store.delete([document.id or ""])
    again = await way(store, "hybrid_search", "E-4711", k=1, lexical_weight=1.0)
    assert again[0][0].page_content != texts[0]


async def test_a_word_lends_to_its_neighbors_in_the_section(minilm: Embeddings, way: Invoke) -> None:
    text = "# One\n\nThe Zephyr-9 is small. It costs ten euros.\n\n# Two\n\nA lamp is large. It costs ten euros."
    retriever = SentenceWindowRetriever.from_documents(
        [Document(page_content=text, id="a")], minilm, neighbor_weights=(1,), k=4, window=0, lexical_weight=1.0
    )
    found = await way(retriever, "invoke", "zephyr-9 euros")
    prices = [window.metadata["heading"] for window in found if "ten euros" in window.page_content]
    assert prices[0] == "One"


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_a_weight_that_weighs_nothing_is_refused(minilm: Embeddings, weight: float) -> None:
    store = FaissStore.from_texts(["One."], minilm)
    with pytest.raises(InvalidInputError, match="lexical_weight"):
        store.hybrid_search("one", lexical_weight=weight)
    with pytest.raises(InvalidInputError, match="lexical_weight"):
        SentenceWindowRetriever(vectorstore=store, lexical_weight=weight)
