"""`fetch`: reading on in a long document."""

import re

import pytest

from app.tests.mcp.conftest import called, text_of
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server
from tests.toys import WordEmbeddings, document

LONG = " ".join(f"This is number {number}." for number in range(400))


@pytest.fixture
def long(words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents([document(LONG, "long"), document("One.", "short")], words)


@pytest.mark.parametrize(
    ("id_", "sentences", "note"),
    [
        ("long", [0, 150], "after sentence 150"),
        ("long#0-3", [0, 53], "after sentence 53"),
        ("long#200-202", [150, 252], "before sentence 150|after sentence 252"),
        ("long#399-399", [349, 399], "before sentence 349"),
        ("long#399-450", [349, 399], "before sentence 349"),
        ("short#0-0", [0, 0], ""),
    ],
)
async def test_a_long_document_is_cut_and_the_note_says_how_to_read_on(
    long: SentenceWindowRetriever, id_: str, sentences: list[int], note: str
) -> None:
    found = (await called(create_mcp_server(long), "fetch", {"id": id_})).structured_content
    assert found["sentences"] == sentences
    assert (LONG if "long" in id_ else "One.")[found["start"] : found["end"]] == found["text"]
    for part in filter(None, note.split("|")):
        assert part in found["note"]
    assert bool(note) == ("note" in found)
    shown = text_of(await called(create_mcp_server(long, text="sources"), "fetch", {"id": id_}))
    assert shown.endswith(found.get("note", "</source>"))


async def test_the_note_can_be_followed_to_both_sides(long: SentenceWindowRetriever) -> None:
    server = create_mcp_server(long)
    found = (await called(server, "fetch", {"id": "long#200-200"})).structured_content
    seen = set(range(found["sentences"][0], found["sentences"][1] + 1))
    for side in re.findall(r"read_around with ([^)]*)", found["note"]):
        arguments = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", side)}
        (more,) = (await called(server, "read_around", {"doc_id": "long", **arguments})).structured_content["results"]
        seen |= set(range(more["sentences"][0], more["sentences"][1] + 1))
    assert seen == set(range(100, 301))
