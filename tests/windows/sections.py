"""Made-up sections for tests of windows: lines by index, and lookups that count."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from hypothesis import strategies as st

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.windows.completion import Line
from langchain_sentence_window.windows.geometry import Hit, Window

SAYS = Line("The buyer pays the audit of each year.")
HEADING = Line("# Audit", is_heading=True)
LABEL = Line("Costs of the audit")
COLON = Line("The buyer pays for:")
ITEM = Line(f"- the audit{' of each year' * 20}.", in_list=True)  # so long that a list of two isn't short
LED_ITEM = Line(ITEM.text, in_list=True, has_lead_in=True)
ROW = Line("| audit | 9 |", in_table=True, has_lead_in=True)
REST = Line("It takes place each year.", in_list=True)
BACK = Line("It ends in May.")
ASKS = Line("Who pays it?", ends_line=True)
ANSWER = Line("The buyer.", ends_line=True)
KINDS = (SAYS, SAYS, SAYS, HEADING, LABEL, COLON, ITEM, LED_ITEM, REST, BACK, ROW)


class Lines:
    """Looks lines of documents up, and counts how often."""

    def __init__(self, **documents: Sequence[Line | None]) -> None:
        self.documents = documents
        self.looks = 0

    def __call__(self, key: SentenceKey) -> Line | None:
        self.looks += 1
        doc_id, index = key
        lines = self.documents.get(doc_id, ())
        return lines[index] if 0 <= index < len(lines) else None


def window(
    first: int,
    last: int | None = None,
    *,
    hit: int | None = None,
    section: tuple[int, int] = (0, 100),
    score: float = 0.5,
    doc_id: str = "a",
) -> Window:
    """Make a window of one hit, its first sentence if nothing else is said."""
    index = first if hit is None else hit
    return Window(doc_id, first, first if last is None else last, (Hit(doc_id, index, *section, score),))


def run_of(each: Window) -> tuple[int, int]:
    return each.first, each.last


Search: TypeAlias = tuple[Lines, list[Window], Callable[[Window], int]]
"""Sections of documents, windows in them, and a cost."""


@st.composite
def searches(
    draw: st.DrawFn,
    kinds: Sequence[Line | None] = KINDS,
    most: int = 14,
    *,
    in_pieces: bool = False,
    is_talk: bool = False,
) -> Search:
    """Sections of two documents, disjoint windows in them that can be read, best first, and a cost by length.

    Where ``in_pieces``, some runs of lines are the pieces of one sentence. Where ``is_talk``, some are a turn.
    """
    documents: dict[str, list[Line | None]] = {}
    windows: list[Window] = []
    for doc_id in "ab":
        sizes = draw(st.lists(st.integers(1, 15), min_size=1, max_size=3))
        documents[doc_id] = draw(st.lists(st.sampled_from(kinds), min_size=sum(sizes), max_size=sum(sizes)))
        start = 0
        for size in sizes:
            if in_pieces and draw(st.booleans()):
                first = draw(st.integers(start, start + size - 1))
                end = draw(st.integers(first + 1, start + size))
                documents[doc_id][first:end] = [
                    line and replace(line, pieces=(first, end)) for line in documents[doc_id][first:end]
                ]
            if is_talk:
                turn = start
                while turn < start + size:
                    end = min(turn + draw(st.integers(1, 4)), start + size)
                    documents[doc_id][turn:end] = [
                        line and replace(line, turn=turn) for line in documents[doc_id][turn:end]
                    ]
                    turn = end
            at = start
            while at < start + size:
                length = draw(st.integers(1, 4))
                last = min(at + length, start + size) - 1
                readable = None not in documents[doc_id][at : last + 1]
                if readable and draw(st.booleans()):
                    indexes = draw(st.sets(st.integers(at, last), min_size=1))
                    hits = tuple(
                        Hit(doc_id, index, start, start + size, draw(st.integers(0, 20)) / 20)
                        for index in sorted(indexes)
                    )
                    windows.append(Window(doc_id, at, last, hits))
                at = last + 1
            start += size
    ranked = sorted(windows, key=lambda each: (-each.score, each.doc_id, each.first))[:most]

    def cost(each: Window) -> int:
        lines = documents[each.doc_id][each.first : each.last + 1]
        return sum(len(line.text) if line is not None else 1_000 for line in lines)

    return Lines(**documents), ranked, cost
