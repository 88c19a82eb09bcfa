"""Rows for PostgreSQL's ``COPY``, and the SQL around it, without a server."""

import json
import struct
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window.adapters import postgres_loader as indexes
from langchain_sentence_window.adapters.postgres import MAX_MATCHES, _as_query, _looked_up
from langchain_sentence_window.adapters.postgres_loader import copied, vector_fields
from langchain_sentence_window.adapters.postgres_sql import TableNames, literal, quoted
from langchain_sentence_window.adapters.postgres_table import Column, Table
from langchain_sentence_window.errors import InvalidInputError, StoreError

Row = namedtuple("Row", "name type category modifier vector_schema")
Setting = namedtuple("Setting", "name value unit")

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def read(data: bytes) -> Iterator[list[bytes | None]]:
    """Read the binary format, as PostgreSQL's manual describes it."""
    assert data[:11] == b"PGCOPY\n\xff\r\n\0"
    assert struct.unpack_from(">ii", data, 11) == (0, 0)
    at = 19
    while True:
        (count,) = struct.unpack_from(">h", data, at)
        at += 2
        if count == -1:
            assert at == len(data)
            return
        row: list[bytes | None] = []
        for _ in range(count):
            (size,) = struct.unpack_from(">i", data, at)
            at += 4
            row.append(None if size == -1 else data[at : at + size])
            at += max(size, 0)
        yield row


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(st.none() | st.binary(), min_size=n, max_size=n))))
def test_rows_come_back(rows: list[list[bytes | None]]) -> None:
    assert list(read(b"".join(copied(rows)))) == rows


def test_many_rows_come_in_pieces() -> None:
    rows = [[bytes([number % 256]) * 1000, None] for number in range(2_000)]
    pieces = list(copied(rows))
    assert max(map(len, pieces)) < 300_000
    assert list(read(b"".join(pieces))) == rows


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.lists(FLOATS, min_size=n, max_size=n), min_size=1)))
def test_vectors_come_back(vectors: list[list[float]]) -> None:
    for field, vector in zip(vector_fields(np.array(vectors, dtype=np.float32)), vectors, strict=True):
        dimension, unused = struct.unpack_from(">HH", field)
        assert (dimension, unused) == (len(vector), 0)
        assert list(struct.unpack(f">{dimension}f", field[4:])) == vector


NAMES = TableNames("public", 'ta"ble', "id", "text", "vec", ("tenant", "n"), "extra", None)
COLUMNS = [
    Row("id", "uuid", "U", -1, "public"),
    Row("text", "text", "S", -1, "public"),
    Row("vec", "vector(3)", "U", 3, "public"),
    Row("tenant", "character varying(3)", "S", 7, "public"),
    Row("n", "integer", "N", -1, "public"),
    Row("extra", "json", "U", -1, "public"),
]


def sentence(text: str = "A seat.", **metadata: Any) -> Document:
    return Document(text, id="00000000-0000-0000-0000-000000000001", metadata=metadata)


def test_the_sql_of_a_table() -> None:
    table = Table.read(NAMES, COLUMNS)
    assert table.dimension == 3
    assert table.create_staged() == (
        'CREATE TEMPORARY TABLE sentence_window_staged ("id" text, "text" text, "vec" "public".vector, "tenant" text, '
        '"n" text, "extra" text) ON COMMIT DROP'
    )
    assert table.merge_staged() == (
        'INSERT INTO "public"."ta""ble" AS t ("id", "text", "vec", "tenant", "n", "extra") '
        'SELECT s."id"::uuid, s."text", s."vec", s."tenant", s."n"::integer, s."extra"::json '
        "FROM pg_temp.sentence_window_staged s "
        'ON CONFLICT ("id") DO UPDATE SET "text" = EXCLUDED."text", "vec" = EXCLUDED."vec", '
        '"tenant" = EXCLUDED."tenant", "n" = EXCLUDED."n", "extra" = EXCLUDED."extra" '
        'WHERE t."text" IS DISTINCT FROM EXCLUDED."text" OR t."vec" IS DISTINCT FROM EXCLUDED."vec" '
        'OR t."tenant"::text IS DISTINCT FROM EXCLUDED."tenant"::text '
        'OR t."n"::text IS DISTINCT FROM EXCLUDED."n"::text OR t."extra"::text IS DISTINCT FROM EXCLUDED."extra"::text'
    )


def test_the_fields_of_a_row() -> None:
    given_ = sentence("Zoë.", tenant="a", n=2, other=["é", None])
    before = given_.model_copy(deep=True)
    fields = Table.read(NAMES, COLUMNS).fields(given_, b"vector")
    assert fields == [str(given_.id).encode(), "Zoë.".encode(), b"vector", b"a", b"2", b'{"other": ["\\u00e9", null]}']
    assert given_ == before
    assert Table.read(NAMES, COLUMNS).fields(sentence(), b"v")[3:] == [None, None, b"{}"]


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        (sentence("A\0."), "000001' holds a NUL or a lone surrogate in 'A"),
        (sentence("A\ud800."), "holds a NUL or a lone surrogate"),
        (sentence(tenant="\0"), "holds a NUL"),
        (sentence(tenant=1), "has tenant=1, which the column of type character varying"),
        (sentence(n="1"), "has n='1', which the column of type integer can't hold"),
        (sentence(n=1.5), "n=1.5"),
        (sentence(n=True), "n=True"),
        (sentence(other=object()), "has metadata that JSON can't hold"),
        (sentence(other=float("nan")), "JSON can't hold"),
    ],
)
def test_a_value_that_the_table_cannot_hold_is_named(given_: Document, told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        Table.read(NAMES, COLUMNS).fields(given_, b"v")


def test_metadata_that_contains_itself_is_refused() -> None:
    own: list[Any] = []
    own.append(own)
    given_ = sentence()
    given_.metadata["own"] = own
    with pytest.raises(InvalidInputError, match="JSON can't hold"):
        Table.read(NAMES, COLUMNS).fields(given_, b"v")


def test_a_column_takes_what_is_of_its_type() -> None:
    took = {
        Column("c", "boolean", "B"): (False, b"False"),
        Column("c", "double precision", "N"): (0.1, b"0.1"),
        Column("c", "numeric", "N"): (2, b"2"),
        Column("c", "date", "D"): ("2024-05-01", b"2024-05-01"),
        Column("c", "jsonb", "U"): ({"a": 1}, b'{"a": 1}'),
    }
    for column, (value, field) in took.items():
        assert column.field(value, sentence()) == field
        assert column.field(None, sentence()) is None
    assert [column.cast for column in took] == ["::boolean", "::double precision", "::numeric", "::date", "::jsonb"]


def test_a_table_that_lacks_a_column_is_refused() -> None:
    with pytest.raises(StoreError, match="no column 'vec' and 'n'|no column 'vec', 'n'"):
        Table.read(NAMES, [row for row in COLUMNS if row.name not in ("vec", "n")])


@given(st.text())
def test_names_and_strings_stay_in_their_quotes(text: str) -> None:
    for quote, written in (('"', quoted(text)), ("'", literal(text)), ("'", _as_query(text.replace("\\", "")))):
        inner = written[1:-1]
        assert (written[0], written[-1]) == (quote, quote)
        assert inner.replace(quote * 2, "").count(quote) == 0


def room(**values: tuple[int, str | None]) -> list[Setting]:
    usual: dict[str, tuple[int, str | None]] = {
        "maintenance_work_mem": (65_536, "kB"),
        "effective_cache_size": (524_288, "8kB"),
        "max_parallel_workers": (8, None),
    }
    return [Setting(name, *both) for name, both in (usual | values).items()]


@pytest.mark.parametrize(
    ("rows", "memory_mb", "workers", "memory_kb", "expected"),
    [
        (1_000, None, None, 65_536, 8),  # what the server grants anyway
        (100_000, None, None, 100_000 * (4 * 384 + 600) // 1024, 8),  # what the index needs
        (10_000_000, None, 0, 1_048_576, 0),  # a quarter of what the server has
        (1_000, 100, 3, 102_400, 3),
    ],
)
def test_how_much_an_index_may_use(
    rows: int, memory_mb: int | None, workers: int | None, memory_kb: int, expected: int
) -> None:
    assert indexes.settings_for(room(), rows, 384, memory_mb, workers) == [
        f"SET LOCAL maintenance_work_mem = '{memory_kb}kB'",
        f"SET LOCAL max_parallel_maintenance_workers = {expected}",
        "SET LOCAL statement_timeout = 0",
    ]


def test_the_rarest_words_are_looked_up() -> None:
    weights = {
        "the": (0.1, 3.0 * MAX_MATCHES),
        "kiwi": (5.0, 3.0),
        "fruit": (2.0, MAX_MATCHES - 3.0),
        "plum": (2.0, 1.0),
    }
    assert _looked_up(weights) == ["plum", "kiwi"]
    assert _looked_up({"the": weights["the"]}) == ["the"]


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.none() | st.booleans())))
def test_metadata_is_written_as_the_store_writes_it(extra: dict[str, Any]) -> None:
    own = {key: value for key, value in extra.items() if key not in NAMES.metadata}
    assert Table.read(NAMES, COLUMNS).fields(sentence(), b"v")[5] == b"{}"
    given_ = sentence()
    given_.metadata.update(own)
    assert Table.read(NAMES, COLUMNS).fields(given_, b"v")[5] == json.dumps(own).encode()
