"""Metadata in a store: what it can hold comes back, and the rest is left out with a warning."""

import copy
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever, copy_index
from langchain_sentence_window.adapters.local_stores import InMemoryAdapter
from langchain_sentence_window.documents.metadata_values import MAX_LEVELS
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings
from langchain_sentence_window.errors import SentenceWindowWarning
from langchain_sentence_window.stores import StoreAdapter, register
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document, nested_list

RICH: dict[str, Any] = {
    "groups": ["staff", "north"],
    "nested": {"a": [1, {"b": None}], "c": {}},
    "nothing": None,
    "deep": nested_list(MAX_LEVELS - 1),
    "odd text": "lone \ud800 and \0",
    "large": 2**70,
    "flag": True,
}
KEPT = {**RICH, "day": "2024-05-01", "pair": [1, 2], "path": "a/b.md"}


def rich(doc_id: str = "a") -> Document:
    more = {"day": date(2024, 5, 1), "pair": (1, 2), "path": Path("a/b.md")}
    return document("A refund. A card.", doc_id, **copy.deepcopy(RICH), **more)


class Narrow(InMemoryVectorStore):
    """A store that holds strings, numbers and booleans."""


class NarrowAdapter(InMemoryAdapter):
    holds_json = False
    holds = StoreAdapter.holds


register(Narrow, NarrowAdapter)


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
async def test_what_json_holds_comes_back_in_windows_and_documents(way: Invoke, kind: Any, tmp_path: Path) -> None:
    store = FaissStore(WordEmbeddings(), tmp_path / "index") if kind is FaissStore else kind(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store)
    given = rich()
    before = copy.deepcopy(given)
    assert await way(retriever, "add_documents", [given]) == ["a"]
    assert given == before
    for _ in range(2):
        (window,) = await way(retriever, "invoke", "refund", k=1)
        (whole,) = await way(retriever, "get", ["a"])
        for found in (window, whole):
            assert {key: found.metadata.get(key) for key in KEPT} == KEPT
            found.metadata["groups"].append("what the user adds stays with the user")
            found.metadata["nested"]["a"][1]["b"] = 1
    await way(retriever, "add_documents", await way(retriever, "get", ["a"]))
    (again,) = await way(retriever, "get", ["a"])
    assert {key: again.metadata.get(key) for key in KEPT} == KEPT


async def test_one_warning_a_call_names_all_keys_the_store_and_the_cure(way: Invoke, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=Narrow(words), lexical_weight=0)
    with pytest.warns(SentenceWindowWarning) as caught:
        await way(retriever, "add_documents", [rich("a"), rich("b"), document("A seat.", "c", other=[])])
    (told,) = [str(each.message) for each in caught]
    assert told == (
        "metadata was left out, as Narrow can't hold it: 'groups', 'nested', 'nothing', 'deep', 'pair', 'other'; "
        "convert it to strings, or use a store that holds JSON, such as FaissStore"
    )
    (window,) = await way(retriever, "invoke", "refund", k=1)
    assert (window.metadata["day"], window.metadata["path"], window.metadata["flag"]) == ("2024-05-01", "a/b.md", True)
    assert window.metadata.keys().isdisjoint({"groups", "nested", "nothing", "deep", "pair"})


@pytest.mark.parametrize(
    "make",
    [
        object,
        lambda: float("nan"),
        lambda: 10**5_000,
        lambda: nested_list(MAX_LEVELS),
        lambda: {"a": object()},
    ],
)
async def test_values_that_no_store_holds_are_left_out_and_named(way: Invoke, words: WordEmbeddings, make: Any) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    metadata = {"odd": make(), 7: 1, "x": 1}
    with pytest.warns(SentenceWindowWarning, match="as FaissStore can't hold it: 'odd', 7; convert it to strings, fin"):
        await way(retriever, "add_documents", [Document("A card.", id="a", metadata=metadata)])
    (found,) = await way(retriever, "get", ["a"])
    assert {key: found.metadata.get(key) for key in ("odd", 7, "x")} == {"odd": None, 7: None, "x": 1}


def test_no_warning_if_nothing_is_left_out(words: WordEmbeddings) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SentenceWindowRetriever(vectorstore=FaissStore(words)).add_documents([rich()])
        SentenceSplitter().split_documents([document("A card.", day=date(2024, 5, 1), page=3)])


def test_an_index_that_is_copied_is_fitted_to_its_target(words: WordEmbeddings) -> None:
    source = FaissStore(words)
    SentenceWindowRetriever(vectorstore=source).add_documents([rich("a"), rich("b")])
    target = Narrow(NeighborMixedEmbeddings(words))
    with pytest.warns(SentenceWindowWarning, match="as Narrow can't hold it: 'groups', 'nested', 'nothing'") as caught:
        assert copy_index(source, target) == 4
    assert len(caught) == 1
    retriever = SentenceWindowRetriever(vectorstore=target, lexical_weight=0)
    assert [each.page_content for each in retriever.get(["a", "b"])] == ["A refund. A card."] * 2
