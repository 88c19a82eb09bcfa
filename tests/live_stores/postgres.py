"""A PostgreSQL with pgvector, started in a folder of its own and stopped at the end; the package pgserver brings it."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


@contextmanager
def running_postgres() -> Iterator[str]:
    """Start a server, give its address as SQLAlchemy with asyncpg reads it, and stop it.

    It doesn't wait for the disk, as its data are gone at the end anyway.
    """
    runtime = tempfile.mkdtemp(prefix="pg")  # sockets live here, and their paths must be short
    os.environ.setdefault("XDG_RUNTIME_DIR", runtime)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = import_module("pgserver")

    folder = Path(tempfile.mkdtemp(prefix="pgdata"))
    server = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        for statement in (
            "ALTER SYSTEM SET fsync = off",
            "ALTER SYSTEM SET synchronous_commit = off",
            "ALTER SYSTEM SET maintenance_work_mem = '1GB'",  # an HNSW index that fits is built many times faster
            "SELECT pg_reload_conf()",
            "CREATE EXTENSION vector",
        ):
            server.psql(statement)
        yield server.get_uri().replace("postgresql://", "postgresql+asyncpg://")
    finally:
        server.cleanup()
