"""Test what `why` says of a sentence, and that following its advice returns the sentence."""

import ast
import json
import random
import re
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.documents.keys import ALSO_IN
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.ranking.signals import SIGNALS
from langchain_sentence_window.retrieval.tracing.sentence_fate import (
    MAX_RANK,
    SentenceFate,
    ordinal,
)
from langchain_sentence_window.retrieval.tracing.trace import MIN_SIGNAL
from tests.conftest import Invoke
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


def advised(fate: SentenceFate) -> list[dict[str, Any]]:
    """Return the settings that the advice names, each as keywords of a call, and check that it names them."""
    named = " or ".join(each.written for each in fate.advised)
    assert (f"With {named} it is returned." in fate.advice) == bool(named)
    for each in fate.advised:
        call = ast.parse(f"f({each.written})", mode="eval").body
        assert isinstance(call, ast.Call)
        written = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        assert written == dict(each.settings)
    return [dict(each.settings) for each in fate.advised]


# What became of it


async def test_returned_as_a_hit_or_next_to_one(way: Invoke) -> None:
    fate = await way(made(k=1, window=(1, 0)), "why", "refund", "a", 6)
    assert (fate.outcome, fate.window, fate.text, fate.heading) == ("returned", 1, "The refund.", "Refunds")
    assert TEXT[fate.start : fate.end] == "The refund."
    assert fate.reason == "returned in window 1, as hit 1"
    assert (fate.dense_rank, fate.rank, fate.candidates) == (1, 1, 13)
    assert fate.dense_score == pytest.approx(1, abs=1e-3)
    neighbor = await way(made(k=1, fetch_k=1, window=(1, 0)), "why", "refund", "a", 5)
    assert (neighbor.outcome, neighbor.reason) == ("returned", "returned in window 1, next to its hits")
    assert neighbor.tried == ()


def test_ranked_below_the_hits() -> None:
    fate = made(k=1, fetch_k=3, ranking=DEFAULT_RANKING, lexical_weight=0.25).why("refund", "a", 10)
    assert fate.outcome == "fetch_k"
    ranked = f"it ranked {ordinal(fate.rank or 0)} of 13 candidates"
    assert fate.reason == f"{ranked}, and was left out, as there were fetch_k better ones"
    assert fate.best is not None
    assert fate.last_hit is not None
    assert (fate.best.rank, fate.last_hit.rank) == (1, 3)
    assert (fate.best.doc_id, fate.best.index) == ("a", 6)
    assert fate.score is not None
    assert fate.best.score > fate.last_hit.score > fate.score
    assert fate.signals
    assert all(own < last for own, last in fate.signals.values())
    differences = [own - last for own, last in fate.signals.values()]
    assert differences == sorted(differences)
    unnamed = MIN_SIGNAL * len(SIGNALS)  # smaller differences
    assert sum(differences) <= fate.score - fate.last_hit.score + unnamed
    assert (fate.lexical_rank, fate.lexical_score) == (None, None)


def test_not_among_the_candidates() -> None:
    filler = document(" ".join(f"A card {number}." for number in range(260)), "many")
    retriever = made(k=1, lexical_weight=0.25, ranking=DEFAULT_RANKING)
    retriever.add_documents([filler])
    fate = retriever.why("card", "b", 1)
    assert (fate.outcome, fate.rank) == ("no_candidate", None)
    assert fate.reason == f"it wasn't among the best {fate.candidates} that the search found"
    assert fate.candidates == 200
    assert fate.dense_rank is not None
    assert fate.dense_rank > 200
    assert fate.advice.startswith(f"It is {ordinal(fate.dense_rank)} by meaning. ")


def test_rank_beyond_all_that_is_searched() -> None:
    filler = [document(" ".join(f"A card {number}." for number in range(500)), f"{name}") for name in range(5)]
    retriever = made(k=1, lexical_weight=0.25)
    retriever.add_documents(filler)
    fate = retriever.why("card", "b", 1)
    assert (fate.dense_rank, fate.dense_score, fate.lexical_rank) == (None, None, None)
    assert f"It is beyond the best {MAX_RANK:,} by meaning. " in fate.advice


def test_window_left_out() -> None:
    retriever = made(k=1, window=(0, 0))
    fate = retriever.why("refund", "a", 3)
    assert fate.outcome == "k"
    assert fate.reason == "it was in a window that was left out, as there were k better ones"
    assert fate.nearest == "window 1 begins 3 sentences after it"
    assert (
        fate.advice
        == "It is 2nd by meaning, 2nd by words, 2nd of 13 candidates. With window=(3, 0) or k=2 it is returned."
    )
    assert retriever.why("refund", "a", 9).nearest == "window 1 ends 3 sentences before it, in another section"


def test_min_score() -> None:
    retriever = made(window=(0, 0), min_score=0.9)
    fate = retriever.why("refund", "a", 3)
    assert fate.outcome == "score"
    assert fate.reason == "it ranked 2nd of 13 candidates, and was left out, as its similarity is below min_score"
    assert re.search(r"With min_score=0\.7\d\d?", fate.advice)
    assert holds(retriever.invoke("refund", **advised(fate)[0]), "a", 3)


def test_min_relevance() -> None:
    texts = [" ".join(f"A {word} {other}." for other in VOCABULARY) for word in VOCABULARY[:8]]
    documents = [document(text, f"d{at}") for at, text in enumerate(texts)]
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **BY_COSINE, min_relevance="auto")
    assert retriever.invoke("Who sings there?") == []
    index = retriever.explain("Who sings there?", min_relevance=None).hits[0].index
    name = retriever.explain("Who sings there?", min_relevance=None).hits[0].doc_id
    fate = retriever.why("Who sings there?", name, index)
    assert fate.outcome == "relevance"
    assert fate.reason.endswith("was left out, as it hardly fits the question")
    assert "With min_relevance=None it is returned." in fate.advice or "With min_relevance=None or" in fate.advice


def test_budget() -> None:
    long = "A refund " + "of this and that " * 30 + "here."
    retriever = SentenceWindowRetriever.from_documents(
        [document(f"The refund.\n\n# B\n\n{long}", "a")], WordEmbeddings(), **BY_COSINE, count_tokens=len
    )
    fate = retriever.why("refund", "a", 2, max_tokens=100)
    assert fate.reason == "it was in a window that was left out, as it doesn't fit into max_tokens"
    assert {"max_tokens": 800} in advised(fate)
    assert holds(retriever.invoke("refund", max_tokens=800), "a", 2)


def test_window_cut_to_fit() -> None:
    retriever = made(k=1, fetch_k=1, window=(5, 0), count_tokens=len)
    fate = retriever.why("refund", "a", 1, max_tokens=40)
    assert (fate.outcome, fate.reason) == ("trimmed", "it was in a window that was returned as 1, trimmed")
    assert advised(fate)
    assert all("max_tokens" in each for each in advised(fate))


def test_equal_text() -> None:
    documents = [document("A refund of the card.", name) for name in ("a", "b")]
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **BY_COSINE)
    (found,) = retriever.invoke("refund")
    other = "b" if found.metadata["doc_id"] == "a" else "a"
    fate = retriever.why("refund", other, 0)
    assert (fate.outcome, fate.window, fate.is_shown) == ("same_text", None, True)
    assert fate.reason == "window 1 has the same text, and names its place among others"
    assert [each["doc_id"] for each in found.metadata[ALSO_IN]] == [other]


def test_lead_in() -> None:
    text = "| plan | price |\n|---|---|\n| annual | 9 |\n| seat | 3 |\n| refund | 5 |\n"
    retriever = SentenceWindowRetriever.from_documents([document(text, "a")], WordEmbeddings(), **BY_COSINE)
    fate = retriever.why("refund", "a", 0, k=1, window=0, fetch_k=1)
    assert (fate.outcome, fate.text) == ("leads_in", "| plan | price |\n|---|---|")
    assert fate.reason == "window 1 has it as a lead-in, which isn't part of its text"


def test_filter_of_the_call() -> None:
    retriever = made(k=1)
    fate = retriever.why("trial", "b", 0, filter={"tenant": "x"})
    assert (fate.outcome, fate.reason) == ("filtered", "the filter of this call doesn't let it through")
    assert (fate.advice, advised(fate)) == ("With filter=None it is returned.", [{"filter": None}])
    assert holds(retriever.invoke("trial"), "b", 0)
    other = retriever.why("refund", "b", 0, filter={"tenant": "x"})
    assert other.advice == "Ask why without the filter, too. None of these returns it: filter=None."


async def test_own_filter_tells_nothing(way: Invoke) -> None:
    retriever = made().model_copy(update={"filter": {"tenant": "x"}})
    forbidden, absent, beyond = [
        await way(retriever, "why", "trial", *key) for key in (("b", 0), ("c", 0), ("b", 9_999_999))
    ]
    assert forbidden.outcome == "missing"
    assert forbidden.to_dict() | {"doc_id": "c"} == absent.to_dict()
    assert forbidden.to_dict() | {"index": 9_999_999} == beyond.to_dict()
    told = json.dumps([retriever.why("trial seat", "a", index, k=1).to_dict() for index in range(11)])
    assert '"b"' not in told
    assert retriever.why("trial", "b", 0, filter={"tenant": "y"}).outcome == "missing"


class LastFirst(BaseDocumentCompressor):
    """Leaves out the second of what it is given and turns the others round."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        kept = [each for i, each in enumerate(documents) if i != 1]
        return [
            each.model_copy(update={"metadata": {**each.metadata, "relevance_score": float(-i)}})
            for i, each in enumerate(reversed(kept))
        ]


def test_reranker() -> None:
    retriever = made(window=(0, 0), reranker=LastFirst(), k=3)
    fates = {(each.doc_id, each.index): each for index in range(11) for each in [retriever.why("refund", "a", index)]}
    left_out = [fate for fate in fates.values() if fate.outcome == "reranker"]
    assert len(left_out) == 1
    assert left_out[0].index == 3


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
        fate = retriever.why(query, name, index, **settings)
        assert (fate.window is not None) == holds(retriever.invoke(query, **settings), name, index)
        assert (fate.outcome == "returned") == (fate.window is not None)
        assert str(fate)
        assert json.loads(json.dumps(fate.to_dict())) == fate.to_dict()
        for each in advised(fate):
            assert holds(retriever.invoke(query, **{**settings, **each}), name, index), fate
            followed += 1
        outcomes += fate.window is None
    assert outcomes > 20
    assert followed > 20


def test_settings_that_were_tried_in_vain_are_named() -> None:
    filler = document(" ".join(f"A card {number}." for number in range(400)), "many")
    retriever = made(k=1, lexical_weight=0.25)
    retriever.add_documents([filler])
    fate = retriever.why("card", "b", 1)
    assert fate.advice.endswith(f"Use words that it holds. None of these returns it: {'; '.join(fate.tried)}.")
    assert "k=100" in fate.tried


# Other stores, and mistakes


@pytest.mark.parametrize("index", [3, 6])
async def test_another_store(way: Invoke, index: int) -> None:
    store = InMemoryVectorStore(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store, k=1, window=(0, 0), ranking=None)
    retriever.add_documents([document(TEXT, "a", tenant="x"), document("A trial. A seat.", "b", tenant="y")])
    ours = made(k=1, window=(0, 0), embed_headings=False)
    fate, expected = await way(retriever, "why", "refund", "a", index), ours.why("refund", "a", index)
    assert (fate.outcome, fate.dense_rank, fate.text) == (expected.outcome, expected.dense_rank, expected.text)
    assert fate.lexical_score is None
    assert fate.dense_score == pytest.approx(expected.dense_score, abs=0.001)


def test_index_that_changes_meanwhile_or_is_empty() -> None:
    with FaissStore(WordEmbeddings()) as store:
        fate = SentenceWindowRetriever(vectorstore=store).why("refund", "a", 0)
    assert (fate.outcome, fate.candidates) == ("missing", 0)


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


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 100_000])
def test_names_that_no_document_has(name: str) -> None:
    assert made().why("refund", name, 0).outcome == "missing"


def test_ordinals() -> None:
    assert [ordinal(rank) for rank in (1, 2, 3, 4, 11, 12, 13, 21, 101, 112, 1_002)] == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "12th",
        "13th",
        "21st",
        "101st",
        "112th",
        "1,002nd",
    ]


def test_a_fate_reads_well() -> None:
    assert str(made(k=1, window=(0, 0)).why("refund", "a", 3)).splitlines() == [
        "sentence 3 of 'a' [40:61], under Refunds",
        "  A refund of the card.",
        "it was in a window that was left out, as there were k better ones",
        "window 1 begins 3 sentences after it",
        "cosine 0.709; BM25 1.276; score 0.709; best 1.000; last hit 0.007",
        "It is 2nd by meaning, 2nd by words, 2nd of 13 candidates. With window=(3, 0) or k=2 it is returned.",
    ]
