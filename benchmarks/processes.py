"""Costs of a step in a process of its own: processor time and memory.

Figures of memory are of Linux, which alone tells anonymous pages from those of files. Elsewhere they are 0, and are
left out of what is written.
"""

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROLLUP, STATUS = Path("/proc/self/smaps_rollup"), Path("/proc/self/status")
KNOWS_MEMORY = ROLLUP.exists()
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
BETWEEN_LOOKS = 0.02
"""Seconds between two looks at the memory."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """Run a function and return what the process spent on it, its other threads included."""
    start = time.process_time()
    work()
    return time.process_time() - start


def cpu_each(works: Sequence[Callable[[], object]], warm_up: int = 3) -> list[float]:
    """Run functions one by one and return the seconds of each, without those of the first few."""
    for work in works[:warm_up]:
        work()
    return [cpu_seconds(work) for work in works]


def anonymous_bytes() -> int:
    """Return the anonymous memory of this process: what isn't a mapped file."""
    gc.collect()
    return _of("Anonymous:", ROLLUP)


@contextmanager
def watched_memory() -> Iterator[Callable[[], int]]:
    """Look at the anonymous memory again and again; the function yielded returns the highest so far."""
    highest, stop = [0], threading.Event()

    def look() -> None:
        while not stop.is_set():
            highest[0] = max(highest[0], _of("RssAnon:", STATUS))
            stop.wait(BETWEEN_LOOKS)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield lambda: max(highest[0], _of("RssAnon:", STATUS))
    finally:
        stop.set()
        thread.join()


def in_child(module: str, step: str, folder: Path, *more: str) -> dict[str, Any]:
    """Run a step of a benchmark in a process of its own, on one thread; return the JSON that it prints last."""
    command = [sys.executable, "-m", f"benchmarks.{module}", "--child", step, "--path", str(folder), *more]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True, env={**os.environ, **ONE_THREAD}
    )
    found: dict[str, Any] = json.loads(done.stdout.strip().split("\n")[-1])
    return found


def bytes_by_part(folder: Path) -> dict[str, int]:
    """Return the bytes that each file or folder of a folder takes on disk, by its name; holes don't count."""
    return {
        path.name: sum(map(_on_disk, [path] if path.is_file() else path.rglob("*")))
        for path in sorted(folder.iterdir())
    }


def _on_disk(path: Path) -> int:
    if not path.is_file():
        return 0
    state = path.stat()
    return getattr(state, "st_blocks", -(-state.st_size // 512)) * 512


def _of(name: str, file: Path) -> int:
    if not KNOWS_MEMORY:
        return 0
    lines = file.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
