"""Two tenants in one index of a further store; see `tests.adapters.test_tenants`."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.test_scope import Case, mapping
from tests.adapters.test_tenants import ROADS, Told, Walk, assert_nothing_of_theirs, means, told
from tests.conftest import Invoke
from tests.live_stores import makers

__all__ = ["told"]  # a fixture


def redis_tag(tenant: str) -> Any:
    from redisvl.query.filter import Tag

    return Tag("tenant") == tenant


def redis_any() -> Any:
    from redisvl.query.filter import Tag

    return Tag("tenant") != "nobody"


def weaviate_text(tenant: str) -> Any:
    from weaviate.classes.query import Filter

    return Filter.by_property("tenant").equal(tenant)


def weaviate_any() -> Any:
    from weaviate.classes.query import Filter

    return Filter.by_property("tenant").not_equal("nobody")


def mapping_any() -> Any:
    return {"tenant": {"$ne": "nobody"}}


STORES: dict[str, tuple[str, Callable[..., Any], Callable[[str], Any], Callable[[], Any]]] = {
    "LanceDB": ("folder", makers.lancedb, mapping, mapping_any),
    "MariaDB": ("mariadb", makers.mariadb, mapping, mapping_any),
    "Redis": ("redis_socket", makers.redis, redis_tag, redis_any),
    "Elasticsearch": (
        "elasticsearch",
        makers.elasticsearch,
        lambda tenant: [{"term": {"metadata.tenant.keyword": tenant}}],
        lambda: [{"bool": {"must_not": [{"term": {"metadata.tenant.keyword": "nobody"}}]}}],
    ),
    "MongoDB": (
        "mongodb",
        makers.mongodb,
        lambda tenant: {"tenant": {"$eq": tenant}},
        lambda: {"tenant": {"$in": ["mine", "theirs"]}},
    ),
    "Pinecone": ("pinecone_url", makers.pinecone, mapping, mapping_any),
    "Weaviate": ("weaviate", makers.weaviate, weaviate_text, weaviate_any),
}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients log all that goes over the wire, what the stores are filled with too."""
    for name in ("elastic_transport", "elasticsearch", "pymongo"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", True)
        for child in [each for each in logging.root.manager.loggerDict if each.startswith(f"{name}.")]:
            monkeypatch.setattr(logging.getLogger(child), "disabled", True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lancedb")


@pytest.fixture(scope="session", params=STORES)
def further(request: pytest.FixtureRequest) -> tuple[Case, Any]:
    """A store with the filter of a tenant, and a filter that lets everything through."""
    server, make, tenant, anything = STORES[request.param]
    started = request.getfixturevalue(server)
    return (lambda embedding: make(embedding, started), tenant, {}), anything()


@pytest.mark.parametrize("walk", ROADS.values(), ids=ROADS.keys())
async def test_no_road_leads_to_what_is_the_others(
    further: tuple[Case, Any], walk: Walk, way: Invoke, told: Told
) -> None:
    case, anything = further
    await walk(means(case, way, told, anything=anything))
    assert_nothing_of_theirs(told)
    assert any("Mine" in each or "mine" in each for each in told.everything())
