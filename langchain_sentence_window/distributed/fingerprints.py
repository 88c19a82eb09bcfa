"""Fingerprints of documents: equal where the same document is ingested with the same settings.

What changes no sentence and no vector, such as a device or a batch size, isn't in them.
"""

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from langchain_sentence_window.documents.parts.numbering import Part
from langchain_sentence_window.documents.stored_metadata import JSON, MetadataFitter
from langchain_sentence_window.embedding.embedder import describe_embedder
from langchain_sentence_window.embedding.neighbor_mixing import NeighborMixedEmbeddings
from langchain_sentence_window.splitting.splitter import SentenceSplitter

FORMAT = 1
"""Counts changes of this module that change fingerprints."""

_DIGEST_SIZE = 16


def describe_settings(
    splitter: SentenceSplitter,
    embedding: NeighborMixedEmbeddings,
    *,
    embed_headings: bool,
    situate: Callable[..., Any] | None,
) -> str:
    """Describe all that decides, besides a document itself, which sentences and vectors are made of it."""
    of_splitter = {name: _named(value) for name, value in splitter.settings.items()}
    return _canonical(
        [
            FORMAT,
            of_splitter,
            describe_embedder(embedding.embedding),
            list(embedding.neighbor_weights),
            embed_headings,
            _named(situate),
        ]
    )


def fingerprint(settings: str, name: str, parts: Sequence[Part]) -> str:
    """Return the fingerprint of a document; parts that are numbered may come in any order.

    Args:
        settings: As `describe_settings` returns them.
        name: The name of the document.
        parts: All of its parts.

    Returns:
        32 hexadecimal digits.
    """
    fitted = MetadataFitter(JSON).fit([part.document for part in parts])  # as it is stored, however it was given
    digests = [_digest(part.text, _canonical(each.metadata)) for part, each in zip(parts, fitted, strict=True)]
    if all(part.is_numbered for part in parts):
        digests.sort()
    return _digest(settings, name, *digests)


def _digest(*texts: str) -> str:
    hashed = blake2b(digest_size=_DIGEST_SIZE)
    for text in texts:
        written = text.encode("utf-8", "surrogatepass")
        hashed.update(f"{len(written)}:".encode())
        hashed.update(written)
    return hashed.hexdigest()


def _canonical(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    except (TypeError, ValueError, RecursionError):  # keys of several types, or what contains itself
        return repr(value)


def _named(value: Any) -> Any:
    """Return a function by its name, as it is described by its address otherwise."""
    if not callable(value):
        return value
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
