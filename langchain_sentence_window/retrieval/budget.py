"""The token budget: return the best windows that fit, trimmed if necessary."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence

from langchain_core.documents import Document

from langchain_sentence_window.documents.lead_ins import shown_text, without_lead_ins
from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.documents.window_documents import window_document, window_text
from langchain_sentence_window.documents.window_metadata import WINDOW_ID
from langchain_sentence_window.errors import SentenceWindowWarning
from langchain_sentence_window.windows.geometry import Window, shrink


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for every four characters, rounded up.

    This is a rule of thumb for English prose. If precision matters, pass your model's own counter as
    ``count_tokens``.
    """
    return math.ceil(len(text) / 4)


def fit_budget(
    ranked: Sequence[Document],
    k: int,
    max_tokens: int,
    count_tokens: Callable[[str], int],
    *,
    windows: Mapping[str, Window],
    sentences: SentencesByKey,
) -> list[Document]:
    """Return the best ``k`` windows that fit, trimmed if necessary.

    It warns if there are windows but none fits.

    Args:
        ranked: Window Documents, best first.
        k: The number of windows to return.
        max_tokens: The most tokens that they may have together, lead-ins included.
        count_tokens: Counts the tokens of a text.
        windows: The windows by their ids.
        sentences: The sentences of the windows.
    """
    left, taken = max_tokens, list[Document]()
    for document in ranked:
        if len(taken) == k:
            break
        window = windows.get(document.metadata.get(WINDOW_ID, ""))
        fitting = _fitted(document, left, count_tokens, window, sentences)
        if fitting is not None:
            taken.append(fitting)
            left -= count_tokens(shown_text(fitting))
    if ranked and not taken:
        least = min(_min_tokens(document, count_tokens, windows, sentences) for document in ranked)
        warnings.warn(
            f"nothing is returned, as max_tokens is {max_tokens} and every hit has more tokens; set it to {least} or "
            "more",
            SentenceWindowWarning,
            stacklevel=2,
        )
    return taken


def _min_tokens(
    document: Document,
    count_tokens: Callable[[str], int],
    windows: Mapping[str, Window],
    sentences: SentencesByKey,
) -> int:
    """Return the tokens of the smallest part that may be returned: the best hit if it can be trimmed to that."""
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
    """Return the document or the part of its window that fits; ``None`` if even the best hit doesn't.

    Neighbors go before lead-ins, and lead-ins before hits.
    """
    if count_tokens(shown_text(document)) <= budget:
        return document
    # A text that a reranker rewrote has no sentences to trim.
    if window is None or document.page_content != window_text(window, sentences):
        return without_lead_ins(document) if count_tokens(document.page_content) <= budget else None
    alone = shrink(window, lambda part: count_tokens(window_text(part, sentences)) <= budget)
    if alone is None:
        return None
    led = shrink(window, lambda part: count_tokens(shown_text(window_document(part, sentences))) <= budget)
    if led is not None and len(led.hits) == len(alone.hits):
        return _trimmed(document, window_document(led, sentences))
    return _trimmed(document, without_lead_ins(window_document(alone, sentences)))


def _trimmed(document: Document, part: Document) -> Document:
    """Return a part of a window's Document with what was added to the metadata since the window was read."""
    kept = without_lead_ins(document).metadata
    return part.model_copy(update={"metadata": kept | part.metadata})
