"""Which embedder made the vectors of a store, so that those of two never mix.

The vectors of one *line* are all from one embedder. A line is identified by a random number, drawn when the first
vectors are written to a store without any. The record is read in the same transaction as the vectors, as other
processes may write at any time. If names don't settle whether the embedder is the recorded one, a transaction raises an
`UnprovenError`. Then a few stored texts are embedded again, and the transaction is tried once more.

An embedder whose model changes while the store is open isn't noticed.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.embedder import QueryEmbedder
from langchain_sentence_window.embedding.identity import (
    describe_embedder,
    longest_texts,
    makes_vectors,
    names_model,
)
from langchain_sentence_window.embedding.named_embedders import DeferredEmbeddings
from langchain_sentence_window.errors import IndexMismatchError, wrong_size

from .database import Database
from .tables import Snapshot, Transaction, Version, damaged

T = TypeVar("T")

_SAMPLE_SIZE = 50
_FACT = "embedder"


class UnprovenError(LookupError):
    """Only a comparison of vectors can show whether the embedder made those of the index; see `Origin.prove`."""


class StaleVectorError(LookupError):
    """The vector of a text was stored when a call began, and was deleted by another call before it ended."""


class RecordedEmbedder(NamedTuple):
    """The record of the embedder of an index's vectors.

    Attributes:
        name: Its name by `describe_embedder`; ``None`` before the first write.
        line: The line of the vectors.
    """

    name: str | None = None
    line: int | None = None


class Origin:
    """The embedder of an open store, compared with the one that is recorded.

    Attributes:
        embedding: The embedder.
        queries: Embeds questions.
    """

    def __init__(self, embedding: Embeddings, database: Database) -> None:
        """Take the embedder, without a comparison."""
        self.embedding, self._database = embedding, database
        self._name, self._names_model = describe_embedder(embedding), names_model(embedding)
        self._is_own: dict[int | None, bool] = {}  # by line; each change is one operation, so it needs no lock
        self._checked_at = Version(-1)
        self.queries = QueryEmbedder(embedding)

    def check_opening(self) -> None:
        """Refuse an embedder of another name whose vectors differ.

        Raises:
            IndexMismatchError: Another embedder made the index.
        """
        if isinstance(self.embedding, DeferredEmbeddings):
            return  # it is checked when it is first used
        with self._database.reading() as snapshot:
            made_with = recorded_embedder(snapshot)
        if made_with.name in (None, self._name):
            return

        def check() -> None:
            with self._database.reading() as snapshot:
                self.check(snapshot)

        self.run_proven(check)

    def sample_for(self, embedding: Embeddings) -> list[tuple[str, Vectors]]:
        """Return a few long texts with their vectors; nothing if an embedder's name proves that it made the vectors."""
        made_with, sample = self._sample()
        is_proven = names_model(embedding) and made_with.name == describe_embedder(embedding)
        return [] if is_proven else sample

    async def prove(self, io: IO) -> None:
        """Embed a few stored texts again, and remember whether the vectors are the same."""
        made_with, sample = await io.in_thread(self._sample)
        # A line without vectors gets none, as the next write begins another; so the result doesn't matter then.
        self._is_own[made_with.line] = await makes_vectors(io, self.embedding, sample)

    def run_proven(self, work: Callable[[], T]) -> T:
        """Run a function, again after comparing vectors if it needs that."""
        while True:
            try:
                return work()
            except UnprovenError:
                run(self.prove(BLOCKING))

    def _sample(self) -> tuple[RecordedEmbedder, list[tuple[str, Vectors]]]:
        """Return the recorded embedder, and a few long texts with their vectors."""
        with self._database.reading() as snapshot:
            return recorded_embedder(snapshot), longest_texts(snapshot.sample_embedded(_SAMPLE_SIZE))

    # Checks within a transaction

    def check(self, snapshot: Snapshot) -> None:
        """Check that the vectors to search are from the embedder of the query.

        Raises:
            IndexMismatchError: They are from another embedder.
            UnprovenError: They may be.
        """
        if self._checked_at == snapshot.version:
            return
        if snapshot.version.sentences:
            self._require_own(recorded_embedder(snapshot))
        self._checked_at = snapshot.version

    def unknown_texts(self, snapshot: Snapshot, texts: Sequence[str]) -> list[str]:
        """Return the texts that have no vector in the index yet, each once.

        Raises:
            IndexMismatchError: There are some, and the vectors in the index are from another embedder.
            UnprovenError: They may be.
        """
        distinct = list(dict.fromkeys(texts))
        known = snapshot.known_vectors(distinct)
        unknown = [text for text in distinct if text not in known]
        if snapshot.version.sentences:
            if unknown:
                self._require_own(recorded_embedder(snapshot))
            return unknown
        # An interrupted call left these vectors behind: they serve its embedder alone.
        return unknown if known and self._made(recorded_embedder(snapshot)) else distinct

    def claim(self, transaction: Transaction, vectors: Mapping[str, bytes]) -> None:
        """Check that vectors may be written, before anything is changed.

        Args:
            transaction: The transaction that will write them.
            vectors: The half-precision vectors by text; none if all are in the database already.

        Raises:
            IndexMismatchError: The vectors there are from another embedder.
            UnprovenError: They may be.
            EmbeddingError: The vectors there have another length.
        """
        made_with, before = recorded_embedder(transaction), transaction.fact("dimension", int)
        expected = before
        if not transaction.version.sentences and not (transaction.has_staged() and self._made(made_with)):
            line, expected = secrets.randbits(62), None
            transaction.execute("DELETE FROM staged")
            transaction.set_fact(_FACT, RecordedEmbedder(self._name, line))
            self._is_own[line] = True
        elif vectors:
            self._require_own(made_with)
        if vectors:
            dimension = len(next(iter(vectors.values()))) // 2
            if expected not in (None, dimension):
                raise wrong_size(dimension, expected)
            if dimension != before:
                transaction.set_fact("dimension", dimension)

    def _made(self, made_with: RecordedEmbedder) -> bool:
        """Return whether the embedder made the vectors of a line.

        Raises:
            UnprovenError: Its name doesn't say so.
        """
        if made_with.line in self._is_own:
            return self._is_own[made_with.line]
        if not self._names_model or made_with.name != self._name:
            raise UnprovenError
        return True

    def _require_own(self, made_with: RecordedEmbedder) -> None:
        if not self._made(made_with):
            own = "another embedder of that name" if made_with.name == self._name else self._name
            raise IndexMismatchError(
                f"{self._database.name} holds vectors of {made_with.name}, and was opened with {own}, whose vectors of "
                "the same text differ; open it with the first, or index the documents again at another path"
            )


def recorded_embedder(snapshot: Snapshot) -> RecordedEmbedder:
    """Return what the database records about the embedder of its vectors."""
    record = snapshot.fact(_FACT, list) or []
    if len(record) not in (0, len(RecordedEmbedder._fields)):
        raise damaged("a record of its embedder")
    return RecordedEmbedder(*record)
