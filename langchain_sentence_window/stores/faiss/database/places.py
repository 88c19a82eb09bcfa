"""Sentences and where they stand: reads of the candidates of a search, and of what stands beside them."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from langchain_sentence_window.ranking.closest_matches import PlacedText
from langchain_sentence_window.stores.faiss.database.of_rows import select_rows
from langchain_sentence_window.stores.faiss.database.schema import loaded_text

Place: TypeAlias = tuple[int | None, int, int]
"""The number of a source document, the index of a sentence in it, and the number of the sentence's section."""

_Execute: TypeAlias = Callable[..., sqlite3.Cursor]

_NEIGHBORS = """
    SELECT hit.row, other.row, abs(other.sentence_index - hit.sentence_index)
    FROM json_each(?) AS given
    CROSS JOIN sentences AS hit ON hit.row = given.value
    CROSS JOIN sentences AS other ON other.document = hit.document
        AND other.sentence_index BETWEEN hit.sentence_index - ? AND hit.sentence_index + ?
        AND other.sentence_index <> hit.sentence_index
    WHERE other.section = hit.section
    ORDER BY hit.sentence_index
"""
_TEXTS = "SELECT document, sentence_index, section, text FROM sentences WHERE row IN ({})"
_PLACED_TEXTS = "SELECT row, document, sentence_index, text FROM sentences WHERE row IN ({})"
_PLACES = """
    SELECT row, CASE WHEN section_key IS NULL THEN id ELSE ifnull(doc_id, '') END, ifnull(sentence_index, 0)
    FROM sentences LEFT JOIN documents USING (document) WHERE row IN ({})
"""
_ROWS_AT = """
    SELECT row
    FROM json_each(?) AS asked
    CROSS JOIN sentences ON document = json_extract(asked.value, '$[0]')
        AND sentence_index = json_extract(asked.value, '$[1]')
"""


def neighbors(execute: _Execute, rows: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
    """Find the neighbors of some sentences in their sections; see `Snapshot.neighbors`."""
    return list(execute(_NEIGHBORS, [json.dumps(list(rows)), reach, reach]))


def texts_by_place(execute: _Execute, rows: Sequence[int]) -> dict[Place, bytes]:
    """Return the stored texts of rows by their places; rows that don't exist are left out."""
    return {(document, index, section): text for document, index, section, text in select_rows(execute, _TEXTS, rows)}


def placed_texts(execute: _Execute, rows: Iterable[int]) -> dict[int, PlacedText]:
    """Return texts by row, with where they stand; rows that don't exist are left out."""
    found = select_rows(execute, _PLACED_TEXTS, list(rows))
    return {row: PlacedText(document, index, loaded_text(text)) for row, document, index, text in found}


def places_of(execute: _Execute, rows: Sequence[int]) -> dict[int, tuple[str, int]]:
    """Return where rows stand, by document and index; a Document that isn't a sentence stands alone, by its id."""
    return {row: (name, index) for row, name, index in select_rows(execute, _PLACES, rows)}


def rows_at(execute: _Execute, places: Sequence[tuple[int | None, int]]) -> list[int]:
    """Return the rows of sentences by document and index, in any order; those that don't exist are left out."""
    return [row for (row,) in execute(_ROWS_AT, [json.dumps(places)])]
