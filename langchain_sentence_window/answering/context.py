"""`format_context`: windows as numbered sources for a prompt, and the citations of an answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_sentence_window.metadata.keys import DOC_ID, END_INDEX, HEADING, SOURCE, START_INDEX

GAP = "\n[...]\n"
"""What stands where text was left out because a source before it has it."""

_CITATION = re.compile(r"\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]")
_TAG = re.compile(r"<(?=\s*/?\s*source\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that an answer cites.

    Attributes:
        number: The source's number, from 1.
        place: Where it stands, as `describe_place` says it.
        document: The source itself.
    """

    number: int
    place: str
    document: Document


def format_context(documents: Sequence[Document]) -> str:
    """Put documents into a prompt as numbered sources; no text is repeated.

    Args:
        documents: Windows, or any Documents. Of those that carry ``start_index``, what another one
            of the same document has shown already is left out; of the others, equal texts are.

    Returns:
        One block for each document, between tags that keep it apart from instructions. ``[n]`` is
        the n-th document; a number is missing if all of its text stands in those before it. Text
        that looks like one of the tags is escaped (``&lt;source``).
    """
    shown: dict[str, list[tuple[int, int]]] = {}
    texts: set[str] = set()
    blocks: list[str] = []
    for number, document in enumerate(documents, 1):
        span = _span(document)
        if span:
            # Not by file: the pages of one file are documents of their own, each counted from 0.
            spans = shown.setdefault(str(document.metadata.get(DOC_ID) or _name(document)), [])
            parts = (document.page_content[start - span[0] : end - span[0]] for start, end in _outside(span, spans))
            text = GAP.join(part.strip() for part in parts if part.strip())
            spans.append(span)
        else:
            text = "" if document.page_content in texts else document.page_content
            texts.add(document.page_content)
        if text.strip():
            blocks.append(tagged(f"[{number}] {describe_place(document)}\n{text}"))
    return "\n\n".join(blocks)


def describe_place(document: Document) -> str:
    """Say where a document stands: ``file:start-end (heading > path)``, as far as it is known."""
    span = _span(document)
    place = _name(document) + (f":{span[0]}-{span[1]}" if span else "")
    heading = document.metadata.get(HEADING)
    # On one line, whatever a file's name or a heading holds.
    return " ".join((f"{place} ({heading})" if heading else place).split())


def find_citations(answer: str, documents: Sequence[Document]) -> list[Citation]:
    """Find the sources an answer cites as ``[2]`` or ``[1, 3]``; numbers without a source are ignored.

    Returns:
        Each source once, in the order in which they are cited first.
    """
    numbers = [int(number) for match in _CITATION.finditer(answer) for number in match[1].split(",")]
    return [
        Citation(number, describe_place(documents[number - 1]), documents[number - 1])
        for number in dict.fromkeys(numbers)
        if 1 <= number <= len(documents)
    ]


def tagged(source: str) -> str:
    """Put a source between its tags, unable to open or close one itself."""
    return "<source>\n" + _TAG.sub("&lt;", source) + "\n</source>"


def _name(document: Document) -> str:
    return str(document.metadata.get(SOURCE) or document.metadata.get(DOC_ID) or document.id or "source")


def _span(document: Document) -> tuple[int, int] | None:
    start = document.metadata.get(START_INDEX)
    if not isinstance(start, int):
        return None
    end = document.metadata.get(END_INDEX, start + len(document.page_content))
    # A document whose text isn't a slice of its source can't be cut by offsets.
    return (start, end) if end - start == len(document.page_content) else None


def _outside(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of a span that lie in none of the others, in order."""
    at, parts = span[0], []
    for start, end in sorted(others):
        if at < min(start, span[1]):
            parts.append((at, min(start, span[1])))
        at = max(at, end)
    if at < span[1]:
        parts.append((at, span[1]))
    return parts
