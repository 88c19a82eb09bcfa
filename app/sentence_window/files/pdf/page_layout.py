"""The layout of a page: its paragraphs in reading order, with headings and tables."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from langchain_sentence_window.documents import Continuation
from langchain_sentence_window.splitting import HEADING, LIST_ITEM, PROSE, TABLE_ROW

from .aligned_tables import find_aligned_tables
from .characters import PageCharacters
from .columns import Gutter, reading_order
from .headings import SMALL, mark_headings
from .hyphens import rejoins
from .inks import Ink, page_inks
from .lines import Run, TextLine, Typography, find_runs, join_lines
from .paragraphs import Paragraph, ends_sentence, find_paragraphs, goes_on, goes_on_below
from .pdfium import Boxes
from .ruled_tables import find_ruled_tables, find_tables
from .tables import Table

_MIN_RULE = 8
_MIN_CONTINUED = 40
_MAX_THICKNESS = 3.0
_MAX_RAGGED = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class PageRuns:
    """The runs of a page.

    Attributes:
        characters: The page's characters.
        rules: Its ruling lines, see `read_rules`.
        inks: The inks of all directions of writing, the main one first.
        runs: The runs of each ink.
    """

    characters: PageCharacters
    rules: Boxes
    inks: list[Ink]
    runs: list[list[Run]]

    def rows(self) -> list[TextLine]:
        """Return the lines of the main ink across all columns, from top to bottom."""
        return join_lines(self.inks[0], self.runs[0]) if self.inks else []


@dataclass(frozen=True, slots=True, eq=False)
class PageLayout:
    """The paragraphs of a page in reading order.

    Attributes:
        paragraphs: The paragraphs, with headings marked.
        right: The right side of the last paragraph's column, in points.
    """

    paragraphs: list[Paragraph]
    right: float

    @property
    def first_word(self) -> str:
        """The first word of the page."""
        return self.paragraphs[0].lines[0].text.partition(" ")[0]

    @property
    def last_word(self) -> str:
        """The last word of the page."""
        return self.paragraphs[-1].lines[-1].text.rpartition(" ")[2]


def page_runs(characters: PageCharacters, rules: Boxes) -> PageRuns:
    """Find the runs of a page."""
    inks = list(page_inks(characters))
    return PageRuns(characters, rules, inks, [find_runs(ink) for ink in inks])


def lay_out(
    page: PageRuns,
    running: Collection[int],
    type_: Typography,
    outline: Mapping[str, int],
    gutters: Sequence[Gutter] = (),
    *,
    has_title: bool = False,
) -> PageLayout:
    """Find the paragraphs of a page.

    Args:
        page: The page's runs.
        running: Indices of the rows of `PageRuns.rows` that are running heads and feet.
        type_: The file's typography.
        outline: Titles of the outline's entries for this page with their levels, see `mark_headings`.
        gutters: The columns that pages of the file share.
        has_title: Whether the page has the file's title.
    """
    rows = page.rows() if running else []
    left_out = [rows[i] for i in running if i < len(rows)]
    dropped = {id(run) for row in left_out for run in row.runs}
    breaks = [row.base for row in left_out]
    found: list[Paragraph] = []
    right = 0.0
    for ink, runs in zip(page.inks, page.runs, strict=True):
        kept = [run for run in runs if id(run) not in dropped and not _is_rule(ink, run)]
        rules = _rules_for(ink, page)
        # If pages have columns, a table without a grid is inside one of them, or between lines across them.
        find = find_ruled_tables if gutters else find_tables
        tables, kept = find(page.characters, ink, kept, rules)
        last: Paragraph | None = None
        for part in _in_order(ink, kept, tables, rules, gutters):
            if isinstance(part, Table):
                found += _table_paragraphs(part, type_)
                last = None
                continue
            for i, paragraph in enumerate(find_paragraphs(part, type_.pitch)):
                if last is not None and _joins(last, paragraph, right, breaks):
                    last.lines.extend(paragraph.lines)
                elif i == 0 and last is not None and _joins_over_notes(found, paragraph, right, type_):
                    last = found[-1]
                else:
                    found.append(paragraph)
                    last = paragraph
            right = max(line.x1 for line in part)
    return PageLayout(_footnotes_first(mark_headings(found, type_, outline, has_title=has_title), type_), right)


def continuation(before: PageLayout, after: PageLayout) -> Continuation:
    """Return how the text continues from one page to the next."""
    if not before.paragraphs or not after.paragraphs:
        return ""
    last, first = before.paragraphs[-1], after.paragraphs[0]
    if HEADING in (last.kind, first.kind) or not goes_on(last, first.lines[0], before.right):
        return ""
    return "~" if rejoins(before.last_word, after.first_word) else "+"


def _rules_for(ink: Ink, page: PageRuns) -> Boxes:
    """Return the ruling lines of a page, mirrored as the ink is; none if the ink is rotated."""
    if ink.turns:
        return page.rules[:0]
    if not ink.is_mirrored:
        return page.rules
    width, (x0, y0, x1, y1) = page.characters.width, page.rules.T
    return np.column_stack([width - x1, y0, width - x0, y1])


def _is_rule(ink: Ink, run: Run) -> bool:
    """Return whether a run is a line drawn with hyphens or equals signs."""
    start, end = run.words[0][0], run.words[-1][1]
    return end - start >= _MIN_RULE and not ink.text[start:end].strip("-=~")


def _in_order(
    ink: Ink, runs: list[Run], tables: list[Table], rules: Boxes, gutters: Sequence[Gutter]
) -> Iterator[list[TextLine] | Table]:
    """Yield the columns of a page and its tables in reading order; tables divide columns."""
    placeholders = {id(run): (run, table) for table in tables for run in [_placeholder(table.box)]}
    crossing_rules = _level_rules(rules) if gutters else []
    places = [*runs, *(run for run, _ in placeholders.values()), *crossing_rules]
    for column in reading_order(places, gutters):
        inside = [placeholders[id(run)][1] for run in column if id(run) in placeholders]
        text = [run for run in column if run.letters]
        if gutters:
            aligned, text = find_aligned_tables(ink, text)
            inside = sorted([*inside, *aligned], key=lambda table: table.box[1])
        for table in inside:  # from top to bottom, as the column is
            middle = (table.box[1] + table.box[3]) / 2
            above = [run for run in text if (run.y0 + run.y1) / 2 < middle]
            if above:
                yield join_lines(ink, above)
            yield table
            text = [run for run in text if (run.y0 + run.y1) / 2 >= middle]
        if text:
            yield join_lines(ink, text)


def _level_rules(rules: Boxes) -> list[Run]:
    """Return placeholders for horizontal rules, which divide columns if they cross them."""
    return [_placeholder(rule) for rule in rules.tolist() if rule[3] - rule[1] < _MAX_THICKNESS < rule[2] - rule[0]]


def _placeholder(box: Sequence[float]) -> Run:
    """Return a run without text that gives a box its place in the reading order."""
    x0, y0, x1, y1 = box
    return Run([], x0, y0, x1, y1, base=y1, size=1.0, letters=0, bold=0, figures=0)


def _table_paragraphs(table: Table, type_: Typography) -> Iterator[Paragraph]:
    for row in table.rows:
        cells = [cell for cell in row.cells if cell]
        if row.is_prose:
            for cell in cells:
                yield from find_paragraphs(cell, type_.pitch)
        elif cells:
            yield Paragraph([line for cell in cells for line in cell], TABLE_ROW, cells=[len(cell) for cell in cells])


def _joins(last: Paragraph, paragraph: Paragraph, right: float, breaks: list[float]) -> bool:
    """Return whether a paragraph continues the last one: in the next column, after a page number, or after a gap."""
    before, after = last.lines[-1], paragraph.lines[0]
    if after.base <= before.base or any(before.base < place < after.base for place in breaks):
        return goes_on(last, after, right)
    return goes_on_below(last, after, right)


def _joins_over_notes(found: list[Paragraph], paragraph: Paragraph, right: float, type_: Typography) -> bool:
    """Join a paragraph to the one before the notes of the previous column; return whether it continues that one."""
    end = _before_notes(found, type_)
    if not 0 < end < len(found) or paragraph.lines[0].size < SMALL * type_.size:
        return False
    body = found[end - 1]
    before, after = body.lines[-1], paragraph.lines[0]
    is_full = before.x1 > right - _MAX_RAGGED * before.size
    if body.kind not in (PROSE, LIST_ITEM) or not is_full:
        return False
    if after.base > before.base or not goes_on(body, after, right):
        return False
    body.lines.extend(paragraph.lines)
    found[end - 1 :] = [*found[end:], body]
    return True


def _before_notes(paragraphs: list[Paragraph], type_: Typography) -> int:
    """Return the number of paragraphs before the notes at the end."""
    end = len(paragraphs)
    while end and paragraphs[end - 1].lines[0].size < SMALL * type_.size:
        end -= 1
    return end


def _footnotes_first(paragraphs: list[Paragraph], type_: Typography) -> list[Paragraph]:
    """Move notes at the end of a page before a paragraph that continues on the next page."""
    end = _before_notes(paragraphs, type_)
    if not 0 < end < len(paragraphs):
        return paragraphs
    last = paragraphs[end - 1]
    if last.kind not in (PROSE, LIST_ITEM) or ends_sentence(last.text) or len(last.text) < _MIN_CONTINUED:
        return paragraphs
    return [*paragraphs[: end - 1], *paragraphs[end:], last]
