"""Running heads, running feet and page numbers: lines that repeat at the ends of pages.

Lines are checked from the outside in, and the first one that doesn't repeat ends the search, so body text stays. A line
repeats if other pages have the same line near the same end, except for numbers that count the pages. When in doubt, a
line is kept.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from .lines import MAX_PITCH


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """A line of a page that may repeat on other pages.

    Attributes:
        text: Its words with one space between them.
        y: Its baseline in points from the top of the page.
        is_alone: Whether white space separates it from the lines around it.
        size: Its font size in points.
        cells: The left and right sides of its runs, which wide gaps separate.
    """

    text: str
    y: float
    is_alone: bool = True
    size: float = 12.0
    cells: tuple[tuple[float, float], ...] = ()


MAX_LINES = 6
"""Lines at each end of a page that may be running ones."""

MIN_PAGES = 3
"""Pages on which a running line must appear; in a file of few pages two are enough."""

FEW_PAGES = 4
"""Pages of the longest file in which a line at the same position of two pages is a running one."""

MIN_AT_ENDS = 2
"""Consecutive page numbers at an end of their pages."""

MIN_SURE = 5
"""Consecutive page numbers that are accepted without white space around them."""

MIN_APART = 4
"""Lines between two page numbers on the same page."""

MIN_WORDS = 3
"""Words before a page number in the middle of a page; fewer may be a heading, such as "Schedule 2"."""

MAX_DIGITS = 4
"""Digits of a page number."""

MIN_LETTERS = 12
"""Letters of a line that may have any numbers, if it is outermost on most pages."""

MAX_CHARS = 80
"""Characters of a line with words before a page number."""

_NUMBER = re.compile(r"\d+")
_WORDS = re.compile(r"[^\W\d_]+")
_PAGE_WORDS = frozenset(
    {"", "page", "pg", "p", "of", "pageof", "pof", "seite", "von", "seitevon", "page de", "pagede"}
    | {"página", "páginade", "pagina", "paginadi"}
)
_PAGE_NUMBER = re.compile(
    r"(?i:[-–—\[(|\s]*(?:page|pg\.?|p\.|seite|página|pagina)?\s*)"
    r"(?P<number>\d{1,4}|[ivxlc]{1,7}|(?P<part>[A-Z]{1,3})\s?[-–—]\s?\d{1,3})"
    r"(?i:\s*(?:/|of|von|de|di)\s*\d{1,4})?[-–—\])|.\s]*"
)
_COUNTED = re.compile(r"(?P<first>\d{1,4})\s+(?P<after>\D.*\w.*)|(?P<before>.*[^\W\d].*?)\s+(?P<last>\d{1,4})")
_MAX_LINES_KNOWN = 16_384
_YEARS = range(1900, 2100)
_LABELS = ("section", "schedule", "exhibit", "form", "article", "annex", "appendix", "part", "chapter")
_AFTER = "after "
_ANY = "\0"
"""Replaces a number; no line contains it."""

_MOST = 0.6
_NEAR = 1.6
_HEADER_PITCH = 1.4
_SAME_PLACE = 3.0
_LEVEL = 1.0
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def running_lines(pages: Sequence[Sequence[EdgeLine]]) -> list[frozenset[int]]:
    """Find running heads, running feet and page numbers.

    Args:
        pages: The lines of each page, from top to bottom.

    Returns:
        For each page, the indices of its lines that are running heads, feet or page numbers.
    """
    outermost, numbers, sure = (_page_numbers(pages, least) for least in (MIN_AT_ENDS, MIN_PAGES, MIN_SURE))
    contents = ["\n".join(_key(line.text) for line in lines) for lines in pages]
    tops = _repeated([list(enumerate(lines[:MAX_LINES])) for lines in pages], contents)
    feet = _repeated([list(enumerate(lines))[-MAX_LINES:][::-1] for lines in pages], contents)
    _add_alternating(pages, contents, tops, 0)
    _add_alternating(pages, contents, feet, -1)
    found: list[set[int]] = []
    for page, lines in enumerate(pages):
        known = tops[page] | feet[page] | outermost[page]
        order = range(len(lines))
        outer = {*takewhile(known.__contains__, order), *takewhile(known.__contains__, reversed(order))}
        found.append(outer | {i for i in numbers[page] if lines[i].is_alone or i in sure[page]})
    _add_adjacent(pages, found, numbers)
    if len(pages) > FEW_PAGES:
        _add_usual_lines(pages, found)
    _add_counted(pages, found)
    _keep_first(pages, found)
    _keep_numbers(pages, found)
    return [frozenset(each) for each in found]


def _add_usual_lines(pages: Sequence[Sequence[EdgeLine]], found: list[set[int]]) -> None:
    """Add the usual running lines on pages where another line, such as a stamp, is outside of them."""
    counts = Counter(key for page, lines in enumerate(pages) for key in {_key(lines[i].text) for i in found[page]})
    usual = {key for key, count in counts.items() if count >= _MOST * len(pages) and any(map(str.isalpha, key))}
    for page, lines in enumerate(pages):
        edges = {*range(len(lines))[:MAX_LINES], *range(len(lines))[-MAX_LINES:]}
        found[page] |= {i for i in edges if _key(lines[i].text) in usual}


@lru_cache(_MAX_LINES_KNOWN)
def _key(text: str) -> str:
    """Return a line without its numbers."""
    return _NUMBER.sub(_ANY, text).casefold()


def _repeated(edges: list[list[tuple[int, EdgeLine]]], contents: list[str]) -> list[set[int]]:
    """Return for each page the indices of the lines near one end that appear on other pages too.

    Pages with the same lines, such as two copies of a form, count as one.
    """
    page_count = len(contents)
    groups: dict[str, list[tuple[int, int, EdgeLine]]] = defaultdict(list)
    for page, lines in enumerate(edges):
        for i, line in lines:
            groups[_key(line.text)].append((page, i, line))
    found: list[set[int]] = [set() for _ in edges]
    for key, places in groups.items():
        if sum(map(str.isalpha, key)) < MIN_PAGES and _ANY not in key:
            continue
        on_pages = len({contents[page] for page, _, _ in places})
        for page, i, line in _agreeing(key, places, page_count):
            near = (contents[other] for other, _, each in places if abs(each.y - line.y) < _SAME_PLACE)
            if on_pages >= MIN_PAGES or (page_count <= FEW_PAGES and len(set(near)) > 1):
                found[page].add(i)
    return found


def _add_alternating(
    pages: Sequence[Sequence[EdgeLine]], contents: Sequence[str], found: list[set[int]], end: int
) -> None:
    """Add outermost lines at the same position of most pages, each on at least two pages.

    Left pages may show the author and right pages the title, or each chapter its own title.

    Args:
        pages: The lines of each page.
        contents: Their text; copies of a page count as one page.
        found: For each page, the indices of its running lines, to which more are added.
        end: 0 for the first line of a page, -1 for the last one.
    """
    left = [list(range(len(lines))) for lines in pages]
    if sum(bool(at) and at[end] in running for at, running in zip(left, found, strict=True)) >= _MOST * len(pages):
        left = [[i for i in at if i not in running] for at, running in zip(left, found, strict=True)]
    outer = [(page, lines[at[end]]) for page, (lines, at) in enumerate(zip(pages, left, strict=True)) if at]
    if len(outer) <= MIN_PAGES:
        return
    heights = Counter(round(line.y) for _, line in outer)
    usual = max(heights, key=lambda y: (heights[y], -y))
    groups: dict[str, list[tuple[int, EdgeLine]]] = defaultdict(list)
    for page, line in outer:
        key = _key(line.text)
        if abs(line.y - usual) <= _LEVEL and sum(map(str.isalpha, key)) >= MIN_PAGES:
            groups[key].append((page, line))
    repeated = [page for places in groups.values() for page in _matching(places, contents)]
    words: dict[frozenset[str], list[int]] = defaultdict(list)
    for key, places in groups.items():
        words[frozenset(_WORDS.findall(key))] += [page for page, _ in places]
    for names, on_pages in words.items():  # only the number of the chapter differs
        if len(on_pages) >= _MOST * len(pages) and sum(map(len, names)) >= MIN_LETTERS:
            repeated += set(on_pages) - set(repeated)
    if len({contents[page] for page in repeated}) > MIN_PAGES and len(repeated) >= _MOST * len(pages):
        for page in repeated:
            found[page].add(left[page][end])


def _matching(places: list[tuple[int, EdgeLine]], contents: Sequence[str]) -> list[int]:
    """Return the pages whose line is on another page too, with numbers that are equal there or count the pages."""
    numbers = [[int(number[:9]) for number in _NUMBER.findall(line.text)] for _, line in places]
    rows = list(zip((page for page, _ in places), numbers, strict=True))
    if len({contents[page] for page, _ in rows}) == 1:
        return []
    constant = Counter((i, number) for _, row in rows for i, number in enumerate(row))
    offset = Counter((i, number - page) for page, row in rows for i, number in enumerate(row))
    return [
        page
        for page, row in rows
        if all(constant[i, each] > 1 or offset[i, each - page] > 1 for i, each in enumerate(row))
    ]


def _agreeing(key: str, places: list[tuple[int, int, EdgeLine]], page_count: int) -> list[tuple[int, int, EdgeLine]]:
    """Return the lines whose numbers are equal on several pages, or count the pages."""
    numbers = [[int(number[:9]) for number in _NUMBER.findall(line.text)] for _, _, line in places]
    pages = {page for page, _, _ in places}
    counts_pages = "".join(filter(str.isalpha, key)) in _PAGE_WORDS or (
        len(pages) > MIN_PAGES and len(pages) >= _MOST * page_count
    )
    agreeing = set(range(len(places)))
    for column in range(len(numbers[0])):
        constant = Counter(row[column] for row in numbers)
        offset = Counter(row[column] - place[0] for row, place in zip(numbers, places, strict=True))
        keep = {i for i, row in enumerate(numbers) if constant[row[column]] >= min(MIN_PAGES, len(pages))}
        if counts_pages:
            keep |= {i for i, row in enumerate(numbers) if offset[row[column] - places[i][0]] > 1}
        agreeing &= keep
    return [place for i, place in enumerate(places) if i in agreeing]


def _page_numbers(pages: Sequence[Sequence[EdgeLine]], least: int) -> list[set[int]]:
    """Return for each page the indices of its page numbers, of which at least ``least`` are consecutive.

    Each is alone on its line or follows the same words. A page of the file may hold several printed pages.
    """
    found: list[set[int]] = [set() for _ in pages]
    chains: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for page, lines in enumerate(pages):
        for i, line in enumerate(lines):
            numbered = _numbered(line.text)
            if numbered is None:
                continue
            kind, number = numbered
            chain = chains.get((kind, number - 1), [])
            if chain and chain[-1][0] == page and i - chain[-1][1] < MIN_APART:
                continue
            chain = chains[kind, number] = [*chain[-least:], (page, i)]
            enough = MIN_PAGES if kind.startswith(_AFTER) else least
            if len(chain) >= enough or (least <= MIN_PAGES and len(pages) <= FEW_PAGES and len(chain) > 1):
                for at, index in chain:
                    found[at].add(index)
    return found


def _add_adjacent(pages: Sequence[Sequence[EdgeLine]], found: list[set[int]], numbers: list[set[int]]) -> None:
    """Add lines that repeat directly above or below page numbers in the middle of pages."""
    adjacent = [
        (page, at, _key(pages[page][at].text))
        for page, kept in enumerate(numbers)
        for i in kept & found[page]
        for at in (i - 1, i + 1)
        if 0 <= at < len(pages[page]) and at not in found[page]
    ]
    counts = Counter(key for _, _, key in adjacent)
    for page, at, key in adjacent:
        if counts[key] >= MIN_PAGES and any(map(str.isalpha, key)):
            found[page].add(at)


def _add_counted(pages: Sequence[Sequence[EdgeLine]], found: list[set[int]]) -> None:
    """Add outermost lines with a page number before or after words: "20 THE TITLE", "Chapter 3. Its title 21".

    The words repeat on several pages with increasing numbers, or the number fits those of such lines.
    """
    outer: dict[tuple[int, bool, str], list[tuple[int, int, int]]] = defaultdict(list)
    for page, lines in enumerate(pages):
        left = [i for i in range(len(lines)) if i not in found[page]]
        for i in [*found[page], *((left[0], left[-1]) if len(left) > 1 else ())]:
            end = 0 if 2 * i < len(lines) else -1
            match = _COUNTED.fullmatch(lines[i].text)
            if match is not None and len(lines[i].text) <= MAX_CHARS:
                number, words = int(match["first"] or match["last"]), match["after"] or match["before"]
                if number not in _YEARS:
                    outer[end, match["first"] is not None, words.casefold()].append((page, i, number))
    sure = {
        key: places
        for key, places in outer.items()
        if len(places) >= MIN_PAGES
        and (key[1] or len(key[2].split()) >= MIN_WORDS)
        and all(one[2] < other[2] for one, other in pairwise(places))
    }
    usual = Counter((key[0], number - page) for key, places in sure.items() for page, _, number in places)
    heights = {(key[0], round(pages[page][i].y)) for key, places in sure.items() for page, i, _ in places}
    for key, places in outer.items():
        for page, i, number in places:
            line = pages[page][i]
            is_level = any((key[0], round(line.y) + by) in heights for by in range(-2, 3))
            is_known = usual[key[0], number - page] >= MIN_PAGES and is_level and (not key[1] or line.text.isupper())
            is_known = is_known and key[2] not in _LABELS
            if key in sure or is_known:
                found[page].add(i)


def _keep_numbers(pages: Sequence[Sequence[EdgeLine]], found: list[set[int]]) -> None:
    """Remove the running lines of pages that hold only numbers, and of a file that would have no text left."""
    for running, lines in zip(found, pages, strict=True):
        if len(running) == len(lines) >= MIN_PAGES and all(_numbered(line.text) for line in lines):
            running.clear()
    if all(len(running) == len(lines) for running, lines in zip(found, pages, strict=True)):
        for running in found:
            running.clear()


def _keep_first(pages: Sequence[Sequence[EdgeLine]], found: list[set[int]]) -> None:
    """Keep running lines that belong to the body on the first of the consecutive pages that show them.

    These are the header of a continued table, its title, and other lines as close to the body as its own lines.
    """
    near = [_near_body(lines, running) for lines, running in zip(pages, found, strict=True)]
    texts: dict[str, set[str]] = defaultdict(set)
    counts: Counter[str] = Counter()
    for lines, running, close in zip(pages, found, near, strict=True):
        for i in running:
            key = _key(lines[i].text)
            texts[key].add(lines[i].text)
            counts[key] += 1 if i in close else -1
    before: set[str] = set()
    for page, lines in enumerate(pages):
        keys = {i: _key(lines[i].text) for i in found[page]}
        found[page] -= {
            i for i in near[page] if counts[keys[i]] >= 0 and len(texts[keys[i]]) == 1 and keys[i] not in before
        }
        before = set(keys.values())


def _near_body(lines: Sequence[EdgeLine], running: set[int]) -> set[int]:
    """Return the running lines that are as close to the body as its own lines, or head the columns of a table."""
    found: set[int] = set()
    middle = len(lines) / 2
    for i in [*sorted((i for i in running if i < middle), reverse=True), *sorted(i for i in running if i >= middle)]:
        step = 1 if i < middle else -1
        inner = i + step
        if not 0 <= inner < len(lines) or (inner in running and inner not in found) or _numbered(lines[i].text):
            continue
        distance = abs(lines[inner].y - lines[i].y)
        if distance <= _NEAR * max(lines[i].size, lines[inner].size) or (step > 0 and _heads_table(lines, i, running)):
            found.add(i)
    return found


def _heads_table(lines: Sequence[EdgeLine], at: int, running: set[int]) -> bool:
    """Return whether a line is a table header: it has texts above at least two columns of the rows below."""
    below = [i for i in range(at + 1, min(at + MAX_LINES, len(lines))) if i not in running][:2]
    if len(below) < 2 or below[0] != at + 1:  # noqa: PLR2004
        return False
    one, other = (lines[i] for i in below)
    pitch = other.y - one.y
    return one.y - lines[at].y <= _HEADER_PITCH * pitch <= MAX_PITCH * one.size * 2 and all(
        len({cell for cell in row.cells for low, high in lines[at].cells if cell[0] < high and low < cell[1]}) > 1
        for row in (one, other)
    )


@lru_cache(_MAX_LINES_KNOWN)
def _numbered(text: str) -> tuple[str, int] | None:
    """Return the kind of a page number, and the number; ``None`` if the line isn't a page number."""
    match = _PAGE_NUMBER.fullmatch(text)
    if match is not None:
        kind, number = _value(match["number"], match["part"])
        return (kind, number) if number else None
    words, _, last = text.rpartition(" ")
    is_number = last.isdecimal() and len(last) <= MAX_DIGITS and int(last) not in _YEARS
    if is_number and len(words.split()) >= MIN_WORDS and len(text) <= MAX_CHARS:
        return f"{_AFTER}{_key(words)}", int(last)
    return None


def _value(number: str, part: str | None) -> tuple[str, int]:
    if part:
        return part, int(_NUMBER.findall(number)[0])
    if number.isdecimal():
        return "", int(number)
    values = [_ROMAN[letter] for letter in number]
    return "roman", sum(-one if one < following else one for one, following in pairwise([*values, 0]))
