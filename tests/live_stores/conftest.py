"""These tests need other vector stores: ``make test-stores`` installs them."""

import asyncio
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.live_stores.postgres import running_postgres
from tests.live_stores.servers import running_mariadb, running_redis

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


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="session")
def redis_socket() -> Iterator[str]:
    with running_redis() as socket:
        yield socket


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Any]:
    with running_mariadb() as url:
        from sqlalchemy import create_engine

        engine = create_engine(url)
        yield engine
        engine.dispose()


# Loopback servers, for stores whose own don't start here


@pytest.fixture(scope="session")
def elasticsearch() -> Iterator[Any]:
    pytest.importorskip("langchain_elasticsearch", reason="make test-stores installs it")
    from elasticsearch import Elasticsearch as Client

    from tests.live_stores.wire.elasticsearch import Elasticsearch
    from tests.live_stores.wire.http import serving

    with serving(Elasticsearch()) as url, Client(url) as client:
        yield client


@pytest.fixture(scope="session")
def mongodb() -> Iterator[Any]:
    pytest.importorskip("langchain_mongodb", reason="make test-stores installs it")
    from pymongo import MongoClient

    from tests.live_stores.wire.mongodb import MongoDB, serving

    with serving(MongoDB()) as url, MongoClient[dict[str, Any]](url) as client:
        yield client


@pytest.fixture(scope="session")
def pinecone_url() -> Iterator[str]:
    pytest.importorskip("langchain_pinecone", reason="make test-stores installs it")
    from tests.live_stores.wire.http import serving
    from tests.live_stores.wire.pinecone import Pinecone

    with serving(Pinecone()) as url:
        yield url


@pytest.fixture(scope="session")
def weaviate() -> Iterator[Any]:
    pytest.importorskip("langchain_weaviate", reason="make test-stores installs it")
    from weaviate import connect_to_local

    from tests.live_stores.wire.weaviate import serving

    with (
        serving() as (host, http_port, grpc_port),
        connect_to_local(host, http_port, grpc_port, skip_init_checks=True) as client,
    ):
        yield client
