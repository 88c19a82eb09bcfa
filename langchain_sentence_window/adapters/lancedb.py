"""The adapter of langchain-lancedb's `LanceDB`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.json_text import JsonTextAdapter, necessary_condition
from langchain_sentence_window.adapters.search_methods import Scored

_COLUMNS = ["id", "text", "metadata"]


class LanceDBAdapter(JsonTextAdapter):
    """The store has no filters, returns no ids, and writes its address over ``source``; so its table is used here."""

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
        found = await io.in_thread(self._where, f"id IN ({', '.join(map(_quoted, ids))})")
        matches = None if filter is None else self._required_matcher(filter)
        return found if matches is None else [document for document in found if matches(document)]

    async def put_embedded(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Add rows in place of those with the same ids, in one version of the table."""
        rows = [
            {"vector": vector, "text": each.page_content, "metadata": json.dumps(each.metadata), "id": each.id}
            for each, vector in zip(documents, vectors, strict=True)
        ]
        await io.in_thread(self._upsert, rows)

    def _upsert(self, rows: list[dict[str, Any]]) -> None:
        table, is_new = self.store._get_or_create_table(rows)
        if not is_new:  # a new one is made of the rows
            table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def _where(self, condition: str) -> list[Document]:
        table = self._table
        if table is None:
            return []
        search = table.search().select(_COLUMNS).limit(table.count_rows())
        return list(map(_document, (search.where(condition) if condition else search).to_list()))

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
    return necessary_condition(filter, lambda text: f"strpos(metadata, {_quoted(text)}) > 0")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
