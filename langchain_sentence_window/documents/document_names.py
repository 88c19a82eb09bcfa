"""The names of a document, in its metadata."""

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_sentence_window.documents.indexed_documents import TITLE
from langchain_sentence_window.documents.parts.numbering import source_of

MAX_NAME_CHARS = 300
"""The longest value of metadata that is a name; a longer one is a text."""


def names_in(metadata: Mapping[str, Any], keys: Iterable[str] = ()) -> list[str]:
    """Return the names in a document's metadata, each once.

    They are its title, its file name, the folder of the file, which often says more than a name such as ``index.md``,
    and values of other keys.

    Args:
        metadata: The document's metadata.
        keys: Keys whose values are names too: strings or numbers, or lists of these.
    """
    source = source_of(metadata) or ""
    folders, _, file_name = source.replace("\\", "/").rstrip("/").rpartition("/")
    stem, _, ending = file_name.rpartition(".")
    folder = folders.rpartition("/")[2] if file_name.strip() else ""
    given = [metadata.get(TITLE), file_name, stem if ending.isalnum() else "", folder]
    for key in keys:
        value = metadata.get(key)
        given += value if isinstance(value, list | tuple) else [value]
    names = [str(name) for name in given if isinstance(name, str | int | float) and not isinstance(name, bool)]
    return [name for name in dict.fromkeys(names) if name.strip() and len(name) <= MAX_NAME_CHARS]
