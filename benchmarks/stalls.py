"""How long an event loop stands still while 100 queries are asked at once, on PostgreSQL and on `FaissStore`.

    python -m benchmarks.stalls [--sentences 20000] [--queries 100] [--rounds 5] [--only NAME] [--json PATH]

All queries of a round start at once, as `asyncio.gather` starts them. A task that only sleeps a millisecond at a time
notes how late it wakes up: that is how long every other task of the program would have waited. Beside it stands the CPU
that the loop's own thread spent in its longest turn, which other programs on the machine don't disturb. The embedding
of questions is left out. PostgreSQL is started for it; it is asked through an engine with an event loop of its own, as
``PGEngine.from_connection_string`` makes it, and through one in the loop of the queries.
"""

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.results import Results, make_parser
from benchmarks.spaces import Questions, Space, rows
from benchmarks.stores import SENTENCES_OF_A_DOCUMENT
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.distributed.store_connection import OpenStore
from langchain_sentence_window.stores import adapter_of
from tests.live_stores import makers
from tests.live_stores.postgres import running_postgres

BEAT_SECONDS = 0.001
GOAL_MS = 50


class WatchedLoop(asyncio.SelectorEventLoop):
    """An event loop that keeps the CPU time of its longest turn, in seconds."""

    longest = 0.0

    def _run_once(self) -> None:
        start = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        self.longest = max(self.longest, time.thread_time() - start)


async def heartbeat(late: list[float]) -> None:
    """Note how late each beat comes, in seconds."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(BEAT_SECONDS)
        late.append(time.perf_counter() - start - BEAT_SECONDS)


async def watched(loop: WatchedLoop, ask: Callable[[str], Any], queries: list[str]) -> tuple[float, float, float]:
    """Ask all at once; return the longest stall, the longest turn's CPU, and the time of all, in seconds."""
    late: list[float] = []
    beating = asyncio.create_task(heartbeat(late))
    await asyncio.sleep(0.05)
    late.clear()
    loop.longest = 0.0
    start = time.perf_counter()
    found = await asyncio.gather(*map(ask, queries))
    taken = time.perf_counter() - start
    await asyncio.sleep(0.01)
    beating.cancel()
    if not all(found):
        raise RuntimeError("a query found nothing")
    return max(late), loop.longest, taken


def measure(results: Results, name: str, retriever: SentenceWindowRetriever, queries: list[str], rounds: int) -> None:
    """Print and keep the longest stall of some rounds."""
    gc.collect()
    start = time.perf_counter()
    gc.collect()
    results.note(
        f"{name}: a full collection of garbage, which is frozen out", 1_000 * (time.perf_counter() - start), "ms"
    )
    gc.freeze()  # as `serve_mcp` does: to look through all that is loaded takes as long as many queries
    with asyncio.Runner(loop_factory=WatchedLoop) as runner:
        loop: Any = runner.get_loop()
        runner.run(watched(loop, retriever.ainvoke, queries[:10]))
        taken = [runner.run(watched(loop, retriever.ainvoke, queries)) for _ in range(rounds)]
        runner.run(_closed(retriever.vectorstore))
    stalls, turns, walls = zip(*taken, strict=True)
    results.note(f"{name}: longest stall", 1_000 * max(stalls), "ms", GOAL_MS)
    results.note(f"{name}: longest stall, median of rounds", 1_000 * statistics.median(stalls), "ms")
    results.note(f"{name}: longest turn of the loop, CPU", 1_000 * max(turns), "ms")
    results.note(f"{name}: queries a second", len(queries) / statistics.median(walls))


async def _closed(store: Any) -> None:
    engine = getattr(store, "engine", None)
    if engine is not None:
        await engine.dispose()


@contextmanager
def postgres(embedding: Questions, space: Space, sentences: int) -> Iterator[tuple[Any, Any]]:
    """Load a PostgreSQL; give its store, and the same table as an async store in the current loop."""
    from langchain_postgres import PGEngine

    with running_postgres() as url:
        engine = PGEngine.from_connection_string(url, pool_pre_ping=True)
        store: Any = makers.postgres(embedding, engine, index=False)
        adapter = adapter_of(store)
        target = OpenStore(adapter, adapter.bulk_loader())
        for documents, vectors in rows(space, sentences):
            target.write(documents, vectors)
        target.finish()
        in_loop = asyncio.run(_opened(url, embedding, makers.table_of(store)))
        try:
            yield store, in_loop
        finally:
            asyncio.run(engine.close())


async def _opened(url: str, embedding: Questions, table: str) -> Any:
    """Open a table in the loop that asks."""
    from langchain_postgres import PGEngine
    from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
    from langchain_postgres.v2.indexes import HNSWQueryOptions
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = PGEngine.from_engine(create_async_engine(url, pool_pre_ping=True))
    options = HNSWQueryOptions(ef_search=400)
    store = await AsyncPGVectorStore.create(
        engine, embedding, table, metadata_columns=["tenant"], index_query_options=options
    )
    await engine.close()  # its connections are of this loop, which ends
    return store


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="NAME", help="those with this in their names")
    options: argparse.Namespace = parser.parse_args()
    results, space = Results("stalls", options), Space()
    asked = [f"Who paid amount {each}?" for each in range(options.queries)]
    documents = options.sentences // SENTENCES_OF_A_DOCUMENT
    known = {text: space.question(number, documents).tolist() for number, text in enumerate(asked)}
    embedding = Questions(known)
    with ExitStack() as stack:
        made: dict[str, Any] = {}
        if options.only.lower() in "faissstore":
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            store = FaissStore(embedding, folder / "store")
            for sentences, vectors in rows(space, options.sentences):
                store.add_embeddings(sentences, vectors)
            made["FaissStore"] = store
        if options.only.lower() in "postgresql":
            own, in_loop = stack.enter_context(postgres(embedding, space, options.sentences))
            made |= {"PostgreSQL": own, "PostgreSQL, in the loop of the queries": in_loop}
        for name, each in made.items():
            measure(results, name, SentenceWindowRetriever(vectorstore=each), asked, options.rounds)
    results.save()


if __name__ == "__main__":
    main()
