"""The adapter of langchain-mariadb's `MariaDBStore`."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.holding import has_only, is_plain_text
from langchain_sentence_window.adapters.json_text import JsonTextAdapter, necessary_condition
from langchain_sentence_window.adapters.search_methods import Scored

_MOST_LEVELS = 31
"""Levels of JSON in the metadata, which is one itself, that MariaDB takes for valid."""


class MariaDBAdapter(JsonTextAdapter):
    """The store puts the values of filters into SQL as they are, so its table is searched here, by parameters."""

    away_errors = frozenset({"sqlalchemy.exc.OperationalError", "sqlalchemy.exc.TimeoutError"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether MariaDB takes the JSON of a value: no lone surrogates, and no more levels than it reads."""
        return has_only([key, value], is_plain_text) and _levels(value) < _MOST_LEVELS

    def nearest(self, vector: list[float], k: int, filter: Mapping[str, Any]) -> Scored:
        """Search the table of the store."""
        store = self.store
        distance = f"VEC_DISTANCE_{store._distance_strategy.value.upper()}({store._embedding_emb_col_name}, ?)"
        packed = store._embedding_to_binary(vector)
        found = self._select(f", {distance} AS distance", [packed], filter, " ORDER BY distance LIMIT ?", [k])
        return [(document, -float(distance)) for document, distance in found]

    def rows(self, filter: Mapping[str, Any]) -> list[Document]:
        """Read the table of the store."""
        return [document for document, _ in self._select("", [], filter, "", [])]

    async def put_embedded(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Add documents in place of those with the same ids."""
        texts, metadata = [each.page_content for each in documents], [each.metadata for each in documents]
        ids = [each.id for each in documents]
        await io.in_thread(self.store.add_embeddings, texts, list(vectors), metadata, ids)

    def _select(
        self, column: str, before: Sequence[Any], filter: Mapping[str, Any], end: str, after: Sequence[Any]
    ) -> list[tuple[Document, Any]]:
        """Return documents of the store's collection, each with the value of one more column, if there is one."""
        store = self.store
        if store._collection_id is None:
            store._ensure_collection_ready()
        if store._collection_id is None:  # made when the first document comes
            return []
        names = store._embedding_id_col_name, store._embedding_content_col_name, store._embedding_meta_col_name
        wanted: list[str] = []

        def contains(text: str) -> str:
            wanted.append(text)
            return f"INSTR({names[2]}, ?) > 0"

        condition = necessary_condition(filter, contains)
        # Names of columns and tables are quoted by the store.
        query = f"SELECT {', '.join(names)}{column} FROM {store._embedding_table_name} WHERE collection_id = ?"  # noqa: S608
        query += f" AND {condition}{end}" if condition else end
        with closing(store._datasource.raw_connection()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(query, (*before, store._collection_id, *wanted, *after))
            rows = cursor.fetchall()
        return [
            (Document(id=str(id_), page_content=text, metadata=json.loads(metadata)), rest[0] if rest else None)
            for id_, text, metadata, *rest in rows
        ]


def _levels(value: Any) -> int:
    """Return how deep lists and dicts are nested in a value; 0 for any other value."""
    deepest, level = 0, [value]
    while level := [each for each in level if isinstance(each, list | dict)]:
        deepest += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return deepest
