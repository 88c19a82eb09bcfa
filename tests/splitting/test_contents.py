"""Tables of contents, which name the headings below them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.splitting.blocks import CONTENTS, Block
from langchain_sentence_window.splitting.structure import find_contents

TITLES = ("1. Definitions", "2. Term and Termination", "3. Fees", "4. Governing Law")
BODY = "\n\n".join(f"{title}\n\nThe parties agree on this." for title in TITLES)


def contents_of(text: str) -> list[str]:
    found = SentenceSplitter().split_text(text)
    return [text[each.start : each.end] for each in found if each.kind == CONTENTS]


@pytest.mark.parametrize("leader", [" ", " .......... ", "....", " . . . . ", "\t"])
def test_lines_that_name_headings_below_and_their_pages(leader: str) -> None:
    lines = [f"{title}{leader}{page}" for title, page in zip(TITLES, ("1", "iv", "12", "A-3"), strict=True)]
    text = "\n".join(["Table of Contents", "", *lines, "", BODY])
    assert contents_of(text) == lines


def test_lines_between_and_one_before_whose_page_is_missing() -> None:
    lines = [TITLES[0], "2. Term and Termination 3", "(continued)", "3. Fees 12", "4. Governing Law 14"]
    assert contents_of("\n\n".join(["SUPPLY AGREEMENT", *lines, BODY])) == lines


LINES = "\n\n".join(f"{title} {page}" for page, title in enumerate(TITLES))


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        (["SUPPLY AGREEMENT", "TABLE OF CONTENTS"], ["SUPPLY AGREEMENT", "SUPPLY AGREEMENT > TABLE OF CONTENTS"]),
        (["SUPPLY AGREEMENT", "OVERVIEW"], ["SUPPLY AGREEMENT", "SUPPLY AGREEMENT > OVERVIEW"]),
        (["SUPPLY AGREEMENT"], ["SUPPLY AGREEMENT"]),
        (["TABLE OF CONTENTS"], ["TABLE OF CONTENTS"]),
    ],
)
def test_the_title_of_the_table_has_no_sections_below_it(above: list[str], expected: list[str]) -> None:
    text = "\n\n".join([*above, LINES, BODY])
    headings = dict.fromkeys(each.heading for each in SentenceSplitter().split_text(text))
    document = f"{above[0]} > " if above[0] != "TABLE OF CONTENTS" else ""
    assert list(headings) == [*expected, *(f"{document}{title}" for title in TITLES)]


@pytest.mark.parametrize(
    "lines",
    [
        ["Apples 3", "Pears 4", "Plums 5", "Cherries 6"],  # prices
        [f"{title} 1" for title in TITLES[:2]],  # too few
        [*(f"{title} 1" for title in TITLES[:3]), *(f"Item {n} costs {n}" for n in range(4))],  # too few of them
        list(TITLES),  # no pages
        [f"{title} applies from page 1." for title in TITLES],
    ],
)
def test_other_lists_are_no_tables_of_contents(lines: list[str]) -> None:
    assert contents_of("\n\n".join([*lines, BODY])) == []


GUIDE = "\n\n".join(f"## {title}\n\nThe parties agree on this." for title in TITLES)


@pytest.mark.parametrize(
    "lines",
    [
        [f"- {title}" for title in TITLES],
        [f"* [{title[3:]}](#{number})" for number, title in enumerate(TITLES)],
        [f"{number}. [{title[3:]}](#{number})" for number, title in enumerate(TITLES, start=1)],
        [f"- {title[3:]}" for title in [*TITLES[:3], "5. Annex", TITLES[3]]],
        [line for title in TITLES for line in (title, "")],
        [line for title in TITLES for line in (title[3:], "")],
    ],
)
def test_a_list_that_names_headings_below(lines: list[str]) -> None:
    expected = [line for line in lines if line]
    assert contents_of("\n".join(["# Supply", "", *lines, "", GUIDE])) == expected
    assert contents_of("\n".join(["# Supply", "", "These are its parts.", "", *lines, "", GUIDE])) == expected
    assert contents_of("\n".join(["# Supply", "", "On this page", "", *lines, "", GUIDE])) == expected


def test_the_numbers_of_sections_may_have_parts() -> None:
    titles = ["1.1. Fees", "1.2. Due dates", "1.2.1 Late fees"]
    text = "\n\n".join([*titles, *(f"## {title}\n\nThe parties agree." for title in titles)])
    assert contents_of(text) == titles


@pytest.mark.parametrize(
    "lines",
    [
        ["These are agreed:", "", *(f"- {title[3:]}" for title in TITLES)],  # an answer, perhaps
        [f"- {title[3:]}" for title in TITLES[:2]],  # too few
        [f"- {title[3:]}" for title in [*TITLES[:2], "5. Annex", TITLES[3]]],  # too few of them
        [f"- {title[3:]} and more" for title in TITLES],
    ],
)
def test_other_lists_without_pages_are_no_tables_of_contents(lines: list[str]) -> None:
    assert contents_of("\n".join(["# Supply", "", *lines, "", GUIDE])) == []
    assert contents_of("\n\n".join([GUIDE, "\n".join(f"- {title}" for title in TITLES)])) == []


def test_headings_above_the_lines_do_not_count() -> None:
    assert contents_of("\n\n".join([BODY, *(f"{title} 1" for title in TITLES)])) == []


@given(st.lists(st.tuples(st.sampled_from(["Fees 1", "Term 2", "Fees", "Term", "So it is.", "3"]), st.booleans())))
def test_only_kinds_and_levels_change(lines: list[tuple[str, bool]]) -> None:
    text, blocks = "", list[Block]()
    for line, is_heading in lines:
        blocks.append(Block(len(text), len(text) + len(line), "heading" if is_heading else "prose", int(is_heading)))
        text += line + "\n"
    found = find_contents(text, blocks)
    assert [(each.start, each.end) for each in found] == [(each.start, each.end) for each in blocks]
    assert all(now.kind in (was.kind, CONTENTS) for was, now in zip(blocks, found, strict=True))
    assert find_contents(text, found) == found
