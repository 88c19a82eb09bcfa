"""A store's server that is killed or hangs: a clear error in time, no incomplete answer, and recovery."""

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever, create_tools
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.cloud_stores import MongoDBAdapter
from langchain_sentence_window.adapters.postgres import PGVectorStoreAdapter
from langchain_sentence_window.adapters.qdrant import QdrantAdapter
from langchain_sentence_window.adapters.search_engines import ElasticsearchAdapter, RedisAdapter
from langchain_sentence_window.errors import StoreUnavailableError
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.live_stores import makers
from tests.live_stores.postgres import Postgres, breakable_postgres
from tests.toys import WordEmbeddings

LIMIT = 0.5
IN_TIME: Any = {"timeout": LIMIT, "command_timeout": LIMIT}
TEXT = "A refund is quick. It takes days. Not in May. We pay. A card has a limit."


class AsyncWords(WordEmbeddings):
    """An embedder whose async form needs no thread."""

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with breakable_postgres() as server:
        yield server


@pytest.fixture
def retriever(server: Postgres) -> Iterator[SentenceWindowRetriever]:
    from langchain_postgres import PGEngine

    engine = PGEngine.from_connection_string(
        server.url, pool_pre_ping=True, pool_size=4, max_overflow=0, pool_timeout=4 * LIMIT, connect_args=IN_TIME
    )
    store = makers.postgres(NeighborMixedEmbeddings(AsyncWords()), engine)
    retriever = SentenceWindowRetriever(vectorstore=store, k=2)
    retriever.add_documents([Document(TEXT, id=f"d{number}", metadata={"tenant": "a"}) for number in range(20)])
    yield retriever
    asyncio.run(engine.close())


def asked(retriever: SentenceWindowRetriever) -> list[Callable[[], Any]]:
    search, read_around = create_tools(retriever)
    around = {"doc_id": "d1", "first": 1, "last": 1}
    return [
        lambda: retriever.invoke("refund"),
        lambda: asyncio.run(retriever.ainvoke("refund")),
        lambda: retriever.invoke("refund", filter={"tenant": "a"}, window=2),
        lambda: asyncio.run(retriever.aexplain("refund")),
        lambda: asyncio.run(retriever.aget(["d1"])),
        lambda: search.func(query="refund", config={}),  # type: ignore[attr-defined]
        lambda: asyncio.run(read_around.coroutine(**around, config={})),  # type: ignore[attr-defined]
    ]


def test_a_killed_server_is_an_error_until_it_is_back(server: Postgres, retriever: SentenceWindowRetriever) -> None:
    expected = [ask() for ask in asked(retriever)[:3]]
    server.kill()
    try:
        for ask in asked(retriever):
            with pytest.raises(Exception, match=r"PGVectorStore doesn't answer \(\w+\)") as raised:
                ask()
            error = raised.value
            assert isinstance(error, StoreUnavailableError) or isinstance(error.__cause__, StoreUnavailableError)
            assert isinstance(error.__cause__, Exception)
            assert "postgresql" not in str(error)  # no address
    finally:
        server.start()
    assert [ask() for ask in asked(retriever)[:3]] == expected


async def test_a_server_that_hangs_times_out_and_leaves_no_connection_open(
    server: Postgres, retriever: SentenceWindowRetriever
) -> None:
    expected = await retriever.ainvoke("refund")
    with server.frozen():
        start = time.monotonic()
        outcomes = await asyncio.gather(*(retriever.ainvoke("refund") for _ in range(8)), return_exceptions=True)
        assert [type(each) for each in outcomes] == [StoreUnavailableError] * 8
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(LIMIT / 5):
                await retriever.ainvoke("refund")
        assert time.monotonic() - start < 20
    assert await asyncio.gather(*(retriever.ainvoke("refund") for _ in range(8))) == [expected] * 8


def test_an_answer_is_complete_or_an_error_while_the_server_is_killed(
    server: Postgres, retriever: SentenceWindowRetriever
) -> None:
    expected, ended, outcomes = retriever.invoke("refund"), threading.Event(), list[Any]()

    def ask() -> None:
        while not ended.is_set():
            try:
                outcomes.append(retriever.invoke("refund") == expected)
            except StoreUnavailableError:
                outcomes.append(None)
            except Exception as error:  # noqa: BLE001 - checked below
                outcomes.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        time.sleep(0.2)
        server.kill()
        time.sleep(0.05)
        server.start()
    time.sleep(0.2)
    ended.set()
    for thread in threads:
        thread.join()
    assert set(outcomes) == {True, None}
    assert outcomes[-1] is True


class NoThreads(Executor):
    """Refuses to do anything in a thread."""

    def submit(self, fn: Any, /, *arguments: Any, **keywords: Any) -> Future[Any]:
        raise AssertionError(f"{fn} was to run in a thread")


async def test_an_async_query_waits_for_the_database_without_a_thread(
    retriever: SentenceWindowRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = retriever.invoke("refund")

    async def refused(_: Any, function: Any, *arguments: Any, **keywords: Any) -> Awaitable[Any]:
        raise AssertionError(f"{function} was to run in a thread")

    monkeypatch.setattr("langchain_sentence_window._io.run_in_executor", refused)
    monkeypatch.setattr(asyncio.get_running_loop(), "_default_executor", NoThreads())
    assert await retriever.ainvoke("refund") == expected
    assert await retriever.ainvoke("refund", filter={"tenant": "a"}, window=2)
    assert await create_tools(retriever)[1].coroutine(doc_id="d1", first=1, last=1, config={})  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("statement", "is_away"),
    [
        ("SELECT pg_sleep(5)", True),  # longer than the limit of a statement
        ("SET LOCAL statement_timeout = 50; SELECT pg_sleep(5)", True),
        ("SELECT pg_terminate_backend(pg_backend_pid())", True),
        ("SELECT 1 / 0", False),
        ("SELECT 1 FROM no_such_table", False),
    ],
)
def test_refused_statements_are_not_an_unavailable_server(
    retriever: SentenceWindowRetriever, statement: str, *, is_away: bool
) -> None:
    adapter = PGVectorStoreAdapter(retriever.vectorstore)
    pool: Any = retriever.vectorstore._engine._pool  # type: ignore[attr-defined]

    async def ask() -> None:
        async with pool.connect() as connection:
            for each in statement.split("; "):
                await connection.exec_driver_sql(each)

    with pytest.raises(Exception, match=r".") as raised:
        run(adapter.run(BLOCKING, ask))
    assert isinstance(raised.value, StoreUnavailableError) == is_away


def from_qdrant(port: int) -> Any:
    from qdrant_client import QdrantClient

    return QdrantClient(host="127.0.0.1", port=port, timeout=1, check_compatibility=False).get_collections()


def from_redis(port: int) -> Any:
    from redis import Redis

    return Redis(port=port, socket_timeout=1).ping()


def from_mongodb(port: int) -> Any:
    from pymongo import MongoClient

    with MongoClient[Any](port=port, serverSelectionTimeoutMS=100) as client:
        return client.list_database_names()


def from_elasticsearch(port: int) -> Any:
    from elasticsearch import Elasticsearch

    with Elasticsearch(f"http://127.0.0.1:{port}", request_timeout=1, max_retries=0) as client:
        return client.search()


@pytest.mark.parametrize(
    ("adapter", "ask"),
    [
        (QdrantAdapter, from_qdrant),
        (RedisAdapter, from_redis),
        (MongoDBAdapter, from_mongodb),
        (ElasticsearchAdapter, from_elasticsearch),
    ],
)
def test_other_drivers_errors_without_a_server_are_recognized(adapter: Any, ask: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(StoreUnavailableError, match="doesn't answer"), adapter(object()).reached():
        ask(port)
    with pytest.raises(KeyError), adapter(object()).reached():
        raise KeyError
