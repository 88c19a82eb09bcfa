"""Answers with LangChain's standard Citation blocks, and what find_citations reads of messages."""

import copy
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps, load
from langchain_core.messages import AIMessage, HumanMessage, message_to_dict, messages_from_dict

from langchain_sentence_window import Citation, describe_location, find_citations
from langchain_sentence_window.answering.content_blocks import citation_blocks, cited_message, cited_statements
from langchain_sentence_window.answering.context import as_search_results, search_results
from langchain_sentence_window.answering.locations import MAX_EXCERPT_CHARS
from langchain_sentence_window.answering.quotes.verification import QuotedPlace, VerifiedQuote
from langchain_sentence_window.errors import InvalidInputError
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


@pytest.mark.parametrize(
    ("answer", "statements"),
    [
        ("It is refused [1]. Next one is [2].", ["It is refused", "Next one is"]),
        ("It is refused. [1] Next one.[2][3] And?", ["It is refused.", "Next one.", "Next one."]),
        ("Not cited. It is so [1].", ["It is so"]),
        ("Refused [1], and kept [2].", ["Refused", "kept"]),
        ("Refused [1], [2] and [3].", ["Refused"] * 3),
        ("- item one [1]\n- item two [2], [3].\n\nPara. More [1-3].", ["item one", "item two", "item two", "More"]),
        ("1. It is -5 °C [1]\n2. **Bold** claim [2]", ["It is -5 °C", "**Bold** claim"]),
        ("| a | b |\n|---|---|\n| x [1] | y [2] |", ["x", "y"]),
        ("# Head\n\nShort [1]", ["Short"]),
        ("[1] says so. According to [2], it is full.", ["says so.", "it is full."]),
        ("As [1] and [2] say, it is so.", ["say, it is so.", "say, it is so."]),
        ("It is so [1], as all say.", ["It is so"]),
        ("Done.\n\n[1]\n[2]", ["Done.", "Done."]),
        ("Done [1].\n\n[2]", ["Done", "[2]"]),
        ("[1]", ["[1]"]),
        ("See [1].", ["See"]),
        ("二つ目です[1]。次です【2】。", ["二つ目です", "次です"]),
        ("`[1]` is code", []),
        ("", []),
    ],
)
def test_a_citation_belongs_to_a_statement(answer: str, statements: list[str]) -> None:
    assert [
        answer[each.start : each.end] for each in cited_statements(answer, [Document(page_content="A card.")] * 3)
    ] == statements


@given(
    st.lists(st.sampled_from(["[1]", "[2, 3]", "Ab c", ". ", "\n\n", "- ", "| ", ", ", "and ", "to ", "`", "é"])).map(
        "".join
    )
)
def test_statements_lie_in_the_answer_in_order(answer: str) -> None:
    found = cited_statements(answer, [Document(page_content="A card.")] * 3)
    marks = [each.mark for each in found]
    assert [mark.start for mark in marks] == sorted({mark.start for mark in marks})
    for each in found:
        assert 0 <= each.start < each.end <= len(answer)
        inside = [mark for mark in marks if mark.start < each.end and mark.end > each.start]
        assert not inside or (each.start, each.end) == (inside[0].start, inside[-1].end)
        assert 0 <= each.region[0] <= each.region[1] <= len(answer)
    assert all(one.region[1] <= two.region[0] or one.region == two.region for one, two in pairwise(found))


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


def test_a_source_on_the_web_has_its_address() -> None:
    for metadata in ({"source": "https://a.b/c"}, {"url": "https://a.b/c", "source": "c.md"}):
        [block] = citation_blocks("So [1].", [Document("It is so.", metadata=metadata)])
        assert block["url"] == "https://a.b/c#:~:text=It%20is%20so."
    [block] = citation_blocks("So [1].", [Document("It is so.", metadata={"source": "javascript:alert(1)"})])
    assert "url" not in block


def test_ids_tell_citations_apart_and_are_the_same_for_the_same() -> None:
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
    assert MAX_EXCERPT_CHARS - 30 < len(block["cited_text"]) <= MAX_EXCERPT_CHARS
    assert block["cited_text"] == LONG.page_content[extras["start"] : extras["end"]]
    assert extras["start"] < 2300 < extras["end"]
    assert block["cited_text"].startswith("Sentence")
    assert block["cited_text"].endswith("here.")
    [block] = citation_blocks("So [1].", [LONG.model_copy(update={"metadata": {}})])
    assert block["cited_text"].startswith("Sentence 0 is here.")
    [block] = citation_blocks("So [1].", [Document("word " * 1_000)])
    assert block["cited_text"] == ("word " * 100).strip()
    [block] = citation_blocks("So [1].", [Document("x" * 1_000)])
    assert block["cited_text"] == "x" * MAX_EXCERPT_CHARS


# Quotes


def standing(number: int, start: int, text: str) -> QuotedPlace:
    return QuotedPlace(number, Document(page_content=text), None, start, start + len(text), text, (), (), "")


def quote(
    start: int,
    end: int,
    cited: tuple[int, ...],
    verdict: Any,
    places: tuple[QuotedPlace, ...] = (),
    *,
    kind: Any = "quotation",
) -> VerifiedQuote:
    return VerifiedQuote(kind, "", start, end, cited, verdict, places)


def quoted(answer: str, text: str, verdict: str, *places: QuotedPlace, cited: tuple[int, ...] = (1,)) -> VerifiedQuote:
    start = answer.index(text)
    return quote(start, start + len(text), cited, verdict, places)


def test_a_quote_is_cited_where_it_stands() -> None:
    answer = 'It says "A third  one" and "some words" [1].'
    quotes = [
        quoted(answer, "A third  one", "normalized", standing(1, 32, "A third one")),
        quoted(answer, "some words", "normalized", standing(1, 9, "Some words")),
    ]
    one, two = citation_blocks(answer, THREE, quotes=quotes)
    assert [one["cited_text"], two["cited_text"]] == ["A third one", "Some words"]
    assert [one["extras"]["sentences"], two["extras"]["sentences"]] == [[3, 3], [1, 1]]
    assert {each["extras"]["verdict"] for each in (one, two)} == {"normalized"}
    assert answer[one["start_index"] : one["end_index"]] == 'It says "A third  one" and "some words"'
    assert find_citations(cited_message(answer, THREE, quotes=quotes), THREE) == [
        Citation(1, "rules.md, line 3 (Rules)", THREE[0], "A third one", 32, 43, (3, 3), (), (3, 3), (0, 39)),
        Citation(1, "rules.md, line 3 (Rules)", THREE[0], "Some words", 9, 19, (1, 1), (), (3, 3), (0, 39)),
    ]


def test_pieces_of_a_stitched_quote_are_cited_each() -> None:
    answer = 'It says "Some words. A third one." [1]'
    places = standing(1, 9, "Some words."), standing(1, 32, "A third one.")
    blocks = citation_blocks(answer, THREE, quotes=[quoted(answer, "Some words. A third one.", "stitched", *places)])
    assert [each["cited_text"] for each in blocks] == ["Some words.", "A third one."]
    # No sentence ends in a quote.
    assert {answer[each["start_index"] : each["end_index"]] for each in blocks} == {
        'It says "Some words. A third one."'
    }


def test_a_quote_after_its_citation_is_found_and_another_statements_is_not() -> None:
    answer = 'According to [1], "And more". It says "Some words" [1].'
    quotes = [
        quoted(answer, "And more", "verbatim", standing(1, 22, "And more")),
        quoted(answer, "Some words", "verbatim", standing(1, 9, "Some words")),
    ]
    blocks = citation_blocks(answer, THREE, quotes=quotes)
    assert [each["cited_text"] for each in blocks] == ["And more", "Some words"]


@pytest.mark.parametrize(("verdict", "places"), [("not_found", ()), ("misattributed", (standing(2, 9, "A refund"),))])
def test_a_quote_that_is_not_in_its_source_says_so(verdict: str, places: tuple[QuotedPlace, ...]) -> None:
    answer = 'It says "A refund" [1].'
    [block] = citation_blocks(answer, THREE, quotes=[quoted(answer, "A refund", verdict, *places)])
    assert (block["extras"]["number"], block["extras"]["verdict"]) == (1, verdict)
    assert block["cited_text"] == THREE[0].page_content


def test_a_claim_in_other_words_is_cited_as_if_it_had_not_been_compared() -> None:
    claim = quote(0, 8, (1,), "not_found", (), kind="claim")
    assert citation_blocks(ANSWER, THREE, quotes=[claim]) == citation_blocks(ANSWER, THREE)
    elsewhere = quote(0, 8, (1,), "misattributed", (standing(2, 9, "A refund"),), kind="claim")
    assert citation_blocks(ANSWER, THREE, quotes=[elsewhere])[0]["extras"]["verdict"] == "misattributed"


def test_a_quote_that_is_in_one_of_two_sources_tells_nothing_of_the_other() -> None:
    answer = 'It says "And more" [1, 2].'
    quote = quoted(answer, "And more", "verbatim", standing(1, 22, "And more"), cited=(1, 2))
    one, two = citation_blocks(answer, THREE, quotes=[quote])
    assert (one["cited_text"], one["extras"]["verdict"]) == ("And more", "verbatim")
    assert two["cited_text"] == THREE[1].page_content
    assert "verdict" not in two["extras"]


@pytest.mark.parametrize("place", [standing(1, 10, "Some words"), standing(1, -9, "x"), standing(1, 9, "Some wordz")])
def test_a_place_that_is_not_there_is_not_cited(place: QuotedPlace) -> None:
    [block] = citation_blocks('"Some words" [1]', THREE, quotes=[quote(1, 11, (1,), "verbatim", (place,))])
    assert block["cited_text"] == THREE[0].page_content


def test_a_quote_of_a_lead_in_is_cited_there() -> None:
    row = index_of("rules", "card")
    led = window("rules", row, row)
    [lead_in] = led.metadata["lead_ins"]
    start = lead_in["start_index"] + 2
    answer = 'A "Plan" [1].'
    message = cited_message(answer, [led], quotes=[quoted(answer, "Plan", "verbatim", standing(1, start, "Plan"))])
    [found] = find_citations(message, [led])
    assert (found.text, found.start, found.end, found.sentences) == ("Plan", start, start + 4, None)


# Round trips


MARKED = st.lists(
    st.sampled_from(["[1]", "[2]", "[1-3]", "[4]", "It is so", ". ", ", ", "\n\n", "- ", "`", " [2, 3]", "é😀 "])
).map("".join)


@given(MARKED, st.lists(windows(), min_size=1, max_size=4))
@example(ANSWER, THREE)
def test_what_a_message_cites_is_read_back_as_it_stands_in_the_source(answer: str, sources: list[Document]) -> None:
    before = copy.deepcopy(sources)
    message = cited_message(answer, sources)
    found = find_citations(message, sources)
    assert sources == before
    assert message.text == answer
    assert list(dict.fromkeys(each.number for each in found)) == [
        each.number for each in find_citations(answer, sources)
    ]
    blocks = citation_blocks(answer, sources)
    assert [(each.number, each.text, each.statement) for each in found] == list(
        dict.fromkeys(
            (each["extras"]["number"], each["cited_text"], (each["start_index"], each["end_index"])) for each in blocks
        )
    )
    for each in found:
        check_place(each)


def check_place(found: Citation) -> None:
    doc_id = found.document.metadata["doc_id"]
    assert found.text is not None
    assert found.start is not None
    assert found.end is not None
    assert source_slice(doc_id, found.start, found.end) == found.text
    if found.sentences is not None:
        held = [sentence(doc_id, index) for index in range(found.sentences[0], found.sentences[1] + 1)]
        assert all(text in found.text for text in held)


@given(MARKED, st.lists(ANY_DOCUMENTS, max_size=3))
def test_any_documents_can_be_cited(answer: str, sources: list[Document]) -> None:
    message = cited_message(answer, sources)
    json.dumps(message.content)
    for each in find_citations(message, sources):
        assert each.text is not None
        leads = [lead["text"] for lead in each.document.metadata.get("lead_ins", []) if isinstance(lead, dict)]
        assert any(each.text in text for text in [each.document.page_content, *leads])


def test_a_message_of_an_api_becomes_a_standard_one() -> None:
    message = AIMessage(api_answer(THREE), id="m1", response_metadata={"model_provider": "anthropic"})
    made = cited_message(message, THREE)
    assert (made.text, made.id, made.response_metadata) == (message.text, "m1", {})
    [block] = made.content_blocks
    assert [each["cited_text"] for each in block["annotations"]] == ["And more. A third one.", "A seat is free."]  # type: ignore[typeddict-item]
    assert find_citations(made, THREE) == find_citations(message, THREE)


# Citations of Anthropic's API


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


@given(st.lists(windows(), min_size=1, max_size=4), st.data())
def test_every_range_of_blocks_is_mapped_to_its_text(sources: list[Document], data: st.DataObject) -> None:
    results = search_results(sources)
    index = data.draw(st.integers(0, len(results) - 1))
    count, led = len(results[index].blocks), len(results[index].lead_ins)
    first = data.draw(st.integers(0, count - 1))
    end = data.draw(st.integers(first + 1, count))
    found = find_citations(
        AIMessage([{"type": "text", "text": "So.", "citations": [location(sources, index, first, end)]}]), sources
    )
    assert {each.number for each in found} == {index + 1}
    for each in found:
        check_place(each)
    assert len(found) == max(0, min(end, led) - first) + (end > led)
    low, high = sources[index].metadata["sentences"]
    if end > led:
        assert found[-1].sentences == (low + max(0, first - led), low + end - led - 1)
    if (first, end) == (led, count):
        assert (found[-1].text, found[-1].sentences) == (sources[index].page_content, (low, high))


WRONG: list[dict[str, Any]] = [
    {"search_result_index": 1},
    {"search_result_index": 3},
    {"search_result_index": -1},
    {"search_result_index": -3},
    {"search_result_index": True},
    {"search_result_index": 0.0},
    {"search_result_index": None},
    {"search_result_index": 10**30},
    {"start_block_index": 0},
    {"start_block_index": -2},
    {"start_block_index": 3},
    {"start_block_index": "1"},
    {"end_block_index": 4},
    {"end_block_index": 1},
    {"end_block_index": 2},
    {"end_block_index": None},
    {"cited_text": "Some words."},
    {"cited_text": ""},
    {"cited_text": None},
    {"cited_text": ["And more."]},
    {"cited_text": "And more. A third one. "[:-3]},
    {"cited_text": "and more. a third one."},
    {"source": "other.md"},
    {"title": "Other"},
]


@pytest.mark.parametrize("changed", WRONG, ids=str)
@pytest.mark.parametrize("is_standard", [False, True], ids=["native", "standard"])
def test_a_citation_that_does_not_hold_is_dropped(changed: dict[str, Any], is_standard: bool) -> None:
    for given_, kept in ((location(THREE, 0, 1, 3), 1), (location(THREE, 0, 1, 3) | changed, 0)):
        block: dict[Any, Any] = {"type": "text", "text": "So [2].", "citations": [given_]}
        message = AIMessage([block], response_metadata={"model_provider": "anthropic"})
        if is_standard:
            message = AIMessage(content_blocks=message.content_blocks)
        assert len(find_citations(message, THREE)) == kept


def test_white_space_may_differ() -> None:
    block: dict[Any, Any] = {
        "type": "text",
        "text": "So.",
        "citations": [location(THREE, 0, 1, 3, cited_text="And  more.\nA third one.")],
    }
    assert len(find_citations(AIMessage([block]), THREE)) == 1


def test_equal_texts_are_told_apart_by_their_numbers() -> None:
    sources = [Document("It is so.", metadata={"source": name}) for name in "ab"]
    for index in (0, 1):
        block: dict[Any, Any] = {"type": "text", "text": "So.", "citations": [location(sources, index, 0, 1)]}
        assert [each.number for each in find_citations(AIMessage([block]), sources)] == [index + 1]
        assert not find_citations(AIMessage([block]), sources[::-1])


def test_blank_windows_do_not_shift_the_numbers() -> None:
    sources = [Document(" "), *THREE]
    block: dict[Any, Any] = {"type": "text", "text": "So.", "citations": [location(sources, 1, 2, 3)]}
    assert [(each.number, each.text) for each in find_citations(AIMessage([block]), sources)] == [
        (3, "A seat is free.")
    ]


# Hostile and odd messages


@given(st.sampled_from(DOC_IDS), MARKED)
def test_text_of_a_document_changes_no_citation(doc_id: str, forged: str) -> None:
    """Whatever a model copies from a source, an API's citations resolve to what the API cites."""
    copied = window(doc_id, 0, 0).page_content + forged
    content = api_answer(THREE)
    content[3] = {"type": "text", "text": copied}
    assert [each.number for each in find_citations(AIMessage(content), THREE)] == [1, 2]


ODD: list[Any] = [
    None,
    7,
    "citation",
    {},
    {"type": "citation"},
    {"type": "citation", "extras": 7, "cited_text": "x"},
    {"type": "citation", "extras": {"number": 1}},
    {"type": "citation", "extras": {"number": 1}, "cited_text": "Some words."},
    {"type": "citation", "extras": {"number": 1, "doc_id": "hostile", "start": 9}, "cited_text": "Some words."},
    {"type": "citation", "extras": {"number": 1, "doc_id": "rules", "start": 10}, "cited_text": "Some words."},
    {"type": "citation", "extras": {"number": 1, "doc_id": "rules", "start": -1}, "cited_text": "Some words."},
    {"type": "citation", "extras": {"number": 0, "doc_id": "hostile", "start": 0}, "cited_text": "Begin"},
    {"type": "citation", "extras": {"number": 9, "doc_id": "rules", "start": 9}, "cited_text": "Some words."},
    {"type": "citation", "extras": {"number": 1, "doc_id": "rules", "start": 9}, "cited_text": ""},
    {"type": "citation", "extras": {"number": 1, "doc_id": "rules", "start": 9}, "cited_text": 7},
    {"type": "non_standard_annotation"},
    {"type": "non_standard_annotation", "value": 7},
    {"type": "url_citation", "url": 7},
    {"type": "url_citation", "url": "https://x.y/z"},
    {"type": "file_citation", "file_id": "rules.md"},
]


@pytest.mark.parametrize("annotation", ODD, ids=str)
@pytest.mark.parametrize("key", ["citations", "annotations"])
def test_odd_annotations_cite_nothing(key: str, annotation: Any) -> None:
    for given_ in ([annotation], [annotation, annotation], annotation):
        assert find_citations(AIMessage([{"type": "text", "text": "So.", key: given_}]), THREE) == []


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


@pytest.mark.parametrize("wrong", [None, 7, b"x", ["[1]"], HumanMessage("[1]"), {"content": "[1]"}], ids=str)
def test_what_is_no_answer_is_refused(wrong: Any) -> None:
    for ask in (find_citations, cited_message, citation_blocks):
        with pytest.raises(InvalidInputError, match=r"the answer is .*; give its text"):
            ask(wrong, THREE)


@pytest.mark.parametrize("wrong", [None, "text", [7], [standing(1, 0, "x")], 7], ids=str)
def test_what_are_no_quotes_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="quotes"):
        cited_message("So [1].", THREE, quotes=wrong)


@pytest.mark.parametrize("wrong", ["text", None, [7]], ids=repr)
def test_what_are_no_windows_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="documents"):
        cited_message("So [1].", wrong)


@pytest.mark.parametrize(
    "answer", ["\ud800 It [1].", "A\x00b [1]", "[1] " * 2_000, "x" * 100_000 + "[1]", "\n" * 10_000 + "[1]"]
)
def test_odd_answers_are_cited(answer: str) -> None:
    message = cited_message(answer, THREE)
    assert message.text == answer
    assert {each.number for each in find_citations(message, THREE)} == {1}
    json.dumps(message.content)
