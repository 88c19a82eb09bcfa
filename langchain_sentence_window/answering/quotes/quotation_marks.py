"""Where quotations stand in a text: between marks of any language, or as a Markdown block quote.

A mark opens a quotation only before what it could quote, and closes one only after it, so that an apostrophe or
an inch does neither. No quotation between marks crosses a blank line. Of quotations in each other the outer one counts.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from langchain_sentence_window._primitives import Span, trim
from langchain_sentence_window.answering.quotes.normalized_text import is_unspaced

_CLOSERS = {
    pair[0]: pair[1:]
    for pair in (
        *('""', "＂＂", "“”", '„“”"', "‟”", "””", "«»", "»«»", "‹›", "›‹›", "‘’", "‚‘’", "''"),
        *("「」", "『』", "｢｣", "﹁﹂", "﹃﹄", "〝〞〟"),
    )
}
"""The marks that close a quotation, for each mark that opens one."""

_EITHER = frozenset("\"＂'‘’”“")
"""Marks that open a quotation only before, and close it only after, a character that isn't white space."""

_MARKS = "".join({*"".join(_CLOSERS), *"".join(_CLOSERS.values())})
_TOKEN = re.compile(rf"[{_MARKS}]|\n[ \t]*(?=\n)")
_BLOCK = re.compile(r"^ {0,3}>.*(?:\n {0,3}>.*)*", re.MULTILINE)
_LINE = re.compile(r"^ {0,3}(?:> ?)+", re.MULTILINE)
_ALERT = re.compile(r"\s*\[![A-Za-z]+\][^\n]*\n")
_SIGNED = re.compile(r"\n[ \t]*(?:[\u2013-\u2015]|--?)[ \t]*(?=\S)[^\n]*\s*\Z")


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quotation in a text.

    Attributes:
        start: Its first code point, after the mark.
        end: One past the last code point, before the mark.
        outer: The span with the marks; of a block quote, of all its lines.
        lines: The spans of a block quote's lines without ``>``; of others the quotation itself.
        is_block: Whether it is a Markdown block quote.
    """

    start: int
    end: int
    outer: Span
    lines: tuple[Span, ...]
    is_block: bool = False


def find_quoted(text: str, code: Sequence[Span] = ()) -> list[Quoted]:
    """Find the quotations of a text, linear in its length.

    Args:
        text: Any text.
        code: Spans in which marks quote nothing, in order.

    Returns:
        The quotations in order, none in another, each with a letter or a digit in it.
    """
    blocks = [block for found in _BLOCK.finditer(text) if not _covers(code, found.start()) and (block := _block(found))]
    skipped = sorted([*code, *(block.outer for block in blocks)])
    return sorted([*blocks, *_between_marks(text, skipped)], key=lambda each: each.start)


def _block(found: re.Match[str]) -> Quoted | None:
    text, (start, end) = found.string, found.span()
    lines = list[Span]()
    for line in re.finditer(r"[^\n]+", found[0]):
        head = _LINE.match(line[0])
        lines.append((start + line.start() + (head.end() if head else 0), start + line.end()))
    if lines and _ALERT.fullmatch(text[slice(*lines[0])] + "\n"):
        del lines[0]
    if len(lines) > 1 and _SIGNED.match("\n" + text[slice(*lines[-1])]):
        del lines[-1]
    filled = [at for at, line in enumerate(lines) if text[slice(*line)].strip()]
    if not filled or not any(character.isalnum() for character in found[0]):
        return None
    lines = lines[filled[0] : filled[-1] + 1]
    low, high = trim(text, lines[0][0], lines[-1][1])
    lines[0] = (low, lines[0][1])
    lines[-1] = (lines[-1][0], high)
    return Quoted(low, high, (start, end), tuple(lines), is_block=True)


def is_marked(text: str) -> bool:
    """Return whether all of a text stands between a pair of marks, and no such mark in it."""
    opener, closer, inner = text[:1], text[-1:], text[1:-1]
    return bool(inner) and closer in _CLOSERS.get(opener, "") and opener not in inner and closer not in inner


def _covers(spans: Sequence[Span], at: int) -> bool:
    found = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return found >= 0 and at < spans[found][1]


def _between_marks(text: str, skipped: Iterable[Span]) -> Iterator[Quoted]:
    opened: dict[str, int] = {}
    found: list[Span] = []
    passed = iter(skipped)
    skip: Span | None = next(passed, None)
    for token in _TOKEN.finditer(text):
        at = token.start()
        while skip and skip[1] <= at:
            skip = next(passed, None)
        if skip and skip[0] <= at:
            continue
        mark = token[0]
        if mark[0] == "\n":
            opened.clear()
            continue
        start = _opening(text, at, opened)
        if start is not None:
            while found and found[-1][0] > start:
                found.pop()
            found.append((start, at))
            opened = {each: place for each, place in opened.items() if place < start}
        elif mark in _CLOSERS and _can_open(text, at) and (mark not in opened or mark in "\"＂'"):
            opened.pop(mark, None)
            opened[mark] = at
    for start, end in found:
        low, high = trim(text, start + 1, end)
        if any(character.isalnum() for character in text[low:high]):
            yield Quoted(low, high, (start, end + 1), ((low, high),))


def _opening(text: str, at: int, opened: dict[str, int]) -> int | None:
    """Return where the quotation begins that a mark closes."""
    mark = text[at]
    if not _can_close(text, at):
        return None
    fit = [place for opener, place in opened.items() if mark in _CLOSERS[opener]]
    return max(fit) if fit else None


def _can_open(text: str, at: int) -> bool:
    mark, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if mark not in _EITHER or mark == "“":
        return bool(after)
    if not after or after.isspace():
        return False
    if mark in "'’" and not (after.isalpha() or after in '“"[(…'):
        return False
    return not before or (mark in '"＂“”' and is_unspaced(before)) or not _is_wordy(before)


def _can_close(text: str, at: int) -> bool:
    mark, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if mark not in _EITHER:
        return True
    # Only this mark never begins what its partner ends, so white space before it decides nothing.
    is_apart = mark != "”" and before.isspace()
    return bool(before) and not is_apart and (not _is_wordy(after) or (mark != "'" and is_unspaced(after)))


def _is_wordy(character: str) -> bool:
    return character.isalnum() or character in ("_", "=")
