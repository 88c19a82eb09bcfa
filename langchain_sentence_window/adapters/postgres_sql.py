"""SQL that the adapters of langchain-postgres run: through which engine, on which table, and the searches and reads.

The store's own methods return the same Documents, but fetch the vector of each as text, and have PostgreSQL plan a
fetch anew for each number of ids. They read JSON value by value, and open a transaction for each read.
"""

import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

import orjson
from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.sentence_documents import read_parts
from langchain_sentence_window.errors import InvalidInputError

from .store_adapter import Read, Scored
from .traits import Reachable

T = TypeVar("T")

_AWAY_STATES = ("08", "53300", "57P0", "57014")
"""How codes of PostgreSQL begin that say: no connection, no room for one, shutting down or starting, out of time."""


class PostgresEngine(Reachable):
    """A ``PGEngine`` of langchain-postgres, or the ``AsyncEngine`` of SQLAlchemy that an async store has."""

    name = "PostgreSQL"

    def __init__(self, engine: Any) -> None:
        """Take the engine."""
        self._engine = engine
        self._pool: Any = getattr(engine, "_pool", engine)

    async def run(self, io: IO, flow: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a flow in the engine's own event loop if it has one, and else in the current one.

        Args:
            io: Makes the call.
            flow: Makes the coroutine to run.

        Raises:
            InvalidInputError: The call blocks, and the engine has no event loop of its own.
            StoreUnavailableError: The database doesn't answer.
        """
        has_loop = getattr(self._engine, "_loop", None) is not None

        def blocking() -> T:
            if not has_loop:
                raise InvalidInputError(
                    "the store's engine has no event loop of its own, so the store can't be used blocking; use async "
                    "methods, or make the engine with PGEngine.from_connection_string"
                )
            result: T = self._engine._run_as_sync(flow())
            return result

        async def asynchronous() -> T:
            result: T = await (self._engine._run_as_async(flow()) if has_loop else flow())
            return result

        with self.reached():
            return await io.call(blocking, asynchronous)

    def is_away(self, error: BaseException) -> bool:
        """Return whether an error in a call of the database says so; any error of the network there is its own."""
        return isinstance(error, OSError) or is_away(error)

    async def dispose(self) -> None:
        """Close the connections that wait in the pool."""
        await self._pool.dispose()

    def connect(self) -> AbstractAsyncContextManager[Any]:
        """Return a connection of SQLAlchemy; what isn't committed when it is left is undone."""
        connection: AbstractAsyncContextManager[Any] = self._pool.connect()
        return connection


def is_away(error: BaseException) -> bool:
    """Return whether an error of SQLAlchemy, asyncpg or psycopg says that the database doesn't answer in time."""
    from sqlalchemy.exc import DBAPIError, OperationalError
    from sqlalchemy.exc import TimeoutError as PoolTimeoutError

    if isinstance(error, PoolTimeoutError):
        return True
    state = getattr(error.orig if isinstance(error, DBAPIError) else error, "sqlstate", None)
    if state is not None:
        return str(state).startswith(_AWAY_STATES)
    # What has no code isn't from the server.
    return isinstance(error, OperationalError) or (isinstance(error, DBAPIError) and bool(error.connection_invalidated))


async def all_rows(connection: Any, statement: str, **values: Any) -> Sequence[Any]:
    """Run a statement with parameters, and return its rows; none for a statement that returns none."""
    from sqlalchemy import text

    result = await connection.execute(text(statement), values)
    rows: Sequence[Any] = result.all() if result.returns_rows else []
    return rows


def in_text(sql: str) -> str:
    """Return SQL without parameters as a part of a statement, in which a colon begins a parameter."""
    return sql.replace(":", "\\:")


def quoted(name: str) -> str:
    """Return a name as an identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as a string in SQL, which the server reads with standard strings."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class TableNames:
    """The names that a store gives its table and columns.

    Attributes:
        schema: The schema.
        table: The table.
        id: The column of ids.
        content: The column of texts.
        embedding: The column of vectors.
        metadata: Columns of metadata.
        json: The column of the metadata that has no column; ``None`` if there is none.
        tsv: The column of words for the store's hybrid search, and its language; ``None`` if there is none.
    """

    schema: str
    table: str
    id: str
    content: str
    embedding: str
    metadata: Sequence[str]
    json: str | None
    tsv: tuple[str, str] | None

    @property
    def quoted(self) -> str:
        """The table, with its schema, as SQL writes it."""
        return f"{quoted(self.schema)}.{quoted(self.table)}"

    @classmethod
    def of(cls, store: Any) -> Self:
        """Return those of an async store of langchain-postgres."""
        config = store.hybrid_search_config
        return cls(
            schema=store.schema_name,
            table=store.table_name,
            id=store.id_column,
            content=store.content_column,
            embedding=store.embedding_column,
            metadata=tuple(store.metadata_columns),
            json=store.metadata_json_column or None,
            tsv=(config.tsv_column, config.tsv_lang or "") if config and config.tsv_column else None,
        )


_SETTING = re.compile(r"([\w.]+)\s*=\s*([\w.]+)")
_PLAIN_SETTINGS = frozenset({"k", "filter"})


def searches_plainly(store: Any, table: Any, settings: Mapping[str, Any]) -> bool:
    """Return whether a search by SQL of our own finds what the store's own search would.

    Args:
        store: A ``PGVectorStore`` or ``AsyncPGVectorStore``.
        table: The ``AsyncPGVectorStore`` of either.
        settings: Arguments of the search.
    """
    is_own = type(store).__module__.startswith("langchain_postgres.v2.") and type(table).__module__.startswith(
        "langchain_postgres.v2."
    )
    has_template = callable(getattr(table.embedding_service, "embed_query_inline_template", None))
    return is_own and table.hybrid_search_config is None and not has_template and settings.keys() <= _PLAIN_SETTINGS


class PostgresQueries:
    """The queries of one store."""

    def __init__(self, table: Any, engine: PostgresEngine) -> None:
        """Take the ``AsyncPGVectorStore``, and what reaches it."""
        self._table = table
        self._engine = engine
        self._names = names = TableNames.of(table)
        columns = [*map(quoted, (names.id, names.content, *names.metadata))]
        # As text, so that the driver doesn't read each by itself.
        columns += [f"CAST({quoted(names.json)} AS text)"] if names.json else []
        self.columns = in_text(", ".join(columns))
        self._from = f"FROM {in_text(names.quoted)}"

    async def nearest(self, vector: Sequence[float], k: int | None, filter: Any) -> Sequence[Any]:
        """Search by meaning, as the store's ``similarity_search_with_score_by_vector`` does.

        Returns:
            Rows for `scored_documents` or `scored_sentences`, which aren't read here, as an event loop waits meanwhile.
        """
        condition, values = self.condition(filter)
        strategy, column = self._table.distance_strategy, in_text(quoted(self._names.embedding))
        given = self._table.index_query_options
        options = given.to_parameter() if given else []
        # Under a filter they are set before, as the plan may depend on them.
        settings = None if condition else _set_in_statement(options)
        condition = condition or settings or ""
        statement = (
            f"SELECT {self.columns}, {strategy.search_function}({column}, :vector) AS distance {self._from} "
            f"{condition and f'WHERE {condition}'} ORDER BY {column} {strategy.operator} :vector LIMIT :most"
        )
        values |= {"vector": as_vector(vector), "most": self._table.k if k is None else k}
        async with self._engine.connect() as connection:
            if settings is not None:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
            else:
                for option in options:
                    await connection.exec_driver_sql(f"SET LOCAL {option}")
            return await all_rows(connection, statement, **values)

    async def of_ids(self, ids: Sequence[str]) -> Sequence[Any]:
        """Get rows for `documents` by id, by one plan for any number, without a transaction around the statement."""
        column = in_text(quoted(self._names.id))
        statement = f"SELECT {self.columns} {self._from} WHERE {column} = ANY (:ids)"
        async with self._engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            return await all_rows(connection, statement, ids=list(ids))

    async def after(self, place: str, most: int) -> Sequence[Any]:
        """Get rows for `documents` in the order in which they lie in the table, each with its ``place`` as the last.

        Args:
            place: The place of the row before them; ``(0,0)`` for the first.
            most: The most rows.
        """
        statement = (
            f"SELECT {self.columns}, CAST(ctid AS text) AS place {self._from} "
            "WHERE ctid > CAST(CAST(:place AS text) AS tid) ORDER BY ctid LIMIT :most"
        )
        async with self._engine.connect() as connection:
            return await all_rows(connection, statement, place=place, most=most)

    async def vectors_of(self, ids: Sequence[str]) -> Sequence[Any]:
        """Get rows of an ``id`` and its ``vector`` as text."""
        id_, vector = (in_text(quoted(name)) for name in (self._names.id, self._names.embedding))
        statement = (
            f"SELECT CAST({id_} AS text) AS id, CAST({vector} AS text) AS vector {self._from} "
            f"WHERE CAST({id_} AS text) = ANY (:ids)"
        )
        async with self._engine.connect() as connection:
            return await all_rows(connection, statement, ids=list(ids))

    def condition(self, filter: Any) -> tuple[str, dict[str, Any]]:
        """Return a filter as SQL with its parameters, as the store reads it."""
        if not filter or not isinstance(filter, dict):
            return "", {}
        made: tuple[str, dict[str, Any]] = self._table._create_filter_clause(filter)
        return made

    def scored_documents(self, rows: Sequence[Any]) -> Scored:
        """Make Documents of what a search found, with the store's distances."""
        return [(document, float(row.distance)) for document, row in zip(self.documents(rows), rows, strict=True)]

    def scored_sentences(self, rows: Sequence[Any]) -> Read:
        """Read the sentences that a search found, with the store's distances, without a Document for each.

        Raises:
            IncompleteWindowError: Metadata isn't what the splitter writes.
        """
        metadata = self._metadata(rows)
        for each, row in zip(metadata, rows, strict=True):
            for name, value in zip(self._names.metadata, row[2:], strict=False):
                if value is None:  # an empty column
                    del each[name]
        return [
            (read_parts(each, row[1], partial(str, row[0])), float(row.distance))
            for each, row in zip(metadata, rows, strict=True)
        ]

    def documents(self, rows: Sequence[Any]) -> list[Document]:
        """Make Documents of rows that begin with the columns."""
        return [
            Document(id=str(row[0]), page_content=row[1], metadata=metadata)
            for metadata, row in zip(self._metadata(rows), rows, strict=True)
        ]

    def _metadata(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """Read the metadata of rows that begin with the columns."""
        names = self._names.metadata
        end = len(names) + 2
        # All JSON at once, which takes half the time of one after another.
        read = json.loads(f"[{','.join(row[end] or '{}' for row in rows)}]") if self._names.json else [None] * len(rows)
        return [
            {**(held or {}), **dict(zip(names, row[2:end], strict=True))} for held, row in zip(read, rows, strict=True)
        ]


def _set_in_statement(options: Sequence[str]) -> str | None:
    """Return a condition that is true, and that sets options of an index for its statement alone; empty for none.

    PostgreSQL works it out before it looks at the table. So no transaction is needed around the statement, which takes
    three round trips.

    Returns:
        ``None`` if it can't be read what the options say.
    """
    read = [_SETTING.fullmatch(option) for option in options]
    calls = [f"set_config({literal(each[1])}, {literal(each[2])}, true)" for each in read if each]
    if len(calls) < len(options):
        return None
    return f"(SELECT {' || '.join(calls)}) IS NOT NULL" if calls else ""


def as_vector(numbers: Sequence[float]) -> str:
    """Return a vector as pgvector reads it."""
    return orjson.dumps([float(each) for each in numbers]).decode()
