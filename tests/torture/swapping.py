"""Move, replace and delete folders of open stores, and check that no store reads or harms another.

    python -m tests.torture.swapping [--rounds 50]

Threads read and write while the folder of their store is renamed and replaced by another; while the symbolic link to
it is redirected; while it is deleted, or deleted and created again; while its database alone is replaced; or while the
process changes its working directory, if the store's path is relative. The other store was closed, or killed with all
its data in the write-ahead log, and is opened and written meanwhile. Each acknowledged write is in the folder that the
store had, no store reads data of the other, and the other store loses nothing. A call that begins after its folder is
gone raises a `StoreError`.
"""

import os
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import StoreError
from tests.patience import PATIENCE
from tests.torture.calls import READS, filled
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.rounds import main, play_rounds, within

MODULE = "tests.torture.swapping"
PAUSE = 0.001
"""The seconds that a thread waits after a call was refused."""

OURS = range(6)
"""The numbers of the documents in the open store."""
WRITTEN = range(6, 12)
"""The numbers of the documents that are written to it meanwhile."""
THEIRS = range(700, 709)
"""The numbers of the documents in the other store."""
WRITTEN_THERE = range(720, 724)

Contents = dict[int, set[int]]


@dataclass
class Swap:
    """The folders after a swap.

    Attributes:
        ours: The folder of our store's files, if it exists.
        theirs: The folder of the other store's files.
        is_gone: Whether our store's path doesn't lead to it any more, so that every call must be refused.
    """

    ours: Path | None
    theirs: Path
    is_gone: bool = True


@dataclass
class Written:
    """The writes of one thread to a store."""

    acknowledged: dict[int, int] = field(default_factory=dict)
    open: dict[int, set[int]] = field(default_factory=dict)
    """Versions that were begun later and refused; they may be there or not."""
    late: set[int] = field(default_factory=set)
    """Documents with a version that was begun after the swap, and acknowledged."""


class Users:
    """Threads that read a store and write to it while its folder is swapped."""

    def __init__(self, store: FaissStore, chance: random.Random) -> None:
        self._store, self._chance = store, chance
        self._is_swapped, self._stop = threading.Event(), threading.Event()
        self._failures = list[BaseException]()
        self.refused = 0
        self.written = Written()
        kinds = [self._write, self._save, *chance.choices([self._read, self._look], k=2)]
        self._threads = [threading.Thread(target=self._go_on, args=(kind,), daemon=True) for kind in kinds]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def swapped(self) -> None:
        self._is_swapped.set()

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a thread that used the store hangs"
        if self._failures:
            raise self._failures[0]

    def _go_on(self, kind: Callable[[int], None]) -> None:
        turn = 0
        while not self._stop.is_set():
            turn += 1
            try:
                kind(turn)
            except StoreError:
                self.refused += 1
                # Calls refused at once, over and over, would leave the thread that swaps hardly any turn.
                time.sleep(PAUSE)
            except BaseException as error:  # noqa: BLE001 - raised where they are ended
                self._failures.append(error)
                return

    def _write(self, turn: int) -> None:
        number, is_late = WRITTEN[turn % len(WRITTEN)], self._is_swapped.is_set()
        self.written.open.setdefault(number, set()).add(turn)
        self._store.replace_documents(document(number, turn), [f"document {number}"])
        self.written.acknowledged[number] = turn
        self.written.open[number].clear()
        if is_late:
            self.written.late.add(number)

    def _save(self, turn: int) -> None:
        self._store.save()
        self._store.lexical_search(f"document d{turn % 9}")

    def _read(self, turn: int) -> None:
        """Check that all data read is our own, by every way of reading."""
        seen = list(self._store.similarity_search(f"q {turn}", k=999))
        seen += self._store.similarity_search("q", k=999, filter={"version": {"$ne": -turn}})
        seen += [each for each, _ in self._store.lexical_search(f"document d{THEIRS[0]}", k=999)]
        seen += self._store.get_by_ids([str(document(number, 0)[0].id) for number in (*OURS, *THEIRS)])
        seen += [each for documents, _ in self._store.export() for each in documents]
        strange = {each.metadata["number"] for each in seen} - {*OURS, *WRITTEN}
        assert not strange, f"documents of another store are seen: {strange}"

    def _look(self, turn: int) -> None:
        READS[self._chance.choice(list(READS))](self._store, random.Random(turn))


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Swap the folder of one store while it is used."""
    name = chance.choice(list(SWAPS))
    place, other = folder / "place", folder / "other"
    swap, path = SWAPS[name](place, other)
    theirs = make_other(other, chance)
    if name == "its link is turned":
        make_ours(place.with_name("first"))
        place.symlink_to("first")
    else:
        make_ours(path)
    store = FaissStore.open(path, TextEmbeddings())
    users = Users(store, chance)
    users.start()
    time.sleep(chance.random() * 0.05)
    done = swap()
    users.swapped()
    beside = write_there(done.theirs, theirs) if chance.random() < 0.6 else None
    time.sleep(chance.random() * 0.1)
    users.end()
    counts = Counter({name: 1, "calls refused": users.refused})
    if done.is_gone:
        check_refuses(store)
        assert not users.written.late, f"{name}: a write that came later was acknowledged"
    elif name in GOES_ON:
        assert not users.refused, f"{name}: calls were refused"
    within(PATIENCE, "closing", store.close)
    assert name != "it is deleted" or not path.exists(), "a folder that was deleted is made again"
    if beside:
        beside.replace_documents(document(WRITTEN_THERE[1], 2), [f"document {WRITTEN_THERE[1]}"])
        theirs[WRITTEN_THERE[1]] = {2}
        beside.close()
    os.chdir(folder.parent)
    check_theirs(done.theirs, theirs)
    if done.ours:
        check_ours(done.ours, users.written)
    counts["writes acknowledged"] += len(users.written.acknowledged)
    return counts


def make_ours(folder: Path) -> None:
    with filled(folder, len(OURS)) as store:
        store.save()


def make_other(folder: Path, chance: random.Random) -> Contents:
    """Create the other store: closed, or as a killed process leaves it."""
    made = folder.with_name("made")
    store = FaissStore(TextEmbeddings(), made)
    store.add_documents([each for number in THEIRS for each in document(number, 0)])
    if chance.random() < 0.5:
        store.save()
        store.replace_documents(document(THEIRS[0], 1), [f"document {THEIRS[0]}"])
    theirs = contents(store)
    if chance.random() < 0.5:
        store.close()
    shutil.copytree(made, folder)
    store.close()
    return theirs


def write_there(folder: Path, theirs: Contents) -> FaissStore:
    """Open the other store where it is now, and write to it."""
    store = FaissStore.open(folder, TextEmbeddings())
    store.replace_documents(document(WRITTEN_THERE[0], 2), [f"document {WRITTEN_THERE[0]}"])
    theirs[WRITTEN_THERE[0]] = {2}
    assert contents(store) == theirs
    return store


def check_refuses(store: FaissStore) -> None:
    """Check that every call is refused without the folder that the store had."""
    for name, call in READS.items():
        try:
            within(PATIENCE, name, partial(call, store, random.Random(3)))
        except StoreError:
            continue
        raise AssertionError(f"{name} goes on, though the store's folder isn't there any more")


def check_theirs(folder: Path, theirs: Contents) -> None:
    """Check that the other store has its own contents, and that each row is as it was written."""
    with FaissStore.open(folder, TextEmbeddings()) as store:
        assert contents(store) == theirs, "the other store isn't as it was"
        check_against_brute_force(store, TextEmbeddings())


def check_ours(folder: Path, written: Written) -> None:
    """Check that our store has every acknowledged write, where its files are now."""
    with FaissStore.open(folder, TextEmbeddings()) as store:
        found = contents(store)
        check_against_brute_force(store, TextEmbeddings())
    for number in OURS:
        assert found.pop(number) == {0}
    for number in found.keys() | written.open.keys():
        right = {written.acknowledged.get(number)} | written.open.get(number, set())
        assert found.get(number, {None}) <= right, f"document {number} is {found.get(number)}, not one of {right}"


# The swaps: each gives what is to be done, and the path that the store is opened at


def renamed(place: Path, other: Path) -> tuple[Callable[[], Swap], Path]:
    def swap() -> Swap:
        place.rename(place.with_name("old"))
        other.rename(place)
        return Swap(place.with_name("old"), place)

    return swap, place


def renamed_and_back(place: Path, other: Path) -> tuple[Callable[[], Swap], Path]:
    def swap() -> Swap:
        place.rename(place.with_name("old"))
        other.rename(place)
        time.sleep(0.01)
        place.rename(other)
        place.with_name("old").rename(place)
        return Swap(place, other, is_gone=False)

    return swap, place


def parent_renamed(place: Path, other: Path) -> tuple[Callable[[], Swap], Path]:
    (place.parent / "above").mkdir()
    place = place.parent / "above" / place.name

    def swap() -> Swap:
        place.parent.rename(place.parent.with_name("elsewhere"))
        place.parent.mkdir()
        other.rename(place)
        return Swap(place.parent.with_name("elsewhere") / place.name, place)

    return swap, place


def link_turned(place: Path, other: Path) -> tuple[Callable[[], Swap], Path]:
    """The store may stay where the link led when it was opened, or be refused."""

    def swap() -> Swap:
        place.with_name("link").symlink_to(other.name)
        place.with_name("link").replace(place)
        return Swap(place.with_name("first"), other, is_gone=False)

    return swap, place


def deleted(place: Path, other: Path) -> tuple[Callable[[], Swap], Path]:
    def swap() -> Swap:
        remove(place)
        return Swap(None, other)

    return swap, place


def made_anew(place: Path, other: Path) -> tuple[Callable[[], Swap], Path]:
    def swap() -> Swap:
        remove(place)
        shutil.copytree(other, place)
        return Swap(None, place)

    return swap, place


def database_replaced(place: Path, other: Path) -> tuple[Callable[[], Swap], Path]:
    """The other store's files are put into our folder, one by one."""

    def swap() -> Swap:
        for file in sorted(path for path in other.iterdir() if path.is_file()):
            shutil.copy(file, place / f"{file.name}.new")
            (place / f"{file.name}.new").replace(place / file.name)
        return Swap(None, other)

    return swap, place


def folder_changed(place: Path, other: Path) -> tuple[Callable[[], Swap], Path]:
    """A relative path belongs to the folder that the process was in when it opened the store."""
    there = place.with_name("there")
    there.mkdir()
    os.chdir(place.parent)

    def swap() -> Swap:
        other.rename(there / place.name)
        os.chdir(there)
        return Swap(place, there / place.name, is_gone=False)

    return swap, Path(place.name)


def remove(folder: Path) -> None:
    """Delete a folder to which others are still writing."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


SWAPS: dict[str, Callable[[Path, Path], tuple[Callable[[], Swap], Path]]] = {
    "it is renamed": renamed,
    "it is renamed, and back": renamed_and_back,
    "the folder above it is renamed": parent_renamed,
    "its link is turned": link_turned,
    "it is deleted": deleted,
    "it is deleted and made anew": made_anew,
    "its files are replaced": database_replaced,
    "the process goes elsewhere": folder_changed,
}
GOES_ON = frozenset({"the process goes elsewhere"})
"""After these swaps, a store works as before."""


def torture(rounds: int = 50, seed: int = 0) -> Counter[str]:
    """Swap so many folders, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed, batch=10)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=50, batch=10)
