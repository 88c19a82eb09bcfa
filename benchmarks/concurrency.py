"""Measure how many queries a second a store answers: by one thread, by several, by asyncio and by several processes.

    python -m benchmarks.concurrency [--sentences 100000] [--seconds 3] [--rounds 3] [--json PATH]

Queries are whole ones of the retriever, whose questions' vectors are looked up. Each way takes turns with one thread,
and the median of its ratios to its neighbor in time counts. This alone of our benchmarks is of the clock, so nothing
else should run: next to each ratio stand the processor's seconds a query, which show what is lost otherwise.
"""

import asyncio
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import faiss
import numpy as np

from benchmarks.processes import in_child
from benchmarks.results import Results, make_parser
from benchmarks.scale_steps import Asked, Setting, settle
from langchain_sentence_window import FaissStore, SentenceWindowRetriever

THREADS = (2, 4, 8)
TASKS = 8
PROCESSES = (2, 4)


@dataclass(frozen=True)
class Rate:
    """Hold what was answered in some seconds.

    Attributes:
        queries: The number of queries.
        seconds: Of the clock.
        cpu: Seconds of the processor.
    """

    queries: int
    seconds: float
    cpu: float

    @property
    def a_second(self) -> float:
        """Queries a second."""
        return self.queries / self.seconds


class Asking:
    """A store that is open, and its questions."""

    def __init__(self, folder: Path) -> None:
        """Open the store and ask until all is in memory."""
        faiss.omp_set_num_threads(1)
        asked = Asked.read(folder)
        self.texts = asked.texts
        self.store = FaissStore.open(folder / "store", asked.embeddings(), read_only=True)
        settle(self.store)
        self.retriever = SentenceWindowRetriever(vectorstore=self.store)
        for text in self.texts[:20]:
            self.retriever.invoke(text)

    def in_threads(self, threads: int, seconds: float) -> Rate:
        """Ask in so many threads."""
        counts = [0] * threads
        end = time.perf_counter() + seconds

        def ask(thread: int) -> None:
            at = thread
            while time.perf_counter() < end:
                self.retriever.invoke(self.texts[at % len(self.texts)])
                at += 1
                counts[thread] += 1

        started = [threading.Thread(target=ask, args=(thread,)) for thread in range(threads)]
        return _measured(lambda: _run_all(started), lambda: sum(counts))

    def in_tasks(self, tasks: int, seconds: float) -> Rate:
        """Ask in so many tasks of asyncio."""
        counts = [0] * tasks

        async def ask(task: int, end: float) -> None:
            at = task
            while time.perf_counter() < end:
                await self.retriever.ainvoke(self.texts[at % len(self.texts)])
                at += 1
                counts[task] += 1

        async def ask_all() -> None:
            end = time.perf_counter() + seconds
            await asyncio.gather(*(ask(task, end) for task in range(tasks)))

        return _measured(lambda: asyncio.run(ask_all()), lambda: sum(counts))


def main() -> None:
    """Read the command line, and print and write the figures."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--index", default=None, help="the name of an index; the default is the store's")
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the store is made and removed; the default is temporary")
    options = parser.parse_args()
    results = Results("concurrency", options)
    with tempfile.TemporaryDirectory(prefix="many", dir=options.folder, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        Setting("synthetic", options.sentences, options.index).write(folder)
        for step in ("prepare", "build"):
            in_child("scale", step, folder)
        measure(results, folder, options.seconds, options.rounds)
    results.save()


def measure(results: Results, folder: Path, seconds: float, rounds: int) -> None:
    """Measure each way in turn with one thread."""
    asking = Asking(folder)
    ways: dict[str, Callable[[], Rate]] = {
        f"{count} threads": partial(asking.in_threads, count, seconds) for count in THREADS
    }
    ways[f"{TASKS} tasks of asyncio"] = partial(asking.in_tasks, TASKS, seconds)
    pools = {count: _started(folder, count) for count in PROCESSES}
    ways |= {f"{count} processes": partial(in_processes, pool, count, seconds) for count, pool in pools.items()}
    ones: list[Rate] = []
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    try:
        for _ in range(rounds):
            for name, way in ways.items():
                before, now, after = asking.in_threads(1, seconds / 2), way(), asking.in_threads(1, seconds / 2)
                ones += [before, after]
                both = (before.queries + after.queries) / (before.seconds + after.seconds)
                ratios[name].append(now.a_second / both)
                cpu[name].append(now.cpu / now.queries)
    finally:
        for pool in pools.values():
            pool.shutdown()
    alone = float(np.median([each.cpu / each.queries for each in ones]))
    results.note("cores", os.cpu_count() or 0)
    results.note("1 thread", float(np.median([each.a_second for each in ones])), "queries a second")
    results.note("1 thread: cost", alone * 1e3, "ms of CPU a query")
    for name in ways:
        goal = "   (goal: at least 1.7)" if name == "8 threads" else ""
        results.note(f"{name}, to 1 thread", float(np.median(ratios[name])))
        results.note(f"{name}: cost, to 1 thread", float(np.median(cpu[name])) / alone)
        print(goal, end="\n" if goal else "")
    asking.store.close()


_asking: Asking | None = None
"""The store of a process of a pool."""


def in_processes(pool: ProcessPoolExecutor, count: int, seconds: float) -> Rate:
    """Ask in so many processes at once, each of which has opened the folder."""
    rates = list(pool.map(_ask_in_process, [seconds] * count, [count] * count))
    longest = max(each.seconds for each in rates)
    return Rate(sum(each.queries for each in rates), longest, sum(each.cpu for each in rates))


def _started(folder: Path, count: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(count)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_open, initargs=(folder, barrier))
    list(pool.map(_ask_in_process, [0.1] * count, [count] * count))
    return pool


def _open(folder: Path, barrier: "threading.Barrier") -> None:
    global _asking, _barrier
    _asking, _barrier = Asking(folder), barrier


def _ask_in_process(seconds: float, _: int) -> Rate:
    assert _asking is not None
    assert _barrier is not None
    _barrier.wait(120)
    return _asking.in_threads(1, seconds)


_barrier: "threading.Barrier | None" = None


def _run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _measured(work: Callable[[], object], count: Callable[[], int]) -> Rate:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Rate(count(), time.perf_counter() - wall, time.process_time() - cpu)


if __name__ == "__main__":
    main()
