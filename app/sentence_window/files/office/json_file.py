"""JSON as nested lists, and as a table where records have the same keys."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.errors import DocumentReadError
from sentence_window.files.html.block_writer import MAX_ROW_CHARS
from sentence_window.files.html.parts import document_of, table_html, text_html
from sentence_window.files.text_encoding import decode


def read_json(data: bytes, name: str) -> Iterator[Document]:
    """Read a JSON file as one Document.

    Raises:
        DocumentReadError: It isn't JSON.
    """
    yield document_of(name, ["".join(_json_html(parsed_json(decode(data, name), name)))])


def parsed_json(text: str, name: str) -> Any:
    """Parse JSON, with its numbers as strings, exactly as they are written.

    Raises:
        DocumentReadError: It isn't JSON, or is nested too deep.
    """
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise DocumentReadError(f"{name} isn't JSON ({error}); correct it, or save it as text") from error


def _json_html(value: Any) -> Iterator[str]:
    """Yield a value as HTML: objects and arrays as lists, and records with the same keys as a table."""
    if isinstance(value, list) and _are_rows(value):
        yield table_html([value[0], *([_scalar(record[key]) for key in value[0]] for record in value)])
    elif isinstance(value, dict | list):
        # A list of records is numbered, so that one sees where each begins.
        tag = "ol" if isinstance(value, list) and any(isinstance(each, dict | list) for each in value) else "ul"
        yield f"<{tag}>"
        for key, each in value.items() if isinstance(value, dict) else (("", each) for each in value):
            yield f"<li>{escape(key)}: " if key else "<li>"
            yield from _json_html(each)
            yield "</li>"
        yield f"</{tag}>"
    else:
        yield text_html(_scalar(value))


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _are_rows(records: Sequence[Any]) -> bool:
    """Return whether values are records with the same keys, each short enough for a table row."""
    keys = records[0].keys() if len(records) > 1 and isinstance(records[0], dict) else ()
    return len(keys) > 1 and all(
        isinstance(each, dict)
        and each.keys() == keys
        and not any(isinstance(item, dict | list) for item in each.values())
        and sum(len(_scalar(item)) for item in each.values()) <= MAX_ROW_CHARS
        for each in records
    )
