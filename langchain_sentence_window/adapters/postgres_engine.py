"""`PostgresEngine`: runs SQL through the engine of a store of langchain-postgres, blocking and async."""

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeVar

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.reaching import reached
from langchain_sentence_window.errors import InvalidInputError

T = TypeVar("T")

_AWAY_STATES = ("08", "53300", "57P0", "57014")
"""How codes of PostgreSQL begin that say: no connection, no room for one, shutting down or starting, out of time."""


class PostgresEngine:
    """A ``PGEngine`` of langchain-postgres, or the ``AsyncEngine`` of SQLAlchemy that an async store has."""

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

    @staticmethod
    def reached() -> AbstractContextManager[None]:
        """Return a context for calls of the database; any error of the network in it is the database's."""
        return reached("PostgreSQL", lambda error: isinstance(error, OSError) or is_away(error))

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
