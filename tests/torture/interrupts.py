"""Interrupt calls at random moments, as Ctrl-C does, and check that nothing is half done.

    python -m tests.torture.interrupts [--rounds 2000]

A signal raises a `KeyboardInterrupt` at any moment of a call, also while it waits for another process's lock. Then the
contents are those before the call or after it, and searches agree with brute force. While the exception is kept, as an
interactive session keeps it, another process writes to the folder, and so does a store that is opened in this one. When
it is released, the store itself reads and writes, or says to open it again, and closes.
"""

import atexit
import gc
import json
import random
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import FrameType

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.patience import PATIENCE
from tests.torture.calls import DOCUMENTS, READS, filled
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.rounds import main, play_rounds, python, within

MODULE = "tests.torture.interrupts"
HELD_SECONDS = 30.0
"""Within these an interrupt ends the wait for another process's lock, before a call gives up by itself."""

Contents = dict[int, set[int]]
PROBES = range(900, 910)
"""The numbers of the documents that are written to check whether writing works."""


@dataclass(frozen=True)
class Kind:
    """A call, and the version of each document that it leaves; ``None`` for none."""

    call: Callable[[FaissStore, Path], object]
    changes: Mapping[int, int | None] = field(default_factory=dict)


CALLS: dict[str, Kind] = {
    "add": Kind(lambda store, _: store.add_documents(document(1, 7) + document(20, 7)), {1: 7, 20: 7}),
    "add many": Kind(
        lambda store, _: store.add_documents([each for number in range(100, 140) for each in document(number, 7)]),
        dict.fromkeys(range(100, 140), 7),
    ),
    "replace": Kind(
        lambda store, _: store.replace_documents(document(2, 7), ["document 2", "document 3"]), {2: 7, 3: None}
    ),
    "delete": Kind(lambda store, _: store.delete([str(each.id) for each in document(4, 0)]), {4: None}),
    "delete by filter": Kind(lambda store, _: store.delete(filter={"number": {"$lt": 2}}), {0: None, 1: None}),
    "discard": Kind(lambda store, _: store.discard_staged()),
    "backup": Kind(lambda store, folder: store.backup(folder / "backup")),
    "close": Kind(lambda store, _: store.close()),
    "save": Kind(lambda store, _: store.save()),
    "open": Kind(lambda _, folder: FaissStore.open(folder / "store", TextEmbeddings())),
    "create": Kind(lambda _, folder: FaissStore(TextEmbeddings(), folder / "new")),
    **{name: Kind(lambda store, _, call=call: call(store, random.Random(1))) for name, call in READS.items()},  # type: ignore[misc]
}
ONLY_ON_DISK = frozenset({"save", "open", "create"})
MADE = frozenset({"backup", "new"})
"""The folders in which calls create stores."""


@dataclass(frozen=True)
class Scene:
    """A store, a call to interrupt, and the contents before and after it."""

    store: FaissStore
    root: Path
    on_disk: bool
    name: str
    before: Contents
    after: Contents

    @property
    def folder(self) -> Path:
        return self.root / "store"

    def call(self) -> None:
        """Make the call."""
        CALLS[self.name].call(self.store, self.root)


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Interrupt one call of a store with a history."""
    if chance.random() < 0.1:
        return wait_for_another(chance, folder)
    on_disk, seed = chance.random() < 0.6, chance.random()
    scene = set_up(random.Random(seed), folder / "rehearsal", on_disk=on_disk)
    begun = time.perf_counter()
    scene.call()
    took = time.perf_counter() - begun
    scene.store.close()
    scene = set_up(random.Random(seed), folder / "played", on_disk=on_disk)
    return judge(scene, [interrupted(scene.call, max(1e-6, chance.random() * 1.1 * took))])


def set_up(chance: random.Random, root: Path, *, on_disk: bool) -> Scene:
    """Create a store with a history, and choose a call; the same chance gives the same scene."""
    root.mkdir()
    if on_disk:
        shutil.copytree(_template(), root / "store")
    store = FaissStore(TextEmbeddings(), root / "store") if on_disk else filled(None)
    before: Contents = {number: {0} for number in range(DOCUMENTS)}
    for _ in range(chance.randrange(4)):
        past = chance.choice(["search", "lexical", "write"])
        if past == "write":
            store.replace_documents(document(5, 1), ["document 5"])
            before[5] = {1}
        else:
            READS[past](store, chance)
    name = chance.choice([name for name in CALLS if on_disk or name not in ONLY_ON_DISK])
    after = dict(before)
    for number, version in CALLS[name].changes.items():
        after.pop(number, None)
        if version is not None:
            after[number] = {version}
    return Scene(store, root, on_disk, name, before, after)


@cache
def _template() -> Path:
    """Return a store on disk that was saved and closed."""
    folder = Path(tempfile.mkdtemp(prefix="template"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with filled(folder / "store") as store:
        store.save()
    return folder / "store"


def interrupted(call: Callable[[], object], seconds: float) -> BaseException | None:
    """Make a call, and raise from a signal handler after some seconds, as Ctrl-C does; return the exception."""

    def handle(_: int, frame: FrameType | None) -> None:
        while frame and frame.f_code is not _called.__code__:
            frame = frame.f_back
        if frame:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        _called(call)
    except BaseException as error:  # noqa: BLE001 - what was to come
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return None


def _called(call: Callable[[], object]) -> None:
    call()


# What is there afterwards


def judge(scene: Scene, held: list[BaseException | None]) -> Counter[str]:
    """Check a store after a call; a failure names the place of the interruption.

    Args:
        scene: The interrupted scene.
        held: The exception; its traceback keeps all frames that were interrupted.
    """
    where = "" if held[0] is None else "".join(traceback.format_exception(held[0]))
    counts = Counter({"interrupted" if where else "too late": 1})
    try:
        return counts + check(scene, held)
    except BaseException as error:
        place = "on disk" if scene.on_disk else "in memory"
        error.add_note(f"{scene.name} {place} was interrupted:\n{where}")
        raise


def check(scene: Scene, held: list[BaseException | None]) -> Counter[str]:
    """Check that nothing is half done, and that the store works or says what to do."""
    assert isinstance(held[0], KeyboardInterrupt | StoreError | None), f"{scene.name} raised {held[0]!r}"
    is_done = held[0] is None
    if scene.on_disk:
        _neighbor().ask("write", scene.folder, PROBES[0])
        within(PATIENCE, f"another store after {scene.name}", partial(write_and_close, scene.folder, PROBES[1]))
    held.clear()
    gc.collect()
    found = within(PATIENCE, f"the store after {scene.name}", partial(use, scene, is_done=is_done))
    within(PATIENCE, f"closing after {scene.name}", scene.store.close)
    if scene.on_disk:
        with FaissStore.open(scene.folder, TextEmbeddings()) as store:
            check_contents(scene, store, is_done=is_done)
    counts = Counter({f"{'on disk' if scene.on_disk else 'in memory'}: {found}": 1})
    for name in MADE:
        counts += check_made(scene, scene.root / name)
    return counts


def use(scene: Scene, *, is_done: bool) -> str:
    """Read and write, and return the outcome."""
    try:
        check_contents(scene, scene.store, is_done=is_done)
        scene.store.replace_documents(document(PROBES[2], 1), [f"document {PROBES[2]}"])
        assert contents(scene.store)[PROBES[2]] == {1}
    except StoreError as error:
        if "open" not in str(error):
            raise AssertionError(f"after {scene.name} it fails and doesn't say to open it again: {error}") from None
        return "says that it must be opened again"
    return "works"


def check_contents(scene: Scene, store: FaissStore, *, is_done: bool) -> None:
    """Check that a store has the contents before the call, or those after it."""
    found = {number: versions for number, versions in contents(store).items() if number not in PROBES}
    right = [scene.after] if is_done else [scene.before, scene.after]
    assert found in right, f"{scene.name} is half done: {found}"
    check_against_brute_force(store, TextEmbeddings())


def check_made(scene: Scene, folder: Path) -> Counter[str]:
    """Check that a store made elsewhere is complete, missing, or refused."""
    try:
        with FaissStore.open(folder, TextEmbeddings()) as made:
            found = contents(made)
    except StoreError:
        return Counter()
    assert found == ({} if folder.name == "new" else scene.before), f"{folder.name} holds {found}"
    return Counter({"stores made elsewhere": 1})


def write_and_close(folder: Path, number: int) -> None:
    with FaissStore.open(folder, TextEmbeddings()) as store:
        store.replace_documents(document(number, 1), [f"document {number}"])
        assert contents(store)[number] == {1}


# Waiting for another process


def wait_for_another(chance: random.Random, folder: Path) -> Counter[str]:
    """Interrupt a call that waits for the lock of another process, which keeps it until the call ends."""
    scene = set_up(random.Random(chance.random()), folder / "played", on_disk=True)
    if scene.name in {"close", "create"}:
        scene.store.close()
        return Counter()
    released = threading.Event()

    def release() -> None:
        released.set()
        _neighbor().ask("release", scene.folder, 0)

    _neighbor().ask("hold", scene.folder, 0)
    patience = threading.Timer(HELD_SECONDS, release)
    patience.start()
    held = [interrupted(scene.call, max(1e-6, chance.random() / 2))]
    patience.cancel()
    assert not released.is_set(), f"{scene.name} couldn't be interrupted as long as another process held a lock"
    release()
    return judge(scene, held) + Counter(waiting=1)


class Neighbor:
    """Another process that uses the same folders."""

    def __init__(self) -> None:
        self._process = python(f"from {MODULE} import serve; serve()")

    def ask(self, what: str, folder: Path, number: int) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps([what, str(folder), number])}\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        assert ready, f"another process can't {what}, as if a lock had been left"
        answer = self._process.stdout.readline().strip()
        assert answer == "done", f"another process can't {what}: {answer}"


@cache
def _neighbor() -> Neighbor:
    return Neighbor()


def serve() -> None:
    """Act as the other process."""
    held: sqlite3.Connection | None = None
    for line in sys.stdin:
        what, folder, number = json.loads(line)
        try:
            if what == "write":
                write_and_close(Path(folder), number)
            elif what == "hold":
                held = sqlite3.connect(Path(folder, "sentences.sqlite3"), isolation_level=None)
                held.execute("BEGIN IMMEDIATE")
            elif held:
                held.close()
                held = None
            print("done", flush=True)
        except Exception as error:  # noqa: BLE001 - reported to the other
            print(type(error).__name__, str(error).replace("\n", " "), flush=True)


def torture(rounds: int = 2_000, seed: int = 0) -> Counter[str]:
    """Interrupt so many calls, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=2_000)
