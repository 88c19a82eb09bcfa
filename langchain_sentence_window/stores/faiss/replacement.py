"""A write that is prepared: the vectors of its new texts come first, then one transaction.

Vectors are kept in memory until the transaction. They are staged in the database if they become many or embedding takes
long, and when the call is interrupted, so that the same call embeds only the rest when it is made again.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import Vectors
from langchain_sentence_window.embedding.embedder import takes_several_calls
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.stores.faiss.database.filters import Condition
from langchain_sentence_window.stores.faiss.database.schema import Record, to_halves
from langchain_sentence_window.stores.faiss.embedder_guard import TEXTS_TO_WRITE, EmbedderGuard
from langchain_sentence_window.stores.faiss.engine import StoreEngine
from langchain_sentence_window.stores.faiss.origin import UnprovenError
from langchain_sentence_window.stores.faiss.writer import StaleVectorError

MAX_UNSTAGED = 8_192
"""Vectors that are kept in memory alone."""

MAX_SECONDS_UNSTAGED = 10.0
"""How long vectors are kept in memory alone while others are embedded; so much is lost if the process is killed."""


class Replacement:
    """Records that take the place of others, with the vectors of those of their texts that are new.

    Attributes:
        vectors: The half-precision vectors of texts, by text, that aren't in the database. Read it while the
            replacement is written, so that the next one embeds none of these texts again.
    """

    def __init__(
        self,
        engine: StoreEngine,
        guard: EmbedderGuard,
        records: Sequence[Record],
        *,
        remove: Condition | None = None,
        forbidden: Condition | None = None,
    ) -> None:
        """Set what to write; see `StoreEngine.write`."""
        self._engine, self._guard = engine, guard
        self._records, self._remove, self._forbidden = records, remove, forbidden
        self.vectors: dict[str, bytes] = {}
        self._staged_at = monotonic()

    @property
    def sentences(self) -> int:
        """The number of records to add."""
        return len(self._records)

    async def make(self, io: IO, *, show_progress: bool) -> None:
        """Embed and write, whatever others write meanwhile; write nothing if there is nothing to change."""
        while self._records or self._remove:
            await self.embed(io, self.vectors, show_progress=show_progress)
            try:
                await io.in_thread(self._write)
            except UnprovenError:
                await self._guard.prove(io, TEXTS_TO_WRITE)
            except StaleVectorError:
                continue
            else:
                break

    async def embed(self, io: IO, known: Mapping[str, bytes], *, show_progress: bool) -> None:
        """Embed the texts that have no vector.

        Args:
            io: Makes the calls.
            known: Vectors that aren't in the database yet, by text.
            show_progress: Whether to show a progress bar.
        """
        texts = [record.embedded for record in self._records]
        self.vectors = {text: known[text] for text in texts if text in known}
        while True:
            try:
                unknown: list[str] = await io.in_thread(self._engine.unknown_texts, texts)
                break
            except UnprovenError:
                await self._guard.prove(io, TEXTS_TO_WRITE)
        new = [text for text in unknown if text not in self.vectors] if self.vectors else unknown
        self._staged_at = monotonic()

        async def keep(part: Sequence[str], unit: Vectors) -> None:
            self.vectors.update(zip(part, to_halves(unit), strict=True))
            if len(self.vectors) >= MAX_UNSTAGED or monotonic() - self._staged_at > MAX_SECONDS_UNSTAGED:
                await self._stage(io)

        try:
            await self._guard.embed(io, new, keep, show_progress=show_progress)
        except BaseException:
            if takes_several_calls(new) and self.vectors:
                with suppress(SentenceWindowError, UnprovenError):
                    await self._stage(io)
            raise

    def write_part(self) -> bool:
        """Write everything in one transaction that others follow, so that the indexes need not be up to date.

        Returns:
            Whether it was written. If not, another call has changed what this one relied on, and `make` does it again.
        """
        try:
            self._write(is_part=True)
        except (UnprovenError, StaleVectorError):
            return False
        return True

    def _write(self, *, is_part: bool = False) -> None:
        self._engine.write(self._records, self.vectors, remove=self._remove, forbidden=self._forbidden, is_part=is_part)

    async def _stage(self, io: IO) -> None:
        vectors, self.vectors = self.vectors, {}
        await io.in_thread(self._engine.stage_vectors, vectors)
        self._staged_at = monotonic()
