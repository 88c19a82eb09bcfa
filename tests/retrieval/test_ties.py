"""Results don't depend on when something was added: equal scores are ordered by document and index."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
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
