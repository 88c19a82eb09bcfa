"""Ids, texts and metadata of any kind are stored as they are, or refused; nothing in them, or in a folder, is run."""

import ast
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import FilterError, InvalidInputError, StoreError
from tests.store.folders import DATABASE, HEAD, VECTORS, WORDS
from tests.toys import WordEmbeddings, nested_list

MOST_LEVELS = 99
"""The levels of nested lists and dicts that metadata may have."""

uuids = st.uuids().map(str)
ids = st.one_of(
    uuids,
    uuids.map(str.upper),
    uuids.map(lambda id_: id_.replace("-", "")),
    st.sampled_from(["١" * 8, "a' OR 1", "null", "1"]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
)


@given(st.lists(ids, unique=True, max_size=6))
def test_each_document_is_found_and_deleted_by_its_id_alone(chosen: list[str]) -> None:
    documents = [Document(page_content=f"card {number}", id=id_) for number, id_ in enumerate(chosen)]
    with FaissStore(WordEmbeddings()) as store:
        assert store.add_documents(documents) == chosen
        assert store.get_by_ids(chosen[::-1]) == documents[::-1]
        for each in documents:
            assert store.get_by_ids([str(each.id)]) == [each]
            store.delete([str(each.id)])
            assert store.get_by_ids([str(each.id)]) == []
        assert len(store) == 0


HOSTILE = [
    "'; DROP TABLE sentences; --",
    '"quoted" and \\',
    "a\x00b",
    "%_*?[]",
    "x" * 1_000_000,
    "🦜" * 1_000,
    "$.a.b",
    "null",
    "1",
    "\ue000\ue0000\ue0001",
]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_any_string_is_only_a_value(words: WordEmbeddings, tmp_path: Path, value: str) -> None:
    is_id = "\x00" not in value
    given_ = [
        Document(page_content=value, id="other", metadata={"key": "other", "doc_id": "other"}),
        Document(page_content=value, id="id", metadata={"key": value, value: 1} | ({"doc_id": value} if is_id else {})),
    ]
    with FaissStore(words, tmp_path) as store:
        ids = store.add_documents(given_)
        assert store.get_by_ids(ids) == given_
        for asked in ({"key": value}, {"key": {"$in": [value, 3]}}, {value: 1}, {value: {"$exists": True}}):
            if value == "$.a.b" and value in asked:
                with pytest.raises(FilterError, match="isn't an operator"):
                    store.similarity_search("x", filter=asked)
            else:
                assert store.similarity_search("x", filter=asked) == given_[1:]
        assert store.similarity_search("x", filter={"key": value[:1]}) == (given_[1:] if value == "1" else [])
        assert store.similarity_search("x", filter={"key": {"$ne": value}}) == given_[:1]
        if is_id:
            assert store.similarity_search("x", filter={"doc_id": value}) == given_[1:]
        store.delete(filter={"key": value})
    with FaissStore.open(tmp_path, words) as store:
        assert store.similarity_search("x") == given_[:1]


# Metadata

CIRCULAR: list[Any] = []
CIRCULAR.append([CIRCULAR, CIRCULAR])


@pytest.mark.parametrize("place", [{}, {"doc_id": "a", "sentence_index": 0}], ids=["alone", "sentence"])
@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"deep": nested_list(MOST_LEVELS)}, "the metadata 'deep': .* can't be stored as JSON: it nests more than 99"),
        ({"deep": nested_list(100_000)}, "the metadata 'deep': .*list of 1.* can't be stored .* nests more than"),
        ({"circular": CIRCULAR}, "the metadata 'circular': .* can't be stored as JSON: it nests more than 99 levels"),
        ({"n": 10**5_000}, "the metadata 'n': an int of more than 30 digits can't be stored .* Exceeds the limit"),
        ({"lang": "en", "when": {1j}}, r"the metadata 'when': a set can't be stored as JSON: .*complex; convert it"),
        ({"raw": b"x" * 1_000}, r"the metadata 'raw': b'x{80}'… \(1,000 bytes\) can't be stored as JSON"),
        ({"start_index": float("inf")}, "the metadata 'start_index': inf can't be stored as JSON"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_metadata_that_json_cannot_hold_is_refused_by_its_key(
    words: WordEmbeddings, metadata: dict[str, Any], message: str, place: dict[str, Any]
) -> None:
    with FaissStore(words) as store:
        with pytest.raises(InvalidInputError, match=message):
            store.add_documents([Document(page_content="x", metadata={**place, **metadata})])
        assert len(store) == 0
        assert words.embedded == []


def test_metadata_of_the_most_levels_comes_back_and_is_filtered(words: WordEmbeddings) -> None:
    metadata = {"deep": nested_list(MOST_LEVELS - 1), "lang": "en"}
    with FaissStore(words) as store:
        (id_,) = store.add_documents([Document(page_content="x", metadata=metadata)])
        assert store.get_by_ids([id_])[0].metadata == metadata
        (found,) = store.similarity_search("x", filter={"lang": "en", "deep": {"$exists": True}})
        assert found.id == id_


@pytest.mark.parametrize("start", [0, -3, 2**62, 2**70, True, 1.0, "7", None])
def test_a_place_of_any_kind_comes_back(words: WordEmbeddings, start: object) -> None:
    metadata = {"doc_id": "a", "sentence_index": 0, "start_index": start, "end_index": 5, "note": "b"}
    store = FaissStore(words)
    store.add_documents([Document("Seats", metadata=dict(metadata), id="1")])
    (found,) = store.get_by_ids(["1"])
    assert found.metadata == metadata
    assert type(found.metadata["start_index"]) is type(start)


# Code


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER evil AFTER INSERT ON sentences BEGIN DELETE FROM sentences; END",
        "CREATE VIEW evil AS SELECT load_extension('evil')",
    ],
)
def test_a_database_with_code_is_refused(words: WordEmbeddings, tmp_path: Path, sql: str) -> None:
    FaissStore.from_texts(["refund"], words, path=tmp_path).close()
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        connection.execute(sql)
    with pytest.raises(StoreError, match="has triggers or views, which no store makes"):
        FaissStore.open(tmp_path, words)


def test_pickles_in_the_folder_are_not_read(words: WordEmbeddings, tmp_path: Path) -> None:
    folder, evil = tmp_path / "index", tmp_path / "evil"
    with FaissStore.from_texts(["refund"], words, path=folder) as store:
        store.save()
    pickled = f"cos\nsystem\n(S'touch {evil}'\ntR.".encode()
    for path in [folder / VECTORS, folder / HEAD, *(folder / WORDS).iterdir()]:
        path.write_bytes(pickled)
    with FaissStore.open(folder, words) as store:
        assert len(store.similarity_search("refund")) == len(store.lexical_search("refund")) == 1
    assert not evil.exists()


def test_no_module_runs_what_it_reads() -> None:
    runs_code = {"pickle", "marshal", "shelve", "dill", "joblib", "eval", "exec"}
    for module in Path(sys.modules["langchain_sentence_window"].__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
            called = {node.func.id} if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else set()
            source = {node.module} if isinstance(node, ast.ImportFrom) and not node.level else set()
            assert not (names | called | source) & runs_code, module
