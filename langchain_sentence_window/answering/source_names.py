"""Names of a source: its address, its name and its title, for those who show them. None can break a line."""

import re
from urllib.parse import urlsplit

from langchain_core.documents import Document

from langchain_sentence_window.answering.escaping import on_one_line
from langchain_sentence_window.answering.locations import MAX_NAME_CHARS, describe_location, name_of
from langchain_sentence_window.documents.indexed_documents import TITLE
from langchain_sentence_window.documents.keys import END_INDEX, SOURCE, START_INDEX

MAX_ADDRESS_CHARS = 2_000
"""The most characters of an address."""

_ADDRESS_KEYS = ("url", SOURCE)
_ADDRESS = re.compile(r"https?://[^\s<>\"\\^`{|}\x00-\x1f\x7f-\x9f\ud800-\udfff]+", re.IGNORECASE)


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
