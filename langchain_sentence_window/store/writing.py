"""Writes of a store: the vectors of new texts come first, then one transaction.

Vectors are kept in memory until the transaction. They are staged in the database if they become many or embedding takes
long, and when the call is interrupted, so that the same call embeds only the rest when it is made again.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.embedding.embedder import embed_in_slices, takes_several_calls
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError, StoreChangedError

from .database import Database
from .filters import Condition
from .origin import Origin, StaleVectorError, UnprovenError
from .records import Record, add_records, with_ids
from .tables import stored_text, text_checksum, to_halves

MAX_UNSTAGED = 8_192
"""Vectors that are kept in memory alone."""

MAX_SECONDS_UNSTAGED = 10.0
"""How long vectors are kept in memory alone while others are embedded; a killed process loses them."""

_BATCH_SIZE = 5_000
_MAX_ATTEMPTS = 100


@dataclass(eq=False, repr=False)
class Replacement:
    """Records that replace others, with the vectors of their new texts.

    Attributes:
        database: The database.
        origin: Embeds, and proves that the vectors there are from its embedder.
        records: The records to add; see `latest_of`.
        finish: Is called with the number of records after they were written, and whether other writes follow.
        remove: A condition on the records to remove first.
        forbidden: A condition that no record may meet; otherwise nothing is written.
        vectors: The half-precision vectors of texts, by text, that aren't in the database. Read it while the
            replacement is written, so that the next one embeds none of these texts again.
    """

    database: Database
    origin: Origin
    records: Sequence[Record]
    finish: Callable[..., None]
    remove: Condition | None = None
    forbidden: Condition | None = None
    vectors: dict[str, bytes] = field(default_factory=dict, init=False)
    _staged_at: float = field(default_factory=monotonic, init=False)

    async def make(self, io: IO, *, show_progress: bool) -> None:
        """Embed and write, regardless of concurrent writes; write nothing if there is nothing to change.

        Raises:
            StoreChangedError: Others delete what it relies on again and again.
        """
        if not self.records and not self.remove:
            return
        for _ in range(_MAX_ATTEMPTS):
            await self.embed(io, self.vectors, show_progress=show_progress)
            try:
                await io.in_thread(self.write)
            except UnprovenError:
                await self.origin.prove(io)
            except StaleVectorError:
                continue
            else:
                return
        raise StoreChangedError(f"{self.database.name} changes too often to be written; call again")

    async def embed(self, io: IO, known: Mapping[str, bytes], *, show_progress: bool) -> None:
        """Embed the texts that have no vector.

        Args:
            io: Makes the calls.
            known: Vectors that aren't in the database yet, by text.
            show_progress: Whether to show a progress bar.
        """
        texts = [record.embedded for record in self.records]
        self.vectors = {text: known[text] for text in texts if text in known}
        while True:
            try:
                unknown = await io.in_thread(self._unknown, texts)
                break
            except UnprovenError:
                await self.origin.prove(io)
        new = [text for text in unknown if text not in self.vectors]
        self._staged_at = monotonic()

        async def keep(part: Sequence[str], unit: Vectors) -> None:
            self.vectors.update(zip(part, to_halves(unit), strict=True))
            if len(self.vectors) >= MAX_UNSTAGED or monotonic() - self._staged_at > MAX_SECONDS_UNSTAGED:
                await io.in_thread(self._stage)

        try:
            await embed_in_slices(io, self.origin.embedding, new, keep, show_progress=show_progress)
        except BaseException:
            if takes_several_calls(new) and self.vectors:
                with suppress(SentenceWindowError, UnprovenError):
                    await io.to_end(self._stage)
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
        """Write everything in one transaction.

        Raises:
            InvalidInputError: A record meets the forbidden condition; nothing was changed.
            EmbeddingError: The vectors are of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
            StaleVectorError: The vector of a text isn't in the index any more.
        """
        with self.database.writing() as transaction:
            if self.forbidden is not None and len(transaction.rows(self.forbidden)):
                raise InvalidInputError(
                    "the filter doesn't match everything that would be replaced or deleted; choose other ids, or write "
                    "without a filter. Nothing was changed."
                )
            if self.records:
                self.origin.claim(transaction, self.vectors)
            if transaction.version.sentences:
                stored = [text for record in self.records if (text := record.embedded) not in self.vectors]
                sql, values = with_ids(each.id for each in self.records)
                if self.remove is not None:
                    sql, values = f"{sql} OR {self.remove[0]}", [*values, *self.remove[1]]
                transaction.remove((sql, values), stage=stored)
            last = {text_checksum(each.embedded): number for number, each in enumerate(self.records)}
            for start in range(0, len(self.records), _BATCH_SIZE):
                part = self.records[start : start + _BATCH_SIZE]
                known = transaction.known_vectors([each.embedded for each in part if each.embedded not in self.vectors])
                try:
                    vectors = [self.vectors.get(each.embedded) or known[each.embedded] for each in part]
                except KeyError as error:
                    raise StaleVectorError(*error.args) from None
                add_records(transaction, part, vectors)
                # At once, so that their pages are used again; but a later text may have the same key.
                keys = {text_checksum(each.embedded) for each in part}
                transaction.unstage([key for key in keys if last[key] < start + _BATCH_SIZE])
        self.finish(len(self.records), is_part=is_part)

    def _unknown(self, texts: Sequence[str]) -> list[str]:
        with self.database.reading() as snapshot:
            return self.origin.unknown_texts(snapshot, texts)

    def _stage(self) -> None:
        vectors, self.vectors = self.vectors, {}
        with self.database.writing() as transaction:
            self.origin.claim(transaction, vectors)
            rows = [(text_checksum(text), stored_text(text), vector) for text, vector in vectors.items()]
            transaction.insert("staged", rows)
        self._staged_at = monotonic()
