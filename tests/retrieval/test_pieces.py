"""Long sentences are searched in pieces and returned whole."""

from typing import Any

import pytest

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from tests.forms import Invoke
from tests.toys import BY_COSINE, WordEmbeddings, document

FIRST = "The annual card is sent with the invoice to whoever signed for it in May"
MIDDLE = "the refund is paid within a week after the seat was left by its user"
LAST = "and the trial ends as soon as the page that asks for it was answered by him."
LONG = f"{FIRST}, {MIDDLE}, {LAST}"
TEXT = f"A backup is made. A replica is kept. {LONG} Ask for a replica. Make a backup."


def retriever(**settings: Any) -> SentenceWindowRetriever:
    splitter = SentenceSplitter(max_piece_chars=90)
    return SentenceWindowRetriever.from_documents(
        [document(TEXT)], WordEmbeddings(), splitter=splitter, **BY_COSINE, **settings
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"k": 1}, TEXT),  # with the second best window, which is near
        ({"k": 1, "window": 0}, LONG),
        ({"k": 1, "window": 1}, f"A replica is kept. {LONG} Ask for a replica."),
        ({"k": 1, "window": (0, 2)}, f"{LONG} Ask for a replica. Make a backup."),
        ({"k": 1, "max_tokens": 10_000, "count_tokens": len}, TEXT),
        # The others would take more than a share of the budget.
        ({"k": 1, "max_tokens": 75, "count_tokens": len}, f"{MIDDLE},"),
        ({"k": 1, "max_tokens": 75, "count_tokens": len, "window": 1}, f"{MIDDLE},"),
    ],
)
async def test_what_comes_back(settings: dict[str, Any], expected: str, way: Invoke) -> None:
    (window,) = await way(retriever(**settings), "invoke", "refund seat")
    assert window.page_content == expected
    assert TEXT[window.metadata["start_index"] : window.metadata["end_index"]] == expected


def test_several_pieces_of_a_sentence_are_one_window() -> None:
    found = retriever(k=3).invoke("refund invoice trial")
    assert sum(LONG in each.page_content for each in found) == 1
    assert {2, 3} <= {hit["sentence_index"] for hit in found[0].metadata["hits"]}
