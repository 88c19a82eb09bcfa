"""Which values a store gives back as they were, and what to do where it makes floats of integers."""

from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._primitives import LONE_SURROGATE

MAX_EXACT = 2**53
"""The largest integer up to which a float holds each integer exactly."""

_INT64 = 2**63


def is_plain(value: Any) -> bool:
    """Return whether UTF-8 can hold all strings in a value, keys of dicts included, and 64 bits all its integers."""
    if isinstance(value, str):
        return LONE_SURROGATE.search(value) is None
    if isinstance(value, int):
        return -_INT64 <= value < _INT64
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return is_plain([*value, *value.values()])
    return True


def survives_as_float(value: Any) -> bool:
    """Return whether a number or boolean comes back from a store that makes floats of integers; see `with_integers`."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) <= MAX_EXACT)


def with_integers(document: Document) -> Document:
    """Return a Document in whose metadata floats without a fraction, such as ``3.0``, are integers again."""
    metadata = {key: _with_integers(value) for key, value in document.metadata.items()}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


def _with_integers(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_with_integers, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value
