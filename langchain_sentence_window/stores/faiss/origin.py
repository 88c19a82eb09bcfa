"""Checks that all vectors of an index are from one embedder, and writes those that are."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.embedder_state import Proofs
from langchain_sentence_window.errors import IndexMismatchError, InvalidInputError, wrong_size

from .database.conditions import Condition
from .database.schema import Record, Version, to_halves
from .database.snapshot import Snapshot
from .database.transaction import Transaction

_FACT = "embedder"


class UnprovenError(LookupError):
    """Only comparing vectors can show whether those of the index are from the embedder; see `Origin.prove`."""


class RecordedEmbedder(NamedTuple):
    """The record of the embedder of an index's vectors.

    Attributes:
        description: The embedder's description; ``None`` before the first write.
        says_all: Whether all embedders with this description make the same vectors.
        line: A random number drawn when the first vectors were written to an index without any. Vectors with the same
            number are all from one embedder.
    """

    description: str | None = None
    says_all: bool = False
    line: int | None = None


class Origin:
    """The embedder of an open index, compared with the one recorded in the database.

    The record is read in the same transaction as the vectors, as other processes may write at any time. The vectors
    of one line are all from one embedder: it may add to them if it made some of them, if its description says all and
    is the recorded one, or if it embedded some of their texts again with the same result. Any embedder may write to an
    index without vectors, which begins another line.
    """

    def __init__(self, name: str) -> None:
        """Start without an embedder.

        Args:
            name: The name of the index in messages.
        """
        self._name = name
        self._has_claimed = False
        self.set("", Proofs(), says_all=True)

    def set(self, description: str, proofs: Proofs, *, says_all: bool) -> None:
        """Set the embedder of new vectors and queries.

        Args:
            description: The embedder's description.
            proofs: What is proven about it; `prove` adds to this.
            says_all: Whether all embedders with this description make the same vectors.
        """
        self._own, self.proofs, self._says_all = description, proofs, says_all
        self._checked_at: Version | None = None

    @staticmethod
    def recorded(snapshot: Snapshot) -> RecordedEmbedder:
        """Return what the database records about the embedder of its vectors."""
        return RecordedEmbedder(*(snapshot.fact(_FACT) or ()))

    def prove(self, line: int | None, *, is_same: bool, to_write: bool) -> None:
        """Record the result of embedding some texts of a line again.

        Args:
            line: The line of the texts' vectors.
            is_same: Whether the vectors were the same.
            to_write: Whether the texts were enough for adding to the line; searching takes fewer.
        """
        self.proofs.note(line, is_same=is_same, to_write=to_write)
        self._checked_at = None

    def was_checked_at(self, version: Version) -> bool:
        """Return whether `check` passed at this version."""
        return self._checked_at == version

    def check(self, snapshot: Snapshot) -> None:
        """Check that the vectors to search are from the embedder of the query.

        Raises:
            IndexMismatchError: They are from another embedder, as another process has written.
            UnprovenError: They may be.
        """
        version = snapshot.version
        if self._checked_at != version:
            recorded = self.recorded(snapshot)
            is_described = self._says_all and recorded.says_all and recorded.description == self._own
            is_proven = is_described or recorded.line in self.proofs.to_read
            if not is_proven and snapshot.state.sentences:
                raise self._refusal(recorded)
            self._checked_at = version

    def claim(self, transaction: Transaction, vectors: Vectors | Mapping[str, bytes] | None) -> None:
        """Check that vectors may be written, before anything is changed.

        Args:
            transaction: The transaction that will write them.
            vectors: The vectors, or the half-precision ones by text; none if all are in the database already.

        Raises:
            IndexMismatchError: The vectors there are from another embedder.
            UnprovenError: They may be.
            EmbeddingError: The vectors there have another length.
        """
        if isinstance(vectors, np.ndarray):
            dimension: int | None = vectors.shape[1]
        else:
            dimension = len(next(iter(vectors.values()))) // 2 if vectors else None
        recorded, recorded_dimension = self.recorded(transaction), transaction.fact("dimension")
        is_empty = not transaction.state.sentences
        staged = transaction.count_staged() if is_empty else 0
        if not self._may_add(recorded, embeds=dimension is not None or recorded.line is None):
            if not is_empty or (staged and (recorded.line not in self.proofs.foreign or self._has_claimed)):
                raise self._refusal(recorded)
            self._begin_line(transaction)
            staged = 0
        expected = None if is_empty and not staged else recorded_dimension
        if dimension is not None and expected not in (None, dimension):
            raise wrong_size(dimension, expected)
        if dimension not in (None, recorded_dimension):
            transaction.set_fact("dimension", dimension)
        self._has_claimed = True

    # Writing

    def unknown_texts(self, snapshot: Snapshot, texts: Iterable[str]) -> list[str]:
        """Return the texts that have no vector in the index yet, each once.

        Raises:
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        distinct = list(dict.fromkeys(texts))
        recorded, is_empty = self.recorded(snapshot), not snapshot.state.sentences
        if recorded.line in self.proofs.foreign:
            if not is_empty:
                raise self._mismatch(recorded)
            return distinct
        parts = (distinct[start : start + _RECORD_BATCH_SIZE] for start in range(0, len(distinct), _RECORD_BATCH_SIZE))
        unknown = [
            text for part in parts for known in [snapshot.known_vectors(part)] for text in part if text not in known
        ]
        if not self._may_add(recorded, embeds=bool(unknown) or is_empty) and not (
            is_empty and not snapshot.count_staged()
        ):
            raise self._refusal(recorded)
        return unknown

    def stage_vectors(self, transaction: Transaction, vectors: Mapping[str, bytes]) -> None:
        """Keep half-precision vectors, by text, that will be written later.

        Raises:
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        self.claim(transaction, vectors)
        transaction.stage_vectors(vectors.items())

    def write(
        self,
        transaction: Transaction,
        records: Sequence[Record] = (),
        vectors: Vectors | Mapping[str, bytes] | None = None,
        *,
        remove: Condition | None = None,
        forbidden: Condition | None = None,
    ) -> None:
        """Remove records and add others, replacing those with the same id.

        Args:
            transaction: The transaction.
            records: The records to add, each with another id.
            vectors: Unit vectors of shape ``(len(records), dimension)``, or half-precision vectors by text. Texts
                without a vector there have one in the index.
            remove: A condition on the records to remove first.
            forbidden: A condition that no record may meet; otherwise nothing is written.

        Raises:
            InvalidInputError: A record meets the forbidden condition.
            EmbeddingError: The vectors are of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
            StaleVectorError: The vector of a text isn't in the index any more.
        """
        if forbidden and len(transaction.rows(transaction.simplest(forbidden))):
            raise InvalidInputError(
                "the filter doesn't match everything that would be replaced or deleted; choose other ids, or write "
                "without a filter. Nothing was changed."
            )
        if records:
            self.claim(transaction, vectors)
        if remove:
            transaction.remove(remove)
        for start in range(0, len(records), _RECORD_BATCH_SIZE):
            part = records[start : start + _RECORD_BATCH_SIZE]
            if isinstance(vectors, np.ndarray):
                halves = to_halves(vectors[start : start + len(part)])
            else:
                given, texts = vectors or {}, [record.context + record.text for record in part]
                missing = [text for text in texts if text not in given]
                known = transaction.known_vectors(missing) if missing else {}
                try:
                    halves = [given[text] if text in given else known[text] for text in texts]
                except KeyError as error:
                    raise StaleVectorError(*error.args) from None
            transaction.add(part, halves)

    def _begin_line(self, transaction: Transaction) -> None:
        line = secrets.randbits(62)
        transaction.discard_staged()
        transaction.set_fact(_FACT, RecordedEmbedder(self._own, self._says_all, line))
        self.prove(line, is_same=True, to_write=True)

    def _may_add(self, recorded: RecordedEmbedder, *, embeds: bool) -> bool:
        """Return whether texts may be added; an embedder that can't be told apart may use the vectors already there."""
        is_described = recorded.description == self._own
        if recorded.line in self.proofs.to_write or (is_described and self._says_all and recorded.says_all):
            return True
        return is_described and recorded.line not in self.proofs.foreign and not embeds

    def _refusal(self, recorded: RecordedEmbedder) -> Exception:
        return self._mismatch(recorded) if recorded.line in self.proofs.foreign else UnprovenError()

    def _mismatch(self, recorded: RecordedEmbedder) -> IndexMismatchError:
        other = "another embedder of that description" if recorded.description == self._own else self._own
        return IndexMismatchError(
            f"{self._name} now holds vectors of {recorded.description}, but this store was opened with {other}, whose "
            "vectors of the same text differ; open it again with the first, or index the documents at another path"
        )


_RECORD_BATCH_SIZE = 5_000


class StaleVectorError(LookupError):
    """The vector of a text was stored when a call began, and was deleted by another call before it ended."""
