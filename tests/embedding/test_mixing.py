"""Neighbor mixing, compared with its formula, and in the store."""

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
def test_vectors_are_mixed_by_the_formula(places: list[tuple[int, int, int]], reach: int, seed: int) -> None:
    # A section is a run of indexes.
    places = sorted({(document, index // 4, index) for document, _, index in places})
    vectors = np.random.default_rng(seed).standard_normal((len(places), 3)).astype(np.float32)
    columns = [np.array(column, dtype=np.int64) for column in zip(*places, strict=True)]
    before = vectors.copy()
    mixed = mix_neighbors(vectors, Positions(*columns), WEIGHTS[:reach])
    assert mixed == pytest.approx(by_formula(vectors, places, WEIGHTS[:reach]), abs=1e-5)
    assert (vectors == before).all()


@pytest.mark.parametrize("count", [1, 3, 1_024, 2_049])
def test_a_long_section_is_mixed_like_a_convolution(count: int) -> None:
    vectors = np.random.default_rng(count).standard_normal((count, 4)).astype(np.float32)
    zeros, indexes = np.zeros(count, dtype=np.int64), np.arange(count, dtype=np.int64)
    kernel = [*reversed(WEIGHTS[1:]), *WEIGHTS]
    summed = np.array([np.convolve(column, kernel)[3:-3] for column in vectors.T]).T
    expected = summed / np.linalg.norm(summed, axis=1, keepdims=True)
    assert mix_neighbors(vectors, Positions(zeros, zeros, indexes), WEIGHTS) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("weights", "as_if"),
    [
        ((1e300, 3e299), (1, 0.3)),
        ((1e-30, 3e-31), (1, 0.3)),
        ((5e-324, 0), (1, 0)),
        ((1e-300, 1), (1e-20, 1)),
        ((10, 3), (1, 0.3)),
    ],
)
def test_only_the_proportions_of_weights_count(weights: tuple[float, ...], as_if: tuple[float, ...]) -> None:
    vectors = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    positions = Positions(np.array([0, 0, 0, NOWHERE, 1]), np.zeros(5, dtype=np.int64), np.arange(5))
    assert mix_neighbors(vectors, positions, weights) == pytest.approx(
        mix_neighbors(vectors, positions, as_if), abs=1e-6
    )


TEXT = "# Refunds\n\nThe annual plan. A refund. The card. A trial.\n\n# Data\n\nA backup. The replica. A page."


def scores(store: FaissStore, query: str = "refund") -> dict[str, float]:
    return {each.page_content: score for each, score in store.similarity_search_with_score(query, k=99)}


@pytest.fixture(params=["memory", "disk"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "index" if request.param == "disk" else None


def fresh(words: WordEmbeddings, documents: list[Document], **settings: Any) -> dict[str, float]:
    """The scores in a new store."""
    store = FaissStore(words, neighbor_weights=WEIGHTS, **settings)
    SentenceWindowRetriever(vectorstore=store).add_documents(documents)
    return scores(store)


def test_a_change_updates_the_neighbors(words: WordEmbeddings, path: Path | None) -> None:
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


def test_weights_are_changed_without_embedding_again(words: WordEmbeddings, tmp_path: Path) -> None:
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
