"""One state of an open store, as a read sees it: searches of the database, the vectors and the words together."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from langchain_core.documents import Document

from langchain_sentence_window._primitives import Rows, SentenceKey, Vectors
from langchain_sentence_window._validation import checked_count, checked_weight, listed
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
    RowReader,
    Scores,
    are_in,
    best_first,
    best_pairs,
    neighbors_of,
    read_candidates,
    sentences_at,
)
from .tables import Snapshot, Version, damaged
from .vectors import VectorCache
from .words import WordCache

_MAX_FILTERS = 8
_MAX_FILTER_LENGTH = 10_000


@dataclass(slots=True)
class SearchCaches:
    """What searches keep from one state to the next.

    A value is replaced as a whole, never changed: it needs no lock.

    Attributes:
        names: The names of documents.
        filters: The rows that match the latest filters, because the same filter often comes again.
        sample: Some vectors of a state.
    """

    names: NameIndex = field(default_factory=NameIndex)
    filters: dict[str, tuple[Version, Rows]] = field(default_factory=dict)
    sample: tuple[Version, Vectors] | None = None


@dataclass(frozen=True, slots=True)
class IndexState:
    """One state of a store, valid within the read that it was made for.

    Attributes:
        snapshot: The state of the database.
        vectors: The FAISS index.
        words: The lexical index.
        origin: Knows the embedder of questions.
        caches: What searches keep.
        reader: Reads rows of the state.
    """

    snapshot: Snapshot
    vectors: VectorCache
    words: WordCache
    origin: Origin
    caches: SearchCaches
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
            filter: A filter on their metadata, which also applies to the neighbors that are read with them.
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
        checked_count("k", k)
        allowed = self.allowed(condition_of(filter))
        scores = self.score(vector, text, k, lexical_weight, allowed, spreads=spreads)
        if not len(scores.rows):
            self._warn_of_unknown_keys(filter)
        return read_candidates(self.reader, scores, allowed, self.unrelated_to(vector))

    def score(
        self, vector: Vectors, text: str, k: int, lexical_weight: float, allowed: Rows | None, *, spreads: bool
    ) -> Scores:
        """Return the best rows with their scores: ``k`` or `CANDIDATES`, the greater; see `search`."""
        snapshot, lexical, frequency, depth = self.snapshot, dict[int, float](), None, max(k, CANDIDATES)
        self.origin.check(snapshot)
        if lexical_weight:
            words = self.words.searcher(snapshot)
            lexical = dict(best_pairs(snapshot, words.search(text, depth, allowed), depth))
            frequency = words.document_frequency
        if spreads and lexical:
            lexical = spread(lexical, neighbors_of(snapshot, list(lexical), len(SPREAD) - 1))
        also = np.array(sorted(lexical), dtype=np.int64)
        if spreads and allowed is not None:
            also = also[are_in(also, allowed)]
        rows, cosines = self.vectors.candidates(snapshot, vector, depth, allowed, also=also)
        matches = np.array([lexical.get(row, 0.0) for row in rows.tolist()], dtype=np.float64)
        # A sum depends on the order of its terms, and rows are in the order in which they were added.
        by_score = np.lexsort((matches, cosines))
        rows, dense, matches = rows[by_score], cosines[by_score].astype(np.float64), matches[by_score]
        fused = fused_scores(dense, matches, lexical_weight) if len(rows) else dense
        order = best_first(snapshot, rows, fused, depth)
        return Scores(rows[order], fused[order], dense[order], matches[order], frequency)

    def nearest(self, vector: Vectors, k: int, where: Condition | None) -> Pairs:
        """Find the ``k`` rows nearest to a unit vector among those that meet a condition, with their cosines.

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
        """Read the Documents of rows; warn if there are no rows because no document has the filter's keys."""
        if not found:
            self._warn_of_unknown_keys(filter)
        read = self.reader.documents(row for row, _ in found)
        if len(read) < len(found):
            raise damaged("sentences that its index contains")
        return [(read[row], score) for row, score in found]

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
        return self.caches.names.document_names(self.snapshot, keys, tuple(metadata_keys), allowed)

    def unrelated_to(self, vector: Vectors) -> Unrelated | None:
        """Measure how close unrelated sentences are to a question, by its unit vector; see `judge_relevance`."""
        version, cached = self.snapshot.version, self.caches.sample
        if cached is None or cached[0] != version:
            cached = self.caches.sample = version, self.snapshot.sampled_vectors(SAMPLED_SENTENCES)
        return unrelated_to(vector, cached[1], version.sentences)

    def allowed(self, where: Condition | None) -> Rows | None:
        """Return the rows that meet a condition, in order; ``None`` for all."""
        if where is None:
            return None
        version, key = self.snapshot.version, repr(where)
        cached = self.caches.filters.get(key)
        if cached is not None and cached[0] == version:
            return cached[1]
        changes = None if cached is None else self.snapshot.changes_since(cached[0])
        if cached is None or changes is None:
            rows = self.snapshot.rows(where)
        else:  # no row ever changes or comes back
            sql, parameters = for_few(where)
            added = self.snapshot.rows((f"row > ? AND ({sql})", [changes.last_row, *parameters]))
            rows = np.concatenate([np.setdiff1d(cached[1], changes.removed, assume_unique=True), added])
        if len(key) <= _MAX_FILTER_LENGTH:
            others = [(other, each) for other, each in self.caches.filters.items() if other != key]
            self.caches.filters = dict([*others[1 - _MAX_FILTERS :], (key, (version, rows))])
        return rows

    def _warn_of_unknown_keys(self, filter: Filter | None) -> None:
        """Warn that a filter matched nothing, if that is because no document has some of its keys."""
        unknown = list[str]()
        for key in filter_keys(filter) if filter and self.snapshot.version.sentences else ():
            sql, parameters = compile_filter({key: {"$exists": True}})
            if self.snapshot.execute(f"SELECT 1 FROM sentences WHERE {sql} LIMIT 1", parameters).fetchone() is None:
                unknown.append(key)
        if not unknown:
            return
        renamed = [f"{RENAMED}{key}" for key in unknown if key in CONTRACT_KEYS]
        cure = "check that the keys are spelled as in the documents that were added"
        if renamed:
            cure = f"a document's own key of that name is stored as {listed(renamed)}"
        warnings.warn(
            f"nothing was found, as no document has {listed(unknown)} in its metadata, which the filter asks for; "
            f"{cure}",
            SentenceWindowWarning,
            stacklevel=5,
        )


def condition_of(filter: Filter | None) -> Condition | None:
    """Compile a filter; ``None`` if there is none, or an empty one."""
    if filter is None or (isinstance(filter, Mapping) and not filter):
        return None
    return compile_filter(filter)
