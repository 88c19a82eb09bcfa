"""The metadata contract: a document's own keys are renamed, and what a store gives back is checked."""

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.documents.keys import CONTRACT_KEYS, WINDOW_KEYS
from langchain_sentence_window.errors import IncompleteWindowError
from tests.forms import Invoke
from tests.toys import WordEmbeddings

TEXT = "A card. A seat. A trial."
FORGED = dict.fromkeys(CONTRACT_KEYS - {"doc_id"}, "x")


def test_the_documentation_lists_every_key_of_a_window() -> None:
    page = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text(encoding="utf-8")
    table = page.partition("A window has the metadata of its document, and these keys:")[2].partition("\n\n| key")[2]
    rows = table.partition("\n\n")[0].splitlines()[2:]
    assert sorted(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in rows))) == sorted(WINDOW_KEYS)


@pytest.mark.parametrize(
    "own",
    [FORGED, {"window_spans": "0:5", "window_text": "EVIL!"}, {"score": 0.5, "sentence_index": "7", "kind": True}],
    ids=["all", "inline", "others"],
)
async def test_keys_of_the_contract_in_a_document_are_renamed_and_never_obeyed(
    own: dict[str, Any], words: WordEmbeddings, way: Invoke
) -> None:
    documents = [Document("An invoice. A page.", id="good"), Document(TEXT, id="bad", metadata=dict(own))]
    store = FaissStore(words, neighbor_weights=(1,))
    retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0, window=1)
    await way(retriever, "add_documents", documents)
    assert documents[1].metadata == own
    [found] = await way(retriever, "invoke", "seat", k=1)
    assert (found.page_content, found.metadata["doc_id"], found.metadata["sentences"]) == (TEXT, "bad", [0, 2])
    assert {key: found.metadata[f"source_{key}"] for key in own} == own
    assert "relevance_score" not in found.metadata
    assert [each.page_content for each in await way(retriever, "get", ["good", "bad"])] == ["An invoice. A page.", TEXT]
    key, value = next(iter(own.items()))
    kept = await way(retriever, "invoke", "seat", k=9, filter={f"source_{key}": value})
    assert {each.metadata["doc_id"] for each in kept} == {"bad"}


def carried(**own: Any) -> dict[str, Any]:
    """Return what of a document's own metadata its sentences carry."""
    document = Document(page_content="A card.", metadata=own)
    [made] = SentenceSplitter().split_documents([document])
    return {key: value for key, value in made.metadata.items() if key not in CONTRACT_KEYS}


def test_a_renamed_key_replaces_no_other() -> None:
    assert carried(kind="report", source_kind="web") == {"source_kind": "web", "source_source_kind": "report"}
    assert carried(source_kind="web", kind="report") == {"source_kind": "web", "source_source_kind": "report"}
    assert carried(kind="web", source_kind="web") == {"source_kind": "web"}
    assert carried(kind=True, source_kind=1) == {"source_kind": 1, "source_source_kind": True}


def test_the_name_and_the_place_of_a_document_are_read() -> None:
    assert carried(doc_id="a") == {}
    assert carried(doc_id=7) == {}
    assert carried(start_index=0, end_index=7) == {}
    assert carried(start_index=500) == {}
    [chunk] = SentenceSplitter().split_documents([Document(page_content="A card.", metadata={"start_index": 500})])
    assert chunk.metadata["part_spans"] == "[[500,0,7]]"
    assert carried(start_index=500, end_index=507) == {"source_start_index": 500, "source_end_index": 507}
    named = Document(page_content="A card.", id="b", metadata={"doc_id": "a"})
    [made] = SentenceSplitter().split_documents([named])
    assert (made.metadata["doc_id"], made.metadata["source_doc_id"]) == ("b", "a")


async def test_a_document_that_is_read_and_added_again_is_unchanged(words: WordEmbeddings, way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    await way(retriever, "add_documents", [Document(page_content=TEXT, id="a", metadata={"kind": "report"})])
    first = await way(retriever, "get", ["a"])
    for _ in range(3):
        await way(retriever, "add_documents", await way(retriever, "get", ["a"]))
    assert await way(retriever, "get", ["a"]) == first


def read(**forged: Any) -> list[Document]:
    """The windows of a store that gives back the second sentence of a text with other metadata."""
    [first, second, third] = SentenceSplitter(inline_window=1).split_documents([Document(TEXT, id="a")])
    store = FaissStore(WordEmbeddings())
    store.add_documents([first, second.model_copy(update={"metadata": second.metadata | forged}), third])
    return SentenceWindowRetriever(vectorstore=store, k=1, fetch_k=1, window=1, lexical_weight=0).invoke("seat")


@pytest.mark.parametrize(
    "forged",
    [
        *({"sentence_index": value} for value in ("x", None, -1, 3, "x" * 10_000)),
        *({"start_index": value} for value in (8.5, 10**30, True, 99)),
        *({"section_start": 2}, {"section_end": 1}, {"section_end": "x"}),
        *({"doc_id": 7}, {"heading": 7}, {"separator": 7}, {"window_separator": 7}),
        *({"pieces_start": low, "pieces_end": high} for low, high in ((0, 1), (1, 99), (2, 1), (-1, 3))),
        *({"lead_in": value} for value in (1, 2, "x")),
        *({"window_spans": value} for value in ("x", "", 7, "0:5", "0:x", "-8:1 0:7 8:16", "-8:-1 1:7 8:16")),
        *({"window_spans": value} for value in ("-8:-1 0:7 0:16", "0:7:9", "-8:-8 -8:-1 0:7 8:16")),
        *({"window_text": value} for value in (7, "EVIL!", "EVIL EVIL EVIL EVIL EVIL")),
    ],
    ids=lambda forged: str(forged)[:40],
)
def test_an_invalid_row_of_a_store_names_its_document_and_the_cure(forged: dict[str, Any]) -> None:
    with pytest.raises(IncompleteWindowError, match="delete that document and add it again") as caught:
        read(**forged)
    assert repr(forged.get("doc_id", "a")) in str(caught.value)
    assert len(str(caught.value)) < 500


def test_numbers_that_a_store_gives_back_as_floats_or_strings_are_read() -> None:
    def places(**forged: Any) -> list[Any]:
        [window] = read(**forged)
        return [window.page_content, *(window.metadata[key] for key in ("sentences", "sentence_spans", "window_id"))]

    assert places()[:2] == [TEXT, [0, 2]]
    assert places(sentence_index=1.0, start_index="8") == places()
    [window] = read(relevance_score="high", also_in="x", kept="yes")  # keys of windows are never taken from a store
    assert window.metadata["kept"] == "yes"
    assert window.metadata.keys().isdisjoint({"relevance_score", "also_in"})
