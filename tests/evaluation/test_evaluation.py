"""The evaluation: its arithmetic with numbers worked out by hand, and whole runs on small indexes."""

import copy
import json
import threading
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_sentence_window import SentenceWindowRetriever, evaluation
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.evaluation import Passage, Question, read_questions, write_questions
from langchain_sentence_window.evaluation.metrics import (
    METRICS,
    is_wrong_section,
    mean_cis,
    score,
    title,
    union,
    within_budget,
)
from tests.conftest import Invoke
from tests.toys import WordEmbeddings, document

# 100 characters, so that a span's ends are its share in percent.
TEXT = "".join(chr(ord("a") + i % 26) for i in range(100))


class Fixed(BaseRetriever):
    """Returns the same spans of `TEXT`, or of other documents, whatever is asked."""

    spans: list[tuple[str, int, int]]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(page_content=TEXT[start:end], metadata={"doc_id": doc_id, "start_index": start})
            for doc_id, start, end in self.spans
        ]


def question(*spans: tuple[int, int], doc_id: str = "a") -> Question:
    return Question("Which letters?", doc_id, spans)


# The arithmetic.


async def test_each_measure_at_each_budget(way: Invoke) -> None:
    """Gold: 20 characters. Read: [0, 20), [10, 30) which repeats 10, 10 of another document, [90, 100)."""
    retriever = Fixed(spans=[("a", 0, 20), ("a", 10, 30), ("b", 10, 20), ("a", 90, 100)])
    report = await way(evaluation, "evaluate", retriever, [question((10, 25), (95, 100))], [200, 5, 30, 57])
    assert report.budgets == (5, 30, 57, 200)
    (result,) = report.results
    # used, held: 5 of which none; 20 + 10 of which [10, 20); 20 + 20 + 10 + 7 of which [10, 25) and [95, 97); all 60.
    expected = [(5, 0), (30, 10), (57, 17), (60, 20)]
    for found, (used, held) in zip(result.scores, expected, strict=True):
        assert found.used == used
        assert found.recall == held / 20
        assert found.precision == held / used
        assert found.iou == pytest.approx(held / (20 + used - held))
    assert [found.full_coverage for found in result.scores] == [0, 0, 0, 1]


def test_repeated_text_is_paid_for_each_time() -> None:
    retriever = Fixed(spans=[("a", 0, 40)] * 3 + [("a", 40, 60)])
    report = evaluation.evaluate(retriever, [question((0, 60))], [60, 120, 140])
    assert [(means.recall.mean, means.precision.mean) for means in report.averages] == [
        (40 / 60, 40 / 60),
        (40 / 60, 40 / 120),
        (1, 60 / 140),
    ]


def test_every_metric_is_scored_averaged_and_shown() -> None:
    assert [field.name for field in fields(evaluation.Averages)] == ["budget", *METRICS]
    report = evaluation.evaluate(Fixed(spans=[("a", 0, 40)]), [question((0, 60))], [60])
    (result,) = report.results
    for name in METRICS:
        assert getattr(report.at(60), name).mean == report.values(name, 60)[0] == getattr(result.scores[0], name)
        assert set(title(name).split()) <= set(str(report).split())


def test_95_percent_of_the_gold_are_the_whole_of_it() -> None:
    for end, whole in ((94, 0), (95, 1)):
        assert (
            evaluation.evaluate(Fixed(spans=[("a", 0, end)]), [question((0, 100))], [100]).at(100).full_coverage.mean
            == whole
        )


async def test_every_question_is_scored(way: Invoke) -> None:
    questions = [question((0, 10)), question((0, 10), doc_id="b"), question((50, 60))]
    report = await way(evaluation, "evaluate", Fixed(spans=[("a", 0, 10)]), questions, [100])
    assert [result.scores[0].recall for result in report.results] == [1, 0, 0]
    assert report.at(100).recall.mean == pytest.approx(1 / 3)
    empty = await way(evaluation, "evaluate", Fixed(spans=[]), questions, [100])
    (means,) = empty.averages
    assert [means.recall.mean, means.precision.mean, means.iou.mean, means.full_coverage.mean, means.used.mean] == [
        0.0
    ] * 5


def test_budgets_in_tokens() -> None:
    """A token is four letters, begun ones counted: the second passage is cut to the one token that is left."""

    def count_tokens(text: str) -> int:
        return -(-len(text) // 4)

    retriever = Fixed(spans=[("a", 0, 10), ("a", 10, 30)])
    report = evaluation.evaluate(retriever, [question((0, 20))], [4], count_tokens=count_tokens)
    (result,) = report.results
    assert report.unit == "tokens"
    assert (result.scores[0].used, result.scores[0].recall, result.scores[0].precision) == (4, 14 / 20, 1)


def test_a_counter_that_finds_tokens_in_nothing_ends_the_context() -> None:
    """As tokenizers do that add marks to each text."""
    passages = [Passage("a", 0, "abcd"), Passage("a", 4, "efgh")]
    assert within_budget(passages, 7, lambda text: len(text) + 2) == passages[:1]
    assert within_budget(passages, 1, lambda text: len(text) + 2) == []


def test_a_passage_whose_place_is_unknown_is_paid_for_and_covers_nothing() -> None:
    """RecursiveCharacterTextSplitter writes -1 for a chunk it doesn't find again."""

    class Lost(Fixed):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            return [Document(page_content=TEXT, metadata={"source": "a", "start_index": -1})]

    means = evaluation.evaluate(Lost(spans=[]), [question((0, 10))], [200]).at(200)
    assert (means.used.mean, means.recall.mean) == (100, 0)


PLACES = st.integers(0, 60)
SPANS = st.lists(st.tuples(PLACES, PLACES).filter(lambda span: span[0] < span[1]), max_size=6)
GOLD = SPANS.filter(bool)


def passages_of(spans: Sequence[tuple[int, int]]) -> list[Passage]:
    return [Passage("a", start, TEXT[start:end]) for start, end in spans]


@given(context=SPANS, gold=GOLD, budget=st.integers(1, 200))
def test_measures_agree_with_counting_characters_one_by_one(
    context: list[tuple[int, int]], gold: list[tuple[int, int]], budget: int
) -> None:
    found = score(within_budget(passages_of(context), budget, len), "a", gold, len)
    read = [i for start, end in context for i in range(start, end)][:budget]
    wanted = {i for start, end in gold for i in range(start, end)}
    held = len(wanted & set(read))
    assert found.used == len(read)
    assert found.recall == held / len(wanted)
    assert found.precision == (held / len(read) if read else 0)
    assert found.iou == held / (len(wanted) + len(read) - held)
    assert 0 <= found.iou <= min(found.precision, found.recall) <= 1


@given(context=SPANS, gold=GOLD, budgets=st.tuples(st.integers(1, 200), st.integers(1, 200)))
def test_a_larger_budget_never_lowers_the_recall(
    context: list[tuple[int, int]], gold: list[tuple[int, int]], budgets: tuple[int, int]
) -> None:
    small, large = (
        score(within_budget(passages_of(context), budget, len), "a", gold, len) for budget in sorted(budgets)
    )
    assert small.recall <= large.recall
    assert small.used <= large.used


@given(context=SPANS, gold=GOLD, other=st.permutations(range(6)))
def test_the_order_of_gold_spans_is_of_no_account(
    context: list[tuple[int, int]], gold: list[tuple[int, int]], other: list[int]
) -> None:
    shuffled = [gold[i] for i in other if i < len(gold)]
    passages = passages_of(context)
    assert score(passages, "a", gold, len) == score(passages, "a", shuffled + gold[:1], len)


@given(spans=SPANS)
def test_a_union_is_sorted_disjoint_and_holds_the_same_characters(spans: list[tuple[int, int]]) -> None:
    joined = union(spans)
    assert [i for a, b in joined for i in range(a, b)] == sorted({i for a, b in spans for i in range(a, b)})
    assert union(joined) == joined


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_intervals_are_the_same_each_time_and_lie_in_the_range(values: list[float]) -> None:
    (first,) = mean_cis([[value] for value in values], (0, 1))
    assert mean_cis([[value] for value in values], (0, 1)) == [first]
    slack = 1e-9
    lowest, highest = (min(values), max(values)) if len(set(values)) > 1 else (0, 1)
    assert lowest - slack <= first.low <= first.high <= highest + slack
    assert first.mean == pytest.approx(sum(values) / len(values))


def test_the_interval_of_a_share_is_near_that_of_the_normal_distribution() -> None:
    """100 questions, half of them right: .5 ± 1.96 · √(.25 / 100) = .5 ± .098."""
    (found,) = mean_cis([[i % 2] for i in range(100)], (0, 1))
    assert found.mean == 0.5
    assert (found.low, found.high) == pytest.approx((0.402, 0.598), abs=0.015)


@pytest.mark.parametrize(
    ("count", "value", "ends", "expected"),
    [
        (1, 1.0, (0, 1), (0.025, 1)),
        (2, 1.0, (0, 1), (0.1581, 1)),  # √.025: what Clopper and Pearson give for 2 of 2
        (40, 1.0, (0, 1), (0.9119, 1)),  # and for 40 of 40
        (40, 0.0, (0, 1), (0, 0.0881)),
        (2, 0.5, (0, 1), (0.0791, 0.9209)),
        (2, 1.0, (-1, 1), (-0.6838, 1)),
        (2, 300.0, None, (300, 300)),
    ],
)
def test_the_interval_of_equal_values_covers_what_so_many_questions_can_miss(
    count: int, value: float, ends: tuple[float, float] | None, expected: tuple[float, float]
) -> None:
    (found,) = mean_cis([[value]] * count, ends)
    assert (found.mean, found.low, found.high) == pytest.approx((value, *expected), abs=1e-4)


def test_two_questions_that_are_wholly_answered_prove_little() -> None:
    asked = [question((0, 10)), question((10, 20))]
    report = evaluation.evaluate(Fixed(spans=[("a", 0, 50)]), asked, [50])
    assert "100.0 [15.8, 100.0]" in str(report)
    compared = evaluation.compare({"one": Fixed(spans=[("a", 0, 50)]), "none": Fixed(spans=[])}, asked, [50])
    assert compared.difference("one", "none", 50).low < 0
    single = str(evaluation.evaluate(Fixed(spans=[("a", 0, 50)]), asked[:1], [50]))
    assert "Note: with only 1 question, intervals are rough" in single


# Sections.

SECTIONED = (
    "# Plans\n\nSolo is cheap.\n\n## Refunds\n\nA refund is given. Not after a month.\n\n## Cards\n\nA card is charged."
)


def at(text: str, within: str = SECTIONED) -> tuple[int, int]:
    return within.index(text), within.index(text) + len(text)


@pytest.mark.parametrize(
    ("first", "wrong"),
    [((0, 10), True), ((25, 30), False), ((15, 25), False), ((30, 40), False), ((40, 50), True), ((0, 60), False)],
)
def test_a_passage_is_wrong_if_it_shares_no_section_with_the_gold(first: tuple[int, int], wrong: bool) -> None:
    """Sections begin at 0, 20 and 40; gold is in the second."""
    (passage,) = passages_of([first])
    assert is_wrong_section(passage, "a", [(30, 35)], [0, 20, 40]) is wrong
    assert is_wrong_section(passage, "b", [(30, 35)], [0, 20, 40])
    assert is_wrong_section(None, "a", [(30, 35)], [0, 20, 40])


async def test_sections_are_read_from_the_store_or_from_the_documents(way: Invoke) -> None:
    documents = [document(SECTIONED)]
    windows = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), window=0)
    # The first asks for the gold's section, the second for another one.
    questions = [
        Question("refund", "a", (at("Not after a month."),)),
        Question("card", "a", (at("A refund is given."),)),
    ]
    report = await way(evaluation, "evaluate", windows, questions)
    assert [result.wrong_section for result in report.results] == [False, True]
    assert report.wrong_section is not None
    assert report.wrong_section.mean == 0.5
    other = Fixed(spans=[("a", 0, 10)])
    assert (await way(evaluation, "evaluate", other, questions)).wrong_section is None
    known = await way(evaluation, "evaluate", other, questions, documents=documents)
    assert known.wrong_section.mean == 1
    both = await way(evaluation, "compare", {"other": other, "windows": windows}, questions)
    assert [both.reports[name].wrong_section.mean for name in ("other", "windows")] == [1, 0.5]


async def test_the_document_of_a_question_may_be_missing_from_the_store(way: Invoke) -> None:
    windows = SentenceWindowRetriever.from_documents([document(SECTIONED)], WordEmbeddings())
    questions = [Question("refund", "a", (at("A refund is given."),)), Question("refund", "b", ((0, 9),))]
    with pytest.warns(SentenceWindowWarning, match="1 of 2 questions aren't counted.*'refund': 'b' isn't among"):
        report = await way(evaluation, "evaluate", windows, questions)
    assert [(result.wrong_section, result.scores[-1].recall) for result in report.results] == [(False, 1)]
    assert [(lost.question, lost.reason) for lost in report.lost] == [(questions[1], "missing")]


async def test_each_store_is_looked_at_once_for_documents_that_it_lacks(way: Invoke) -> None:
    windows = SentenceWindowRetriever.from_documents([document(SECTIONED)], WordEmbeddings())
    asked = [Question("refund", "a", ((0, 9),)), Question("refund", "b", ((0, 9),))]
    with pytest.warns(SentenceWindowWarning, match="'b'") as warned:
        await way(evaluation, "sweep", windows, asked, k=[1, 2, 3])
    assert len(warned) == 1
    # The documents that are given may be called otherwise in the index.
    asked, given = [Question("refund", "a.md", ((0, 9),))], [document(SECTIONED, "a.md")]
    report = await way(evaluation, "evaluate", windows, asked, documents=given)
    assert "nothing was found of 'a.md'" in str(report)


async def test_settings_that_are_written_alike_are_told_apart(way: Invoke) -> None:
    windows = SentenceWindowRetriever.from_documents([document(SECTIONED)], WordEmbeddings())
    searches = [{"filter": {"doc_id": "a"}}, {"filter": {"doc_id": "b"}}]
    asked = [Question("refund", "a", (at("A refund is given."),))]
    swept = await way(evaluation, "sweep", windows, asked, [400], search_kwargs=searches)
    assert [report.at(400).recall.mean for report in swept.reports.values()] == [1, 0]


async def test_counting_tokens_keeps_no_event_loop_waiting() -> None:
    counted_in = set()

    def count_tokens(text: str) -> int:
        counted_in.add(threading.current_thread())
        return len(text)

    await evaluation.aevaluate(Fixed(spans=[("a", 0, 10)]), [question((0, 5))], count_tokens=count_tokens)
    assert counted_in
    assert threading.current_thread() not in counted_in


async def test_sections_of_a_document_of_many_sentences_are_read_to_the_last(way: Invoke) -> None:
    text = "".join(f"# Part {i}\n\nSeat number {i}.\n\n" for i in range(200)) + "# Last\n\nThe refund."
    retriever = SentenceWindowRetriever.from_documents([document(text)], WordEmbeddings(), window=0, k=1)
    inside, before = (at("The refund.", text), at("Seat number 199.", text))
    report = await way(
        evaluation, "evaluate", retriever, [Question("refund", "a", (span,)) for span in (inside, before)]
    )
    assert [result.wrong_section for result in report.results] == [False, True]


# Retrievers.


async def test_fixed_chunks_of_langchain_are_measured_as_they_come(way: Invoke) -> None:
    texts = {
        "a.md": "Refund of the annual plan. Then a seat. Then a card.",
        "b.md": "A backup of a page. And a replica.",
    }
    splitter = RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0, add_start_index=True)
    documents = [Document(page_content=text, metadata={"source": name}) for name, text in texts.items()]
    store = InMemoryVectorStore.from_documents(splitter.split_documents(documents), WordEmbeddings())
    question = Question("A backup?", "b.md", (at("A backup of a page.", texts["b.md"]),))
    report = await way(
        evaluation, "evaluate", store.as_retriever(search_kwargs={"k": 1}), [question], documents=documents
    )
    assert report.at(400).recall.mean == 1
    assert report.wrong_section is not None
    assert report.wrong_section.mean == 0


async def test_windows_are_taken_best_first_whatever_the_order(way: Invoke) -> None:
    texts = ["Refund refund.", "Refund card.", "Refund seat page."]
    documents = [document(text, str(i)) for i, text in enumerate(texts)]
    results = []
    for order in ("relevance", "edges", "document"):
        retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), order=order, k=3)
        report = await way(evaluation, "evaluate", retriever, [Question("refund", "1", ((0, 12),))], [20])
        results.append([passage.doc_id for passage in report.results[0].passages])
        assert retriever.order == order
    assert results == [["0", "1", "2"]] * 3


async def test_a_sweep_tries_each_combination_and_embeds_no_document(way: Invoke) -> None:
    words = WordEmbeddings()
    text = "A seat. The refund. A card. A page. A trial."
    documents = [document(text), document("Refund page.", "b")]
    retriever = SentenceWindowRetriever.from_documents(documents, words, k=1, ranking=None)
    before, embedded = copy.copy(dict(retriever)), len(words.embedded)
    # One needs the sentence after the hit, the other a second window.
    questions = [Question("refund", "a", (at("A card.", text),)), Question("refund", "b", ((0, 12),))]
    swept = await way(evaluation, "sweep", retriever, questions, [100], window=[0, (0, 1)], k=[1, 2])
    assert list(swept.reports) == ["window=0, k=1", "window=0, k=2", "window=(0, 1), k=1", "window=(0, 1), k=2"]
    assert [report.at(100).recall.mean for report in swept.reports.values()] == [0, 0.5, 0.5, 1]
    assert len(words.embedded) == embedded
    assert dict(retriever) == before


async def test_a_sweep_of_any_retriever(way: Invoke) -> None:
    swept = await way(evaluation, "sweep", Fixed(spans=[]), [question((0, 10))], spans=[[], [("a", 0, 5)]])
    assert [report.at(400).recall.mean for report in swept.reports.values()] == [0, 0.5]


def test_the_difference_of_two_is_taken_question_by_question() -> None:
    """One answers two of four questions, the other the same two and a third."""
    questions = [question((10 * i, 10 * i + 10)) for i in range(4)]
    retrievers = {"one": Fixed(spans=[("a", 0, 20)]), "two": Fixed(spans=[("a", 0, 30)])}
    compared = evaluation.compare(retrievers, questions, [100])
    assert compared.difference("two", "one", 100).mean == 0.25
    assert compared.difference("one", "two", 100).high == 0
    assert compared.difference("two", "one", 100, "used").mean == 10


# What a report shows.


@pytest.fixture
def compared() -> evaluation.Comparison:
    retrievers = {"half": Fixed(spans=[("a", 0, 50)]), "nothing": Fixed(spans=[])}
    return evaluation.compare(retrievers, [question((0, 100)), question((0, 50))], [50, 1000])


def test_tables_can_be_read(compared: evaluation.Comparison) -> None:
    assert str(compared).splitlines() == [
        "                  recall    recall  covered   covered    wrong",
        "% of 2 questions   at 50  at 1,000    at 50  at 1,000  section",
        "half                75.0      75.0     50.0      50.0        -",
        "nothing              0.0       0.0      0.0       0.0        -",
        "Note: with only 2 questions, intervals are rough, and mostly too narrow; ask 20 or more.",
        "Note: of 1,000 characters, as few as 0 came back on average; raise k to compare at equal context.",
    ]
    table = str(compared.reports["half"])
    assert "2 questions, means in % [95% interval]" in table
    assert "75.0 [50.0, 100.0]" in table
    assert "from a wrong section: -" in table


def test_a_table_says_when_questions_and_retriever_name_documents_differently() -> None:
    questions = [question((0, 10), doc_id=f"{name}.md") for name in "abcde"]
    report = evaluation.evaluate(Fixed(spans=[("a", 0, 10)]), questions, [10])
    assert "nothing was found of 'a.md', 'b.md', 'c.md' and 2 more; check that" in str(report)


def test_the_json_holds_all_that_was_measured(compared: evaluation.Comparison) -> None:
    record = json.loads(json.dumps(compared.to_dict()))["half"]
    assert record["budgets"] == [50, 1000]
    assert record["unit"] == "characters"
    assert record["averages"][0]["recall"] == {"mean": 0.75, "low": 0.5, "high": 1.0}
    first = record["questions"][0]
    assert (first["doc_id"], first["spans"], first["wrong_section"]) == ("a", [[0, 100]], None)
    assert first["found"] == [{"doc_id": "a", "span": [0, 50]}]
    assert first["scores"][0] == {"used": 50, "recall": 0.5, "precision": 1.0, "iou": 0.5, "full_coverage": 0}
    assert json.loads(compared.reports["half"].to_json()) == record


def test_the_plot_has_a_line_for_each_retriever(compared: evaluation.Comparison, tmp_path: Path) -> None:
    figure = compared.plot(tmp_path / "plot.svg")
    (axes,) = figure.axes
    assert [line.get_label() for line in axes.lines] == ["half", "nothing"]
    assert [tuple(map(float, line.get_ydata())) for line in axes.lines] == [(75, 75), (0, 0)]  # type: ignore[arg-type]
    assert "</svg>" in (tmp_path / "plot.svg").read_text(encoding="utf-8")
    compared.reports["half"].plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


# Questions and their files.


def test_what_else_a_line_holds_is_written_back(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    line = {"question": "How long?", "doc_id": "policy", "spans": [[0, 5]], "note": "from Ann", "later": {"a": [1]}}
    path.write_text(json.dumps(line) + "\n")
    (question,) = read_questions(path)
    assert question == Question("How long?", "policy", ((0, 5),))  # notes make no other question
    write_questions(path, [replace(question, doc_id="policy.md", others={**question.others, "question": "forged"})])
    assert json.loads(path.read_text()) == line | {"doc_id": "policy.md"}


def test_questions_are_read_as_they_were_written(tmp_path: Path) -> None:
    questions = [Question("Was kostet’s?\u2028", "ä.md", ((5, 9), (0, 3))), question((1, 2))]
    write_questions(tmp_path / "questions.jsonl", questions)
    assert read_questions(tmp_path / "questions.jsonl") == questions
    assert "Was kostet’s?" in (tmp_path / "questions.jsonl").read_text(encoding="utf-8")


def test_blank_lines_other_keys_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    line = '{"question": "Why?", "doc_id": "a", "spans": [[0, 1]], "answer": "So."}'
    (tmp_path / "questions.jsonl").write_bytes(f"\ufeff{line}\r\n\n{line}".encode())
    assert read_questions(tmp_path / "questions.jsonl") == [Question("Why?", "a", ((0, 1),))] * 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n \n", "holds no questions; write one on each line"),
        (b"\xff", "isn't UTF-8"),
        (b'\n{"question": "Why?"', "line 2 of .*questions.jsonl isn't JSON"),
        (b"[]", "line 1 of .*: it lacks 'question', 'doc_id', 'spans'; write {"),
        (b'{"question": "Why?", "spans": [[0, 1]]}', "line 1 of .*: it lacks 'doc_id'"),
        (b'{"question": "Why?", "doc_id": "a", "spans": []}', r"line 1 of .*spans is \[\]; give at least one"),
        (
            b'{"question": "Why?", "doc_id": "a", "spans": [[3, 1]]}',
            r"line 1 of .*span is \[3, 1\]; .* 0 <= start",
        ),
        (b'{"question": " ", "doc_id": "a", "spans": [[0, 1]]}', "line 1 of .*question is ' '; it must be"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_questions(path)


@pytest.mark.parametrize("span", [(5, 5), (7, 5), (-1, 5), (0, 1, 2), (0.0, 1.0), (False, True), "ab", 3])
def test_a_span_that_is_none_is_refused(span: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be .start, end. in code points"):
        Question("Why?", "a", (span,))


async def test_mistakes_are_named_with_their_cure(way: Invoke) -> None:
    some = Fixed(spans=[("a", 0, 10)])
    asked = [question((0, 10))]
    for keywords, message in (
        ({"questions": []}, "there are no questions; give at least one"),
        ({"questions": [{"question": "Why?"}]}, r"questions\[0\] is .*; give a Question"),
        ({"budgets": []}, "there are no budgets"),
        ({"budgets": 400}, r"budgets is 400; give a list, such as \[400\]"),
        ({"budgets": [0]}, "a budget is 0; it must be a whole number, 1 or more"),
        ({"documents": [document(TEXT, "b")]}, "none of the 1 questions is found.*'a' isn't among the documents"),
        ({"documents": [document("short", "a")]}, r"'a' ends before its gold at \(0, 10\); count code points"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            await way(evaluation, "evaluate", **{"retriever": some, "questions": asked, **keywords})
    for settings, message in (
        ({"windows": [1]}, "has no setting 'windows'; it has .*window"),
        ({"window": 1}, r"window is 1; give a list of the values to try, such as window=\[1\]"),
        ({"k": []}, r"k is \[\]; give a list"),
        ({"k": [1, 0]}, "k is 0; it must be a whole number, 1 or more"),
        ({"order": ["best"]}, "order: .* not 'best'"),
    ):
        windows = SentenceWindowRetriever.from_documents([document(TEXT)], WordEmbeddings())
        with pytest.raises(InvalidInputError, match=message):
            await way(evaluation, "sweep", windows, asked, **settings)
    with pytest.raises(InvalidInputError, match="there are no retrievers"):
        await way(evaluation, "compare", {}, asked)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"doc_id": "a"}, r"must hold 'start_index', as RecursiveCharacterTextSplitter\(add_start_index=True\)"),
        ({"start_index": 0}, "and 'doc_id' or 'source'"),
        ({"doc_id": "a", "start_index": 0, "end_index": 9}, r"of 5 characters that says it is \[0, 9\) of 'a'"),
    ],
)
async def test_a_document_that_cannot_be_placed_is_refused(way: Invoke, metadata: dict[str, Any], message: str) -> None:
    class Unplaced(Fixed):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            return [Document(page_content="abcde", metadata=metadata)]

    with pytest.raises(InvalidInputError, match=message):
        await way(evaluation, "evaluate", Unplaced(spans=[]), [question((0, 10))])


def test_a_report_names_what_it_has(compared: evaluation.Comparison) -> None:
    for call, message in (
        (lambda: compared.reports["half"].at(60), "60 wasn't measured; the budgets are 50, 1000"),
        (lambda: compared.difference("half", "none", 50), "'none' wasn't measured; there are 'half', 'nothing'"),
        (lambda: compared.difference("half", "nothing", 50, "f1"), "'f1' isn't measured; the metrics are recall"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            call()
