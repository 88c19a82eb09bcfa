"""One state of an open store, as a read sees it: searches of the database, the vectors and the words together."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._primitives import Rows, SentenceKey, Vectors
from langchain_sentence_window._validation import checked_count, checked_weight, finite_numbers, listed
from langchain_sentence_window.documents.keys import CONTRACT_KEYS, RENAMED
from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.errors import SentenceWindowWarning
from langchain_sentence_window.ranking.candidates import CANDIDATES, SPREAD, fused_scores, spread
from langchain_sentence_window.ranking.names import DocumentNames
from langchain_sentence_window.ranking.relevance import SAMPLED_SENTENCES, Unrelated, unrelated_to

from .filters import Condition, Filter, compile_filter, filter_keys, for_few
from .names import NameIndex
from .origin import Origin
from .reading import (
    FoundCandidates,
    Pairs,
    Rank,
    RowReader,
    Scores,
    are_in,
    best_first,
    best_pairs,
    neighbors_of,
    read_candidates,
    sentences_at,
)
from .records import read_documents
from .tables import ONE_OF, Snapshot, Version, damaged, from_halves, json_list
from .vectors import VectorCache
from .words import WordCache

_MAX_FILTERS = 8
_MAX_FILTER_LENGTH = 10_000


@dataclass(slots=True)
class Kept:
    """What searches keep from one state to the next. A value is replaced as a whole, never changed: it needs no lock.

    Attributes:
        names: The names of documents.
        filters: The rows that match the latest filters, as the same filter often comes again.
        sample: Some vectors of a state.
    """

    names: NameIndex = field(default_factory=NameIndex)
    filters: dict[str, tuple[Version, Rows]] = field(default_factory=dict)
    sample: tuple[Version, Vectors] | None = None


@dataclass(frozen=True, slots=True)
class IndexState:
    """One state of a store, for as long as the read lasts that it is given to.

    Attributes:
        snapshot: The state of the database.
        vectors: The FAISS index.
        words: The lexical index.
        origin: Knows the embedder that questions are embedded with.
        kept: What searches keep.
        reader: Reads rows of the state.
    """

    snapshot: Snapshot
    vectors: VectorCache
    words: WordCache
    origin: Origin
    kept: Kept
    reader: RowReader

    def search(
        self,
        vector: Vectors,
        text: str,
        k: int,
        *,
        lexical_weight: float,
        filter: Filter | None = None,
        spreads: bool = False,
    ) -> FoundCandidates:
        """Find the sentences that match a question best by meaning and words together.

        Args:
            vector: The unit vector of the question.
            text: The question, whose words are searched.
            k: The number of sentences that are enough; at least `CANDIDATES` are found.
            lexical_weight: The weight of words, 0 or more; with 0 they aren't searched.
            filter: A filter on their metadata, which binds all that is read with them.
            spreads: Whether the words of its neighbors count for a sentence, see `spread`.

        Raises:
            InvalidInputError: ``k`` isn't a whole number above 0, or ``lexical_weight`` isn't a number of 0 or more.
            FilterError: The filter is invalid.
            EmbeddingError: The vector is of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
            OutdatedError: An index is at another state.
        """
        checked_weight("lexical_weight", lexical_weight)
        depth = max(checked_count("k", k), CANDIDATES)
        allowed = self.allowed(condition_of(filter))
        scores = self._scored(vector, text, depth, lexical_weight, allowed, spreads=spreads)
        if not len(scores.rows):
            self.warn_of_unknown_keys(filter)
        return read_candidates(self.reader, scores, allowed, self.unrelated_to(vector))

    def ranked(self, rank: Rank | None, vector: Vectors, text: str, k: int, **settings: Any) -> Pairs:
        """Find the ``k`` rows that match best by meaning and words together, with their scores, best first.

        Args:
            rank: Ranks the best `CANDIDATES`, or ``k`` if that is more; ``None`` to keep their scores.
            vector: As for `search`, and so are the others.
            text: The question.
            k: The maximum number of rows.
            **settings: Other settings of `search`.
        """
        found = self.search(vector, text, k, **settings)
        scores: Any = found.candidates.scores
        if rank is not None and len(found.candidates):
            scores = finite_numbers("the result of rank", rank(found.candidates), len(found.candidates))
        order = np.argsort(-scores, kind="stable")[:k]
        return [(found.rows[at].row, float(scores[at])) for at in order.tolist()]

    def nearest(self, vector: Vectors, k: int, where: Condition | None) -> Pairs:
        """Find the ``k`` rows nearest to a unit vector among those that meet a condition, with their cosines.

        Args:
            vector: The unit vector.
            k: The maximum number of rows.
            where: A condition on the rows.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            IndexMismatchError: The vectors in the index are from another embedder now.
            UnprovenError: They may be.
            OutdatedError: The index is at another state.
        """
        self.origin.check(self.snapshot)
        return self.vectors.nearest(self.snapshot, vector, k, self.allowed(where))

    def matching(self, text: str, k: int, where: Condition | None) -> Pairs:
        """Find the ``k`` rows that match a text's words best, with their BM25 scores, best first."""
        found = self.words.searcher(self.snapshot).search(text, k, self.allowed(where))
        return best_pairs(self.snapshot, found, k)

    def sentences(self, keys: Iterable[SentenceKey], filter: Filter | None = None) -> SentencesByKey:
        """Read sentences by document and index; leave out those that don't exist or that the filter forbids."""
        return sentences_at(self.reader, keys, condition_of(filter))

    def documents(self, found: Pairs, filter: Filter | None = None) -> list[tuple[Document, float]]:
        """Read what was found; warn if that is nothing because no document has the filter's keys."""
        if not found:
            self.warn_of_unknown_keys(filter)
        read = read_documents(self.snapshot, (f"row {ONE_OF}", [json_list(row for row, _ in found)]))
        if len(read) < len(found):
            raise damaged("sentences that its index contains")
        return [(read[row], score) for row, score in found]

    def vectors_of(self, found: Pairs) -> list[Vectors]:
        """Return the vectors of what was found, as they were embedded."""
        sql = f"SELECT row, vector FROM vectors WHERE row {ONE_OF}"
        stored = dict(self.snapshot.execute(sql, [json_list(row for row, _ in found)]).fetchall())
        return list(from_halves(stored[row] for row, _ in found))

    def document_names(
        self, keys: Sequence[str], metadata_keys: Sequence[str] = (), *, filter: Filter | None = None
    ) -> DocumentNames:
        """Return the names of the documents that a question may name; see `NameIndex.document_names`.

        Args:
            keys: The keys of the question.
            metadata_keys: Keys of metadata that hold names, besides the title, the file name and its folder.
            filter: A filter on the metadata; names of documents that it excludes are never revealed.

        Raises:
            FilterError: The filter is invalid.
        """
        allowed = self.allowed(condition_of(filter))
        return self.kept.names.document_names(self.snapshot, keys, tuple(metadata_keys), allowed)

    def unrelated_to(self, vector: Vectors) -> Unrelated | None:
        """Look how close sentences are that have little to do with a question; see `judge_relevance`.

        Args:
            vector: The unit vector of the question.
        """
        version, kept = self.snapshot.version, self.kept.sample
        if kept is None or kept[0] != version:
            kept = self.kept.sample = version, self.snapshot.sampled_vectors(SAMPLED_SENTENCES)
        return unrelated_to(vector, kept[1], version.sentences)

    def allowed(self, where: Condition | None) -> Rows | None:
        """Return the rows that meet a condition, in order; ``None`` for all."""
        if where is None:
            return None
        version, key = self.snapshot.version, repr(where)
        kept = self.kept.filters.get(key)
        if kept is not None and kept[0] == version:
            return kept[1]
        changes = None if kept is None else self.snapshot.changes_since(kept[0])
        if kept is None or changes is None:
            rows = self.snapshot.rows(where)
        else:  # no row ever changes or comes back
            sql, parameters = for_few(where)
            added = self.snapshot.rows((f"row > ? AND ({sql})", [changes.last_row, *parameters]))
            rows = np.concatenate([np.setdiff1d(kept[1], changes.removed, assume_unique=True), added])
        if len(key) <= _MAX_FILTER_LENGTH:
            others = [(other, each) for other, each in self.kept.filters.items() if other != key]
            self.kept.filters = dict([*others[1 - _MAX_FILTERS :], (key, (version, rows))])
        return rows

    def warn_of_unknown_keys(self, filter: Filter | None) -> None:
        """Warn that a filter found nothing, if that is as no document has some of its keys."""
        unknown = list[str]()
        for key in filter_keys(filter) if filter and self.snapshot.version.sentences else ():
            sql, parameters = compile_filter({key: {"$exists": True}})
            if self.snapshot.execute(f"SELECT 1 FROM sentences WHERE {sql} LIMIT 1", parameters).fetchone() is None:
                unknown.append(key)
        if unknown:
            warnings.warn(unknown_keys(unknown), stacklevel=5)

    def _scored(
        self,
        vector: Vectors,
        text: str,
        depth: int,
        weight: float,
        allowed: Rows | None,
        *,
        spreads: bool,
    ) -> Scores:
        """Return the best rows, so many at most, with their scores; see `fused_scores`."""
        snapshot, lexical, frequency = self.snapshot, dict[int, float](), None
        self.origin.check(snapshot)
        if weight:
            words = self.words.searcher(snapshot)
            lexical = dict(best_pairs(snapshot, words.search(text, depth, allowed), depth))
            frequency = words.document_frequency
        if spreads and lexical:
            lexical = spread(lexical, neighbors_of(snapshot, list(lexical), len(SPREAD) - 1))
        also = np.array(sorted(lexical), dtype=np.int64)
        if spreads and allowed is not None:
            also = also[are_in(also, allowed)]
        rows, cosines = self.vectors.candidates(snapshot, vector, depth, allowed, also=also)
        every = dict.fromkeys(rows.tolist(), 0.0) | lexical
        matches = np.array([every[row] for row in rows.tolist()], dtype=np.float64)
        # What is added up in another order has another sum, and rows are in the order in which they were added.
        by_score = np.lexsort((matches, cosines))
        rows, dense, matches = rows[by_score], cosines[by_score].astype(np.float64), matches[by_score]
        fused = fused_scores(dense, matches, weight) if len(rows) else dense
        order = best_first(snapshot, rows, fused, depth)
        return Scores(rows[order], fused[order], dense[order], matches[order], frequency)


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
