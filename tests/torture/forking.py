"""Fork processes while a store is used, and check that parent and children continue without harm.

    python -m tests.torture.forking [--rounds 50]

Threads of the parent search and write at the moment of each fork; FAISS searches or builds the index with several
threads. Children, and some of their children, read and write; then they exit, while the parent waits, writes on or
closes the store. No acknowledged write is lost, no process hangs, and each row is as it was written. A store in memory
may refuse to be used in a child, and an export may have to start again if a child wrote before it continued.
"""

import atexit
import multiprocessing
import os
import random
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.patience import PATIENCE
from tests.torture.calls import READS, filled
from tests.torture.corpus import SENTENCES, TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.rounds import main, play_rounds

MODULE = "tests.torture.forking"
DOCUMENTS = 130
"""Enough sentences to train codes with."""

KINDS = ["exact", "codes"]
MODES = ["waits", "closes", "writes"]
WORKERS = 2


Versions = dict[int, int]


class Worker(threading.Thread):
    """Makes one kind of call until the store is closed or it is stopped, and records its acknowledged writes."""

    def __init__(self, store: FaissStore, number: int, chance: random.Random, *, on_disk: bool) -> None:
        super().__init__(daemon=True)
        self._store, self._number = store, number
        self._chance = random.Random(chance.random())
        self._call = chance.choice(
            [*READS.values(), *([lambda store, _: store.save()] if on_disk else []), None, None, None]
        )
        self.begun: Versions = {}
        self.acknowledged: Versions = {}
        self.failure: BaseException | None = None
        self.is_stopped = False

    def run(self) -> None:
        version = 0
        while not self.is_stopped:
            version += 1
            try:
                if self._call:
                    self._call(self._store, self._chance)
                else:
                    self._replace(1_000_000 * self._number + self._chance.randrange(5), version)
            except StoreError as error:
                # An export fails if a child wrote before it continued; the next one starts again.
                if "to be read in one state" in str(error):
                    continue
                self.failure = None if "closed" in str(error) else error
                return
            except BaseException as error:  # noqa: BLE001 - reported by the thread that started it
                self.failure = error
                return

    def _replace(self, number: int, version: int) -> None:
        self.begun[number] = version
        self._store.replace_documents(document(number, version), [f"document {number}"])
        self.acknowledged[number] = version


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Fork some children of a process that uses one store."""
    path = folder / "store" if chance.random() < 0.7 else None
    kind, mode = chance.choice(KINDS), chance.choice(MODES)
    store = filled(path, DOCUMENTS, index=kind)
    for name in ("search", "lexical"):
        READS[name](store, chance)
    numbers = range(1, 1 + chance.choice([0, WORKERS, WORKERS]))
    workers = [Worker(store, number, chance, on_disk=path is not None) for number in numbers]
    for worker in workers:
        worker.start()
    children = [Child(number, folder) for number in range(10, 10 + chance.randint(1, 3))]
    for child in children:
        time.sleep(chance.random() * 0.03)
        child.start(store, chance, is_in_memory=path is None)
    begun, acknowledged = go_on(store, mode)
    for child in children:
        child.wait()
    finish(workers)
    for worker in workers:
        begun, acknowledged = begun | worker.begun, acknowledged | worker.acknowledged
    counts = Counter({f"the parent {mode}, {kind} {'on disk' if path else 'in memory'}": 1})
    records = Counter(line[0] for child in children for line in child.records())
    assert not records["failed"], "\n".join(str(line) for child in children for line in child.records())
    if path:
        # A process that forks leaves the lists of its children's acknowledged writes in files.
        store.close()
        for child in children:
            begun |= child.versions("begun")
            acknowledged |= child.versions("done")
        check_holds(path, acknowledged, begun, DOCUMENTS)
    elif mode != "closes":
        check_all_there(store, acknowledged, begun, DOCUMENTS)
        store.close()
    return counts + Counter({f"children: {word}": count for word, count in records.items()})


def go_on(store: FaissStore, mode: str) -> tuple[Versions, Versions]:
    """Run the parent's part while children run, and return the writes that it began and those acknowledged."""
    versions = Versions()
    if mode == "closes":
        store.close()
    for version in range(1, 20 if mode == "writes" else 1):
        number = 500 + version % 4
        store.replace_documents(document(number, version), [f"document {number}"])
        versions[number] = version
    return versions, versions


def finish(workers: list[Worker]) -> None:
    for worker in workers:
        worker.is_stopped = True
    for worker in workers:
        worker.join(PATIENCE)
        assert not worker.is_alive(), "a thread of the parent hangs"
        if worker.failure:
            raise worker.failure


def check_holds(path: Path, acknowledged: Versions, begun: Versions, documents: int) -> None:
    """Check that a store is sound, and holds acknowledged writes or those begun after them."""
    with FaissStore.open(path, TextEmbeddings(), index="exact") as store:
        check_against_brute_force(store, TextEmbeddings())
        check_all_there(store, acknowledged, begun, documents)


def check_all_there(store: FaissStore, acknowledged: Versions, begun: Versions, documents: int) -> None:
    """Check that a store holds its first documents, and a permitted version of each other document."""
    found = contents(store)
    for number in range(documents):
        assert found.pop(number) == {0}
    for number in begun.keys() | found.keys():
        right = {acknowledged.get(number), begun.get(number)}
        assert found.get(number, {None}) <= right, f"document {number} is {found.get(number)}, not one of {right}"


class Child:
    """A forked process, and the file in which it records its writes."""

    def __init__(self, number: int, folder: Path) -> None:
        self._number, self._log = number, folder / f"child {number}"
        self._pid = 0

    def start(self, store: FaissStore, chance: random.Random, *, is_in_memory: bool) -> None:
        export = store.export()
        with suppress(StoreError):
            next(export)
        seed = chance.random()
        self._log.touch()
        if chance.random() < 0.5:
            process = multiprocessing.get_context("fork").Process(
                target=self._work, args=(store, seed, export, is_in_memory)
            )
            process.start()
            self._pid = process.pid or 0
            return
        self._pid = os.fork()
        if not self._pid:
            self._be(store, seed, export, is_in_memory)

    def wait(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self._has_ended():
            if time.monotonic() > end:
                os.kill(self._pid, signal.SIGABRT)  # for which faulthandler shows where it is
                os.waitpid(self._pid, 0)
                raise AssertionError(f"a child hangs: {self.records()[-3:]}")
            time.sleep(0.01)
        assert self.records()[-1][0] == "ended", f"a child died: {self.records()[-3:]}"

    def _has_ended(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG) != (0, 0)
        except ChildProcessError:
            return True  # multiprocessing looks after its children when it starts another

    def records(self) -> list[list[str]]:
        return [line.split(" ", 2) for line in self._log.read_text(encoding="utf-8").splitlines()]

    def versions(self, word: str) -> Versions:
        """Return the documents and versions that it recorded with a word."""
        return {int(line[1]): int(line[2]) for line in self.records() if line[0] == word}

    def _be(self, store: FaissStore, seed: float, export: Iterator[object], is_in_memory: bool) -> NoReturn:
        self._work(store, seed, export, is_in_memory)
        # As sys.exit does, though not through the frames of the parent's script.
        atexit._run_exitfuncs()
        os._exit(0)

    def _work(self, store: FaissStore, seed: float, export: Iterator[object], is_in_memory: bool) -> None:
        chance = random.Random(seed)
        grandchild = os.fork() if chance.random() < 0.2 else None
        if grandchild == 0:
            self._number += 10
        try:
            self._use(store, chance, export)
        except StoreError as error:
            self._record("refused" if is_in_memory else "failed", repr(error))
        except BaseException:  # noqa: BLE001 - reported to the parent
            self._record("failed", repr(traceback.format_exc()))
        if grandchild:
            os.waitpid(grandchild, 0)
        self._record("ended")

    def _use(self, store: FaissStore, chance: random.Random, export: Iterator[object]) -> None:
        for version in range(1, 13):
            number = 100 * self._number + version % 4
            self._record("begun", number, version)
            store.replace_documents(document(number, version), [f"document {number}"])
            self._record("done", number, version)
            found = store.similarity_search("q", k=99, filter={"number": number})
            assert [each.metadata["version"] for each in found] == [version] * SENTENCES, "its own write isn't seen"
            chance.choice(list(READS.values()))(store, chance)
        with suppress(StoreError):
            list(export)
        if chance.random() < 0.5:
            store.close()

    def _record(self, *words: object) -> None:
        with self._log.open("a", encoding="utf-8") as log:
            log.write(" ".join(map(str, words)) + "\n")


def torture(rounds: int = 50, seed: int = 0) -> Counter[str]:
    """Fork in so many processes, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed, batch=5)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=50, batch=5)
