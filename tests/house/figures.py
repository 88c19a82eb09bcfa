"""The figures of the house: how large the package is, what breaks its shape, and how far a call goes through it.

    python -m tests.house.figures            # prints them beside their limits
    python -m tests.house.figures --lower    # and lowers the limits that aren't reached any more

A limit that must rise is changed in ``limits.json`` by hand, and the commit says why.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from statistics import median

from tests.house.shape import faults
from tests.house.tree import ROOT, modules
from tests.house.walks import Walk

LIMITS = Path(__file__).parent / "limits.json"
MEDIAN = range(180, 351)

Figures = dict[str, int]


@cache
def measured_walks() -> dict[str, Walk]:
    """Return the walks, measured in an interpreter of their own."""
    command = [sys.executable, "-m", "tests.house.walks"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name: Walk(**each) for name, each in json.loads(done.stdout).items()}


def median_lines() -> int:
    """Return the lines of the module in the middle."""
    return int(median(each.lines for each in modules().values()))


def measure(walks: dict[str, Walk], found: dict[str, list[str]]) -> Figures:
    """Return all figures by their names: of the tree, of the faults that were found in it, and of the walks."""
    figures = {
        "modules": len(modules()),
        "lines of the longest module": max(each.lines for each in modules().values()),
        "lines of code": sum(each.code_lines for each in modules().values()),
    }
    figures |= {name: len(each) for name, each in found.items()}
    return figures | {f"{name}: {what}": value for name, each in walks.items() for what, value in each.figures.items()}


def read_limits() -> Figures:
    """Return the most that each figure may be."""
    limits: Figures = json.loads(LIMITS.read_text(encoding="utf-8"))
    return limits


def main() -> None:
    """Print the figures, and lower the limits if asked to."""
    figures, limits = measure(measured_walks(), faults()), read_limits()
    print(f"{'':32} {'today':>8} {'limit':>8}")
    for name, value in figures.items():
        print(f"{name:32} {value:8,} {limits[name]:8,}")
    print(f"{'median lines':32} {median_lines():8,} {MEDIAN.start}–{MEDIAN.stop - 1}")
    if "--lower" in sys.argv[1:]:
        lower = {name: min(value, limits[name]) for name, value in figures.items()}
        LIMITS.write_text(json.dumps(lower, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
