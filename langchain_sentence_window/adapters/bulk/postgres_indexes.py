"""The indexes of a PostgreSQL table while it is loaded: dropped before, noted in a table, and built again after."""

from collections.abc import Sequence
from typing import Any

from langchain_sentence_window.adapters.postgres_engine import in_text, quoted
from langchain_sentence_window.adapters.postgres_names import TableNames

NOTES = "sentence_window_dropped_indexes"
"""The name of the table, in the schema of the loaded one, that notes indexes to build again. It goes with the last."""

DROPPABLE = """
    SELECT c.relname AS name, pg_get_indexdef(i.indexrelid) AS definition FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = to_regclass(CAST(:table AS text)) AND NOT i.indisunique AND NOT i.indisexclusion
        AND NOT i.indisreplident AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
    ORDER BY c.relname
"""
"""Lists the indexes of a table that enforce nothing."""

VECTOR_INDEXES = """
    SELECT c.relname AS name FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = to_regclass(CAST(:table AS text)) AND a.attname = :column
        AND m.amname NOT IN ('btree', 'hash') AND i.indisvalid
"""
"""Lists the indexes of a table that searches by vectors may use."""

ROOM = """
    SELECT name, setting::bigint AS value, unit FROM pg_settings
    WHERE name IN ('maintenance_work_mem', 'effective_cache_size', 'max_parallel_workers')
"""
"""Lists settings of the server: memory in units of its own, and workers."""

_UNITS_KB = {"kB": 1, "8kB": 8, "16kB": 16, "32kB": 32, "MB": 1024}
_ROW_OVERHEAD_BYTES = 600
"""Memory of a vector in an HNSW index that is being built, beside its numbers, for an m of 16."""


class Notes:
    """The SQL of the table of notes about the indexes of a table."""

    def __init__(self, names: TableNames) -> None:
        """Take the loaded table."""
        self.quoted = f"{quoted(names.schema)}.{quoted(NOTES)}"
        table = in_text(self.quoted)
        # S608: the name is quoted, and values are parameters.
        self.add = f"INSERT INTO {table} VALUES (:table, :index, :definition) ON CONFLICT DO NOTHING"  # noqa: S608
        self.find = f"SELECT index_name, definition FROM {table} WHERE table_name = :table ORDER BY 1"  # noqa: S608
        self.remove = f"DELETE FROM {table} WHERE table_name = :table AND index_name = :index RETURNING 1"  # noqa: S608
        self.find_any = f"SELECT 1 FROM {table} LIMIT 1"  # noqa: S608
        self.exists = "SELECT 1 WHERE to_regclass(CAST(:notes AS text)) IS NOT NULL"
        self.lock = f"LOCK TABLE {self.quoted}"
        self.drop = f"DROP TABLE {self.quoted}"
        self.create = (
            f"CREATE TABLE IF NOT EXISTS {self.quoted} "
            "(table_name text, index_name text, definition text NOT NULL, PRIMARY KEY (table_name, index_name))"
        )


def count_rows(names: TableNames) -> str:
    """Return SQL that counts the rows of a table."""
    return f"SELECT count(*) AS rows FROM {in_text(names.quoted)}"  # noqa: S608 - the name is quoted


def drop_index(names: TableNames, index: str) -> str:
    """Return SQL that drops an index."""
    return f"DROP INDEX {quoted(names.schema)}.{quoted(index)}"


def create_index(names: TableNames, index: Any, name: str) -> str:
    """Return SQL that builds a vector index as ``PGVectorStore.apply_vector_index`` does.

    Args:
        names: The table.
        index: A vector index of langchain-postgres, such as ``HNSWIndex()``.
        name: The name of the index.
    """
    partial = f" WHERE ({index.partial_indexes})" if index.partial_indexes else ""
    return (
        f"CREATE INDEX {quoted(name)} ON {names.quoted} USING {index.index_type} "
        f"({quoted(names.embedding)} {index.get_index_function()}) WITH {index.index_options()}{partial}"
    )


def settings_for(
    room: Sequence[Any], rows: float, dimension: int, memory_mb: int | None, workers: int | None
) -> list[str]:
    """Return SQL that lets the indexes of the current transaction have memory and workers.

    Args:
        room: The rows that `ROOM` finds.
        rows: The number of rows in the table.
        dimension: Numbers of a vector.
        memory_mb: Megabytes for building an index; ``None`` for as many as an HNSW index needs, between what the server
            grants anyway and a quarter of the memory that it believes to have, its ``effective_cache_size``.
        workers: Parallel workers beside the first; ``None`` for as many as the server has.
    """
    has = {row.name: row.value * _UNITS_KB.get(row.unit, 1) for row in room}
    if memory_mb is None:
        needed = int(rows * (4 * dimension + _ROW_OVERHEAD_BYTES) / 1024)
        memory_kb = max(has["maintenance_work_mem"], min(needed, has["effective_cache_size"] // 4))
    else:
        memory_kb = 1024 * memory_mb
    count = has["max_parallel_workers"] if workers is None else workers
    return [
        f"SET LOCAL maintenance_work_mem = '{memory_kb}kB'",
        f"SET LOCAL max_parallel_maintenance_workers = {count}",
        "SET LOCAL statement_timeout = 0",
    ]
