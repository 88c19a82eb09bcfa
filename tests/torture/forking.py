"""Fork processes while a store is used, and check that parent and children go on without harm.

    python -m tests.torture.forking [--rounds 50]

Threads of the parent search and write at the moment of each fork; FAISS searches or builds the index with several
threads. Children, and some of their children, read and write; then they exit, while the parent waits, writes on or
closes the store. No acknowledged write is lost, nobody hangs, and each row is as it was written. A store in memory may
refuse to be used in a child, and an export be told to begin again if a child wrote before it could go on.
"""

import atexit
import multiprocessing
import os
import random
import signal
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
from tests.torture.closing import Versions, Worker, check_all_there, check_holds
from tests.torture.corpus import SENTENCES, document
from tests.torture.rounds import main, play_rounds

MODULE = "tests.torture.forking"
DOCUMENTS = 130
"""Enough sentences to train codes with."""

KINDS = ["exact", "codes"]
MODES = ["waits", "closes", "writes"]
WORKERS = 2


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
    told = Counter(line[0] for child in children for line in child.told())
    assert not told["failed"], "\n".join(str(line) for child in children for line in child.told())
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
    return counts + Counter({f"children: {word}": count for word, count in told.items()})


def go_on(store: FaissStore, mode: str) -> tuple[Versions, Versions]:
    """Run the parent's part meanwhile, and return the writes that it began and those acknowledged."""
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
                os.kill(self._pid, signal.SIGABRT)  # for which faulthandler tells where it is
                os.waitpid(self._pid, 0)
                raise AssertionError(f"a child hangs: {self.told()[-3:]}")
            time.sleep(0.01)
        assert self.told()[-1][0] == "ended", f"a child died: {self.told()[-3:]}"

    def _has_ended(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG) != (0, 0)
        except ChildProcessError:
            return True  # multiprocessing looks after its children when it starts another

    def told(self) -> list[list[str]]:
        return [line.split(" ", 2) for line in self._log.read_text(encoding="utf-8").splitlines()]

    def versions(self, word: str) -> Versions:
        """Return the documents and versions that it recorded with a word."""
        return {int(line[1]): int(line[2]) for line in self.told() if line[0] == word}

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
            self._tell("refused" if is_in_memory else "failed", repr(error))
        except BaseException:  # noqa: BLE001 - told to the parent
            self._tell("failed", repr(traceback.format_exc()))
        if grandchild:
            os.waitpid(grandchild, 0)
        self._tell("ended")

    def _use(self, store: FaissStore, chance: random.Random, export: Iterator[object]) -> None:
        for version in range(1, 13):
            number = 100 * self._number + version % 4
            self._tell("begun", number, version)
            store.replace_documents(document(number, version), [f"document {number}"])
            self._tell("done", number, version)
            found = store.similarity_search("q", k=99, filter={"number": number})
            assert [each.metadata["version"] for each in found] == [version] * SENTENCES, "its own write isn't seen"
            chance.choice(list(READS.values()))(store, chance)
        with suppress(StoreError):
            list(export)
        if chance.random() < 0.5:
            store.close()

    def _tell(self, *words: object) -> None:
        with self._log.open("a", encoding="utf-8") as log:
            log.write(" ".join(map(str, words)) + "\n")


def torture(rounds: int = 50, seed: int = 0) -> Counter[str]:
    """Fork in so many processes, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed, batch=5)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=50, batch=5)
