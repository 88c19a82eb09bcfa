"""Test what a trace says of the candidates that hits were taken from, and of the numbers and tokens at each stage."""

from typing import Any

import pytest

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.documents.window_documents import shown_text
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.retrieval.tracing.trace import Trace
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

TEXT = "A refund of the card. A seat. The refund. A trial. A card and a trial. Nothing. A refund and a seat."


def made(**settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents([document(TEXT, "a")], WordEmbeddings(), window=0, **settings)


async def test_candidates_are_all_that_the_search_found_in_their_new_order(way: Invoke) -> None:
    trace: Trace = await way(made(fetch_k=3, k=2), "explain", "refund seat")
    candidates = trace.candidates
    assert [each.rank for each in candidates] == list(range(1, len(candidates) + 1))
    assert sorted(each.searched_rank for each in candidates) == [each.rank for each in candidates]
    assert [(each.doc_id, each.index) for each in candidates[: len(trace.hits)]] == [
        (hit.doc_id, hit.index) for hit in trace.hits
    ]
    assert list(candidates[:3]) == list(trace.hits)
    assert {each.outcome for each in candidates[len(trace.hits) :]} == {"left out, as there were fetch_k better ones"}
    assert [each.left_out for each in candidates] == [None] * len(trace.hits) + ["fetch_k"] * (
        len(candidates) - len(trace.hits)
    )
    scores = [each.score for each in candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(trace.to_dict()["candidates"]) == len(candidates)
    by_index = {each.index: each for each in candidates}
    assert by_index[6].text == "A refund and a seat."
    assert by_index[6].dense_rank == 1
    assert all(TEXT[each.start : each.end] == each.text for each in candidates)


async def test_candidates_say_why_they_are_not_hits(way: Invoke) -> None:
    trace: Trace = await way(made(min_score=0.5, lexical_weight=0), "explain", "refund")
    outcomes = {each.index: each.outcome for each in trace.candidates}
    assert outcomes[2] == "opened window 1"
    assert outcomes[3] == "left out, as its similarity is below min_score"
    sentences = [f"It says refund {n}." for n in range(60)]
    retriever = SentenceWindowRetriever.from_documents(
        [document(" ".join(sentences), "a")], WordEmbeddings(), min_relevance="auto"
    )
    trace = await way(retriever, "explain", "Whose dog barks here once it sees passing trains?")
    assert trace.hits == []
    assert {each.outcome for each in trace.candidates[:50]} == {"left out, as it hardly fits the question"}
    assert {each.left_out for each in trace.candidates[:50]} == {"relevance"}


@pytest.mark.parametrize(
    ("query", "is_limited"),
    [
        ("In the Zebra contract, what is the refund that is due?", True),
        ("What is the refund in the Zebra contract?", False),
    ],
)
async def test_scores_of_a_named_document_are_those_of_its_signals(
    way: Invoke, query: str, *, is_limited: bool
) -> None:
    texts = {
        name: f"# {name} contract\n\nThe refund of {name} is a card. A seat. A trial." for name in ("Zebra", "Lion")
    }
    documents = [document(text, name, title=f"{name} contract") for name, text in texts.items()]
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), ranking=DEFAULT_RANKING)
    trace: Trace = await way(retriever, "explain", query)
    assert [each.doc_id for each in trace.named] == ["Zebra"]
    assert trace.is_limited == is_limited
    order = [each.doc_id for each in trace.candidates]
    if is_limited:
        assert order == sorted(order, reverse=True)  # "Zebra" first
    ranks = [each.searched_rank for each in trace.candidates]
    assert len(set(ranks)) == len(ranks)
    bonus = 0 if is_limited else 0.1
    scores = {each.index: each.score for each in trace.hits if each.doc_id == "Zebra"}
    signals = {each.index: sum(each.signals.values()) + bonus for each in trace.hits if each.doc_id == "Zebra"}
    assert scores == pytest.approx(signals)
    kept = {each.index: each.score for each in trace.candidates if each.doc_id == "Zebra"}
    assert {index: kept[index] for index in scores} == pytest.approx(scores)


async def test_numbers_and_tokens_of_each_stage_add_up(way: Invoke) -> None:
    retriever = made(k=1, fetch_k=5, count_tokens=lambda text: len(text.split()))
    trace: Trace = await way(retriever, "explain", "refund seat")
    found = await way(retriever, "invoke", "refund seat")
    assert trace.counts == {
        "dense": 7,
        "lexical": sum("refund" in part or "seat" in part for part in TEXT.split(". ")),
        "both": 4,
        "candidates": 7,
        "hits": 5,
        "windows": len(trace.windows),
        "returned": 1,
    }
    assert trace.tokens == {
        "hits": sum(len(hit.text.split()) for hit in trace.hits),
        "windows": sum(len(window.text.split()) for window in trace.windows),
        "returned": sum(len(shown_text(window).split()) for window in found),
    }
    assert "7 by meaning, 4 by words, 4 by both -> 7 candidates -> 5 hits" in str(trace)
