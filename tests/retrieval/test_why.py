"""Test what `why` says of a sentence, and that following its advice returns the sentence."""

import ast
import json
import random
import re
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.documents.keys import ALSO_IN
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.ranking.signals import SIGNALS
from langchain_sentence_window.retrieval.tracing.sentence_outcome import (
    SentenceOutcome,
    ordinal,
)
from langchain_sentence_window.retrieval.tracing.trace import MIN_SIGNAL
from tests.forms import Invoke
from tests.toys import BY_COSINE, VOCABULARY, WordEmbeddings, document

TEXT = """# Refunds

Nothing here. Nothing there. A refund of the card. Nothing more. A seat. The refund.

# Cards

A card. A card and a trial. An annual card.
"""
# 0 heading · 1 nothing · 2 nothing · 3 refund card · 4 nothing · 5 seat · 6 refund · 7 heading · 8 card · 9 card trial
# 10 annual card


def made(**settings: Any) -> SentenceWindowRetriever:
    documents = [document(TEXT, "a", tenant="x"), document("A trial. A seat.", "b", tenant="y")]
    return SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **BY_COSINE | settings)


def holds(found: list[Document], doc_id: str, index: int) -> bool:
    places = [(each.metadata["doc_id"], each.metadata["sentences"]) for each in found]
    return any(name == doc_id and first <= index <= last for name, (first, last) in places)


def advised(outcome: SentenceOutcome) -> list[dict[str, Any]]:
    """Return the settings that the advice names, each as keywords of a call, and check that it names them."""
    named = " or ".join(each.written for each in outcome.advised)
    assert (f"With {named} it is returned." in outcome.advice) == bool(named)
    for each in outcome.advised:
        call = ast.parse(f"f({each.written})", mode="eval").body
        assert isinstance(call, ast.Call)
        written = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        assert written == dict(each.settings)
    return [dict(each.settings) for each in outcome.advised]


# What became of it


async def test_returned_as_a_hit_or_next_to_one(way: Invoke) -> None:
    outcome = await way(made(k=1, window=(1, 0)), "why", "refund", "a", 6)
    assert (outcome.outcome, outcome.window, outcome.text, outcome.heading) == ("returned", 1, "The refund.", "Refunds")
    assert TEXT[outcome.start : outcome.end] == "The refund."
    assert outcome.reason == "returned in window 1, as hit 1"
    assert (outcome.dense_rank, outcome.rank, outcome.candidates) == (1, 1, 13)
    assert outcome.dense_score == pytest.approx(1, abs=1e-3)
    neighbor = await way(made(k=1, fetch_k=1, window=(1, 0)), "why", "refund", "a", 5)
    assert (neighbor.outcome, neighbor.reason) == ("returned", "returned in window 1, next to its hits")
    assert neighbor.tried == ()


def test_ranked_below_the_hits() -> None:
    outcome = made(k=1, fetch_k=3, ranking=DEFAULT_RANKING, lexical_weight=0.25).why("refund", "a", 10)
    assert outcome.outcome == "fetch_k"
    ranked = f"it ranked {ordinal(outcome.rank or 0)} of 13 candidates"
    assert outcome.reason == f"{ranked}, and was left out, as there were fetch_k better ones"
    assert outcome.best is not None
    assert outcome.last_hit is not None
    assert (outcome.best.rank, outcome.last_hit.rank) == (1, 3)
    assert (outcome.best.doc_id, outcome.best.index) == ("a", 6)
    assert outcome.score is not None
    assert outcome.best.score > outcome.last_hit.score > outcome.score
    assert outcome.signals
    assert all(own < last for own, last in outcome.signals.values())
    differences = [own - last for own, last in outcome.signals.values()]
    assert differences == sorted(differences)
    unnamed = MIN_SIGNAL * len(SIGNALS)  # smaller differences
    assert sum(differences) <= outcome.score - outcome.last_hit.score + unnamed
    assert (outcome.lexical_rank, outcome.lexical_score) == (None, None)


def test_window_left_out() -> None:
    retriever = made(k=1, window=(0, 0))
    outcome = retriever.why("refund", "a", 3)
    assert outcome.outcome == "k"
    assert outcome.reason == "it was in a window that was left out, as there were k better ones"
    assert outcome.nearest == "window 1 begins 3 sentences after it"
    assert (
        outcome.advice
        == "It is 2nd by meaning, 2nd by words, 2nd of 13 candidates. With window=(3, 0) or k=2 it is returned."
    )
    assert retriever.why("refund", "a", 9).nearest == "window 1 ends 3 sentences before it, in another section"


def test_min_score() -> None:
    retriever = made(window=(0, 0), min_score=0.9)
    outcome = retriever.why("refund", "a", 3)
    assert outcome.outcome == "score"
    assert outcome.reason == "it ranked 2nd of 13 candidates, and was left out, as its similarity is below min_score"
    assert re.search(r"With min_score=0\.7\d\d?", outcome.advice)
    assert holds(retriever.invoke("refund", **advised(outcome)[0]), "a", 3)


def test_budget() -> None:
    long = "A refund " + "of this and that " * 30 + "here."
    retriever = SentenceWindowRetriever.from_documents(
        [document(f"The refund.\n\n# B\n\n{long}", "a")], WordEmbeddings(), **BY_COSINE, count_tokens=len
    )
    outcome = retriever.why("refund", "a", 2, max_tokens=100)
    assert outcome.reason == "it was in a window that was left out, as it doesn't fit into max_tokens"
    assert {"max_tokens": 800} in advised(outcome)
    assert holds(retriever.invoke("refund", max_tokens=800), "a", 2)


def test_equal_text() -> None:
    documents = [document("A refund of the card.", name) for name in ("a", "b")]
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **BY_COSINE)
    (found,) = retriever.invoke("refund")
    other = "b" if found.metadata["doc_id"] == "a" else "a"
    outcome = retriever.why("refund", other, 0)
    assert (outcome.outcome, outcome.window, outcome.is_shown) == ("same_text", None, True)
    assert outcome.reason == "window 1 has the same text, and names its place among others"
    assert [each["doc_id"] for each in found.metadata[ALSO_IN]] == [other]


def test_lead_in() -> None:
    text = "| plan | price |\n|---|---|\n| annual | 9 |\n| seat | 3 |\n| refund | 5 |\n"
    retriever = SentenceWindowRetriever.from_documents([document(text, "a")], WordEmbeddings(), **BY_COSINE)
    outcome = retriever.why("refund", "a", 0, k=1, window=0, fetch_k=1)
    assert (outcome.outcome, outcome.text) == ("leads_in", "| plan | price |\n|---|---|")
    assert outcome.reason == "window 1 has it as a lead-in, which isn't part of its text"


def test_filter_of_the_call() -> None:
    retriever = made(k=1)
    outcome = retriever.why("trial", "b", 0, filter={"tenant": "x"})
    assert (outcome.outcome, outcome.reason) == ("filtered", "the filter of this call doesn't let it through")
    assert (outcome.advice, advised(outcome)) == ("With filter=None it is returned.", [{"filter": None}])
    assert holds(retriever.invoke("trial"), "b", 0)
    other = retriever.why("refund", "b", 0, filter={"tenant": "x"})
    assert other.advice == "Ask why without the filter, too. None of these returns it: filter=None."


async def test_nothing_outside_the_own_filter_is_revealed(way: Invoke) -> None:
    retriever = made().model_copy(update={"filter": {"tenant": "x"}})
    forbidden, absent, beyond = [
        await way(retriever, "why", "trial", *key) for key in (("b", 0), ("c", 0), ("b", 9_999_999))
    ]
    assert forbidden.outcome == "missing"
    assert forbidden.to_dict() | {"doc_id": "c"} == absent.to_dict()
    assert forbidden.to_dict() | {"index": 9_999_999} == beyond.to_dict()
    shown = json.dumps([retriever.why("trial seat", "a", index, k=1).to_dict() for index in range(11)])
    assert '"b"' not in shown
    assert retriever.why("trial", "b", 0, filter={"tenant": "y"}).outcome == "missing"


# The advice


@pytest.mark.slow
def test_following_the_advice_returns_the_sentence() -> None:
    chance = random.Random(5)
    texts = [
        "\n\n".join(
            f"# {chance.choice(VOCABULARY)}\n\n"
            + " ".join(
                f"{'A' if chance.random() < 0.5 else 'No'} {chance.choice(VOCABULARY)} "
                f"{chance.choice(VOCABULARY)} {chance.randrange(9)}."
                for _ in range(chance.randrange(1, 9))
            )
            for _ in range(4)
        )
        for _ in range(12)
    ]
    documents = [document(text, f"d{at}", group=at % 3) for at, text in enumerate(texts)]
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings())
    counts = {each.doc_id: each.sentences for each in retriever.documents()}
    options: list[dict[str, Any]] = [
        {},
        {"k": 1},
        {"k": 2, "window": 0},
        {"k": 3, "ranking": None},
        {"max_tokens": 60},
        {"max_tokens": 40, "k": 3, "fetch_k": 5},
        {"min_score": 0.8},
        {"lexical_weight": 0, "k": 2},
        {"filter": {"group": 1}},
        {"names": False, "order": "edges"},
    ]
    followed = outcomes = 0
    for number in range(60):
        settings = options[number % len(options)]
        query = " ".join(chance.sample(VOCABULARY, chance.randrange(1, 3)))
        name = chance.choice(list(counts))
        index = chance.randrange(counts[name])
        outcome = retriever.why(query, name, index, **settings)
        assert (outcome.window is not None) == holds(retriever.invoke(query, **settings), name, index)
        assert (outcome.outcome == "returned") == (outcome.window is not None)
        assert str(outcome)
        assert json.loads(json.dumps(outcome.to_dict())) == outcome.to_dict()
        for each in advised(outcome):
            assert holds(retriever.invoke(query, **{**settings, **each}), name, index), outcome
            followed += 1
        outcomes += outcome.window is None
    assert outcomes > 20
    assert followed > 20


# Other stores, and mistakes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("refund", 3, 0), "doc_id is 3"),
        (("refund", None, 0), "doc_id is None"),
        (("refund", "a", -1), "sentence is -1"),
        (("refund", "a", "0"), "sentence is '0'"),
        (("refund", "a", 1.0), "sentence is 1.0"),
        (("refund", "a", True), "sentence is True"),
        (("", "a", 0), "the query is ''"),
    ],
)
async def test_mistakes(way: Invoke, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await way(made(), "why", *given)


def test_an_outcome_is_printed_in_a_few_lines() -> None:
    assert str(made(k=1, window=(0, 0)).why("refund", "a", 3)).splitlines() == [
        "sentence 3 of 'a' [40:61], under Refunds",
        "  A refund of the card.",
        "it was in a window that was left out, as there were k better ones",
        "window 1 begins 3 sentences after it",
        "cosine 0.709; BM25 1.276; score 0.709; best 1.000; last hit 0.007",
        "It is 2nd by meaning, 2nd by words, 2nd of 13 candidates. With window=(3, 0) or k=2 it is returned.",
    ]
