"""Questions on another subject return nothing: whatever the ranking, the store and the way of asking."""

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.answering.locations import MAY_NOT_ANSWER, doubt_about
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.ranking.relevance import DOUBTFUL
from tests.forms import Invoke
from tests.toys import VOCABULARY, WordEmbeddings

PAIRS = [(one, other) for one in VOCABULARY for other in VOCABULARY if one != other]
DOCUMENTS = [Document(f"It says {one} {other}. Here is {other} once.", id=f"{one} {other}") for one, other in PAIRS]
ON_SUBJECT = "It says refund seat?"
OFF_SUBJECT = "Whose dog barks here whenever passing trains whistle?"


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def store(request: pytest.FixtureRequest, words: WordEmbeddings) -> VectorStore:
    made: VectorStore = request.param(words)
    SentenceWindowRetriever(vectorstore=made).add_documents(DOCUMENTS)
    return made


@pytest.mark.parametrize("lexical_weight", [0, 0.25])
@pytest.mark.parametrize("ranking", [None, DEFAULT_RANKING])
async def test_another_subject_returns_nothing(
    store: VectorStore, way: Invoke, ranking: Any, lexical_weight: float
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store, ranking=ranking, lexical_weight=lexical_weight)
    assert len(await way(retriever, "invoke", OFF_SUBJECT)) == retriever.k
    assert await way(retriever, "invoke", OFF_SUBJECT, min_relevance="auto") == []
    assert await way(retriever, "invoke", ON_SUBJECT, min_relevance="auto")


async def test_a_number_takes_the_place_of_auto(store: VectorStore, way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store)
    (window,) = await way(retriever, "invoke", ON_SUBJECT, k=1)
    relevance = window.metadata["relevance"]
    assert 0 < relevance < 1
    assert await way(retriever, "invoke", ON_SUBJECT, min_relevance=relevance)
    assert await way(retriever, "invoke", ON_SUBJECT, min_relevance=(1 + relevance) / 2) == []
    assert await way(retriever, "invoke", OFF_SUBJECT, min_relevance=0)


@pytest.mark.parametrize("ranking", [None, DEFAULT_RANKING])
async def test_explain_says_what_decided(store: VectorStore, way: Invoke, ranking: Any) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store, ranking=ranking)
    for question, is_supported in ((ON_SUBJECT, True), (OFF_SUBJECT, False)):
        numbers = (await way(retriever, "explain", question, min_relevance="auto")).relevance
        assert (numbers["relevance"] >= numbers["needed"]) == is_supported
        assert ("closeness" in numbers) == isinstance(store, FaissStore)
    left = (await way(retriever, "explain", OFF_SUBJECT)).relevance
    assert ("relevance" in left, "needed" in left) == (ranking is not None, False)


async def test_windows_say_how_likely_they_answer(store: VectorStore, way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store)
    for question, is_likely in ((ON_SUBJECT, True), (OFF_SUBJECT, False)):
        windows = await way(retriever, "invoke", question)
        (relevance,) = {window.metadata["relevance"] for window in windows}
        assert 0 <= relevance <= 1
        assert (relevance >= DOUBTFUL) == is_likely
        assert relevance == (await way(retriever, "explain", question)).relevance["relevance"]
        assert doubt_about(windows) == ("" if is_likely else MAY_NOT_ANSWER)
    unranked = await way(retriever, "invoke", ON_SUBJECT, ranking=None)
    assert not any("relevance" in window.metadata for window in unranked)
    assert doubt_about(unranked) == ""


@pytest.mark.parametrize("ranking", [None, DEFAULT_RANKING])
async def test_nothing_of_a_named_document_is_left_out(way: Invoke, words: WordEmbeddings, ranking: Any) -> None:
    named = Document("The dog of Larkspur barks. " * 9, id="other", metadata={"title": "Larkspur"})
    retriever = SentenceWindowRetriever.from_documents([*DOCUMENTS, named], words, ranking=ranking)
    question = "In the Larkspur document, whose hens fly at passing planes?"
    assert len(await way(retriever, "invoke", question, min_relevance="auto")) == retriever.k
    numbers = (await way(retriever, "explain", question, min_relevance="auto")).relevance
    assert numbers["relevance"] >= 0
    assert "needed" not in numbers
    assert "needed" in (await way(retriever, "explain", question, min_relevance="auto", names=False)).relevance


async def test_a_filter_does_not_move_the_scale(way: Invoke, words: WordEmbeddings) -> None:
    documents = [each.model_copy(update={"metadata": {"n": n}}) for n, each in enumerate(DOCUMENTS)]
    retriever = SentenceWindowRetriever.from_documents(documents, words)
    numbers = [
        (await way(retriever, "explain", OFF_SUBJECT, min_relevance="auto", **settings)).relevance
        for settings in ({}, {"filter": {"n": {"$lt": 9}}})
    ]
    assert numbers[0]["unrelated"] == numbers[1]["unrelated"]
    assert await way(retriever, "invoke", OFF_SUBJECT, min_relevance="auto", filter={"n": {"$lt": 9}}) == []


async def test_an_index_of_one_sentence_is_judged_by_words(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents([Document("A refund of a seat.", id="a")], words)
    assert await way(retriever, "invoke", "refund of a seat", min_relevance="auto")
    assert await way(retriever, "invoke", OFF_SUBJECT, min_relevance="auto") != []  # no word says anything
