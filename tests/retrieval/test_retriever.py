"""The retriever: verbatim windows, exactly k of them, of the current documents."""

import asyncio
import copy
import math
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.documents.source_documents import ANY_STORE, StoreLimits
from langchain_sentence_window.documents.source_parts import JoinedDocument
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.retrieval.expansion import WindowSetting
from tests.forms import Invoke
from tests.properties import examples
from tests.toys import BY_COSINE, PLAIN, VOCABULARY, WordEmbeddings, document

PARTS = ["# A\n\n", "Refund. ", "Card! ", "a ", "- x\n", "\n\n", "é\u0301 ", "😀? "]


def story(at: dict[int, str], length: int, doc_id: str = "a") -> Document:
    """A document of sentences, of which some are given and the others say nothing."""
    return document(" ".join(at.get(index, f"Nothing {index}.") for index in range(length)), doc_id)


async def retrieved(way: Invoke, documents: list[Document], query: str, **settings: Any) -> list[Document]:
    """Index documents and ask, checking what must hold for any answer."""
    before = copy.deepcopy(documents)
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **BY_COSINE)
    stored = retriever.vectorstore.similarity_search(query, k=1000)
    found: list[Document] = await way(retriever, "invoke", query, **settings)
    assert documents == before
    assert retriever.vectorstore.similarity_search(query, k=1000) == stored
    assert_verbatim(found, documents)
    return found


def assert_verbatim(found: list[Document], documents: list[Document]) -> None:
    sources = {source.id or source.metadata["doc_id"]: source.page_content for source in documents}
    seen: set[tuple[str, int]] = set()
    for window in found:
        metadata = window.metadata
        assert window.page_content == sources[metadata["doc_id"]][metadata["start_index"] : metadata["end_index"]]
        first, last = metadata["sentences"]
        indexes = {(metadata["doc_id"], index) for index in range(first, last + 1)}
        assert not indexes & seen
        seen |= indexes
        for hit in metadata["hits"]:
            assert first <= hit["sentence_index"] <= last
            assert metadata["start_index"] <= hit["start_index"] < hit["end_index"] <= metadata["end_index"]
        assert metadata["score"] == max(hit["score"] for hit in metadata["hits"])
        assert window.id == metadata["window_id"]


async def test_a_hit_comes_back_in_its_window_with_its_place_and_score(way: Invoke) -> None:
    source = document(
        "# Billing\n\nHello there. Ask for a refund.\n\nOnly once.  Bye.", source="billing.md", year=2, tags=["x"]
    )
    (window, *_) = await retrieved(way, [source], "refund", k=1, window=(0, 1))
    assert window.page_content == "Ask for a refund.\n\nOnly once."
    score = window.metadata.pop("score")
    assert score == pytest.approx(1, abs=1e-3)
    assert window.metadata.pop("window_id") == window.id
    assert window.metadata == {
        "source": "billing.md",
        "year": 2,
        "tags": ["x"],
        "doc_id": "a",
        "start_index": 24,
        "end_index": 53,
        "sentences": [2, 3],
        "hits": [{"sentence_index": 2, "start_index": 24, "end_index": 41, "score": score, "similarity": score}],
        "separator": "  ",
        "lines": [3, 5],
        "sentence_spans": [[24, 41], [43, 53]],
        "heading": "Billing",
        "tokens": 8,
    }


async def test_of_more_windows_those_that_touch_are_one_and_later_ones_do_not_swell_it(way: Invoke) -> None:
    found = await retrieved(way, [story({6: "Refund."}, 13)], "refund", k=4, window=1)
    # The four best are 5 to 7, 0 and 1, 2 and 3, and 4. The next one, 8 and 9, touches them and is left out.
    assert [window.metadata["sentences"] for window in found] == [[0, 7], [10, 11]]
    assert [hit["sentence_index"] for hit in found[0].metadata["hits"]] == [0, 2, 4, 6]


async def test_a_window_never_crosses_a_heading(way: Invoke) -> None:
    text = "# Monthly\n\nOne. Two refund.\n\n# Annual\n\nThree refund card.\n\n## Trial\n\nFour refund seat page. Five."
    found = await retrieved(way, [document(text)], "refund", k=3, window=5)
    assert [(window.page_content, window.metadata["heading"]) for window in found] == [
        ("# Monthly\n\nOne. Two refund.", "Monthly"),
        ("# Annual\n\nThree refund card.", "Annual"),
        ("## Trial\n\nFour refund seat page. Five.", "Annual > Trial"),
    ]


async def test_auto_opens_each_hit_as_far_as_it_needs_and_merges_none(way: Invoke) -> None:
    long = f"A refund that {'certainly ' * 9}takes a while."
    text = f"Refund. It is short. So is this. Not read.\n\n# Rest\n\n{long} Unread, too."
    found = await retrieved(way, [document(text)], "refund", window="auto", k=2)
    assert {window.page_content for window in found} == {"Refund. It is short. So is this.", long}
    beside = await retrieved(
        way, [document("Refund card. Refund seat. Refund page. Trial.")], "refund", window="auto", k=9
    )
    places = sorted(tuple(window.metadata["sentences"]) for window in beside)
    assert [index for first, last in places for index in range(first, last + 1)] == [0, 1, 2, 3]


async def test_exactly_k_windows_come_back_while_there_are_so_many(way: Invoke) -> None:
    crowd = [document("Refund. " * 60, "crowd")]
    others = [document(f"About a {word}.", word) for word in VOCABULARY]
    for k in (1, 2, 5, 11):
        assert len(await retrieved(way, crowd + others, "refund", k=k, window=2)) == k
    assert len(await retrieved(way, crowd + others, "refund", k=12, window=2)) == 11


async def test_a_call_may_change_all_that_needs_no_index(way: Invoke) -> None:
    documents = [story({4: "Refund.", 20: "A refund and a card."}, 30), document("Refund card.", "b")]
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), window=1, **PLAIN)
    for changed in (
        {"order": "document", "k": 2},
        {"order": "edges"},
        {"max_tokens": 9, "count_tokens": len},
        {"max_tokens": None},
        {"lexical_weight": 2.0},
        {"min_score": 0.5, "fetch_k": 3},
        {"window": {"b": 0}, "window_key": "doc_id"},
    ):
        there = retriever.model_copy(update=changed)
        assert await way(retriever, "invoke", "refund", **changed) == await way(there, "invoke", "refund"), changed
    with pytest.raises(InvalidInputError, match="order: Input should be 'relevance'.* not 'best'"):
        await way(retriever, "invoke", "refund", order="best")
    with pytest.raises(InvalidInputError, match="a call can't set 'fliter'; it can set filter, count_tokens, fetch_k"):
        await way(retriever, "invoke", "refund", fliter={})


async def test_windows_go_by_a_value_of_the_documents_metadata(way: Invoke) -> None:
    documents = [
        document(story({3: f"A {name}.", 4: f"Refund {name}."}, 9).page_content, name, type=name, **more)
        for name, more in (("legal", {}), ("faq", {}), ("other", {"was": "legal"}), ("listed", {"was": ["legal"]}))
    ]
    window = {"legal": (3, 4), "faq": 1}
    found = await retrieved(way, documents, "refund", k=4, window=window)
    assert {each.metadata["doc_id"]: each.metadata["sentences"] for each in found} == {
        "legal": [1, 8],
        "faq": [3, 5],
        "other": [1, 8],
        "listed": [4, 6],
    }
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), window=window, window_key="type")
    found = await way(retriever, "invoke", "refund", k=4)
    assert {each.metadata["doc_id"]: each.metadata["sentences"] for each in found}["other"] == [4, 6]


class Tilted(Embeddings):
    """Gives texts with the word "notice" a cosine of .3 with any question, and all others one of .8."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vector(0.3 if "notice" in text else 0.8, len(text)) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(1.0, 0)

    def _vector(self, cosine: float, angle: float) -> list[float]:
        rest = math.sqrt(1 - cosine**2)
        return [cosine, rest * math.cos(angle), rest * math.sin(angle)]


@pytest.mark.parametrize("make_store", [FaissStore, InMemoryVectorStore])
async def test_sentences_whose_words_match_take_no_place_of_those_above_min_score(
    way: Invoke, make_store: Callable[[Embeddings], VectorStore]
) -> None:
    """A ranking puts sentences of the question's words first, although their similarity is too low to count."""
    apart = [document(f"The notice of clause {index} is due at the end of a year.", f"w{index}") for index in range(60)]
    alike = [document(f"Whoever leaves after {index} months has to say so before.", f"s{index}") for index in range(60)]
    retriever = SentenceWindowRetriever(vectorstore=make_store(Tilted()), k=10, min_score=0.6, lexical_weight=1.0)
    retriever.add_documents([*apart, *alike])
    found = await way(retriever, "invoke", "When is the notice of a clause due?")
    assert len(found) == 10
    assert all(each.metadata["doc_id"].startswith("s") for each in found)


@pytest.mark.parametrize("window", ["auto", 0, 2, (0, 3)])
@pytest.mark.parametrize("k", [1, 10, 40])
async def test_windows_are_read_in_one_round_trip(way: Invoke, window: WindowSetting, k: int) -> None:
    class Counting(FaissStore):
        reads = 0

        def get_by_ids(self, ids: Any, /) -> list[Document]:
            Counting.reads += 1
            return super().get_by_ids(ids)

    retriever = SentenceWindowRetriever(vectorstore=Counting(WordEmbeddings()), window=window)
    retriever.add_documents([story({4: f"Refund {name}.", 9: "Card."}, 12, name) for name in map(str, range(50))])
    assert len(await way(retriever, "invoke", "refund", k=k)) == k
    assert Counting.reads == (0 if window == 0 else 1)


async def test_a_budget_trims_neighbors_then_drops_windows_and_is_never_exceeded(way: Invoke) -> None:
    def words_in(text: str) -> int:
        return len(text.split())

    documents = [story({4: "Refund."}, 9, "a"), story({4: "Refund card."}, 9, "b")]
    expected = {
        19: [("a", [2, 6]), ("b", [2, 6])],
        17: [("a", [2, 6]), ("b", [3, 6])],
        11: [("a", [2, 6]), ("b", [4, 4])],
        10: [("a", [2, 6])],
        4: [("a", [4, 5])],
        1: [("a", [4, 4])],
    }
    for max_tokens, windows in expected.items():
        retriever = SentenceWindowRetriever.from_documents(
            documents, WordEmbeddings(), max_tokens=max_tokens, count_tokens=words_in, k=2, window=2
        )
        found = await way(retriever, "invoke", "refund")
        assert_verbatim(found, documents)
        assert sum(words_in(window.page_content) for window in found) <= max_tokens
        assert [(window.metadata["doc_id"], window.metadata["sentences"]) for window in found] == windows, max_tokens


async def test_a_known_document_is_replaced_whole(way: Invoke, tmp_path: Path) -> None:
    retriever = SentenceWindowRetriever.from_documents([story({2: "Refund."}, 9)], WordEmbeddings(), path=tmp_path)
    new = document("A card. A seat.")
    assert await way(retriever, "add_documents", [new, document("Trial.", "b")]) == ["a", "b"]
    assert len(retriever.vectorstore.similarity_search("refund", k=99)) == 3
    found = await way(retriever, "invoke", "card", k=9)
    assert_verbatim(found, [new, document("Trial.", "b")])
    assert await way(retriever, "add_documents", [document("  ")]) == ["a"]
    assert [window.metadata["doc_id"] for window in await way(retriever, "invoke", "card", k=9)] == ["b"]
    await way(retriever, "delete", ["b", "unknown"])
    assert await way(retriever, "invoke", "card") == []


async def test_a_hole_in_a_window_is_an_error(words: WordEmbeddings, way: Invoke) -> None:
    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store, k=1)
    retriever.add_documents([story({4: "Refund."}, 9), document("Card.", "b")])
    store.delete(filter={"sentence_index": 5})
    with pytest.raises(IncompleteWindowError, match="no sentence 5 of document 'a'.* add the document again"):
        await way(retriever, "invoke", "refund")


async def test_a_store_of_other_documents_is_an_error(words: WordEmbeddings, way: Invoke) -> None:
    store = FaissStore.from_texts(["A refund."], words, ids=["x"])
    with pytest.raises(IncompleteWindowError, match=r"id 'x'\) without 'doc_id'.*SentenceSplitter"):
        await way(SentenceWindowRetriever(vectorstore=store), "invoke", "refund")


@pytest.mark.parametrize("window", ["auto", 2])
async def test_a_document_replaced_between_search_and_reading_is_searched_again(
    words: WordEmbeddings, way: Invoke, window: WindowSetting
) -> None:
    old, new = story({4: "Refund."}, 9), document("Now a refund. Or a card.")

    class Racing(FaissStore):
        reads = 0

        def get_by_ids(self, ids: Any, /) -> list[Document]:
            Racing.reads += 1
            if Racing.reads == 1:
                retriever.add_documents([new])
            return super().get_by_ids(ids)

    retriever = SentenceWindowRetriever(vectorstore=Racing(words), k=1, fetch_k=1, window=window)
    retriever.add_documents([old])
    found = await way(retriever, "invoke", "refund")
    assert_verbatim(found, [new])
    assert Racing.reads > 1


@examples(40)
@given(
    st.lists(
        st.lists(st.sampled_from(PARTS), max_size=25).map("".join),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 8),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.integers(1, 30),
)
def test_windows_are_always_verbatim(texts: list[str], k: int, window: tuple[int, int], fetch_k: int) -> None:
    documents = [document(text, str(n)) for n, text in enumerate(texts)]
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings()), k=k, window=window, fetch_k=fetch_k)
    retriever.add_documents(documents)
    found = retriever.invoke("refund card")
    assert_verbatim(found, documents)
    assert len(found) <= k
    assert bool(found) == any(text.strip() for text in texts)


@pytest.mark.parametrize("documents", [[], [Document(page_content="")], [Document(page_content=" \n\t")] * 3])
async def test_an_empty_corpus_is_refused(documents: list[Document], tmp_path: Path) -> None:
    for path in (None, tmp_path / "index"):
        with pytest.raises(InvalidInputError, match=f"nothing to index: {len(documents)} documents were given"):
            SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), path=path)
        with pytest.raises(InvalidInputError, match="nothing to index"):
            await SentenceWindowRetriever.afrom_documents(documents, WordEmbeddings(), path=path)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("query", "keywords", "message"),
    [
        ("", {}, "the query is ''"),
        (" \n", {}, "at least one word"),
        ("why " * 25_000, {}, "the query has 100,000 characters"),
        ("refund", {"k": 0}, "k is 0"),
        ("refund", {"k": -3}, "k is -3"),
        ("refund", {"k": 2.0}, "k is 2.0"),
        ("refund", {"window": -1}, "window is -1"),
        ("refund", {"window": (0, -1)}, r"window is \(0, -1\)"),
        ("refund", {"filter": {"x": {"$near": 1}}}, "isn't an operator"),
    ],
)
async def test_a_bad_question_is_refused(way: Invoke, query: str, keywords: dict[str, Any], message: str) -> None:
    retriever = SentenceWindowRetriever.from_documents([document("Refund.")], WordEmbeddings())
    with pytest.raises(InvalidInputError, match=message):
        await way(retriever, "invoke", query, **keywords)
    assert len(await way(retriever, "invoke", "refund")) == 1


async def test_two_documents_of_one_id_in_a_call_are_refused_and_nothing_is_stored(way: Invoke) -> None:
    retriever = SentenceWindowRetriever.from_documents([document("Old refund.")], WordEmbeddings())
    with pytest.raises(InvalidInputError, match="two documents of this call have the doc_id 'b'"):
        await way(retriever, "add_documents", [document("New.", "a"), document("One.", "b"), document("Two.", "b")])
    with pytest.raises(InvalidInputError, match="a list of ids, not 'a'"):
        await way(retriever, "delete", "a")
    assert [window.page_content for window in await way(retriever, "invoke", "refund")] == ["Old refund."]


@pytest.mark.parametrize("in_memory_store", [False, True])
async def test_an_embedder_that_fails_leaves_the_old_document(way: Invoke, in_memory_store: bool) -> None:
    class Failing(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if "Bad." in texts:
                raise ConnectionError("the provider hung up")
            return super().embed_documents(texts)

    store = InMemoryVectorStore(Failing()) if in_memory_store else FaissStore(Failing())
    retriever = SentenceWindowRetriever(vectorstore=store)
    retriever.add_documents([document("Old refund. More.")])
    before = retriever.invoke("refund")
    with pytest.raises(ConnectionError):
        await way(retriever, "add_documents", [document("Refund. Bad."), document("Other.", "b")])
    assert retriever.invoke("refund") == before


async def test_the_event_loop_goes_on_while_documents_are_split_and_embedded() -> None:
    class Slow(WordEmbeddings):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return await asyncio.to_thread(self.embed_documents, texts)

    in_loop: list[str] = []
    loop_thread = threading.get_ident()

    class Watching(SentenceSplitter):
        def split_joined(self, joined: Iterable[JoinedDocument], limits: StoreLimits = ANY_STORE) -> list[Document]:
            if threading.get_ident() == loop_thread:
                in_loop.append("split_joined")
            return super().split_joined(joined, limits)

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(Slow()), splitter=Watching())
    await retriever.aadd_documents([document("Refund. Card.")])
    assert await retriever.ainvoke("refund")
    assert not in_loop
