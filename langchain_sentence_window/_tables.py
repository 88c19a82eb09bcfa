"""Text tables and the contents of their cells."""

from collections.abc import Mapping, Sequence
from typing import Any


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose first row holds titles; a title of two words takes two lines."""
    titles, *body = rows
    heads = [[title] if i == 0 else title.split(maxsplit=1) for i, title in enumerate(titles)]
    upper = ["" if len(head) == 1 else head[0] for head in heads]
    lower = [head[-1] for head in heads]
    table = [upper, lower, *body]
    wide = [max(len(row[i]) for row in table) for i in range(len(titles))]
    lines = [
        "  ".join(cell.ljust(wide[i]) if i == 0 else cell.rjust(wide[i]) for i, cell in enumerate(row)) for row in table
    ]
    return [line.rstrip() for line in lines if line.strip()]


def named(settings: Mapping[str, Any]) -> str:
    """Return settings with their names, on a line."""
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def milliseconds(seconds: Mapping[str, float]) -> str:
    """Return the time of each stage in milliseconds, on a line."""
    return ", ".join(f"{stage} {1000 * time:.1f} ms" for stage, time in seconds.items())


def ranked(rank: int | None, score: float | None, digits: int) -> str:
    """Return a rank with its score; a dash if either is missing."""
    return "-" if rank is None or score is None else f"{rank} ({score:.{digits}f})"
