"""Embeds, and proves that the store's vectors are from its embedder.

The closest matches of sentences that are embedded as questions are: the flow, from the sample to the search.

Most embedders give a text the same vector as a document and as a question. Then the sample is embedded in one call.
Others put a prompt before questions, or run another model. As LangChain embeds questions one by one, fewer sentences
make the scale then.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._io import BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.embedder import (
    MIN_SAME_COSINE,
    QueryEmbedder,
    check_same_embedder,
    embed_in_slices,
)
from langchain_sentence_window.embedding.embedder_state import Watch, describe_embedder, watch_of
from langchain_sentence_window.embedding.named_embedders import DeferredEmbeddings
from langchain_sentence_window.errors import IndexMismatchError
from langchain_sentence_window.ranking.candidates import Numbers

from .estimates import ClosestMatches, Sample
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


ASKED = 32
"""Sentences that are embedded one by one, if questions have other vectors than documents."""


async def closest_matches(io: IO, matches: ClosestMatches, guard: EmbedderGuard, size: int) -> Numbers:
    """Return how close a sample of sentences comes to others elsewhere; see `FaissStore.closest_matches`.

    Two calls at the same time may both embed a sample; their results are the same.

    Args:
        io: Makes the calls.
        matches: Finds them, and keeps what was found.
        guard: Embeds.
        size: The most sentences to embed.
    """
    kept: Numbers | None = await io.in_thread(matches.kept, size)
    if kept is not None:
        return kept
    sample: Sample = await io.in_thread(matches.sample, size)
    sample, vectors = await _as_questions(io, guard, sample)
    find = partial(matches.find, sample, vectors)
    found: Numbers = await io.in_thread(guard.run_proven, find)
    return found


async def _as_questions(io: IO, guard: EmbedderGuard, sample: Sample) -> tuple[Sample, Vectors]:
    """Embed a sample, or fewer of its sentences; return those with their vectors."""
    if not sample.texts:
        return sample, np.empty((0, 0), dtype=np.float32)
    first = await guard.queries.ask(io, sample.texts[0])
    vectors: list[Vectors] = []

    async def keep(_: Sequence[str], part: Vectors) -> None:
        vectors.append(part)

    await guard.embed(io, sample.texts, keep, show_progress=False)
    as_documents = np.concatenate(vectors)
    if _is_same(first, as_documents[0]):
        return sample, as_documents
    fewer = np.linspace(0, len(sample.texts) - 1, min(ASKED, len(sample.texts))).astype(int).tolist()
    texts = [sample.texts[at] for at in fewer]
    sample = sample._replace(rows=[sample.rows[at] for at in fewer], texts=texts)
    return sample, np.stack([await guard.queries.ask(io, text) for text in texts])


def _is_same(one: Vectors, other: Vectors) -> bool:
    return one.shape == other.shape and (float(one @ other) >= MIN_SAME_COSINE or not (one.any() or other.any()))
