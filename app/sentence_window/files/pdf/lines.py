"""Lines of a page: visible characters joined into runs, and runs joined into lines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from langchain_sentence_window._primitives import Span

from .inks import WORD_GAP, Ink

WIDE_GAP = 1.5
"""Font sizes; white space at least as wide separates runs, such as a number and its text, or two cells."""

_BACK = 0.6
_SURE_GAP = 0.6
_SAME_LINE = 0.5


@dataclass(slots=True)
class Run:
    """Characters side by side without a wide gap.

    Attributes:
        words: Half-open ranges of the ink's characters, one for each word.
        x0: The left side in points.
        y0: The upper side.
        x1: The right side.
        y1: The lower side.
        base: The y of its baseline.
        size: Its main font size in points.
        letters: Its number of characters.
        bold: Its number of bold characters.
        figures: Its number of figures.
    """

    words: list[Span]
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    letters: int
    bold: int
    figures: int


@dataclass(eq=False)
class TextLine:
    """The runs of one line of one column, from left to right.

    Attributes:
        ink: The ink whose characters the runs count.
        runs: At least one.
    """

    ink: Ink
    runs: list[Run]
    x0: float = field(init=False)
    y0: float = field(init=False)
    x1: float = field(init=False)
    y1: float = field(init=False)
    base: float = field(init=False)
    size: float = field(init=False)

    def __post_init__(self) -> None:
        """Compute the sides, the baseline and the size from the runs."""
        main = self.runs[0]
        self.x0, self.y0, self.x1, self.y1 = main.x0, main.y0, main.x1, main.y1
        for run in self.runs[1:]:
            self.x1, self.y0, self.y1 = max(self.x1, run.x1), min(self.y0, run.y0), max(self.y1, run.y1)
            main = run if run.letters > main.letters else main
        self.base, self.size = main.base, main.size

    @cached_property
    def words(self) -> list[Span]:
        """Return half-open ranges of the ink's characters, one for each word."""
        if len(self.runs) == 1:
            return self.runs[0].words
        words: list[Span] = []
        right = None
        for run in self.runs:
            if right is not None and run.x0 - right < WORD_GAP * run.size and words[-1][1] == run.words[0][0]:
                words[-1] = (words[-1][0], run.words[0][1])
                words += run.words[1:]
            else:
                words += run.words
            right = run.x1
        return words

    @cached_property
    def text(self) -> str:
        """Return the words, with one space between them."""
        return self.ink.text_of(self.words)

    @cached_property
    def bold(self) -> float:
        """Return the share of bold characters, from 0 to 1."""
        return sum(run.bold for run in self.runs) / sum(run.letters for run in self.runs)

    @cached_property
    def first_width(self) -> float:
        """Return the points of the first word's width."""
        start, end = self.words[0]
        return float(self.ink.boxes[end - 1, 2] - self.ink.boxes[start, 0])


def cut_line(line: TextLine, count: int) -> tuple[TextLine, TextLine]:
    """Cut a line after ``count`` of its words; at least one word must be on each side."""
    left: list[Run] = []
    right: list[Run] = []
    # A file may draw the left part of a line after the right one.
    first = {at for start, end in line.words[:count] for at in range(start, end)}
    for run in line.runs:
        before = [word for word in run.words if word[0] in first]
        after = [word for word in run.words if word[0] not in first]
        if before and after:
            left.append(cut_run(line.ink, run, before))
            right.append(cut_run(line.ink, run, after))
        else:
            (left if before else right).append(run)
    return TextLine(line.ink, left), TextLine(line.ink, right)


def cut_run(ink: Ink, run: Run, words: list[Span]) -> Run:
    """Return a run of some words of another one."""
    start, end = words[0][0], words[-1][1]
    boxes = ink.boxes[start:end]
    (x0, y0), (x1, y1) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
    bold, figures = int(ink.bold[start:end].sum()), int(ink.figures[start:end].sum())
    return Run(words, x0, y0, x1, y1, run.base, run.size, end - start, bold, figures)


def find_runs(ink: Ink) -> list[Run]:
    """Find the runs of a page's characters, in the order in which the file draws them."""
    count = len(ink)
    if not count:
        return []
    x0, y0, x1, y1 = ink.boxes.T
    size = np.maximum(ink.sizes, 1.0)
    larger = np.maximum(size[1:], size[:-1])
    overlap = np.minimum(y1[1:], y1[:-1]) - np.maximum(y0[1:], y0[:-1])
    lower = np.minimum(y1[1:] - y0[1:], y1[:-1] - y0[:-1])
    gap = x0[1:] - x1[:-1]
    gap[(ink.boxes[1:] == ink.boxes[:-1]).all(axis=1)] = 0  # one ligature
    is_break = (overlap < _SAME_LINE * lower) | (gap < -_BACK * larger) | (gap > WIDE_GAP * larger)
    starts = np.concatenate([[0], np.flatnonzero(is_break) + 1])
    ends = np.concatenate([starts[1:], [count]])
    new_word = np.zeros(count, np.bool_)
    # Without a space in the file, characters may be set one by one with wider gaps.
    new_word[1:] = (ink.after_space[1:] & (gap > -_BACK * larger)) | (gap > _SURE_GAP * larger)
    new_word[starts] = True
    word_starts = np.flatnonzero(new_word)
    words = list(zip(word_starts.tolist(), [*word_starts[1:].tolist(), count], strict=True))
    first_words = np.searchsorted(word_starts, starts).tolist()
    middles = (starts + ends) // 2
    measures = (
        *(np.minimum.reduceat(side, starts) for side in (x0, y0)),
        *(np.maximum.reduceat(side, starts) for side in (x1, y1)),
        *(ink.bases[middles], size[middles], ends - starts),
        *(np.add.reduceat(style, starts, dtype=np.int64) for style in (ink.bold, ink.figures)),
    )
    return [
        Run(words[first:last], *measured)
        for first, last, *measured in zip(
            first_words, [*first_words[1:], len(words)], *(each.tolist() for each in measures), strict=True
        )
    ]


def join_lines(ink: Ink, runs: Iterable[Run]) -> list[TextLine]:
    """Join the runs of one column into lines.

    Returns:
        The lines from top to bottom.
    """
    rows: list[list[Run]] = []
    tallest: Run | None = None
    for run in sorted(runs, key=lambda run: (run.y0 + run.y1, run.x0)):
        if tallest is not None and _on_one_line(tallest, run):
            rows[-1].append(run)
            if run.y1 - run.y0 > tallest.y1 - tallest.y0:
                tallest = run
        else:
            rows.append([run])
            tallest = run
    return [TextLine(ink, sorted(row, key=lambda run: run.x0)) for row in rows]


def _on_one_line(one: Run, other: Run) -> bool:
    overlap = min(one.y1, other.y1) - max(one.y0, other.y0)
    return overlap >= _SAME_LINE * min(one.y1 - one.y0, other.y1 - other.y0)


def median(values: Sequence[float]) -> float:
    """Return the upper median of values; 0 if there are none."""
    return sorted(values)[len(values) // 2] if values else 0.0


@dataclass(frozen=True, slots=True)
class Typography:
    """The typography of a file.

    Attributes:
        size: The font size of most characters, in points.
        is_bold: Whether most characters are bold.
        pitch: The distance between lines of a paragraph, in font sizes.
        large_sizes: Larger font sizes, from the largest; a heading's level is the position of its size among them.
    """

    size: float
    is_bold: bool
    pitch: float
    large_sizes: tuple[float, ...] = ()


MAX_PITCH = 3.0
"""Font sizes; lines of a paragraph are closer."""

MIN_PITCHES = 3
"""Distances that are enough to compute the pitch of paragraphs."""


def pitches_of(lines: Sequence[TextLine]) -> list[float]:
    """Return the distances between lines of one paragraph, where a sentence goes on, in font sizes."""
    right = max((line.x1 for line in lines), default=0.0)
    return [
        distance
        for above, below in pairwise(lines)
        if _goes_on(above, below.text[:2], right)
        and 0 < (distance := (below.base - above.base) / max(above.size, below.size)) < MAX_PITCH
    ]


def _goes_on(above: TextLine, begin: str, right: float) -> bool:
    """Return whether a sentence goes on in the next line: in lower case, or with any word after a full line."""
    if begin[:1].islower():
        return begin[1:] != " "  # a bullet
    return begin[:1].isalpha() and not begin.isupper() and _is_full(above, right)


def _is_full(line: TextLine, right: float) -> bool:
    return line.x1 + line.size > right and line.text[-1].isalnum()
