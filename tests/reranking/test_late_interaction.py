"""Late interaction: its arithmetic by hand, and its order with a real model."""

import copy
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import LateInteractionReranker, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.reranking.late_interaction import blend
from langchain_sentence_window.reranking.token_matching import Tokens, frequency_ranks, soft_maxsim, token_weights
from tests.conftest import Invoke
from tests.toys import WordEmbeddings, document

QUESTION = "When is a refund refused?"
REFUSED = "A refund is refused once 100 bookings have been taken."


def tokens(ids: list[int], *vectors: tuple[float, float]) -> Tokens:
    return Tokens(np.array(ids, dtype=np.int64), np.array(vectors, dtype=np.float32).reshape(-1, 2))


def test_each_token_of_the_query_looks_for_the_likest_of_the_text() -> None:
    query = tokens([1, 2], (1, 0), (0, 1))
    even = np.ones(2, dtype=np.float32)
    assert soft_maxsim(query, tokens([3], (0.6, 0.8)), even) == pytest.approx(0.7)
    assert soft_maxsim(query, tokens([3], (0.6, 0.8)), np.array([1, 3], dtype=np.float32)) == pytest.approx(0.75)
    # Of two tokens the likest counts, less what two find by chance: the logarithm of 2, over 20.
    assert soft_maxsim(query, tokens([3, 4], (0.6, 0.8), (-0.6, -0.8)), even) == pytest.approx(0.7 - np.log(2) / 20)
    assert soft_maxsim(query, tokens([3, 4], (0.6, 0.8), (0.6, 0.8)), even) == pytest.approx(0.7)
    assert soft_maxsim(tokens([]), tokens([3], (1, 0)), even[:0]) == soft_maxsim(query, tokens([]), even) == 0


def test_a_token_that_few_texts_hold_counts_most() -> None:
    texts = [tokens([1, 2], (1, 0), (1, 0)), tokens([1], (1, 0)), tokens([1, 1], (1, 0), (1, 0))]
    query, equally_frequent = tokens([1, 2, 9], (1, 0), (1, 0), (1, 0)), np.zeros(10, dtype=np.float32)
    # In 3 and 1 of 3 texts: log(1 + .5 / 3.5), log(1 + 2.5 / 1.5); in none: their mean. Then halved, as all are common.
    assert token_weights(query, texts, equally_frequent) == pytest.approx([0.0668, 0.4904, 0.2786], abs=1e-4)
    alone = token_weights(tokens([9], (1, 0)), texts, equally_frequent)
    assert alone == pytest.approx([np.log(8) / 2])  # log(1 + 3.5 / .5)


def test_a_token_that_is_rare_in_the_language_counts_more() -> None:
    ranks = np.array([0, 100, 900], dtype=np.float32)
    weights = token_weights(
        tokens([0, 1, 2], (1, 0), (1, 0), (1, 0)), [tokens([0, 1, 2], (1, 0), (1, 0), (1, 0))], ranks
    )
    assert weights / weights[0] == pytest.approx([1, 1 + np.log(2) / 0.5, 1 + np.log(10) / 0.5])


@given(st.lists(st.lists(st.integers(0, 20), max_size=9), min_size=1, max_size=9), st.randoms())
def test_each_token_counts_something(ids: list[list[int]], chance: random.Random) -> None:
    query, *texts = (tokens(each, *[(1, 0)] * len(each)) for each in ids)
    ranks = np.array([chance.randint(0, 300_000) for _ in range(21)], dtype=np.float32)
    weights = token_weights(query, texts, ranks)
    assert weights.shape == query.ids.shape
    assert (weights > 0).all()
    assert np.isfinite(weights).all()


def test_words_are_ranked_as_the_vocabulary_lists_them(minilm: Embeddings) -> None:
    assert frequency_ranks({"[CLS]": 0, "<s>": 1, "a": 2, "the": 3, "##ing": 4, "\u2581of": 5, "?": 8}).tolist() == [
        *[0, 0, 0, 0, 1, 2, 3, 3, 3]
    ]
    assert frequency_ranks({}).tolist() == [0]
    vocabulary = LateInteractionReranker(model=minilm).model.tokenizer.get_vocab()
    ranks = frequency_ranks(vocabulary)
    assert ranks[vocabulary["the"]] == 0
    assert ranks[vocabulary["how"]] < 200 < ranks[vocabulary["annual"]] < 2000 < ranks[vocabulary["granite"]]


def test_scores_are_blended_in_standard_deviations() -> None:
    # (1, 2, 3) has a deviation of .816 around 2; (10, 10, 40) one of 14.14 around 20.
    assert blend([10, 10, 40], [3, 2, 1], 0.5) == pytest.approx([1.2247 - 0.3536, -0.3536, -1.2247 + 0.7071], abs=1e-4)
    assert blend([10, 10, 40], None, 0.5) == pytest.approx([-0.7071, -0.7071, 1.4142], abs=1e-4)
    assert blend([0.1, 0.1, 0.1], [0.7, 0.7, 0.7], 1) == [0, 0, 0]
    assert blend([5], [5], 1) == [0]


async def test_a_real_model_ranks_by_its_tokens_and_leaves_what_it_was_given(minilm: Embeddings, way: Invoke) -> None:
    given = [Document("The mole was built of granite.", id="1"), Document(REFUSED, id="2")]
    before = copy.deepcopy(given)
    ranked = await way(LateInteractionReranker(model=minilm), "compress_documents", given, QUESTION)
    assert [(found.id, found.metadata["relevance_score"]) for found in ranked] == [
        ("2", pytest.approx(1)),
        ("1", pytest.approx(-1)),
    ]
    assert given == before


def test_rerankers_of_the_same_settings_are_equal_used_or_not(minilm: Embeddings) -> None:
    splitter = SentenceSplitter()
    used, new = (LateInteractionReranker(model=minilm, splitter=splitter) for _ in range(2))
    assert used == new
    used.compress_documents([Document("Granite."), Document(REFUSED)], QUESTION)
    assert used == new
    assert used != LateInteractionReranker(model=minilm, splitter=splitter, weight=2)


def test_the_search_counts_too(minilm: Embeddings) -> None:
    given = [Document("Granite.", metadata={"score": 0.9}), Document(REFUSED, metadata={"score": 0.1})]
    for weight, first in ((0.5, "Granite."), (1.5, REFUSED)):
        reranker = LateInteractionReranker(model=minilm, weight=weight, top_n=1)
        assert [found.page_content for found in reranker.compress_documents(given, QUESTION)] == [first]


def test_the_end_of_a_text_longer_than_the_model_is_read(minilm: Embeddings) -> None:
    filler = "The harbour office keeps a list of boats. " * 60
    given = [Document(filler + "It is closed."), Document(filler + REFUSED)]
    ranked = LateInteractionReranker(model=minilm).compress_documents(given, QUESTION)
    assert ranked[0].page_content.endswith(REFUSED)
    assert ranked[0].metadata["relevance_score"] == pytest.approx(1)


async def test_it_ranks_the_windows_of_a_retriever(minilm: Embeddings, way: Invoke) -> None:
    documents = [document(f"We have a rule. {REFUSED}", "a"), document("A refund takes days. Be patient.", "b")]
    retriever = SentenceWindowRetriever.from_documents(documents, minilm, k=1)
    retriever.reranker = LateInteractionReranker(model=minilm, weight=2)
    (found,) = await way(retriever, "invoke", QUESTION)
    assert found.metadata["doc_id"] == "a"
    assert "relevance_score" in found.metadata


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": WordEmbeddings()}, "model is a WordEmbeddings; give one with token vectors"),
        ({"model": 1, "weight": -1}, "weight"),
    ],
)
def test_what_cannot_work_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        LateInteractionReranker(**settings)
