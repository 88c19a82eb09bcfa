"""Let two embedders use one store in any order, and check that their vectors never mix.

    python -m tests.torture.embedders [--rounds 100]

Two parties with different models open one folder, in one process or two, one after the other or at the same time. Their
names show their models or not. The parties add, replace, search, delete everything, are interrupted while they embed,
and discard staged vectors. Each call is right for its own model or raises an `IndexMismatchError`. At the end, each
vector is from the one model that the store can be opened with, also for texts that the other party left behind.
"""

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import EmbeddingError, IndexMismatchError
from tests.torture.corpus import DIMENSION, TextEmbeddings, Vectors, check_against_brute_force, contents, document
from tests.torture.rounds import main, play_rounds, python

MODULE = "tests.torture.embedders"
EVENTS = 12
MANY = range(100, 140)
"""The numbers of documents whose sentences take several calls of an embedder."""

REFUSALS = (IndexMismatchError, EmbeddingError)
"""The errors for a model that isn't the store's; an `EmbeddingError` if its vectors have another length."""


class ModelEmbeddings(TextEmbeddings):
    """A model whose vectors differ from those of any other; it can be interrupted after some calls."""

    def __init__(self, model: str, size: int = DIMENSION, kind: str = "described") -> None:
        super().__init__(size)
        self.name = model
        del self.model
        if kind == "described":
            self.model = model
        self._calls_left = sys.maxsize

    def interrupt_after(self, calls: int) -> None:
        self._calls_left = calls

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if not self._calls_left:
            raise KeyboardInterrupt
        self._calls_left -= 1
        return super().embed_documents(texts)

    def vector(self, text: str) -> Vectors:
        return super().vector(f"{self.name} says {text}")


KINDS = ("described", "private")
"""Whether the embedder's name shows its model."""


class Party:
    """A user of a folder, with a model."""

    def __init__(self, folder: Path, model: str, size: int, kind: str) -> None:
        self._folder, self._model, self._kind = folder, ModelEmbeddings(model, size, kind), kind
        self._store: FaissStore | None = None

    def do(self, event: str, seed: int) -> str:
        """Run an event, and return its outcome."""
        try:
            if event == "open" or self._store is None:
                self.end()
                self._store = FaissStore(self._model, self._folder)
            if event != "open":
                getattr(self, f"_{event}")(self._store, random.Random(seed))
        except REFUSALS:
            return "refused"
        except KeyboardInterrupt:
            return "interrupted"
        return "done"

    def end(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _add(self, store: FaissStore, chance: random.Random) -> None:
        store.add_documents(document(chance.randrange(6), 0))

    def _add_vectors(self, store: FaissStore, chance: random.Random) -> None:
        sentences = document(chance.randrange(6), 0)
        store.add_embeddings(sentences, np.array([self._model.vector(each.page_content) for each in sentences]))

    def _replace(self, store: FaissStore, chance: random.Random) -> None:
        number = chance.randrange(6)
        store.replace_documents(document(number, chance.randrange(3)), [f"document {number}"])

    def _ingest(self, store: FaissStore, chance: random.Random) -> None:
        store.add_documents(many())

    def _interrupted(self, store: FaissStore, chance: random.Random) -> None:
        self._model.interrupt_after(1)
        try:
            store.add_documents(many())
        finally:
            self._model.interrupt_after(sys.maxsize)

    def _empty(self, store: FaissStore, chance: random.Random) -> None:
        store.delete(filter={})

    def _discard(self, store: FaissStore, chance: random.Random) -> None:
        store.discard_staged()

    def _search(self, store: FaissStore, chance: random.Random) -> None:
        """Check that everything found, or read at one moment, is from this model."""
        query = f"query {chance.random()}"
        store.similarity_search(query)
        store.hybrid_search(query)
        for documents, vectors in store.export():
            for each, vector in zip(documents, vectors, strict=True):
                assert abs(float(vector @ self._model.vector(each.page_content)) - 1) < 1e-3, (
                    f"{self._model.name} reads a vector that isn't its own, of {each.page_content!r}"
                )


DONE = [
    *("open", "add", "add_vectors", "replace", "ingest", "interrupted", "interrupted"),
    *("empty", "discard", "search"),
]


def play(chance: random.Random, folder: Path) -> Counter[str]:
    """Run the events of two parties on one folder in some order."""
    path, sizes, kind = folder / "store", (DIMENSION, chance.choice([DIMENSION, DIMENSION, 48])), chance.choice(KINDS)
    models = [ModelEmbeddings(model, size, kind) for model, size in zip("AB", sizes, strict=True)]
    parties = [Party(path, "A", sizes[0], kind), (chance.choice([Party, Elsewhere]))(path, "B", sizes[1], kind)]
    orders = [[(chance.choice(DONE), chance.randrange(10**9)) for _ in range(EVENTS)] for _ in parties]
    counts = Counter[str]({kind: 1})
    if chance.random() < 0.4:
        counts["at once"] += 1
        counts += at_once(parties, orders)
    else:
        turns = chance.sample([0] * EVENTS + [1] * EVENTS, 2 * EVENTS)
        for turn in turns:
            counts[parties[turn].do(*orders[turn].pop())] += 1
    for party in parties:
        party.end()
    return counts + check_of_one_model(path, models)


def at_once(parties: list[Party], orders: list[list[tuple[str, int]]]) -> Counter[str]:
    """Run the events of both parties at the same time."""
    counts, failures = Counter[str](), list[BaseException]()

    def go(party: Party, events: list[tuple[str, int]]) -> None:
        try:
            for event in events:
                counts[party.do(*event)] += 1
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)

    threads = [threading.Thread(target=go, args=each) for each in zip(parties, orders, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return counts


def check_of_one_model(path: Path, models: list[ModelEmbeddings]) -> Counter[str]:
    """Check that all vectors are from one model, also after it adds texts that the other embedded before."""
    opening = [model for model in models if opens(path, model)]
    assert opening, "neither model opens the store any more"
    with FaissStore.open(path, opening[0]) as store:
        assert len(opening) == 1 or not len(store), "a store that isn't empty opens with two models"
        check_vectors(store, opening[0])
        try:
            store.add_documents(many())
        except IndexMismatchError:
            assert not len(store), "a store that isn't empty opens with a model, and then refuses it"
            store.discard_staged()
            store.add_documents(many())
        check_vectors(store, opening[0])
        held = contents(store)
        assert all(held[number] == {0} for number in MANY)
        check_against_brute_force(store, opening[0])
    assert not any(opens(path, model) for model in models if model is not opening[0]), "another model opens it, too"
    return Counter({f"at last of {opening[0].name}": 1})


def opens(path: Path, model: ModelEmbeddings) -> bool:
    try:
        with FaissStore.open(path, model) as store:
            store.similarity_search("anything")
    except IndexMismatchError:
        return False
    return True


def check_vectors(store: FaissStore, model: ModelEmbeddings) -> None:
    for documents, vectors in store.export():
        for each, vector in zip(documents, vectors, strict=True):
            of_model = model.vector(each.page_content)
            assert vector.shape == of_model.shape
            assert float(vector @ of_model) > 0.999, f"the vector of {each.page_content!r} isn't of {model.name}"


def many() -> list[Document]:
    return [each for number in MANY for each in document(number, 0)]


class Elsewhere(Party):
    """A party in another process."""

    def __init__(self, folder: Path, model: str, size: int, kind: str) -> None:
        super().__init__(folder, model, size, kind)
        self._process = python(
            f"from {MODULE} import serve; serve()", folder, model, size, kind, stderr=subprocess.PIPE
        )

    def do(self, event: str, seed: int) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps([event, seed])}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if not answer:
            raise AssertionError(self._process.communicate()[1])
        return answer

    def end(self) -> None:
        """End the process, which closes its store."""
        _, errors = self._process.communicate()
        assert self._process.returncode == 0, errors


def serve() -> None:
    """Act as a party in another process."""
    party = Party(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
    for line in sys.stdin:
        print(party.do(*json.loads(line)), flush=True)
    party.end()


def torture(rounds: int = 100, seed: int = 0) -> Counter[str]:
    """Play so many orders of events, and count the outcomes."""
    return play_rounds(MODULE, rounds, seed, batch=10)


if __name__ == "__main__":
    main(__doc__, MODULE, play, rounds=100, batch=10)
