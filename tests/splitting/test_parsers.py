"""A parser of the application's own format: its blocks are checked, and its masks are read but never shown."""

import pickle
from typing import Any

import pytest

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import Block
from langchain_sentence_window.splitting.parsers import BLANK, read_masks, write_masks

NOTES = "!Seats\n@draft\nA seat is free at <a. B> here.\nTake it."


def parse_notes(text: str) -> list[Block] | None:
    """``!`` begins a title, ``@`` a line that is no text, and ``<>`` a name in which no sentence ends."""
    if not text.startswith("!"):
        return None
    title, _, _ = text.partition("\n")
    start = text.index("A seat")
    masks = [Block(text.index("<") + 1, text.index(">"), "x"), Block(text.rindex("\n"), text.rindex("\n") + 1, BLANK)]
    return [Block(1, len(title), "heading", 1), Block(start, len(text)), *masks]


def test_a_parser_says_the_blocks_and_what_is_no_text() -> None:
    sentences = SentenceSplitter(structure=parse_notes).split_text(NOTES)
    texts = [NOTES[each.start : each.end] for each in sentences]
    assert texts == ["Seats", "A seat is free at <a. B> here.", "Take it."]
    assert [each.heading for each in sentences] == ["Seats"] * 3


def test_other_texts_are_split_as_without_a_parser() -> None:
    text = "# Seats\n\nTake it."
    assert SentenceSplitter(structure=parse_notes).split_text(text) == SentenceSplitter().split_text(text)


def test_positions_count_front_matter_which_the_parser_does_not_see() -> None:
    seen: list[str] = []

    def parse(text: str) -> list[Block]:
        seen.append(text)
        return [Block(text.index("Take"), len(text))]

    text = "---\ntitle: Seats\n---\nTake it."
    assert SentenceSplitter(structure=parse).spans(text) == [(len(text) - len("Take it."), len(text))]
    assert seen[0].strip() == "Take it."
    assert len(seen[0]) == len(text)


def test_the_text_of_an_item_begins_behind_a_marker_that_is_no_text() -> None:
    text = "%item A seat."
    blocks = [Block(0, 13, "list_item", body=6), Block(0, 1, "-"), Block(1, 6, BLANK)]
    splitter = SentenceSplitter(structure=lambda _: blocks)
    (sentence,) = splitter.split_text(text)
    assert (text[sentence.start : sentence.end], sentence.kind) == ("A seat.", "list_item")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (7, "isn't a list of blocks"),
        ("prose", "isn't a list of blocks"),
        ([(0, 4)], "isn't a Block"),
        ([Block(0, 99)], "isn't a stretch"),
        ([Block(2, 2)], "isn't a stretch"),
        ([Block(0, 3), Block(2, 4)], "begins before the end"),
        ([Block(2, 4), Block(0, 2)], "begins before the end"),
        ([Block(0, 4, "x"), Block(1, 2, "y")], "begins before the end"),
        ([Block(0, 4, "picture")], "isn't one of code, "),
        ([Block(0, 4, level=1)], "only headings"),
        ([Block(0, 4, "heading", 7)], "up to 6"),
        ([Block(0, 4, "prose", body=1)], "only a list item"),
        ([Block(0, 4, "list_item", body=4)], "inside it"),
    ],
)
def test_what_is_no_list_of_blocks_is_refused(returned: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"the parser given as structure returned .*{message}"):
        SentenceSplitter(structure=lambda _: returned).split_text("Seat")


def test_a_splitter_with_a_parser_is_copied() -> None:
    splitter = SentenceSplitter(structure=parse_notes)
    assert pickle.loads(pickle.dumps(splitter)).spans(NOTES) == splitter.spans(NOTES)  # noqa: S301


def test_masks_make_a_text_read_as_another() -> None:
    blocks, reading = [Block(0, 9)], "a xxx  b."
    masks = write_masks("a <b>\n\nb.", reading)
    assert masks == [Block(2, 5, "x"), Block(5, 7, " ")]
    assert read_masks("a <b>\n\nb.", [*blocks, *masks]) == (reading, blocks)
