"""A PostgreSQL with pgvector, started in a folder of its own and stopped at the end; the package pgserver brings it."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

SECONDS = 30


class Postgres:
    """A server that can be killed and started again, and frozen so that it doesn't answer.

    Attributes:
        url: Its address as SQLAlchemy with asyncpg reads it.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self.url: str = server.get_uri().replace("postgresql://", "postgresql+asyncpg://")

    def forget_quickly(self) -> None:
        """Let it answer before it has written what it committed."""
        self._server.psql("ALTER SYSTEM SET synchronous_commit = off; SELECT pg_reload_conf()")

    def kill(self) -> None:
        """Kill all its processes, and wait until they are gone."""
        psutil: Any = import_module("psutil")

        family = self._family()
        for process in family:
            process.kill()
        psutil.wait_procs(family, SECONDS)

    def start(self) -> None:
        """Start it again after `kill`, and wait until it answers."""
        self._server.ensure_postgres_running()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let none of its processes go on within the block."""
        family = self._family()
        for process in family:
            process.suspend()
        try:
            yield
        finally:
            for process in family:
                process.resume()

    def _family(self) -> list[Any]:
        psutil: Any = import_module("psutil")

        main = psutil.Process(self._server.get_pid())
        return [main, *main.children(recursive=True)]


@contextmanager
def breakable_postgres() -> Iterator[Postgres]:
    """Start a server, and stop it. What it committed is there after `Postgres.kill`."""
    runtime = tempfile.mkdtemp(prefix="pg")  # sockets live here, and their paths must be short
    os.environ.setdefault("XDG_RUNTIME_DIR", runtime)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = import_module("pgserver")

    folder = Path(tempfile.mkdtemp(prefix="pgdata"))
    server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        for statement in (
            "ALTER SYSTEM SET fsync = off",  # this machine isn't switched off meanwhile
            "ALTER SYSTEM SET maintenance_work_mem = '1GB'",  # an HNSW index that fits is built many times faster
            "SELECT pg_reload_conf()",
            "CREATE EXTENSION vector",
        ):
            server.psql(statement)
        yield Postgres(server)
    finally:
        server.cleanup()


@contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server, give its address as SQLAlchemy with asyncpg reads it, and stop it.

    It doesn't wait for the disk, as its data are gone at the end anyway.
    """
    with breakable_postgres() as server:
        server.forget_quickly()
        yield server.url
