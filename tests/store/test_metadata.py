"""Metadata comes back as it was, of sentences as of other Documents, and what sentences share is stored once."""

import copy
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter
from langchain_sentence_window.errors import SentenceWindowWarning, StoreError
from tests.torture.corpus import TextEmbeddings
from tests.toys import WordEmbeddings, document

DATABASE = "sentences.sqlite3"
ODD: dict[str, Any] = {"start_index": 9, 'a.b"': None, "same": "\x00\ue000", "\x00": "\ue000"}

# Two surrogates that JSON holds as one character are refused.
names = st.text(st.one_of(st.characters(), st.sampled_from("\0\ue000\ud80001")), max_size=5).filter(
    lambda name: json.loads(json.dumps(name)) == name
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), names),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=4,
)


def sentence(index: int, doc_id: str = "a", section: int = 0, **metadata: Any) -> Document:
    return Document(
        id=f"{doc_id}{index}",
        page_content="A card.",
        metadata={"doc_id": doc_id, "sentence_index": index, "section_start": section, **metadata},
    )


def written(documents: list[Document]) -> list[tuple[str, list[str]]]:
    """Return texts and metadata in a form in which 1, 1.0 and True differ, as do 0.0 and -0.0."""
    return [(each.page_content, sorted(map(repr, each.metadata.items()))) for each in documents]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, "a", "b"]), st.integers(0, 1), st.dictionaries(names, values, max_size=3), names
        ),
        max_size=6,
    )
)
def test_any_metadata_and_text_comes_back_as_it_was(given_: list[tuple[str | None, int, dict[str, Any], str]]) -> None:
    documents = [
        Document(page_content=text, metadata=metadata, id=str(n))
        if doc_id is None
        else sentence(n, doc_id, section, start_index=n, end_index=n).model_copy(
            update={"page_content": text, "id": str(n)}
        )
        for n, (doc_id, section, metadata, text) in enumerate(given_)
    ]
    for each, (_, _, metadata, _) in zip(documents, given_, strict=True):
        each.metadata = metadata | each.metadata
    before = copy.deepcopy(documents)
    with FaissStore(WordEmbeddings()) as store:
        for part in (documents[:3], documents[3:]):
            store.add_documents(part)
        assert documents == before
        assert written(store.get_by_ids([str(n) for n in range(len(documents))])) == written(documents)
        assert sorted(written(store.similarity_search("x", k=9))) == sorted(written(documents))


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
    splitter = SentenceSplitter(inline_window=(1, 1))
    given_ += splitter.split_documents([document("# Refunds\n\nA seat.\n\n- A card.\n- A page.\n", "c", source="a.md")])
    with FaissStore(words) as store:
        ids = store.add_documents(given_)
        found = store.get_by_ids(ids)
        assert written(found) == written(given_)
        found[0].metadata["tags"][1]["y"].append(2)
        found[0].metadata["doc_id"] = "changed"
        assert found[1:] == given_[1:]
        assert store.get_by_ids(ids) == given_


@pytest.mark.parametrize("lines", [[""], ["", "A line of it.\n", "A line on it.\n"]], ids=["headings", "situated"])
def test_what_sentences_share_is_stored_once(words: WordEmbeddings, tmp_path: Path, lines: list[str]) -> None:
    """So is the context with which they are embedded, even if other metadata differs between them."""
    heading, long = "h" * 5_000, "m" * 50_000
    given_ = [
        sentence(n, doc_id, section=n // 50 * 50, heading=heading, start_index=8 * n, long=long, tag=n % 3)
        for doc_id in ("a" * 200, "b")
        for n in range(200)
    ]
    contexts = [f"{heading}\n{lines[n % len(lines)]}" for n in range(len(given_))]
    with FaissStore(words, tmp_path) as store:
        store.replace_documents(given_, ["b"], contexts=contexts)
        store.add_documents([sentence(200, "b", heading=heading, long=long)])
        assert store.get_by_ids([str(each.id) for each in given_]) == given_
    # If each sentence had its heading and what is before it when it is embedded, these alone would be 4 MB.
    assert (tmp_path / DATABASE).stat().st_size < 2_000_000
    with FaissStore(words, tmp_path) as store:  # what was embedded is known again, whole
        store.replace_documents(given_, ["b"], contexts=contexts)
        assert sorted(words.embedded) == sorted({"A card.", *(f"{context}A card." for context in contexts)})


def test_what_is_replaced_or_deleted_takes_no_room(words: WordEmbeddings, tmp_path: Path) -> None:
    size = 0
    with FaissStore(words, tmp_path) as store:
        for number in range(60):
            shared: dict[str, Any] = {"long": f"{number} {'m' * 50_000}", "heading": f"{number} {'h' * 5_000}"}
            made = [sentence(n, section=n // 3 * 3, **shared) for n in range(9)]
            store.replace_documents(made, ["a"])
            store.add_documents([sentence(4, section=3, long="short"), sentence(0, "b", **shared)])
            store.delete(["b0"])
            if number % 3 == 2:
                store.delete(filter={"doc_id": "a"})
            with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size = size or 4 * (tmp_path / DATABASE).stat().st_size
        assert store.list_documents() == []
    assert (tmp_path / DATABASE).stat().st_size < size


@pytest.mark.parametrize("table", ["sections", "sources"])
def test_lost_shared_metadata_is_reported_by_an_open_store(words: WordEmbeddings, tmp_path: Path, table: str) -> None:
    with FaissStore(words, tmp_path) as store:
        store.add_documents([sentence(0), Document(page_content="page", id="alone")])
        with closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as connection:
            connection.execute(f"DELETE FROM {table}")  # noqa: S608
        with pytest.raises(StoreError, match=f"the database lacks {table} as they were written, so it is damaged"):
            store.get_by_ids(["a0"])
        assert [each.id for each in store.get_by_ids(["alone"])] == ["alone"]


def search_third(store: FaissStore) -> list[Document]:
    return store.similarity_search("card", k=3, filter={"sentence_index": 3})


CALLS: dict[str, Callable[[FaissStore], Any]] = {
    "delete a sentence": lambda store: store.delete(["1.3"]),
    "delete a document": lambda store: store.delete_documents(["1."]),
    "replace a document": lambda store: store.replace_documents([sentence(n, "1.") for n in range(9)], ["1."]),
    "add to a document": lambda store: store.add_documents([sentence(30, "1.")]),
    "fetch sentences": lambda store: store.get_by_ids(["1.3", "2.3"]),
    "search": lambda store: store.similarity_search("card", k=3),
    "search a document": lambda store: store.similarity_search("card", k=3, filter={"doc_id": "1."}),
    "search with a filter again": lambda store: (store.delete(["2.1"]), search_third(store)),
}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A count of steps of SQLite's machine."""
    counted = [0]

    class Counting(sqlite3.Connection):
        def __init__(self, *given: Any, **settings: Any) -> None:
            super().__init__(*given, **settings)
            self.set_progress_handler(lambda: counted.__setitem__(0, counted[0] + 1), 10)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Counting))
    return counted


@pytest.mark.parametrize("call", CALLS)
def test_sqlite_does_no_more_work_where_there_are_more_documents(tmp_path: Path, steps: list[int], call: str) -> None:
    """With the work of the search that catches up with a change."""

    def steps_among(documents: int) -> int:
        with FaissStore(TextEmbeddings(), tmp_path / str(documents)) as store:
            made = [sentence(n, f"{d}.", section=n // 5 * 5) for d in range(documents) for n in range(20)]
            for number, each in enumerate(made):
                each.page_content = f"text {number}"
            store.add_documents(made)
            store.similarity_search("card", k=3)
            search_third(store)
            steps[0] = 0
            CALLS[call](store)
            store.similarity_search("card", k=3)
            return steps[0]

    assert steps_among(160) < 2 * steps_among(4)


def test_a_filter_that_finds_nothing_names_the_keys_that_no_document_has(words: WordEmbeddings) -> None:
    with FaissStore(words) as store:
        store.add_documents([sentence(0, lang="en"), sentence(1, **ODD)])
        store.add_documents([Document(page_content="x", metadata={"tag": {"lone": 1}})])
        unknown = {"$or": [{"lone": 1}, {"Lang": "en"}], "lang": "en", "tag": 1, 'a.b"': 1, "doc_id": "a"}
        with pytest.warns(SentenceWindowWarning, match="no document has 'lone', 'Lang' in its metadata"):
            assert store.similarity_search("card", filter=unknown) == []
        store.delete(filter={"lang": "en"})
        with pytest.warns(SentenceWindowWarning, match="no document has 'lone', 'Lang', 'lang' in its metadata"):
            assert store.lexical_search("card", filter=unknown) == []
        assert store.similarity_search("card", filter={"tag": 1, "sentence_index": {"$gt": 7}}) == []
