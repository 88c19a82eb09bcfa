"""Page Documents: what a loader makes of each page of a file.

===================  =============================================================
key                  meaning
===================  =============================================================
``source``           the path of the file, or its name
``page``             the page's number, from 0
``page_label``       what is printed as its number, such as ``iv``, if the file says
``total_pages``      the number of pages of the file
``layout``           the blocks of the text, see `read_layout`
===================  =============================================================

All other keys are what the file says of itself, such as ``title``.
"""

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document

from langchain_sentence_window.documents.keys import SOURCE
from langchain_sentence_window.documents.layout import Continuation, write_layout
from langchain_sentence_window.documents.parts.numbering import LAYOUT, PAGE, PAGE_LABEL, TOTAL_PAGES
from langchain_sentence_window.splitting.blocks import Block

_OURS = frozenset({SOURCE, PAGE, PAGE_LABEL, TOTAL_PAGES, LAYOUT})


def page_document(
    text: str,
    blocks: Sequence[Block],
    continues: Continuation,
    *,
    source: str,
    page: int,
    total_pages: int,
    page_label: str | None = None,
    about: Mapping[str, str] | None = None,
) -> Document:
    """Make the Document of a page.

    Args:
        text: The text of the page.
        blocks: Its blocks, in order and disjoint.
        continues: How the first block begins.
        source: The path of the file, or its name.
        page: The page's number, from 0.
        total_pages: The number of pages of the file.
        page_label: What is printed as the page's number; ``None`` if the file doesn't say.
        about: What the file says of itself, by LangChain's names.
    """
    metadata: dict[str, str | int] = {key: value for key, value in (about or {}).items() if key not in _OURS}
    metadata |= {SOURCE: source, PAGE: page, TOTAL_PAGES: total_pages}
    if page_label is not None:
        metadata[PAGE_LABEL] = page_label
    metadata[LAYOUT] = write_layout(blocks, continues)
    return Document(page_content=text, metadata=metadata)
