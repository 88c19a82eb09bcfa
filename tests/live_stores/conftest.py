"""These tests need other vector stores: ``make test-stores`` installs them."""

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.live_stores.postgres import running_postgres

collect_ignore_glob = [] if find_spec("langchain_milvus") else ["test_*.py"]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def postgres(postgres_url: str) -> Iterator[Any]:
    from langchain_postgres import PGEngine

    engine = PGEngine.from_connection_string(postgres_url)
    yield engine
    asyncio.run(engine.close())
