"""Each operator with each kind of value, wherever a filter is given, against a plain implementation of its page."""

import itertools
import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from tests.filter_model import matches
from tests.forms import Invoke
from tests.toys import WordEmbeddings


class Color(Enum):
    RED = "red"
    DAY = date(2026, 5, 1)


class Word(StrEnum):
    RED = "red"


class Old(str, Enum):  # noqa: UP042 - prints as Old.RED
    RED = "red"


class Level(IntEnum):
    ONE = 1


WEST = timezone(timedelta(hours=-5))
CONVERTED: list[tuple[Any, Any]] = [
    (date(2026, 5, 1), "2026-05-01"),
    (datetime(2026, 5, 1, 12), "2026-05-01T12:00:00"),
    (datetime(2026, 5, 1, 12, tzinfo=UTC), "2026-05-01T12:00:00+00:00"),
    (datetime(2026, 5, 1, 12, 0, 0, 5, tzinfo=WEST), "2026-05-01T12:00:00.000005-05:00"),
    (time(12, 30), "12:30:00"),
    (np.datetime64("2026-05-01"), "2026-05-01"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (PurePosixPath("a/b.md"), "a/b.md"),
    (Decimal("1.10"), "1.10"),
    (Color.RED, "red"),
    (Color.DAY, "2026-05-01"),
    (Word.RED, "red"),
    (Old.RED, "red"),
    (Level.ONE, 1),
    (np.int64(7), 7),
    (np.uint8(7), 7),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.float64(0.1), 0.1),
    (np.longdouble(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("red"), "red"),
    (np.array(7), 7),
]
"""Values that metadata and filters may hold, and what becomes of them."""

SCALARS: list[Any] = [
    True,
    False,
    0,
    1,
    -1,
    2,
    1.0,
    0.0,
    -0.0,
    0.5,
    2**53,
    2**53 + 1,
    float(2**53),
    2**63 - 1,
    -(2**63),
    "",
    "1",
    "True",
    "0",
    "1.0",
    "a",
    "A",
    "ab",
    "2026-05-01",
    "2026-05-02",
    "None",
    "null",
]
"""Values that a filter compares with as they are."""

STORED: list[Any] = [
    *SCALARS,
    *(value for _, value in CONVERTED),
    None,
    2**63,
    10**30,
    [],
    [True],
    [1],
    [0, "1"],
    ["a", None],
    ["b", 2],
    [[1]],
    [["a"]],
    [{"a": 1}],
    {},
    {"a": 1},
    ["2026-05-01", "2025-01-01"],
]
"""Values as stores keep them; the last document has none."""

METADATA: list[dict[str, Any]] = [*({"x": value} for value in STORED), {"y": 1}]
IDS = [str(number) for number in range(len(METADATA))]


def operations(values: list[Any]) -> Iterator[dict[str, Any]]:
    """Filters of one operator each."""
    for value in values:
        yield {"x": value}
        for name in ("$eq", "$ne", "$contains", "$not_contains"):
            yield {"x": {name: value}}
        for name in ("$in", "$nin"):
            yield {"x": {name: [value]}}
            yield {"x": {name: [value, "a", 1, True]}}
        if value is not None:
            for name in ("$gt", "$gte", "$lt", "$lte"):
                yield {"x": {name: value}}
    for low, high in itertools.pairwise([value for value in values if value is not None]):
        yield {"x": {"$between": [low, high]}}
        yield {"x": {"$between": [high, low]}}
        yield {"x": {"$gte": low, "$lte": high}}
        yield {"$or": [{"x": low}, {"x": high}]}
        yield {"$not": {"$and": [{"x": {"$ne": low}}, {"x": {"$not_contains": high}}]}}
    yield from ({"x": {"$exists": True}}, {"x": {"$exists": False}}, {"x": {"$in": []}}, {"x": {"$nin": []}})


FILTERS = list(operations([*SCALARS, None]))


def found_by(filter: Mapping[str, Any]) -> set[str]:
    return {id_ for id_, metadata in zip(IDS, METADATA, strict=True) if matches(metadata, filter)}


def sources() -> list[Document]:
    return [Document("A card.", id=id_, metadata=own) for id_, own in zip(IDS, METADATA, strict=True)]


@pytest.fixture(scope="module", params=[FaissStore, InMemoryVectorStore])
def retriever(request: pytest.FixtureRequest) -> SentenceWindowRetriever:
    given: dict[str, Any] = {"lexical_weight": 0, "ranking": None, "k": 99, "fetch_k": 99, "window": 0}
    retriever = SentenceWindowRetriever(vectorstore=request.param(WordEmbeddings()), **given)
    retriever.add_documents(sources())
    return retriever


@pytest.mark.filterwarnings("ignore:nothing was found")
def test_a_faiss_store_searches_and_fetches_what_a_filter_means() -> None:
    with FaissStore(WordEmbeddings(), neighbor_weights=(1,)) as store:
        store.add_documents(sources())
        for wanted in FILTERS:
            for found in (store.similarity_search("card", k=99, filter=wanted), store.get_by_ids_within(IDS, wanted)):
                assert {each.id for each in found} == found_by(wanted), wanted


def test_a_retriever_lists_what_a_filter_means(retriever: SentenceWindowRetriever) -> None:
    for wanted in FILTERS:
        assert {each.doc_id for each in retriever.documents(wanted)} == found_by(wanted), wanted


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
@pytest.mark.parametrize("wanted", FILTERS[::100], ids=repr)
def test_a_retriever_deletes_what_a_filter_means(kind: Any, wanted: dict[str, Any]) -> None:
    retriever = SentenceWindowRetriever(vectorstore=kind(WordEmbeddings()), lexical_weight=0)
    retriever.add_documents(sources())
    assert retriever.delete(filter=wanted) == len(found_by(wanted))
    assert {each.doc_id for each in retriever.documents()} == {*IDS} - found_by(wanted)


# Values that are converted


@pytest.mark.parametrize(("value", "stored"), CONVERTED, ids=lambda value: f"{type(value).__name__} {value}")
@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
async def test_metadata_is_found_by_the_value_that_was_given(way: Invoke, kind: Any, value: Any, stored: Any) -> None:
    retriever = SentenceWindowRetriever(vectorstore=kind(WordEmbeddings()), lexical_weight=0)
    given = {"alone": {"x": value}, "listed": {"x": [value, "other"]}, "other": {"x": "other"}}
    await way(
        retriever,
        "add_documents",
        [Document(f"A {name} card.", id=name, metadata=own) for name, own in given.items()],
    )
    for asked in (value, stored):
        for wanted in ({"x": asked}, {"x": {"$in": [asked]}}, {"x": {"$between": [asked, asked]}}):
            listed = await way(retriever, "documents", wanted)
            assert {each.doc_id for each in listed} == {"alone", "listed"}
            assert [each.metadata["x"] for each in listed] == [stored, [stored, "other"]]
            found = await way(retriever, "invoke", "card", filter=wanted)
            assert {each.metadata["doc_id"] for each in found} == {"alone", "listed"}
    await way(
        retriever.model_copy(update={"filter": {"x": value}}),
        "add_documents",
        [Document("New.", id="new", metadata={"x": value})],
    )
    assert await way(retriever, "delete", filter={"x": {"$eq": value}}) == 3


def test_dates_are_compared_in_their_order(words: WordEmbeddings) -> None:
    days = [date(2025, 12, 31), date(2026, 1, 1), datetime(2026, 5, 1, 8, 30), date(2026, 5, 2)]
    with FaissStore(words) as store:
        store.add_texts(["page"] * 4, [{"day": day} for day in days], ids=["0", "1", "2", "3"])

        def found(**condition: Any) -> list[str]:
            wanted = {"day": {f"${name}": value for name, value in condition.items()}}
            return sorted(str(each.id) for each in store.similarity_search("page", k=9, filter=wanted))

        assert found(gte=date(2026, 1, 1)) == ["1", "2", "3"]
        assert found(gte=date(2026, 5, 1), lt=date(2026, 5, 2)) == ["2"]
        assert found(between=[days[0], days[1]]) == ["0", "1"]
        assert found(nin={days[0], days[3]}) == ["1", "2"]


@pytest.mark.parametrize("key", [Word.RED, Old.RED, date(2026, 5, 1), np.str_("red")], ids=repr)
def test_a_key_is_converted_as_values_are(words: WordEmbeddings, key: Any) -> None:
    for store in (FaissStore(words), InMemoryVectorStore(words)):
        retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0)
        retriever.add_documents([Document("A card.", id="a", metadata={key: 1})])
        assert [each.doc_id for each in retriever.documents({key: 1})] == ["a"]
        assert [each.metadata["doc_id"] for each in retriever.invoke("card", filter={key: {"$gte": 1}})] == ["a"]
