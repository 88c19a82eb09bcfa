"""Rerankers, with real forward passes of a real, if tiny, cross-encoder."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import Document

from langchain_sentence_window import CrossEncoderReranker, SentenceTransformerCrossEncoder, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from tests.conftest import Invoke
from tests.toys import VOCABULARY, WordEmbeddings, document


class Lengths(BaseCrossEncoder):
    """Scores a text by its length, and counts the batches."""

    def __init__(self) -> None:
        self.batches: list[Sequence[tuple[str, str]]] = []

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        self.batches.append(text_pairs)
        return [float(len(text)) for _, text in text_pairs]


DOCUMENTS = [
    Document(page_content="card", metadata={"score": 0.3, "n": [1]}, id="1"),
    Document(page_content="annual refund", metadata={"score": 0.2}, id="2"),
    Document(page_content="seat", metadata={"score": 0.1}, id="3"),
]


async def test_documents_are_ranked_by_score_and_equal_ones_keep_their_order(way: Invoke) -> None:
    before = copy.deepcopy(DOCUMENTS)
    model = Lengths()
    ranked = await way(CrossEncoderReranker(model=model), "compress_documents", DOCUMENTS, "refund")
    assert [(found.id, found.metadata) for found in ranked] == [
        ("2", {"score": 0.2, "relevance_score": 13.0}),
        ("1", {"score": 0.3, "n": [1], "relevance_score": 4.0}),
        ("3", {"score": 0.1, "relevance_score": 4.0}),
    ]
    assert before == DOCUMENTS
    assert model.batches == [[("refund", "card"), ("refund", "annual refund"), ("refund", "seat")]]


async def test_the_best_are_kept_and_nothing_is_asked_about_nothing(way: Invoke) -> None:
    model = Lengths()
    reranker = CrossEncoderReranker(model=model, top_n=1)
    assert [found.id for found in await way(reranker, "compress_documents", DOCUMENTS, "refund")] == ["2"]
    assert await way(reranker, "compress_documents", [], "refund") == []
    assert len(model.batches) == 1


@pytest.mark.parametrize("settings", [{"top_n": 0}, {"top_n": "many"}, {"model": "name"}, {"topn": 3}])
def test_a_bad_setting_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        CrossEncoderReranker(**{"model": Lengths(), **settings})


def test_a_model_that_loses_scores_is_refused() -> None:
    class Losing(BaseCrossEncoder):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [1.0]

    with pytest.raises(InvalidInputError, match="1 scores for 3 documents"):
        CrossEncoderReranker(model=Losing()).compress_documents(DOCUMENTS, "refund")


async def test_a_cross_encoder_from_a_folder_ranks_windows(tiny_model: Path, way: Invoke) -> None:
    model = SentenceTransformerCrossEncoder(str(tiny_model))
    documents = [document(f"About a {word}.", word) for word in VOCABULARY]
    retriever = SentenceWindowRetriever.from_documents(
        documents, WordEmbeddings(), k=3, reranker=CrossEncoderReranker(model=model)
    )
    found = await way(retriever, "invoke", "refund seat")
    scores = {each.id: model.score([("refund seat", each.page_content)])[0] for each in documents_of(retriever)}
    best = sorted(scores.values(), reverse=True)[:3]
    # The texts differ by a word alone, so a model that didn't read them would give them one score.
    assert len({round(score, 4) for score in scores.values()}) > 3
    assert [each.metadata["relevance_score"] for each in found] == pytest.approx(best, abs=1e-4)


def documents_of(retriever: SentenceWindowRetriever) -> list[Document]:
    return retriever.vectorstore.similarity_search("", k=99)


def test_a_model_that_cannot_be_found_is_an_error(tmp_path: Path) -> None:
    with pytest.raises((OSError, ValueError)):
        SentenceTransformerCrossEncoder(str(tmp_path / "none"))
