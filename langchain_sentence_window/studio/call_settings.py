"""The settings of a call as the page sends them: JSON, from which the retriever to ask and its settings are read."""

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, Ranking
from langchain_sentence_window.reranking.late_interaction import LateInteractionReranker
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

MOST: Mapping[str, int] = {"k": 500, "fetch_k": 10_000, "max_tokens": 1_000_000}
"""The highest values of settings that a page may ask for. A page with more couldn't be read."""

MAX_SIDE = 1_000
"""The most sentences on each side of a hit."""

RERANKER = "reranker"
"""A setting of the page alone: which reranker sorts the windows. A call of the retriever can't choose it."""

NO_RERANKER, OWN_RERANKER, LATE_INTERACTION = "none", "own", "late interaction"

_RANKING = "ranking"
_DEFAULT = "default"


def to_ask(
    retriever: SentenceWindowRetriever, settings: Mapping[str, Any]
) -> tuple[SentenceWindowRetriever, dict[str, Any]]:
    """Return the retriever to ask, and the settings of the call.

    Args:
        retriever: The retriever of the page.
        settings: What the page sent. ``ranking`` is ``default``, weights by signal or ``None``, and never the path of
            a file. ``reranker`` is one of `rerankers`.

    Raises:
        InvalidInputError: A setting is too high, or a page can't set it. Other faults are left to the retriever.
    """
    call = dict(settings)
    _check_limits(call)
    if _RANKING in call:
        call[_RANKING] = read_ranking(call[_RANKING])
    if RERANKER not in call:
        return retriever, call
    reranker = _read_reranker(retriever, call.pop(RERANKER))
    if reranker is retriever.reranker:
        return retriever, call
    return retriever.model_copy(update={RERANKER: reranker}), call


def _check_limits(settings: Mapping[str, Any]) -> None:
    """Check that the settings ask for no more than a page can show.

    Raises:
        InvalidInputError: One does, or can't come from a page.
    """
    if settings.get("count_tokens") is not None:
        raise InvalidInputError(
            "count_tokens can't be set by a page; it is a function, which is set in Python: "
            "SentenceWindowRetriever(..., count_tokens=...)"
        )
    for name, most in MOST.items():
        number = as_integer(settings.get(name))
        if number is not None and number > most:
            raise InvalidInputError(f"{name} is {shown(number)}; a page can ask for {most:,} at most")
    _check_window(settings.get("window"))


def _check_window(window: object) -> None:
    """Check that no window is larger than a page can show.

    Raises:
        InvalidInputError: One is.
    """
    sizes = list(window.values()) if isinstance(window, Mapping) else [window]
    for size in sizes:
        for side in size if isinstance(size, list) else [size]:
            number = as_integer(side)
            if number is not None and number > MAX_SIDE:
                raise InvalidInputError(
                    f"window has {shown(number)} sentences on a side; a page can ask for {MAX_SIDE:,} at most"
                )


def read_ranking(given: object) -> Ranking | None:
    """Return the ranking that the page means.

    Raises:
        InvalidInputError: It is something else, such as the path of a file, which the page mustn't read.
    """
    if given is None:
        return None
    if given == _DEFAULT:
        return DEFAULT_RANKING
    if isinstance(given, Mapping):
        return Ranking(given)
    raise InvalidInputError(f"ranking is {shown(given)}; give 'default', weights by signal, or null")


def rerankers(retriever: SentenceWindowRetriever) -> list[str]:
    """Return the rerankers that the page may choose: none of them needs a download."""
    own = [] if retriever.reranker is None else [OWN_RERANKER]
    is_own = isinstance(retriever.reranker, LateInteractionReranker)
    return [NO_RERANKER, *own, *([LATE_INTERACTION] if not is_own and _late_interaction(retriever) else [])]


def _read_reranker(retriever: SentenceWindowRetriever, given: object) -> BaseDocumentCompressor | None:
    if given not in rerankers(retriever):
        choices = ", ".join(map(repr, rerankers(retriever)))
        raise InvalidInputError(f"reranker is {shown(given)}; give one of {choices}")
    if given == NO_RERANKER:
        return None
    return retriever.reranker if given == OWN_RERANKER else _late_interaction(retriever)


def _late_interaction(retriever: SentenceWindowRetriever) -> LateInteractionReranker | None:
    """Return a reranker that uses the store's embedder; ``None`` if that has no token vectors."""
    try:
        return LateInteractionReranker(model=retriever.scope().adapter.embedding)
    except InvalidInputError:
        return None
