"""The store without LangChain: a database and its two caches, FAISS and tantivy, kept in step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from langchain_sentence_window.embedding.mixing import NEIGHBOR_WEIGHTS, Vectors
from langchain_sentence_window.errors import InvalidInputError, StoreError, wrong_size
from langchain_sentence_window.fusion import CANDIDATES, SPREAD, fuse, spread
from langchain_sentence_window.store.connections import HEAD_FILE, SEAL_FILE
from langchain_sentence_window.store.database import Database
from langchain_sentence_window.store.faiss_kinds import make_faiss_index
from langchain_sentence_window.store.filters import Condition
from langchain_sentence_window.store.lexical import LexicalSearcher
from langchain_sentence_window.store.lexical_cache import LexicalCache
from langchain_sentence_window.store.reading import Snapshot
from langchain_sentence_window.store.selections import Selections
from langchain_sentence_window.store.stats import DATABASE_FILE, LEXICAL_FOLDER, VECTORS_FILE, StoreStats, bytes_by_part
from langchain_sentence_window.store.tables import Record, Rows, to_halves
from langchain_sentence_window.store.vector_cache import VectorCache
from langchain_sentence_window.store.vectors import VectorIndex
from langchain_sentence_window.store.writing import Transaction

_RECORDS_AT_ONCE = 5_000


class VanishedTextError(LookupError):
    """The vector of a text was known when a call began, and was deleted by another before it ended."""


class SentenceIndex:
    """Records and their unit vectors, on disk or in memory, for any number of threads.

    Each write is one transaction. Each read is of one state: a search ranks, filters and fetches from
    what was there when it began.
    """

    def __init__(
        self, folder: Path | None, factory: str | None, weights: Sequence[float] | None, *, read_only: bool
    ) -> None:
        """Open the index in a folder, or make it there; ``None`` for one in memory.

        Args:
            folder: Where everything is kept.
            factory: What FAISS calls the index; ``None`` for what it was, ``Flat`` at first.
            weights: How much of its neighbours each vector is given; ``None`` for what it was, at first
                nothing.
            read_only: Whether nothing may be written.

        Raises:
            StoreError: The folder can't be made, or what it holds isn't an index.
            IndexMismatchError: The index has a format this version can't read.
        """
        self._folder = folder
        if factory is not None:
            make_faiss_index(factory, 64)
        if folder and not read_only:
            make_folder(folder)
        self._database = Database(folder / DATABASE_FILE if folder else None, read_only=read_only)
        try:
            with self._database.snapshot() as snapshot:
                kept = snapshot.fact("settings") or {}
            self.factory: str = factory or kept.get("index", "Flat")
            self.weights: tuple[float, ...] = tuple(weights or kept.get("weights", NEIGHBOR_WEIGHTS))
            settings = {"index": self.factory, "weights": list(self.weights)}
            if settings != kept and not read_only:
                with self._database.transaction() as transaction:
                    transaction.set_fact("settings", settings)
        except BaseException:
            self._database.close()
            raise
        file = folder / VECTORS_FILE if folder else None
        self._vectors = VectorCache(self._database, file, self.factory, self.weights)
        self._lexical = LexicalCache(self._database, folder / LEXICAL_FOLDER if folder else None)
        self._selections = Selections()

    def close(self) -> None:
        """Close all files."""
        self._database.close()
        self._vectors.close()
        self._lexical.close()

    def __len__(self) -> int:
        """The number of records."""
        with self._database.snapshot() as snapshot:
            return snapshot.state.sentences

    def embedder(self) -> str | None:
        """What describes the embedder the vectors came from; ``None`` before the first write."""
        with self._database.snapshot() as snapshot:
            found: str | None = snapshot.fact("embedder")
            return found

    def first(self) -> tuple[str, Vectors] | None:
        """What was embedded of the first record, and its vector, if there is one."""
        with self._database.snapshot() as snapshot:
            return snapshot.first()

    # Writing

    def unknown_texts(self, texts: Iterable[str]) -> list[str]:
        """Those texts that have no vector in the index yet, each once."""
        with self._database.snapshot() as snapshot:
            distinct = list(dict.fromkeys(texts))
            return [
                text
                for start in range(0, len(distinct), _RECORDS_AT_ONCE)
                for part in [distinct[start : start + _RECORDS_AT_ONCE]]
                for known in [snapshot.known_vectors(part)]
                for text in part
                if text not in known
            ]

    def keep_ahead(self, texts: Sequence[str], vectors: Vectors, embedder: str) -> None:
        """Keep vectors of texts that will be written later, for when the call is interrupted."""
        with self._database.transaction() as transaction:
            _note(transaction, vectors.shape[1], embedder)
            transaction.keep_ahead(zip(texts, to_halves(vectors), strict=True))

    def write(
        self,
        records: Sequence[Record] = (),
        vectors: Vectors | Mapping[str, bytes] | None = None,
        *,
        remove: Condition | None = None,
        forbidden: Condition | None = None,
        embedder: str | None = None,
    ) -> None:
        """Remove records and add others, replacing those with the same id, in one transaction.

        Args:
            records: What to add; each has another id.
            vectors: Unit vectors of shape ``(len(records), dimension)``, or half-precision ones by text;
                those of texts it lacks are in the index.
            remove: What to remove first.
            forbidden: What mustn't be there, or nothing is done.
            embedder: What describes the embedder of the vectors.

        Raises:
            InvalidInputError: There is what is forbidden; nothing was changed.
            EmbeddingError: The vectors are of another size than those of the index.
            StoreError: SQLite can't write; nothing was changed.
            VanishedTextError: The vector of a text isn't in the index any more; nothing was changed.
        """
        with self._database.transaction() as transaction:
            if forbidden and len(transaction.rows(forbidden)):
                raise InvalidInputError(
                    "the filter doesn't let through all that would be replaced or deleted; choose other ids, or write "
                    "without a filter. Nothing was changed."
                )
            if remove:
                transaction.remove(remove)
            for start in range(0, len(records), _RECORDS_AT_ONCE):
                part = records[start : start + _RECORDS_AT_ONCE]
                if isinstance(vectors, np.ndarray):
                    halves = to_halves(vectors[start : start + len(part)])
                else:
                    halves = _halves_of([record.embedded for record in part], vectors or {}, transaction)
                _note(transaction, len(halves[0]) // 2, embedder)
                transaction.add(part, halves)
                transaction.forget_ahead({record.embedded for record in part})
        self._vectors.follow()
        self._lexical.follow(len(records))

    # Reading

    def fetch(self, ids: Sequence[str], where: Condition = ("1", [])) -> dict[str, Record]:
        """Fetch records by id; ids that don't exist, or for which a condition doesn't hold, are left out."""
        with self._database.snapshot() as snapshot:
            return snapshot.by_ids(ids, where)

    def in_order(self) -> Iterator[tuple[list[Record], Vectors]]:
        """Yield all records by document and index, with their vectors, in slices that cut no section."""
        with self._database.snapshot() as snapshot:
            for rows, vectors, _ in snapshot.vectors_in_order(("1", [])):
                records = snapshot.by_rows(rows.tolist())
                yield [records[row] for row in rows.tolist()], vectors

    def search(self, vector: Vectors, k: int, where: Condition | None = None) -> list[tuple[Record, float]]:
        """Find the ``k`` records nearest to a unit vector among those for which a condition holds.

        Returns:
            Records with their cosines, best first.

        Raises:
            EmbeddingError: The vector is of another size than those of the index.
        """

        def work(snapshot: Snapshot, index: VectorIndex | None) -> list[tuple[Record, float]]:
            nearest = index.search(vector, k, self._allowed(snapshot, where)) if index else []
            return _with_records(snapshot, nearest)

        at_once = None if where else self._search_at_once(vector, k)
        return self._vectors.read(work) if at_once is None else at_once

    def _search_at_once(self, vector: Vectors, k: int) -> list[tuple[Record, float]] | None:
        """Search, and see only then whether the index was current; ``None`` if it wasn't.

        After FAISS has compared all, nothing else is in the CPU's caches any more. What is left to do is
        kept short, and at one place.
        """
        answer = self._vectors.ask(lambda index: index.search(vector, k, None))
        if answer is None:
            return None
        nearest, version = answer
        if not nearest:
            return None
        records = self._database.records_at(version, [row for row, _ in nearest])
        return None if records is None else [(records[row], score) for row, score in nearest]

    def search_with_vectors(
        self, vector: Vectors, k: int, where: Condition | None = None
    ) -> list[tuple[Record, Vectors]]:
        """Find what `search` finds, with the vectors as they were embedded instead of the cosines."""

        def work(snapshot: Snapshot, index: VectorIndex | None) -> list[tuple[Record, Vectors]]:
            nearest = index.search(vector, k, self._allowed(snapshot, where)) if index else []
            vectors = snapshot.vectors_of([row for row, _ in nearest])
            return [
                (record, vectors[row])
                for (row, _), (record, _) in zip(nearest, _with_records(snapshot, nearest), strict=True)
            ]

        return self._vectors.read(work)

    def lexical_search(self, query: str, k: int, where: Condition | None = None) -> list[tuple[Record, float]]:
        """Find the ``k`` records that match a query's words best, with their BM25 scores, best first."""

        def work(snapshot: Snapshot, searcher: LexicalSearcher) -> list[tuple[Record, float]]:
            return _with_records(snapshot, searcher.search(query, k, self._allowed(snapshot, where)))

        return self._lexical.read(work)

    def hybrid_search(
        self, vector: Vectors, query: str, k: int, weight: float, where: Condition | None = None
    ) -> list[tuple[Record, float]]:
        """Find the ``k`` records that are best by meaning and words together; see `fuse`."""
        found = max(k, CANDIDATES)

        def words(snapshot: Snapshot, searcher: LexicalSearcher) -> dict[int, float]:
            return dict(searcher.search(query, found, self._allowed(snapshot, where)))

        scores = self._lexical.read(words)

        def work(snapshot: Snapshot, index: VectorIndex | None) -> list[tuple[Record, float]]:
            if index is None:
                return []
            allowed = self._allowed(snapshot, where)
            cosines = dict(index.search(vector, found, allowed))
            lexical = spread(scores, snapshot.neighbours(list(scores), len(SPREAD) - 1))
            others = np.array(sorted(lexical.keys() - cosines.keys()), dtype=np.int64)
            if allowed is not None:
                others = others[np.isin(others, allowed)]
            if len(others):
                # Rows that were removed since the lexical search are not found, and so left out.
                cosines |= dict(index.search(vector, len(others), others))
            return _with_records(snapshot, fuse(cosines, lexical, weight)[:k])

        return self._vectors.read(work)

    def stats(self) -> StoreStats:
        """Count what the index holds."""
        with self._database.snapshot() as snapshot:
            state, documents, ahead = snapshot.state, snapshot.count_documents(), snapshot.count_ahead()
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
        self._vectors.save()
        self._lexical.catch_up()
        self._database.seal()

    def copy_to(self, folder: Path) -> None:
        """Copy the records into a folder that holds no index yet.

        Raises:
            StoreError: The folder can't be made, or holds an index.
        """
        make_folder(folder)
        if any((folder / name).exists() for name in (DATABASE_FILE, SEAL_FILE, HEAD_FILE)):
            raise StoreError(f"{str(folder)!r} holds an index already; choose another folder, or remove that one")
        self._database.copy_to(folder / DATABASE_FILE)


def make_folder(folder: Path) -> None:
    """Make a folder if it isn't there.

    Raises:
        StoreError: It can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{str(folder)!r} can't be used as an index's folder: {error}; choose another path") from error


def _halves_of(texts: Sequence[str], given: Mapping[str, bytes], transaction: Transaction) -> list[bytes]:
    lacking = [text for text in texts if text not in given]
    known = transaction.known_vectors(lacking) if lacking else {}
    try:
        return [given[text] if text in given else known[text] for text in texts]
    except KeyError as error:
        raise VanishedTextError(*error.args) from None


def _note(transaction: Transaction, dimension: int, embedder: str | None) -> None:
    _check_size(transaction, dimension)
    for name, value in (("dimension", dimension), ("embedder", embedder)):
        if value is not None and transaction.fact(name) != value:
            transaction.set_fact(name, value)


def _check_size(snapshot: Snapshot, size: int) -> None:
    dimension = snapshot.fact("dimension")
    if dimension not in (None, size):
        raise wrong_size(size, dimension)


def _with_records(snapshot: Snapshot, found: Sequence[tuple[int, float]]) -> list[tuple[Record, float]]:
    records = snapshot.by_rows([row for row, _ in found])
    if len(records) < len(found):
        raise StoreError("the database lacks sentences that its index has, so it is damaged; restore it from a backup")
    return [(records[row], score) for row, score in found]
