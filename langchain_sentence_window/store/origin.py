"""Whose vectors an index holds: never two embedders' at a time."""

from langchain_sentence_window.errors import IndexMismatchError, wrong_size
from langchain_sentence_window.store.reading import Snapshot
from langchain_sentence_window.store.tables import Version
from langchain_sentence_window.store.writing import Transaction

_FACT = "embedder"


class Origin:
    """The embedder of an open index, and what the database says of the one that its vectors are from.

    The database is asked in the same transaction in which vectors are read or written, as other processes may
    write at any time. An index without sentences is anybody's.
    """

    def __init__(self, name: str) -> None:
        """Begin without an embedder, which is described by nothing.

        Args:
            name: What the index is called in messages.
        """
        self._name = name
        self._own = ""
        self._same: set[str] = set()
        self._has_claimed = False
        self._checked_at: Version | None = None

    def set(self, description: str, same_as: str | None = None) -> None:
        """Say what the vectors that come in are from.

        Args:
            description: Describes the embedder.
            same_as: Another description that was found to describe the same model.
        """
        self._own = description
        self._same = {description, *([same_as] if same_as else [])}

    @staticmethod
    def noted(snapshot: Snapshot) -> str | None:
        """What describes the embedder of the vectors that are in the database."""
        found: str | None = snapshot.fact(_FACT)
        return found

    def was_checked_at(self, version: Version) -> bool:
        """Whether `check` found nothing at this very write."""
        return self._checked_at == version

    def check(self, snapshot: Snapshot) -> None:
        """See that what is searched comes from the embedder that queries come from.

        Raises:
            IndexMismatchError: It doesn't, since another process has written.
        """
        version = snapshot.version
        if self._checked_at != version:
            if not self._is_ours(snapshot) and snapshot.state.sentences:
                raise self._mismatch(snapshot)
            self._checked_at = version

    def may_reuse(self, snapshot: Snapshot) -> bool:
        """Whether vectors in the database may be used for texts that come in.

        Raises:
            IndexMismatchError: The sentences there are another embedder's.
        """
        self.check(snapshot)
        return self._is_ours(snapshot)

    def claim(self, transaction: Transaction, dimension: int | None) -> None:
        """See that vectors may be written, before anything is changed.

        Args:
            transaction: Writes them.
            dimension: How long they are; ``None`` if they are all in the database already.

        Raises:
            IndexMismatchError: What is there is another embedder's.
            EmbeddingError: It is of another length.
        """
        is_empty = not transaction.state.sentences
        noted, noted_dimension = self.noted(transaction), transaction.fact("dimension")
        is_ours = noted is None or noted in self._same
        if not is_ours:
            if not is_empty or self._has_claimed:
                raise self._mismatch(transaction)
            transaction.discard_ahead()
        expected = None if is_empty and not transaction.count_ahead() else noted_dimension
        if dimension is not None and expected not in (None, dimension):
            raise wrong_size(dimension, expected)
        if noted is None or not is_ours:
            transaction.set_fact(_FACT, self._own)
        if dimension not in (None, noted_dimension):
            transaction.set_fact("dimension", dimension)
        self._has_claimed = True

    def _is_ours(self, snapshot: Snapshot) -> bool:
        noted = self.noted(snapshot)
        return noted is None or noted in self._same

    def _mismatch(self, snapshot: Snapshot) -> IndexMismatchError:
        return IndexMismatchError(
            f"{self._name} holds vectors of {self.noted(snapshot)} by now, and this store was opened with {self._own}; "
            "open it again with the first, or index the documents at another path"
        )
