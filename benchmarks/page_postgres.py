"""The tables of pages that are made of what `benchmarks.postgres` measured: its own, and those of plans."""

import json
from collections.abc import Callable, Mapping, Sequence

from benchmarks.plan import (
    MEASURED,
    check_table,
    compared,
    parts_table,
    plan_table,
    read_embedded,
    read_parts,
    table,
)
from benchmarks.plan_model import Hardware, make_plan

FIGURES = MEASURED / "postgres.json"

POSTGRES_ROWS = {
    "load a sentence in bulk, CPU": ("load, CPU", "µs", 0),
    "load a sentence in bulk, by the clock": ("load", "µs", 0),
    "compared with `PGVectorStore`'s own insert, by the clock": (
        "PGVectorStore's own insert, to load",
        "times less",
        0,
    ),
    "build its part of the HNSW index, CPU": ("index build, CPU", "µs", 0),
    "round trips of windows": ("windows, window = 'auto': round trips", "", 1),
    "round trips of SQL alone": ("SQL alone, 50 rows: round trips", "", 1),
}
"""Rows of the table of PostgreSQL: the name of the figure, its unit and decimals."""
POSTGRES_WAYS = {
    "50 rows by SQL alone": "SQL alone, 50 rows",
    "200 rows by SQL alone": "SQL alone, 200 rows",
    "200 rows by the store": "the store's search, 200 rows",
    "windows of `auto`": "windows, window = 'auto'",
    "windows of 2": "windows, window = 2",
}
POSTGRES_ENDS = ("median of CPU", "p95 of CPU", "p95 of CPU, to SQL alone")


def postgres_table(figures: Mapping[str, float], sizes: Sequence[int]) -> str:
    """The table of loading, and of queries beside plain SQL, by the number of sentences."""
    rows = []
    for title, (figure, unit, decimals) in POSTGRES_ROWS.items():
        values = [figures[f"synthetic, {size}: {figure}"] for size in sizes]
        rows.append([title, *(f"{value:,.{decimals}f} {unit}".strip() for value in values)])
    for title, way in POSTGRES_WAYS.items():
        cells = []
        for size in sizes:
            half, slow, ratio = (figures[f"synthetic, {size}: {way}: {end}"] for end in POSTGRES_ENDS)
            cells.append(f"{half:.1f}, {slow:.1f} ms ({ratio:.2f})")
        rows.append([title, *cells])
    return table(["", *(f"{size:,}" for size in sizes)], rows)


def planned(sentences: Sequence[float], hardware: Hardware, chunks: float | None = None) -> str:
    """A table of plans; for a number of chunks, what sentences add to a search among them."""
    if not FIGURES.exists():
        return ""
    parts = read_parts(FIGURES)
    plans = [make_plan(parts, hardware, each) for each in sentences]
    made = plan_table(plans, parts, read_embedded())
    return f"{compared(parts, hardware, chunks, plans)}\n\n{made}" if chunks else made


def measured_parts() -> str:
    """The table of the parts."""
    return parts_table(read_parts(FIGURES)) if FIGURES.exists() else ""


def checks() -> str:
    """The table of how far the model is off."""
    if not FIGURES.exists():
        return ""
    read = json.loads(FIGURES.read_text(encoding="utf-8"))
    return f"{check_table(read_parts(FIGURES))}\n\nMeasured on {read['machine']}, {read['date']}."


PLANNED = [1e7, 1e8, 1e9], Hardware(cores=32, memory_gib=1024, embed_rate=20_000)
EXAMPLE = [4.8e6], Hardware(cores=16, memory_gib=64, workers=16), 1.1e6
PLAN_TABLES: dict[str, Callable[[], str]] = {
    "plan": lambda: planned(*PLANNED),
    "example": lambda: planned(*EXAMPLE),
    "parts": measured_parts,
    "checks": checks,
}
"""What makes each table of the page about planning."""
