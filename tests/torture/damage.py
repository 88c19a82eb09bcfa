"""Damage each file of a store, one byte or one cut at a time, and check that no answer is wrong.

    python -m tests.torture.damage [--tries 500] [--index RaBitQ2] [--only NAME] [--large]

Each damaged copy is opened in a separate process, which must not crash: it reports that the store is damaged (a
`StoreError`), or gives the answers of the undamaged store. The store was closed, or killed with its write-ahead log
still there.
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
from pathlib import Path
from typing import Any

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.stores.faiss.database import database_file
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, document
from tests.torture.indexes import is_trained
from tests.torture.limits import lower

DOCUMENTS = 25


def make(folder: Path, index: str, *, killed: bool) -> dict[str, Any]:
    """Create a store with a history, and return its answers."""
    store = FaissStore(TextEmbeddings(), folder, index)
    for number in range(DOCUMENTS):
        store.replace_documents(document(number, 1), [f"document {number}"])
    store.save()
    for number in range(0, DOCUMENTS, 7):
        store.replace_documents(document(number, 2), [f"document {number}"])
    store.replace_documents([], ["document 3"])
    right = answers(store)
    if killed:
        print(json.dumps(right), flush=True)
        time.sleep(60)
    store.close()
    return right


def answers(store: FaissStore) -> dict[str, Any]:
    """Return a store's answers to questions that read all of it."""
    ids = [each.id for number in range(DOCUMENTS) for each in document(number, 1) if each.id]
    return {
        "count": len(store),
        "texts": sorted((each.id, each.page_content, each.metadata) for each in store.get_by_ids(ids)),
        # What an index that is trained finds depends on what it was trained with; its cosines are checked instead.
        "nearest": []
        if is_trained(store)
        else [
            [(each.id, each.page_content, round(score, 3)) for each, score in store.similarity_search_with_score(query)]
            for query in ("a", "b", "c")
        ],
        "filtered": sorted(str(each.id) for each in store.similarity_search("a", k=999, filter={"version": 2})),
        # Not in order: deleted sentences count in BM25 until the index is built anew.
        "words": [
            sorted(str(each.id) for each, _ in store.lexical_search(query, k=999)) for query in ("s1 d5", "v2", "d24")
        ],
    }


def judge(folders: list[Path], right: dict[str, Any]) -> None:
    """Open damaged stores, and return the outcome of each."""
    for folder in folders:
        try:
            with FaissStore.open(folder, TextEmbeddings()) as store:
                given = json.loads(json.dumps(answers(store)))
                check_against_brute_force(store, TextEmbeddings())
            print("repaired" if given == right else "WRONG", flush=True)
        except AssertionError:
            print("WRONG", flush=True)
        except SentenceWindowError as error:
            print(f"error {type(error).__name__}", flush=True)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Flip a byte, or cut the file."""
    if chance.random() < 0.15 or not content:
        return content[: chance.randrange(len(content) + 1)]
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ chance.randrange(1, 256)]) + content[at + 1 :]


def torture(
    tries: int, seed: int = 0, index: str = "Flat", only: str = "", *, large: bool = False
) -> dict[str, Counter[str]]:
    """Damage each kind of file of a store with an index so many times, and count the outcomes.

    Args:
        tries: How often each kind is damaged.
        seed: The seed of all chance.
        index: The name of the store's index.
        only: A part of the names of the files to damage.
        large: Whether files count as large, which aren't read when they are opened unless somebody wrote to them.
    """
    options = ["--large"] * large
    chance, outcomes = random.Random(seed), dict[str, Counter[str]]()
    root = Path(tempfile.mkdtemp(prefix="damage"))
    try:
        for killed in (False, True):
            sound = root / f"sound {killed}"
            command = [sys.executable, "-m", "tests.torture.damage", "--index", index, "--make", str(sound), *options]
            with subprocess.Popen([*command, *(["--killed"] * killed)], stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                right = process.stdout.readline()
                if killed:
                    process.send_signal(signal.SIGKILL)
            for kind, files in kinds(sound).items():
                if only not in kind:
                    continue
                name = f"{kind}{' after kill -9' if killed else ''}"
                outcomes[name] = Counter()
                for start in range(0, tries, 50):
                    copies = []
                    for number in range(start, min(start + 50, tries)):
                        copy = root / f"copy {number}"
                        shutil.copytree(sound, copy)
                        file = copy / chance.choice(files)
                        file.write_bytes(damaged(file.read_bytes(), chance))
                        copies.append(copy)
                    outcomes[name] += judged(copies, right, options)
                    for copy in copies:
                        shutil.rmtree(copy)
    finally:
        shutil.rmtree(root)
    return outcomes


def kinds(sound: Path) -> dict[str, list[str]]:
    """Return the files of a store; those of the lexical index count as one."""
    names = [str(path.relative_to(sound)) for path in sorted(sound.rglob("*")) if path.is_file()]
    found: dict[str, list[str]] = {}
    for name in names:
        kind = re.sub(r"^vectors\.[0-9a-f]{16}", "vectors.*", name.split("/")[0])
        found.setdefault(kind, []).append(name)
    return found


def judged(copies: list[Path], right: str, options: list[str]) -> Counter[str]:
    """Judge copies in a separate process, which a crash would end early."""
    command = [sys.executable, "-m", "tests.torture.damage", *options, "--judge", *map(str, copies)]
    done = subprocess.run(command, input=right, capture_output=True, text=True, check=False)
    lines = done.stdout.split("\n")[:-1]
    assert len(lines) == len(copies), f"it crashed ({done.returncode}) at {lines[-1:]}: {done.stderr[-2000:]}"
    assert "WRONG" not in lines, f"a wrong answer from {copies[lines.index('WRONG')]}"
    return Counter(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=500, help="for each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--killed", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--judge", type=Path, nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--index", default="Flat")
    parser.add_argument("--only", default="", metavar="NAME", help="files with this in their names")
    parser.add_argument("--large", action="store_true", help="open files as large ones are opened")
    arguments = parser.parse_args()
    lower()
    if arguments.large:
        database_file.MAX_READ_AT_OPENING, database_file.SETTLED_AFTER = 0, -1
    if arguments.make:
        print(json.dumps(make(arguments.make, arguments.index, killed=arguments.killed)), flush=True)
    elif arguments.judge:
        judge(arguments.judge, json.loads(sys.stdin.read()))
    else:
        found = torture(arguments.tries, arguments.seed, arguments.index, arguments.only, large=arguments.large)
        for name, counts in found.items():
            print(f"{name}: {counts.total()} damaged, {dict(counts)}")
