"""The writes of the engine, each within a transaction of the database."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.database.filters import Condition
from langchain_sentence_window.stores.faiss.database.schema import Record, to_halves
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.origin import Origin

_RECORD_BATCH_SIZE = 5_000


class StaleVectorError(LookupError):
    """The vector of a text was stored when a call began, and was deleted by another call before it ended."""


class Writer:
    """Writes records and their vectors, after checking that the vectors are from the embedder of the index."""

    def __init__(self, origin: Origin) -> None:
        """Set the embedder that the vectors must be from."""
        self._origin = origin

    def unknown_texts(self, snapshot: Snapshot, texts: Iterable[str]) -> list[str]:
        """Return the texts that have no vector in the index yet, each once.

        Raises:
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        distinct = list(dict.fromkeys(texts))
        if not self._origin.may_reuse(snapshot):
            return distinct
        parts = (distinct[start : start + _RECORD_BATCH_SIZE] for start in range(0, len(distinct), _RECORD_BATCH_SIZE))
        unknown = [
            text for part in parts for known in [snapshot.known_vectors(part)] for text in part if text not in known
        ]
        self._origin.check_to_add(snapshot, embeds=bool(unknown))
        return unknown

    def stage_vectors(self, transaction: Transaction, vectors: Mapping[str, bytes]) -> None:
        """Keep half-precision vectors, by text, that will be written later.

        Raises:
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        self._origin.claim(transaction, _dimension_of(vectors))
        transaction.stage_vectors(vectors.items())

    def write(
        self,
        transaction: Transaction,
        records: Sequence[Record],
        vectors: Vectors | Mapping[str, bytes] | None,
        *,
        remove: Condition | None,
        forbidden: Condition | None,
    ) -> None:
        """Remove records and add others; see `StoreEngine.write`."""
        if forbidden and len(transaction.rows(forbidden)):
            raise InvalidInputError(
                "the filter doesn't match everything that would be replaced or deleted; choose other ids, or write "
                "without a filter. Nothing was changed."
            )
        if records:
            self._origin.claim(transaction, _dimension_of(vectors))
        if remove:
            transaction.remove(remove)
        for start in range(0, len(records), _RECORD_BATCH_SIZE):
            part = records[start : start + _RECORD_BATCH_SIZE]
            if isinstance(vectors, np.ndarray):
                halves = to_halves(vectors[start : start + len(part)])
            else:
                halves = _halves_of([record.embedded for record in part], vectors or {}, transaction)
            transaction.add(part, halves)
            transaction.forget_staged({record.embedded for record in part})


def _dimension_of(vectors: Vectors | Mapping[str, bytes] | None) -> int | None:
    """Return the length of the vectors, or ``None`` if there are none."""
    if isinstance(vectors, np.ndarray):
        return int(vectors.shape[1])
    return len(next(iter(vectors.values()))) // 2 if vectors else None


def _halves_of(texts: Sequence[str], given: Mapping[str, bytes], transaction: Transaction) -> list[bytes]:
    missing = [text for text in texts if text not in given]
    known = transaction.known_vectors(missing) if missing else {}
    try:
        return [given[text] if text in given else known[text] for text in texts]
    except KeyError as error:
        raise StaleVectorError(*error.args) from None
