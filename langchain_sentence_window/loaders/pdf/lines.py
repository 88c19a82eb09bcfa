"""Lines: the visible characters of a page, turned to run from left to right, as runs side by side and as lines."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Span

from .characters import HYPHEN, PageCharacters, has_any, runs_left
from .characters import CharacterBoxes as Boxes
from .pdfium import Mask, turned_back
from .writing_directions import Letters, Places, to_right


@dataclass(frozen=True, slots=True, eq=False)
class Ink:
    """Visible characters, in the order in which the file draws them.

    Attributes:
        text: One code point for each of the ``n`` characters.
        index: Their indices among the characters of the page.
        boxes: Their boxes, turned so that the text runs from left to right, y down.
        sizes: Their font sizes in points.
        bases: The y of the line that each stands on.
        bold: Whether each is bold.
        figures: Whether each is a figure.
        after_space: Whether white space comes before each in the file.
        turns: Quarter turns, clockwise, of the direction of the text as displayed, from 0 to 3.
        is_mirrored: Whether the boxes are mirrored, as most of the text runs from right to left.
    """

    text: str
    index: npt.NDArray[np.int64]
    boxes: Boxes
    sizes: npt.NDArray[np.float32]
    bases: npt.NDArray[np.float32]
    bold: npt.NDArray[np.bool_]
    figures: npt.NDArray[np.bool_]
    after_space: npt.NDArray[np.bool_]
    turns: int = 0
    is_mirrored: bool = False

    def __len__(self) -> int:
        """Return the number of characters."""
        return len(self.text)

    def text_of(self, words: Iterable[Span]) -> str:
        """Return words with one space between them."""
        return " ".join([self.text[start:end] for start, end in words])


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
            if right is not None and run.x0 - right < _WORD_GAP * run.size and words[-1][1] == run.words[0][0]:
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
    """Cut a line after some of its words; at least one word must be on each side."""
    left: list[Run] = []
    right: list[Run] = []
    # A file may draw what stands on the left after what stands on the right.
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
    """Return a run of some characters of another one."""
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
    gap[(ink.boxes[1:] == ink.boxes[:-1]).all(axis=1)] = 0  # of one ligature
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
    return [TextLine(ink, sorted(row, key=lambda run: run.x0)) for row in rows]


def _on_one_line(one: Run, other: Run) -> bool:
    overlap = min(one.y1, other.y1) - max(one.y0, other.y0)
    return overlap >= _SAME_LINE * min(one.y1 - one.y0, other.y1 - other.y0)


def median(values: Sequence[float]) -> float:
    """Return the upper median of values; 0 if there are none."""
    return sorted(values)[len(values) // 2] if values else 0.0


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


MAX_PITCH = 3.0
"""Font sizes; lines of a paragraph stand closer."""

MIN_PITCHES = 3
"""Distances of lines that tell that of the lines of a paragraph."""


def pitches_of(lines: Sequence[TextLine]) -> list[float]:
    """Return the distances of lines of one paragraph, in font sizes: the second one goes on with a sentence."""
    right = max((line.x1 for line in lines), default=0.0)
    return [
        distance
        for above, below in pairwise(lines)
        if _goes_on(above, below.text[:2], right)
        and 0 < (distance := (below.base - above.base) / max(above.size, below.size)) < MAX_PITCH
    ]


def _goes_on(above: TextLine, begin: str, right: float) -> bool:
    """Return whether a line goes on with what begins the next one: a word in lower case, or any after a full line."""
    if begin[:1].islower():
        return begin[1:] != " "  # a bullet
    return begin[:1].isalpha() and not begin.isupper() and _is_full(above, right)


def _is_full(line: TextLine, right: float) -> bool:
    return line.x1 + line.size > right and line.text[-1].isalnum()


MIN_HEIGHT = 0.5
"""Points of the height of a character that can be read; lower ones are left out."""

_BULLETS = {0xF0B7: 0x2022, 0xF0A7: 0x25AA, 0xF0D8: 0x2023, 0xF076: 0x2023, 0xF0A8: 0x25AA}
"""Code points of bullets in fonts of symbols, and what they look like."""

_SPACES = [
    *range(0x21),
    0x7F,
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200C),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
    0xFEFF,
]
_IS_SPACE = np.isin(np.arange(0x10000), _SPACES)
_IS_SPACE[-1] = False  # stands for all higher code points
_MAX_SKEW = 5.0
_SAME_PLACE = 0.02
_LATIN_END = 0x250
_MATH = (0x1D400, 0x1D800)
_WIDE = ((0x2E80, 0xA4D0), (0xF900, 0xFB00), (0xFF00, 0xFFF0), (0x20000, 0x40000))
"""Blocks of Chinese and Japanese, and of marks as wide, by their first code points and those after their last."""
_REPLACEMENT = 0xFFFD
_SURROGATES = (0xD800, 0xDFFF)


def page_inks(page: PageCharacters) -> Iterator[Ink]:
    """Yield the ink of each direction of writing, the one with the most characters first.

    Text that runs askew, such as a watermark, text outside the page, text that nobody sees, and characters that are
    printed a second time in one place are left out.
    """
    if not len(page):
        return
    boxes = page.boxes
    height = boxes[:, 3] - boxes[:, 1]
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    quarters = np.rint(page.angles / 90).astype(np.int64) % 4
    skew = np.abs((page.angles + 45) % 90 - 45)
    spaces = _IS_SPACE[np.minimum(page.codes, len(_IS_SPACE) - 1)] & (page.codes != HYPHEN)
    visible = (
        ~spaces
        & ~page.generated
        & ~page.hidden
        & (np.maximum(height, boxes[:, 2] - boxes[:, 0]) >= MIN_HEIGHT)
        & (skew <= _MAX_SKEW)
        & ((middles >= 0) & (middles <= np.array([page.width, page.height], np.float32))).all(axis=1)
    )
    seen = np.flatnonzero(visible)
    again = printed_again(page.codes[seen], boxes[seen], page.sizes[seen])
    if again.any():
        visible[seen[again & ~_set_tight(page, seen)]] = False
    counts = np.bincount(quarters[visible], minlength=4)
    for turns in sorted(range(4), key=lambda each: (-int(counts[each]), each)):
        if counts[turns]:
            yield _ink(page, np.flatnonzero(visible & (quarters == turns)), spaces, turns)


def _set_tight(page: PageCharacters, seen: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which characters stand close behind an equal one that was drawn with them, such as the second of "ii"."""
    tight = np.zeros(len(seen), np.bool_)
    before, after = seen[:-1], seen[1:]
    moved = np.abs(page.boxes[after] - page.boxes[before]).max(axis=1)
    is_close = (moved > _SAME_PLACE * page.sizes[after]) & (moved <= MAX_SHIFT * page.sizes[after])
    is_one = (page.codes[after] == page.codes[before]) & (page.origins[after] == page.origins[before]).all(axis=1)
    tight[1:] = is_close & is_one
    return tight


def is_wide(character: str) -> bool:
    """Return whether a character is one of a script without spaces, such as Chinese."""
    return any(first <= ord(character) < end for first, end in _WIDE)


def _ink(page: PageCharacters, index: Places, spaces: Mask, turns: int) -> Ink:
    seen = _letters(page, index, spaces, turns)
    if runs_left(seen.codes):
        drawn = np.flatnonzero(spaces & ~page.generated & (np.rint(page.angles / 90) % 4 == turns))
        width = page.height if turns % 2 else page.width
        seen = to_right(seen, _letters(page, drawn, spaces, turns), width)
        index = index[seen.order]
    return Ink(
        text=_text(seen.codes),
        index=index,
        boxes=seen.boxes,
        sizes=seen.sizes,
        bases=seen.bases,
        bold=page.bold[index],
        figures=(seen.codes >= ord("0")) & (seen.codes <= ord("9")),
        after_space=seen.after_space,
        turns=turns,
        is_mirrored=seen.is_mirrored,
    )


def _letters(page: PageCharacters, index: Places, spaces: Mask, turns: int) -> Letters:
    after_space, after_gap = np.zeros((2, len(index)), np.bool_)
    after_space[1:] = np.diff(np.cumsum(spaces)[index]) > 0
    codes, boxes = page.codes[index], turned_back(page.boxes[index], page.width, page.height, turns)
    if has_any(codes, _WIDE):  # Chinese and Japanese have no spaces, but files draw some that take no place
        wide = np.logical_or.reduce([(first <= codes) & (codes < end) for first, end in _WIDE])
        is_close = boxes[1:, 0] - boxes[:-1, 2] < _WORD_GAP * page.sizes[index[1:]]
        after_space[1:] &= ~(wide[1:] & wide[:-1] & is_close)
    after_gap[1:] = np.diff(np.cumsum(spaces & page.generated)[index]) > 0
    return Letters(
        codes=codes,
        boxes=boxes,
        bases=turned_back(np.tile(page.origins[index], 2), page.width, page.height, turns)[:, 1],
        sizes=page.sizes[index],
        after_space=after_space,
        after_gap=after_gap,
        order=np.arange(len(index)),
    )


def _text(codes: npt.NDArray[np.uint32]) -> str:
    if codes.max() >= _LATIN_END or codes.min() == HYPHEN:
        codes = codes.copy()
        codes[codes == HYPHEN] = ord("-")
        codes[((codes >= _SURROGATES[0]) & (codes <= _SURROGATES[1])) | (codes > sys.maxunicode)] = _REPLACEMENT
        for symbol, bullet in _BULLETS.items():
            codes[codes == symbol] = bullet
    return codes.astype("<u4").tobytes().decode("utf-32-le")


MAX_SHIFT = 0.1
"""Font sizes between the two prints of a character; the thinnest letters stand farther apart."""

_ROW = 4.0
"""Points of the rows in which characters are compared; twice what two prints are apart, or more."""

_STEPS = 20
_BITS = 21
_MAX_STEP = (1 << _BITS) - 1


def printed_again(codes: npt.NDArray[np.uint32], boxes: Boxes, sizes: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Return which characters stand where the same character was printed before.

    Equal characters of one ligature, such as the two of an ffi, are printed once.

    Args:
        codes: ``(n,)``, code points.
        boxes: ``(n, 4)``, in points; those of equal characters of a font are equally large.
        sizes: ``(n,)``, font sizes in points.

    Returns:
        ``(n,)``, true for each of several equal characters in one place but the first.
    """
    again = np.zeros(len(codes), np.bool_)
    in_ligature = np.zeros(len(codes), np.bool_)
    in_ligature[1:] = (codes[1:] == codes[:-1]) & (boxes[1:] == boxes[:-1]).all(axis=1)
    in_ligature[1:] &= (codes[1:] < _MATH[0]) | (codes[1:] >= _MATH[1])  # which files print twice
    x, y = boxes[:, 0].astype(np.float64), boxes[:, 1].astype(np.float64)
    across = np.clip(x * _STEPS, 0, _MAX_STEP).astype(np.int64)
    for shift in (0.0, 0.5):  # what a limit between two rows parts isn't parted by the other limits
        rows = np.clip(y / _ROW + shift, 0, _MAX_STEP).astype(np.int64)
        key = (codes.astype(np.int64) << 2 * _BITS) | (rows << _BITS) | across
        order = np.argsort(key)
        if (np.diff(key[order]) == 0).any():
            order = np.argsort(key, kind="stable")  # slower
        before, after = order[:-1], order[1:]
        far = np.maximum(np.abs(x[after] - x[before]), np.abs(y[after] - y[before]))
        same = (codes[before] == codes[after]) & (far <= MAX_SHIFT * sizes[after]) & (sizes[before] == sizes[after])
        same &= ~((after - before == 1) & in_ligature[after])
        again[np.maximum(before, after)[same]] = True
    for index in np.flatnonzero(in_ligature):
        again[index] = again[index - 1]
    return again
