"""Documents as blocks: the runs of all blocks, joined, are the text; Markdown looks as CommonMark says."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentence_window.studio.document_blocks import PageBlock, markdown_blocks, plain_blocks, styled, written_blocks

EXAMPLES = Path(__file__).parents[3] / "examples" / "documents"
PARTS = (
    "", "# a", "## b ##", "#", "- # h", "- a", "  - b", "1. c", "> q", "> - q", "> > ```", "```", "~~~", "    x",
    "***", "---", "===", "| a | b |", "|---|---|", "\\|", "a | b", "<div>", "[a]: b", "text *a*", "\0", "\ud800",
)  # fmt: skip
LINES = st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=8)), max_size=12)
NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])
MARKS = st.text(st.sampled_from("*_`[]()!<>\\\n ab:\"'~é\0\U0001f600\ud800"), max_size=60)


def joined(text: str, blocks: list[PageBlock]) -> str:
    runs = [run for block in blocks for run in block.all_runs()]
    assert all(start < end for start, end, _ in runs)
    assert all(one[1] == other[0] for one, other in pairwise(runs))
    assert all("".join(sorted(set(style))) == style for _, _, style in runs)
    return "".join(text[start:end] for start, end, _ in runs)


def visible(text: str, runs: object) -> str:
    return "".join(text[start:end] for start, end, style in runs if "m" not in style)  # type: ignore[attr-defined]


def shown(text: str) -> list[tuple[str, int, str]]:
    """Kind, level and visible text of each block that shows any."""
    found = [(block.kind, block.level, visible(text, block.all_runs())) for block in markdown_blocks(text)]
    return [each for each in found if each[2] or each[0] == "rule"]


@given(st.one_of(st.text(), MARKS, st.builds(lambda lines, newline: newline.join(lines), LINES, NEWLINES)))
def test_blocks_tile_any_text(text: str) -> None:
    assert joined(text, markdown_blocks(text)) == text
    assert joined(text, plain_blocks(text)) == text


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.md"))[:3], ids=lambda path: path.stem)
def test_blocks_tile_the_examples(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = markdown_blocks(text)
    assert joined(text, blocks) == text
    assert {"heading", "paragraph"} <= {block.kind for block in blocks}


def test_blocks_are_those_of_markdown() -> None:
    text = "# One *two* #\n\nSome **bold\ntext**.\n\nUnder\n=====\n\n- a\n- b\n  1. c\n\n***\n> q\n> r\n\n"
    text += "```py\nx = 1\n```\n\n<img src=x onerror=alert(1)>\n\n  7) Hi <b>there</b>."
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
        ("code", 0, "<img src=x onerror=alert(1)>"),
        ("item", 1, "7)Hi <b>there</b>."),
    ]
    assert [block.quotes for block in markdown_blocks(text)][7] == 1
    assert [block.is_numbered for block in markdown_blocks(text)][3:6] == [False, False, True]


def test_tables_have_rows_and_cells() -> None:
    text = "| a | b \\| c |\n|---|:-:|\n| 1 | **2** |\n| 3\n\nafter"
    table, after = markdown_blocks(text)
    assert [[visible(text, cell) for cell in cells] for _, cells in table.rows] == [["a", "b | c"], ["1", "2"], ["3"]]
    assert [is_header for is_header, _ in table.rows] == [True, False, False]
    assert after.kind == "paragraph"


def test_plain_text_has_paragraphs() -> None:
    text = "\n One.\nTwo.\n \n\n3. Three"
    assert [visible(text, block.runs) for block in plain_blocks(text)] == ["", " One.\nTwo.", "3. Three"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain, 2 * 3 and a_b_c", [("plain, 2 * 3 and a_b_c", "")]),
        ("*it* and __strong__", [("it", "i"), (" and ", ""), ("strong", "b")]),
        ("***both***", [("both", "bi")]),
        ("**a *b* c**", [("a ", "b"), ("b", "bi"), (" c", "b")]),
        ("*a **b** c*", [("a ", "i"), ("b", "bi"), (" c", "i")]),
        ("`a*b*` ``x`y``", [("a*b*", "c"), (" ", ""), ("x`y", "c")]),
        ("`a", [("`a", "")]),
        ("[text](https://a.b/c(d) 'title') end", [("text", "l"), (" end", "")]),
        ("![alt](x.png)", [("alt", "g")]),
        ("[a] (b)", [("[a] (b)", "")]),
        ("<https://a.b>", [("https://a.b", "l")]),
        (r"\*no\*", [("*", ""), ("no", ""), ("*", "")]),
        ("one\\\ntwo  \nthree", [("one", ""), ("\n", "n"), ("two", ""), ("\n", "n"), ("three", "")]),
        ("<script>alert(1)</script>", [("<script>alert(1)</script>", "")]),
        ("[x](javascript:alert(1))", [("x", "l")]),
    ],
)
def test_markup_is_distinguished_from_text(text: str, wanted: list[tuple[str, str]]) -> None:
    found = styled(text, 0, len(text))
    assert [(text[start:end], style) for start, end, style in found if "m" not in style] == wanted


def test_runs_are_cut_where_sentences_start_and_end() -> None:
    text = "A **b. C** d.\n\nE."
    sentences = [(0, 6), (7, 13), (15, 17)]
    (first, second) = written_blocks(markdown_blocks(text), text, 100, sentences)
    assert first == {
        "kind": "paragraph",
        "start": 100,
        "runs": (
            ["A ", "**", "b.", " ", "C", "**", " d.", "\n\n"],
            [0, 0, 0, -1, 1, 1, 1, -1],
            ["", "m", "b", "b", "b", "m", "", "m"],
        ),
    }
    assert second == {"kind": "paragraph", "start": 115, "runs": (["E."], [2], [""])}


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "> ",
        "- ",
        "| a ",
        "# ",
        "```\n",
        "<div>\n",
        "1. a\n",
        "a\n===\n",
        "[",
        "*a ",
        "_*",
        "`" * 7 + " `",
        "**",
        "[x](a",
    ],
)
def test_long_hostile_texts_are_laid_out(unit: str) -> None:
    text = unit * 6_000  # more than quadratic work could finish
    assert joined(text, markdown_blocks(text)) == text
