"""The state of a file when it was read, by which a later look finds out whether it has changed: one string of metadata.

::

    file_state = "5301 1760000000000000000 9f86d081884c7d65… 48"

That is the size in bytes, the time of the last change in nanoseconds since 1970, the SHA-256 of the bytes, and the
number of sentences. Who asks later whether the file has changed first compares the size and the time, and only then
the hash. Only loaders write it, never a document's own text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from langchain_sentence_window.documents import FILE_STATE

_UNKNOWN = "-"
_WRITTEN = re.compile(r"([0-9]{1,18}) (-|[0-9]{1,20}) ([0-9a-f]{64})(?: ([0-9]{1,12}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """The state of a file when it was read.

    Attributes:
        size: Its size in bytes.
        modified_ns: The time of its last change, in nanoseconds since 1970; ``None`` if it changed so shortly before
            that a later change may have the same time.
        sha256: The SHA-256 of its bytes, in hexadecimal digits.
        sentences: The number of sentences of the document that was made of it; ``None`` if it isn't known. A store
            that holds fewer was interrupted.
    """

    size: int
    modified_ns: int | None
    sha256: str
    sentences: int | None = None

    @classmethod
    def read(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Read the state from a document's metadata; return ``None`` if there is none, or it can't be read."""
        match = _WRITTEN.fullmatch(str(metadata.get(FILE_STATE)))
        if match is None:
            return None
        size, modified, sha256, sentences = match.groups()
        return cls(
            size=int(size),
            modified_ns=None if modified == _UNKNOWN else int(modified),
            sha256=sha256,
            sentences=None if sentences is None else int(sentences),
        )

    def __str__(self) -> str:
        """Write the state as `read` reads it."""
        modified = _UNKNOWN if self.modified_ns is None else str(self.modified_ns)
        sentences = "" if self.sentences is None else f" {self.sentences}"
        return f"{self.size} {modified} {self.sha256}{sentences}"
