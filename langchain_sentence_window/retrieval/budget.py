"""What of the ranked windows is returned: the best that fit, trimmed where they must be."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence

from langchain_core.documents import Document

from langchain_sentence_window.documents.keys import WINDOW_ID
from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.documents.window_documents import window_document, window_text
from langchain_sentence_window.errors import SentenceWindowWarning
from langchain_sentence_window.windows.geometry import Window, shrink


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text has: one for every four characters, rounded up.

    A rule of thumb for English prose; where it matters, pass your model's own counter as
    ``count_tokens``.
    """
    return math.ceil(len(text) / 4)


def within_budget(
    ranked: Sequence[Document],
    k: int,
    max_tokens: int,
    count_tokens: Callable[[str], int],
    *,
    windows: Mapping[str, Window],
    sentences: SentencesByKey,
) -> list[Document]:
    """Take the best ``k`` that fit, trimmed where they must be.

    It warns if none does.

    Args:
        ranked: Window Documents, best first.
        k: How many to take.
        max_tokens: The most tokens they may have together.
        count_tokens: How many tokens a text has.
        windows: Windows by their ids.
        sentences: Those that the windows are made of.
    """
    left, taken = max_tokens, list[Document]()
    for document in ranked:
        if len(taken) == k:
            break
        window = windows.get(document.metadata.get(WINDOW_ID, ""))
        fitting = _fitted(document, left, count_tokens, window, sentences)
        if fitting is not None:
            taken.append(fitting)
            left -= count_tokens(fitting.page_content)
    if ranked and not taken:
        least = min(_fewest_tokens(document, count_tokens, windows, sentences) for document in ranked)
        warnings.warn(
            f"nothing is returned, as max_tokens is {max_tokens} and no hit has so few tokens; with {least} or more, "
            "one is",
            SentenceWindowWarning,
            stacklevel=2,
        )
    return taken


def _fewest_tokens(
    document: Document,
    count_tokens: Callable[[str], int],
    windows: Mapping[str, Window],
    sentences: SentencesByKey,
) -> int:
    """The tokens of the least that may be returned of a document: its best hit, if it can be trimmed to that."""
    whole = count_tokens(document.page_content)
    window = windows.get(document.metadata.get(WINDOW_ID, ""))
    if window is None or document.page_content != window_text(window, sentences):
        return whole
    return min(whole, count_tokens(sentences[window.doc_id, window.best.index].text))


def _fitted(
    document: Document,
    budget: int,
    count_tokens: Callable[[str], int],
    window: Window | None,
    sentences: SentencesByKey,
) -> Document | None:
    """The document, or what of its window fits, or ``None`` if not even the best hit does."""
    if count_tokens(document.page_content) <= budget:
        return document
    # What a reranker rewrote has no sentences to trim.
    if window is None or document.page_content != window_text(window, sentences):
        return None
    smaller = shrink(window, lambda part: count_tokens(window_text(part, sentences)) <= budget)
    if smaller is None:
        return None
    trimmed = window_document(smaller, sentences)
    return trimmed.model_copy(update={"metadata": document.metadata | trimmed.metadata})
