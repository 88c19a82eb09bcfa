"""Passages of equal text come once, with the other places, whatever else is asked for."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.documents.window_documents import text_key
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.tracing.trace import Trace
from langchain_sentence_window.windows.assembly import MAX_JOINED
from tests.forms import Invoke
from tests.toys import PLAIN, WordEmbeddings, document

CLAUSE = "Ask for a refund."


def over(*documents: Document, **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(
        list(documents), WordEmbeddings(), **PLAIN | {"ranking": None, "window": 0} | settings
    )


def places(window: Document) -> list[tuple[str, str]]:
    """The document of each other place, and its text."""
    return [
        (each["doc_id"], TEXTS[each["doc_id"]][each["start_index"] : each["end_index"]])
        for each in window.metadata.get("also_in", [])
    ]


TEXTS = {
    "a": f"# Terms\n\nNothing. {CLAUSE} Nothing else.",
    "b": f"# Law\n\nSo it is. {CLAUSE.upper()} So it stays.",
    "c": "A start. Ask\nfor a *refund*. Bye. Nobody knows why. It ends here. Ask for a refund!",
    "d": "An annual refund. And more.",
    "e": "A monthly refund of a card. And more.",
}
DOCUMENTS = [document(text, doc_id, source=f"{doc_id}.md") for doc_id, text in TEXTS.items()]


def ids(found: Sequence[Document]) -> list[str]:
    return [each.metadata["doc_id"] for each in found]


async def test_equal_text_comes_once_and_names_the_other_places(way: Invoke) -> None:
    found = await way(over(*DOCUMENTS, k=3), "invoke", "refund")
    assert ids(found) == ["a", "d", "e"]
    assert found[0].page_content == CLAUSE
    assert places(found[0]) == [("b", CLAUSE.upper()), ("c", "Ask\nfor a *refund*."), ("c", "Ask for a refund!")]
    assert [each.get("heading") for each in found[0].metadata["also_in"]] == ["Law", None, None]
    assert [each["source"] for each in found[0].metadata["also_in"]] == ["b.md", "c.md", "c.md"]
    assert not any("also_in" in each.metadata for each in found[1:])


async def test_the_search_goes_on_until_there_are_k_texts(way: Invoke) -> None:
    copies = [document(CLAUSE, f"copy {number:02}") for number in range(30)]
    found = await way(over(*copies, *DOCUMENTS[3:], k=3, fetch_k=3), "invoke", "refund")
    assert [each.page_content for each in found] == [CLAUSE, "An annual refund.", "A monthly refund of a card."]
    assert len(found[0].metadata["also_in"]) == 29


async def test_candidates_to_choose_from_keep_equal_texts(way: Invoke) -> None:
    retriever = over(document("Refund.", "a"), document("Refund.", "b"), k=MAX_JOINED + 1)
    found = await way(retriever, "invoke", "refund")
    assert [each.page_content for each in found] == ["Refund.", "Refund."]
    assert all("also_in" not in each.metadata for each in found)


@pytest.mark.parametrize("window", ["auto", 0, 2])
@pytest.mark.parametrize("k", [1, 10, MAX_JOINED])
async def test_equal_texts_are_read_in_one_call(way: Invoke, window: Any, k: int) -> None:
    class Counting(FaissStore):
        reads = 0

        def get_by_ids(self, ids: Any, /) -> list[Document]:
            Counting.reads += 1
            return super().get_by_ids(ids)

    retriever = SentenceWindowRetriever(
        vectorstore=Counting(WordEmbeddings()), window=window, fetch_k=200, ranking=None
    )
    await way(retriever, "add_documents", [document(f"Nothing. {CLAUSE} No.", str(number)) for number in range(50)])
    found = await way(retriever, "invoke", "refund", k=k)
    assert found[0].metadata["also_in"]
    assert Counting.reads <= 1


async def test_texts_that_are_equal_only_when_they_are_joined_come_once(way: Invoke) -> None:
    retriever = over(
        document("A refund, card, seat.", "one"),
        document("A refund. Card. Seat.", "three"),
        *(document(f"A refund or a trial or a page or {word}.", word) for word in ("that", "this", "so")),
        k=4,
    )
    one, *others = await way(retriever, "invoke", "refund card seat")
    assert one.page_content == "A refund, card, seat."
    assert {*ids(others)} == {"that", "this", "so"}
    [place] = one.metadata["also_in"]
    assert (place["doc_id"], place["start_index"], place["end_index"]) == ("three", 0, 21)


TABLE = "| Plan | {} |\n|------|-------|\n| page | 7 |\n| refund | 9 |\n"


async def test_rows_of_tables_with_other_headers_are_kept_apart(way: Invoke) -> None:
    tables = {"a": TABLE.format("Price"), "b": TABLE.format("Days"), "c": TABLE.format("Price")}
    retriever = over(*(document(text, doc_id) for doc_id, text in tables.items()), k=2)
    found = await way(retriever, "invoke", "refund")
    assert [each.page_content for each in found] == ["| refund | 9 |"] * 2
    assert [each.metadata["lead_ins"][0]["text"].split()[3] for each in found] == ["Price", "Days"]
    assert [[each["doc_id"] for each in window.metadata.get("also_in", [])] for window in found] == [["c"], []]


class Backward(BaseDocumentCompressor):
    """Turns windows round, and says that they stand elsewhere too; shortens them if it is asked to."""

    shorten: bool = False

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        assert not any("also_in" in each.metadata for each in documents)
        return [
            Document(
                page_content="Refund." if self.shorten else each.page_content,
                metadata={**each.metadata, "also_in": [{"doc_id": "evil"}], "separator": "x"},
            )
            for each in reversed(documents)
            if "refund" in each.page_content.lower()
        ]


async def test_the_best_of_equal_texts_is_the_rerankers(way: Invoke) -> None:
    found = await way(over(*DOCUMENTS, k=3, reranker=Backward()), "invoke", "refund")
    assert ids(found) == ["e", "d", "c"]
    assert [each.metadata.get("separator") for each in found] == [" ", " ", None]
    assert places(found[2]) == [("c", "Ask\nfor a *refund*."), ("b", CLAUSE.upper()), ("a", CLAUSE)]
    assert "also_in" not in found[0].metadata


async def test_a_trace_names_the_window_that_has_the_text(way: Invoke) -> None:
    trace: Trace = await way(over(*DOCUMENTS[:4], k=2), "explain", "refund")
    fates = {(each.doc_id, each.text): each.outcome for each in trace.windows if "refund" in each.text.lower()}
    assert fates["a", CLAUSE] == "returned as 1"
    assert fates["d", "An annual refund."] == "returned as 2"
    number = next(each.number for each in trace.windows if each.doc_id == "a" and each.text == CLAUSE)
    assert fates["b", CLAUSE.upper()] == f"left out, as its text is that of window {number}"


PIECES = [
    "Refund.",
    "A card!",
    "**A card**",
    "Refund, a card.",
    "- x\n",
    "\n\n# Refund\n\n",
    "So it is:",
    "It is.",
    "7",
]


@given(
    st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9), min_size=1, max_size=4),
    st.sampled_from(["auto", 0, 1]),
    st.sampled_from([None, 9, 20, 60]),
    st.sampled_from([1, 4, 20]),
    st.sampled_from([1, 3, 50]),
)
# Two windows are found to be equal only after the budget has widened them by sentences that the search didn't find.
@example([["Refund, a card.", "It is."], ["Refund, a card.", "It is.", "Refund."]], 1, 10, 3, 1)
def test_no_text_comes_twice_and_all_places_are_of_their_texts(
    pieces: list[list[str]], window: Any, max_tokens: int | None, k: int, fetch_k: int
) -> None:
    texts = {f"d{number}": " ".join(each) for number, each in enumerate(pieces)}
    retriever = over(
        *(document(text, doc_id) for doc_id, text in texts.items()),
        window=window,
        k=k,
        fetch_k=fetch_k,
        max_tokens=max_tokens,
        count_tokens=lambda text: len(text.split()),
    )
    try:
        found = retriever.invoke("refund card")
    except InvalidInputError:
        assume(max_tokens != 9)  # pieces without a full stop make one sentence, which may be longer
        raise
    keys = [(text_key(each.page_content), str(each.metadata.get("lead_ins"))) for each in found]
    assert len(set(keys)) == len([key for key in keys if key[0]]) + (("", "None") in keys)
    for each in found:
        for place in each.metadata.get("also_in", []):
            held = text_key(texts[place["doc_id"]][place["start_index"] : place["end_index"]])
            own = text_key(each.page_content)
            # A budget may have cut the window on one side since, and widened it on the other.
            assert held in own if max_tokens is None else set(held.split()) & set(own.split())
