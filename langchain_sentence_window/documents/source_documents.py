"""Source documents: the metadata that sentences carry, and spans in their texts."""

from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.ids import storable_text
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, RENAMED, SOURCE, START_INDEX
from langchain_sentence_window.documents.window_metadata import CONTRACT_KEYS
from langchain_sentence_window.errors import InvalidInputError

MAX_METADATA_KEYS = 1_000
"""Keys of a source document's metadata, all of which each of its sentences carries."""


def carried_metadata(document: Document, doc_id: str) -> dict[str, Any]:
    """Return the metadata of a source document that its sentences carry, with keys of the contract renamed.

    Args:
        document: The source document, its metadata fitted to the store.
        doc_id: Its name.

    Raises:
        InvalidInputError: It has more than `MAX_METADATA_KEYS` keys.
    """
    if len(document.metadata) > MAX_METADATA_KEYS:
        raise InvalidInputError(
            f"the metadata of document {doc_id!r:.80} has {len(document.metadata)} keys, and each of its sentences "
            f"carries them; keep {MAX_METADATA_KEYS} at most, those to filter by or to show. Nothing was stored"
        )
    given = document.metadata
    carried = {key: value for key, value in given.items() if key not in CONTRACT_KEYS}
    known = {DOC_ID: doc_id, **_whole(document)}
    for key, value in given.items():
        if key not in CONTRACT_KEYS or (key in known and known[key] == storable_text(value)):
            continue
        name = RENAMED + key
        while name in carried and (type(carried[name]), carried[name]) != (type(value), value):
            name = RENAMED + name
        carried[name] = value
    return carried


def _whole(document: Document) -> dict[str, str]:
    """Return the start and end index of a document, as text, if they only say that the text is the whole document."""
    if isinstance(document.id, str) and document.id == storable_text(document.metadata.get(DOC_ID)):
        # A document that `get` returned, perhaps edited since: this package wrote the indexes.
        return {key: storable_text(document.metadata.get(key)) or "" for key in (START_INDEX, END_INDEX)}
    whole = {START_INDEX: "0", END_INDEX: str(len(document.page_content))}
    is_whole = all(storable_text(document.metadata.get(key, index)) == index for key, index in whole.items())
    return whole if is_whole else {}


def source_names(document: Document) -> list[str]:
    """Return the names that a retriever may know a source document by: its id, its ``doc_id``, its ``source``."""
    given = (document.id, document.metadata.get(DOC_ID), document.metadata.get(SOURCE))
    return [text for name in given if name is not None for text in [storable_text(name)] if text is not None]


def found_span(document: Document) -> tuple[str, int | None]:
    """Return the source document of a Document that any retriever returned, and where its text starts there.

    Returns:
        Its ``doc_id``, else its ``source``; and its ``start_index``, or ``None`` if that is negative, as LangChain's
        splitters write it for a text that they can't find again.

    Raises:
        InvalidInputError: The metadata lacks them, or the text isn't as long as its span.
    """
    metadata = document.metadata
    name = metadata.get(DOC_ID, metadata.get(SOURCE))
    start, end = metadata.get(START_INDEX), metadata.get(END_INDEX)
    if name is None or not isinstance(start, int | float):
        raise InvalidInputError(
            f"the retriever returned a document whose span is unknown, as its metadata is {shown(metadata)}; it "
            "must hold 'start_index', as RecursiveCharacterTextSplitter(add_start_index=True) writes it, and 'doc_id' "
            "or 'source'"
        )
    if end is not None and int(end) - int(start) != len(document.page_content):
        raise InvalidInputError(
            f"the retriever returned a document of {len(document.page_content)} characters that says it is "
            f"[{shown(start)}, {shown(end)}) of {shown(name)}; a rewritten text can't be compared with gold spans"
        )
    text = storable_text(name)
    if text is None:
        raise InvalidInputError(f"the retriever returned a document named {shown(name)}; name it by a string")
    return text, int(start) if start >= 0 else None
