"""Filters against a plain reading of their documentation, in Python."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window._primitives import Rows
from langchain_sentence_window.errors import FilterError, SentenceWindowWarning
from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.filters import MAX_FILTER_DEPTH, compile_filter
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from tests.filter_model import matches
from tests.properties import examples
from tests.toys import WordEmbeddings, document

pytestmark = pytest.mark.filterwarnings("ignore:nothing was found, as no document has")
"""Many filters name keys that no document has, on purpose."""

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


def nested_filters(clauses: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Filters of these clauses, with ``$and``, ``$or`` and ``$not``."""
    return st.recursive(
        clauses,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$and": parts}),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$or": parts}),
            inner.map(lambda part: {"$not": part}),
        ),
        max_leaves=5,
    )


filters = nested_filters(clauses)


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


def nested_list(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"x": {"$like": "a"}}, r"'\$like' isn't an operator; those for a key are \$eq"),
        ({"$xor": [{}]}, r"'\$xor' isn't an operator"),
        ({"$or": []}, "at least one"),
        ({"$and": "text"}, "takes a list of filters"),
        ({"$not": [1]}, "a filter is a mapping"),
        ({"x": {}}, "condition on 'x' is empty"),
        ({"x": {"$in": "abc"}}, "takes a list of values"),
        ({"x": {"$between": [1]}}, "lowest, highest"),
        ({"x": {"$exists": 1}}, "True or False"),
        ({"x": {"$gt": None}}, "can't compare with None"),
        ({"x": [1]}, r"the condition on 'x' is a list of values; write {'\$in': \[...\]}"),
        ({"x": float("inf")}, "can't compare with inf"),
        ({"x": 2**63}, "can't compare with"),
        ({"x": "\ud800"}, "can't compare with"),
        ({"\ud800": 1}, "can't compare with"),
        ({1: 1}, "keys are strings"),
        ({None: 1}, "keys are strings"),
        ("x = 1", "a filter is a mapping"),
        ('{"x": 1}', r"a filter is a mapping .* not '\{\"x\": 1\}'; read it with json.loads first"),
        (b"x", "a filter is a mapping such as .*, not b'x'$"),
        (lambda metadata: True, "a filter is a mapping .*, not a function; write its condition as a mapping"),
        (True, "a filter is a mapping"),
        ([("x", 1)], "a filter is a mapping"),
        ({"x": b"a"}, r"can't compare with b'a'; values are strings, finite numbers \(integers of up to 64 bits\)"),
        ({"x": float("nan")}, "can't compare with nan"),
        ({"x": -(2**63) - 1}, "can't compare with -9223372036854775809"),
        ({"x": 10**5_000}, "can't compare with an int of more than 30 digits"),
        ({"x": nested_list(100_000)}, "the condition on 'x' is a list of values; write"),
        ({"x": {"$in": [1, nested_list(100_000)]}}, "can't compare with ..a list of 1"),
        ({"x": {"$gte": {"$gte": 1}}}, r"can't compare with \{'\$gte': …\}"),
        ({"x": {"$in": b"abc"}}, "takes a list of values"),
        ({"x": {"$in": None}}, "takes a list of values"),
        ({"x": {"$between": "ab"}}, "lowest, highest"),
        ({"x": {"$between": [None, 1]}}, "lowest, highest"),
        ({"x": {5: 1}}, "5 isn't an operator"),
        ({"$and": b"text"}, "takes a list of filters"),
        ({"$or": {"x": 1}}, "takes a list of filters"),
        ({"x" * 100: {}}, r"condition on 'x{80}'… \(100 characters\) is empty"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_by_its_part(filter: Any, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        compile_filter(filter)


def test_a_filter_nested_too_deep_is_refused() -> None:
    deep: dict[str, Any] = {"x": 1}
    for _ in range(1000):
        deep = {"$not": deep}
    with pytest.raises(FilterError, match=f"nests more than {MAX_FILTER_DEPTH} levels"):
        compile_filter(deep)


@pytest.mark.parametrize("joint", ["$and", "$or"])
def test_a_filter_whose_parts_are_one_object_is_refused_and_not_unfolded(joint: str) -> None:
    unfolded: dict[str, Any] = {"x": 1}
    for _ in range(MAX_FILTER_DEPTH - 1):
        unfolded = {joint: [unfolded, unfolded]}
    with pytest.raises(FilterError, match="too many for one search"):
        compile_filter(unfolded)
    endless: dict[str, Any] = {"x": 1}
    endless[joint] = [endless, endless]
    with pytest.raises(FilterError, match="nests more than"):
        compile_filter(endless)


def test_the_deepest_and_widest_filters_are_answered() -> None:
    def widest(keys: list[str]) -> dict[str, Any]:
        nested: dict[str, Any] = {"$or": [{key: value} for key in keys for value in range(1, 300)]}
        for depth in range(MAX_FILTER_DEPTH - 1):
            nested = {"$not": nested} if depth % 2 else {"$and": [{keys[0]: {"$exists": True}}, nested]}
        return nested

    documents = [
        Document(page_content="page", id=f"{n}", metadata={"doc_id": "a", "sentence_index": n, "x": n, "y": n})
        for n in range(3)
    ]
    documents.append(Document(page_content="page", id="alone", metadata={"x": 0, "y": 1, "start_index": 1}))
    with FaissStore(WordEmbeddings()) as store:
        store.add_documents(documents)
        for keys in (["x", "y"], ["x", "start_index"], ["start_index", "x"]):
            expected = {each.id for each in documents if matches(each.metadata, widest(keys))}
            assert {each.id for each in store.similarity_search("page", k=9, filter=widest(keys))} == expected
            assert 0 < len(expected) < 4


@examples(60)
@given(st.randoms(use_true_random=False))
def test_a_filter_of_any_shape_is_read_or_refused(chance: random.Random) -> None:
    """SQLite's parser stack is limited; a filter that exceeds it is reported as nesting too deeply."""

    def nested(levels: int) -> dict[str, Any]:
        if not levels:
            return {chance.choice(["x", "start_index", "x.y", "doc_id"]): chance.choice([1, {"$nin": [1, "b", None]}])}
        joint = chance.choice(["$not", "$and", "$or"])
        if joint == "$not":
            return {"$not": nested(levels - 1)}
        parts = [nested(levels - 1), *[nested(chance.randrange(min(levels, 4))) for _ in range(chance.randrange(4))]]
        return {joint: chance.sample(parts, len(parts)), **({"x": 1} if chance.random() < 0.3 else {})}

    asked = nested(chance.randrange(MAX_FILTER_DEPTH))
    with FaissStore(WordEmbeddings()) as store:
        store.add_documents([Document(page_content="page", metadata={"doc_id": "a", "sentence_index": 0, "x": 1})])
        try:
            found = store.similarity_search("page", filter=asked)
        except FilterError as error:
            assert "nests too deep" in str(error)  # noqa: PT017
            return
        assert len(found) == matches({"doc_id": "a", "sentence_index": 0, "x": 1}, asked)
        store.delete(filter=asked)
        assert len(store) + len(found) == 1


def test_integers_of_any_size_are_stored_and_those_of_64_bits_compared_exactly() -> None:
    values = [2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, -(2**70), 10**400]
    with FaissStore(WordEmbeddings()) as store:
        store.add_texts(["page"] * len(values), [{"n": value} for value in values], ids=[str(n) for n in range(7)])
        assert [each.metadata["n"] for each in store.get_by_ids([str(n) for n in range(7)])] == values

        def found(filter: dict[str, Any]) -> set[str | None]:
            return {each.id for each in store.similarity_search("page", k=9, filter=filter)}

        for number, value in enumerate(values[:4]):
            assert found({"n": value}) == {str(number)}
        assert found({"n": {"$gt": 2**53}}) == {"1", "2", "4", "6"}
        assert found({"n": {"$lt": 0}}) == {"3", "5"}
        assert found({"n": {"$lt": -(2**63)}}) == {"5"}
        assert found({"n": {"$nin": [2**63 - 1]}}) == {"0", "1", "3", "4", "5", "6"}


def test_keys_and_values_are_never_sql() -> None:
    evil = "x') OR 1=1; DROP TABLE sentences; --"
    with FaissStore.from_texts(["page"], WordEmbeddings(), [{"x": 1}]) as store:
        assert store.similarity_search("page", filter={evil: 1}) == []
        assert store.similarity_search("page", filter={"x": evil}) == []
        store.delete(filter={"x": evil})
        store.delete([evil])
        assert len(store) == 1


def test_filters_reach_into_lists_of_documents_and_windows(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), lexical_weight=0)
    groups: dict[str, Any] = {"both": ["staff", "north"], "one": ["north"], "none": [], "name": "staff"}
    retriever.add_documents([document(f"A card {name}.", name, groups=given) for name, given in groups.items()])

    def found(filter: dict[str, Any]) -> set[str]:
        return {each.metadata["doc_id"] for each in retriever.invoke("card", filter=filter)}

    assert found({"groups": "staff"}) == {"both", "name"}
    assert found({"groups": {"$in": ["staff", "south"]}}) == {"both", "name"}
    assert found({"groups": {"$nin": ["staff"]}}) == {"one", "none"}
    assert found({"groups": {"$ne": "north"}}) == {"none", "name"}
    assert found({"groups": {"$contains": "staff"}}) == {"both", "name"}
    assert found({"groups": {"$not_contains": "staff"}}) == {"one", "none"}
    assert found({"groups": {"$in": [*map(str, range(20_000)), "north"]}}) == {"both", "one"}
    assert found({"$not": {"groups": {"$in": ["staff", "north"]}}}) == {"none"}


def test_keys_that_no_document_has_are_looked_for_once_a_state(words: WordEmbeddings) -> None:
    with FaissStore(words) as store:
        store.add_texts(["card"], [{"lang": "en"}])
        looked_for: list[list[str]] = []
        look = Snapshot.unknown_keys

        def noted(snapshot: Snapshot, keys: Any) -> list[str]:
            looked_for.append([*keys])
            return look(snapshot, keys)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Snapshot, "unknown_keys", noted)
            for asked in ({"tag": 1}, {"tag": 2}, {"tag": 3, "lang": "fr"}):
                with pytest.warns(SentenceWindowWarning, match="no document has 'tag'"):
                    assert store.similarity_search("card", filter=asked) == []
            store.add_texts(["seat"], [{"tag": 1}])
            assert store.similarity_search("seat", filter={"tag": 9}) == []
        assert looked_for == [["tag"], [], ["lang"], ["tag"]]
