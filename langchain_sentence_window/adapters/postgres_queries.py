"""Searches and reads of a `PGVectorStore` in SQL of our own, which leaves the vectors where they are.

The store's own methods return the same Documents, but fetch the vector of each as text, and have PostgreSQL plan a
fetch anew for each number of ids. They read JSON value by value, and open a transaction for each read.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from langchain_core.documents import Document

from langchain_sentence_window.adapters.postgres_engine import PostgresEngine, all_rows, in_text, literal, quoted
from langchain_sentence_window.adapters.postgres_names import TableNames
from langchain_sentence_window.adapters.search_methods import Read, Scored
from langchain_sentence_window.documents.sentence_documents import read_parts

_SETTING = re.compile(r"([\w.]+)\s*=\s*([\w.]+)")
_PLAIN_SETTINGS = frozenset({"k", "filter"})


def searches_plainly(store: Any, table: Any, settings: Mapping[str, Any]) -> bool:
    """Return whether a search by SQL of our own finds what the store's own search would.

    Args:
        store: A ``PGVectorStore`` or ``AsyncPGVectorStore``.
        table: The ``AsyncPGVectorStore`` of either.
        settings: Arguments of the search.
    """
    is_own = type(store).__module__.startswith("langchain_postgres.v2.") and type(table).__module__.startswith(
        "langchain_postgres.v2."
    )
    has_template = callable(getattr(table.embedding_service, "embed_query_inline_template", None))
    return is_own and table.hybrid_search_config is None and not has_template and settings.keys() <= _PLAIN_SETTINGS


class PostgresQueries:
    """The queries of one store."""

    def __init__(self, table: Any, engine: PostgresEngine) -> None:
        """Take the ``AsyncPGVectorStore``, and what reaches it."""
        self._table = table
        self._engine = engine
        self._names = names = TableNames.of(table)
        columns = [*map(quoted, (names.id, names.content, *names.metadata))]
        # As text, so that the driver doesn't read each by itself.
        columns += [f"CAST({quoted(names.json)} AS text)"] if names.json else []
        self.columns = in_text(", ".join(columns))
        self._from = f"FROM {in_text(names.quoted)}"

    async def nearest(self, vector: Sequence[float], k: int | None, filter: Any) -> Sequence[Any]:
        """Search by meaning, as the store's ``similarity_search_with_score_by_vector`` does.

        Returns:
            Rows for `scored_documents` or `scored_sentences`, which aren't read here, as an event loop waits meanwhile.
        """
        condition, values = self.condition(filter)
        strategy, column = self._table.distance_strategy, in_text(quoted(self._names.embedding))
        given = self._table.index_query_options
        options = given.to_parameter() if given else []
        # Under a filter they are set before, as the plan may depend on them.
        settings = None if condition else _set_in_statement(options)
        condition = condition or settings or ""
        statement = (
            f"SELECT {self.columns}, {strategy.search_function}({column}, :vector) AS distance {self._from} "
            f"{condition and f'WHERE {condition}'} ORDER BY {column} {strategy.operator} :vector LIMIT :most"
        )
        values |= {"vector": as_vector(vector), "most": self._table.k if k is None else k}
        async with self._engine.connect() as connection:
            if settings is not None:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
            else:
                for option in options:
                    await connection.exec_driver_sql(f"SET LOCAL {option}")
            return await all_rows(connection, statement, **values)

    async def of_ids(self, ids: Sequence[str]) -> Sequence[Any]:
        """Get rows for `documents` by id, by one plan for any number, without a transaction around the statement."""
        column = in_text(quoted(self._names.id))
        statement = f"SELECT {self.columns} {self._from} WHERE {column} = ANY (:ids)"
        async with self._engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            return await all_rows(connection, statement, ids=list(ids))

    def condition(self, filter: Any) -> tuple[str, dict[str, Any]]:
        """Return a filter as SQL with its parameters, as the store reads it."""
        if not filter or not isinstance(filter, dict):
            return "", {}
        made: tuple[str, dict[str, Any]] = self._table._create_filter_clause(filter)
        return made

    def scored_documents(self, rows: Sequence[Any]) -> Scored:
        """Make Documents of what a search found, with the store's distances."""
        return [(document, float(row.distance)) for document, row in zip(self.documents(rows), rows, strict=True)]

    def scored_sentences(self, rows: Sequence[Any]) -> Read:
        """Read the sentences that a search found, with the store's distances, without a Document for each.

        Raises:
            IncompleteWindowError: Metadata isn't what the splitter writes.
        """
        metadata = self._metadata(rows)
        for each, row in zip(metadata, rows, strict=True):
            for name, value in zip(self._names.metadata, row[2:], strict=False):
                if value is None:  # an empty column
                    del each[name]
        return [
            (read_parts(each, row[1], partial(str, row[0])), float(row.distance))
            for each, row in zip(metadata, rows, strict=True)
        ]

    def documents(self, rows: Sequence[Any]) -> list[Document]:
        """Make Documents of rows that begin with the columns."""
        return [
            Document(id=str(row[0]), page_content=row[1], metadata=metadata)
            for metadata, row in zip(self._metadata(rows), rows, strict=True)
        ]

    def _metadata(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        """Read the metadata of rows that begin with the columns."""
        names = self._names.metadata
        end = len(names) + 2
        # All JSON at once, which takes half the time of one after another.
        read = json.loads(f"[{','.join(row[end] or '{}' for row in rows)}]") if self._names.json else [None] * len(rows)
        return [
            {**(held or {}), **dict(zip(names, row[2:end], strict=True))} for held, row in zip(read, rows, strict=True)
        ]


def _set_in_statement(options: Sequence[str]) -> str | None:
    """Return a condition that is true, and that sets options of an index for its statement alone; empty for none.

    PostgreSQL works it out before it looks at the table. So no transaction is needed around the statement, which takes
    three round trips.

    Returns:
        ``None`` if it can't be read what the options say.
    """
    read = [_SETTING.fullmatch(option) for option in options]
    calls = [f"set_config({literal(each[1])}, {literal(each[2])}, true)" for each in read if each]
    if len(calls) < len(options):
        return None
    return f"(SELECT {' || '.join(calls)}) IS NOT NULL" if calls else ""


def as_vector(numbers: Sequence[float]) -> str:
    """Return a vector as pgvector reads it."""
    return orjson.dumps([float(each) for each in numbers]).decode()
