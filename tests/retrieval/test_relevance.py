"""Questions on another subject return nothing: whatever the ranking, the store and the way of asking."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.answering.locations import MAY_NOT_ANSWER, doubt_about
from langchain_sentence_window.documents.window_merging import merge_windows
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.evaluation import (
    Question,
    asuggest_min_relevance,
    read_questions,
    suggest_min_relevance,
)
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING
from langchain_sentence_window.ranking.relevance import DOUBTFUL, NEEDED
from langchain_sentence_window.store.state import IndexState
from langchain_sentence_window.store.tables import Snapshot
from tests.conftest import Invoke
from tests.toys import VOCABULARY, WordEmbeddings

EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS = [(one, other) for one in VOCABULARY for other in VOCABULARY if one != other]
DOCUMENTS = [Document(f"It says {one} {other}. Here is {other} once.", id=f"{one} {other}") for one, other in PAIRS]
ON_SUBJECT = "It says refund seat?"
OFF_SUBJECT = "Whose dog barks here whenever passing trains whistle?"


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def store(request: pytest.FixtureRequest, words: WordEmbeddings) -> VectorStore:
    made: VectorStore = request.param(words)
    SentenceWindowRetriever(vectorstore=made).add_documents(DOCUMENTS)
    return made


def said(windows: list[Document]) -> list[tuple[str, float, list[float]]]:
    return [
        (window.page_content, window.metadata["score"], [hit["similarity"] for hit in window.metadata["hits"]])
        for window in windows
    ]


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


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), True, "none", [0.1]])
def test_what_is_no_probability_is_refused(store: VectorStore, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"min_relevance is .*; give 'auto', a number from 0 to 1, or None"):
        SentenceWindowRetriever(vectorstore=store, min_relevance=value)


async def test_the_number_that_loses_few_questions(store: VectorStore) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store, min_relevance="auto", k=5)
    asked = [ON_SUBJECT, f"Here is {VOCABULARY[0]} once?", f"Who says {VOCABULARY[1]}?", OFF_SUBJECT]
    questions = [Question(each, "refund seat", ((0, 2),)) for each in asked]
    for most_lost, lost in ((0, 0), (0.2, 0), (0.25, 1), (0.7, 2)):
        needed = suggest_min_relevance(retriever, questions, most_lost=most_lost)
        assert needed == await asuggest_min_relevance(retriever, questions, most_lost=most_lost)
        assert sum(not retriever.invoke(each, min_relevance=needed) for each in asked) == lost
    for wrong in (-0.1, 1, "few"):
        with pytest.raises(InvalidInputError, match=r"most_lost is .*; give a share from 0 to below 1"):
            suggest_min_relevance(retriever, questions, most_lost=wrong)  # type: ignore[arg-type]
    assert 0 < suggest_min_relevance(retriever.model_copy(update={"ranking": None}), questions, most_lost=0.5) <= 1
    with pytest.raises(InvalidInputError, match="there are no questions; give at least one that your documents answer"):
        suggest_min_relevance(retriever, [])
    with pytest.raises(InvalidInputError, match="retriever is .*; give a SentenceWindowRetriever"):
        suggest_min_relevance(store, questions)  # type: ignore[arg-type]


@pytest.mark.parametrize("lexical_weight", [0, 0.25])
@pytest.mark.parametrize("ranking", [None, DEFAULT_RANKING])
@pytest.mark.parametrize("k", [1, 3])
async def test_what_is_supported_is_as_without_judging(
    store: VectorStore, way: Invoke, ranking: Any, lexical_weight: float, k: int
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store, ranking=ranking, lexical_weight=lexical_weight, k=k)
    judged = await way(retriever, "invoke", ON_SUBJECT, min_relevance="auto")
    assert judged
    assert said(judged) == said(await way(retriever, "invoke", ON_SUBJECT))[: len(judged)]


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


async def test_windows_of_several_questions_keep_the_best_relevance(store: VectorStore, way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store)
    found = [await way(retriever, "invoke", question) for question in (OFF_SUBJECT, ON_SUBJECT)]
    for window in merge_windows([*found[0], *found[0], *found[1]]):
        of_it = [each for each in [*found[0], *found[1]] if each.metadata["doc_id"] == window.metadata["doc_id"]]
        assert window.metadata["relevance"] == max(each.metadata["relevance"] for each in of_it)


async def test_signals_are_those_of_the_ranking_alone(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, words)
    for ranking, names in ((None, set[str]()), (DEFAULT_RANKING, set(DEFAULT_RANKING.weights))):
        trace = await way(retriever, "explain", ON_SUBJECT, ranking=ranking, min_relevance="auto")
        assert {name for hit in trace.hits for name in hit.signals} == names


def noting(name: str, search: Callable[..., Any], searched: list[str]) -> Callable[..., Any]:
    def noted(*given: Any, **settings: Any) -> Any:
        searched.append(name)
        return search(*given, **settings)

    return noted


@pytest.mark.parametrize("weight", [0, 0.5])
@pytest.mark.parametrize("judging", [None, "auto"])
async def test_one_search_without_a_ranking_tells_similarities_and_judges(
    way: Invoke, words: WordEmbeddings, monkeypatch: pytest.MonkeyPatch, weight: float, judging: Any
) -> None:
    settings: dict[str, Any] = {"ranking": None, "lexical_weight": weight, "names": False}
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, words, **settings)
    dense = retriever.vectorstore.similarity_search_with_score(ON_SUBJECT, 2 * len(DOCUMENTS))
    cosines = {(each.metadata["doc_id"], each.metadata["sentence_index"]): score for each, score in dense}
    retriever.invoke(ON_SUBJECT, min_relevance=judging)  # what it embeds once
    searched: list[str] = []
    for name in ("search", "nearest"):
        monkeypatch.setattr(IndexState, name, noting(name, getattr(IndexState, name), searched))
    windows = await way(retriever, "invoke", ON_SUBJECT, min_relevance=judging)
    assert searched == ["search"]
    for window in windows:
        for hit in window.metadata["hits"]:
            assert hit["similarity"] == pytest.approx(cosines[window.metadata["doc_id"], hit["sentence_index"]])


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


async def test_nothing_but_the_question_is_embedded(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, words)
    before = words.calls
    for question in (ON_SUBJECT, OFF_SUBJECT):
        await way(retriever, "invoke", question, min_relevance="auto")
        await way(retriever, "explain", question)
    assert words.calls == before


async def test_unrelated_sentences_are_looked_at_again_when_something_has_changed(
    way: Invoke, words: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, words)
    sampled: list[str] = []
    monkeypatch.setattr(Snapshot, "sampled_vectors", noting("sampled", Snapshot.sampled_vectors, sampled))
    for documents, times in (([], 1), ([Document("Other.", id="o")], 2)):
        retriever.add_documents(documents)
        for _ in range(2):
            await way(retriever, "invoke", ON_SUBJECT)
        assert len(sampled) == times


async def test_a_filter_does_not_move_the_scale(way: Invoke, words: WordEmbeddings) -> None:
    documents = [each.model_copy(update={"metadata": {"n": n}}) for n, each in enumerate(DOCUMENTS)]
    retriever = SentenceWindowRetriever.from_documents(documents, words)
    numbers = [
        (await way(retriever, "explain", OFF_SUBJECT, min_relevance="auto", **settings)).relevance
        for settings in ({}, {"filter": {"n": {"$lt": 9}}})
    ]
    assert numbers[0]["unrelated"] == numbers[1]["unrelated"]
    assert await way(retriever, "invoke", OFF_SUBJECT, min_relevance="auto", filter={"n": {"$lt": 9}}) == []


@pytest.mark.parametrize("ranking", [None, DEFAULT_RANKING])
async def test_a_filter_that_finds_nothing_warns_once(way: Invoke, words: WordEmbeddings, ranking: Any) -> None:
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, words, ranking=ranking)
    with pytest.warns(SentenceWindowWarning, match="colour") as warned:
        assert await way(retriever, "invoke", ON_SUBJECT, min_relevance="auto", filter={"colour": "red"}) == []
    assert len(warned) == 1


async def test_nothing_is_embedded_for_an_empty_index(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    for ranking in (None, DEFAULT_RANKING):
        assert await way(retriever, "invoke", ON_SUBJECT, min_relevance="auto", ranking=ranking) == []
    assert words.calls == 0


async def test_an_index_of_one_sentence_is_judged_by_words(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents([Document("A refund of a seat.", id="a")], words)
    assert await way(retriever, "invoke", "refund of a seat", min_relevance="auto")
    assert await way(retriever, "invoke", OFF_SUBJECT, min_relevance="auto") != []  # no word says anything


def headed_and_plain() -> Iterator[tuple[str, str]]:
    text = (EXAMPLES / "documents" / "billing-policy.md").read_text(encoding="utf-8")
    yield "headed", text
    yield "plain", "\n".join(line for line in text.splitlines() if not line.startswith("#"))


@pytest.mark.slow
def test_headings_change_few_verdicts(recorded: Embeddings) -> None:
    questions = [each.question for each in read_questions(EXAMPLES / "questions.jsonl") if "billing" in each.doc_id]
    others = [
        "Who won the World Cup in 1998?",
        "How many legs does a spider have?",
        "When did the Roman empire fall?",
        "Which gene causes cystic fibrosis?",
        "What did the president say about the war?",
    ]
    for name, text in headed_and_plain():
        retriever = SentenceWindowRetriever.from_documents([Document(text, id=name)], recorded)
        answered = [bool(retriever.invoke(each, min_relevance="auto")) for each in questions]
        assert sum(answered) >= 0.75 * len(questions)
        assert [retriever.invoke(each, min_relevance="auto") for each in others] == [[]] * len(others)


def test_the_needed_relevance_is_below_that_of_a_sentence_of_the_collection(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, words)
    for one, other in PAIRS[::9]:
        numbers = retriever.explain(f"It says {one} {other}.", min_relevance="auto").relevance
        assert numbers["relevance"] > NEEDED
