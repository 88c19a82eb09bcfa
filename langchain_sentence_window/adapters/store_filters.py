"""How stores filter that do it in a way of their own, and which store does it how.

- A store that has ``get_by_ids_within(ids, filter)``, as `FaissStore` has, is asked by it.
- Chroma and PGVectorStore filter in ``get``, Qdrant in ``scroll``, Milvus in the expression of a query.
- InMemoryVectorStore takes a function of a Document, FAISS of langchain-community one of its metadata.
- Others take mappings; what they give back by id is compared with them here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window.adapters.access import (
    comes_from,
    fetch_from_milvus,
    is_community_faiss,
    is_milvus,
    slices,
)
from langchain_sentence_window.adapters.filtering import (
    Filters,
    FunctionFilters,
    OwnFilters,
    Passes,
    both,
    checked_function,
    type_name,
)
from langchain_sentence_window.errors import InvalidInputError

_QUOTED = re.compile(r"""r?"(?:\\.|[^"\\])*"|r?'(?:\\.|[^'\\])*'""", re.DOTALL)
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class CommunityFaissFilters(Filters):
    """Of FAISS of langchain-community: functions of metadata, or mappings as it reads them."""

    def joined(self, given: Sequence[Any]) -> Any:
        """A mapping where all are, else a function. A mapping's keys are parted, as it skips those beside ``$and``."""
        if all(isinstance(each, Mapping) for each in given):
            return given[0] if len(given) == 1 and len(given[0]) == 1 else self._all(given)
        functions = [self._function(each) for each in given]
        return functions[0] if len(functions) == 1 else both(functions)

    def passes(self, filter: Any) -> Passes | None:
        """Ask the store's own reading of a filter."""
        function = self._function(filter)
        return lambda document: function(document.metadata)

    def _function(self, filter: Any) -> Callable[[Any], bool]:
        if not isinstance(filter, Mapping):
            checked_function(self.store, filter, "the metadata")
        function: Callable[[Any], bool] = self.store._create_filter_func(filter)
        return function


class GetFilters(Filters):
    """Of Chroma and PGVectorStore, which can filter what they get by id."""

    sees_hits = False

    def joined(self, given: Sequence[Any]) -> Any:
        """A mapping of one key, as neither takes others everywhere."""
        for each in given:
            if not isinstance(each, Mapping):
                raise InvalidInputError(
                    f"{type_name(self.store)} filters by a mapping such as {{'tenant': 'a'}}, not by {shown(each)}"
                )
        return given[0] if len(given) == 1 and len(given[0]) == 1 else self._all(given)

    async def fetch(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Get them within the filter."""
        found: list[Document] = []
        for part in slices(ids):
            if hasattr(self.store, "aget"):
                got = await io.call(self.store.get, self.store.aget, ids=list(part), where=filter)
            else:
                got = await io.in_thread(self.store.get, ids=list(part), where=filter)
            rows = zip(got["documents"], got["metadatas"], got["ids"], strict=True)
            found += [Document(page_content=text, metadata=metadata or {}, id=id_) for text, metadata, id_ in rows]
        return found


class QdrantFilters(Filters):
    """Of Qdrant: objects of its client's class ``Filter``."""

    sees_hits = False

    def joined(self, given: Sequence[Any]) -> Any:
        """A filter with all of them as conditions."""
        for each in given:
            if type(each).__name__ != "Filter" or not type(each).__module__.startswith("qdrant_client"):
                raise InvalidInputError(
                    f"{type_name(self.store)} filters by qdrant_client.models.Filter, not by {shown(each)}"
                )
        return given[0] if len(given) == 1 else type(given[0])(must=list(given))

    def passes(self, filter: Any) -> Passes | None:
        """Only Qdrant knows."""
        return None

    async def fetch(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Scroll through the points of these ids."""
        from qdrant_client.models import HasIdCondition

        store, found = self.store, list[Document]()
        keys = store.collection_name, store.content_payload_key, store.metadata_payload_key
        for part in slices(ids):
            within = type(filter)(must=[filter, HasIdCondition(has_id=list(part))])
            scroll = partial(store.client.scroll, keys[0], scroll_filter=within, limit=len(part), with_payload=True)
            points, _ = await io.in_thread(scroll)
            found += [store._document_from_point(point, *keys) for point in points]
        return found


class MilvusFilters(Filters):
    """Of Milvus: expressions."""

    sees_hits = False

    def joined(self, given: Sequence[Any]) -> Any:
        """Both in brackets, which none of them can leave."""
        for each in given:
            _check_expression(each)
        return given[0] if len(given) == 1 else " and ".join(f"({each})" for each in given)

    def passes(self, filter: Any) -> Passes | None:
        """Only Milvus knows."""
        return None

    async def fetch(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Query them by an expression."""
        found = list[Document]()
        for part in slices(ids):
            found += await fetch_from_milvus(io, self.store, part, filter)
        return found


def filters_of(store: VectorStore) -> Filters:
    """How a store filters."""
    kinds: list[tuple[bool, type[Filters]]] = [
        (hasattr(store, "get_by_ids_within"), OwnFilters),
        (isinstance(store, InMemoryVectorStore), FunctionFilters),
        (is_community_faiss(store), CommunityFaissFilters),
        (is_milvus(store), MilvusFilters),
        (comes_from(store, "langchain_qdrant.qdrant"), QdrantFilters),
        (comes_from(store, "langchain_chroma"), GetFilters),
        (comes_from(store, "langchain_postgres.v2"), GetFilters),
    ]
    return next((kind for is_it, kind in kinds if is_it), Filters)(store)


def _check_expression(expression: object) -> None:
    """See that an expression closes what it opens, and nothing else, so that it stays in brackets put around it."""
    if not isinstance(expression, str) or not expression.strip():
        raise InvalidInputError(
            f"Milvus filters by an expression such as 'tenant == \"a\"', not by {shown(expression)}"
        )
    opened: list[str] = []
    for character in _QUOTED.sub(" ", expression):
        if character in "([{":
            opened.append(character)
        elif character in "\"'" or (character in _BRACKETS and (not opened or opened.pop() != _BRACKETS[character])):
            opened.append("?")
            break
    if opened:
        raise InvalidInputError(
            f"the expression {shown(expression)} doesn't close its brackets and quotes in their order; write it as "
            "Milvus reads it, each with its counterpart"
        )
