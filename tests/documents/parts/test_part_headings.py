"""The headings that LangChain's splitters write into metadata are the headings of their chunks."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import (
    ExperimentalMarkdownSyntaxTextSplitter,
    HTMLHeaderTextSplitter,
    HTMLSectionSplitter,
    HTMLSemanticPreservingSplitter,
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
)

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever, describe_location
from tests.toys import WordEmbeddings

RULES = " ".join(f"Rule {n} holds for all guests who come late." for n in range(12))
MARKDOWN = f"""Before all.

# Seats

## Booking

A seat is booked for a day. It is yours until noon.

### How

- By card.
- By mail.

## Refunds

A refund is paid within a week. {RULES}

# Halls

There are two halls.
"""
HEADINGS = {
    "Before all.": None,
    "It is yours until noon.": "Seats > Booking",
    "- By mail.": "Seats > Booking > How",
    "Rule 0 holds for all guests who come late.": "Seats > Refunds",
    "Rule 11 holds for all guests who come late.": "Seats > Refunds",
    "There are two halls.": "Halls",
}
HTML = f"""<body><h1>Seats</h1><p>All about seats.</p><h2>Booking</h2><p>A seat is booked for a day. It is yours until
noon.</p><ul><li>By card</li><li>By mail</li></ul><h2>Refunds</h2><p>{RULES}</p><h1>Halls</h1><p>There are two halls.
</p></body>"""

NUMBERED = [("#", "Header 1"), ("##", "Header 2"), ("###", "Header 3")]


def markdown(names: list[tuple[str, str]], **settings: Any) -> list[Document]:
    return MarkdownHeaderTextSplitter(names, **settings).split_text(MARKDOWN)


def again(chunks: list[Document], **settings: Any) -> list[Document]:
    return RecursiveCharacterTextSplitter(chunk_size=200, **settings).split_documents(chunks)


def cut(chunks: list[Document], **metadata: Any) -> list[Document]:
    given = [Document(page_content=each.page_content, metadata={**each.metadata, **metadata}) for each in chunks]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of parts that are missing or came twice
        return SentenceSplitter().split_documents(given)


SPLITTERS: dict[str, Callable[[], list[Document]]] = {
    "stripped": lambda: markdown(NUMBERED),
    "kept": lambda: markdown(NUMBERED, strip_headers=False),
    "line by line": lambda: markdown(NUMBERED, return_each_line=True),
    "known names": lambda: markdown([("#", "Chapter"), ("##", "Section"), ("###", "Sub-section")]),
    "short names": lambda: markdown([("#", "h1"), ("##", "h2"), ("###", "h3")]),
    "German names": lambda: markdown([("#", "Überschrift 1"), ("##", "Überschrift 2"), ("###", "Überschrift 3")]),
    "exact": lambda: ExperimentalMarkdownSyntaxTextSplitter().split_text(MARKDOWN),
    "exact, kept": lambda: ExperimentalMarkdownSyntaxTextSplitter(strip_headers=False).split_text(MARKDOWN),
    "cut again": lambda: again(markdown(NUMBERED), chunk_overlap=0),
    "cut again, kept": lambda: again(markdown(NUMBERED, strip_headers=False), chunk_overlap=0),
    "cut again, overlapping": lambda: again(markdown(NUMBERED), chunk_overlap=60),
    "cut again, with places": lambda: again(markdown(NUMBERED), chunk_overlap=60, add_start_index=True),
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_the_headings_of_markdown_are_those_of_the_whole_text(name: str) -> None:
    made = cut(SPLITTERS[name](), source="seats.md")
    found = {each.page_content: each.metadata.get("heading") for each in made}
    assert found | HEADINGS == found
    texts = [each.page_content for each in made if each.metadata.get("kind") != "heading"]
    whole = cut([Document(MARKDOWN)])
    assert texts == [each.page_content for each in whole if each.metadata.get("kind") != "heading"]


@pytest.mark.parametrize("name", ["stripped", "line by line", "cut again", "cut again, with places"])
def test_a_section_is_as_long_as_in_the_whole_text(name: str) -> None:
    made = cut(SPLITTERS[name](), source="seats.md")
    sections = {each.page_content: (each.metadata["section_start"], each.metadata["section_end"]) for each in made}
    assert sections["Rule 0 holds for all guests who come late."] == (5, 18)
    assert sections["Rule 11 holds for all guests who come late."] == (5, 18)
    assert sections["There are two halls."] == (18, 19)


def test_chunks_without_a_source_have_headings_too() -> None:
    retriever = SentenceWindowRetriever.from_documents(markdown(NUMBERED), WordEmbeddings(), k=9)
    [window] = [each for each in retriever.invoke("seat") if "is booked" in each.page_content]
    assert describe_location(window).endswith("(Seats > Booking)")
    assert window.metadata["Header 2"] == "Booking"


def test_levels_of_other_headings_in_the_text_are_kept() -> None:
    chunks = MarkdownHeaderTextSplitter([("##", "Header 1")], strip_headers=False).split_text(MARKDOWN)
    found = {each.page_content: each.metadata.get("heading") for each in cut(chunks, source="seats.md")}
    assert found["Before all."] is None
    assert found["- By mail."] == "Seats > Booking > How"
    assert found["Rule 0 holds for all guests who come late."] == "Refunds"


@pytest.mark.parametrize(
    "metadata",
    [{"chapter": "Seats"}, {"Book": "Seats"}, {"title": "Seats"}, {"Header 7": "Seats"}, {"Header 1": 7}],
)
def test_other_values_are_no_headings(metadata: dict[str, Any]) -> None:
    [sentence] = cut([Document("It is yours.", metadata=metadata)])
    assert "heading" not in sentence.metadata


def test_labels_that_are_texts_are_no_headings() -> None:
    words = [Document(text, metadata={"source": "a", "word": text, "of": "fruit"}) for text in ("apple", "pear")]
    assert all("heading" not in each.metadata for each in SentenceSplitter().split_documents(words))


HTML_NAMES = [("h1", "Header 1"), ("h2", "Header 2")]
HTML_SPLITTERS: dict[str, Callable[[], Any]] = {
    "headers": lambda: HTMLHeaderTextSplitter(HTML_NAMES),
    "elements": lambda: HTMLHeaderTextSplitter(HTML_NAMES, return_each_element=True),
    "sections": lambda: HTMLSectionSplitter(HTML_NAMES),
    "semantic": lambda: HTMLSemanticPreservingSplitter(HTML_NAMES, max_chunk_size=200),
}


@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
@pytest.mark.parametrize("name", HTML_SPLITTERS)
def test_the_headings_of_html_are_those_that_the_splitter_says(name: str) -> None:
    pytest.importorskip("bs4", reason="LangChain's splitter of HTML needs Beautiful Soup")
    made = cut(HTML_SPLITTERS[name]().split_text(HTML), source="seats.html")
    found = {" ".join(each.page_content.split()): each.metadata.get("heading") for each in made}
    above = "" if name in ("sections", "semantic") else "Seats > "  # these name the nearest heading alone
    assert found["All about seats."] == "Seats"
    assert found["It is yours until noon."] == f"{above}Booking"
    assert found["Rule 11 holds for all guests who come late."] == f"{above}Refunds"
    assert found["There are two halls."] == "Halls"
    headings = [each.page_content for each in made if each.metadata.get("kind") == "heading"]
    assert headings == ([] if name == "semantic" else ["Seats", "Booking", "Refunds", "Halls"])
