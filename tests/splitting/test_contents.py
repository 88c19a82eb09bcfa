"""Tables of contents, which name the headings below them."""

import pytest

from langchain_sentence_window import SentenceSplitter

TITLES = ("1. Definitions", "2. Term and Termination", "3. Fees", "4. Governing Law")
BODY = "\n\n".join(f"{title}\n\nThe parties agree on this." for title in TITLES)
GUIDE = "\n\n".join(f"## {title}\n\nThe parties agree on this." for title in TITLES)
WITH_PAGES = [f"{title} {page}" for page, title in enumerate(TITLES)]


def contents_of(*paragraphs: str) -> list[str]:
    text = "\n\n".join(paragraphs)
    return [text[each.start : each.end] for each in SentenceSplitter().split_text(text) if each.kind == "contents"]


@pytest.mark.parametrize("leader", [" ", " .......... ", "....", " . . . . "])
def test_lines_that_name_headings_below_and_their_pages(leader: str) -> None:
    lines = [f"{title}{leader}{page}" for title, page in zip(TITLES, ("1", "iv", "12", "A-3"), strict=True)]
    assert contents_of("Table of Contents", "\n".join(lines), BODY) == lines


def test_other_short_lines_may_stand_between() -> None:
    lines = [WITH_PAGES[0], WITH_PAGES[1], "(continued)", WITH_PAGES[2], WITH_PAGES[3]]
    assert contents_of("SUPPLY AGREEMENT", *lines, BODY) == lines


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        (["SUPPLY AGREEMENT", "TABLE OF CONTENTS"], ["SUPPLY AGREEMENT", "SUPPLY AGREEMENT > TABLE OF CONTENTS"]),
        (["SUPPLY AGREEMENT", "OVERVIEW"], ["SUPPLY AGREEMENT", "SUPPLY AGREEMENT > OVERVIEW"]),
        (["SUPPLY AGREEMENT"], ["SUPPLY AGREEMENT"]),
        (["TABLE OF CONTENTS"], ["TABLE OF CONTENTS"]),
    ],
)
def test_sections_are_not_below_the_title_of_the_table(above: list[str], expected: list[str]) -> None:
    found = SentenceSplitter().split_text("\n\n".join([*above, *WITH_PAGES, BODY]))
    document = f"{above[0]} > " if above[0] != "TABLE OF CONTENTS" else ""
    headings = list(dict.fromkeys(each.heading for each in found))
    assert headings == [*expected, *(f"{document}{title}" for title in TITLES)]


@pytest.mark.parametrize(
    "lines",
    [
        [f"- {title}" for title in TITLES],
        [f"* [{title[3:]}](#{number})" for number, title in enumerate(TITLES)],
        [f"{number}. [{title[3:]}](#{number})" for number, title in enumerate(TITLES, start=1)],
        [f"- {title[3:]}" for title in [*TITLES[:3], "5. Annex", TITLES[3]]],
        [line for title in TITLES for line in (title[3:], "")],
        [line for title in TITLES for line in (f"[{title[3:]}](#a)", "")],
    ],
)
def test_a_list_that_names_headings_below(lines: list[str]) -> None:
    expected = [line for line in lines if line]
    for above in ("# Supply", "# Supply\n\nThese are its parts.", "# Supply\n\nOn this page"):
        assert contents_of(above, "\n".join(lines), GUIDE) == expected


@pytest.mark.parametrize(
    "paragraphs",
    [
        ["Apples 3", "Pears 4", "Plums 5", "Cherries 6", BODY],  # prices
        [*WITH_PAGES[:2], BODY],  # too few
        [*TITLES, BODY],  # headings
        [f"{title} applies from page 1." for title in TITLES] + [BODY],
        [BODY, *WITH_PAGES],  # the headings stand above
        ["These are agreed:", "\n".join(f"- {title[3:]}" for title in TITLES), GUIDE],  # perhaps an answer
        ["\n".join(f"- {title[3:]}" for title in [*TITLES[:2], "5. Annex", "6. Rest", TITLES[3]]), GUIDE],
        ["\n".join(f"- {title[3:]} and more" for title in TITLES), GUIDE],
    ],
)
def test_other_lists_are_not_tables_of_contents(paragraphs: list[str]) -> None:
    assert contents_of(*paragraphs) == []
