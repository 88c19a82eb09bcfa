"""Parts that the benchmarks share: a command line with ``--json``, and figures that are printed and kept.

The file holds the versions, the machine in words, the day, the parameters, and a list of ``name``, ``value`` and
``unit``::

    results = Results("splitting", options)
    results.note("ingest", 31.2, "us a sentence")
    results.save()
"""

import argparse
import json
import os
import platform
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    *("langchain-sentence-window", "langchain-core", "faiss-cpu", "tantivy", "numpy"),
    *("torch", "sentence-transformers"),
)
_NOT_A_PARAMETER = {"json", "child", "path"}


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Make a parser of a benchmark's command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures to this file, too")
    return parser


@dataclass
class Results:
    """The figures of one run.

    Attributes:
        benchmark: The script's name.
        options: What its command line said.
        figures: Name, value and unit of each figure.
    """

    benchmark: str
    options: argparse.Namespace
    figures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, value: float, unit: str = "") -> None:
        """Keep a figure."""
        self.figures.append({"name": name, "value": round(float(value), 6), "unit": unit})

    def note(self, name: str, value: float, unit: str = "", most: float | None = None) -> None:
        """Keep a figure, and print it with its goal."""
        self.add(name, value, unit)
        goal = "" if most is None else f"   (goal: at most {most:g}; {'met' if value <= most else 'MISSED'})"
        print(f"{name:64} {value:12.{3 if value >= 10 else 5}f} {unit}{goal}", flush=True)

    def save(self) -> None:
        """Write the file that the command line asked for, if it did."""
        if self.options.json:
            text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1)
            self.options.json.write_text(text + "\n", encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, and how they came about."""
        parameters = {name: value for name, value in vars(self.options).items() if name not in _NOT_A_PARAMETER}
        return {
            "benchmark": self.benchmark,
            "date": datetime.now(UTC).date().isoformat(),
            "machine": machine(),
            "versions": versions(),
            "parameters": json.loads(json.dumps(parameters, default=_name)),
            "results": self.figures,
        }


def _name(path: Path) -> str:
    """Return the last part of a path, as the folders of a machine concern nobody else."""
    return path.name


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that are measured."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """Describe this machine: processor, cores, memory and system."""
    parts = [_processor(), f"{os.cpu_count()} cores"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{memory / 2**30:.0f} GiB of memory")
    return ", ".join([*parts, f"{platform.system()} on {platform.machine()}"])


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8", errors="replace").splitlines() if sys.platform == "linux" else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or "an unknown processor"
