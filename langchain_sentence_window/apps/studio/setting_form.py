"""The settings of a call: as a form shows them, and as the page sends them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_args

from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, MAX_WEIGHT, SIGNALS, Ranking
from langchain_sentence_window.reranking.late_interaction import LateInteractionReranker
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.windows.assembly import Order


@dataclass(frozen=True, slots=True)
class SettingField:
    """A setting, as a form shows it.

    Attributes:
        name: Its name, as a call gives it.
        kind: Its control: ``count``, ``number``, ``choice``, ``window``, ``names``, ``ranking`` or ``filter``.
        label: Its label.
        help: What it does, in a line.
        choices: The values of a ``choice``.
        min: The lowest number; ``None`` for any.
        max: The highest number; ``None`` for any.
        is_optional: Whether it may be ``None``.
        is_advanced: Whether few people change it.
    """

    name: str
    kind: str
    label: str
    help: str
    choices: tuple[str | None, ...] = ()
    min: float | None = None
    max: float | None = None
    is_optional: bool = False
    is_advanced: bool = False


MOST: Mapping[str, int] = {"k": 500, "fetch_k": 10_000, "max_tokens": 1_000_000}
"""The highest values of settings that a page may ask for. A page with more couldn't be read."""

MAX_SIDE = 1_000
"""The most sentences on each side of a hit."""

RERANKER = "reranker"
"""A setting of the page alone: which reranker sorts the windows. A call of the retriever can't choose it."""


FIELDS = (
    SettingField("k", "count", "Windows", "The most windows to return.", min=1, max=MOST["k"]),
    SettingField(
        "window",
        "window",
        "Window",
        "How far each hit is expanded: forward as far as it needs (auto), or by a number of sentences.",
        min=0,
        max=MAX_SIDE,
    ),
    SettingField(
        "max_tokens",
        "count",
        "Token budget",
        "The most tokens of all windows together. Neighbors are cut first, then weaker hits.",
        min=1,
        max=MOST["max_tokens"],
        is_optional=True,
    ),
    SettingField(RERANKER, "choice", "Reranker", "Sorts all windows before the best are taken."),
    SettingField(
        "fetch_k",
        "count",
        "Sentences searched",
        "The number of sentences that become hits, at first. More are searched if they make too few windows.",
        min=1,
        max=MOST["fetch_k"],
    ),
    SettingField(
        "lexical_weight",
        "number",
        "Weight of words",
        "How much words count compared with meaning. 0 ignores words.",
        min=0,
    ),
    SettingField(
        "order",
        "choice",
        "Order",
        "Best first (relevance), as in the source (document), or best first and last (edges).",
        choices=get_args(Order),
        is_advanced=True,
    ),
    SettingField(
        "min_relevance",
        "choice",
        "Relevance",
        "auto leaves out windows that the question doesn't support.",
        choices=(None, "auto"),
        is_advanced=True,
    ),
    SettingField(
        "min_score",
        "number",
        "Lowest similarity",
        "The lowest similarity of a sentence that counts as a hit, such as a cosine.",
        is_optional=True,
        is_advanced=True,
    ),
    SettingField(
        "names",
        "names",
        "Names",
        "Whether documents that the question names are searched first; or keys of metadata that hold names, too.",
        is_advanced=True,
    ),
    SettingField(
        "ranking",
        "ranking",
        "Ranking",
        "How the sentences that were found are reordered: by the weights of signals, or not at all.",
        min=-MAX_WEIGHT,
        max=MAX_WEIGHT,
        is_advanced=True,
    ),
    SettingField(
        "filter",
        "filter",
        "Filter",
        'Only documents whose metadata match, such as {"year": {"$gte": 2025}}. It narrows the page\'s own filter.',
        is_optional=True,
        is_advanced=True,
    ),
)
"""The settings of a call that JSON can hold, in the order of the form."""


def described(retriever: SentenceWindowRetriever) -> dict[str, Any]:
    """Return what a form needs: the fields with the retriever's own values, and the signals of a ranking."""
    fields = []
    for field in FIELDS:
        choices = rerankers(retriever) if field.name == RERANKER else list(field.choices)
        fields.append({**asdict(field), "choices": choices, "default": default_of(retriever, field.name)})
    return {
        "fields": fields,
        "signals": [
            {"name": name, "meaning": signal.meaning, "weight": DEFAULT_RANKING.weights.get(name, 0.0)}
            for name, signal in SIGNALS.items()
        ],
    }


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
