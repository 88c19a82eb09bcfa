"""Each setting of a call as a form needs it: its kind, its limits, a line of help."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_args

from langchain_sentence_window.ranking.ranking import DEFAULT_RANKING, MAX_WEIGHT, Ranking
from langchain_sentence_window.ranking.signals import SIGNALS
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.studio.call_settings import (
    MAX_SIDE,
    MOST,
    NO_RERANKER,
    OWN_RERANKER,
    RERANKER,
    rerankers,
)
from langchain_sentence_window.windows.order import Order


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
