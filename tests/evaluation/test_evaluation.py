"""The evaluation: its arithmetic by hand, and whole runs on small indexes."""

import copy
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
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
from langchain_sentence_window.evaluation import Question, Score, evaluate, read_questions, write_questions
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

# 100 characters, so that the end of a span is its share in percent.
TEXT = "".join(chr(ord("a") + i % 26) for i in range(100))
Spans = list[tuple[int, int]]


class Fixed(BaseRetriever):
    """Returns the same spans of `TEXT`, or of other documents, for any question."""

    spans: list[tuple[str, int, int]]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(page_content=TEXT[start:end], metadata={"doc_id": doc_id, "start_index": start})
            for doc_id, start, end in self.spans
        ]


def fixed(*spans: tuple[int, int]) -> Fixed:
    return Fixed(spans=[("a", *span) for span in spans])


class Returning(Fixed):
    """Returns a Document with some metadata."""

    metadata_of_all: dict[str, Any]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content="abcde", metadata=self.metadata_of_all)]


def question(*spans: tuple[int, int], doc_id: str = "a") -> Question:
    return Question("Which letters?", doc_id, spans)


def score(context: Sequence[tuple[int, int]], gold: Sequence[tuple[int, int]], budget: int) -> Score:
    return evaluate(fixed(*context), [question(*gold)], [budget]).results[0].scores[0]


# The arithmetic


async def test_each_metric_at_each_budget(way: Invoke) -> None:
    """Gold: 20 characters. Read: [0, 20), [10, 30) which repeats 10, 10 of another document, [90, 100)."""
    retriever = Fixed(spans=[("a", 0, 20), ("a", 10, 30), ("b", 10, 20), ("a", 90, 100)])
    report = await way(evaluation, "evaluate", retriever, [question((10, 25), (95, 100))], [200, 5, 30, 57])
    assert report.budgets == (5, 30, 57, 200)
    # Used and gold in it: 5 with none; 20 + 10 with [10, 20); 20 + 20 + 10 + 7 with [10, 25) and [95, 97); all 60.
    expected = [(5, 0), (30, 10), (57, 17), (60, 20)]
    for each, (used, held) in zip(report.results[0].scores, expected, strict=True):
        assert (each.used, each.recall, each.precision) == (used, held / 20, held / used)
        assert each.iou == pytest.approx(held / (20 + used - held))
    assert [each.full_coverage for each in report.results[0].scores] == [0, 0, 0, 1]


def test_repeated_text_counts_against_the_budget_each_time() -> None:
    report = evaluate(fixed((0, 40), (0, 40), (0, 40), (40, 60)), [question((0, 60))], [60, 120, 140])
    assert [(means.recall.mean, means.precision.mean) for means in report.averages] == [
        (40 / 60, 40 / 60),
        (40 / 60, 40 / 120),
        (1, 60 / 140),
    ]


def test_gold_is_fully_covered_at_95_percent() -> None:
    assert [score([(0, end)], [(0, 100)], 100).full_coverage for end in (94, 95)] == [0, 1]


async def test_every_question_is_scored(way: Invoke) -> None:
    questions = [question((0, 10)), question((0, 10), doc_id="b"), question((50, 60))]
    report = await way(evaluation, "evaluate", fixed((0, 10)), questions, [100])
    assert [result.scores[0].recall for result in report.results] == [1, 0, 0]
    assert report.at(100).recall.mean == pytest.approx(1 / 3)
    empty = (await way(evaluation, "evaluate", fixed(), questions, [100])).at(100)
    assert [empty.recall.mean, empty.precision.mean, empty.iou.mean, empty.full_coverage.mean, empty.used.mean] == (
        [0] * 5
    )


def test_budgets_may_be_in_tokens() -> None:
    """A token has up to four letters: the second passage is cut to the single token that is left."""
    retriever = fixed((0, 10), (10, 30))
    report = evaluate(retriever, [question((0, 20))], [4], count_tokens=lambda text: -(-len(text) // 4))
    (each,) = report.results[0].scores
    assert report.unit == "tokens"
    assert (each.used, each.recall, each.precision) == (4, 14 / 20, 1)
    # Some tokenizers add tokens to every text, even to an empty one.
    marked = evaluate(fixed((0, 4), (4, 8)), [question((0, 8))], [1, 7], count_tokens=lambda text: len(text) + 2)
    assert [each.used for each in marked.results[0].scores] == [0, 6]


PLACES = st.integers(0, 60)
SPANS = st.lists(st.tuples(PLACES, PLACES).filter(lambda span: span[0] < span[1]), max_size=6)


@given(context=SPANS, gold=SPANS.filter(bool), budgets=st.tuples(st.integers(1, 200), st.integers(1, 200)))
def test_metrics_agree_with_counting_single_characters(context: Spans, gold: Spans, budgets: tuple[int, int]) -> None:
    small, large = (score(context, gold, budget) for budget in sorted(budgets))
    read = [i for start, end in context for i in range(start, end)][: min(budgets)]
    wanted = {i for start, end in gold for i in range(start, end)}
    held = len(wanted & set(read))
    assert (small.used, small.recall) == (len(read), held / len(wanted))
    assert small.precision == (held / len(read) if read else 0)
    assert small.iou == held / (len(wanted) + len(read) - held)
    assert small.recall <= large.recall
    assert score(context, [*reversed(gold), gold[0]], min(budgets)) == small  # in any order


@pytest.mark.parametrize(
    ("count", "end", "expected"),
    [
        (1, 10, (1, 0.025, 1)),
        (2, 10, (1, 0.1581, 1)),  # √.025: Clopper and Pearson for 2 of 2
        (40, 10, (1, 0.9119, 1)),  # and for 40 of 40
        (40, 0, (0, 0, 0.0881)),
        (2, 5, (0.5, 0.0791, 0.9209)),
    ],
)
def test_the_interval_of_equal_values_covers_what_so_many_questions_can_miss(
    count: int, end: int, expected: tuple[float, float, float]
) -> None:
    spans = [(0, end)] if end else []
    means = evaluate(fixed(*spans), [question((0, 10))] * count, [50]).at(50)
    assert (means.recall.mean, means.recall.low, means.recall.high) == pytest.approx(expected, abs=1e-4)
    assert means.used.low == means.used.high == end  # it has no upper limit


def test_the_interval_of_a_share_is_near_that_of_the_normal_distribution() -> None:
    """100 questions, half of them right: .5 ± 1.96 · √(.25 / 100) = .5 ± .098."""
    questions = [question((0, 10)), question((50, 60))] * 50
    recall = evaluate(fixed((0, 10)), questions, [50]).at(50).recall
    assert (recall.mean, recall.low, recall.high) == pytest.approx((0.5, 0.402, 0.598), abs=0.015)
    assert evaluate(fixed((0, 10)), questions, [50]).at(50).recall == recall  # with the same seed


def test_the_difference_of_two_retrievers_is_taken_per_question() -> None:
    """One answers two of four questions, the other the same two and a third."""
    questions = [question((10 * i, 10 * i + 10)) for i in range(4)]
    compared = evaluation.compare({"one": fixed((0, 20)), "two": fixed((0, 30))}, questions, [100])
    assert compared.difference("two", "one", 100).mean == 0.25
    assert compared.difference("one", "two", 100).high == 0
    assert compared.difference("two", "one", 100, "used").mean == 10
    equal = evaluation.compare({"all": fixed((0, 20)), "none": fixed()}, questions[:2], [100]).difference
    assert equal("all", "none", 100).low == pytest.approx(-0.6838, abs=1e-4)  # two questions prove little


# Sections

SECTIONED = (
    "# Plans\n\nSolo is cheap.\n\n## Refunds\n\nA refund is given. Not after a month.\n\n## Cards\n\nA card is charged."
)


def at(text: str, within: str = SECTIONED) -> tuple[int, int]:
    return within.index(text), within.index(text) + len(text)


async def test_sections_are_read_from_the_store_or_from_the_documents(way: Invoke) -> None:
    documents = [document(SECTIONED)]
    windows = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), window=0)
    # The first asks for the section of its gold, the second for another one.
    questions = [
        Question("refund", "a", (at("Not after a month."),)),
        Question("card", "a", (at("A refund is given."),)),
    ]
    report = await way(evaluation, "evaluate", windows, questions)
    assert [result.wrong_section for result in report.results] == [False, True]
    assert report.wrong_section is not None
    assert report.wrong_section.mean == 0.5
    both = await way(evaluation, "compare", {"other": fixed((0, 10)), "windows": windows}, questions)
    assert [both.reports[name].wrong_section.mean for name in ("other", "windows")] == [1, 0.5]
    assert (await way(evaluation, "evaluate", fixed((0, 10)), questions)).wrong_section is None


def test_a_passage_is_wrong_if_it_shares_no_section_with_the_gold() -> None:
    start, end = at("## Refunds\n\nA refund is given. Not after a month.")
    gold = [Question("refund", "a", (at("A refund is given."),))]
    for span, wrong in (
        ((start - 9, start), True),
        ((start - 1, start + 1), False),
        ((start, start + 1), False),
        ((end - 1, end), False),
        ((end + 2, end + 5), True),
        ((0, len(SECTIONED)), False),
    ):
        retriever = Returning(spans=[], metadata_of_all={"doc_id": "a", "start_index": span[0]})
        passage = Document(SECTIONED[slice(*span)], metadata=retriever.metadata_of_all)
        store = InMemoryVectorStore.from_documents([passage], WordEmbeddings())
        report = evaluate(store.as_retriever(), gold, documents=[document(SECTIONED)])
        assert report.results[0].wrong_section is wrong
    assert evaluate(fixed(), gold, documents=[document(SECTIONED)]).results[0].wrong_section


async def test_sections_of_a_long_document_are_read_to_the_end(way: Invoke) -> None:
    text = "".join(f"# Part {i}\n\nSeat number {i}.\n\n" for i in range(200)) + "# Last\n\nThe refund."
    retriever = SentenceWindowRetriever.from_documents([document(text)], WordEmbeddings(), window=0, k=1)
    questions = [Question("refund", "a", (at(each, text),)) for each in ("The refund.", "Seat number 199.")]
    report = await way(evaluation, "evaluate", retriever, questions)
    assert [result.wrong_section for result in report.results] == [False, True]


# Retrievers


async def test_chunks_of_langchain_are_measured(way: Invoke) -> None:
    texts = {
        "a.md": "Refund of the annual plan. Then a seat. Then a card.",
        "b.md": "A backup of a page. And a replica.",
    }
    splitter = RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0, add_start_index=True)
    documents = [Document(page_content=text, metadata={"source": name}) for name, text in texts.items()]
    store = InMemoryVectorStore.from_documents(splitter.split_documents(documents), WordEmbeddings())
    questions = [Question("A backup?", "b.md", (at("A backup of a page.", texts["b.md"]),))]
    retriever = store.as_retriever(search_kwargs={"k": 1})
    report = await way(evaluation, "evaluate", retriever, questions, documents=documents)
    assert (report.at(400).recall.mean, report.wrong_section.mean) == (1, 0)


async def test_windows_are_read_best_first_in_any_order(way: Invoke) -> None:
    documents = [
        document(text, str(i)) for i, text in enumerate(["Refund refund.", "Refund card.", "Refund seat page."])
    ]
    for order in ("relevance", "edges", "document"):
        retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), order=order, k=3)
        report = await way(evaluation, "evaluate", retriever, [Question("refund", "1", ((0, 12),))], [20])
        assert [passage.doc_id for passage in report.results[0].passages] == ["0", "1", "2"]
        assert retriever.order == order


async def test_a_sweep_tries_each_combination_and_embeds_no_document(way: Invoke) -> None:
    words = WordEmbeddings()
    text = "A seat. The refund. A card. A page. A trial."
    retriever = SentenceWindowRetriever.from_documents(
        [document(text), document("Refund page.", "b")], words, k=1, ranking=None
    )
    before, embedded = copy.copy(dict(retriever)), len(words.embedded)
    # One needs the sentence after the hit, the other a second window.
    questions = [Question("refund", "a", (at("A card.", text),)), Question("refund", "b", ((0, 12),))]
    swept = await way(evaluation, "sweep", retriever, questions, [100], window=[0, (0, 1)], k=[1, 2])
    assert list(swept.reports) == ["window=0, k=1", "window=0, k=2", "window=(0, 1), k=1", "window=(0, 1), k=2"]
    assert [report.at(100).recall.mean for report in swept.reports.values()] == [0, 0.5, 0.5, 1]
    assert len(words.embedded) == embedded
    assert dict(retriever) == before


async def test_a_sweep_takes_any_retriever_and_any_values(way: Invoke) -> None:
    swept = await way(evaluation, "sweep", fixed(), [question((0, 10))], spans=[[], [("a", 0, 5)]])
    assert [report.at(400).recall.mean for report in swept.reports.values()] == [0, 0.5]
    windows = SentenceWindowRetriever.from_documents([document(SECTIONED)], WordEmbeddings())
    # The values are written alike.
    searches = [{"filter": {"doc_id": "a"}}, {"filter": {"doc_id": "b"}}]
    questions = [Question("refund", "a", (at("A refund is given."),))]
    swept = await way(evaluation, "sweep", windows, questions, [400], search_kwargs=searches)
    assert [report.at(400).recall.mean for report in swept.reports.values()] == [1, 0]


async def test_counting_tokens_does_not_block_the_loop() -> None:
    threads = set()

    def count_tokens(text: str) -> int:
        threads.add(threading.current_thread())
        return len(text)

    await evaluation.aevaluate(fixed((0, 10)), [question((0, 5))], count_tokens=count_tokens)
    assert threads
    assert threading.current_thread() not in threads


@pytest.mark.parametrize("method", ["evaluate", "compare", "sweep"])
async def test_progress_is_reported_and_can_end_the_evaluation(way: Invoke, method: str) -> None:
    retriever: Any = {"a": fixed((0, 10)), "b": fixed()} if method == "compare" else fixed((0, 10))
    more: dict[str, Any] = {"spans": [[], [], []]} if method == "sweep" else {}
    total = {"evaluate": 2, "compare": 4, "sweep": 6}[method]
    steps: list[tuple[int, int]] = []
    questions = [question((0, 10)), question((0, 20))]
    await way(evaluation, method, retriever, questions, on_progress=lambda *step: steps.append(step), **more)
    assert steps == [(done, total) for done in range(total + 1)]

    def stop(done: int, _: int) -> None:
        if done == 1:
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        await way(evaluation, method, retriever, questions, on_progress=stop, **more)


# Reports


@pytest.fixture
def compared() -> evaluation.Comparison:
    retrievers = {"half": fixed((0, 50)), "nothing": fixed()}
    return evaluation.compare(retrievers, [question((0, 100)), question((0, 50))], [50, 1000])


def test_tables_are_readable(compared: evaluation.Comparison) -> None:
    assert str(compared).splitlines() == [
        "                  recall    recall  covered   covered    wrong",
        "% of 2 questions   at 50  at 1,000    at 50  at 1,000  section",
        "half                75.0      75.0     50.0      50.0        -",
        "nothing              0.0       0.0      0.0       0.0        -",
        "Note: with only 2 questions, intervals are rough, and mostly too narrow; ask 20 or more.",
        "Note: of 1,000 characters, as few as 0 came back on average; raise k to compare at equal context.",
    ]
    table = str(compared.reports["half"]).splitlines()
    assert table[0] == "2 questions, means in % [95% interval]"
    assert table[1].split() == ["characters", "recall", "precision", "IoU", "wholly", "covered", "used"]
    assert table[2].startswith("50          75.0 [50.0, 100.0]")
    assert "first passage from a wrong section: -" in table
    questions = [question((0, 10), doc_id=f"{name}.md") for name in "abcde"]
    unnamed = str(evaluate(fixed((0, 10)), questions, [10]))
    assert "nothing was found of 'a.md', 'b.md', 'c.md' and 2 more; check that" in unnamed


def test_the_json_contains_all_measurements(compared: evaluation.Comparison) -> None:
    record = json.loads(json.dumps(compared.to_dict()))["half"]
    assert (record["budgets"], record["unit"]) == ([50, 1000], "characters")
    assert record["averages"][0]["recall"] == {"mean": 0.75, "low": 0.5, "high": 1.0}
    first = record["questions"][0]
    assert (first["doc_id"], first["spans"], first["wrong_section"]) == ("a", [[0, 100]], None)
    assert first["found"] == [{"doc_id": "a", "span": [0, 50]}]
    assert first["scores"][0] == {"used": 50, "recall": 0.5, "precision": 1.0, "iou": 0.5, "full_coverage": 0}
    assert json.loads(compared.reports["half"].to_json()) == record


# Questions and their files


def test_questions_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    questions = [Question("Was kostet’s?\u2028", "ä.md", ((5, 9), (0, 3))), Question("\ud800?", "b", ((1, 2),))]
    write_questions(path, questions)
    assert read_questions(path) == questions
    assert "Was kostet’s?" in path.read_text(encoding="utf-8")


def test_other_keys_of_a_line_are_written_back(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    line = {"question": "How long?", "doc_id": "policy", "spans": [[0, 5]], "note": "from Ann", "later": {"a": [1]}}
    path.write_bytes(f"\ufeff{json.dumps(line)}\r\n\n".encode())
    (read,) = read_questions(path)
    assert read == Question("How long?", "policy", ((0, 5),))
    write_questions(path, [replace(read, doc_id="policy.md", others={**read.others, "question": "forged"})])
    assert json.loads(path.read_text()) == line | {"doc_id": "policy.md"}


def test_lines_without_gold_are_left_out_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question": "a", "doc_id": "d", "spans": [[0, 1]]}\n{"question": "b", "answer": ""}\n')
    with pytest.warns(SentenceWindowWarning, match=r"1 of 2 questions .* have no gold"):
        assert read_questions(path) == [Question("a", "d", ((0, 1),))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n \n", "holds no questions; write one on each line"),
        (b"\xff", "isn't UTF-8"),
        (b'\n{"question": "Why?"', "line 2 of .*questions.jsonl isn't JSON"),
        (b"[]", "line 1 of .*: it lacks 'question', 'doc_id', 'spans'; write {"),
        (b'{"question": "Why?", "spans": [[0, 1]]}', "line 1 of .*: it lacks 'doc_id'"),
        (b'{"question": "Why?", "doc_id": "a", "spans": []}', r"line 1 of .*spans is \[\]; give at least one"),
        (b'{"question": " ", "doc_id": "a", "spans": [[0, 1]]}', "line 1 of .*question is ' '; it must be"),
        (b'{"question": "a", "doc_id": "a", "spans": [[0, 2]], "texts": ["a"]}', r"1 characters, and its span .* 2"),
        (b'{"question": "a", "doc_id": "a", "spans": [[0, 2]], "texts": "ab"}', "texts is 'ab'; give the text of each"),
        (b'{"question": "a", "doc_id": "a", "spans": [[0, 2]], "texts": ["ab", "b"]}', "each of the 1 spans, or none"),
    ],
)
def test_an_invalid_line_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read_questions(path)


@pytest.mark.parametrize("span", [(5, 5), (7, 5), (-1, 5), (0, 1, 2), (0.0, 1.0), (False, True), "ab", 3])
def test_an_invalid_span_is_refused(span: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be .start, end. in code points"):
        Question("Why?", "a", (span,))


@pytest.mark.parametrize(
    ("method", "keywords", "message"),
    [
        ("evaluate", {"questions": []}, "there are no questions; give at least one"),
        ("evaluate", {"questions": [{"question": "Why?"}]}, r"questions\[0\] is .*; give a Question"),
        ("evaluate", {"questions": "a.jsonl"}, r"questions is 'a.jsonl'; .*read a file with read_questions\(path\)"),
        ("evaluate", {"budgets": []}, "there are no budgets"),
        ("evaluate", {"budgets": 400}, "budgets is 400; give a list"),
        ("evaluate", {"budgets": [0]}, "a budget is 0; it must be a whole number, 1 or more"),
        ("sweep", {"windows": [1]}, "has no setting 'windows'; it has .*window"),
        ("sweep", {"window": 1}, r"window is 1; give a list of the values to try, such as window=\[1\]"),
        ("sweep", {"k": [1, 0]}, "k is 0; it must be a whole number, 1 or more"),
        ("compare", {"retriever": {}}, "retrievers is {}; give at least one by its name"),
    ],
)
def test_invalid_arguments_are_refused(method: str, keywords: dict[str, Any], message: str) -> None:
    windows = SentenceWindowRetriever.from_documents([document(TEXT)], WordEmbeddings())
    given_arguments = {"retriever": windows, "questions": [question((0, 10))], **keywords}
    first = given_arguments.pop("retriever")
    with pytest.raises(InvalidInputError, match=message):
        getattr(evaluation, method)(first, **given_arguments)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"doc_id": "a"}, r"must hold 'start_index', as RecursiveCharacterTextSplitter\(add_start_index=True\)"),
        ({"start_index": 0}, "and 'doc_id' or 'source'"),
        ({"doc_id": "a", "start_index": 0, "end_index": 9}, r"of 5 characters that says it is \[0, 9\) of 'a'"),
        ({"doc_id": "a", "start_index": "x"}, "start_index"),
    ],
)
def test_a_document_that_cannot_be_located_is_refused(metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        evaluate(Returning(spans=[], metadata_of_all=metadata), [question((0, 10))])


def test_a_passage_of_unknown_place_uses_the_budget_and_covers_nothing() -> None:
    """RecursiveCharacterTextSplitter writes -1 for a chunk that it doesn't find again."""
    lost = Returning(spans=[], metadata_of_all={"source": "a", "start_index": -1})
    means = evaluate(lost, [question((0, 10))], [200]).at(200)
    assert (means.used.mean, means.recall.mean) == (5, 0)


def test_a_report_names_what_was_measured(compared: evaluation.Comparison) -> None:
    for call, message in (
        (lambda: compared.reports["half"].at(60), "60 wasn't measured; choose from 50, 1000"),
        (lambda: compared.difference("half", "none", 50), "'none' wasn't measured; choose from 'half', 'nothing'"),
        (lambda: compared.difference("half", "nothing", 50, "f1"), "'f1' wasn't measured; choose from 'recall'"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            call()
