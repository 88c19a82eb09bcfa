"""Fitting a ranking: what it maximizes, by hand and by its gradient, and what it learns from made-up questions."""

import json
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.evaluation import FittedRanking, Question, afit_ranking, fit_ranking
from langchain_sentence_window.evaluation.fitted_ranking import MIN_GROUPS, MIN_QUESTIONS, fit
from langchain_sentence_window.evaluation.fitting_examples import FittingExample, find_examples, stacked
from langchain_sentence_window.evaluation.fitting_objective import Stack, minimize, smoothed_recall
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, SIGNALS, Ranking
from langchain_sentence_window.retrieval.expansion import WindowSetting
from tests.ranking.searches import candidates_of
from tests.toys import WordEmbeddings

NAMES = tuple(SIGNALS)
LONG = "This sentence has no number in it, and it says so in more than a hundred characters, so that it is a window."


def example(
    sentences: list[str], gold: list[int], *, doc_id: str = "d", dense: list[float] | None = None
) -> FittingExample:
    """A question about a document that is one section of sentences, each of which was found and is a window."""
    ends = list(accumulate(len(sentence) + 1 for sentence in sentences))
    spans = [(end - 1 - len(sentence), end - 1) for sentence, end in zip(sentences, ends, strict=True)]
    found = candidates_of({doc_id: [sentences]}, [(doc_id, index) for index in range(len(sentences))], dense)
    question = Question("What does it cost?", doc_id, tuple(spans[index] for index in gold))
    return FittingExample(question, found, [(doc_id, start, end) for start, end in spans])


def weights_of(**weights: float) -> Numbers:
    return np.array([weights.get(name, 0.0) for name in NAMES])


def test_pieces_and_recalls_by_hand() -> None:
    made = example(["It costs:", LONG, "Ten."], [1, 2], dense=[0.1, 0.5, 0.3])
    assert made.windows == [("d", 0, 9), ("d", 10, 10 + len(LONG)), ("d", 11 + len(LONG), 15 + len(LONG))]
    # The first sentence opens to the second.
    one = replace(made, windows=[("d", 0, 10 + len(LONG)), *made.windows[1:]])
    long, whole = len(LONG), len(LONG) + 4
    assert one.pieces == [(long / whole, [0, 1]), (4 / whole, [2])]
    # By dense score: 1, 2, then 0, of which only what stands before 1 is left.
    by_dense = one.recalls(weights_of(dense=1), [4, long, long + 2, 9999])
    assert by_dense == [4 / whole, long / whole, (long + 2) / whole, 1]
    # The other way: 0 and 1 in one window, and 1 is skipped.
    assert one.recalls(weights_of(dense=-1), [9, 14, 10 + long, 14 + long]) == [0, 4 / whole, long / whole, 1]
    elsewhere = replace(one, question=Question("q", "other", ((0, 5),)))
    assert elsewhere.pieces == []
    assert elsewhere.recalls(weights_of(dense=1), [400]) == [0]


def test_words_count_in_signals_as_they_do_when_candidates_are_reordered() -> None:
    one = example(["It costs ten.", LONG, "What is it?"], [0])
    without = replace(one, word_weight=0.0)
    of_words = np.array([SIGNALS[name].is_of_words for name in NAMES])
    assert one.signals[:, of_words].any()
    assert not without.signals[:, of_words].any()
    np.testing.assert_array_equal(without.signals[:, ~of_words], one.signals[:, ~of_words])


def test_smoothed_recall_is_the_recall_where_scores_are_far_apart() -> None:
    stack = made_stack(np.arange(40.0)[None, ::-1, None], lengths=100.0, gold=[[0], [11]])
    value, _ = smoothed_recall(stack, np.ones(1), [100_000])
    assert value == pytest.approx(1, abs=1e-4)
    # The first piece is read at once, the second after eleven windows of 100 characters.
    assert smoothed_recall(stack, np.ones(1), [300])[0] == pytest.approx(0.5, abs=0.05)
    # Read the other way round, they come after 39 and 28 windows.
    assert smoothed_recall(stack, -np.ones(1), [300])[0] == pytest.approx(0, abs=0.01)


def made_stack(signals: Numbers, lengths: float, gold: list[list[int]]) -> Stack:
    size = signals.shape[1]
    holders = np.array([[row in rows for row in range(size)] for rows in gold])
    shares = np.full(len(gold), 1 / len(gold))
    here = np.zeros(len(gold), dtype=np.int64)
    return Stack(signals, np.ones((1, size), dtype=np.bool_), np.full((1, size), lengths), here, shares, holders)


def test_the_gradient_is_that_of_the_value() -> None:
    random = np.random.default_rng(1)
    examples = []
    for number in range(8):
        sentences = [LONG[: 40 + 12 * index] + "." for index in random.permutation(6)]
        examples.append(example(sentences, [number % 6], dense=random.random(6).tolist()))
    # The own length of a window that holds gold has no part in the gradient, so here it is nothing.
    stack = stacked(examples)
    held = np.zeros_like(stack.present)
    np.logical_or.at(held, stack.questions, stack.holders)
    stack = replace(stack, lengths=np.where(held, 1.0, stack.lengths))
    weights = random.normal(size=len(NAMES)) / 5
    _, gradient = smoothed_recall(stack, weights, [100, 400])
    steps = 1e-5 * np.eye(len(NAMES))
    ends = [[smoothed_recall(stack, weights + sign * step, [100, 400])[0] for sign in (1, -1)] for step in steps]
    by_steps = [(up - down) / 2e-5 for up, down in ends]
    assert np.abs(gradient).max() > 1e-3
    np.testing.assert_allclose(gradient, by_steps, atol=1e-4)


def test_the_lowest_point_of_a_narrow_valley_is_found() -> None:
    def valley(at: Numbers) -> tuple[float, Numbers]:
        x, y = at
        value = (1 - x) ** 2 + 100 * (y - x * x) ** 2
        return float(value), np.array([-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)])

    np.testing.assert_allclose(minimize(valley, np.array([-1.2, 1.0])), [1, 1], atol=0.01)
    start = np.array([3.0])
    assert minimize(lambda at: (0.0, np.zeros_like(at)), start) is start


def made_up(count: int, *, seed: int, documents: int = 10, by_chance: bool = False) -> list[FittingExample]:
    """Questions whose gold is the only sentence with a number, or any sentence."""
    random = Random(seed)
    examples = []
    for number in range(count):
        sentences = [f"{word} {LONG}" for word in random.sample([*"abcdefghijklmnopqrstuvwxyz"], 20)]
        answer = random.randrange(20)
        if not by_chance:
            sentences[answer] = sentences[answer].replace("no number", "the number 12")
        examples.append(
            example(sentences, [answer], doc_id=f"d{number % documents}", dense=[random.random() for _ in sentences])
        )
    return examples


def test_what_tells_gold_is_learned_and_recommended() -> None:
    fitted = fit(made_up(40, seed=3))
    assert fitted.fitted.weights["digit"] > 0.5
    assert fitted.is_recommended
    assert fitted.ranking is fitted.fitted
    assert fitted.gain.low > 0.05
    assert fitted.gain.mean == pytest.approx(np.mean(fitted.recall_after) - np.mean(fitted.recall_before))
    assert (fitted.questions, fitted.without_gold, fitted.groups) == (40, 0, "documents")
    assert "Use the fitted ranking." in str(fitted)
    assert "digit +" in str(fitted)
    assert "cross-validated" in fitted.fitted.description
    # The same examples give the same ranking, in any order of the budgets.
    again = fit(made_up(40, seed=3), budgets=[3200, 400, 1600, 800, 400])
    assert again == fitted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_chance_is_not_recommended(seed: int) -> None:
    fitted = fit(made_up(40, seed=seed, by_chance=True))
    assert fitted.gain.low <= 0
    assert not fitted.is_recommended
    assert fitted.ranking is DEFAULT_RANKING
    assert "Not recommended" in str(fitted)


@pytest.mark.slow
def test_questions_without_gold_count_and_teach_nothing() -> None:
    examples = made_up(40, seed=3)
    lost = [replace(each, question=Question("Where?", f"none{n}", ((0, 9),))) for n, each in enumerate(examples[:20])]
    nothing = [replace(each, candidates=candidates_of({}, []), windows=[]) for each in lost]
    alone, both = fit(examples), fit([*examples, *lost, *nothing])
    assert (both.questions, both.without_gold) == (80, 40)
    assert both.gain.mean < alone.gain.mean
    assert both.fitted.weights["digit"] > 0.3


@pytest.mark.slow
def test_questions_of_few_documents_are_parted_by_question() -> None:
    examples = made_up(40, seed=3, documents=2)
    different = [
        replace(each, question=replace(each.question, question=f"What does it cost in {number % 8}?"))
        for number, each in enumerate(examples)
    ]
    for given in (examples, different):
        fitted = fit(given)
        assert fitted.groups == "questions"
        assert fitted.is_recommended


MARKS = ("What is 12? ", "a\n", "# 7 ", "of the United States ")


def marked(*, in_one_document: bool) -> list[FittingExample]:
    """Questions of several kinds, or documents, in each of which another mark tells the gold."""
    examples = []
    for number, each in enumerate(made_up(40, seed=5, by_chance=True)):
        kind = number % len(MARKS)
        sentences, answer = list(each.candidates.texts), number % 20
        sentences[answer] = MARKS[kind] + sentences[answer]
        doc_id = "d" if in_one_document else f"d{kind}"
        one = example(sentences, [answer], doc_id=doc_id, dense=each.candidates.dense.tolist())
        examples.append(replace(one, question=replace(one.question, question=f"What of {number}?")))
    return examples


@pytest.mark.slow
def test_questions_of_one_document_are_left_out_together() -> None:
    assert len(MARKS) >= MIN_GROUPS
    by_document, by_question = fit(marked(in_one_document=False)), fit(marked(in_one_document=True))
    assert (by_document.groups, by_question.groups) == ("documents", "questions")
    # The fit is the same, but what was learned in a document doesn't help in another one.
    assert by_document.recall_before == by_question.recall_before
    assert by_question.gain.mean > by_document.gain.mean + 0.05


@pytest.mark.slow
def test_a_prior_of_any_scale_is_the_start() -> None:
    small = {name: weight / 50 for name, weight in DEFAULT_RANKING.weights.items()}
    usual, scaled = fit(made_up(30, seed=4)), fit(made_up(30, seed=4), Ranking(small))
    assert scaled.recall_before == usual.recall_before
    assert scaled.recall_after == pytest.approx(usual.recall_after)
    assert scaled.fitted.weights["digit"] == pytest.approx(usual.fitted.weights["digit"] / 50, abs=1e-3)
    # Without any weight, too.
    assert fit(made_up(30, seed=4), Ranking({})).fitted.weights["digit"] > 0


def test_what_can_not_be_fitted() -> None:
    examples = made_up(MIN_QUESTIONS, seed=1)
    assert isinstance(fit(examples), FittedRanking)
    with pytest.raises(InvalidInputError, match="19 of 19 questions have gold .* at least 20"):
        fit(examples[1:])
    for wrong in (None, examples[0], "examples", 3):
        with pytest.raises(InvalidInputError, match="examples is .*; give a list"):
            fit(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"examples\[1\] is 3; give a FittingExample"):
        fit([examples[0], 3])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="prior is None; give a Ranking"):
        fit(examples, None)  # type: ignore[arg-type]
    for budgets in ([], [0], 400, ["x"], None):
        with pytest.raises(InvalidInputError, match="budget"):
            fit(examples, budgets=budgets)  # type: ignore[arg-type]
    one = examples[0]
    for change, message in (
        ({"question": "q"}, "give a Question"),
        ({"candidates": []}, "give the Candidates"),
        ({"windows": [("d", 0, 1)]}, "1 windows and 20 candidates"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            replace(one, **change)


TOPICS = ("refund", "shipping", "parcel", "customer", "warranty", "return", "payment", "order")


def shop() -> tuple[list[Document], list[Question]]:
    """Documents whose numbers are asked for, with other sentences on the same topic before and after."""
    documents, questions = [], []
    for number in range(24):
        topic = TOPICS[number % len(TOPICS)]
        sentences = [
            f"The {topic} is a thing that this page explains at length, so that all who read it know what it is about.",
            f"For a {topic} the shop takes {number + 2} dollars, to be paid before anything else is done about it.",
            f"A {topic} may also be the subject of a letter, which the shop answers as soon as it has read all of it.",
        ]
        text = " ".join(sentences)
        start = text.index(sentences[1])
        documents.append(Document(text, metadata={"doc_id": f"page{number}"}))
        questions.append(Question(f"How much is the {topic}?", f"page{number}", ((start, start + len(sentences[1])),)))
    return documents, questions


@pytest.mark.slow
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_retriever_takes_what_was_fitted_to_it(words: WordEmbeddings, tmp_path: Path, is_async: bool) -> None:
    documents, questions = shop()
    retriever = SentenceWindowRetriever.from_documents(documents, words)
    before = retriever.invoke("How much is the refund?")
    fitted = await afit_ranking(retriever, questions) if is_async else fit_ranking(retriever, questions)
    assert fitted.questions == 24
    assert fitted.without_gold == 0
    assert fitted.prior == retriever.ranking == DEFAULT_RANKING
    assert retriever.invoke("How much is the refund?") == before
    path = tmp_path / "ranking.json"
    fitted.save(path)
    assert json.loads(path.read_text())["weights"] == dict(fitted.ranking.weights)
    other = retriever.model_copy(update={"ranking": str(path)})
    assert other.ranking == fitted.ranking
    assert other.invoke("How much is the refund?")


class NoFetchStore(InMemoryVectorStore):
    """Can't fetch by id."""

    def get_by_ids(self, ids: Any, /) -> Any:
        raise NotImplementedError


SHORT = "A refund is free. A parcel is not."
WINDOWS: dict[WindowSetting, list[str]] = {
    "auto": [f"# Fees\n\n{SHORT}", f"{SHORT} {LONG}", f"A parcel is not. {LONG}"],
    0: ["# Fees", "A refund is free.", "A parcel is not."],
    (1, 2): [f"# Fees\n\n{SHORT}", f"# Fees\n\n{SHORT} {LONG}", f"{SHORT} {LONG} {LONG}"],
}


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("has_ids", [True, False])
def test_candidates_open_to_the_windows_of_the_retriever(
    words: WordEmbeddings, window: WindowSetting, has_ids: bool
) -> None:
    text = f"# Fees\n\n{SHORT} {LONG} {LONG}"
    document = Document(text, metadata={"doc_id": "d"})
    retriever = SentenceWindowRetriever.from_documents([document], words, window=window)
    if not has_ids:
        splitter = SentenceSplitter(inline_window=3)
        retriever = SentenceWindowRetriever(vectorstore=NoFetchStore(words), window=window, splitter=splitter)
        retriever.add_documents([document])
    (one,) = run(find_examples(BLOCKING, retriever, [Question("Which refund?", "d", ((8, 20),))], show_progress=False))
    opened = {key: text[start:end] for key, (_, start, end) in zip(one.candidates.keys, one.windows, strict=True)}
    assert [opened["d", index] for index in range(3)] == WINDOWS[window]
    assert one.word_weight == 1


def test_a_search_that_finds_nothing_has_no_candidates(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever.from_documents([Document("A refund.", metadata={"doc_id": "d"})], words)
    retriever.delete(["d"])
    (one,) = run(find_examples(BLOCKING, retriever, [Question("Which refund?", "d", ((8, 20),))], show_progress=False))
    assert len(one.candidates) == 0
    assert one.pieces == []


def test_what_is_no_retriever_and_no_question(words: WordEmbeddings) -> None:
    documents, questions = shop()
    retriever = SentenceWindowRetriever.from_documents(documents[:2], words)
    with pytest.raises(InvalidInputError, match="give a SentenceWindowRetriever"):
        fit_ranking(retriever.vectorstore.as_retriever(), questions)  # type: ignore[arg-type]
    with (
        pytest.warns(SentenceWindowWarning, match="22 of 24 questions aren't counted"),
        pytest.raises(InvalidInputError, match="have gold among the candidates"),
    ):
        fit_ranking(retriever, questions)
    with pytest.raises(InvalidInputError, match="have gold among the candidates"):
        fit_ranking(retriever, [])
    with pytest.raises(InvalidInputError, match="questions"):
        fit_ranking(retriever, "questions.jsonl")  # type: ignore[arg-type]
