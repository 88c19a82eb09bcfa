"""The structure layer: a text as headings, paragraphs, list items, table rows and code.

A block is a run of whole lines. Every line that isn't blank is in exactly one block, whatever the
parser made of it, so no character is lost. Markdown is read by ``markdown-it-py``, whose block rules
alone run, since what is inside a line doesn't move line boundaries.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_sentence_window.spans import trim

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

PROSE = "prose"
HEADING = "heading"
LIST_ITEM = "list_item"
TABLE_ROW = "table_row"
CODE = "code"
HTML = "html"
FRONT_MATTER = "front_matter"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
# Lines of YAML between two rules: "key: value", or what can follow it. Two rules alone aren't enough,
# as a text may begin with one.
_FRONT_MATTER = re.compile(
    r"\ufeff?---[ \t]*(?:\r\n|\r|\n)"
    r"(?:(?:[\w.-]+[ \t]*:|[ \t]+\S|-[ \t]|#)[^\r\n]*(?:\r\n|\r|\n))+"
    r"---[ \t]*(?=[\r\n]|\Z)"
)
# They begin with a newline, which the matcher finds fast; the text is given one in front.
_MARKDOWN = re.compile(
    r"\n(?:#{1,6}[ \t]+\S|(?:```|~~~)|\|?[ \t]*:?-{3,}:?[ \t]*\||\ufeff?---[ \t]*\r?\n[\w.-]+[ \t]*:)"
)
_LINK = re.compile(r"\]\(\S+?\)")
_UNDERLINE = re.compile(r"\n(?<![\s=-]\n)(?<![\s=-]\r\n)(?:={3,}|-{3,})[ \t]*(?=[\r\n]|\Z)")
_BULLET_LINE = re.compile(r"[-*+•▪◦‣][ \t]+\S")
_WIKI_HEADING = re.compile(r"(=(?: ?=){0,5})( ?)([^\s=](?:[^=\r\n]*[^\s=])?)\2\1")
_NUMBERED_HEADING = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?|[IVX]{1,5}\.|[A-Z]\.)[ \t]+(?=[A-ZÀ-Þ])")
_LONGEST_HEADING = 90
_FEWEST_CAPITALS = 3
_ATX = re.compile(r"#{1,6}(?:[ \t]+|\Z)")
_ATX_CLOSING = re.compile(r"(?:^|[ \t]+)#+[ \t]*\Z")
_WHOLE_KINDS = {"fence": CODE, "code_block": CODE, "html_block": HTML}


@dataclass(frozen=True, slots=True)
class Block:
    """A span of whole lines, trimmed.

    Attributes:
        start: First code point of the block in the text.
        end: One past its last code point.
        kind: ``prose``, ``heading``, ``list_item``, ``table_row``, ``code``, ``html`` or
            ``front_matter``.
        level: 1 to 6 for a heading that begins a section, else 0.
    """

    start: int
    end: int
    kind: str = PROSE
    level: int = 0


def is_markdown(text: str) -> bool:
    """Whether a text has marks that hardly stand in plain text: headings, fences, tables, links."""
    lines = "\n" + text
    return any(pattern.search(lines) for pattern in (_MARKDOWN, _UNDERLINE, _LINK))


def plain_block(text: str, start: int, end: int, *, may_be_heading: bool) -> Block:
    """Make the block of some lines of plain text that belong together.

    Args:
        text: The text.
        start: Where the lines begin.
        end: Where they end.
        may_be_heading: Whether blank lines set them apart, as they do a heading.
    """
    start, end = trim(text, start, end)
    if text.startswith("|", start) and text.endswith("|", start, end):
        return Block(start, end, TABLE_ROW)
    if _BULLET_LINE.match(text, start, end):
        return Block(start, end, LIST_ITEM)
    if match := wiki_heading(text, start, end):
        return Block(start, end, HEADING, match[1].count("="))
    if (
        may_be_heading
        and end - start <= _LONGEST_HEADING
        and text[end - 1] not in ".!?;:,"
        and "\n" not in text[start:end]
    ):
        if match := _NUMBERED_HEADING.match(text, start, end):
            return Block(start, end, HEADING, min(6, 2 + match[0].strip(" .").count(".")))
        if text[start:end].isupper() and sum(map(str.isalpha, text[start:end])) > _FEWEST_CAPITALS:
            return Block(start, end, HEADING, 1)
    return Block(start, end)


def wiki_heading(text: str, start: int, end: int) -> "re.Match[str] | None":
    """Read a heading of MediaWiki, such as ``== Plot ==``; with its marks apart, as in WikiText, too."""
    if not text.startswith("=", start):
        return None
    match = _WIKI_HEADING.fullmatch(text, start, end)
    return match if match and (match[2] or match[1] != "=") and any(map(str.isalnum, match[3])) else None


def parse_markdown(text: str, *, indented_code: bool) -> list[Block]:
    """Cut a Markdown text into blocks.

    Args:
        text: Any string.
        indented_code: Whether lines indented by four spaces are code, as CommonMark has it, or
            paragraphs, as plain text indents for looks.

    Returns:
        Blocks in order, disjoint, with nothing but white space between them and a word character
        in each (a rule or a table's delimiter row belongs to the block before it). A text without
        any word character is one block; a blank one has none.
    """
    line_ends = [match.end() for match in _LINE.finditer(text)]
    line_starts = [0, *line_ends[:-1]]
    blocks: list[Block] = []
    for first, stop, kind, level in _runs(text, line_starts, line_ends, _markdown(indented_code)):
        start, end = trim(text, line_starts[first], line_ends[stop - 1])
        if start < end:
            blocks.append(Block(start, end, kind, level))
    return list(_attach_wordless(text, blocks))


def heading_title(text: str, block: Block) -> str:
    """What a heading says, without its marks and on one line."""
    lines = text[block.start : block.end].splitlines()
    title = lines[0].strip()
    if match := wiki_heading(title, 0, len(title)):
        title = match[3]
    elif match := _ATX.match(title):
        title = _ATX_CLOSING.sub("", title[match.end() :])
    else:  # underlined; the underline has no word in it
        title = " ".join(line for line in lines if any(map(str.isalnum, line))) or title
    return " ".join(title.split())


def _runs(
    text: str, line_starts: Sequence[int], line_ends: Sequence[int], parser: "MarkdownIt"
) -> Iterator[tuple[int, int, str, int]]:
    """Yield ``(first line, one past the last, kind, level)``, every line in exactly one run."""
    at = 0
    if match := _FRONT_MATTER.match(text):
        at = next(i for i, end in enumerate(line_ends, 1) if end >= match.end())
        yield 0, at, FRONT_MATTER, 0
    rest, offset = text[line_ends[at - 1] if at else 0 :], at
    for first, stop, kind, level in (*_parsed(rest, parser), (len(line_ends) - offset,) * 2 + (PROSE, 0)):
        first, stop = max(first + offset, at), min(stop + offset, len(line_ends))
        # What the parser keeps no token for (rules, link references, delimiter rows) is prose here.
        for line in range(at, first):
            if text[line_starts[line] : line_ends[line]].strip():
                yield line, line + 1, PROSE, 0
        if first < stop:
            yield first, stop, kind, level
        at = max(at, first, stop)


def _parsed(text: str, parser: "MarkdownIt") -> Iterator[tuple[int, int, str, int]]:
    in_items = 0
    tokens = parser.parse(text)
    for token, inner in zip(tokens, [*tokens[1:], None], strict=False):
        if token.type in ("list_item_open", "list_item_close"):
            in_items += token.nesting
        if token.map is None:
            continue
        first, stop = token.map
        if token.type == "heading_open":
            # A heading inside a quote or an item is a heading, but begins no section.
            yield first, stop, HEADING, int(token.tag[1:]) if token.level == 0 else 0
        elif token.type == "tr_open":
            yield first, stop, TABLE_ROW, 0
        elif token.type == "paragraph_open" and not _is_blank(inner):
            yield first, stop, LIST_ITEM if in_items else PROSE, 0
        elif token.type in _WHOLE_KINDS:
            yield first, stop, _WHOLE_KINDS[token.type], 0


def _is_blank(token: "Token | None") -> bool:
    return token is None or not token.content.strip()


def _attach_wordless(text: str, blocks: Sequence[Block]) -> Iterator[Block]:
    """Join blocks without a word character to the one before, the first ones to the one after."""
    waiting: Block | None = None
    for block in blocks:
        has_word = any(map(str.isalnum, text[block.start : block.end]))
        if waiting is None:
            waiting = block
        elif not has_word:
            waiting = Block(waiting.start, block.end, waiting.kind, waiting.level)
        elif not any(map(str.isalnum, text[waiting.start : waiting.end])):
            waiting = Block(waiting.start, block.end, block.kind, block.level)
        else:
            yield waiting
            waiting = block
    if waiting is not None:
        yield waiting


@functools.cache
def _markdown(indented_code: bool) -> "MarkdownIt":  # noqa: FBT001 - cached by it
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    if not indented_code:
        parser.disable("code")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
