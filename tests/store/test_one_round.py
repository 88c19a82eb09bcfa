"""Searching and reading in one round: sentences are those that their Documents would give, all of one state."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, read_sentence
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.candidates import Candidates
from tests.conftest import Invoke
from tests.toys import WordEmbeddings

FIELDS = [field for field in StoredSentence.__slots__ if field != "window"]
TEXTS = ["A refund.", "", "nul \0 inside", "lone \ud800 surrogate", "ümlaut 字 😀", "two\nlines\n", "\n", "x" * 5_000]
RARE: list[dict[str, Any]] = [
    {"separator": "\n"},
    {"kind": "list item", "lead_in": 0, "heading": "Fees > \0 Card"},
    {"nested": {"a": [1]}, "large": 2**70, "none": None},
    {"kind": "heading", "heading_level": 2, "part_spans": "[]"},
    {},
]


def sentence(doc_id: str, index: int, end: int, text: str, **metadata: Any) -> Document:
    place = {"doc_id": doc_id, "sentence_index": index, "start_index": 0, "end_index": len(text)}
    return Document(
        id=f"{doc_id}/{index}",
        page_content=text,
        metadata={**place, "section_start": 0, "section_end": end, **metadata},
    )


def documents(count: int, per_document: int = 10) -> list[Document]:
    return [
        sentence(str(at // per_document), at % per_document, per_document, f"card {at}", tag=at % 3)
        for at in range(count)
    ]


class Found(NamedTuple):
    sentences: Sequence[StoredSentence]
    scores: Sequence[float]
    near: SentencesByKey


def find(store: FaissStore, query: str, k: int, *, lexical_weight: float = 0.0, **settings: Any) -> Found:
    """Find sentences, ranked by meaning, and read those around them in the same state."""
    vector = np.array(WordEmbeddings().vector(query), dtype=np.float32)

    def work(state: Any) -> Found:
        unit = vector / np.linalg.norm(vector)
        found = state.search(unit, query, k, lexical_weight=lexical_weight, **settings)
        order = np.argsort(-found.candidates.dense, kind="stable")[:k]
        sentences = found.sentences(order.tolist())
        near = [(each.doc_id, each.index + step) for each, step in product(sentences, (-1, 0, 1, 1))]
        others = state.sentences([*near, ("0", 99), ("elsewhere", 1), ("0", -1)], settings.get("filter"))
        return Found(sentences, found.candidates.dense[order].tolist(), others)

    return store.read(work)


def same(one: StoredSentence, other: StoredSentence) -> bool:
    return all(getattr(one, field) == getattr(other, field) for field in FIELDS)


def by_meaning(candidates: Candidates) -> Any:
    return candidates.dense


@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(RARE)), min_size=1, max_size=12))
def test_what_is_found_is_what_documents_give(given_: list[tuple[str, dict[str, Any]]]) -> None:
    count = len(given_)
    written = [sentence("0", at, count, text, **metadata) for at, (text, metadata) in enumerate(given_)]
    written[0].metadata.pop("lead_in", None)  # which no first sentence has
    with FaissStore.from_documents(written, WordEmbeddings()) as store:
        made = find(store, "refund", 99, lexical_weight=0.5)
        plain = store.hybrid_search("refund", 99, rank=by_meaning, lexical_weight=0.5)
        assert len(made.sentences) == len(plain) == count
        assert list(made.scores) == [score for _, score in plain]
        for found, (document, _) in zip(made.sentences, plain, strict=True):
            assert same(found, read_sentence(document))
            assert same(made.near[found.key], found)
        assert [made.near["0", at].text for at in range(count)] == [text for text, _ in given_]


def test_what_is_near_is_read_within_the_filter(words: WordEmbeddings) -> None:
    store = FaissStore.from_documents(documents(40), words)
    whole = find(store, "card 12", 3)
    expected = {(each.doc_id, each.index + step) for each, step in product(whole.sentences, (-1, 0, 1))}
    assert whole.near.keys() == {(doc_id, index) for doc_id, index in expected if 0 <= index < 10}
    for (doc_id, index), each in whole.near.items():
        assert same(each, read_sentence(store.get_by_ids([f"{doc_id}/{index}"])[0]))
    bound = find(store, "card 12", 3, filter={"tag": 0})
    assert {each.source["tag"] for each in bound.near.values()} == {0}
    assert bound.near.keys() == {each.key for each in bound.sentences}


@pytest.mark.parametrize("metadata", [{}, {"doc_id": "a"}, {"doc_id": "a", "sentence_index": 0}])
def test_a_document_that_is_no_sentence_is_refused(words: WordEmbeddings, metadata: dict[str, Any]) -> None:
    store = FaissStore.from_documents([Document(id="plain", page_content="card", metadata=metadata)], words)
    lacking = "'(doc_id|sentence_index|start_index)' in its metadata"
    with pytest.raises(IncompleteWindowError, match=rf"\(id '.*'\) without {lacking}"):
        find(store, "card", 1)


def test_metadata_that_is_invalid_is_refused_when_it_is_read(words: WordEmbeddings) -> None:
    store = FaissStore.from_documents(
        [sentence("a", at, 2, "card", start_index=9, end_index=3) for at in (0, 1)], words
    )
    with pytest.raises(IncompleteWindowError, match="start_index is 9, end_index is 3"):
        find(store, "card", 1)


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": "x"}, {"lexical_weight": -1.0}])
def test_invalid_arguments_are_refused(words: WordEmbeddings, bad: dict[str, Any]) -> None:
    store = FaissStore.from_documents(documents(3), words)
    with pytest.raises(InvalidInputError):
        find(store, "card", **{"k": 1, "lexical_weight": 0.5, **bad})
    assert not find(FaissStore(words), "card", 1, lexical_weight=0.5).sentences


async def test_a_query_makes_one_read_for_names_and_everything_else(
    words: WordEmbeddings, way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = SentenceWindowRetriever.from_documents(
        [Document(f"A card. It is {name}. " * 9, metadata={"doc_id": name}) for name in "abc"], words, k=2
    )
    await way(retriever, "invoke", "card")
    read, reads = FaissStore.read, [0]

    def counting(self: FaissStore, work: Callable[[Any], Any], **settings: Any) -> Any:
        reads[0] += 1
        return read(self, work, **settings)

    monkeypatch.setattr(FaissStore, "read", counting)
    monkeypatch.setattr(FaissStore, "get_by_ids_within", None)
    assert len(await way(retriever, "invoke", "a card")) == 2
    assert reads == [1]
    assert len(await way(retriever.model_copy(update={"names": False}), "invoke", "a card", max_tokens=60)) == 2
    assert reads == [2]


async def test_a_store_that_searches_or_reads_itself_is_asked(words: WordEmbeddings, way: Invoke) -> None:
    """Methods that a subclass overrides are called, as they may hide what not everybody may see."""

    class Masking(FaissStore):
        def hybrid_search(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
            found = super().hybrid_search(*given, **settings)
            return [pair for pair in found if "secret" not in pair[0].page_content]

        async def ahybrid_search(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
            found = await super().ahybrid_search(*given, **settings)
            return [pair for pair in found if "secret" not in pair[0].page_content]

    retriever = SentenceWindowRetriever(vectorstore=Masking(words), window=0, k=9)
    retriever.add_documents([Document("The secret card.\n\nA card."), Document("Another card.")])
    found = await way(retriever, "invoke", "card")
    assert sorted(each.page_content for each in found) == ["A card.", "Another card."]
