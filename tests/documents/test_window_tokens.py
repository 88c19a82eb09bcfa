"""The tokens of windows and their lead-ins, counted by the retriever's counter or estimated."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_sentence_window import SentenceWindowRetriever, merge_windows
from langchain_sentence_window.documents.window_fields import estimate_tokens
from tests.forms import Invoke
from tests.toys import WordEmbeddings

TABLE = """# Prices

| item | price |
|---|---|
| card | 3 |
| seat | 4 |
| trial | 5 |

A refund. An invoice. A page.
"""


def words_of(text: str) -> int:
    return len(text.split())


def shown(window: Document) -> str:
    """A window with its lead-ins above it."""
    lead_ins = [" ".join(each["text"].split()) for each in window.metadata.get("lead_ins", ())]
    return "\n".join([*lead_ins, window.page_content])


def over(words: WordEmbeddings, **settings: Any) -> SentenceWindowRetriever:
    documents = [Document(page_content=TABLE, id="a"), Document(page_content="A card. A seat. A trial.", id="b")]
    return SentenceWindowRetriever.from_documents(documents, words, **{"window": 1, "lexical_weight": 0, **settings})


@pytest.mark.parametrize("count", [estimate_tokens, words_of])
async def test_a_window_has_its_number_of_tokens(
    count: Callable[[str], int], words: WordEmbeddings, way: Invoke
) -> None:
    found = await way(over(words, count_tokens=count, window=0), "invoke", "seat", k=2)
    assert any("lead_ins" in window.metadata for window in found)
    assert [window.metadata["tokens"] for window in found] == [count(shown(window)) for window in found]
    assert sum(window.metadata["tokens"] for window in await way(over(words), "invoke", "seat", max_tokens=9)) <= 9


async def test_a_trimmed_window_is_counted_again(words: WordEmbeddings, way: Invoke) -> None:
    for limit in range(2, 30):
        found = await way(over(words, count_tokens=words_of), "invoke", "seat", max_tokens=limit)
        assert [window.metadata["tokens"] for window in found] == [words_of(shown(window)) for window in found]
        assert sum(window.metadata["tokens"] for window in found) <= limit


TOKENS_BY_LANGUAGE = {
    language: (text, int(o200k))
    for line in Path(__file__).with_name("tokens_by_language.txt").read_text(encoding="utf-8").splitlines()[1:]
    for language, o200k, _, text in [line.split(" ", 3)]
}


@pytest.mark.parametrize("language", TOKENS_BY_LANGUAGE)
def test_tokens_are_estimated_by_script(language: str) -> None:
    text, tokens = TOKENS_BY_LANGUAGE[language]
    assert 0.9 * tokens <= estimate_tokens(text) <= 2 * tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("A refund.", 3),  # 9 characters by 4
        ("“Don’t,” she said — naïve café … 30 €", 10),  # 37 by 4: no letter of another script
        ("客户可以", 4),
        ("客户 may", 3),  # 2 + 4 by 4
        ("คืนเงิน", 3),  # 7 by 0.4
        ("Дождь", 2),  # 5 by 0.4
        ("ęść", 3),
        ("e\u0301", 2),  # 0.25 + 1
        ("🎉🚀", 4),
        ("\ud800", 2),  # half of a pair, which no encoder takes
    ],
)
def test_the_estimate_of_a_text(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
    assert estimate_tokens(1000 * text) <= 1000 * tokens


@given(st.text(st.characters(max_codepoint=0xFF)))
def test_western_letters_cost_a_quarter_of_a_token(text: str) -> None:
    assert estimate_tokens(text) == math.ceil(len(text) / 4)


@given(st.text(), st.text())
def test_the_estimate_is_additive_up_to_rounding(one: str, other: str) -> None:
    apart = estimate_tokens(one) + estimate_tokens(other)
    assert apart - 1 <= estimate_tokens(one + other) <= apart


class Shortening(BaseDocumentCompressor):
    """Returns the first sentence of each window, and claims that it costs nothing."""

    def compress_documents(
        self,
        documents: "list[Document]",  # type: ignore[override]
        query: str,
        callbacks: Callbacks = None,
    ) -> list[Document]:
        for each in documents:
            each.page_content = each.page_content[:7]
            each.metadata["tokens"] = 0
        return documents


async def test_a_text_that_a_reranker_shortened_costs_what_is_left(words: WordEmbeddings, way: Invoke) -> None:
    retriever = over(words, reranker=Shortening(), count_tokens=words_of)
    found = await way(retriever, "invoke", "seat", k=4)
    assert [window.metadata["tokens"] for window in found] == [words_of(shown(window)) for window in found]


def test_merged_windows_are_counted_again_by_the_same_counter(words: WordEmbeddings) -> None:
    windows = [over(words, count_tokens=words_of, k=1).invoke(each)[0] for each in ("invoice", "page")]
    [merged] = merge_windows(windows, count_tokens=words_of)
    assert merged.metadata["tokens"] == words_of(shown(merged))
    [other] = merge_windows(windows)
    assert "tokens" not in other.metadata
    assert merge_windows(windows[:1]) == windows[:1]
