"""Replace killed indexes with backups, in every possible way, and check that nothing is mixed.

    python -m tests.torture.restoring [--rounds 100]

A backup is copied over an index whose process was killed with its write-ahead log still there, as ``cp -r`` does, with
some or all of the files; or `FaissStore.restore` replaces an index that was killed, is damaged, open or missing; or
copying is killed halfway. Afterwards the backup or the latest state opens, complete, or a `StoreError` says why not.
Nothing is a mixture of both, and nothing empty or partial opens.
"""

import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.torture import opcodes
from tests.torture.calls import filled
from tests.torture.corpus import SENTENCES, TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.rounds import how_it_ended, main, play_rounds, python

MODULE = "tests.torture.restoring"

Contents = dict[int, set[int]]
LAST_ACTS = ("writes", "searches", "is interrupted")
"""What a process does last before it is killed."""

WRITTEN_AFTERWARDS = 999
"""The number of a document that another process writes after a restore."""


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Restore one backup in one way."""
    way = chance.choices([copied_over, restored, killed_halfway], [4, 4, 3])[0]
    return way(chance, folder)


# Copied by hand


def copied_over(chance: random.Random, folder: Path) -> Counter[str]:
    """Copy a backup's files over those of a killed index, and open the result."""
    index, backup = folder / "index", folder / "backup"
    how, then = make_backup(chance, index, backup)
    latest = go_on(chance, index, then)
    if chance.random() < 0.3:
        for name in chance.sample(["sentences.head", "sentences.sqlite3-shm"], chance.randint(1, 2)):
            (index / name).unlink(missing_ok=True)
    shutil.copytree(backup, index, dirs_exist_ok=True)
    found = opened(index)
    assert found is None or found in (then, latest), f"copied from {how}: neither the backup nor the latest: {found}"
    came = "refused" if found is None else "the backup" if found == then else "the latest"
    return Counter({f"copied from {how}: {came}": 1})


def make_backup(chance: random.Random, index: Path, backup: Path) -> tuple[str, Contents]:
    """Create an index with a history, and a backup of it; return its kind and its contents."""
    store = filled(index, chance.choice([6, 40, 100]))
    rewrite(store, chance, 1)
    if chance.random() < 0.7:
        store.save()
    then = contents(store)
    how = chance.choice(["a closed store", "an open store", "backup()", "its database alone", "no head"])
    if how == "backup()":
        store.backup(backup)
    elif how == "an open store":
        shutil.copytree(index, backup)
    store.close()
    if how == "its database alone":
        backup.mkdir()
        shutil.copy(index / "sentences.sqlite3", backup)
    elif not backup.exists():
        shutil.copytree(index, backup)
        if how == "no head":
            (backup / "sentences.head").unlink()
    return how, then


def go_on(chance: random.Random, index: Path, then: Contents) -> Contents:
    """Write more, in a process that is killed in the end, and return the contents."""
    if chance.random() < 0.8:
        with FaissStore.open(index, TextEmbeddings()) as store:
            rewrite(store, chance, 2)
            if chance.random() < 0.5:
                store.save()
            then = contents(store)
    numbers = chance.sample(sorted(then), chance.choice([1, 2, 6]))
    how = chance.choice(LAST_ACTS)
    with python(f"from {MODULE} import write_until_killed; write_until_killed()", index, how, *numbers) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "wrote\n"
        process.send_signal(signal.SIGKILL)
    return then if how == "is interrupted" else then | {number: {3} for number in numbers}


def write_until_killed() -> None:
    """Act as a process that writes, reports it, and then follows orders until it is killed."""
    store, act = FaissStore.open(sys.argv[1], TextEmbeddings()), sys.argv[2]
    numbers = list(map(int, sys.argv[3:]))
    if act == "is interrupted":
        stage(store)
    else:
        names = [f"document {number}" for number in numbers]
        store.replace_documents([each for number in numbers for each in document(number, 3)], names)
    if act == "searches":  # and writes down the state of the caches
        store.lexical_search("a document")
        store.save()
    print("wrote", flush=True)
    for _ in sys.stdin:
        store.replace_documents(document(WRITTEN_AFTERWARDS, 3), [f"document {WRITTEN_AFTERWARDS}"])
        print("wrote", flush=True)


def stage(store: FaissStore) -> None:
    """Be interrupted while many documents are embedded, so that no document is written, but vectors are."""
    calls, embed = count(), TextEmbeddings.embed_documents

    def interrupted(embedding: TextEmbeddings, texts: list[str]) -> list[list[float]]:
        if next(calls):
            raise KeyboardInterrupt
        return embed(embedding, texts)

    setattr(TextEmbeddings, embed.__name__, interrupted)
    with suppress(KeyboardInterrupt):
        store.add_documents([each for number in range(200, 260) for each in document(number, 3)])
    setattr(TextEmbeddings, embed.__name__, embed)
    assert store.stats().staged_texts


def rewrite(store: FaissStore, chance: random.Random, version: int) -> None:
    """Replace some documents and delete others, in several calls."""
    numbers = sorted(contents(store))
    for _ in range(chance.choice([1, 3, 10])):
        chosen = chance.sample(numbers, chance.choice([1, 3, 5]))
        store.add_documents([each for number in chosen for each in document(number, version)])
    # Never all of them, and none that isn't there.
    if len(numbers) > 30:
        store.replace_documents([], [f"document {number}" for number in chance.sample(numbers, 5)])


def opened(index: Path) -> Contents | None:
    """Return a store's contents, compared over every way of reading; ``None`` if it is refused."""
    try:
        with FaissStore.open(index, TextEmbeddings()) as store:
            found = contents(store)
            check_against_brute_force(store, TextEmbeddings())
            for number in found:
                ids = [str(each.id) for each in document(number, 0)]
                assert len(store.get_by_ids(ids)) == SENTENCES
            checked = store.check()
            assert checked.is_sound, f"what is searched without an error isn't sound: {checked}"
    except StoreError:
        return None
    return found


# Restored


def restored(chance: random.Random, folder: Path) -> Counter[str]:
    """Restore a backup over an index in some state."""
    source, index, backup = folder / "source", folder / "index", folder / "backup"
    _, then = make_backup(chance, source, backup)
    state = chance.choice(list(STATES))
    with STATES[state](chance, index, backup) as scene:
        is_refused = False
        try:
            FaissStore.restore(backup, index)
        except StoreError:
            is_refused = True
        assert scene.is_backup_bad or not is_refused, f"over an index that is {state} it is refused"
        wrote = scene.write()
    found = opened(index)
    right = scene.latest if is_refused else then
    if wrote and found:
        assert found.pop(WRITTEN_AFTERWARDS, None) == {3}, f"what was written after the restore ({state}) isn't there"
    assert found == right, f"{state}, {'refused' if is_refused else 'restored'}: {found} instead of {right}"
    if not scene.is_backup_bad:
        assert opened(backup) == then, "the backup isn't as it was"
    return Counter({f"restored over {state}: {'refused' if is_refused else 'done'}": 1})


class State:
    """An index in some state that a backup replaces."""

    is_backup_bad = False

    def __init__(self, chance: random.Random, index: Path, backup: Path) -> None:
        self.chance, self.index, self.backup = chance, index, backup
        self.latest: Contents | None = None

    def __enter__(self) -> "State":
        """Bring the index into the state."""
        return self

    def write(self) -> bool:
        """Write where the index is open, and return whether that was acknowledged."""
        return False

    def __exit__(self, *_: object) -> None:
        """End the processes that were started."""

    def make(self) -> None:
        with filled(self.index) as store:
            store.save()
            self.latest = contents(store)


class Missing(State):
    pass


class Closed(State):
    def __enter__(self) -> State:
        self.make()
        return self


class Killed(Closed):
    def __enter__(self) -> State:
        self.make()
        self.latest = go_on(self.chance, self.index, self.latest or {})
        return self


class Damaged(Killed):
    def __enter__(self) -> State:
        super().__enter__()
        damage(self.chance, self.index)
        return self


class BackupDamaged(Killed):
    """A backup that can't be opened is refused, and the index is unchanged."""

    is_backup_bad = True

    def __enter__(self) -> State:
        super().__enter__()
        content = (self.backup / "sentences.sqlite3").read_bytes()
        (self.backup / "sentences.sqlite3").write_bytes(content[: len(content) // 2])
        return self


class BackupMissing(Killed):
    is_backup_bad = True

    def __enter__(self) -> State:
        super().__enter__()
        shutil.rmtree(self.backup)
        return self


class OpenHere(Closed):
    def __enter__(self) -> State:
        self.make()
        self._store = FaissStore.open(self.index, TextEmbeddings())
        return self

    def write(self) -> bool:
        self._store.replace_documents(document(WRITTEN_AFTERWARDS, 3), [f"document {WRITTEN_AFTERWARDS}"])
        return True

    def __exit__(self, *_: object) -> None:
        self._store.close()


class OpenElsewhere(Closed):
    def __enter__(self) -> State:
        self.make()
        script = f"from {MODULE} import write_until_killed; write_until_killed()"
        self._process = python(script, self.index, "writes", 2)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "wrote\n"
        self.latest = (self.latest or {}) | {2: {3}}
        return self

    def write(self) -> bool:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("write\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "wrote\n", "the process that had it open can't go on"
        return True

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


STATES: dict[str, Callable[[random.Random, Path, Path], State]] = {
    "missing": Missing,
    "closed": Closed,
    "killed": Killed,
    "damaged": Damaged,
    "killed, by a damaged backup": BackupDamaged,
    "killed, by a missing backup": BackupMissing,
    "open here": OpenHere,
    "open in another process": OpenElsewhere,
}


def damage(chance: random.Random, index: Path) -> None:
    """Change some bytes of a file, or cut or remove it."""
    file = chance.choice(sorted(path for path in index.rglob("*") if path.is_file()))
    content = bytearray(file.read_bytes())
    kind = chance.choice(["change", "cut", "remove"])
    for _ in range(20 if kind == "change" and content else 0):
        content[chance.randrange(len(content))] ^= 0xFF
    file.write_bytes(content if kind == "change" else content[: len(content) // 2])
    if kind == "remove":
        file.unlink()


# Killed halfway


def killed_halfway(chance: random.Random, folder: Path) -> Counter[str]:
    """Kill a process while it restores or copies, and repeat the call."""
    source, target = folder / "source", folder / "target"
    _, then = make_backup(chance, folder / "first", source)
    what = chance.choice(list(COPIES))
    before: Contents | None = None
    if what == "restore" and chance.random() < 0.8:
        with filled(target, 10) as store:
            before = contents(store)
    arguments = what, source, target, folder / "rehearsal", chance.randrange(10**9)
    with python(f"from {MODULE} import copy_until_killed; copy_until_killed()", *arguments) as process:
        told, _ = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL, -signal.SIGALRM), how_it_ended(process.returncode)
    found = opened(target)
    if told == "done\n":
        assert found == then
    assert found in (None, before, then), f"a {what} that was killed leaves {found}"
    if what != "restore":
        assert opened(source) == then, f"a {what} that was killed changes what it copies"
    copied_again(what, source, target, then)
    came = "done" if told else "nothing" if found is None else "the new one" if found == then else "the old one"
    return Counter({f"{what} killed: {came}": 1})


def copied_again(what: str, source: Path, target: Path, then: Contents) -> None:
    """Copy again: a restore always finishes; other copies may need another folder."""
    try:
        COPIES[what](source, target)
    except StoreError:
        assert what != "restore"
        target = target.with_name("another")
        COPIES[what](source, target)
    assert opened(target) == then


def copy_until_killed() -> None:
    """Act as a process that copies, and dies at a random instruction, or at a random time."""
    what, source, target, scratch = sys.argv[1], *map(Path, sys.argv[2:5])
    chance = random.Random(sys.argv[5])
    begun = time.perf_counter()
    run = opcodes.instructions(partial(COPIES[what], source, scratch))
    took = time.perf_counter() - begun
    call = partial(COPIES[what], source, target)
    if chance.random() < 0.5:
        at = opcodes.choose(run, chance)
        opcodes.strike(call, -1 if at is None else at, partial(os.kill, os.getpid(), signal.SIGKILL))
    else:
        signal.setitimer(signal.ITIMER_REAL, max(1e-6, chance.random() * took))  # ends the process at once
        call()
        signal.setitimer(signal.ITIMER_REAL, 0)
    print("done", flush=True)


def copy_by_backup(source: Path, target: Path) -> None:
    with FaissStore.open(source, TextEmbeddings()) as store:
        store.backup(target)


def copy_by_save(source: Path, target: Path) -> None:
    with FaissStore.open(source, TextEmbeddings()) as store:
        store.save(target)


def copy_by_restore(source: Path, target: Path) -> None:
    FaissStore.restore(source, target)


COPIES: dict[str, Callable[[Path, Path], None]] = {
    "restore": copy_by_restore,
    "backup": copy_by_backup,
    "save to": copy_by_save,
}


def torture(rounds: int = 100, seed: int = 0) -> Counter[str]:
    """Restore so many backups, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed, batch=10)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=100, batch=10)
