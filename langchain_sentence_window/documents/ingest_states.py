"""The state of a document when it was ingested, as one string in the metadata of its first and its last sentence.

    ingest_state = "9f86d081884c7d65… 48 2c26b46b68ffc68f handbooks"

That is a fingerprint of the document and of all settings, the number of its sentences, an attempt, and a namespace. So
a store tells by itself which of its documents are complete: those of which both sentences have the same state, and that
have no further sentence. An attempt is a number of its own for each time that a document is written, as a document may
be replaced in part by one version, and then in part by another.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.documents import Document

from langchain_sentence_window.documents.keys import INGEST_STATE, SENTENCE_INDEX
from langchain_sentence_window.documents.stored_metadata import StoreLimits

FIRST_SENTENCES = {SENTENCE_INDEX: 0}
"""A filter that matches one sentence of each document."""

_WRITTEN = re.compile(r"([0-9a-f]{32}) ([0-9]{1,12}) ([0-9a-f]{16}) (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IngestState:
    """The state of a document when it was ingested.

    Attributes:
        fingerprint: 32 hexadecimal digits, equal for the same document and the same settings.
        sentences: The number of its sentences, 1 or more.
        attempt: 16 hexadecimal digits, different each time that it is written.
        namespace: The name that the ingest has, which tells its documents from those of others in the same store.
    """

    fingerprint: str
    sentences: int
    attempt: str
    namespace: str

    @classmethod
    def read(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Read the state from a sentence's metadata; return ``None`` if there is none, or it can't be read."""
        given = metadata.get(INGEST_STATE)
        found = _WRITTEN.fullmatch(given) if isinstance(given, str) else None
        return None if found is None else cls(found[1], int(found[2]), found[3], found[4])

    def __str__(self) -> str:
        """Write the state as `read` reads it."""
        return f"{self.fingerprint} {self.sentences} {self.attempt} {self.namespace}"


def with_state(sentences: Sequence[Document], state: IngestState) -> list[Document]:
    """Return all sentences of a document, the first and the last with its state."""
    marked = list(sentences)
    for place in {0, len(marked) - 1}:
        metadata = {**marked[place].metadata, INGEST_STATE: str(state)}
        marked[place] = marked[place].model_copy(update={"metadata": metadata})
    return marked


def holds_states(limits: StoreLimits) -> bool:
    """Return whether a store keeps the state in a sentence's metadata."""
    return limits.holds(INGEST_STATE, "")
