"""Boxes around some characters of a page, one or more for each line.

Characters that follow each other on a line share a box; a wide gap or a new line begins another. So does text that the
file draws before the text on its left: `locate` promises boxes in reading order. Boxes are as high as their font, so
that they look even. Where a box would touch any other character, as in tight lines, it is trimmed; if trimming isn't
enough, the line gets several boxes.
"""

import numpy as np

from .pdfium import Boxes, Indexes, Mask

MIN_SHARED_HEIGHT = 0.4
"""The share of the lower of two neighbors' heights that must overlap on one line; superscripts have at least this."""

MAX_GAP = 6.0
"""The widest gap between neighbors on a line, in heights. Other characters in a narrower gap separate them too."""

_USUAL_HEIGHT = 40.0
"""Points; a box gives way to higher characters, such as those of a stamp, last."""

_LONG = 500
"""Characters; a longer line that needs several boxes is cut in half, a shorter one at its widest gap."""

_NEAR = 0.01
"""Points; nearer boxes may touch, as PDFium uses single precision."""

_CLEARANCE = 0.02
"""Points between a trimmed box and the character for which it was trimmed."""


def line_boxes(chosen: Indexes, tight: Boxes, loose: Boxes, is_ink: Mask) -> Boxes:
    """Return boxes around chosen characters of a page.

    Args:
        chosen: Indexes of the characters, each once, in the order of the text.
        tight: ``(n, 4)``, around the ink of each character of the page.
        loose: ``(len(chosen), 4)``, around each chosen character, as high as its font.
        is_ink: ``(n,)``, whether a character of the page is visible; boxes avoid visible characters.

    Returns:
        ``(m, 4)``, a box or more for each line. The center of each chosen character that has a size is in one of them.
    """
    own = np.where(_is_empty(tight[chosen])[:, None], loose, tight[chosen])  # around the ink if there is any
    has_size = np.isfinite(own).all(axis=1) & np.isfinite(loose).all(axis=1) & ~_is_empty(own)
    chosen, own, loose = chosen[has_size], own[has_size], loose[has_size]
    if not len(chosen):
        return np.zeros((0, 4))
    has_ink = is_ink & np.isfinite(tight).all(axis=1) & ~_is_empty(tight)
    swap = [1, 0, 3, 2] if _runs_down(loose) else [0, 1, 2, 3]
    own, loose, tight = own[:, swap], loose[:, swap], tight[:, swap]
    neighbors = np.flatnonzero(has_ink)
    tops, heights = tight[neighbors, 1], tight[neighbors, 3] - tight[neighbors, 1]
    neighbors = neighbors[np.lexsort((tops, heights > _USUAL_HEIGHT))]
    boxes: list[Boxes] = []
    for run in np.split(np.arange(len(chosen)), _breaks(chosen, loose)):
        others = tight[neighbors[~np.isin(neighbors, chosen[run])]]
        boxes += _fit(own[run], loose[run], others)
    return np.stack(boxes)[:, swap]


def _is_empty(boxes: Boxes) -> Mask:
    empty: Mask = (boxes[:, 0] >= boxes[:, 2]) | (boxes[:, 1] >= boxes[:, 3])
    return empty


def _runs_down(loose: Boxes) -> bool:
    """Return whether the text runs up or down the page."""
    steps = np.abs(np.diff((loose[:, :2] + loose[:, 2:]) / 2, axis=0))
    return len(steps) > 0 and bool(np.median(steps[:, 0]) < np.median(steps[:, 1]))


def _breaks(chosen: Indexes, loose: Boxes) -> Indexes:
    """Return the positions of characters that don't follow the previous one on a line or in the file."""
    before, after = loose[:-1], loose[1:]
    heights = np.minimum(before[:, 3] - before[:, 1], after[:, 3] - after[:, 1])
    shared = np.minimum(before[:, 3], after[:, 3]) - np.maximum(before[:, 1], after[:, 1])
    gaps = np.maximum(after[:, 0] - before[:, 2], before[:, 0] - after[:, 2])
    is_beside = (shared >= MIN_SHARED_HEIGHT * heights) & (gaps <= MAX_GAP * heights)
    return np.flatnonzero(~is_beside | (np.diff(chosen) < 0)) + 1


def _around(own: Boxes, loose: Boxes) -> Boxes:
    """Return the box around a run: as wide as its ink, as high as its font."""
    left, right = own[:, 0].min(), own[:, 2].max()
    return np.array([left, min(own[:, 1].min(), loose[:, 1].min()), right, max(own[:, 3].max(), loose[:, 3].max())])


def _touching(box: Boxes, others: Boxes) -> Boxes:
    """Return the boxes that touch or nearly touch a box."""
    near = box + np.array([-_NEAR, -_NEAR, _NEAR, _NEAR])
    x_apart = (others[:, 0] >= near[2]) | (others[:, 2] <= near[0])
    y_apart = (others[:, 1] >= near[3]) | (others[:, 3] <= near[1])
    touching: Boxes = others[~(x_apart | y_apart)]
    return touching


def _fit(own: Boxes, loose: Boxes, others: Boxes) -> list[Boxes]:
    """Return boxes around a run that touch no other characters, except for those printed over the run's own."""
    todo = [(own, loose, others)]
    fitted: list[Boxes] = []
    while todo:
        own, loose, others = todo.pop()
        box = _around(own, loose)
        others = _touching(box, others)
        trimmed = _trimmed(box, own, others)
        if trimmed is not None:
            fitted.append(trimmed)
            continue
        gaps = np.maximum(own[1:, 0] - own[:-1, 2], own[:-1, 0] - own[1:, 2])
        at = len(own) // 2 if len(own) > _LONG else 1 + int(np.argmax(gaps))
        todo += [(own[at:], loose[at:], others), (own[:at], loose[:at], others)]
    return fitted


def _trimmed(box: Boxes, own: Boxes, others: Boxes) -> Boxes | None:
    """Trim a box so that it doesn't touch other characters; ``None`` if centers of its own would be outside then."""
    centers = (own[:, :2] + own[:, 2:]) / 2
    low, high = centers.min(axis=0), centers.max(axis=0)
    box = box.copy()
    for other in others:
        if not len(_touching(box, other[None])):
            continue
        cuts = [(side, other[side + 2] + _CLEARANCE) for side in (0, 1) if other[side + 2] + _CLEARANCE <= low[side]]
        cuts += [(side + 2, other[side] - _CLEARANCE) for side in (0, 1) if other[side] - _CLEARANCE >= high[side]]
        if cuts:
            side, to = min(cuts, key=lambda cut: abs(box[cut[0]] - cut[1]) / (box[cut[0] % 2 + 2] - box[cut[0] % 2]))
            box[side] = to
        elif len(own) > 1 and not _lies_on(other, own, centers):
            return None
    return box


def _lies_on(other: Boxes, own: Boxes, centers: Boxes) -> bool:
    """Return whether a character overlaps one of a run, as if printed twice; no box could separate them."""
    center = (other[:2] + other[2:]) / 2
    is_under = ((own[:, :2] <= center) & (center <= own[:, 2:])).all(axis=1)
    is_over = ((other[:2] <= centers) & (centers <= other[2:])).all(axis=1)
    return bool((is_under | is_over).any())
