"""Test what windows need around them, worked out by hand for each rule, and what holds for any section."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.windows import completion
from langchain_sentence_window.windows.completion import (
    MAX_ADDED,
    MAX_ASKED_CHARS,
    MAX_LABEL_CHARS,
    MAX_TURN_CHARS,
    MIN_ANSWER_CHARS,
    MIN_CHARS,
    SHORT_CHARS,
    Line,
    SectionLines,
    refers_back,
)
from langchain_sentence_window.windows.geometry import Hit, Window
from tests.windows.sections import (
    ANSWER,
    ASKS,
    BACK,
    COLON,
    HEADING,
    ITEM,
    KINDS,
    LABEL,
    LED_ITEM,
    REST,
    ROW,
    SAYS,
    Lines,
    Search,
    run_of,
    searches,
    window,
)


def section_lines(each: Window, lines: Lines) -> SectionLines:
    hit = each.hits[0]
    return SectionLines(hit.doc_id, hit.section_start, hit.section_end, lines)


def complete(each: Window, lines: Lines, **how: bool) -> Window:
    return completion.complete(each, section_lines(each, lines), **how)


def ending_well(each: Window, lines: Lines) -> Window:
    return completion.ending_well(each, section_lines(each, lines))


def says_something(each: Window, lines: Lines) -> bool:
    return completion.says_something(each, section_lines(each, lines))


def is_heading_alone(each: Window, lines: Lines) -> bool:
    return completion.is_heading_alone(each, section_lines(each, lines))


SHORT_ITEM = Line("- the audit.", in_list=True, has_lead_in=True)


def completed(lines: list[Line | None], first: int, last: int | None = None, **how: bool) -> tuple[int, int]:
    return run_of(complete(window(first, last, section=(0, len(lines))), Lines(a=lines), **how))


@pytest.mark.parametrize(
    ("lines", "given_run", "expected"),
    [
        # A heading isn't left alone, nor are several, nor labels.
        ([HEADING, SAYS, SAYS], (0, 0), (0, 1)),
        ([HEADING, HEADING, LABEL, SAYS], (0, 0), (0, 3)),
        ([SAYS, HEADING, SAYS], (0, 1), (0, 1)),
        ([SAYS, HEADING, SAYS], (1, 1), (1, 2)),
        ([LABEL, SAYS, SAYS], (0, 0), (0, 1)),
        ([SAYS, LABEL], (1, 1), (1, 1)),  # nothing stands under it
        ([LABEL] * 20, (0, 0), (0, 3 * MAX_ADDED)),  # in three rounds
        # A colon goes on to what it announces.
        ([COLON, SAYS, SAYS], (0, 0), (0, 1)),
        ([SAYS, COLON, ITEM, ITEM], (0, 1), (0, 2)),
        ([COLON, COLON, SAYS, SAYS], (0, 0), (0, 2)),
        ([SAYS, COLON], (0, 1), (0, 1)),
        ([Line("The buyer pays for: \n"), SAYS], (0, 0), (0, 1)),
        ([Line("Paid: the audit."), SAYS], (0, 0), (0, 0)),
        # An item of a list is whole, from any of its sentences.
        ([SAYS, LED_ITEM, REST, REST, LED_ITEM], (2, 2), (1, 3)),
        ([SAYS, LED_ITEM, REST, REST, LED_ITEM], (1, 1), (1, 3)),
        ([SAYS, LED_ITEM, REST, REST, SAYS], (3, 3), (1, 3)),
        ([SAYS, LED_ITEM, REST, LED_ITEM, REST], (2, 3), (1, 4)),
        ([SAYS, LED_ITEM, SAYS], (2, 2), (2, 2)),
        # An item without a lead-in opens to what stands before the list, if that is near.
        ([SAYS, ITEM, ITEM, SAYS], (2, 2), (0, 2)),
        ([COLON, ITEM, ITEM, SAYS], (1, 1), (0, 1)),
        ([SAYS, ITEM, ITEM, ITEM, ITEM], (4, 4), (4, 4)),
        ([SAYS, LED_ITEM], (1, 1), (1, 1)),
        ([ITEM, ITEM], (1, 1), (1, 1)),
        ([ITEM, REST, ITEM], (2, 2), (2, 2)),  # the rest of an item doesn't stand before the list
        ([SAYS, ITEM, REST, ITEM], (3, 3), (0, 3)),
        # A sentence that refers back has what it refers to before it.
        ([SAYS, BACK, SAYS], (1, 1), (0, 1)),
        ([SAYS, BACK, BACK, SAYS], (2, 2), (0, 2)),
        ([BACK, SAYS], (0, 0), (0, 0)),
        ([SAYS, SAYS, BACK], (1, 2), (1, 2)),  # what it refers to is there
        # What one rule adds may need another.
        ([SAYS, BACK, HEADING, COLON, LED_ITEM, REST], (2, 2), (2, 5)),
        ([SAYS, BACK, ITEM, REST], (3, 3), (0, 3)),
    ],
)
def test_rules(lines: list[Line | None], given_run: tuple[int, int], expected: tuple[int, int]) -> None:
    assert completed(lines, *given_run) == expected


@pytest.mark.parametrize("part", [ROW, SHORT_ITEM], ids=["table", "list"])
def test_a_short_table_or_list_is_whole(part: Line) -> None:
    fitting = (SHORT_CHARS + 1) // (len(part.text) + 1)
    short: list[Line | None]
    long: list[Line | None]
    short, long = [SAYS, *[part] * fitting, SAYS], [SAYS, *[part] * (fitting + 1), SAYS]
    for index in range(1, fitting + 1):
        assert completed(short, index) == (1, fitting)
    assert completed(long, 3) == (3, 3)
    # One of which two were hit may have twice as many characters.
    both = Window("a", 3, 3, (Hit("a", 3, 0, len(long), 1.0),)), Window("a", 4, 4, (Hit("a", 4, 0, len(long), 0.5),))
    joined = Window("a", 3, 4, (*both[0].hits, *both[1].hits))
    assert run_of(complete(joined, Lines(a=long))) == (1, fitting + 1)
    assert completed([SAYS, part, SAYS, part], 3) == (3, 3)  # another one
    assert completed([SAYS, part, part], 2, keeps_sentences_whole=False) == (2, 2)


def turns(*sizes: int, line: Line = SAYS) -> list[Line | None]:
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return [replace(line, turn=start) for start, size in zip(starts, sizes, strict=True) for _ in range(size)]


def test_a_turn_is_whole_unless_it_is_long() -> None:
    assert completed(turns(2, 3, 2), 3) == (2, 4)
    assert completed(turns(2, 3, 2), 1, 2) == (0, 4)
    assert completed(turns(2, 3, 2), 3, keeps_sentences_whole=False) == (3, 3)
    most = MAX_TURN_CHARS // len(SAYS.text)
    for at in (2, 4, most + 1):
        assert completed(turns(2, most, 2), at) == (2, most + 1)
    assert completed(turns(2, most + 1, 2), 4) == (4, 4)
    assert completed([*turns(1), None, *turns(3)[1:]], 2) == (2, 3)


def test_a_short_turn_has_the_question_that_it_answers() -> None:
    asked, said = replace(ASKS, turn=0), replace(ANSWER, turn=1)
    more = replace(SAYS, turn=2)
    assert completed([asked, said, more], 1) == (0, 1)
    assert completed([replace(asked, ends_line=False), said, more], 1) == (1, 1)  # the turn goes on
    assert completed([replace(asked, turn=None), said, more], 1) == (1, 1)
    enough = replace(said, text="x" * MIN_CHARS)
    assert completed([asked, enough, more], 1) == (1, 1)
    long = replace(asked, text=f"{'x' * MAX_ASKED_CHARS}?")
    assert completed([long, said, more], 1) == (1, 1)


@pytest.mark.parametrize("text", ["Who pays it?", 'Who pays "it?"', "谁付？"])
def test_a_question_in_a_line_of_its_own_goes_on_to_its_answer(text: str) -> None:
    asks = Line(text, ends_line=True)
    more: list[Line | None] = [ANSWER] * 20
    whole = -(-MIN_ANSWER_CHARS // len(ANSWER.text))
    assert completed([asks, *more], 0) == (0, whole)
    assert completed([replace(SAYS, ends_line=True), asks, *more], 0, 1) == (0, 1 + whole)
    assert completed([SAYS, asks, *more], 0, 1) == (0, 1)  # it ends a paragraph
    assert completed([replace(asks, ends_line=False), *more], 0) == (0, 0)
    assert completed([asks, ANSWER], 0) == (0, 1)
    assert completed([asks, None, ANSWER], 0) == (0, 0)
    assert completed([asks], 0) == (0, 0)


def test_nothing_crosses_the_ends_of_the_section_or_what_cannot_be_read() -> None:
    lines = [SAYS, BACK, COLON, SAYS]
    assert run_of(complete(window(1, 2, section=(1, 3)), Lines(a=lines))) == (1, 2)
    assert completed([None, BACK, COLON, None], 1, 2) == (1, 2)
    assert completed([SAYS, None, ITEM, ITEM], 3, 3) == (3, 3)


@pytest.mark.parametrize(
    ("lines", "run", "expected"),
    [
        ([SAYS, SAYS], (0, 0), True),
        ([HEADING, SAYS], (0, 1), True),
        ([HEADING, SAYS], (0, 0), False),
        ([HEADING, LABEL, SAYS], (0, 1), False),
        ([SAYS, LABEL], (1, 1), False),
        ([SAYS, COLON], (0, 1), False),
        ([COLON], (0, 0), False),
        ([SAYS, ITEM], (1, 1), True),
        ([SAYS, Line("| card | 9")], (1, 1), True),
        # A whole section of short lines is content, unless there is a heading in it.
        ([LABEL], (0, 0), True),
        ([LABEL, LABEL], (0, 1), True),
        ([LABEL, LABEL], (0, 0), False),
        ([HEADING, LABEL], (0, 1), False),
        ([HEADING], (0, 0), False),
        # What a label is: each of its lines is short and ends without a mark.
        ([SAYS, Line("x" * (MAX_LABEL_CHARS - 1))], (1, 1), False),
        ([SAYS, Line("x" * MAX_LABEL_CHARS)], (1, 1), True),
        ([SAYS, Line("Costs\n\nof the audit\n")], (1, 1), False),
        ([SAYS, Line("Costs\nof the audit.")], (1, 1), True),
        *(([SAYS, Line(f"Costs{end}")], (1, 1), True) for end in "。！؟।”"),
        ([SAYS, Line("退款如下：")], (1, 1), False),
        ([SAYS, Line(" \n")], (1, 1), False),
        ([SAYS, None], (1, 1), False),
    ],
)
def test_what_says_something(lines: list[Line | None], run: tuple[int, int], expected: bool) -> None:
    assert says_something(window(*run, section=(0, len(lines))), Lines(a=lines)) is expected


def test_what_announces_something_that_does_not_follow_is_cut() -> None:
    lines = Lines(a=[SAYS, COLON, COLON, SAYS])
    end = (0, 3)
    assert run_of(ending_well(window(0, 2, section=end), lines)) == (0, 0)
    assert run_of(ending_well(window(0, 2, hit=1, section=end), lines)) == (0, 1)
    assert run_of(ending_well(window(0, 2, section=(0, 4)), lines)) == (0, 2)
    two = Window("a", 0, 2, (Hit("a", 0, *end, 0.9), Hit("a", 1, *end, 0.1)))
    assert ending_well(two, lines).hits == two.hits[:1]
    unread = Lines(a=[SAYS, COLON, None])
    assert run_of(ending_well(window(0, 1), unread)) == (0, 0)


def test_a_short_line_alone_at_the_end_is_cut_as_it_names_what_follows() -> None:
    lines = Lines(a=[SAYS, SAYS, LABEL, SAYS])
    assert run_of(ending_well(window(0, 2), lines)) == (0, 1)
    assert run_of(ending_well(window(0, 2, section=(0, 3)), lines)) == (0, 2)  # nothing follows
    assert run_of(ending_well(window(2, 2), lines)) == (2, 2)
    hit = Window("a", 0, 2, (Hit("a", 0, 0, 4, 0.9), Hit("a", 2, 0, 4, 0.1)))
    assert ending_well(hit, lines) is hit
    of_labels = Lines(a=[SAYS, LABEL, LABEL, SAYS])  # such as code
    assert run_of(ending_well(window(0, 2), of_labels)) == (0, 2)
    items = Lines(a=[SAYS, ITEM, replace(LABEL, in_list=True), SAYS])
    assert run_of(ending_well(window(0, 2), items)) == (0, 2)
    names_a_colon = Lines(a=[SAYS, LABEL, COLON])
    assert run_of(ending_well(window(0, 2, section=(0, 3)), names_a_colon)) == (0, 0)


@given(searches((*KINDS, None)), st.booleans())
def test_a_completed_window_holds_the_given_one_in_its_section(search: Search, opens_backward: bool) -> None:
    lines, ranked, _ = search
    for each in ranked:
        larger = complete(each, lines, opens_backward=opens_backward)
        (start, end) = each.best.section_start, each.best.section_end
        assert start <= larger.first <= each.first <= each.last <= larger.last < end
        assert (larger.doc_id, larger.hits) == (each.doc_id, each.hits)
        read = range(larger.first, larger.last + 1)
        assert all(lines((each.doc_id, index)) is not None for index in read)
        last = lines((each.doc_id, larger.last))
        after = None if larger.last + 1 == end else lines((each.doc_id, larger.last + 1))
        if larger.last - each.last < MAX_ADDED:  # a rule adds no more than so many
            assert after is None or last is None or not last.text.endswith(":")
            inside = [lines((each.doc_id, index)) for index in read]
            assert after is None or not all(line is not None and line.is_heading for line in inside)
        if opens_backward and each.first - larger.first < MAX_ADDED:
            begins = lines((each.doc_id, larger.first))
            before = None if larger.first == start else lines((each.doc_id, larger.first - 1))
            assert before is None or begins is None or not refers_back(begins.text)
