"""The index in one state, as a read sees it: searches of the database, the FAISS index and the lexical index.

A FAISS index that keeps codes doesn't know its vectors exactly. What a search finds with it is compared with those of
the database, mixed with their neighbors', so that scores and order are those of an exact search.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window._validation import as_number, checked_count, checked_weight, listed
from langchain_sentence_window.documents.keys import CONTRACT_KEYS, RENAMED
from langchain_sentence_window.embedding.vectors import mix_some
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning, StoreError
from langchain_sentence_window.ranking.candidates import CANDIDATES, SPREAD, fused_scores, spread
from langchain_sentence_window.ranking.names import Evidence, QueryWords
from langchain_sentence_window.ranking.relevance import SAMPLED_SENTENCES, Unrelated, unrelated_to

from . import search_reads
from .database.conditions import Condition, for_few
from .database.filters import Filter, compile_filter, filter_keys
from .database.reads import MAX_ROWS_AROUND, are_in, neighbors, vectors_around
from .database.schema import Record, Version
from .database.snapshot import Snapshot
from .dense.dense_index import DenseIndex
from .dense.quantized import QuantizedIndex
from .lexical_index import LexicalSearcher
from .origin import Origin
from .word_uses import Naming

_MAX_FILTERS = 8
_MAX_KEY_LENGTH = 10_000
_MAX_ABSENT_KEYS = 1_000


class SearchCache:
    """Hold what searches keep from one state of the index to the next."""

    def __init__(self) -> None:
        """Start empty."""
        self.filters, self.absent_keys, self.naming = FilterCache(), AbsentKeys(), Naming()
        self.evidence: tuple[Version, Any, Evidence] | None = None
        self.sample: tuple[Version, Vectors] | None = None


@dataclass(frozen=True, slots=True)
class IndexState:
    """One state of the index, for as long as the read lasts that it is given to.

    Attributes:
        snapshot: The state of the database.
        origin: Knows the embedder that questions are embedded with.
        cache: What searches keep.
        effort: How many times as much to look at as usual when vectors are searched, unless a search says otherwise.
        dense: The FAISS index of this state; ``None`` if there never was a vector, or the read asked for none.
        words: The lexical index of this state; ``None`` if the read asked for none.
    """

    snapshot: Snapshot
    origin: Origin
    cache: SearchCache
    effort: float
    dense: "IndexAtState | None" = None
    words: LexicalSearcher | None = None

    def search(
        self,
        vector: Vectors,
        text: str,
        k: int,
        *,
        lexical_weight: float,
        filter: Filter | None = None,
        spreads: bool = False,
        search_effort: float | None = None,
    ) -> search_reads.FoundCandidates:
        """Find the sentences that match a question best by meaning and words together.

        Args:
            vector: The unit vector of the question.
            text: The question, whose words are searched.
            k: The number of sentences that are enough; at least `CANDIDATES` are found.
            lexical_weight: The weight of words, 0 or more; with 0 they aren't searched.
            filter: A filter on their metadata, which binds all that is read with them.
            spreads: Whether the words of its neighbors count for a sentence, see `spread`.
            search_effort: How many times as much to look at as usual when vectors are searched; infinity for
                everything, ``None`` for the store's own.

        Raises:
            InvalidInputError: ``k`` isn't a whole number above 0, ``lexical_weight`` isn't a number of 0 or more, or
                ``search_effort`` isn't a number above 0.
            FilterError: The filter is invalid.
            EmbeddingError: The vector is of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        checked_weight("lexical_weight", lexical_weight)
        depth = max(checked_count("k", k), CANDIDATES)
        allowed = self.allowed(condition_of(filter))
        effort = self.effort if search_effort is None else checked_effort(search_effort)
        scores = self._scored(vector, text, depth, lexical_weight, allowed, spreads=spreads, effort=effort)
        if filter and not len(scores.rows):
            self.warn_of_unknown_keys(filter)
        return search_reads.read_candidates(self.snapshot, scores, allowed)

    def ranked(
        self,
        vector: Vectors,
        text: str,
        k: int,
        *,
        lexical_weight: float,
        where: Condition | None,
        rank: search_reads.Rank | None,
        spreads: bool,
        effort: float,
    ) -> list[tuple[Record, float]]:
        """Find the ``k`` records that match best by meaning and words together, with their scores, best first.

        Args:
            vector: As for `search`, and so are the others.
            text: The question.
            k: The maximum number of records.
            lexical_weight: The weight of words.
            where: A condition on the records.
            rank: Ranks the best `CANDIDATES`, or ``k`` if that is more; ``None`` to keep their scores.
            spreads: Whether the words of its neighbors count for a record.
            effort: How many times as much to look at as usual.
        """
        allowed = self.allowed(where)
        scores = self._scored(vector, text, max(k, CANDIDATES), lexical_weight, allowed, spreads=spreads, effort=effort)
        rows, ranked = scores.rows, scores.fused
        if rank is not None and len(rows):
            order, ranked = search_reads.order_by(
                rank, search_reads.read_candidates(self.snapshot, scores, allowed).candidates
            )
            rows = rows[order]
        return self._records(list(zip(rows[:k].tolist(), ranked[:k].tolist(), strict=True)))

    def nearest(self, vector: Vectors, k: int, where: Condition | None, effort: float) -> list[tuple[Record, float]]:
        """Find the ``k`` records nearest to a unit vector among those that meet a condition.

        Args:
            vector: The unit vector.
            k: The maximum number of records.
            where: A condition on the records.
            effort: How many times as much to look at as usual; infinity for everything.

        Returns:
            Records with their cosines, best first.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
        """
        return self._records(self._nearest(vector, k, where, effort))

    def nearest_with_vectors(
        self, vector: Vectors, k: int, where: Condition | None, effort: float
    ) -> list[tuple[Record, Vectors]]:
        """Find the same records as `nearest`, with their vectors as they were embedded instead of the cosines."""
        found = self._nearest(vector, k, where, effort)
        vectors = self.snapshot.vectors_of([row for row, _ in found])
        return [(record, vectors[row]) for (row, _), (record, _) in zip(found, self._records(found), strict=True)]

    def matching(self, text: str, k: int, where: Condition | None) -> list[tuple[Record, float]]:
        """Find the ``k`` records that match a text's words best, with their BM25 scores, best first."""
        found = [] if self.words is None else self.words.search(text, k, self.allowed(where))
        return self._records(search_reads.best_pairs(self.snapshot, found, k))

    def name_evidence(self, words: QueryWords, keys: Sequence[str] = (), *, filter: Filter | None = None) -> Evidence:
        """Collect what tells which documents a query names; see `langchain_sentence_window.ranking.names`.

        Args:
            words: The words of the query.
            keys: Keys of metadata that hold names, beside the title, the file name and its folder.
            filter: A filter on the metadata; of what it forbids, nothing is told.

        Raises:
            FilterError: The filter is invalid.
        """
        where = condition_of(filter)
        asked = self.snapshot.version, (words, tuple(keys), where)
        if self.words is None:
            return Evidence({}, {})
        kept = self.cache.evidence
        # The same is asked again when the query was embedded meanwhile.
        if kept is None or kept[:2] != asked:
            found = self.cache.naming.evidence(self.snapshot, self.words, words, keys, self.allowed(where))
            kept = self.cache.evidence = *asked, found
        return kept[2]

    def unrelated_to(self, vector: Vectors) -> Unrelated | None:
        """Look how close sentences are that have little to do with a question; see `judge_relevance`.

        Args:
            vector: The unit vector of the question.
        """
        kept = self.cache.sample
        if kept is None or kept[0] != self.snapshot.version:
            kept = self.cache.sample = self.snapshot.version, self.snapshot.sample_vectors(SAMPLED_SENTENCES)
        return unrelated_to(vector, kept[1], self.snapshot.state.sentences)

    def allowed(self, where: Condition | None) -> Rows | None:
        """Return the rows that meet a condition, in order; ``None`` for all."""
        return None if where is None else self.cache.filters.rows_for(self.snapshot, where)

    def warn_of_unknown_keys(self, filter: Filter) -> None:
        """Warn that a filter found nothing, if that is as no document has some of its keys."""
        unknown = self.cache.absent_keys.among(filter_keys(filter), self.snapshot)
        if unknown:
            warnings.warn(unknown_keys(unknown), stacklevel=5)

    def _nearest(self, vector: Vectors, k: int, where: Condition | None, effort: float) -> list[tuple[int, float]]:
        self.origin.check(self.snapshot)
        return [] if self.dense is None else self.dense.search(vector, k, self.allowed(where), effort)

    def _scored(
        self,
        vector: Vectors,
        text: str,
        depth: int,
        weight: float,
        allowed: Rows | None,
        *,
        spreads: bool,
        effort: float,
    ) -> search_reads.Scores:
        """Return the best rows, so many at most, with their scores; see `fuse`."""
        snapshot, words = self.snapshot, self.words if weight else None
        self.origin.check(snapshot)
        if self.dense is None:
            nothing = np.empty(0)
            return search_reads.Scores(np.empty(0, dtype=np.int64), nothing, nothing, nothing, None)
        # Before FAISS's comparison, which evicts all else from the CPU's caches.
        lexical: Mapping[int, float] = {}
        if words is not None:
            lexical = dict(search_reads.best_of(snapshot, words.search(text, depth, allowed), depth))
        if spreads and lexical:
            lexical = spread(lexical, neighbors(snapshot.execute, list(lexical), len(SPREAD) - 1))
        also = np.array(sorted(lexical), dtype=np.int64)
        if spreads and allowed is not None:
            also = also[are_in(also, allowed)]
        rows, cosines = self.dense.candidates(vector, depth, allowed, effort, also)
        matches = np.array([lexical.get(row, 0.0) for row in rows.tolist()], dtype=np.float64)
        # What is added up in another order has another sum, and rows are in the order in which they were added.
        by_score = np.lexsort((matches, cosines))
        rows, dense, matches = rows[by_score], cosines[by_score].astype(np.float64), matches[by_score]
        fused = fused_scores(dense, matches, weight) if len(rows) else dense
        order = search_reads.best_first(snapshot, rows, fused, depth)
        frequency = None if words is None else words.document_frequency
        return search_reads.Scores(rows[order], fused[order], dense[order], matches[order], frequency)

    def _records(self, found: Sequence[tuple[int, float]]) -> list[tuple[Record, float]]:
        records = self.snapshot.by_rows([row for row, _ in found])
        if len(records) < len(found):
            raise StoreError(
                "the database lacks sentences that its index contains, so it is damaged; restore it from a backup"
            )
        return [(records[row], score) for row, score in found]


# The FAISS index

MIN_SPARE = 16
"""The least number of results beyond those asked for that an index of codes finds, to be compared exactly; a quarter of
those asked for, if that is more."""


@dataclass(frozen=True, slots=True)
class IndexAtState:
    """Searches an index in one state of the database.

    Attributes:
        index: The index.
        snapshot: The state that it is at.
        weights: The weights of a sentence and its neighbors in each vector.
    """

    index: DenseIndex
    snapshot: Snapshot
    weights: Sequence[float]

    def search(self, vector: Vectors, k: int, allowed: Rows | None, effort: float = 1.0) -> search_reads.Pairs:
        """Find the vectors nearest to another, with exact cosines.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            k: The maximum number of results; there are fewer only if there are fewer vectors.
            allowed: The rows to search, in order; ``None`` for all.
            effort: How many times as much to look at as usual; infinity for everything.

        Returns:
            ``(row, cosine)``, best first, ties by document and index.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            DamagedRecordError: The file of the records was damaged.
        """
        index = self.index
        if not len(index):
            return []
        if isinstance(index, QuantizedIndex):
            rows = index.nearest(vector, k, allowed, effort)
        elif index.is_exact:
            return search_reads.best_pairs(self.snapshot, index.search(vector, k, allowed, effort), k)
        else:
            more = k + max(MIN_SPARE, k // 4)
            rows = np.array([row for row, _ in index.search(vector, more, allowed, effort)], dtype=np.int64)
        cosines = np.minimum(exact_cosines(self.snapshot, vector, rows, self.weights), 1)
        order = search_reads.best_first(self.snapshot, rows, cosines, k)
        return list(zip(rows[order].tolist(), cosines[order].tolist(), strict=True))

    def candidates(
        self, vector: Vectors, k: int, allowed: Rows | None, effort: float = 1.0, also: Rows | None = None
    ) -> tuple[Rows, Vectors]:
        """Find almost what `search` finds, by the index's codes, in less time for a large ``k``; compare other rows.

        Args:
            vector: A unit vector of shape ``(dimension,)``.
            k: The number of the nearest; there are fewer only if there are fewer vectors, and more if others are as
                near as the last.
            allowed: The rows to search, in order; ``None`` for all.
            effort: How many times as much to look at as usual; infinity for everything.
            also: Other rows to compare with, in order. Those without a vector are left out.

        Returns:
            The rows, each once, in any order, and their cosines. Those of 6-bit records are off by one or two
            thousandths.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            DamagedRecordError: The file of the records was damaged.
        """
        index = self.index
        if isinstance(index, QuantizedIndex):
            rows, cosines, _ = index.compared(vector, k, allowed, effort, also)
            is_taken = np.zeros(len(rows), dtype=np.bool_) if also is None else are_in(rows, also)
            if len(rows):
                is_taken |= cosines >= np.partition(cosines, -min(k, len(rows)))[-min(k, len(rows))]
            return rows[is_taken], np.minimum(cosines[is_taken], 1)
        found = {} if also is None or not len(also) else index.cosines_of(vector, also)
        found |= index.search(vector, k, allowed, effort)
        rows = np.fromiter(found, dtype=np.int64, count=len(found))
        return rows, np.fromiter(found.values(), dtype=np.float32, count=len(found))


def exact_cosines(snapshot: Snapshot, vector: Vectors, rows: Rows, weights: Sequence[float]) -> Vectors:
    """Compare a unit vector with the vectors of some rows.

    Args:
        snapshot: The state of the database.
        vector: A unit vector of shape ``(dimension,)``.
        rows: The rows, each once.
        weights: The weights of a sentence and its neighbors in each vector.

    Returns:
        The cosine of each row, in their order; `numpy.nan` for a row that doesn't exist.
    """
    cosines = np.full(len(rows), np.nan, dtype=np.float32)
    order = np.argsort(rows)
    for start in range(0, len(rows), MAX_ROWS_AROUND):
        part = order[start : start + MAX_ROWS_AROUND]
        wanted = rows[part]
        around = vectors_around(snapshot.execute, wanted.tolist(), len(weights) - 1)
        if around is None:
            continue
        found, vectors, positions = around
        at = np.searchsorted(wanted, found)
        is_wanted = np.flatnonzero(wanted[np.minimum(at, len(wanted) - 1)] == found)
        mixed = mix_some(vectors, positions, weights, is_wanted)
        # Not by a product of matrices, whose threads don't survive a fork.
        cosines[part[at[is_wanted]]] = np.einsum("ij,j->i", mixed, vector)
    return cosines


# What searches take


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


def condition_of(filter: Filter | None) -> Condition | None:
    """Compile a filter; ``None`` if there is none, or an empty one."""
    if filter is None or (isinstance(filter, Mapping) and not filter):
        return None
    return compile_filter(filter)


def unknown_keys(keys: Sequence[str]) -> SentenceWindowWarning:
    """Return a warning that a filter found nothing because no document has some of its keys."""
    renamed = [f"{RENAMED}{key}" for key in keys if key in CONTRACT_KEYS]
    cure = "check that the keys are spelled as in the documents that were added"
    if renamed:
        cure = f"a document's own key of that name is stored as {listed(renamed)}"
    return SentenceWindowWarning(
        f"nothing was found, as no document has {listed(keys)} in its metadata, which the filter asks for; {cure}"
    )


# What searches keep


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
            rows = np.sort(snapshot.rows(snapshot.simplest(where)))
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
    condition = f"row > ? AND ({sql})", [changes.last_row, *parameters]
    added = snapshot.rows(snapshot.simplest(condition))
    return np.concatenate([np.setdiff1d(rows, changes.removed, assume_unique=True), np.sort(added)])
