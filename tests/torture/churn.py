"""Replace documents with one writer while eight readers search.

    python -m tests.torture.churn [--seconds 60] [--sentences 10000] [--index codes] [--memory] [--changes]

Each result's text must belong to its vector, and no reader may see a part of a document: a search filtered by
document finds all of its sentences, of one version. With ``--changes``, the limits of the automatic index move, so that
another one is built in the background all the time. `tests.torture.reading` does so with processes.
"""

import argparse
import random
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from langchain_sentence_window import FaissStore
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.store import faiss_index
from tests.torture.corpus import (
    SENTENCES,
    TOLERANCE,
    TextEmbeddings,
    check_against_brute_force,
    contents,
    document,
    searched_vectors,
)
from tests.torture.limits import lower

READERS = 8


def fill(store: FaissStore, sentences: int) -> int:
    """Add documents until there are so many sentences; return the number of documents."""
    documents = sentences // SENTENCES
    for start in range(0, documents, 2_000):
        made = [each for number in range(start, min(start + 2_000, documents)) for each in document(number, 0)]
        store.add_embeddings(made, np.array([TextEmbeddings().vector(each.page_content) for each in made]))
    return documents


def check_search(store: FaissStore, embedding: TextEmbeddings, number: int, chance: random.Random) -> None:
    """Search in one of several ways, and check the results."""
    query = f"query {chance.random()}"
    way = chance.choice(["plain", "plain", "filtered", "lexical", "ids"])
    if way == "plain":
        found = store.similarity_search_with_score(query, k=10)
        assert len(found) == 10
        for each, score in found:
            # The neighbors that its vector is mixed with are of the same version, as documents are seen whole.
            whole = document(each.metadata["number"], each.metadata["version"])
            vectors = searched_vectors([(one.page_content, one.metadata) for one in whole], embedding, NEIGHBOR_WEIGHTS)
            assert abs(float(vectors[each.page_content] @ embedding.vector(query)) - score) < TOLERANCE, each
        return
    if way == "filtered":
        documents = store.similarity_search(query, k=99, filter={"doc_id": f"document {number}"})
    elif way == "lexical":
        documents = [each for each, _ in store.lexical_search(f"document d{number}", k=99, filter={"number": number})]
    else:
        documents = store.get_by_ids([each.id for each in document(number, 0) if each.id])
    assert len(documents) == SENTENCES, f"{way}: {len(documents)} sentences of a document"
    assert len({each.metadata["version"] for each in documents}) == 1, f"{way}: sentences of several versions"


def churn(store: FaissStore, documents: int, seconds: float, *, changes: bool = False) -> dict[str, int]:
    """Write in this thread and read in others; return counts."""
    embedding, stop = TextEmbeddings(), threading.Event()
    searches, failures = [0] * READERS, list[BaseException]()

    def read(reader: int) -> None:
        chance = random.Random(reader)
        try:
            while not stop.is_set():
                check_search(store, embedding, chance.randrange(documents), chance)
                searches[reader] += 1
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)
            stop.set()

    threads = [threading.Thread(target=read, args=(reader,)) for reader in range(READERS)]
    for thread in threads:
        thread.start()
    writes, changed, chance, end = 0, 0, random.Random(99), time.monotonic() + seconds
    try:
        while time.monotonic() < end and not stop.is_set():
            writes += 1
            if changes and store.stats().index_to_come is None:
                changed += 1
                move_limits(changed % 3)
            number = chance.randrange(documents)
            store.replace_documents(document(number, writes), [f"document {number}"])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    check_against_brute_force(store, embedding)
    assert len(contents(store)) == documents
    return {
        "documents replaced": writes,
        "changes of the index": changed,
        "searches": sum(searches),
        "searches of the slowest reader": min(searches),
        "failures": 0,
    }


def move_limits(kind: int) -> None:
    """Move the limits of the automatic index, so that it is exact, has codes, or has clusters of codes."""
    faiss_index.MAX_EXACT_NUMBERS = (10**12, 0, 0)[kind]
    faiss_index.MAX_WHOLE_NUMBERS = (10**12, 10**12, 0)[kind]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--index", default="exact")
    parser.add_argument("--memory", action="store_true", help="a store in memory")
    parser.add_argument("--changes", action="store_true", help="change the index all the time; implies --index auto")
    arguments = parser.parse_args()
    if arguments.changes:
        arguments.index = "auto"
        lower()
    with tempfile.TemporaryDirectory() as folder:
        path = None if arguments.memory else Path(folder)
        with FaissStore(TextEmbeddings(), path, index=arguments.index) as store:
            filled = fill(store, arguments.sentences)
            print(churn(store, filled, arguments.seconds, changes=arguments.changes))
