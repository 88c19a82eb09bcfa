"""`fetch` in the bounds of a call."""

import re

import pytest

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.apps.mcp import mcp_passages as reading
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from tests.answering.mcp.conftest import called, text_of
from tests.toys import WordEmbeddings, document

LONG = " ".join(f"This is number {number}." for number in range(1_300))


@pytest.fixture
def long(words: WordEmbeddings) -> SentenceWindowRetriever:
    given = [document(LONG, "long"), document(f"A refund. {'x' * 50_000}", "huge"), document("One.", "short")]
    splitter = SentenceSplitter(max_chars=None, max_piece_chars=None)
    return SentenceWindowRetriever.from_documents(given, words, splitter=splitter)


@pytest.mark.parametrize(
    ("id_", "sentences", "note"),
    [
        ("long", [0, 500], "after sentence 500"),
        ("long#0-3", [0, 503], "after sentence 503"),
        ("long#650-652", [150, 1152], "before sentence 150|after sentence 1152"),
        ("long#1299-1299", [799, 1299], "before sentence 799"),
        ("long#1299-1400", [799, 1299], "before sentence 799"),
        ("long#0-1299", [0, 1000], "after sentence 1000"),
        ("short", [0, 0], ""),
        ("short#0-0", [0, 0], ""),
    ],
)
async def test_a_long_document_is_cut_and_the_note_says_how_to_read_on(
    long: SentenceWindowRetriever, id_: str, sentences: list[int], note: str
) -> None:
    found = (await called(create_mcp_server(long), "fetch", {"id": id_})).structured_content
    assert found["sentences"] == sentences
    assert (LONG if "long" in id_ else "One.")[found["start"] : found["end"]] == found["text"]
    assert len(found["text"]) <= reading.MAX_FETCHED_CHARS
    for part in filter(None, note.split("|")):
        assert part in found["note"]
    assert bool(note) == ("note" in found)
    assert found.get("note", "").count("sentence ") == len(list(filter(None, note.split("|"))))
    shown = text_of(await called(create_mcp_server(long, text="sources"), "fetch", {"id": id_}))
    assert shown.endswith(found.get("note", "</source>"))


async def test_the_note_can_be_followed_to_both_ends_of_the_document(long: SentenceWindowRetriever) -> None:
    server = create_mcp_server(long)
    found = (await called(server, "fetch", {"id": "long#650-650"})).structured_content
    seen = set(range(found["sentences"][0], found["sentences"][1] + 1))
    for side in re.findall(r"read_around with ([^)]*)", found["note"]):
        arguments = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", side)}
        (more,) = (await called(server, "read_around", {"doc_id": "long", **arguments})).structured_content["results"]
        seen |= set(range(more["sentences"][0], more["sentences"][1] + 1))
    assert seen == set(range(100, 1201))


async def test_characters_are_bounded_around_the_passage(
    long: SentenceWindowRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_FETCHED_CHARS", 200)
    server = create_mcp_server(long)
    found = (await called(server, "fetch", {"id": "long#650-651"})).structured_content
    assert 180 < len(found["text"]) <= 200
    first, last = found["sentences"]
    assert 650 - first in (last - 651, last - 652)
    cut = (await called(server, "fetch", {"id": "long#650-800"})).structured_content
    assert cut["sentences"][0] == 650
    assert 180 < len(cut["text"]) <= 200
    # A single sentence comes whole.
    huge = (await called(server, "fetch", {"id": "huge#1-1"})).structured_content
    assert len(huge["text"]) == 50_000


async def test_a_store_that_cannot_fetch_by_id_says_so(words: WordEmbeddings) -> None:
    from langchain_core.vectorstores import InMemoryVectorStore

    class SearchOnly(InMemoryVectorStore):
        def get_by_ids(self, ids: object, /) -> list[object]:  # type: ignore[override]
            raise NotImplementedError

        async def aget_by_ids(self, ids: object, /) -> list[object]:  # type: ignore[override]
            raise NotImplementedError

    store = SearchOnly(words)
    retriever = SentenceWindowRetriever(vectorstore=store, splitter=SentenceSplitter(inline_window=1))
    retriever.add_documents([document("A refund. It ends.", "a")])
    server = create_mcp_server(retriever)
    assert (await called(server, "search", {"query": "refund"})).structured_content["results"]
    for name, arguments in (
        ("fetch", {"id": "a"}),
        ("read_around", {"doc_id": "a", "first": 0, "last": 0}),
        ("verify_quote", {"quote": "A refund.", "doc_id": "a"}),
    ):
        failed = await called(server, name, arguments)
        assert failed.is_error
        assert text_of(failed) == "This index can't be read sentence by sentence. Search again instead."
