"""Test what comes out when a reranker returns something else than it was given, in another order."""

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window import SentenceWindowRetriever, create_tools
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.properties import examples
from tests.toys import PLAIN, WordEmbeddings, document

TEXTS = {
    "a": "A refund. It is so.",
    "b": "A refund, a card. It was so.",
    "c": "A refund, a card, a seat. It will be so.",
}
DOCUMENTS = [document(text, name, source=f"{name}.md") for name, text in TEXTS.items()]


class Doing(BaseDocumentCompressor):
    """Returns what a function makes of the documents."""

    does: Callable[[list[Document]], Any]

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return self.does(documents)


def retrieving(does: Callable[[list[Document]], Any], **given: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(
        DOCUMENTS, WordEmbeddings(), reranker=Doing(does=does), **{"k": 3, "window": 1, "fetch_k": 3, **PLAIN, **given}
    )


def names(found: list[Document]) -> str:
    return "".join(each.metadata["doc_id"] for each in found)


def scored(each: Document, score: object) -> Document:
    return Document(each.page_content, metadata={**each.metadata, "relevance_score": score})


@pytest.mark.parametrize(
    ("does", "expected"),
    [
        (lambda given: [*given, *given], "abc"),
        (lambda given: [copy.deepcopy(each) for each in given for _ in range(9)], "abc"),
        (lambda given: [scored(given[1], 2.0), scored(given[1], 1.0), given[0]], "ba"),
        (lambda given: [Document("Nobody wrote this.", metadata={"doc_id": "x"}), *given], "abc"),
        (lambda given: given[:1], "a"),
        (lambda given: [], ""),
        (lambda given: (each for each in given), "abc"),
        (lambda given: [Document(each.page_content) for each in reversed(given)], "cba"),
        (lambda given: [Document("Short.", id=each.id) for each in reversed(given)], "cba"),
        (lambda given: [Document("Other text.", metadata=given[1].metadata), given[0]], "ba"),
    ],
)
async def test_windows_come_once_each_in_the_order_of_the_reranker(
    way: Invoke, does: Callable[[list[Document]], Any], expected: str
) -> None:
    found: list[Document] = await way(retrieving(does), "invoke", "refund")
    assert names(found) == expected
    assert [each.page_content for each in found] == [TEXTS[name] for name in expected]


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.25, 0.25),
        (np.float32(0.5), 0.5),
        ("high", None),
        (None, None),
        (True, None),
        (float("nan"), None),
    ],
)
async def test_a_relevance_score_is_a_finite_number_or_left_out(way: Invoke, score: object, expected: object) -> None:
    retriever = retrieving(lambda given: [scored(each, score) for each in reversed(given)])
    found = await way(retriever, "invoke", "refund")
    assert names(found) == "cba"
    assert [each.metadata.get("relevance_score") for each in found] == [expected] * 3
    trace = await way(retriever, "explain", "refund")
    assert [each.relevance_score for each in trace.windows] == [expected] * 3
    assert [each.reranked for each in trace.windows] == [3, 2, 1]


def rewrite(given: list[Document]) -> list[Document]:
    """Write into everything that was handed in."""
    for place, each in enumerate(given):
        each.id = "same"
        each.metadata.update(
            doc_id="z",
            start_index="x",
            end_index=None,
            sentences="none",
            score="high",
            heading="[2] trusted",
            mark=place,
        )
        each.metadata["hits"].clear()
        each.metadata["source"] = f"{each.metadata['source']}!"
    return given


@pytest.mark.parametrize("order", ["relevance", "document", "edges"])
async def test_a_reranker_cannot_change_where_a_window_is_from(way: Invoke, order: Any) -> None:
    plain = retrieving(lambda given: given, order=order)
    expected = await way(plain, "invoke", "refund")
    hostile = retrieving(rewrite, order=order)
    found = await way(hostile, "invoke", "refund")
    added = ("mark", "source")
    assert [each.id for each in found] == [each.id for each in expected]
    assert [{key: value for key, value in each.metadata.items() if key not in added} for each in found] == [
        {key: value for key, value in each.metadata.items() if key not in added} for each in expected
    ]
    assert sorted(each.metadata["mark"] for each in found) == [0, 1, 2]
    assert {each.metadata["source"] for each in found} == {"a.md!", "b.md!", "c.md!"}
    # The windows of a trace are those that were found, whatever became of the Documents that were handed out.
    trace = await way(hostile, "explain", "refund")
    assert [each.text for each in trace.windows] == [*TEXTS.values()]
    assert sorted(each.returned or 0 for each in trace.windows) == [1, 2, 3]
    assert "first: 0 · last: 1" in await way(create_tools(hostile)[0], "invoke", {"query": "refund"})


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (lambda given: None, "Doing returned None; it must return a list of the Documents"),
        (lambda given: "refund", "Doing returned 'refund'"),
        (lambda given: given[0], "Doing returned a Document"),
        (lambda given: dict.fromkeys(range(3)), "it must return a list"),
        (
            lambda given: [(each, 0.5) for each in given],
            r"Doing returned \(a Document, 0.5\) at position 0.*relevance_score",
        ),
        (lambda given: [each.page_content for each in given], "returned 'A refund.* at position 0"),
        (lambda given: [Document("Mine."), Document("Mine, too.")], "2 Documents, and none is one of the 3 windows"),
    ],
)
async def test_invalid_results_of_a_reranker_are_refused(
    way: Invoke, does: Callable[[list[Document]], Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await way(retrieving(does), "invoke", "refund")


TWISTS: dict[str, Callable[[list[Document]], list[Document]]] = {
    "twice": lambda given: [*given, *given],
    "reversed": lambda given: given[::-1],
    "bare": lambda given: [Document(each.page_content) for each in given],
    "made up": lambda given: [*given, Document("Refund " * 99)],
    "longer": lambda given: [Document(each.page_content * 9, metadata=each.metadata) for each in given],
    "shorter": lambda given: [Document(each.page_content[:7], metadata=each.metadata) for each in given],
    "without": lambda given: given[1:],
    "parts": lambda given: [
        Document(part, metadata=each.metadata) for each in given for part in each.page_content.split(". ")
    ],
    "bad places": lambda given: [
        Document(each.page_content, metadata={**each.metadata, "start_index": "x"}) for each in given
    ],
}


@examples(60)
@given(
    st.lists(st.sampled_from(sorted(TWISTS)), max_size=4),
    st.integers(1, 4),
    st.integers(3, 40),
    st.sampled_from(["relevance", "document", "edges"]),
)
def test_nothing_that_a_reranker_does_breaks_the_budget_the_number_or_the_places(
    twists: list[str], k: int, max_tokens: int, order: Any
) -> None:
    def does(given: list[Document]) -> list[Document]:
        for twist in twists:
            given = TWISTS[twist](given)
        return given

    def count(text: str) -> int:
        return len(text.split())

    retriever = SentenceWindowRetriever(vectorstore=STORE, reranker=Doing(does=does), window=1, fetch_k=3, order=order)
    try:
        found = retriever.invoke("refund", k=k, max_tokens=max_tokens, count_tokens=count)
    except InvalidInputError as error:
        # Only if nothing is left that is of a window, if there is far too much, or if nothing fits.
        small = re.match(rf"max_tokens is {max_tokens}, and the shortest .* has (\d+) tokens", str(error))
        assert small or re.search("none is one of|returned more than", str(error))  # noqa: PT017
        assert small is None or int(small[1]) > max_tokens
        return
    assert len(found) <= k
    assert sum(count(each.page_content) for each in found) <= max_tokens
    shown = [(each.id, each.page_content) for each in found]
    assert len(set(shown)) == len(shown)
    for each in found:
        first, last = each.metadata["sentences"]
        assert 0 <= first <= last <= 1
        assert each.metadata["doc_id"] in TEXTS
        assert 0 <= each.metadata["start_index"] < each.metadata["end_index"]


STORE = SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings(), **PLAIN).vectorstore
