"""The layout of a page: from its characters to its paragraphs in reading order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from langchain_sentence_window.loaders.pdf.characters import PageCharacters
from langchain_sentence_window.loaders.pdf.columns import reading_order
from langchain_sentence_window.loaders.pdf.headings import Typography, mark_headings
from langchain_sentence_window.loaders.pdf.ink import Ink, page_inks
from langchain_sentence_window.loaders.pdf.lines import Line, Run, find_runs, join_lines
from langchain_sentence_window.loaders.pdf.paragraphs import Paragraph, ends_sentence, find_paragraphs, goes_on
from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM, PROSE

_SMALL_TYPE = 0.92


@dataclass(frozen=True, slots=True, eq=False)
class PageRuns:
    """The runs of a page.

    Attributes:
        number: The page's number, from 0.
        inks: The ink of each direction of writing, the main one first.
        runs: The runs of each ink.
    """

    number: int
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


def page_runs(characters: PageCharacters) -> PageRuns:
    """Find the runs of a page."""
    inks = list(page_inks(characters))
    return PageRuns(characters.number, inks, [find_runs(ink) for ink in inks])


def lay_out(
    page: PageRuns, running: Iterable[int], type_: Typography, outline: Mapping[str, int], *, has_title: bool = False
) -> PageLayout:
    """Find the paragraphs of a page.

    Args:
        page: The page's runs.
        running: Indices of the rows of `PageRuns.rows` that are running heads and feet.
        type_: The file's typography.
        outline: Titles of the outline's entries for this page with their levels, see `mark_headings`.
        has_title: Whether this is the page where the file's title stands.
    """
    rows = page.rows()
    left_out = [rows[i] for i in running if i < len(rows)]
    dropped = {id(run) for row in left_out for run in row.runs}
    breaks = [row.base for row in left_out]
    found: list[Paragraph] = []
    right = 0.0
    for ink, runs in zip(page.inks, page.runs, strict=True):
        last: Paragraph | None = None
        for column in reading_order([run for run in runs if id(run) not in dropped]):
            lines = join_lines(ink, column)
            for paragraph in find_paragraphs(lines, type_.pitch):
                if last is not None and _joins(last, paragraph, right, breaks):
                    last.lines.extend(paragraph.lines)
                    continue
                found.append(paragraph)
                last = paragraph
                right = max(line.x1 for line in lines)
            right = max(line.x1 for line in lines)
    return PageLayout(_footnotes_first(mark_headings(found, type_, outline, has_title=has_title), type_, right), right)


def _joins(last: Paragraph, paragraph: Paragraph, right: float, breaks: list[float]) -> bool:
    """Return whether a paragraph goes on after a gap: in the next column, or after a page number."""
    before, after = last.lines[-1], paragraph.lines[0]
    is_break = after.base <= before.base or any(before.base < place < after.base for place in breaks)
    if is_break:
        return goes_on(before, after, right)
    return False


def _footnotes_first(paragraphs: list[Paragraph], type_: Typography, right: float) -> list[Paragraph]:
    """Move notes at the end of a page before a paragraph that they part from its end on the next page."""
    end = len(paragraphs)
    while end and paragraphs[end - 1].lines[0].size < _SMALL_TYPE * type_.size:
        end -= 1
    if not 0 < end < len(paragraphs):
        return paragraphs
    last = paragraphs[end - 1]
    if last.kind not in (PROSE, LIST_ITEM) or ends_sentence(last.text) or last.kind == HEADING:
        return paragraphs
    return [*paragraphs[: end - 1], *paragraphs[end:], last]
