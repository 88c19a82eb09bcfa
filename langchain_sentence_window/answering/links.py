"""Addresses that open a source at the place of a passage.

What an address can say depends on what it opens: the page of a PDF, the time of a video, the lines of a text file in a
repository or an editor, and in any other page the text itself, as a text fragment
(https://wicg.github.io/scroll-to-text-fragment/). A browser that doesn't find the place opens the page at its top.
"""

import re
from collections.abc import Sequence
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from langchain_core.documents import Document

from langchain_sentence_window._primitives import encodable
from langchain_sentence_window.documents.keys import PAGES
from langchain_sentence_window.documents.metadata_values import is_index
from langchain_sentence_window.documents.window_runs import lines_touched

from .locations import MAX_ADDRESS_CHARS, source_address, times_of_window

MAX_WHOLE_WORDS = 10
"""Words of the longest passage that a text fragment holds whole; of a longer one it holds the ends."""

WORDS_AT_END = 5
"""Words of a passage's beginning, and of its end."""

# What a browser doesn't show of Markdown: marks of emphasis and code, the address of a link, the mark of a line.
_MARKUP = re.compile(
    r"\[(?P<text>[^\[\]\n]*)\]\([^()\s]*\)|^[ \t]*(?:#{1,6}|[-*+>]|\d{1,3}[.)])[ \t]+|[*_`|]+", re.MULTILINE
)
_SPLITS = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+>#|]|\d{1,3}[.)]))")
_OF_REPOSITORY = re.compile(r"/(?P<gitlab>-/)?(?:blob|src/(?:branch|commit|tag))/")
_PDF = re.compile(r"\.pdf\Z", re.IGNORECASE)


def link_to(
    document: Document, text: str | None = None, pages: Sequence[int] = (), lines: Sequence[int] = ()
) -> str | None:
    """Return the address that opens a source at a text.

    Args:
        document: The source.
        text: The text; ``None`` for the whole source.
        pages: The pages that it touches, from 0; if there are none, those of the source.
        lines: The first and the last line that it touches, from 1; if there are none, those of the source.

    Returns:
        An address of ``http``, ``https`` or ``file``; ``None`` if the source's metadata has none.
    """
    address = source_address(document)
    if address is None:
        return None
    parts = urlsplit(address)
    given = pages or document.metadata.get(PAGES)
    pages = given if isinstance(given, list | tuple) and all(map(is_index, given)) else ()
    if _PDF.search(parts.path):
        place = f"page={pages[0] + 1}" if pages else ""
    elif not parts.fragment and (at_lines := _at_lines(parts, lines or lines_touched(document))):
        address, place = at_lines
    elif times := times_of_window(document):
        place = "t=" + ",".join(f"{each:g}" for each in times)
    else:
        place = "" if ":~:" in address else _text_fragment(document.page_content if text is None else text)
        return _add_fragment(address, f"{parts.fragment}{place}")
    # An address with a fragment says itself what to open.
    return address if parts.fragment else _add_fragment(address, place)


def _at_lines(parts: SplitResult, lines: Sequence[int]) -> tuple[str, str] | None:
    """Return the address and the fragment that open a file at its lines, as GitHub, GitLab and editors read it.

    ``None`` if no lines are known, or what opens the address doesn't know lines: an editor does, and the page of a file
    in a repository.
    """
    in_repository = _OF_REPOSITORY.search(parts.path)
    if not lines or not (in_repository or parts.scheme.lower() == "file"):
        return None
    first, last = lines
    end = "" if first == last else f"-{last}" if in_repository and in_repository["gitlab"] else f"-L{last}"
    # GitHub renders some files, and lines are in the others.
    query = "plain=1" if parts.hostname == "github.com" and not parts.query else parts.query
    return urlunsplit(parts._replace(query=query)), f"L{first}{end}"


def _add_fragment(address: str, fragment: str) -> str:
    """Return an address with another fragment; as it is if it would be too long."""
    whole = f"{address.partition('#')[0]}#{fragment}" if fragment else address
    return whole if len(whole) <= MAX_ADDRESS_CHARS else address


def _text_fragment(text: str) -> str:
    """Return the directive for a text; empty if it has no words."""
    shown = [_MARKUP.sub(r"\g<text>", each).split() for each in _SPLITS.split(encodable(text))]
    blocks = [words for words in shown if any(map(str.isalnum, "".join(words)))]
    if not blocks:
        return ""
    words = blocks[0] if len(blocks) == 1 else [*blocks[0], *blocks[-1]]
    if len(blocks) == 1 and len(words) <= MAX_WHOLE_WORDS:
        ends = [words]
    else:  # each end within one block, as a browser looks for it there
        ends = [blocks[0][:WORDS_AT_END], blocks[-1][-WORDS_AT_END:]]
    return ":~:text=" + ",".join(quote(" ".join(each), safe="").replace("-", "%2D") for each in ends)
