"""Measure what each vector store gives and costs under the retriever.

    python -m benchmarks.stores [--sentences 10000] [--only NAME] [--no-suite] [--json PATH]
    python -m benchmarks.stores --postgres 100000 [--json PATH]

The first runs the conformance suite on each store and asks each the same questions. The second asks a PostgreSQL of
so many sentences alone. The stores must be installed: ``pip install --group stores``.

Times are medians of one process on one machine, with the embedding of the question left out, so the ratios are
what counts. Vectors are random, of 384 numbers, and all stores but those named HNSW search exactly.
"""

import asyncio
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from benchmarks.results import Results, make_parser
from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window._io import BLOCKING
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.live_stores import makers
from tests.live_stores.postgres import running_postgres

DIMENSION = 384
QUERIES = 40
WARM_UP = 5
SENTENCES_OF_A_DOCUMENT = 40

_COLUMNS = "langchain_id, content, langchain_metadata, embedding <=> $1 AS distance"

SUITES = {
    "FaissStore": "tests/adapters/test_conformance.py::TestFaissStore",
    "InMemoryVectorStore": "tests/adapters/test_conformance.py::TestInMemoryVectorStore",
    "a store without `get_by_ids`, inline windows": "tests/adapters/test_conformance.py::TestInlineWindows",
    "FAISS (langchain-community)": "tests/live_stores/test_stores.py::TestCommunityFaiss",
    "Chroma": "tests/live_stores/test_stores.py::TestChroma",
    "Qdrant (local)": "tests/live_stores/test_stores.py::TestQdrant",
    "Milvus Lite": "tests/live_stores/test_stores.py::TestMilvus",
    "PGVectorStore (PostgreSQL, HNSW)": "tests/live_stores/test_stores.py::TestPostgres",
}


class RandomVectors(Embeddings):
    """A unit vector for each text, the same each time, and no time for it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return list(unit_vector(text).tolist())


class Known(RandomVectors):
    """Its queries were embedded before, so that asking costs no embedding."""

    def __init__(self, queries: Sequence[str]) -> None:
        self._known = {query: unit_vector(query).tolist() for query in queries}

    def embed_query(self, text: str) -> list[float]:
        known: list[float] | None = self._known.get(text)
        return known if known is not None else super().embed_query(text)


def unit_vector(text: str) -> Any:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    vector = np.random.default_rng(seed).standard_normal(DIMENSION, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def corpus(sentences: int) -> Iterator[Document]:
    """Documents of sentences of about 130 characters, in sections of ten."""
    for number in range(sentences // SENTENCES_OF_A_DOCUMENT):
        told = [
            f"In case {number} the clerk noted under point {point} that the amount of {number * 7 + point} was paid in "
            f"full on day {point * 13 % 365} of that year."
            for point in range(SENTENCES_OF_A_DOCUMENT)
        ]
        parts = [" ".join(told[start : start + 10]) for start in range(0, len(told), 10)]
        yield Document(page_content="\n\n".join(parts), metadata={"doc_id": f"case-{number}", "tenant": "one"})


def questions() -> list[str]:
    return [f"Who paid amount {number}?" for number in range(WARM_UP + QUERIES)]


def medians_ms(asked: Sequence[str], *ways: Callable[[str], object]) -> list[float]:
    """The median times of a question asked in several ways, in turn, as a machine's speed varies.

    Each way is the first in its turn, as the first finds the pages that it reads not yet in memory.
    """
    taken: list[list[float]] = [[] for _ in ways]
    for turn, query in enumerate(asked):
        for place in range(len(ways)):
            way, times = ways[(turn + place) % len(ways)], taken[(turn + place) % len(ways)]
            start = time.perf_counter()
            way(query)
            times.append(time.perf_counter() - start)
    return [1000 * statistics.median(times[WARM_UP:]) for times in taken]


def over(store: VectorStore, window: Any, k: int) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=store, lexical_weight=0, k=k, fetch_k=50, window=window, max_tokens=None)


def calls_of(retriever: SentenceWindowRetriever, asked: Sequence[str]) -> float:
    """How often a query calls the store."""
    calls: Counter[str] = Counter()
    with counted(calls):
        for query in asked:
            retriever.invoke(query)
    return calls.total() / len(asked)


@contextmanager
def counted(calls: Counter[str]) -> Iterator[None]:
    """Count what retrievers call their stores for."""
    call, in_thread = BLOCKING.call, BLOCKING.in_thread

    def noted(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        def calling(blocking: Callable[..., Any], *arguments: Any, **keywords: Any) -> Awaitable[Any]:
            calls[getattr(blocking, "__name__", "call")] += 1
            return method(blocking, *arguments, **keywords)

        return calling

    with patch.multiple(BLOCKING, call=noted(call), in_thread=noted(in_thread)):
        yield


def tested(node: str) -> str:
    """How many tests of a suite pass, fail and are skipped."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", node, f"--junitxml={report}"], stdout=subprocess.DEVNULL, check=False
        )
        suite = next(ET.parse(report).getroot().iter("testsuite"))  # noqa: S314 - written just now
    count = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    wrong = count["failures"] + count["errors"]
    passed = count["tests"] - wrong - count["skipped"]
    extra = f", {wrong} failed" * bool(wrong) + f", {count['skipped']} skipped" * bool(count["skipped"])
    return f"{passed}{extra}"


def stores(results: Results, sentences: int, only: str, *, with_suite: bool) -> None:
    """Print the table, store by store."""
    asked = questions()
    embedding = NeighborMixedEmbeddings(Known(asked))
    sources = list(corpus(sentences))
    print(f"| store | suite | add, µs a sentence | its search, ms | windows, ms | ratio | calls |\n|{'---|' * 7}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made: dict[str, tuple[Callable[[], VectorStore], SentenceSplitter]] = {
            "FaissStore": (
                lambda: FaissStore(embedding.embedding, folder / "own", neighbor_weights=embedding.neighbor_weights),
                SentenceSplitter(),
            ),
            "InMemoryVectorStore": (lambda: InMemoryVectorStore(embedding), SentenceSplitter()),
            "a store without `get_by_ids`, inline windows": (
                lambda: WithoutIds(embedding),
                SentenceSplitter(inline_window=3),
            ),
            "FAISS (langchain-community)": (lambda: makers.community_faiss(embedding), SentenceSplitter()),
            "Chroma": (lambda: makers.chroma(embedding, folder / "chroma"), SentenceSplitter()),
            "Qdrant (local)": (lambda: makers.qdrant(embedding), SentenceSplitter()),
            "Milvus Lite": (lambda: makers.milvus(embedding, folder), SentenceSplitter()),
            "PGVectorStore (PostgreSQL, HNSW)": (
                lambda: makers.postgres(embedding, stack.enter_context(postgres_engine())),
                SentenceSplitter(),
            ),
        }
        for name, (make, splitter) in made.items():
            if only.lower() not in name.lower():
                continue
            store = make()
            retriever = SentenceWindowRetriever(vectorstore=store, splitter=splitter)
            start = time.perf_counter()
            retriever.add_documents(sources)
            added = 1e6 * (time.perf_counter() - start) / sentences
            retriever = over(store, 2, 10)
            plain, windows = medians_ms(asked, partial(store.similarity_search_with_score, k=50), retriever.invoke)
            calls = calls_of(retriever, asked[:WARM_UP])
            suite = tested(SUITES[name]) if with_suite else "-"
            cells = (name, suite, f"{added:,.0f}", f"{plain:.1f}", f"{windows:.1f}", f"{windows / plain:.2f}", calls)
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
            results.add(f"{name}: add", added, "us a sentence")
            results.add(f"{name}: its search", plain, "ms")
            results.add(f"{name}: windows", windows, "ms")
            results.add(f"{name}: windows, to its search", windows / plain)
            results.add(f"{name}: calls a query", calls)


class WithoutIds(InMemoryVectorStore):
    """A store that can't fetch by id."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError


@contextmanager
def postgres_engine() -> Iterator[Any]:
    from langchain_postgres import PGEngine

    with running_postgres() as url:
        engine = PGEngine.from_connection_string(url)
        try:
            yield engine
        finally:
            asyncio.run(engine.close())


def large_postgres(results: Results, sentences: int) -> None:
    """Print what a query costs in a PostgreSQL of many sentences, beside the plain pgvector query."""
    asked = questions()
    embedding = NeighborMixedEmbeddings(Known(asked))
    with postgres_engine() as engine:
        store: Any = makers.postgres(embedding, engine, index=False)
        start = time.perf_counter()
        engine._run_as_sync(copy_in(store, engine, sentences))
        print(f"{sentences:,} sentences copied in, {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        makers.index_vectors(store)
        print(f"HNSW index built, {time.perf_counter() - start:.0f} s")

        def by_sql(query: str) -> object:
            return engine._run_as_sync(plain_query(store, engine, embedding, query))

        print("| window | k | SQL alone, ms | the store's search, ms | windows, ms | to SQL | to search | calls |")
        print(f"|{'---|' * 8}")
        for window in ("auto", 2):
            for k in (1, 4, 10, 40):
                retriever = over(store, window, k)
                plain, own, windows = medians_ms(
                    asked, by_sql, partial(store.similarity_search_with_score, k=50), retriever.invoke
                )
                times = f"{plain:.1f} | {own:.1f} | {windows:.1f} | {windows / plain:.2f} | {windows / own:.2f}"
                calls = calls_of(retriever, asked[:WARM_UP])
                print(f"| {window} | {k} | {times} | {calls:.1f} |", flush=True)
                setting = f"window = {window!r}, k = {k}"
                results.add(f"{setting}: SQL alone", plain, "ms")
                results.add(f"{setting}: the store's search", own, "ms")
                results.add(f"{setting}: windows", windows, "ms")
                results.add(f"{setting}: calls a query", calls)


async def copy_in(store: Any, engine: Any, sentences: int) -> None:
    """Copy sentences with their vectors into the store's table; adding them one by one takes hours."""
    table = makers.table_of(store)
    async with engine._pool.connect() as connection:
        raw = (await connection.get_raw_connection()).driver_connection
        await raw.execute(f'ALTER TABLE "{table}" ALTER COLUMN embedding TYPE text')
        splitter, batch = SentenceSplitter(), []
        for source in corpus(sentences):
            for sentence in splitter.split_documents([source]):
                vector = "[" + ",".join(f"{number:.6f}" for number in unit_vector(sentence.page_content)) + "]"
                metadata = {key: value for key, value in sentence.metadata.items() if key != "tenant"}
                batch.append((sentence.id, sentence.page_content, vector, "one", json.dumps(metadata)))
            if len(batch) >= 5_000:
                await copy_rows(raw, table, batch)
                batch = []
        await copy_rows(raw, table, batch)
        await raw.execute(
            f'ALTER TABLE "{table}" ALTER COLUMN embedding TYPE vector({DIMENSION}) USING embedding::vector'
        )
        await raw.execute(f'ANALYZE "{table}"')
        await connection.commit()


async def copy_rows(raw: Any, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    columns = ["langchain_id", "content", "embedding", "tenant", "langchain_metadata"]
    await raw.copy_records_to_table(table, records=rows, columns=columns)


async def plain_query(store: Any, engine: Any, embedding: Embeddings, query: str) -> Any:
    """The same rows by SQL alone, as a program without LangChain would ask."""
    async with engine._pool.connect() as connection:
        raw = (await connection.get_raw_connection()).driver_connection
        async with raw.transaction():
            await raw.execute("SET LOCAL hnsw.ef_search = 400")
            sql = f"SELECT {_COLUMNS} FROM {makers.table_of(store)} ORDER BY embedding <=> $1 LIMIT 50"  # noqa: S608
            return await raw.fetch(sql, str(embedding.embed_query(query)))


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--only", default="", metavar="NAME", help="those with this in their names")
    parser.add_argument("--no-suite", action="store_true", help="only the times")
    parser.add_argument("--postgres", type=int, metavar="SENTENCES", help="ask a large PostgreSQL alone")
    options = parser.parse_args()
    results = Results("stores", options)
    if options.postgres:
        large_postgres(results, options.postgres)
    else:
        stores(results, options.sentences, options.only, with_suite=not options.no_suite)
    results.save()


if __name__ == "__main__":
    main()
