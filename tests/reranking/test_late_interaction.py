"""Late interaction: its arithmetic by hand, and its order with a real model."""

import copy
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import LateInteractionReranker, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.reranking.late_interaction import Tokens, blend, idf_weights, soft_maxsim
from tests.conftest import Invoke
from tests.toys import WordEmbeddings, document

QUESTION = "When is a refund refused?"
REFUSED = "A refund is refused once 100 bookings have been taken."


def tokens(ids: list[int], *vectors: tuple[float, float]) -> Tokens:
    return Tokens(np.array(ids), np.array(vectors, dtype=np.float32).reshape(-1, 2))


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
    # In 3, 1 and 0 of 3 texts: log(1 + .5 / 3.5), log(1 + 2.5 / 1.5), log(1 + 3.5 / .5).
    assert idf_weights(tokens([1, 2, 9], (1, 0), (1, 0), (1, 0)), texts) == pytest.approx(
        [0.1335, 0.9808, 2.0794], abs=1e-4
    )


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
    [({"model": WordEmbeddings()}, "WordEmbeddings gives no token vectors"), ({"model": 1, "weight": -1}, "weight")],
)
def test_what_cannot_work_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        LateInteractionReranker(**settings)
