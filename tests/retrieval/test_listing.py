"""Documents of an index: listed by their source and by a filter, and deleted whole."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.errors import FilterError, InvalidInputError
from langchain_sentence_window.stores import StoreAdapter
from tests.forms import Invoke
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


async def test_a_store_that_cannot_list_says_so_and_deletes_by_name(way: Invoke, words: WordEmbeddings) -> None:
    class Unlistable(InMemoryVectorStore):
        pass

    from langchain_sentence_window.adapters.local_stores import InMemoryAdapter
    from langchain_sentence_window.stores import register

    class UnlistableAdapter(InMemoryAdapter):
        select = StoreAdapter.select

    register(Unlistable, UnlistableAdapter)
    retriever = over(Unlistable(words))
    await way(retriever, "add_documents", MANUAL)
    for method, wanted in (("documents", {}), ("delete", {"source": "note.md"}), ("delete", {"filter": {"page": 0}})):
        with pytest.raises(InvalidInputError, match="Unlistable can't list what it holds.* name them by their ids"):
            await way(retriever, method, **wanted)
    assert await way(retriever, "delete", ["note", "none"]) == 1
