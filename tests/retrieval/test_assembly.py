"""Test what a question gives back: windows joined, completed, led in and widened, from the retriever itself."""

from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, Ranking
from langchain_sentence_window.windows.assembly import MAX_JOINED
from tests.forms import Invoke
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


async def test_many_windows_without_a_budget_are_tight(way: Invoke) -> None:
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


async def test_too_small_a_budget_names_the_smallest(way: Invoke) -> None:
    documents = [
        document("A refund is given.", "a"),
        document("A refund.", "b"),
        document("The refund of a card.", "c"),
    ]
    retriever = made(documents, count_tokens=words_in)
    for window in ("auto", 0, 2, (0, 3)):
        message = "max_tokens is 1, and the shortest sentence that was found has 2 tokens; set it to 2 or more"
        with pytest.raises(InvalidInputError, match=message):
            await way(retriever, "invoke", "refund", max_tokens=1, window=window)
        found = await way(retriever, "invoke", "refund", max_tokens=2, window=window)
        assert [each.page_content for each in found] == ["A refund."]


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


async def test_metadata_of_a_reranker_survives_joining(way: Invoke) -> None:
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


# Rankings and scores


@pytest.mark.parametrize("bad", [1, True, ["place"], b"x", "ranking.json"])
async def test_a_bad_ranking_is_refused(way: Invoke, bad: Any) -> None:
    retriever = made([document("A refund.")])
    with pytest.raises(InvalidInputError, match="ranking is .*; give a Ranking, weights by signal, or None"):
        await way(retriever, "invoke", "refund", ranking=bad)
    with pytest.raises(InvalidInputError, match="ranking is "):
        SentenceWindowRetriever(vectorstore=retriever.vectorstore, ranking=bad)


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
