"""Filters and lists of LanceDB, MariaDB and Redis: what a filter means there, and that no value escapes from it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from tests.adapters.test_json_text import FILTERS, METADATA
from tests.filter_model import matches
from tests.live_stores import makers
from tests.toys import WordEmbeddings

NAMES = [
    "acme",
    "Acme",
    "acm",
    "ACME ' OR '1'='1",
    'a "quoted" \\ name',
    "100 %",
    "a_me",
    "Zoë 😀",
    "x') -- ",
    "acme\0",
]


@pytest.fixture(params=["lancedb", "mariadb"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[WordEmbeddings], VectorStore]:
    if request.param == "lancedb":
        return lambda words: makers.lancedb(words, tmp_path)
    engine = request.getfixturevalue("mariadb")
    return lambda words: makers.mariadb(words, engine)


def test_a_filter_lets_through_its_tenant_alone(empty: Callable[[Any], VectorStore], words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=empty(words), lexical_weight=0, ranking=None, k=20)
    sources = [
        Document(f"A refund {n}. A seat.", id=f"d{n}", metadata={"tenant": name}) for n, name in enumerate(NAMES)
    ]
    sources.append(Document("A refund.", id="both", metadata={"tenant": NAMES[:2], "note": 'x "tenant": "acm" y'}))
    retriever.add_documents(sources)
    for number, name in enumerate(NAMES):
        expected = {f"d{number}"} | ({"both"} if number < 2 else set())
        same: list[dict[str, Any]] = [{"tenant": name}, {"tenant": {"$in": [name, "other"]}}]
        for each_filter in (*same, {"$or": [same[0], {"x": 1}]}):
            found = retriever.invoke("refund", filter=each_filter, window=(1, 1))
            assert {each.metadata["doc_id"] for each in found} == expected, each_filter
            assert {each.doc_id for each in retriever.documents(each_filter)} == expected
    others = {"$in": NAMES[2:]}
    for each_filter in ({"tenant": {"$nin": NAMES[2:]}}, {"$not": {"tenant": others}}):
        found = retriever.invoke("refund", filter=each_filter, window=0, fetch_k=5)
        assert {each.metadata["doc_id"] for each in found} == {"d0", "d1", "both"}
    with pytest.raises(InvalidInputError, match="filters by a mapping"):
        retriever.invoke("refund", filter="tenant = 'acme'")


def test_sql_finds_what_the_filter_matches(empty: Callable[[Any], VectorStore], words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=empty(words), lexical_weight=0, ranking=None, names=False, window=0)

    @given(st.lists(METADATA, min_size=1, max_size=3), FILTERS)
    @settings(max_examples=20, suppress_health_check=list(HealthCheck))
    def check(metadata: list[dict[str, Any]], filter: dict[str, Any]) -> None:
        held = [Document(f"A card {n}.", metadata=each | {"doc_id": f"{n}"}) for n, each in enumerate(metadata)]
        retriever.delete(["0", "1", "2"])
        retriever.add_documents(held)
        expected = {each.metadata["doc_id"] for each in held if matches(each.metadata, filter)}
        assert {each.doc_id for each in retriever.documents(filter)} == expected
        assert {each.metadata["doc_id"] for each in retriever.invoke("card", filter=filter)} == expected

    check()


def test_a_table_of_lancedb_shows_what_others_write(tmp_path: Path, words: WordEmbeddings) -> None:
    from langchain_lancedb import LanceDB

    ours, theirs = (
        SentenceWindowRetriever(vectorstore=LanceDB(words, tmp_path, "texts"), lexical_weight=0) for _ in range(2)
    )
    for text in ("A card. A seat.", "A card anew.", "A trial. A refund. A page."):
        theirs.add_documents([Document(text, id="a", metadata={"source": "a.md"})])
        (found,) = ours.get(["a"])
        assert (found.page_content, found.metadata["source"]) == (text, "a.md")
        assert [each.sentences for each in ours.documents()] == [text.count(".")]
        assert {each.page_content for each in ours.invoke("card", k=9, window=(3, 3))} == {text}


def test_mariadb_holds_json_metadata(mariadb: Any, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=makers.mariadb(words, mariadb), lexical_weight=0)
    own = {"nul\0": "\0", "none": None}
    with pytest.warns(SentenceWindowWarning, match="can't hold it: 'large', 'odd'; "):
        retriever.add_documents([Document("A card\0.", id="a", metadata={**own, "large": 2**70, "odd": "\ud800"})])
    (window,) = retriever.invoke("card", k=1)
    assert (window.page_content, {key: window.metadata[key] for key in own}) == ("A card\0.", own)


def test_redis_lists_more_than_a_page_and_keeps_metadata_that_its_fields_cannot(
    redis_socket: str, words: WordEmbeddings
) -> None:
    from redisvl.query.filter import Tag

    retriever = SentenceWindowRetriever(vectorstore=makers.redis(words, redis_socket), lexical_weight=0)
    own = {"text": "not the sentence", "embedding": [1], "_metadata_json": "{}", "vector_distance": 2, "id": "own"}
    many = " ".join(f"Item {number}." for number in range(2_500))
    retriever.add_documents(
        [
            Document("A card. A seat.", id="a", metadata={**own, "tenant": ["acme", "umbra"]}),
            Document(many, id="many", metadata={"tenant": "other"}),
            Document("A trial.", id="b", metadata={"tenant": None}),
        ]
    )
    listed = {each.doc_id: each.sentences for each in retriever.documents()}
    assert listed == {"a": 2, "many": 2_500, "b": 1}
    assert [each.doc_id for each in retriever.documents(Tag("tenant") == "other")] == ["many"]
    (window,) = retriever.invoke("card", k=1, window=1, filter=Tag("tenant") == "umbra")
    assert window.page_content == "A card. A seat."
    assert {key: window.metadata[key] for key in own} == own


def test_redis_joins_filters(redis_socket: str, words: WordEmbeddings) -> None:
    from redisvl.query.filter import Tag

    retriever = SentenceWindowRetriever(
        vectorstore=makers.redis(words, redis_socket), lexical_weight=0, k=9, filter=Tag("tenant") == "a b|c"
    )
    admin = retriever.model_copy(update={"filter": None})
    names = {"a b": "first", "c": "second", "d": "third", "d*": "fourth"}
    admin.add_documents([Document(f"The {n} card.", id=name, metadata={"tenant": name}) for name, n in names.items()])
    either = (Tag("tenant") == "d") | (Tag("tenant") == "d*")
    assert {each.metadata["doc_id"] for each in admin.invoke("card", filter=either, window=0)} == {"d", "d*"}
    assert {each.metadata["doc_id"] for each in admin.invoke("card", filter=Tag("tenant") == "d*")} == {"d*"}
    assert retriever.invoke("card", filter=either) == []
