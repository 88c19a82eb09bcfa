"""Bulk writers on the real stores: what they write is what the store itself would have written."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_sentence_window import NeighborMixedEmbeddings, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window._io import ASYNC
from langchain_sentence_window.adapters.milvus import MilvusAdapter
from langchain_sentence_window.adapters.postgres import PGVectorStoreAdapter
from langchain_sentence_window.adapters.qdrant import NOTE, QdrantAdapter
from langchain_sentence_window.distributed import BulkWriter
from langchain_sentence_window.errors import InvalidInputError
from tests.conftest import Invoke
from tests.live_stores import makers
from tests.toys import WordEmbeddings, document

OWN: dict[str, Any] = {"tenant": "a", "groups": ["staff"], "nul": "\0", "n": 2**40, "share": 0.1, "none": None}
TEXT = '# Fees\n\nA refund is paid. It\'s "quoted" \\ and\ttabbed. \N{GRINNING FACE}!\n\n# Cards\n\nA card is sent.'


def sentences_of(text: str = TEXT, name: str = "a", **metadata: Any) -> list[Document]:
    sentences = SentenceSplitter().split_documents([document(text, name)])
    return [each.model_copy(update={"metadata": each.metadata | metadata}) for each in sentences]


def vectors_of(sentences: Sequence[Document]) -> list[list[float]]:
    return WordEmbeddings().embed_documents([each.page_content for each in sentences])


# PostgreSQL


async def in_loop(store: Any, flow: Callable[[Any], Awaitable[Any]]) -> Any:
    """Run a flow with a connection, in the event loop of a PostgreSQL store's engine."""

    async def connected() -> Any:
        async with store._engine._pool.connect() as connection:
            found = await flow(connection)
            await connection.commit()
            return found

    return await store._engine._run_as_async(connected())


async def sql(store: Any, statement: str) -> list[tuple[Any, ...]]:
    async def ask(connection: Any) -> list[tuple[Any, ...]]:
        result = await connection.exec_driver_sql(statement)
        return [tuple(row) for row in result.all()] if result.returns_rows else []

    found: list[tuple[Any, ...]] = await in_loop(store, ask)
    return found


async def rows_of(store: Any, columns: str = "t::text") -> list[tuple[Any, ...]]:
    """All that is in a PostgreSQL store's table, in the order of ids."""
    return await sql(store, f'SELECT {columns} FROM "{makers.table_of(store)}" t ORDER BY langchain_id')  # noqa: S608


async def indexes_of(store: Any) -> list[str]:
    """The definitions of a PostgreSQL store's indexes, without the name of its table."""
    table = makers.table_of(store)
    found = await sql(store, f"SELECT indexdef FROM pg_indexes WHERE tablename = '{table}' ORDER BY indexname")  # noqa: S608
    return [definition.replace(table, "T") for (definition,) in found]


PRIMARY = 'CREATE UNIQUE INDEX "T_pkey" ON public."T" USING btree (langchain_id)'.replace('"', "")
HNSW = "CREATE INDEX Tlangchainvectorindex ON public.T USING hnsw (embedding vector_cosine_ops) WITH "


async def test_postgres_rows_are_those_of_the_store(way: Invoke, words: WordEmbeddings, postgres: Any) -> None:
    sentences = sentences_of()
    for number, each in enumerate(sentences):
        each.metadata |= OWN if number % 2 else {"other": {"deep": [1, "ä"]}}
    own, loaded = makers.postgres(words, postgres), makers.postgres(words, postgres)
    await way(own, "add_documents", sentences)
    assert await way(BulkWriter(loaded), "write", sentences, vectors_of(sentences)) == len(sentences) == 5
    assert await rows_of(loaded) == await rows_of(own) != []


@pytest.mark.parametrize("hybrid", [False, True])
async def test_postgres_rows_with_columns_of_all_kinds(words: WordEmbeddings, postgres: Any, *, hybrid: bool) -> None:
    from langchain_postgres import Column, PGVectorStore
    from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig

    def store(table: str) -> Any:
        kinds = {"Tenant": "VARCHAR(5)", "n": "BIGINT", "share": "DOUBLE PRECISION", "flag": "BOOLEAN"}
        # With a column of words the rows go through a temporary table, else into the table itself.
        config = HybridSearchConfig(tsv_column="words", tsv_lang="pg_catalog.simple") if hybrid else None
        postgres.init_vectorstore_table(
            table,
            11,
            content_column="The text",
            embedding_column="vec",
            id_column=Column("key", "TEXT"),
            metadata_columns=[Column(*each) for each in kinds.items()],
            metadata_json_column="rest",
            hybrid_search_config=config,
        )
        return PGVectorStore.create_sync(
            postgres,
            words,
            table,
            content_column="The text",
            embedding_column="vec",
            id_column="key",
            metadata_columns=list(kinds),
            metadata_json_column="rest",
            hybrid_search_config=config,
        )

    own, loaded = store(f"Own table {hybrid}"), store(f"Loaded table {hybrid}")
    given: dict[str, Any] = {"Tenant": "zoë", "n": -(2**62), "share": 0.1, "flag": False}
    sentences = [*sentences_of(**given), *sentences_of(name="b")]
    own.add_documents(sentences)
    writer = BulkWriter(loaded)
    writer.write(sentences, vectors_of(sentences))
    everything = f'SELECT t::text FROM "{{}} table {hybrid}" t ORDER BY key'  # noqa: S608
    expected = await sql(loaded, everything.format("Own"))
    assert await sql(loaded, everything.format("Loaded")) == expected != []
    wrong: dict[str, Any]
    for wrong in ({"Tenant": "too long"}, {"n": 2**63}, {"flag": "maybe"}):
        with pytest.raises(Exception, match=r"too long|out of range|invalid input syntax"):
            writer.write(one := sentences_of(name="c", **wrong), vectors_of(one))
    assert await sql(loaded, everything.format("Loaded")) == expected


async def test_writing_again_touches_nothing_but_what_differs(words: WordEmbeddings, postgres: Any) -> None:
    store = makers.postgres(words, postgres)
    writer = BulkWriter(store)
    sentences = [*sentences_of(**OWN), *sentences_of(name="b")]
    writer.write(sentences, vectors_of(sentences))
    before = await rows_of(store, "langchain_id::text, xmin::text")
    writer.write(sentences, vectors_of(sentences))
    assert await rows_of(store, "langchain_id::text, xmin::text") == before
    changed = vectors_of(sentences)
    changed[3][0] += 1
    writer.write(sentences, changed)
    after = await rows_of(store, "langchain_id::text, xmin::text")
    assert {new[0] for old, new in zip(before, after, strict=True) if old != new} == {sentences[3].id}


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
async def test_rows_that_are_there_are_updated_by_either_driver(
    words: WordEmbeddings, postgres: Any, postgres_url: str, driver: str
) -> None:
    from langchain_postgres import PGEngine

    engine = PGEngine.from_connection_string(postgres_url.replace("asyncpg", driver))
    store = makers.postgres(words, engine)
    sentences = sentences_of()
    loader = PGVectorStoreAdapter(store).bulk_loader()
    vectors = np.array(vectors_of(sentences), dtype=np.float32)
    await loader.write(ASYNC, sentences[2:], vectors[2:])
    changed = [each.model_copy(update={"page_content": "New."}) for each in sentences]
    await loader.write(ASYNC, changed, vectors)
    assert await rows_of(store, "content") == [("New.",)] * 5
    await engine.close()


async def test_postgres_indexes_are_built_after(way: Invoke, words: WordEmbeddings, postgres: Any) -> None:
    store = makers.postgres(words, postgres, index=False)
    sentences = sentences_of()
    writer = BulkWriter(store, build_memory_mb=64, build_workers=0)
    await way(writer, "prepare")
    await way(writer, "write", sentences, vectors_of(sentences))
    assert await indexes_of(store) == [PRIMARY]
    await way(writer, "finish")
    assert await indexes_of(store) == [PRIMARY, HNSW + "(m='16', ef_construction='64')"]
    ((estimated,),) = await sql(store, f"SELECT reltuples FROM pg_class WHERE relname = '{makers.table_of(store)}'")  # noqa: S608
    assert estimated == len(sentences)
    await way(writer, "finish")
    assert len(await indexes_of(store)) == 2


async def test_the_index_that_was_asked_for_is_built(words: WordEmbeddings, postgres: Any) -> None:
    from langchain_postgres.v2.indexes import DistanceStrategy, HNSWIndex

    store = makers.postgres(words, postgres, index=False)
    with BulkWriter(store, index=None):
        pass
    assert await indexes_of(store) == [PRIMARY]
    index = HNSWIndex(name=f"{makers.table_of(store)}:1", m=8, distance_strategy=DistanceStrategy.INNER_PRODUCT)
    async with BulkWriter(store, index=index):
        pass
    expected = "CREATE INDEX \"T:1\" ON public.T USING hnsw (embedding vector_ip_ops) WITH (m='8', ef_construction="
    assert [each.startswith(expected) for each in await indexes_of(store)].count(True) == 1


async def index_all(store: Any) -> list[str]:
    """Give a PostgreSQL store several indexes of its users; return all their definitions."""
    makers.index_vectors(store)
    table = makers.table_of(store)
    await sql(store, f'CREATE INDEX "i:{table}" ON "{table}" (tenant) WHERE tenant IS NOT NULL')
    await sql(store, f"CREATE INDEX g{table} ON \"{table}\" USING gin (to_tsvector('english', content))")
    await sql(store, f'CREATE UNIQUE INDEX u{table} ON "{table}" (content, langchain_id)')
    return await indexes_of(store)


async def test_indexes_that_are_there_stay(words: WordEmbeddings, postgres: Any) -> None:
    store = makers.postgres(words, postgres, index=False)
    before = await index_all(store)
    with BulkWriter(store) as writer:
        writer.write(sentences := sentences_of(), vectors_of(sentences))
        assert await indexes_of(store) == before
    assert await indexes_of(store) == before


async def test_a_batch_that_fails_leaves_nothing(words: WordEmbeddings, postgres: Any) -> None:
    store = makers.postgres(words, postgres)
    writer = BulkWriter(store)
    sentences = sentences_of()
    with pytest.raises(Exception, match="expected 11 dimensions, not 2"):
        writer.write(sentences, [[1.0, 2.0]] * len(sentences))
    for text in ("A seat.\0 A card.", "A seat.\ud800 A card."):
        with pytest.raises(InvalidInputError, match="holds a NUL or a lone surrogate"):
            writer.write(bad := sentences_of(text), vectors_of(bad))
    assert await rows_of(store) == []
    for setting in ({"index": "ivf"}, {"index": 1}, {"build_memory_mb": 0}, {"build_workers": -1}):
        with pytest.raises(InvalidInputError, match=next(iter(setting))):
            BulkWriter(store, **setting)


async def test_workers_write_at_once(words: WordEmbeddings, postgres: Any) -> None:
    store = makers.postgres(words, postgres)
    of_each = [[sentences_of(name=f"{worker}-{number}") for number in range(20)] for worker in range(4)]
    of_each[1] += of_each[0]  # the same document may come from a worker that was thought lost
    failed: list[BaseException] = []

    def write(documents: list[list[Document]]) -> None:
        try:
            for sentences in documents:
                BulkWriter(store).write(sentences, vectors_of(sentences))
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=write, args=[documents]) for documents in of_each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(await rows_of(store)) == 80 * 5


@pytest.fixture(params=["asyncpg", "psycopg"])
async def async_store(request: pytest.FixtureRequest, postgres_url: str, words: WordEmbeddings) -> Any:
    """A store of an engine without an event loop of its own, by either driver."""
    from langchain_postgres import PGEngine
    from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
    from sqlalchemy.ext.asyncio import create_async_engine

    pool = create_async_engine(postgres_url.replace("asyncpg", request.param))
    engine = PGEngine.from_engine(pool)
    table = f"async_{request.param}"
    await engine.ainit_vectorstore_table(table, 11, overwrite_existing=True)
    yield await AsyncPGVectorStore.create(engine, words, table)
    await pool.dispose()


async def test_an_async_store_is_written_by_either_driver(async_store: Any) -> None:
    sentences = sentences_of()
    async with BulkWriter(async_store) as writer:
        assert await writer.awrite(sentences, vectors_of(sentences)) == 5
    assert (await async_store.aget_by_ids([sentences[0].id]))[0].page_content == sentences[0].page_content
    retriever = SentenceWindowRetriever(vectorstore=async_store, k=1, window=1)
    (window,) = await retriever.ainvoke("card")
    assert window.page_content == "# Cards\n\nA card is sent."
    with pytest.raises(InvalidInputError, match="has no event loop of its own, so .* PGEngine.from_connection_string"):
        await asyncio.to_thread(writer.finish)


# Qdrant


def points_of(store: Any) -> list[Any]:
    """The points of a Qdrant store, in the order of ids."""
    found, _ = store.client.scroll(store.collection_name, limit=1_000, with_vectors=True)
    return sorted((point.id, point.payload, point.vector) for point in found)


async def test_qdrant_points_are_those_of_the_store(
    way: Invoke, words: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QdrantAdapter, "write_batch_size", 2)
    own, loaded = makers.qdrant(words), makers.qdrant(words)
    sentences = sentences_of(**{**OWN, "deep": {"list": [1, None]}})
    await way(own, "add_documents", sentences, ids=[each.id for each in sentences])
    async with BulkWriter(loaded) as writer:
        for _ in range(2):
            assert await way(writer, "write", sentences, vectors_of(sentences)) == 5
    for point, expected in zip(points_of(loaded), points_of(own), strict=True):
        # Qdrant's local mode scales vectors in the precision in which they come.
        assert point == (*expected[:2], pytest.approx(expected[2], abs=1e-6))


def test_a_qdrant_store_that_has_sparse_vectors_too_makes_them_itself(words: WordEmbeddings) -> None:
    from langchain_qdrant import RetrievalMode
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector

    class Lengths(SparseEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[SparseVector]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> SparseVector:
            return SparseVector(indices=[len(text)], values=[1.0])

    settings = {"retrieval_mode": RetrievalMode.HYBRID, "sparse_embedding": Lengths()}
    own, loaded = makers.qdrant(words, **settings), makers.qdrant(NeighborMixedEmbeddings(words), **settings)
    sentences = sentences_of()
    own.add_documents(sentences, ids=[each.id for each in sentences])
    BulkWriter(loaded).write(sentences, vectors_of(sentences))
    for point, expected in zip(points_of(loaded), points_of(own), strict=True):
        assert point[:2] == expected[:2]
        assert point[2]["langchain-sparse"] == expected[2]["langchain-sparse"]
        assert point[2][""] == pytest.approx(expected[2][""], abs=1e-6)
    with pytest.raises(InvalidInputError, match="takes no vectors that were made elsewhere"):
        BulkWriter(own)


class Graph:
    """The settings of a Qdrant server's HNSW graph, which Qdrant's local mode hasn't: it keeps what it is told."""

    def __init__(self, store: Any, *, own_m: int | None = None) -> None:
        from qdrant_client.models import HnswConfigDiff

        self.client, self.changes = store.client, list[tuple[str, int]]()
        self._get, self._update = store.client.get_collection, store.client.update_collection
        self.m, self.own_m = 16, own_m
        self.diff = HnswConfigDiff

    def get_collection(self, name: str) -> Any:
        info = self._get(name)
        info.config.hnsw_config.m = self.m
        if self.own_m is not None:
            info.config.params.vectors.hnsw_config = self.diff(m=self.own_m)
        return info

    def update_collection(self, name: str, **changes: Any) -> Any:
        if "vectors_config" in changes:
            self.own_m = changes["vectors_config"][""].hnsw_config.m
            self.changes.append(("m", self.own_m or 0))
        else:
            self.changes.append(("note", changes["metadata"][NOTE] or 0))
        return self._update(name, **changes)


@pytest.fixture(params=[None, 24])
def graph(request: pytest.FixtureRequest, words: WordEmbeddings, monkeypatch: pytest.MonkeyPatch) -> Any:
    store = makers.qdrant(words)
    made = Graph(store, own_m=request.param)
    for name in ("get_collection", "update_collection"):
        monkeypatch.setattr(made.client, name, getattr(made, name))
    return store, made


@pytest.mark.parametrize("fails", [False, True])
async def test_qdrants_graph_is_off_while_an_empty_collection_is_loaded(graph: Any, *, fails: bool) -> None:
    store, made = graph
    m = made.own_m or made.m
    sentences = sentences_of()
    try:
        with BulkWriter(store) as writer:
            assert made.changes == [("note", m), ("m", 0)]
            writer.write(sentences, vectors_of(sentences))
            if fails:
                raise LookupError
    except LookupError:
        assert fails
    assert made.changes[2:] == [("m", m), ("note", 0)]
    with BulkWriter(store) as writer:  # now there are points, so the graph stays
        writer.write(sentences, vectors_of(sentences))
    assert len(made.changes) == 4


async def test_qdrants_graph_comes_back_after_a_process_was_killed(graph: Any) -> None:
    store, made = graph
    m = made.own_m or made.m
    for _ in range(2):
        BulkWriter(store).prepare()  # and the process is killed
    BulkWriter(store).finish()
    BulkWriter(store).finish()
    assert made.own_m == m
    assert len(made.changes) == 4
    BulkWriter(store, defer_index=False).prepare()
    assert len(made.changes) == 4


# Milvus


def milvus_rows(store: Any) -> list[str]:
    found = store.client.query(store.collection_name, filter="", output_fields=["*"], limit=1_000)
    return sorted(re.sub(r"np\.float32\((.*?)\)", r"\1", repr(sorted(row.items()))) for row in found)


async def test_milvus_rows_are_those_of_the_store(
    way: Invoke, words: WordEmbeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MilvusAdapter, "write_batch_size", 2)
    own, loaded = makers.milvus(words, tmp_path), makers.milvus(words, tmp_path)
    sentences = sentences_of(tenant="a", groups=["staff"], deep={"list": [1]}, share=0.5)
    before = [each.model_copy(deep=True) for each in sentences]
    await way(own, "add_documents", sentences, ids=[each.id for each in sentences])
    async with BulkWriter(loaded) as writer:
        for _ in range(2):
            assert await way(writer, "write", sentences, vectors_of(sentences)) == 5
    assert sentences == before
    assert milvus_rows(loaded) == milvus_rows(own) != []


async def test_a_milvus_store_that_makes_ids_itself_is_refused(words: WordEmbeddings, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="was built with auto_id=True"):
        BulkWriter(makers.milvus(words, tmp_path, auto_id=True))
    BulkWriter(makers.milvus(words, tmp_path)).finish()  # nothing was written yet
