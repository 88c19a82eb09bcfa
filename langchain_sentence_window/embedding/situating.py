"""What is put before a sentence when it is embedded, and nowhere else.

A sentence alone often doesn't say what it is about; its headings do, or a line written for it (Anthropic,
"Introducing Contextual Retrieval", 2024). Embedders read the beginning of a text alone, such as 256 tokens,
so what is put before a sentence is limited in length.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._showing import shown
from langchain_sentence_window.documents.keys import DOC_ID, HEADING
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.headings import shorten, shorten_path

Situate: TypeAlias = Callable[[Document, Document], str]
"""Says of a source document and one of its sentences what the sentence is about, in a line. It is cut where it and the
heading path are wider than `WIDEST_CONTEXT`."""

WIDEST_CONTEXT = 320
"""How wide all may be that is put before a sentence. Of a window of 256 tokens it leaves 40 even where it was made to
have as many as it can, and about 180 where it is prose.

Characters, of which marks of ASCII count twice, as they may be tokens of their own, and all beyond ASCII three times:
tokenizers know few words of other scripts, and take them letter by letter or even byte by byte."""

WIDEST_HEADINGS = 160
"""How wide a heading path may be to stand as it is, counted likewise."""

WIDEST_CUT_HEADINGS = 100
"""How wide is what is left of a wider one. The outer headings give way first. So wide a path is no title of a section
any more, and would outweigh a short sentence."""

_ASCII_MARK = re.compile(r"[!-/:-@\[-`{-~\x00-\x08\x0e-\x1b\x7f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def contexts_of(
    sentences: Sequence[Document], documents: Mapping[str, Document], situate: Situate | None, *, headings: bool
) -> list[str]:
    """What is put before each sentence when it is embedded.

    Args:
        sentences: Sentence Documents.
        documents: The source documents by their ids.
        situate: Writes a line for a sentence; an empty one for none.
        headings: Whether to begin with the heading path.

    Raises:
        InvalidInputError: ``situate`` returned something else than a string.
    """
    contexts = list[str]()
    for sentence in sentences:
        path = sentence.metadata.get(HEADING, "") if headings else ""
        if _width(path) > WIDEST_HEADINGS:
            path = _fitted(shorten_path, path, WIDEST_CUT_HEADINGS)
        line = situate(documents[sentence.metadata[DOC_ID]], sentence) if situate is not None else ""
        if not isinstance(line, str):
            raise InvalidInputError(
                f"situate returned {shown(line)} for {sentence.page_content[:80]!r}; it must return a string. "
                "Nothing was stored"
            )
        line = _fitted(shorten, line, WIDEST_CONTEXT - _width(path))
        contexts.append("".join(f"{each}\n" for each in (path, line) if each))
    return contexts


def _fitted(shortened: Callable[[str, int], str], text: str, widest: int) -> str:
    text = shortened(text, widest)
    while (over := _width(text) - widest) > 0:
        text = shortened(text, len(text) - (over + 2) // 3)
    return text


def _width(text: str) -> int:
    return len(text) + len(_ASCII_MARK.findall(text)) + 2 * len(_BEYOND_ASCII.findall(text))
