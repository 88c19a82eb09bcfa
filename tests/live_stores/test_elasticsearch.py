"""The requests that Elasticsearch gets."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from tests.live_stores.wire.elasticsearch import Elasticsearch
from tests.live_stores.wire.http import serving
from tests.toys import WordEmbeddings

SOURCES = [
    Document("# 2024-05-01\n\nA refund is paid. A seat is not.", id="a", metadata={"tenant": "acme"}),
    Document("# Cards\n\nA card is sent.", id="b", metadata={"tenant": "umbra"}),
]


@pytest.fixture
def server() -> Elasticsearch:
    pytest.importorskip("langchain_elasticsearch", reason="make test-stores installs it")
    return Elasticsearch()


@pytest.fixture
def url(server: Elasticsearch) -> Iterator[str]:
    with serving(server) as url:
        yield url


@pytest.fixture
def retriever(url: str, words: WordEmbeddings) -> Iterator[SentenceWindowRetriever]:
    from elasticsearch import Elasticsearch as Client
    from langchain_elasticsearch import ElasticsearchStore

    with Client(url) as client:
        store = ElasticsearchStore(f"i{uuid4().hex}", embedding=words, client=client)
        yield SentenceWindowRetriever(vectorstore=store, lexical_weight=0, ranking=None, names=False)


def test_a_query_asks_for_more_candidates_than_documents_and_reads_around_them_at_once(
    server: Elasticsearch, retriever: SentenceWindowRetriever
) -> None:
    assert retriever.invoke("refund") == []  # there is no index yet
    retriever.add_documents(SOURCES)
    server.requests.clear()
    tenant = [{"term": {"metadata.tenant.keyword": "acme"}}]
    (window,) = retriever.invoke("refund", k=1, window=1, fetch_k=200)
    assert window.page_content == "# 2024-05-01\n\nA refund is paid. A seat is not."
    assert server.requests == ["POST /INDEX/_search"] * 2
    assert [found.id for found in retriever.invoke("card", filter=tenant, fetch_k=6_000, window=0)] != []
    server.requests.clear()
    assert [each.doc_id for each in retriever.documents()] == ["a", "b"]
    assert server.requests == ["POST /INDEX/_search", "POST /_search/scroll", "DELETE /_search/scroll"]


def test_a_custom_query_is_still_asked(retriever: SentenceWindowRetriever) -> None:
    retriever.add_documents(SOURCES)
    bodies: list[dict[str, Any]] = []

    def noted(body: dict[str, Any], query: str | None) -> dict[str, Any]:
        bodies.append(body)
        return body

    (found, *_) = retriever.model_copy(update={"search_kwargs": {"custom_query": noted}}).invoke("card", window=0)
    assert (found.page_content, len(bodies)) == ("# Cards\n\nA card is sent.", 1)


def test_headings_that_look_like_dates_are_text(server: Elasticsearch, retriever: SentenceWindowRetriever) -> None:
    retriever.add_documents(SOURCES[:1])
    retriever.add_documents(SOURCES[1:])  # a field of dates would refuse its heading
    ((index),) = server.indices.values()
    assert index.types["heading"] == "text"
