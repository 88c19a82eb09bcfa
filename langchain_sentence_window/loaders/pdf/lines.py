"""Lines: runs of characters side by side, joined where they stand on one line of one column."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from langchain_sentence_window._types import Span
from langchain_sentence_window.loaders.pdf.ink import Ink

WIDE_GAP = 1.5
"""Font sizes; white space at least as wide parts two runs, such as a number and its text, or two cells."""

_BACK = 0.6
_WORD_GAP = 0.2
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
        base: The y of the line it stands on.
        size: The font size of most of it, in points.
        letters: Its number of characters.
        bold: Its number of bold characters.
        italic: Its number of italic characters.
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
    italic: int


@dataclass(eq=False)
class Line:
    """The runs of one line of one column, from left to right.

    Attributes:
        ink: The ink that the runs count in.
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
        """Measure the line by its runs."""
        main = max(self.runs, key=lambda run: run.letters)
        self.x0, self.x1 = self.runs[0].x0, max(run.x1 for run in self.runs)
        self.y0, self.y1 = min(run.y0 for run in self.runs), max(run.y1 for run in self.runs)
        self.base, self.size = main.base, main.size

    @cached_property
    def words(self) -> list[Span]:
        """Half-open ranges of the ink's characters, one for each word."""
        words: list[Span] = []
        right = None
        for run in self.runs:
            if right is not None and run.x0 - right < _WORD_GAP * run.size and words[-1][1] == run.words[0][0]:
                words[-1] = (words[-1][0], run.words[0][1])
                words += run.words[1:]
            else:
                words += run.words
            right = run.x1
        return words

    @cached_property
    def text(self) -> str:
        """The words, with one space between them."""
        return " ".join([self.ink.text[start:end] for start, end in self.words])

    @cached_property
    def bold(self) -> float:
        """The share of bold characters, from 0 to 1."""
        return sum(run.bold for run in self.runs) / sum(run.letters for run in self.runs)

    @cached_property
    def first_width(self) -> float:
        """Points of the first word's width."""
        start, end = self.words[0]
        return float(self.ink.boxes[end - 1, 2] - self.ink.boxes[start, 0])


def cut_line(line: Line, count: int) -> tuple[Line, Line]:
    """Cut a line after some of its words; at least one word must be on each side."""
    left: list[Run] = []
    right: list[Run] = []
    at = line.words[count][0]
    for run in line.runs:
        before, after = [word for word in run.words if word[0] < at], [word for word in run.words if word[0] >= at]
        if before and after:
            left.append(_part_of(line.ink, run, before))
            right.append(_part_of(line.ink, run, after))
        else:
            (left if before else right).append(run)
    return Line(line.ink, left), Line(line.ink, right)


def _part_of(ink: Ink, run: Run, words: list[Span]) -> Run:
    start, end = words[0][0], words[-1][1]
    boxes = ink.boxes[start:end]
    (x0, y0), (x1, y1) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
    bold, italic = int(ink.bold[start:end].sum()), int(ink.italic[start:end].sum())
    return Run(words, x0, y0, x1, y1, run.base, run.size, end - start, bold, italic)


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
    parted = (overlap < _SAME_LINE * lower) | (gap < -_BACK * larger) | (gap > WIDE_GAP * larger)
    starts = np.concatenate([[0], np.flatnonzero(parted) + 1])
    ends = np.concatenate([starts[1:], [count]])
    new_word = np.zeros(count, np.bool_)
    # Where the file has no space, its characters were set one by one with a gap.
    new_word[1:] = (ink.after_space[1:] & (gap > -_BACK * larger)) | (gap > _SURE_GAP * larger)
    new_word[starts] = True
    word_starts = np.flatnonzero(new_word)
    words = list(zip(word_starts.tolist(), [*word_starts[1:].tolist(), count], strict=True))
    first_words = np.searchsorted(word_starts, starts).tolist()
    sides = [
        np.minimum.reduceat(x0, starts),
        np.minimum.reduceat(y0, starts),
        np.maximum.reduceat(x1, starts),
        np.maximum.reduceat(y1, starts),
    ]
    middles = (starts + ends) // 2
    return [
        Run(words[first:last], left, upper, right, lower, base, size, letters, bold, italic)
        for first, last, left, upper, right, lower, base, size, letters, bold, italic in zip(
            first_words,
            [*first_words[1:], len(words)],
            *(side.tolist() for side in sides),
            ink.bases[middles].tolist(),
            size[middles].tolist(),
            (ends - starts).tolist(),
            np.add.reduceat(ink.bold, starts, dtype=np.int64).tolist(),
            np.add.reduceat(ink.italic, starts, dtype=np.int64).tolist(),
            strict=True,
        )
    ]


def join_lines(ink: Ink, runs: Iterable[Run]) -> list[Line]:
    """Join the runs of one column that stand on one line.

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
    return [Line(ink, sorted(row, key=lambda run: run.x0)) for row in rows]


def _on_one_line(one: Run, other: Run) -> bool:
    overlap = min(one.y1, other.y1) - max(one.y0, other.y0)
    return overlap >= _SAME_LINE * min(one.y1 - one.y0, other.y1 - other.y0)


def median(values: Sequence[float]) -> float:
    """Return the upper median of values; 0 if there are none."""
    return sorted(values)[len(values) // 2] if values else 0.0
