"""Filters that are mappings or functions: copied, checked, joined and evaluated in Python.

Mappings have the syntax and the meaning of those that `FaissStore` turns into SQL.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from langchain_core.documents import Document
from pydantic import BaseModel

from langchain_sentence_window._display import described, shown
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.keys import DOC_ID, SENTENCE_INDEX, SENTENCE_KEYS
from langchain_sentence_window.documents.metadata_values import stored_filter
from langchain_sentence_window.errors import FilterError, InvalidInputError
from langchain_sentence_window.store.filters import MISSING, OPERATORS, Filter, compile_filter, is_equal

Matcher: TypeAlias = Callable[[Document], bool]
"""Checks whether a Document matches a filter."""

MAX_LEVELS = 100
"""The deepest nesting of mappings and lists in a filter."""


def own_copy(filter: Any, *, levels: int = MAX_LEVELS) -> Any:
    """Copy a filter's mappings and lists, so that later changes to them have no effect.

    Raises:
        FilterError: It nests too deep for any store.
    """
    if isinstance(filter, set | frozenset):
        return [*filter]
    if isinstance(filter, BaseModel):  # such as Qdrant's
        return filter.model_copy(deep=True)
    if not isinstance(filter, Mapping | list | tuple):
        return filter
    if not levels:
        raise FilterError(f"the filter nests more than {MAX_LEVELS} levels; flatten it")
    if isinstance(filter, Mapping):
        return {key: own_copy(value, levels=levels - 1) for key, value in filter.items()}
    return [own_copy(each, levels=levels - 1) for each in filter]


class CheckedFunction:
    """A filter function that must not return an awaitable, which would count as true."""

    def __init__(self, filter: Callable[[Any], Any]) -> None:
        """Take the function."""
        self.__wrapped__ = filter

    def __call__(self, given: Any) -> bool:
        """Call the function.

        Raises:
            InvalidInputError: It returns an awaitable.
        """
        answer = self.__wrapped__(given)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise InvalidInputError("the filter returned an awaitable, which would count as true; return a bool")
        return bool(answer)

    def __repr__(self) -> str:
        """Return the function's name, as a trace shows it."""
        return described(self.__wrapped__)


def checked_function(store_name: str, filter: Any, argument: str) -> CheckedFunction:
    """Return a filter that is a function, as a `CheckedFunction`.

    Raises:
        InvalidInputError: It isn't a function, or it is async.
    """
    if isinstance(filter, CheckedFunction):
        return filter
    call = getattr(type(filter), "__call__", None)  # noqa: B004
    is_async = inspect.iscoroutinefunction(filter) or inspect.iscoroutinefunction(call)
    if not callable(filter) or isinstance(filter, type) or is_async:
        raise InvalidInputError(
            f"{store_name} filters by a function of {argument}, or by a mapping such as {{'tenant': 'a'}}, not "
            f"by {shown(filter)}"
        )
    return CheckedFunction(filter)


def key_of(document: Document) -> SentenceKey:
    """Return the document and the index that a sentence Document states."""
    index = document.metadata.get(SENTENCE_INDEX)
    return str(document.metadata.get(DOC_ID)), int(index) if isinstance(index, int | float) else -1


def all_of(functions: Sequence[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    """Return a function that is true where all of some functions are; it can be pickled if they can."""
    return functions[0] if len(functions) == 1 else partial(_all_true, functions)


def _all_true(functions: Sequence[Callable[[Any], bool]], given: Any) -> bool:
    return all(function(given) for function in functions)


def mapping_matcher(filter: Mapping[str, Any]) -> Matcher:
    """Return a function that checks whether a Document's metadata matches a mapping.

    Raises:
        FilterError: The mapping can't be read.
    """
    compile_filter(filter)
    return partial(_matches_document, stored_filter(filter))


def _matches_document(filter: Filter, document: Document) -> bool:
    return _matches(filter, document.metadata)


def matcher(filter: Filter) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function that checks whether metadata matches a filter.

    Raises:
        FilterError: The filter can't be read.
    """
    compile_filter(filter)
    return partial(_matches, stored_filter(filter))


def _matches(filter: Filter, metadata: Mapping[str, Any]) -> bool:
    return all(_condition_holds(key, value, metadata) for key, value in filter.items())


def _condition_holds(key: str, value: Any, metadata: Mapping[str, Any]) -> bool:
    if key == "$and":
        return all(_matches(each, metadata) for each in value)
    if key == "$or":
        return any(_matches(each, metadata) for each in value)
    if key == "$not":
        return not _matches(value, metadata)
    stored = metadata.get(key, MISSING)
    if key in SENTENCE_KEYS and isinstance(stored, list | tuple):
        stored = {}  # which exists and equals nothing
    if not isinstance(value, Mapping):
        return is_equal(stored, value)
    return all(OPERATORS[name].holds(stored, operand) for name, operand in value.items())
