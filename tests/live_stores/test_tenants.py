"""Two tenants in one index of another store; see `tests.adapters.test_tenants`."""

import logging
from typing import Any

import pytest

from tests.adapters.test_scope import Case
from tests.adapters.test_tenants import ROADS, Told, Walk, assert_nothing_of_theirs, means, told
from tests.forms import Invoke
from tests.live_stores.makers import CASES

__all__ = ["told"]  # a fixture


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients log what goes over the wire, which includes the documents of both tenants."""
    for name in ("elastic_transport", "elasticsearch", "pymongo"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", True)
        for child in [each for each in logging.root.manager.loggerDict if each.startswith(f"{name}.")]:
            monkeypatch.setattr(logging.getLogger(child), "disabled", True)


@pytest.fixture(scope="session", params=CASES.keys() - {"Milvus", "PostgreSQL"})
def other(request: pytest.FixtureRequest) -> tuple[Case, Any]:
    """A store with the filter of a tenant, and a filter that matches everything."""
    case = CASES[request.param]
    return (case.maker(request), case.tenant, {}), case.anything()


@pytest.mark.parametrize("walk", ROADS.values(), ids=ROADS.keys())
async def test_a_tenant_never_sees_another_tenants_documents(
    other: tuple[Case, Any], walk: Walk, way: Invoke, told: Told
) -> None:
    case, anything = other
    await walk(means(case, way, told, anything=anything))
    assert_nothing_of_theirs(told)
    assert any("Mine" in each or "mine" in each for each in told.everything())
