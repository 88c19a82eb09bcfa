"""Two tenants in one index of another vendor's store; see `tests.adapters.test_tenants`."""

from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from tests.adapters.test_scope import Case, mapping
from tests.adapters.test_tenants import ROADS, Told, Walk, assert_nothing_of_theirs, means, told
from tests.conftest import Invoke
from tests.live_stores.makers import community_faiss, qdrant

__all__ = ["told"]  # a fixture


def chroma(embedding: Embeddings) -> VectorStore:
    from langchain_chroma import Chroma

    store: VectorStore = Chroma("tenants", embedding)
    return store


def of_payload(tenant: str) -> Any:
    from qdrant_client.models import FieldCondition, Filter, MatchValue

    return Filter(must=[FieldCondition(key="metadata.tenant", match=MatchValue(value=tenant))])


def any_payload() -> Any:
    from qdrant_client.models import Filter

    return Filter()


CHROMA: Case = chroma, mapping, {}
QDRANT: Case = qdrant, of_payload, {}
COMMUNITY_FAISS: Case = community_faiss, mapping, {}


@pytest.mark.parametrize("walk", ROADS.values(), ids=ROADS.keys())
@pytest.mark.parametrize(
    ("case", "anything"),
    [
        (CHROMA, lambda: {"tenant": {"$ne": "nobody"}}),
        (QDRANT, any_payload),
        (COMMUNITY_FAISS, lambda: {"tenant": {"$neq": "nobody"}}),
    ],
    ids=["Chroma", "Qdrant", "community FAISS"],
)
async def test_no_road_leads_to_what_is_the_others(
    case: Case, anything: Any, walk: Walk, way: Invoke, told: Told
) -> None:
    await walk(means(case, way, told, anything=anything()))
    assert_nothing_of_theirs(told)
    assert any("Mine" in each or "mine" in each for each in told.everything())
