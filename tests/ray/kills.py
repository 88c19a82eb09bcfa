"""Ingests in which something is killed at a random moment, and the rows in the store after a restart.

Each round has a version of some documents: a third of them changed, some new, some removed. Its ingest is a process of
its own, in which something is killed. Then it is started again, and must end with exactly the rows of that version.
"""

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.distributed import ingest
from langchain_sentence_window.errors import IngestError
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.live_stores.postgres import Postgres, breakable_postgres
from tests.ray.cluster import CPUS, running_ray
from tests.ray.factories import HashEmbeddings, make_table, postgres_store

WORKERS = CPUS
DOCUMENTS = 240
SENTENCES = 24
LONG_SENTENCES = 400
"""Sentences of every fortieth document."""
SECONDS_A_TEXT = 0.0004
TARGETS = ("worker", "driver", "postgres")
MAX_RESTARTS = 5
_MARK = "SENTENCE_WINDOW_RAY_KILLS"
_STOPPED = 3


class SlowEmbeddings(HashEmbeddings):
    """Takes its time, so that there is something to kill."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        time.sleep(SECONDS_A_TEXT * len(texts))
        return super().embed_documents(texts)


@dataclass(frozen=True)
class Round:
    """The work of one round.

    Attributes:
        target: What was killed; ``None`` if the ingest was over before.
        at: Seconds from its beginning.
        exits: The exit status of each process that ingested, the last one 0.
        faults: What is wrong in the store at the end; empty if nothing is.
    """

    target: str | None
    at: float
    exits: tuple[int, ...]
    faults: tuple[str, ...]


def documents_of(version: int) -> list[Document]:
    """The documents of a version."""
    drawn = random.Random(version)
    made = []
    for number in range(DOCUMENTS):
        if (number + version) % 12 == 0:
            continue  # it is gone, or not there yet
        last = version - (number + version) % 3  # the version in which it changed last
        count = LONG_SENTENCES if number % 40 == 7 else 1 + (number * 7 + last * 3) % SENTENCES
        text = " ".join(
            f"Sentence {index} of document {number} was written in version {last}." for index in range(count)
        )
        made.append(Document(page_content=f"# Part {number}\n\n{text}", metadata={"source": f"file{number}.md"}))
    drawn.shuffle(made)
    return made


def rows_of(documents: list[Document]) -> dict[str, tuple[str, dict[str, Any], bytes]]:
    """The rows that a retriever makes of documents, by id: text, metadata and vector."""
    store = InMemoryVectorStore(NeighborMixedEmbeddings(HashEmbeddings()))
    SentenceWindowRetriever(vectorstore=store).add_documents(documents)
    return {
        id_: (row["text"], row["metadata"], (np.array(row["vector"], dtype=np.float32) + 0).tobytes())
        for id_, row in store.store.items()
    }


def stored_rows(url: str, table: str) -> list[tuple[str, str, dict[str, Any], bytes]]:
    """All rows of a table."""
    import psycopg

    query = f'SELECT langchain_id, content, langchain_metadata, embedding FROM "{table}"'  # noqa: S608
    with psycopg.connect(url.replace("+asyncpg", "")) as connection:
        rows = connection.execute(query).fetchall()
    return [
        (str(id_), text, {key: value for key, value in metadata.items() if key != "ingest_state"}, as_bytes(vector))
        for id_, text, metadata, vector in rows
    ]


def as_bytes(vector: str) -> bytes:
    """A vector of PostgreSQL, as text, in bytes."""
    return np.array(json.loads(vector), dtype=np.float32).tobytes()


def faults_of(url: str, table: str, version: int) -> list[str]:
    """The faults of a table: what is doubled, lost or wrong."""
    wanted, rows = rows_of(documents_of(version)), stored_rows(url, table)
    has = {id_: rest for id_, *rest in rows}
    faults = [f"{len(rows) - len(has)} ids twice"] if len(rows) != len(has) else []
    faults += [f"{len(wanted.keys() - has.keys())} sentences lost"] if wanted.keys() - has.keys() else []
    faults += [f"{len(has.keys() - wanted.keys())} sentences too many"] if has.keys() - wanted.keys() else []
    differ = sum(tuple(has[id_]) != wanted[id_] for id_ in has.keys() & wanted.keys())
    return [*faults, *([f"{differ} sentences differ"] if differ else [])]


@contextmanager
def killing(seed: int) -> Iterator["Killer"]:
    """Start PostgreSQL and Ray, and stop them at the end."""
    with breakable_postgres() as postgres:
        os.environ[_MARK] = str(os.getpid())
        try:
            with running_ray() as ray:
                yield Killer(postgres, ray.get_runtime_context().gcs_address, random.Random(seed))
        finally:
            del os.environ[_MARK]


class Killer:
    """Runs rounds.

    Attributes:
        seconds: How long an undisturbed ingest takes.
    """

    def __init__(self, postgres: Postgres, address: str, chance: random.Random) -> None:
        self._postgres, self._address, self._chance = postgres, address, chance
        self._table, self._version = "killed", 0
        make_table(postgres.url, self._table)
        for self._version in (0, 1):  # the first one starts processes that later ones find
            start = time.monotonic()
            if ended(self._begin()) != 0:
                raise RuntimeError("an undisturbed ingest failed")
            self.seconds = time.monotonic() - start

    def round(self, target: str) -> Round:
        """Ingest a new version, kill something, ingest it again, and look."""
        self._version += 1
        at = self._chance.uniform(0, self.seconds)
        process = self._begin()
        killed = self._kill(target, at, process)
        exits = [ended(process)]
        while exits[-1] != 0 and len(exits) <= MAX_RESTARTS:
            exits.append(ended(self._begin()))
        if killed == "driver" and exits == [0]:
            killed = None  # it was over
        return Round(killed, at, tuple(exits), tuple(faults_of(self._postgres.url, self._table, self._version)))

    def _begin(self) -> "subprocess.Popen[bytes]":
        """Start an ingest of the version, and wait until it begins."""
        arguments = json.dumps([self._postgres.url, self._table, self._version, self._address])
        process = subprocess.Popen([sys.executable, "-m", "tests.ray.kills", arguments], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def _kill(self, target: str, at: float, process: "subprocess.Popen[bytes]") -> str | None:
        """Kill something at a moment; return what, or ``None`` if all was over."""
        time.sleep(at)
        if process.poll() is not None:
            return None
        if target == "driver":
            process.kill()
            return target
        if target == "postgres":
            self._postgres.kill()
            time.sleep(self._chance.choice((0, 1, 15)))  # the last is longer than an ingest waits
            self._postgres.start()
            return target
        while process.poll() is None:
            found = writers()
            if found:
                os.kill(self._chance.choice(found), signal.SIGKILL)
                return target
            time.sleep(0.02)
        return None


def ended(process: "subprocess.Popen[bytes]") -> int:
    """Wait for the end of an ingest; return its exit status."""
    process.communicate()
    return process.returncode


def writers() -> list[int]:
    """The processes of this program's workers that write."""
    mark = f"{_MARK}={os.getpid()}".encode()
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and b"WriteDocuments" in (each / "cmdline").read_bytes().partition(b"\0")[0]:
                found += [int(each.name)] if mark in (each / "environ").read_bytes().split(b"\0") else []
        except OSError:
            continue  # it is gone
    return found


def main(arguments: str) -> int:
    """Ingest a version, as a process of its own."""
    import ray

    url, table, version, address = json.loads(arguments)
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    print("begins", flush=True)
    make = partial(postgres_store, url, table, SlowEmbeddings)
    try:
        ingest(documents_of(version), store=make, concurrency=WORKERS, cleanup="full")
    except IngestError as error:
        print(error, file=sys.stderr)
        return _STOPPED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
