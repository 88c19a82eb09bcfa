"""Paragraphs: which lines of a column belong together, and which paragraphs are headings.

White space between lines decides first. Where there is none, a paragraph ends at a line that stops early and ends a
sentence, at an indented line, at the marker of an item, and where the type changes. When in doubt, lines stay together.

A false heading parts what belongs together, so one sign alone counts only if it is strong: an entry of the outline, or
type larger than the body's. A bold title at the beginning of a clause stays in its paragraph.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM, MAX_LEVEL, PROSE, TABLE_ROW, title_key
from langchain_sentence_window.splitting.structure import PAGE_NUMBER

from .lines import MIN_PITCHES, TextLine, Typography, cut_line, median, pitches_of

BULLETS = "•●○◦▪▫■□‣⁃·∙➢➤✓❖*"
"""Marks that begin an item of a list."""

_BULLET = re.compile(rf"[{BULLETS}](?:\s|$)|[{BULLETS[:-1]}]|[-–—o]\s(?=\S)")
_ITEM = re.compile(
    r"\((?:\d{1,3}|[a-zA-Z]{1,2}|[ivxlcIVXLC]{1,6})\)(?:\s|$)|(?:\d{1,2}|[a-z]|[ivxlc]{1,5})\)(?:\s|$)|(?:[a-z]|[ivxlc]{2,5})\.\s"
)
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
        is_sure: Whether the file's outline has the heading.
        runs_in: Whether the text after the heading begins on its line.
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
    """Join the lines of a column to paragraphs.

    Args:
        lines: The lines of the column, from top to bottom.
        pitch: The distance of two lines of a paragraph, in font sizes.
    """
    paragraphs: list[Paragraph] = []
    own = pitches_of(lines)
    column_right = max((line.x1 for line in lines), default=0.0)
    if len(own) >= max(MIN_PITCHES, _MOST_GO_ON * len(lines)) and median(own) > _WIDE_PITCH * pitch:
        pitch = median(own)  # of a part of the file in another type
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
    """Return whether a text begins with the marker of an item or a number."""
    return any(pattern.match(text) for pattern in (_BULLET, _ITEM, _NUMBER, _LABEL))


def ends_sentence(text: str) -> bool:
    """Return whether a text ends with a mark that ends a sentence or a clause."""
    return text.rstrip(_CLOSERS)[-1:] in _ENDS if text.rstrip(_CLOSERS) else False


def is_filed_as(text: str) -> bool:
    """Return whether a line only says as what a text was filed, such as "Exhibit 10.1"."""
    return _FILED_AS.fullmatch(text) is not None


def is_entry(line: TextLine) -> bool:
    """Return whether a line is an entry of a table of contents: it ends with a page number after a wide gap."""
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
    """Return whether a paragraph continues across a break of the page or column.

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
    # A paragraph of sentences ends with a mark, a line of an address or of a title doesn't.
    is_sentence = len(last.lines) > 1 or text.rpartition(" ")[2].islower()
    return _is_long(last) and (is_sentence or not _stops_early(before, after, right))


def goes_on_below(last: Paragraph, after: TextLine, right: float) -> bool:
    """Return whether a paragraph continues after white space: its sentence doesn't end before it.

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
    """Return whether a line ends in the middle of a clause: after a comma, a hyphen or an opening bracket."""
    return text.rstrip(_CLOSERS)[-1:] == "," or (text[-1:] in "-–—(" and any(map(str.isalnum, text[-8:])))


def _groups(lines: Sequence[TextLine], pitch: float) -> list[list[TextLine]]:
    """Part lines where there is more white space than between the lines of a paragraph."""
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
    """Return whether a line begins a paragraph; there is no white space above it."""
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
    parted_marker = len(line.runs) > 1 and len(line.runs[0].words) == 1
    if _ITEM.match(text) or _NUMBER.match(text):
        if parted_marker or early or _counts_on(current[0], line):
            return True
        if not ended and above.text.rpartition(" ")[2] not in ("and", "or"):
            return False
        if len(current) > 1:  # lines that go on stand where the one above does
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
    """Return whether a line begins with the number after that of another one, below it."""
    one, other = (_AGENDA_NUMBER.match(each.text) for each in (first, line))
    is_next = one is not None and other is not None and int(other[1]) == int(one[1]) + 1
    return is_next and abs(first.x0 - line.x0) < _SHIFT * line.size


def _is_below_title(current: list[TextLine], line: TextLine, right: float) -> bool:
    """Return whether a line stands below a title of the column in bold, or a title in bold beside another line."""
    above = current[-1]
    if line.text[0].islower():
        return False
    is_title = line.bold == 0 and all(each.bold >= _FULL_BOLD for each in current) and _stops_early(above, line, right)
    return is_title or (_is_bold_change(above, line) and (above.x0 > line.x1 or line.x0 > above.x1))


def _paragraph(lines: list[TextLine]) -> Paragraph:
    text = lines[0].text
    if is_entry(lines[-1]):
        return Paragraph(lines, TABLE_ROW)  # as a whole, with its page
    return Paragraph(lines, LIST_ITEM if _BULLET.match(text) or _ITEM.match(text) else PROSE)


def _stops_early(line: TextLine, following: TextLine, right: float) -> bool:
    """Return whether the first word of the following line would have fit into a line."""
    return line.x1 + following.first_width + 0.5 * line.size < right


def _is_centered(line: TextLine, left: float, right: float) -> bool:
    return line.x0 - left > line.size and abs((line.x0 - left) - (right - line.x1)) < line.size


def _size_changes(one: TextLine, other: TextLine) -> bool:
    return abs(one.size - other.size) > _SIZE_CHANGE * max(one.size, other.size)


def _is_bold_change(one: TextLine, other: TextLine) -> bool:
    return (one.bold >= _FULL_BOLD) != (other.bold >= _FULL_BOLD)


MAX_CHARS = 120
"""Characters of a heading, without the number before it."""

MAX_LINES = 3
"""Lines of a heading."""

LARGE = 1.15
"""Font sizes of the body; type at least as large is a heading's."""

SMALL = 0.92
"""Font sizes of the body; smaller type is a note's."""

_NUMBERED = re.compile(
    r"(?P<number>\d{1,2}[A-Z]?(?:\.\d{1,2}){0,4})(?:\.?\s+|\.(?=[A-Z][A-Za-z]))|(?P<roman>[IVXL]{1,6}|[A-Z])\.\s+"
)
_LABELED = re.compile(
    r"(?P<label>article|section|schedule|exhibit|annex|appendix|part|chapter|item)\s+(?!no\b)"
    r"(?P<number>\d{1,3}[A-Z]?(?:\.\d{1,3})*|[IVXLC]{1,7}|[A-Z]{1,2}(?:-\d{1,2})?)(?=$|[\s.:,–—-])[\s.:,–—-]*",
    re.IGNORECASE,
)
_TOP_LABELS = frozenset({"article", "schedule", "exhibit", "annex", "appendix", "part", "chapter"})
_SMALL_WORDS = (
    frozenset({"a", "after", "against", "an", "and", "as", "at", "before", "between", "but", "by"})
    | {"during", "for", "from", "in", "into", "nor", "of", "on", "or", "over", "per", "so", "than"}
    | {"the", "through", "to", "under", "until", "upon", "via", "with", "within", "without"}
    | {"auf", "bei", "das", "dem", "den", "der", "des", "die", "für", "im"}
    | {"mit", "nach", "oder", "und", "von", "vom", "zu", "zum", "zur"}
    | {"au", "aux", "avec", "dans", "de", "du", "en", "et", "la", "le", "les", "ou", "par", "pour", "sous", "sur"}
    | {"al", "con", "da", "das", "de", "del", "di", "do", "dos", "e", "el", "em"}
    | {"las", "lo", "los", "o", "para", "por", "sin", "y"}
)
_NO_TITLES = frozenset({"and", "between", "by and between", "by and among", "among", "page", "page no.", "seite"})
_VERBS = frozenset({"are", "has", "have", "is", "may", "means", "must", "shall", "will"})
_RUN_IN = re.compile(r"(?P<title>[^.:]{3,70})[.:](?=\s+[\"“‘(\[A-Z])")
_AGENDA = re.compile(r"(\d{1,2})\.\s+([^\W\d_a-z][^.?!;:,$]{2,60})")
_AGENDA_NUMBER = re.compile(r"(\d{1,2})\.\s")
_MAX_ITEM_WORDS = 8
_MIN_BELOW = 4
_QUESTION = re.compile(r"\?\s+\S")
_SIGNATURE = re.compile(
    r"(?i)\s*(?:by|name|title|dated?|signed|signature|its|attest|witness|address|attn|attention|att)\s*[:.]|_{3,}|/s/"
)
_DATE = re.compile(r"(?:[^\W\d]+\.?\s+)?\d{1,2}(?:st|nd|rd|th)?[.,]?\s+(?:[^\W\d]+\.?,?\s+)?\d{4}")
_NO_HEADING = re.compile(r"(?i)[☐☑☒]|\bclick here\b|\bquicklinks\b|\b(?:follows|folgt|suit|sigue|segue)\s?:$")
_FIRST = re.compile(r"(?:\d{1,2}\.)*1\b|[AI][.)]|(?i:article|section|chapter|part)\s+(?:1|I|one)\b")
_HEADING_BOLD = 0.9
_MIN_CAPITALS = 3
_MAX_TITLE_CHARS = 70
_MIN_ROW = 3
_MIN_TITLE_WORDS = 3
_MOST_HEAD_WORDS = 2
_MIN_BODY_LINES = 2
_MIN_BODY_CHARS = 100
_SAME_SIZE = 1.02


def mark_headings(
    paragraphs: Sequence[Paragraph], type_: Typography, outline: Mapping[str, int], *, has_title: bool = False
) -> list[Paragraph]:
    """Find the headings among the paragraphs of a page.

    Args:
        paragraphs: The page's paragraphs, in reading order.
        type_: The file's typography.
        outline: Titles of the outline's entries for this page, see `title_key`, with their levels from 1.
        has_title: Whether this is the page where the file's title stands; level 1 is the title's.

    Returns:
        The paragraphs; a heading that only has a number ("ARTICLE IV") is joined to the heading after it.
    """
    made: list[Paragraph] = []
    for paragraph, below in zip_longest(paragraphs, paragraphs[1:]):
        level = _level(paragraph, type_, outline)
        if level and below is not None and _is_name(paragraph, below, type_):
            level = 0
        if not level:
            made += _run_in_parted(paragraph, type_)
            continue
        is_sure = title_key(paragraph.text) in outline
        last = made[-1] if made else None
        if last is not None and last.kind == HEADING and _joins(last.text, paragraph.text):
            made[-1] = Paragraph([*last.lines, *paragraph.lines], HEADING, last.level, last.is_sure or is_sure)
        else:
            made.append(Paragraph(paragraph.lines, HEADING, level, is_sure))
    _mark_items(made)
    if has_title:
        made = _raise_title(made)
    return _without_empty(made)


def _is_name(paragraph: Paragraph, below: Paragraph, type_: Typography) -> bool:
    """Return whether what stands below shows that this is no heading: a signature, no text, or a list of pages."""
    if is_entry(below.lines[0]):
        return True
    if _LABELED.match(paragraph.text) or _NUMBERED.match(paragraph.text):
        return False
    is_large = paragraph.lines[0].size >= LARGE * type_.size
    return bool(_SIGNATURE.match(below.text)) or (below.kind == PROSE and not is_large and len(below.text) < _MIN_BELOW)


def _mark_items(paragraphs: list[Paragraph]) -> None:
    """Make headings of numbered lines, such as those of an agenda: each has a text below it, and others count on."""
    items = {number: int(match[1]) for number, each in enumerate(paragraphs) if (match := _is_item(each))}
    known = {
        int(match[1]) for each in paragraphs if each.kind == HEADING and (match := _AGENDA_NUMBER.match(each.text))
    }
    counted = {*items.values(), *known}
    for place, value in items.items():
        below = paragraphs[place + 1] if place + 1 < len(paragraphs) else None
        has_text = below is not None and below.kind in (PROSE, LIST_ITEM) and not _NUMBERED.match(below.text)
        if has_text and not counted.isdisjoint((value - 1, value + 1)):
            paragraphs[place] = Paragraph(paragraphs[place].lines, HEADING, 3)


def _is_item(paragraph: Paragraph) -> "re.Match[str] | None":
    if paragraph.kind != PROSE or len(paragraph.lines) != 1 or _has_columns(paragraph.lines[0]):
        return None
    match = _AGENDA.fullmatch(paragraph.text)
    words = match[2].split() if match else []
    return match if len(words) <= _MAX_ITEM_WORDS and not _VERBS.intersection(words) else None


def _raise_title(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """Give the title level 1: of the headings without a number, the first of the largest.

    What stands above it, such as "Exhibit 10.1", is no heading.
    """
    titles = [
        number
        for number, each in enumerate(paragraphs)
        if each.kind == HEADING and not (each.is_sure or _LABELED.match(each.text) or _NUMBERED.match(each.text))
    ]
    body = next((number for number, each in enumerate(paragraphs) if _is_body(each)), len(paragraphs))
    titles = [number for number in titles if number < body] or titles
    title = max(titles, key=lambda number: _prominence(paragraphs[number]), default=None)
    long = [number for number in titles if paragraphs[number].text.count(" ") + 1 >= _MIN_TITLE_WORDS]
    largest = max(long, key=lambda number: paragraphs[number].lines[0].size, default=title)
    if title is not None and largest is not None:
        is_larger = paragraphs[largest].lines[0].size >= LARGE * paragraphs[title].lines[0].size
        title = largest if is_larger else title
    made: list[Paragraph] = []
    for number, each in enumerate(paragraphs):
        is_filing = is_filed_as(each.text) and not each.is_sure
        if number == title:
            each = replace(each, level=1)
        elif is_filing or (title is not None and number < title and each.kind == HEADING and not each.is_sure):
            each = Paragraph(each.lines)
        made.append(each)
    return made


def _is_body(paragraph: Paragraph) -> bool:
    is_long = len(paragraph.lines) >= _MIN_BODY_LINES and len(paragraph.text) >= _MIN_BODY_CHARS
    return paragraph.kind == PROSE and is_long


def _prominence(paragraph: Paragraph) -> tuple[bool, int, bool]:
    is_upper = paragraph.text.isupper()
    return is_upper or _is_title(paragraph.text), round(paragraph.lines[0].size), is_upper


def _without_empty(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """Make plain paragraphs of headings with nothing below them: lines of a title page, or a list of names.

    A heading that stands twice on a page is plain too, such as the line between two factors of a formula.
    """
    counts = Counter(paragraph.text for paragraph in paragraphs if paragraph.kind == HEADING)
    made: list[Paragraph] = []
    row = 0  # headings of one level, one after the other
    for number, paragraph in enumerate(paragraphs):
        level = paragraph.level
        below = paragraphs[number + 1].level if number + 1 < len(paragraphs) else MAX_LEVEL + 1
        row = row + 1 if number and level and paragraphs[number - 1].level == level else 1
        is_above_first = (
            below == level < MAX_LEVEL and row == 1 and _FIRST.match(paragraphs[number + 1].text) is not None
        )
        is_empty = (0 < below <= level and not is_above_first) or row >= _MIN_ROW
        if level > 1 and not paragraph.is_sure and (is_empty or counts[paragraph.text] > 1):
            paragraph = Paragraph(paragraph.lines)
        made.append(paragraph)
    return made


def _joins(label: str, title: str) -> bool:
    """Return whether a label and the heading below it are one heading; "Exhibit 10.1" only says where it was filed."""
    match = _LABELED.match(label)
    return match is not None and match.end() == len(label) and "." not in match["number"] and not _LABELED.match(title)


def _run_in_parted(paragraph: Paragraph, type_: Typography) -> list[Paragraph]:
    """Part a paragraph from the title that it begins with: "2.1 Term. This Agreement ..."."""
    text = paragraph.text[: 2 * MAX_CHARS]
    match = (_LABELED.match(text) or _NUMBERED.match(text)) if paragraph.kind == PROSE else None
    if match is None or paragraph.lines[0].size < SMALL * type_.size:
        return [paragraph]
    end = _RUN_IN.match(text, match.end())
    is_note = "." not in match[0] and not _LABELED.match(text) and paragraph.lines[0].bold < _HEADING_BOLD
    if end is None or is_note or not _is_title(end["title"]):
        return [paragraph]
    count = text.count(" ", 0, end.end()) + 1
    lines: list[TextLine] = []
    for number, line in enumerate(paragraph.lines):
        words = line.text.count(" ") + 1
        if count < words:
            before, after = cut_line(line, count)
            level = _level_of(_LABELED.match(text), _NUMBERED.match(text), is_large=False, size=line.size, type_=type_)
            rest = [after, *paragraph.lines[number + 1 :]]
            return [Paragraph([*lines, before], HEADING, level, runs_in=True), Paragraph(rest)]
        lines.append(line)
        count -= words
        if not count:
            break
    return [paragraph]


def _level(  # noqa: PLR0911 - one question after the other
    paragraph: Paragraph, type_: Typography, outline: Mapping[str, int]
) -> int:
    """Return the level of a heading; 0 for any other paragraph."""
    lines = paragraph.lines
    text = paragraph.text if len(lines) <= MAX_LINES else ""
    if paragraph.kind not in (PROSE, LIST_ITEM) or not 0 < len(text) <= MAX_CHARS + 30:
        return 0
    known = outline.get(title_key(text))
    if known:
        return min(MAX_LEVEL, known + 1)
    if paragraph.kind == LIST_ITEM or _SIGNATURE.search(text) or _NO_HEADING.search(text) or _DATE.fullmatch(text):
        return 0
    label, number = _LABELED.match(text), _NUMBERED.match(text)
    match = label or number
    title = text[match.end() :] if match else text
    letters = sum(map(str.isalpha, title))
    is_remark = (title[:1] + title[-1:]) in ("[]", "()") or title.lower() in _NO_TITLES
    if not match and (letters < _MIN_CAPITALS or is_remark):
        return 0
    is_large = lines[0].size >= LARGE * type_.size
    is_bold = not type_.is_bold and all(line.bold >= _HEADING_BOLD for line in lines)
    is_capital = title.isupper() and letters > _MIN_CAPITALS
    if len(title) > MAX_CHARS or _ends_otherwise(title, is_numbered=match is not None, is_capital=is_capital):
        return 0
    is_note = not label and not is_bold and not is_large and _is_note(lines[0], title, number, type_)
    if is_note or _QUESTION.search(title) or any(map(_has_columns, lines)) or not (match or _begins_title(title)):
        return 0
    if label:
        is_heading = not title or is_bold or is_large or is_capital or _is_title(title)
    elif number:
        is_heading = is_bold or is_large or is_capital or (_is_title(title) and len(lines) == 1)
    else:
        is_heading = is_large or is_bold or (is_capital and len(title) <= _MAX_TITLE_CHARS)
    if not is_heading:
        return 0
    return _level_of(label, number, is_large=is_large, size=lines[0].size, type_=type_)


def _ends_otherwise(title: str, *, is_numbered: bool, is_capital: bool) -> bool:
    """Return whether a text doesn't end as a title does: as a sentence, or in the middle of one."""
    last = title.rstrip("\"'”’»)]* ")[-1:]
    words = title.split()
    if not words or last in ",;?!":
        return bool(last)
    if is_numbered:
        return False
    if last == ":" and is_capital:  # "COSTS OF THE YEAR:" is one
        return len(words) == 1 or "," in title or max(map(len, words)) < _MIN_CAPITALS
    return last in (".", ":") or words[-1] in _SMALL_WORDS


def _is_note(line: TextLine, title: str, number: "re.Match[str] | None", type_: Typography) -> bool:
    """Return whether a paragraph is a footnote: in small type, or a number without a point and a text with one."""
    ends = number is not None and title.rstrip()[-1:] in (".", ":") and "." not in number[0]
    return (ends and ("," in title or len(title.split()) > _MOST_HEAD_WORDS)) or line.size < SMALL * type_.size


def _level_of(
    label: "re.Match[str] | None", number: "re.Match[str] | None", *, is_large: bool, size: float, type_: Typography
) -> int:
    if label:
        return 2 if label["label"].lower() in _TOP_LABELS else min(MAX_LEVEL, 3 + label["number"].count("."))
    if number:
        return min(MAX_LEVEL, 3 + (number["number"] or "").count("."))
    if is_large:
        return min(4, 2 + sum(each > size * _SAME_SIZE for each in type_.large_sizes))
    return 3


def _has_columns(line: TextLine) -> bool:
    """Return whether a line has a wide gap that isn't the one after its number."""
    match = _LABELED.match(line.text) or _NUMBERED.match(line.text)
    first = sum(end - start for start, end in line.runs[0].words)
    parted = 1 if match and first >= len(match[0].replace(" ", "")) and first <= len(match[0]) else 0
    return sum(after.x0 - before.x1 > line.size for before, after in pairwise(line.runs)) > parted


def _begins_title(title: str) -> bool:
    first = title.lstrip("\"'“‘«([")[:1]
    return first.isupper() or first.isdigit() or (first.isalpha() and not first.islower())


def _is_title(title: str) -> bool:
    """Return whether a text looks like a title: short, no sentence in it, its words in capitals but for small ones."""
    words = [word.strip("\"'“”‘’()[],.:;&/-–—") for word in title.split()]
    words = [word for word in words if word]
    if not words or len(title) > _MAX_TITLE_CHARS or not words[0][0].isupper():
        return False
    if re.search(r"[.!?]\s+\S", title) or words[-1] in _SMALL_WORDS or not _VERBS.isdisjoint(words):
        return False
    small = sum(word[0].islower() and word not in _SMALL_WORDS for word in words)
    return small <= len(words) // 5
