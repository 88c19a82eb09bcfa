"""Headings: short paragraphs that the outline names, or that type, capitals or numbers set off from the body.

A false heading parts what belongs together, so one sign alone counts only if it is strong: an entry of the outline, or
type larger than the body's. A bold title at the beginning of a clause stays in its paragraph.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_sentence_window.loaders.pdf.lines import Line, cut_line
from langchain_sentence_window.loaders.pdf.paragraphs import Paragraph, is_entry, is_filed_as
from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM, PROSE
from langchain_sentence_window.splitting.headings import MAX_LEVEL, title_key

MAX_CHARS = 120
"""Characters of a heading, without the number before it."""

MAX_LINES = 3
"""Lines of a heading."""

LARGE = 1.15
"""Font sizes of the body; type at least as large is a heading's."""

_NUMBER = re.compile(
    r"(?P<number>\d{1,2}[A-Z]?(?:\.\d{1,2}){0,4})(?:\.?\s+|\.(?=[A-Z][A-Za-z]))|(?P<roman>[IVXL]{1,6}|[A-Z])\.\s+"
)
_LABEL = re.compile(
    r"(?P<label>article|section|schedule|exhibit|annex|appendix|part|chapter)\s+"
    r"(?P<number>\d{1,3}(?:\.\d{1,3})*|[IVXLC]{1,7}|[A-Z]{1,2}(?:-\d{1,2})?)(?=$|[\s.:,–—-])[\s.:,–—-]*",
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
_SIGNATURE = re.compile(r"(?i)\s*(?:by|name|title|date|signed|signature|its|attest|witness|address)\s*:|_{3,}|/s/")
_FULL_BOLD = 0.9
_MIN_CAPITALS = 3
_MAX_TITLE_CHARS = 70
_MIN_ROW = 3
_SAME_SIZE = 1.02


@dataclass(frozen=True, slots=True)
class Typography:
    """The type in which a file's text is set.

    Attributes:
        size: The font size of most of its characters, in points.
        is_bold: Whether most of its characters are bold.
        pitch: The distance of two lines of a paragraph, in font sizes.
        large_sizes: Sizes of larger type, from the largest; a heading's level is its place among them.
    """

    size: float
    is_bold: bool
    pitch: float
    large_sizes: tuple[float, ...] = ()


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
    for number, paragraph in enumerate(paragraphs):
        below = paragraphs[number + 1] if number + 1 < len(paragraphs) else None
        level = 0 if below is not None and is_entry(below.lines[0]) else _level(paragraph, type_, outline)
        if not level:
            made += _run_in_parted(paragraph, type_)
            continue
        is_sure = title_key(paragraph.text) in outline
        last = made[-1] if made else None
        if last is not None and last.kind == HEADING and _joins(last.text, paragraph.text):
            made[-1] = Paragraph([*last.lines, *paragraph.lines], HEADING, last.level, last.is_sure or is_sure)
        else:
            made.append(Paragraph(paragraph.lines, HEADING, level, is_sure))
    if has_title:
        made = _raise_title(made)
    return _without_empty(made)


def _raise_title(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """Give the title level 1: of the headings without a number, the first of the largest.

    What stands above it, such as "Exhibit 10.1", is no heading.
    """
    titles = [
        number
        for number, each in enumerate(paragraphs)
        if each.kind == HEADING and not (each.is_sure or _LABEL.match(each.text) or _NUMBER.match(each.text))
    ]
    title = max(titles, key=lambda number: _prominence(paragraphs[number]), default=None)
    made: list[Paragraph] = []
    for number, each in enumerate(paragraphs):
        is_filing = is_filed_as(each.text) and not each.is_sure
        if number == title:
            each = replace(each, level=1)
        elif is_filing or (title is not None and number < title and each.kind == HEADING and not each.is_sure):
            each = Paragraph(each.lines)
        made.append(each)
    return made


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
        is_empty = 0 < below <= level or row >= _MIN_ROW
        if level > 1 and not paragraph.is_sure and (is_empty or counts[paragraph.text] > 1):
            paragraph = Paragraph(paragraph.lines)
        made.append(paragraph)
    return made


def _joins(label: str, title: str) -> bool:
    """Return whether a label and the heading below it are one heading; "Exhibit 10.1" only says where it was filed."""
    match = _LABEL.match(label)
    return match is not None and match.end() == len(label) and "." not in match["number"] and not _LABEL.match(title)


def _run_in_parted(paragraph: Paragraph, type_: Typography) -> list[Paragraph]:
    """Part a paragraph from the title that it begins with: "2.1 Term. This Agreement ..."."""
    text = paragraph.text[: 2 * MAX_CHARS]
    match = (_LABEL.match(text) or _NUMBER.match(text)) if paragraph.kind == PROSE else None
    if match is None:
        return [paragraph]
    end = _RUN_IN.match(text, match.end())
    if end is None or not _is_title(end["title"]):
        return [paragraph]
    count = text.count(" ", 0, end.end()) + 1
    lines: list[Line] = []
    for number, line in enumerate(paragraph.lines):
        words = line.text.count(" ") + 1
        if count < words:
            before, after = cut_line(line, count)
            level = _level_of(_LABEL.match(text), _NUMBER.match(text), is_large=False, size=line.size, type_=type_)
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
    text, lines = paragraph.text, paragraph.lines
    if paragraph.kind not in (PROSE, LIST_ITEM) or len(lines) > MAX_LINES or len(text) > MAX_CHARS + 30:
        return 0
    known = outline.get(title_key(text))
    if known:
        return min(MAX_LEVEL, known + 1)
    if paragraph.kind == LIST_ITEM or _SIGNATURE.search(text):
        return 0
    label, number = _LABEL.match(text), _NUMBER.match(text)
    match = label or number
    title = text[match.end() :] if match else text
    letters = sum(map(str.isalpha, title))
    is_remark = (title.startswith("[") and title.endswith("]")) or title.lower() in _NO_TITLES
    if not match and (letters < _MIN_CAPITALS or is_remark):
        return 0
    is_large = lines[0].size >= LARGE * type_.size
    is_bold = not type_.is_bold and all(line.bold >= _FULL_BOLD for line in lines)
    is_capital = title.isupper() and letters > _MIN_CAPITALS
    last = title.rstrip("\"'”’»)]* ")[-1:]
    if (last and last in ",;?!") or (last in (".", ":") and not match) or len(title) > MAX_CHARS:
        return 0
    if any(_has_columns(line) for line in lines) or not (match or _begins_title(title)):
        return 0
    if label:
        is_heading = not title or _is_title(title)
    elif number:
        is_heading = is_bold or is_large or is_capital or (_is_title(title) and len(lines) == 1)
    else:
        is_heading = is_large or is_bold or (is_capital and len(title) <= _MAX_TITLE_CHARS)
    if not is_heading:
        return 0
    return _level_of(label, number, is_large=is_large, size=lines[0].size, type_=type_)


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


def _has_columns(line: Line) -> bool:
    """Return whether a line has a wide gap that isn't the one after its number."""
    match = _LABEL.match(line.text) or _NUMBER.match(line.text)
    first = sum(end - start for start, end in line.runs[0].words)
    parted = 1 if match and first >= len(match[0].replace(" ", "")) and first <= len(match[0]) else 0
    return len(line.runs) > 1 + parted


def _begins_title(title: str) -> bool:
    first = title.lstrip("\"'“‘«([")[:1]
    return first.isupper() or first.isdigit() or (first.isalpha() and not first.islower())


def _is_title(title: str) -> bool:
    """Return whether a text looks like a title: short, no sentence in it, its words in capitals but for small ones."""
    words = [word.strip("\"'“”‘’()[],.:;&/-–—") for word in title.split()]
    words = [word for word in words if word]
    if not words or len(title) > _MAX_TITLE_CHARS or not words[0][0].isupper():
        return False
    if re.search(r"[.!?]\s+\S", title):
        return False
    if words[-1] in _SMALL_WORDS or any(word in _VERBS for word in words):
        return False
    small = sum(word[0].islower() and word not in _SMALL_WORDS for word in words)
    return small <= len(words) // 5
