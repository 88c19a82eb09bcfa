"""Close stores while they are used, in every possible way, and check that nothing is lost.

    python -m tests.torture.closing [--rounds 1000]

Threads search, fetch, filter, export and write while the store is closed: by one or several other threads, within a
loop over `export`, by a signal handler, by the garbage collector, after an async search was canceled, or because the
interpreter exits. No process may crash or hang, each write that returned before is there when the store is opened
again, and each later call raises a `StoreError` that says "closed".
"""

import asyncio
import gc
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.patience import PATIENCE
from tests.torture.calls import DOCUMENTS, READS, WRITES, copies, filled
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.rounds import how_it_ended, main, play_rounds, python, within

MODULE = "tests.torture.closing"
WORKERS = 5

Versions = dict[int, int]


class Worker(threading.Thread):
    """Makes one kind of call until the store is closed or it is stopped, and records its acknowledged writes."""

    def __init__(self, store: FaissStore, number: int, chance: random.Random, *, on_disk: bool) -> None:
        super().__init__(daemon=True)
        self._store, self._number = store, number
        self._chance = random.Random(chance.random())
        self._call = chance.choice([*READS.values(), *([WRITES["save"]] if on_disk else []), None, None, None])
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
                # An export says so if a child wrote before it could go on; the next one begins again.
                if "to be read in one state" in str(error):
                    continue
                self.failure = None if "closed" in str(error) else error
                return
            except BaseException as error:  # noqa: BLE001 - told by whoever started it
                self.failure = error
                return

    def _replace(self, number: int, version: int) -> None:
        self.begun[number] = version
        self._store.replace_documents(document(number, version), [f"document {number}"])
        self.acknowledged[number] = version


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Close one store in one way."""
    on_disk = chance.random() < 0.6
    way = chance.choices([*WAYS, "exit"], [8, 6, 6, 6, 6, 1])[0]
    path = folder / "store" if on_disk else None
    counts = Counter({f"closed by {way}, {'on disk' if on_disk else 'in memory'}": 1})
    if way == "exit":
        return counts + exit_under_load(chance, path)
    store = filled(path)
    workers = [Worker(store, number, chance, on_disk=on_disk) for number in range(1, WORKERS + 1)]
    for worker in workers:
        worker.start()
    time.sleep(chance.random() ** 2 * 0.05)
    with abandoned_exports(store, chance):
        WAYS[way](store, chance, path)
        for worker in workers:
            worker.join(PATIENCE)
            assert not worker.is_alive(), "a thread that used the store hangs"
            if worker.failure:
                raise worker.failure
        check_refuses(store, folder, on_disk=on_disk)
    within(PATIENCE, "closing once more", store.close)
    if path:
        del store
        check_kept(path, workers)
    counts["calls acknowledged"] += sum(len(worker.acknowledged) for worker in workers)
    return counts


def check_refuses(store: FaissStore, folder: Path, *, on_disk: bool) -> None:
    """Check that a closed store refuses every call."""
    calls = {name: partial(call, store, random.Random(0)) for name, call in (READS | WRITES).items()}
    if not on_disk:
        del calls["save"]  # which a store in memory never has
    for name, call in (calls | copies(store, folder)).items():
        try:
            within(PATIENCE, f"{name} after closing", call)
        except StoreError as error:
            if "closed" not in str(error):
                raise
        else:
            raise AssertionError(f"{name} got through to a closed store")


def check_kept(path: Path, workers: list[Worker]) -> None:
    """Check that a store holds every acknowledged write, and no part of one."""
    acknowledged, begun = Versions(), Versions()
    for worker in workers:
        acknowledged |= worker.acknowledged
        begun |= worker.begun
    check_holds(path, acknowledged, begun)


def check_holds(path: Path, acknowledged: Versions, begun: Versions, documents: int = DOCUMENTS) -> None:
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


@contextmanager
def abandoned_exports(store: FaissStore, chance: random.Random) -> Iterator[None]:
    """Begin to export in some threads, which end too early, and resume the exports afterwards."""
    begun = [store.export() for _ in range(chance.choice([0, 0, 1, 3]))]
    for export in begun:
        within(PATIENCE, "beginning to export", partial(next, export))
    yield
    for export in begun:
        with suppress(StoreError):
            within(PATIENCE, "going on with an export", partial(list, export))


# The ways to close


def by_threads(store: FaissStore, chance: random.Random, path: Path | None) -> None:
    threads = [threading.Thread(target=store.close) for _ in range(chance.choice([0, 1, 3]))]
    for thread in threads:
        thread.start()
    store.close()
    for thread in threads:
        thread.join()


def within_an_export(store: FaissStore, chance: random.Random, path: Path | None) -> None:
    """The export finishes, or says that the store is closed."""
    export = store.export()
    documents, _ = next(export)
    assert documents
    store.close()
    with suppress(StoreError):
        list(export)


def by_a_handler(store: FaissStore, chance: random.Random, path: Path | None) -> None:
    """The handler may run in the middle of a read or a write of the same thread."""
    refused = list[StoreError]()
    fired = threading.Event()

    def handle(*_: object) -> None:
        try:
            store.close()
        except StoreError as error:
            refused.append(error)
        fired.set()

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.001 + chance.random() * 0.03)
    call = chance.choice([*READS.values(), _replace_by_the_same])
    try:
        while not fired.is_set():
            call(store, chance)
    except StoreError as error:
        if "closed" not in str(error):
            raise
    finally:
        signal.signal(signal.SIGALRM, before)
    if refused:
        store.close()


def _replace_by_the_same(store: FaissStore, chance: random.Random) -> None:
    store.replace_documents(document(0, 0), ["document 0"])


def by_the_collector(store: FaissStore, chance: random.Random, path: Path | None) -> None:
    """Other stores are dropped while they are used, and collected wherever a thread happens to be."""
    before = gc.get_threshold()
    gc.set_threshold(20)
    try:
        for _ in range(4):
            _drop_a_store(path)
            time.sleep(chance.random() * 0.01)
        gc.collect()
    finally:
        gc.set_threshold(*before)
    store.close()


def _drop_a_store(path: Path | None) -> None:
    dropped = filled(path, documents=2)
    dropped.similarity_search("q")
    exporting = dropped.export()
    next(exporting)
    circle: list[object] = [dropped, exporting]
    circle.append(circle)


def after_a_canceled_search(store: FaissStore, chance: random.Random, path: Path | None) -> None:
    """The search continues in its thread when nobody awaits it any more."""

    async def use() -> None:
        for _ in range(chance.randint(1, 4)):
            search = store.asimilarity_search(
                f"q {chance.random()}", k=400, filter={"version": {"$ne": chance.random()}}
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(search, chance.random() * 0.01)
        store.close()

    asyncio.run(use())


WAYS: dict[str, Callable[[FaissStore, random.Random, Path | None], None]] = {
    "threads": by_threads,
    "an export's loop": within_an_export,
    "a handler": by_a_handler,
    "the collector": by_the_collector,
    "a task": after_a_canceled_search,
}


# The end of the interpreter


def exit_under_load(chance: random.Random, path: Path | None) -> Counter[str]:
    """Exit a process whose threads use a store, and check that it exits cleanly and loses nothing."""
    code = f"from {MODULE} import leave; import sys; leave(*sys.argv[1:])"
    with python(code, chance.randrange(10**9), path or "", stderr=subprocess.PIPE) as process:
        try:
            told, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"a process doesn't end: {process.communicate()[1]}") from None
    assert process.returncode == 0, f"{how_it_ended(process.returncode)}: {errors}"
    assert not any(word in errors for word in ("Traceback", "ignored", "Fatal")), errors
    begun, acknowledged = Versions(), Versions()
    for word, number, version in (line.split() for line in told.splitlines()):
        (acknowledged if word == "done" else begun)[int(number)] = int(version)
    if path:
        check_holds(path, acknowledged, begun)
    return Counter({"calls acknowledged": len(acknowledged)})


def leave(seed: str, path: str) -> None:
    """Act as a process that exits while its threads use a store."""
    chance = random.Random(seed)
    store = filled(Path(path) if path else None)
    for number in range(1, WORKERS):
        Telling(store, number, chance, on_disk=bool(path)).start()
    time.sleep(chance.random() * 0.1)
    if chance.random() < 0.5:
        asyncio.run(_ask_once(store))
    raise SystemExit(0)


class Telling(Worker):
    """Prints each write for the reader of this process's output."""

    def _replace(self, number: int, version: int) -> None:
        # Not through Python's own stdout, whose lock a thread may hold when the interpreter ends.
        os.write(1, f"begun {number} {version}\n".encode())
        super()._replace(number, version)
        os.write(1, f"done {number} {version}\n".encode())


async def _ask_once(store: FaissStore) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(store.asimilarity_search("q", k=400), 0.0005)


def torture(rounds: int = 1_000, seed: int = 0) -> Counter[str]:
    """Close so many stores, and count the ways."""
    return play_rounds(MODULE, rounds, seed)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=1_000)
