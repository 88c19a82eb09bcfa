"""The layout of a page: from its characters to its paragraphs in reading order, and to one text.

The text comes with the character of the page for each of its code points.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.documents.part_blocks import Continuation
from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM, PROSE, TABLE_ROW, Block

from .characters import PageCharacters
from .columns import Gutter, reading_order
from .hyphens import HYPHENS, SOFT_HYPHEN, Vocabulary, drops_hyphen, rejoins
from .lines import Ink, Run, TextLine, Typography, find_runs, is_wide, join_lines, page_inks
from .page_tables import Table, find_aligned_tables, find_ruled_tables, find_tables
from .paragraphs import SMALL, Paragraph, ends_sentence, find_paragraphs, goes_on, goes_on_below, mark_headings
from .pdfium import Boxes

_MIN_RULE = 8
_MIN_PARTED = 40
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

    def rows(self) -> list[TextLine]:
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
        gutters: Where the pages of the file have columns.
        has_title: Whether this is the page where the file's title stands.
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


def _rules_for(ink: Ink, page: PageRuns) -> Boxes:
    """Return the ruling lines of a page, mirrored if the ink is; none if it is turned."""
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
    """Return whether a paragraph goes on after a gap: in the next column, after a page number, or in its sentence."""
    before, after = last.lines[-1], paragraph.lines[0]
    if after.base <= before.base or any(before.base < place < after.base for place in breaks):
        return goes_on(last, after, right)
    return goes_on_below(last, after, right)


def _joins_over_notes(found: list[Paragraph], paragraph: Paragraph, right: float, type_: Typography) -> bool:
    """Let a paragraph above notes at the end of a column go on in the next column, after the notes."""
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
    """Move notes at the end of a page before a paragraph that they part from its end on the next page."""
    end = _before_notes(paragraphs, type_)
    if not 0 < end < len(paragraphs):
        return paragraphs
    last = paragraphs[end - 1]
    if last.kind not in (PROSE, LIST_ITEM) or ends_sentence(last.text) or len(last.text) < _MIN_PARTED:
        return paragraphs
    return [*paragraphs[: end - 1], *paragraphs[end:], last]


MADE = -1
"""The index of white space that isn't on the page."""

_DENSE = (LIST_ITEM, TABLE_ROW)
_LIGATURES = {each: unicodedata.normalize("NFKC", each) for each in map(chr, [0x132, 0x133, *range(0xFB00, 0xFB07)])}


@dataclass(frozen=True, slots=True, eq=False)
class PageText:
    """The text of a page and where it stands.

    Attributes:
        text: The text of the page in reading order.
        characters: For each code point of the text, the index of the page's character in PDFium; `MADE` for white
            space that isn't a character of the page. All code points of an expanded ligature have the same index.
        blocks: The blocks of the text, in order and disjoint.
        continues: How the first block begins.
    """

    text: str
    characters: npt.NDArray[np.int64]
    blocks: list[Block]
    continues: Continuation = ""


def write_page(
    paragraphs: Sequence[Paragraph],
    vocabulary: Vocabulary,
    *,
    continues: Continuation = "",
    drop_last_hyphen: bool = False,
) -> PageText:
    """Write the text of a page.

    Args:
        paragraphs: The page's paragraphs, in reading order.
        vocabulary: The words of the file.
        continues: How the first one begins.
        drop_last_hyphen: Whether the last one ends with the hyphen of a word that goes on, on the next page.
    """
    parts: list[str] = []
    indices: list[npt.NDArray[np.int64]] = []
    blocks: list[Block] = []
    length = 0
    made = {size: np.full(size, MADE, np.int64) for size in (1, 2)}
    last_kind, runs_in = "", False
    for number, paragraph in enumerate(paragraphs):
        text, index = _write(paragraph, vocabulary)
        if drop_last_hyphen and number == len(paragraphs) - 1 and text[-1:] in HYPHENS:
            text, index = text[:-1], index[:-1]
        if not text:
            continue
        if blocks:
            separator = " " if runs_in else "\n" if paragraph.kind == last_kind and last_kind in _DENSE else "\n\n"
            parts.append(separator)
            indices.append(made[len(separator)])
            length += len(separator)
        level = paragraph.level if paragraph.kind == HEADING else 0
        blocks.append(Block(length, length + len(text), paragraph.kind, level))
        parts.append(text)
        indices.append(index)
        length += len(text)
        last_kind, runs_in = paragraph.kind, paragraph.runs_in
    characters = np.concatenate(indices) if indices else np.empty(0, np.int64)
    return PageText("".join(parts), characters, blocks, continues if blocks else "")


def _write(paragraph: Paragraph, vocabulary: Vocabulary) -> tuple[str, npt.NDArray[np.int64]]:
    """Return the text of a paragraph, and the index of each code point."""
    ink = paragraph.lines[0].ink
    pieces: list[str] = []
    places: list[int] = []  # of the ink; MADE for white space
    first = 0
    for count in paragraph.cells or [len(paragraph.lines)]:
        if first:
            pieces.append("\t")
            places.append(MADE)
        _write_lines(paragraph.lines[first : first + count], vocabulary, pieces, places)
        first += count
    return _expand("".join(pieces), places, ink)


def _write_lines(lines: Sequence[TextLine], vocabulary: Vocabulary, pieces: list[str], places: list[int]) -> None:
    """Write lines that belong together, word by word."""
    for number, line in enumerate(lines):
        if number:
            last = pieces[-1].rpartition(" ")[2]
            if rejoins(last, line.text):
                if drops_hyphen(last, line.text, vocabulary):
                    pieces[-1] = pieces[-1][:-1]
                    places.pop()
            elif not (is_wide(pieces[-1][-1]) and is_wide(line.text[0])):
                pieces.append(" ")
                places.append(MADE)
        pieces.append(line.text)
        for at, (start, end) in enumerate(line.words):
            if at:
                places.append(MADE)
            places += range(start, end)


def _expand(text: str, places: list[int], ink: Ink) -> tuple[str, npt.NDArray[np.int64]]:
    """Expand ligatures and drop soft hyphens inside words."""
    at = np.array(places, np.int64)
    index = np.where(at == MADE, MADE, ink.index[at])
    if text.isascii() or not any(each in text for each in (*_LIGATURES, SOFT_HYPHEN)):
        return text, index
    shown = ["" if each == SOFT_HYPHEN else _LIGATURES.get(each, each) for each in text]
    return "".join(shown), np.repeat(index, [len(each) for each in shown])
