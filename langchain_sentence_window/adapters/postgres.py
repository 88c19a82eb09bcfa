"""The adapters of langchain-postgres: `PGVectorStore` with its bulk loader, and the older `PGVector`.

Plain searches and reads are SQL of our own: the store's own methods fetch the vector of each row as text, open a
transaction for each read, and make PostgreSQL plan a fetch again for each number of ids. So a query waits for two round
trips instead of seven. A search with other settings, such as a hybrid one, is the store's own.
"""

import copy
import json
import struct
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any, TypeVar

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import BLOCKING, IO, run
from langchain_sentence_window._primitives import LONE_SURROGATE, Vectors
from langchain_sentence_window._validation import checked_flag, optional_count
from langchain_sentence_window.documents.metadata_values import SCALARS
from langchain_sentence_window.documents.source_documents import StoreLimits
from langchain_sentence_window.embedding.embedder import embed_query
from langchain_sentence_window.errors import InvalidInputError

from .store_adapter import PAGE_SIZE, BulkLoader, Scored, StoreAdapter, batches

T = TypeVar("T")
Rows = Sequence[Any]

_UNAVAILABLE = ("08", "53300", "57P0", "57014")
"""Prefixes of PostgreSQL's error codes: no connection, too many connections, shutting down or starting, timed out."""


class PostgresAdapter(StoreAdapter):
    """What both stores share: a row begins with the id, the text, metadata as JSON, and columns of metadata."""

    holds_json = True
    columns: Sequence[str] = ()
    """The keys of metadata that have a column of their own."""
    id, vector = "id", "embedding"
    """Quoted names of columns."""

    def is_away(self, error: BaseException) -> bool:
        """Return whether an error of SQLAlchemy, asyncpg or psycopg says that the database doesn't answer in time."""
        from sqlalchemy import exc

        state = getattr(error.orig if isinstance(error, exc.DBAPIError) else error, "sqlstate", None)
        if state is not None:
            return str(state).startswith(_UNAVAILABLE)
        # An error without a code isn't the server's.
        is_lost = isinstance(error, exc.DBAPIError) and error.connection_invalidated
        return is_lost or isinstance(error, exc.OperationalError | exc.TimeoutError)

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Read the table page by page, in its physical order."""
        # Named "place": a column named ctid would be what the rows are ordered by, as text.
        condition = "ctid > CAST(CAST(:place AS text) AS tid) ORDER BY ctid LIMIT :most"
        place, has_more = "(0,0)", True
        while has_more:
            rows = await self.query(
                io, condition, {"place": place, "most": PAGE_SIZE}, more="CAST(ctid AS text) AS place"
            )
            yield self.documents(rows)
            place, has_more = rows[-1][-1] if rows else place, len(rows) == PAGE_SIZE

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Read the column of vectors."""
        more = f"CAST({self.vector} AS text)"
        rows = await self.query(io, f"{self.id} = ANY (:ids)", {"ids": list(ids)}, more=more)
        return {str(row[0]): json.loads(row[-1]) for row in rows}

    def documents(self, rows: Rows) -> list[Document]:
        """Make Documents of rows."""
        end = 3 + len(self.columns)
        own = [{**(row[2] or {}), **dict(zip(self.columns, row[3:end], strict=True))} for row in rows]
        return [Document(row[1], id=str(row[0]), metadata=each) for row, each in zip(rows, own, strict=True)]

    async def within(
        self, io: IO, ids: Sequence[str] | None, condition: str, values: Mapping[str, Any]
    ) -> list[Document]:
        """Read rows for which a condition holds; ids are one parameter, so that one plan serves any number."""
        if ids is not None:
            condition, values = f"{condition} AND {self.id} = ANY (:ids)", {**values, "ids": list(ids)}
        return self.documents(await self.query(io, condition, values))

    async def query(self, io: IO, where: str, values: Mapping[str, Any], *, more: str = "NULL") -> Rows:
        """Select rows, with more columns at their end, for which a condition holds."""
        raise NotImplementedError


class PGVectorAdapter(PostgresAdapter):
    """`PGVector` keeps all collections in one table, and works either blocking or async."""

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Read rows, then leave out those that the filter forbids."""
        return self.matching(await self.within(io, ids, "true", {}), filter)

    async def query(self, io: IO, where: str, values: Mapping[str, Any], *, more: str = "NULL") -> Rows:
        """Select rows of the collection."""
        from sqlalchemy import text

        collection = "SELECT uuid FROM langchain_pg_collection WHERE name = :collection"
        statement = text(
            f"SELECT id, document, cmetadata, {more} FROM langchain_pg_embedding "  # noqa: S608 - values are parameters
            f"WHERE collection_id = ({collection}) AND {where}"
        )
        bound = {**values, "collection": self.store.collection_name}

        def blocking() -> Rows:
            with self.store._make_sync_session() as session:
                return list(session.execute(statement, bound))

        async def waiting() -> Rows:
            async with self.store._make_async_session() as session:
                return list(await session.execute(statement, bound))

        with self.reached(OSError):
            return await (io.call(blocking, waiting) if self.store.async_mode else io.in_thread(blocking))


class PGVectorStoreAdapter(PostgresAdapter):
    """`PGVectorStore` filters by mappings of its own, and may keep some keys of metadata in columns of their own."""

    one_key_filters = True
    rechecks_hits = False

    def __init__(self, store: Any) -> None:
        """Take the store, and the names of its table and columns."""
        super().__init__(store)
        self.async_store: Any = getattr(store, "_PGVectorStore__vs", store)  # the async store that it wraps, or is
        table = self.async_store
        self.columns = table.metadata_columns
        self.id, self.content = _quote_identifier(table.id_column), _quote_identifier(table.content_column)
        self.vector = _quote_identifier(table.embedding_column)
        self.table = f"{_quote_identifier(table.schema_name)}.{_quote_identifier(table.table_name)}"

    def holds(self, key: str, value: Any) -> bool:
        """Return whether a column of its own, or else the column of JSON, can hold a value."""
        if key in self.columns:
            return isinstance(value, SCALARS)
        return self.async_store.metadata_json_column is not None  # of type JSON, which holds a NUL too

    @property
    def limits(self) -> StoreLimits:
        """The metadata that the store can hold; nothing is converted for columns, as their types aren't known."""
        return replace(super().limits, typed=frozenset(self.columns))

    def stored_filter(self, filter: Any) -> Any:
        """Return the filter unchanged, as it is compared with typed columns."""
        return filter

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search without fetching vectors; let the store search if there are other settings."""
        if self.embedding is None or not self._searches_plainly(settings):
            # A copy, as the store writes the first query into the settings of a hybrid search.
            return await super().search(io, query, copy.deepcopy(dict(settings)))
        rows = await self._nearest(io, await embed_query(io, self.embedding, query), settings)
        return self._best_highest(zip(self.documents(rows), (row.distance for row in rows), strict=True))

    async def select(self, io: IO, ids: Sequence[str] | None, filter: Any) -> list[Document] | None:
        """Read rows within a filter."""
        return await self.within(io, ids, *self._condition(filter))

    def bulk_loader(self, **settings: Any) -> BulkLoader:
        """Return a loader that copies rows into the store's table, see `PostgresLoader`."""
        return PostgresLoader(self, **settings)

    def close(self) -> None:
        """Close the idle connections of the store's engine, which opens new ones when it needs them."""
        run(self.run(BLOCKING, self.async_store.engine.dispose))

    async def run(self, io: IO, flow: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a flow in the engine's own event loop if it has one, and else in the current one."""
        engine = getattr(self.store, "_engine", None)  # an async store has none

        def blocking() -> T:
            if engine is None or engine._loop is None:
                raise InvalidInputError(
                    "the store's engine has no event loop of its own, so the store can't be used blocking; use async "
                    "methods, or make the engine with PGEngine.from_connection_string"
                )
            result: T = engine._run_as_sync(flow())
            return result

        async def waiting() -> T:
            result: T = await (flow() if engine is None else engine._run_as_async(flow()))
            return result

        with self.reached(OSError):  # any network error in a flow is the database's
            return await io.call(blocking, waiting)

    async def query(
        self, io: IO, where: str, values: Mapping[str, Any], *, more: str = "NULL", options: Sequence[str] = ()
    ) -> Rows:
        """Select rows, with settings such as ``hnsw.ef_search = 100`` for this statement."""
        json_column = self.async_store.metadata_json_column
        names = [
            self.id,
            self.content,
            _quote_identifier(json_column) if json_column else "NULL",
            *map(_quote_identifier, self.columns),
        ]
        statement = f"SELECT {', '.join(names)}, {more} FROM {self.table} WHERE {where}"  # noqa: S608 - quoted

        async def flow() -> Rows:
            async with self.async_store.engine.connect() as connection:
                if not options:  # no transaction, whose begin and end are round trips
                    await connection.execution_options(isolation_level="AUTOCOMMIT")
                for option in options:
                    await _fetch_rows(connection, f"SET LOCAL {option}")
                return await _fetch_rows(connection, statement, **values)

        return await self.run(io, flow)

    async def _nearest(self, io: IO, vector: Sequence[float], settings: Mapping[str, Any]) -> Rows:
        """Select the rows that are the closest to a vector, as the store's own search does."""
        within, values = self._condition(settings.get("filter"))
        given, strategy = self.async_store.index_query_options, self.async_store.distance_strategy
        options = given.to_parameter() if given else []
        values |= {"vector": _as_text(vector), "k": settings["k"]}
        where = f"{within} ORDER BY {self.vector} {strategy.operator} :vector LIMIT :k"
        distance = f"{strategy.search_function}({self.vector}, :vector) AS distance"
        return await self.query(io, where, values, more=distance, options=options)

    def _searches_plainly(self, settings: Mapping[str, Any]) -> bool:
        """Return whether SQL of our own finds what the store's own search would."""
        table = self.async_store
        is_own = all(type(each).__module__.startswith("langchain_postgres.v2.") for each in (self.store, table))
        return is_own and table.hybrid_search_config is None and settings.keys() <= {"k", "filter"}

    def _condition(self, filter: Any) -> tuple[str, dict[str, Any]]:
        """Return a filter as SQL with its parameters, as the store reads it."""
        condition, values = self.async_store._create_filter_clause(filter) if filter else ("true", {})
        return f"({condition})", dict(values)


class PostgresLoader(BulkLoader):
    """Writes the rows that the store itself would write, and builds an index at the end.

    Its settings: ``index``, whether to build an HNSW index of the vectors if the table has none; ``build_memory_mb``
    and ``build_workers``, the memory and the parallel workers of the build.
    """

    adapter: PGVectorStoreAdapter

    def __init__(
        self,
        adapter: PGVectorStoreAdapter,
        *,
        index: bool = True,
        build_memory_mb: int | None = None,
        build_workers: int | None = None,
    ) -> None:
        """Take the store's adapter; raise an `InvalidInputError` if a setting can't be used."""
        super().__init__(adapter)
        self._memory_mb = optional_count("build_memory_mb", build_memory_mb)
        self._workers = build_workers and optional_count("build_workers", build_workers)  # 0: no parallel workers
        self._builds = checked_flag("index", index)

    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors) -> None:
        """Copy rows into a temporary table, and insert those that are new or changed from there."""
        await self.adapter.run(io, lambda: self._write(documents, vectors))

    async def _write(self, documents: Sequence[Document], vectors: Vectors) -> None:
        adapter = self.adapter
        async with adapter.async_store.engine.connect() as connection:
            await _fetch_rows(connection, _STAGED.format(vector=adapter.vector, table=adapter.table))
            for pairs in batches(list(zip(documents, vectors, strict=True)), adapter.write_batch_size):
                await _copy_rows(connection, [self._row(*pair) for pair in pairs])
            await _fetch_rows(connection, self._merge())
            await connection.commit()

    def _row(self, document: Document, vector: Vectors) -> bytes:
        """Return a row as ``COPY`` reads it: 16 bits count the fields, and 32 bits the bytes of each.

        The table's columns are in a JSON object, from which the server converts each value to its type.
        """
        table, columns = self.adapter.async_store, self.adapter.columns
        record = {table.id_column: document.id, table.content_column: document.page_content}
        record |= {key: value for key, value in document.metadata.items() if key in columns}
        for value in record.values():
            if isinstance(value, str) and ("\0" in value or LONE_SURROGATE.search(value)):
                raise InvalidInputError(
                    f"the sentence {shown(document.id)} holds a NUL or a lone surrogate in {shown(value)}, which the "
                    "store can't keep; take such characters out of the document"
                )
        others = {key: value for key, value in document.metadata.items() if key not in columns}
        # pgvector reads the dimension and a zero, 16 bits each, then the numbers.
        packed = struct.pack(">HH", len(vector), 0) + vector.astype(">f4").tobytes()
        fields = [json.dumps(record).encode(), packed, json.dumps(others).encode()]
        return struct.pack(">H", len(fields)) + b"".join(struct.pack(">I", len(each)) + each for each in fields)

    def _merge(self) -> str:
        """Return SQL that inserts the rows of the temporary table, and updates existing rows that differ."""
        adapter, table = self.adapter, self.adapter.async_store
        values = {
            name: f"r.{_quote_identifier(name)}" for name in (table.id_column, table.content_column, *adapter.columns)
        }
        values[table.embedding_column] = "s.vector"
        if table.metadata_json_column:
            values[table.metadata_json_column] = "s.others"
        config = table.hybrid_search_config
        if config and config.tsv_column:  # of the store's hybrid search
            language = f"{_quote_literal(config.tsv_lang)}, " if config.tsv_lang else ""
            values[config.tsv_column] = f"to_tsvector({language}r.{adapter.content})"
        changes = ", ".join(f"{_quote_identifier(name)} = EXCLUDED.{_quote_identifier(name)}" for name in values)
        return (
            f"INSERT INTO {adapter.table} AS t ({', '.join(map(_quote_identifier, values))}) "  # noqa: S608 - names are quoted
            f"SELECT {', '.join(values.values())} FROM pg_temp.sentence_window_staged s, "
            f"json_populate_record(CAST(NULL AS {adapter.table}), s.record) r "
            f"ON CONFLICT ({adapter.id}) DO UPDATE SET {changes} "
            "WHERE CAST(t AS text) IS DISTINCT FROM CAST(EXCLUDED AS text)"  # JSON can't be compared otherwise
        )

    async def finish(self, io: IO) -> None:
        """Build the vector index if there is none; then collect statistics for plans."""
        await self.adapter.run(io, self._finish)

    async def _finish(self) -> None:
        table, name = self.adapter.async_store, self.adapter.table
        async with table.engine.connect() as connection:
            indexes = await _fetch_rows(connection, _VECTOR_INDEXES, table=name, column=table.embedding_column)
            if self._builds and not indexes:
                await _fetch_rows(connection, _RESOURCES, table=name, memory_mb=self._memory_mb, workers=self._workers)
                index_name = _quote_identifier(f"{table.table_name}langchainvectorindex")  # as the store names it
                column = f"{self.adapter.vector} {table.distance_strategy.index_function}"
                await _fetch_rows(connection, f"CREATE INDEX {index_name} ON {name} USING hnsw ({column})")
            await _fetch_rows(connection, f"ANALYZE {name}")
            await connection.commit()


_STAGED = """
    CREATE TEMPORARY TABLE sentence_window_staged ON COMMIT DROP AS
    SELECT CAST(NULL AS json) AS record, {vector} AS vector, CAST(NULL AS json) AS others FROM {table} WITH NO DATA
"""

_VECTOR_INDEXES = """
    SELECT 1 FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am m ON m.oid = relam
    JOIN pg_attribute a ON a.attrelid = indrelid AND attnum = ANY (indkey)
    WHERE indrelid = to_regclass(:table) AND attname = :column AND amname NOT IN ('btree', 'hash') AND indisvalid
"""
"""Lists the indexes of a table that vector searches may use."""

_RESOURCES = """
    SELECT set_config('statement_timeout', '0', true), set_config('max_parallel_maintenance_workers',
        coalesce(CAST(CAST(:workers AS integer) AS text), current_setting('max_parallel_workers')), true),
    set_config('maintenance_work_mem', coalesce(CAST(:memory_mb AS bigint) * 1024, greatest(
        pg_size_bytes(current_setting('maintenance_work_mem')), least(2 * pg_table_size(to_regclass(:table)),
            pg_size_bytes(current_setting('effective_cache_size')) / 4)) / 1024) || 'kB', true)
"""
"""Gives an index build workers, and the memory that an HNSW graph needs, up to a quarter of the server's cache. A graph
that outgrows its memory is built many times slower."""


async def _copy_rows(connection: Any, rows: Sequence[bytes]) -> None:
    """Send rows to ``COPY`` in its binary format, by asyncpg or psycopg.

    The drivers' own functions take twenty times as long for a vector: https://www.postgresql.org/docs/current/sql-copy.html.
    """
    raw = (await connection.get_raw_connection()).driver_connection
    data = b"".join([b"PGCOPY\n\xff\r\n\0", bytes(8), *rows, b"\xff\xff"])
    if hasattr(raw, "copy_to_table"):
        await raw.copy_to_table("sentence_window_staged", source=BytesIO(data), schema_name="pg_temp", format="binary")
        return
    statement = "COPY pg_temp.sentence_window_staged FROM STDIN WITH (FORMAT binary)"
    async with raw.cursor() as cursor, cursor.copy(statement) as copied:
        await copied.write(data)


async def _fetch_rows(connection: Any, statement: str, **values: Any) -> Rows:
    """Run a statement with parameters, and return its rows; none for a statement that returns none."""
    from sqlalchemy import text

    result = await connection.execute(text(statement), values)
    rows: Rows = result.all() if result.returns_rows else []
    return rows


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _as_text(vector: Sequence[float]) -> str:
    return json.dumps([float(each) for each in vector])
