"""Parts of a source through the retriever: joined, read back, added one after the other, replaced."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import (
    FaissStore,
    SentenceSplitter,
    SentenceWindowRetriever,
    describe_location,
    format_context,
)
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.toys import WordEmbeddings

STORES: dict[str, Callable[[WordEmbeddings], VectorStore]] = {
    "FaissStore": FaissStore,
    "InMemoryVectorStore": InMemoryVectorStore,
}


class Blind(InMemoryVectorStore):
    """A store that can't fetch by id."""

    def get_by_ids(self, ids: Any) -> Any:
        raise NotImplementedError

    async def aget_by_ids(self, ids: Any) -> Any:
        raise NotImplementedError


@pytest.fixture(params=STORES)
def retriever(request: pytest.FixtureRequest, words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=STORES[request.param](words), k=10)


def page(number: int, text: str, **metadata: Any) -> Document:
    return Document(page_content=text, metadata={"source": "a.pdf", "page": number, **metadata})


PAGES = [
    page(0, "A refund is paid by the", page_label="i"),
    page(1, "party that signs. A card is needed.", page_label="ii"),
    page(2, "A seat costs two dollars. An invoice follows.", page_label="1"),
]
TEXT = "A refund is paid by the party that signs. A card is needed.\nA seat costs two dollars. An invoice follows."


async def whole(way: Invoke, retriever: SentenceWindowRetriever, name: str = "a.pdf") -> Document:
    [found] = await way(retriever, "get", [name])
    assert isinstance(found, Document)
    return found


async def test_pages_are_one_document_and_windows_name_their_pages(
    way: Invoke, retriever: SentenceWindowRetriever
) -> None:
    assert await way(retriever, "add_documents", PAGES) == ["a.pdf"] * 3
    [window] = await way(retriever, "invoke", "refund", k=1, window=(0, 1))
    assert window.page_content == TEXT[:59]
    assert window.metadata["parts"] == [
        {"page": 0, "page_label": "i", "start_index": 0, "end_index": 23, "span": [0, 23]},
        {"page": 1, "page_label": "ii", "start_index": 0, "end_index": 35, "span": [24, 59]},
    ]
    assert (window.metadata["pages"], window.metadata["page_labels"]) == ([0, 1], ["i", "ii"])
    assert window.metadata["sentence_spans"] == [[0, 41], [42, 59]]
    assert describe_location(window) == "a.pdf, pp. i–ii"
    assert "[1] a.pdf, pp. i–ii\n" in format_context([window])
    [window] = await way(retriever, "invoke", "invoice", k=1, window=0, filter={"page": 2})
    assert describe_location(window) == "a.pdf, p. 1"
    assert window.metadata["page"] == 2


async def test_a_document_of_parts_is_read_back_with_the_map_of_its_parts(
    way: Invoke, retriever: SentenceWindowRetriever
) -> None:
    await way(retriever, "add_documents", PAGES)
    found = await whole(way, retriever)
    assert found.page_content == TEXT
    assert {
        key: value for key, value in found.metadata.items() if key not in ("parts", "sentences", "sentence_spans")
    } == {
        "source": "a.pdf",
        "doc_id": "a.pdf",
        "start_index": 0,
        "end_index": len(TEXT),
    }
    for entry, given_page in zip(found.metadata["parts"], PAGES, strict=True):
        start, end = entry["span"]
        own = given_page.page_content[entry["start_index"] : entry["end_index"]]
        assert (TEXT[start:end], entry["page"]) == (own, given_page.metadata["page"])


async def test_pages_added_one_after_the_other_give_the_same_document(
    way: Invoke, retriever: SentenceWindowRetriever
) -> None:
    await way(retriever, "add_documents", PAGES)
    at_once = await whole(way, retriever)
    await way(retriever, "delete", ["a.pdf"])
    for each in PAGES:
        await way(retriever, "add_documents", [each])
    assert await whole(way, retriever) == at_once
    for each in PAGES:  # once more: nothing changes
        await way(retriever, "add_documents", [each])
        assert await whole(way, retriever) == at_once


async def test_a_text_without_parts_replaces_its_source(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    policy = {"source": "policy.md"}
    await way(retriever, "add_documents", [Document(page_content="A refund takes days.", metadata=policy)])
    await way(retriever, "add_documents", [Document(page_content="A refund takes weeks.", metadata=policy)])
    assert (await whole(way, retriever, "policy.md")).page_content == "A refund takes weeks."
    assert len(await way(retriever, "invoke", "refund")) == 1


async def test_a_store_that_cannot_fetch_takes_no_page_without_the_first(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=Blind(words), splitter=SentenceSplitter(inline_window=1))
    with pytest.raises(InvalidInputError, match="give all parts in one call"):
        await way(retriever, "add_documents", PAGES[1:2])


async def test_a_forged_place_is_refused_and_says_what_to_do(way: Invoke, words: WordEmbeddings) -> None:
    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store)
    await way(retriever, "add_documents", PAGES)
    for forged in ("nonsense", "7", "[]", "[[0,0]]", "[[0,5,2]]", "[[0,0,4]]", "[[-1,0,41]]", "[" * 3_000):
        found = store.get_by_ids([each.id for each in SentenceSplitter().split_documents(PAGES) if each.id])
        for each in found:
            each.metadata["part_spans"] = forged
        store.add_documents(found)
        with pytest.raises(Exception, match="can't be right|is invalid") as raised:
            await way(retriever, "invoke", "refund")
        assert "add it again" in str(raised.value)
        await way(retriever, "delete", ["a.pdf"])
        await way(retriever, "add_documents", PAGES)
