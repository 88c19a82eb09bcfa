"""Documents of an index: listed by their source and by a filter, and deleted whole."""

import re
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import BM25Index, FaissStore, SentenceWindowRetriever
from langchain_sentence_window.adapters import StoreAdapter
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.errors import FilterError, InvalidInputError
from tests.conftest import Invoke
from tests.toys import WordEmbeddings, document

MANUAL = [
    document("# Manual\n\nA card. A seat.", "manual", source="manual.pdf", page=0, groups=["staff"]),
    document("A trial.\n\n# Later\n\nA page.", "note", source="note.md", title="A note", groups=["all", "staff"]),
    document("A refund.", "bare"),
]


def over(store: Any, **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=store, **settings)


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def filled(request: pytest.FixtureRequest, words: WordEmbeddings) -> SentenceWindowRetriever:
    retriever = over(request.param(words))
    retriever.add_documents(MANUAL)
    return retriever


def names(documents: list[IndexedDocument]) -> list[str]:
    return [each.doc_id for each in documents]


def without_times(documents: list[IndexedDocument]) -> list[IndexedDocument]:
    return [replace(each, added=None) for each in documents]


async def test_documents_are_listed_with_what_they_are(way: Invoke, filled: SentenceWindowRetriever) -> None:
    listed = await way(filled, "documents")
    says_when = isinstance(filled.vectorstore, FaissStore)
    assert [each.added is not None for each in listed] == [says_when] * 3
    assert without_times(listed) == [
        IndexedDocument(
            doc_id="manual",
            source="manual.pdf",
            title="Manual",
            sentences=3,
            pages=1,
            metadata={"source": "manual.pdf", "page": 0, "groups": ["staff"]},
        ),
        IndexedDocument(
            doc_id="note",
            source="note.md",
            title="A note",
            sentences=3,
            pages=None,
            metadata={"source": "note.md", "title": "A note", "groups": ["all", "staff"]},
        ),
        IndexedDocument(doc_id="bare", source=None, title=None, sentences=1, pages=None, metadata={}),
    ]


async def test_they_are_listed_by_source_and_filter(way: Invoke, filled: SentenceWindowRetriever) -> None:
    async def listed(*given: Any, **settings: Any) -> list[str]:
        return names(await way(filled, "documents", *given, **settings))

    assert await listed(source="note.md") == ["note"]
    assert await listed(source=Path("note.md")) == ["note"]
    assert await listed(source="") == []
    assert await listed({"groups": "staff"}) == ["manual", "note"]
    assert await listed({"groups": "staff"}, source="manual.pdf") == ["manual"]
    assert await listed({"groups": {"$nin": ["all"]}}) == ["manual"]
    assert await listed({"doc_id": {"$in": ["bare", "note"]}}) == ["note", "bare"]
    assert await listed({}) == ["manual", "note", "bare"]
    part = await way(filled, "documents", {"heading": "Later"})
    assert [(each.doc_id, each.sentences, each.title) for each in part] == [("note", 2, "A note")]
    with pytest.raises(FilterError):
        await listed({"groups": {"$like": "a"}})
    with pytest.raises(InvalidInputError, match="source is 7; give the source"):
        await listed(source=7)


SOURCES: list[dict[str, Any]] = [
    {"source": "a/b.md"},
    {"file_path": "a/b.md"},
    {"filename": "b.md", "file_directory": "a"},
    {"source": "other", "file_path": "a/b.md"},
    {"file_path": "other", "filename": "b.md", "file_directory": "a"},
    {"filename": "a/b.md"},
    {"filename": "b.md"},
    {"filename": "b.md", "file_directory": "c"},
    {},
]


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
def test_a_source_is_named_by_any_of_the_keys_of_loaders(kind: Any, words: WordEmbeddings) -> None:
    retriever = over(kind(words))
    retriever.add_documents([document("A card.", f"{number}", **own) for number, own in enumerate(SOURCES)])
    listed = {each.doc_id: each.source for each in retriever.documents()}
    assert [listed[f"{number}"] for number in range(9)] == [
        *["a/b.md"] * 3,
        *["other"] * 2,
        "a/b.md",
        "b.md",
        "c/b.md",
        None,
    ]
    for source in ("a/b.md", "other", "b.md", "c/b.md", "none", ""):
        expected = [name for name, named in listed.items() if named == source]
        assert names(retriever.documents(source=source)) == expected
        assert retriever.delete(source=source) == len(expected)
    assert names(retriever.documents()) == ["8"]


async def test_they_are_deleted_whole_and_counted(way: Invoke, filled: SentenceWindowRetriever) -> None:
    assert await way(filled, "delete", ["none"]) == 0
    assert await way(filled, "delete", ["bare", "none", "bare"]) == 1
    assert await way(filled, "delete", source="none.md") == 0
    assert await way(filled, "delete", ["manual"], source="note.md") == 0
    assert await way(filled, "delete", filter={"groups": "all"}, source="manual.pdf") == 0
    assert names(filled.documents()) == ["manual", "note"]
    assert await way(filled, "delete", filter={"groups": {"$in": ["all", "other"]}}) == 1
    assert await way(filled, "delete", source="manual.pdf") == 1
    assert filled.documents() == []
    assert await way(filled, "invoke", "card") == []


async def test_nothing_is_deleted_by_mistake(way: Invoke, filled: SentenceWindowRetriever) -> None:
    for named, settings, message in (
        ((), {}, "documents are named by a list of ids"),
        (("note",), {}, "documents are named by a list of ids"),
        ((), {"filter": {}}, "matches everything"),
        ((["note"],), {"filter": {}}, "matches everything"),
        ((), {"source": 7}, "source is 7"),
        ((), {"filter": {"heading": "Later"}}, "only a part of document 'note'"),
        ((), {"filter": {"heading": "Later"}, "source": "note.md"}, "only a part of document 'note'"),
        ((), {"filter": {"groups": {"$like": "a"}}}, r"\$like"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            await way(filled, "delete", *named, **settings)
    assert names(filled.documents()) == ["manual", "note", "bare"]


async def test_a_filter_that_binds_hides_and_keeps_documents(way: Invoke, filled: SentenceWindowRetriever) -> None:
    staff = filled.model_copy(update={"filter": {"groups": "all"}})
    assert names(await way(staff, "documents")) == ["note"]
    assert names(await way(staff, "documents", {"groups": "staff"})) == ["note"]
    assert await way(staff, "documents", source="manual.pdf") == []
    assert await way(staff, "delete", ["manual", "bare"]) == 0
    assert await way(staff, "delete", source="manual.pdf") == 0
    assert await way(staff, "delete", filter={"source": "manual.pdf"}) == 0
    assert await way(staff, "delete", filter={"groups": "staff"}) == 1
    assert names(filled.documents()) == ["manual", "bare"]


async def test_words_of_deleted_documents_are_forgotten(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(InMemoryVectorStore(words), bm25_index=BM25Index())
    await way(retriever, "add_documents", MANUAL)
    assert await way(retriever, "delete", source="manual.pdf") == 1
    assert {each.metadata["doc_id"] for each in await way(retriever, "invoke", "card page")} == {"note", "bare"}


async def test_a_store_that_cannot_list_says_so_and_deletes_by_name(way: Invoke, words: WordEmbeddings) -> None:
    class Unlistable(InMemoryVectorStore):
        pass

    from langchain_sentence_window.adapters import register
    from langchain_sentence_window.adapters.local_stores import InMemoryAdapter

    class UnlistableAdapter(InMemoryAdapter):
        select = StoreAdapter.select

    register(Unlistable, UnlistableAdapter)
    retriever = over(Unlistable(words))
    await way(retriever, "add_documents", MANUAL)
    for method, wanted in (("documents", {}), ("delete", {"source": "note.md"}), ("delete", {"filter": {"page": 0}})):
        with pytest.raises(InvalidInputError, match="Unlistable can't list what it holds.* name them by their ids"):
            await way(retriever, method, **wanted)
    assert await way(retriever, "delete", ["note", "none"]) == 1


def test_what_is_listed_is_the_users_own(filled: SentenceWindowRetriever) -> None:
    (first, *_) = filled.documents()
    first.metadata["groups"].append("other")
    assert filled.documents()[0].metadata["groups"] == ["staff"]


def test_sentences_are_not_read_to_list_documents(words: WordEmbeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[str] = []

    class Explaining(sqlite3.Connection):
        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            if "FROM sentences" in sql:
                plans.extend(row[3] for row in super().execute(f"EXPLAIN QUERY PLAN {sql}", *given))
            return super().execute(sql, *given)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Explaining))
    store = FaissStore(words)
    over(store).add_documents(MANUAL)
    plans.clear()
    assert names(over(store).documents({"groups": "all"})) == ["note"]
    of_sentences = [line for line in plans if "sentences" in line]
    assert of_sentences
    assert [line for line in of_sentences if not re.search(r"COVERING INDEX|USING INTEGER PRIMARY KEY", line)] == []


def test_documents_of_pages_are_counted_by_page_and_other_documents_are_left_out(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    retriever = over(store)
    retriever.add_documents([document("A card. A seat. A page.", "book", page=0)])
    paged = [
        each.model_copy(update={"metadata": each.metadata | {"page": min(number, 1), "odd\0": "\0"}})
        for number, each in enumerate(store.get_by_ids([each.id for each in _sentences(store)]))
    ]
    store.replace_documents(paged, ["book"])
    store.add_documents([Document(page_content="alone"), Document(page_content="named", metadata={"doc_id": "raw"})])
    (listed,) = retriever.documents()
    assert (listed.doc_id, listed.sentences, listed.pages) == ("book", 3, 2)
    assert listed.metadata == {"page": 0, "odd\0": "\0"}
    (part,) = retriever.documents({"page": 1})
    assert (part.sentences, part.pages, part.metadata["page"]) == (2, 1, 1)
    with pytest.raises(InvalidInputError, match="only a part of document 'book'"):
        retriever.delete(filter={"page": 1})
    assert retriever.delete(filter={"page": {"$in": [0, 1]}}) == 1
    assert sorted(each.page_content for each in _sentences(store)) == ["alone", "named"]


def _sentences(store: FaissStore) -> list[Any]:
    return [each for documents, _ in store.export() for each in documents]


def test_a_store_deletes_documents_by_name_and_filter(words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path / "index") as store:
        over(store).add_documents(MANUAL)
        with pytest.raises(InvalidInputError, match="takes doc_ids or a filter"):
            store.delete_documents()
        assert store.delete_documents([]) == 0
        assert store.delete_documents(["note"], filter={"groups": "none"}) == 0
        assert store.delete_documents(["note", "bare"], filter={"groups": "all"}) == 1
        assert [each.doc_id for each in store.list_documents()] == ["manual", "bare"]
        assert store.delete_documents(filter={}) == 2
    with FaissStore.open(tmp_path / "index", words) as store:
        assert (len(store), store.list_documents(), store.stats().documents) == (0, [], 0)


metadatas = st.fixed_dictionaries({}, optional={"x": st.integers(0, 2) | st.lists(st.integers(0, 2), max_size=2)})


@given(st.lists(metadatas, max_size=6), st.sampled_from([{"x": 1}, {"x": {"$ne": 1}}, {"$not": {"x": 0}}, {}]))
def test_every_store_lists_and_deletes_the_same(given: list[dict[str, Any]], filter: dict[str, Any]) -> None:
    documents = [document("A card. A seat.", f"d{number}", **each) for number, each in enumerate(given)]
    kinds: list[Any] = [FaissStore, InMemoryVectorStore]
    listed = []
    for kind in kinds:
        embedding: Embeddings = WordEmbeddings()
        retriever = over(kind(embedding))
        retriever.add_documents(documents)
        before = retriever.documents(filter)
        deleted = retriever.delete(filter=filter or {"doc_id": {"$exists": True}})
        assert deleted == len(before)
        listed.append((without_times(before), without_times(retriever.documents())))
    assert listed[0] == listed[1]


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
def test_pages_of_a_file_are_one_document(kind: Any, words: WordEmbeddings) -> None:
    retriever = over(kind(words))
    pages = ["A card. A seat.", "A trial.", "A page. A refund."]
    retriever.add_documents(
        [
            Document(page_content=text, metadata={"source": "m.pdf", "page": number, "total_pages": 3})
            for number, text in enumerate(pages)
        ]
    )
    (listed,) = retriever.documents()
    assert (listed.doc_id, listed.source, listed.sentences, listed.pages) == ("m.pdf", "m.pdf", 5, 3)
    (part,) = retriever.documents({"page": {"$gte": 1}})
    assert (part.sentences, part.pages) == (3, 2)
    with pytest.raises(InvalidInputError, match=r"only a part of document 'm\.pdf'"):
        retriever.delete(filter={"page": 2})
    assert retriever.delete(source="m.pdf") == 1
    assert retriever.documents() == []
