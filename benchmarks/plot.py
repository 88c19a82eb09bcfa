"""A plot of time and recall by the number of sentences, as SVG that can be read on light and dark pages."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from docs.drawings import HIT, INK, LINE, SOFT, WINDOW, label, sheet

WIDTH, HEIGHT, TOP, LEFT, BETWEEN = 350, 230, 70, 70, 110
COLORS = (WINDOW, INK, HIT)
_BESIDE = 125
"""Pixels from the name of a line to that of the next."""

Scale = Callable[[float], float]


@dataclass(frozen=True)
class Line:
    """A line of a plot.

    Attributes:
        name: What it shows.
        points: Numbers of sentences, and a figure of each.
    """

    name: str
    points: Sequence[tuple[float, float]]


def draw_plot(times: Sequence[Line], recalls: Sequence[Line]) -> str:
    """Draw milliseconds on the left, both scales logarithmic, and recall on the right."""
    sizes = [x for line in (*times, *recalls) for x, _ in line.points]
    low, high = 10 ** math.floor(math.log10(min(sizes))), 10 ** math.ceil(math.log10(max(sizes)) - 1e-9)
    high = max(high, low * 10)
    values = [y for line in times for _, y in line.points]
    bottom, top = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))
    worst = min(0.99, *(math.floor(y * 200) / 200 for line in recalls for _, y in line.points))
    ticks = [10.0**power for power in range(round(math.log10(bottom)), round(math.log10(top)) + 1)]
    steps = [worst + (1 - worst) * part / 4 for part in range(5)]
    second = LEFT + WIDTH + BETWEEN
    parts = [
        *_frame(LEFT, "milliseconds of CPU a query", _log(low, high, LEFT, LEFT + WIDTH), low, high),
        *_ticks(LEFT, ticks, _log(bottom, top, TOP + HEIGHT, TOP), lambda tick: f"{tick:g}"),
        *_lines(times, _log(low, high, LEFT, LEFT + WIDTH), _log(bottom, top, TOP + HEIGHT, TOP)),
        *_frame(second, "share of the 50 nearest found", _log(low, high, second, second + WIDTH), low, high),
        *_ticks(
            second, steps, _linear(worst, 1, TOP + HEIGHT, TOP), lambda tick: f"{tick:.4f}".rstrip("0").rstrip(".")
        ),
        *_lines(recalls, _log(low, high, second, second + WIDTH), _linear(worst, 1, TOP + HEIGHT, TOP)),
    ]
    return sheet(second + WIDTH + 40, TOP + HEIGHT + 90, parts)


def _log(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (end - start) * (math.log10(value / low) / math.log10(high / low))


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (end - start) * (value - low) / (high - low)


def _frame(left: float, title: str, across: Scale, low: float, high: float) -> list[str]:
    """The title, and a tick for each power of ten of sentences."""
    parts = [label(left, 36, title, bold=True)]
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        x = across(10.0**power)
        parts += [_rule(x, TOP, x, TOP + HEIGHT), label(x, TOP + HEIGHT + 18, f"{10**power:,}", size=11, middle=True)]
    return [*parts, label(left + WIDTH / 2, TOP + HEIGHT + 38, "sentences", color=SOFT, size=12, middle=True)]


def _ticks(left: float, ticks: Sequence[float], up: Scale, written: Callable[[float], str]) -> list[str]:
    parts: list[str] = []
    for tick in ticks:
        y = up(tick)
        parts += [_rule(left, y, left + WIDTH, y), label(left - 46, y + 4, written(tick), size=11)]
    return parts


def _lines(lines: Sequence[Line], across: Scale, up: Scale) -> list[str]:
    parts: list[str] = []
    for number, (line, color) in enumerate(zip(lines, COLORS, strict=False)):
        places = [(across(x), up(y)) for x, y in line.points]
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.5" fill="{color}"/>' for x, y in places]
        x, y = across(min(x for line in lines for x, _ in line.points)) + number * _BESIDE, TOP + HEIGHT + 62
        parts += [f'<rect x="{x:.0f}" y="{y - 7:.0f}" width="14" height="4" fill="{color}"/>']
        parts.append(label(x + 20, y, line.name, color=SOFT, size=12))
    return parts


def _rule(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path d="M{x:.0f} {y:.0f}L{to_x:.0f} {to_y:.0f}" stroke="{LINE}" stroke-width="1"/>'
