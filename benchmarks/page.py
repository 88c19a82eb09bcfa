"""Write the measured tables of the benchmark pages, and their plot, from the JSON results in ``benchmarks/measured``.

    python -m benchmarks.page [--measure NAME ...] [--data DIR]

Each table stands on a page of ``docs/benchmarks``, or in ``docs/how-to/plan.md``, between
``<!-- measured: NAME -->`` and ``<!-- end of NAME -->``; a test compares. With ``--measure``, the figures of some
tables, or of ``all``, are measured anew first, which takes hours on an idle machine. ``scale-real`` and ``settings``
need ``--data``; see `benchmarks.real_vectors`.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.page_postgres import PLAN_TABLES, postgres_table
from benchmarks.peers import PEERS
from benchmarks.plot import Line, draw_plot
from benchmarks.settings import DEFAULTS, VARIANTS, WAYS
from langchain_sentence_window.evaluation.measurement import BUDGETS

ROOT = Path(__file__).parent.parent
MEASURED = Path(__file__).parent / "measured"
FOLDER, PLOT = ROOT / "docs" / "benchmarks", ROOT / "docs" / "images" / "scale.svg"
PLAN_PAGE = ROOT / "docs" / "how-to" / "plan.md"

SOURCES = {
    "scale": ["scale"],
    "scale-large": ["scale", "--sentences", "10000000"],
    "scale-real": ["scale", "--only-data", "--own-size", "--sentences", "100000"],
    "scale-exact": ["scale", "--index", "exact"],
    "side-by-side": ["side_by_side"],
    "side-by-side-large": ["side_by_side", "--sentences", "1000000"],
    "concurrency": ["concurrency"],
    "concurrency-large": ["concurrency", "--sentences", "1000000"],
    "torture": ["torture"],
    "postgres": ["postgres"],
    "stalls": ["stalls"],
    "ray-ingest": ["ray_ingest"],
    "settings": ["settings"],
}
"""The benchmark that measures each table, and its arguments."""

NEEDS_DATA: dict[str, Callable[[str], list[str]]] = {
    "scale-real": lambda folder: ["--data", folder],
    "settings": lambda folder: [folder],
}
"""The tables that are measured on collections of one's own, and the arguments that name their folder."""

COLLECTIONS = {
    "chroma": "Chroma's chunking benchmark",
    "doc2dial": "Doc2Dial",
    "squad": "SQuAD",
    "anthropic-docs": "product documentation, whose evidence is whole sections",
}
"""The names of collections on the page, by those of their folders. Others keep theirs."""

ROWS: dict[str, tuple[str, str, int, float]] = {
    "dense search, 50 sentences with texts": ("dense search", "ms", 1, 1),
    "recall of these": ("recall", "", 4, 1),
    "the same, where half of the sentences match a filter": ("dense search, filter of half", "ms", 1, 1),
    "recall there": ("recall, filter of half", "", 4, 1),
    "the same, where 5 % match": ("dense search, filter of 5 %", "ms", 1, 1),
    "recall, where 5 % match": ("recall, filter of 5 %", "", 4, 1),
    "search by words, 200 sentences": ("lexical search, k = 200", "ms", 1, 1),
    "whole query of the retriever": ("whole query", "ms", 1, 1),
    "anonymous memory, a sentence": ("memory", "bytes", 0, 1),
    "disk, a sentence": ("disk", "bytes", 0, 1),
    "disk, compared with text + half-precision vector": ("disk, to text and half-precision vector", "", 2, 1),
    "open and search once": ("open and first search", "s", 2, 1),
    "ingest without embedding, a sentence": ("ingest", "µs", 0, 1),
    "replace a document of 20 sentences": ("replace a document", "ms", 1, 1),
    "delete one": ("delete a document", "ms", 1, 1),
    "raw FAISS, 100,000 vectors, in the same process": ("yardstick: raw FAISS, 100000 vectors", "ms", 1, 1),
}
"""Rows of the table of sizes: the name of the figure, its unit, decimals, and what to multiply it with."""


@dataclass(frozen=True)
class Measured:
    """The figures of a file, by name.

    Attributes:
        figures: Name and value.
        machine: What it was measured on.
        date: The day.
    """

    figures: Mapping[str, float]
    machine: str
    date: str

    @classmethod
    def read(cls, name: str) -> "Measured | None":
        """Read a file; ``None`` if there is none."""
        path = MEASURED / f"{name}.json"
        if not path.exists():
            return None
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls({each["name"]: each["value"] for each in read["results"]}, read["machine"], read["date"])

    def sizes(self, corpus: str) -> list[int]:
        """Return the numbers of sentences that were measured, in order."""
        found = {re.match(rf"{corpus}, (\d+): ", name) for name in self.figures}
        return sorted({int(each[1]) for each in found if each})

    @property
    def source(self) -> str:
        """The machine and the day, as a sentence."""
        return f"Measured on {self.machine}, {self.date}."


def main() -> None:
    """Measure what was asked for, and write the page and the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs="+", choices=[*SOURCES, "all"], default=[], metavar="NAME")
    parser.add_argument("--data", help="collections of your own, for scale-real and settings")
    options = parser.parse_args()
    for name in SOURCES if "all" in options.measure else options.measure:
        command = [sys.executable, "-m", f"benchmarks.{SOURCES[name][0]}", *SOURCES[name][1:]]
        if name in NEEDS_DATA:
            if not options.data:
                print(f"{name}: left out, as it needs --data")
                continue
            command += NEEDS_DATA[name](options.data)
        subprocess.run([*command, "--json", str(MEASURED / f"{name}.json")], cwd=ROOT, check=True)
    for page, tables in PAGES.items():
        page.write_text(with_tables(page.read_text(encoding="utf-8"), tables), encoding="utf-8", newline="\n")
    if plot := draw_scale():
        PLOT.write_text(plot, encoding="utf-8", newline="\n")


def with_tables(page: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with the tables as the files have them; a table without a file stays."""
    for name, make in tables.items():
        table = make()
        if table:
            start, end = f"<!-- measured: {name} -->", f"<!-- end of {name} -->"
            before, _, rest = page.partition(start)
            _, found, after = rest.partition(end)
            if not found:
                raise ValueError(f"the page has no {start} … {end}")
            page = f"{before}{start}\n\n{table}\n\n{end}{after}"
    return page


def scale_table(name: str, corpus: str) -> str:
    """The table of sizes of one corpus."""
    measured = Measured.read(name)
    if measured is None:
        return ""
    sizes = measured.sizes(corpus)
    rows = []
    for title, (figure, unit, decimals, factor) in ROWS.items():
        values = [measured.figures.get(f"{corpus}, {size}: {figure}") for size in sizes]
        if any(value is not None for value in values):
            rows.append([title, *(shown(value, unit, decimals, factor) for value in values)])
    return table(["", *(f"{size:,}" for size in sizes)], rows) + "\n\n" + measured.source


def side_by_side(name: str) -> str:
    """The table of stores; each with the settings of its search that were tried."""
    measured = Measured.read(name)
    if measured is None:
        return ""
    head = ["store", "search", "ms", "recall", "memory, B", "disk, B", "ingest, µs", "delete, ms", "open, s"]
    rows = []
    for peer, kind in PEERS.items():
        if f"{peer}: ingest" not in measured.figures:
            continue
        once = [
            shown(measured.figures.get(f"{peer}: {figure}"), "", decimals)
            for figure, decimals in (
                ("memory", 0),
                ("disk", 0),
                ("ingest", 0),
                ("delete a document", 1),
                ("open and first search", 2),
            )
        ]
        tried = [effort for effort in kind.EFFORTS if f"{peer}: search, {effort}" in measured.figures]
        for number, effort in enumerate(tried):
            time, recall = (measured.figures.get(f"{peer}: {what}, {effort}") for what in ("search", "recall"))
            cells = [shown(time, "", 1), shown(recall, "", 4)]
            told = "" if effort == "default" else effort
            rows.append([peer if not number else "", told, *cells, *(once if not number else [""] * len(once))])
    return table(head, rows) + "\n\n" + measured.source


def concurrency(name: str) -> str:
    """The table of queries at once."""
    measured = Measured.read(name)
    if measured is None:
        return ""
    ends = ", to 1 thread"
    rows = []
    for figure, value in measured.figures.items():
        if figure.endswith(ends) and ": cost" not in figure:
            way = figure.removesuffix(ends)
            rows.append([way, shown(value, "", 2), shown(measured.figures[f"{way}: cost{ends}"], "", 2)])
    return table(["", "queries a second, to one thread", "CPU a query, to one thread"], rows) + "\n\n" + measured.source


def torture() -> str:
    """The table of what was done to stores, and of what came of it."""
    measured = Measured.read("torture")
    if measured is None:
        return ""
    told: dict[str, list[str]] = {}
    for name, value in measured.figures.items():
        what, _, count = name.partition(": ")
        if value or count == "failures":
            told.setdefault(what, []).append(f"{value:,.0f} {count}")
    rows = [[f"`{what}`" if "vectors" in what else what, "; ".join(counts)] for what, counts in told.items()]
    return table(["", ""], rows) + "\n\n" + measured.source


def postgres() -> str:
    """The table of a PostgreSQL that was loaded in bulk, and of queries beside plain SQL."""
    measured = Measured.read("postgres")
    if measured is None:
        return ""
    return postgres_table(measured.figures, measured.sizes("synthetic")) + "\n\n" + measured.source


def stalls() -> str:
    """The table of how long an event loop stands still."""
    measured = Measured.read("stalls")
    if measured is None:
        return ""
    figures = ("longest stall", "longest stall, median of rounds", "longest turn of the loop, CPU")
    stores = [name.removesuffix(f": {figures[0]}") for name in measured.figures if name.endswith(f": {figures[0]}")]
    rows = [[store, *(shown(measured.figures[f"{store}: {each}"], "ms", 0) for each in figures)] for store in stores]
    return table(["", *figures], rows) + "\n\n" + measured.source


def ray_ingest() -> str:
    """The table of an ingest by workers: its throughput, what differs, and what is wrong after kills."""
    measured = Measured.read("ray-ingest")
    if measured is None:
        return ""
    rows = []
    for name, value in measured.figures.items():
        what = name.removeprefix("speed, ").removeprefix("same, ")
        is_ratio = " / " in what
        unit = "sentences a second" if name.startswith("speed") and not is_ratio else ""
        rows.append([what.replace(" / ", ", compared with "), shown(value, unit, 2 if is_ratio else 0)])
    return table(["", ""], rows) + "\n\n" + measured.source


def settings() -> str:
    """The table of recall by setting."""
    measured = Measured.read("settings")
    if measured is None:
        return ""
    counted = ": questions"
    names = [name.removesuffix(counted) for name in measured.figures if name.endswith(counted)]
    collections = [
        *(name for name in COLLECTIONS if name in names),
        *(name for name in names if name not in COLLECTIONS),
    ]
    rows = [["questions", "", *(f"{measured.figures[name + counted]:,.0f}" for name in collections)]]
    for variant in VARIANTS:
        for way in WAYS:
            cells = [
                " ".join(
                    shown(measured.figures.get(f"{name}: {variant}, {way}, {budget}"), "", 1) for budget in BUDGETS
                )
                for name in collections
            ]
            title = variant if variant == DEFAULTS else f"`{variant}`"
            rows += [["" if way != WAYS[0] else title, way, *cells]] if any(map(str.strip, cells)) else []
    head = ["", "", *(COLLECTIONS.get(name, name) for name in collections)]
    return table(head, rows) + "\n\n" + measured.source


TABLES: dict[str, Callable[[], str]] = {
    "scale": lambda: scale_table("scale", "synthetic"),
    "scale-large": lambda: scale_table("scale-large", "synthetic"),
    "scale-real": lambda: scale_table("scale-real", "real"),
    "scale-exact": lambda: scale_table("scale-exact", "synthetic"),
    "side-by-side": lambda: side_by_side("side-by-side"),
    "side-by-side-large": lambda: side_by_side("side-by-side-large"),
    "concurrency": lambda: concurrency("concurrency"),
    "concurrency-large": lambda: concurrency("concurrency-large"),
    "torture": torture,
    "postgres": postgres,
    "stalls": stalls,
    "ray-ingest": ray_ingest,
    "settings": settings,
}
"""What makes each table of the pages; it returns nothing if nothing was measured."""

PLACES = {
    "recall": ["settings"],
    "reliability": ["torture"],
    "speed-and-size": [
        "scale",
        "scale-large",
        "scale-real",
        "scale-exact",
        "concurrency",
        "concurrency-large",
        "stalls",
    ],
    "stores": ["side-by-side", "side-by-side-large", "ray-ingest", "postgres"],
}
"""The pages of benchmarks, and the tables of each."""

PAGES = {FOLDER / f"{name}.md": {each: TABLES[each] for each in tables} for name, tables in PLACES.items()}
PAGES[PLAN_PAGE] = PLAN_TABLES


def draw_scale() -> str:
    """Draw time and recall by the number of sentences; nothing if nothing was measured."""
    measured, large, exact, real = (Measured.read(f"scale{name}") for name in ("", "-large", "-exact", "-real"))
    if measured is None:
        return ""

    def of_all_sizes(figure: str) -> list[tuple[float, float]]:
        return [point for each in (measured, large) if each for point in points(each, "synthetic", figure)]

    times = [Line(name, of_all_sizes(name)) for name in ("whole query", "dense search")]
    recalls = [Line("made-up vectors", of_all_sizes("recall"))]
    if exact:
        times.append(Line("dense search, exact", points(exact, "synthetic", "dense search")))
    if real:
        recalls.append(Line("real vectors", points(real, "real", "recall")))
    return draw_plot(times, recalls)


def points(measured: Measured, corpus: str, figure: str) -> list[tuple[float, float]]:
    """Return the number of sentences and the figure, of each size that has one."""
    values = {size: measured.figures.get(f"{corpus}, {size}: {figure}") for size in measured.sizes(corpus)}
    return [(size, value) for size, value in values.items() if value is not None]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def shown(value: float | None, unit: str, decimals: int, factor: float = 1) -> str:
    """Return a figure as it is written; nothing if it wasn't measured."""
    if value is None:
        return ""
    scaled = value * factor
    if decimals == 1 and abs(scaled) < 1:
        decimals = 2
    text = f"{scaled:,.{decimals}f}"
    return f"{text} {unit}".strip()


if __name__ == "__main__":
    main()
