"""The metadata contract, the parts of a source, and the Documents of sentences and windows.

The public names are for programs that read files: the keys that a reader writes, the layout of a text,
and how a message shows a value.
"""

from typing import TYPE_CHECKING

from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from .keys import DOC_ID, END_INDEX, HEADING, PAGES, PARTS, SENTENCE_SPANS, SENTENCES, SOURCE, START_INDEX
    from .part_blocks import LAYOUT, Continuation, write_layout
    from .source_metadata import CONTENT_TYPE, FILE_STATE, PAGE, ROW, SHEET, SLIDE, TITLE, TOTAL_PAGES

__all__ = [
    "CONTENT_TYPE",
    "DOC_ID",
    "END_INDEX",
    "FILE_STATE",
    "HEADING",
    "LAYOUT",
    "PAGE",
    "PAGES",
    "PARTS",
    "ROW",
    "SENTENCES",
    "SENTENCE_SPANS",
    "SHEET",
    "SLIDE",
    "SOURCE",
    "START_INDEX",
    "TITLE",
    "TOTAL_PAGES",
    "Continuation",
    "shown",
    "write_layout",
]

_NAMES = {
    "keys": [
        "DOC_ID",
        "END_INDEX",
        "HEADING",
        "PAGES",
        "PARTS",
        "SENTENCES",
        "SENTENCE_SPANS",
        "SOURCE",
        "START_INDEX",
    ],
    "part_blocks": [
        "Continuation",
        "LAYOUT",
        "write_layout",
    ],
    "source_metadata": [
        "CONTENT_TYPE",
        "FILE_STATE",
        "PAGE",
        "ROW",
        "SHEET",
        "SLIDE",
        "TITLE",
        "TOTAL_PAGES",
    ],
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
