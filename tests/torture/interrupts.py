"""Interrupt calls at random instructions, and check that the store works afterwards, or says to reopen it.

    python -m tests.torture.interrupts [--rounds 2000]

A call is interrupted by a signal, once or twice; by an exception that is set in its thread; or exactly before one of
its instructions, a random one or one of those where CPython checks for signals, and by a signal again while it
releases what it held. While the exception is kept, as an interactive session does, another process, another store on
the folder and the store itself must read and write: no lock is left. The contents are those before the call or after
it, and searches agree with brute force. Ctrl-C ends a wait for another process's lock, too.
"""

import atexit
import ctypes
import gc
import json
import random
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import textwrap
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
from tests.torture import opcodes
from tests.torture.calls import DOCUMENTS, READS, filled, forget_seal
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.rounds import Struck, main, play_rounds, python, within

MODULE = "tests.torture.interrupts"
_CLEARING_UP = (-5.5, -3)  # powers of 10: seconds in which what a call held is given back
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
    "save to": Kind(lambda store, folder: store.save(folder / "copy")),
    "close": Kind(lambda store, _: store.close()),
    "save": Kind(lambda store, _: store.save()),
    "open": Kind(lambda _, folder: FaissStore.open(folder / "store", TextEmbeddings())),
    "reopen": Kind(lambda store, folder: close_and_open(store, folder / "store")),
    "create": Kind(lambda _, folder: FaissStore(TextEmbeddings(), folder / "new")),
    **{name: Kind(lambda store, _, call=call: call(store, random.Random(1))) for name, call in READS.items()},  # type: ignore[misc]
}


def close_and_open(store: FaissStore, folder: Path) -> None:
    store.close()
    FaissStore.open(folder, TextEmbeddings())


ONLY_ON_DISK = frozenset({"save", "open", "reopen", "create"})
CLOSES = frozenset({"close", "reopen"})
MADE = frozenset({"backup", "copy", "new"})
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


@dataclass(frozen=True)
class Moment:
    """The moment and the means of an interruption."""

    chance: random.Random
    took: float
    run: list[opcodes.Instruction]
    error: type[BaseException]

    def seconds(self) -> float:
        return max(1e-6, self.chance.random() * 1.1 * self.took)


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Interrupt one call of a store with a history."""
    on_disk, way, seed = chance.random() < 0.6, chance.choice([*WAYS, "waiting"]), chance.random()
    if way == "waiting":
        return wait_for_another(chance, folder)
    scene = set_up(random.Random(seed), folder / "rehearsal", on_disk=on_disk)
    begun = time.perf_counter()
    run = list[opcodes.Instruction]()
    if "instruction" in way:
        run = opcodes.instructions(scene.call)
    else:
        scene.call()
    moment = Moment(chance, time.perf_counter() - begun, run, chance.choice([KeyboardInterrupt, Struck]))
    scene.store.close()
    scene = set_up(random.Random(seed), folder / "played", on_disk=on_disk)
    return judge(scene, way, [WAYS[way](scene.call, moment)])


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


# What is there afterwards


def judge(scene: Scene, way: str, held: list[BaseException | None]) -> Counter[str]:
    """Check a store after a call; a failure names the place of the interruption."""
    where = "" if held[0] is None else "".join(traceback.format_exception(held[0]))
    counts = Counter({f"{way}: {'interrupted' if where else 'too late'}": 1})
    try:
        return counts + check(scene, held)
    except BaseException as error:
        place = "on disk" if scene.on_disk else "in memory"
        error.add_note(f"{scene.name} {place} was interrupted by {way}:\n{textwrap.indent(where, '    ')}")
        raise


def check(scene: Scene, held: list[BaseException | None]) -> Counter[str]:
    """Check that no lock is left, that nothing is half done, and that the store works or says what to do.

    Args:
        scene: The interrupted scene.
        held: The exception; its traceback keeps all frames that were interrupted.
    """
    error = held[0]
    is_told = error is None or isinstance(error, KeyboardInterrupt | Struck | StoreError)
    assert is_told, f"{scene.name} raised {error!r} instead of what interrupted it"
    is_done = error is None
    del error
    if scene.on_disk:
        _neighbor().ask("write", scene.folder, PROBES[0])
        within(PATIENCE, f"another store after {scene.name}", partial(write_and_close, scene.folder, PROBES[1]))
    counts = Counter[str]()
    for probe in PROBES[2:4]:
        found = within(PATIENCE, f"the store after {scene.name}", partial(use, scene, probe, is_done=is_done))
        counts[f"{'on disk' if scene.on_disk else 'in memory'}: {found}"] += 1
        # What was held is let go of, which may end generators that were interrupted.
        held.clear()
        gc.collect()
    within(PATIENCE, f"closing after {scene.name}", scene.store.close)
    if scene.on_disk:
        forget_seal(scene.folder)
        with FaissStore.open(scene.folder, TextEmbeddings()) as store:
            check_contents(scene, store, is_done=is_done)
    for name in MADE:
        counts += check_made(scene, scene.root / name)
    return counts


def use(scene: Scene, probe: int, *, is_done: bool) -> str:
    """Read and write, and return the outcome."""
    try:
        check_contents(scene, scene.store, is_done=is_done)
        scene.store.replace_documents(document(probe, 1), [f"document {probe}"])
        assert contents(scene.store)[probe] == {1}
    except StoreError as error:
        if scene.name in CLOSES and "closed" in str(error):
            return "closed"
        if "open" not in str(error):
            raise AssertionError(f"after {scene.name} it is of no use and doesn't say to reopen it: {error}") from None
        return "says that it must be reopened"
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


# How it is interrupted


def by_a_signal(call: Callable[[], object], moment: Moment, most: int = 1) -> BaseException | None:
    """Raise from a signal handler, as Ctrl-C does."""
    left = [most]

    def handle(_: int, frame: FrameType | None) -> None:
        if left[0] and _is_within(_called, frame):
            left[0] -= 1
            raise moment.error

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, moment.seconds(), max(5e-5, moment.seconds() / 5) if most > 1 else 0)
        _called(call)
    except BaseException as error:  # noqa: BLE001 - what was to come
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return None


def _called(call: Callable[[], object]) -> None:
    call()


def _is_within(function: Callable[..., object], frame: FrameType | None) -> bool:
    while frame and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None


def in_its_thread(call: Callable[[], object], moment: Moment) -> BaseException | None:
    """Raise from another thread, as servers do to requests that take too long."""
    errors = list[BaseException]()

    def work() -> None:
        try:
            try:
                call()
            except BaseException as error:  # noqa: BLE001 - what was to come
                errors.append(error)
        except (KeyboardInterrupt, Struck) as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # else this thread sleeps for 5 ms or more
    thread.start()
    time.sleep(moment.seconds() * moment.chance.random())  # as it begins before this thread comes to sleep
    sys.setswitchinterval(switch)
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(moment.error))
    thread.join(PATIENCE)
    assert not thread.is_alive(), "a call that was interrupted hangs"
    return errors[0] if errors else None


def at_an_instruction(
    call: Callable[[], object], moment: Moment, *, where_signals_are_seen: bool
) -> BaseException | None:
    """Raise exactly before an instruction of the package, or of the code that its locks are made of."""
    at = opcodes.choose(moment.run, moment.chance, where_signals_are_seen=where_signals_are_seen)

    def action() -> None:
        raise moment.error

    try:
        opcodes.strike(call, -1 if at is None else at, action)
    except BaseException as error:  # noqa: BLE001 - what was to come
        return error
    return None


def at_an_instruction_and_by_a_signal(call: Callable[[], object], moment: Moment) -> BaseException | None:
    """Raise exactly before an instruction, and from a signal handler during the cleanup."""
    at = opcodes.choose(moment.run, moment.chance, where_signals_are_seen=True)
    left = [1]

    def handle(_: int, frame: FrameType | None) -> None:
        if left[0] and _is_within(_called, frame):
            left[0] -= 1
            raise moment.error

    def action() -> None:
        signal.setitimer(signal.ITIMER_REAL, 10 ** moment.chance.uniform(*_CLEARING_UP))
        raise moment.error

    before = signal.signal(signal.SIGALRM, handle)
    try:
        opcodes.strike(partial(_called, call), -1 if at is None else at, action)
    except BaseException as error:  # noqa: BLE001 - what was to come
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return None


WAYS: dict[str, Callable[[Callable[[], object], Moment], BaseException | None]] = {
    "signal": by_a_signal,
    "signals": partial(by_a_signal, most=2),
    "exception in its thread": in_its_thread,
    "instruction": partial(at_an_instruction, where_signals_are_seen=False),
    "instruction where signals are seen": partial(at_an_instruction, where_signals_are_seen=True),
    "instruction and a signal": at_an_instruction_and_by_a_signal,
}


# Waiting for another process


def wait_for_another(chance: random.Random, folder: Path) -> Counter[str]:
    """Interrupt a call that waits for the lock of another process, which keeps it until the call ends."""
    scene = set_up(random.Random(chance.random()), folder / "played", on_disk=True)
    if scene.name in CLOSES | {"create"}:
        scene.store.close()
        return Counter()
    released = threading.Event()

    def release() -> None:
        released.set()
        _neighbor().ask("release", scene.folder, 0)

    _neighbor().ask("hold", scene.folder, 0)
    patience = threading.Timer(HELD_SECONDS, release)
    patience.start()
    held = [by_a_signal(scene.call, Moment(chance, 0.5, [], KeyboardInterrupt))]
    patience.cancel()
    assert not released.is_set(), f"{scene.name} couldn't be interrupted as long as another process held a lock"
    release()
    return judge(scene, "waiting", held)


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
        except Exception as error:  # noqa: BLE001 - told to the other
            print(type(error).__name__, str(error).replace("\n", " "), flush=True)


def torture(rounds: int = 2_000, seed: int = 0) -> Counter[str]:
    """Interrupt so many calls, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=2_000)
