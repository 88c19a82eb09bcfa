"""The lines of text files: each window says those that its text touches."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import (
    FaissStore,
    SentenceSplitter,
    SentenceWindowRetriever,
    describe_location,
    find_citations,
    merge_windows,
    verify_quotes,
)
from tests.toys import WordEmbeddings

TEXT = (
    "# Terms\n\nA card is free. It is\r\nsent.\n\n- One seat.\n- Two trials.\n\nThe refund\ris quick. It takes days.\n"
)


def lines(text: str, start: int, end: int) -> list[int]:
    """Return the first and the last line of a stretch of a text, by splitting the text."""
    return [len(re.split(r"\r\n|\r|\n", text[:at])) for at in (start, end)]


def retriever(text: str, words: WordEmbeddings, source: str = "terms.md", **settings: Any) -> SentenceWindowRetriever:
    document = Document(page_content=text, metadata={"source": source})
    return SentenceWindowRetriever.from_documents([document], words, lexical_weight=0, **settings)


@pytest.mark.parametrize("window", [0, 1, (0, 2), "auto"])
@pytest.mark.parametrize("question", ["card", "seat", "refund", "days"])
def test_a_window_says_its_lines(words: WordEmbeddings, question: str, window: Any) -> None:
    for found in retriever(TEXT, words, window=window, k=3).invoke(question):
        said = found.metadata["lines"]
        assert said == lines(TEXT, found.metadata["start_index"], found.metadata["end_index"])
        place = f"terms.md, line {said[0]}" if said[0] == said[1] else f"terms.md, lines {said[0]}–{said[1]}"
        assert describe_location(found).startswith(place)


def test_lines_are_kept_in_a_store_on_disk(words: WordEmbeddings, tmp_path: Path) -> None:
    store = FaissStore(words, tmp_path / "index")
    SentenceWindowRetriever(vectorstore=store).add_documents(
        [Document(page_content=TEXT, metadata={"source": "a.rst"})]
    )
    store.close()
    with FaissStore(words, tmp_path / "index") as again:
        (found,) = SentenceWindowRetriever(vectorstore=again, k=1, window=1).invoke("seat")
        (whole,) = SentenceWindowRetriever(vectorstore=again).get([found.metadata["doc_id"]])
    assert found.metadata["lines"] == lines(TEXT, found.metadata["start_index"], found.metadata["end_index"])
    assert whole.metadata["lines"] == lines(TEXT, 0, len(TEXT.rstrip()))


def test_joined_and_cut_windows_say_their_lines(words: WordEmbeddings) -> None:
    one, two = (retriever(TEXT, words, window=2, k=1).invoke(each)[0] for each in ("card", "refund"))
    (joined,) = merge_windows([two, one])
    assert joined.metadata["lines"] == lines(TEXT, joined.metadata["start_index"], joined.metadata["end_index"])
    unknown = one.model_copy(update={"metadata": {key: one.metadata[key] for key in one.metadata if key != "lines"}})
    assert all("lines" not in each.metadata for each in merge_windows([unknown, two]))


def test_quotes_and_citations_say_their_lines(words: WordEmbeddings) -> None:
    found = retriever(TEXT, words, window=3, k=1).invoke("refund")
    (quote,) = verify_quotes('It says "The refund is quick" [1].', found)
    assert [(place.lines, place.location) for place in quote.places] == [((9, 10), "terms.md, lines 9–10 (Terms)")]
    (citation,) = find_citations("So [1].", found)
    assert citation.location.startswith(f"terms.md, lines {found[0].metadata['lines'][0]}–")


@pytest.mark.parametrize("given_lines", [None, "3", [3], [0, 2], [5, 3], [1.5, 2], {"a": 1}])
def test_invalid_lines_are_not_shown(given_lines: Any) -> None:
    window = Document(page_content="A card.", metadata={"source": "a.md", "start_index": 4, "lines": given_lines})
    assert describe_location(window) == "a.md:4-11"


def test_documents_with_parts_have_no_lines(words: WordEmbeddings) -> None:
    pages = [Document(page_content=f"Page {n}. A seat.", metadata={"source": "a.txt", "page": n}) for n in range(2)]
    found = SentenceWindowRetriever.from_documents(pages, words, k=1).invoke("seat")
    assert all("lines" not in each.metadata for each in found)


@given(st.lists(st.sampled_from(["A card. ", "Is it so? ", "\n", "\r\n", "\r", "- ", "# ", "word ", "```", "| a |"])))
def test_every_sentence_says_the_line_that_it_starts_on(pieces: list[str]) -> None:
    text = "".join(pieces) + "End."
    for made in SentenceSplitter().split_documents([Document(page_content=text, metadata={"source": "a.md"})]):
        assert made.metadata["start_line"] == lines(text, made.metadata["start_index"], 0)[0]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        *(({"source": source}, True) for source in ("a.md", "docs/A.TXT", "src/a.py", "Makefile", "file:///c/a.md")),
        ({"source": "https://github.com/o/r/blob/main/a.md"}, True),
        ({"source": "a", "content_type": "text/plain; charset=utf-8"}, True),
        *(({"source": source}, False) for source in ("https://x.org/a.md", "a.html", "a.pdf", "a.json", "a", 7)),
        ({"source": "a.txt", "content_type": "text/html"}, False),
        ({"source": "a.md", "content_type": "application/pdf"}, False),
        ({}, False),
    ],
)
def test_only_text_files_have_lines(metadata: dict[str, Any], expected: bool) -> None:
    [sentence] = SentenceSplitter().split_documents([Document("A card.", metadata=metadata)])
    assert ("start_line" in sentence.metadata) == expected
