"""Measure `FaissStore` beside other embedded vector stores, in one run: time, recall, memory, disk, ingest, delete.

    python -m benchmarks.side_by_side [--sentences 100000] [--only NAME ...] [--json PATH]

All hold the same sentences with texts, metadata and vectors as `benchmarks.scale` makes them, mixed with their
neighbors', and return text and metadata of the 50 nearest. Each step runs in a process of its own. Seconds are of the
processor, all threads together: what a query costs, not how fast it is on an idle machine with many cores. Recall is
that of the 50 nearest. A store that offers a choice between speed and recall is searched with several settings. Stores
that aren't installed (``pip install --group stores``) are left out, and said so.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.peers import PEERS, Peer, missing, tiny
from benchmarks.processes import KNOWS_MEMORY, anonymous_bytes, bytes_by_part, cpu_each, cpu_seconds, in_child
from benchmarks.results import Results, make_parser
from benchmarks.scale_steps import Asked, Figures, Setting, prepare
from benchmarks.streams import truth_vectors

K = 50
DELETED = 20
SLOW = 0.05
"""Seconds above which a search is repeated only 40 times."""


def main() -> None:
    """Read the command line, and print and write the figures."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--data", type=Path, metavar="FILE", help="vectors that benchmarks.scale --kept wrote")
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS), metavar="NAME")
    parser.add_argument("--folder", type=Path, help="where stores are made and removed; the default is temporary")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print("\n" + json.dumps(STEPS[options.child](PEERS[options.peer], options.path)))
        return
    results = Results("side_by_side", options)
    with tempfile.TemporaryDirectory(prefix="side", dir=options.folder, ignore_cleanup_errors=True) as folder:
        measure_all(results, options, Path(folder))
    results.save()


def measure_all(results: Results, options: argparse.Namespace, folder: Path) -> None:
    """Measure each store that can be."""
    corpus = "real" if options.data else "synthetic"
    Setting(corpus, options.sentences, None, str(options.data.resolve()) if options.data else "").write(folder)
    prepare(folder)
    for name in options.only:
        peer = PEERS[name]
        if package := missing(peer):
            print(f"{name}: left out, as {package} isn't installed")
            continue
        if options.sentences > peer.LARGEST:
            print(f"{name}: left out above {peer.LARGEST:,} sentences, where it takes hours or too much memory")
            continue
        for step in STEPS:
            for figure, (value, unit) in in_child("side_by_side", step, folder, "--peer", name).items():
                results.note(f"{name}: {figure}", value, unit)
            results.save()
        shutil.rmtree(_place(folder))


def build(peer: type[Peer], folder: Path) -> Figures:
    """Add all sentences and build the index."""
    setting = Setting.read(folder)
    stream = setting.stream()
    _place(folder).mkdir()
    store = peer(_place(folder))
    own, start, wall, own_wall = 0.0, time.process_time(), time.perf_counter(), 0.0
    for number in stream.blocks:
        began, began_wall = time.thread_time(), time.perf_counter()
        documents = stream.documents(number)
        vectors = stream.vectors(number) if peer.IS_MIXED else truth_vectors(stream, number)
        own, own_wall = own + time.thread_time() - began, own_wall + time.perf_counter() - began_wall
        store.add(stream.rows(number).start, documents, vectors)
    store.finish()
    figures: Figures = {"ingest": ((time.process_time() - start - own) / setting.count * 1e6, "us a sentence")}
    figures["ingest, wall"] = ((time.perf_counter() - wall - own_wall) / setting.count * 1e6, "us a sentence")
    store.close()
    figures["disk"] = (sum(bytes_by_part(_place(folder)).values()) / setting.count, "bytes a sentence")
    return figures


def search(peer: type[Peer], folder: Path) -> Figures:
    """Search with each effort, and compare with the nearest."""
    asked, store = Asked.read(folder), peer(_place(folder))
    asked.embeddings()
    figures: Figures = {}
    for effort in peer.EFFORTS:
        once = cpu_seconds(lambda: store.search(asked.vectors[0], K, effort))  # noqa: B023
        once = min(once, cpu_seconds(lambda: store.search(asked.vectors[1], K, effort)))  # noqa: B023
        count = len(asked.vectors) if once < SLOW else 40
        found: list[list[int]] = [[] for _ in range(count)]

        def ask(number: int) -> None:
            found[number] = store.search(asked.vectors[number], K, effort)  # noqa: B023

        works: list[Callable[[], None]] = [lambda number=number: ask(number) for number in range(count)]  # type: ignore[misc]
        figures[f"search, {effort}"] = (float(np.median(cpu_each(works))) * 1e3, "ms")
        nearest = asked.nearest[""]
        nearest.rows, nearest.scores = nearest.rows[:count], nearest.scores[:count]
        figures[f"recall, {effort}"] = (float(np.mean(nearest.recall(found, K))), "")
        if count < len(asked.vectors):
            asked = Asked.read(folder)
    store.close()
    return figures


def opening(peer: type[Peer], folder: Path) -> Figures:
    """Open the store and search once; its libraries are loaded before."""
    asked = Asked.read(folder)
    asked.embeddings()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as other:
        tiny(peer, Path(other) / "tiny")
    before, start = anonymous_bytes(), time.process_time()
    store = peer(_place(folder))
    store.search(asked.vectors[0], K, peer.EFFORTS[-1])
    figures: Figures = {"open and first search": (time.process_time() - start, "s")}
    for vector in asked.vectors[:K]:
        store.search(vector, K, peer.EFFORTS[-1])
    if KNOWS_MEMORY:
        count = Setting.read(folder).count
        figures["memory"] = ((anonymous_bytes() - before) / count, "bytes a sentence")
    store.close()
    return figures


def delete(peer: type[Peer], folder: Path) -> Figures:
    """Delete documents of 20 sentences, each of which a search follows."""
    asked, store = Asked.read(folder), peer(_place(folder))
    asked.embeddings()
    documents = Setting.read(folder).count // 20
    store.search(asked.vectors[0], K, "default")
    seconds, after = [], []
    for number in range(min(DELETED, documents - 1)):
        document = number * 7 % documents
        seconds.append(cpu_seconds(lambda: store.delete(document)))  # noqa: B023
        after.append(cpu_seconds(lambda: store.search(asked.vectors[number], K, "default")))  # noqa: B023
    store.close()
    return {
        "delete a document": (float(np.median(seconds)) * 1e3, "ms"),
        "search after a deletion": (float(np.median(after)) * 1e3, "ms"),
    }


STEPS: dict[str, Callable[[type[Peer], Path], Figures]] = {
    "build": build,
    "search": search,
    "opening": opening,
    "delete": delete,
}
"""The steps by name, in the order in which they run."""


def _place(folder: Path) -> Path:
    return folder / "peer"


if __name__ == "__main__":
    if sys.platform == "win32":
        sys.exit("these stores don't all run on Windows")
    main()
