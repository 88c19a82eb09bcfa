"""Writes of a store: the vectors of new texts come first, then one transaction.

Vectors are kept in memory until the transaction. They are staged in the database if they become many or embedding takes
long, and when the call is interrupted, so that the same call embeds only the rest when it is made again.
"""

from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from time import monotonic

from langchain_core.documents import Document

from langchain_sentence_window._arguments import as_iterator, check_document, checked_documents
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import gathered
from langchain_sentence_window.embedding.embedder import takes_several_calls, unit_vectors
from langchain_sentence_window.errors import SentenceWindowError

from .conversion import to_records
from .database.conditions import Condition
from .database.schema import Record, to_halves
from .embedder_guard import TEXTS_TO_WRITE, EmbedderGuard
from .origin import StaleVectorError, UnprovenError
from .session import IndexSession

MAX_UNSTAGED = 8_192
"""Vectors that are kept in memory alone."""

MAX_SECONDS_UNSTAGED = 10.0
"""How long vectors are kept in memory alone while others are embedded; so much is lost if the process is killed."""


@dataclass(eq=False, repr=False)
class Replacement:
    """Records that take the place of others, with the vectors of those of their texts that are new; see `Origin.write`.

    Attributes:
        session: The index.
        guard: Embeds, and proves that the vectors there are from its embedder.
        records: The records to add, each with another id.
        remove: A condition on the records to remove first.
        forbidden: A condition that no record may meet.
        vectors: The half-precision vectors of texts, by text, that aren't in the database. Read it while the
            replacement is written, so that the next one embeds none of these texts again.
    """

    session: IndexSession
    guard: EmbedderGuard
    records: Sequence[Record]
    remove: Condition | None = None
    forbidden: Condition | None = None
    vectors: dict[str, bytes] = field(default_factory=dict, init=False)
    _staged_at: float = field(default_factory=monotonic, init=False)

    @property
    def sentences(self) -> int:
        """The number of records to add."""
        return len(self.records)

    async def make(self, io: IO, *, show_progress: bool) -> None:
        """Embed and write, whatever others write meanwhile; write nothing if there is nothing to change."""
        while self.records or self.remove:
            await self.embed(io, self.vectors, show_progress=show_progress)
            try:
                await io.in_thread(self.write)
            except UnprovenError:
                await self.guard.prove(io, TEXTS_TO_WRITE)
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
        texts = [record.context + record.text for record in self.records]
        self.vectors = {text: known[text] for text in texts if text in known}
        while True:
            try:
                unknown: list[str] = await io.in_thread(
                    self.session.read, lambda state: state.origin.unknown_texts(state.snapshot, texts)
                )
                break
            except UnprovenError:
                await self.guard.prove(io, TEXTS_TO_WRITE)
        new = [text for text in unknown if text not in self.vectors] if self.vectors else unknown
        self._staged_at = monotonic()

        async def keep(part: Sequence[str], unit: Vectors) -> None:
            self.vectors.update(zip(part, to_halves(unit), strict=True))
            if len(self.vectors) >= MAX_UNSTAGED or monotonic() - self._staged_at > MAX_SECONDS_UNSTAGED:
                await self._stage(io)

        try:
            await self.guard.embed(io, new, keep, show_progress=show_progress)
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
            self.write(is_part=True)
        except (UnprovenError, StaleVectorError):
            return False
        return True

    def write(self, *, is_part: bool = False) -> None:
        """Write everything in one transaction; see `Origin.write`."""
        write = partial(
            self.session.origin.write,
            records=self.records,
            vectors=self.vectors,
            remove=self.remove,
            forbidden=self.forbidden,
        )
        self.session.write(write, rows_added=len(self.records), is_part=is_part)

    async def _stage(self, io: IO) -> None:
        vectors, self.vectors = self.vectors, {}
        stage = partial(self.session.origin.stage_vectors, vectors=vectors)
        await io.in_thread(partial(self.session.write, stage, is_part=True))
        self._staged_at = monotonic()


DOCUMENT_BATCH_SIZE = 5_000
"""Documents of an iterator that are added at once."""


class StoreWriter:
    """Adds and replaces documents of a store."""

    def __init__(self, session: IndexSession, guard: EmbedderGuard) -> None:
        """Write to an index.

        Args:
            session: The index.
            guard: Embeds, and proves that the vectors there are from its embedder.
        """
        self._session, self._guard = session, guard

    async def add(
        self, io: IO, documents: Iterable[Document], ids: list[str] | None, *, show_progress: bool
    ) -> list[str]:
        """Add a list at once, and an iterator in batches; see `FaissStore.add_documents`."""
        if ids is not None or isinstance(documents, Sized):
            return await self._add(io, checked_documents(documents), ids, show_progress=show_progress)
        added = list[str]()
        read = enumerate(as_iterator(documents))
        while part := await io.in_thread(lambda: list(islice(read, DOCUMENT_BATCH_SIZE))):
            for position, document in part:
                check_document(position, document)
            added += await self._add(io, [document for _, document in part], None, show_progress=show_progress)
        return added

    def add_vectors(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]] | Vectors) -> list[str]:
        """Add documents with their vectors; see `FaissStore.add_embeddings`."""
        records = to_records(documents, None)
        if records:
            unit = unit_vectors(vectors, len(records))
            latest = sorted({record.id: i for i, record in enumerate(records)}.values())
            if len(latest) < len(records):
                unit = unit[latest]
            self._guard.refresh()
            write = partial(self._session.origin.write, records=[records[i] for i in latest], vectors=unit)
            self._guard.run_proven(partial(self._session.write, write, rows_added=len(latest)), TEXTS_TO_WRITE)
        return [record.id for record in records]

    async def _add(
        self, io: IO, documents: Sequence[Document], ids: Sequence[str] | None, *, show_progress: bool
    ) -> list[str]:
        """Embed the texts that are new, then write everything at once."""
        self._guard.refresh()
        given = gathered(ids) if isinstance(ids, list | tuple) else ids
        records: list[Record] = await io.in_thread(to_records, documents, given)
        latest = list({record.id: record for record in records}.values())
        await Replacement(self._session, self._guard, latest).make(io, show_progress=show_progress)
        return [record.id for record in records]
