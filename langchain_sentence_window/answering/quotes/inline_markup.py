"""Render inline markup of Markdown and HTML, so that a quotation of the rendered page is found in its source.

    >>> text = "See [the *guide*](https://example.com) &amp; ask."
    >>> rendered(text)
    'See the guide & ask.'

Text that may not be markup is kept: ``snake_case``, ``2 * 3 * 4``, ``List<A>``, ``x[i][j]``. Superscript and subscript
digits become Unicode's, because ``m<sup>2</sup>`` isn't ``m2``.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import TypeAlias

from langchain_sentence_window._primitives import UNSPACED, Span
from langchain_sentence_window.answering.citation_format import spliced

Change: TypeAlias = tuple[int, int, str]
"""A span of a text, and its replacement."""

_TAGS = "abbr|a|bdi|bdo|big|b|cite|code|del|dfn|em|font|ins|i|kbd|mark|q|samp|small|span|strike|strong|s|tt|u|var"
_BLOCKS = "blockquote|br|dd|details|div|dl|dt|h[1-6]|hr|li|ol|p|pre|section|summary|table|tbody|td|th|thead|tr|ul"
_FIRST = re.compile(r"[\\&<>\[\]*_~¹²³⁰-⁹]|!\[|==|\n[ \t]*(?=\n)")
"""The characters that markup begins with; most characters of a text begin none."""

_MARKUP = re.compile(
    rf"""
    (?P<escape> \\ [!-/:-@\[-`{{-~] )
  | (?P<entity> & (?: \#\d{{1,7}} | \#x[0-9a-f]{{1,6}} | [a-z][a-z0-9]{{1,31}} ) ; )
  | (?P<line> < /? (?: {_BLOCKS} ) (?: \s [^<>\n]{{0,300}} )? /? > )
  | (?P<hidden>
        <!-- [^<>]{{0,500}} --> | < img \s [^<>\n]{{0,500}} > | \\ (?=\n)
      | < (?: wbr \s? /? | / (?:{_TAGS}) \s? ) >
      | < (?P<tag> {_TAGS} ) (?: \s [^<>\n]{{0,300}} )? > (?= (?s:.){{0,500}}? </ (?P=tag) \s? > )
      | \[ \^ [^\s\[\]]{{1,40}} \] :?
      | (?<= [.,;:!?"”’»。，！？] ) \[ \d{{1,3}} \] (?! \( )
      | (?<= [.,;!?] ) [¹²³⁰-⁹]++ (?! \w )
      | ! \[ [^\[\]\n]{{0,300}} \] \( [^()\s]{{0,500}} (?: \s ["'][^"'\n]{{0,200}}["'] )? \)
    )
  | (?P<script> <sup>\d{{1,3}}</sup> | <sub>\d{{1,3}}</sub> )
  | (?P<address> < https?:// [^\s<>]{{1,500}} > )
  | (?P<quoted> (?: \A | (?<=\n) | (?<=\n[ ]) | (?<=\n[ ]{{2}}) | (?<=\n[ ]{{3}}) ) (?: > [ \t]? )++ )
  | (?P<open> \[\[ (?: [^\[\]|\n]{{0,200}} \| )? (?= [^\[\]|\n]{{1,200}} \]\] ) | \[ )
  | (?P<close>
        \]\]
      | \] \( (?: [^()\s] | \( [^()\s]{{0,200}} \) ){{1,500}} (?: \s ["'][^"'\n]{{0,200}}["'] )? \)
      | \] (?: \[ [^\[\]\n]{{0,100}} \] )?
    )
  | (?P<run> \*{{1,3}} | _{{1,3}} | ~~ | == )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_MAX_LINK = 500
_MAX_LINE = 1000
_UNSPACED = re.compile(f"[{UNSPACED}]")


def rendered(text: str) -> str:
    """Return a text as it is shown."""
    return spliced(text, markup(text))


def markup(text: str) -> list[Change]:
    """Return the markup of a text, in order and disjoint, with what is shown in its place; linear in the text."""
    pairs = _Pairs(text)
    changes = list[Change]()
    end = 0
    for first in _FIRST.finditer(text):
        at = first.start()
        if text[at] == "\n":
            pairs.clear()
        elif at >= end and (found := _MARKUP.match(text, at)):
            kind, end = found.lastgroup or "", found.end()
            changes += _SHOWN[kind](found) if kind in _SHOWN else pairs.read(kind, found)
    return sorted(changes)


def _entity(found: re.Match[str]) -> Iterator[Change]:
    shown = unescape(found[0])
    if ";" not in shown:
        yield (*found.span(), shown)


def _script(found: re.Match[str]) -> Iterator[Change]:
    digits = found[0][5:-6]
    yield (*found.span(), digits.translate(_RAISED if found[0][3] in "pP" else _LOWERED))


def _quote_mark(found: re.Match[str]) -> Iterator[Change]:
    """Yield the mark of a quoted line. Before a number, it is a sign unless an adjacent line has a mark too."""
    text, (start, end) = found.string, found.span()
    before = text[text.rfind("\n", max(0, start - _MAX_LINE), max(0, start - 1)) + 1 : start].lstrip()
    after = text.find("\n", end, end + _MAX_LINE) + 1
    if not text[end : end + 1].isdigit() or before[:1] == ">" or (after and text[after : after + 1] == ">"):
        yield start, end, ""


_SHOWN = {
    "escape": lambda found: [(found.start(), found.start() + 1, "")],
    "entity": _entity,
    "line": lambda found: [(*found.span(), " ")],
    "hidden": lambda found: [(*found.span(), "")],
    "script": _script,
    "address": lambda found: [(found.start(), found.start() + 1, ""), (found.end() - 1, found.end(), "")],
    "quoted": _quote_mark,
}
"""For each kind of markup that needs no partner, a function that returns its changes."""


class _Pairs:
    """Markup that needs a partner: the brackets of links, and runs of stars and other marks around words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._brackets = list[Span]()
        self._runs: dict[str, Span] = {}

    def clear(self) -> None:
        """Forget what is open, as a paragraph ends."""
        self._brackets.clear()
        self._runs.clear()

    def read(self, kind: str, found: re.Match[str]) -> Iterator[Change]:
        """Yield the markup that ends here."""
        if kind == "open":
            self._brackets.append(found.span())
        elif kind == "close":
            yield from self._closed(found)
        else:
            yield from self._emphasized(found[0], *found.span())

    def _closed(self, found: re.Match[str]) -> Iterator[Change]:
        if not self._brackets:
            return
        start, end = self._brackets.pop()
        mark, size = found[0], end - start
        if mark == "]]" and size == 1:
            self._brackets[-1:] = []
        is_pair = size > 1 and mark == "]]"
        is_link = size == 1 and mark not in ("]", "]]") and self._is_linked(start, end, found.start())
        if is_pair or is_link:
            yield start, end, ""
            yield (*found.span(), "")

    def _is_linked(self, start: int, end: int, close: int) -> bool:
        """Return whether brackets before an address or a name hold words, and aren't an index."""
        words = self._text[end : min(close, end + _MAX_LINK)]
        return (
            close - end <= _MAX_LINK
            and any(map(str.isalpha, words))
            and not _joins_mark_to_word(self._text[start - 1 : start])
        )

    def _emphasized(self, run: str, start: int, end: int) -> Iterator[Change]:
        before, after = self._text[start - 1 : start], self._text[end : end + 1]
        is_inner = len(run) > 1 and run[0] == "*" and before.isalpha() and after.isalpha()
        opener = self._runs.get(run)
        if opener and before.strip() and before not in "([{" and (is_inner or not _joins_mark_to_word(after)):
            yield (*opener, "")
            yield start, end, ""
            self._runs = {each: span for each, span in self._runs.items() if span < opener}
        elif after.strip() and after not in ")]}.,;:?" and (is_inner or not _joins_mark_to_word(before)):
            self._runs[run] = (start, end)


def _joins_mark_to_word(character: str) -> bool:
    """Return whether the character next to a mark makes it part of a word, a formula or an index."""
    return character == "_" or (character.isalnum() and not _UNSPACED.match(character))
