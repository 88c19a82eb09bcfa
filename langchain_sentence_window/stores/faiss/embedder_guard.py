"""Embeds, and proves that the store's vectors are from its embedder."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.embedder import QueryEmbedder, check_same_embedder, embed_in_slices
from langchain_sentence_window.embedding.embedder_state import Watch, describe_embedder, watch_of
from langchain_sentence_window.embedding.named_embedders import DeferredEmbeddings
from langchain_sentence_window.errors import IndexMismatchError

from .origin import Origin, RecordedEmbedder, UnprovenError
from .session import IndexSession

T = TypeVar("T")

TEXTS_TO_WRITE = 5
"""The number of texts to embed again before vectors are added."""

TEXTS_TO_READ = 1
"""The number of texts to embed again before a search."""

_SAMPLE_SIZE = 50


class EmbedderGuard:
    """Embeds for a store, and keeps the vectors of two embedders from mixing.

    Where descriptions can't tell whether the store's vectors are from its embedder, it embeds a few stored texts
    again and compares the vectors.
    """

    def __init__(self, embedding: Embeddings, watch: Watch, session: IndexSession) -> None:
        """Guard the vectors of an index.

        Args:
            embedding: The store's embedder.
            watch: Notices when the embedder changes.
            session: Holds the vectors.
        """
        self._embedding = embedding
        self._watch = watch
        self._session = session
        self.queries = QueryEmbedder(embedding)

    def check_made_with(self) -> None:
        """Check that the embedder made the index; embeds nothing if the descriptions settle it.

        Raises:
            IndexMismatchError: Another embedder made the index.
        """
        if isinstance(self._embedding, DeferredEmbeddings):
            return  # a search and a write check it too
        self.refresh()
        description, made_with = describe_embedder(self._embedding), self.recorded()
        if made_with.description in (None, description):
            return
        run(self.prove(BLOCKING, TEXTS_TO_WRITE))
        is_foreign = made_with.line in self._watch.proofs.foreign
        if is_foreign and self._session.read(lambda state: state.snapshot.state.sentences):
            raise IndexMismatchError(
                f"the index was made with {made_with.description} and can't be searched with {description}, whose "
                "vectors of the same text differ; open it with the first, or index the documents again at another path"
            )

    def is_made_with(self, embedding: Embeddings) -> bool:
        """Return whether an embedder is known to have made the vectors, without embedding anything."""
        recorded, watch = self.recorded(), watch_of(embedding)
        proofs = watch.look()
        says_all = watch.says_all and recorded.says_all
        return recorded.line in proofs.to_read or (says_all and recorded.description == describe_embedder(embedding))

    def refresh(self) -> None:
        """Notice whether the embedder was changed, other than by its own calls."""
        proofs, origin = self._watch.look(), self._session.origin
        if origin.proofs is not proofs:
            self.queries = QueryEmbedder(self._embedding)
            origin.set(describe_embedder(self._embedding), proofs, says_all=self._watch.says_all)

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
        recorded, sample = await io.in_thread(self.sample, texts)
        if sample:
            is_same: bool = await check_same_embedder(io, self._embedding, sample)
            self._watch.look(after_call=True)
            self._session.origin.prove(recorded.line, is_same=is_same, to_write=texts >= TEXTS_TO_WRITE)

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
        recorded, sample = self._session.read(
            lambda state: (Origin.recorded(state.snapshot), state.snapshot.sample_embedded(_SAMPLE_SIZE))
        )
        return recorded, sorted(sample, key=lambda pair: -len(pair[0]))[:size]

    def recorded(self) -> RecordedEmbedder:
        """Return what is recorded about the embedder of the vectors."""
        return self._session.read(lambda state: Origin.recorded(state.snapshot))
