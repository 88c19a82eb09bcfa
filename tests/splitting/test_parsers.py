"""A parser of another format: its blocks are checked, and its masks are read but never shown."""

import pickle
from typing import Any

import pytest

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting import BLANK, Block

NOTES = "!Seats\n@draft\nA seat is free at <a. B> here.\nTake it."


def parse_notes(text: str) -> list[Block] | None:
    """``!`` begins a title, ``@`` a line that isn't text, and ``<>`` a name in which no sentence ends."""
    if not text.startswith("!"):
        return None
    title, _, _ = text.partition("\n")
    start = text.index("A seat")
    masks = [Block(text.index("<") + 1, text.index(">"), "x"), Block(text.rindex("\n"), text.rindex("\n") + 1, BLANK)]
    return [Block(1, len(title), "heading", 1), Block(start, len(text)), *masks]


def test_a_parser_returns_blocks_and_masks() -> None:
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


def test_the_body_of_an_item_is_its_sentence() -> None:
    text = "%item A seat."
    blocks = [Block(0, 13, "list_item", body=6), Block(0, 1, "-"), Block(1, 6, BLANK)]
    splitter = SentenceSplitter(structure=lambda _: blocks)
    (sentence,) = splitter.split_text(text)
    assert (text[sentence.start : sentence.end], sentence.kind) == ("A seat.", "list_item")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (7, "isn't a list of blocks"),
        ([(0, 4)], "isn't a Block"),
        ([Block(0, 99)], "isn't a stretch"),
        ([Block(2, 4), Block(0, 2)], "begins before the end"),
        ([Block(0, 4, "x"), Block(1, 2, "y")], "begins before the end"),
        ([Block(0, 4, "picture")], "isn't one of code, "),
        ([Block(0, 4, level=1)], "only headings"),
        ([Block(0, 4, "heading", 7)], "up to 6"),
        ([Block(0, 4, "prose", body=1)], "only a list item"),
        ([Block(0, 4, "list_item", body=4)], "inside it"),
    ],
)
def test_an_invalid_result_is_refused(returned: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"the parser given as structure returned .*{message}"):
        SentenceSplitter(structure=lambda _: returned).split_text("Seat")


def test_a_splitter_with_a_parser_is_copied() -> None:
    splitter = SentenceSplitter(structure=parse_notes)
    assert pickle.loads(pickle.dumps(splitter)).spans(NOTES) == splitter.spans(NOTES)  # noqa: S301
