"""Light markup and LaTeX as blocks: what a line is by the rules of its format, and what in it is no text.

    SentenceSplitter(structure=RST.parse)

`load_file` does this for the files of these formats.
"""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from .light_markup import ASCIIDOC, LATEX, ORG, RST

__all__ = ["ASCIIDOC", "LATEX", "ORG", "RST"]

__getattr__, __dir__ = lazy_names(__name__, {"light_markup": ["ASCIIDOC", "LATEX", "ORG", "RST"]})
