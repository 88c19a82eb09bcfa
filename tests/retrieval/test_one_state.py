"""A query reads one state of the store, though documents are replaced between any two of its steps.

Nor do two calls share the connection that keeps a state, though one of them is canceled while its thread reads.
"""

import asyncio
import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import InMemoryVectorStore
from mcp import Client

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, create_tools
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from langchain_sentence_window.errors import IncompleteWindowError, StoreError
from langchain_sentence_window.retrieval.stored_sentences import MAX_ATTEMPTS
from tests.conftest import Invoke
from tests.patience import PATIENCE
from tests.torture.calls import keeps_a_state
from tests.toys import WordEmbeddings

NAMES = tuple(f"d{number}" for number in range(4))
QUESTION = "which seat has a card in Report d3"


def version_of(name: str, version: int) -> Document:
    """Return a version of a document, each sentence of which names it. All versions are equally long."""
    mark = f"v{version:04d}"
    parts = [
        f"# Part {part} of {mark}\n\nThe card of {mark} has a seat. The seat of {mark} has a card. See {mark}, that is:"
        f"\n\n- one card of {mark}\n- two seats of {mark}\n- an annual trial of {mark}\n\nA page of {mark} follows."
        for part in range(3)
    ]
    return Document(page_content="\n\n".join(parts), id=name, metadata={"title": f"Report {name}", "tenant": "a"})


class Writer:
    """Replaces all documents each time it is called."""

    def __init__(self) -> None:
        self.retriever: SentenceWindowRetriever | None = None
        self.version = 0
        self.most = 10

    def __call__(self) -> None:
        if self.retriever is not None and self.version < self.most:
            self.version += 1
            self.retriever.add_documents([version_of(name, self.version) for name in NAMES])


class WritingReranker(BaseDocumentCompressor):
    """Replaces all documents before it ranks windows, and reverses their order."""

    write: Any

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        self.write()
        return list(reversed(documents))


class WritingEmbeddings(WordEmbeddings):
    """Replaces all documents when a question is embedded."""

    def __init__(self, write: Writer) -> None:
        super().__init__()
        self.write = write

    def embed_query(self, text: str) -> list[float]:
        self.write()
        return super().embed_query(text)


class WritingStore(FaissStore):
    """Replaces all documents before each read by id."""

    write = Writer()

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        self.write()
        return super().get_by_ids(ids)


def versions(documents: Sequence[Document]) -> set[str]:
    """Return the versions that some windows of one query, and what leads them in, are from."""
    shown = (
        f"{each.page_content} {each.metadata.get('lead_ins')} {each.metadata.get('heading')}" for each in documents
    )
    return set(re.findall(r"v\d{4}", "\n".join(shown)))


def made(write: Writer, path: Path | None, kind: type[FaissStore] = FaissStore, **settings: Any) -> Any:
    """Return a retriever, whose documents are replaced while it is used from now on."""
    retriever = SentenceWindowRetriever(vectorstore=kind(WritingEmbeddings(write), path), **settings)
    retriever.add_documents([version_of(name, 0) for name in NAMES])
    write.retriever = SentenceWindowRetriever(vectorstore=retriever.vectorstore)
    return retriever


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "few": {"k": 2, "fetch_k": 2},
    "wide": {"window": 3},
    "filter": {"filter": {"tenant": "a"}},
    "by meaning": {"lexical_weight": 0, "ranking": None},
    "relevance": {"min_relevance": "auto"},
    "many": {"k": 40},
}


@pytest.mark.slow
@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("by", ["reranker", "tokens"])
async def test_a_query_reads_one_state(name: str, by: str, in_memory: bool, way: Invoke, tmp_path: Path) -> None:
    write = Writer()

    def count(text: str) -> int:
        write()
        return len(text.split())

    writing = {"reranker": WritingReranker(write=write)} if by == "reranker" else {"count_tokens": count}
    retriever = made(write, None if in_memory else tmp_path, **writing, max_tokens=200, **SETTINGS[name])
    found = await way(retriever, "invoke", QUESTION)
    assert found
    assert len(versions(found)) == 1
    assert write.version > 1
    write.most += 10
    trace = await way(retriever, "explain", QUESTION)
    assert len(set(re.findall(r"v\d{4}", " ".join(hit.text for hit in trace.hits)))) == 1


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
async def test_a_whole_document_is_read_in_one_state(in_memory: bool, way: Invoke, tmp_path: Path) -> None:
    write = Writer()
    retriever = made(write, None if in_memory else tmp_path, WritingStore)
    WritingStore.write = write
    (whole,) = await way(retriever, "get", ["d1"])
    assert whole.page_content == version_of("d1", int(versions([whole]).pop()[1:])).page_content
    assert len(versions(await way(retriever, "get", list(NAMES)))) == 1
    assert len(versions(await way(retriever, "invoke", QUESTION))) == 1
    assert write.version > 3
    WritingStore.write = Writer()


class CountingStore(FaissStore):
    """Counts the reads that have ended, each in a thread of its own."""

    ended = threading.Semaphore(0)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        try:
            return super().get_by_ids(ids)
        finally:
            self.ended.release()


class HeldConnection(sqlite3.Connection):
    """Waits in the midst of a read, once, as for a slow disk, and notes who uses it meanwhile."""

    is_next = False
    held: "HeldConnection | None" = None
    reads, goes_on = threading.Event(), threading.Event()
    used_by_others: ClassVar[set[str]] = set()

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if self is HeldConnection.held:
            self.used_by_others.add(sql)
        elif HeldConnection.is_next and sql.lstrip().startswith(("SELECT", "WITH")):
            HeldConnection.is_next, HeldConnection.held = False, self
            self.reads.set()
            assert self.goes_on.wait(PATIENCE)
            HeldConnection.held = None
        return super().execute(sql, parameters)

    @classmethod
    async def canceled_while_held(cls, call: Coroutine[Any, Any, object]) -> None:
        """Cancel a call while its thread is held; it goes on when `goes_on` is set."""
        cls.reads.clear()
        cls.goes_on.clear()
        cls.is_next = True
        task = asyncio.create_task(call)
        assert await asyncio.to_thread(cls.reads.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@asynccontextmanager
async def reading_by(
    kind: str, retriever: SentenceWindowRetriever
) -> AsyncIterator[Callable[[str], Coroutine[Any, Any, str]]]:
    """Return a context with a function that reads a document in some way."""
    if kind == "fetch of MCP":
        async with Client(create_mcp_server(retriever)) as client:

            async def fetch(name: str) -> str:
                return str((await client.call_tool("fetch", {"id": name})).structured_content)

            yield fetch
        return
    (read_around,) = (tool for tool in create_tools(retriever) if tool.name == "read_around")

    async def read(name: str) -> str:
        if kind == "aget":
            return "".join(each.page_content for each in await retriever.aget([name]))
        return str(await read_around.ainvoke({"doc_id": name, "first": 0, "last": 3}))

    yield read


@pytest.mark.parametrize("kind", ["aget", "read_around", "fetch of MCP"])
async def test_no_call_gets_the_connection_that_the_thread_of_a_canceled_call_reads_with(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=HeldConnection))
    with CountingStore(WordEmbeddings(), tmp_path) as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        retriever.add_documents([version_of("d1", 1), version_of("d2", 2)])
        async with reading_by(kind, retriever) as read:
            assert "v0002" in await read("d2")
            for _ in range(3):
                await HeldConnection.canceled_while_held(read("d1"))
                found = await read("d2")
                assert ("v0001" in found, "v0002" in found) == (False, True)
                while store.ended.acquire(blocking=False):
                    pass
                HeldConnection.goes_on.set()
                assert await asyncio.to_thread(store.ended.acquire, timeout=PATIENCE)
        assert not HeldConnection.used_by_others
        retriever.delete(["d1"])
        assert not keeps_a_state(tmp_path)


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
async def test_a_state_lasts_as_long_as_the_last_read_of_it(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=HeldConnection))
    texts, thread = list[str](), ThreadPoolExecutor(1)
    with thread, FaissStore(WordEmbeddings(), None if in_memory else tmp_path) as store:
        store.add_documents([Document(page_content="A card.", id="1")])

        def read(of: FaissStore) -> None:
            texts.extend(each.page_content for each in of.get_by_ids(["1"]))

        async def read_in_thread(of: FaissStore) -> None:
            await asyncio.get_running_loop().run_in_executor(thread, read, of)

        with store.at_one_state(copies=True) as at_one_state:
            read(at_one_state)
            store.add_documents([Document(page_content="A seat.", id="1")])
            await HeldConnection.canceled_while_held(read_in_thread(at_one_state))
        read(store)
        HeldConnection.goes_on.set()
        with pytest.raises(StoreError, match="was left before it was read"):
            read(at_one_state)
    assert texts == ["A card.", "A seat.", "A card."]


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
def test_threads_read_one_state_whatever_is_written(in_memory: bool, tmp_path: Path) -> None:
    with FaissStore(WordEmbeddings(), None if in_memory else tmp_path) as store:
        store.add_documents([Document(page_content="A card.", id="1")])
        with store.at_one_state(copies=True) as at_one_state, ThreadPoolExecutor(4) as threads:
            assert [each.page_content for each in at_one_state.get_by_ids(["1"])] == ["A card."]

            def write_and_read(number: int) -> str:
                store.add_documents([Document(page_content=f"Seat {number}.", id="1")])
                return at_one_state.get_by_ids(["1"])[0].page_content

            assert set(threads.map(write_and_read, range(20), timeout=PATIENCE)) == {"A card."}
        assert store.get_by_ids(["1"])[0].page_content.startswith("Seat")


class AskedStore(FaissStore):
    """Replaces all documents each time that it is asked."""

    write = Writer()

    async def embed_query(self, io: IO, text: str) -> Vectors:
        self.write()
        return await super().embed_query(io, text)


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
async def test_a_question_that_names_a_document_is_answered_however_often_it_is_replaced(
    in_memory: bool, way: Invoke, tmp_path: Path
) -> None:
    write = Writer()
    retriever = made(write, None if in_memory else tmp_path, AskedStore)
    AskedStore.write, write.most = write, 30
    assert len(versions(await way(retriever, "invoke", QUESTION))) == 1
    assert write.version < write.most
    AskedStore.write = Writer()


class BusyStore(InMemoryVectorStore):
    """Replaces all documents after each search, a number of times."""

    write = Writer()
    searches = 0

    def similarity_search_with_score(self, query: str, k: int = 4, **settings: Any) -> list[tuple[Document, float]]:
        self.searches += 1
        found = super().similarity_search_with_score(query, k, **settings)
        self.write()
        return found


def test_another_store_is_asked_again_while_it_is_busy() -> None:
    write = Writer()
    store = BusyStore(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store, names=False, window=2)
    retriever.add_documents([version_of(name, 0) for name in NAMES])
    write.retriever, store.write, write.most = retriever, write, MAX_ATTEMPTS - 1
    assert versions(retriever.invoke("card seat")) == {f"v{MAX_ATTEMPTS - 1:04d}"}


def test_a_store_that_lacks_sentences_is_told_from_a_busy_one() -> None:
    store = BusyStore(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store, names=False, window=2)
    retriever.add_documents([version_of("d1", 0)])
    for id_ in [id_ for id_, each in store.store.items() if "trial" in each["text"]]:
        del store.store[id_]
    with pytest.raises(IncompleteWindowError, match="no sentence"):
        retriever.invoke("card seat")
    assert store.searches == MAX_ATTEMPTS
    ours = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings()), names=False, window=2)
    ours.add_documents([version_of("d1", 0)])
    lacking = [
        str(each.id) for each in ours.vectorstore.similarity_search("trial", k=3) if "trial" in each.page_content
    ]
    assert ours.vectorstore.delete(lacking)
    with pytest.raises(IncompleteWindowError, match="no sentence"):
        ours.invoke("card seat")
