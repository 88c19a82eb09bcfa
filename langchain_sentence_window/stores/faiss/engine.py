"""The store without LangChain: a database and its two caches, FAISS and tantivy, kept in step."""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from langchain_sentence_window._types import Rows, Vectors
from langchain_sentence_window.embedding.mixing import NEIGHBOR_WEIGHTS
from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.fusion import CANDIDATES, SPREAD, fuse, spread
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.files import make_folder
from langchain_sentence_window.stores.faiss.database.filters import Condition
from langchain_sentence_window.stores.faiss.database.forking import apart_from_forks, tell_of_forks
from langchain_sentence_window.stores.faiss.database.locks import AccessLock, ClosedError, NestedWriteError
from langchain_sentence_window.stores.faiss.database.opening import is_left_of_index
from langchain_sentence_window.stores.faiss.database.schema import Record, to_halves
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.dense.cache import VectorCache
from langchain_sentence_window.stores.faiss.dense.factory import make_faiss_index
from langchain_sentence_window.stores.faiss.dense.index import VectorIndex
from langchain_sentence_window.stores.faiss.filter_cache import AbsentKeys, FilterCache
from langchain_sentence_window.stores.faiss.layout import (
    DATABASE_FILE,
    LEXICAL_FOLDER,
    VECTORS_FILE,
    StoreStats,
    bytes_by_part,
)
from langchain_sentence_window.stores.faiss.lexical.cache import LexicalCache
from langchain_sentence_window.stores.faiss.lexical.index import LexicalSearcher
from langchain_sentence_window.stores.faiss.origin import Noted, Origin

T = TypeVar("T")

_RECORD_BATCH_SIZE = 5_000
_ATTEMPTS = 100


class StaleVectorError(LookupError):
    """The vector of a text was known when a call began, and was deleted by another before it ended."""


class StoreEngine:
    """Records and their unit vectors, on disk or in memory, for any number of threads.

    Each write is one transaction. Each read is of one state: a search ranks, filters and fetches from
    what was there when it began.
    """

    def __init__(
        self, folder: Path | None, factory: str | None, weights: Sequence[float] | None, *, read_only: bool
    ) -> None:
        """Open the index in a folder, or make it there; ``None`` for one in memory.

        Args:
            folder: Where everything is kept; an absolute path, so that it means the same when the process changes
                its folder.
            factory: What FAISS calls the index; ``None`` for what it was, ``Flat`` at first.
            weights: How much of its neighbors each vector is given; ``None`` for what it was, at first
                nothing.
            read_only: Whether nothing may be written.

        Raises:
            StoreError: The folder can't be made, or what it holds isn't an index.
            IndexMismatchError: The index has a format this version can't read.
        """
        self._folder = folder
        self.name = str(folder) if folder else "the store in memory"
        if factory is not None:
            make_faiss_index(factory, 64)
        self._gate = AccessLock()
        self._selections, self._absent_keys = FilterCache(), AbsentKeys()
        self.origin = Origin(self.name)
        apart_from_forks(lambda: self._open(factory, weights, read_only=read_only))
        # A store is often dropped without being closed.
        self._finalizer = weakref.finalize(self, _close, self._gate, self._database, self._vectors, self._lexical)

    def close(self) -> None:
        """Wait for the calls that are at work, and close all files; all later calls fail."""
        _close(self._gate, self._database, self._vectors, self._lexical)
        self._finalizer.detach()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._gate.is_closed

    @property
    def is_read_only(self) -> bool:
        """Whether nothing may be written."""
        return self._database.read_only

    def __len__(self) -> int:
        """The number of records."""
        return self._read(lambda snapshot: snapshot.state.sentences)

    def embedder(self) -> Noted:
        """What is noted of the embedder the vectors came from."""
        return self._read(Origin.noted)

    def sample_embedded(self, most: int) -> tuple[Noted, list[tuple[str, Vectors]]]:
        """Some texts as they were embedded, with their vectors, and what is noted of the embedder."""
        return self._read(lambda snapshot: (Origin.noted(snapshot), snapshot.sample_embedded(most)))

    # Writing

    def unknown_texts(self, texts: Iterable[str]) -> list[str]:
        """Those texts that have no vector in the index yet, each once.

        Raises:
            IndexMismatchError: The index has become another embedder's.
            UnprovenError: It may have.
        """
        distinct = list(dict.fromkeys(texts))

        def work(snapshot: Snapshot) -> list[str]:
            if not self.origin.may_reuse(snapshot):
                return distinct
            parts = (
                distinct[start : start + _RECORD_BATCH_SIZE] for start in range(0, len(distinct), _RECORD_BATCH_SIZE)
            )
            unknown = [
                text for part in parts for known in [snapshot.known_vectors(part)] for text in part if text not in known
            ]
            self.origin.check_to_add(snapshot, embeds=bool(unknown))
            return unknown

        return self._read(work)

    def stage_vectors(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep vectors of texts that will be written later, for when the call is interrupted.

        Raises:
            IndexMismatchError: The index has become another embedder's.
            UnprovenError: It may have.
        """

        def work(transaction: Transaction) -> None:
            self.origin.claim(transaction, vectors.shape[1])
            transaction.stage_vectors(zip(texts, to_halves(vectors), strict=True))

        self._write(work)

    def discard_staged(self) -> int:
        """Drop what `stage_vectors` kept; return how many texts that were."""
        return self._write(lambda transaction: transaction.discard_staged())

    def write(
        self,
        records: Sequence[Record] = (),
        vectors: Vectors | Mapping[str, bytes] | None = None,
        *,
        remove: Condition | None = None,
        forbidden: Condition | None = None,
    ) -> None:
        """Remove records and add others, replacing those with the same id, in one transaction.

        Args:
            records: What to add; each has another id.
            vectors: Unit vectors of shape ``(len(records), dimension)``, or half-precision ones by text;
                those of texts it lacks are in the index.
            remove: What to remove first.
            forbidden: What mustn't be there, or nothing is done.

        Raises:
            InvalidInputError: There is what is forbidden; nothing was changed.
            EmbeddingError: The vectors are of another size than those of the index.
            IndexMismatchError: The index has become another embedder's.
            UnprovenError: It may have; nothing was changed.
            StoreError: SQLite can't write; nothing was changed.
            StaleVectorError: The vector of a text isn't in the index any more; nothing was changed.
        """

        def work(transaction: Transaction) -> None:
            if forbidden and len(transaction.rows(forbidden)):
                raise InvalidInputError(
                    "the filter doesn't let through all that would be replaced or deleted; choose other ids, or write "
                    "without a filter. Nothing was changed."
                )
            if records:
                self.origin.claim(transaction, _dimension_of(vectors))
            if remove:
                transaction.remove(remove)
            for start in range(0, len(records), _RECORD_BATCH_SIZE):
                part = records[start : start + _RECORD_BATCH_SIZE]
                if isinstance(vectors, np.ndarray):
                    halves = to_halves(vectors[start : start + len(part)])
                else:
                    halves = _halves_of([record.embedded for record in part], vectors or {}, transaction)
                transaction.add(part, halves)
                transaction.forget_staged({record.embedded for record in part})

        self._write(work)
        self._apart(lambda: self._follow(len(records)))

    def _follow(self, added: int) -> None:
        self._vectors.follow()
        self._lexical.follow(added)

    # Reading

    def fetch(self, ids: Sequence[str], where: Condition = ("1", [])) -> dict[str, Record]:
        """Fetch records by id; ids that don't exist, or for which a condition doesn't hold, are left out."""
        return self._read(lambda snapshot: snapshot.by_ids(ids, where))

    def unknown_keys(self, keys: Sequence[str]) -> list[str]:
        """Those of some keys that no record's metadata has; none of an empty index, where nothing is known."""
        return self._read(lambda snapshot: self._absent_keys.among(keys, snapshot))

    def in_order(self) -> Iterator[tuple[list[Record], Vectors]]:
        """Yield all records by document and index, with their vectors, in slices that cut no section.

        All are of the state that the index was in when the first was read. Nobody waits between two slices.
        """
        copy = self._apart(self._database.private_copy)
        source = copy or self._database
        reading = self._apart(lambda: source.begin_reading(_slices))
        try:
            while part := self._apart(lambda: source.read_on(reading)):
                yield part
        finally:
            if copy is not None:
                copy.close()
            else:
                with suppress(StoreError):
                    self._apart(reading.end)

    def search(self, vector: Vectors, k: int, where: Condition | None = None) -> list[tuple[Record, float]]:
        """Find the ``k`` records nearest to a unit vector among those for which a condition holds.

        Returns:
            Records with their cosines, best first.

        Raises:
            EmbeddingError: The vector is of another size than those of the index.
            IndexMismatchError: The index has become another embedder's.
        """

        def work(snapshot: Snapshot, index: VectorIndex | None) -> list[tuple[Record, float]]:
            self.origin.check(snapshot)
            nearest = index.search(vector, k, self._allowed(snapshot, where)) if index else []
            return _with_records(snapshot, nearest)

        def search() -> list[tuple[Record, float]]:
            at_once = None if where else self._search_at_once(vector, k)
            return self._vectors.read(work) if at_once is None else at_once

        return self._apart(search)

    def _search_at_once(self, vector: Vectors, k: int) -> list[tuple[Record, float]] | None:
        """Search, and see only then whether the index was current; ``None`` if it wasn't.

        After FAISS has compared all, nothing else is in the CPU's caches any more. What is left to do is
        kept short, and at one place.
        """
        answer = self._vectors.ask(lambda index: index.search(vector, k, None))
        if answer is None:
            return None
        nearest, version = answer
        if not nearest or not self.origin.was_checked_at(version):
            return None
        records = self._database.records_at(version, [row for row, _ in nearest])
        return None if records is None else [(records[row], score) for row, score in nearest]

    def search_with_vectors(
        self, vector: Vectors, k: int, where: Condition | None = None
    ) -> list[tuple[Record, Vectors]]:
        """Find what `search` finds, with the vectors as they were embedded instead of the cosines."""

        def work(snapshot: Snapshot, index: VectorIndex | None) -> list[tuple[Record, Vectors]]:
            self.origin.check(snapshot)
            nearest = index.search(vector, k, self._allowed(snapshot, where)) if index else []
            vectors = snapshot.vectors_of([row for row, _ in nearest])
            return [
                (record, vectors[row])
                for (row, _), (record, _) in zip(nearest, _with_records(snapshot, nearest), strict=True)
            ]

        return self._apart(lambda: self._vectors.read(work))

    def lexical_search(self, query: str, k: int, where: Condition | None = None) -> list[tuple[Record, float]]:
        """Find the ``k`` records that match a query's words best, with their BM25 scores, best first."""

        def work(snapshot: Snapshot, searcher: LexicalSearcher) -> list[tuple[Record, float]]:
            return _with_records(snapshot, searcher.search(query, k, self._allowed(snapshot, where)))

        return self._apart(lambda: self._lexical.read(work))

    def hybrid_search(
        self, vector: Vectors, query: str, k: int, weight: float, where: Condition | None = None
    ) -> list[tuple[Record, float]]:
        """Find the ``k`` records that are best by meaning and words together; see `fuse`.

        Raises:
            EmbeddingError: The vector is of another size than those of the index.
            IndexMismatchError: The index has become another embedder's.
            StoreError: Others write so fast that no state lasts as long as it takes to read it.
        """
        candidates = max(k, CANDIDATES)

        def search(snapshot: Snapshot, index: VectorIndex | None) -> list[tuple[Record, float]] | None:
            searcher = self._lexical.searcher_at(snapshot.version)
            if searcher is None:
                return None
            self.origin.check(snapshot)
            if index is None:
                return []
            allowed = self._allowed(snapshot, where)
            scores = dict(searcher.search(query, candidates, allowed))
            cosines = dict(index.search(vector, candidates, allowed))
            lexical = spread(scores, snapshot.neighbors(list(scores), len(SPREAD) - 1))
            others = np.array(sorted(lexical.keys() - cosines.keys()), dtype=np.int64)
            if allowed is not None:
                others = others[np.isin(others, allowed)]
            if len(others):
                cosines |= dict(index.search(vector, len(others), others))
            return _with_records(snapshot, fuse(cosines, lexical, weight)[:k])

        def search_one_state() -> list[tuple[Record, float]]:
            for _ in range(_ATTEMPTS):
                found = self._vectors.read(search)
                if found is not None:
                    return found
                self._lexical.catch_up()
            raise StoreError(f"{self.name} is written all the time, so no state of it can be searched; search again")

        return self._apart(search_one_state)

    def stats(self) -> StoreStats:
        """Count what the index holds."""
        state, documents, ahead = self._read(
            lambda snapshot: (snapshot.state, snapshot.count_documents(), snapshot.count_staged())
        )
        return StoreStats(
            documents=documents,
            sentences=state.sentences,
            bytes=bytes_by_part(self._folder),
            index=self.factory,
            neighbor_weights=self.weights,
            tombstones=self._vectors.tombstones,
            rebuild_saves=self._vectors.wasted_bytes,
            generation=state.generation,
            embedded_ahead=ahead,
        )

    def _allowed(self, snapshot: Snapshot, where: Condition | None) -> Rows | None:
        return None if where is None else self._selections.of(snapshot, where)

    # The files

    def save(self) -> None:
        """Bring the caches up to date and into their files, so that the next opening needn't.

        Raises:
            StoreError: The index is in memory or read-only, or a file can't be written.
        """
        if self._folder is None:
            raise StoreError("the store is in memory only; give save() a path to write it to")

        def work() -> None:
            self._vectors.save()
            self._lexical.catch_up()
            self._database.seal()

        self._apart(work)

    def copy_to(self, folder: Path) -> None:
        """Copy the records into a folder that holds no index yet.

        Raises:
            StoreError: The folder can't be made, or holds an index.
        """
        if self._folder is not None and folder.is_relative_to(self._folder):
            raise StoreError(f"{str(folder)!r} is in the store's own folder, where caches are; choose another folder")
        make_folder(folder)
        if (folder / DATABASE_FILE).exists() or is_left_of_index(folder / DATABASE_FILE):
            raise StoreError(f"{str(folder)!r} holds an index already; choose another folder, or remove that one")
        self._apart(lambda: self._database.copy_to(folder / DATABASE_FILE))

    # Forks

    def before_fork(self) -> None:
        """Close what must not cross a fork."""
        self._database.before_fork()

    def after_fork_in_parent(self) -> None:
        """Go on with what was closed."""
        self._database.after_fork_in_parent()

    def after_fork(self, *, was_quiet: bool) -> None:
        """Begin anew in another process."""
        self._gate.reset()
        self._database.after_fork(was_quiet=was_quiet)
        self._vectors.after_fork(was_quiet=was_quiet)
        self._lexical.after_fork()

    # Machinery

    def _open(self, factory: str | None, weights: Sequence[float] | None, *, read_only: bool) -> None:
        folder = self._folder
        if folder and not read_only:
            make_folder(folder)
        self._database = Database(folder / DATABASE_FILE if folder else None, read_only=read_only)
        try:
            kept = self._database.read(lambda snapshot: snapshot.fact("settings")) or {}
            self.factory: str = factory or kept.get("index", "Flat")
            self.weights: tuple[float, ...] = tuple(weights or kept.get("weights", NEIGHBOR_WEIGHTS))
            settings = {"index": self.factory, "weights": list(self.weights)}
            if settings != kept and not read_only:
                self._database.write(lambda transaction: transaction.set_fact("settings", settings))
        except BaseException:
            self._database.close()
            raise
        file = folder / VECTORS_FILE if folder else None
        self._vectors = VectorCache(self._database, file, self.factory, self.weights)
        self._lexical = LexicalCache(self._database, folder / LEXICAL_FOLDER if folder else None)
        tell_of_forks(self)

    def _read(self, work: Callable[[Snapshot], T]) -> T:
        return self._apart(lambda: self._database.read(work))

    def _write(self, work: Callable[[Transaction], T]) -> T:
        return self._apart(lambda: self._database.write(work))

    def _apart(self, work: Callable[[], T]) -> T:
        """Do something that closing waits for, and a fork."""
        try:
            return apart_from_forks(lambda: self._gate.read(work))
        except ClosedError:
            raise StoreError(f"{self.name} is closed; open it again") from None
        except NestedWriteError as error:
            raise StoreError(f"{self.name} can't be written: {error}; let the first call end") from None


def _close(gate: AccessLock, database: Database, vectors: VectorCache, lexical: LexicalCache) -> None:
    """Close an index, also one that is only known by its parts, as it was dropped."""

    def finish() -> None:
        try:
            database.close()
        finally:
            vectors.close()
            lexical.close()

    gate.close(lambda: apart_from_forks(finish))


def _slices(snapshot: Snapshot, first: int) -> Iterator[tuple[list[Record], Vectors]]:
    for rows, vectors, _ in islice(snapshot.vectors_in_order(("1", [])), first, None):
        records = snapshot.by_rows(rows.tolist())
        yield [records[row] for row in rows.tolist()], vectors


def _dimension_of(vectors: Vectors | Mapping[str, bytes] | None) -> int | None:
    """How long vectors are; ``None`` of none."""
    if isinstance(vectors, np.ndarray):
        return int(vectors.shape[1])
    return len(next(iter(vectors.values()))) // 2 if vectors else None


def _halves_of(texts: Sequence[str], given: Mapping[str, bytes], transaction: Transaction) -> list[bytes]:
    lacking = [text for text in texts if text not in given]
    known = transaction.known_vectors(lacking) if lacking else {}
    try:
        return [given[text] if text in given else known[text] for text in texts]
    except KeyError as error:
        raise StaleVectorError(*error.args) from None


def _with_records(snapshot: Snapshot, found: Sequence[tuple[int, float]]) -> list[tuple[Record, float]]:
    records = snapshot.by_rows([row for row, _ in found])
    if len(records) < len(found):
        raise StoreError("the database lacks sentences that its index has, so it is damaged; restore it from a backup")
    return [(records[row], score) for row, score in found]
