"""Paragraphs: which lines of a column belong together.

White space between lines decides first. Otherwise a paragraph ends after a line that stops early and ends a sentence,
before an indented line or the marker of an item, and where the type changes. When in doubt, lines stay together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_sentence_window.splitting import LIST_ITEM, PAGE_NUMBER, PROSE, TABLE_ROW

from .lines import MIN_PITCHES, TextLine, median, pitches_of

BULLETS = "•●○◦▪▫■□‣⁃·∙➢➤✓❖*"
"""Marks at the beginning of list items."""

_BULLET = re.compile(rf"[{BULLETS}](?:\s|$)|[{BULLETS[:-1]}]|[-–—o]\s(?=\S)")
_ITEM = re.compile(
    r"\((?:\d{1,3}|[a-zA-Z]{1,2}|[ivxlcIVXLC]{1,6})\)(?:\s|$)|(?:\d{1,2}|[a-z]|[ivxlc]{1,5})\)(?:\s|$)|(?:[a-z]|[ivxlc]{2,5})\.\s"
)
AGENDA_NUMBER = re.compile(r"(\d{1,2})\.\s")
_NUMBER = re.compile(
    r"(?:\d{1,3}[A-Z]?(?:\.\d{1,3})*\.?|[A-Z]\.|[IVXLC]{1,6}\.|§\s?\d+\S*)(?:\s|$)|\d{1,2}\.(?=[A-Z][A-Za-z])"
)
_LABEL = re.compile(r"(?i:article|section|schedule|exhibit|annex|appendix|part|chapter)\s+[\"“]?[\dA-Z]")
_FILED_AS = re.compile(r"(?i)exhibit\s+\d{1,3}\.\d{1,3}\S{0,6}")
_LEADERS = re.compile(r"(?:(?:\.\s?){4,}|(?:[…‥]\s?){2,}|(?:·\s?){4,})\s*[\divxA-Z-]{1,7}$")
_CLOSERS = "\"'”’»)]"
_ENDS = ".!?:;。！？"
_WIDE_PITCH = 1.35
_SIZE_CHANGE = 0.12
_INDENT = 0.8
_SHIFT = 0.3
_MIN_SENTENCE = 60
_MAX_LINES = 3
_MOST_GO_ON = 0.5
_MAX_ENTRY_END = 40
_FULL_BOLD = 0.9
_MAX_PAGE_CHARS = 6
_ENTRY_GAP = 2.0


@dataclass(eq=False, slots=True)
class Paragraph:
    """Lines that belong together.

    Attributes:
        lines: At least one, in reading order.
        kind: The kind of block, see `Block`.
        level: The level of a heading, else 0.
        cells: The number of lines of each cell of a table row; empty for any other paragraph.
        is_sure: Whether the heading is in the file's outline.
        runs_in: Whether the text after the heading begins on the same line.
    """

    lines: list[TextLine]
    kind: str = PROSE
    level: int = 0
    is_sure: bool = False
    runs_in: bool = False
    cells: Sequence[int] = ()

    @property
    def text(self) -> str:
        """The words, with one space between them."""
        return " ".join([line.text for line in self.lines])


def find_paragraphs(lines: Sequence[TextLine], pitch: float) -> list[Paragraph]:
    """Join the lines of a column into paragraphs.

    Args:
        lines: The lines of the column, from top to bottom.
        pitch: The usual distance between lines of a paragraph, in font sizes.
    """
    paragraphs: list[Paragraph] = []
    own = pitches_of(lines)
    column_right = max((line.x1 for line in lines), default=0.0)
    if len(own) >= max(MIN_PITCHES, _MOST_GO_ON * len(lines)) and median(own) > _WIDE_PITCH * pitch:
        pitch = median(own)  # a part of the file with other line spacing
    for group in _groups(lines, pitch):
        right = max(line.x1 for line in group)
        left = min(line.x0 for line in group)
        current: list[TextLine] = []
        for line in group:
            if current and (_begins(current, line, left, right) or _is_below_title(current, line, column_right)):
                paragraphs.append(_paragraph(current))
                current = []
            current.append(line)
        paragraphs.append(_paragraph(current))
    return paragraphs


def has_marker(text: str) -> bool:
    """Return whether a text begins with the marker of an item, a number or a label."""
    return any(pattern.match(text) for pattern in (_BULLET, _ITEM, _NUMBER, _LABEL))


def ends_sentence(text: str) -> bool:
    """Return whether a text ends with a mark at the end of a sentence or a clause."""
    return text.rstrip(_CLOSERS)[-1:] in _ENDS if text.rstrip(_CLOSERS) else False


def is_filed_as(text: str) -> bool:
    """Return whether a line only names the filing of a document, such as "Exhibit 10.1"."""
    return _FILED_AS.fullmatch(text) is not None


def is_entry(line: TextLine) -> bool:
    """Return whether a line is an entry of a table of contents: a page number follows dots or a wide gap."""
    if _LEADERS.search(line.text[-_MAX_ENTRY_END:]):
        return True
    last = line.runs[-1]
    return (
        len(line.runs) > 1
        and len(last.words) == 1
        and last.letters <= _MAX_PAGE_CHARS
        and PAGE_NUMBER.fullmatch(line.text.rpartition(" ")[2]) is not None
        and last.x0 - line.runs[-2].x1 > _ENTRY_GAP * line.size
        and any(map(str.isalpha, line.text[: -last.letters]))
    )


def goes_on(last: Paragraph, after: TextLine, right: float) -> bool:
    """Return whether a paragraph continues across a page or column break.

    Args:
        last: The paragraph before the break.
        after: The first line after it.
        right: The right side of the column before the break.
    """
    before = last.lines[-1]
    text, following = before.text, after.text
    if is_entry(before) or is_entry(after) or _size_changes(before, after) or _BULLET.match(following):
        return False
    first = following.lstrip("\"'“‘«([")[:1]
    end = text.rstrip(_CLOSERS)[-1:]
    if _ends_open(text):
        return not has_marker(following) and (first.islower() or not _is_bold_change(before, after))
    if first.islower() and (end.isalnum() or end in "%*$"):
        return not _ITEM.match(following)
    if not end.isalnum() or has_marker(following) or _is_bold_change(before, after):
        return False
    # A paragraph ends with a punctuation mark; a line of an address or a title doesn't.
    is_sentence = len(last.lines) > 1 or text.rpartition(" ")[2].islower()
    return _is_long(last) and (is_sentence or not _stops_early(before, after, right))


def goes_on_below(last: Paragraph, after: TextLine, right: float) -> bool:
    """Return whether a paragraph continues after white space, as its sentence doesn't end before it.

    Args:
        last: The paragraph above.
        after: The line below.
        right: The right side of the column.
    """
    before = last.lines[-1]
    if not after.text[0].islower() or has_marker(after.text) or _size_changes(before, after) or is_entry(before):
        return False
    is_open = before.text.endswith(",") or (before.text[-1].isalnum() and not _stops_early(before, after, right))
    return is_open and _is_long(last)


def _is_long(paragraph: Paragraph) -> bool:
    """Return whether a paragraph is long enough for a sentence, rather than a line of an address or a title."""
    return sum(len(line.text) for line in paragraph.lines[-_MAX_LINES:]) >= _MIN_SENTENCE


def _ends_open(text: str) -> bool:
    """Return whether a line ends inside a clause: after a comma, a hyphen or an opening bracket."""
    return text.rstrip(_CLOSERS)[-1:] == "," or (text[-1:] in "-–—(" and any(map(str.isalnum, text[-8:])))


def _groups(lines: Sequence[TextLine], pitch: float) -> list[list[TextLine]]:
    """Group lines without extra white space between them."""
    groups: list[list[TextLine]] = []
    for line in lines:
        if groups:
            above = groups[-1][-1]
            distance = line.base - above.base
            if distance <= _WIDE_PITCH * pitch * max(above.size, line.size) and distance > 0:
                groups[-1].append(line)
                continue
        groups.append([line])
    return groups


def _begins(  # noqa: C901, PLR0911 - one question after the other
    current: list[TextLine], line: TextLine, left: float, right: float
) -> bool:
    """Return whether a line without extra white space above it begins a paragraph."""
    above = current[-1]
    early = _stops_early(above, line, right)
    if is_filed_as(above.text):
        return True
    if (_size_changes(above, line) and (early or ends_sentence(above.text))) or is_entry(above) or is_entry(line):
        goes_on_to_page = not early and is_entry(line) and not (is_entry(above) or has_marker(line.text))
        return not goes_on_to_page or line.x0 < above.x0 - _SHIFT * line.size
    ended = ends_sentence(above.text)
    text = line.text
    if _BULLET.match(text):
        return early or ended or text[0] in BULLETS
    has_separate_marker = len(line.runs) > 1 and len(line.runs[0].words) == 1
    if _ITEM.match(text) or _NUMBER.match(text):
        if has_separate_marker or early or _counts_on(current[0], line):
            return True
        if not ended and above.text.rpartition(" ")[2] not in ("and", "or"):
            return False
        if len(current) > 1:  # a line of the same paragraph has the same left side
            return abs(line.x0 - above.x0) > _SHIFT * line.size
        return has_marker(above.text) and line.x0 > above.x0 - _SHIFT * line.size
    if _LABEL.match(text) and early:
        return True
    if _is_bold_change(above, line) and (early or ended):
        return True
    if early and above.text.isupper() and _is_centered(above, left, right) and not _is_centered(line, left, right):
        return not text.isupper()
    first = text.lstrip("\"'“‘«([")[:1]
    if first.islower():
        return False
    indented = line.x0 - left > _INDENT * line.size and line.x0 - above.x0 > _INDENT * line.size
    if _is_centered(above, left, right) and _is_centered(line, left, right):
        return False
    return ended and (early or indented)


def _counts_on(first: TextLine, line: TextLine) -> bool:
    """Return whether the number of a line follows that of an earlier one with the same left side."""
    one, other = (AGENDA_NUMBER.match(each.text) for each in (first, line))
    is_next = one is not None and other is not None and int(other[1]) == int(one[1]) + 1
    return is_next and abs(first.x0 - line.x0) < _SHIFT * line.size


def _is_below_title(current: list[TextLine], line: TextLine, right: float) -> bool:
    """Return whether a line follows a bold title, above or next to it."""
    above = current[-1]
    if line.text[0].islower():
        return False
    is_title = line.bold == 0 and all(each.bold >= _FULL_BOLD for each in current) and _stops_early(above, line, right)
    return is_title or (_is_bold_change(above, line) and (above.x0 > line.x1 or line.x0 > above.x1))


def _paragraph(lines: list[TextLine]) -> Paragraph:
    text = lines[0].text
    if is_entry(lines[-1]):
        return Paragraph(lines, TABLE_ROW)  # the whole entry, with its page
    return Paragraph(lines, LIST_ITEM if _BULLET.match(text) or _ITEM.match(text) else PROSE)


def _stops_early(line: TextLine, following: TextLine, right: float) -> bool:
    """Return whether the first word of the next line would still have fit."""
    return line.x1 + following.first_width + 0.5 * line.size < right


def _is_centered(line: TextLine, left: float, right: float) -> bool:
    return line.x0 - left > line.size and abs((line.x0 - left) - (right - line.x1)) < line.size


def _size_changes(one: TextLine, other: TextLine) -> bool:
    return abs(one.size - other.size) > _SIZE_CHANGE * max(one.size, other.size)


def _is_bold_change(one: TextLine, other: TextLine) -> bool:
    return (one.bold >= _FULL_BOLD) != (other.bold >= _FULL_BOLD)
