"""The layout of a page: from its characters to its paragraphs in reading order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from langchain_sentence_window.documents.layout import Continuation
from langchain_sentence_window.loaders.pdf.characters import PageCharacters
from langchain_sentence_window.loaders.pdf.columns import reading_order
from langchain_sentence_window.loaders.pdf.frames import Boxes
from langchain_sentence_window.loaders.pdf.gutters import Gutter
from langchain_sentence_window.loaders.pdf.headings import Typography, mark_headings
from langchain_sentence_window.loaders.pdf.hyphens import rejoins
from langchain_sentence_window.loaders.pdf.ink import Ink, page_inks
from langchain_sentence_window.loaders.pdf.lines import Line, Run, find_runs, join_lines
from langchain_sentence_window.loaders.pdf.paragraphs import (
    Paragraph,
    ends_sentence,
    find_paragraphs,
    goes_on,
    goes_on_below,
)
from langchain_sentence_window.loaders.pdf.tables import Table, find_aligned_tables, find_ruled_tables, find_tables
from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM, PROSE, TABLE_ROW

_SMALL_TYPE = 0.92
_MIN_RULE = 8
_MAX_THICKNESS = 3.0
_MAX_RAGGED = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class PageRuns:
    """The runs of a page.

    Attributes:
        characters: The page's characters.
        rules: Its ruling lines, see `read_rules`.
        inks: The ink of each direction of writing, the main one first.
        runs: The runs of each ink.
    """

    characters: PageCharacters
    rules: Boxes
    inks: list[Ink]
    runs: list[list[Run]]

    def rows(self) -> list[Line]:
        """Return the lines of the main ink across all columns, from top to bottom."""
        return join_lines(self.inks[0], self.runs[0]) if self.inks else []


@dataclass(frozen=True, slots=True, eq=False)
class PageLayout:
    """The paragraphs of a page in reading order.

    Attributes:
        paragraphs: The paragraphs, headings marked.
        right: The right side of the last paragraph's column, in points.
    """

    paragraphs: list[Paragraph]
    right: float

    @property
    def first_word(self) -> str:
        """The word that the first line begins with."""
        return self.paragraphs[0].lines[0].text.partition(" ")[0]

    @property
    def last_word(self) -> str:
        """The word that the last line ends with."""
        return self.paragraphs[-1].lines[-1].text.rpartition(" ")[2]


def page_runs(characters: PageCharacters, rules: Boxes) -> PageRuns:
    """Find the runs of a page."""
    inks = list(page_inks(characters))
    return PageRuns(characters, rules, inks, [find_runs(ink) for ink in inks])


def lay_out(
    page: PageRuns,
    running: Iterable[int],
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
        gutters: Where the pages of the file have columns.
        has_title: Whether this is the page where the file's title stands.
    """
    rows = page.rows()
    left_out = [rows[i] for i in running if i < len(rows)]
    dropped = {id(run) for row in left_out for run in row.runs}
    breaks = [row.base for row in left_out]
    found: list[Paragraph] = []
    right = 0.0
    for ink, runs in zip(page.inks, page.runs, strict=True):
        kept = [run for run in runs if id(run) not in dropped and not _is_rule(ink, run)]
        rules = page.rules if ink.turns == 0 else page.rules[:0]
        # Where pages have columns, a table without a grid stands in one of them, or between lines across them.
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
    """Return how the text goes on from a page to the next."""
    if not before.paragraphs or not after.paragraphs:
        return ""
    last, first = before.paragraphs[-1], after.paragraphs[0]
    if HEADING in (last.kind, first.kind) or not goes_on(last, first.lines[0], before.right):
        return ""
    return "~" if rejoins(before.last_word, after.first_word) else "+"


def _is_rule(ink: Ink, run: Run) -> bool:
    """Return whether a run is a line drawn with hyphens or equals signs."""
    start, end = run.words[0][0], run.words[-1][1]
    return end - start >= _MIN_RULE and not ink.text[start:end].strip("-=~")


def _in_order(
    ink: Ink, runs: list[Run], tables: list[Table], rules: Boxes, gutters: Sequence[Gutter]
) -> Iterator[list[Line] | Table]:
    """Yield the columns of a page, and its tables where they stand between lines."""
    stand_ins = {id(run): (run, table) for table in tables for run in [_stand_in(table.box)]}
    parting = _level_rules(rules) if gutters else []
    places = [*runs, *(run for run, _ in stand_ins.values()), *parting]
    for column in reading_order(places, gutters):
        inside = [stand_ins[id(run)][1] for run in column if id(run) in stand_ins]
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
    """Return runs in the places of the rules above, in and below tables, which part columns if they cross them."""
    return [_stand_in(rule) for rule in rules.tolist() if rule[3] - rule[1] < _MAX_THICKNESS < rule[2] - rule[0]]


def _stand_in(box: Sequence[float]) -> Run:
    """Return a run in the place of something else, to find its place in the reading order."""
    x0, y0, x1, y1 = box
    return Run([], x0, y0, x1, y1, base=y1, size=1.0, letters=0, bold=0, italic=0)


def _table_paragraphs(table: Table, type_: Typography) -> Iterator[Paragraph]:
    for row in table.rows:
        cells = [cell for cell in row.cells if cell]
        if row.is_prose:
            for cell in cells:
                yield from find_paragraphs(cell, type_.pitch)
        elif cells:
            yield Paragraph([line for cell in cells for line in cell], TABLE_ROW, cells=[len(cell) for cell in cells])


def _joins(last: Paragraph, paragraph: Paragraph, right: float, breaks: list[float]) -> bool:
    """Return whether a paragraph goes on after a gap: in the next column, after a page number, or in its sentence."""
    before, after = last.lines[-1], paragraph.lines[0]
    if after.base <= before.base or any(before.base < place < after.base for place in breaks):
        return goes_on(last, after, right)
    return goes_on_below(last, after, right)


def _joins_over_notes(found: list[Paragraph], paragraph: Paragraph, right: float, type_: Typography) -> bool:
    """Let a paragraph above notes at the end of a column go on in the next column, after the notes."""
    end = _before_notes(found, type_)
    if not 0 < end < len(found) or paragraph.lines[0].size < _SMALL_TYPE * type_.size:
        return False
    body = found[end - 1]
    before, after = body.lines[-1], paragraph.lines[0]
    is_full = before.x1 > right - _MAX_RAGGED * before.size
    if (
        body.kind not in (PROSE, LIST_ITEM)
        or after.base > before.base
        or not is_full
        or not goes_on(body, after, right)
    ):
        return False
    body.lines.extend(paragraph.lines)
    found[end - 1 :] = [*found[end:], body]
    return True


def _before_notes(paragraphs: list[Paragraph], type_: Typography) -> int:
    """Return the number of paragraphs before the notes at the end."""
    end = len(paragraphs)
    while end and paragraphs[end - 1].lines[0].size < _SMALL_TYPE * type_.size:
        end -= 1
    return end


def _footnotes_first(paragraphs: list[Paragraph], type_: Typography) -> list[Paragraph]:
    """Move notes at the end of a page before a paragraph that they part from its end on the next page."""
    end = _before_notes(paragraphs, type_)
    if not 0 < end < len(paragraphs):
        return paragraphs
    last = paragraphs[end - 1]
    if last.kind not in (PROSE, LIST_ITEM) or ends_sentence(last.text) or last.kind == HEADING:
        return paragraphs
    return [*paragraphs[: end - 1], *paragraphs[end:], last]
