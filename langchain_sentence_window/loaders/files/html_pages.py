"""HTML as Markdown: parsed by lxml, which is libxml2, and written by `BlockWriter`.

libxml2 closes what authors leave open, as browsers do, and its work grows with the file alone. It doesn't with the
attributes of one tag and with very deep nesting, so these are refused.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.loaders.files.html_blocks import BlockWriter
from langchain_sentence_window.loaders.files.html_navigation import find_navigation
from langchain_sentence_window.loaders.files.html_visibility import is_shown
from langchain_sentence_window.loaders.files.libxml import etree
from langchain_sentence_window.loaders.pdf.reading import clean_text
from langchain_sentence_window.splitting.blocks import Block

MAX_TAGS = 2_000_000
"""Tags of the largest HTML file that is read."""

MAX_ATTRIBUTES = 1_000
"""Attributes of one tag."""

MAX_TITLE_CHARS = 1_000

_LONG_TAG = 2 * MAX_ATTRIBUTES
_ATTRIBUTES = r"(?:[^>=]++|=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))?+)*+"
_TAG = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(script|style)(?=[\s/>]){_ATTRIBUTES}.*?(?:</\1|\Z)|</?[a-z]{_ATTRIBUTES}",
    re.IGNORECASE | re.DOTALL,
)
_VALUE = re.compile(r"=\s*+(?:\"[^\"]*+\"?|'[^']*+'?)")
_ATTRIBUTE = re.compile(r"[\s/=][^\s/=]")
_FATAL = 3


class HtmlPage(NamedTuple):
    """The content of an HTML file.

    Attributes:
        text: Its visible text as Markdown.
        blocks: The blocks of the text, in order.
        title: Its ``<title>``; empty if it has none.
    """

    text: str
    blocks: list[Block]
    title: str


def read_html(html: str, name: str) -> HtmlPage:
    """Read an HTML file.

    Args:
        html: Its text.
        name: Its name in messages.

    Raises:
        DocumentReadError: It has too many tags, or nests them too deep.
        MissingExtraError: lxml isn't installed.
    """
    _check_size(html, name)
    root = _parsed(html, name)
    if root is None:
        return HtmlPage("", [], "")
    main = _main_part(root)
    written = BlockWriter().write(main, find_navigation(main))
    if not written.blocks:  # such as a page whose main part a script fills, or one that is all links
        written = BlockWriter().write(root)
    return HtmlPage(written.text, written.blocks, _title(root))


def _check_size(html: str, name: str) -> None:
    if html.count("<") > MAX_TAGS:
        raise DocumentReadError(f"{name} has more than {MAX_TAGS:,} tags; split it into files, or save it as text")
    for tag in _TAG.finditer(html):
        if tag.end() - tag.start() <= _LONG_TAG or tag[0].startswith("<!"):
            continue
        # Only the tag counts, and not the script behind it.
        written = _VALUE.sub("=", tag[0][: _tag_length(tag[0])])
        if sum(1 for _ in _ATTRIBUTE.finditer(written)) > 2 * MAX_ATTRIBUTES:
            raise DocumentReadError(
                f"{name} has a tag with more than {MAX_ATTRIBUTES:,} attributes, so it is damaged; save it anew from "
                "a browser, or as text"
            )


def _tag_length(text: str) -> int:
    found = re.match(rf"</?[a-z]{_ATTRIBUTES}", text, re.IGNORECASE)
    return found.end() if found else len(text)


def _parsed(html: str, name: str) -> Any:
    """Return the root element; ``None`` if there is none."""
    library = etree()
    parser = library.HTMLParser(
        encoding="utf-8", recover=True, no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = library.fromstring(html.encode(), parser)
    except library.XMLSyntaxError:
        root = None
    if any(each.level >= _FATAL and each.type == library.ErrorTypes.ERR_RESOURCE_LIMIT for each in parser.error_log):
        raise DocumentReadError(
            f"{name} nests its tags too deep, so it is damaged; save it anew from a browser, or as text"
        )
    return root


def _main_part(root: Any) -> Any:
    """Return the element that holds what the page is about."""
    mains = [each for each in root.iter() if _is_main(each) and is_shown(each)]
    if mains:
        return mains[0]
    articles = [each for each in root.iter("article") if is_shown(each)]
    return articles[0] if len(articles) == 1 else root


def _is_main(element: Any) -> bool:
    return bool(element.tag == "main" or element.get("role") == "main")


def _title(root: Any) -> str:
    return clean_text(" ".join("".join(_titles(root)).split()))[:MAX_TITLE_CHARS]


def _titles(root: Any) -> Iterator[str]:
    found = next((each for each in root.iter("title") if each.getparent().tag != "svg"), None)
    if found is not None:
        yield from found.itertext()
