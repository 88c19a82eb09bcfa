"""Filters of any store: put together so that none widens another, and kept to when sentences are read by id.

Stores filter by mappings, functions, expressions, or objects of their own, and most only when they search. Here
is what holds for most of them; `store_filters` has those that do it in a way of their own. What can't be joined or
kept to is refused.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from pydantic import BaseModel

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.adapters.access import fetch
from langchain_sentence_window.adapters.matching import matcher
from langchain_sentence_window.documents.keys import DOC_ID, SENTENCE_INDEX
from langchain_sentence_window.errors import FilterError, InvalidInputError
from langchain_sentence_window.stores.faiss.database.filters import compile_filter, filter_keys
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore

Passes: TypeAlias = Callable[[Document], bool]

MOST_LEVELS = 100
"""Mappings and lists of a filter in each other."""


class Filters:
    """How a store filters; this is one that takes mappings, or it isn't known what."""

    sees_hits = True
    """Whether what a search gave back is looked at once more, as the store may not read ``filter`` at all."""

    def __init__(self, store: Any) -> None:
        """Take the store."""
        self.store = store

    def joined(self, given: Sequence[Any]) -> Any:
        """One filter, of the store's own kind, that lets through what all of them let through.

        Raises:
            InvalidInputError: They can't be put together.
        """
        return given[0] if len(given) == 1 else self._all(given)

    def passes(self, filter: Any) -> Passes | None:
        """What says of a Document whether the filter lets it through; ``None`` if only the store knows."""
        if not isinstance(filter, Mapping):
            return None
        return partial(_matches, matcher(filter))

    async def fetch(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Fetch what the filter lets through of some ids; ``None`` if the store can't fetch by id.

        Raises:
            InvalidInputError: What comes back can't be kept within the filter.
        """
        passes = self.passes(filter)
        if passes is None:
            raise InvalidInputError(
                f"{type_name(self.store)} can't be kept within the filter {shown(filter)} when sentences are read by "
                "id; give a mapping, ask with window=0, or give the store a method get_by_ids_within(ids, filter)"
            )
        found: list[Document] | None = await fetch(io, self.store, ids)
        return None if found is None else [document for document in found if passes(document)]

    def only_at(self, places: Sequence[SentenceKey], filter: Any) -> Any:
        """The filter, narrowed to sentences at some places, for a store that can't fetch by id but can search.

        Returns:
            ``None`` if the store's filters can't say that.
        """
        if not isinstance(filter, Mapping):
            return None
        indexes: dict[str, list[int]] = {}
        for doc_id, index in places:
            indexes.setdefault(doc_id, []).append(index)
        documents = [
            {"$and": [{DOC_ID: doc_id}, {SENTENCE_INDEX: {"$in": of_it}}]} for doc_id, of_it in indexes.items()
        ]
        return self.joined([filter, documents[0] if len(documents) == 1 else {"$or": documents}])

    def unknown_keys(self, given: Sequence[Any]) -> list[str]:
        """Those keys of filters that no document has, where that can be seen without a search."""
        return []

    def _all(self, given: Sequence[Any]) -> Any:
        if all(isinstance(each, Mapping) for each in given):
            return {"$and": [{key: value} for each in given for key, value in each.items()]}
        raise InvalidInputError(
            f"the filters {', '.join(map(shown, given))} can't both be kept to by {type_name(self.store)}, as it isn't "
            "known how it puts them together; give mappings, or a single filter that says it all"
        )


class OwnFilters(Filters):
    """Of a store that says itself what of some ids a filter lets through."""

    sees_hits = False

    def joined(self, given: Sequence[Any]) -> Any:
        """See that a `FaissStore` can read them."""
        if isinstance(self.store, FaissStore):
            for each in given:
                compile_filter(each)
        return super().joined(given)

    async def fetch(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Ask the store."""
        get, aget = self.store.get_by_ids_within, getattr(self.store, "aget_by_ids_within", None)
        found: list[Document]
        if aget is None:
            found = await io.in_thread(get, ids, filter)
        else:
            found = await io.call(get, aget, ids, filter)
        return found


class FunctionFilters(Filters):
    """Of LangChain's store in memory: functions of a Document, made of mappings where those are given."""

    def joined(self, given: Sequence[Any]) -> Any:
        """A function that asks them all."""
        functions = [self._function(each) for each in given]
        return functions[0] if len(functions) == 1 else both(functions)

    def passes(self, filter: Any) -> Passes | None:
        """It is one already."""
        return self._function(filter)

    def only_at(self, places: Sequence[SentenceKey], filter: Any) -> Any:
        """A function that looks at the place first."""
        return both([partial(_is_at, frozenset(places)), self._function(filter)])

    def unknown_keys(self, given: Sequence[Any]) -> list[str]:
        """Look at them all, as they are in memory."""
        held = [each["metadata"] for each in list(self.store.store.values())]
        keys = dict.fromkeys(key for each in given if isinstance(each, Mapping) for key in filter_keys(each))
        return [key for key in keys if held and not any(key in metadata for metadata in held)]

    def _function(self, filter: Any) -> Passes:
        if isinstance(filter, Mapping):
            return partial(_matches, matcher(filter))
        return checked_function(self.store, filter, "a Document")


def own_copy(filter: Any, *, levels: int = MOST_LEVELS) -> Any:
    """A copy of a filter's mappings and lists, so that no one changes it from outside.

    Raises:
        FilterError: It nests too deep for any store.
    """
    if isinstance(filter, set | frozenset):
        return [*filter]
    if isinstance(filter, BaseModel):  # Qdrant's are such
        return filter.model_copy(deep=True)
    if not isinstance(filter, Mapping | list | tuple):
        return filter
    if not levels:
        raise FilterError(f"the filter nests more than {MOST_LEVELS} levels; flatten it")
    if isinstance(filter, Mapping):
        return {key: own_copy(value, levels=levels - 1) for key, value in filter.items()}
    return [own_copy(each, levels=levels - 1) for each in filter]


class AnsweringAtOnce:
    """A filter that is a function, which can't pass for true what is yet to be awaited."""

    def __init__(self, filter: Callable[[Any], Any]) -> None:
        """Take the function."""
        self._filter = filter

    def __call__(self, given: Any) -> bool:
        """Ask the function.

        Raises:
            InvalidInputError: It gives something to be awaited.
        """
        answer = self._filter(given)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise InvalidInputError("the filter gave something to be awaited, which would pass for true; give a bool")
        return bool(answer)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same function."""
        return other is self._filter or (isinstance(other, AnsweringAtOnce) and other._filter is self._filter)

    def __hash__(self) -> int:
        """The function's own."""
        return hash(self._filter)


def answering_at_once(filter: Any) -> Any:
    """A filter that is a function, made safe; others as they are."""
    return AnsweringAtOnce(filter) if inspect.isroutine(filter) and not iscoroutinefunction(filter) else filter


def place_of(document: Document) -> SentenceKey:
    """Where a sentence Document says that it stands."""
    index = document.metadata.get(SENTENCE_INDEX)
    return str(document.metadata.get(DOC_ID)), int(index) if isinstance(index, int | float) else -1


def both(functions: Sequence[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    """A function that holds where all of them do."""
    return partial(_all_hold, tuple(functions))


def checked_function(store: VectorStore, filter: Any, argument: str) -> Callable[[Any], bool]:
    """Return a filter that is a function.

    Raises:
        InvalidInputError: It isn't, or it gives a coroutine, which would pass for true.
    """
    call = getattr(type(filter), "__call__", None)  # noqa: B004
    if not callable(filter) or isinstance(filter, type) or iscoroutinefunction(filter) or iscoroutinefunction(call):
        raise InvalidInputError(
            f"{type_name(store)} filters by a function of {argument}, or by a mapping such as {{'tenant': 'a'}}, not "
            f"by {shown(filter)}"
        )
    return filter if isinstance(filter, AnsweringAtOnce) else AnsweringAtOnce(filter)


def type_name(store: VectorStore) -> str:
    """What a store is called in a message."""
    return type(store).__name__


# Functions with a name, as what is made of them can be handed to another process.


def _matches(matches: Callable[[Mapping[str, Any]], bool], document: Document) -> bool:
    return matches(document.metadata)


def _is_at(places: frozenset[SentenceKey], document: Document) -> bool:
    return place_of(document) in places


def _all_hold(functions: Sequence[Callable[[Any], bool]], given: Any) -> bool:
    return all(function(given) for function in functions)
