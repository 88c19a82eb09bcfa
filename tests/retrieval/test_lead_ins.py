"""Check that what leads a window in comes with it: a table's header, a list's introduction, a message's speaker."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import (
    FaissStore,
    SentenceSplitter,
    SentenceWindowRetriever,
    format_context,
)
from langchain_sentence_window.documents.window_fields import MAX_LEAD_INS
from langchain_sentence_window.errors import InvalidInputError
from tests.forms import Invoke
from tests.toys import PLAIN, WordEmbeddings, document

TEXT = """# Rules

Some words.

Never use it for:

- a refund of
  coins
- abuse, such as:
  - a monthly fee
  - an annual fee
- a seat

The plans:

| Plan | Price |
|------|-------|
| trial | 0 |
| card | 9 |

The end.
"""
CHAT = """[10:06] Anna: Hello there. The invoice is late. So be it.
[10:07] Bob: Which one? The backup of the page is here.
"""
INTRODUCTION = ("list", "Never use it for:")


def led(window: Document) -> list[tuple[str, str]]:
    return [(each["kind"], each["text"]) for each in window.metadata.get("lead_ins", [])]


def check_verbatim(window: Document, text: str) -> None:
    start, end = window.metadata["start_index"], window.metadata["end_index"]
    assert window.page_content == text[start:end]
    at = 0
    for each in window.metadata.get("lead_ins", []):
        assert at <= each["start_index"] < each["end_index"] <= start
        assert text[each["start_index"] : each["end_index"]] == each["text"]
        assert each.keys() == {"kind", "text", "start_index", "end_index"}
        at = each["end_index"]


class CountingStore(InMemoryVectorStore):
    """A store that counts the calls in which documents are fetched by id, and the ids of each."""

    def __init__(self, embedding: WordEmbeddings) -> None:
        super().__init__(embedding)
        self.fetched: list[int] = []

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        self.fetched.append(len(ids))
        return super().get_by_ids(ids)

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return self.get_by_ids(ids)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("refund", [INTRODUCTION]),
        ("annual", [INTRODUCTION, ("list", "- abuse, such as:")]),
        ("seat", [INTRODUCTION]),
        ("trial", [("header", "| Plan | Price |")]),
        ("card", [("header", "| Plan | Price |")]),
    ],
)
async def test_a_window_says_what_leads_it_in(
    query: str, expected: list[tuple[str, str]], words: WordEmbeddings, way: Invoke
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words, neighbor_weights=(1,)), lexical_weight=0)
    await way(retriever, "add_documents", [document(TEXT)])
    for window in (0, 1, 2, 30, "auto"):
        [found] = await way(retriever, "invoke", query, k=1, window=window)
        check_verbatim(found, TEXT)
        if window == 0:
            assert led(found) == expected
        # What stands in the window isn't repeated.
        assert all(text not in found.page_content for _, text in led(found))
        assert {text for _, text in expected} <= {text for _, text in led(found)} | {
            text for _, text in expected if text in found.page_content
        }


async def test_what_a_speaker_goes_on_to_say_comes_with_the_name(words: WordEmbeddings, way: Invoke) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words, neighbor_weights=(1,)), lexical_weight=0)
    await way(retriever, "add_documents", [document(CHAT)])
    [anna] = await way(retriever, "invoke", "invoice", k=1, window=0)
    assert (anna.page_content, led(anna)) == ("The invoice is late.", [("speaker", "[10:06] Anna:")])
    [bob] = await way(retriever, "invoke", "backup", k=1, window=(2, 0))
    assert bob.page_content == "So be it.\n[10:07] Bob: Which one? The backup of the page is here."
    assert led(bob) == [("speaker", "[10:06] Anna:")]
    check_verbatim(anna, CHAT)
    check_verbatim(bob, CHAT)


async def test_a_filter_that_forbids_a_lead_in_keeps_it_out(words: WordEmbeddings, way: Invoke) -> None:
    store = FaissStore(words, neighbor_weights=(1,))
    made = SentenceSplitter().split_documents([document(TEXT)])
    for sentence in made:
        sentence.metadata["tenant"] = "two" if "Never" in sentence.page_content else "one"
    await way(store, "add_documents", made)
    retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0)
    assert led((await way(retriever, "invoke", "seat", k=1, window=0))[0]) == [INTRODUCTION]
    bound = {"k": 1, "filter": {"tenant": "one"}}
    assert led((await way(retriever, "invoke", "seat", window=0, **bound))[0]) == []
    assert led((await way(retriever, "invoke", "annual", window=0, **bound))[0]) == [("list", "- abuse, such as:")]
    assert led((await way(retriever, "invoke", "card", window=1, **bound))[0]) == [("header", "| Plan | Price |")]


class ChangingStore(CountingStore):
    """A store in which another process replaces a document before the first fetch."""

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        if not self.fetched:
            self.add_documents(SentenceSplitter().split_documents([document("Ten words. " + TEXT)]))
        return super().get_by_ids(ids)


async def test_a_lead_in_is_never_of_another_version_than_its_window(words: WordEmbeddings, way: Invoke) -> None:
    store = ChangingStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store, lexical_weight=0, fetch_k=1)
    store.add_documents(SentenceSplitter().split_documents([document(TEXT)]))
    [found] = await way(retriever, "invoke", "seat", k=1, window=0)
    check_verbatim(found, "Ten words. " + TEXT)
    assert led(found) == [INTRODUCTION]


def test_only_the_nearest_of_many_are_taken(words: WordEmbeddings) -> None:
    items = "\n".join(f"{'  ' * depth}- level {depth}:" for depth in range(8))
    text = f"# Levels\n\n{items}\n{'  ' * 8}- a seat"
    retriever = SentenceWindowRetriever.from_documents([document(text)], words, **PLAIN, window=0, k=1)
    [found] = retriever.invoke("seat")
    assert led(found) == [("list", f"- level {depth}:") for depth in range(8 - MAX_LEAD_INS, 8)]


# The budget


def words_in(text: str) -> int:
    return len(text.split())


def test_a_budget_counts_lead_ins_and_drops_neighbors_then_lead_ins_then_hits(words: WordEmbeddings) -> None:
    text = "# Rules\n\nNever use it for:\n\n- one thing\n- a seat\n- two things\n\nThe end."
    retriever = SentenceWindowRetriever.from_documents(
        [document(text)], words, **PLAIN, fetch_k=1, k=1, window=1, count_tokens=words_in
    )
    whole = "- one thing\n- a seat\n- two things"
    expected = {
        13: (whole, True),
        12: ("- a seat\n- two things", True),
        10: ("- a seat\n- two things", True),
        9: ("- a seat", True),
        7: ("- a seat", True),
        6: ("- a seat\n- two things", False),
        3: ("- a seat", False),
    }
    for max_tokens, (content, is_led) in expected.items():
        [found] = retriever.invoke("seat", max_tokens=max_tokens)
        assert (found.page_content, led(found)) == (content, [INTRODUCTION] if is_led else []), max_tokens
        assert words_in(format_context([found]).split("\n", 2)[2].removesuffix("</source>")) <= max_tokens
        check_verbatim(found, text)
    message = "max_tokens is 2, and the shortest sentence that was found has 3 tokens; set it to 3 or more"
    with pytest.raises(InvalidInputError, match=message):
        retriever.invoke("seat", max_tokens=2)


class Rewriter(BaseDocumentCompressor):
    """A reranker that rewrites metadata."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        for each in documents:
            each.metadata["lead_ins"] = [{"kind": "list", "text": "EVIL", "start_index": 0, "end_index": 4}]
        return list(documents)


async def test_a_reranker_cannot_change_lead_ins(words: WordEmbeddings, way: Invoke) -> None:
    retriever = SentenceWindowRetriever.from_documents(
        [document(TEXT)], words, **PLAIN, fetch_k=1, k=1, window=0, reranker=Rewriter()
    )
    assert led((await way(retriever, "invoke", "seat"))[0]) == [INTRODUCTION]
    assert led((await way(retriever, "invoke", "words"))[0]) == []


# What a store gives back


# Any text


PIECES = [
    "# A\n\n",
    "The items:\n\n",
    "- seat\n",
    "  - card:\n",
    "    - refund\n",
    "|a|b|\n|-|-|\n",
    "|seat|1|\n",
    "\n\n",
]
PIECES += [
    "[10:06] Ann: The page. A seat.\n",
    "[10:07] Bob: The card. A trial.\n",
    "A replica. ",
    "1. seat\n",
    "(a) trial\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.integers(0, 3), st.integers(1, 40))
def test_lead_ins_are_verbatim_and_before_their_windows_in_any_text(text: str, window: int, max_tokens: int) -> None:
    retriever = SentenceWindowRetriever(
        vectorstore=FaissStore(WordEmbeddings(), neighbor_weights=(1,)), lexical_weight=0, window=window, k=3
    )
    retriever.add_documents([document(text)])
    for found in retriever.invoke("seat card trial"):
        check_verbatim(found, text)
        assert len(led(found)) <= MAX_LEAD_INS
    sizes = {words_in(each.page_content) for each in retriever.splitter.split_documents([document(text)])}
    try:
        taken = retriever.invoke("seat", max_tokens=max_tokens, count_tokens=words_in)
    except InvalidInputError as error:
        refused = re.match(rf"max_tokens is {max_tokens}, and the shortest .* has (\d+) tokens", str(error))
        assert refused is not None
        assert max_tokens < int(refused[1]) in sizes
        return
    assert bool(taken) == bool(sizes)
    assert not taken or max_tokens >= min(sizes)
    shown = [" ".join([each.page_content, *(text for _, text in led(each))]) for each in taken]
    assert sum(map(words_in, shown)) <= max_tokens
    for found in taken:
        check_verbatim(found, text)


# The tools
