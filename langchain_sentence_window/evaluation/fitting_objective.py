"""The objective of a fitted ranking: the share of gold that budgets hold, smoothed, which gives it a gradient.

A piece of gold is read once a window that holds it is. How much is read before is, smoothed, the length of all windows
whose score is higher. So each window counts by how far a score is from another, and not only by which is higher; see
Qin, Liu and Li, "A General Approximation Framework for Direct Optimization of Information Retrieval Measures", 2010
(https://doi.org/10.1007/s10791-009-9124-x).
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.ranking.candidates import Indexes, Numbers

Function = Callable[[Numbers], tuple[float, Numbers]]
"""Returns a value and its gradient."""

BLUR = 0.2
"""The difference of scores at which one window is about three times as likely to be read before another as after it."""

SHARPNESS = 2.5
"""How steeply what is read falls off around a budget, in the logarithm of characters."""

MAX_STEPS = 100
"""Steps of the minimization; it ends earlier if the value hardly falls."""

_FAR = 40.0  # beyond it, the logistic function is 0 or 1
_NEVER = -1e9
_PAIRS = 10
_MIN_FALL = 1e-6


@dataclass(frozen=True, slots=True)
class Stack:
    """The candidates of ``q`` questions with up to ``n`` windows each, and their ``p`` pieces of gold.

    Attributes:
        signals: Of shape ``(q, n, m)``; 0 where a question has fewer windows.
        present: Of shape ``(q, n)``, whether there is a window.
        lengths: Of shape ``(q, n)``, characters of the windows.
        questions: Of shape ``(p,)``, the question of each piece.
        shares: Of shape ``(p,)``, the share of the question's gold that a piece is.
        holders: Of shape ``(p, n)``, the windows that hold a piece; at least one.
    """

    signals: Numbers
    present: npt.NDArray[np.bool_]
    lengths: Numbers
    questions: Indexes
    shares: Numbers
    holders: npt.NDArray[np.bool_]


def smoothed_recall(stack: Stack, weights: Numbers, budgets: Sequence[int]) -> tuple[float, Numbers]:
    """Return the mean recall over questions and budgets, smoothed, and its gradient by the weights.

    Args:
        stack: At least one question.
        weights: A weight for each signal. They should give scores that differ by about 1.
        budgets: Sizes of the context in characters.
    """
    count = len(stack.signals)
    scores = np.where(stack.present, np.einsum("qnm,m->qn", stack.signals, weights), _NEVER)[stack.questions]
    best, shares = _soft_best(np.where(stack.holders, scores, _NEVER))
    lengths = stack.lengths[stack.questions]
    others = stack.present[stack.questions] & ~stack.holders
    before = others / (1 + np.exp(np.clip((best[:, None] - scores) / BLUR, -_FAR, _FAR)))
    read = (lengths * before).sum(axis=1) + (lengths * shares).sum(axis=1) / 2
    within = 1 / (1 + np.exp(SHARPNESS * (np.log(read)[:, None] - np.log(budgets))))
    value = float(stack.shares @ within.mean(axis=1)) / count
    # The own length of the window that is read changes little, and has no part in the gradient.
    slope = -SHARPNESS * (within * (1 - within)).mean(axis=1) / read * stack.shares
    by_other = slope[:, None] * lengths * before * (1 - before) / BLUR
    by_score = by_other - by_other.sum(axis=1, keepdims=True) * shares
    summed = np.zeros(stack.present.shape)
    np.add.at(summed, stack.questions, by_score)
    return value, np.asarray(np.einsum("qn,qnm->m", summed, stack.signals) / count)


def minimize(function: Function, start: Numbers) -> Numbers:
    """Return where a smooth function is low, by limited-memory BFGS with steps that are halved until they help.

    See Nocedal, "Updating Quasi-Newton Matrices with Limited Storage", 1980 (https://doi.org/10.2307/2006193).
    """
    point, (value, gradient) = start, function(start)
    pairs: deque[tuple[Numbers, Numbers]] = deque(maxlen=_PAIRS)
    for _ in range(MAX_STEPS):
        direction = _direction(gradient, pairs)
        slope, step = float(gradient @ direction), 1.0
        while True:
            reached = point - step * direction
            reached_value, reached_gradient = function(reached)
            fall = value - reached_value
            if fall >= 1e-4 * step * slope or step < 1e-6:  # noqa: PLR2004
                break
            step /= 2
        if fall <= 0:
            break
        moved, turned = reached - point, reached_gradient - gradient
        if moved @ turned > 1e-12:  # noqa: PLR2004 - else the curve isn't convex here
            pairs.append((moved, turned))
        point, value, gradient = reached, reached_value, reached_gradient
        if fall < _MIN_FALL:
            break
    return point


def _soft_best(scores: Numbers) -> tuple[Numbers, Numbers]:
    """Return the smoothed highest score of each row, and each score's part in it."""
    highest = scores.max(axis=1, keepdims=True)
    powers = np.exp((scores - highest) / BLUR)
    sums = powers.sum(axis=1, keepdims=True)
    return np.asarray((highest + BLUR * np.log(sums))[:, 0]), np.asarray(powers / sums)


def _direction(gradient: Numbers, pairs: Sequence[tuple[Numbers, Numbers]]) -> Numbers:
    direction, kept = gradient.copy(), []
    for moved, turned in reversed(pairs):
        part = float(moved @ direction) / float(moved @ turned)
        direction -= part * turned
        kept.append(part)
    if pairs:
        moved, turned = pairs[-1]
        direction *= float(moved @ turned) / float(turned @ turned)
    else:
        direction /= max(1.0, float(np.abs(gradient).max()))
    for (moved, turned), part in zip(pairs, reversed(kept), strict=True):
        direction += moved * (part - float(turned @ direction) / float(moved @ turned))
    return direction
