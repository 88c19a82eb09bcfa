"""Numbers of stores that keep them all as floats."""

from typing import Any

from langchain_core.documents import Document


def with_whole_numbers(document: Document) -> Document:
    """Return a Document in whose metadata floats without a fraction, such as ``3.0``, are integers again."""
    metadata = {key: _whole(value) for key, value in document.metadata.items()}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_whole, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value
