"""The table of a `PGVectorStore`: its columns, and the SQL that fills it from a temporary table.

Values go by parameters and by ``COPY``; names of tables and columns are quoted.
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.errors import InvalidInputError, StoreError

from .postgres_sql import TableNames, literal, quoted
from .store_adapter import encoded

STAGED = "sentence_window_staged"
"""The name of the temporary table."""

COLUMNS_OF = """
    SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, t.typcategory::text AS category,
        a.atttypmod AS modifier, v.nspname AS vector_schema
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_extension e ON e.extname = 'vector' LEFT JOIN pg_namespace v ON v.oid = e.extnamespace
    WHERE a.attrelid = to_regclass(CAST(:table AS text)) AND a.attnum > 0 AND NOT a.attisdropped
"""
"""Lists the columns of a table by their names and types, and the schema of pgvector."""

_TEXTS, _NUMBERS, _BOOLEANS = "S", "N", "B"
_INTEGERS = ("smallint", "integer", "bigint")
_BINARY: Mapping[str, Callable[[Any], bytes]] = {
    "smallint": struct.Struct(">h").pack,
    "integer": struct.Struct(">i").pack,
    "bigint": struct.Struct(">q").pack,
    "real": struct.Struct(">f").pack,
    "double precision": struct.Struct(">d").pack,
    "boolean": struct.Struct(">?").pack,
}
"""Functions that write a value as ``COPY`` reads it in binary, by type; strings are written as they are."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: Its name.
        type: Its type, as SQL writes it.
        category: The letter that PostgreSQL gives types of that sort, such as ``S`` for strings.
    """

    name: str
    type: str
    category: str

    @property
    def cast(self) -> str:
        """The cast of a text to the column's type; nothing for strings, so that none is cut to fit."""
        return "" if self.category == _TEXTS else f"::{self.type}"

    def field(self, value: Any, document: Document) -> bytes | None:
        """Return the value of a document's metadata as a text in UTF-8, for the cast; ``None`` for NULL.

        Raises:
            InvalidInputError: The column doesn't hold such a value.
        """
        if value is None:
            return None
        text = self._text(value)
        if text is None:
            raise self._refused(value, document)
        return encoded(text, document)

    @property
    def is_binary(self) -> bool:
        """Whether `binary_field` knows the type."""
        return self.category == _TEXTS or self.type in _BINARY

    def binary_field(self, value: Any, document: Document) -> bytes | None:
        """Return the value of a document's metadata in the binary form of the column's type; ``None`` for NULL.

        Raises:
            InvalidInputError: The column doesn't hold such a value.
        """
        field = self.field(value, document)
        if field is None or self.category == _TEXTS:
            return field
        try:
            return _BINARY[self.type](value)
        except (OverflowError, struct.error):
            raise self._refused(value, document) from None

    def _refused(self, value: Any, document: Document) -> InvalidInputError:
        return InvalidInputError(
            f"the sentence {shown(document.id)} has {self.name}={shown(value)}, which the column of type "
            f"{self.type} can't hold; convert it, or leave it out"
        )

    def _text(self, value: Any) -> str | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if self.category == _BOOLEANS:
            return str(value) if isinstance(value, bool) else None
        if self.category == _NUMBERS:
            fits = is_number and (isinstance(value, int) or self.type not in _INTEGERS)
            return repr(value) if fits else None
        if isinstance(value, dict):  # for a column of JSON
            return json.dumps(value)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        names: The names that the store gives it.
        columns: Its columns by name.
        dimension: Numbers of a vector.
        vector_type: The type ``vector``, with its schema.
    """

    names: TableNames
    columns: Mapping[str, Column]
    dimension: int | None
    vector_type: str

    @classmethod
    def read(cls, names: TableNames, rows: Sequence[Any]) -> "Table":
        """Make it of the rows that `COLUMNS_OF` finds.

        Raises:
            StoreError: A column is missing.
        """
        columns = {row.name: Column(row.name, row.type, row.category) for row in rows}
        needed = [names.id, names.content, names.embedding, *names.metadata]
        missing = [name for name in needed if name not in columns]
        if missing:
            raise StoreError(
                f"the table {names.quoted} has no column {listed(missing)}; make the store again, as its table changed"
            )
        embedding = next(row for row in rows if row.name == names.embedding)
        dimension = embedding.modifier if embedding.modifier > 0 else None
        return cls(names, columns, dimension, f"{quoted(embedding.vector_schema or 'public')}.vector")

    @property
    def copied(self) -> list[str]:
        """The names of the columns that are copied, in the order of `fields`."""
        names = self.names
        return [names.id, names.content, names.embedding, *names.metadata, *([names.json] if names.json else [])]

    @property
    def is_binary(self) -> bool:
        """Whether rows can be copied into the table itself, as all its types are known."""
        names, columns = self.names, self.columns
        return (
            names.tsv is None
            and (columns[names.id].type == "uuid" or columns[names.id].category == _TEXTS)
            and columns[names.embedding].type.startswith("vector")
            and (names.json is None or columns[names.json].type == "json")
            and all(columns[name].is_binary for name in names.metadata)
        )

    def binary_fields(self, document: Document, vector: bytes) -> list[bytes | None]:
        """Return the fields of a row of the table itself, if `is_binary`; else as `fields` does.

        Raises:
            InvalidInputError: The table can't hold a value.
        """
        id_, content, _, *others = self.fields(document, vector)
        if self.columns[self.names.id].type == "uuid":
            id_ = UUID(document.id).bytes
        for number, name in enumerate(self.names.metadata):
            others[number] = self.columns[name].binary_field(document.metadata.get(name), document)
        return [id_, content, vector, *others]

    def fields(self, document: Document, vector: bytes) -> list[bytes | None]:
        """Return the fields of a row of the temporary table, written as the store writes them.

        Raises:
            InvalidInputError: The table can't hold a value.
        """
        names, metadata = self.names, document.metadata
        row = [encoded(str(document.id), document), encoded(document.page_content, document), vector]
        own = [self.columns[name].field(metadata.get(name), document) for name in names.metadata]
        if names.json is None:
            return [*row, *own]
        extra = {key: value for key, value in metadata.items() if key not in names.metadata}
        return [*row, *own, _json(extra, document)]

    def create_staged(self) -> str:
        """Return SQL that makes the temporary table, until the end of the transaction."""
        types = [
            f"{quoted(name)} {self.vector_type if name == self.names.embedding else 'text'}" for name in self.copied
        ]
        return f"CREATE TEMPORARY TABLE {STAGED} ({', '.join(types)}) ON COMMIT DROP"

    def merge_staged(self) -> str:
        """Return SQL that inserts the rows of the temporary table, and updates those that are there and differ."""
        names = self.names
        selected = [f"s.{quoted(name)}{self._cast(name)}" for name in self.copied]
        filled = list(self.copied)
        if names.tsv is not None:
            column, language = names.tsv
            filled.append(column)
            selected.append(f"to_tsvector({literal(language) + ', ' if language else ''}s.{quoted(names.content)})")
        changed = [name for name in filled if name != names.id]
        return (
            f"INSERT INTO {names.quoted} AS t ({', '.join(map(quoted, filled))}) "  # noqa: S608 - names are quoted
            f"SELECT {', '.join(selected)} FROM pg_temp.{STAGED} s "
            f"ON CONFLICT ({quoted(names.id)}) DO UPDATE "
            f"SET {', '.join(f'{quoted(name)} = EXCLUDED.{quoted(name)}' for name in changed)} "
            f"WHERE {' OR '.join(map(self._differs, changed))}"
        )

    def _cast(self, name: str) -> str:
        return "" if name in (self.names.content, self.names.embedding) else self.columns[name].cast

    def _differs(self, name: str) -> str:
        # Types such as JSON can't be compared, but what is written of them can.
        comparable = name in (self.names.content, self.names.embedding)
        as_text = "" if comparable else "::text"
        return f"t.{quoted(name)}{as_text} IS DISTINCT FROM EXCLUDED.{quoted(name)}{as_text}"


def _json(extra: Mapping[str, Any], document: Document) -> bytes:
    try:
        return json.dumps(extra, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"the sentence {shown(document.id)} has metadata that JSON can't hold ({error}); convert it to strings, "
            "finite numbers, booleans, lists or dicts"
        ) from None
