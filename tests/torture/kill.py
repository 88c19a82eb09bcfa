"""Kill a writing process at random moments, and check what is there afterwards.

    python -m tests.torture.kill [--kills 200] [--in-change] [--beside]

A process adds, replaces, deletes, searches, saves and restores a backup, and reports each call. It is killed (kill -9)
at a random moment, and the store is opened again: every acknowledged call must be there, none may be there in part, and
searches must agree with brute force. Then the next process continues with the same store. Its index is of any kind, and
mostly the automatic one, with limits so low that it changes in the background every few calls.

With ``--in-change``, the limits are moved after each call, so that a change is due all the time, and a process is
killed at a random moment of one. A change that has ended by then doesn't count.

With ``--beside``, another process writes other documents of the same store, and reads them, while the others are
killed. It must continue, and lose nothing.
"""

import argparse
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from langchain_sentence_window import FaissStore
from langchain_sentence_window.store.faiss_index import AUTO, KINDS
from langchain_sentence_window.store.vectors import VectorCache
from tests.torture.churn import move_limits
from tests.torture.corpus import SENTENCES, TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.limits import lower
from tests.torture.rounds import python

MODULE = "tests.torture.kill"
DOCUMENTS = 60
CALLS = {"replace": 8, "delete": 2, "filter": 1, "add": 2, "save": 1, "lexical": 2, "search": 5, "reopen": 1}
"""How often each call is made, out of 22; and once ``restore``, if there is a backup."""

READS_AND_SAVES: dict[str, Callable[[FaissStore], object]] = {
    "save": FaissStore.save,
    "lexical": lambda store: store.lexical_search("Sentence s1 of document d1", k=3),
    "search": lambda store: store.similarity_search("Sentence s1 of document d1", k=3),
}
INDEXES = [AUTO] * 8 + [*KINDS]
"""The indexes that are chosen from."""

OTHERS = range(100, 120)
"""The numbers of the documents of the process that is not killed."""

MAX_ATTEMPTS = 4
"""How many times as many processes are killed at most, until so many were killed within a change."""


def work(folder: Path, seed: int, *, changes: bool) -> None:
    """Write until killed; print each call, and each change of the index, before and after it."""
    chance = random.Random(seed)
    report_changes()
    store = FaissStore(TextEmbeddings(), folder, index=AUTO if changes else chance.choice(INDEXES))
    version, backup = seed * 1_000_000, backup_of(folder)
    calls = CALLS | ({"restore": 1} if backup.exists() else {})
    while True:
        if changes and store.stats().index_to_come is None:
            move_limits(chance.randrange(3))
        numbers = chance.sample(range(DOCUMENTS), chance.choice([1, 1, 3, 40]))
        version += 1
        (call,) = chance.choices([*calls], [*calls.values()])
        report("begin", call, version, *numbers)
        names = [f"document {number}" for number in numbers]
        sentences = [each for number in numbers for each in document(number, version)]
        if call in ("reopen", "restore"):
            store.close()
            if call == "restore":
                FaissStore.restore(backup, folder)
            store = FaissStore(TextEmbeddings(), folder)
        elif call == "replace":
            store.replace_documents(sentences, names)
        elif call == "add":
            store.add_documents(sentences)
        elif call == "delete":
            store.replace_documents([], names)
        elif call == "filter":
            store.delete(filter={"number": {"$in": numbers}})
        else:
            READS_AND_SAVES[call](store)
        report("done")


def backup_of(folder: Path) -> Path:
    """Return the folder of the backup, which exists unless another process writes, too."""
    return folder.with_name(f"{folder.name} backup")


def report(*words: object) -> None:
    """Print a line at once, whole."""
    sys.stdout.write(f"{' '.join(map(str, words))}\n")
    sys.stdout.flush()


def report_changes() -> None:
    """Print when a change of an index begins and ends."""
    make = VectorCache._make_another  # nothing public says when a change begins

    def reporting(cache: VectorCache) -> None:
        report("change")
        make(cache)
        report("changed")

    setattr(VectorCache, make.__name__, reporting)


def write_beside() -> None:
    """Write other documents, and read them, until stdin is closed; rest from one byte there to the next."""
    lower()
    chance, version, written = random.Random(0), 0, dict[int, set[int]]()
    with FaissStore(TextEmbeddings(), sys.argv[1]) as store:
        while True:
            if select.select([0], [], [], 0)[0]:
                if not os.read(0, 1):
                    return
                report("rests")
                os.read(0, 1)
            number, version = chance.choice(OTHERS), version + 1
            store.replace_documents(document(number, version), [f"document {number}"])
            written[number] = {version}
            number = chance.choice([*written])
            found = store.similarity_search("x", k=99, filter={"number": number})
            assert len(found) == SENTENCES
            assert {each.metadata["version"] for each in found} == written[number]
            report("wrote", version)


class Neighbor:
    """A process that writes to a store while others are killed."""

    def __init__(self, folder: Path) -> None:
        self._process = python(f"from {MODULE} import write_beside; write_beside()", folder)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Let it do nothing in the block."""
        self._order()
        while (line := self._line()) != "rests":
            assert line.startswith("wrote")
        yield
        self._order()

    def end(self) -> int:
        """End it, and return the number of its writes."""
        rest, _ = self._process.communicate()
        assert self._process.returncode == 0
        return int(rest.split()[-1])

    def _order(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(".")
        self._process.stdin.flush()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, "the process that isn't killed failed"
        return line


def expected_after(line: str, before: dict[int, set[int]], saved: dict[int, set[int]]) -> dict[int, set[int]]:
    """Return the contents after a call, by those before it and those of the backup."""
    _, call, version, *numbers = line.split()
    after = dict(saved if call == "restore" else before)
    for number in map(int, numbers):
        if call in ("replace", "add"):
            after[number] = {int(version)}
        elif call in ("delete", "filter"):
            after.pop(number, None)
    return after


def torture(
    kills: int, *, longest: float = 1.5, seed: int = 0, in_change: bool = False, beside: bool = False
) -> dict[str, int]:
    """Kill so many processes, and count the outcomes.

    Args:
        kills: How many; within a change of the index, only those that were are counted.
        longest: The most seconds after which a process is killed.
        seed: The seed of all chance.
        in_change: Whether to kill within changes of the index.
        beside: Whether another process, which isn't killed, writes other documents.
    """
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="kill"))
    counts = {"kills": 0, "calls acknowledged": 0, "killed within a call": 0, "of those done": 0, "changes cut": 0}
    state, saved = dict[int, set[int]](), dict[int, set[int]]()
    lasted, neighbor = [0.1], Neighbor(folder) if beside else None
    try:
        while counts["changes cut" if in_change else "kills"] < kills:
            counts["kills"] += 1
            assert counts["kills"] <= MAX_ATTEMPTS * kills, counts
            command = [sys.executable, "-m", MODULE, "--work", str(folder)]
            command += ["--seed", str(seed * 1000 + counts["kills"]), *(["--in-change"] * in_change)]
            lines = killed_in_change(command, chance, lasted) if in_change else killed(command, chance, longest)
            changes = [line for line in lines if line in ("change", "changed")]
            counts["changes cut"] += changes[-1:] == ["change"]
            last = None
            for line in lines:
                if line == "done" and last is not None:
                    state = expected_after(last, state, saved)
                    counts["calls acknowledged"] += 1
                    last = None
                elif line.startswith("begin") and line.count(" ") >= 3:
                    last = line
            with neighbor.resting() if neighbor else nullcontext(), FaissStore(TextEmbeddings(), folder) as store:
                held = contents(store)
                check_against_brute_force(store, TextEmbeddings())
                if not beside and not backup_of(folder).exists():
                    saved = held
                    store.backup(backup_of(folder))
            found = {number: versions for number, versions in held.items() if number < DOCUMENTS}
            if last is not None:
                counts["killed within a call"] += 1
                maybe = expected_after(last, state, saved)
                counts["of those done"] += found == maybe != state
                assert found in (state, maybe), "a call is half there, or an acknowledged one isn't"
            else:
                assert found == state, "an acknowledged call isn't there"
            state = found
            for part in folder.glob("vectors.*.part*"):  # as an hour later
                part.unlink()
        if neighbor is not None:
            counts["calls beside them"] = neighbor.end()
    finally:
        for each in (folder, backup_of(folder)):
            shutil.rmtree(each, ignore_errors=True)
    return counts


def killed(command: Sequence[str], chance: random.Random, longest: float) -> list[str]:
    """Start a process, kill it after its first line and a random time, and return what it printed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        time.sleep(chance.random() ** 2 * longest)
        return _end(process, lines)


def killed_in_change(command: Sequence[str], chance: random.Random, lasted: list[float]) -> list[str]:
    """Start a process, kill it within one of the first changes of its index, and return what it printed.

    Args:
        command: Starts the process.
        chance: Chooses the change and the moment.
        lasted: The seconds that changes lasted so far; some are added.
    """
    left = chance.choice([1, 1, 2, 3])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines, began = list[str](), 0.0
        for line in process.stdout:
            lines.append(line)
            if line == "changed\n":
                lasted.append(time.monotonic() - began)
            elif line == "change\n":
                began, left = time.monotonic(), left - 1
                if not left:
                    break
        time.sleep(chance.random() * chance.choice(lasted[-50:]))
        return _end(process, lines)


def _end(process: subprocess.Popen[str], lines: list[str]) -> list[str]:
    process.send_signal(signal.SIGKILL)
    assert process.stdout is not None
    # The last line may be cut.
    lines = [line.strip() for line in [*lines, *process.stdout.read().splitlines(keepends=True)] if line.endswith("\n")]
    process.wait()
    assert process.returncode == -signal.SIGKILL, (process.returncode, lines[-3:])
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--in-change", action="store_true", help="kill within changes of the index")
    parser.add_argument("--beside", action="store_true", help="let another process write, too")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    lower()
    if arguments.work:
        work(arguments.work, arguments.seed, changes=arguments.in_change)
    else:
        kills, how = arguments.kills, {"in_change": arguments.in_change, "beside": arguments.beside}
        print(torture(kills, seed=arguments.seed, **how))
