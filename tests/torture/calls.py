"""The calls of a store, by name."""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from langchain_sentence_window import FaissStore
from tests.torture.corpus import SENTENCES, TextEmbeddings, document

DOCUMENTS = 12
"""The number of documents in a filled store; they are numbered from 0."""

Call = Callable[[FaissStore, random.Random], object]

READS: dict[str, Call] = {
    "search": lambda store, chance: store.similarity_search(f"q {chance.random()}", k=chance.choice([1, 4, 400])),
    "filtered": lambda store, chance: store.similarity_search("q", k=400, filter=_filter(chance)),
    "get": lambda store, chance: store.get_by_ids(_ids(chance)),
    "export": lambda store, chance: list(store.export()),
    "lexical": lambda store, chance: store.lexical_search(f"document d{_number(chance)}", k=chance.choice([1, 99])),
    "lexical filtered": lambda store, chance: store.lexical_search("s1", k=99, filter=_filter(chance)),
    "hybrid": lambda store, chance: store.hybrid_search(f"document d{_number(chance)} {chance.random()}"),
    "mmr": lambda store, chance: store.max_marginal_relevance_search(f"q {chance.random()}"),
    "count": lambda store, chance: len(store),
    "stats": lambda store, chance: store.stats(),
}


def filled(path: Path | None, documents: int = DOCUMENTS, index: str | None = None) -> FaissStore:
    """Open or create a store, and add documents to it."""
    store = FaissStore(TextEmbeddings(), path, index=index)
    store.add_documents([each for number in range(documents) for each in document(number, 0)])
    return store


def open_files(folder: Path) -> list[str]:
    """Return the files of a folder that this process has open, where the system can list them."""
    found = list[str]()
    for each in Path("/proc/self/fd").glob("*"):
        with suppress(OSError):  # that of this listing
            found.append(str(each.readlink()))
    return [each for each in found if each.startswith(str(folder))]


def keeps_a_state(folder: Path) -> bool:
    """Return whether a state of a store is still read, so that its write-ahead log can't be emptied."""
    with closing(sqlite3.connect(folder / "sentences.sqlite3")) as connection:
        (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(is_busy)


def _number(chance: random.Random) -> int:
    return chance.randrange(DOCUMENTS)


def _ids(chance: random.Random) -> list[str]:
    return [str(document(_number(chance), 0)[index].id) for index in range(SENTENCES)]


def _filter(chance: random.Random) -> dict[str, object]:
    """Return a new filter, which isn't cached."""
    return {"number": {"$lt": _number(chance)}, "version": {"$ne": -chance.random()}}
