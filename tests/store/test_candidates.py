"""Candidates of a search, and their sentences: those that a plain read of the Documents gives, all of one state."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.documents.sentence_documents import StoredSentence, read_sentence
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.candidates import NO_TEXT
from tests.filter_model import matches
from tests.forms import Invoke
from tests.store.searching import candidates_of, unit
from tests.toys import WordEmbeddings

FIELDS = [field for field in StoredSentence.__slots__ if field != "window"]
TEXTS = ["A refund for the annual plan.", "The refund is paid to the card.", "A card, a CARD!", "Nothing at all."]


def sentence(doc_id: str, index: int, start: int, end: int, text: str, **metadata: Any) -> Document:
    place = {"doc_id": doc_id, "sentence_index": index, "section_start": start, "section_end": end}
    return Document(id=f"{doc_id}{index}", page_content=text, metadata={**place, **metadata})


def section(doc_id: str, start: int, *texts: str, **metadata: Any) -> list[Document]:
    end = start + len(texts)
    return [sentence(doc_id, start + n, start, end, text, **metadata) for n, text in enumerate(texts)]


def check_candidates(candidates: Any, stored: dict[str, Document], asked: dict[str, Any]) -> None:
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
    with FaissStore(WordEmbeddings()) as store:
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
        k = data.draw(st.integers(1, 9))
        for weight in (0, 0.5):
            check_candidates(candidates_of(store, "a card seat", k, filter=asked, lexical_weight=weight), stored, asked)
            found = store.hybrid_search("a card seat", k, filter=asked, lexical_weight=weight)
            assert all(stored[str(each.id)] == each for each, _ in found)
            assert all(matches(each.metadata, asked) for each, _ in found)


def test_candidates_have_the_scores_of_both_searches(words: WordEmbeddings, tmp_path: Path) -> None:
    query = "the card of the trial"
    with FaissStore(words, tmp_path, neighbor_weights=(1,)) as store:
        store.add_documents([*section("a", 0, *TEXTS), Document(id="b", page_content="A seat.")])
        by_meaning = candidates_of(store, query, lexical_weight=0)
        assert store.stats().bytes["lexical"] == 0  # an index that isn't needed isn't made
        candidates = candidates_of(store, query)
        cosines = {each.id: score for each, score in store.similarity_search_with_score(query, 9)}
        bm25 = {each.id: score for each, score in store.lexical_search(query, 9)}
        ids = [name if name == "b" else f"a{index}" for name, index in candidates.keys]
        assert sorted(ids) == ["a0", "a1", "a2", "a3", "b"]
        assert candidates.dense.tolist() == pytest.approx([cosines[id_] for id_ in ids])
        assert candidates.lexical.tolist() == pytest.approx([bm25.get(id_, 0.0) for id_ in ids])
        assert (by_meaning.lexical.tolist(), by_meaning.document_frequency) == ([0.0] * 5, None)
        assert by_meaning.scores.tolist() == pytest.approx(sorted(cosines.values(), reverse=True))
        asked = ["card", "THE", "none", "", "a-card", "a" * 10**6, "\ud800"]
        assert candidates.document_frequency(asked) == ([2, 2, 0, 0, 2, 0, 0], 5)
        spread = candidates_of(store, query, spreads=True)
        hits = store.hybrid_search(query, 9)
        assert [each.id for each, _ in hits] == [name if name == "b" else f"a{index}" for name, index in spread.keys]
        assert [score for _, score in hits] == spread.scores.tolist()
        assert sum(spread.lexical) > sum(candidates.lexical)


def test_words_of_removed_sentences_are_not_counted_above_what_is_left(words: WordEmbeddings) -> None:
    store = FaissStore.from_texts(TEXTS, words, ids=list("abcd"))
    candidates_of(store, "card")
    store.delete(["a", "b", "d"])
    counts, sentences = candidates_of(store, "card").document_frequency(["card", "refund"])
    assert (counts[0], sentences) == (1, 1)
    assert counts[1] <= 1


@pytest.mark.parametrize(
    "bounds",
    [{}, {"section_start": 0}, {"section_start": 2, "section_end": 9}, {"section_start": None, "section_end": "x"}],
)
def test_a_sentence_with_invalid_bounds_is_a_section_of_its_own(words: WordEmbeddings, bounds: dict[str, Any]) -> None:
    store, place = FaissStore(words), {"doc_id": "a", "heading": 7, "kind": ["x"], **bounds}
    store.add_documents([Document(page_content="A card.", metadata={**place, "sentence_index": n}) for n in (0, 1)])
    found = candidates_of(store, "card")
    assert sorted(zip(found.keys, found.section_starts, found.section_ends, strict=True)) == [
        (("a", 0), 0, 1),
        (("a", 1), 1, 2),
    ]
    assert {*found.before, *found.after} == {NO_TEXT}
    assert {*found.headings, *found.kinds} == {""}


# Sentences


def found_sentences(store: FaissStore, query: str, k: int, **settings: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Return the best sentences by meaning, and those around them, read in the same state."""
    vector = unit(store, query)

    def work(state: Any) -> tuple[list[Any], dict[Any, Any]]:
        found = state.search(vector, query, k, lexical_weight=0, **settings)
        sentences = found.sentences(range(min(k, len(found.candidates))))
        near = [(each.doc_id, each.index + step) for each in sentences for step in (-1, 0, 1, 1)]
        return sentences, state.sentences([*near, ("0", 99), ("elsewhere", 1), ("0", -1)], settings.get("filter"))

    return store.read(work)


TEXTS_OF_ANY_KIND = [
    "A refund.",
    "",
    "nul \0 inside",
    "lone \ud800 surrogate",
    "ümlaut 字 😀",
    "two\nlines\n",
    "x" * 5_000,
]
RARE: list[dict[str, Any]] = [
    {"separator": "\n"},
    {"kind": "list item", "lead_in": 0, "heading": "Fees > \0 Card"},
    {"nested": {"a": [1]}, "large": 2**70, "none": None},
    {"kind": "heading", "heading_level": 2, "part_spans": "[]"},
    {},
]


def placed(doc_id: str, index: int, end: int, text: str, **metadata: Any) -> Document:
    return sentence(doc_id, index, 0, end, text, start_index=0, end_index=len(text), **metadata)


@given(st.lists(st.tuples(st.sampled_from(TEXTS_OF_ANY_KIND), st.sampled_from(RARE)), min_size=1, max_size=12))
def test_sentences_are_those_that_their_documents_give(given_: list[tuple[str, dict[str, Any]]]) -> None:
    written = [placed("0", at, len(given_), text, **metadata) for at, (text, metadata) in enumerate(given_)]
    written[0].metadata.pop("lead_in", None)  # which no first sentence has
    with FaissStore.from_documents(written, WordEmbeddings()) as store:
        sentences, near = found_sentences(store, "refund", 99)
        assert len(sentences) == len(given_)
        for each in sentences:
            (document,) = store.get_by_ids([f"0{each.index}"])
            for other in (read_sentence(document), near[each.key]):
                assert {name: getattr(each, name) for name in FIELDS} == {name: getattr(other, name) for name in FIELDS}
        assert [near["0", at].text for at in range(len(given_))] == [text for text, _ in given_]


def test_neighbors_are_read_within_the_filter(words: WordEmbeddings) -> None:
    store = FaissStore.from_documents(
        [placed(str(at // 10), at % 10, 10, f"card {at}", tag=at % 3) for at in range(40)], words
    )
    sentences, near = found_sentences(store, "card 12", 3)
    expected = {(each.doc_id, each.index + step) for each in sentences for step in (-1, 0, 1)}
    assert near.keys() == {(doc_id, index) for doc_id, index in expected if 0 <= index < 10}
    bound, near = found_sentences(store, "card 12", 3, filter={"tag": 0})
    assert {each.source["tag"] for each in near.values()} == {0}
    assert near.keys() == {each.key for each in bound}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, r"without 'doc_id' in its metadata"),
        ({"doc_id": "a"}, r"without 'sentence_index' in its metadata"),
        ({"doc_id": "a", "sentence_index": 0}, r"without 'start_index' in its metadata"),
        ({**sentence("a", 0, 0, 2, "").metadata, "start_index": 9, "end_index": 3}, "start_index is 9, end_index is 3"),
    ],
)
def test_a_document_that_is_not_a_sentence_is_refused(
    words: WordEmbeddings, metadata: dict[str, Any], message: str
) -> None:
    store = FaissStore.from_documents([Document(id="plain", page_content="card", metadata=metadata)], words)
    with pytest.raises(IncompleteWindowError, match=message):
        found_sentences(store, "card", 1)


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": "x"}, {"lexical_weight": -1.0}])
def test_invalid_arguments_are_refused(words: WordEmbeddings, bad: dict[str, Any]) -> None:
    store = FaissStore.from_texts(TEXTS, words)
    for search in (store.hybrid_search, lambda query, **given: candidates_of(store, query, **given)):
        with pytest.raises(InvalidInputError, match=f"{next(iter(bad))} is"):
            search("card", **bad)


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


async def test_searches_that_a_subclass_overrides_are_called(words: WordEmbeddings, way: Invoke) -> None:
    """They may hide what not every user may see."""

    class Masking(FaissStore):
        def hybrid_search(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
            found = super().hybrid_search(*given, **settings)
            return [pair for pair in found if "secret" not in pair[0].page_content]

    retriever = SentenceWindowRetriever(vectorstore=Masking(words), window=0, k=9)
    retriever.add_documents([Document("The secret card.\n\nA card."), Document("Another card.")])
    found = await way(retriever, "invoke", "card")
    assert sorted(each.page_content for each in found) == ["A card.", "Another card."]
