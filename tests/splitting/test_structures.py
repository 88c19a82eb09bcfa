"""Structures that carry meaning: lists, tables, transcripts, headings in bold, front matter, numbers of clauses.

Each golden file holds one kind of structure. A sentence is written with its lead-in, its kind and its heading path, so
that none of them can be wrong unseen.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.splitting import Block

STRUCTURES = Path(__file__).parent / "structures"
MARK, END = "\n---- sentences\n", "\n===="


def golden_cases(folder: Path = STRUCTURES) -> list[tuple[str, str, str, list[str]]]:
    cases = []
    for path in sorted(folder.glob("*.txt")):
        _, mark, body = path.read_text(encoding="utf-8").partition("## ")
        for case in (mark + body).removesuffix("\n").split(f"{END}\n"):
            rule, _, rest = case.removesuffix(END).partition("\n")
            text, found, expected = rest.partition(MARK)
            assert rule.startswith("## "), f"a case in {path.name} has no rule: {case!r}"
            assert found, f"{rule!r} has no sentences"
            cases.append((path.stem, rule.removeprefix("## "), text, expected.split("\n")))
    return cases


def written(text: str, *, structure: str = "auto") -> list[str]:
    """The sentences of a text as the golden files write them."""
    return written_sentences(text, SentenceSplitter(structure=structure).split_text(text))  # type: ignore[arg-type]


def written_sentences(text: str, sentences: list[Any]) -> list[str]:
    return [
        "\t".join(
            [
                "-" if sentence.lead_in is None else str(sentence.lead_in),
                sentence.kind,
                sentence.heading or "-",
                text[sentence.start : sentence.end].replace("\n", "\\n"),
            ]
        )
        for sentence in sentences
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [pytest.param(text, expected, id=f"{name}: {rule}") for name, rule, text, expected in golden_cases()],
)
def test_golden(text: str, expected: list[str]) -> None:
    assert written(text) == expected


@pytest.mark.parametrize("text", [pytest.param(text, id=f"{name}: {rule}") for name, rule, text, _ in golden_cases()])
def test_line_ends_of_windows_change_nothing(text: str) -> None:
    found = written(text.replace("\n", "\r\n"))
    assert [line.replace("\r\\n", "\\n") for line in found] == written(text)


NAMES = st.sampled_from(["Anna", "Bob", "Carla Díaz", "Mr. Lee", "ANNA", "+49 170"])
SAID = st.sampled_from(
    ["Hello there. How are you?", "Good. Thanks!", "Yes.", "Look:\n- one\n- two", "So.\n\nAnd so on."]
)
FORMS = [
    "[10:06] {name}: {said}",
    "[10:06:33] {name}: {said}",
    "12/31/23, 10:06 PM - {name}: {said}",
    "[31.12.23, 10:06:33] {name}: {said}",
    "{name} on 12/31/23, 10:06 PM: {said}",
    "{name}  [10:06 AM]\n{said}",
]


@given(st.sampled_from(FORMS), st.lists(st.tuples(NAMES, SAID), min_size=2, max_size=8))
def test_no_sentence_crosses_messages_and_each_knows_its_speaker(form: str, said: list[tuple[str, str]]) -> None:
    messages = [form.format(name=name, said=what) for name, what in said]
    text = "\n".join(messages)
    starts = [sum(len(message) + 1 for message in messages[:number]) for number in range(len(messages))]
    sentences = SentenceSplitter().split_text(text)
    for number, (start, (name, _)) in enumerate(zip(starts, said, strict=True)):
        end = start + len(messages[number])
        of_it = [index for index, sentence in enumerate(sentences) if start <= sentence.start < end]
        first = sentences[of_it[0]]
        assert first.start == start
        assert sentences[of_it[-1]].end == end
        assert name in text[first.start : first.end]
        spoken = [sentences[index] for index in of_it[1:] if sentences[index].kind == "message"]
        assert {sentence.lead_in for sentence in spoken} <= {of_it[0]}


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12))
def test_an_item_is_led_in_by_the_item_that_it_is_nested_in(items: list[tuple[int, bool]]) -> None:
    levels = [0]
    for level, _ in items:
        levels.append(min(level, levels[-1] + 1))  # no level is left out
    marks = [True, *(is_colon for _, is_colon in items)]
    lines = [
        f"{'  ' * level}- item {number}{':' if colon else ''}"
        for number, (level, colon) in enumerate(zip(levels, marks, strict=True))
    ]
    text = "# List\n\nThe items are:\n\n" + "\n".join(lines)
    sentences = SentenceSplitter().split_text(text)[2:]
    assert [text[sentence.start : sentence.end] for sentence in sentences] == [line.strip() for line in lines]
    for number, (level, sentence) in enumerate(zip(levels, sentences, strict=True)):
        parents = [other for other in range(number) if levels[other] == level - 1]
        assert sentence.lead_in == (parents[-1] + 2 if level else 1)


def test_a_long_table_and_a_long_list_keep_one_lead_in() -> None:
    rows = "\n".join(f"| plan {number} | {number} |" for number in range(2_000))
    items = "\n".join(f"* item {number}" for number in range(2_000))
    text = f"Plans:\n\n{items}\n\n| Plan | Price |\n|---|---|\n{rows}"
    sentences = SentenceSplitter().split_text(text)
    assert [s.lead_in for s in sentences] == [None, *[0] * 2_000, None, *[2_001] * 2_000]


@pytest.mark.parametrize("structure", ["markdown", "plain"])
def test_structures_are_found_in_either_structure(structure: str) -> None:
    chat = "[10:06] Anna: Hello there. How are you?\n[10:07] Bob: Good. Thanks!"
    assert [line.split("\t")[0] for line in written(chat, structure=structure)] == ["-", "0", "-", "2"]
    bold = "**Fees**\n\nWe charge a fee."
    assert [line.split("\t")[2] for line in written(bold, structure=structure)] == ["Fees", "Fees"]


def test_front_matter_is_text_where_it_is_not_looked_for() -> None:
    text = "---\ntitle: Terms\n---\nHello there."
    assert "title: Terms" in " ".join(written(text, structure="plain"))
    assert "title: Terms" not in " ".join(written(text, structure="markdown"))


def test_blocks_of_a_parser_have_lead_ins() -> None:
    lines = [
        ("prose", "Never use it for:", None),
        ("list_item", "coins", 0),
        ("list_item", "refunds.", 0),
        ("prose", "The end.", None),
        ("table_row", "Plan\tPrice", None),
        ("table_row", "Pro\t10 a month", 4),
        ("table_row", "Max\t20 a month", 4),
        ("prose", "[10:06] Ann: Hello.", None),
        ("prose", "[10:07] Bob: Yes.", None),
    ]
    text, blocks = "", []
    for kind, line, _ in lines:
        text += line + "\n"
        blocks.append(Block(len(text) - len(line) - 1, len(text) - 1, kind))
    found = SentenceSplitter(structure=lambda _: blocks).split_text(text)
    assert [(text[each.start : each.end], each.lead_in) for each in found] == [(line, lead) for _, line, lead in lines]


def test_rows_that_are_cut_keep_their_header() -> None:
    text = "| a | b |\n|---|---|\n| one two three | four five six |"
    cut = SentenceSplitter(max_chars=12).split_text(text)
    assert {each.lead_in for each in cut if each.start > text.index("one")} == {0}
