"""The adapters of langchain-lancedb and langchain-mariadb, whose stores keep metadata as JSON text in a column.

LanceDB's store has no filters. MariaDB's puts values into SQL without escaping them, and drops conditions. So a filter
is a mapping of this package: SQL looks for its strings in the JSON text, which finds all matches and a few others, and
those are checked here.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import IO

from .families import FilteredByMappings, offset_pages
from .matchers import mapping_matcher
from .store_adapter import PAGE_SIZE, Embedded, Scored
from .stored_values import is_plain

_WIDER = 4
"""How many times as many rows are searched when too few match the filter."""


class JsonTextAdapter(FilteredByMappings):
    """Filters by mappings: roughly in SQL, then exactly."""

    holds_json = True

    def scan(
        self,
        ids: Sequence[str] | None,
        texts: Sequence[Sequence[str]],
        vector: Sequence[float] | None = None,
        limit: int | None = None,
    ) -> list[tuple[Document, Any]]:
        """Read rows of the table.

        Args:
            ids: Their ids; ``None`` for any.
            texts: Their JSON contains one text of each of these; see `required_texts`.
            vector: A vector, whose closest rows are read, the closest first; ``None`` for the order of the table.
            limit: The most rows; ``None`` for all.

        Returns:
            Documents, each with its distance from the vector if there is one.
        """
        raise NotImplementedError

    def rows(self, ids: Sequence[str] | None, filter: Any) -> list[Document]:
        """Read rows, and leave out those that don't match the filter."""
        scanned = self.scan(ids, list(required_texts(filter or {})))
        return self.matching([document for document, _ in scanned], filter)

    def nearest(self, vector: list[float], k: int, filter: Any) -> Scored:
        """Search, and search for more rows if too few match the filter."""
        texts, matches = list(required_texts(filter or {})), mapping_matcher(filter or {})
        limit = k
        while True:
            scanned = self.scan(None, texts, vector, limit)
            found = [(document, -float(distance)) for document, distance in scanned if matches(document)]
            if len(found) >= k or len(scanned) < limit:
                return found[:k]
            limit *= _WIDER


def required_texts(filter: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield lists of texts; the ``json.dumps`` of matching metadata contains one text of each.

    Only conditions that require a string, or one of several, give texts. Other metadata may contain them, too.
    """
    for key, value in filter.items():
        if key == "$and":
            for each in value:
                yield from required_texts(each)
        elif strings := _required_strings(key, value):
            texts = ["[", *map(json.dumps, strings)]  # a list may hold the value
            yield [f"{json.dumps(key)}: {text}" for text in texts]


def _required_strings(key: str, value: Any) -> Sequence[str]:
    """Return the strings of which a condition requires one; none if it requires something else."""
    if key.startswith("$"):
        return []
    if isinstance(value, Mapping):
        values = [value["$eq"]] if value.get("$eq") is not None else value.get("$in", [])
    else:
        values = [value]
    return values if all(isinstance(each, str) for each in values) else []


class LanceDBAdapter(JsonTextAdapter):
    """The store has no filters, returns no ids, and overwrites ``source``; so its table is used directly."""

    lists_in_order = True

    @property
    def embedding(self) -> Embeddings | None:
        """The embedder, which the store doesn't show."""
        found: Embeddings | None = self.store._embedding_function
        return found

    def scan(
        self,
        ids: Sequence[str] | None,
        texts: Sequence[Sequence[str]],
        vector: Sequence[float] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[tuple[Document, Any]]:
        """Search the table, or read it."""
        conditions = [
            " OR ".join(f"strpos(metadata, {_quote_sql_string(text)}) > 0" for text in each) for each in texts
        ]
        if ids is not None:
            conditions.append(_has_id(ids))
        condition = " AND ".join(f"({each})" for each in conditions)
        rows = self._read(condition, ["id", "text", "metadata"], vector, limit, offset)
        return [
            (
                Document(id=row["id"], page_content=row["text"], metadata=json.loads(row["metadata"])),
                row.get("_distance"),
            )
            for row in rows
        ]

    def write(self, embedded: Embedded) -> None:
        """Write rows in place of those with the same ids, in one version of the table."""
        rows = [
            {"vector": vector, "text": each.page_content, "metadata": json.dumps(each.metadata), "id": each.id}
            for each, vector in embedded
        ]
        table, is_new = self.store._get_or_create_table(rows)
        if not is_new:  # a new one is created with the rows
            table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def list_pages(self, io: IO) -> AsyncIterator[Sequence[Document]]:
        """Read the table page by page."""
        return offset_pages(io, lambda offset: [each for each, _ in self.scan(None, [], None, PAGE_SIZE, offset)])

    async def vectors_of(self, io: IO, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """Read the rows of ids."""
        rows = await io.in_thread(self._read, _has_id(ids), ["id", "vector"])
        return {row["id"]: row["vector"] for row in rows}

    def _read(
        self,
        condition: str,
        columns: list[str],
        vector: Sequence[float] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        table, _ = self.store._get_or_create_table()
        if table is None:  # created with the first document
            return []
        table.checkout_latest()  # an open table stays at its version otherwise
        search = table.search(vector).select(columns if vector is None else [*columns, "_distance"])
        search = search.limit(limit or table.count_rows()).offset(offset)
        rows: list[dict[str, Any]] = (search.where(condition, prefilter=True) if condition else search).to_list()
        return rows


def _has_id(ids: Sequence[str]) -> str:
    return f"id IN ({', '.join(map(_quote_sql_string, ids))})"


def _quote_sql_string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class MariaDBAdapter(JsonTextAdapter):
    """The store puts filter values into SQL without escaping them, so its table is searched here, by parameters."""

    away_errors = frozenset({"sqlalchemy.exc.OperationalError", "sqlalchemy.exc.TimeoutError"})

    def holds(self, key: str, value: Any) -> bool:
        """Return whether MariaDB accepts the JSON of a value: it refuses lone surrogates."""
        return is_plain([key, value])

    def scan(
        self,
        ids: Sequence[str] | None,
        texts: Sequence[Sequence[str]],
        vector: Sequence[float] | None = None,
        limit: int | None = None,
    ) -> list[tuple[Document, Any]]:
        """Search the store's collection, or read it."""
        store = self.store
        if store._collection_id is None:
            store._ensure_collection_ready()
        if store._collection_id is None:  # created with the first document
            return []
        # The store quotes the names of its columns and its table.
        id_column, text_column = store._embedding_id_col_name, store._embedding_content_col_name
        metadata_column = store._embedding_meta_col_name
        conditions, values = ["collection_id = ?"], [store._collection_id]
        if ids is not None:
            conditions.append(f"{id_column} IN ({', '.join('?' * len(ids))})")
            values += ids
        for each in texts:
            conditions.append("(" + " OR ".join([f"INSTR({metadata_column}, ?) > 0"] * len(each)) + ")")
            values += each
        distance, order = "NULL", ""
        if vector is not None:
            function = f"VEC_DISTANCE_{store._distance_strategy.value.upper()}"
            distance = f"{function}({store._embedding_emb_col_name}, ?) AS distance"
            order = " ORDER BY distance LIMIT ?"
            values = [store._embedding_to_binary(vector), *values, limit]
        query = (
            f"SELECT {id_column}, {text_column}, {metadata_column}, {distance} "  # noqa: S608 - values are parameters
            f"FROM {store._embedding_table_name} WHERE {' AND '.join(conditions)}{order}"
        )
        with closing(store._datasource.raw_connection()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(query, tuple(values))
            rows = cursor.fetchall()
        return [
            (Document(id=str(id_), page_content=text, metadata=json.loads(metadata)), last)
            for id_, text, metadata, last in rows
        ]

    def write(self, embedded: Embedded) -> None:
        """Write documents in place of those with the same ids."""
        documents, vectors = zip(*embedded, strict=True)
        texts, metadata = [each.page_content for each in documents], [each.metadata for each in documents]
        self.store.add_embeddings(texts, list(vectors), metadata, [each.id for each in documents])
