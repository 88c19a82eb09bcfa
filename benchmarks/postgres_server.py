"""The cost of a PostgreSQL on this machine: time on the CPU, bytes, pages, and round trips."""

import math
import os
import time
from asyncio import selector_events
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch


class Times(NamedTuple):
    """Milliseconds: of time, and on the CPU of this process and of the server's that serve it."""

    wall: float
    client: float
    server: float

    @property
    def cpu(self) -> float:
        return self.client + self.server

    def __add__(self, other: object) -> "Times":
        assert isinstance(other, Times)
        return Times(self.wall + other.wall, self.client + other.client, self.server + other.server)


class Clock:
    """Tells the times since it was started; those of the server are NaN where the system doesn't tell them."""

    def __init__(self, engine: Any) -> None:
        pids = engine._run_as_sync(server_pids(engine))
        self._files = [Path(f"/proc/{pid}/schedstat") for pid in pids]
        self._parent = _parent_of(pids[0]) if pids else None
        self.start()

    def start(self) -> None:
        self._start, self._client, self._server, self._workers = time.perf_counter(), *self._cpu_ms()

    def read(self) -> Times:
        client, server, _ = self._cpu_ms()
        return Times(1_000 * (time.perf_counter() - self._start), client - self._client, server - self._server)

    def read_with_workers(self) -> Times:
        """Return the times with those of parallel workers that have ended."""
        times, workers = self.read(), self._cpu_ms()[2] - self._workers
        return times + Times(0, 0, workers)

    def _cpu_ms(self) -> tuple[float, float, float]:
        client = 1_000 * time.process_time()
        if not all(path.exists() for path in self._files):
            return client, math.nan, math.nan
        server = sum(int(path.read_text(encoding="ascii").split()[0]) for path in self._files) / 1e6
        ended = (
            _stat(self._parent)[13:15] if self._parent else []
        )  # user and system time of children that were waited for
        return client, server, 1_000 * sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")


async def server_pids(engine: Any) -> list[int]:
    """The processes that serve our connections."""
    async with engine._pool.connect() as connection:
        statement = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
        return [pid for (pid,) in await connection.exec_driver_sql(statement)]


async def bytes_of(engine: Any, table: str) -> dict[str, int]:
    """The bytes of a table with its long values, of its vector index, and of its other indexes."""
    sizes = (
        f"SELECT pg_table_size('{table}'), pg_indexes_size('{table}'), (SELECT sum(pg_relation_size(c.oid)) "  # noqa: S608
        "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam "
        f"WHERE i.indrelid = '{table}'::regclass AND m.amname = 'hnsw')"
    )
    async with engine._pool.connect() as connection:
        ((rows, indexes, vectors),) = (await connection.exec_driver_sql(sizes)).all()
    return {"table": int(rows), "vector index": int(vectors), "other indexes": int(indexes - vectors)}


async def pages_of(engine: Any, statement: str, settings: str) -> int:
    """The pages of 8 kB that a statement reads, whether they are in memory or not."""
    async with engine._pool.connect() as connection:
        await connection.exec_driver_sql(settings)
        found = await connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}")
        (plan,) = found.scalar_one()
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


@contextmanager
def round_trips() -> Iterator[Counter[str]]:
    """Count what is sent over sockets; a driver waits for an answer to each."""
    sent: Counter[str] = Counter()
    transport: Any = selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
    write = transport.write

    def counted(self: Any, data: Any) -> Any:
        sent["round trips"] += 1
        return write(self, data)

    with patch.object(transport, "write", counted):
        yield sent


def _parent_of(pid: int) -> int | None:
    """The process that starts the server's others."""
    return int(_stat(pid)[1]) if Path(f"/proc/{pid}/stat").exists() else None


def _stat(pid: int) -> list[str]:
    """Return the fields that Linux tells of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
