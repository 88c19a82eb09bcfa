"""Damage each file of a store, one at a time, and check that no answer is wrong.

    python -m tests.torture.damage [--tries 500] [--index codes] [--only NAME]

A byte of a file is changed; the file is cut, removed, or replaced by that of an earlier state of the store, by that of
another store, or by other bytes. Each damaged copy is opened in a separate process, which must not crash. Without one
of its caches, a store gives the same answers, and builds it again. With another database, it gives the same answers, or
a `StoreError` says what to do; or, as a database isn't read whole when it is opened, an answer may be wrong, but then
`check` reports the damage. The store was closed, or killed with its write-ahead log still there.
"""

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import SentenceWindowError, StoreError
from langchain_sentence_window.stores import check_index
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, document
from tests.torture.limits import lower

MODULE = "tests.torture.damage"
DOCUMENTS = 25
OF_DATABASE = ("sentences.sqlite3", "sentences.sqlite3-wal")
"""The files that hold what can't be built again."""

REMEDIES = re.compile("restore it from a backup|index the documents again|delete|choose another path|make one with")


def make(folder: Path, index: str, *, killed: bool) -> None:
    """Create a store with a history, and print its answers; copy an earlier state, and make another store."""
    with FaissStore(TextEmbeddings(), folder.with_name("other"), index) as other:
        other.add_documents([each for number in range(50, 90) for each in document(number, 3)])
        of_other = answers(other)
        other.save()
    store = FaissStore(TextEmbeddings(), folder, index)
    for number in range(DOCUMENTS):
        store.replace_documents(document(number, 1), [f"document {number}"])
    store.save()
    store.close()
    shutil.copytree(folder, folder.with_name("earlier"))
    store = FaissStore.open(folder, TextEmbeddings())
    for number in range(0, DOCUMENTS, 7):
        store.replace_documents(document(number, 2), [f"document {number}"])
    store.save()
    store.replace_documents([], ["document 3"])
    right = answers(store)
    if not killed:
        store.close()
    # A sound database of another store, in place of this one's, is what the folder holds then.
    print(json.dumps([right, of_other]), flush=True)
    if killed:
        time.sleep(60)


def answers(store: FaissStore) -> dict[str, Any]:
    """Return a store's answers to questions that read all of it."""
    ids = [each.id for number in range(DOCUMENTS) for each in document(number, 1) if each.id]
    return {
        "count": len(store),
        "texts": sorted((each.id, each.page_content, each.metadata) for each in store.get_by_ids(ids)),
        "nearest": [
            [(each.id, each.page_content, round(score, 3)) for each, score in store.similarity_search_with_score(query)]
            for query in ("a", "b", "c")
        ],
        "filtered": sorted(str(each.id) for each in store.similarity_search("a", k=999, filter={"version": 2})),
        # Not in order: deleted sentences count in BM25 until the index is rebuilt.
        "words": [
            sorted(str(each.id) for each, _ in store.lexical_search(query, k=999)) for query in ("s1 d5", "v2", "d24")
        ],
    }


def judge(folders: list[Path], right: list[Any]) -> None:
    """Open damaged stores, and print the outcome of each."""
    for folder in folders:
        print(_judged(folder, right), flush=True)


def _judged(folder: Path, right: list[Any]) -> str:
    try:
        with FaissStore.open(folder, TextEmbeddings()) as store:
            is_right = json.loads(json.dumps(answers(store))) in right
            check_against_brute_force(store, TextEmbeddings())
            store.save()
    except AssertionError:
        is_right = False
    except SentenceWindowError as error:
        return "refused" if isinstance(error, StoreError) and REMEDIES.search(str(error)) else f"WRONG: {error!r}"
    checked = check_index(folder)
    if checked.problems:
        return "right, and reported" if is_right else "reported"
    if not is_right:
        return "WRONG: a wrong answer"
    return f"WRONG: after the answers, {checked}" if checked.notes else "right"


# Ways to damage a file


def change(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
    path.write_bytes(content)


def cut(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: chance.choice([0, chance.randrange(len(content) + 1)])])


def remove(path: Path, _: random.Random) -> None:
    path.unlink()


def swap(path: Path, chance: random.Random) -> None:
    """Put the file of an earlier state, or of another store, in its place."""
    root = path.parents[1] if path.parent.name == "words" else path.parent
    source = root.with_name(chance.choice(["earlier", "other"])) / path.relative_to(root)
    # Some names are drawn at random; a file of the same kind replaces them.
    alike = [source] if source.exists() else sorted(source.parent.glob(f"*{path.suffix}"))
    if alike:
        shutil.copyfile(chance.choice(alike), path)


def replace(path: Path, chance: random.Random) -> None:
    """Put other bytes in its place."""
    path.write_bytes(chance.randbytes(chance.choice([7, path.stat().st_size])))


WAYS: dict[Callable[[Path, random.Random], None], int] = {change: 6, cut: 2, remove: 1, swap: 2, replace: 1}
"""Ways to damage a file, and how often each is chosen."""


def torture(tries: int, seed: int = 0, index: str = "exact", only: str = "") -> dict[str, Counter[str]]:
    """Damage each kind of file of a store with an index so many times, and count the outcomes.

    Args:
        tries: How often each kind is damaged.
        seed: The seed of all chance.
        index: The kind of the store's index.
        only: A part of the names of the files to damage.
    """
    chance, outcomes = random.Random(seed), dict[str, Counter[str]]()
    for killed in (False, True):
        with tempfile.TemporaryDirectory(prefix="damage") as root:
            sound = Path(root, "sound")
            command = [sys.executable, "-m", MODULE, "--index", index, "--make", str(sound)]
            with subprocess.Popen([*command, *(["--killed"] * killed)], stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                right = process.stdout.readline()
                if killed:
                    process.send_signal(signal.SIGKILL)
            for kind, files in kinds(sound).items():
                if only in kind:
                    name = f"{kind}{' after kill -9' if killed else ''}"
                    outcomes[name] = damaged(sound, kind, files, tries, chance=chance, right=right)
    return outcomes


def kinds(sound: Path) -> dict[str, list[str]]:
    """Return the files of a store; those of the lexical index count as one."""
    names = [str(path.relative_to(sound)) for path in sorted(sound.rglob("*")) if path.is_file()]
    found: dict[str, list[str]] = {}
    for name in names:
        kind = re.sub(r"^vectors\.[0-9a-f]{16}", "vectors.*", name.split("/")[0])
        found.setdefault(kind, []).append(name)
    return found


def damaged(sound: Path, kind: str, files: list[str], tries: int, *, chance: random.Random, right: str) -> Counter[str]:
    """Damage copies of a store in one of its files, and count the outcomes."""
    outcomes = Counter[str]()
    for start in range(0, tries, 50):
        copies, how = list[Path](), list[str]()
        for number in range(start, min(start + 50, tries)):
            copies.append(sound.with_name(f"copy {number}"))
            shutil.copytree(sound, copies[-1])
            (way,) = chance.choices([*WAYS], [*WAYS.values()])
            way(copies[-1] / chance.choice(files), chance)
            how.append(f"{kind} of copy {number}: {way.__name__}")
        for each, outcome in zip(how, judged(copies, right), strict=True):
            is_cache = kind not in OF_DATABASE
            assert outcome in (("right",) if is_cache else RIGHT), f"{each}: {outcome}"
            outcomes[outcome] += 1
        for copy in copies:
            shutil.rmtree(copy)
    return outcomes


RIGHT = ("right", "right, and reported", "refused", "reported")
"""The outcomes that may come of a damaged database."""


def judged(copies: list[Path], right: str) -> list[str]:
    """Judge copies in a separate process, which a crash would end early."""
    command = [sys.executable, "-m", MODULE, "--judge", *map(str, copies)]
    done = subprocess.run(command, input=right, capture_output=True, text=True, check=False)
    lines = done.stdout.split("\n")[:-1]
    assert len(lines) == len(copies), f"it crashed ({done.returncode}) at {lines[-1:]}: {done.stderr[-2000:]}"
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=500, help="for each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--killed", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--judge", type=Path, nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--index", default="exact")
    parser.add_argument("--only", default="", metavar="NAME", help="files with this in their names")
    arguments = parser.parse_args()
    lower()
    if arguments.make:
        make(arguments.make, arguments.index, killed=arguments.killed)
    elif arguments.judge:
        judge(arguments.judge, json.loads(sys.stdin.read()))
    else:
        for name, counts in torture(arguments.tries, arguments.seed, arguments.index, arguments.only).items():
            print(f"{name}: {counts.total()} damaged, {dict(counts)}")
