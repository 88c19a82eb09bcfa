"""Which embedder made the vectors of a store, so that those of two never mix.

The vectors of one *line* are all from one embedder; a line is named by a random number, drawn when the first vectors
are written to a store without any. An embedder may add to a line if it made some of its vectors, if its description
says all that could change a vector and is the recorded one, or if it embedded some of the line's texts again with the
same result. The record is read in the same transaction as the vectors, as other processes may write at any time.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.embedder import QueryEmbedder, check_same_embedder, embed_in_slices
from langchain_sentence_window.embedding.embedder_state import Proofs, describe_embedder, watch_of
from langchain_sentence_window.embedding.named_embedders import DeferredEmbeddings
from langchain_sentence_window.errors import IndexMismatchError, wrong_size

from .database import Database
from .tables import Snapshot, Transaction, Version, damaged

T = TypeVar("T")

TEXTS_TO_WRITE = 5
"""The number of texts to embed again before vectors are added."""

TEXTS_TO_READ = 1
"""The number of texts to embed again before a search."""

_SAMPLE_SIZE = 50
_FACT = "embedder"


class UnprovenError(LookupError):
    """Only comparing vectors can show whether those of the index are from the embedder; see `Origin.prove`."""


class StaleVectorError(LookupError):
    """The vector of a text was stored when a call began, and was deleted by another call before it ended."""


class RecordedEmbedder(NamedTuple):
    """The record of the embedder of an index's vectors.

    Attributes:
        description: The embedder's description; ``None`` before the first write.
        says_all: Whether all embedders with this description make the same vectors.
        line: The line of the vectors.
    """

    description: str | None = None
    says_all: bool = False
    line: int | None = None


class Origin:
    """The embedder of an open store, compared with the one that is recorded.

    Attributes:
        queries: Embeds questions.
    """

    def __init__(self, embedding: Embeddings, database: Database) -> None:
        """Compare nothing yet."""
        self._embedding, self._database = embedding, database
        self._watch = watch_of(embedding)
        self._proofs: Proofs | None = None
        self._has_claimed = False
        self.refresh()

    def refresh(self) -> None:
        """Notice whether the embedder was changed, other than by its own calls."""
        proofs = self._watch.look()
        if proofs is not self._proofs:
            self._proofs, self.queries = proofs, QueryEmbedder(self._embedding)
            self._own, self._checked_at = describe_embedder(self._embedding), Version(-1)
            self._says_all = self._watch.says_all  # before its own calls, which may log or cache what isn't described

    @property
    def proofs(self) -> Proofs:
        """What is proven about the embedder."""
        return self._watch.proofs

    def check_opening(self) -> None:
        """Check that the embedder made the index; embeds nothing if the descriptions settle it.

        Raises:
            IndexMismatchError: Another embedder made the index.
        """
        if isinstance(self._embedding, DeferredEmbeddings):
            return  # a search and a write check it too
        with self._database.reading() as snapshot:
            made_with, is_empty = recorded(snapshot), not snapshot.version.sentences
        if made_with.description in (None, self._own):
            return
        run(self.prove(BLOCKING, TEXTS_TO_WRITE))
        if made_with.line in self.proofs.foreign and not is_empty:
            raise IndexMismatchError(
                f"the index was made with {made_with.description} and can't be searched with {self._own}, whose "
                "vectors of the same text differ; open it with the first, or index the documents again at another path"
            )

    def is_made_with(self, embedding: Embeddings) -> bool:
        """Return whether an embedder is known to have made the vectors, without embedding anything."""
        with self._database.reading() as snapshot:
            made_with, watch = recorded(snapshot), watch_of(embedding)
        says_all = watch.says_all and made_with.says_all
        is_described = says_all and made_with.description == describe_embedder(embedding)
        return made_with.line in watch.look().to_read or is_described

    # Embedding

    async def embed(
        self,
        io: IO,
        texts: Sequence[str],
        keep: Callable[[Sequence[str], Vectors], Awaitable[None]],
        *,
        show_progress: bool,
    ) -> None:
        """Embed texts in slices.

        A call may change its embedder, for example by loading a model. Such a change doesn't make it another embedder.

        Args:
            io: Makes the calls.
            texts: The texts to embed.
            keep: Takes the texts of each slice and their unit vectors.
            show_progress: Whether to show a progress bar.
        """
        if not texts:
            return
        try:
            await embed_in_slices(io, self._embedding, texts, keep, show_progress=show_progress)
        finally:
            self._watch.look(after_call=True)

    async def prove(self, io: IO, texts: int) -> None:
        """Embed so many stored texts again, and record whether the vectors are the same."""
        self.refresh()
        made_with, sample = await io.in_thread(self.sample, texts)
        if sample:
            is_same: bool = await check_same_embedder(io, self._embedding, sample)
            self._watch.look(after_call=True)
            self.proofs.note(made_with.line, is_same=is_same, to_write=texts >= TEXTS_TO_WRITE)

    def run_proven(self, work: Callable[[], T], texts: int = TEXTS_TO_READ) -> T:
        """Run a function, after comparing the embedder's vectors on so many texts if it needs a proof."""
        while True:
            try:
                return work()
            except UnprovenError:
                run(self.prove(BLOCKING, texts))

    def sample(self, size: int) -> tuple[RecordedEmbedder, list[tuple[str, Vectors]]]:
        """Return the recorded embedder, and the longest of some stored texts with their vectors.

        Long texts reveal a model that truncates its input, whose other vectors are the same.
        """
        with self._database.reading() as snapshot:
            made_with, sample = recorded(snapshot), snapshot.sample_embedded(_SAMPLE_SIZE)
        return made_with, sorted(sample, key=lambda pair: -len(pair[0]))[:size]

    # Checks within a transaction

    def check(self, snapshot: Snapshot) -> None:
        """Check that the vectors to search are from the embedder of the query.

        Raises:
            IndexMismatchError: They are from another embedder, as another process has written, or it was changed.
            UnprovenError: They may be.
        """
        if self._checked_at == snapshot.version:
            return
        made_with = recorded(snapshot)
        is_proven = self._is_described(made_with) or made_with.line in self.proofs.to_read
        if not is_proven and snapshot.version.sentences:
            raise self._refusal(made_with)
        self._checked_at = snapshot.version

    def unknown_texts(self, snapshot: Snapshot, texts: Sequence[str]) -> list[str]:
        """Return the texts that have no vector in the index yet, each once.

        Raises:
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        distinct = list(dict.fromkeys(texts))
        made_with, is_empty = recorded(snapshot), not snapshot.version.sentences
        if made_with.line in self.proofs.foreign:
            if not is_empty:
                raise self._refusal(made_with)
            return distinct
        known = snapshot.known_vectors(distinct)
        unknown = [text for text in distinct if text not in known]
        may_add = self._may_add(made_with, embeds=bool(unknown) or is_empty)
        if not may_add and not (is_empty and not snapshot.has_staged()):
            raise self._refusal(made_with)
        return unknown

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
        dimension = len(next(iter(vectors.values()))) // 2 if vectors else None
        made_with, before = recorded(transaction), transaction.fact("dimension", int)
        is_empty = not transaction.version.sentences
        has_staged = is_empty and transaction.has_staged()
        if not self._may_add(made_with, embeds=dimension is not None or made_with.line is None):
            is_own = made_with.line not in self.proofs.foreign or self._has_claimed
            if not is_empty or (has_staged and is_own):
                raise self._refusal(made_with)
            line, has_staged = secrets.randbits(62), False
            transaction.execute("DELETE FROM staged")
            transaction.set_fact(_FACT, RecordedEmbedder(self._own, self._says_all, line))
            self.proofs.note(line, is_same=True, to_write=True)
        expected = None if is_empty and not has_staged else before
        if dimension is not None and expected not in (None, dimension):
            raise wrong_size(dimension, expected)
        if dimension not in (None, before):
            transaction.set_fact("dimension", dimension)
        self._has_claimed = True

    def _is_described(self, made_with: RecordedEmbedder) -> bool:
        return self._says_all and made_with.says_all and made_with.description == self._own

    def _may_add(self, made_with: RecordedEmbedder, *, embeds: bool) -> bool:
        """Return whether texts may be added; an embedder that can't be told apart may use the vectors already there."""
        if made_with.line in self.proofs.to_write or self._is_described(made_with):
            return True
        is_alike = made_with.description == self._own and made_with.line not in self.proofs.foreign
        return is_alike and not embeds

    def _refusal(self, made_with: RecordedEmbedder) -> Exception:
        if made_with.line not in self.proofs.foreign:
            return UnprovenError()
        other = "another embedder of that description" if made_with.description == self._own else self._own
        return IndexMismatchError(
            f"{self._database.name} now holds vectors of {made_with.description}, but this store was opened with "
            f"{other}, whose vectors of the same text differ; open it again with the first, or index the documents at "
            "another path"
        )


def recorded(snapshot: Snapshot) -> RecordedEmbedder:
    """Return what the database records about the embedder of its vectors."""
    record = snapshot.fact(_FACT, list) or []
    if len(record) not in (0, len(RecordedEmbedder._fields)):
        raise damaged("a record of its embedder")
    return RecordedEmbedder(*record)
