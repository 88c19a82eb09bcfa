"""The structure layer: a text as headings, paragraphs, list items, table rows and code.

A block is a run of whole lines. Every line that isn't blank is in exactly one block, so no character is lost.

A heading is put before each sentence of its section when it is embedded. So a heading is short, and the length of a
path of headings is limited.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from langchain_sentence_window._primitives import MAX_INDEX, Span

PROSE = "prose"
HEADING = "heading"
LIST_ITEM = "list_item"
TABLE_ROW = "table_row"
CODE = "code"
HTML = "html"
FRONT_MATTER = "front_matter"
MESSAGE = "message"
CONTENTS = "contents"

Title: TypeAlias = tuple[int, str]
"""The level of a heading and its title, without its marks and on one line."""

KINDS = frozenset({PROSE, HEADING, LIST_ITEM, TABLE_ROW, CODE, HTML, FRONT_MATTER})
"""The kinds of blocks that a loader or a parser may find."""

LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]+\Z")
"""A line with its end."""

LETTER = re.compile(r"[^\W_]")
"""A letter or a digit, as `str.isalnum` has it."""

_BULLET_LINE = re.compile(r"[-*+•▪◦‣][ \t]+\S")
_NUMBERED_HEADING = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[IVX]{1,5}\.|[A-Z]\.)[ \t]+(?=[A-ZÀ-Þ])")
_MIN_CAPITALS = 3


@dataclass(frozen=True, slots=True)
class Block:
    """A span of whole lines, trimmed.

    Attributes:
        start: First code point of the block in the text.
        end: One past its last code point.
        kind: ``prose``, ``heading``, ``list_item``, ``table_row``, ``code``, ``html``,
            ``front_matter``, ``message`` or ``contents``, a line of a table of contents.
        level: 1 to 6 for a heading that begins a section, else 0.
        is_header: Whether a row of a table is the header of those below it; ``None`` if its loader doesn't say.
        body: Where the text of a list item begins whose marker isn't text; ``None`` if it is text, such as ``1.``.
    """

    start: int
    end: int
    kind: str = PROSE
    level: int = 0
    is_header: bool | None = None
    body: int | None = None


def plain_block(text: str, start: int, end: int, *, may_be_heading: bool) -> Block:
    """Make a block of lines of plain text that belong together.

    Args:
        text: The text.
        start: Where the lines begin.
        end: Where they end.
        may_be_heading: Whether there are blank lines before and after them, as around a heading.
    """
    start, end = trim(text, start, end)
    if text.startswith("|", start) and text.endswith("|", start, end):
        return Block(start, end, TABLE_ROW)
    if _BULLET_LINE.match(text, start, end):
        return Block(start, end, LIST_ITEM)
    if match := wiki_heading(text, start, end):
        return Block(start, end, HEADING, match[1].count("="))
    is_line = end - start <= MAX_HEADING_CHARS and "\n" not in text[start:end]
    if may_be_heading and is_line and text[end - 1] not in ".!?;:,":
        if match := _NUMBERED_HEADING.match(text, start, end):
            return Block(start, end, HEADING, min(MAX_LEVEL, 2 + match[0].strip(" .").count(".")))
        if text[start:end].isupper() and sum(map(str.isalpha, text[start:end])) > _MIN_CAPITALS:
            return Block(start, end, HEADING, 1)
    return Block(start, end)


MAX_HEADING_CHARS = 90
"""Characters of a heading without a mark: a numbered, capitalized or underlined line."""

MAX_MARKED_HEADING_CHARS = 300
"""Characters of a heading with a mark, such as ``# Title``; a longer line is a paragraph."""

MAX_LEVEL = 6
"""The level of the innermost headings; the outermost have level 1."""

MAX_PATH_CHARS = 300
"""Characters of a heading path; outer headings are dropped first."""

HEADING_SEPARATOR = " > "
"""The text between two headings of a heading path."""

ELLIPSIS = "…"
"""The mark at the end of a title that was cut."""

_WIKI_HEADING = re.compile(r"(=(?: ?=){0,5})( ?)([^\s=](?:[^=\r\n]*[^\s=])?)\2\1")
# Bold marks around the whole line, without others inside; a colon may come before or after the last one.
_BOLD = re.compile(r"(\*\*\*|\*\*|___|__)(?=\S)((?:(?!\*\*|__).)+)(?<=\S)\1:?")
_MIN_TITLELETTERS = 2
# A question in bold is a heading, as in lists of frequently asked questions.
_NO_TITLE = re.compile(r"[.!…,;。！。،؛]\Z|(?:[!?]|\w{4}\.)\s|\w@\w|://")
_ATX = re.compile(r"#{1,6}(?:[ \t]+|\Z)")
_INLINE_TAG = re.compile(
    r"(?P<code>`[^`]*+`)|</?(?:a|abbr|b|br|code|dfn|em|font|i|img|kbd|mark|small|span|strong|sub|sup|u)"
    r"(?=[\s/>])(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>"
)
# Headings hold full stops of abbreviations too ("Dr. Hale"), so a full stop counts only after a longer word.
_SENTENCE_END = re.compile(r"(?:\w{4}\.|[!?])[\"'”’)\]]*\s|[。！？।].|[.,;。、，；]\Z")


def wiki_heading(text: str, start: int, end: int) -> "re.Match[str] | None":
    """Match a heading of MediaWiki, such as ``== Plot ==``, or of WikiText, such as ``= = Plot = =``."""
    if end - start > MAX_MARKED_HEADING_CHARS or not text.startswith("=", start):
        return None
    match = _WIKI_HEADING.fullmatch(text, start, end)
    return match if match and (match[2] or match[1] != "=") and has_word(match[3]) else None


def is_underlined_title(line: str, underline: str) -> bool:
    """Return whether a line with an underline below it is a heading, not a paragraph above a rule.

    Args:
        line: The one line above the underline, without white space around it.
        underline: Equals signs or hyphens. A few hyphens may be a rule below a sentence.
    """
    may_be_rule = underline.startswith("-") and len(underline) < len(line) // 2
    return len(line) <= MAX_HEADING_CHARS and not (may_be_rule and _SENTENCE_END.search(line))


def bold_title(line: str) -> str:
    """Return the title of a line that is wholly bold, such as ``**Fees:**``; an empty string if it isn't a title.

    Args:
        line: The line, without white space around it.
    """
    match = _BOLD.fullmatch(line) if len(line) <= MAX_HEADING_CHARS else None
    title = match[2].strip("*_ \t") if match else ""
    has_letters = sum(map(str.isalpha, title)) >= _MIN_TITLELETTERS
    return title.removesuffix(":").rstrip() if has_letters and not _NO_TITLE.search(title) else ""


def heading_title(heading: str) -> str:
    """Return the title of a heading, without its marks and on one line.

    Args:
        heading: The text of the heading's block.
    """
    lines = heading.splitlines()
    title = lines[0].strip()
    if match := _ATX.match(title):
        title = title[match.end() :]
        body = title.rstrip("#")  # without the marks that may close it: "Title ##"
        title = body if body[-1:] in ("", " ", "\t") else title
    elif bold := bold_title(title) if len(lines) == 1 else "":
        title = bold
    elif match := wiki_heading(title, 0, len(title)):
        title = match[3]
    else:  # underlined; the underline has no word in it
        title = " ".join(filter(has_word, lines)) or title
    if "<" in title:
        plain = _INLINE_TAG.sub(lambda match: match["code"] or "", title)
        title = plain if has_word(plain) else title
    return " ".join(title.split())


def shorten_path(path: str, max_chars: int) -> str:
    """Shorten a heading path: drop outer headings first, then cut the innermost title."""
    while len(path) > max_chars and HEADING_SEPARATOR in path:
        path = path.partition(HEADING_SEPARATOR)[2]
    return shorten(path, max_chars)


def shorten(text: str, max_chars: int) -> str:
    """Cut a text at its last white space that leaves at least half of ``max_chars``, else inside a word."""
    if len(text) <= max_chars:
        return text
    kept = text[: max_chars - len(ELLIPSIS)]
    words = kept.rpartition(" ")[0]
    return (words if 2 * len(words) >= max_chars else kept).rstrip() + ELLIPSIS


def title_key(title: str) -> str:
    """Return what of a title counts when it is compared: its letters and digits."""
    return "".join(filter(str.isalnum, title)).casefold()


def has_word(text: str, start: int = 0, end: int = MAX_INDEX) -> bool:
    """Return whether a stretch of a text holds a letter or a digit."""
    return LETTER.search(text, start, end) is not None


def trim(text: str, start: int, end: int) -> Span:
    """Move the ends of ``[start, end)`` inward past white space.

    Returns:
        The trimmed span; ``(end, end)`` if there is nothing but white space.
    """
    if start < end and not text[start].isspace() and not text[end - 1].isspace():
        return start, end
    body = text[start:end]
    lead = len(body) - len(body.lstrip())
    return start + lead, start + max(lead, len(body.rstrip()))


def pieces(text: str, start: int, end: int, cuts: Iterable[int]) -> list[Span]:
    """Cut ``[start, end)`` at positions into trimmed pieces.

    Spans are made from cuts, so they are in order and disjoint, and no character but white space is lost between them.

    Args:
        text: The text.
        start: Where the first piece begins.
        end: Where the last piece ends.
        cuts: Positions where a new piece begins, in any order; those outside ``[start, end)`` are ignored.

    Returns:
        Trimmed spans that aren't empty, in order.
    """
    inner = {cut for cut in cuts if start < cut < end}
    edges = (start, *sorted(inner), end) if inner else (start, end)
    spans = [trim(text, left, right) for left, right in pairwise(edges)]
    return [(low, high) for low, high in spans if low < high]
