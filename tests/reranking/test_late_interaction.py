"""`LateInteractionReranker`: its arithmetic by hand, and its order with a real model."""

import copy
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import LateInteractionReranker, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.reranking.token_matching import Tokens, frequency_ranks, soft_maxsim, token_weights
from tests.forms import Invoke
from tests.toys import document

QUESTION = "When is a refund refused?"
REFUSED = "A refund is refused once 100 bookings have been taken."


def tokens(ids: list[int], *vectors: tuple[float, float]) -> Tokens:
    return Tokens(np.array(ids, dtype=np.int64), np.array(vectors, dtype=np.float32).reshape(-1, 2))


def test_each_token_of_the_query_is_compared_with_the_most_similar_of_the_text() -> None:
    query = tokens([1, 2], (1, 0), (0, 1))
    even = np.ones(2, dtype=np.float32)
    assert soft_maxsim(query, tokens([3], (0.6, 0.8)), even) == pytest.approx(0.7)
    assert soft_maxsim(query, tokens([3], (0.6, 0.8)), np.array([1, 3], dtype=np.float32)) == pytest.approx(0.75)
    # The best of two counts, less what two find by chance: the logarithm of 2, over 20.
    assert soft_maxsim(query, tokens([3, 4], (0.6, 0.8), (-0.6, -0.8)), even) == pytest.approx(0.7 - np.log(2) / 20)
    assert soft_maxsim(query, tokens([3, 4], (0.6, 0.8), (0.6, 0.8)), even) == pytest.approx(0.7)
    assert soft_maxsim(tokens([]), tokens([3], (1, 0)), even[:0]) == soft_maxsim(query, tokens([]), even) == 0


def test_a_token_counts_more_if_few_texts_contain_it_or_it_is_rare_in_the_language() -> None:
    texts = [tokens([1, 2], (1, 0), (1, 0)), tokens([1], (1, 0)), tokens([1, 1], (1, 0), (1, 0))]
    query, equally_frequent = tokens([1, 2, 9], (1, 0), (1, 0), (1, 0)), np.zeros(10, dtype=np.float32)
    # In 3 and 1 of 3 texts: log(1 + .5 / 3.5), log(1 + 2.5 / 1.5); in none: their mean. Then halved, as all are common.
    assert token_weights(query, texts, equally_frequent) == pytest.approx([0.0668, 0.4904, 0.2786], abs=1e-4)
    alone = token_weights(tokens([9], (1, 0)), texts, equally_frequent)
    assert alone == pytest.approx([np.log(8) / 2])  # log(1 + 3.5 / .5)
    same = tokens([0, 1, 2], (1, 0), (1, 0), (1, 0))
    weights = token_weights(same, [same], np.array([0, 100, 900], dtype=np.float32))
    assert weights / weights[0] == pytest.approx([1, 1 + np.log(2) / 0.5, 1 + np.log(10) / 0.5])


@given(st.lists(st.lists(st.integers(0, 20), max_size=9), min_size=1, max_size=9), st.randoms())
def test_weights_are_positive_and_finite(ids: list[list[int]], chance: random.Random) -> None:
    query, *texts = (tokens(each, *[(1, 0)] * len(each)) for each in ids)
    ranks = np.array([chance.randint(0, 300_000) for _ in range(21)], dtype=np.float32)
    weights = token_weights(query, texts, ranks)
    assert weights.shape == query.ids.shape
    assert (weights > 0).all()
    assert np.isfinite(weights).all()


def test_words_are_ranked_by_their_place_in_the_vocabulary() -> None:
    vocabulary = {"[CLS]": 0, "<s>": 1, "a": 2, "the": 3, "##ing": 4, "\u2581of": 5, "?": 8}
    assert frequency_ranks(vocabulary).tolist() == [0, 0, 0, 0, 1, 2, 3, 3, 3]
    assert frequency_ranks({}).tolist() == [0]


async def test_a_real_model_ranks_by_its_tokens_and_keeps_its_arguments(minilm: Embeddings, way: Invoke) -> None:
    documents = [Document("The mole was built of granite.", id="1"), Document(REFUSED, id="2")]
    before = copy.deepcopy(documents)
    splitter = SentenceSplitter()
    used, new = (LateInteractionReranker(model=minilm, splitter=splitter) for _ in range(2))
    ranked = await way(used, "compress_documents", documents, QUESTION)
    assert [each.id for each in ranked] == ["2", "1"]
    assert [each.metadata["relevance_score"] for each in ranked] == pytest.approx([1, -1])
    assert documents == before
    assert used == new
    assert used != LateInteractionReranker(model=minilm, splitter=splitter, weight=2)


def test_scores_of_the_search_are_blended_in_standard_deviations(minilm: Embeddings) -> None:
    """Of two documents, the z-scores are 1 and -1 of tokens, and -1 and 1 of the search."""
    documents = [Document("Granite.", metadata={"score": 0.9}), Document(REFUSED, metadata={"score": 0.1})]
    for weight, best in ((0.5, "Granite."), (1.5, REFUSED)):
        reranked = LateInteractionReranker(model=minilm, weight=weight).compress_documents(documents, QUESTION)
        assert reranked[0].page_content == best
        assert [each.metadata["relevance_score"] for each in reranked] == pytest.approx([0.5, -0.5], abs=1e-5)
    incomplete = [documents[0], Document(REFUSED)]
    assert LateInteractionReranker(model=minilm).compress_documents(incomplete, QUESTION)[0].page_content == REFUSED


def test_the_end_of_a_text_longer_than_the_model_reads_counts(minilm: Embeddings) -> None:
    filler = "The harbour office keeps a list of boats. " * 60
    documents = [Document(filler + "It is closed."), Document(filler + REFUSED)]
    ranked = LateInteractionReranker(model=minilm).compress_documents(documents, QUESTION)
    assert ranked[0].page_content.endswith(REFUSED)
    assert ranked[0].metadata["relevance_score"] == pytest.approx(1)


async def test_windows_of_a_retriever_are_reranked(minilm: Embeddings, way: Invoke) -> None:
    documents = [document(f"We have a rule. {REFUSED}", "a"), document("A refund takes days. Be patient.", "b")]
    retriever = SentenceWindowRetriever.from_documents(documents, minilm, k=1)
    retriever.reranker = LateInteractionReranker(model=minilm, weight=2)
    (window,) = await way(retriever, "invoke", QUESTION)
    assert window.metadata["doc_id"] == "a"
    assert "relevance_score" in window.metadata
