"""Parts of a source through the retriever: joined, read back, added one after the other, replaced."""

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import (
    FaissStore,
    SentenceSplitter,
    SentenceWindowRetriever,
    describe_location,
    format_context,
)
from langchain_sentence_window.documents.part_blocks import write_layout
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.splitting.blocks import Block
from tests.conftest import Invoke
from tests.properties import examples
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
    assert {key: value for key, value in found.metadata.items() if key != "parts"} == {
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


async def test_pages_with_a_layout_added_one_after_the_other_give_the_same_windows(
    way: Invoke, retriever: SentenceWindowRetriever
) -> None:
    pages = [
        page(
            0,
            "Terms\n\n1. Refunds\n\nA refund is pay",
            layout=write_layout([Block(0, 5, "heading", 1), Block(7, 17, "heading", 3), Block(19, 34)]),
        ),
        page(
            1,
            "able by card.\n\n- a seat\n\n1.1 Pages",
            layout=write_layout([Block(0, 13), Block(15, 23, "list_item"), Block(25, 34, "heading", 4)], "~"),
        ),
        page(
            2,
            "A page is free.\n\n2. Invoices\n\nAn invoice.",
            layout=write_layout([Block(0, 15), Block(17, 28, "heading", 3), Block(30, 41)]),
        ),
    ]
    await way(retriever, "add_documents", pages)
    at_once = await way(retriever, "invoke", "refund page invoice", k=9, window=0)
    assert {each.metadata["heading"] for each in at_once} == {
        "Terms",
        "Terms > 1. Refunds",
        "Terms > 1. Refunds > 1.1 Pages",
        "Terms > 2. Invoices",
    }
    await way(retriever, "delete", ["a.pdf"])
    for each in pages:
        await way(retriever, "add_documents", [each])
    assert await way(retriever, "invoke", "refund page invoice", k=9, window=0) == at_once


async def test_parts_numbered_by_a_key_of_ones_own_are_added_one_after_the_other(
    way: Invoke, words: WordEmbeddings
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words), splitter=SentenceSplitter(join_parts="chapter"))
    chapters = [
        Document(page_content=text, metadata={"source": "a.pdf", "chapter": number})
        for number, text in enumerate(["A refund is paid by the", "party that signs. A card is", "needed."])
    ]
    for each in chapters:
        await way(retriever, "add_documents", [each])
    found = await whole(way, retriever)
    assert found.page_content == "A refund is paid by the party that signs. A card is needed."
    assert [entry["chapter"] for entry in found.metadata["parts"]] == [0, 1, 2]


async def test_a_page_replaces_the_page_of_its_number_alone(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    await way(retriever, "add_documents", PAGES)
    await way(retriever, "add_documents", [page(1, "party. No card is needed.", page_label="ii")])
    found = await whole(way, retriever)
    assert found.page_content == (
        "A refund is paid by the party. No card is needed.\nA seat costs two dollars. An invoice follows."
    )


async def test_pages_beyond_the_last_are_dropped(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    await way(retriever, "add_documents", PAGES)
    await way(retriever, "add_documents", [page(0, "A refund is paid by the", page_label="i", total_pages=2)])
    assert (await whole(way, retriever)).page_content == TEXT[:59]


async def test_all_pages_again_are_a_new_version(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    await way(retriever, "add_documents", PAGES)
    await way(retriever, "add_documents", [page(0, "A new text."), page(1, "It is short.")])
    assert (await whole(way, retriever)).page_content == "A new text.\nIt is short."


async def test_a_text_without_parts_replaces_its_source(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    policy = {"source": "policy.md"}
    await way(retriever, "add_documents", [Document(page_content="A refund takes days.", metadata=policy)])
    await way(retriever, "add_documents", [Document(page_content="A refund takes weeks.", metadata=policy)])
    assert (await whole(way, retriever, "policy.md")).page_content == "A refund takes weeks."
    assert len(await way(retriever, "invoke", "refund")) == 1


async def test_elements_added_one_after_the_other_give_the_same_document(
    way: Invoke, retriever: SentenceWindowRetriever
) -> None:
    def element(name: str, category: str, text: str, page_number: int, depth: int | None = None) -> Document:
        known = {} if depth is None else {"category_depth": depth}
        metadata = {"source": "b.html", "element_id": name, "category": category, "page_number": page_number, **known}
        return Document(page_content=text, metadata=metadata)

    elements = [
        element("a", "Title", "Terms", 1, 0),
        element("b", "Title", "Refunds", 1, 1),
        element("c", "NarrativeText", "A refund is paid by the", 1),
        element("d", "Footer", "Page 1", 1),
        element("e", "NarrativeText", "party. It takes days.", 2),
        element("f", "ListItem", "a card", 2),
        element("g", "Title", "Seats", 2, 1),
        element("h", "NarrativeText", "A seat costs a dollar. So does a page.", 2),
    ]
    await way(retriever, "add_documents", elements)
    at_once = await whole(way, retriever, "b.html")
    windows = await way(retriever, "invoke", "seat", k=2)
    assert "Terms > Seats" in [window.metadata["heading"] for window in windows]
    await way(retriever, "delete", ["b.html"])
    for each in elements:
        await way(retriever, "add_documents", [each])
    assert await whole(way, retriever, "b.html") == at_once
    assert await way(retriever, "invoke", "seat", k=2) == windows
    edited = [*elements[:5], *elements[6:]]
    await way(retriever, "add_documents", edited)
    assert "a card" not in (await whole(way, retriever, "b.html")).page_content


LONG = " ".join(f"Seat {n} costs {n * 7} dollars, and page {n * 3} of the invoice says so." for n in range(30))


@examples(30)
@given(st.lists(st.integers(1, len(LONG)), max_size=6), st.integers(1, 3), st.data())
def test_chunks_added_in_slices_give_the_text_again(cuts: list[int], size: int, data: st.DataObject) -> None:
    edges = sorted({0, *cuts, len(LONG)})
    chunks = [
        Document(page_content=LONG[start:end], metadata={"source": "c.txt", "start_index": start})
        for start, end in pairwise(edges)
    ]
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings()))
    order = data.draw(st.permutations(range(0, len(chunks), size)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentenceWindowWarning)  # chunks are missing until the last slice
        for _ in range(2):
            for start in order:
                retriever.add_documents(chunks[start : start + size])
    if order == sorted(order) or len(chunks) <= size:
        # White space at the end of a slice isn't stored, so a line may end there.
        assert retriever.get(["c.txt"])[0].page_content.split() == LONG.split()


async def test_chunks_of_pages_are_placed_in_their_pages(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    pages = [page(n, LONG[at : at + 700].strip()) for n, at in enumerate(range(0, 1400, 700))]
    chunks = RecursiveCharacterTextSplitter(chunk_size=150, chunk_overlap=30, add_start_index=True).split_documents(
        pages
    )
    await way(retriever, "add_documents", chunks)
    found = await whole(way, retriever)
    for entry in found.metadata["parts"]:
        start, end = entry["span"]
        own = pages[entry["page"]].page_content[entry["start_index"] : entry["end_index"]]
        assert found.page_content[start:end] == own
    assert "".join(found.page_content.split()) == "".join(LONG[:1400].split())


async def test_windows_written_inline_name_their_parts(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(
        vectorstore=Blind(words), splitter=SentenceSplitter(inline_window=1), window=1, k=1
    )
    await way(retriever, "add_documents", PAGES)
    store = FaissStore(words, neighbor_weights=(1,))
    by_id = SentenceWindowRetriever(vectorstore=store, window=1, k=1, lexical_weight=0)
    await way(by_id, "add_documents", PAGES)
    for query in ("refund", "card", "invoice"):
        [inline], [fetched] = await way(retriever, "invoke", query), await way(by_id, "invoke", query)
        assert inline.page_content == fetched.page_content
        for key in ("parts", "pages", "page_labels", "sentence_spans", "page"):
            assert inline.metadata[key] == fetched.metadata[key]


async def test_a_store_that_cannot_fetch_takes_no_page_without_the_first(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=Blind(words), splitter=SentenceSplitter(inline_window=1))
    with pytest.raises(InvalidInputError, match="give all parts in one call"):
        await way(retriever, "add_documents", PAGES[1:2])


async def test_vectors_of_known_pages_are_not_made_again(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    await way(retriever, "add_documents", PAGES[:2])
    before = len(words.embedded)
    await way(retriever, "add_documents", PAGES[2:])
    assert set(words.embedded[before:]) <= {"A seat costs two dollars.", "An invoice follows.", "A card is needed."}


async def test_a_forged_place_is_refused_and_says_what_to_do(way: Invoke, words: WordEmbeddings) -> None:
    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store)
    await way(retriever, "add_documents", PAGES)
    for forged in ("nonsense", "7", "[]", "[[0,0]]", "[[0,5,2]]", "[[0,0,4]]", "[[-1,0,41]]", "[" * 3_000):
        found = store.get_by_ids([each.id for each in SentenceSplitter().split_documents(PAGES) if each.id])
        for each in found:
            each.metadata["part_spans"] = forged
        store.add_documents(found)
        with pytest.raises(Exception, match="can't be right") as raised:
            await way(retriever, "invoke", "refund")
        assert "add it again" in str(raised.value)
        await way(retriever, "delete", ["a.pdf"])
        await way(retriever, "add_documents", PAGES)
