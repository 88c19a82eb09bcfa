"""Lines of text files: each window says those that its text touches, wherever it goes."""

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
from langchain_sentence_window.documents.source_metadata import is_text_file
from langchain_sentence_window.documents.window_documents import window_slice
from langchain_sentence_window.loaders.file_loader import load_file
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
    for low in range(0, len(joined.page_content), 7):
        part = window_slice(joined, low, min(low + 9, len(joined.page_content)))
        assert part.metadata["lines"] == lines(TEXT, part.metadata["start_index"], part.metadata["end_index"])
    unknown = one.model_copy(update={"metadata": {key: one.metadata[key] for key in one.metadata if key != "lines"}})
    assert all("lines" not in each.metadata for each in merge_windows([unknown, two]))


def test_inline_windows_say_their_lines(words: WordEmbeddings) -> None:
    made = SentenceSplitter(inline_window=2).split_documents([Document(page_content=TEXT, metadata={"source": "a.md"})])
    store = FaissStore(words)
    store.add_documents(made)
    for found in SentenceWindowRetriever(vectorstore=store, window=2, k=4).invoke("refund"):
        assert found.metadata["lines"] == lines(TEXT, found.metadata["start_index"], found.metadata["end_index"])


def test_quotes_and_citations_say_their_lines(words: WordEmbeddings) -> None:
    found = retriever(TEXT, words, window=3, k=1).invoke("refund")
    (quote,) = verify_quotes('It says "The refund is quick" [1].', found)
    assert [(place.lines, place.location) for place in quote.places] == [((9, 10), "terms.md, lines 9–10 (Terms)")]
    (citation,) = find_citations("So [1].", found)
    assert citation.location.startswith(f"terms.md, lines {found[0].metadata['lines'][0]}–")


def test_a_rewritten_window_has_no_lines(words: WordEmbeddings) -> None:
    (found,) = retriever(TEXT, words, window=1, k=1).invoke("refund")
    shortened = found.model_copy(update={"page_content": "The refund."})
    assert describe_location(shortened) == "terms.md (Terms)"


@pytest.mark.parametrize("given_lines", [None, "3", [3], [0, 2], [5, 3], [1.5, 2], {"a": 1}])
def test_lines_that_cannot_be_are_not_shown(given_lines: Any) -> None:
    window = Document(page_content="A card.", metadata={"source": "a.md", "start_index": 4, "lines": given_lines})
    assert describe_location(window) == "a.md:4-11"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"source": "a.md"}, True),
        ({"source": "docs/A.TXT"}, True),
        ({"source": "src/a.py"}, True),
        ({"source": "Makefile"}, True),
        ({"source": "a.adoc"}, True),
        ({"source": "file:///c/a.md"}, True),
        ({"source": "https://github.com/o/r/blob/main/a.md"}, True),
        ({"source": "Terms", "content_type": "text/markdown"}, True),
        ({"source": "a", "content_type": "text/plain; charset=utf-8"}, True),
        ({"source": "https://x.org/a.md"}, False),
        ({"source": "a.html"}, False),
        ({"source": "a.txt", "content_type": "text/html"}, False),
        ({"source": "a.md", "content_type": "application/pdf"}, False),
        ({"source": "a.pdf"}, False),
        ({"source": "a.docx"}, False),
        ({"source": "a.json"}, False),
        ({"source": "a"}, False),
        ({"source": 7}, False),
        ({}, False),
    ],
)
def test_which_sources_are_text_files(metadata: dict[str, object], expected: bool) -> None:
    assert is_text_file(metadata) is expected


def test_documents_with_parts_have_no_lines(words: WordEmbeddings) -> None:
    pages = [Document(page_content=f"Page {n}. A seat.", metadata={"source": "a.txt", "page": n}) for n in range(2)]
    found = SentenceWindowRetriever.from_documents(pages, words, k=1).invoke("seat")
    assert all("lines" not in each.metadata for each in found)


def test_loaded_files_have_lines_if_they_are_text(words: WordEmbeddings, tmp_path: Path) -> None:
    for name, has_lines in (("a.md", True), ("a.txt", True), ("a.html", False)):
        (tmp_path / name).write_text("<p>A seat.</p>\n" if name == "a.html" else "\nA seat.\n", encoding="utf-8")
        (found,) = SentenceWindowRetriever.from_documents(load_file(tmp_path / name), words).invoke("seat")
        assert found.metadata.get("lines") == ([2, 2] if has_lines else None)


@given(st.lists(st.sampled_from(["A card. ", "Is it so? ", "\n", "\r\n", "\r", "- ", "# ", "word ", "```", "| a |"])))
def test_every_sentence_says_the_line_that_it_starts_on(pieces: list[str]) -> None:
    text = "".join(pieces) + "End."
    for made in SentenceSplitter().split_documents([Document(page_content=text, metadata={"source": "a.md"})]):
        assert made.metadata["start_line"] == lines(text, made.metadata["start_index"], 0)[0]
