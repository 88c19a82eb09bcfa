"""`format_context`: windows as numbered sources for a prompt, and the citations of an answer."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._showing import shown
from langchain_sentence_window._text import encodable
from langchain_sentence_window._types import Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.answering.disarming import on_one_line, without_label_lines, without_labels, without_tags
from langchain_sentence_window.answering.shown_spans import ShownSpans
from langchain_sentence_window.documents.keys import CONTRACT_KEYS, DOC_ID, END_INDEX, HEADING, SOURCE, START_INDEX
from langchain_sentence_window.errors import InvalidInputError

GAP = "\n[...]\n"
"""What stands where text was left out because a source before it has it."""

LONGEST_NAME = 300
"""Characters of a file's name, and of a heading, that a label shows."""

_TO = r"\s*(?:[\u2010-\u2015\u2212\ufe63\uff0d~\uff5e-]|\bto\b)\s*"
_ITEM = rf"(?:(?:sources?|refs?\.?|no\.|[#^])\s*)?\d{{1,9}}(?:{_TO}\d{{1,9}})?"
_AND = r"\s*(?:[,;&\uff0c\uff1b\u3001]\s*(?:and\b)?|\band\b)\s*"
_PLACE = r"(?:[,;]\s*(?:(?:pp?|pages?|lines?|sec|sections?|chapters?|fig|figures?|tables?)\b|§)|†)"
# A backslash before it says that it is none, and an address after it that it is a link. Whoever writes a number of
# more digits means none of the sources.
_CITED = rf"""
    (?<!\\)[\[\uff3b\u3010\u3014] \s*+
    (?P<cited> {_ITEM} (?P<more> (?:{_AND}{_ITEM})++ )?+ )
    \s*+ (?: {_PLACE} [^\[\]\u3011\n]{{0,80}} | (?(more)[,;]\s*+) )?+
    [\]\uff3d\u3011\u3015] (?!\()
"""
# What isn't closed is code to the end of the answer if lines of it are, and isn't any in a line.
_CODE_LINES = r"""
    ^[ \t>]*+(?:(?:[-*+]|\d{1,3}[.)])[ \t]++)?(?P<fence>`{3,}|~{3,})[^`\n]*$
    (?s:.*?) (?:^[ \t>]*+(?P=fence)[`~]*[ \t]*$|\Z)
"""
_CODE = r"(?<!`)(?P<ticks>`{1,20})(?!`) (?s:(?!\n[ \t]*\n).){1,2000}? (?<!`)(?P=ticks)(?!`)"
_CITATION = re.compile(rf"{_CODE_LINES} | {_CODE} | {_CITED}", re.VERBOSE | re.MULTILINE | re.IGNORECASE)
_RANGE = re.compile(rf"(\d+)(?:{_TO}(\d+))?", re.IGNORECASE)
_NUMBER = re.compile(r"\[[0-9]+\] ")


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


def format_context(documents: Iterable[Document]) -> str:
    """Put documents into a prompt as numbered sources; no text is repeated.

    Args:
        documents: Windows, or any Documents. Of those that carry ``start_index``, what another one
            of the same document has shown already is left out; of the others, equal texts are.

    Returns:
        One block for each document, between tags that keep it apart from instructions. ``[n]`` is
        the n-th document; a number is missing if all of its text stands in those before it. See `tagged`
        for what is escaped in texts and labels.

    Raises:
        InvalidInputError: It isn't a list of Documents.
    """
    spans: dict[str, ShownSpans] = {}
    begun: dict[tuple[str, int], str] = {}
    texts: set[str] = set()
    blocks: list[str] = []
    for number, document in enumerate(checked_documents(documents), 1):
        span = _span(document)
        if span:
            # Not by file: the pages of one file are documents of their own, each counted from 0.
            known = spans.setdefault(_text_of(document, span[0], begun), ShownSpans())
            parts = (document.page_content[start - span[0] : end - span[0]] for start, end in known.add(span))
            text = GAP.join(part.strip() for part in parts if part.strip())
        else:
            text = "" if document.page_content in texts else document.page_content
            texts.add(document.page_content)
        if text.strip():
            blocks.append(tagged(f"[{number}] {describe_place(document)}\n{text}"))
    return "\n\n".join(blocks)


def describe_place(document: Document) -> str:
    """Say where a document stands: ``file:start-end (heading > path)``, as far as it is known.

    It is on one line, whatever a file's name or a heading holds; either is cut to `LONGEST_NAME` characters.
    """
    span = _span(document)
    place = on_one_line(_name(document), LONGEST_NAME) + (f":{span[0]}-{span[1]}" if span else "")
    heading = on_one_line(_text(document.metadata.get(HEADING)), LONGEST_NAME)
    return f"{place} ({heading})" if heading else place


def find_citations(answer: str, documents: Iterable[Document]) -> list[Citation]:
    """Find the sources that an answer cites.

    A citation is one or several numbers or ranges of sources in square brackets, as models write them: ``[2]``,
    ``[1, 3]``, ``[1-3]``, ``[1 and 2]``, ``[Source 1]``, ``[^1]``, ``[1, p. 3]``, also in full-width or lenticular
    brackets, and with any dash. What stands in code, what is a link (``[3](address)``), what has a backslash before it,
    and what names no source is ignored.

    Args:
        answer: What a model wrote.
        documents: What it was given, as for `format_context`.

    Returns:
        Each source once, in the order in which they are cited first.

    Raises:
        InvalidInputError: The answer isn't a string, or the documents aren't a list of Documents.
    """
    if not isinstance(answer, str):
        raise InvalidInputError(f"the answer is {shown(answer)}; give its text, such as message.text")
    sources = checked_documents(documents)
    cited = ShownSpans()
    return [
        Citation(number, describe_place(sources[number - 1]), sources[number - 1])
        for match in _CITATION.finditer(answer)
        for first, last in _numbers(match["cited"] or "")
        if 1 <= first <= last <= len(sources)
        for start, end in cited.add((first, last + 1))
        for number in range(start, end)
    ]


def tagged(source: str) -> str:
    r"""Put a source between its tags, unable to open or close one itself or to pass for another.

    In all of it, what looks like ``<source`` or ``</source`` is escaped (``&lt;source``), whatever unseen
    characters, other letters or white space are in it. What looks like a number of a source gets a backslash
    (``\[2]``): anywhere in the label, and in the text where a line begins with it.

    Args:
        source: A label, which is one line that may begin with the source's number, such as ``[1] ``, and from
            the second line on the text.
    """
    number, label, text = _parts(without_tags(encodable(source)))
    return f"<source>\n{number}{without_labels(label)}{without_label_lines(text)}\n</source>"


def _parts(source: str) -> tuple[str, str, str]:
    """The number of a source, the rest of its label with the line end, and its text."""
    label, newline, text = source.partition("\n")
    number = _NUMBER.match(label)
    end = number.end() if number else 0
    return label[:end], label[end:] + newline, text


def _numbers(cited: str) -> list[Span]:
    """First and last of the numbers between two brackets."""
    ranges = _RANGE.finditer(cited)
    return [(int(match[1]), int(match[2] or match[1])) for match in ranges]


def _text_of(document: Document, start: int, begun: dict[tuple[str, int], str]) -> str:
    """What names the text that a Document's places are of.

    Without a ``doc_id`` it is what else the metadata says, as the pages of one file are each counted from 0. Two
    Documents of one name that begin alike, but read otherwise, are of two texts.
    """
    own = {str(key): _text(value) for key, value in document.metadata.items() if key not in CONTRACT_KEYS}
    name = _text(document.metadata.get(DOC_ID)) or repr((_name(document), sorted(own.items())))
    text = document.page_content
    before = begun.setdefault((name, start), text)
    is_other = not (before.startswith(text) or text.startswith(before))
    return repr((name, text)) if is_other else name


def _name(document: Document) -> str:
    metadata = document.metadata
    given: Sequence[object] = (metadata.get(SOURCE), metadata.get(DOC_ID), document.id)
    return next((text for text in map(_text, given) if text.strip()), "source")


def _text(value: object) -> str:
    """A value as a label shows it; nothing for what isn't there, and what can't be written."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - what a type makes of itself may raise anything
        return ""


def _span(document: Document) -> Span | None:
    start = document.metadata.get(START_INDEX)
    # Splitters of LangChain write -1 for a text that they don't find again.
    if type(start) is not int or start < 0:
        return None
    length = len(document.page_content)
    # A document whose text isn't a slice of its source can't be cut by offsets.
    is_slice = as_integer(document.metadata.get(END_INDEX, start + length)) == start + length
    return (start, start + length) if is_slice else None
