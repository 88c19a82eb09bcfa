"""Which filters the adapters of other stores refuse, and what metadata they hold; see also `tests.live_stores`."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.cloud_stores import MongoDBAdapter, PineconeAdapter
from langchain_sentence_window.adapters.json_text import LanceDBAdapter, MariaDBAdapter
from langchain_sentence_window.adapters.milvus import MilvusAdapter
from langchain_sentence_window.adapters.search_engines import ElasticsearchAdapter, RedisAdapter
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.adapters.weaviate import WeaviateAdapter
from langchain_sentence_window.errors import FilterError, InvalidInputError
from tests.properties import examples

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
def test_an_invalid_mapping_is_refused(adapter: type[StoreAdapter], filter: Any) -> None:
    with pytest.raises(FilterError):
        adapter(STORE).join([filter])


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
            {"none": None, "mixed": [1, "a", {"b": None}], "nul\0": "\0"},
            {"odd": ["\ud800"], "\ud800": 1, "large": 2**70},
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
def test_a_store_holds_what_it_returns_unchanged(
    adapter: type[StoreAdapter], held: dict[str, Any], refused: dict[str, Any]
) -> None:
    of_store = adapter(STORE)
    taken = {"text"} if adapter not in (ElasticsearchAdapter, MariaDBAdapter) else set()
    assert [key for key, value in (HELD | held).items() if not of_store.holds(key, value)] == sorted(taken)
    assert [key for key, value in refused.items() if of_store.holds(key, value)] == []


def test_a_store_without_an_embedder_says_so() -> None:
    store = SimpleNamespace(_embedding_function=None)
    with pytest.raises(InvalidInputError, match="SimpleNamespace was made without an embedder; give it one"):
        run(LanceDBAdapter(store).search(BLOCKING, "card", {"k": 1}))


def test_weaviates_own_tenants_are_refused() -> None:
    pytest.importorskip("weaviate", reason="needs the group `stores`: make test-stores installs it")
    store = SimpleNamespace(_multi_tenancy_enabled=True)
    with pytest.raises(InvalidInputError, match="uses Weaviate's own tenants"):
        run(WeaviateAdapter(store).list_sentences(BLOCKING, None))


@pytest.mark.parametrize(
    ("doc_ids", "expression"),
    [
        (["a", "b.md"], 'doc_id in ["a", "b.md"]'),
        (["path/c d"], 'doc_id in ["path/c d"]'),
        (['quote "q"'], None),
        (["a\\"], None),
        (["a\n"], None),
    ],
)
def test_an_expression_for_milvus_needs_no_escapes(doc_ids: list[str], expression: str | None) -> None:
    assert MilvusAdapter(SimpleNamespace(_metadata_field=None)).of_documents(doc_ids) == expression


def test_milvus_joins_expressions_in_brackets() -> None:
    joined = MilvusAdapter(None).join
    assert joined(['tenant == "a"']) == 'tenant == "a"'
    assert (
        joined(['tenant == "a"', "page in [1, 2] or x == ')'"]) == "(tenant == \"a\") and (page in [1, 2] or x == ')')"
    )
    for expression in ("x == 1) or (x == 2", "x == [1)", 'x == "a', "x == '\\'", "", " ", 7, ")(", "x in [1, 2"):
        with pytest.raises(InvalidInputError):
            joined(['tenant == "a"', expression])


@examples(500)
@given(st.text("()[]\"'\\ar ", min_size=1, max_size=12))
def test_an_expression_never_leaves_its_brackets(expression: str) -> None:
    try:
        joined = MilvusAdapter(None).join([expression, "b"])
    except InvalidInputError:
        return
    depth, quote, escaped = 0, "", False
    for at, character in enumerate(joined[: len(expression) + 2]):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif character in "\"'":
            quote = character
        else:
            depth += {"(": 1, ")": -1}.get(character, 0)
        assert depth > 0 or at == len(expression) + 1
    assert (depth, quote) == (0, "")


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
