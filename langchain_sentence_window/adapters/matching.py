"""Metadata filters, evaluated in Python, for stores that don't filter by them.

The syntax and its meaning are those of `langchain_sentence_window.stores.faiss.database.filters`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langchain_sentence_window.documents.json_values import stored_filter
from langchain_sentence_window.documents.keys import SENTENCE_KEYS
from langchain_sentence_window.stores.faiss.database.filters import Filter, compile_filter
from langchain_sentence_window.stores.faiss.database.operators import MISSING, OPERATORS, is_equal


def matcher(filter: Filter) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function that says whether metadata matches a filter.

    Raises:
        FilterError: The filter can't be read.
    """
    compile_filter(filter)
    return partial(_all_of, stored_filter(filter))


def _all_of(filter: Filter, metadata: Mapping[str, Any]) -> bool:
    return all(_holds(key, value, metadata) for key, value in filter.items())


def _holds(key: str, value: Any, metadata: Mapping[str, Any]) -> bool:
    if key == "$and":
        return all(_all_of(each, metadata) for each in value)
    if key == "$or":
        return any(_all_of(each, metadata) for each in value)
    if key == "$not":
        return not _all_of(value, metadata)
    stored = metadata.get(key, MISSING)
    if key in SENTENCE_KEYS and isinstance(stored, list | tuple):
        stored = {}  # which is there and equals nothing
    if not isinstance(value, Mapping):
        return is_equal(stored, value)
    return all(OPERATORS[name].holds(stored, operand) for name, operand in value.items())
