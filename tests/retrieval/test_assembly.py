"""Test what a question gives back: windows joined, completed, led in and widened, from the retriever itself."""

from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, Ranking
from langchain_sentence_window.windows.assembly import MAX_JOINED
from tests.conftest import Invoke
from tests.toys import BY_COSINE, WordEmbeddings, document

MORE = " and so on" * 33
"""Makes a sentence long enough to stand alone, even if it is taken for the answer."""

FILLER = f"Nothing is told in sentence {{}}{MORE}."


def story(at: dict[int, str], length: int, doc_id: str = "a") -> Document:
    """A document of long sentences, some of which are given; none is opened, as a long one needs nothing more."""
    return document(" ".join(at.get(index, FILLER.format(index)) for index in range(length)), doc_id)


def long(words: str) -> str:
    return f"Of the {words} much is told{MORE}."


def made(documents: list[Document], **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **BY_COSINE | settings)


def places(found: list[Document]) -> list[tuple[str, list[int]]]:
    return [(each.metadata["doc_id"], each.metadata["sentences"]) for each in found]


def hits(found: Document) -> list[int]:
    return [each["sentence_index"] for each in found.metadata["hits"]]


def words_in(text: str) -> int:
    return len(text.split())


THREE = story({3: long("refund"), 6: long("refund card"), 10: long("refund card seat")}, 14)


async def test_windows_near_each_other_are_one_with_all_their_hits(way: Invoke) -> None:
    other = document(long("refund card seat trial"), "b")
    found = await way(made([THREE, other], k=3, fetch_k=4), "invoke", "refund")
    assert places(found) == [("a", [3, 6]), ("a", [10, 10]), ("b", [0, 0])]
    assert hits(found[0]) == [3, 6]
    first = found[0].metadata["start_index"], found[0].metadata["end_index"]
    assert found[0].page_content == THREE.page_content[slice(*first)]
    scores = [each["score"] for each in found[0].metadata["hits"]]
    assert found[0].metadata["score"] == max(scores) == scores[0]
    assert found[0].id == found[0].metadata["window_id"]


async def test_k_counts_what_comes_back(way: Invoke) -> None:
    retriever = made([THREE, document(long("refund card seat trial"), "b")])
    for k, expected in ((1, [("a", [3, 6])]), (2, [("a", [3, 6]), ("a", [10, 10])])):
        assert places(await way(retriever, "invoke", "refund", k=k)) == expected
    assert len(await way(retriever, "invoke", "refund", k=3)) == 3


async def test_whoever_asks_for_many_without_a_budget_gets_tight_windows(way: Invoke) -> None:
    retriever = made([THREE], fetch_k=99)
    found = await way(retriever, "invoke", "refund", k=MAX_JOINED + 1)
    assert sorted(places(found)) == [("a", [index, index]) for index in range(14)]
    assert places(found)[:3] == [("a", [3, 3]), ("a", [6, 6]), ("a", [10, 10])]
    # All 14 are one window, if few are asked for or there is a budget.
    assert places(await way(retriever, "invoke", "refund", k=MAX_JOINED)) == [("a", [0, 13])]
    rich = await way(retriever, "invoke", "refund", k=MAX_JOINED + 1, max_tokens=9_999)
    assert places(rich) == [("a", [0, 13])]
    assert hits(rich[0]) == list(range(14))


LIST = (
    "# Seats\n\nThe card pays for:\n\n- a seat. It is soft.\n- a trial.\n\n# Pages\n\nA page is there. It has a backup."
)


async def test_windows_are_completed_under_auto_alone(way: Invoke) -> None:
    retriever = made([document(LIST)], k=1, fetch_k=1)
    for query, expected in {
        "card": "The card pays for:\n\n- a seat. It is soft.\n- a trial.",
        "trial": "- a seat. It is soft.\n- a trial.",  # of a short list
        "backup": "A page is there. It has a backup.",
    }.items():
        (found,) = await way(retriever, "invoke", query)
        assert found.page_content == expected
    (tight,) = await way(retriever, "invoke", "backup", window=0)
    assert tight.page_content == "It has a backup."


async def test_a_heading_is_never_alone(way: Invoke) -> None:
    retriever = made([document("# Refund\n\nThey are given.\n\n# Empty card\n\n# Seat\n\nSoft.")])
    (found, *_) = await way(retriever, "invoke", "refund", k=1)
    assert found.page_content == "# Refund\n\nThey are given."
    for k in (1, 3, 9):
        found = await way(retriever, "invoke", "card", k=k)
        assert found
        assert not {"# Refund", "# Empty card", "# Seat"} & {each.page_content for each in found}
    (only,) = await way(made([document("# Empty card")]), "invoke", "card")
    assert only.page_content == "# Empty card"  # better than nothing


@pytest.mark.parametrize("settings", [{}, {"max_tokens": 99}])
async def test_short_texts_come_back_as_many_as_are_asked_for(way: Invoke, settings: dict[str, Any]) -> None:
    rows = [document(f"name: card {i}\nprice: refund", f"r{i}") for i in range(9)]
    titles = [document(text, text) for text in ("refund card", "annual refund", "refund", "backup")]
    slide = document("# Slide\n\nrefund seat\n\nno trial\n\nfour pages\n\na backup\n\nthe replica\n\nmonthly", "slide")
    for documents in (rows, titles, [slide, *titles]):
        retriever = made(documents, **settings)
        assert len(await way(retriever, "invoke", "refund", k=3)) == 3
        assert len(await way(retriever, "invoke", "refund card", k=1)) == 1


async def test_what_announces_nothing_more_does_not_take_the_answer_with_it(way: Invoke) -> None:
    text = "# Plans\n\nA seat costs much. A refund is given. There are two options:\n\n## Monthly\n\nA card."
    for settings in ({}, {"max_tokens": 500}):
        (found,) = await way(made([document(text)], k=1, **settings), "invoke", "refund")
        assert "A refund is given." in found.page_content
        assert not found.page_content.endswith(":")


# Budgets


async def test_a_budget_takes_tight_windows_then_widens_the_best(way: Invoke) -> None:
    documents = [story({10: long("refund")}, 30, "a"), story({10: long("refund card")}, 30, "b")]
    retriever = made(documents, count_tokens=words_in, fetch_k=2, k=2)
    size = words_in(long("refund"))
    both = words_in(long("refund card"))
    tight = await way(retriever, "invoke", "refund", max_tokens=size + both)
    assert places(tight) == [("a", [10, 10]), ("b", [10, 10])]
    filler = words_in(FILLER.format(9))
    wider = await way(retriever, "invoke", "refund", max_tokens=size + both + 8 * filler)
    assert places(wider) == [("a", [9, 16]), ("b", [10, 11])]
    for limit in range(size, 20 * filler, 17):
        found = await way(retriever, "invoke", "refund", max_tokens=limit)
        assert places(found)[0][0] == "a"
        assert sum(words_in(each.page_content) for each in found) <= limit


async def test_lead_ins_are_counted(way: Invoke) -> None:
    text = "# Rules\n\nNever use it for:\n\n- a card\n- a trial\n- one seat\n- a page\n\nThe end."
    retriever = made([document(text)], fetch_k=1, k=1, count_tokens=words_in)
    expected = {
        7: ("- one seat", 1),
        6: ("- one seat\n- a page", 0),
        3: ("- one seat", 0),
        10: ("- one seat\n- a page", 1),
    }
    for limit, (content, led) in expected.items():
        (found,) = await way(retriever, "invoke", "seat", max_tokens=limit)
        assert (found.page_content, len(found.metadata.get("lead_ins", []))) == (content, led), limit


async def test_too_small_a_budget_names_the_least(way: Invoke) -> None:
    documents = [
        document("A refund is given.", "a"),
        document("A refund.", "b"),
        document("The refund of a card.", "c"),
    ]
    retriever = made(documents, count_tokens=words_in)
    for window in ("auto", 0, 2, (0, 3)):
        told = "max_tokens is 1, and the shortest sentence that was found has 2 tokens; set it to 2 or more"
        with pytest.raises(InvalidInputError, match=told):
            await way(retriever, "invoke", "refund", max_tokens=1, window=window)
        found = await way(retriever, "invoke", "refund", max_tokens=2, window=window)
        assert [each.page_content for each in found] == ["A refund."]


async def test_the_neighbors_of_a_set_size_fill_a_budget(way: Invoke) -> None:
    """They are read before the window is cut, also from stores that hold no windows themselves."""
    retriever = SentenceWindowRetriever(
        vectorstore=InMemoryVectorStore(WordEmbeddings()),
        lexical_weight=0,
        ranking=None,
        count_tokens=words_in,
        k=1,
        fetch_k=1,
    )
    retriever.add_documents([document("Nothing 0. Nothing 1. A refund. Nothing 3. Nothing 4.")])
    for limit, expected in ((10, [0, 4]), (9, [1, 4]), (6, [1, 3]), (5, [2, 3]), (3, [2, 2])):
        (found,) = await way(retriever, "invoke", "refund", window=2, max_tokens=limit)
        assert found.metadata["sentences"] == expected, limit


# Filters, sizes and stores


async def test_a_filter_ends_windows_that_would_be_joined_completed_or_widened(way: Invoke) -> None:
    sentences = SentenceSplitter().split_documents([THREE])
    for sentence in sentences:
        sentence.metadata["tenant"] = "two" if sentence.metadata["sentence_index"] in (5, 8) else "one"
    retriever = made([document("Else.", "else")], fetch_k=3)
    retriever.vectorstore.add_documents(sentences)
    assert places(await way(retriever, "invoke", "refund", k=2)) == [("a", [3, 6]), ("a", [10, 10])]
    bound = {"filter": {"tenant": "one"}}
    apart = await way(retriever, "invoke", "refund", k=2, **bound)
    assert places(apart) == [("a", [3, 3]), ("a", [6, 6])]
    wide = await way(retriever, "invoke", "refund", k=9, max_tokens=9_999, **bound)
    indexes = [index for _, (first, last) in places(wide) for index in range(first, last + 1)]
    assert not {5, 8} & set(indexes)
    assert {3, 6, 10} <= set(indexes)
    assert len(indexes) == len(set(indexes))


async def test_windows_of_a_set_size_are_joined_if_they_touch_and_not_completed(way: Invoke) -> None:
    documents = [
        document(THREE.page_content, "exact", type="legal"),
        document(THREE.page_content, "free", type="other"),
    ]
    retriever = made(documents, k=4, fetch_k=6, window={"legal": 1}, window_key="type")
    found = await way(retriever, "invoke", "refund")
    assert sorted(places(found)) == [
        ("exact", [2, 7]),  # 2 to 4 and 5 to 7 touch
        ("exact", [9, 11]),
        ("free", [3, 6]),
        ("free", [10, 10]),
    ]


class NoFetchStore(InMemoryVectorStore):
    """A store that can't fetch by id."""

    def get_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError

    async def aget_by_ids(self, ids: Any, /) -> list[Document]:
        raise NotImplementedError


@pytest.mark.parametrize("inline", [0, 1, 2])
async def test_a_store_that_cannot_fetch_by_id_joins_what_inline_windows_hold(way: Invoke, inline: int) -> None:
    store = NoFetchStore(WordEmbeddings())
    store.add_documents(SentenceSplitter(inline_window=inline).split_documents([THREE]))
    retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0, ranking=None, fetch_k=3)
    for settings in ({"k": 2}, {"k": 9, "max_tokens": 9_999}):
        found = await way(retriever, "invoke", "refund", **settings)
        for each in found:
            span = slice(each.metadata["start_index"], each.metadata["end_index"])
            assert each.page_content == THREE.page_content[span]
        is_joined = any(first <= 3 and last >= 6 for _, (first, last) in places(found))
        # With the budget, sentence 4 and 5 are found themselves.
        assert is_joined is (inline > 0 or "max_tokens" in settings)
    with pytest.raises(IncompleteWindowError):
        await way(retriever, "invoke", "refund", window=inline + 1)


async def test_a_hit_takes_what_it_needs_as_far_as_inline_windows_hold_it(way: Invoke) -> None:
    text = "A refund. " + " ".join(f"Nothing {index}." for index in range(9))
    for inline in (1, 3, 9):
        store = NoFetchStore(WordEmbeddings())
        store.add_documents(SentenceSplitter(inline_window=inline).split_documents([document(text)]))
        retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0, ranking=None, fetch_k=1)
        assert places(await way(retriever, "invoke", "refund", k=1)) == [("a", [0, min(inline, 8)])]


# Rerankers


class Scoring(BaseDocumentCompressor):
    """Turns the order round, and adds a score and a mark of its own."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return [
            Document(
                each.page_content,
                id=each.id,
                metadata={**each.metadata, "relevance_score": 1.0 - number / 10, "mark": each.metadata["hits"]},
            )
            for number, each in enumerate(reversed(documents))
        ]


async def test_what_a_reranker_says_survives_joining(way: Invoke) -> None:
    other = document(long("refund card seat trial"), "b")
    retriever = made([THREE, other], fetch_k=4, k=4, reranker=Scoring())
    found = await way(retriever, "invoke", "refund")
    # It ranked b, 10, 6, 3; the last two are one window, with the metadata of the better of them.
    assert places(found) == [("b", [0, 0]), ("a", [10, 10]), ("a", [3, 6])]
    assert [each.metadata["relevance_score"] for each in found] == pytest.approx([1.0, 0.9, 0.8])
    assert [each["sentence_index"] for each in found[2].metadata["mark"]] == [6]
    assert hits(found[2]) == [3, 6]
    span = slice(found[2].metadata["start_index"], found[2].metadata["end_index"])
    assert found[2].page_content == THREE.page_content[span]


class Rewriting(BaseDocumentCompressor):
    """Rewrites the text of windows with a word in it."""

    word: str

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return [
            Document("Rewritten." if self.word in each.page_content else each.page_content, metadata=each.metadata)
            for each in documents
        ]


@pytest.mark.parametrize("settings", [{}, {"max_tokens": 9_999}])
async def test_a_rewritten_window_stays_alone_and_no_other_repeats_it(way: Invoke, settings: dict[str, Any]) -> None:
    retriever = made([THREE], fetch_k=3, k=3, reranker=Rewriting(word="refund card much"), **settings)
    found = await way(retriever, "invoke", "refund")
    rewritten = [each for each in found if each.page_content == "Rewritten."]
    assert places(rewritten) == [("a", [6, 6])]
    indexes = [index for _, (first, last) in places(found) for index in range(first, last + 1)]
    assert len(indexes) == len(set(indexes))
    assert {3, 6, 10} <= set(indexes)


# Rankings and scores


async def test_rankings_in_each_form(way: Invoke) -> None:
    documents = [document("A refund.", "a"), document("A card refund of the seat.", "b")]
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), lexical_weight=0)
    assert retriever.ranking == DEFAULT_RANKING
    last, first = {"dense_rank": -1.0}, {"dense_rank": 1}
    for given, expected in ((None, "ab"), (last, "ba"), (Ranking(last), "ba"), (first, "ab"), (Ranking(first), "ab")):
        found = await way(retriever, "invoke", "refund", ranking=given)
        assert "".join(each.metadata["doc_id"] for each in found) == expected
        there = SentenceWindowRetriever(vectorstore=retriever.vectorstore, lexical_weight=0, ranking=given)
        assert await way(there, "invoke", "refund") == found


@pytest.mark.parametrize("bad", [1, True, ["place"], b"x", "ranking.json"])
async def test_a_bad_ranking_is_refused(way: Invoke, bad: Any) -> None:
    retriever = made([document("A refund.")])
    with pytest.raises(InvalidInputError, match="ranking is .*; give a Ranking, weights by signal, or None"):
        await way(retriever, "invoke", "refund", ranking=bad)
    with pytest.raises(InvalidInputError, match="ranking is "):
        SentenceWindowRetriever(vectorstore=retriever.vectorstore, ranking=bad)


@pytest.mark.parametrize("weights", [{"cosine": 1}, {"place": "1"}, {"place": None}])
async def test_weights_that_no_ranking_has_are_refused(way: Invoke, weights: Any) -> None:
    retriever = made([document("A refund.")])
    message = r"'cosine' isn't the name of a signal|the weight of place is"
    with pytest.raises(InvalidInputError, match=message):
        await way(retriever, "invoke", "refund", ranking=weights)
    with pytest.raises(InvalidInputError, match=message):
        SentenceWindowRetriever(vectorstore=retriever.vectorstore, ranking=weights)


@pytest.mark.parametrize(
    ("ranking", "lexical_weight"),
    [(DEFAULT_RANKING, 0), (DEFAULT_RANKING, 0.25), (Ranking({"place": 1.0}), 0.25), (None, 0)],
)
async def test_hits_say_their_similarity_and_their_score(way: Invoke, ranking: Any, lexical_weight: float) -> None:
    documents = [document("A refund.", "a"), document("A refund, a card.", "b"), document("A backup.", "c")]
    settings = {"ranking": ranking, "lexical_weight": lexical_weight, "neighbor_weights": (1,), "embed_headings": False}
    retriever = SentenceWindowRetriever.from_documents(documents, WordEmbeddings(), **settings)
    found = await way(retriever, "invoke", "refund", k=9)
    cosines = {"a": 1.0, "b": 1.01 / (1.01 * 2.01) ** 0.5, "c": 0.01 / 1.01}
    for each in found:
        (hit,) = each.metadata["hits"]
        assert hit["similarity"] == pytest.approx(cosines[each.metadata["doc_id"]], abs=1e-3)
        assert -1 <= hit["score"] <= 1
        assert each.metadata["score"] == hit["score"]
    scores = [each.metadata["score"] for each in found]
    assert scores == sorted(scores, reverse=True)


async def test_min_score_compares_similarities(way: Invoke) -> None:
    documents = [document("A refund.", "a"), document("A refund, a card.", "b"), document("A backup.", "c")]
    for ranking in (DEFAULT_RANKING, None, Ranking({"dense_rank": -1.0})):
        retriever = made(documents, ranking=ranking, k=9)
        for least, expected in ((0.9, "a"), (0.5, "ab"), (-1, "abc"), (1.5, "")):
            found = await way(retriever, "invoke", "refund", min_score=least)
            assert "".join(sorted(each.metadata["doc_id"] for each in found)) == expected, (ranking, least)
