"""Gold is found by its text after edits and moves and among equal texts; lost gold is named."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import SentenceWindowRetriever, evaluation
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.evaluation import Question, Report, read_questions, write_questions
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

POLICY = "# Plans\n\nA seat is paid each month.\n\n# Refunds\n\nA refund takes 14 days. No invoice is needed.\n"
GOLD = "A refund takes 14 days."
OLD = "/srv/2025/policy.md"
NEW = "/srv/2026/policy.md"


def question(text: str = GOLD, within: str = POLICY, doc_id: str = OLD, asked: str = "refund") -> Question:
    start = within.index(text)
    return Question(asked, doc_id, ((start, start + len(text)),), (text,))


def retriever_of(*documents: Document, **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), k=1, window=0, **settings)


def policy(text: str = POLICY, doc_id: str = OLD, **metadata: object) -> Document:
    return document(text, doc_id, source=doc_id, **metadata)


def found(report: Report) -> list[tuple[str, list[str]]]:
    """Return the document of each gold, and its text."""
    return [(result.question.doc_id, list(result.question.texts)) for result in report.results]


async def measured(way: Invoke, documents: list[Document], *questions: Question, by_store: bool = True) -> Report:
    given = {} if by_store else {"documents": documents}
    report: Report = await way(evaluation, "evaluate", retriever_of(*documents), questions, [200], **given)
    return report


BY = pytest.mark.parametrize("by_store", [True, False], ids=["store", "documents"])


@BY
async def test_gold_is_found_after_an_edit_above_it(way: Invoke, by_store: bool) -> None:
    edited = POLICY.replace("# Plans", "# Plans of this year\n\nThere are two, monthly and annual.")
    old = question()
    report = await measured(way, [policy(edited)], old, by_store=by_store)
    (result,) = report.results
    assert result.scores[0].recall == 1
    assert [edited[slice(*span)] for span in result.question.spans] == [GOLD]
    assert old.spans != result.question.spans
    # At its old offsets there is other text now.
    assert edited[slice(*old.spans[0])] != GOLD
    assert (await measured(way, [policy(edited)], replace(old, texts=()))).results[0].scores[0].recall < 1


@BY
async def test_gold_is_found_in_a_folder_of_another_name(way: Invoke, by_store: bool) -> None:
    others = [document("A refund of a card.", "/srv/2026/cards.md"), document(GOLD, "/srv/2026/refunds.md")]
    report = await measured(way, [policy(doc_id=NEW), *others], question(), by_store=by_store)
    assert found(report) == [(NEW, [GOLD])]


@BY
async def test_the_only_document_of_the_file_name_that_contains_the_text_is_used(way: Invoke, by_store: bool) -> None:
    other = policy("# Refunds\n\nNo refund is given.\n", "/srv/2027/policy.md")
    report = await measured(way, [other, policy(doc_id=NEW)], question(), by_store=by_store)
    assert found(report) == [(NEW, [GOLD])]
    copies = [policy(doc_id=NEW), policy(doc_id="C:\\docs\\policy.md"), other]
    both = [question(), replace(question(), doc_id=NEW)]
    with pytest.warns(
        SentenceWindowWarning, match=r"several of its file name contain 'A refund takes 14 days.'"
    ) as warned:
        report = await measured(way, copies, *both, by_store=by_store)
    assert len(warned) == 1
    assert found(report) == [(NEW, [GOLD])]
    (lost,) = report.lost
    assert (lost.reason, sorted(lost.documents)) == ("ambiguous", ["/srv/2026/policy.md", "C:\\docs\\policy.md"])
    assert str(lost).endswith("write one of them as its doc_id")


@BY
async def test_lost_gold_is_named_and_not_counted(way: Invoke, by_store: bool) -> None:
    edited = policy(POLICY.replace("14 days", "a week"))
    gone = replace(question(), question="How long?", doc_id="/srv/gone.md")
    kept = question("A seat is paid each month.", asked="seat")
    old = Question("Where?", OLD, ((900, 950),))
    with pytest.warns(SentenceWindowWarning, match=r"3 of 4 questions aren't counted, .*; and 2 more"):
        report = await measured(way, [edited], question(), kept, gone, old, by_store=by_store)
    assert [result.question for result in report.results] == [kept]
    assert report.at(200).recall.mean == 1  # of that one
    assert [(lost.question, lost.reason, lost.sought) for lost in report.lost] == [
        (question(), "changed", GOLD),
        (gone, "missing", GOLD),
        (old, "outside", ""),
    ]
    assert [str(lost).partition(";")[0] for lost in report.lost] == [
        f"'refund': '{OLD}' doesn't contain '{GOLD}' any more",
        "'How long?': '/srv/gone.md' isn't among the documents, or the filter hides its gold, and no other document of "
        f"its file name contains '{GOLD}'",
        f"'Where?': '{OLD}' ends before its gold at (900, 950)",
    ]
    assert all(f"  {lost}" in str(report).splitlines() for lost in report.lost)
    assert [each["message"] for each in json.loads(report.to_json())["lost"]] == [str(lost) for lost in report.lost]
    with pytest.raises(InvalidInputError, match=r"gold of none of the 2 questions is found, .* and 1 more"):
        await measured(way, [edited], gone, old, by_store=by_store)


async def test_gold_of_a_deleted_document_is_lost_until_it_is_added_again(way: Invoke) -> None:
    retriever = retriever_of(policy(), document("A card.", "b"))
    asked = [question(), Question("card", "b", ((0, 7),))]
    retriever.delete([OLD])
    with pytest.warns(SentenceWindowWarning, match="1 of 2 questions"):
        report = await way(evaluation, "evaluate", retriever, asked)
    assert [lost.reason for lost in report.lost] == ["missing"]
    retriever.add_documents([policy(doc_id="/home/ann/policy.md")])
    assert len((await way(evaluation, "evaluate", retriever, asked)).results) == 2


LIST = (
    "# Fees\n\n- A refund is free.\n- A card is 5 euros.\n- A refund is free.\n- A page is free.\n- A refund is free.\n"
)


@BY
async def test_the_occurrence_nearest_to_the_old_place_is_used(way: Invoke, by_store: bool) -> None:
    text = "A refund is free."
    places = [at for at in range(len(LIST)) if LIST.startswith(text, at)]
    for at, wanted in zip(places, (0, 1, 2), strict=True):
        for added in ("", "New. "):
            edited = LIST.replace("# Fees\n\n", f"# Fees\n\n{added}")
            asked = Question("refund", OLD, ((at, at + len(text)),), (text,))
            report = await measured(way, [policy(edited)], asked, by_store=by_store)
            start = places[wanted] + len(added)
            assert [result.question.spans for result in report.results] == [((start, start + len(text)),)]


async def test_two_spans_of_equal_text_are_found_at_two_places(way: Invoke) -> None:
    text = "A refund is free."
    places = [at for at in range(len(LIST)) if LIST.startswith(text, at)]
    edited = LIST.replace("# Fees\n\n", "# Fees\n\nThey are those of the price list.\n\n")
    moved = len(edited) - len(LIST)
    spans = tuple((at, at + len(text)) for at in places)
    report = await measured(way, [policy(edited)], Question("refund", OLD, spans, (text,) * 3))
    assert report.results[0].question.spans == tuple((start + moved, end + moved) for start, end in spans)
    one_less = edited.replace(f"- {text}\n- A page", "- A page")
    with pytest.raises(InvalidInputError, match="doesn't contain 'A refund is free.' any more"):
        await measured(way, [policy(one_less)], Question("refund", OLD, spans, (text,) * 3))


async def test_white_space_at_the_end_of_a_file_is_ignored(way: Invoke) -> None:
    """A span of another program may include it; no sentence does."""
    start = POLICY.index("# Refunds")
    asked = Question("refund", OLD, ((start, len(POLICY)),), (POLICY[start:],))
    for each in (asked, replace(asked, texts=())):
        report = await measured(way, [policy()], each)
        assert report.results[0].question.texts == (POLICY[start:].strip(),)


async def test_lines_without_texts_are_measured_by_their_offsets(tmp_path: Path, way: Invoke) -> None:
    path = tmp_path / "questions.jsonl"
    ((start, end),) = question().spans
    path.write_text(json.dumps({"question": "refund", "doc_id": OLD, "spans": [[start, end]]}) + "\n")
    (old,) = read_questions(path)
    assert old.texts == ()
    report = await measured(way, [policy()], old)
    assert report.at(200).recall.mean == 1
    # The report has the texts, so the file can have them.
    write_questions(path, [result.question for result in report.results])
    assert read_questions(path)[0].texts == (GOLD,)
    with pytest.raises(InvalidInputError, match="isn't among the documents"):
        await measured(way, [policy(doc_id=NEW)], old)
    with pytest.raises(InvalidInputError, match="ends before its gold"):
        await measured(way, [policy("Short.")], old)


async def test_gold_that_a_filter_hides_is_not_counted(way: Invoke) -> None:
    documents = [policy(team="x"), document("A card.", "b", team="y")]
    whole = retriever_of(*documents)
    retriever = whole.model_copy(update={"filter": {"team": "y"}})
    asked = [question(), Question("card", "b", ((0, 7),))]
    with pytest.warns(SentenceWindowWarning, match="or the filter hides its gold"):
        report = await way(evaluation, "evaluate", retriever, asked)
    assert [lost.question for lost in report.lost] == [question()]
    # In a sweep over filters, a question is asked if one of them lets its gold through.
    filters = [{"team": "x"}, {"team": "y"}]
    swept = await way(evaluation, "sweep", whole, asked, [200], filter=filters)
    assert [report.values("recall", 200) for report in swept.reports.values()] == [[1, 0], [0, 1]]


async def test_another_text_at_the_place_of_the_gold_causes_a_warning(way: Invoke) -> None:
    """Chunks of an index that wasn't updated after an edit."""
    chunk = Document(POLICY, metadata={"source": OLD, "start_index": 0})
    store = InMemoryVectorStore.from_documents([chunk], WordEmbeddings())
    edited = POLICY.replace("# Plans", "# Plans of this year")
    asked = question(within=edited)
    for given in ({}, {"documents": [policy(edited)]}):
        with pytest.warns(SentenceWindowWarning, match=f"for 1 of 1 questions, .* at 61 of '{OLD}'"):
            await way(evaluation, "evaluate", store.as_retriever(), [asked], **given)
    await way(evaluation, "evaluate", store.as_retriever(), [question()])


async def test_a_store_that_cannot_be_read_is_measured_by_offsets(way: Invoke) -> None:
    class NoFetchStore(InMemoryVectorStore):
        def get_by_ids(self, ids: Any, /) -> Any:
            raise NotImplementedError

    retriever = SentenceWindowRetriever(vectorstore=NoFetchStore(WordEmbeddings()), window=0, k=1)
    retriever.add_documents([policy()])
    report = await way(evaluation, "evaluate", retriever, [question()], [200])
    assert (report.at(200).recall.mean, report.wrong_section, report.lost) == (1, None, ())


@BY
@pytest.mark.parametrize("asked", [OLD, NEW, "17"])
async def test_gold_is_found_by_source_by_former_source_and_by_id(way: Invoke, asked: str, by_store: bool) -> None:
    given = Document(POLICY, metadata={"doc_id": "17", "source": NEW})
    report = await measured(way, [given], question(doc_id=asked), by_store=by_store)
    assert found(report) == [("17", [GOLD])]
    assert report.at(200).recall.mean == 1
