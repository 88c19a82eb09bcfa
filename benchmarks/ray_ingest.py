"""Ingest on Ray Data into PostgreSQL: its throughput beside plain Python, that workers change nothing, and kills.

    python -m benchmarks.ray_ingest [--measure speed same kills] [--sentences 6000] [--kills 50] [--json PATH]

It starts a PostgreSQL and a Ray of its own.

- ``speed``: the same functions in one process, then by one worker, then by two, each with one thread and MiniLM. Each
  way ingests a tenth and then all, and what counts is the difference, as models are loaded at each start.
- ``same``: pages of files in random order and random blocks, by one, two and four workers. With vectors decided by the
  text, all rows must be equal bit by bit; with MiniLM, the windows of all questions.
- ``kills``: each round ingests another version of some documents, while a worker, the driver or PostgreSQL is killed at
  a random moment. After a restart the store must hold that version, nothing doubled or lost.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from benchmarks.corpus import sentences_of, words_of
from benchmarks.results import Results, make_parser
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.distributed import DocumentWriter, IngestSummary, ingest
from tests.live_stores.postgres import running_postgres
from tests.ray import kills
from tests.ray.cluster import running_ray
from tests.ray.factories import HashEmbeddings, load_minilm, make_table, one_thread, postgres_store

MINILM_DIMENSION = 384
SENTENCES_OF_A_DOCUMENT = 20
PAGES = 4
MEASURES = ("speed", "same", "kills")


def main() -> None:
    """Read the command line, and print and write the figures."""
    parser = make_parser(__doc__)
    parser.add_argument("--measure", nargs="+", default=MEASURES, choices=MEASURES)
    parser.add_argument("--sentences", type=int, default=6_000)
    parser.add_argument("--files", type=int, default=60, help="whose pages are ingested in random order")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    results = Results("ray_ingest", options)
    faults = 0
    if "kills" in options.measure:
        faults += measure_kills(results, options)
    if {"speed", "same"} & set(options.measure):
        with running_postgres() as url, running_ray():
            if "same" in options.measure:
                faults += measure_same(results, url, options)
            if "speed" in options.measure:
                measure_speed(results, url, options)
    results.save()
    sys.exit(1 if faults else 0)


# Throughput


def measure_speed(results: Results, url: str, options: argparse.Namespace) -> None:
    """Compare one process, one worker and two workers."""
    documents = documents_of(options.sentences, options.seed)
    one_thread()
    plain = DocumentWriter(partial(postgres_store, url, "plain", load_minilm))
    make_table(url, "plain", MINILM_DIMENSION)
    plain(documents[:1])  # loads the model
    rates = {"in one process": rate(lambda some: count_sentences(plain(some)), documents)}
    for workers in (1, 2):
        make_table(url, f"by{workers}", MINILM_DIMENSION)
        make = partial(postgres_store, url, f"by{workers}", load_one_threaded)
        run = partial(ingest_all, make, workers)
        rates[f"{workers} worker{'s' * (workers > 1)}"] = rate(run, documents)
    for name, value in rates.items():
        results.note(f"speed, {name}", value, "sentences/s")
    results.note("speed, 1 worker / one process", rates["1 worker"] / rates["in one process"])
    results.note("speed, 2 workers / 1 worker", rates["2 workers"] / rates["1 worker"])


def ingest_all(make: Callable[[], VectorStore], workers: int, documents: list[Document]) -> int:
    """Ingest documents, also those that are there; return the number of sentences."""
    # By a namespace of its own, each call writes all.
    return ingest(documents, store=make, concurrency=workers, namespace=f"{len(documents)}").sentences


def load_one_threaded() -> Embeddings:
    """Load MiniLM with one thread, as each worker has one processor."""
    one_thread()
    return load_minilm()


def rate(run: Callable[[list[Document]], int], documents: list[Document]) -> float:
    """Sentences a second, of all documents without what a tenth of them takes."""
    tenth = documents[: len(documents) // 10]
    counts, seconds = [], []
    for some in (tenth, documents):
        start = time.perf_counter()
        counts.append(run(some))
        seconds.append(time.perf_counter() - start)
    return (counts[1] - counts[0]) / (seconds[1] - seconds[0])


def count_sentences(outcomes: Any) -> int:
    """Count the sentences that were written."""
    return sum(outcome.sentences for outcome in outcomes)


def documents_of(sentences: int, seed: int) -> list[Document]:
    """Documents of sentences of 23 words."""
    import numpy as np

    chance = np.random.default_rng(seed)
    told = [each.capitalize() for each in sentences_of(words_of(chance), sentences, chance)]
    starts = range(0, sentences, SENTENCES_OF_A_DOCUMENT)
    return [
        Document(page_content=" ".join(told[start : start + SENTENCES_OF_A_DOCUMENT]), id=f"document{start}")
        for start in starts
    ]


# The same for any workers


def measure_same(results: Results, url: str, options: argparse.Namespace) -> int:
    """Ingest pages in several orders and by several workers; return the number of differences."""
    pages = pages_of(options.files)
    wanted: list[Any] = []
    differ = Counter[str]()
    for workers in (1, 2, 4):
        order = random.Random(options.seed + workers).sample(pages, len(pages))
        rows = rows_after(url, f"hashed{workers}", HashEmbeddings, order, workers)
        windows = windows_after(url, f"minilm{workers}", order, workers)
        wanted = wanted or [rows, windows]
        differ["rows"] += sum(one != other for one, other in zip(rows, wanted[0], strict=True))
        differ["windows"] += sum(one != other for one, other in zip(windows, wanted[1], strict=True))
    results.note("same, rows compared", len(wanted[0]) * 2)
    results.note("same, rows that differ", differ["rows"], "", most=0)
    results.note("same, questions compared", len(wanted[1]) * 2)
    results.note("same, questions whose windows differ", differ["windows"], "", most=0)
    return differ.total()


def pages_of(files: int) -> list[dict[str, Any]]:
    """Rows of a dataset: the pages of files."""
    made = []
    for document in documents_of(files * SENTENCES_OF_A_DOCUMENT, seed=1):
        told = document.page_content.split(". ")
        step = len(told) // PAGES
        parts = [
            ". ".join(told[page * step : (page + 1) * step if page < PAGES - 1 else None]) for page in range(PAGES)
        ]
        made += [{"text": text, "source": f"{document.id}.pdf", "page": page} for page, text in enumerate(parts)]
    return made


def ingested(
    url: str, table: str, load: Callable[[], Embeddings], pages: list[dict[str, Any]], *, workers: int, dimension: int
) -> IngestSummary:
    """Ingest pages in as many blocks as there are workers, and some more."""
    import ray.data

    make_table(url, table, dimension)
    dataset = ray.data.from_items(pages, override_num_blocks=2 * workers + 1)
    make = partial(postgres_store, url, table, load)
    # Without an index, which finds other sentences each time that it is built.
    return ingest(dataset, store=make, concurrency=workers, num_cpus=2 / max(workers, 2), index=False)


def rows_after(
    url: str, table: str, load: Callable[[], Embeddings], pages: list[dict[str, Any]], workers: int
) -> list[tuple[Any, ...]]:
    """All rows, sorted."""
    ingested(url, table, load, pages, workers=workers, dimension=16)
    return sorted(kills.stored_rows(url, table), key=lambda row: row[0])


def windows_after(url: str, table: str, pages: list[dict[str, Any]], workers: int) -> list[list[tuple[Any, ...]]]:
    """The windows of a question about each page."""
    ingested(url, table, load_one_threaded, pages, workers=workers, dimension=MINILM_DIMENSION)
    retriever = SentenceWindowRetriever(vectorstore=postgres_store(url, table, load_minilm), k=4)
    questions = sorted(page["text"].split(". ")[0] for page in pages)
    return [
        [(window.page_content, window.metadata["window_id"]) for window in retriever.invoke(question)]
        for question in questions
    ]


# Kills


def measure_kills(results: Results, options: argparse.Namespace) -> int:
    """Kill something in so many ingests; return the number of faults."""
    restarts, faults = Counter[str](), 0
    killed = 0
    with kills.killing(options.seed) as killer:
        while killed < options.kills:
            done = killer.round(kills.TARGETS[killed % len(kills.TARGETS)])
            killed += done.target is not None
            restarts[done.target or "nothing"] += len(done.exits) - 1
            wrong = [*done.faults, *(["it wasn't complete"] if done.exits[-1] else [])]
            faults += len(wrong)
            print(done, flush=True)
    results.note("kills", killed)
    for target in kills.TARGETS:
        results.note(f"kills, restarts after a killed {target}", restarts[target])
    results.note("kills, faults", faults, "", most=0)
    return faults


if __name__ == "__main__":
    main()
