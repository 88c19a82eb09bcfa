"""Answers with LangChain's standard Citation blocks, and what find_citations reads of messages."""

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps, load
from langchain_core.messages import AIMessage, HumanMessage, message_to_dict, messages_from_dict

from langchain_sentence_window import describe_location, find_citations, verify_quotes
from langchain_sentence_window.citations import Citation, as_search_results, citation_blocks, cited_message
from langchain_sentence_window.errors import InvalidInputError
from tests.answering.golden import rows
from tests.answering.windows import (
    ANY_DOCUMENTS,
    DOC_IDS,
    PAGED,
    index_of,
    sentence,
    source_slice,
    window,
    windows,
)

THREE = [window("rules", 1, 3), window(PAGED, 1, 4), window("hostile", 0, 2)]
ANSWER = "It is so [1]. A seat is free, as [9] says [2]."


# Where a citation's statement is


@pytest.mark.parametrize(("answer", "statements"), rows("statements"))
def test_a_citation_belongs_to_a_statement(answer: str, statements: list[str]) -> None:
    blocks: list[Any] = citation_blocks(answer, [Document(page_content="A card.")] * 3)
    spans = {tuple(each["extras"]["mark"]): (each["start_index"], each["end_index"]) for each in blocks}
    assert [answer[slice(*span)] for span in spans.values()] == statements


@given(
    st.lists(st.sampled_from(["[1]", "[2, 3]", "Ab c", ". ", "\n\n", "- ", "| ", ", ", "and ", "to ", "`", "é"])).map(
        "".join
    )
)
def test_statements_are_in_the_answer_and_hold_no_other_mark(answer: str) -> None:
    blocks: list[Any] = citation_blocks(answer, [Document(page_content="A card.")] * 3)
    marks = [each["extras"]["mark"] for each in blocks]
    assert marks == sorted(marks)
    for each in blocks:
        start, end = each["start_index"], each["end_index"]
        assert 0 <= start < end <= len(answer)
        inside = [mark for mark in marks if mark[0] < end and mark[1] > start]
        assert not inside or (start, end) == (inside[0][0], inside[-1][1])


# Blocks


def test_an_answer_carries_its_citations() -> None:
    message = cited_message(ANSWER, THREE)
    assert (message.text, len(message.content_blocks)) == (ANSWER, 1)
    [block] = message.content_blocks
    assert block["type"] == "text"
    one, two = block["annotations"]
    assert one["type"] == two["type"] == "citation"
    assert {key: value for key, value in one.items() if key != "id"} == {
        "type": "citation",
        "title": "rules.md",
        "start_index": 0,
        "end_index": 8,
        "cited_text": "Some words.  And more. A third one.",
        "extras": {
            "number": 1,
            "location": "rules.md, line 3 (Rules)",
            "doc_id": "rules",
            "start": 9,
            "end": 44,
            "sentences": [1, 3],
            "lines": [3, 3],
            "heading": "Rules",
            "mark": [9, 12],
        },
    }
    assert two["title"] == "Terms"
    assert two["extras"]["pages"] == [0, 1]
    assert two["extras"]["location"] == "terms.pdf, pp. i–ii (Terms)"
    assert ANSWER[two["start_index"] : two["end_index"]] == "A seat is free, as [9] says"


def test_ids_are_unique_and_stable() -> None:
    blocks = citation_blocks("It is so [1]. It is so [1, 2].", THREE)
    assert len({block["id"] for block in blocks}) == 3
    assert blocks == citation_blocks("It is so [1]. It is so [1, 2].", THREE)


@pytest.mark.filterwarnings("ignore:The function `load` is in beta")
def test_a_message_survives_json() -> None:
    message = cited_message(ANSWER, THREE)
    assert load(json.loads(dumps(message)), allowed_objects="core") == message
    assert load(dumpd(message), allowed_objects="core").content_blocks == message.content_blocks
    assert messages_from_dict(json.loads(json.dumps([message_to_dict(message)]))) == [message]
    assert AIMessage.model_validate_json(message.model_dump_json()) == message


LONG = Document(
    " ".join(f"Sentence {number} is here." for number in range(200)),
    metadata={"start_index": 0, "doc_id": "long", "hits": [{"start_index": 2300, "end_index": 2322, "score": 1.0}]},
)


def test_of_a_long_source_the_sentences_around_its_best_hit_are_shown() -> None:
    [block] = citation_blocks("So [1].", [LONG])
    extras = block["extras"]
    assert 470 < len(block["cited_text"]) <= 500
    assert block["cited_text"] == LONG.page_content[extras["start"] : extras["end"]]
    assert extras["start"] < 2300 < extras["end"]
    assert block["cited_text"].startswith("Sentence")
    assert block["cited_text"].endswith("here.")
    [block] = citation_blocks("So [1].", [LONG.model_copy(update={"metadata": {}})])
    assert block["cited_text"].startswith("Sentence 0 is here.")
    [block] = citation_blocks("So [1].", [Document("word " * 1_000)])
    assert block["cited_text"] == ("word " * 100).strip()
    [block] = citation_blocks("So [1].", [Document("x" * 1_000)])
    assert block["cited_text"] == "x" * 500


# Quotes


MARKED = st.lists(
    st.sampled_from(["[1]", "[2]", "[1-3]", "[4]", "It is so", ". ", ", ", "\n\n", "- ", "`", " [2, 3]", "é😀 "])
).map("".join)


def blocks_of(answer: str) -> list[Any]:
    return citation_blocks(answer, THREE, quotes=verify_quotes(answer, THREE))


def test_a_quote_is_cited_at_its_place() -> None:
    answer = 'It says "A third  one" and "some words" [1].'
    one, two = blocks_of(answer)
    assert [one["cited_text"], two["cited_text"]] == ["A third one", "Some words"]
    assert [one["extras"]["sentences"], two["extras"]["sentences"]] == [[3, 3], [1, 1]]
    assert {each["extras"]["verdict"] for each in (one, two)} == {"normalized"}
    assert answer[one["start_index"] : one["end_index"]] == 'It says "A third  one" and "some words"'


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        # each piece of a stitched quote; a quote after its citation
        ('"Some words. A third one." [1]', [("Some words", "stitched"), ("A third one", "stitched")]),
        ('By [1], "And more". It says "Some words" [1].', [("And more", "verbatim"), ("Some words", "verbatim")]),
        # a quote that isn't there; a claim and its closest sentence; a quote of one of two sources
        ('It says "A refusal" [1].', [(THREE[0].page_content, "not_found")]),
        ('It says "A seat is free" [1].', [(THREE[0].page_content, "misattributed")]),
        ("There is a third one [1].", [("A third one.", "paraphrase")]),
        ('It says "And more" [1, 3].', [("And more", "verbatim"), (THREE[2].page_content, None)]),
    ],
)
def test_the_text_and_the_verdict_of_a_citation(answer: str, cited: list[tuple[str, str | None]]) -> None:
    assert [(each["cited_text"], each["extras"].get("verdict")) for each in blocks_of(answer)] == cited


def test_a_quote_that_is_no_longer_in_the_source_is_not_cited() -> None:
    answer = 'It says "Some words" [1].'
    [block] = citation_blocks(answer, [THREE[1]], quotes=verify_quotes(answer, THREE))
    assert block["cited_text"] == THREE[1].page_content


def test_a_quote_of_a_lead_in_is_cited_there() -> None:
    row = index_of("rules", "card")
    led = window("rules", row, row)
    answer = 'A "Plan" [1].'
    [block] = citation_blocks(answer, [led], quotes=verify_quotes(answer, [led]))
    start = led.metadata["lead_ins"][0]["start_index"] + 2
    assert (block["cited_text"], block["extras"]["start"], block["extras"]["end"]) == ("Plan", start, start + 4)


@given(MARKED, st.lists(ANY_DOCUMENTS, max_size=3) | st.lists(windows(), min_size=1, max_size=4))
@example(ANSWER, THREE)
def test_any_document_is_cited_by_its_own_text(answer: str, sources: list[Document]) -> None:
    before = copy.deepcopy(sources)
    message = cited_message(answer, sources)
    assert (sources, message.text) == (before, answer)
    json.dumps(message.content)
    blocks: list[Any] = citation_blocks(answer, sources)
    numbers = [each["extras"]["number"] for each in blocks]
    assert list(dict.fromkeys(numbers)) == [each.number for each in find_citations(answer, sources)]
    for number, each in zip(numbers, blocks, strict=True):
        assert each["cited_text"] in sources[number - 1].page_content


def check_place(found: Citation) -> None:
    doc_id = found.document.metadata["doc_id"]
    assert found.text is not None
    assert found.start is not None
    assert found.end is not None
    assert source_slice(doc_id, found.start, found.end) == found.text
    if found.sentences is not None:
        held = [sentence(doc_id, index) for index in range(found.sentences[0], found.sentences[1] + 1)]
        assert all(text in found.text for text in held)


# Citations of Anthropic's API, which tests/answering/test_wire.py reads from real messages


def location(sources: Sequence[Document], result: int, first: int, end: int, **changed: Any) -> dict[str, Any]:
    """A citation as the API writes it."""
    given_ = as_search_results(sources)[result]
    return {
        "type": "search_result_location",
        "search_result_index": result,
        "start_block_index": first,
        "end_block_index": end,
        "cited_text": "".join(block["text"] for block in given_["content"][first:end]),
        "source": given_["source"],
        "title": given_["title"],
    } | changed


def api_answer(sources: Sequence[Document]) -> list[str | dict[Any, Any]]:
    return [
        {"type": "thinking", "thinking": "Hm [3]."},
        {"type": "text", "text": "It says [3] "},
        {"type": "text", "text": "more", "citations": [location(sources, 0, 1, 3)]},
        {"type": "text", "text": " and "},
        {"type": "text", "text": "a seat is free.", "citations": [location(sources, 1, 2, 3)]},
    ]


def test_what_an_api_cites_is_mapped_to_sentences() -> None:
    message = AIMessage(api_answer(THREE))
    one, two = find_citations(message, THREE)
    assert one == Citation(
        1, "rules.md, line 3 (Rules)", THREE[0], "And more. A third one.", 22, 44, (2, 3), (), (3, 3), (12, 16)
    )
    assert (two.number, two.text, two.sentences, two.pages) == (2, "A seat is free.", (3, 3), (1,))
    assert two.location == "terms.pdf, p. ii (Terms)"
    assert message.text[slice(*(two.statement or ()))] == "a seat is free."


# Hostile and odd messages


@given(st.lists(windows(), min_size=1, max_size=4), st.data())
def test_every_range_of_blocks_is_mapped_to_its_text(sources: list[Document], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(sources) - 1))
    count, led = len(as_search_results(sources)[index]["content"]), len(sources[index].metadata.get("lead_ins", []))
    first = data.draw(st.integers(0, count - 1))
    end = data.draw(st.integers(first + 1, count))
    found = citations_of(location(sources, index, first, end), sources)
    assert {each.number for each in found} == {index + 1}
    for each in found:
        check_place(each)
    assert len(found) == max(0, min(end, led) - first) + (end > led)
    low, _ = sources[index].metadata["sentences"]
    if end > led:
        assert found[-1].sentences == (low + max(0, first - led), low + end - led - 1)


def citations_of(citation: Any, sources: Sequence[Document] = THREE, key: str = "citations") -> list[Citation]:
    return find_citations(AIMessage([{"type": "text", "text": "So [2].", key: [citation]}]), sources)


WRONG: dict[str, list[Any]] = {
    "search_result_index": [1, 3, -1, -3, True, 0.0, None, 10**30],
    "start_block_index": [0, -2, 3, "1"],
    "end_block_index": [4, 1, 2, None],
    "cited_text": ["Some words.", "", None, ["And more."], "And more. A third o", "and more. a third one."],
    "source": ["other.md"],
    "title": ["Other"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in WRONG.items() for value in values])
def test_a_citation_that_does_not_match_its_source_is_dropped(key: str, value: Any) -> None:
    right = location(THREE, 0, 1, 3)
    assert len(citations_of(right)) == 1
    assert citations_of(right | {key: value}) == []
    wrapped = {"type": "non_standard_annotation", "value": right | {key: value}}
    assert citations_of(wrapped, key="annotations") == []


def test_a_citation_may_differ_in_white_space_and_names_one_of_equal_texts() -> None:
    assert len(citations_of(location(THREE, 0, 1, 3, cited_text="And  more.\nA third one."))) == 1
    equal = [Document(" "), *(Document("It is so.", metadata={"source": name}) for name in "ab")]
    for index in (0, 1):
        assert [each.number for each in citations_of(location(equal, index, 0, 1), equal)] == [index + 2]
        assert citations_of(location(equal, index, 0, 1), equal[::-1]) == []


@pytest.mark.parametrize(
    "annotation", [None, 7, "citation", {}, {"type": "citation"}, {"type": "non_standard_annotation", "value": 7}]
)
@pytest.mark.parametrize("key", ["citations", "annotations"])
def test_odd_annotations_cite_nothing(key: str, annotation: Any) -> None:
    for given_ in ([annotation], annotation):
        assert find_citations(AIMessage([{"type": "text", "text": "So.", key: given_}]), THREE) == []


@given(st.sampled_from(DOC_IDS), MARKED)
def test_text_of_a_document_changes_no_citation(doc_id: str, forged: str) -> None:
    """Text that a model copies from a source doesn't change what the API's citations refer to."""
    copied = window(doc_id, 0, 0).page_content + forged
    content = api_answer(THREE)
    content[3] = {"type": "text", "text": copied}
    assert [each.number for each in find_citations(AIMessage(content), THREE)] == [1, 2]


def test_a_citation_of_an_api_that_langchain_wrapped_is_read() -> None:
    wrapped = {"type": "non_standard_annotation", "value": location(THREE, 0, 1, 2)}
    found = find_citations(AIMessage([{"type": "text", "text": "So.", "annotations": [wrapped]}]), THREE)
    assert [each.text for each in found] == ["And more."]


@pytest.mark.parametrize(
    "content",
    ["It is [2].", ["It is ", "[2]."], [{"type": "text", "text": "It is [2]."}], [{"type": "text"}, "It is [2]."]],
)
def test_a_message_without_citations_is_read_as_text(content: Any) -> None:
    message = AIMessage(content)
    assert find_citations(message, THREE) == find_citations("It is [2].", THREE)
    assert find_citations(message, THREE) == [Citation(2, describe_location(THREE[1]), THREE[1])]
    assert cited_message(message, THREE).content == cited_message("It is [2].", THREE).content


@pytest.mark.parametrize("wrong", [None, ["[1]"], HumanMessage("[1]")], ids=str)
def test_an_invalid_answer_is_refused(wrong: Any) -> None:
    for ask in (find_citations, cited_message, citation_blocks):
        with pytest.raises(InvalidInputError, match=r"the answer is .*; give its text"):
            ask(wrong, THREE)


@pytest.mark.parametrize("wrong", [None, "text", [7]], ids=str)
def test_invalid_quotes_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="quotes"):
        cited_message("So [1].", THREE, quotes=wrong)


@pytest.mark.parametrize(
    "answer", ["\ud800 It [1].", "A\x00b [1]", "[1] " * 2_000, "x" * 100_000 + "[1]", "\n" * 10_000 + "[1]"]
)
def test_odd_answers_are_cited(answer: str) -> None:
    message = cited_message(answer, THREE)
    assert message.text == answer
    assert {each.number for each in find_citations(message, THREE)} == {1}
    json.dumps(message.content)
