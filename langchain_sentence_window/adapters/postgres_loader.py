"""Loads a `PGVectorStore` by binary ``COPY``: new rows into its table, others into a temporary one and from there.

The rows are those that the store itself would write, a batch in each transaction. Indexes are dropped before, noted in
a table, and built after, as an index that grows row by row takes many times the work.

A file of ``COPY`` is a header, rows and a trailer. A row is the number of its fields (16 bits), then each field: its
length in bytes (32 bits, -1 for NULL), and the bytes. All numbers are in network byte order. A ``vector`` of pgvector
is its dimension and a zero (16 bits each), then its numbers in single precision. See
https://www.postgresql.org/docs/current/sql-copy.html.
"""

import struct
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_flag, optional_count
from langchain_sentence_window.errors import InvalidInputError, StoreError, wrong_size

from .postgres_sql import PostgresEngine, TableNames, all_rows, in_text, quoted
from .postgres_table import COLUMNS_OF, STAGED, Table
from .store_adapter import BulkLoader
from .traits import StoreTraits

_UNIQUE_VIOLATION = "23505"
_INDEX_NAME_SUFFIX = "langchainvectorindex"  # that of langchain-postgres


class PostgresLoader(BulkLoader):
    """Loads a table of langchain-postgres.

    Its settings: ``index``, the vector index to build at the end if the table has none, an index of langchain-postgres
    such as ``HNSWIndex(m=24)``, ``"hnsw"`` for one as the store searches, or ``None`` for none; ``drop_indexes``,
    whether indexes are dropped while it is loaded, which makes searches slow meanwhile; ``build_memory_mb`` and
    ``build_workers``, what an index may use while it is built, see `settings_for`.
    """

    settings: ClassVar[Mapping[str, Any]] = {
        "index": "hnsw",
        "drop_indexes": True,
        "build_memory_mb": None,
        "build_workers": None,
    }

    def __init__(
        self,
        adapter: StoreTraits,
        settings: Mapping[str, Any],
        names: TableNames,
        *,
        engine: PostgresEngine,
        distance: Any,
    ) -> None:
        """Take the table.

        Args:
            adapter: The adapter of the store.
            settings: Those that differ from the class's.
            names: The names of the table and its columns.
            engine: What reaches it.
            distance: The ``DistanceStrategy`` by which the store searches.

        Raises:
            InvalidInputError: A setting can't be used.
        """
        super().__init__(adapter, settings)
        self._names = names
        self._engine = engine
        self._drops = checked_flag("drop_indexes", self.given["drop_indexes"])
        self._memory_mb = optional_count("build_memory_mb", self.given["build_memory_mb"])
        workers = self.given["build_workers"]
        self._workers = 0 if workers == 0 else optional_count("build_workers", workers)
        self._index = _checked_index(self.given["index"], distance)
        self._table: Table | None = None

    async def prepare(self, io: IO) -> None:
        """Drop indexes that enforce nothing, and note them, in one transaction."""
        if self._drops:
            await self._engine.run(io, self._drop_indexes)

    async def write(self, io: IO, documents: Sequence[Document], vectors: Vectors, *, are_new: bool = False) -> None:
        """Write a batch in one transaction; a row that is there already, and the same, isn't touched."""

        async def copy() -> None:
            table = await self._read_table()
            if vectors.shape[1] != (table.dimension or vectors.shape[1]):
                raise wrong_size(vectors.shape[1], table.dimension or 0)
            packed = list(zip(documents, vector_fields(vectors), strict=True))
            if not (are_new and table.is_binary and await self._copied_directly(table, packed)):
                await self._merge(table, packed)

        await self._engine.run(io, copy)

    async def _copied_directly(self, table: Table, packed: Sequence[tuple[Document, bytes]]) -> bool:
        """Copy rows that are new into the table itself; return ``False`` if one is there after all."""
        rows = [table.binary_fields(document, field) for document, field in packed]
        names = table.names
        async with self._engine.connect() as connection:
            await connection.exec_driver_sql("SELECT 1")  # begins the transaction
            try:
                await _copy(connection, rows, names.schema, names.table, table.copied)
            except Exception as error:  # of either driver
                if getattr(error, "sqlstate", None) == _UNIQUE_VIOLATION:
                    return False
                raise
            await connection.commit()
        return True

    async def _merge(self, table: Table, packed: Sequence[tuple[Document, bytes]]) -> None:
        """Copy rows into a temporary table, and insert or update them from there."""
        rows = [table.fields(document, field) for document, field in packed]
        async with self._engine.connect() as connection:
            await connection.exec_driver_sql(table.create_staged())
            await _copy(connection, rows, "pg_temp", STAGED, table.copied)
            await connection.exec_driver_sql(table.merge_staged())
            await connection.commit()

    async def finish(self, io: IO) -> None:
        """Build what was dropped, and the vector index if there is none; then collect statistics for plans."""

        async def build() -> None:
            await self._build_noted()
            await self._build_index()
            async with self._engine.connect() as connection:
                await connection.exec_driver_sql(f"ANALYZE {self._names.quoted}")
                await connection.commit()

        await self._engine.run(io, build)

    async def restore(self, io: IO) -> None:
        """Build what was dropped."""
        await self._engine.run(io, self._build_noted)

    async def _read_table(self) -> Table:
        if self._table is None:
            async with self._engine.connect() as connection:
                rows = await all_rows(connection, COLUMNS_OF, table=self._names.quoted)
            self._table = Table.read(self._names, rows)
        return self._table

    async def _drop_indexes(self) -> None:
        names, notes = self._names, Notes(self._names)
        async with self._engine.connect() as connection:
            found = await all_rows(connection, DROPPABLE, table=names.quoted)
            if not found:
                return
            await connection.exec_driver_sql(notes.create)
            for each in found:
                await all_rows(connection, notes.add, table=names.table, index=each.name, definition=each.definition)
                await connection.exec_driver_sql(f"DROP INDEX {quoted(names.schema)}.{quoted(each.name)}")
            await connection.commit()

    async def _build_noted(self) -> None:
        """Build indexes that were dropped, each in a transaction with the removal of its note."""
        names, notes = self._names, Notes(self._names)
        async with self._engine.connect() as connection:
            if not await all_rows(connection, notes.exists, notes=notes.quoted):
                return
            noted = await all_rows(connection, notes.find, table=names.table)
        for each in noted:
            async with self._engine.connect() as connection:
                if not await all_rows(connection, notes.remove, table=names.table, index=each.index_name):
                    continue  # another process has built it
                if not each.definition.startswith("CREATE INDEX "):
                    raise StoreError(
                        f"{notes.quoted} records the index {shown(each.index_name)} as {shown(each.definition)}, "
                        "which doesn't define an index; build the index by hand, and delete the row"
                    )
                await self._grant_room(connection)
                await connection.exec_driver_sql(each.definition)
                await connection.commit()
        async with self._engine.connect() as connection:
            await connection.exec_driver_sql(notes.lock)
            if not await all_rows(connection, notes.find_any):
                await connection.exec_driver_sql(notes.drop)
            await connection.commit()

    async def _build_index(self) -> None:
        """Build the vector index, unless there is one."""
        names = self._names
        if self._index is None:
            return
        async with self._engine.connect() as connection:
            found = await all_rows(connection, VECTOR_INDEXES, table=names.quoted, column=names.embedding)
            if found:
                return
            await self._grant_room(connection)
            name = self._index.name or f"{names.table}{_INDEX_NAME_SUFFIX}"
            await connection.exec_driver_sql(create_index(names, self._index, name))
            await connection.commit()

    async def _grant_room(self, connection: Any) -> None:
        """Let the rest of a transaction have memory and workers for an index."""
        table = await self._read_table()
        room = await all_rows(connection, ROOM)
        (counted,) = await all_rows(connection, count_rows(self._names))
        settings = settings_for(room, counted.rows, table.dimension or 0, self._memory_mb, self._workers)
        for each in settings:
            await connection.exec_driver_sql(each)


def _checked_index(index: Any, distance: Any) -> Any:
    from langchain_postgres.v2.indexes import BaseIndex, ExactNearestNeighbor, HNSWIndex

    if isinstance(index, str) and index == "hnsw":
        return HNSWIndex(distance_strategy=distance)
    if index is None or isinstance(index, ExactNearestNeighbor):
        return None
    if not isinstance(index, BaseIndex):
        raise InvalidInputError(
            f"index is {shown(index)}; give 'hnsw', an index of langchain_postgres such as HNSWIndex(), or None"
        )
    return index


async def _copy(
    connection: Any, rows: Sequence[Sequence[bytes | None]], schema: str, table: str, columns: Sequence[str]
) -> None:
    """Send rows to ``COPY``, by asyncpg or psycopg."""
    raw = (await connection.get_raw_connection()).driver_connection
    if hasattr(raw, "copy_to_table"):

        async def pieces() -> AsyncIterator[bytes]:
            for piece in copied(rows):
                yield piece

        await raw.copy_to_table(table, source=pieces(), columns=columns, schema_name=schema, format="binary")
        return
    into = f"{quoted(schema)}.{quoted(table)} ({', '.join(map(quoted, columns))})"
    async with raw.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN WITH (FORMAT binary)") as copy:
        for piece in copied(rows):
            await copy.write(piece)


NOTES = "sentence_window_dropped_indexes"
"""The name of the table, in the schema of the loaded one, that notes indexes to build again. It goes with the last."""

DROPPABLE = """
    SELECT c.relname AS name, pg_get_indexdef(i.indexrelid) AS definition FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = to_regclass(CAST(:table AS text)) AND NOT i.indisunique AND NOT i.indisexclusion
        AND NOT i.indisreplident AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
    ORDER BY c.relname
"""
"""Lists the indexes of a table that enforce nothing."""

VECTOR_INDEXES = """
    SELECT c.relname AS name FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = to_regclass(CAST(:table AS text)) AND a.attname = :column
        AND m.amname NOT IN ('btree', 'hash') AND i.indisvalid
"""
"""Lists the indexes of a table that searches by vectors may use."""

ROOM = """
    SELECT name, setting::bigint AS value, unit FROM pg_settings
    WHERE name IN ('maintenance_work_mem', 'effective_cache_size', 'max_parallel_workers')
"""
"""Lists settings of the server: memory in units of its own, and workers."""

_UNITS_KB = {"kB": 1, "8kB": 8, "16kB": 16, "32kB": 32, "MB": 1024}
_ROW_OVERHEAD_BYTES = 600
"""Memory of a vector in an HNSW index that is being built, beside its numbers, for an m of 16."""


class Notes:
    """The SQL of the table of notes about the indexes of a table."""

    def __init__(self, names: TableNames) -> None:
        """Take the loaded table."""
        self.quoted = f"{quoted(names.schema)}.{quoted(NOTES)}"
        table = in_text(self.quoted)
        # S608: the name is quoted, and values are parameters.
        self.add = f"INSERT INTO {table} VALUES (:table, :index, :definition) ON CONFLICT DO NOTHING"  # noqa: S608
        self.find = f"SELECT index_name, definition FROM {table} WHERE table_name = :table ORDER BY 1"  # noqa: S608
        self.remove = f"DELETE FROM {table} WHERE table_name = :table AND index_name = :index RETURNING 1"  # noqa: S608
        self.find_any = f"SELECT 1 FROM {table} LIMIT 1"  # noqa: S608
        self.exists = "SELECT 1 WHERE to_regclass(CAST(:notes AS text)) IS NOT NULL"
        self.lock = f"LOCK TABLE {self.quoted}"
        self.drop = f"DROP TABLE {self.quoted}"
        self.create = (
            f"CREATE TABLE IF NOT EXISTS {self.quoted} "
            "(table_name text, index_name text, definition text NOT NULL, PRIMARY KEY (table_name, index_name))"
        )


def count_rows(names: TableNames) -> str:
    """Return SQL that counts the rows of a table."""
    return f"SELECT count(*) AS rows FROM {in_text(names.quoted)}"  # noqa: S608 - the name is quoted


def create_index(names: TableNames, index: Any, name: str) -> str:
    """Return SQL that builds a vector index as ``PGVectorStore.apply_vector_index`` does.

    Args:
        names: The table.
        index: A vector index of langchain-postgres, such as ``HNSWIndex()``.
        name: The name of the index.
    """
    partial = f" WHERE ({index.partial_indexes})" if index.partial_indexes else ""
    return (
        f"CREATE INDEX {quoted(name)} ON {names.quoted} USING {index.index_type} "
        f"({quoted(names.embedding)} {index.get_index_function()}) WITH {index.index_options()}{partial}"
    )


def settings_for(
    room: Sequence[Any], rows: float, dimension: int, memory_mb: int | None, workers: int | None
) -> list[str]:
    """Return SQL that lets the indexes of the current transaction have memory and workers.

    Args:
        room: The rows that `ROOM` finds.
        rows: The number of rows in the table.
        dimension: Numbers of a vector.
        memory_mb: Megabytes for building an index; ``None`` for as many as an HNSW index needs, between what the server
            grants anyway and a quarter of the memory that it believes to have, its ``effective_cache_size``.
        workers: Parallel workers beside the first; ``None`` for as many as the server has.
    """
    has = {row.name: row.value * _UNITS_KB.get(row.unit, 1) for row in room}
    if memory_mb is None:
        needed = int(rows * (4 * dimension + _ROW_OVERHEAD_BYTES) / 1024)
        memory_kb = max(has["maintenance_work_mem"], min(needed, has["effective_cache_size"] // 4))
    else:
        memory_kb = 1024 * memory_mb
    count = has["max_parallel_workers"] if workers is None else workers
    return [
        f"SET LOCAL maintenance_work_mem = '{memory_kb}kB'",
        f"SET LOCAL max_parallel_maintenance_workers = {count}",
        "SET LOCAL statement_timeout = 0",
    ]


HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
TRAILER = struct.pack(">h", -1)
_NULL = struct.pack(">i", -1)
_CHUNK_BYTES = 1 << 18

MAX_DIMENSION = 16_000
"""Numbers of the longest vector that pgvector keeps."""


def copied(rows: Iterable[Sequence[bytes | None]]) -> Iterator[bytes]:
    """Yield rows in the binary format, in pieces of some 100 kB.

    Args:
        rows: The fields of each row, as `COPY` takes them; ``None`` for NULL. All rows have the same number of fields.
    """
    pieces, size = [HEADER], 0
    pack = struct.Struct(">i").pack
    for row in rows:
        pieces.append(len(row).to_bytes(2, "big"))
        for field in row:
            if field is None:
                pieces.append(_NULL)
            else:
                pieces += pack(len(field)), field
                size += len(field)
        if size > _CHUNK_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    pieces.append(TRAILER)
    yield b"".join(pieces)


def vector_fields(vectors: Vectors) -> list[bytes]:
    """Return vectors as fields of pgvector's type ``vector``.

    Args:
        vectors: Finite numbers, shape ``(n, dimension)``, with a dimension of `MAX_DIMENSION` at most.
    """
    count, dimension = vectors.shape
    record = np.empty(count, dtype=[("dimension", ">u2"), ("unused", ">u2"), ("numbers", ">f4", (dimension,))])
    record["dimension"], record["unused"], record["numbers"] = dimension, 0, vectors
    size = record.dtype.itemsize
    data = record.tobytes()
    return [data[start : start + size] for start in range(0, count * size, size)]
