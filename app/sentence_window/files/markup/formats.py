r"""Formats of light markup, whose texts are read as blocks: reStructuredText, AsciiDoc, Org and LaTeX.

================  ============================================
format            left out
================  ============================================
reStructuredText  comments, targets, options, ``.. note::``
AsciiDoc          comments, attributes, macros, delimiters
Org               comments, keywords, drawers, planning, tags
LaTeX             comments, the preamble, ``\label``, ``\begin``
================  ============================================

No library gives the positions of what it reads for all of them, so lines are read by the rules of a grammar. Spans of
markup are masked. Code is one block, a row of a table is one sentence, and the text of a box is text. A newline inside
a paragraph is a space, as in each of these formats. Markup inside a sentence stays, as a sentence is one slice, but no
sentence ends in it.
"""

from typing import NamedTuple

from langchain_sentence_window.splitting import MAX_MARKED_HEADING_CHARS, Block

from .block_reader import BlockReader
from .grammars import Scan, grammar_of
from .latex_commands import scan_latex


class Format(NamedTuple):
    """A format.

    Attributes:
        name: The name of its grammar.
        suffixes: The suffixes of its files.
        content_type: Its media type.
    """

    name: str
    suffixes: tuple[str, ...]
    content_type: str

    def title_of(self, text: str) -> str:
        """Return the title that a text declares, on one line; empty if there is none."""
        match = grammar_of(self.name).title.search(text)
        return " ".join(match["title"].split())[:MAX_MARKED_HEADING_CHARS] if match else ""

    def parse(self, text: str, body: int = 0) -> list[Block] | None:
        """Parse a text into blocks and masks of markup, as ``structure`` of `SentenceSplitter` needs them.

        Args:
            text: Any string.
            body: The end of front matter, which is left out; 0 if there is none.

        Returns:
            ``None`` if the text has no markup of the format, or nothing else.
        """
        grammar = grammar_of(self.name)
        lines = " " * body + text[body:].replace("\r\n", " \n").replace("\r", "\n")
        if not grammar.sign.search(lines):
            return None
        scan = scan_latex(lines) if self.name == LATEX.name else Scan(lines, {}, [])
        reader = BlockReader(grammar, *scan)
        reader.read()
        reading, blocks = reader.blocks()
        if not any(any(map(str.isalnum, reading[each.start : each.end])) for each in blocks):
            return None
        return [*blocks, *_masks(text, reading)]


RST = Format("rst", (".rst",), "text/x-rst")
"""The format reStructuredText; its `parse` is a parser for `SentenceSplitter`."""

ASCIIDOC = Format("asciidoc", (".adoc", ".asciidoc"), "text/asciidoc")
"""The format AsciiDoc; its `parse` is a parser for `SentenceSplitter`."""

ORG = Format("org", (".org",), "text/org")
"""The format Org; its `parse` is a parser for `SentenceSplitter`."""

LATEX = Format("latex", (".tex",), "application/x-tex")
"""The format LaTeX; its `parse` is a parser for `SentenceSplitter`."""

FORMATS = (RST, ASCIIDOC, ORG, LATEX)


def _masks(text: str, reading: str) -> list[Block]:
    """Return the masks that make a text read as another one that is as long."""
    masks: list[Block] = []
    for at, (char, mask) in enumerate(zip(text, reading, strict=True)):
        if char == mask:
            continue
        if masks and masks[-1].end == at and masks[-1].kind == mask:
            masks[-1] = Block(masks[-1].start, at + 1, mask)
        else:
            masks.append(Block(at, at + 1, mask))
    return masks
