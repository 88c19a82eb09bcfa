"""Results don't depend on when something was added: equal scores are ordered by document and index."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import BM25Index, FaissStore, SentenceWindowRetriever
from langchain_sentence_window.store.reading import MAX_TIED, with_tied
from langchain_sentence_window.store.words import LexicalIndex
from tests.properties import examples
from tests.toys import VOCABULARY, WordEmbeddings

QUESTIONS = ("refund", "which card has a seat", "trial backup replica page in Report 1")
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"lexical_weight": 0},
    {"lexical_weight": 0, "ranking": None, "k": 2, "fetch_k": 2},
    {"ranking": None, "names": False},
    {"k": 3, "fetch_k": 3, "window": 1},
    {"max_tokens": 60},
    {"filter": {"tenant": "a"}, "k": 3, "fetch_k": 4},
    {"min_relevance": "auto"},
)

sentences = st.tuples(st.sampled_from(VOCABULARY[:5]), st.sampled_from(VOCABULARY[:5])).map(
    lambda words: f"The {words[0]} has a {words[1]}."
)
texts = st.lists(st.one_of(sentences, st.just("\n\n# Part\n\n")), min_size=1, max_size=6).map(" ".join)


def sources(given_texts: Sequence[str]) -> list[Document]:
    return [
        Document(
            page_content=text, id=f"d{number}", metadata={"title": f"Report {number % 3}", "tenant": "ab"[number % 2]}
        )
        for number, text in enumerate(given_texts)
        if text.strip()
    ]


def built(documents: Sequence[Document], chance: random.Random, calls: int = 1) -> FaissStore:
    """Add documents in several calls, after others of the same names and some that are deleted at the end."""
    store = FaissStore(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store)
    if calls > 1:
        early = [Document(page_content="An old card. A refund of a card.", id=each.id) for each in documents[::2]]
        retriever.add_documents([*early, Document(page_content="A refund card. A seat.", id="gone")])
        retriever.invoke("refund")
    for call in range(calls):
        retriever.add_documents(list(documents[call::calls]))
        if chance.random() < 0.5:
            retriever.invoke("refund")
    retriever.delete(["gone"])
    return store


def results(store: FaissStore) -> list[Any]:
    found: list[Any] = []
    for question in QUESTIONS:
        for given_settings in SETTINGS:
            retriever = SentenceWindowRetriever(vectorstore=store, **given_settings)
            found.append((question, given_settings, [(each.id, each) for each in retriever.invoke(question)]))
        for k in (1, 3, 7):
            found += [
                (question, k, store.similarity_search_with_score(question, k)),
                (question, k, store.similarity_search_with_score(question, k, filter={"tenant": "a"})),
                (question, k, store.lexical_search(question, k)),
                (question, k, store.hybrid_search(question, k)),
                (question, k, store.max_marginal_relevance_search(question, k)),
            ]
    return found


@pytest.mark.slow
@examples(5)
@given(given_texts=st.lists(texts, min_size=2, max_size=9), chance=st.randoms(use_true_random=False))
def test_the_order_in_which_documents_are_added_changes_nothing(given_texts: list[str], chance: random.Random) -> None:
    documents = sources(given_texts)
    if not documents:
        return
    expected = results(built(documents, chance))
    assert results(built(documents[::-1], chance)) == expected
    chance.shuffle(documents)
    assert results(built(documents, chance, calls=2)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("words", [True, False])
def test_the_first_of_many_equal_ones_are_found(words: bool) -> None:
    """More are equal than are candidates, so FAISS and tantivy leave some out."""
    documents = [Document(page_content="A card. A seat.", id=f"d{number:03d}") for number in range(400)]
    chance = random.Random(1)
    for order in (documents, documents[::-1], chance.sample(documents, len(documents))):
        store = FaissStore(WordEmbeddings(), neighbor_weights=(1,))
        retriever = SentenceWindowRetriever(vectorstore=store, k=3, fetch_k=3, window=0, names=False, ranking=None)
        retriever.add_documents(list(order))
        scored = store.lexical_search("card", 3) if words else store.similarity_search_with_score("card", 3)
        assert [each.metadata["doc_id"] for each, _ in scored] == ["d000", "d001", "d002"]
        (window,) = retriever.invoke("card", lexical_weight=float(words))
        assert window.metadata["doc_id"] == "d000"
        assert [each["doc_id"] for each in window.metadata["also_in"]][:2] == ["d001", "d002"]


def test_a_search_by_words_beside_another_store_orders_equal_ones() -> None:
    from langchain_core.vectorstores import InMemoryVectorStore

    documents = [Document(page_content="A card. A seat.", id=f"d{number}") for number in range(9)]
    found = []
    for order in (documents, documents[::-1]):
        retriever = SentenceWindowRetriever(
            vectorstore=InMemoryVectorStore(WordEmbeddings()), bm25_index=BM25Index(), k=3, window=0, ranking=None
        )
        retriever.add_documents(list(order))
        found.append([(each.id, each.metadata) for each in retriever.invoke("card")])
    assert found[0] == found[1]
    assert found[0][0][1]["doc_id"] == "d0"


def test_the_work_for_equal_ones_is_bounded() -> None:
    scores, asked = [1.0] * 100_000, list[int]()

    def find(count: int) -> list[tuple[int, float]]:
        asked.append(count)
        return list(enumerate(scores[:count]))

    assert len(with_tied(find, 10)) == 10 + MAX_TIED
    assert sum(asked) < 2 * MAX_TIED
    asked.clear()
    scores[5:] = [0.5 - number / 1e6 for number in range(len(scores) - 5)]
    assert len(with_tied(find, 10)) == 10
    assert asked == [11]


def test_removed_texts_no_longer_count_in_a_small_index() -> None:
    texts = [(number, f"word{number % 3} card") for number in range(9)]
    changed, fresh = LexicalIndex(None), LexicalIndex(None)
    changed.change(np.arange(0), [(number + 100, "word1 seat") for number in range(50)])
    changed.change(None, texts)
    fresh.change(np.arange(0), texts)
    assert changed.searcher().search("word1 card", 9, None) == fresh.searcher().search("word1 card", 9, None)
