"""Documents as blocks: the runs of all blocks, joined, are the text."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window.apps.studio.document_blocks import (
    PageBlock,
    Sentences,
    markdown_blocks,
    plain_blocks,
)
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.splitting import blocks as splitting

EXAMPLES = Path(__file__).parents[2] / "examples" / "documents"
LINES = st.lists(
    st.one_of(
        st.sampled_from(
            (
                "",
                *("# a", "## b ##", "#", "- # h", "- a", "  - b", "1. c", "> q", "> - q", "> > ```", "```", "~~~"),
                *(
                    "    x",
                    "***",
                    "---",
                    "===",
                    "| a | b |",
                    "|---|---|",
                    "\\|",
                    "a | b",
                    "<div>",
                    "[a]: b",
                    "text *a*",
                ),
                *("\0", "\ud800"),
            )
        ),
        st.text(max_size=8),
    ),
    max_size=12,
)
NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])


def joined(text: str, blocks: list[PageBlock]) -> str:
    runs = [run for block in blocks for run in block.all_runs()]
    assert all(start < end for start, end, _ in runs)
    assert all(one[1] == other[0] for one, other in pairwise(runs))
    return "".join(text[start:end] for start, end, _ in runs)


def shown(text: str) -> list[tuple[str, int, str]]:
    """Kind, level and visible text of each block that shows any."""
    found = []
    for block in markdown_blocks(text):
        visible = "".join(text[start:end] for start, end, style in block.all_runs() if "m" not in style)
        if visible or block.kind == "rule":
            found.append((block.kind, block.level, visible))
    return found


@given(st.one_of(st.text(), st.builds(lambda lines, newline: newline.join(lines), LINES, NEWLINES)))
def test_markdown_blocks_tile_any_text(text: str) -> None:
    assert joined(text, markdown_blocks(text)) == text


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.md")), ids=lambda path: path.stem)
def test_markdown_blocks_tile_the_examples(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = markdown_blocks(text)
    assert joined(text, blocks) == text
    assert {"heading", "paragraph"} <= {block.kind for block in blocks}


def test_blocks_are_those_of_markdown() -> None:
    text = "# One *two* #\n\nSome **bold\ntext**.\n\nUnder\n=====\n\n- a\n- b\n  1. c\n\n***\n> q\n> r\n\n"
    text += "```py\nx = 1\n```\n"
    assert shown(text) == [
        ("heading", 1, "One two"),
        ("paragraph", 0, "Some bold\ntext."),
        ("heading", 1, "Under"),
        ("item", 1, "a"),
        ("item", 1, "b"),
        ("item", 2, "1.c"),
        ("rule", 0, ""),
        ("paragraph", 0, "q\nr"),
        ("code", 0, "x = 1\n"),
    ]


def test_quotes_and_numbers_are_told() -> None:
    (quote,) = markdown_blocks("> a\n> b")
    assert (quote.quotes, quote.level) == (1, 0)
    (item,) = markdown_blocks("  7) seven")
    assert (item.is_numbered, shown("  7) seven")) == (True, [("item", 1, "7)seven")])
    (bullet,) = markdown_blocks("* seven")
    assert not bullet.is_numbered


def test_tables_have_rows_and_cells() -> None:
    text = "| a | b \\| c |\n|---|:-:|\n| 1 | **2** |\n| 3\n\nafter"
    table, after = markdown_blocks(text)
    cells = [
        ["".join(text[start:end] for start, end, style in cell if "m" not in style) for cell in row.cells]
        for row in table.rows
    ]
    assert cells == [["a", "b | c"], ["1", "2"], ["3"]]
    assert [row.is_header for row in table.rows] == [True, False, False]
    assert after.kind == "paragraph"


def test_html_stays_text() -> None:
    text = "<img src=x onerror=alert(1)>\n\nHi <b onmouseover=alert(1)>there</b>."
    assert [(kind, visible.strip()) for kind, _, visible in shown(text)] == [
        ("code", "<img src=x onerror=alert(1)>"),
        ("paragraph", "Hi <b onmouseover=alert(1)>there</b>."),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["> ", "- ", "| a ", "|---", "# ", "```\n", "<div>\n", "1. a\n", "[a]: b\n", "a\n===\n", "\n", "\0"]
)
def test_long_hostile_texts_are_laid_out(unit: str) -> None:
    text = unit * 6_000  # more than quadratic work could finish
    assert joined(text, markdown_blocks(text)) == text


@st.composite
def plain_texts(draw: st.DrawFn) -> tuple[str, list[splitting.Block]]:
    text, sentences = "", []
    kinds = [splitting.PROSE, splitting.HEADING, splitting.LIST_ITEM, splitting.TABLE_ROW, splitting.CODE, ""]
    for _ in range(draw(st.integers(0, 8))):
        start = len(text)
        text += draw(st.text(st.sampled_from("ab\tñ😀|"), min_size=1, max_size=6))
        kind = draw(st.sampled_from(kinds))
        sentences.append(
            splitting.Block(start, len(text), kind, draw(st.integers(0, 6)), is_header=draw(st.booleans()))
        )
        text += draw(st.sampled_from([" ", "", "\n", "\n\n", "\r\n\r\n", "\t"]))
    return text, sentences


@given(plain_texts())
def test_plain_blocks_tile_any_text(given_text: tuple[str, list[splitting.Block]]) -> None:
    text, sentences = given_text
    assert joined(text, plain_blocks(text, sentences)) == text


@given(st.text())
def test_plain_blocks_tile_texts_without_sentences(text: str) -> None:
    assert joined(text, plain_blocks(text, [])) == text


def test_plain_blocks_are_told_by_sentences() -> None:
    text = "2. TERMS\n\nOne. Two.\nThree.\n\nHall\tPrice\nNorth\t20\n\nEnd."
    kinds = [splitting.HEADING, *[splitting.PROSE] * 3, splitting.TABLE_ROW, splitting.TABLE_ROW, splitting.PROSE]
    parts = ["2. TERMS", "One.", "Two.", "Three.", "Hall\tPrice", "North\t20", "End."]
    sentences = [
        splitting.Block(text.index(part), text.index(part) + len(part), kind, 2 * (kind == splitting.HEADING), i == 4)
        for i, (part, kind) in enumerate(zip(parts, kinds, strict=True))
    ]
    heading, paragraph, table, end = plain_blocks(text, sentences)
    assert (heading.kind, heading.level) == ("heading", 2)
    assert [text[a:b] for a, b, style in paragraph.runs if not style] == ["One. Two.\nThree."]
    assert [row.is_header for row in table.rows] == [True, False]
    assert [[text[a:b] for cell in row.cells for a, b, style in cell if not style] for row in table.rows] == [
        ["Hall", "Price"],
        ["North", "20"],
    ]
    assert end.kind == "paragraph"


@given(st.text(st.sampled_from("ab. *#\n-😀é\0"), max_size=80))
def test_runs_are_cut_where_sentences_begin_and_end(text: str) -> None:
    spans = [
        (start, end, index) for index, (start, end) in enumerate(SentenceSplitter(structure="markdown").spans(text))
    ]
    sentences = Sentences(spans)
    at = 0
    whole: dict[int, str] = {}
    for block in markdown_blocks(text):
        for runs in [cell for row in block.rows for cell in row.cells] if block.rows else [block.runs]:
            for part, index, _ in zip(*sentences.cut(text, runs), strict=True):
                assert text[at : at + len(part)] == part
                at += len(part)
                whole[index] = whole.get(index, "") + part
    assert at == len(text)
    assert {index: whole[index] for index in whole if index >= 0} == {i: text[a:b] for a, b, i in spans}
