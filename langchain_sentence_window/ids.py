"""Names of sentences and windows, the same in every store, and which names stores can keep."""

import re
import uuid

_UNSAFE = re.compile("[\\0\\ud800-\\udfff]")
_NAMESPACE = uuid.UUID("3b1d5a52-7f0e-5c54-9a4e-0d1f6c0e8a11")


def is_storable_id(name: str) -> bool:
    """Whether a string can be an id: not empty, without NULs and lone surrogates."""
    return bool(name) and not _UNSAFE.search(name)


def sentence_id(doc_id: str, index: int) -> str:
    """The id of a document's sentence in every store: a UUID, as some stores take nothing else."""
    return str(uuid.uuid5(_NAMESPACE, f"sentence\n{index}\n{doc_id}"))


def window_id(doc_id: str, first: int, last: int) -> str:
    """The id of the window that holds the sentences ``first`` to ``last``, both included."""
    return str(uuid.uuid5(_NAMESPACE, f"window\n{first}\n{last}\n{doc_id}"))
