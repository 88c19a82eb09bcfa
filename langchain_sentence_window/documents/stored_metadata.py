"""The metadata of source documents that a store can hold, and the state of a document when it was ingested.

What a store can't hold is left out with one warning.

The state is one string in the metadata of a document's first and last sentence::

    ingest_state = "9f86d081884c7d65… 48 2c26b46b68ffc68f handbooks"

That is a fingerprint of the document and of all settings, the number of its sentences, an attempt, and a namespace. So
a store tells by itself which of its documents are complete: those of which both sentences have the same state, and that
have no further sentence. An attempt is a number of its own for each time that a document is written, as a document may
be replaced in part by one version, and then in part by another.
"""

import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.keys import DOC_ID, INGEST_STATE, SENTENCE_INDEX, storable_text
from langchain_sentence_window.documents.metadata_values import is_scalar, json_item
from langchain_sentence_window.errors import SentenceWindowWarning

_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """The metadata that a store can hold.

    Attributes:
        name: The name of the store, for a warning.
        holds: Says whether the store gives back the value of a key as it was given, as ``holds(key, value)``. It is
            asked about values as `json_item` returns them.
        cure: Advice about values that it can't hold.
        typed: Keys whose values aren't converted: only a plain string, number or boolean goes there.
    """

    name: str
    holds: Callable[[str, Any], bool]
    cure: str
    typed: Collection[str] = ()


def _holds_all(_: str, value: Any) -> bool:  # noqa: ARG001
    return True


def _holds_scalar(_: str, value: Any) -> bool:  # no lambda, as limits are sent to other processes
    return is_scalar(value)


ANY_STORE = StoreLimits(
    "many a store",
    _holds_scalar,
    "add the documents with a retriever's add_documents, which keeps all that its store can hold",
)
"""The limits of a store that isn't known: it holds strings, numbers and booleans."""


JSON = StoreLimits("JSON", _holds_all, "convert it to strings, finite numbers, booleans, lists or dicts")
"""The limits of documents on their way to a store that holds JSON, or that fits them to itself."""


@dataclass(slots=True)
class MetadataFitter:
    """Fits the metadata of the documents of one call to a store, and warns once of all that was left out.

    Attributes:
        limits: What the store can hold.
    """

    limits: StoreLimits
    _left_out: dict[str, None] = field(default_factory=dict, init=False)

    def fit(self, documents: Sequence[Document], untouched: Collection[str] = ()) -> list[Document]:
        """Return documents with the metadata that the store can hold, in the form of JSON; see `json_item`.

        Args:
            documents: The documents; they aren't changed.
            untouched: Keys whose values stay as they are.

        Returns:
            One document for each. None shares a list or a dict of its metadata with the one that was given.
        """
        fitted: list[Document] = []
        for document in documents:
            kept: dict[str, Any] = {}
            for key, value in document.metadata.items():
                if key in untouched:
                    kept[key] = value
                    continue
                if key == DOC_ID and not is_scalar(value):
                    kept |= {} if value is None else {key: storable_text(value)}  # the same name as if not converted
                    continue
                try:
                    name, converted = json_item(key, value, kept)
                except ValueError:
                    self._left_out[shown(key)] = None
                    continue
                is_typed = key in self.limits.typed and not is_scalar(value)
                if is_typed or not self.limits.holds(name, converted):
                    self._left_out[shown(key)] = None
                else:
                    kept[name] = converted
            fitted.append(document.model_copy(update={"metadata": kept}))
        return fitted

    def warn(self) -> None:
        """Warn of the keys that were left out, if there are any."""
        if not self._left_out:
            return
        keys = list(self._left_out)
        named = ", ".join(keys[:_MAX_NAMED]) + (f" and {len(keys) - _MAX_NAMED} more" if len(keys) > _MAX_NAMED else "")
        warnings.warn(
            SentenceWindowWarning(
                f"metadata was left out, as {self.limits.name} can't hold it: {named}; {self.limits.cure}"
            ),
            stacklevel=3,
        )


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
