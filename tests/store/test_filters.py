"""Filters against a plain reading of their documentation, in Python, in every method that reads sentences."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.documents.source_metadata import names_in
from langchain_sentence_window.errors import FilterError, InvalidInputError
from langchain_sentence_window.ranking.names import name_keys
from langchain_sentence_window.store.filters import MAX_FILTER_DEPTH
from tests.filter_model import matches, nested_filters
from tests.properties import examples
from tests.store.searching import candidates_of
from tests.toys import WordEmbeddings, document, nested_list

pytestmark = pytest.mark.filterwarnings("ignore:nothing was found, as no document has")
"""Many filters name keys that no document has, on purpose."""

values = st.one_of(
    st.sampled_from(["a", "b", "10", "", "'"]), st.integers(-2, 11), st.booleans(), st.sampled_from([0.5, 10.0])
)
operations = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), values),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=3)),
    st.tuples(st.just("$between"), st.tuples(values, values).map(list)),
    st.tuples(st.just("$exists"), st.booleans()),
)
conditions = st.one_of(values, st.none(), operations.map(lambda pair: dict([pair])))
places = st.sampled_from(["doc_id", "sentence_index", "heading", "section_start", "start_index", "kind"])
filters = nested_filters(
    st.one_of(
        st.dictionaries(st.sampled_from(["x", "y", 'a.b"']) | places, conditions, max_size=2),
        st.sampled_from(["a", "b"]).map(lambda name: {"doc_id": name}),  # read by an index
        st.sampled_from([0, 1]).map(lambda number: {"start_index": number}),  # differs between neighbors
    )
)

# What belongs to a source, to a section and to a sentence alone.
of_any: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["x", "y", 'a.b"', "$"]), st.one_of(values, st.none()), max_size=3
)
of_section: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"heading": st.sampled_from(["a", "b", None]), "section_start": st.integers(0, 1)}
)
of_sentence: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"start_index": st.integers(0, 1)}, optional={"kind": st.sampled_from("ab")}
)
kinds = st.sampled_from(["sentence of a", "sentence of b", "of a alone", "other", "other"])


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    """Sentences, other Documents of a source, and Documents without a source; mixed in a store, or of one kind."""
    drawn = draw(st.one_of(st.lists(kinds, max_size=8), st.lists(st.just("sentence of a"), max_size=5)))
    made, shared, section = list[Document](), draw(of_any), draw(of_section)
    for n, kind in enumerate(drawn):
        shared = draw(st.just(shared) | of_any)
        section = draw(st.just(section) | of_section)
        own = dict(shared)
        if kind.startswith("sentence"):
            own |= {"doc_id": kind[-1], "sentence_index": n} | section | draw(of_sentence)
        elif kind == "of a alone":
            own |= {"doc_id": "a"} | draw(of_sentence)
        made.append(Document(page_content=f"page {n}", id=str(n), metadata=own))
    return made


NEIGHBORS = [
    Document(page_content=f"page {n}", id=str(n), metadata={"doc_id": "a", "sentence_index": n, "start_index": n % 2})
    for n in range(5)
]


def ids(found: Any) -> list[str]:
    return sorted(each.id for each in found)


@example(NEIGHBORS, {"start_index": 1}, 10_000)
@given(documents(), filters, st.sampled_from([1, 10_000]))
def test_a_filter_finds_what_its_documentation_says_in_every_method(
    made: list[Document], filter: dict[str, Any], few: int
) -> None:
    allowed = [each for each in made if matches(each.metadata, filter)]
    is_sentence = {each.id for each in made if "sentence_index" in each.metadata}
    listed = Counter(each.metadata["doc_id"] for each in allowed if each.id in is_sentence)
    with FaissStore(WordEmbeddings()) as store, pytest.MonkeyPatch.context() as patch:
        # Up to how many rows tantivy itself filters; of more, its hits are sieved.
        patch.setattr("langchain_sentence_window.store.words._MAX_ROWS_IN_QUERY", few)
        for part in (made[:3], made[3:]):
            store.add_documents(part)
        assert ids(store.similarity_search("page", k=99, filter=filter)) == ids(allowed)
        assert ids(store.max_marginal_relevance_search("page", k=99, filter=filter)) == ids(allowed)
        assert ids(each for each, _ in store.lexical_search("page", k=99, filter=filter)) == ids(allowed)
        assert ids(each for each, _ in store.hybrid_search("page", k=99, filter=filter)) == ids(allowed)
        candidates = candidates_of(store, "page", 99, filter=filter)  # with their neighbors
        assert sorted(candidates.texts) == sorted(each.page_content for each in allowed)
        assert ids(store.get_by_ids_within([str(number) for number in range(len(made))], filter)) == ids(allowed)
        assert {each.doc_id: each.sentences for each in store.list_documents(filter)} == listed
        assert store.count_documents(filter) == len(listed)
        names: dict[str, set[str]] = {}
        for each in allowed:
            if "sentence_index" in each.metadata and (found := names_in(each.metadata, ["x"])):
                names.setdefault(each.metadata["doc_id"], set()).update(found)
        keys = {key for each in made for name in names_in(each.metadata, ["x"]) for key in name_keys(name)}
        named = store.read(lambda state: state.document_names(sorted(keys), ["x"], filter=filter)).titles
        assert named.keys() == names.keys()
        assert all(set(of_it) <= names[doc_id] for doc_id, of_it in named.items())


@given(documents(), filters)
def test_what_is_changed_is_what_a_filter_matches(made: list[Document], filter: dict[str, Any]) -> None:
    def held_by(store: FaissStore) -> list[str]:
        return ids(each for part, _ in store.export() for each in part)

    allowed = {each.id for each in made if matches(each.metadata, filter)}
    with FaissStore(WordEmbeddings()) as store:
        store.add_documents(made)
        for name in ("a", "b"):
            of_name = [each for each in made if each.metadata.get("doc_id") == name]
            if not of_name or not all(each.id in allowed for each in of_name):
                continue
            store.replace_documents(of_name, [name], within=filter)
        of_a = [each for each in made if each.metadata.get("doc_id") == "a"]
        if any(each.id not in allowed for each in of_a):
            with pytest.raises(InvalidInputError, match="doesn't match everything that would be replaced"):
                store.replace_documents([], ["a"], within=filter)
        other = next((each for each in made if each.id not in allowed and each not in of_a), None)
        if other is not None:  # its id is taken, regardless of its document
            with pytest.raises(InvalidInputError, match="doesn't match everything that would be replaced"):
                store.replace_documents([other], ["none"], within=filter)
        assert held_by(store) == ids(made)
        partly = {each.metadata["doc_id"] for each in made if "doc_id" in each.metadata and each.id in allowed} & {
            each.metadata["doc_id"] for each in made if "doc_id" in each.metadata and each.id not in allowed
        }
        named = {each.metadata["doc_id"] for each in made if "doc_id" in each.metadata and each.id in allowed}
        if partly:
            with pytest.raises(InvalidInputError, match="lets through only a part of document"):
                store.delete_documents(filter=filter)
            assert held_by(store) == ids(made)
        else:
            assert set(store.delete_documents(filter=filter)) == named
            made = [each for each in made if each.metadata.get("doc_id") not in named]
            assert held_by(store) == ids(made)
        store.delete(filter=filter)
        assert held_by(store) == ids(each for each in made if each.id not in allowed)


clauses = st.dictionaries(st.sampled_from(["x", "y", 'a.b"']), conditions, max_size=2)


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


@pytest.fixture
def empty(words: WordEmbeddings) -> Iterator[FaissStore]:
    """It refuses filters as any store does."""
    with FaissStore(words) as store:
        yield store


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"x": {"$like": "a"}}, r"'\$like' isn't an operator; those for a key are \$eq"),
        ({"$xor": [{}]}, r"'\$xor' isn't an operator"),
        ({"$or": []}, "at least one"),
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
        ({1: 1}, "keys are strings"),
        ("x = 1", "a filter is a mapping"),
        ('{"x": 1}', r"a filter is a mapping .* not '\{\"x\": 1\}'; read it with json.loads first"),
        (lambda metadata: True, "a filter is a mapping .*, not a function; write its condition as a mapping"),
        ({"x": b"a"}, r"can't compare with b'a'; values are strings, finite numbers \(integers of up to 64 bits\)"),
        ({"x": 10**5_000}, "can't compare with an int of more than 30 digits"),
        ({"x": nested_list(100_000)}, "the condition on 'x' is a list of values; write"),
        ({"x": {"$in": [1, nested_list(100_000)]}}, "can't compare with ..a list of 1"),
        ({"x": {5: 1}}, "5 isn't an operator"),
        ({"$or": {"x": 1}}, "takes a list of filters"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused_by_its_part(empty: FaissStore, filter: Any, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        empty.delete(filter=filter)


def test_a_filter_nested_too_deep_is_refused(empty: FaissStore) -> None:
    deep: dict[str, Any] = {"x": 1}
    for _ in range(1000):
        deep = {"$not": deep}
    with pytest.raises(FilterError, match=f"nests more than {MAX_FILTER_DEPTH} levels"):
        empty.delete(filter=deep)


@pytest.mark.parametrize("joint", ["$and", "$or"])
def test_a_filter_whose_parts_are_one_object_is_refused_and_not_unfolded(empty: FaissStore, joint: str) -> None:
    unfolded: dict[str, Any] = {"x": 1}
    for _ in range(MAX_FILTER_DEPTH - 1):
        unfolded = {joint: [unfolded, unfolded]}
    with pytest.raises(FilterError, match="too many for one search"):
        empty.delete(filter=unfolded)
    endless: dict[str, Any] = {"x": 1}
    endless[joint] = [endless, endless]
    with pytest.raises(FilterError, match="nests more than"):
        empty.delete(filter=endless)


def test_the_deepest_and_widest_filters_are_answered() -> None:
    def widest(keys: list[str]) -> dict[str, Any]:
        nested: dict[str, Any] = {"$or": [{key: {"$in": list(range(1, 300))}} for key in keys]}
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
