"""Loads a `PGVectorStore` by binary ``COPY``: new rows into its table, others into a temporary one and from there.

The rows are those that the store itself would write, a batch in each transaction. Indexes are dropped before and built
after, as an index that grows row by row takes many times the work.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_flag, optional_count
from langchain_sentence_window.adapters.bulk import postgres_indexes as indexes
from langchain_sentence_window.adapters.bulk.base import BulkLoader
from langchain_sentence_window.adapters.bulk.copy_format import copied, vector_fields
from langchain_sentence_window.adapters.bulk.postgres_table import COLUMNS_OF, STAGED, Table
from langchain_sentence_window.adapters.postgres_engine import PostgresEngine, all_rows, quoted
from langchain_sentence_window.adapters.postgres_names import TableNames
from langchain_sentence_window.adapters.traits import StoreTraits
from langchain_sentence_window.errors import InvalidInputError, StoreError, wrong_size

_UNIQUE_VIOLATION = "23505"
_INDEX_NAME_SUFFIX = "langchainvectorindex"  # that of langchain-postgres


class PostgresLoader(BulkLoader):
    """Loads a table of langchain-postgres.

    Its settings: ``index``, the vector index to build at the end if the table has none, an index of langchain-postgres
    such as ``HNSWIndex(m=24)``, ``"hnsw"`` for one as the store searches, or ``None`` for none; ``drop_indexes``,
    whether indexes are dropped while it is loaded, which makes searches slow meanwhile; ``build_memory_mb`` and
    ``build_workers``, what an index may use while it is built, see `postgres_indexes.settings_for`.
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
        names, notes = self._names, indexes.Notes(self._names)
        async with self._engine.connect() as connection:
            found = await all_rows(connection, indexes.DROPPABLE, table=names.quoted)
            if not found:
                return
            await connection.exec_driver_sql(notes.create)
            for each in found:
                await all_rows(connection, notes.add, table=names.table, index=each.name, definition=each.definition)
                await connection.exec_driver_sql(indexes.drop_index(names, each.name))
            await connection.commit()

    async def _build_noted(self) -> None:
        """Build indexes that were dropped, each in a transaction with the removal of its note."""
        names, notes = self._names, indexes.Notes(self._names)
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
                        f"{notes.quoted} notes the index {shown(each.index_name)} as {shown(each.definition)}, which "
                        "isn't how an index is made; build the index by hand, and delete the row"
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
            found = await all_rows(connection, indexes.VECTOR_INDEXES, table=names.quoted, column=names.embedding)
            if found:
                return
            await self._grant_room(connection)
            name = self._index.name or f"{names.table}{_INDEX_NAME_SUFFIX}"
            await connection.exec_driver_sql(indexes.create_index(names, self._index, name))
            await connection.commit()

    async def _grant_room(self, connection: Any) -> None:
        """Let the rest of a transaction have memory and workers for an index."""
        table = await self._read_table()
        room = await all_rows(connection, indexes.ROOM)
        (counted,) = await all_rows(connection, indexes.count_rows(self._names))
        settings = indexes.settings_for(room, counted.rows, table.dimension or 0, self._memory_mb, self._workers)
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
