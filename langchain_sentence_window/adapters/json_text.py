"""The common part of the adapters of LanceDB and MariaDB, whose stores keep metadata as JSON text in a column.

LanceDB's has no filters. MariaDB's puts values into SQL as they are, without escaping, and drops conditions. So a
filter is a mapping of this package: SQL finds its strings in the text, which lets through a little more than the filter
does, and the rest is checked here.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.embedded import FilteredByMappings
from langchain_sentence_window.adapters.search_methods import Scored

Contains = Callable[[str], str]
"""Returns a condition in SQL that the JSON text of metadata contains a string."""

_WIDER = 4


class JsonTextAdapter(FilteredByMappings):
    """Filters by mappings: roughly in SQL, then exactly."""

    holds_json = True

    async def search_vector(self, io: IO, vector: list[float], settings: Mapping[str, Any]) -> Scored:
        """Search, and search for more where rows turn out not to match the filter."""
        return await io.in_thread(self._search, vector, settings["k"], settings.get("filter"))

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Read all rows."""
        found = await io.in_thread(self.rows, filter or {})
        matches = None if filter is None else self._required_matcher(filter)
        return found if matches is None else [document for document in found if matches(document)]

    def nearest(self, vector: list[float], k: int, filter: Mapping[str, Any]) -> Scored:
        """Return the ``k`` closest rows that fulfill the `necessary_condition` of a filter."""
        raise NotImplementedError

    def rows(self, filter: Mapping[str, Any]) -> list[Document]:
        """Return all rows that fulfill the `necessary_condition` of a filter."""
        raise NotImplementedError

    def _search(self, vector: list[float], k: int, filter: Any) -> Scored:
        if filter is None:
            return self.nearest(vector, k, {})
        matches, limit = self._required_matcher(filter), k
        while True:
            scored = self.nearest(vector, limit, filter)
            found = [pair for pair in scored if matches(pair[0])]
            if len(found) >= k or len(scored) < limit:
                return found[:k]
            limit *= _WIDER


def necessary_condition(filter: Mapping[str, Any], contains: Contains) -> str:
    """Return a condition in SQL that holds for all metadata that matches a filter, and for little else.

    Args:
        filter: A mapping that can be read.
        contains: Makes the conditions on the text, which is that of ``json.dumps``.

    Returns:
        An empty string if all metadata may match.
    """
    return " AND ".join(_conditions(filter, contains))


def _conditions(filter: Mapping[str, Any], contains: Contains) -> Iterator[str]:
    for key, value in filter.items():
        if key == "$and":
            made = [necessary_condition(each, contains) for each in value]
            yield from (f"({condition})" for condition in made if condition)
        elif key == "$or":
            if all(_narrows(each) for each in value):
                yield f"({' OR '.join(f'({necessary_condition(each, contains)})' for each in value)})"
        elif wanted := _wanted(key, value):
            texts = ["[", *map(json.dumps, wanted)]  # a list may hold the value
            yield f"({' OR '.join(contains(f'{json.dumps(key)}: {text}') for text in texts)})"


def _narrows(filter: Mapping[str, Any]) -> bool:
    return necessary_condition(filter, lambda _: "1") != ""


def _wanted(key: str, value: Any) -> Sequence[str]:
    """Return the strings of which a filter wants one; none if it wants something else."""
    if key.startswith("$"):
        return []
    if isinstance(value, Mapping):
        equal, among = value.get("$eq"), value.get("$in")
        value = [equal] if equal is not None else among
    else:
        value = [value]
    return value if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value) else []
