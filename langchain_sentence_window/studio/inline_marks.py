"""Markdown inside a paragraph: which characters are marks, and how the others look.

A scanner of its own, as every character must be found again in the source, and the work must be linear in the text.
It knows code, emphasis, links, images, addresses, escapes and hard breaks. All else, such as HTML, stays as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

STRONG = "b"
EMPHASIS = "i"
CODE = "c"
LINK = "l"
IMAGE = "g"
BREAK = "n"
"""A newline that is shown as one."""

MARK = "m"
"""A character that says how others look, and isn't shown."""

_SPECIAL = re.compile(r"[\\`<*_\]\[]|  \r?\n")
_TOKEN = re.compile(
    r"(?P<escape>\\(?:[!-/:-@\[-`{-~]|\r?\n))|(?P<ticks>`++)|<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000})>"
    r"|(?P<run>\*++|_++)|(?P<open>!?\[)|(?P<close>\])|(?P<hard>  \r?\n)"
)
# Without a second try at any character: an address in brackets, or one with balanced pairs; then perhaps a title.
_TAIL = re.compile(
    r"\([ \t]*+(?:<[^<>\r\n]{0,2000}+>|(?:[^\s()<>]++|\([^\s()]{0,2000}+\)){0,100}+)"
    r"(?:[ \t]++(?:\"[^\"]{0,1000}+\"|'[^']{0,1000}+'))?+[ \t]*+\)"
)


def styled(text: str) -> list[tuple[int, int, str]]:
    """Cut a text at its marks.

    Args:
        text: Any string, such as a paragraph.

    Returns:
        Stretches in order that tile the text: the first code point, one past the last, and the style: letters, each
        once and in order; none for plain text.
    """
    if not _SPECIAL.search(text):
        return [(0, len(text), "")] if text else []
    scan = _Scan(text)
    scan.read()
    return list(_swept(scan.found, len(text)))


@dataclass(slots=True)
class _Run:
    """A run of asterisks or underscores, as far as it isn't used yet."""

    start: int
    end: int
    opens: bool
    closes: bool
    length: int

    @property
    def left(self) -> int:
        return self.end - self.start


class _Scan:
    """Collects ``(start, end, style)`` of a text; stretches may overlap."""

    def __init__(self, text: str) -> None:
        self.found: list[tuple[int, int, str]] = []
        self._text = text
        self._runs: list[tuple[str, _Run]] = []
        self._brackets: list[tuple[int, int, str]] = []

    def read(self) -> None:
        """Read the text once."""
        at = 0
        ticks = _Ticks(self._text)
        while match := _TOKEN.search(self._text, at):
            start, at = match.span()
            kind = match.lastgroup
            if kind in ("escape", "hard"):
                self._escape(match[0], start)
            elif kind == "ticks":
                close = ticks.close_of(start, at)
                at = at if close is None else self._wrap(start, at, close, close + at - start, CODE)
            elif kind == "address":
                self._wrap(start, start + 1, at - 1, at, LINK)
            elif kind == "open":
                self._brackets.append((start, at, IMAGE if match[0][0] == "!" else LINK))
            elif kind == "close":
                at = self._close_bracket(start, at)
            else:
                self._runs.append((match[0][0], _run(self._text, start, at)))
        self._pair()

    def _escape(self, found: str, start: int) -> None:
        """Take a backslash with the character after it, or a newline that is shown."""
        if found[0] == "\\":
            self._mark(start, start + 1)
            start, found = start + 1, found[1:]
        if found[-1] == "\n":
            self.found.append((start, start + len(found), BREAK))

    def _close_bracket(self, start: int, end: int) -> int:
        """Take a closing bracket, and the address after it; return where to go on."""
        if not self._brackets:
            return end
        tail = _TAIL.match(self._text, end)
        if tail is None:
            self._brackets.pop()
            return end
        opening, inner, style = self._brackets[-1]
        self._brackets.clear()  # there are no links in links
        return self._wrap(opening, inner, start, tail.end(), style)

    def _mark(self, start: int, end: int) -> None:
        self.found.append((start, end, MARK))

    def _wrap(self, start: int, inner: int, inner_end: int, end: int, style: str) -> int:
        self._mark(start, inner)
        self.found.append((inner, inner_end, style))
        self._mark(inner_end, end)
        return end

    def _pair(self) -> None:
        """Pair runs as CommonMark does; the search for each kind ends where it was in vain before."""
        stack: list[tuple[str, _Run]] = []
        vain: dict[tuple[str, bool, int], int] = {}
        for mark, closer in self._runs:
            while closer.closes and closer.left:
                key = mark, closer.opens, closer.length % 3
                at = len(stack) - 1
                while at >= vain.get(key, 0) and not (stack[at][0] == mark and _fit(stack[at][1], closer)):
                    at -= 1
                if at < vain.get(key, 0):
                    vain[key] = len(stack)
                    break
                del stack[at + 1 :]
                self._emphasize(stack[at][1], closer)
                if not stack[at][1].left:
                    del stack[at]
                vain = {each: min(height, len(stack)) for each, height in vain.items()}
            if closer.opens and closer.left:
                stack.append((mark, closer))

    def _emphasize(self, opener: _Run, closer: _Run) -> None:
        used = 2 if min(opener.left, closer.left) > 1 else 1
        style = STRONG if used > 1 else EMPHASIS
        opener.end -= used
        self._wrap(opener.end, opener.end + used, closer.start, closer.start + used, style)
        closer.start += used


class _Ticks:
    """Finds where code ends: at the next run of as many backticks."""

    def __init__(self, text: str) -> None:
        self._runs: dict[int, list[int]] | None = None
        self._text = text

    def close_of(self, start: int, end: int) -> int | None:
        """Return where the run begins that closes the one at ``[start, end)``; ``None`` if there is none.

        Runs are asked for from left to right.
        """
        if self._runs is None:
            self._runs = {}
            for each in re.finditer(r"`++", self._text):
                self._runs.setdefault(len(each[0]), []).append(each.start())
            for starts in self._runs.values():
                starts.reverse()
        starts = self._runs.get(end - start, [])
        while starts and starts[-1] < end:
            starts.pop()
        return starts[-1] if starts else None


def _run(text: str, start: int, end: int) -> _Run:
    before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
    is_before_space, is_after_space = before.isspace(), after.isspace()
    is_before_mark, is_after_mark = _is_punctuation(before), _is_punctuation(after)
    left = not is_after_space and (not is_after_mark or is_before_space or is_before_mark)
    right = not is_before_space and (not is_before_mark or is_after_space or is_after_mark)
    if text[start] == "_":
        left, right = left and (not right or is_before_mark), right and (not left or is_after_mark)
    return _Run(start, end, left, right, end - start)


def _is_punctuation(character: str) -> bool:
    return not character.isalnum() and not character.isspace()


def _fit(opener: _Run, closer: _Run) -> bool:
    is_odd = (opener.closes or closer.opens) and (opener.length + closer.length) % 3 == 0
    return not is_odd or (opener.length % 3 == 0 and closer.length % 3 == 0)


def _swept(found: list[tuple[int, int, str]], length: int) -> Iterator[tuple[int, int, str]]:
    """Yield the stretches between all edges, each with the styles that hold there."""
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for start, end, style in found:
        if start < end:
            begins.setdefault(start, []).append(style)
            ends.setdefault(end, []).append(style)
    counts: dict[str, int] = {}
    for start, end in pairwise(sorted({0, length, *begins, *ends})):
        for style in begins.get(start, []):
            counts[style] = counts.get(style, 0) + 1
        for style in ends.get(start, []):
            counts[style] -= 1
        yield start, end, "".join(sorted(style for style, count in counts.items() if count))
