"""The searches of the engine, each in one state of the database."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window._validation import as_number, checked_callback, checked_flag, checked_weight, listed
from langchain_sentence_window.documents.keys import RENAMED
from langchain_sentence_window.documents.sentence_documents import Beside, FoundSentences
from langchain_sentence_window.documents.window_fields import CONTRACT_KEYS
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning, StoreError
from langchain_sentence_window.ranking.candidates import CANDIDATES, SPREAD, fused_scores, spread
from langchain_sentence_window.ranking.name_spans import Evidence, QueryWords
from langchain_sentence_window.stores.faiss.database.conditions import Condition, for_few
from langchain_sentence_window.stores.faiss.database.database import Database
from langchain_sentence_window.stores.faiss.database.filters import Filter, compile_filter
from langchain_sentence_window.stores.faiss.database.leases import OneState
from langchain_sentence_window.stores.faiss.database.reads import are_in
from langchain_sentence_window.stores.faiss.database.schema import Record, Version
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot
from langchain_sentence_window.stores.faiss.dense.dense_cache import VectorCache
from langchain_sentence_window.stores.faiss.dense.dense_index import ComparedRows, DenseIndex, IndexAtState
from langchain_sentence_window.stores.faiss.dense.vector_index import VectorIndex
from langchain_sentence_window.stores.faiss.lexical_cache import LexicalCache
from langchain_sentence_window.stores.faiss.lexical_index import LexicalSearcher
from langchain_sentence_window.stores.faiss.origin import Origin
from langchain_sentence_window.stores.faiss.search_reads import (
    Best,
    Rank,
    Scores,
    found_sentences,
    order_by,
    read_candidates,
    sections_of,
)
from langchain_sentence_window.stores.faiss.ties import best_first, best_of
from langchain_sentence_window.stores.faiss.word_uses import Naming

T = TypeVar("T")

_MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class HybridQuery:
    """A search by meaning and words together.

    Attributes:
        vector: The unit vector of the query.
        words: The query, whose words are searched.
        k: The maximum number of records.
        weight: The weight of words, 0 or more; with 0 they aren't searched.
        where: A condition on the records.
        rank: Ranks the candidates, the best `CANDIDATES` or ``k`` if that is more; ``None`` to keep their scores.
            It is called in the middle of a read of the store, so it must not write to it.
        spreads: Whether the words of its neighbors count for a record, see `spread`.
        effort: How many times as much to look at as usual when vectors are searched; infinity for everything.
    """

    vector: Vectors
    words: str
    k: int
    weight: float
    where: Condition | None = None
    rank: Rank | None = None
    spreads: bool = True
    effort: float = 1.0


_NOTHING = Best(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


class Searcher:
    """Searches the FAISS index and the lexical index, and fetches the records found.

    A search that compares vectors checks first that they are from the embedder of the query.
    """

    def __init__(self, database: Database, vectors: VectorCache, lexical: LexicalCache, origin: Origin) -> None:
        """Search a database and its two caches.

        Args:
            database: Holds the records.
            vectors: Holds the FAISS index.
            lexical: Holds the lexical index.
            origin: Knows the embedder that queries are embedded with.
        """
        self._database = database
        self._source: Database | OneState = database
        self._vectors = vectors
        self._lexical = lexical
        self._origin = origin
        self._filters, self._absent_keys = FilterCache(), AbsentKeys()
        self._naming = Naming()
        self._searched: tuple[Version, LexicalSearcher] | None = None
        self._heard: tuple[Version, Any, Evidence] | None = None

    def at(self, state: OneState) -> Self:
        """Return a searcher all of whose searches are of one state, for one thread at a time."""
        searcher = copy(self)
        searcher._source = state
        return searcher

    def together(self, work: Callable[[], T]) -> T:
        """Run a function whose searches are all of one state, for which the index stays as it is; see `at`."""

        def hold(snapshot: Snapshot, _: IndexAtState | None) -> tuple[T] | None:
            version, searcher = snapshot.version, self._lexical.searcher_at(snapshot.version)
            if searcher is None:
                return None
            self._hold_words(version, searcher)
            return (work(),)

        return self._until_current(hold)

    def search(
        self, vector: Vectors, k: int, where: Condition | None, effort: float = 1.0
    ) -> list[tuple[Record, float]]:
        """Find the records nearest to a unit vector; see `StoreEngine.search`."""

        def work(snapshot: Snapshot, index: IndexAtState | None) -> list[tuple[Record, float]]:
            self._origin.check(snapshot)
            nearest = index.search(vector, k, self._allowed(snapshot, where), effort) if index else []
            return _with_records(snapshot, nearest)

        may_check_later = where is None and self._source is self._database
        found = self._search_optimistically(vector, k, effort) if may_check_later else None
        return self._read(work) if found is None else found

    def _search_optimistically(self, vector: Vectors, k: int, effort: float) -> list[tuple[Record, float]] | None:
        """Search first, then check whether the index was current; return ``None`` if it wasn't.

        FAISS's comparison evicts everything else from the CPU's caches, so little is left to do after it. An index that
        isn't exact needs the database to compare again.
        """

        def nearest_in(index: DenseIndex) -> list[tuple[int, float]]:
            return index.search(vector, k, None, effort) if isinstance(index, VectorIndex) and index.is_exact else []

        answer = self._vectors.ask(nearest_in)
        if answer is None:
            return None
        nearest, version = answer
        if not nearest or not self._origin.was_checked_at(version):
            return None
        if len({cosine for _, cosine in nearest}) < len(nearest):
            nearest = _cut(self._database, nearest, k)
        records = self._database.records_at(version, [row for row, _ in nearest])
        return None if records is None else [(records[row], score) for row, score in nearest]

    def search_with_vectors(
        self, vector: Vectors, k: int, where: Condition | None, effort: float = 1.0
    ) -> list[tuple[Record, Vectors]]:
        """Find the records nearest to a unit vector, with their own vectors; see `StoreEngine.search_with_vectors`."""

        def work(snapshot: Snapshot, index: IndexAtState | None) -> list[tuple[Record, Vectors]]:
            self._origin.check(snapshot)
            nearest = index.search(vector, k, self._allowed(snapshot, where), effort) if index else []
            vectors = snapshot.vectors_of([row for row, _ in nearest])
            return [
                (record, vectors[row])
                for (row, _), (record, _) in zip(nearest, _with_records(snapshot, nearest), strict=True)
            ]

        return self._read(work)

    def lexical_search(self, query: str, k: int, where: Condition | None) -> list[tuple[Record, float]]:
        """Find the records that match a query's words best; see `StoreEngine.lexical_search`."""

        def work(snapshot: Snapshot, searcher: LexicalSearcher) -> list[tuple[Record, float]]:
            found = searcher.search(query, k, self._allowed(snapshot, where))
            return _with_records(snapshot, _cut(snapshot, found, k))

        return self._read_words(work)

    def hybrid_search(self, query: HybridQuery) -> list[tuple[Record, float]]:
        """Find the records that match best by meaning and words together; see `StoreEngine.hybrid_search`."""

        def finish(snapshot: Snapshot, best: Best) -> list[tuple[Record, float]]:
            return _with_records(snapshot, list(zip(best.rows.tolist(), best.scores.tolist(), strict=True)))

        return self._hybrid_search(query, finish)

    def hybrid_sentences(self, query: HybridQuery, rank: Rank, beside: Beside) -> FoundSentences:
        """Find sentences as `hybrid_search` does, and read others; see `StoreEngine.hybrid_sentences`."""
        return self._hybrid_search(
            replace(query, rank=rank), lambda snapshot, best: found_sentences(snapshot, best, beside)
        )

    def _hybrid_search(self, query: HybridQuery, finish: Callable[[Snapshot, Best], T]) -> T:
        def work(snapshot: Snapshot, index: IndexAtState | None) -> tuple[T] | None:
            searcher = self._searcher_at(snapshot.version) if query.weight else None
            if query.weight and searcher is None:
                return None
            self._hold_words(snapshot.version, searcher)
            self._origin.check(snapshot)
            allowed = self._allowed(snapshot, query.where)
            return (finish(snapshot, _NOTHING if index is None else _best(snapshot, index, searcher, query, allowed)),)

        return self._until_current(work)

    def name_evidence(self, words: QueryWords, keys: Sequence[str], where: Condition | None) -> Evidence:
        """Collect what is known of the words of a query; see `StoreEngine.name_evidence`."""

        def work(snapshot: Snapshot, searcher: LexicalSearcher) -> Evidence:
            version, asked = snapshot.version, (words, tuple(keys), where)
            heard = self._heard
            # The same is asked again when the query was embedded meanwhile.
            if heard is None or heard[:2] != (version, asked):
                found = self._naming.evidence(snapshot, searcher, words, keys, self._allowed(snapshot, where))
                heard = self._heard = version, asked, found
            return heard[2]

        return self._read_words(work)

    def unknown_keys(self, snapshot: Snapshot, keys: Sequence[str]) -> list[str]:
        """Return the keys that no record has in its metadata; none for an empty index."""
        return self._absent_keys.among(keys, snapshot)

    def _read(self, work: Callable[[Snapshot, IndexAtState | None], T]) -> T:
        found = self._vectors.read(work, self._source)
        self._source.keep()
        return found

    def _read_words(self, work: Callable[[Snapshot, LexicalSearcher], T]) -> T:
        def if_held(snapshot: Snapshot) -> tuple[T] | None:
            searcher = self._searcher_at(snapshot.version)
            return None if searcher is None else (work(snapshot, searcher),)

        found = None if self._searched is None else self._source.read(if_held)
        result = self._lexical.read(work, self._source) if found is None else found[0]
        self._source.keep()
        return result

    def _until_current(self, work: Callable[[Snapshot, IndexAtState | None], tuple[T] | None]) -> T:
        """Run a function that returns ``None`` for a state that the lexical index isn't at."""
        for _ in range(_MAX_ATTEMPTS):
            found = self._vectors.read(work, self._source)
            if found is not None:
                self._source.keep()
                return found[0]
            self._source.renew()
            self._lexical.catch_up()
        raise StoreError(f"{self._database.name} changes too often to be searched in one state; search again")

    def _hold_words(self, version: Version, searcher: LexicalSearcher | None) -> None:
        if searcher is not None and self._source is not self._database:
            self._searched = version, searcher

    def _searcher_at(self, version: Version) -> LexicalSearcher | None:
        searched = self._searched
        return searched[1] if searched and searched[0] == version else self._lexical.searcher_at(version)

    def _allowed(self, snapshot: Snapshot, where: Condition | None) -> Rows | None:
        return None if where is None else self._filters.rows_for(snapshot, where)


def _best(
    snapshot: Snapshot,
    index: IndexAtState,
    searcher: LexicalSearcher | None,
    query: HybridQuery,
    allowed: Rows | None,
) -> Best:
    """Find the best rows in one state of the database."""
    depth = max(query.k, CANDIDATES)
    # Before FAISS's comparison, which evicts all else from the CPU's caches.
    lexical = {} if searcher is None else dict(best_of(snapshot, searcher.search(query.words, depth, allowed), depth))
    if query.spreads:
        lexical = _spread(snapshot, lexical, allowed)
    with_words = np.array(sorted(lexical), dtype=np.int64)
    compared = index.candidates(query.vector, depth, allowed, query.effort, with_words)
    scores = _fused(snapshot, compared, lexical, query, searcher)
    if query.rank is None or not len(scores.rows):
        first = slice(query.k)
        return Best(scores.rows[first], scores.fused[first], scores.cosines[first], allowed)
    found = snapshot.found_rows(scores.rows, beside=allowed is None)  # nothing that a filter forbids is read
    sections = sections_of(found)
    order, ranked = order_by(query.rank, read_candidates(snapshot, found, sections, scores, allowed))
    order = order[: query.k]
    return Best(scores.rows[order], ranked[: query.k], scores.cosines[order], allowed, found, sections, order)


def _fused(
    snapshot: Snapshot,
    compared: ComparedRows,
    lexical: Mapping[int, float],
    query: HybridQuery,
    searcher: LexicalSearcher | None,
) -> Scores:
    """Return the best rows, so many at most, with their scores; see `fuse`."""
    words = np.array([lexical.get(row, 0.0) for row in compared.rows.tolist()], dtype=np.float64)
    # What is added up in another order has another sum, and rows are in the order in which they were added.
    by_score = np.lexsort((words, compared.cosines))
    rows, dense, words = compared.rows[by_score], compared.cosines[by_score].astype(np.float64), words[by_score]
    fused = fused_scores(dense, words, query.weight) if len(rows) else dense
    order = best_first(snapshot, rows, fused, max(query.k, CANDIDATES))
    frequency = None if searcher is None else searcher.document_frequency
    return Scores(rows[order], fused[order], dense[order], words[order], frequency)


def _spread(snapshot: Snapshot, lexical: Mapping[int, float], allowed: Rows | None) -> dict[int, float]:
    """Add to the scores of rows shares of their neighbors' scores; see `spread`."""
    if not lexical:
        return {}
    summed = spread(lexical, snapshot.neighbors(list(lexical), len(SPREAD) - 1))
    if allowed is None:
        return summed
    rows = np.array(list(summed), dtype=np.int64)
    return {row: summed[row] for row in rows[are_in(rows, allowed)].tolist()}


def _cut(source: Snapshot | Database, found: Sequence[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    """Return the ``k`` best, equal ones by document and index."""
    rows, scores = np.array([row for row, _ in found], dtype=np.int64), np.array([score for _, score in found])
    return [found[at] for at in best_first(source, rows, scores, k).tolist()]


def _with_records(snapshot: Snapshot, found: Sequence[tuple[int, float]]) -> list[tuple[Record, float]]:
    records = snapshot.by_rows([row for row, _ in found])
    if len(records) < len(found):
        raise StoreError(
            "the database lacks sentences that its index contains, so it is damaged; restore it from a backup"
        )
    return [(records[row], score) for row, score in found]


_MAX_FILTERS = 8
_MAX_KEY_LENGTH = 10_000
_MAX_ABSENT_KEYS = 1_000


class FilterCache:
    """The rows that match the latest filters, as the same filter often comes again."""

    def __init__(self) -> None:
        """Start empty."""
        # Replaced as a whole and never changed, so it needs no lock that an exception could leave held.
        self._kept: dict[str, tuple[Version, Rows]] = {}

    def rows_for(self, snapshot: Snapshot, where: Condition) -> Rows:
        """Return the rows that meet a condition, in order."""
        version, key = snapshot.version, repr(where)
        kept = self._kept.get(key)
        if kept and kept[0] == version:
            return kept[1]
        rows = _caught_up(*kept, snapshot, where) if kept else None
        if rows is None:
            rows = np.sort(snapshot.rows(where))
        if len(key) <= _MAX_KEY_LENGTH:
            others = [(other, found) for other, found in self._kept.items() if other != key]
            self._kept = dict([*others[1 - _MAX_FILTERS :], (key, (version, rows))])
        return rows


class AbsentKeys:
    """Metadata keys that no sentence has, as each search for them reads all sentences."""

    def __init__(self) -> None:
        """Start empty."""
        # Replaced as a whole and never changed, see `FilterCache`.
        self._kept: tuple[Version | None, frozenset[str]] = (None, frozenset())

    def among(self, keys: Sequence[str], snapshot: Snapshot) -> list[str]:
        """Return the keys that no sentence has; none for an empty store."""
        if not snapshot.state.sentences:
            return []
        version, kept = snapshot.version, self._kept
        absent = kept[1] if kept[0] == version else frozenset()
        found = snapshot.unknown_keys([key for key in keys if key not in absent])
        if found and len(absent) < _MAX_ABSENT_KEYS:
            self._kept = version, absent.union(found)
        return [key for key in keys if key in absent or key in found]


def _caught_up(version: Version, rows: Rows, snapshot: Snapshot, where: Condition) -> Rows | None:
    """Apply the changes since; return ``None`` if they aren't known. No row ever changes or comes back."""
    changes = snapshot.changes_since(*version)
    if changes is None:
        return None
    sql, parameters = for_few(where)
    added = snapshot.rows((f"row > ? AND ({sql})", [changes.last_row, *parameters]))
    return np.concatenate([np.setdiff1d(rows, changes.removed, assume_unique=True), np.sort(added)])


def checked_effort(value: object) -> float:
    """Return a search effort, which must be a number above 0; infinity is one.

    Raises:
        InvalidInputError: It isn't.
    """
    effort = as_number(value)
    if effort > 0:
        return effort
    raise InvalidInputError(
        f"search_effort is {shown(value)}; it must be a number above 0: 1 is usual, 2 looks at twice as much, and "
        "float('inf') at everything"
    )


def unknown_keys(keys: Sequence[str]) -> SentenceWindowWarning:
    """Return a warning that a filter found nothing because no document has some of its keys."""
    return SentenceWindowWarning(
        f"nothing was found, as no document has {listed(keys)} in its metadata, which the filter asks for; "
        f"{_spelling(keys)}"
    )


def _spelling(keys: Sequence[str]) -> str:
    renamed = [f"{RENAMED}{key}" for key in keys if key in CONTRACT_KEYS]
    if renamed:
        return f"a document's own key of that name is stored as {listed(renamed)}"
    return "check that the keys are spelled as in the documents that were added"


def check_hybrid(lexical_weight: float, rank: Rank | None, spreads: bool | None) -> bool:  # noqa: FBT001 - as given
    """Check arguments of a hybrid search, and return whether words spread."""
    checked_weight("lexical_weight", lexical_weight)
    if rank is not None:
        checked_callback("rank", rank, "candidates")
    return rank is None if spreads is None else checked_flag("spreads", spreads)


def condition_of(filter: Filter | None) -> Condition | None:
    """Compile a filter; ``None`` if there is none, or an empty one."""
    if filter is None or (isinstance(filter, Mapping) and not filter):
        return None
    return compile_filter(filter)
