"""What a search found, read in the state that it searched: candidates to be ranked, and sentences.

Equal scores are ordered by document and index, so that no result depends on when something was added.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from langchain_core.documents import Document

from langchain_sentence_window._primitives import STORABLE_ID, Rows, SentenceKey, Vectors
from langchain_sentence_window.documents import keys
from langchain_sentence_window.documents.metadata_values import number, own_values
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
"""Replaces numbers that a Document lacks because it isn't a sentence."""

_NAME = "CASE WHEN section_key IS NULL THEN id ELSE ifnull(doc_id, '') END"
_TEXT = "CASE typeof(text) WHEN 'text' THEN text END"  # else it has lone surrogates, which JSON can't hold
_ROWS = f"""
    SELECT json_group_array(json_array(
        row, ifnull(sentences.document, {NONE}), ifnull(sentence_index, 0), section, ifnull(section_key, {NONE}),
        ifnull(source_key, {NONE}), start_index, end_index, {_NAME}, id, {_TEXT}, own, checksum
    ))
    FROM sentences LEFT JOIN documents ON documents.document = sentences.document WHERE row {ONE_OF}
"""
_NEIGHBORS = f"""
    SELECT json_group_array(json_array(row, document, sentence_index, section, {_TEXT}))
    FROM sentences WHERE section_key IS NOT NULL AND row {ONE_OF}
"""


_PLACES_OF_SENTENCES = f"""
    SELECT json_group_array(json_array(row, document, section, sentence_index))
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
        start: Where it starts in its document; ``None`` if its places are in ``own``.
        end: Where it ends.
        name: The id of its source document; of a Document that isn't a sentence, its own.
        id: The id of its Document.
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
    id: str
    text: str
    own: str | None
    checksum: int


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
    """Reads rows of one state, within one read, and what they share with other rows only once."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Read in a state."""
        self.snapshot = snapshot
        # The metadata of each source, and what of it a window shows; that of each section, and its bounds.
        self._sources: dict[int, tuple[dict[str, Any], dict[str, Any] | None]] = {NONE: ({}, None)}
        self._sections: dict[int, tuple[dict[str, Any], Section]] = {NONE: ({}, Section(0, 0, ""))}

    def rows(self, numbers: Iterable[int]) -> dict[int, Row]:
        """Read rows by number; those that don't exist are left out."""
        rows = {line[0]: Row._make(line) for line in self.snapshot.lists(_ROWS, numbers)}
        for row, text in self._texts_with_surrogates(row for row, each in rows.items() if each.text is None).items():
            rows[row] = rows[row]._replace(text=text)
        missing = {each.section_key for each in rows.values()} - self._sections.keys()
        for key, metadata in read_shared(self.snapshot, "sections", missing).items():
            self._sections[key] = metadata, _section_of(metadata)
        return rows

    def neighbors(self, numbers: Iterable[int]) -> list[tuple[int, int, int, int, str]]:
        """Read the row, the document, the index, the section and the text of the sentences in some rows."""
        lines = self.snapshot.lists(_NEIGHBORS, numbers)
        texts = self._texts_with_surrogates(line[0] for line in lines if line[4] is None)
        return [(*place, texts[place[0]] if text is None else text) for *place, text in lines]

    def section(self, row: Row) -> Section:
        """Return the section of a row that was read: of its sentence alone if it has none, or invalid bounds."""
        section, index = self._sections[row.section_key][1], row.sentence_index
        return section if section.start <= index < section.end else Section(index, index + 1, section.heading)

    def sentences(self, rows: Sequence[Row]) -> list[StoredSentence]:
        """Return the sentences of rows.

        Raises:
            IncompleteWindowError: The metadata of one isn't what the splitter writes.
            StoreError: One isn't as it was written.
        """
        return [
            read_parts(metadata, row.text, lambda row=row: row.id, self._sources[row.source_key][1])  # type: ignore[misc]
            for row, metadata in zip(rows, self._metadata(rows), strict=True)
        ]

    def documents(self, numbers: Iterable[int]) -> dict[int, Document]:
        """Read the Documents in some rows; those that don't exist are left out.

        Raises:
            StoreError: One isn't as it was written.
        """
        rows = list(self.rows(numbers).values())
        return {
            row.row: Document(id=row.id, page_content=row.text, metadata=own_values(metadata))
            for row, metadata in zip(rows, self._metadata(rows), strict=True)
        }

    def _texts_with_surrogates(self, rows: Iterable[int]) -> dict[int, str]:
        """Read texts with lone surrogates, which JSON can't hold; see `stored_text`."""
        asked = list(rows)
        sql = f"SELECT row, text FROM sentences WHERE row {ONE_OF}"
        return {row: as_text(text) for row, text in self.snapshot.execute(sql, [json_list(asked)])} if asked else {}

    def _metadata(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the metadata of the Documents in rows; several may share a list or a dict."""
        missing = {row.source_key for row in rows} - self._sources.keys()
        for key, metadata in read_shared(self.snapshot, "sources", missing).items():
            self._sources[key] = metadata, own_metadata(metadata)
        merged = list[dict[str, Any]]()
        for row, own in zip(rows, read_metadata([row.own or "{}" for row in rows]), strict=True):
            if row_checksum(row.start, row.end, row.text, row.own) != row.checksum:
                raise damaged("sentences as they were written")
            places: dict[str, Any] = {}
            if row.start is not None:
                places = {keys.SENTENCE_INDEX: row.sentence_index, keys.START_INDEX: row.start, keys.END_INDEX: row.end}
            merged.append(self._sources[row.source_key][0] | self._sections[row.section_key][0] | places | own)
        return merged


@dataclass(frozen=True, slots=True)
class FoundCandidates:
    """The candidates of a search, best first, and access to their sentences within the same read.

    Attributes:
        candidates: What ranking reads; no candidate is left out.
        rows: Their rows.
        unrelated: How close unrelated sentences are to the question; ``None`` if that isn't known.
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
    """Make candidates of the results of a search, with the texts of their neighbors in their sections.

    Args:
        reader: Reads the state of the database that was searched.
        scores: The rows and their scores.
        allowed: The rows that may be read, in order; ``None`` for all.
        unrelated: How close unrelated sentences are to the question, to be passed on.
    """
    read = reader.rows(scores.rows.tolist())
    if len(read) < len(scores.rows):
        raise damaged("sentences that its index contains")
    rows = [read[row] for row in scores.rows.tolist()]
    sections = [reader.section(row) for row in rows]
    # Neighbors are in the rows before and after, see `Transaction.finish`; those that are candidates were read.
    near = np.setdiff1d(np.concatenate([scores.rows - 1, scores.rows + 1]), scores.rows)
    if allowed is not None:
        near = near[are_in(near, allowed)]
    neighbors = reader.neighbors(near.tolist())
    # Texts by the row, the document, the index and the section of their sentences.
    positions: dict[tuple[Any, ...], int] = {row[:4]: at for at, row in enumerate(rows) if row.section_key != NONE}
    positions |= {tuple(place): at for at, (*place, _) in enumerate(neighbors, len(rows))}

    def neighbor(row: Row, step: int) -> int:
        return positions.get((row.row + step, row.document, row.sentence_index + step, row.section), NO_TEXT)

    before = [
        neighbor(row, -1) if section.start < row.sentence_index else NO_TEXT
        for row, section in zip(rows, sections, strict=True)
    ]
    after = [
        neighbor(row, 1) if row.sentence_index + 1 < section.end else NO_TEXT
        for row, section in zip(rows, sections, strict=True)
    ]
    candidates = Candidates(
        keys=[(row.name, row.sentence_index) for row in rows],
        section_starts=np.array([section.start for section in sections], dtype=np.int64),
        section_ends=np.array([section.end for section in sections], dtype=np.int64),
        dense=scores.cosines,
        lexical=scores.lexical,
        texts=[row.text for row in rows] + [text for *_, text in neighbors],
        before=np.array(before, dtype=np.int64),
        after=np.array(after, dtype=np.int64),
        headings=[section.heading for section in sections],
        kinds=_kinds(rows),
        document_frequency=scores.document_frequency,
        scores=scores.fused,
    )
    return FoundCandidates(candidates, rows, unrelated, reader)


def _kinds(rows: Sequence[Row]) -> list[str]:
    """Return the kind of the block of each sentence; empty for one that isn't a string, and for other Documents."""
    owns = read_metadata([row.own or "{}" for row in rows])
    kinds = [own.get(keys.KIND, PROSE) if row.source_key != NONE else "" for row, own in zip(rows, owns, strict=True)]
    return [kind if isinstance(kind, str) else "" for kind in kinds]


def are_in(rows: Rows, others: Rows) -> npt.NDArray[np.bool_]:
    """Return for each of some rows whether it is one of others, which are in order."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    at = np.minimum(np.searchsorted(others, rows), len(others) - 1)
    return np.asarray(others[at] == rows)


def neighbors_of(snapshot: Snapshot, rows: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
    """Find the neighbors of some sentences in their sections.

    Returns:
        ``(row, other row, sentences apart)`` for each row and each other row at most so many sentences away.
    """
    around = sorted({row + step for row in rows for step in range(-reach, reach + 1)})
    places = {row: (tuple(of), index) for row, *of, index in snapshot.lists(_PLACES_OF_SENTENCES, around)}
    near = list[tuple[int, int, int]]()
    for row in sorted(places.keys() & set(rows), key=lambda row: places[row][1]):
        section, index = places[row]
        for other in range(row - reach, row + reach + 1):
            of_other, other_index = places.get(other, (None, 0))
            if other != row and of_other == section and 0 < abs(other_index - index) <= reach:
                near.append((row, other, abs(other_index - index)))
    return near


def exact_cosines(snapshot: Snapshot, vector: Vectors, rows: Rows, weights: Sequence[float]) -> Vectors:
    """Compare a unit vector with the vectors of rows in the database, mixed with those of their neighbors.

    Returns:
        The cosine of each row, in their order.
    """
    read = snapshot.vectors_around(rows, len(weights) - 1) if len(rows) else None
    if read is None:
        return np.empty(0, dtype=np.float32)
    found, vectors, positions = read
    if not are_in(rows, found).all():
        raise damaged("vectors of its sentences")
    mixed = mix_neighbors(vectors, positions, weights, np.searchsorted(found, rows))
    return np.minimum(inner_products(mixed, vector), 1)


def inner_products(vectors: Vectors, vector: Vectors) -> Vectors:
    """Return the inner product of each vector with another one."""
    # Not by a product of matrices, whose threads don't survive a fork.
    return np.asarray(np.einsum("ij,j->i", vectors, vector))


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
    if len(order) > k:
        order = order[scores[order] >= scores[order[k - 1]]]
    values, counts = np.unique(scores[order], return_counts=True)
    is_tied = np.isin(scores[order], values[counts > 1])
    if is_tied.any():
        tied = order[is_tied]
        lines = snapshot.lists(_PLACES, rows[tied].tolist())
        places: Mapping[int, tuple[str, int]] = {row: (name, index) for row, name, index in lines}
        order[is_tied] = sorted(tied.tolist(), key=lambda at: (-scores[at], places.get(int(rows[at]), ("", 0))))
    return np.asarray(order[:k])


_PLACES = f"""
    SELECT json_group_array(json_array(row, {_NAME}, ifnull(sentence_index, 0)))
    FROM sentences LEFT JOIN documents USING (document) WHERE row {ONE_OF}
"""


def best_pairs(snapshot: Snapshot, found: Pairs, k: int) -> Pairs:
    """Return the ``k`` best of some results, best first, equal ones by document and index."""
    rows, scores = np.array([row for row, _ in found], dtype=np.int64), np.array([score for _, score in found])
    return [found[at] for at in best_first(snapshot, rows, scores, k).tolist()]
