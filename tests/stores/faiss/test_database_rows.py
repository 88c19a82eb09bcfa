"""Test what the rows of sentences keep: ids as numbers, and metadata without its usual beginning."""

import json
import re
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.stores.faiss.database.database_opening import make_tables
from langchain_sentence_window.stores.faiss.database.schema import Record, uuid_numbers, with_ids
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from tests.toys import WordEmbeddings

HEX = "0123456789abcdef"
uuids = st.uuids().map(str)
ids = st.one_of(
    uuids,
    uuids.map(str.upper),
    uuids.map(lambda id_: id_.replace("-", "")),
    uuids.map(lambda id_: f"{id_}\n"),
    st.sampled_from(
        [f"{'0' * 8}-0000-0000-0000-{'0' * 12}", f"{'f' * 8}-ffff-ffff-ffff-{'f' * 12}", "١" * 8, "a' OR 1"]
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
)
numbers = st.one_of(st.integers(0, 300), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
metadatas = st.builds(
    lambda placed, others, order: dict(sorted((placed | others).items(), key=lambda item: order.index(item[0][0]))),
    st.fixed_dictionaries(
        {},
        optional={"sentence_index": numbers, "start_index": numbers, "end_index": numbers, "kind": st.text(max_size=3)},
    ),
    st.dictionaries(st.sampled_from(["separator", "x", ""]), st.text(max_size=3)).map(
        lambda given: {key or "y": value for key, value in given.items()}
    ),
    st.permutations(["s", "e", "k", "x", "y"]),
)


places = st.one_of(
    st.tuples(st.one_of(st.none(), st.integers(0, 300)), st.none(), st.none()),
    st.tuples(*[st.integers(0, 2**62 - 1)] * 3),
)


@given(st.lists(st.tuples(ids, metadatas, places), unique_by=lambda row: row[0]))
def test_any_id_and_metadata_come_back(
    rows: list[tuple[str, dict[str, Any], tuple[int | None, int | None, int | None]]],
) -> None:
    records = [
        Record(id_, "text", written, doc_id="d", sentence_index=at, start=start, end=end)
        for id_, own, (at, start, end) in rows
        for written in [json.dumps(own, separators=(",", ":")) if own or start is None else ""]
    ]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make_tables(connection)
        transaction = Transaction(connection, 1)
        transaction.add(records, [b"\0\0"] * len(records))
        transaction.finish()
        found = transaction.by_ids([record.id for record in records])
        assert {id_: (record.metadata, record.start, record.end) for id_, record in found.items()} == {
            each.id: (each.metadata, each.start, each.end) for each in records
        }
        assert all(found[each.id].sentence_index == each.sentence_index for each in records)
        assert transaction.find_damage() is None
        for record in records:
            assert list(transaction.by_ids([record.id])) == [record.id]
            transaction.remove(with_ids([record.id]))
            assert transaction.by_ids([record.id]) == {}


def test_ids_that_begin_alike_are_told_apart(words: WordEmbeddings) -> None:
    ids = [str(uuid.UUID(int=(7 << 64) + low)) for low in range(5)]
    with FaissStore(words) as store:
        store.add_texts(["refund"] * 4, ids=ids[:4])
        assert [each.id for each in store.get_by_ids([ids[2], ids[4]])] == [ids[2]]
        store.delete([ids[4], ids[1]])
        store.add_texts(["card"], ids=[ids[0]])
        assert len(store) == 3
        assert {each.id: each.page_content for each in store.get_by_ids(ids)} == {
            ids[0]: "card",
            ids[2]: "refund",
            ids[3]: "refund",
        }


def test_what_every_sentence_has_is_kept_as_numbers(words: WordEmbeddings, tmp_path: Path) -> None:
    sentences = [
        Document(
            id=sentence_id("a", at),
            page_content="refund",
            metadata={"doc_id": "a", "sentence_index": at, "start_index": at * 7, "end_index": at * 7 + 6} | more,
        )
        for at, more in enumerate([{}, {"kind": "heading"}, {"separator": "\n\n", "kind": "list_item"}])
    ]
    with FaissStore(words, tmp_path) as store:
        store.add_documents(sentences)
        assert store.get_by_ids([str(each.id) for each in sentences]) == sentences
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        rows = connection.execute("SELECT start_index, end_index, own, id_text FROM sentences").fetchall()
    assert rows == [
        (0, 6, None, None),
        (7, 13, ',"kind":"heading"}', None),
        (14, 20, ',"separator":"\\n\\n","kind":"list_item"}', None),
    ]


def test_two_rows_with_one_id_are_seen(words: WordEmbeddings, tmp_path: Path) -> None:
    """A faulty write would leave them; nothing but this notices."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make_tables(connection)
        transaction = Transaction(connection, 1)
        twice = [Record(sentence_id("a", 0), "text", "{}")] * 2
        transaction.add(twice, [b"\0\0"] * 2)
        transaction.finish()
        assert transaction.find_damage() == "row 2 of the sentences has the id of another"


@pytest.mark.parametrize("partly", [False, True])
def test_sources_and_sections_count_their_sentences(words: WordEmbeddings, tmp_path: Path, partly: bool) -> None:
    def counts(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
        return tuple(  # type: ignore[return-value]
            [count for (count,) in connection.execute(f"SELECT sentences FROM {table} ORDER BY 1")]  # noqa: S608
            for table in ("sources", "sections")
        )

    def sentence(at: int) -> Document:
        place = {"doc_id": "a", "sentence_index": at, "section_start": at // 2 * 2, "source": "a.md"}
        return Document(id=sentence_id("a", at), page_content="refund", metadata=place)

    with FaissStore(words, tmp_path) as store, closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as connection:
        store.replace_documents([sentence(at) for at in range(5)], ["a"])
        assert counts(connection) == ([5], [1, 2, 2])
        if partly:
            store.delete([sentence_id("a", 0), sentence_id("a", 4)])
            assert counts(connection) == ([3], [1, 2])
            store.add_documents([sentence(4), sentence(1)])
            assert counts(connection) == ([4], [1, 1, 2])
        else:
            store.replace_documents([sentence(at) for at in range(3)], ["a"])
            assert counts(connection) == ([3], [1, 2])
            (listed,) = store.list_documents()
            assert (listed.doc_id, listed.sentences) == ("a", 3)
        store.delete(filter={})
        assert counts(connection) == ([], [])


@given(st.lists(ids, max_size=8))
@example(["0" * 35, "0" * 37])
@example(["12345678-1234-1234-1234-12345678", "9abc12345678-1234-1234-1234-123456789abc"])  # two UUIDs, cut elsewhere
def test_many_ids_are_read_as_each_alone(several: list[str]) -> None:
    found = uuid_numbers(several)
    assert found == [numbers for id_ in several for numbers in uuid_numbers([id_])]
    for id_, (high, low) in zip(several, found, strict=True):
        assert (high is None) == (re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", id_) is None)
        if high is not None and low is not None:
            assert str(uuid.UUID(int=(high % 2**64 << 64) + low % 2**64)) == id_
