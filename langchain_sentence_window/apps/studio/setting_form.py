"""The settings of a call: as a form shows them, and as the page sends them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, Ranking
from langchain_sentence_window.ranking.signals import SIGNALS
from langchain_sentence_window.reranking.late_interaction import LateInteractionReranker
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.settings import SETTINGS, RetrieverSettings

FORM = {name: row for name, row in SETTINGS.items() if row.control}
"""The settings that a form shows, in its order."""

RERANKER = "reranker"
"""A setting of the page alone: which reranker sorts the windows. A call of the retriever can't choose it."""


def described(retriever: SentenceWindowRetriever) -> dict[str, Any]:
    """Return what a form needs: the fields with the retriever's own values, and the signals of a ranking."""
    return {
        "fields": [
            {
                "name": name,
                "kind": row.control,
                **{key: getattr(row, key) for key in ("label", "help", "min", "max", "is_advanced")},
                "choices": _choices(retriever, name),
                "is_optional": RetrieverSettings.model_fields[name].default is None,
                "default": default_of(retriever, name),
            }
            for name, row in FORM.items()
        ],
        "signals": [
            {"name": name, "meaning": signal.meaning, "weight": DEFAULT_RANKING.weights[name]}
            for name, signal in SIGNALS.items()
        ],
    }


def _choices(retriever: SentenceWindowRetriever, name: str) -> Sequence[Any]:
    """Return the values that a form offers; the retriever's own may be a number, as of `min_relevance`."""
    if name == RERANKER:
        return rerankers(retriever)
    choices = FORM[name].choices
    return [*dict.fromkeys([*choices, default_of(retriever, name)])] if choices else choices


def default_of(retriever: SentenceWindowRetriever, name: str) -> Any:
    """Return a setting of the retriever as the form has it."""
    if name == RERANKER:
        return NO_RERANKER if retriever.reranker is None else OWN_RERANKER
    if name == "filter":
        return None  # the retriever's own binds anyway, and isn't the page's to tell
    return as_json_value(getattr(retriever, name))


def as_json_value(value: Any) -> Any:
    """Return a setting as the form has it: a ranking as ``default`` or its weights, a pair as a list."""
    if isinstance(value, Ranking):
        return "default" if value == DEFAULT_RANKING else dict(value.weights)
    if isinstance(value, Mapping):
        return {str(key): as_json_value(each) for key, each in value.items()}
    return list(value) if isinstance(value, tuple | list) else value


NO_RERANKER, OWN_RERANKER, LATE_INTERACTION = "none", "own", "late interaction"

_RANKING = "ranking"
_DEFAULT = "default"


def to_ask(
    retriever: SentenceWindowRetriever, settings: Mapping[str, Any]
) -> tuple[SentenceWindowRetriever, dict[str, Any]]:
    """Return the retriever to ask, and the settings of the call.

    Args:
        retriever: The retriever of the page.
        settings: What the page sent. ``ranking`` is ``default``, weights by signal or ``None``. ``reranker`` is one of
            `rerankers`.

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
    for name, row in FORM.items():
        for number in _numbers(settings.get(name)) if row.control in ("count", "window") else ():
            if row.max is not None and number > row.max:
                raise InvalidInputError(f"{name} is {shown(number)}; a page can ask for {row.max:,} at most")


def _numbers(value: object) -> Iterator[int]:
    """Yield the whole numbers in a setting: that of a count, and those of the sides of windows."""
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    if inside is not None:
        for each in inside:
            yield from _numbers(each)
    elif (number := as_integer(value)) is not None:
        yield number


def read_ranking(given: object) -> Ranking | None:
    """Return the ranking that the page means.

    Raises:
        InvalidInputError: It is something else.
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
