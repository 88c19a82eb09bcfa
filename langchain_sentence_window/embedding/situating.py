"""The context that is put before a sentence when it is embedded, and nowhere else.

A sentence often doesn't say what it is about. Its headings do, or a line written for it (Anthropic, "Introducing
Contextual Retrieval", 2024). Embedders read only the beginning of a text, such as 256 tokens, so the length of a
context is limited.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.keys import DOC_ID, HEADING
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import shorten, shorten_path

Situate: TypeAlias = Callable[[Document, Document], str]
"""Takes a source document and one of its sentences, and returns a line that says what the sentence is about.

The line is cut if it and the heading path are wider than `MAX_CONTEXT_WIDTH`."""

MAX_CONTEXT_WIDTH = 320
"""Width of a context. It leaves room for the sentence in an embedder that reads 256 tokens.

The width estimates tokens: a mark of ASCII counts as two characters, as it may be a token, and a character beyond ASCII
as three, as tokenizers split words of other scripts into letters or bytes."""

MAX_HEADINGS_WIDTH = 160
"""Width of a heading path that isn't cut."""

MAX_CUT_HEADINGS_WIDTH = 100
"""Width that a wider heading path is cut to. Outer headings are dropped first, else they would outweigh a short
sentence."""

_ASCII_MARK = re.compile(r"[!-/:-@\[-`{-~\x00-\x08\x0e-\x1b\x7f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def contexts_of(
    sentences: Sequence[Document], documents: Mapping[str, Document], situate: Situate | None, *, headings: bool
) -> list[str]:
    """Return the context of each sentence: its heading path and the line of ``situate``, each on a line.

    Args:
        sentences: Sentence Documents.
        documents: The source documents by their ids.
        situate: Returns a line for a sentence, an empty one for none; ``None`` for no lines.
        headings: Whether to begin with the heading path.

    Raises:
        InvalidInputError: ``situate`` returned something other than a string.
    """
    contexts = list[str]()
    for sentence in sentences:
        path = fitted_headings(sentence.metadata.get(HEADING, "")) if headings else ""
        line = situate(documents[sentence.metadata[DOC_ID]], sentence) if situate is not None else ""
        if not isinstance(line, str):
            raise InvalidInputError(
                f"situate returned {shown(line)} for {sentence.page_content[:80]!r}; it must return a string. "
                "Nothing was stored"
            )
        line = _fitted(shorten, line, MAX_CONTEXT_WIDTH - _width(path))
        contexts.append("".join(f"{each}\n" for each in (path, line) if each))
    return contexts


def fitted_headings(path: str) -> str:
    """Return a heading path, cut to `MAX_CUT_HEADINGS_WIDTH` if it is wider than `MAX_HEADINGS_WIDTH`."""
    return path if _width(path) <= MAX_HEADINGS_WIDTH else _fitted(shorten_path, path, MAX_CUT_HEADINGS_WIDTH)


def _fitted(shortened: Callable[[str, int], str], text: str, widest: int) -> str:
    text = shortened(text, widest)
    while (over := _width(text) - widest) > 0:
        text = shortened(text, len(text) - (over + 2) // 3)
    return text


def _width(text: str) -> int:
    return len(text) + len(_ASCII_MARK.findall(text)) + 2 * len(_BEYOND_ASCII.findall(text))
