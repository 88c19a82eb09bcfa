"""Ids of sentences and windows, the same in every store, and checks of ids."""

import uuid
from collections.abc import Iterable, Mapping
from hashlib import sha1

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import is_storable_id
from langchain_sentence_window._validation import gathered
from langchain_sentence_window.errors import InvalidInputError

ID_LENGTH = 36
"""Characters of the id of a sentence or a window."""

MAX_ID_CHARS = 4_096
"""Characters of the longest id of a source document, which each of its sentences carries."""


_NAMESPACE = uuid.UUID("3b1d5a52-7f0e-5c54-9a4e-0d1f6c0e8a11")


def checked_id(given: object) -> str:
    """Return the id of a source document as text.

    Raises:
        InvalidInputError: Stores can't keep it.
    """
    name = storable_text(given)
    if name is None:
        raise InvalidInputError(f"the doc_id is {shown(given)}; give the document a string as its id, or none")
    if len(name) > MAX_ID_CHARS:
        raise InvalidInputError(
            f"a doc_id of {len(name)} characters ({name[:40]!r}…) can't be kept, as each sentence carries it; give the "
            f"document one of {MAX_ID_CHARS} characters at most, or none"
        )
    if not is_storable_id(name):
        raise InvalidInputError(
            f"{name!r} can't be a doc_id, as it is empty or holds a NUL or a lone surrogate, which stores can't keep; "
            "give the document another id, or none"
        )
    return name


def storable_text(value: object) -> str | None:
    """Return a value as text; ``None`` if its ``str`` fails, as for too many digits."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - what a type makes of itself may raise anything
        return None


def checked_ids(ids: object) -> list[str]:
    """Return ids as a list.

    Raises:
        InvalidInputError: They are a single string, aren't a list, or hold something other than strings.
    """
    if isinstance(ids, str | bytes | bytearray | memoryview | Mapping) or not isinstance(ids, Iterable):
        raise InvalidInputError(f"documents are named by a list of ids, not {shown(ids)}; write ['id', ...]")
    listed: list[str] = gathered(ids)
    for index, id_ in enumerate(listed):
        if not isinstance(id_, str):
            raise InvalidInputError(
                f"id {index} is {shown(id_)}; documents are named by strings, as add_documents returns them"
            )
    return listed


def sentence_id(doc_id: str, index: int) -> str:
    """Return the id of a document's sentence: a UUID, as some stores take no other ids."""
    return _uuid5(f"sentence\n{index}\n{doc_id}")


def window_id(doc_id: str, first: int, last: int) -> str:
    """Return the id of the window of the sentences ``first`` to ``last``, both included."""
    return _uuid5(f"window\n{first}\n{last}\n{doc_id}")


def _uuid5(name: str) -> str:
    """Return ``str(uuid.uuid5(_NAMESPACE, name))``, computed faster, as a query needs many."""
    digest = sha1(_NAMESPACE.bytes + name.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
