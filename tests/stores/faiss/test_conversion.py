"""Metadata that can't be stored, and errors that name the key at fault."""

from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.documents.metadata_values import MAX_LEVELS
from langchain_sentence_window.errors import InvalidInputError
from tests.stores.faiss.test_filters import nested_list
from tests.toys import WordEmbeddings

CIRCULAR: list[Any] = []
CIRCULAR.append([CIRCULAR, CIRCULAR])


@pytest.mark.parametrize("place", [{}, {"doc_id": "a", "sentence_index": 0}], ids=["alone", "sentence"])
@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"deep": nested_list(MAX_LEVELS)},
            "the metadata 'deep': .* can't be stored as JSON: it nests more than 99 lev",
        ),
        ({"deep": nested_list(100_000)}, "the metadata 'deep': .*list of 1.* can't be stored .* nests more than"),
        ({"circular": CIRCULAR}, "the metadata 'circular': .* can't be stored as JSON: it nests more than 99 levels"),
        (
            {"n": 10**5_000},
            "the metadata 'n': an int of more than 30 digits can't be stored .* Exceeds the limit",
        ),
        (
            {"lang": "en", "when": {1j}},
            r"the metadata 'when': a set can't be stored as JSON: .*complex; convert it",
        ),
        ({"raw": b"x" * 1_000}, r"the metadata 'raw': b'x{80}'… \(1,000 bytes\) can't be stored as JSON"),
        ({"start_index": float("inf")}, "the metadata 'start_index': inf can't be stored as JSON"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_metadata_that_json_cannot_hold_is_refused(
    words: WordEmbeddings, metadata: dict[str, Any], message: str, place: dict[str, Any]
) -> None:
    with FaissStore(words) as store:
        with pytest.raises(InvalidInputError, match=message):
            store.add_documents([Document(page_content="x", metadata={**place, **metadata})])
        assert len(store) == 0
        assert words.embedded == []


def test_metadata_of_the_most_levels_comes_back_and_is_filtered(words: WordEmbeddings) -> None:
    metadata = {"deep": nested_list(MAX_LEVELS - 1), "lang": "en"}
    with FaissStore(words) as store:
        (id_,) = store.add_documents([Document(page_content="x", metadata=metadata)])
        assert store.get_by_ids([id_])[0].metadata == metadata
        assert [each.id for each in store.similarity_search("x", filter={"lang": "en", "deep": {"$exists": True}})] == [
            id_
        ]


@pytest.mark.parametrize("start", [0, -3, 2**62, 2**70, True, 1.0, "7", None])
def test_what_stands_in_the_metadata_of_a_sentence_comes_back(words: WordEmbeddings, start: object) -> None:
    metadata = {"doc_id": "a", "sentence_index": 0, "start_index": start, "end_index": 5, "note": "b"}
    store = FaissStore(words)
    store.add_documents([Document("Seats", metadata=dict(metadata), id="1")])
    (found,) = store.get_by_ids(["1"])
    assert found.metadata == metadata
    assert type(found.metadata["start_index"]) is type(start)
