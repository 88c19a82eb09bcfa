"""Shared data of a document's or a section's sentences: stored once, returned complete, filtered, and removed."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.stores.faiss import conversion as records
from langchain_sentence_window.stores.faiss.conversion import to_documents, to_records
from langchain_sentence_window.stores.faiss.database.conditions import Condition
from langchain_sentence_window.stores.faiss.database.filters import filter_keys
from langchain_sentence_window.stores.faiss.database.reads import (
    vectors_in_order,
)
from langchain_sentence_window.stores.faiss.database.schema import of_documents, with_ids
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.store_files import DATABASE_FILE
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from tests.conftest import Invoke
from tests.filter_model import matches
from tests.stores.faiss.test_faiss_store import names, values
from tests.stores.faiss.test_filters import filters
from tests.toys import WordEmbeddings, document

pytestmark = pytest.mark.filterwarnings("ignore:nothing was found, as no document has")
"""Many filters name keys that no document has, on purpose."""

ODD: dict[str, Any] = {"start_index": 9, 'a.b"': None, "same": "\x00\ue000", "\x00": "\ue000"}


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)
    yield connection
    connection.close()


def ask(folder: Path, sql: str) -> Any:
    with database(folder) as connection:
        return connection.execute(sql).fetchone()[0]


def sentence(index: int, doc_id: str = "a", section: int = 0, **metadata: Any) -> Document:
    return Document(
        id=f"{doc_id}{index}",
        page_content="A card.",
        metadata={"doc_id": doc_id, "sentence_index": index, "section_start": section, **metadata},
    )


@pytest.mark.parametrize("lines", [[""], ["", "A line of it.\n", "A line on it.\n"]], ids=["headings", "situated"])
async def test_a_long_heading_is_stored_once(
    words: WordEmbeddings, tmp_path: Path, way: Invoke, lines: list[str]
) -> None:
    heading = "h" * 5_000
    given_ = [sentence(n, section=n // 50 * 50, heading=heading, start_index=8 * n) for n in range(100)]
    contexts = [f"{heading}\n{lines[n % len(lines)]}" for n in range(100)]
    with FaissStore(words, tmp_path) as store:
        await way(store, "replace_documents", given_, ["a"], contexts=contexts)
        assert store.get_by_ids([str(each.id) for each in given_]) == given_
        with database(tmp_path) as connection:
            of_sections = connection.execute("SELECT length(metadata), length(context) FROM sections").fetchall()
            of_sentences = connection.execute("SELECT metadata, length(context) FROM sentences").fetchall()
        assert [context for _, context in of_sections] == [5_001, 5_001]
        assert all(5_000 < metadata < 5_050 for metadata, _ in of_sections)
        assert [json.loads(metadata) for metadata, _ in of_sentences] == [
            {"sentence_index": n, "start_index": 8 * n} for n in range(100)
        ]
        assert [context for _, context in of_sentences] == [len(lines[n % len(lines)]) for n in range(100)]
        # What was embedded is known again, whole.
        await way(store, "replace_documents", given_, ["a"], contexts=contexts)
        assert sorted(words.embedded) == sorted({f"{context}A card." for context in contexts})


async def test_long_metadata_is_stored_once(words: WordEmbeddings, tmp_path: Path, way: Invoke) -> None:
    """Whatever differs from sentence to sentence and from section to section."""
    long = "m" * 50_000
    text = "".join(f"# Heading {n}\n\nA card.{chr(10) * (2 + n % 2)}- A seat.\n\n" for n in range(100))
    source = [Document(id=id_, page_content=text, metadata={"long": long, "tag": id_}) for id_ in ("a" * 4_000, "b")]
    sentences = SentenceSplitter().split_documents(source)
    with FaissStore(words, tmp_path) as store:
        for start in range(0, len(sentences), 20):
            await way(store, "add_documents", sentences[start : start + 20])
        assert store.get_by_ids([str(each.id) for each in sentences]) == sentences
        with database(tmp_path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert connection.execute("SELECT count(*) FROM sections").fetchone() >= (200,)
    assert ask(tmp_path, "SELECT sum(length(metadata)) FROM sources") < 109_000
    assert (tmp_path / DATABASE_FILE).stat().st_size < 800_000


def test_metadata_that_sentences_share_is_written_as_json_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists too, as they are the same objects; and nothing is taken for the same that differs in JSON."""
    nested: dict[str, Any] = {"tags": [["x"] * 1_000], "number": 0.0}
    written: list[int] = []
    to_json = records._to_json

    def counting(metadata: dict[str, Any]) -> str:
        text = to_json(metadata)
        written.append(len(text))
        return text

    monkeypatch.setattr(records, "_to_json", counting)
    given_ = [
        sentence(n, section=n // 2, **nested | ({"separator": "\n"} if n % 2 else {}), heading=str(n // 2))
        for n in range(100)
    ]
    made = to_records(given_, None)
    assert to_documents(made) == given_
    assert sum(length > 4_000 for length in written) == 1
    assert len({id(record.source_metadata) for record in made}) == 1
    given_[50].metadata["number"] = -0.0
    assert len({record.source_metadata for record in to_records(given_, None)}) == 2


def test_sentences_come_back_as_they_went_in(words: WordEmbeddings) -> None:
    given_ = [
        sentence(0, same=1, start_index=0, kind="list item", tags=["x", {"y": [1]}]),
        sentence(1, same=True, start_index=8, separator="\n\n", tags=["x", {"y": [1]}]),
        sentence(2, same=1.0, start_index=16, tags=["x", {"y": [1]}]),
        sentence(3, same=-0.0, tags=["x", {"y": [1.0]}]),
        sentence(4, same=0.0, tags=["x", {"y": [1]}]),
        sentence(5, **ODD),
        sentence(5, "b", same=2**70),
        Document(id="part", page_content="", metadata={"doc_id": "a", "sentence_index": "5", "same": 1}),
    ]
    with FaissStore(words) as store:
        ids = store.add_documents(given_)
        found = store.get_by_ids(ids)
        assert found == given_
        for one, other in zip(found, given_, strict=True):
            assert {key: repr(value) for key, value in one.metadata.items()} == {
                key: repr(value) for key, value in other.metadata.items()
            }
        found[0].metadata["tags"][1]["y"].append(2)
        found[0].metadata["doc_id"] = "changed"
        assert found[1:] == given_[1:]
        assert store.get_by_ids(ids) == given_


@given(st.lists(st.tuples(st.integers(0, 1), st.dictionaries(names, values, max_size=3)), max_size=5))
def test_any_metadata_of_sentences_comes_back_as_it_was(given_: list[tuple[int, dict[str, Any]]]) -> None:
    documents = [sentence(n, section=section) for n, (section, _) in enumerate(given_)]
    for document_, (_, metadata) in zip(documents, given_, strict=True):
        document_.metadata = metadata | document_.metadata
    found = to_documents(to_records(documents, None))
    assert [sorted(map(repr, each.metadata.items())) for each in found] == [
        sorted(map(repr, each.metadata.items())) for each in documents
    ]


whole = st.dictionaries(st.sampled_from(["x", "y", 'a.b"']), st.sampled_from([0, 1, "a", None, 10.0]), max_size=3)
placed = st.builds(
    lambda metadata, heading, start: {**metadata, "heading": heading, "section_start": start},
    whole,
    st.sampled_from(["a", "b", None]),
    st.sampled_from([0, 1]),
)
starts = st.one_of(
    filters,
    st.sampled_from(
        [
            {"start_index": 1},
            {"$not": {"start_index": {"$gt": 0}, "x": 1}},
            {"$or": [{"doc_id": "a"}, {"x": {"$ne": 1}}]},
            {"doc_id": "b", "x": 1},
            {"doc_id": "a", "$not": {"$and": [{"doc_id": {"$in": ["a"]}}, {"y": 0}]}},
            {"doc_id": {"$nin": ["b"]}, "sentence_index": {"$exists": True}},
            {"x": {"$in": []}, "start_index": 0},
            {"$or": [{"x": {"$in": []}}, {"doc_id": "b"}]},
            {"heading": "a", "x": 1},
            {"$or": [{"section_start": {"$gt": 0}}, {"y": 0}, {"start_index": 1}]},
            {"$not": {"heading": {"$in": ["a", None]}, "section_start": 1}},
            {"heading": {"$exists": False}, "$or": [{"heading": "a"}, {"section_start": 0}]},
        ]
    ),
)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.booleans(), whole | placed), max_size=8), starts, starts
)
def test_a_filter_finds_what_is_shared_and_what_is_not(
    given_: list[tuple[str | None, bool, dict[str, Any]]], first: dict[str, Any], second: dict[str, Any]
) -> None:
    """Some are sentences, some of a document but no sentences, some neither; a filter comes again after a write."""
    documents = []
    for n, (doc_id, is_sentence, metadata) in enumerate(given_):
        place = {"sentence_index": n, "start_index": n % 2} if is_sentence else {}
        of = {} if doc_id is None else {"doc_id": doc_id}
        documents.append(Document(id=str(n), page_content="page", metadata={**of, **place, **metadata}))
    with FaissStore(WordEmbeddings()) as store:
        for part in (documents[:5], documents[5:]):
            store.add_documents(part)
            there = documents[: documents.index(part[-1]) + 1] if part else documents
            for asked in (first, second):
                found = {each.id for each in store.similarity_search("page", k=99, filter=asked)}
                assert found == {each.id for each in there if matches(each.metadata, asked)}
        store.delete(filter=first)
        assert len(store) == sum(not matches(each.metadata, first) for each in documents)


# Removing


def test_a_section_goes_with_its_last_sentence(words: WordEmbeddings, tmp_path: Path) -> None:
    def sections() -> int:
        assert ask(tmp_path, "SELECT count(*) FROM sources") == ask(tmp_path, "SELECT count(*) FROM documents")
        return int(ask(tmp_path, "SELECT count(*) FROM sections"))

    with FaissStore(words, tmp_path) as store:
        store.add_documents([sentence(n, section=n // 3 * 3) for n in range(9)] + [sentence(0, "b")])
        assert sections() == 4
        store.delete(["a0", "a1", "a3"])
        assert sections() == 4
        store.delete(["a2"])
        assert sections() == 3
        store.add_documents([sentence(4, section=3)])  # now in a section of its own row
        assert sections() == 4
        store.delete(filter={"sentence_index": {"$in": [4, 5]}})
        assert sections() == 2
        store.replace_documents([sentence(n, section=0) for n in range(3)], ["a", "b"])
        assert sections() == 1
        assert store.get_by_ids(["a0", "a1", "a2", "b0"]) == [sentence(n, section=0) for n in range(3)]
        store.delete(filter={})
        assert sections() == 0
        assert ask(tmp_path, "SELECT count(*) FROM documents") == 0


def test_metadata_of_a_source_goes_with_the_last_sentence_that_has_it(words: WordEmbeddings, tmp_path: Path) -> None:
    def sources() -> set[Any]:
        with database(tmp_path) as connection:
            return {json.loads(text).get("tag") for (text,) in connection.execute("SELECT metadata FROM sources")}

    with FaissStore(words, tmp_path) as store:
        store.add_documents([sentence(n, section=n // 2, tag=n % 3) for n in range(9)])
        assert sources() == {0, 1, 2}
        store.delete(["a0", "a3"])
        assert sources() == {0, 1, 2}
        store.delete(["a6"])
        assert sources() == {1, 2}
        store.add_documents([sentence(n, section=n // 2, tag=3) for n in (2, 5, 8)])
        assert sources() == {1, 3}


@pytest.mark.parametrize("table", ["sections", "sources"])
def test_shared_metadata_that_is_lost_under_an_open_store_is_told(
    words: WordEmbeddings, tmp_path: Path, table: str
) -> None:
    with FaissStore(words, tmp_path) as store:
        store.add_documents([sentence(0), Document(page_content="page", id="alone")])
        with database(tmp_path) as connection:
            connection.execute(f"DELETE FROM {table}")  # noqa: S608
        with pytest.raises(StoreError, match="lacks metadata that its sentences share, so it is damaged; restore it"):
            store.get_by_ids(["a0"])
        assert [each.id for each in store.get_by_ids(["alone"])] == ["alone"]


def test_sentences_are_removed_in_time_that_their_number_says(words: WordEmbeddings, tmp_path: Path) -> None:
    """Steps of SQLite's machine for one sentence of many, and for a document among many."""

    def steps(documents: int, sentences: int) -> tuple[int, int]:
        folder = tmp_path / f"{documents} {sentences}"
        with FaissStore(words, folder) as store:
            store.add_documents(
                [sentence(n, str(d), section=n // 5 * 5) for d in range(documents) for n in range(sentences)]
            )
        return removal_steps(folder, with_ids(["00"])), removal_steps(folder, of_documents(["1"]))

    few, many = steps(4, 20), steps(40, 20)
    assert many[0] < 2 * few[0]
    assert many[1] < 2 * few[1]
    assert steps(4, 200)[0] < 2 * few[0]


def test_vectors_of_a_document_are_read_in_time_that_their_number_says(words: WordEmbeddings, tmp_path: Path) -> None:
    """Steps of SQLite's machine, as when the FAISS index catches up with a change."""

    def steps(documents: int) -> int:
        folder = tmp_path / f"{documents}"
        with FaissStore(words, folder) as store:
            store.add_documents([sentence(n, f"{d:03}.") for d in range(documents) for n in range(20)])
        counted = [0]
        with database(folder) as connection:
            connection.set_progress_handler(lambda: counted.__setitem__(0, counted[0] + 1), 10)
            found = list(vectors_in_order(Snapshot(connection).execute, (f"document IN (2,{documents:d})", [])))
        rows = [row for each, _, _ in found for row in each.tolist()]
        assert rows == [*range(21, 41), *range(20 * documents - 19, 20 * documents + 1)]
        assert [at for _, _, each in found for at in each.indexes.tolist()] == [*range(20), *range(20)]
        return counted[0]

    assert steps(400) < 2 * steps(4)


def removal_steps(folder: Path, condition: Condition) -> int:
    steps = [0]
    with database(folder) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.set_progress_handler(lambda: steps.__setitem__(0, steps[0] + 1), 10)
        transaction = Transaction(connection, token=1)
        transaction.remove(condition)
        transaction.finish()
        connection.execute("COMMIT")
    return steps[0]


# Filters that let nothing through


def test_the_keys_of_a_filter() -> None:
    nested = {"$or": [{"a": 1, "b": {"$in": [1]}}, {"$not": {"c": {"$exists": False}}}], "$and": [{"a": 2}], "d": None}
    assert filter_keys(nested) == ["a", "b", "c", "d"]
    assert filter_keys({}) == []


def test_keys_that_no_document_has(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path) as store, database(tmp_path) as connection:
        snapshot = Snapshot(connection)
        asked = ["doc_id", "sentence_index", "start_index", "lang", 'a.b"', "lone", "tag", "Lang"]
        assert snapshot.unknown_keys(asked) == asked
        store.add_documents([sentence(0, lang="en"), sentence(1, **ODD)])
        assert snapshot.unknown_keys(asked) == ["lone", "tag", "Lang"]
        store.add_documents([Document(page_content="x", metadata={"tag": {"lone": 1}})])
        assert snapshot.unknown_keys(asked) == ["lone", "Lang"]
        store.delete(filter={"lang": "en"})
        assert snapshot.unknown_keys(asked) == ["lang", "lone", "Lang"]


def test_to_learn_that_no_sentence_has_a_key_only_sources_are_read(words: WordEmbeddings, tmp_path: Path) -> None:
    plans: list[str] = []
    with FaissStore(words, tmp_path) as store, database(tmp_path) as connection:
        store.add_documents([sentence(n) for n in range(9)])
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        assert Snapshot(connection).unknown_keys(["none"]) == ["none"]
        connection.set_trace_callback(None)
        for sql in asked:
            plans += [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
    assert plans == ["SCAN sources", "SEARCH sentences USING INDEX sentences_alone (source_key=?)"]


def test_no_table_holds_a_key_that_differs_by_what_is_below_it(words: WordEmbeddings, tmp_path: Path) -> None:
    splitter = SentenceSplitter(inline_window=(1, 1))
    sentences = splitter.split_documents([document("# Refunds\n\nA seat.\n\n- A card.\n- A page.\n", source="a.md")])
    with FaissStore(words, tmp_path) as store:
        store.add_documents(sentences)
        assert store.get_by_ids([str(each.id) for each in sentences]) == sentences
    with database(tmp_path) as connection:
        ((of_source,),) = connection.execute("SELECT metadata FROM sources").fetchall()
        ((of_section,),) = connection.execute("SELECT metadata FROM sections").fetchall()
        own = [set(json.loads(text)) for (text,) in connection.execute("SELECT metadata FROM sentences")]
    assert set(json.loads(of_source)) == {"source", "doc_id"}
    assert set(json.loads(of_section)) == {"section_start", "section_end", "heading"}
    assert set.union(*own) >= {"sentence_index", "start_index", "end_index", "kind", "window_text", "window_spans"}
    assert not set.union(*own) & {*json.loads(of_source), *json.loads(of_section)}
