"""Where a document is from: its name, title and address, its span, its pages and its heading, each on one line."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from langchain_core.documents import Document

from langchain_sentence_window.answering.citation_format import on_one_line
from langchain_sentence_window.documents.indexed_documents import TITLE
from langchain_sentence_window.documents.keys import (
    CONTRACT_KEYS,
    DOC_ID,
    END_INDEX,
    HEADING,
    PAGE_LABELS,
    PAGES,
    SOURCE,
    START_INDEX,
)
from langchain_sentence_window.documents.metadata_values import is_index
from langchain_sentence_window.documents.window_runs import source_span

MAX_LABEL_CHARS = 20
"""The most characters that a location shows of a page's label."""

MAX_NAME_CHARS = 300
"""The most characters that a location shows of a file's name, and of a heading."""


def describe_location(document: Document) -> str:
    """Return where a document is from: ``file:start-end (heading > path)``, as far as it is known.

    Of a window that says its pages, these are named instead of its span: ``file, pp. 4–5 (heading > path)``. They are
    the labels printed on the pages, if the loader knows them, else numbers that count from 1.

    The result is on one line, whatever a file's name or a heading holds. Both are cut to `MAX_NAME_CHARS` characters.
    """
    location = on_one_line(name_of(document), MAX_NAME_CHARS) + (_pages(document) or _span(document))
    heading = on_one_line(_text(document.metadata.get(HEADING)), MAX_NAME_CHARS)
    return f"{location} ({heading})" if heading else location


def _pages(document: Document) -> str:
    """Return the first and the last page of a window, as ``, p. 4`` or ``, pp. 4–5``; nothing if it has no pages."""
    pages = document.metadata.get(PAGES)
    if not isinstance(pages, list) or not pages or not all(map(is_index, pages)):
        return ""
    labels = document.metadata.get(PAGE_LABELS)
    shown = [str(page + 1) for page in pages]
    if isinstance(labels, list) and len(labels) == len(pages):
        shown = [on_one_line(_text(label), MAX_LABEL_CHARS) for label in labels]
    return f", p. {shown[0]}" if len(shown) == 1 else f", pp. {shown[0]}–{shown[-1]}"


def _span(document: Document) -> str:
    span = source_span(document)
    return f":{span[0]}-{span[1]}" if span else ""


def text_key(document: Document, start: int, begun: dict[tuple[str, int], str]) -> str:
    """Return a key for the text that a document's offsets count in.

    The key is the ``doc_id``. Without one it is the rest of the metadata, as each page of a file may be counted
    from 0. Two documents that share all this and the start, but differ in text, are of two texts.

    Args:
        document: The document.
        start: Its first code point in that text.
        begun: The first text seen for each key and start; a new one is added.
    """
    own = {str(key): _text(value) for key, value in document.metadata.items() if key not in CONTRACT_KEYS}
    name = _text(document.metadata.get(DOC_ID)) or repr((name_of(document), sorted(own.items())))
    text = document.page_content
    before = begun.setdefault((name, start), text)
    is_other = not (before.startswith(text) or text.startswith(before))
    return repr((name, text)) if is_other else name


def name_of(document: Document) -> str:
    """Return what a document is called in its metadata, else its id, as it is; never blank."""
    metadata = document.metadata
    given: Sequence[object] = (metadata.get(SOURCE), metadata.get(DOC_ID), document.id)
    return next((text for text in map(_text, given) if text.strip()), "source")


def _text(value: object) -> str:
    """Return a value as text; an empty text for ``None`` and for what can't be written."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a type's own `__str__` may raise anything
        return ""


MAX_ADDRESS_CHARS = 2_000
"""The most characters of an address."""

_ADDRESS_KEYS = ("url", SOURCE)
_ADDRESS = re.compile(r"https?://[^\s<>\"\\^`{|}\x00-\x1f\x7f-\x9f\ud800-\udfff]+", re.IGNORECASE)


def doc_id_of(document: Document) -> str | None:
    """Return the ``doc_id`` of a source; ``None`` if its metadata has none."""
    doc_id = document.metadata.get(DOC_ID)
    return doc_id if isinstance(doc_id, str) else None


def source_address(document: Document) -> str | None:
    """Return the address of a source on the web, as its metadata has it under ``url`` or ``source``.

    Only whole addresses of ``http`` and ``https`` count, as an interface may show them as links.
    """
    for key in _ADDRESS_KEYS:
        given = document.metadata.get(key)
        is_address = isinstance(given, str) and len(given) <= MAX_ADDRESS_CHARS and _ADDRESS.fullmatch(given)
        if isinstance(given, str) and is_address and _has_host(given):
            return given
    return None


def source_name(document: Document) -> str:
    """Return what a source is called in its metadata, such as a path; on one line and never empty."""
    return on_one_line(name_of(document), MAX_NAME_CHARS) or "source"


def document_title(document: Document) -> str:
    """Return the title of the document that a source is from, else its name; on one line and never empty."""
    title = document.metadata.get(TITLE)
    return (on_one_line(title, MAX_NAME_CHARS) if isinstance(title, str) else "") or source_name(document)


def source_title(document: Document) -> str:
    """Return the title of a source: that of its document, its pages and its heading."""
    metadata = {key: value for key, value in document.metadata.items() if key not in (START_INDEX, END_INDEX)}
    return describe_location(Document(page_content="", metadata=metadata | {SOURCE: document_title(document)}))


def _has_host(address: str) -> bool:
    try:
        return bool(urlsplit(address).hostname)
    except ValueError:  # such as brackets that aren't closed
        return False
