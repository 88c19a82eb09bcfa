"""Kill a writing process at random moments, and check what is there afterwards.

    python -m tests.torture.kill [--kills 200]

A process adds, replaces, deletes and saves, and reports each call. It is killed (kill -9) at a random moment, and the
store is opened again: every acknowledged call must be there, none may be there in part, and searches must agree with
brute force. Then the next process goes on with the same store.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from langchain_sentence_window import FaissStore
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document

DOCUMENTS = 60
CALLS = {"replace": 8, "delete": 2, "filter": 1, "add": 2, "save": 1, "lexical": 2, "reopen": 1}
"""How often each call is made, out of 17."""


def work(folder: Path, seed: int) -> None:
    """Write until killed; print each call before and after it."""
    chance = random.Random(seed)
    store = FaissStore(TextEmbeddings(), folder, index=chance.choice(["Flat", "SQfp16", "Flat"]))
    version = seed * 1_000_000
    while True:
        numbers = chance.sample(range(DOCUMENTS), chance.choice([1, 1, 3, 40]))
        version += 1
        call = chance.choices(
            ["replace", "delete", "filter", "add", "save", "lexical", "reopen"], [8, 2, 1, 2, 1, 2, 1]
        )[0]
        print("begin", call, version, *numbers, flush=True)
        names = [f"document {number}" for number in numbers]
        sentences = [each for number in numbers for each in document(number, version)]
        if call == "replace":
            store.replace_documents(sentences, names)
        elif call == "add":
            store.add_documents(sentences)
        elif call == "delete":
            store.replace_documents([], names)
        elif call == "filter":
            store.delete(filter={"number": {"$in": numbers}})
        elif call == "save":
            store.save()
        elif call == "lexical":
            store.lexical_search("Sentence s1 of document d1", k=3)
        else:
            store.close()
            store = FaissStore(TextEmbeddings(), folder)
        print("done", flush=True)


def expected_after(line: str, before: dict[int, set[int]]) -> dict[int, set[int]]:
    """Return the contents after a call."""
    _, call, version, *numbers = line.split()
    after = dict(before)
    for number in map(int, numbers):
        if call in ("replace", "add"):
            after[number] = {int(version)}
        elif call in ("delete", "filter"):
            after.pop(number, None)
    return after


def torture(kills: int, *, longest: float = 1.5, seed: int = 0) -> dict[str, int]:
    """Kill so many processes, and count the outcomes."""
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="kill"))
    counts = {"kills": 0, "calls acknowledged": 0, "killed within a call": 0, "of those done": 0}
    state: dict[int, set[int]] = {}
    try:
        for number in range(1, kills + 1):
            command = [
                sys.executable,
                "-m",
                "tests.torture.kill",
                "--work",
                str(folder),
                "--seed",
                str(seed * 1000 + number),
            ]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                lines = [process.stdout.readline()]
                time.sleep(chance.random() ** 2 * longest)
                process.send_signal(signal.SIGKILL)
                lines += process.stdout.read().split("\n")
            lines = [line.strip() for line in lines if line.strip()]
            assert process.returncode == -signal.SIGKILL, (process.returncode, lines[-3:])
            last = None
            for line in lines:
                if line == "done" and last is not None:
                    state = expected_after(last, state)
                    counts["calls acknowledged"] += 1
                    last = None
                elif line.startswith("begin") and line.count(" ") >= 3:
                    last = line
            with FaissStore(TextEmbeddings(), folder) as store:
                found = contents(store)
                check_against_brute_force(store, TextEmbeddings())
            if last is not None:
                counts["killed within a call"] += 1
                maybe = expected_after(last, state)
                counts["of those done"] += found == maybe != state
                assert found in (state, maybe), "a call is half there, or an acknowledged one isn't"
            else:
                assert found == state, "an acknowledged call isn't there"
            state = found
            counts["kills"] += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.seed)
    else:
        print(torture(arguments.kills, seed=arguments.seed))
