"""The text between two ends of blocks: words, line breaks, quotes, powers and marks of footnotes."""

from collections.abc import Iterator
from typing import Any

from langchain_sentence_window.loaders.files.html_notes import is_footnote_mark

_BOLD = frozenset({"b", "strong"})
# Soft hyphens and what has no width.
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
_TO_SPACE = {ord(each): " " for each in "\t\n\r\f"}


def without_unseen(text: str) -> str:
    """Remove what takes no room on a page."""
    return text.translate(_UNSEEN)


class InlineText:
    """Collects the text of one block after the other."""

    def __init__(self) -> None:
        """Begin without text."""
        self._parts: list[str] = []
        self._chars = self._bold_chars = self._open_bold = 0
        self._footnote_mark: Any = None

    def __bool__(self) -> bool:
        """Return whether there is anything, be it white space."""
        return bool(self._parts)

    def start(self, element: Any) -> None:
        """Add what an element inside a line begins with."""
        tag = element.tag
        if tag == "br":
            self.end_line()
        elif tag == "q":
            self.add("“")
        elif tag == "sup" and self._footnote_mark is None and self._is_power(element):
            self.add("^")
        elif tag == "a" and self._footnote_mark is None and is_footnote_mark(element):
            self._footnote_mark = element
            self.add("[")
        self._open_bold += tag in _BOLD

    def end(self, element: Any) -> None:
        """Add what an element inside a line ends with."""
        self._open_bold -= element.tag in _BOLD
        if element.tag == "q":
            self.add("”")
        elif element is self._footnote_mark:
            self._footnote_mark = None
            self.add("]")

    def add(self, text: str) -> bool:
        """Add text; return whether it is more than white space."""
        text = without_unseen(text).translate(_TO_SPACE)
        chars = len(text) - text.count(" ")
        self._chars += chars
        self._bold_chars += chars if self._open_bold else 0
        self._parts.append(text)
        return chars > 0 and not text.isspace()

    def end_line(self) -> None:
        """Break the line."""
        self._parts.append("\n")

    def take(self) -> tuple[list[list[str]], bool]:
        """Return the lines of each paragraph so far, and whether all of them are bold; begin anew."""
        paragraphs = list(_paragraphs("".join(self._parts)))
        is_bold = self._chars > 0 and self._bold_chars == self._chars
        self._parts, self._chars, self._bold_chars = [], 0, 0
        return paragraphs, is_bold

    def _is_power(self, sup: Any) -> bool:
        """Return whether raised text is written as in ``10^6``, as ``106`` is another number."""
        text = (sup.text or "").lstrip()
        before = self._parts[-1][-1:] if self._parts else ""
        return (text[:1].isdigit() and before.isalnum()) or (text[:1] in "-−+" and text[1:2].isdigit())


def _paragraphs(written: str) -> Iterator[list[str]]:
    """Yield the lines of each paragraph, without needless white space; a blank line parts paragraphs."""
    lines: list[str] = []
    for line in written.split("\n"):
        words = " ".join(line.split())
        if words:
            lines.append(words)
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines
