"""Cut the power at any moment of a writer's work, and check that its index opens, whole.

    python -m tests.torture.crash_images [--rounds 20]

A process adds, replaces and deletes documents, searches, saves, restores a backup, closes and opens again. A library
that is loaded before all others (`recorder.c`) writes down each of its writes, truncations, renames and syncs in the
folder of the index. From this record come images of the folder after a power failure: what was synced is there; of the
rest, each write may be lost or there, in any order, or torn at sectors of 512 bytes. Names that weren't synced are as
they were at some moment since.

Each image must open. It must hold what was acknowledged by then, and the last call completely or not at all; searches
must agree with brute force, `check` must find nothing, and the next process can write. It needs a C compiler and Linux.
"""

import ast
import os
import random
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from langchain_sentence_window import FaissStore
from langchain_sentence_window.store import database
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document
from tests.torture.rounds import ROOT, main, play_rounds

MODULE = "tests.torture.crash_images"
DOCUMENTS = 10
CALLS = 30
"""The calls of a writer."""

IMAGES = 120
"""The images of a round."""

MARKS = "marks"
"""The file in which the writer notes what it does."""

SHARED = "-shm"
"""The end of the names of files that are memory of several processes."""

SECTOR = 512
BYTES_IN_LOG = 1_000_000
"""The size of the write-ahead log from which on it is brought into the database, by default 16 times as much."""

State = dict[int, set[int]]


# The writer


def write() -> None:
    """Act as the writer; note the contents of the index before and after each call, in a file next to it."""
    folder, chance = Path(sys.argv[1]), random.Random(sys.argv[2])
    database.MAX_LOG_BYTES = BYTES_IN_LOG  # no setting of the store
    index, backup, state = folder / "index", folder / "backup", State()
    marks = os.open(folder / MARKS, os.O_WRONLY | os.O_CREAT)
    store = FaissStore(TextEmbeddings(), index)
    for version in range(1, CALLS + 1):
        numbers = chance.sample(range(DOCUMENTS), chance.choice([1, 1, 3, 8]))
        call = chance.choices([*CALLS_OF_WRITER], [*CALLS_OF_WRITER.values()])[0]
        after = dict(state)
        if call == "replace":
            after |= {number: {version} for number in numbers}
        elif call == "delete":
            after = {number: versions for number, versions in after.items() if number not in numbers}
        elif call == "restore":
            if not backup.exists():
                store.backup(backup)
                saved = dict(state)
            after = dict(saved)
        os.write(marks, f"{after}\n".encode())
        if call in ("replace", "delete"):
            sentences = [each for number in numbers for each in document(number, version) if number in after]
            store.replace_documents(sentences, [f"document {number}" for number in numbers])
        elif call == "restore":
            store.close()
            FaissStore.restore(backup, index)
            store = FaissStore.open(index, TextEmbeddings())
        elif call == "search":
            store.hybrid_search("Sentence s1 of document d1", k=3)
        elif call == "save":
            store.save()
        else:
            store.close()
            store = FaissStore.open(index, TextEmbeddings())
        state = after
        os.write(marks, b"done\n")
    store.close()


CALLS_OF_WRITER = {"replace": 8, "delete": 2, "search": 3, "save": 2, "reopen": 4, "restore": 1}
"""The calls of the writer, and how often each is made."""


# The record


class Step(NamedTuple):
    """A step of the writer.

    Attributes:
        what: ``C`` for a new file, ``W`` for a write, ``T`` for a truncation, ``S`` for a sync, ``R`` for a rename and
            ``U`` for the removal of a name.
        path: The path of the file.
        number: Where a write begins, or the size that a truncation leaves.
        data: What was written, or the new path.
    """

    what: str
    path: str
    number: int
    data: bytes


_HEAD = struct.Struct("=cIIQ")


def compiler() -> str | None:
    """Return the C compiler; ``None`` if there is none, or it isn't Linux."""
    return shutil.which("cc") if sys.platform == "linux" else None


def recorded(folder: Path, seed: str) -> list[Step]:
    """Let a writer work in a folder, and return its steps."""
    folder.mkdir()
    library, record = folder.with_name("recorder.so"), folder.with_name("record")
    source = Path(__file__).with_name("recorder.c")
    subprocess.run([str(compiler()), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    code = f"from {MODULE} import write; write()"
    environment = os.environ | {"LD_PRELOAD": str(library), "RECORDED": str(folder), "RECORD": str(record)}
    subprocess.run([sys.executable, "-c", code, folder, seed], check=True, cwd=ROOT, env=environment)
    steps = list(steps_in(record.read_bytes()))
    disk = Disk()
    for step in steps:
        disk.do(step)
    real = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    contents_of_real = {name: path.read_bytes() for name, path in real.items() if not name.endswith(SHARED)}
    assert disk.now() == contents_of_real, "the record isn't complete"
    return steps


def steps_in(record: bytes) -> Iterator[Step]:
    """Read the record, without the memory that processes share, which is created again after a power failure."""
    at, written = 0, b""
    while at < len(record):
        what, path, size, number = _HEAD.unpack_from(record, at)
        start = at + _HEAD.size
        at = start + path + size
        step = Step(what.decode(), os.fsdecode(record[start : start + path]), number, record[start + path : at])
        if not step.path.endswith(SHARED):
            yield step
        written = step.data if step.what == "W" else written
        if step.what == "S" and "/words/.tmp" in step.path:
            # tantivy renames these files past the C library.
            name = "meta.json" if written.startswith(b"{") else ".managed.json"
            yield Step("R", step.path, 0, os.fsencode(PurePosixPath(step.path).with_name(name)))


# The disk


Names = dict[str, "File"]


@dataclass(eq=False)
class File:
    """A file: what is on the disk, and the changes that may be lost.

    Attributes:
        content: What is on the disk for sure.
        pending: The writes and truncations since it was synced.
    """

    content: bytearray = field(default_factory=bytearray)
    pending: list[Step] = field(default_factory=list)

    def with_changes(self, steps: Sequence[Step]) -> bytearray:
        """Return the content after some changes."""
        content = bytearray(self.content)
        for step in steps:
            end = step.number if step.what == "T" else max(len(content), step.number + len(step.data))
            content.extend(bytes(max(0, end - len(content))))
            if step.what == "T":
                del content[end:]
            else:
                content[step.number : step.number + len(step.data)] = step.data
        return content


@dataclass(eq=False)
class Disk:
    """The files of a folder, as programs see them, and as they may be after a power failure.

    Attributes:
        names: The files by their paths, as programs see them.
        synced: The files by their paths, as they are on the disk for sure.
        pending: The changes of names that may be lost, by folder, each with its file.
    """

    names: Names = field(default_factory=dict)
    synced: Names = field(default_factory=dict)
    pending: dict[str, list[tuple[Step, File]]] = field(default_factory=dict)

    def do(self, step: Step) -> None:
        """Do what the writer did."""
        file = self.names.get(step.path)
        if step.what == "S" and file is not None:
            file.content = file.with_changes(file.pending)
            file.pending.clear()
        elif step.what == "S":
            for change, of in self.pending.pop(step.path, []):
                rename(self.synced, change, of)
        elif step.what in "WT":
            if file is not None:  # otherwise it has lost its name
                file.pending.append(step)
        else:
            file = file or File()
            rename(self.names, step, file)
            self.pending.setdefault(str(PurePosixPath(step.path).parent), []).append((step, file))

    def now(self) -> dict[str, bytes]:
        """Return the contents of all files as programs see them."""
        return {path: bytes(file.with_changes(file.pending)) for path, file in self.names.items()}

    def after_power_failure(self, chance: random.Random) -> dict[str, bytes]:
        """Return the contents of all files as they may be after a power failure."""
        names = dict(self.synced)
        for changes in self.pending.values():
            for step, file in changes[: chance.choice([0, len(changes), chance.randint(0, len(changes))])]:
                rename(names, step, file)
        return {path: bytes(file.with_changes(left_of(file.pending, chance))) for path, file in names.items()}


def rename(names: Names, step: Step, file: File) -> None:
    """Give a file its new name, if it has one now."""
    names.pop(step.path, None)
    if step.what != "U":
        names[step.path if step.what == "C" else os.fsdecode(step.data)] = file


def left_of(steps: Sequence[Step], chance: random.Random) -> list[Step]:
    """Return the changes of a file that a power failure leaves."""
    way = chance.choice(["none", "all", "first", "some", "torn"])
    if way in ("none", "all"):
        return list(steps) if way == "all" else []
    if way == "first":
        return list(steps[: chance.randint(0, len(steps))])
    share = chance.choice([0.1, 0.5, 0.9])
    parts = [part for step in steps for part in (sectors_of(step) if way == "torn" else [step])]
    return [part for part in parts if chance.random() < share]


def sectors_of(step: Step) -> Iterator[Step]:
    """Cut a write at sectors."""
    start, end = step.number, step.number + len(step.data)
    while start < end:
        after = min(end, (start // SECTOR + 1) * SECTOR)
        yield Step("W", step.path, start, step.data[start - step.number : after - step.number])
        start = after
    if step.what == "T":
        yield step


# Images


class Image(NamedTuple):
    """A folder after a power failure.

    Attributes:
        files: The contents of its files.
        allowed: What the index may hold.
        before: The step before the failure.
    """

    files: dict[str, bytes]
    allowed: list[State]
    before: Step


def images(steps: Sequence[Step], chance: random.Random) -> Iterator[Image]:
    """Cut the power at random steps; half of them are next to those that say what must be on the disk."""
    decisive = [number for number, step in enumerate(steps) if step.what in "STRUC"]
    chosen = Counter(chance.choice(decisive) + chance.choice([-1, 0]) for _ in range(IMAGES // 2))
    chosen.update(chance.randrange(len(steps)) for _ in range(IMAGES // 2))
    disk, allowed = Disk(), [State()]
    for number, step in enumerate(steps):
        if step.path == MARKS and step.data:
            is_done = step.data == b"done\n"
            allowed = allowed[-1:] if is_done else [*allowed, ast.literal_eval(step.data.decode())]
        else:
            disk.do(step)
        for _ in range(chosen[number]):
            yield Image(disk.after_power_failure(chance), allowed, step)


def check(image: Image, folder: Path) -> bool:
    """Open an image, and write to it; return whether it holds the call that was cut."""
    for path, content in image.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    with FaissStore(TextEmbeddings(), folder / "index") as store:
        found = contents(store)
        assert found in image.allowed, f"{found} isn't of {image.allowed}"
        check_against_brute_force(store, TextEmbeddings(), 1)
        store.replace_documents(document(DOCUMENTS, 1), [f"document {DOCUMENTS}"])
    with FaissStore.open(folder / "index", TextEmbeddings()) as store:
        assert contents(store) == found | {DOCUMENTS: {1}}
        checked = store.check()
        assert checked.is_sound, checked
    return found == image.allowed[-1] != image.allowed[0]


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Record a writer, and check images of its folder."""
    steps = recorded(folder / "recorded", f"{chance.random()}")
    counts = Counter[str]({"steps": len(steps)})
    for number, image in enumerate(images(steps, chance)):
        try:
            is_after = check(image, folder / f"{number}")
        except Exception as error:
            raise AssertionError(f"image {number}, cut after {image.before[:3]}, fails: {error!r}") from error
        counts["images"] += 1
        counts["with the call that was cut"] += is_after
        shutil.rmtree(folder / f"{number}")
    return counts


def torture(rounds: int = 20, seed: int = 0) -> Counter[str]:
    """Check the images of so many writers."""
    return play_rounds(MODULE, rounds, seed, batch=1)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=20, batch=1)
