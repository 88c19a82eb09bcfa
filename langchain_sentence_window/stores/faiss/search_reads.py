"""Reads what a search found, in the state that it searched: candidates to rank, and sentences."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Rows
from langchain_sentence_window._validation import finite_numbers
from langchain_sentence_window.documents.keys import (
    END_INDEX,
    HEADING,
    HEADING_LEVEL,
    KIND,
    LEAD_IN,
    PART_SPANS,
    PIECES_START,
    SECTION_END,
    SECTION_START,
    SENTENCE_INDEX,
    SEPARATOR,
    START_INDEX,
    WINDOW_SPANS,
    sentence_id,
)
from langchain_sentence_window.documents.metadata_values import number, own_values
from langchain_sentence_window.documents.sentence_documents import (
    LateSentence,
    StoredSentence,
    read_parts,
)
from langchain_sentence_window.ranking.candidates import (
    NO_TEXT,
    Candidates,
    DocumentFrequency,
    Indexes,
    JoinedTexts,
    Numbers,
)
from langchain_sentence_window.splitting.blocks import PROSE
from langchain_sentence_window.stores.faiss.conversion import read_metadata
from langchain_sentence_window.stores.faiss.database.reads import (
    NONE,
    FoundRows,
    Place,
    are_in,
    found_rows,
    rows_at,
    source_metadata_of,
    texts_by_place,
)
from langchain_sentence_window.stores.faiss.database.schema import TEXT
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

Rank: TypeAlias = Callable[[Candidates], npt.ArrayLike]
"""Takes candidates, best first by the search, and returns a score for each; higher is better."""

_KIND_IN_JSON = f'"{KIND}"'
_BEFORE, _AFTER = _SIDES = 1, 2
_STEPS = -1, 1


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


def read_candidates(
    snapshot: Snapshot, found: FoundRows, sections: Sequence[Section], scores: Scores, allowed: Rows | None
) -> Candidates:
    """Make candidates of what a search found, and of the texts of the sentences beside them in their sections.

    A Document that isn't a sentence, or whose section can't be right, is a section of its own. If it isn't a sentence,
    its key is its id and 0.

    Args:
        snapshot: The state of the database that was searched.
        found: The candidates, in the order of their scores, with the texts beside them if all may be read.
        sections: Their sections.
        scores: Their scores.
        allowed: The rows that may be read, in order; ``None`` for all.
    """
    starts = np.array([section.start for section in sections], dtype=np.int64)
    ends = np.array([section.end for section in sections], dtype=np.int64)
    texts, before, after = _texts(snapshot, found, starts, ends, allowed)
    is_sentence = found.section_keys != NONE
    return Candidates(
        keys=list(zip(found.names, found.indexes.tolist(), strict=True)),
        section_starts=starts,
        section_ends=ends,
        dense=scores.cosines,
        lexical=scores.lexical,
        texts=texts,
        before=before,
        after=after,
        headings=[section.heading for section in sections],
        kinds=[
            (_kind(found.metadata(at)) if _KIND_IN_JSON in own else PROSE) if known else ""
            for at, (own, known) in enumerate(zip(found.own, is_sentence.tolist(), strict=True))
        ],
        document_frequency=scores.document_frequency,
        scores=scores.fused,
        # Each Document that isn't a sentence is a document of its own.
        documents=np.where(is_sentence, found.documents, -1 - found.rows),
    )


def sections_of(found: FoundRows) -> list[Section]:
    """Return the section of each sentence; one of its own for what is in none, or in one that can't be right."""
    shared = dict(zip(found.section_keys.tolist(), found.section_metadata, strict=True))
    shared.pop(NONE, None)
    known = dict(zip(shared, map(_section, read_metadata(list(shared.values()))), strict=True))
    alone = Section(0, 0, "")
    return [
        section if section.start <= index < section.end else Section(index, index + 1, section.heading)
        for index, key in zip(found.indexes.tolist(), found.section_keys.tolist(), strict=True)
        for section in [known.get(key, alone)]
    ]


def order_by(rank: Rank, candidates: Candidates) -> tuple[Indexes, Numbers]:
    """Rank candidates.

    Returns:
        Their positions, best first, equal ones in the order of the candidates; and their scores in that order.

    Raises:
        InvalidInputError: The function returned something other than a finite number for each.
    """
    scores = finite_numbers("the result of rank", rank(candidates), len(candidates))
    order = np.argsort(-scores, kind="stable")
    return order, scores[order]


def _section(metadata: Mapping[str, Any]) -> Section:
    """Return a section; one that no sentence is in, if its bounds can't be right."""
    heading = _string(metadata.get(HEADING))
    try:
        return Section(number(metadata, SECTION_START), number(metadata, SECTION_END), heading)
    except (KeyError, ValueError):
        return Section(0, 0, heading)


def _kind(metadata: str) -> str:
    return _string(read_metadata([metadata])[0].get(KIND, PROSE))


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(
    snapshot: Snapshot, found: FoundRows, starts: Indexes, ends: Indexes, allowed: Rows | None
) -> tuple[JoinedTexts, Indexes, Indexes]:
    """Return the texts of candidates and their neighbors, and the positions of those before and after each."""
    is_sentence, size = found.section_keys != NONE, len(found.rows)
    wanted = is_sentence & (starts < found.indexes), is_sentence & (found.indexes + 1 < ends)
    held = [np.flatnonzero(found.sizes[side] != NONE) for side in _SIDES]
    # All texts that were read, those of candidates first, in their order; and where each of them stands.
    owners = np.concatenate([np.arange(size), *held])
    steps = np.repeat([0, *_STEPS], [size, *map(len, held)])
    rows, indexes = found.rows[owners] + steps, found.indexes[owners] + steps
    columns = [
        np.concatenate([column[0], *(column[side][at] for side, at in zip(_SIDES, held, strict=True))])
        for column in (found.starts, found.sizes)
    ]
    texts = _cut(found.stored, *columns)
    order = np.argsort(rows, kind="stable")
    beside = np.full((2, size), NO_TEXT)
    lacking = list[npt.NDArray[np.bool_]]()
    for column, step, wants in zip(beside, _STEPS, wanted, strict=True):
        at = order[np.minimum(np.searchsorted(rows, found.rows + step, sorter=order), len(rows) - 1)]
        is_there = (
            wants
            & (rows[at] == found.rows + step)
            & (indexes[at] == found.indexes + step)
            & (found.documents[owners[at]] == found.documents)
            & (found.sections[owners[at]] == found.sections)
            & is_sentence[owners[at]]
        )
        if allowed is not None:
            is_there &= are_in(found.rows + step, allowed)
        column[is_there] = at[is_there]
        lacking.append(wants & ~is_there)
    if lacking[0].any() or lacking[1].any():
        texts = _with_others(snapshot, found, (texts, owners, steps), beside, lacking=lacking, allowed=allowed)
    return texts, beside[0], beside[1]


def _cut(stored: bytes, starts: Indexes, sizes: Indexes) -> JoinedTexts:
    """Return texts by where they stand in bytes."""
    joined, ends = stored.decode(*TEXT), starts + sizes
    if len(joined) < len(stored):
        begins = (np.frombuffer(stored, dtype=np.uint8) & 0xC0) != 0x80  # noqa: PLR2004 - bytes that begin a character
        characters = np.concatenate([[0], np.cumsum(begins)])
        starts, ends = characters[starts], characters[ends]
    return JoinedTexts(joined, starts, ends)


def _with_others(
    snapshot: Snapshot,
    found: FoundRows,
    read: tuple[JoinedTexts, Indexes, Indexes],
    beside: Indexes,
    *,
    lacking: Sequence[npt.NDArray[np.bool_]],
    allowed: Rows | None,
) -> JoinedTexts:
    """Add the texts of neighbors that weren't read with the candidates, and note their positions."""
    wanted = [
        (side, at, (int(found.documents[at]), int(found.indexes[at]) + step, int(found.sections[at])))
        for side, step in enumerate(_STEPS)
        for at in np.flatnonzero(lacking[side]).tolist()
    ]
    texts, owners, steps = read
    known: dict[Place, int] = {}
    is_sentence = (found.section_keys[owners] != NONE).tolist()
    columns = found.documents[owners], found.indexes[owners] + steps, found.sections[owners]
    for at, place in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        if is_sentence[at]:
            known.setdefault(place, at)
    missing = [(int(found.rows[at]) + _STEPS[side], place) for side, at, place in wanted if place not in known]
    others = _read(snapshot, missing, allowed)
    listed = list(texts)
    for side, at, place in wanted:
        if place not in known and place in others:
            known[place] = len(listed)
            listed.append(others[place].decode(*TEXT))
        beside[side][at] = known.get(place, NO_TEXT)
    return JoinedTexts.of(listed)


def _read(snapshot: Snapshot, wanted: Sequence[tuple[int, Place]], allowed: Rows | None) -> dict[Place, bytes]:
    """Read texts: first from the rows where they likely are, then by looking the others up."""

    def of_rows(rows: set[int]) -> dict[Place, bytes]:
        in_order = np.array(sorted(rows), dtype=np.int64)
        return texts_by_place(
            snapshot.execute, (in_order if allowed is None else in_order[are_in(in_order, allowed)]).tolist()
        )

    read = of_rows({row for row, _ in wanted})
    missing = {place[:2] for _, place in wanted if place not in read}
    return {**of_rows(set(rows_at(snapshot.execute, list(missing)))), **read} if missing else read


_RARE_KEYS = (KIND, LEAD_IN, SEPARATOR, HEADING_LEVEL, PART_SPANS, PIECES_START, WINDOW_SPANS)
_RARE_IN_JSON = tuple(f'"{key}"' for key in _RARE_KEYS)


def sentences_at(snapshot: Snapshot, places: Sequence[tuple[int, int]], allowed: Rows | None) -> list[StoredSentence]:
    """Read sentences by document and index."""
    rows = np.unique(np.array(rows_at(snapshot.execute, places), dtype=np.int64))
    if allowed is not None:
        rows = rows[are_in(rows, allowed)]
    if not len(rows):
        return []
    read = found_rows(snapshot.execute, rows, beside=False)
    return sentences_of(snapshot, read, sections_of(read), np.arange(len(read.rows)))


def sentences_of(
    snapshot: Snapshot, found: FoundRows, sections: Sequence[Section], positions: Indexes
) -> list[StoredSentence]:
    """Make sentences of columns, by position."""
    columns = positions, found.indexes, found.section_keys, found.source_keys, *found.spans
    lines = list(zip(*((each if each is positions else each[positions]).tolist() for each in columns), strict=True))
    sources = _Sources(source_metadata_of(snapshot.execute, sorted({line[3] for line in lines} - {NONE})))
    sentences: list[StoredSentence] = []
    for at, index, key, source_key, start, end in lines:
        name, own, text = found.names[at], found.own[at], found.text(at).decode(*TEXT)
        id_ = partial(sentence_id, name, index) if key != NONE else partial(str, name)
        read = partial(_whole, found, at, sources, source_key, text=text, id_=id_)
        section = sections[at]
        if key == NONE or section.end == section.start + 1:
            sentences.append(read())  # perhaps no sentence, or one whose section can't be right, which is told now
            continue
        # Without __init__, as most fields aren't known yet.
        sentence = LateSentence.__new__(LateSentence)
        sentence.read = read
        sentence.doc_id, sentence.index, sentence.text = name, index, text
        sentence.section_start, sentence.section_end, sentence.heading = section
        if 0 <= start <= end:
            sentence.start, sentence.end = start, end
        if not own or not any(key in own for key in _RARE_IN_JSON):
            sentence.separator, sentence.kind, sentence.lead_in = " ", PROSE, None
            sentence.level, sentence.part_spans, sentence.pieces, sentence.window = 0, "", None, ()
        sentences.append(sentence)
    return sentences


class _Sources:
    """The metadata of source documents, each read from JSON once, when it is first asked for."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts
        self._read: dict[int, dict[str, Any]] = {}

    def metadata(self, key: int) -> dict[str, Any]:
        """Return metadata that nothing else holds."""
        if key not in self._texts:
            return {}
        if key not in self._read:
            (self._read[key],) = read_metadata([self._texts[key]])
        return own_values(self._read[key])


def _whole(
    found: FoundRows, at: int, sources: _Sources, source_key: int, *, text: str, id_: Callable[[], str]
) -> StoredSentence:
    """Read a sentence as its Document would be read, whose own metadata comes last."""
    metadata = sources.metadata(source_key)
    section, own = read_metadata([found.section_metadata[at] or "{}", found.metadata(at) or "{}"])
    start, end = found.spans[:, at].tolist()
    places = {} if start == NONE else {SENTENCE_INDEX: int(found.indexes[at]), START_INDEX: start, END_INDEX: end}
    return read_parts(metadata | section | places | own, text, id_)
