"""Parsers of reStructuredText, AsciiDoc, Org and LaTeX for `SentenceSplitter`.

    SentenceSplitter(structure=RST.parse)

`load_file` does this for the files of these formats.
"""

from .formats import ASCIIDOC, FORMATS, LATEX, ORG, RST, Format

__all__ = ["ASCIIDOC", "FORMATS", "LATEX", "ORG", "RST", "Format"]
