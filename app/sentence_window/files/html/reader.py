"""Reads HTML with lxml, which is libxml2, and writes its main content as Markdown.

libxml2 closes the tags that authors leave open, as browsers do, and its work grows linearly with the file, except for
many attributes in one tag and for very deep nesting. So both are limited.
"""

import re
from collections.abc import Iterator
from typing import Any

from langchain_core.documents import Document
from lxml import etree

from langchain_sentence_window.errors import DocumentReadError
from sentence_window.files.file_bytes import clean_text
from sentence_window.files.text_encoding import decode

from .block_writer import BlockWriter
from .main_content import find_content
from .markdown_text import MarkdownText
from .visibility import SPOKEN, hide_by_sheets, hide_spoken, show_fading

MAX_TAGS = 2_000_000
"""Tags of the largest HTML file that is read."""

MAX_ATTRIBUTES = 1_000
"""Attributes of one tag."""

MAX_TITLE_CHARS = 1_000
"""Characters of a title; a longer one is cut."""

_LONG_TAG = 2 * MAX_ATTRIBUTES
_ATTRIBUTES = r"(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))?+)*+"
_TAG = re.compile(
    rf"<!--(?:[^-]++|-(?!->))*+|<(script|style)(?=[\s/>]){_ATTRIBUTES}(?:[^<]++|<(?!/\1))*+|</?[a-z]{_ATTRIBUTES}",
    re.IGNORECASE,
)
_VALUE = re.compile(r"=\s*+(?:\"[^\"]*+\"?|'[^']*+'?)")
_ATTRIBUTE = re.compile(r"[\s/=][^\s/=]")
_FATAL = 3


def read_html(data: bytes, name: str) -> Iterator[Document]:
    """Read an HTML file.

    Args:
        data: Its bytes.
        name: Its name in messages.

    Raises:
        DocumentReadError: It isn't text, has too many tags, or nests them too deep.
    """
    text = MarkdownText()
    title = write_html(decode(data, name, is_html=True), name, text)
    yield text.document(title)


def write_html(html: str, name: str, text: MarkdownText) -> str:
    """Append the main content of an HTML page to a text, and return the title of the page."""
    _check_size(html, name)
    root = _parsed(html, name)
    if root is None:
        return ""
    show_fading(root)
    if any(map(html.__contains__, SPOKEN)):
        hide_spoken(root)
    hide_by_sheets(root)
    main, left_out = find_content(root)
    before = len(text.blocks)
    BlockWriter(text).write(main, left_out)
    if len(text.blocks) == before:  # a page whose main part a script fills, or a page of links
        BlockWriter(text).write(root)
    return _title(root)


def _check_size(html: str, name: str) -> None:
    if html.count("<") > MAX_TAGS:
        raise DocumentReadError(f"{name} has more than {MAX_TAGS:,} tags; split it into files, or save it as text")
    for tag in _TAG.finditer(html):
        if tag.end() - tag.start() <= _LONG_TAG or tag[0].startswith("<!"):
            continue
        # Only the tag counts, not the script after it.
        found = re.match(rf"</?[a-z]{_ATTRIBUTES}", tag[0], re.IGNORECASE)
        written = _VALUE.sub("=", found[0] if found else tag[0])
        if sum(1 for _ in _ATTRIBUTE.finditer(written)) > 2 * MAX_ATTRIBUTES:
            raise DocumentReadError(
                f"{name} has a tag with more than {MAX_ATTRIBUTES:,} attributes, so it is damaged; save it again from "
                "a browser, or as text"
            )


def _parsed(html: str, name: str) -> Any:
    """Return the root element; ``None`` if the page has no elements."""
    parser = etree.HTMLParser(
        encoding="utf-8", recover=True, no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = etree.fromstring(html.encode(), parser)
    except etree.XMLSyntaxError:
        root = None
    if any(each.level >= _FATAL and each.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for each in parser.error_log):
        raise DocumentReadError(
            f"{name} nests its tags too deep, so it is damaged; save it again from a browser, or as text"
        )
    return root


def _title(root: Any) -> str:
    found = next((each for each in root.iter("title") if each.getparent().tag != "svg"), None)
    return "" if found is None else title_of("".join(found.itertext()))


def title_of(text: str) -> str:
    """Return a text as a title: on one line, with at most `MAX_TITLE_CHARS` characters."""
    return clean_text(" ".join(text.split()))[:MAX_TITLE_CHARS]
