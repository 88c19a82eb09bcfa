"""What a heading is, what it says, and the path of headings that a section stands under.

A heading is put before each sentence of its section, so what passes for one is short, and a path of them
is bounded however a document is made.
"""

import re
from collections.abc import Sequence

LONGEST_HEADING = 90
"""Characters of a line that no mark makes a heading: a numbered or capitalized one, or an underlined one."""

LONGEST_MARKED_HEADING = 300
"""Characters of a line that a mark makes a heading, such as ``# Title``; a longer one is a paragraph."""

LONGEST_PATH = 300
"""Characters of a heading path; outer headings give way first."""

HEADING_SEPARATOR = " > "
"""What stands between the headings of a heading path."""

ELLIPSIS = "…"
"""What stands for the part of a title that was cut off."""

_WIKI_HEADING = re.compile(r"(=(?: ?=){0,5})( ?)([^\s=](?:[^=\r\n]*[^\s=])?)\2\1")
_ATX = re.compile(r"#{1,6}(?:[ \t]+|\Z)")
# Full stops of abbreviations ("Dr. Hale") are in headings too, so one counts after a longer word alone.
_SENTENCE_END = re.compile(r"(?:\w{4}\.|[!?])[\"'”’)\]]*\s|[。！？।].|[.,;。、，；]\Z")


def wiki_heading(text: str, start: int, end: int) -> "re.Match[str] | None":
    """Read a heading of MediaWiki, such as ``== Plot ==``; with its marks apart, as in WikiText, too."""
    if end - start > LONGEST_MARKED_HEADING or not text.startswith("=", start):
        return None
    match = _WIKI_HEADING.fullmatch(text, start, end)
    return match if match and (match[2] or match[1] != "=") and any(map(str.isalnum, match[3])) else None


def is_underlined_title(line: str, underline: str) -> bool:
    """Whether a line with an underline below it is a heading, not a paragraph above a rule.

    Args:
        line: The one line above the underline, without white space around it.
        underline: Equals signs, or hyphens, of which few may be a rule; above a rule stand sentences.
    """
    may_be_rule = underline.startswith("-") and len(underline) < len(line) // 2
    return len(line) <= LONGEST_HEADING and not (may_be_rule and _SENTENCE_END.search(line))


def heading_title(heading: str) -> str:
    """What a heading says, without its marks and on one line.

    Args:
        heading: The text of the heading's block.
    """
    lines = heading.splitlines()
    title = lines[0].strip()
    if match := wiki_heading(title, 0, len(title)):
        title = match[3]
    elif match := _ATX.match(title):
        title = _without_closing(title[match.end() :])
    else:  # underlined; the underline has no word in it
        title = " ".join(line for line in lines if any(map(str.isalnum, line))) or title
    return " ".join(title.split())


def heading_path(titles: Sequence[str]) -> str:
    """Join the titles of nested headings, outermost first, to `LONGEST_PATH` characters at most."""
    return shorten_path(HEADING_SEPARATOR.join(titles), LONGEST_PATH)


def shorten_path(path: str, max_chars: int) -> str:
    """Shorten a heading path: first by its outer headings, then at a word of the innermost title."""
    while len(path) > max_chars and HEADING_SEPARATOR in path:
        path = path.partition(HEADING_SEPARATOR)[2]
    return shorten(path, max_chars)


def shorten(text: str, max_chars: int) -> str:
    """Cut a text at the last white space that leaves at least half of what fits, else where it must."""
    if len(text) <= max_chars:
        return text
    kept = text[: max_chars - len(ELLIPSIS)]
    words = kept.rpartition(" ")[0]
    return (words if 2 * len(words) >= max_chars else kept).rstrip() + ELLIPSIS


def _without_closing(title: str) -> str:
    """Take off the marks that close an ATX heading: "Title ##"."""
    title = title.rstrip(" \t")
    body = title.rstrip("#")
    return body.rstrip(" \t") if body != title and body[-1:] in ("", " ", "\t") else title
