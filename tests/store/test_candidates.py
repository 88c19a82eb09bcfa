"""Candidates of a search: what ranking is given, and what is made of its scores."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.candidates import CANDIDATES, NO_TEXT, Candidates
from tests.conftest import Invoke
from tests.filter_model import matches
from tests.toys import WordEmbeddings

TEXTS = ["A refund for the annual plan.", "The refund is paid to the card.", "A card, a CARD!", "Nothing at all."]


def sentence(doc_id: str, index: int, start: int, end: int, text: str, **metadata: Any) -> Document:
    place = {"doc_id": doc_id, "sentence_index": index, "section_start": start, "section_end": end}
    return Document(id=f"{doc_id}{index}", page_content=text, metadata={**place, **metadata})


def section(doc_id: str, start: int, *texts: str, **metadata: Any) -> list[Document]:
    end = start + len(texts)
    return [sentence(doc_id, start + n, start, end, text, **metadata) for n, text in enumerate(texts)]


class Noting:
    """Ranks by meaning, and keeps the candidates."""

    def __init__(self) -> None:
        self.seen: list[Candidates] = []

    def __call__(self, candidates: Candidates) -> Any:
        self.seen.append(candidates)
        return candidates.dense

    @property
    def last(self) -> Candidates:
        return self.seen[-1]


def expected(candidates: Candidates, stored: dict[str, Document], asked: dict[str, Any]) -> None:
    """Check candidates against what a plain read of the documents gives."""
    sentences = {
        (each.metadata["doc_id"], each.metadata["sentence_index"]): each
        for each in stored.values()
        if "sentence_index" in each.metadata and "doc_id" in each.metadata
    }
    for at, key in enumerate(candidates.keys):
        found = sentences.get(key) or stored[key[0]]
        is_sentence = key in sentences
        metadata = found.metadata
        assert candidates.texts[at] == found.page_content
        bounds = (metadata["section_start"], metadata["section_end"]) if is_sentence else (0, 1)
        assert (candidates.section_starts[at], candidates.section_ends[at]) == bounds
        assert candidates.headings[at] == (metadata.get("heading", "") if is_sentence else "")
        assert candidates.kinds[at] == (metadata.get("kind", "prose") if is_sentence else "")
        for step, column in ((-1, candidates.before), (1, candidates.after)):
            other = sentences.get((key[0], key[1] + step)) if bounds[0] <= key[1] + step < bounds[1] else None
            if other is None or not matches(other.metadata, asked):
                assert column[at] == NO_TEXT
            else:
                assert candidates.texts[column[at]] == other.page_content
    # Each is read once, and none that the filter forbids.
    allowed = Counter(each.page_content for each in stored.values() if matches(each.metadata, asked))
    assert Counter(candidates.texts) <= allowed


own_metadata: list[dict[str, Any]] = [{}, {"kind": "list item"}, {"tag": 1}, {"tag": 2}]
section_metadata: list[dict[str, Any]] = [
    {},
    {"heading": "Fees > Card\x00\ue000"},
    {"heading": "\ud800"},
    {"heading": ""},
]
asked_filters: list[dict[str, Any]] = [{}, {"tag": 1}, {"tag": {"$exists": False}}, {"doc_id": "a"}]
words_ = st.lists(st.sampled_from(["refund", "card", "seat", "page\x00", "\ud800", "\ue000"]), max_size=3).map(" ".join)
sections = st.tuples(
    st.sampled_from(section_metadata), st.lists(st.tuples(words_, st.sampled_from(own_metadata)), min_size=1)
)


@pytest.mark.filterwarnings("ignore:nothing was found, as no document has")
@given(st.data())
def test_candidates_are_what_a_plain_read_gives(data: st.DataObject) -> None:
    """Whatever the order in which sentences were added, replaced and deleted, and under filters."""
    given_: list[Document] = []
    for doc_id in "ab":
        at = 0
        for metadata, sentences in data.draw(st.lists(sections, max_size=3)):
            for n, (text, own) in enumerate(sentences):
                given_.append(sentence(doc_id, at + n, at, at + len(sentences), text, **metadata, **own))
            at += len(sentences)
    given_ += [
        Document(id="plain", page_content="refund", metadata={"heading": "Fees", "tag": 1}),
        Document(id="part", page_content="a card", metadata={"doc_id": "a", "kind": "list item"}),
    ]
    if data.draw(st.booleans()):
        given_ = data.draw(st.permutations(given_))
    stored = {str(each.id): each for each in given_}
    with FaissStore(WordEmbeddings()) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr("langchain_sentence_window.store.state.CANDIDATES", data.draw(st.integers(1, 9)))
        for start in range(0, len(given_), 5):
            store.add_documents(given_[start : start + 5])
        for id_ in data.draw(st.lists(st.sampled_from(sorted(stored)), max_size=3, unique=True)):
            if data.draw(st.booleans()):
                store.delete([id_])
                del stored[id_]
            else:
                stored[id_] = stored[id_].model_copy(update={"page_content": f"{stored[id_].page_content} seat"})
                store.add_documents([stored[id_]])
        asked = data.draw(st.sampled_from(asked_filters))
        k, rank = data.draw(st.integers(1, 9)), Noting()
        for weight in (0, 0.5):
            found = store.hybrid_search("a card seat", k, filter=asked, lexical_weight=weight, rank=rank)
            if found:
                expected(rank.last, stored, asked)
                assert len(found) == min(k, len(rank.last))
                assert all(stored[str(each.id)] == each for each, _ in found)
                assert all(matches(each.metadata, asked) for each, _ in found)


async def test_a_score_is_what_rank_returns_and_equal_ones_stay_in_order(words: WordEmbeddings, way: Invoke) -> None:
    store = FaissStore.from_texts([*TEXTS, "refund card page"], words, ids=list("abcde"))
    usual = [each.id for each, _ in await way(store, "hybrid_search", "refund card", k=9)]
    assert len(usual) == 5
    same = await way(store, "hybrid_search", "refund card", k=9, rank=lambda found: np.zeros(len(found)))
    assert [(each.id, score) for each, score in same] == [(id_, 0.0) for id_ in usual]
    places = {id_: float(at) for at, id_ in enumerate(usual)}
    last = await way(
        store, "hybrid_search", "refund card", k=2, rank=lambda found: [places[id_] for id_, _ in found.keys]
    )
    assert [(each.id, score) for each, score in last] == [(usual[4], 4.0), (usual[3], 3.0)]


async def test_rank_is_given_the_scores_of_both_searches(words: WordEmbeddings, way: Invoke) -> None:
    store, rank = FaissStore(words, neighbor_weights=(1,)), Noting()
    await way(store, "add_documents", [*section("a", 0, *TEXTS), Document(id="b", page_content="A seat.")])
    await way(store, "hybrid_search", "the card of the trial", k=9, rank=rank)
    (cosines,) = [{each.id: score for each, score in store.similarity_search_with_score("the card of the trial", 9)}]
    bm25 = {each.id: score for each, score in store.lexical_search("the card of the trial", 9)}
    ids = [key[0] if key[0] == "b" else f"a{key[1]}" for key in rank.last.keys]
    assert sorted(ids) == ["a0", "a1", "a2", "a3", "b"]
    assert rank.last.dense.tolist() == pytest.approx([cosines[id_] for id_ in ids])
    assert rank.last.lexical.tolist() == pytest.approx([bm25.get(id_, 0.0) for id_ in ids])
    assert rank.last.document_frequency is not None
    assert rank.last.document_frequency(["card", "THE", "none", "", "a-card", "a" * 10**6, "\ud800"]) == (
        [2, 2, 0, 0, 2, 0, 0],
        5,
    )


async def test_meaning_alone_is_ranked_without_a_lexical_index(
    words: WordEmbeddings, way: Invoke, tmp_path: Path
) -> None:
    store, rank = FaissStore.from_texts(TEXTS, words, ids=list("abcd"), path=tmp_path), Noting()
    found = await way(store, "hybrid_search", "refund", k=2, lexical_weight=0, rank=rank)
    usual = await way(store, "similarity_search_with_score", "refund", k=2)
    assert [each for each, _ in found] == [each for each, _ in usual]
    assert [score for _, score in found] == pytest.approx([score for _, score in usual])
    assert rank.last.lexical.tolist() == [0.0] * 4
    assert rank.last.document_frequency is None
    assert store.stats().bytes["lexical"] == 0
    store.close()


def test_words_of_removed_sentences_are_not_counted_above_what_is_left(words: WordEmbeddings) -> None:
    store, rank = FaissStore.from_texts(TEXTS, words, ids=list("abcd")), Noting()
    store.hybrid_search("card", rank=rank)
    store.delete(["a", "b", "d"])
    store.hybrid_search("card", rank=rank)
    assert rank.last.document_frequency is not None
    counts, sentences = rank.last.document_frequency(["card", "refund"])
    assert (counts[0], sentences) == (1, 1)
    assert counts[1] <= 1


@pytest.mark.parametrize("k", [3, CANDIDATES + 5])
def test_rank_is_given_the_best_by_both_and_k_come_back(words: WordEmbeddings, k: int) -> None:
    texts = [f"card {n} {'seat ' * (n % 7)}" for n in range(CANDIDATES + 50)]
    store, rank = FaissStore.from_texts(texts, words), Noting()
    found = store.hybrid_search("card 3", k, rank=rank)
    assert len(rank.last) == max(k, CANDIDATES)
    assert len(found) == k
    usual = store.hybrid_search("card 3", len(rank.last))
    assert [each.id for each, _ in usual] == [id_ for id_, _ in rank.last.keys]


@pytest.mark.parametrize("weight", [0, 0.5])
async def test_the_search_s_own_scores_keep_its_order(words: WordEmbeddings, way: Invoke, weight: float) -> None:
    text = "# Seats\n\nA card costs five. It is kept. A seat is free. # Trials\n\nA trial card ends. Nobody asks."
    store = FaissStore(words)
    SentenceWindowRetriever(vectorstore=store).add_documents([Document(text, id="a"), Document(TEXTS[0], id="b")])
    usual = await way(store, "hybrid_search", "a trial card", k=9, lexical_weight=weight)
    found = await way(
        store, "hybrid_search", "a trial card", k=9, lexical_weight=weight, rank=lambda each: each.scores, spreads=True
    )
    assert [(each.id, score) for each, score in found] == [(each.id, score) for each, score in usual]
    with pytest.raises(InvalidInputError, match="spreads is 1; write True or False"):
        await way(store, "hybrid_search", "a card", spreads=1)


@pytest.mark.parametrize(
    "bounds",
    [{}, {"section_start": 0}, {"section_start": 2, "section_end": 9}, {"section_start": None, "section_end": "x"}],
)
def test_a_section_that_cannot_be_right_is_of_one_sentence(words: WordEmbeddings, bounds: dict[str, Any]) -> None:
    store, rank = FaissStore(words), Noting()
    place = {"doc_id": "a", "heading": 7, "kind": ["x"], **bounds}
    store.add_documents([Document(page_content="A card.", metadata={**place, "sentence_index": n}) for n in (0, 1)])
    store.hybrid_search("card", rank=rank)
    assert sorted(zip(rank.last.keys, rank.last.section_starts, rank.last.section_ends, strict=True)) == [
        (("a", 0), 0, 1),
        (("a", 1), 1, 2),
    ]
    assert {*rank.last.before, *rank.last.after} == {NO_TEXT}
    assert {*rank.last.headings, *rank.last.kinds} == {""}


@pytest.mark.parametrize(
    "bad",
    [
        lambda found: None,
        lambda found: 1.0,
        lambda found: "abcd",
        lambda found: [math.nan] * len(found),
        lambda found: [math.inf] * len(found),
        lambda found: [0.0] * (len(found) - 1),
        lambda found: [[0.0]] * len(found),
        lambda found: [object()] * len(found),
    ],
)
async def test_bad_scores_are_refused(words: WordEmbeddings, way: Invoke, bad: Callable[[Candidates], Any]) -> None:
    store = FaissStore.from_texts(TEXTS, words)
    with pytest.raises(InvalidInputError, match="the result of rank is .*; give 4 finite numbers"):
        await way(store, "hybrid_search", "card", rank=bad)


async def _async_rank(candidates: Candidates) -> Any:
    return candidates.dense


@pytest.mark.parametrize("bad", ["dense", 1, lambda: 1, Noting, _async_rank])
async def test_what_cannot_rank_is_refused_before_anything_is_embedded(
    words: WordEmbeddings, way: Invoke, bad: Any
) -> None:
    store = FaissStore.from_texts(TEXTS, words)
    calls = words.calls
    with pytest.raises(InvalidInputError, match="rank .* function"):
        await way(store, "hybrid_search", "card", rank=bad)
    assert words.calls == calls


async def test_nothing_is_ranked_where_nothing_is_found(words: WordEmbeddings, way: Invoke) -> None:
    rank = Noting()
    assert await way(FaissStore(words), "hybrid_search", "card", rank=rank) == []
    store = FaissStore.from_texts(TEXTS, words, [{"n": n} for n in range(4)])
    assert await way(store, "hybrid_search", "card", rank=rank, filter={"n": 9}) == []
    assert rank.seen == []


def test_an_error_of_rank_is_its_own_and_leaves_the_store_usable(words: WordEmbeddings, tmp_path: Path) -> None:
    def failing(candidates: Candidates) -> Any:
        raise ZeroDivisionError

    for path in (None, tmp_path):
        store = FaissStore.from_texts(TEXTS, words, path=path)
        with pytest.raises(ZeroDivisionError):
            store.hybrid_search("card", rank=failing)
        store.add_texts(["A card."])
        assert len(store.hybrid_search("card", k=9, rank=Noting())) == 5
        store.close()


def test_rank_may_search_the_store_and_may_not_write_to_it(words: WordEmbeddings) -> None:
    store = FaissStore.from_texts(TEXTS, words)

    def searching(candidates: Candidates) -> Any:
        assert len(store.lexical_search("card")) == 2
        return candidates.dense

    def writing(candidates: Candidates) -> Any:
        store.add_texts(["A card."])
        return candidates.dense

    assert len(store.hybrid_search("card", rank=searching)) == 4
    with pytest.raises(StoreError, match="write after the read"):
        store.hybrid_search("card", rank=writing)
    assert len(store) == 4
