"""Checks that all vectors of an index are from one embedder."""

import secrets
from typing import NamedTuple

from langchain_sentence_window.embedding.watching import Proofs
from langchain_sentence_window.errors import IndexMismatchError, wrong_size
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.transaction import Transaction

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

    def is_of(self, description: str) -> bool:
        """Return whether a description says all and is the recorded one."""
        return self.says_all and self.description == description


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
            is_proven = self._is_described(recorded) or recorded.line in self.proofs.to_read
            if not is_proven and snapshot.state.sentences:
                raise self._refusal(recorded)
            self._checked_at = version

    def may_reuse(self, snapshot: Snapshot) -> bool:
        """Return whether vectors in the database may be used for new texts.

        Raises:
            IndexMismatchError: The vectors of the sentences there are from another embedder.
        """
        recorded = self.recorded(snapshot)
        if recorded.line not in self.proofs.foreign:
            return True
        if snapshot.state.sentences:
            raise self._mismatch(recorded)
        return False

    def check_to_add(self, snapshot: Snapshot, *, embeds: bool) -> None:
        """Check that texts may be added, some or all of whose vectors are in the database.

        Args:
            snapshot: The state of the database.
            embeds: Whether some of the vectors aren't there.

        Raises:
            IndexMismatchError: The vectors there are from another embedder.
            UnprovenError: They may be.
        """
        recorded, is_empty = self.recorded(snapshot), not snapshot.state.sentences
        if not self._may_add(recorded, embeds=embeds or is_empty) and not (is_empty and not snapshot.count_staged()):
            raise self._refusal(recorded)

    def claim(self, transaction: Transaction, dimension: int | None) -> None:
        """Check that vectors may be written, before anything is changed.

        Args:
            transaction: The transaction that will write them.
            dimension: The vectors' length; ``None`` if all are in the database already.

        Raises:
            IndexMismatchError: The vectors there are from another embedder.
            UnprovenError: They may be.
            EmbeddingError: The vectors there have another length.
        """
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

    def _begin_line(self, transaction: Transaction) -> None:
        line = secrets.randbits(62)
        transaction.discard_staged()
        transaction.set_fact(_FACT, RecordedEmbedder(self._own, self._says_all, line))
        self.prove(line, is_same=True, to_write=True)

    def _may_add(self, recorded: RecordedEmbedder, *, embeds: bool) -> bool:
        """Return whether texts may be added; an embedder that can't be told apart may use the vectors already there."""
        is_another = recorded.line in self.proofs.foreign or recorded.description != self._own
        return recorded.line in self.proofs.to_write or self._is_described(recorded) or not (embeds or is_another)

    def _is_described(self, recorded: RecordedEmbedder) -> bool:
        return self._says_all and recorded.is_of(self._own)

    def _refusal(self, recorded: RecordedEmbedder) -> Exception:
        return self._mismatch(recorded) if recorded.line in self.proofs.foreign else UnprovenError()

    def _mismatch(self, recorded: RecordedEmbedder) -> IndexMismatchError:
        other = "another embedder of that description" if recorded.description == self._own else self._own
        return IndexMismatchError(
            f"{self._name} now holds vectors of {recorded.description}, but this store was opened with {other}, whose "
            "vectors of the same text differ; open it again with the first, or index the documents at another path"
        )
