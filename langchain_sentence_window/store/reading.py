"""What a search found, read in the state that it searched: candidates to be ranked, and sentences.

Equal scores are ordered by document and index, so that no result depends on when something was added.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import STORABLE_ID, Rows, SentenceKey, Vectors
from langchain_sentence_window.documents import keys
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.documents.metadata_values import number
from langchain_sentence_window.documents.sentence_documents import (
    SentencesByKey,
    StoredSentence,
    own_metadata,
    read_parts,
)
from langchain_sentence_window.embedding.vectors import mix_neighbors
from langchain_sentence_window.ranking.candidates import NO_TEXT, Candidates, DocumentFrequency, Numbers
from langchain_sentence_window.ranking.relevance import Unrelated
from langchain_sentence_window.splitting.blocks import PROSE

from .filters import Condition, for_few
from .records import read_metadata, read_shared, row_checksum
from .tables import ONE_OF, Snapshot, as_text, damaged, json_list

NONE = -1
"""Stands for a number that a Document doesn't have as it isn't a sentence."""

_NAME = "CASE WHEN section_key IS NULL THEN id ELSE ifnull(doc_id, '') END"
_TEXT = "CASE typeof(text) WHEN 'text' THEN text END"  # else it has lone surrogates, which JSON can't hold
_ROWS = f"""
    SELECT json_group_array(json_array(
        row, ifnull(sentences.document, {NONE}), ifnull(sentence_index, 0), section, ifnull(section_key, {NONE}),
        ifnull(source_key, {NONE}), start_index, end_index, {_NAME}, {_TEXT}, own, checksum
    ))
    FROM sentences LEFT JOIN documents ON documents.document = sentences.document WHERE row {ONE_OF}
"""
_BESIDE = f"""
    SELECT json_group_array(json_array(row, document, section, sentence_index, {_TEXT}))
    FROM sentences WHERE section_key IS NOT NULL AND row {ONE_OF}
"""


class Row(NamedTuple):
    """A row of ``sentences``.

    Attributes:
        row: Its number.
        document: The number of its source document; `NONE` for a Document without one, as below.
        sentence_index: Its index in the document; 0 for a Document that isn't a sentence.
        section: The number of its section.
        section_key: The key of what it shares with others of its section.
        source_key: The key of what it shares with others of its source document.
        start: Where it starts in its document; ``None`` if its own metadata tells its places.
        end: Where it ends.
        name: The id of its source document; of a Document that isn't a sentence, its own.
        text: Its text.
        own: Its own metadata as JSON; ``None`` for none.
        checksum: See `row_checksum`.
    """

    row: int
    document: int
    sentence_index: int
    section: int
    section_key: int
    source_key: int
    start: int | None
    end: int | None
    name: str
    text: str
    own: str | None
    checksum: int

    @property
    def id(self) -> str:
        """The id of its Document, as a retriever gives it."""
        return self.name if self.section_key == NONE else sentence_id(self.name, self.sentence_index)


class Section(NamedTuple):
    """The bounds of a section, and its heading path.

    Attributes:
        start: Index of its first sentence.
        end: One past the index of its last sentence.
        heading: Its heading path; empty if there is none.
    """

    start: int
    end: int
    heading: str


_NO_SECTION = Section(0, 0, "")  # no sentence is in it


def _section_of(metadata: Mapping[str, Any]) -> Section:
    heading = metadata.get(keys.HEADING)
    heading = heading if isinstance(heading, str) else ""
    try:
        return Section(number(metadata, keys.SECTION_START), number(metadata, keys.SECTION_END), heading)
    except (KeyError, ValueError):
        return Section(0, 0, heading)


class Scores(NamedTuple):
    """The candidates of a search, best first: ``n`` rows and their scores.

    Attributes:
        rows: The rows, each once.
        fused: Scores by meaning and words together.
        cosines: Their cosines.
        lexical: Their BM25 scores; 0 for none.
        document_frequency: Counts the sentences that hold a word; ``None`` if words weren't searched.
    """

    rows: Rows
    fused: Numbers
    cosines: Numbers
    lexical: Numbers
    document_frequency: DocumentFrequency | None


class RowReader:
    """Reads rows of one state, for as long as the read lasts, and what they share with others only once."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Read in a state."""
        self.snapshot = snapshot
        self._sources: dict[int, dict[str, Any]] = {NONE: {}}
        self._shown: dict[int, dict[str, Any] | None] = {NONE: None}
        self._sections: dict[int, dict[str, Any]] = {NONE: {}}
        self._bounds: dict[int, Section] = {NONE: _NO_SECTION}

    def rows(self, wanted: Iterable[int]) -> dict[int, Row]:
        """Read rows by number; those that don't exist are left out."""
        new = tuple.__new__  # what `Row._make` does, once for each of hundreds of rows
        found = {line[0]: new(Row, line) for line in self.snapshot.lists(_ROWS, wanted)}
        for row, text in self._odd_texts(row for row, each in found.items() if each.text is None):
            found[row] = found[row]._replace(text=text)
        missing = {each.section_key for each in found.values()} - self._sections.keys()
        for key, metadata in read_shared(self.snapshot, "sections", missing).items():
            self._sections[key] = metadata
            self._bounds[key] = _section_of(metadata)
        return found

    def beside(self, rows: Iterable[int]) -> list[tuple[int, int, int, int, str]]:
        """Read the row, the document, the section, the index and the text of sentences."""
        found = self.snapshot.lists(_BESIDE, rows)
        odd = dict(self._odd_texts(line[0] for line in found if line[4] is None))
        return [(*numbers, odd[numbers[0]] if text is None else text) for *numbers, text in found]

    def sections(self, rows: Iterable[Row]) -> list[Section]:
        """Return the sections that rows name, as they are stored; one without a sentence for what is in none."""
        return [self._bounds[row.section_key] for row in rows]

    def sentences(self, rows: Sequence[Row]) -> list[StoredSentence]:
        """Return the sentences of rows.

        Raises:
            IncompleteWindowError: The metadata of one isn't what the splitter writes.
            StoreError: One isn't as it was written.
        """
        missing = {row.source_key for row in rows} - self._sources.keys()
        for key, metadata in read_shared(self.snapshot, "sources", missing).items():
            self._sources[key], self._shown[key] = metadata, own_metadata(metadata)
        owns = read_metadata([row.own or "{}" for row in rows])
        return [self._sentence(row, own) for row, own in zip(rows, owns, strict=True)]

    def _odd_texts(self, rows: Iterable[int]) -> list[tuple[int, str]]:
        """Read texts with lone surrogates; see `stored_text`."""
        asked = list(rows)
        sql = f"SELECT row, text FROM sentences WHERE row {ONE_OF}"
        found = self.snapshot.execute(sql, [json_list(asked)]) if asked else ()
        return [(row, as_text(text)) for row, text in found]

    def _sentence(self, row: Row, own: dict[str, Any]) -> StoredSentence:
        if row_checksum(row.start, row.end, row.text, row.own) != row.checksum:
            raise damaged("sentences as they were written")
        bounds, shown = self._bounds[row.section_key], self._shown[row.source_key]
        start, end, index = row.start, row.end, row.sentence_index
        separator, kind, lead_in = own.get(keys.SEPARATOR, " "), own.get(keys.KIND, PROSE), own.get(keys.LEAD_IN)
        # Nearly all sentences of prose and of lists, without the merging and the checks that any others need.
        if (
            shown is not None
            and start is not None
            and end is not None
            and start <= end
            and bounds.start <= index < bounds.end
            and own.keys() <= _USUAL_KEYS
            and type(separator) is type(kind) is str
            and (lead_in is None or (type(lead_in) is int and bounds.start <= lead_in < index))
        ):
            return StoredSentence(
                row.name,
                index,
                start,
                end,
                bounds.start,
                bounds.end,
                separator,
                kind,
                bounds.heading,
                lead_in,
                row.text,
                shown,
            )
        # As its Document would be read, whose own metadata comes last.
        places: dict[str, Any] = {}
        if start is not None:
            places = {keys.SENTENCE_INDEX: index, keys.START_INDEX: start, keys.END_INDEX: end}
        metadata = self._sources[row.source_key] | self._sections[row.section_key] | places | own
        return read_parts(metadata, row.text, lambda: row.id, shown)


_USUAL_KEYS = {keys.SEPARATOR, keys.KIND, keys.LEAD_IN}
"""The own metadata that nine in ten sentences of real documents have at most."""

_KIND_IN_JSON = f'"{keys.KIND}"'


@dataclass(frozen=True, slots=True)
class FoundCandidates:
    """The candidates of a search, best first, and the sentences that they are, for as long as the read lasts.

    Attributes:
        candidates: What ranking reads; no candidate is left out.
        rows: Their rows.
        unrelated: How close sentences are that have little to do with the question; ``None`` if that isn't known.
    """

    candidates: Candidates
    rows: Sequence[Row]
    unrelated: Unrelated | None
    _reader: RowReader

    def sentences(self, order: Iterable[int]) -> list[StoredSentence]:
        """Return the sentences of some candidates, by position; see `RowReader.sentences`."""
        return self._reader.sentences([self.rows[at] for at in order])


def sentences_at(reader: RowReader, wanted: Iterable[SentenceKey], where: Condition | None = None) -> SentencesByKey:
    """Read sentences by document and index.

    Args:
        reader: Reads one state of the database.
        wanted: Which to read. Those that don't exist are left out.
        where: A condition that they must meet; ``None`` for none.

    Raises:
        IncompleteWindowError: The metadata of one isn't what the splitter writes.
    """
    by_document: dict[str, list[int]] = {}
    for doc_id, index in wanted:
        if STORABLE_ID.fullmatch(doc_id):
            by_document.setdefault(doc_id, []).append(index)
    if not by_document:
        return {}
    sql, parameters = f"row IN ({_ROWS_AT}) AND section_key IS NOT NULL", [json_list(by_document.items())]
    if where is not None:
        condition, values = for_few(where)
        sql, parameters = f"{sql} AND ({condition})", [*parameters, *values]
    rows = [row for (row,) in reader.snapshot.execute(f"SELECT row FROM sentences WHERE {sql}", parameters)]
    return {sentence.key: sentence for sentence in reader.sentences(list(reader.rows(rows).values()))}


_ROWS_AT = """
    SELECT row FROM json_each(?) AS asked
    CROSS JOIN documents ON doc_id = json_extract(asked.value, '$[0]')
    CROSS JOIN json_each(json_extract(asked.value, '$[1]')) AS place
    CROSS JOIN sentences ON sentences.document = documents.document AND sentence_index = place.value
"""


def read_candidates(
    reader: RowReader, scores: Scores, allowed: Rows | None, unrelated: Unrelated | None
) -> FoundCandidates:
    """Make candidates of what a search found, and of the texts of the sentences beside them in their sections.

    Args:
        reader: Reads the state of the database that was searched.
        scores: The rows and their scores.
        allowed: The rows that may be read, in order; ``None`` for all.
        unrelated: How close sentences are that have little to do with the question, to be passed on.
    """
    read = reader.rows(scores.rows.tolist())
    if len(read) < len(scores.rows):
        raise damaged("sentences that its index contains")
    rows = [read[row] for row in scores.rows.tolist()]
    sections = reader.sections(rows)
    # What stands in the rows beside them, see `Transaction.finish`; those that are candidates were read.
    beside = np.setdiff1d(np.concatenate([scores.rows - 1, scores.rows + 1]), scores.rows)
    if allowed is not None:
        beside = beside[are_in(beside, allowed)]
    others = reader.beside(beside.tolist())
    is_sentence = np.array([row.section_key != NONE for row in rows], dtype=np.bool_)
    stands = np.array([(each.row, each.document, each.section, each.sentence_index) for each in rows], dtype=np.int64)
    stands = stands.reshape(-1, 4)
    # Each Document that isn't a sentence is a document of its own.
    stands[~is_sentence, 1] = -1 - stands[~is_sentence, 0]
    every = np.concatenate([stands, np.array([each[:4] for each in others], dtype=np.int64).reshape(-1, 4)])
    starts = np.array([section.start for section in sections], dtype=np.int64)
    ends = np.array([section.end for section in sections], dtype=np.int64)
    # What is in no section, or in one that can't be right, has one of its own.
    indexes = stands[:, 3]
    is_inside = (starts <= indexes) & (indexes < ends)
    starts, ends = np.where(is_inside, starts, indexes), np.where(is_inside, ends, indexes + 1)
    candidates = Candidates(
        keys=[(row.name, row.sentence_index) for row in rows],
        section_starts=starts,
        section_ends=ends,
        dense=scores.cosines,
        lexical=scores.lexical,
        texts=[row.text for row in rows] + [text for *_, text in others],
        before=np.where(stands[:, 3] > starts, _places_beside(stands, every, -1), NO_TEXT),
        after=np.where(stands[:, 3] + 1 < ends, _places_beside(stands, every, 1), NO_TEXT),
        headings=[section.heading for section in sections],
        kinds=_sentence_kinds(rows),
        document_frequency=scores.document_frequency,
        scores=scores.fused,
    )
    return FoundCandidates(candidates, rows, unrelated, reader)


def _places_beside(stands: Rows, every: Rows, step: int) -> Rows:
    """Return where the sentences beside some are among all that were read; `NO_TEXT` for those that aren't there.

    Args:
        stands: The row, the document, the section and the index of each of ``n`` sentences, shape ``(n, 4)``.
        every: Those of all that were read.
        step: 1 for the sentence after each, -1 for the one before it.
    """
    if not len(every):
        return np.empty(0, dtype=np.int64)
    wanted = stands + np.array([step, 0, 0, step])
    order = np.argsort(every[:, 0])
    at = order[np.minimum(np.searchsorted(every[order, 0], wanted[:, 0]), len(order) - 1)]
    return np.where((every[at] == wanted).all(axis=1), at, NO_TEXT)


def _sentence_kinds(rows: Sequence[Row]) -> list[str]:
    """Return the kind of the sentence in each row."""
    kinds = ["" if row.section_key == NONE else PROSE for row in rows]
    special = [at for at, row in enumerate(rows) if kinds[at] and row.own and _KIND_IN_JSON in row.own]
    for at, own in zip(special, read_metadata([rows[at].own or "{}" for at in special]), strict=True):
        kind = own.get(keys.KIND, PROSE)
        kinds[at] = kind if isinstance(kind, str) else ""
    return kinds


def are_in(rows: Rows, others: Rows) -> npt.NDArray[np.bool_]:
    """Return for each of some rows whether it is one of others, which are in order."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    at = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    return np.asarray(others[at] == rows)


def among(rows: Iterable[int], allowed: Rows) -> list[int]:
    """Return those of some rows that are allowed, in order."""
    found = np.array(sorted(rows), dtype=np.int64)
    return list(found[are_in(found, allowed)].tolist())


def neighbors_of(snapshot: Snapshot, rows: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
    """Find the neighbors of some sentences in their sections.

    Returns:
        ``(row, other row, sentences apart)`` for each row and each other row at most so many sentences away.
    """
    around = sorted({row + step for row in rows for step in range(-reach, reach + 1)})
    found = snapshot.lists(
        "SELECT json_group_array(json_array(row, document, section, sentence_index)) FROM sentences "
        f"WHERE section_key IS NOT NULL AND row {ONE_OF}",
        around,
    )
    places = {row: (document, section, index) for row, document, section, index in found}
    near = list[tuple[int, int, int]]()
    for row in sorted(places.keys() & set(rows), key=lambda row: places[row][2]):
        document, section, index = places[row]
        for other in range(row - reach, row + reach + 1):
            of_other = places.get(other)
            if other != row and of_other is not None and of_other[:2] == (document, section):
                apart = abs(of_other[2] - index)
                if 0 < apart <= reach:
                    near.append((row, other, apart))
    return near


def exact_cosines(snapshot: Snapshot, vector: Vectors, rows: Rows, weights: Sequence[float]) -> Vectors:
    """Compare a unit vector with the vectors of rows in the database, mixed with those of their neighbors.

    Returns:
        The cosine of each row, in their order; `numpy.nan` for a row that doesn't exist.
    """
    cosines = np.full(len(rows), np.nan, dtype=np.float32)
    read = snapshot.vectors_around(rows, len(weights) - 1) if len(rows) else None
    if read is not None:
        found, vectors, positions = read
        is_there = are_in(rows, found)
        at = np.searchsorted(found, rows[is_there])
        # Not by a product of matrices, whose threads don't survive a fork.
        cosines[is_there] = np.einsum("ij,j->i", mix_neighbors(vectors, positions, weights, at), vector)
    return np.minimum(cosines, 1)


Rank: TypeAlias = Callable[[Candidates], npt.ArrayLike]
"""Takes candidates, best first by the search, and returns a score for each; higher is better."""

Pairs: TypeAlias = list[tuple[int, float]]
"""``(row, score)``, best first."""

MAX_TIED = 2_000
"""The most results beyond those wanted. Of still more equal ones, those that the index came across first are taken."""


def with_tied(find: Callable[[int], Pairs], k: int) -> Pairs:
    """Find the best results, and all others that are as good as the last of them.

    FAISS and tantivy keep whichever of equally good results they come across first. So more are asked for than are
    wanted, until the last of them is worse.

    Args:
        find: Finds at most so many of the best results, in order of their scores.
        k: The number of results.
    """
    asked = k + 1
    while True:
        found = find(asked)
        if len(found) <= k:
            return found
        last = found[k - 1][1]
        if found[-1][1] < last or len(found) < asked or asked >= k + MAX_TIED:
            return [pair for pair in found if pair[1] >= last]
        asked = min(asked * 4, k + MAX_TIED)


def best_first(snapshot: Snapshot, rows: Rows, scores: npt.NDArray[np.floating[Any]], k: int) -> npt.NDArray[np.int64]:
    """Return the positions of the ``k`` highest scores, equal ones by document and index."""
    order = np.lexsort((rows, -scores))
    if not len(order):
        return order
    in_order = scores[order]
    is_equal = in_order[1:] == in_order[:-1]
    is_tied = np.concatenate([is_equal, [False]]) | np.concatenate([[False], is_equal])
    is_tied &= in_order >= in_order[min(k, len(order)) - 1]  # what is worse is left out whatever its place is
    tied = order[is_tied]
    if len(tied):
        lines = snapshot.lists(_PLACES, rows[tied].tolist())
        places: Mapping[int, tuple[str, int]] = {row: (name, index) for row, name, index in lines}
        order[is_tied] = sorted(tied.tolist(), key=lambda at: (-scores[at], places.get(int(rows[at]), ("", 0))))
    return np.asarray(order[:k])


_PLACES = f"""
    SELECT json_group_array(json_array(
        row, {_NAME}, ifnull(sentence_index, 0)
    ))
    FROM sentences LEFT JOIN documents USING (document) WHERE row {ONE_OF}
"""


def best_pairs(snapshot: Snapshot, found: Pairs, k: int) -> Pairs:
    """Return the ``k`` best of some results, best first, equal ones by document and index."""
    rows, scores = np.array([row for row, _ in found], dtype=np.int64), np.array([score for _, score in found])
    return [found[at] for at in best_first(snapshot, rows, scores, k).tolist()]
