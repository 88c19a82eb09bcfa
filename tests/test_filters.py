"""Filters against a plain reading of their documentation, in Python."""

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import FilterError
from langchain_sentence_window.store.filters import DEEPEST_FILTER, Condition, compile_filter
from langchain_sentence_window.store.reading import Snapshot
from langchain_sentence_window.store.tables import Rows
from tests.toys import WordEmbeddings

values = st.one_of(
    st.sampled_from(["a", "b", "10", "", "'"]), st.integers(-2, 11), st.booleans(), st.sampled_from([0.5, 10.0])
)
keys = st.sampled_from(["x", "y", 'a.b"', "$"])
operations = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), values),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=3)),
    st.tuples(st.just("$between"), st.tuples(values, values).map(list)),
    st.tuples(st.just("$exists"), st.booleans()),
)
clauses = st.dictionaries(
    keys.filter(lambda key: key != "$"),
    st.one_of(values, st.none(), operations.map(lambda pair: dict([pair]))),
    max_size=2,
)
filters = st.recursive(
    clauses,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$and": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$or": parts}),
        inner.map(lambda part: {"$not": part}),
    ),
    max_leaves=5,
)
COMPARE = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def matches(metadata: dict[str, Any], filter: dict[str, Any]) -> bool:
    return all(holds(metadata, key, value) for key, value in filter.items())


def holds(metadata: dict[str, Any], key: str, value: Any) -> bool:
    if key == "$and":
        return all(matches(metadata, part) for part in value)
    if key == "$or":
        return any(matches(metadata, part) for part in value)
    if key == "$not":
        return not matches(metadata, value)
    if not isinstance(value, dict):
        return key in metadata and bool(metadata[key] == value)
    ((name, operand),) = value.items()
    if name == "$exists":
        return bool((key in metadata) == operand)
    if key not in metadata:
        return False
    stored = metadata[key]
    if name in ("$eq", "$in"):
        return stored in (operand if name == "$in" else [operand])
    if name in ("$ne", "$nin"):
        return stored not in (operand if name == "$nin" else [operand])
    if name == "$between":
        return compared("$gte", stored, operand[0]) and compared("$lte", stored, operand[1])
    return compared(name, stored, operand)


def compared(name: str, stored: Any, operand: Any) -> bool:
    comparable = stored is not None and isinstance(stored, str) == isinstance(operand, str)
    return comparable and bool(COMPARE[name](stored, operand))


@given(st.lists(st.dictionaries(keys, st.one_of(values, st.none()), max_size=3), max_size=8), filters)
def test_a_filter_finds_what_its_documentation_says(metadatas: list[dict[str, Any]], filter: dict[str, Any]) -> None:
    with FaissStore(WordEmbeddings()) as store:
        documents = [Document(page_content="page", metadata=m, id=str(n)) for n, m in enumerate(metadatas)]
        store.add_documents(documents)
        found = {document.id for document in store.similarity_search("page", k=99, filter=filter)}
    assert found == {str(n) for n, metadata in enumerate(metadatas) if matches(metadata, filter)}


@given(st.lists(st.tuples(st.integers(0, 12), st.one_of(st.none(), values)), max_size=12), clauses, clauses)
def test_a_filter_that_is_remembered_follows_what_is_written(
    writes: list[tuple[int, Any]], first: dict[str, Any], second: dict[str, Any]
) -> None:
    """A document without a value of ``x`` is deleted; one that was there is replaced."""
    there: dict[str, dict[str, Any]] = {}
    with FaissStore(WordEmbeddings()) as store:
        for number, value in writes:
            if value is None:
                store.delete([str(number)])
                there.pop(str(number), None)
            else:
                there[str(number)] = {"x": value}
                store.add_documents([Document(page_content="page", metadata={"x": value}, id=str(number))])
            for wanted in (first, second) if number % 2 else (first,):
                found = {document.id for document in store.similarity_search("page", k=99, filter=wanted)}
                assert found == {id_ for id_, metadata in there.items() if matches(metadata, wanted)}


def test_after_a_write_a_filter_reads_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    rows = Snapshot.rows

    def noting(snapshot: Snapshot, condition: Condition) -> Rows:
        read.append(condition[0])
        return rows(snapshot, condition)

    pages = [Document(page_content="page", metadata={"x": n}) for n in range(50)]
    with FaissStore(WordEmbeddings(), neighbor_weights=(1,)) as store:
        store.add_documents(pages)
        monkeypatch.setattr(Snapshot, "rows", noting)
        for number in range(3):
            assert len(store.similarity_search("page", k=99, filter={"x": {"$lt": 10}})) == 10 + number
            store.add_texts(["page"], [{"x": number}])
    assert [sql.startswith("row > ?") for sql in read] == [False, True, True]


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"x": {"$like": "a"}}, r"'\$like' isn't an operator; on a key there are \$eq"),
        ({"$xor": [{}]}, r"'\$xor' isn't an operator"),
        ({"$or": []}, "at least one"),
        ({"$and": "text"}, "takes a list of filters"),
        ({"$not": [1]}, "a filter is a mapping"),
        ({"x": {}}, "condition on 'x' is empty"),
        ({"x": {"$in": "abc"}}, "takes a list of values"),
        ({"x": {"$between": [1]}}, "lowest, highest"),
        ({"x": {"$exists": 1}}, "True or False"),
        ({"x": {"$gt": None}}, "can't compare with None"),
        ({"x": [1]}, r"can't compare with \[1\]"),
        ({"x": float("inf")}, "can't compare with inf"),
        ({"x": 2**63}, "can't compare with"),
        ({"x": "\ud800"}, "can't compare with"),
        ({"\ud800": 1}, "can't compare with"),
        ({1: 1}, "keys are strings"),
        ("x = 1", "a filter is a mapping"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_by_its_part(filter: Any, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        compile_filter(filter)


def test_a_filter_nested_too_deep_is_refused() -> None:
    deep: dict[str, Any] = {"x": 1}
    for _ in range(1000):
        deep = {"$not": deep}
    with pytest.raises(FilterError, match=f"nests more than {DEEPEST_FILTER} levels"):
        compile_filter(deep)


def test_keys_and_values_are_never_sql() -> None:
    evil = "x') OR 1=1; DROP TABLE sentences; --"
    with FaissStore.from_texts(["page"], WordEmbeddings(), [{"x": 1}]) as store:
        assert store.similarity_search("page", filter={evil: 1}) == []
        assert store.similarity_search("page", filter={"x": evil}) == []
        store.delete(filter={"x": evil})
        store.delete([evil])
        assert len(store) == 1
