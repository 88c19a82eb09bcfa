"""Measure a store of 10,000 to 10,000,000 sentences: time, recall, memory, disk, opening, ingest and changes.

    python -m benchmarks.scale [--sentences 10000 100000 1000000] [--index KIND] [--data DIR] [--json PATH]

Vectors have 384 numbers, and are made by chance in the shape of real ones; see `benchmarks.streams`. With ``--data``,
those of your own sentences and questions are measured, too, under all-MiniLM-L6-v2: as they are, for their own number,
and blended in pairs beyond it. Texts are made by chance.

What a question costs depends on headings, lists and tables too, so real text is measured first: the pages of this
project's documentation, and each collection of ``--data``; see `benchmarks.real_text`.

Each step runs in a process of its own, on one thread; seconds are of the processor, all threads of the process
together, and medians where a step is repeated. Recall is that of the 50 nearest, against a comparison of all vectors in
single precision. A raw FAISS index of 100,000 vectors is searched in the same process as a yardstick, as the speed of
machines varies. Memory is that of anonymous pages beyond those of a process with an empty store.

Ten million sentences take 20 GB of disk and most of an hour.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import KNOWS_MEMORY, in_child
from benchmarks.real_text import DOCS
from benchmarks.real_vectors import read_vectors
from benchmarks.results import Results, make_parser
from benchmarks.scale_steps import STEPS, Setting, text

GOALS: dict[str, dict[int, float]] = {
    "dense search": {100_000: 5, 1_000_000: 15, 10_000_000: 40},
    "whole query": {100_000: 9, 1_000_000: 30, 10_000_000: 160},
    "memory": {1_000_000: 150, 10_000_000: 150},
    "disk, to text and half-precision vector": {100_000: 1.75, 1_000_000: 1.75, 10_000_000: 1.75},
    "open and first search": {100_000: 0.3, 1_000_000: 1, 10_000_000: 5},
    "ingest": {100_000: 35, 1_000_000: 45, 10_000_000: 120},
    "replace a document": {100_000: 6, 1_000_000: 8, 10_000_000: 15},
    "delete a document": {100_000: 6, 1_000_000: 8, 10_000_000: 15},
}
"""The most that a figure should be, by the number of sentences."""
LEAST_RECALL = {100_000: 0.999, 1_000_000: 0.997, 10_000_000: 0.98}


def main() -> None:
    """Read the command line, and print and write the figures."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--index", default=None, help="the kind of the index; the default is the store's")
    parser.add_argument("--data", type=Path, metavar="DIR", help="collections of your own; see benchmarks.real_vectors")
    parser.add_argument("--only-data", action="store_true", help="leave the made-up vectors out")
    parser.add_argument("--own-size", action="store_true", help="measure --data once more at its own number")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keep the vectors of --data here between runs")
    parser.add_argument("--folder", type=Path, help="where stores are made and removed; the default is temporary")
    parser.add_argument("--steps", default="", help="such as search,opening or text; leave out those not named")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps({**STEPS, "text": text}[options.child](options.path)))
        return
    results = Results("scale", options)
    with tempfile.TemporaryDirectory(prefix="scale", dir=options.folder, ignore_cleanup_errors=True) as folder:
        measure_all(results, options, Path(folder))
    results.save()


def measure_all(results: Results, options: argparse.Namespace, folder: Path) -> None:
    """Measure each corpus at each number of sentences."""
    if not KNOWS_MEMORY:
        print("memory: left out, as only Linux says how much of it is anonymous", file=sys.stderr)
    measure_texts(results, options, folder)
    if options.steps == "text":
        return
    sizes: list[tuple[str, int]] = []
    if not options.only_data:
        sizes += [("synthetic", count) for count in options.sentences]
    kept = None
    if options.data:
        kept = options.kept or folder / "kept.npz"
        own = len(read_vectors(options.data, kept)[0])
        sizes += [("real", own)] if options.own_size else []
        sizes += [("real", count) for count in options.sentences]
    for corpus, count in sizes:
        place = folder / f"{corpus}-{count}"
        place.mkdir()
        setting = Setting(corpus, count, options.index, str(kept.resolve()) if kept else "")
        setting.write(place)
        for name, value, unit in measure(place, options.steps):
            note(results, setting, name, value, unit)
            results.save()  # a later step of ten million sentences may fail
        shutil.rmtree(place)


def measure_texts(results: Results, options: argparse.Namespace, folder: Path) -> None:
    """Measure questions about real text."""
    if options.steps and "text" not in options.steps.split(","):
        return
    collections = [] if options.only_data else [DOCS]
    if options.data:
        collections += [path.parent for path in sorted(options.data.glob("*/docs.jsonl"))]
    for collection in collections:
        place = folder / f"text-{collection.name}"
        place.mkdir()
        (place / "collection").write_text(str(collection.resolve()), encoding="utf-8")
        for name, (value, unit) in in_child("scale", "text", place).items():
            results.note(f"text of {collection.name}: {name}", value, unit)
        shutil.rmtree(place)


def measure(folder: Path, steps: str = "") -> Iterator[tuple[str, float, str]]:
    """Run the steps of one store; yield name, value and unit of each figure."""
    wanted = steps.split(",") if steps else list(STEPS)
    for step in STEPS:
        if step in wanted or step in ("prepare", "build"):
            found: dict[str, Any] = in_child("scale", step, folder)
            for name, (value, unit) in found.items():
                yield name, value, unit


def note(results: Results, setting: Setting, name: str, value: float, unit: str) -> None:
    """Keep a figure, and print it with its goal."""
    corpus, count = setting.corpus, setting.count
    if name == "recall" and count in LEAST_RECALL:
        results.add(f"{corpus}, {count}: {name}", value, unit)
        least = LEAST_RECALL[count]
        verdict = f"goal: at least {least:g}; {'met' if value >= least else 'MISSED'}"
        print(f"{f'{corpus}, {count}: {name}':64} {value:12.5f} {unit}   ({verdict})", flush=True)
        return
    results.note(f"{corpus}, {count}: {name}", value, unit, GOALS.get(name, {}).get(count))


if __name__ == "__main__":
    main()
