"""Vectors in context, against the formula worked out one by one; and in the store."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.vectors import NOWHERE, Positions, mix_neighbors
from langchain_sentence_window.errors import InvalidInputError
from tests.toys import WordEmbeddings

WEIGHTS = (1.0, 0.3, 0.2, 0.1)


def by_formula(vectors: Vectors, places: list[tuple[int, int, int]], weights: tuple[float, ...]) -> Vectors:
    mixed = []
    for document, section, index in places:
        total = np.zeros(vectors.shape[1])
        for vector, (other_document, other_section, other_index) in zip(vectors, places, strict=True):
            apart = abs(other_index - index)
            is_same = (document, section, index) == (other_document, other_section, other_index)
            is_near = (other_document, other_section) == (document, section) and document != NOWHERE
            if is_same or (is_near and 0 < apart < len(weights)):
                total += weights[0 if is_same else apart] * vector
        length = np.linalg.norm(total)
        mixed.append(total / (length or 1))
    return np.array(mixed, dtype=np.float32)


places_of_sentences = st.sets(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=25
).map(sorted)


@given(places_of_sentences, st.integers(1, 5), st.integers(0, 9))
def test_each_vector_is_what_the_formula_says(places: list[tuple[int, int, int]], reach: int, seed: int) -> None:
    # A section is a run of indexes.
    places = sorted({(document, index // 4, index) for document, _, index in places})
    vectors = np.random.default_rng(seed).standard_normal((len(places), 3)).astype(np.float32)
    columns = [np.array(column, dtype=np.int64) for column in zip(*places, strict=True)]
    before = vectors.copy()
    mixed = mix_neighbors(vectors, Positions(*columns), WEIGHTS[:reach])
    assert mixed == pytest.approx(by_formula(vectors, places, WEIGHTS[:reach]), abs=1e-5)
    assert (vectors == before).all()


@pytest.mark.parametrize("count", [1, 3, 1_023, 1_024, 1_025, 2_049, 5_000])
def test_a_long_section_is_mixed_as_by_one_convolution(count: int) -> None:
    vectors = np.random.default_rng(count).standard_normal((count, 4)).astype(np.float32)
    zeros, indexes = np.zeros(count, dtype=np.int64), np.arange(count, dtype=np.int64)
    kernel = [*reversed(WEIGHTS[1:]), *WEIGHTS]
    summed = np.array([np.convolve(column, kernel)[3:-3] for column in vectors.T]).T
    expected = summed / np.linalg.norm(summed, axis=1, keepdims=True)
    assert mix_neighbors(vectors, Positions(zeros, zeros, indexes), WEIGHTS) == pytest.approx(expected, abs=1e-5)


def test_what_stands_nowhere_is_left_alone() -> None:
    numbers = np.array([NOWHERE, NOWHERE], dtype=np.int64)
    vectors = np.array([[2, 0], [0, 0]], dtype=np.float32)
    places = Positions(numbers, np.zeros(2, dtype=np.int64), np.arange(2, dtype=np.int64))
    assert mix_neighbors(vectors, places, WEIGHTS).tolist() == [[1, 0], [0, 0]]


TEXT = "# Refunds\n\nThe annual plan. A refund. The card. A trial.\n\n# Data\n\nA backup. The replica. A page."


def scores(store: FaissStore, query: str = "refund") -> dict[str, float]:
    return {each.page_content: score for each, score in store.similarity_search_with_score(query, k=99)}


@pytest.fixture(params=["memory", "disk"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "index" if request.param == "disk" else None


def fresh(words: WordEmbeddings, documents: list[Document], **settings: Any) -> dict[str, float]:
    """The scores of a store that never knew anything else."""
    store = FaissStore(words, neighbor_weights=WEIGHTS, **settings)
    SentenceWindowRetriever(vectorstore=store).add_documents(documents)
    return scores(store)


def test_neighbors_lend_their_words_within_their_section(words: WordEmbeddings, path: Path | None) -> None:
    document = Document(page_content=TEXT, id="a")
    store = FaissStore(words, path, neighbor_weights=WEIGHTS)
    retriever = SentenceWindowRetriever(vectorstore=store)
    retriever.add_documents([document])
    alone = FaissStore(words, neighbor_weights=(1,))
    SentenceWindowRetriever(vectorstore=alone).add_documents([document])
    for text in ("The annual plan.", "The card."):
        assert scores(store)[text] > 0.2 > scores(alone)[text]
    # Of another section; what little it has in common with "refund" is what every text has.
    assert scores(store)["A backup."] < 0.05
    assert store.stats().neighbor_weights == WEIGHTS


def test_a_change_reaches_the_neighbors(words: WordEmbeddings, path: Path | None) -> None:
    store = FaissStore(words, path, neighbor_weights=WEIGHTS)
    retriever = SentenceWindowRetriever(vectorstore=store)
    other = Document(page_content="A seat. A refund.", id="b")
    retriever.add_documents([Document(page_content=TEXT, id="a"), other])
    scores(store)
    # By document, by id, by filter.
    edited = Document(page_content=TEXT.replace("refund", "invoice"), id="a")
    retriever.add_documents([edited])
    assert scores(store) == pytest.approx(fresh(words, [edited, other]), abs=1e-3)
    (invoice,) = store.similarity_search("invoice", k=1)
    store.add_documents([Document(page_content="A refund.", id=invoice.id, metadata=invoice.metadata)])
    assert scores(store) == pytest.approx(fresh(words, [Document(page_content=TEXT, id="a"), other]), abs=1e-3)
    store.delete(filter={"doc_id": "b"})
    assert scores(store) == pytest.approx(fresh(words, [Document(page_content=TEXT, id="a")]), abs=1e-3)
    store.delete([str(invoice.id)])
    assert scores(store)["The card."] < 0.1


def test_other_weights_cost_no_embedding(words: WordEmbeddings, tmp_path: Path) -> None:
    document = Document(page_content=TEXT, id="a")
    with FaissStore(words, tmp_path, neighbor_weights=(1,)) as store:
        SentenceWindowRetriever(vectorstore=store).add_documents([document])
        alone = scores(store)
        store.save()
    calls = words.calls
    with FaissStore.open(tmp_path, words, neighbor_weights=WEIGHTS) as store:
        mixed = scores(store)
        store.save()
    with FaissStore.open(tmp_path, words) as store:
        assert scores(store) == mixed != alone
    with FaissStore.open(tmp_path, words, neighbor_weights=(1,)) as store:
        assert scores(store) == alone
    assert words.calls == calls


@pytest.mark.parametrize("weights", [(), (0,), (-1,), (1, -0.1), (1, float("nan")), (float("inf"),)])
def test_weights_that_make_no_sense_are_refused(words: WordEmbeddings, weights: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInputError, match="neighbor_weights is"):
        FaissStore(words, neighbor_weights=weights)
