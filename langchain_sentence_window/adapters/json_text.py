"""The adapters of langchain-lancedb and langchain-mariadb, whose stores keep metadata as JSON text in a column.

LanceDB's has no filters. MariaDB's puts values into SQL as they are, without escaping, and drops conditions. So a
filter is a mapping of this package: SQL finds its strings in the text, which lets through a little more than the filter
does, and the rest is checked here.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import count
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import IO

from .families import FilteredByMappings
from .matchers import mapping_matcher
from .store_adapter import PAGE_SIZE, Scored
from .traits import has_only, is_plain_text

_WIDER = 4


class JsonTextAdapter(FilteredByMappings):
    """Filters by mappings: roughly in SQL, then exactly."""

    holds_json = True

    async def search_vector(self, io: IO, vector: list[float], settings: Mapping[str, Any]) -> Scored:
        """Search, and search for more where rows turn out not to match the filter."""
        return await io.in_thread(self._search, vector, settings["k"], settings.get("filter"))

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Read all rows."""
        return self.matching(await io.in_thread(self.rows, filter or {}), filter)

    def nearest(self, vector: list[float], k: int, filter: Mapping[str, Any]) -> Scored:
        """Return the ``k`` closest rows that have the `required_texts` of a filter."""
        raise NotImplementedError

    def rows(self, filter: Mapping[str, Any]) -> list[Document]:
        """Return all rows that have the `required_texts` of a filter."""
        raise NotImplementedError

    def _search(self, vector: list[float], k: int, filter: Any) -> Scored:
        if filter is None:
            return self.nearest(vector, k, {})
        matches, limit = mapping_matcher(filter), k
        while True:
            scored = self.nearest(vector, limit, filter)
            found = [pair for pair in scored if matches(pair[0])]
            if len(found) >= k or len(scored) < limit:
                return found[:k]
            limit *= _WIDER


def required_texts(filter: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield texts of which each metadata that a filter lets through has one in its ``json.dumps``; the next such texts.

    Only conditions that want a string, or one of several, say so. Other metadata may have them, too.
    """
    for key, value in filter.items():
        if key == "$and":
            for each in value:
                yield from required_texts(each)
        elif strings := _wanted(key, value):
            texts = ["[", *map(json.dumps, strings)]  # a list may hold the value
            yield [f"{json.dumps(key)}: {text}" for text in texts]


def _wanted(key: str, value: Any) -> Sequence[str]:
    """Return the strings of which a condition wants one; none if it wants something else."""
    if key.startswith("$"):
        return []
    if isinstance(value, Mapping):
        equal, among = value.get("$eq"), value.get("$in")
        value = [equal] if equal is not None else among
    else:
        value = [value]
    return value if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value) else []


_COLUMNS = ["id", "text", "metadata"]


class LanceDBAdapter(JsonTextAdapter):
    """The store has no filters, returns no ids, and writes its address over ``source``; so its table is used here."""

    lists_in_order = True

    @property
    def embedding(self) -> Embeddings | None:
        """The embedder, which the store doesn't show."""
        found: Embeddings | None = self.store._embedding_function
        return found

    def nearest(self, vector: list[float], k: int, filter: Mapping[str, Any]) -> Scored:
        """Search the table."""
        table = self._table
        if table is None:
            return []
        search, condition = table.search(vector).select([*_COLUMNS, "_distance"]), _condition(filter)
        rows = (search.where(condition, prefilter=True) if condition else search).limit(k).to_list()
        return [(_document(row), -float(row["_distance"])) for row in rows]

    def rows(self, filter: Mapping[str, Any]) -> list[Document]:
        """Read the table."""
        return self._where(_condition(filter))

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Read the rows of ids."""
        return self.matching(await io.in_thread(self._where, _with_ids(ids)), filter)

    async def put_vectors(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Add rows in place of those with the same ids, in one version of the table."""
        rows = [
            {"vector": vector, "text": each.page_content, "metadata": json.dumps(each.metadata), "id": each.id}
            for each, vector in zip(documents, vectors, strict=True)
        ]
        await io.in_thread(self._upsert, rows)

    async def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Read the table page by page."""
        table = await io.in_thread(lambda: self._table)
        for offset in count(step=PAGE_SIZE) if table is not None else ():
            search = table.search().select(_COLUMNS).limit(PAGE_SIZE).offset(offset)
            rows = await io.in_thread(search.to_list)
            yield list(map(_document, rows))
            if len(rows) < PAGE_SIZE:
                return

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Read the rows of ids."""
        rows = await io.in_thread(self._rows, _with_ids(ids), ["id", "vector"])
        return {row["id"]: row["vector"] for row in rows}

    def _upsert(self, rows: list[dict[str, Any]]) -> None:
        table, is_new = self.store._get_or_create_table(rows)
        if not is_new:  # a new one is made of the rows
            table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def _where(self, condition: str) -> list[Document]:
        return list(map(_document, self._rows(condition, _COLUMNS)))

    def _rows(self, condition: str, columns: list[str]) -> list[dict[str, Any]]:
        table = self._table
        if table is None:
            return []
        search = table.search().select(columns).limit(table.count_rows())
        rows: list[dict[str, Any]] = (search.where(condition) if condition else search).to_list()
        return rows

    @property
    def _table(self) -> Any:
        """The table, with what others wrote; ``None`` before it is made, when the first document comes."""
        table, _ = self.store._get_or_create_table()
        if table is not None:
            table.checkout_latest()  # one that is open stays at its version otherwise
        return table


def _document(row: Mapping[str, Any]) -> Document:
    return Document(id=row["id"], page_content=row["text"], metadata=json.loads(row["metadata"]))


def _condition(filter: Mapping[str, Any]) -> str:
    found = [[f"strpos(metadata, {_quoted(text)}) > 0" for text in texts] for texts in required_texts(filter)]
    return " AND ".join(f"({' OR '.join(each)})" for each in found)


def _with_ids(ids: Sequence[str]) -> str:
    return f"id IN ({', '.join(map(_quoted, ids))})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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

    async def put_vectors(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
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
        texts = list(required_texts(filter))
        conditions = ["collection_id = ?"]
        conditions += [f"({' OR '.join([f'INSTR({names[2]}, ?) > 0'] * len(each))})" for each in texts]
        # Names of columns and tables are quoted by the store.
        query = f"SELECT {', '.join(names)}{column} FROM {store._embedding_table_name} WHERE {' AND '.join(conditions)}"  # noqa: S608
        values = (*before, store._collection_id, *(text for each in texts for text in each), *after)
        with closing(store._datasource.raw_connection()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(query + end, values)
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
