"""Headings among the paragraphs of a page, and their levels.

A false heading separates text that belongs together, so a single sign is enough only if it is strong: an entry of the
outline, or type larger than the body's. A bold title at the beginning of a clause stays in its paragraph.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

from langchain_sentence_window.splitting import HEADING, LIST_ITEM, MAX_LEVEL, PROSE, title_key

from .lines import TextLine, Typography, cut_line
from .paragraphs import AGENDA_NUMBER, Paragraph, is_entry, is_filed_as

MAX_CHARS = 120
"""Characters of the longest heading, without its number."""

MAX_LINES = 3
"""Lines of the longest heading."""

LARGE = 1.15
"""Font sizes of the body; a paragraph in type at least as large is a heading."""

SMALL = 0.92
"""Font sizes of the body; a paragraph in smaller type is a note."""

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
        outline: The titles of the outline's entries for this page, as `title_key` returns them, with levels from 1.
        has_title: Whether the page has the file's title, which alone gets level 1.

    Returns:
        The paragraphs. A heading with only a label ("ARTICLE IV") is joined to the heading after it.
    """
    made: list[Paragraph] = []
    for paragraph, below in zip_longest(paragraphs, paragraphs[1:]):
        level = _level(paragraph, type_, outline)
        if level and below is not None and _heads_no_text(paragraph, below, type_):
            level = 0
        if not level:
            made += _separate_run_in(paragraph, type_)
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


def _heads_no_text(paragraph: Paragraph, below: Paragraph, type_: Typography) -> bool:
    """Return whether the text below rules out a heading: it is a signature, nearly empty, or a list of pages."""
    if is_entry(below.lines[0]):
        return True
    if _LABELED.match(paragraph.text) or _NUMBERED.match(paragraph.text):
        return False
    is_large = paragraph.lines[0].size >= LARGE * type_.size
    return bool(_SIGNATURE.match(below.text)) or (below.kind == PROSE and not is_large and len(below.text) < _MIN_BELOW)


def _mark_items(paragraphs: list[Paragraph]) -> None:
    """Turn numbered lines into headings, as in an agenda: each has text below it, and the numbers are consecutive."""
    items = {number: int(match[1]) for number, each in enumerate(paragraphs) if (match := _is_item(each))}
    known = {int(match[1]) for each in paragraphs if each.kind == HEADING and (match := AGENDA_NUMBER.match(each.text))}
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
    """Give level 1 to the title: the most prominent heading without a number. Lines above it aren't headings."""
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
    """Turn headings without text below them into paragraphs: lines of a title page, or a list of names.

    The same goes for a heading that appears twice on a page, such as the line between two terms of a formula.
    """
    counts = Counter(paragraph.text for paragraph in paragraphs if paragraph.kind == HEADING)
    made: list[Paragraph] = []
    row = 0  # consecutive headings of one level
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
    """Return whether a label and the heading below it are one heading. "Exhibit 10.1" only names the filing."""
    match = _LABELED.match(label)
    return match is not None and match.end() == len(label) and "." not in match["number"] and not _LABELED.match(title)


def _separate_run_in(paragraph: Paragraph, type_: Typography) -> list[Paragraph]:
    """Separate a paragraph from the title with which it begins: "2.1 Term. This Agreement ..."."""
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
    """Return the level of a heading; 0 for another paragraph."""
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
    """Return whether a text ends as a sentence, or in the middle of one, rather than as a title."""
    last = title.rstrip("\"'”’»)]* ")[-1:]
    words = title.split()
    if not words or last in ",;?!":
        return bool(last)
    if is_numbered:
        return False
    if last == ":" and is_capital:  # "COSTS OF THE YEAR:" is a title
        return len(words) == 1 or "," in title or max(map(len, words)) < _MIN_CAPITALS
    return last in (".", ":") or words[-1] in _SMALL_WORDS


def _is_note(line: TextLine, title: str, number: "re.Match[str] | None", type_: Typography) -> bool:
    """Return whether a paragraph is a footnote: in small type, or a number without a period before a sentence."""
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
    """Return whether a line has a wide gap other than the one after its number."""
    match = _LABELED.match(line.text) or _NUMBERED.match(line.text)
    first = sum(end - start for start, end in line.runs[0].words)
    allowed = 1 if match and first >= len(match[0].replace(" ", "")) and first <= len(match[0]) else 0
    return sum(after.x0 - before.x1 > line.size for before, after in pairwise(line.runs)) > allowed


def _begins_title(title: str) -> bool:
    first = title.lstrip("\"'“‘«([")[:1]
    return first.isupper() or first.isdigit() or (first.isalpha() and not first.islower())


def _is_title(title: str) -> bool:
    """Return whether a text looks like a title: short, not a sentence, and in title case."""
    words = [word.strip("\"'“”‘’()[],.:;&/-–—") for word in title.split()]
    words = [word for word in words if word]
    if not words or len(title) > _MAX_TITLE_CHARS or not words[0][0].isupper():
        return False
    if re.search(r"[.!?]\s+\S", title) or words[-1] in _SMALL_WORDS or not _VERBS.isdisjoint(words):
        return False
    small = sum(word[0].islower() and word not in _SMALL_WORDS for word in words)
    return small <= len(words) // 5
