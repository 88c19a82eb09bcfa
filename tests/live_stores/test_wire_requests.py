"""Test what the clients of Pinecone, MongoDB and Weaviate are made to send, and what they are told."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from tests.live_stores import makers
from tests.live_stores.wire.http import Reply, Request, serving
from tests.toys import WordEmbeddings

MANY = " ".join(f"Item {number}." for number in range(250))


def over(store: Any, **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=store, lexical_weight=0, ranking=None, names=False, **settings)


class Noted:
    """A server that notes what it is asked."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        reply: Reply = self.server(request)
        return reply


@pytest.fixture
def noted() -> Noted:
    pytest.importorskip("langchain_pinecone", reason="make test-stores installs it")
    from tests.live_stores.wire.pinecone import Pinecone

    return Noted(Pinecone())


@pytest.fixture
def pinecone(noted: Noted, words: WordEmbeddings) -> Iterator[SentenceWindowRetriever]:
    with serving(noted) as url:
        yield over(makers.pinecone(words, url))


def test_pinecone_gets_small_requests_and_gives_numbers_back_as_they_were(
    noted: Noted, pinecone: SentenceWindowRetriever
) -> None:
    given = Document(MANY, id="many", metadata={"page": 3, "share": 0.5, "tags": ["a", "b"], "tenant": "acme"})
    pinecone.add_documents([given])
    sent = [len(each.json()["vectors"]) for each in noted.asked if each.path == "/vectors/upsert"]
    assert (max(sent), sum(sent)) == (100, 250)
    noted.asked.clear()
    (window,) = pinecone.invoke("item", k=1, window=(200, 200), fetch_k=1, filter={"tenant": "acme"})
    query, *others = noted.asked
    assert (query.path, {each.path for each in others}) == ("/query", {"/vectors/fetch"})
    body = query.json()
    assert {key: body[key] for key in ("topK", "includeMetadata", "namespace", "filter")} == {
        "topK": 1,
        "includeMetadata": True,
        "namespace": pinecone.vectorstore._namespace,  # type: ignore[attr-defined]
        "filter": {"tenant": "acme"},
    }
    assert json.dumps({key: window.metadata[key] for key in given.metadata}) == json.dumps(given.metadata)
    assert type(window.metadata["page"]) is int
    assert [(each.doc_id, each.sentences) for each in pinecone.documents()] == [("many", 250)]
    assert given.metadata == {"page": 3, "share": 0.5, "tags": ["a", "b"], "tenant": "acme"}


def test_pinecone_reads_in_one_namespace_alone(pinecone: SentenceWindowRetriever) -> None:
    with pytest.raises(InvalidInputError, match="takes only 'filter'"):
        over(pinecone.vectorstore, search_kwargs={"namespace": "other"}).invoke("item")


def test_mongodb_gets_one_command_for_hits_and_one_for_what_is_around_them(words: WordEmbeddings) -> None:
    pytest.importorskip("langchain_mongodb", reason="make test-stores installs it")
    from pymongo import MongoClient
    from pymongo.errors import OperationFailure

    from tests.live_stores.wire import mongodb

    server = mongodb.MongoDB()
    with mongodb.serving(server) as url, MongoClient[dict[str, Any]](url) as client:
        retriever = over(makers.mongodb(words, client), search_kwargs={"pre_filter": {"tenant": {"$eq": "acme"}}})
        admin = over(retriever.vectorstore)
        own = {"tenant": "acme", "nested": {"a": [None, 1]}, "title": None}
        with pytest.warns(SentenceWindowWarning, match="can't hold it: 'score', 'embedding', 'a.b'; "):
            admin.add_documents([Document(MANY, id="many", metadata={**own, "score": 5, "embedding": 1, "a.b": 1})])
        server.commands.clear()
        (window,) = retriever.invoke("item", k=1, window=1)
        assert [each for each in server.commands if each != "endSessions"] == ["aggregate", "find"]
        assert len(retriever.invoke("item", k=1, window=0, fetch_k=5_000)) == 1  # of no more than 10,000 candidates
        assert {key: window.metadata[key] for key in own} == own
        assert window.metadata.keys().isdisjoint({"_id", "embedding", "text"})
        assert [(each.doc_id, each.sentences) for each in admin.documents()] == [("many", 250)]  # in three pages
        with pytest.raises(OperationFailure, match="needs to be indexed as filter"):
            admin.invoke("item", filter={"title": "a"})
        with pytest.raises(InvalidInputError, match="'filter', which may not be a filter"):
            over(retriever.vectorstore, search_kwargs={"filter": {"tenant": "acme"}}).invoke("item")


def test_weaviate_says_what_it_refuses(weaviate: Any, words: WordEmbeddings) -> None:
    retriever = over(makers.weaviate(words, weaviate))
    retriever.add_documents([Document("A card.", id="a", metadata={"year": 2024, "at": "2024-05-01T10:00:00+00:00"})])
    with pytest.raises(InvalidInputError, match="refused 1 of 1 sentences: .*invalid float property 'year': 'none'"):
        retriever.add_documents([Document("A seat.", id="b", metadata={"year": "none"})])
    with pytest.warns(SentenceWindowWarning, match="can't hold it: 'Page', 'none', 'nested'; "):
        retriever.add_documents([Document("A trial.", id="c", metadata={"Page": 1, "none": None, "nested": {}})])
    (window,) = retriever.invoke("card", k=1, window=0)
    assert (window.metadata["year"], type(window.metadata["year"])) == (2024, int)
    assert window.metadata["at"] == "2024-05-01T10:00:00+00:00"
    assert sorted(each.doc_id for each in retriever.documents()) == ["a", "c"]
    with pytest.raises(ValueError, match="no hybrid search here"):  # which is asked for by its settings
        over(retriever.vectorstore, search_kwargs={"alpha": 0.5}).invoke("card")
