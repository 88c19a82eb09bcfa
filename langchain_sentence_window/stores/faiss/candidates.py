"""The candidates of a search, read from one state of the database as columns that ranking reads."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Rows
from langchain_sentence_window._validation import finite_numbers
from langchain_sentence_window.documents.keys import HEADING, KIND, SECTION_END, SECTION_START
from langchain_sentence_window.documents.values import number
from langchain_sentence_window.errors import StoreError
from langchain_sentence_window.ranking.candidates import NO_TEXT, Candidates, DocumentFrequency, Indexes
from langchain_sentence_window.splitting.blocks import PROSE
from langchain_sentence_window.stores.faiss.conversion import read_metadata
from langchain_sentence_window.stores.faiss.database.places import Place, PlacedSentence
from langchain_sentence_window.stores.faiss.database.schema import loaded_text
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

Rank: TypeAlias = Callable[[Candidates], npt.ArrayLike]
"""Takes candidates, best first by the search, and returns a score for each; higher is better."""

_KIND_IN_JSON = f'"{KIND}"'


class Scores(NamedTuple):
    """The scores of a search's candidates.

    Attributes:
        fused: Scores by meaning and words together, by row.
        cosines: Cosines by row.
        lexical: BM25 scores by row; a missing one is 0.
        document_frequency: Counts the sentences that hold a word; ``None`` if words weren't searched.
    """

    fused: Mapping[int, float]
    cosines: Mapping[int, float]
    lexical: Mapping[int, float]
    document_frequency: DocumentFrequency | None


class _Section(NamedTuple):
    start: int
    end: int
    heading: str


_Neighbor: TypeAlias = tuple[int, int, int, Place]
"""A sentence beside a candidate: the candidate's position; -1 if it comes before it, 1 if after; the row that it has if
the document was written whole; where it stands. Hundreds are made for a query, which takes longer with names."""


def read_candidates(snapshot: Snapshot, rows: Sequence[int], scores: Scores, allowed: Rows | None) -> Candidates:
    """Read the candidates of a search, and the texts of the sentences beside them in their sections.

    A Document that isn't a sentence, or whose section can't be right, is a section of its own. If it isn't a sentence,
    its key is its id and 0.

    Args:
        snapshot: The state of the database that was searched.
        rows: The rows of the candidates, each once.
        scores: Their scores.
        allowed: The rows that may be read, in order; ``None`` for all.

    Raises:
        StoreError: The database lacks one of the rows.
    """
    found = _in_order(snapshot, rows)
    sections = _sections(found)
    texts, before, after = _texts(snapshot, found, sections, allowed)
    return Candidates(
        keys=[(each.id, 0) if each.doc_id is None else (each.doc_id, each.sentence_index) for each in found],
        section_starts=np.array([section.start for section in sections], dtype=np.int64),
        section_ends=np.array([section.end for section in sections], dtype=np.int64),
        dense=np.array([scores.cosines[row] for row in rows], dtype=np.float64),
        lexical=np.array([scores.lexical.get(row, 0.0) for row in rows], dtype=np.float64),
        texts=texts,
        before=before,
        after=after,
        headings=[section.heading for section in sections],
        kinds=["" if each.doc_id is None else _kind(each.metadata) for each in found],
        document_frequency=scores.document_frequency,
        scores=np.array([scores.fused[row] for row in rows], dtype=np.float64),
    )


def order_by(rank: Rank, candidates: Candidates) -> list[tuple[int, float]]:
    """Rank candidates.

    Returns:
        ``(position, score)``, best first, equal ones in the order of the candidates.

    Raises:
        InvalidInputError: The function returned something other than a finite number for each.
    """
    scores = finite_numbers("the result of rank", rank(candidates), len(candidates))
    order = np.argsort(-scores, kind="stable")
    return list(zip(order.tolist(), scores[order].tolist(), strict=True))


def are_in(rows: Rows, allowed: Rows) -> npt.NDArray[np.bool_]:
    """Return for each of some rows whether it is one of others, which are in order."""
    if not len(allowed):
        return np.zeros(len(rows), dtype=np.bool_)
    at = np.minimum(np.searchsorted(allowed, rows), len(allowed) - 1)
    return np.asarray(allowed[at] == rows)


def _in_order(snapshot: Snapshot, rows: Sequence[int]) -> list[PlacedSentence]:
    by_row = {each.row: each for each in snapshot.placed(rows)}
    if len(by_row) < len(rows):
        raise StoreError(
            "the database lacks sentences that its index contains, so it is damaged; restore it from a backup"
        )
    return [by_row[row] for row in rows]


def _sections(found: Sequence[PlacedSentence]) -> list[_Section]:
    texts = list({each.section_metadata: None for each in found if each.section_metadata})
    known = dict(zip(texts, map(_section, read_metadata(texts)), strict=True))
    alone = _Section(0, 0, "")
    sections = list[_Section]()
    for each in found:
        section = known.get(each.section_metadata, alone)
        is_inside = section.start <= each.sentence_index < section.end
        sections.append(
            section if is_inside else _Section(each.sentence_index, each.sentence_index + 1, section.heading)
        )
    return sections


def _section(metadata: Mapping[str, Any]) -> _Section:
    """Return a section; one that no sentence is in, if its bounds can't be right."""
    heading = _string(metadata.get(HEADING))
    try:
        return _Section(number(metadata, SECTION_START), number(metadata, SECTION_END), heading)
    except (KeyError, ValueError):
        return _Section(0, 0, heading)


def _kind(metadata: str) -> str:
    return _string(read_metadata([metadata])[0].get(KIND, PROSE)) if _KIND_IN_JSON in metadata else PROSE


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(
    snapshot: Snapshot, found: Sequence[PlacedSentence], sections: Sequence[_Section], allowed: Rows | None
) -> tuple[list[str], Indexes, Indexes]:
    """Return the texts of candidates and their neighbors, and the positions of those before and after each."""
    positions: dict[Place, int] = {}
    for position, each in enumerate(found):
        if each.doc_id is not None:
            positions.setdefault((each.document, each.sentence_index, each.section), position)
    wanted = _neighbors(found, sections)
    read = _read(snapshot, wanted, positions, allowed)
    texts = [loaded_text(each.text) for each in found]
    beside = {step: [NO_TEXT] * len(found) for step in (-1, 1)}
    for candidate, step, _, place in wanted:
        position = positions.get(place, NO_TEXT)
        if position == NO_TEXT and place in read:
            position = positions[place] = len(texts)
            texts.append(loaded_text(read[place]))
        beside[step][candidate] = position
    return texts, np.array(beside[-1], dtype=np.int64), np.array(beside[1], dtype=np.int64)


def _neighbors(found: Sequence[PlacedSentence], sections: Sequence[_Section]) -> list[_Neighbor]:
    neighbors: list[_Neighbor] = []
    for at, (each, (start, end, _)) in enumerate(zip(found, sections, strict=True)):
        row, document, index, section = each.row, each.document, each.sentence_index, each.section
        if start < index:
            neighbors.append((at, -1, row - 1, (document, index - 1, section)))
        if index + 1 < end:
            neighbors.append((at, 1, row + 1, (document, index + 1, section)))
    return neighbors


def _read(
    snapshot: Snapshot, wanted: Sequence[_Neighbor], known: Mapping[Place, int], allowed: Rows | None
) -> dict[Place, bytes]:
    """Read the texts of neighbors that aren't known: first where they likely are, then by looking the others up."""

    def of_rows(rows: set[int]) -> dict[Place, bytes]:
        in_order = np.array(sorted(rows), dtype=np.int64)
        return snapshot.texts_of((in_order if allowed is None else in_order[are_in(in_order, allowed)]).tolist())

    read = of_rows({row for _, _, row, place in wanted if place not in known})
    missing = {place[:2] for _, _, _, place in wanted if place not in known and place not in read}
    return {**of_rows(set(snapshot.rows_at(list(missing)))), **read} if missing else read
