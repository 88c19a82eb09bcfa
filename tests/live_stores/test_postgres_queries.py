"""Searches and reads of PostgreSQL in SQL of our own find what the store's own methods find."""

import asyncio
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_postgres import Column, PGEngine, PGVectorStore
from langchain_postgres.v2.indexes import DistanceStrategy, HNSWQueryOptions

from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.stores import IO, adapter_of
from tests.live_stores import makers
from tests.toys import VOCABULARY, WordEmbeddings

FILTERS: list[Any] = [None, {}, {"tenant": "a"}, {"n": {"$gt": 3}}]


def documents() -> list[Document]:
    own: list[dict[str, Any]] = [{"tenant": "a", "list": [1, {"b": None}]}, {"tenant": "b", "n": 4}, {"n": 5}, {}]
    return [
        Document(f"{word} {VOCABULARY[number % 3]} ä.", id=sentence_id(word, 0), metadata=own[number % 4])
        for number, word in enumerate(VOCABULARY)
    ]


def made(postgres: Any, words: WordEmbeddings, distance: DistanceStrategy, table: str, **columns: str) -> Any:
    given: dict[str, Any] = {"content_column": "content", "id_column": "langchain_id", **columns}
    postgres.init_vectorstore_table(
        table, 11, metadata_columns=[Column("tenant", "TEXT")], overwrite_existing=True, **given
    )
    store = PGVectorStore.create_sync(
        postgres, words, table, metadata_columns=["tenant"], distance_strategy=distance, **given
    )
    store.add_documents(documents())
    return store


@pytest.mark.parametrize("distance", list(DistanceStrategy))
def test_they_find_the_same(postgres: Any, words: WordEmbeddings, distance: DistanceStrategy) -> None:
    store = made(
        postgres, words, distance, f"Queries of {distance.name}", content_column="The text", id_column="the id"
    )
    adapter = adapter_of(store)
    for within in FILTERS:
        for k in (1, 5, 50):
            own = store.similarity_search_with_score("refund card", k=k, filter=within)
            found = asyncio.run(adapter.search(IO(), "refund card", {"k": k, "filter": within}))
            sign = 1 if distance is DistanceStrategy.INNER_PRODUCT else -1
            assert [document for document, _ in found] == [document for document, _ in own] != []
            assert [sign * score for _, score in found] == pytest.approx([score for _, score in own])
    ids = [str(each.id) for each in documents()]
    got = asyncio.run(adapter.select(IO(), [*ids, ids[0], sentence_id("never", 0)], None))
    assert got is not None
    assert sorted(got, key=str) == sorted(store.get_by_ids(ids), key=str)
    assert asyncio.run(adapter.select(IO(), [], None)) == []


@pytest.mark.parametrize("within", [None, {"tenant": "a"}])
def test_the_index_is_searched_with_the_stores_options_alone(
    postgres_url: str, words: WordEmbeddings, within: Any
) -> None:
    settings = {"server_settings": {"enable_seqscan": "off"}}  # so that the index is used for a few rows
    engine = PGEngine.from_connection_string(postgres_url, connect_args=settings, pool_size=1)
    store: Any = makers.postgres(words, engine, index=False)
    text = " ".join(f"The {VOCABULARY[at % 5]} of number {at} came." for at in range(300))
    sentences = SentenceSplitter().split_documents([Document(text, id="a", metadata={"tenant": "a"})])
    vectors = np.random.default_rng(1).standard_normal((len(sentences), 11)).tolist()
    texts, metadata = [each.page_content for each in sentences], [each.metadata for each in sentences]
    store.add_embeddings(texts, vectors, metadata, [each.id for each in sentences])
    makers.index_vectors(store)
    store._PGVectorStore__vs.index_query_options = HNSWQueryOptions(ef_search=90)
    try:
        # Without the options, the index gives 40.
        found = asyncio.run(adapter_of(store).search(IO(), "refund", {"k": 200, "filter": within}))
        assert [document.id for document, _ in found] == [
            document.id for document, _ in store.similarity_search_with_score("refund", k=200, filter=within)
        ]
        assert len(found) == 90

        async def after() -> Any:
            async with engine._pool.connect() as connection:
                return (await connection.exec_driver_sql("SHOW hnsw.ef_search")).scalar_one()

        assert engine._run_as_sync(after()) == "40"
    finally:
        asyncio.run(engine.close())


def test_metadata_of_one_answer_is_not_that_of_another(postgres: Any, words: WordEmbeddings) -> None:
    adapter = adapter_of(made(postgres, words, DistanceStrategy.COSINE_DISTANCE, "own_metadata"))
    for _ in range(2):
        ((document, _),) = asyncio.run(adapter.search(IO(), VOCABULARY[0], {"k": 1}))
        assert document.metadata == {"tenant": "a", "list": [1, {"b": None}]}
        document.metadata["list"].clear()


def test_a_store_that_searches_otherwise_searches_itself(postgres: Any, words: WordEmbeddings) -> None:
    class Own(PGVectorStore):
        def similarity_search_with_score(self, *given: Any, **keywords: Any) -> Any:
            return [(Document("Mine."), 1.0)]

    store: Any = makers.postgres(words, postgres)
    store.__class__ = Own
    ((document, _),) = asyncio.run(adapter_of(store).search(IO(), "refund", {"k": 1}))
    assert document.page_content == "Mine."
