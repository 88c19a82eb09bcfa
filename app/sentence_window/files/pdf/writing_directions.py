"""Right-to-left text, rearranged to run from left to right, so that columns, lines and words are found as in any text.

A file may draw Hebrew or Arabic in reading order or glyph by glyph from the left, and numbers and Latin words in it run
the other way. So positions decide the order, not the file. A page of mostly right-to-left text is mirrored, and a
stretch in the other direction is reversed in place. A bracket in the file may be the logical or the displayed one;
pairing the brackets decides which.
"""

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .characters import CharacterBoxes
from .pdfium import Mask

Places: TypeAlias = npt.NDArray[np.int64]

_KINDS = {"R": "R", "AL": "R", "L": "L", "EN": "N", "AN": "N", "NSM": "M", "CS": "c", "ES": "s", "ET": "e", "WS": " "}
_NUMBER = "e{0,3}N(?:[cse]?N)*e{0,3}"
_NUMBERS = re.compile(_NUMBER)
_TO_RIGHT = re.compile(rf"(?:{_NUMBER}[ cs]?|c)?L(?:[^R]*L)?(?:[ cs]?{_NUMBER})?|{_NUMBER}")
_TO_LEFT = re.compile("R(?:[^L]*R)?")
_PAIRS = ("()", "[]", "{}", "<>", "«»", "‹›")
_MIRRORED = {ord(pair[at]): ord(pair[1 - at]) for pair in _PAIRS for at in (0, 1)}
_OPENING = frozenset(ord(pair[0]) for pair in _PAIRS)
_LAM = 0x644
_ALEFS = (0x622, 0x623, 0x625, 0x627)
_SAME_ROW = 0.3
_WIDE_GAP = 1.5
_WORD_GAP = 0.2
_MADE_GAP = 0.1
_REACH = 3


@dataclass(frozen=True, slots=True, eq=False)
class Letters:
    """Characters of a page with one direction of writing, rotated to run across the page.

    Attributes:
        codes: Code points.
        boxes: Their boxes.
        bases: The y of the baseline of each.
        sizes: Font sizes.
        after_space: Whether white space precedes each in the file.
        after_gap: Whether PDFium generated that white space.
        order: The position of each in the file.
        is_mirrored: Whether the page is mirrored.
    """

    codes: npt.NDArray[np.uint32]
    boxes: CharacterBoxes
    bases: npt.NDArray[np.float32]
    sizes: npt.NDArray[np.float32]
    after_space: Mask
    after_gap: Mask
    order: Places
    is_mirrored: bool = False


def to_right(seen: Letters, spaces: Letters, width: float) -> Letters:
    """Rearrange right-to-left text so that it runs from left to right.

    Args:
        seen: The visible characters, in the file's order.
        spaces: The spaces that the file draws.
        width: The width of the rotated page.
    """
    kinds = _kinds(seen.codes)
    to_left = int((kinds == "R").sum())
    if not to_left:
        return seen
    row = _Rows(seen, spaces, kinds, is_mirrored=to_left > int((kinds == "L").sum()), width=width)
    count = len(seen.codes)
    places = np.arange(count, dtype=np.float64)
    after_space = seen.after_space.copy()
    brackets: list[tuple[list[int], bool]] = []
    for stretch in row.stretches():
        if row.is_mirrored or (row.kinds[stretch] == "R").any():
            ordered, runs_left = row.reorder(stretch)
            shown = np.array([index for index in ordered if index < count])
            places[shown] = shown.min() + np.arange(len(shown)) / (len(shown) + 1)
            row.separate_words(ordered, after_space)
            brackets.append(([index for index in shown.tolist() if int(seen.codes[index]) in _MIRRORED], runs_left))
    order = np.argsort(places, kind="stable")
    codes = _mirrored(seen.codes, brackets)
    return Letters(
        codes[order],
        row.boxes[:count][order],
        seen.bases[order],
        seen.sizes[order],
        after_space[order],
        seen.after_gap[order],
        seen.order[order],
        row.is_mirrored,
    )


class _Rows:
    """The characters and spaces of a page, with the boxes that are rearranged."""

    def __init__(
        self, seen: Letters, spaces: Letters, kinds: npt.NDArray[np.str_], *, is_mirrored: bool, width: float
    ) -> None:
        self.kinds = np.concatenate([kinds, np.full(len(spaces.codes), " ")])
        self.is_mirrored = is_mirrored
        self.boxes = np.concatenate([seen.boxes, spaces.boxes])
        if is_mirrored:
            self.boxes[:, [0, 2]] = width - self.boxes[:, [2, 0]]
        self._bases = np.concatenate([seen.bases, spaces.bases])
        self._sizes = np.maximum(np.concatenate([seen.sizes, spaces.sizes]), 1.0)
        self._codes = seen.codes
        self._is_arabic = any(_kind(code) == "AL" for code in np.unique(seen.codes).tolist())
        self._after_gap = seen.after_gap
        self._marks = self._find_marks()

    def stretches(self) -> list[Places]:
        """Return stretches of characters and spaces without a wide gap, each from left to right, without marks."""
        found = np.flatnonzero(self.kinds != "M")
        found = found[np.argsort(self._bases[found], kind="stable")]
        steps = np.diff(self._bases[found]) > _SAME_ROW * self._sizes[found[1:]]
        rows = np.concatenate([[0], np.cumsum(steps)])
        # PDFium gives the characters of one glyph, such as a ligature, in reverse.
        order = np.lexsort((-found if self.is_mirrored else found, self.boxes[found][:, [0, 2]].sum(axis=1), rows))
        found, rows = self._with_ligatures(found[order]), rows[order]
        inked = np.flatnonzero(self.kinds[found] != " ")
        before, after = found[inked[:-1]], found[inked[1:]]
        gaps = self.boxes[after, 0] - self.boxes[before, 2] > _WIDE_GAP * self._sizes[after]
        starts = inked[1:][gaps | (rows[inked[1:]] != rows[inked[:-1]])]
        return [each for each in np.split(found, starts) if (self.kinds[each] != " ").any()]

    def _with_ligatures(self, found: Places) -> Places:
        """Put the lam of a ligature before its alef; PDFium may give either first."""
        one, other = found[:-1], found[1:]
        lam, alef = (other, one) if self.is_mirrored else (one, other)
        is_swapped = (
            (self.boxes[one] == self.boxes[other]).all(axis=1)
            & (self._code(lam) == _LAM)
            & np.isin(self._code(alef), _ALEFS)
        )
        at = np.flatnonzero(is_swapped)
        found[at], found[at + 1] = found[at + 1], found[at]
        return found

    def _code(self, places: Places) -> npt.NDArray[np.uint32]:
        return np.append(self._codes, np.uint32(0))[np.minimum(places, len(self._codes))]

    def reorder(self, stretch: Places) -> tuple[list[int], bool]:
        """Put a stretch into reading order, and its boxes from left to right.

        Returns:
            The characters in order, with spaces and marks; and whether the stretch runs from right to left.
        """
        kinds = "".join(self.kinds[stretch])
        letters = [each for each in kinds if each in "RL"]
        more = kinds.count("R") - kinds.count("L")
        runs_left = more > 0 or (more == 0 and self.is_mirrored)
        if self.is_mirrored and letters:  # a line with long Latin names
            runs_left |= letters[0] == letters[-1] == "R"
        order = stretch.tolist()
        if self._is_arabic:  # in Arabic, a hyphen separates numbers, and a sign is left of its number
            kinds = kinds.replace("s", "o")
            kinds = kinds.replace("Ne", "No") if self.is_mirrored else kinds.replace("eN", "oN")
        if runs_left != self.is_mirrored:
            order = self._reversed(order)
            kinds = kinds[::-1]
        for match in (_TO_RIGHT if runs_left else _TO_LEFT).finditer(kinds):
            start, end = match.span()
            order[start:end] = self._reversed(order[start:end])
            for number in () if runs_left else _NUMBERS.finditer(match[0][::-1]):
                low, high = start + number.start(), start + number.end()
                order[low:high] = self._reversed(order[low:high])
        return self._with_marks(order), runs_left

    def separate_words(self, ordered: list[int], after_space: Mask) -> None:
        """Set before which characters white space comes, in reading order."""
        count = len(after_space)
        last, has_space = -1, False
        for index in ordered:
            if index >= count:
                has_space = True
                continue
            if last >= 0 and self.kinds[index] != "M":
                gap = self.boxes[index, 0] - self.boxes[last, 2]
                is_made = abs(index - last) == 1 and self._after_gap[max(index, last)]
                has_space |= bool(gap > (_MADE_GAP if is_made else _WORD_GAP) * self._sizes[index])
                after_space[index] = has_space
            elif last >= 0:
                after_space[index] = False
            last, has_space = index if self.kinds[index] != "M" or last < 0 else last, False

    def _reversed(self, indexes: list[int]) -> list[int]:
        """Return characters in reverse order, and mirror their boxes within the space that they cover."""
        low, high = self.boxes[indexes, 0].min(), self.boxes[indexes, 2].max()
        self.boxes[np.ix_(indexes, [0, 2])] = low + high - self.boxes[np.ix_(indexes, [2, 0])]
        return indexes[::-1]

    def _find_marks(self) -> dict[int, list[int]]:
        """Assign combining marks to characters: to the nearest one on the page among those nearby in the file."""
        found: dict[int, list[int]] = {}
        count = len(self._codes)
        for mark in np.flatnonzero(self.kinds[:count] == "M").tolist():
            near = [each for each in range(mark - _REACH, mark + _REACH + 1) if 0 <= each < count]
            hosts = [each for each in near if self.kinds[each] != "M"]
            middle = self.boxes[mark, [0, 2]].sum() / 2
            if hosts:
                away = [abs(self.boxes[each, [0, 2]].sum() / 2 - middle) for each in hosts]
                found.setdefault(hosts[int(np.argmin(away))], []).append(mark)
        return found

    def _with_marks(self, order: list[int]) -> list[int]:
        """Add the marks of each character after it, and move their boxes to its right side."""
        found: list[int] = []
        for index in order:
            marks = self._marks.get(index, [])
            found += [index, *(marks if not marks or marks[0] > index else marks[::-1])]
            self.boxes[marks] = self.boxes[index, [2, 1, 2, 3]]
        return found


@cache
def _kind(code: int) -> str:
    return unicodedata.bidirectional(chr(min(code, sys.maxunicode)))


def _kinds(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.str_]:
    """Return the class of each character by its bidirectional category."""
    known, places = np.unique(codes, return_inverse=True)
    return np.array([_KINDS.get(_kind(code), "o") for code in known.tolist()], "U1")[places]


def _mirrored(codes: npt.NDArray[np.uint32], lines: list[tuple[list[int], bool]]) -> npt.NDArray[np.uint32]:
    """Return code points with brackets swapped where that pairs them.

    Args:
        codes: Code points.
        lines: For each line, the positions of its brackets in order, and whether it runs from right to left.
    """
    found = codes.copy()
    undecided: list[int] = []
    for places, runs_left in lines:
        given = codes[places].tolist()
        swapped = [_MIRRORED[code] for code in given]
        in_turn = [min(pair) if at % 2 == 0 else max(pair) for at, pair in enumerate(zip(given, swapped, strict=True))]
        if runs_left and _unpaired(given) == _unpaired(swapped):
            undecided += places
        else:
            found[places] = min((given, swapped, in_turn) if runs_left else (given, in_turn), key=_unpaired)
    given = codes[undecided].tolist()
    swapped = [_MIRRORED[code] for code in given]
    found[undecided] = min(given, swapped, key=_unpaired)
    return found


def _unpaired(codes: list[int]) -> int:
    """Return the number of unpaired brackets."""
    single, is_open = 0, list[int]()
    for code in codes:
        if code in _OPENING:
            is_open.append(code)
        elif is_open and is_open[-1] == _MIRRORED[code]:
            is_open.pop()
        else:
            single += 1
    return single + len(is_open)
