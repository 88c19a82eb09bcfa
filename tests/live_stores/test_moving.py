"""An index moves from another store to ours with its vectors."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import (
    FaissStore,
    SentenceWindowRetriever,
    acopy_index,
    copy_index,
)
from langchain_sentence_window.adapters.store_adapter import PAGE_SIZE
from langchain_sentence_window.errors import InvalidInputError
from tests.live_stores import makers
from tests.toys import WordEmbeddings

Make = Callable[[], VectorStore]
NAMES = ["chroma", "qdrant", "lancedb", "community_faiss", "postgres", "pgvector"]


@pytest.fixture(params=NAMES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    given: dict[str, list[Any]] = {"chroma": [tmp_path], "lancedb": [tmp_path]}
    if fixture := {"postgres": "postgres", "pgvector": "postgres_url"}.get(request.param):
        given[request.param] = [request.getfixturevalue(fixture)]
    return lambda: getattr(makers, request.param)(WordEmbeddings(), *given.get(request.param, []))


def test_a_store_is_not_copied_into_itself(make: Make) -> None:
    store = make()
    with pytest.raises(InvalidInputError, match="are the same"):
        copy_index(store, store)


@pytest.mark.parametrize("is_async", [False, True])
def test_sentences_keep_their_vectors(make: Make, *, is_async: bool) -> None:
    store, words = make(), WordEmbeddings()
    text = "Ask for a refund. It takes a week.\n\n# Cards\n\nThe card was refused."
    count = 2 * PAGE_SIZE // 4 + 1
    SentenceWindowRetriever(vectorstore=store).add_documents(
        [Document(text, id=f"{is_async} {number}") for number in range(count)]
    )
    target = FaissStore(words)
    copied = asyncio.run(acopy_index(store, target)) if is_async else copy_index(store, target)
    assert copied == len(target) == 4 * count
    assert len(words.embedded) <= 5, "no more than the sample"
    for sentences, vectors in target.export():
        expected = np.array([words.vector(each.page_content) for each in sentences])
        assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-3)
    retriever = SentenceWindowRetriever(vectorstore=target, lexical_weight=0)
    assert [each.page_content for each in retriever.get([f"{is_async} 0", f"{is_async} {count - 1}"])] == [text] * 2
