"""Whose vectors an index holds: never two embedders' at a time."""

import secrets
from typing import NamedTuple

from langchain_sentence_window.embedding.watching import Proofs
from langchain_sentence_window.errors import IndexMismatchError, wrong_size
from langchain_sentence_window.stores.faiss.database.schema import Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.transaction import Transaction

_FACT = "embedder"


class UnprovenError(LookupError):
    """Only vectors can tell whether those of the index are from the embedder; see `Origin.prove`."""


class Noted(NamedTuple):
    """What the database says of the embedder that its vectors are from.

    Attributes:
        description: Describes it; ``None`` before the first write.
        says_all: Whether no other embedder of that description makes other vectors.
        line: A number drawn when the first of the vectors came into an index that had none.
    """

    description: str | None = None
    says_all: bool = False
    line: int | None = None

    def is_of(self, description: str) -> bool:
        """Whether the vectors are from any embedder whose description says all, and is this."""
        return self.says_all and self.description == description


class Origin:
    """The embedder of an open index, and what the database says of the one that its vectors are from.

    The database is asked in the same transaction in which vectors are read or written, as other processes may
    write at any time. Vectors of one line are all from one embedder: whoever adds to them made some of them, has a
    description that says all and is noted, or has embedded some of their texts again. An index without vectors is
    anybody's, and begins another line.
    """

    def __init__(self, name: str) -> None:
        """Begin without an embedder, which is described by nothing.

        Args:
            name: What the index is called in messages.
        """
        self._name = name
        self._has_claimed = False
        self.set("", Proofs(), says_all=True)

    def set(self, description: str, proofs: Proofs, *, says_all: bool) -> None:
        """Say what the vectors that come in are from.

        Args:
            description: Describes the embedder.
            proofs: What is proven of it, which is kept up.
            says_all: Whether no other embedder of that description makes other vectors.
        """
        self._own, self.proofs, self._says_all = description, proofs, says_all
        self._checked_at: Version | None = None

    @staticmethod
    def noted(snapshot: Snapshot) -> Noted:
        """What describes the embedder of the vectors that are in the database."""
        return Noted(*(snapshot.fact(_FACT) or ()))

    def prove(self, line: int | None, *, is_same: bool, to_write: bool) -> None:
        """Take note of what came out when some texts of a line were embedded again.

        Args:
            line: Whose vectors they are.
            is_same: Whether the vectors were those of the line.
            to_write: Whether the texts were enough to add to the line; it takes fewer to search it.
        """
        self.proofs.note(line, is_same=is_same, to_write=to_write)
        self._checked_at = None

    def was_checked_at(self, version: Version) -> bool:
        """Whether `check` found nothing at this very write."""
        return self._checked_at == version

    def check(self, snapshot: Snapshot) -> None:
        """See that what is searched comes from the embedder that queries come from.

        Raises:
            IndexMismatchError: It doesn't, since another process has written.
            UnprovenError: It may not.
        """
        version = snapshot.version
        if self._checked_at != version:
            noted = self.noted(snapshot)
            if not self._is_described(noted) and noted.line not in self.proofs.to_read and snapshot.state.sentences:
                raise self._refusal(noted)
            self._checked_at = version

    def may_reuse(self, snapshot: Snapshot) -> bool:
        """Whether vectors in the database may be used for texts that come in.

        Raises:
            IndexMismatchError: The sentences there are another embedder's.
        """
        noted = self.noted(snapshot)
        if noted.line not in self.proofs.foreign:
            return True
        if snapshot.state.sentences:
            raise self._mismatch(noted)
        return False

    def check_to_add(self, snapshot: Snapshot, *, embeds: bool) -> None:
        """See that texts may be added whose vectors are all in the database, or some of them.

        Args:
            snapshot: Where the others are.
            embeds: Whether some aren't.

        Raises:
            IndexMismatchError: The vectors there are another embedder's.
            UnprovenError: They may be.
        """
        noted, is_empty = self.noted(snapshot), not snapshot.state.sentences
        if not self._may_add(noted, embeds=embeds or is_empty) and not (is_empty and not snapshot.count_staged()):
            raise self._refusal(noted)

    def claim(self, transaction: Transaction, dimension: int | None) -> None:
        """See that vectors may be written, before anything is changed.

        Args:
            transaction: Writes them.
            dimension: How long they are; ``None`` if they are all in the database already.

        Raises:
            IndexMismatchError: What is there is another embedder's.
            UnprovenError: It may be.
            EmbeddingError: It is of another length.
        """
        noted, noted_dimension = self.noted(transaction), transaction.fact("dimension")
        is_empty = not transaction.state.sentences
        ahead = transaction.count_staged() if is_empty else 0
        if not self._may_add(noted, embeds=dimension is not None or noted.line is None):
            if not is_empty or (ahead and (noted.line not in self.proofs.foreign or self._has_claimed)):
                raise self._refusal(noted)
            self._begin_line(transaction)
            ahead = 0
        expected = None if is_empty and not ahead else noted_dimension
        if dimension is not None and expected not in (None, dimension):
            raise wrong_size(dimension, expected)
        if dimension not in (None, noted_dimension):
            transaction.set_fact("dimension", dimension)
        self._has_claimed = True

    def _begin_line(self, transaction: Transaction) -> None:
        line = secrets.randbits(62)
        transaction.discard_staged()
        transaction.set_fact(_FACT, Noted(self._own, self._says_all, line))
        self.prove(line, is_same=True, to_write=True)

    def _may_add(self, noted: Noted, *, embeds: bool) -> bool:
        """Whether texts may be added; vectors that are there already may be used by whoever can't be told apart."""
        is_another = noted.line in self.proofs.foreign or noted.description != self._own
        return noted.line in self.proofs.to_write or self._is_described(noted) or not (embeds or is_another)

    def _is_described(self, noted: Noted) -> bool:
        return self._says_all and noted.is_of(self._own)

    def _refusal(self, noted: Noted) -> Exception:
        return self._mismatch(noted) if noted.line in self.proofs.foreign else UnprovenError()

    def _mismatch(self, noted: Noted) -> IndexMismatchError:
        other = "another embedder of that description" if noted.description == self._own else self._own
        return IndexMismatchError(
            f"{self._name} holds vectors of {noted.description} by now, and this store was opened with {other}, which "
            "embeds the same text otherwise; open it again with the first, or index the documents at another path"
        )
