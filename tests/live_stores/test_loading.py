"""`DocumentWriter` on real stores: it writes what a retriever would write, and recognizes what is unchanged."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.distributed import DocumentWriter
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.live_stores import makers
from tests.toys import WordEmbeddings, document

OWN: dict[str, Any] = {"tenant": "a", "groups": ["staff"], "nul": "\0", "n": 2**40, "share": 0.1, "none": None}
TEXT = '# Fees\n\nA refund is paid. It\'s "quoted" \\ and\ttabbed. \N{GRINNING FACE}!\n\n# Cards\n\nA card is sent.'
SOURCES = [document(TEXT, "a", **OWN), document("A seat.", "b", other={"deep": [1, "ä"]})]


def mixed() -> Embeddings:
    return NeighborMixedEmbeddings(WordEmbeddings())


def without_states(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows without the keys that `DocumentWriter` adds to the metadata of the first and the last sentence."""
    read = []
    for *others, metadata in rows:
        metadata.pop("ingest_state", None)
        read.append((*others, json.dumps(metadata, sort_keys=True)))
    return sorted(read, key=str)


def check_loading(own: VectorStore, loaded: VectorStore, rows_of: Callable[[Any], list[tuple[Any, ...]]]) -> None:
    """Check that a retriever and a writer make the same rows, and that only changes are written."""
    SentenceWindowRetriever(vectorstore=own).add_documents(SOURCES)
    write = DocumentWriter(lambda: loaded)
    assert [each.status for each in write(SOURCES)] == ["written", "written"]
    assert without_states(rows_of(loaded)) == without_states(rows_of(own)) != []
    changed = [SOURCES[0], document("A page. And a card.", "b")]
    for status in ("written", "unchanged"):
        assert [each.status for each in write(changed)] == ["unchanged", status]
    assert [each.status for each in write([document("", "a"), changed[1]])] == ["written", "unchanged"]
    retriever = SentenceWindowRetriever(vectorstore=loaded)
    assert [each.doc_id for each in retriever.documents()] == ["b"]
    assert retriever.invoke("card", k=1, window=1)[0].page_content == "A page. And a card."


def test_qdrant(words: WordEmbeddings) -> None:
    def rows_of(store: Any) -> list[tuple[Any, ...]]:
        found, _ = store.client.scroll(store.collection_name, limit=1_000, with_vectors=True)
        vectors = [[round(number, 5) for number in point.vector] for point in found]
        return [
            (point.id, point.payload["page_content"], vector, point.payload["metadata"])
            for point, vector in zip(found, vectors, strict=True)
        ]

    check_loading(makers.qdrant(mixed()), makers.qdrant(mixed()), rows_of)


def test_milvus(tmp_path: Path) -> None:
    def rows_of(store: Any) -> list[tuple[Any, ...]]:
        found = store.client.query(store.collection_name, filter="", output_fields=["*"], limit=1_000)
        rows = [dict(row) for row in found]
        return [
            (row.pop("pk"), row.pop("text"), [round(float(number), 5) for number in row.pop("vector")], row)
            for row in rows
        ]

    check_loading(makers.milvus(mixed(), tmp_path), makers.milvus(mixed(), tmp_path), rows_of)


def test_chroma(tmp_path: Path) -> None:
    def rows_of(store: Any) -> list[tuple[Any, ...]]:
        got = store.get()
        return list(zip(got["ids"], got["documents"], got["metadatas"], strict=True))

    with pytest.warns(match="can't hold it: 'none', 'other'; "):
        check_loading(makers.chroma(mixed(), tmp_path), makers.chroma(mixed(), tmp_path), rows_of)


def test_a_qdrant_store_makes_its_sparse_vectors_itself(words: WordEmbeddings) -> None:
    from langchain_qdrant import RetrievalMode
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector

    class Lengths(SparseEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[SparseVector]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> SparseVector:
            return SparseVector(indices=[len(text)], values=[1.0])

    settings = {"retrieval_mode": RetrievalMode.HYBRID, "sparse_embedding": Lengths()}
    store: Any = makers.qdrant(mixed(), **settings)
    DocumentWriter(lambda: store)(SOURCES[1:])
    (point,), _ = store.client.scroll(store.collection_name, with_vectors=True)
    assert point.vector["langchain-sparse"].indices == [len("A seat.")]
    with pytest.raises(InvalidInputError, match="takes no ready-made vectors; build it with NeighborMixedEmbeddings"):
        DocumentWriter(lambda: makers.qdrant(words, **settings))(SOURCES)


# PostgreSQL


def sql(store: Any, statement: str) -> list[tuple[Any, ...]]:
    async def ask() -> list[tuple[Any, ...]]:
        async with store._engine._pool.connect() as connection:
            result = await connection.exec_driver_sql(statement)
            rows = [tuple(row) for row in result.all()] if result.returns_rows else []
            await connection.commit()
            return rows

    found: list[tuple[Any, ...]] = store._engine._run_as_sync(ask())
    return found


def rows_of_table(store: Any) -> list[tuple[Any, ...]]:
    """All rows of a PostgreSQL store's table, with the JSON column last."""
    table = makers.table_of(store)
    columns = "langchain_id::text, content, embedding::text, tenant, langchain_metadata"
    return sql(store, f'SELECT {columns} FROM "{table}"')  # noqa: S608


def indexes_of(store: Any) -> list[str]:
    """The definitions of a PostgreSQL store's indexes, without the name of its table."""
    table = makers.table_of(store)
    found = sql(store, f"SELECT indexdef FROM pg_indexes WHERE tablename = '{table}' ORDER BY indexname")  # noqa: S608
    return [definition.replace(table, "T") for (definition,) in found]


PRIMARY = "CREATE UNIQUE INDEX T_pkey ON public.T USING btree (langchain_id)"
HNSW = "CREATE INDEX Tlangchainvectorindex ON public.T USING hnsw (embedding vector_cosine_ops)"


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
def test_postgres(postgres_url: str, postgres: Any, driver: str) -> None:
    from langchain_postgres import PGEngine

    engine = PGEngine.from_connection_string(postgres_url.replace("asyncpg", driver))
    check_loading(makers.postgres(mixed(), postgres), makers.postgres(mixed(), engine), rows_of_table)
    asyncio.run(engine.close())


def test_postgres_converts_values_to_the_types_of_columns(postgres: Any) -> None:
    from langchain_postgres import Column, PGVectorStore
    from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig

    kinds = {"Tenant": "VARCHAR(5)", "n": "BIGINT", "share": "DOUBLE PRECISION", "flag": "BOOLEAN"}
    given: dict[str, Any] = {
        "content_column": "The text",
        "embedding_column": "vec",
        "metadata_json_column": "rest",
        "hybrid_search_config": HybridSearchConfig(tsv_column="words", tsv_lang="pg_catalog.simple"),
    }

    def make(table: str) -> Any:
        columns = [Column(*each) for each in kinds.items()]
        postgres.init_vectorstore_table(
            table, 11, id_column=Column("key", "TEXT"), metadata_columns=columns, overwrite_existing=True, **given
        )
        return PGVectorStore.create_sync(
            postgres, mixed(), table, id_column="key", metadata_columns=list(kinds), **given
        )

    def rows_of(store: Any) -> list[tuple[Any, ...]]:
        columns = 'key, "The text", vec::text, "Tenant", n, share, flag, words::text, rest'
        return sql(store, f'SELECT {columns} FROM "{makers.table_of(store)}"')  # noqa: S608

    own, loaded = make("Own table"), make("Loaded table")
    source = document(TEXT, "a", Tenant="zoë", n=-(2**62), share=0.1, flag=False, more=[1])
    SentenceWindowRetriever(vectorstore=own).add_documents([source])
    write = DocumentWriter(lambda: loaded)
    write([source])
    assert without_states(rows_of(loaded)) == without_states(rows_of(own)) != []
    for wrong in ({"Tenant": "too long"}, {"n": 2**63}, {"flag": "maybe"}):
        (outcome,) = write([document("A page.", "b", **wrong)])
        assert (outcome.status, outcome.error != "") == ("failed", True)
    assert len(rows_of(loaded)) == 5


def test_postgres_rows_that_are_the_same_are_not_touched(postgres: Any) -> None:
    store = makers.postgres(mixed(), postgres)

    def versions() -> dict[Any, Any]:
        return dict(sql(store, f'SELECT langchain_id, xmin::text FROM "{makers.table_of(store)}"'))  # noqa: S608

    DocumentWriter(lambda: store)([document(TEXT)])
    before = versions()
    # The same vectors and texts; the new state is in the first and the last row.
    DocumentWriter(lambda: store, namespace="again")([document(TEXT)])
    after = versions()
    assert sum(after[id_] != version for id_, version in before.items()) == 2


def test_postgres_indexes_are_built_at_the_end_unless_there_is_one(postgres: Any) -> None:
    store: Any = makers.postgres(mixed(), postgres, index=False)
    write = DocumentWriter(lambda: store, index=False)
    write(SOURCES)
    write.finish()
    assert indexes_of(store) == [PRIMARY]
    write = DocumentWriter(lambda: store, build_memory_mb=64, build_workers=0)
    for _ in range(2):
        write.finish()
        assert indexes_of(store) == [PRIMARY, HNSW]
    ((estimated,),) = sql(store, f"SELECT reltuples FROM pg_class WHERE relname = '{makers.table_of(store)}'")  # noqa: S608
    assert estimated == 6
    for settings in ({"index": "ivf"}, {"build_memory_mb": 0}, {"build_workers": -1}):
        with pytest.raises(InvalidInputError, match=next(iter(settings))):
            DocumentWriter(lambda: store, **settings)(SOURCES)


def test_postgres_refuses_texts_that_it_cannot_hold(postgres: Any) -> None:
    store: Any = makers.postgres(mixed(), postgres)
    outcomes = DocumentWriter(lambda: store)(
        [Document("A seat.\0", id="a"), Document("A card.", id="b"), Document("A page.\ud800", id="c")]
    )
    assert [each.status for each in outcomes] == ["failed", "written", "failed"]
    assert all("holds a NUL or a lone surrogate" in outcomes[at].error for at in (0, 2))


async def test_an_async_postgres_store_without_an_event_loop_of_its_own(postgres_url: str) -> None:
    from langchain_postgres import PGEngine
    from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
    from sqlalchemy.ext.asyncio import create_async_engine

    pool = create_async_engine(postgres_url)
    engine = PGEngine.from_engine(pool)
    await engine.ainit_vectorstore_table("async", 11, overwrite_existing=True)
    store: Any = await AsyncPGVectorStore.create(engine, mixed(), "async")
    retriever = SentenceWindowRetriever(vectorstore=store, k=1, window=1)
    await retriever.aadd_documents(SOURCES[:1])
    assert (await retriever.ainvoke("card"))[0].page_content == "# Cards\n\nA card is sent."
    with pytest.raises(InvalidInputError, match="has no event loop of its own, so .* PGEngine.from_connection_string"):
        retriever.invoke("card")
    await pool.dispose()
