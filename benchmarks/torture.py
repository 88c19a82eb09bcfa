"""Kill, change and damage stores with every kind of index, and count what came of it; nothing may be lost or wrong.

    python -m benchmarks.torture [--kills 200] [--seconds 60] [--tries 500] [--images 2000] [--index KIND ...]

Six things are done, each by a script of ``tests/torture`` that can be run alone:

- ``kill``: a process writes, searches and reopens its store with any kind of index, mostly one that changes in the
  background, and is killed at a random moment. Every acknowledged call must be there, none in part, and searches must
  agree with brute force.
- ``kill-beside``: the same, while another process writes other documents. It must go on, and lose nothing.
- ``kill-in-change``: the same, but each process is killed at a random moment within a change of the index in the
  background.
- ``churn``: eight readers search while one writer replaces documents, for so many seconds with each kind of index;
  ``auto`` changes its index all the time. No reader may see a part of a document or a wrong cosine.
- ``damage``: each file of a store, closed or killed, is damaged in so many copies. Each copy must report that it is
  damaged, or give the answers of the undamaged store.
- ``power``: the power is cut while a process writes, in so many images of its folder. Each must open, with all that was
  acknowledged.

The first failure ends the run, with what went wrong.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.results import Results, make_parser
from langchain_sentence_window import FaissStore
from langchain_sentence_window.store.faiss_index import AUTO, KINDS
from tests.torture import churn, crash_images, damage, kill, limits
from tests.torture.corpus import TextEmbeddings

SENTENCES = 3_200
"""Sentences under churn."""

DONE = ("kill", "kill-beside", "kill-in-change", "churn", "damage", "power")


def main() -> None:
    """Read the command line, and print and write the counts."""
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60, help="of churn, with each kind of index")
    parser.add_argument("--tries", type=int, default=500, help="of damage, to each file")
    parser.add_argument("--index", nargs="+", default=KINDS, choices=KINDS, help="the default is every kind")
    parser.add_argument("--images", type=int, default=2_000, help="after a power failure")
    parser.add_argument("--only", nargs="+", default=DONE, choices=DONE)
    parser.add_argument("--files", default="", metavar="NAME", help="damage only files with this in their names")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    limits.lower()
    results = Results("torture", options)
    if "kill" in options.only:
        _keep(results, "kill -9, any index", kill.torture(options.kills, seed=options.seed))
    if "kill-beside" in options.only:
        _keep(results, "kill -9 beside a writer", kill.torture(options.kills, seed=options.seed, beside=True))
    if "kill-in-change" in options.only:
        _keep(results, "kill -9 within a change", kill.torture(options.kills, seed=options.seed, in_change=True))
    if "power" in options.only and crash_images.compiler() is not None:
        rounds = -(-options.images // crash_images.IMAGES)
        _keep(results, "power failure", crash_images.torture(rounds, options.seed))
    for index in options.index:
        if "churn" in options.only:
            churned(results, options, index)
        if "damage" in options.only:
            damaged(results, options, index)
    results.save()


def churned(results: Results, options: argparse.Namespace, index: str) -> None:
    """Read and write at once."""
    with (
        tempfile.TemporaryDirectory(prefix="churn", ignore_cleanup_errors=True) as folder,
        FaissStore(TextEmbeddings(), Path(folder), index=index) as store,
    ):
        filled = churn.fill(store, SENTENCES)
        counts = churn.churn(store, filled, options.seconds, changes=index == AUTO)
        _keep(results, f"8 readers and a writer, {index}", counts)


def damaged(results: Results, options: argparse.Namespace, index: str) -> None:
    """Damage each file; those of the database and the words are the same with each index, and are damaged once."""
    only = options.files if index == options.index[0] else "vectors"
    for name, outcomes in damage.torture(options.tries, options.seed, index, only).items():
        counts = Counter({"damaged": outcomes.total(), "repaired": outcomes["right"] + outcomes["right, and reported"]})
        counts["reported"] = outcomes.total() - counts["repaired"]
        _keep(results, f"{name}, {index}", counts)


def _keep(results: Results, name: str, counts: dict[str, int] | Counter[str]) -> None:
    for what, count in counts.items():
        results.note(f"{name}: {what}", count)
    results.save()


if __name__ == "__main__":
    main()
