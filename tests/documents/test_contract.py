"""Keys of the metadata contract: a document's own are renamed, and what a store gives back is never trusted blindly."""

from types import ModuleType
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.documents import keys, window_fields
from langchain_sentence_window.documents.keys import CONTRACT_KEYS
from langchain_sentence_window.documents.sentence_documents import read_sentence
from langchain_sentence_window.errors import IncompleteWindowError
from tests.conftest import Invoke
from tests.toys import WordEmbeddings

TEXT = "A card. A seat. A trial."
RESERVED: list[dict[str, Any]] = [
    {"window_spans": "x"},
    {"window_spans": "0:5", "window_text": "EVIL!"},
    *({key: "x"} for key in sorted(CONTRACT_KEYS - {"doc_id"})),
    {"relevance_score": "high", "score": 0.5, "sentence_index": "7", "separator": "", "kind": True},
]


def keys_in_the_table_of(module: ModuleType) -> set[str]:
    lines = str(module.__doc__).splitlines()
    return {line.split("``")[1] for line in lines if line.startswith("``") and "  " in line}


def test_the_contract_names_every_key_in_its_tables() -> None:
    assert keys_in_the_table_of(keys) == keys.SENTENCE_KEYS
    assert keys_in_the_table_of(window_fields) == {field.key for field in window_fields.FIELDS} == keys.WINDOW_KEYS


@pytest.mark.parametrize("own", RESERVED, ids=", ".join)
async def test_keys_of_the_contract_in_a_document_are_renamed_and_never_obeyed(
    own: dict[str, Any], words: WordEmbeddings, way: Invoke
) -> None:
    given = [
        Document(page_content="An invoice. A page.", id="good"),
        Document(page_content=TEXT, id="bad", metadata=dict(own)),
    ]
    store = FaissStore(words, neighbor_weights=(1,))
    retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0, window=1)
    await way(retriever, "add_documents", given)
    assert given[1].metadata == own
    [found] = await way(retriever, "invoke", "seat", k=1)
    assert (found.page_content, found.metadata["doc_id"], found.metadata["sentences"]) == (TEXT, "bad", [0, 2])
    assert {key: found.metadata[f"source_{key}"] for key in own} == own
    assert "relevance_score" not in found.metadata
    assert [each.page_content for each in await way(retriever, "get", ["good", "bad"])] == [
        "An invoice. A page.",
        TEXT,
    ]
    assert "bad" in str(retriever.explain("seat"))
    for key, value in own.items():
        kept = await way(retriever, "invoke", "seat", k=9, filter={f"source_{key}": value})
        assert {each.metadata["doc_id"] for each in kept} == {"bad"}


def carried(**own: Any) -> dict[str, Any]:
    """Return what of a document's own metadata its sentences carry."""
    document = Document(page_content="A card.", metadata=own)
    [made] = SentenceSplitter().split_documents([document])
    return {key: value for key, value in made.metadata.items() if key not in CONTRACT_KEYS}


def test_a_renamed_key_takes_no_other_ones_place() -> None:
    assert carried(kind="report", source_kind="web") == {"source_kind": "web", "source_source_kind": "report"}
    assert carried(source_kind="web", kind="report") == {"source_kind": "web", "source_source_kind": "report"}
    assert carried(kind="web", source_kind="web") == {"source_kind": "web"}
    assert carried(kind=True, source_kind=1) == {"source_kind": 1, "source_source_kind": True}


def test_a_document_names_itself_and_tells_where_it_was_cut_from() -> None:
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


async def test_a_document_that_is_read_and_added_again_stays_as_it_is(words: WordEmbeddings, way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    await way(retriever, "add_documents", [Document(page_content=TEXT, id="a", metadata={"kind": "report"})])
    first = await way(retriever, "get", ["a"])
    for _ in range(3):
        await way(retriever, "add_documents", await way(retriever, "get", ["a"]))
    assert await way(retriever, "get", ["a"]) == first


NO_PLACES: list[Any] = ["x", None, [], -1]


def sentence(**forged: Any) -> Document:
    """The second sentence of a text as a store may give it back, with its window."""
    made = SentenceSplitter(inline_window=1).split_documents([Document(page_content=TEXT, id="a")])
    return made[1].model_copy(update={"metadata": made[1].metadata | forged})


@pytest.mark.parametrize(
    "forged",
    [
        *({"sentence_index": value} for value in NO_PLACES),
        *({"section_end": value} for value in NO_PLACES),
        *({"start_index": value} for value in (float("nan"), float("inf"), 8.5, 10**30, True, 99)),
        *({"sentence_index": 3}, {"section_start": 2}, {"section_end": 1}),
        *({"doc_id": None}, {"doc_id": 7}, {"heading": 7}, {"separator": 7}),
        *(
            {"window_spans": value}
            for value in ("x", "", 7, None, "0:5", "0:x", "-8:1 0:7 8:16", "-8:-1 0:7 8:99", "-8:-1 1:7 8:16")
        ),
        *({"window_spans": "-8:-1 0:7 0:16"}, {"window_spans": "-9:-1 0:7 8:16"}, {"window_spans": "0:7:9"}),
        *({"window_spans": "-8:-1 0:7 8:16 16:16"}, {"window_spans": "-8:-8 -8:-1 0:7 8:16"}),
        *({"window_text": value} for value in (None, 7, "EVIL!", "EVIL EVIL EVIL EVIL EVIL")),
        {"window_separator": 7},
    ],
    ids=str,
)
def test_a_row_that_cannot_be_true_names_its_document_and_the_cure(forged: dict[str, Any]) -> None:
    with pytest.raises(IncompleteWindowError) as caught:
        read_sentence(sentence(**forged))
    message = str(caught.value)
    assert repr(forged.get("doc_id", "a")) in message
    assert "delete that document and add it again" in message


def test_a_value_in_a_message_is_cut() -> None:
    with pytest.raises(IncompleteWindowError) as caught:
        read_sentence(sentence(sentence_index="x" * 10_000))
    assert len(str(caught.value)) < 400


def test_numbers_that_a_store_gives_back_as_floats_or_strings_are_read() -> None:
    read = read_sentence(sentence(sentence_index=1.0, start_index="8"))
    assert (read.index, read.start, read.end) == (1, 8, 15)
    assert [each.text for each in read.window] == ["A card.", "A seat.", "A trial."]
    assert read == read_sentence(sentence())


def test_what_a_store_has_under_keys_of_windows_does_not_come_out() -> None:
    read = read_sentence(sentence(relevance_score="high", score="x", hits="x", page=3))
    assert read.source == {"page": 3}


def test_a_document_that_is_read_edited_and_added_again_keeps_its_metadata(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    retriever.add_documents([Document(page_content="\n\nA refund.", id="a", metadata={"lang": "en"})])
    keys = {"doc_id", "start_index", "end_index", "lang"}
    for _ in range(3):
        (found,) = retriever.get(["a"])
        assert set(found.metadata) == keys
        retriever.add_documents([found.model_copy(update={"page_content": f"{found.page_content} A card."})])
    assert retriever.get(["a"])[0].page_content == "A refund. A card. A card. A card."
