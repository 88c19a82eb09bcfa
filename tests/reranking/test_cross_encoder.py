"""`CrossEncoderReranker`, with forward passes of a real, if tiny, cross-encoder."""

import asyncio
import copy
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import Document

from langchain_sentence_window import CrossEncoderReranker, SentenceTransformerCrossEncoder, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.patience import PATIENCE
from tests.toys import VOCABULARY, WordEmbeddings, document


class Scorer(BaseCrossEncoder):
    """Scores texts by a function, and records the texts of each batch."""

    def __init__(self, function: Callable[[str], Any] = len) -> None:
        self.function = function
        self.batches: list[list[str]] = []

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        self.batches.append([text for _, text in text_pairs])
        return [self.function(text) for _, text in text_pairs]


class WordScorer(Scorer):
    """Counts a word as a token."""

    max_length = 40

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


DOCUMENTS = [
    Document(page_content="card", metadata={"score": 0.3, "n": [1]}, id="1"),
    Document(page_content="annual refund", metadata={"score": 0.2}, id="2"),
    Document(page_content="seat", metadata={"score": 0.1}, id="3"),
]


def window(text: str, *hits: str) -> Document:
    """A window Document whose text starts at 1,000 in its source."""
    spans = [{"start_index": 1000 + text.index(hit), "end_index": 1000 + text.index(hit) + len(hit)} for hit in hits]
    return Document(text, metadata={"start_index": 1000, "end_index": 1000 + len(text), "hits": spans, "score": 0.5})


async def test_documents_are_ranked_by_score_and_equal_ones_keep_their_order(way: Invoke) -> None:
    before, model = copy.deepcopy(DOCUMENTS), Scorer()
    ranked = await way(CrossEncoderReranker(model=model), "compress_documents", DOCUMENTS, "refund")
    assert [(each.id, each.metadata) for each in ranked] == [
        ("2", {"score": 0.2, "relevance_score": 13.0}),
        ("1", {"score": 0.3, "n": [1], "relevance_score": 4.0}),
        ("3", {"score": 0.1, "relevance_score": 4.0}),
    ]
    assert before == DOCUMENTS
    assert model.batches == [["card", "annual refund", "seat"]]
    limits: list[dict[str, Any]] = [{"top_n": 1}, {"min_score": 5}]
    for limit in limits:
        best = await way(CrossEncoderReranker(model=model, **limit), "compress_documents", DOCUMENTS, "refund")
        assert [each.id for each in best] == ["2"]
    assert await way(CrossEncoderReranker(model=model), "compress_documents", [], "refund") == []
    assert len(model.batches) == 3


@pytest.mark.parametrize(
    ("function", "message"), [(lambda text: float("nan"), "finite number"), (lambda text: "high", "finite number")]
)
def test_invalid_scores_are_refused(function: Callable[[str], Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        CrossEncoderReranker(model=Scorer(function)).compress_documents(DOCUMENTS, "refund")


def test_a_model_that_returns_too_few_scores_is_refused() -> None:
    class Losing(Scorer):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [1.0]

    with pytest.raises(InvalidInputError, match="1 scores for 3 texts"):
        CrossEncoderReranker(model=Losing()).compress_documents(DOCUMENTS, "refund")


async def test_a_cross_encoder_from_a_folder_ranks_windows(tiny_model: Path, way: Invoke) -> None:
    model = SentenceTransformerCrossEncoder(str(tiny_model))
    documents = [document(f"About a {word}.", word) for word in VOCABULARY]
    reranker = CrossEncoderReranker(model=model)
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), k=3, reranker=reranker)
    windows = await way(retriever, "invoke", "refund seat")
    scores = [model.score([("refund seat", each.page_content)])[0] for each in documents]
    # The texts differ only by a word, so a model that didn't read them would return one score.
    assert len({round(score, 4) for score in scores}) > 3
    best = sorted(scores, reverse=True)[:3]
    assert [each.metadata["relevance_score"] for each in windows] == pytest.approx(best, abs=1e-4)


def test_scores_are_logits_or_probabilities(tiny_model: Path) -> None:
    pairs = [("refund seat", f"refund {word}") for word in VOCABULARY]
    logits = SentenceTransformerCrossEncoder(str(tiny_model)).score(pairs)
    shares = SentenceTransformerCrossEncoder(str(tiny_model), scale="probability").score(pairs)
    assert shares == pytest.approx([1 / (1 + 2.718281828**-logit) for logit in logits])


@pytest.mark.parametrize(("score_on", "score"), [("window", 4.0), ("hit", 2.0), ("both", 3.0)])
async def test_the_window_its_best_hit_or_the_mean_of_both_is_scored(way: Invoke, score_on: Any, score: float) -> None:
    reranker = CrossEncoderReranker(model=Scorer(lambda text: len(text.split())), score_on=score_on)
    (ranked,) = await way(reranker, "compress_documents", [window("One. Two words. Three.", "One.", "Two words.")], "")
    assert (ranked.metadata["relevance_score"], ranked.metadata["score"]) == (score, 0.5)
    (plain,) = await way(reranker, "compress_documents", [Document("One. Two.")], "")
    assert plain.metadata["relevance_score"] == 2


def test_a_long_window_is_read_in_passages_around_its_hits() -> None:
    """40 tokens less 1 of the query and 4 special ones are 35, so passages have up to 17 words."""
    sentences = [f"Part{i} b c d e." for i in range(9)]
    model = WordScorer()
    reranker = CrossEncoderReranker(model=model, score_on="window")
    (ranked,) = reranker.compress_documents([window(" ".join(sentences), sentences[4], sentences[5])], "q")
    parts = (sentences[:3], sentences[3:4], sentences[4:7], sentences[7:])
    assert model.batches == [[" ".join(part) for part in parts]]
    assert ranked.metadata["relevance_score"] == len(model.batches[0][0])


def test_a_long_text_of_another_script_is_read_in_passages() -> None:
    text = "".join(f"第{number}条规定如下，请仔细阅读全部内容。" for number in range(60))
    model = Scorer()
    CrossEncoderReranker(model=model, max_length=512).compress_documents([Document(page_content=text)], "退款")
    assert "".join(model.batches[0]) == text
    assert max(map(len, model.batches[0])) <= 256  # half of 512, with a token per character


@given(st.data(), st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(8, 24))
def test_passages_cover_every_word_and_fit(data: st.DataObject, sizes: list[int], length: int) -> None:
    sentences = [" ".join(f"Word{i}x{j}" for j in range(size)) + "." for i, size in enumerate(sizes)]
    hits = data.draw(st.lists(st.sampled_from(sentences), max_size=4, unique=True))
    text, model = " ".join(sentences), WordScorer()
    CrossEncoderReranker(model=model, max_length=length, score_on="window").compress_documents(
        [window(text, *hits)], "q"
    )
    passages = model.batches[0]
    if len(text.split()) <= length:
        assert passages == [text]
        return
    assert {word for passage in passages for word in passage.split()} == set(text.split())
    assert all(passage in text and len(passage.split()) <= length // 2 for passage in passages)
    for hit in hits:
        assert len(hit.split()) > length // 2 or any(hit in passage for passage in passages)


async def test_the_loop_continues_while_the_model_works() -> None:
    loop, ticked = asyncio.get_running_loop(), threading.Event()

    class Waiting(Scorer):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            loop.call_soon_threadsafe(ticked.set)
            assert ticked.wait(PATIENCE)  # in the loop's own thread, it would never be set
            return super().score(text_pairs)

    assert len(await CrossEncoderReranker(model=Waiting()).acompress_documents(DOCUMENTS, "refund")) == 3
