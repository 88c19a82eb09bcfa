"""What is put before a sentence when it is embedded, and nowhere else.

A sentence alone often doesn't say what it is about; its headings do, or a line written for it (Anthropic,
"Introducing Contextual Retrieval", 2024).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.metadata.keys import DOC_ID, HEADING

Situate: TypeAlias = Callable[[Document, Document], str]
"""Says of a source document and one of its sentences what the sentence is about."""


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
        lines = [sentence.metadata.get(HEADING, "")] if headings else []
        if situate is not None:
            line = situate(documents[sentence.metadata[DOC_ID]], sentence)
            if not isinstance(line, str):
                raise InvalidInputError(
                    f"situate returned {line!r} for {sentence.page_content[:80]!r}; it must return a string. "
                    "Nothing was stored"
                )
            lines.append(line)
        contexts.append("".join(f"{line}\n" for line in lines if line))
    return contexts
