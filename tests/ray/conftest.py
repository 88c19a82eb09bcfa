"""These tests need Ray and PostgreSQL: ``make test-ray`` installs them."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.live_stores.postgres import running_postgres
from tests.ray.cluster import running_ray

collect_ignore_glob = [] if all(map(find_spec, ("ray", "langchain_postgres", "pgserver"))) else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ray warns of its own settings when they are copied."""
    for item in items:
        if item.path.parent.name == "ray":
            item.add_marker(pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning:ray"))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    with running_ray() as ray:
        yield ray
