"""Pages kept between the two readings of a long file: what is the same for many characters is kept once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.loaders.pdf.characters import Boxes as CharacterBoxes
from langchain_sentence_window.loaders.pdf.characters import PageCharacters
from langchain_sentence_window.loaders.pdf.frames import Boxes


@dataclass(frozen=True, slots=True, eq=False)
class PackedPage:
    """A page's characters and ruling lines, in little space.

    Attributes:
        number: The page's number, from 0.
        width: Points of the displayed page from left to right.
        height: Points from top to bottom.
        codes: The code points of its ``n`` characters.
        boxes: Their boxes.
        lengths: Numbers of characters with the same type and origin, one after the other; they add up to ``n``.
        types: For each length: x and y of the origin, size, angle, and 1 or 0 for bold, italic and generated.
        rules: The page's ruling lines.
    """

    number: int
    width: float
    height: float
    codes: npt.NDArray[np.uint32]
    boxes: CharacterBoxes
    lengths: npt.NDArray[np.int64]
    types: npt.NDArray[np.float32]
    rules: Boxes


def pack(page: PageCharacters, rules: Boxes) -> PackedPage:
    """Pack a page's characters and ruling lines; nothing of them is lost."""
    styles = np.stack([page.sizes, page.angles, page.bold, page.italic, page.generated], axis=1).astype(np.float32)
    types = np.concatenate([page.origins, styles], axis=1)
    starts = np.concatenate([[0], np.flatnonzero((types[1:] != types[:-1]).any(axis=1)) + 1])[: len(page)]
    lengths = np.diff([*starts.tolist(), len(page)])
    return PackedPage(page.number, page.width, page.height, page.codes, page.boxes, lengths, types[starts], rules)


def unpack(packed: PackedPage) -> PageCharacters:
    """Return the characters that were packed."""
    types = np.repeat(packed.types, packed.lengths, axis=0)
    return PageCharacters(
        number=packed.number,
        width=packed.width,
        height=packed.height,
        codes=packed.codes,
        boxes=packed.boxes,
        origins=types[:, :2],
        sizes=types[:, 2],
        angles=types[:, 3],
        bold=types[:, 4] > 0,
        italic=types[:, 5] > 0,
        generated=types[:, 6] > 0,
    )
