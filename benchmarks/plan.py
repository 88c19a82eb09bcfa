"""Plan for more sentences than fit on this machine: what ingest and queries take in PostgreSQL, from measured parts.

    python -m benchmarks.plan --sentences 1e7 1e8 1e9 --cores 16 --memory 256 --embed-rate 10000
    python -m benchmarks.plan --sentences 4.8e6 --chunks 1.1e6

Each part (splitting, embedding, loading, building the index, searching, fetching) was measured at some sizes by
``python -m benchmarks.postgres --json FILE``, by default in ``benchmarks/measured/postgres.json``. The plan says what
they come to at other sizes on given hardware, and how far it is off at a measured size if that is left out. Give
``--measured FILE`` for what you measured on a machine like yours.

The last rows are of a `FaissStore` on one core, from ``benchmarks/measured/scale.json``, where it is within reach.
With ``--chunks``, the plan adds what a search among so many chunks takes, to tell what sentences add.
"""

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.plan_model import (
    MEASURED_BUFFERS_GIB,
    EmbeddedParts,
    Growth,
    Hardware,
    Part,
    Parts,
    Plan,
    make_plan,
    plain_slow_ms,
)
from benchmarks.results import Results, make_parser

MEASURED = Path(__file__).parent / "measured"

WINDOWS = "windows, window = 'auto'"
PLAIN = "SQL alone, 10 rows, ef_search 40"
_PARTS: dict[str, tuple[str, str, Growth]] = {
    "split": ("split", "µs", "constant"),
    "embed": ("embed, CPU", "µs", "constant"),
    "load": ("load, CPU", "µs", "constant"),
    "build": ("index build, CPU", "µs", "power"),
    "table": ("table", "B", "constant"),
    "vectors": ("vector index", "B", "constant"),
    "others": ("other indexes", "B", "constant"),
    "pages": ("search: pages", "", "power"),
    "search": ("search, again: median of CPU", "ms", "power"),
    "slow_search": ("search, again: p95 of CPU", "ms", "power"),
    "first_search": ("search: median of CPU", "ms", "power"),
    "fetch": ("fetch: median of CPU", "ms", "power"),
    "query": (f"{WINDOWS}: median of CPU", "ms", "power"),
    "slow_query": (f"{WINDOWS}: p95 of CPU", "ms", "power"),
    "server": (f"{WINDOWS}: median of the server's CPU", "ms", "power"),
    "plain": (f"{PLAIN}: p95 of CPU", "ms", "power"),
    "trips": (f"{WINDOWS}: round trips", "", "constant"),
    "plain_trips": ("SQL alone, 50 rows: round trips", "", "constant"),
}
"""The figure of each part, its unit, and its growth."""

_EMBEDDED: dict[str, tuple[str, str, Growth]] = {
    "ingest": ("ingest", "µs", "constant"),
    "memory": ("memory", "B", "constant"),
    "disk": ("disk", "B", "constant"),
    "slow_query": ("whole query, slowest twentieth from", "ms", "linear"),
}
MOST_EMBEDDED = 2e7
"""The most sentences for which a `FaissStore` is planned."""

_TITLES = {
    "split": "split, CPU of a sentence",
    "embed": "embed it with all-MiniLM-L6-v2, CPU",
    "load": "load it, one writer, CPU",
    "build": "its part of the index, CPU",
    "table": "its row",
    "vectors": "its place in the vector index",
    "pages": "pages that a search reads",
    "search": "search 200 rows, in the database's own memory, CPU",
    "slow_search": "95 % of these searches",
    "first_search": "search 200 rows as they come, CPU",
    "fetch": "fetch the sentences around, CPU",
    "server": "the server's share of a query, CPU",
    "plain": "95 % of searches for 10 chunks, CPU",
}
"""The parts that are shown."""


def main() -> None:
    """Read the command line, and print the plan."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=_number, nargs="+", default=[1e7, 1e8, 1e9], metavar="N")
    parser.add_argument("--chunks", type=_number, metavar="N", help="compare with a search among so many chunks")
    parser.add_argument("--dimension", type=int, default=384, help="numbers of a vector (default: %(default)s)")
    parser.add_argument("--cores", type=int, default=16, help="of the database (default: %(default)s)")
    parser.add_argument("--memory", type=float, default=64, help="of the database, GiB (default: %(default)s)")
    parser.add_argument("--buffers", type=float, default=16, help="its shared_buffers, GiB (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=16, help="cores that split and embed (default: %(default)s)")
    parser.add_argument("--embed-rate", type=float, help="sentences a second of all GPUs (default: embed on --workers)")
    parser.add_argument("--round-trip", type=float, default=0.5, help="to the database, ms (default: %(default)s)")
    parser.add_argument("--read", type=float, default=0.1, help="a page from its disk, ms (default: %(default)s)")
    parser.add_argument("--disk", type=float, default=500, help="MB a second it writes (default: %(default)s)")
    parser.add_argument("--speed", type=float, default=1, help="of a core, to that measured (default: %(default)s)")
    parser.add_argument("--measured", type=Path, default=MEASURED / "postgres.json", help="figures of the parts")
    options = parser.parse_args()
    parts, embedded, results = read_parts(options.measured), read_embedded(), Results("plan", options)
    hardware = hardware_of(options)
    plans = [make_plan(parts, hardware, each, options.dimension) for each in options.sentences]
    print(plan_table(plans, parts, embedded), end="\n\n")
    for plan in plans:
        for name, value in vars(plan).items():
            results.add(f"{plan.sentences:.0f}: {name}", value, name.rpartition("_")[2])
        for told in warnings(plan, hardware):
            print(told, end="\n\n")
    if options.chunks:
        print(compared(parts, hardware, options.chunks, plans), end="\n\n")
    print(parts_table(parts), end="\n\n")
    print(check_table(parts))
    for size in sizes(parts):
        results.add(f"{size}: predicted without it, to measured", checked(parts, size)["95 % of queries"])
    results.save()


def hardware_of(options: argparse.Namespace) -> Hardware:
    """The hardware that a command line describes."""
    database = options.cores, options.memory, options.buffers
    others = options.workers, options.embed_rate, options.round_trip, options.read, options.disk, options.speed
    return Hardware(*database, *others)


def read_parts(path: Path) -> Parts:
    """Read the parts from the figures of `benchmarks.postgres`."""
    return Parts(**_read(path, _PARTS))


def read_embedded(path: Path = MEASURED / "scale.json") -> EmbeddedParts:
    """Read the parts of a `FaissStore` from the figures of `benchmarks.scale`."""
    found = _read(path, _EMBEDDED)
    # Where few vectors are compared exactly, a sentence takes more memory and disk.
    return EmbeddedParts(
        **{
            field: replace(part, points={size: part.points[size] for size in sorted(part.points)[1:]})
            for field, part in found.items()
        }
    )


def _read(path: Path, wanted: Mapping[str, tuple[str, str, Growth]]) -> dict[str, Part]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    figures = {each["name"]: float(each["value"]) for each in read["results"]}
    measured = [int(each) for each in read["parameters"]["sentences"]]

    def points(name: str) -> dict[int, float]:
        names = {size: f"synthetic, {size}: {name}" for size in measured}
        found = {size: figures[each] for size, each in names.items() if each in figures}
        return found or {measured[0]: figures[name]}

    return {field: Part(name, unit, growth, points(name)) for field, (name, unit, growth) in wanted.items()}


def sizes(parts: Parts) -> list[int]:
    """The numbers of sentences that were measured."""
    return sorted(parts.query.points)


def plan_table(plans: Sequence[Plan], parts: Parts, embedded: EmbeddedParts) -> str:
    """A table of plans, beside each other."""
    rows: list[tuple[str, Callable[[Plan], str]]] = [
        ("split", lambda plan: spent(plan.split_s)),
        ("embed", lambda plan: spent(plan.embed_s)),
        ("load, meanwhile", lambda plan: spent(plan.load_s)),
        ("build the index", lambda plan: spent(plan.build_s)),
        ("ingest, all of it", lambda plan: spent(plan.ingest_s)),
        ("memory to build the index", lambda plan: f"{plan.build_gib:,.0f} GiB"),
        ("table and indexes", lambda plan: f"{plan.disk_gib:,.0f} GiB"),
        ("share of a search's pages not in memory", lambda plan: f"{plan.missing:.0%}"),
        ("query: search", lambda plan: f"{plan.search_ms:.1f} ms"),
        ("query: fetch", lambda plan: f"{plan.fetch_ms:.1f} ms"),
        ("query: ranking and windows", lambda plan: f"{plan.rest_ms:.1f} ms"),
        ("query: waiting for network and disk", lambda plan: f"{plan.wait_ms:,.1f} ms"),
        ("query, half take at most", lambda plan: f"{plan.median_ms:,.1f} ms"),
        ("query, 95 % take at most", lambda plan: f"{plan.slow_ms:,.1f} ms"),
        ("queries a second", lambda plan: "" if plan.missing else f"{plan.queries_a_second:,.0f}"),
        ("beyond the largest size that was measured", lambda plan: beyond(plan, parts)),
    ]
    held = {
        "`FaissStore`, 95 % of queries take at most": lambda n: f"{embedded.slow_query.at(n):,.0f} ms",
        "`FaissStore`, memory": lambda n: f"{n * embedded.memory.at(n) / 2**30:,.1f} GiB",
        "`FaissStore`, disk": lambda n: f"{n * embedded.disk.at(n) / 2**30:,.0f} GiB",
    }
    rows += [(title, partial(_within_reach, shown)) for title, shown in held.items()]
    head = ["", *(f"{plan.sentences:,.0f}" for plan in plans)]
    return table(head, [[title, *map(shown, plans)] for title, shown in rows])


def compared(parts: Parts, hardware: Hardware, chunks: float, plans: Sequence[Plan]) -> str:
    """A table of what sentences add to a search among chunks."""
    before = plain_slow_ms(parts, hardware, chunks)
    rows = [[f"search among {chunks:,.0f} chunks, 95 % take at most", f"{before:.1f} ms", ""]]
    rows += [
        [f"windows of {plan.sentences:,.0f} sentences", f"{plan.slow_ms:.1f} ms", f"+{plan.slow_ms - before:.1f} ms"]
        for plan in plans
    ]
    return table(["", "", "added"], rows)


def parts_table(parts: Parts) -> str:
    """A table of the parts: what was measured, how it grows, and how far what the others say is off."""
    rows = []
    for field, title in _TITLES.items():
        part: Part = getattr(parts, field)
        values = [f"{part.points[size]:,.1f} {part.unit}" if size in part.points else "" for size in sizes(parts)]
        off = [percent(part.missed(size)) for size in sorted(part.points)] if len(part.points) > 1 else []
        rows.append([title, *values, part.growth, ", ".join(off)])
    head = ["", *(f"{size:,}" for size in sizes(parts)), "growth", "off, if a size is left out"]
    return table(head, rows)


def check_table(parts: Parts) -> str:
    """A table of whole runs: what was measured at a size, and what the parts at the other sizes say."""
    rows = []
    for size in sizes(parts):
        off = checked(parts, size)
        rows.append([f"{size:,}", *map(percent, off.values())])
    return table(["left out", *checked(parts, sizes(parts)[0])], rows)


def checked(parts: Parts, size: int) -> dict[str, float]:
    """How far the plan made of the other sizes is off at a size, for whole runs on the machine that was measured."""
    machine = Hardware(
        cores=1, memory_gib=math.inf, buffers_gib=MEASURED_BUFFERS_GIB, workers=1, round_trip_ms=0, disk_mb=math.inf
    )
    plan = make_plan(parts.without(size), machine, size)
    ingest = size * (parts.load.points[size] + parts.build.points[size]) / 1e6
    return {
        "loading and building": (plan.load_s + plan.build_s) / ingest - 1,
        "table and indexes": plan.disk_gib * 2**30 / (size * _bytes(parts, size)) - 1,
        "half of queries": plan.median_ms / parts.query.points[size] - 1,
        "95 % of queries": plan.slow_ms / parts.slow_query.points[size] - 1,
    }


def warnings(plan: Plan, hardware: Hardware) -> list[str]:
    """Return the warnings that the reader of a plan needs."""
    told = []
    if plan.build_gib > hardware.memory_gib:
        told.append(
            f"{plan.sentences:,.0f}: the index is larger than the memory while it is built, which takes far longer."
        )
    if plan.missing:
        told.append(f"{plan.sentences:,.0f}: reading from the disk isn't measured, but worked out from --read.")
    return told


def beyond(plan: Plan, parts: Parts) -> str:
    """How far a plan is beyond what was measured."""
    times = plan.sentences / max(sizes(parts))
    return f"{times:,.0f} times" if times >= 1.5 else "no"


def spent(seconds: float) -> str:
    """A time as it is read."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.0f} s"


def percent(share: float) -> str:
    """A share with its sign."""
    return f"{share:+.0%}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def _within_reach(shown: Callable[[float], str], plan: Plan) -> str:
    return shown(plan.sentences) if plan.sentences <= MOST_EMBEDDED else ""


def _bytes(parts: Parts, size: int) -> float:
    return sum(part.points[size] for part in (parts.table, parts.vectors, parts.others))


def _number(text: str) -> float:
    value = float(text)
    if not 1_000 <= value <= 1e12:
        raise argparse.ArgumentTypeError(f"{text} isn't a number from 1,000 to 1e12")
    return value


if __name__ == "__main__":
    main()
