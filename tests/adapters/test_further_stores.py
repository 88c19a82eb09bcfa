"""Test what the adapters of further stores refuse, and what metadata they hold; `tests.live_stores` has the stores."""

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.cloud_stores import MongoDBAdapter, PineconeAdapter
from langchain_sentence_window.adapters.families import with_whole_numbers
from langchain_sentence_window.adapters.json_text import LanceDBAdapter, MariaDBAdapter
from langchain_sentence_window.adapters.search_engines import ElasticsearchAdapter, RedisAdapter
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.adapters.weaviate import WeaviateAdapter
from langchain_sentence_window.errors import FilterError, InvalidInputError

STORE: Any = SimpleNamespace(_text_key="text", _embedding_key="embedding")
FUNCTION: Any = bool


@pytest.mark.parametrize(
    ("adapter", "filter", "message"),
    [
        (ElasticsearchAdapter, FUNCTION, "filters by clauses such as"),
        (ElasticsearchAdapter, [{}], "filters by clauses such as"),
        (ElasticsearchAdapter, ["tenant"], "filters by clauses such as"),
        (ElasticsearchAdapter, {"tenant": "a"}, "filters by clauses such as"),
        (ElasticsearchAdapter, {"$or": [{"tenant": "a"}]}, "filters by clauses such as"),
        (LanceDBAdapter, "tenant = 'a'", "filters by a mapping such as"),
        (MariaDBAdapter, "tenant = 'a'", "filters by a mapping such as"),
        (MongoDBAdapter, [{"tenant": "a"}], "filters by a query such as"),
        (PineconeAdapter, FUNCTION, "filters by a mapping such as"),
        (RedisAdapter, "@tenant:{a}", "filters by an expression of redisvl"),
        (RedisAdapter, {"tenant": "a"}, "filters by an expression of redisvl"),
        (WeaviateAdapter, {"tenant": "a"}, "filters by weaviate.classes.query.Filter"),
    ],
)
def test_a_filter_that_a_store_cannot_read_is_refused(adapter: type[StoreAdapter], filter: Any, message: str) -> None:
    for filters in ([filter], [filter, filter]):
        with pytest.raises(InvalidInputError, match=message):
            adapter(STORE).join(filters)


@pytest.mark.parametrize("adapter", [LanceDBAdapter, MariaDBAdapter, PineconeAdapter])
@pytest.mark.parametrize("filter", [{"a": {"$like": "b"}}, {"$or": []}, {1: 2}, {"a' OR 1": {"$regex": ".*"}}])
def test_a_mapping_that_means_nothing_is_refused(adapter: type[StoreAdapter], filter: Any) -> None:
    with pytest.raises(FilterError):
        adapter(STORE).join([filter])


def test_filters_are_joined_in_each_stores_form() -> None:
    a, b, c = ({"term": {key: "x"}} for key in "abc")
    assert ElasticsearchAdapter(STORE).join([a, [b, c]]) == [a, b, c]
    assert MongoDBAdapter(STORE).join([{"a": 1, "b": 2}, {"c": 3}]) == {"$and": [{"a": 1}, {"b": 2}, {"c": 3}]}
    assert MongoDBAdapter(STORE).join([{"a": 1}]) == {"a": 1}
    for adapter in (LanceDBAdapter, MariaDBAdapter, PineconeAdapter):
        assert adapter(STORE).join([{"a": 1}, {"b": 2}]) == {"$and": [{"a": 1}, {"b": 2}]}


HELD = {"text": "a", "number": 1, "share": 0.5, "flag": True}


@pytest.mark.parametrize(
    ("adapter", "held", "refused"),
    [
        (
            ElasticsearchAdapter,
            {"none": None, "list": ["a", "b"], "empty": [], "a.b": "c"},
            {"": 1, ".": 1, "a.": 1, "a..b": 1, "mixed": [1, "a"], "dict": {"a": 1}, "large": 2**63, "odd": "\ud800"},
        ),
        (
            MariaDBAdapter,
            {"none": None, "mixed": [1, "a", {"b": None}], "large": 2**70, "nul\0": "\0"},
            {"odd": ["\ud800"], "\ud800": 1},
        ),
        (
            MongoDBAdapter,
            {"none": None, "mixed": [1, "a", {"b": None}], "dict": {"a": [1]}},
            {"_id": 1, "id": 1, "score": 1, "embedding": 1, "$a": 1, "a.b": 1, "": 1, "deep": {"a": [{"$b": 1}]},
             "large": 2**63, "odd": ["\ud800"], "nul\0": 1},
        ),
        (
            PineconeAdapter,
            {"list": ["a", "b"], "empty": [], "whole": 2**53},
            {"none": None, "numbers": [1, 2], "dict": {}, "large": 2**53 + 1, "": 1, "$a": 1, "odd": "\ud800"},
        ),
        (
            WeaviateAdapter,
            {"list": ["a", "b"], "numbers": [1, 2], "day": "2024-05-01", "at": "2024-05-01T10:00:00+00:00", "_a1": 1},
            {"none": None, "empty": [], "mixed": [1, "a"], "dict": {}, "large": 2**53 + 1, "": 1, "Page": 1, "a b": 1,
             "id": 1, "at": "2024-05-01T10:00:00Z", "bad": "2024-99-01T10:00:00Z", "é": 1, "odd": "\ud800"},
        ),
    ],
)  # fmt: skip
def test_a_store_says_what_it_gives_back(
    adapter: type[StoreAdapter], held: dict[str, Any], refused: dict[str, Any]
) -> None:
    of_store = adapter(STORE)
    taken = {"text"} if adapter not in (ElasticsearchAdapter, MariaDBAdapter) else set()
    assert [key for key, value in (HELD | held).items() if not of_store.holds(key, value)] == sorted(taken)
    assert [key for key, value in refused.items() if of_store.holds(key, value)] == []


def test_whole_numbers_come_back_and_nothing_else_changes() -> None:
    metadata = {"a": 3.0, "b": 0.5, "c": True, "d": "3.0", "e": [1.0, 0.5], "f": 4, "g": float("inf")}
    given = Document("A card.", id="a", metadata=metadata)
    made = with_whole_numbers(given)
    assert made.metadata == {**metadata, "a": 3, "e": [1, 0.5]}
    assert [type(each) for each in made.metadata.values()] == [int, float, bool, str, list, int, float]
    assert (made.id, made.page_content, given.metadata) == ("a", "A card.", metadata)
    assert type(given.metadata["a"]) is float


def test_a_store_without_an_embedder_says_so() -> None:
    store = SimpleNamespace(_embedding_function=None)
    with pytest.raises(InvalidInputError, match="SimpleNamespace was made without an embedder; give it one"):
        run(LanceDBAdapter(store).search(BLOCKING, "card", {"k": 1}))


def test_tenants_of_weaviates_own_are_refused() -> None:
    pytest.importorskip("weaviate", reason="needs the group `stores`: make test-stores installs it")
    store = SimpleNamespace(_multi_tenancy_enabled=True)
    with pytest.raises(InvalidInputError, match="uses Weaviate's own tenants"):
        run(WeaviateAdapter(store).list_sentences(BLOCKING, None))


@pytest.mark.parametrize(
    ("doc_ids", "mappings", "expected"),
    [
        (["a", "b"], None, [{"terms": {"metadata.doc_id.keyword": ["a", "b"]}}]),
        (["a"], {"doc_id": {"type": "keyword"}}, None),
        (["a" * 257], None, None),
    ],
)
def test_elasticsearch_finds_documents_where_their_names_are_keywords(
    doc_ids: list[str], mappings: Any, expected: Any
) -> None:
    store = SimpleNamespace(_store=SimpleNamespace(metadata_mappings=mappings))
    assert ElasticsearchAdapter(store).of_documents(doc_ids) == expected
