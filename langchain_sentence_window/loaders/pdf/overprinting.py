"""Characters that are printed again where they stand already, as some files do for bold type or by mistake."""

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.loaders.pdf.characters import Boxes

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
    x, y = boxes[:, 0].astype(np.float64), boxes[:, 1].astype(np.float64)
    across = np.clip(x * _STEPS, 0, _MAX_STEP).astype(np.int64)
    for shift in (0.0, 0.5):  # what a limit between two rows parts isn't parted by the other limits
        rows = np.clip(y / _ROW + shift, 0, _MAX_STEP).astype(np.int64)
        key = (codes.astype(np.int64) << 2 * _BITS) | (rows << _BITS) | across
        order = np.argsort(key, kind="stable")
        before, after = order[:-1], order[1:]
        far = np.maximum(np.abs(x[after] - x[before]), np.abs(y[after] - y[before]))
        same = (codes[before] == codes[after]) & (far <= MAX_SHIFT * sizes[after]) & (sizes[before] == sizes[after])
        same &= ~((after - before == 1) & in_ligature[after])
        again[np.maximum(before, after)[same]] = True
    for index in np.flatnonzero(in_ligature):
        again[index] = again[index - 1]
    return again
