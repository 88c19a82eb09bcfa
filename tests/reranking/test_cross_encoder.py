"""Rerankers, with real forward passes of a real, if tiny, cross-encoder."""

import asyncio
import copy
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import (
    CrossEncoderReranker,
    LateInteractionReranker,
    SentenceTransformerCrossEncoder,
    SentenceWindowRetriever,
)
from langchain_sentence_window.errors import InvalidInputError
from tests.conftest import Invoke
from tests.patience import PATIENCE
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


@pytest.mark.parametrize(
    "settings",
    [
        {"top_n": 0},
        {"top_n": "many"},
        {"min_score": float("nan")},
        {"model": "name"},
        {"score_on": "all"},
        {"max_length": 0},
        {"topn": 3},
    ],
)
def test_a_bad_setting_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        CrossEncoderReranker(**{"model": Lengths(), **settings})


def test_a_model_that_loses_scores_is_refused() -> None:
    class Losing(BaseCrossEncoder):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [1.0]

    with pytest.raises(InvalidInputError, match="1 scores for 3 texts"):
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


MODEL = Path(os.environ.get("SENTENCE_WINDOW_MODELS", Path(__file__).parents[3] / "shared" / "models")) / "reranker"
LONG = "The harbour office keeps a list of boats. " * 100 + "An annual plan is refunded in full within thirty days."
QUESTION = "When is an annual plan refunded?"


class FirstWords(BaseCrossEncoder):
    """Scores by words that query and text share, and reads the first 40 words alone."""

    max_length = 40

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        self.batches.append([text for _, text in text_pairs])
        read = [(query.split(), f"{query} {text}".split()[: self.max_length]) for query, text in text_pairs]
        return [float(len(set(query) & set(words[len(query) :]))) for query, words in read]


def window(text: str, *hits: str) -> Document:
    """A window Document whose text stands at 1,000 in its source."""
    found = [{"start_index": 1000 + text.index(hit), "end_index": 1000 + text.index(hit) + len(hit)} for hit in hits]
    return Document(text, metadata={"start_index": 1000, "end_index": 1000 + len(text), "hits": found, "score": 0.5})


@pytest.mark.parametrize("hits", [(), ("An annual plan is refunded in full within thirty days.",), ("The harbour",)])
@pytest.mark.parametrize("score_on", ["window", "both"])
async def test_the_end_of_a_long_window_is_read(way: Invoke, hits: tuple[str, ...], score_on: Any) -> None:
    assert len(LONG.split()) > 800
    model = FirstWords()
    given = [window(LONG.replace("annual plan", "old boat"), *hits[:0]), window(LONG, *hits)]
    found = await way(
        CrossEncoderReranker(model=model, score_on=score_on), "compress_documents", given, "an annual plan"
    )
    assert found[0].page_content == LONG
    assert len(model.batches) == 1
    assert all(len(text.split()) + 3 <= model.max_length for text in model.batches[0])
    # Without passages, the two can't be told apart.
    assert len(set(model.score([("an annual plan", each.page_content) for each in given]))) == 1


@pytest.mark.parametrize(("score_on", "score"), [("window", 4.0), ("hit", 2.0), ("both", 3.0)])
async def test_the_window_its_best_hit_or_the_mean_of_both_is_scored(way: Invoke, score_on: Any, score: float) -> None:
    class Words(Lengths):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [float(len(text.split())) for _, text in text_pairs]

    given = [window("One. Two words. Three.", "One.", "Two words.")]
    (found,) = await way(CrossEncoderReranker(model=Words(), score_on=score_on), "compress_documents", given, "refund")
    assert found.metadata["relevance_score"] == score
    assert found.metadata["score"] == 0.5


def test_a_long_text_of_another_script_is_read_in_passages() -> None:
    text = "".join(f"第{number}条规定如下，请仔细阅读全部内容。" for number in range(60))
    model = Lengths()
    CrossEncoderReranker(model=model, max_length=512).compress_documents([Document(page_content=text)], "退款")
    read = [passage for _, passage in model.batches[0]]
    assert "".join(read) == text
    assert max(map(len, read)) <= 256  # half of 512, by a token a character


async def test_what_is_below_the_lowest_score_is_left_out(way: Invoke) -> None:
    reranker = CrossEncoderReranker(model=Lengths(), min_score=5)
    assert [found.id for found in await way(reranker, "compress_documents", DOCUMENTS, "refund")] == ["2"]


def test_a_score_that_is_no_number_is_refused() -> None:
    class Broken(BaseCrossEncoder):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [float("nan")] * len(text_pairs)

    with pytest.raises(InvalidInputError, match="finite number"):
        CrossEncoderReranker(model=Broken()).compress_documents(DOCUMENTS, "refund")


async def test_the_loop_runs_on_while_the_model_works() -> None:
    loop, ticked = asyncio.get_running_loop(), threading.Event()

    class Waiting(Lengths):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            # The loop can only do this if it isn't the one that waits here.
            loop.call_soon_threadsafe(ticked.set)
            assert ticked.wait(PATIENCE)
            return super().score(text_pairs)

    assert len(await CrossEncoderReranker(model=Waiting()).acompress_documents(DOCUMENTS, "refund")) == 3


async def test_the_loop_ticks_during_a_real_forward_pass(minilm: Embeddings) -> None:
    reranker = LateInteractionReranker(model=minilm)
    encode, ticks, seen = reranker.model.encode, 0, list[int]()

    def watched(*arguments: Any, **keywords: Any) -> Any:
        before = ticks
        try:
            return encode(*arguments, **keywords)
        finally:
            seen.append(ticks - before)

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    reranker.model.encode = watched
    ticking = asyncio.ensure_future(tick())
    try:
        await reranker.acompress_documents([Document(LONG)] * 4, QUESTION)
    finally:
        ticking.cancel()
        del reranker.model.encode
    (during,) = seen
    assert during > 10


def test_scales_are_never_mixed(tiny_model: Path) -> None:
    pairs = [("refund seat", f"refund {word}") for word in VOCABULARY]
    logits = SentenceTransformerCrossEncoder(str(tiny_model)).score(pairs)
    shares = SentenceTransformerCrossEncoder(str(tiny_model), scale="probability").score(pairs)
    assert shares == pytest.approx([1 / (1 + 2.718281828**-logit) for logit in logits])
    with pytest.raises(InvalidInputError, match="scale is 'percent'"):
        SentenceTransformerCrossEncoder(str(tiny_model), scale="percent")  # type: ignore[arg-type]


@pytest.mark.skipif(not MODEL.is_dir(), reason=f"there is no trained cross-encoder in {MODEL}")
async def test_a_trained_cross_encoder_reads_long_windows_and_tells_obvious_pairs_apart(way: Invoke) -> None:
    model = SentenceTransformerCrossEncoder(str(MODEL), device="cpu", model_kwargs={"dtype": "float32"})
    reranker = CrossEncoderReranker(model=model)
    other = LONG.replace("An annual plan is refunded in full within thirty days.", "The mole was built of granite.")
    assert model.count_tokens([LONG])[0] > 900
    ranked = await way(reranker, "compress_documents", [window(other), window(LONG)], QUESTION)
    assert ranked[0].page_content == LONG
    best, worst = (each.metadata["relevance_score"] for each in ranked)
    assert best > worst + 1
    cut_off = model.score([(QUESTION, other), (QUESTION, LONG)])
    assert cut_off[0] == pytest.approx(cut_off[1], abs=0.001)
