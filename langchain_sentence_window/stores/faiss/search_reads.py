"""Reads of what a search found, in the state that it searched: its order, candidates to rank, and sentences.

Equal scores are ordered by document and index, so that no result depends on when something was added. FAISS and tantivy
keep whichever of equally good results they come across first. So more are asked for than are wanted, until the last of
them is worse, and those beyond are left out here.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Rows, SentenceKey
from langchain_sentence_window._validation import finite_numbers
from langchain_sentence_window.documents import keys
from langchain_sentence_window.documents.metadata_values import number, own_values
from langchain_sentence_window.documents.sentence_documents import (
    LateSentence,
    SentencesByKey,
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

from .conversion import read_metadata
from .database import reads
from .database.schema import TEXT
from .database.snapshot import Snapshot

Rank: TypeAlias = Callable[[Candidates], npt.ArrayLike]
"""Takes candidates, best first by the search, and returns a score for each; higher is better."""

_KIND_IN_JSON = f'"{keys.KIND}"'
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


@dataclass(frozen=True, slots=True)
class FoundSentences:
    """Sentences that were read, for as long as the read lasts, and their sections.

    A Document that isn't a sentence, or whose section can't be right, is a section of its own.
    """

    _snapshot: Snapshot
    _found: reads.FoundRows
    _sections: Sequence[Section]

    def sentences(self, positions: Indexes) -> list[StoredSentence]:
        """Return sentences by position, in this order.

        Raises:
            IncompleteWindowError: One isn't a sentence, or its metadata isn't what the splitter writes.
        """
        found = self._found
        columns = found.indexes, found.section_keys, found.source_keys, *found.spans, found.starts[0], found.sizes[0]
        lines = list(zip(positions.tolist(), *np.array(columns)[:, positions].tolist(), strict=True))
        # Of each source document, its metadata as JSON; once it was asked for, as it was read.
        sources: dict[int, str | dict[str, Any]] = {reads.NONE: {}}
        asked = sorted({line[3] for line in lines} - {reads.NONE})
        sources |= dict(reads.select_lines(self._snapshot.execute, reads.SOURCE_METADATA, asked))
        if len(sources) <= len(asked):
            raise reads.damaged("metadata that its sentences share")
        sentences: list[StoredSentence] = []
        for at, index, key, source_key, start, end, begin, size in lines:
            name, own, text = found.names[at], found.own[at], found.stored[begin : begin + size].decode(*TEXT)
            id_ = partial(keys.sentence_id, name, index) if key != reads.NONE else partial(str, name)
            read = partial(_whole, found, at, sources, source_key, text=text, id_=id_)
            section = self._sections[at]
            if key == reads.NONE or section.end == section.start + 1:
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
                if _LINE_IN_JSON not in own:  # else it is read of the few that are shown
                    sentence.line = 0
            sentences.append(sentence)
        return sentences


@dataclass(frozen=True, slots=True)
class FoundCandidates(FoundSentences):
    """The candidates of a search, best first, and the sentences that they are, for as long as the read lasts.

    Attributes:
        candidates: What ranking reads; no candidate is left out.
    """

    candidates: Candidates
    _allowed: Rows | None

    def sentences_at(self, wanted: Iterable[SentenceKey]) -> SentencesByKey:
        """Read sentences of the candidates' documents by document and index, also those that are candidates.

        Those that don't exist or that the filter forbids are left out.

        Raises:
            IncompleteWindowError: The metadata of one isn't what the splitter writes.
        """
        names = zip(self._found.names, self._found.documents.tolist(), strict=True)
        numbers = {name: number for name, number in names if number != reads.NONE}
        asked, snapshot, allowed = dict.fromkeys(wanted), self._snapshot, self._allowed
        places = [(numbers[name], index) for name, index in asked if name in numbers]
        rows = np.unique(np.array(reads.rows_at(snapshot.execute, places) if places else [], dtype=np.int64))
        if allowed is not None:
            rows = rows[reads.are_in(rows, allowed)]
        if not len(rows):
            return {}
        found = reads.found_rows(snapshot.execute, rows, beside=False)
        read = FoundSentences(snapshot, found, sections_of(found)).sentences(np.arange(len(found.rows)))
        return {sentence.key: sentence for sentence in read if sentence.key in asked}


def read_candidates(snapshot: Snapshot, scores: Scores, allowed: Rows | None) -> FoundCandidates:
    """Make candidates of what a search found, and of the texts of the sentences beside them in their sections.

    The key of a candidate that isn't a sentence is its id and 0.

    Args:
        snapshot: The state of the database that was searched.
        scores: The rows and their scores.
        allowed: The rows that may be read, in order; ``None`` for all. The texts beside candidates are only read with
            them if all may be.
    """
    found = reads.found_rows(snapshot.execute, scores.rows, beside=allowed is None)
    sections = sections_of(found)
    starts = np.array([section.start for section in sections], dtype=np.int64)
    ends = np.array([section.end for section in sections], dtype=np.int64)
    texts, before, after = _texts(snapshot, found, starts, ends, allowed)
    is_sentence = found.section_keys != reads.NONE
    kinds = [PROSE if known else "" for known in is_sentence.tolist()]
    named = [at for at, own in enumerate(found.own) if kinds[at] and _KIND_IN_JSON in own]
    for at, metadata in zip(named, read_metadata([found.metadata(at) for at in named]), strict=True):
        kind = metadata.get(keys.KIND, PROSE)
        kinds[at] = kind if isinstance(kind, str) else ""
    candidates = Candidates(
        keys=list(zip(found.names, found.indexes.tolist(), strict=True)),
        section_starts=starts,
        section_ends=ends,
        dense=scores.cosines,
        lexical=scores.lexical,
        texts=texts,
        before=before,
        after=after,
        headings=[section.heading for section in sections],
        kinds=kinds,
        document_frequency=scores.document_frequency,
        scores=scores.fused,
        # Each Document that isn't a sentence is a document of its own.
        documents=np.where(is_sentence, found.documents, -1 - found.rows),
    )
    return FoundCandidates(snapshot, found, sections, candidates, allowed)


def sections_of(found: reads.FoundRows) -> list[Section]:
    """Return the section of each sentence; one of its own for what is in none, or in one that can't be right."""
    shared = dict(zip(found.section_keys.tolist(), found.section_metadata, strict=True))
    shared.pop(reads.NONE, None)
    known: dict[int, Section] = {}
    for key, metadata in zip(shared, read_metadata(list(shared.values())), strict=True):
        heading = metadata.get(keys.HEADING)
        heading = heading if isinstance(heading, str) else ""
        try:
            known[key] = Section(number(metadata, keys.SECTION_START), number(metadata, keys.SECTION_END), heading)
        except (KeyError, ValueError):
            known[key] = Section(0, 0, heading)  # no sentence is in it
    alone = Section(0, 0, "")
    return [
        section if section.start <= index < section.end else Section(index, index + 1, section.heading)
        for index, key in zip(found.indexes.tolist(), found.section_keys.tolist(), strict=True)
        for section in [known.get(key, alone)]
    ]


_RARE_KEYS = (
    keys.KIND,
    keys.LEAD_IN,
    keys.SEPARATOR,
    keys.HEADING_LEVEL,
    keys.PART_SPANS,
    keys.PIECES_START,
    keys.WINDOW_SPANS,
)
_LINE_IN_JSON = f'"{keys.START_LINE}"'
_RARE_IN_JSON = tuple(f'"{key}"' for key in _RARE_KEYS)


def _whole(
    found: reads.FoundRows,
    at: int,
    sources: dict[int, str | dict[str, Any]],
    source_key: int,
    *,
    text: str,
    id_: Callable[[], str],
) -> StoredSentence:
    """Read a sentence as its Document would be read, whose own metadata comes last."""
    source = sources[source_key]
    if isinstance(source, str):
        (source,) = read_metadata([source])
        sources[source_key] = source
    section, own = read_metadata([found.section_metadata[at] or "{}", found.metadata(at) or "{}"])
    start, end = found.spans[:, at].tolist()
    places: dict[str, Any] = {}
    if start != reads.NONE:
        places = {keys.SENTENCE_INDEX: int(found.indexes[at]), keys.START_INDEX: start, keys.END_INDEX: end}
    return read_parts(own_values(source) | section | places | own, text, id_)


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


MAX_TIED = 2_000
"""The most results beyond those wanted. Of still more equal ones, those that the index came across first are taken."""

_GROWTH = 4

Pairs: TypeAlias = list[tuple[int, float]]
"""``(row, score)``, best first."""


def with_tied(find: Callable[[int], Pairs], k: int) -> Pairs:
    """Find the best results, and all others that are as good as the last of them.

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
        asked = min(asked * _GROWTH, k + MAX_TIED)


def best_of(source: Snapshot, found: Pairs, k: int) -> Pairs:
    """Return the ``k`` best of some results in any order: of those as good as the last, the first by place.

    Args:
        source: Tells where rows stand.
        found: The results of `with_tied`.
        k: The number of results.
    """
    if len(found) <= k:
        return found
    last = min(score for _, score in found)
    better, tied = ([each for each in found if (each[1] > last) is is_better] for is_better in (True, False))
    places = reads.places_of(source.execute, [row for row, _ in tied])
    return better + sorted(tied, key=lambda each: places.get(each[0], ("", 0)))[: k - len(better)]


def best_pairs(source: Snapshot, found: Pairs, k: int) -> Pairs:
    """Return the ``k`` best of some results, best first, equal ones by document and index; see `best_first`."""
    rows, scores = np.array([row for row, _ in found], dtype=np.int64), np.array([score for _, score in found])
    return [found[at] for at in best_first(source, rows, scores, k).tolist()]


def best_first(source: Snapshot, rows: Rows, scores: npt.NDArray[np.floating], k: int) -> npt.NDArray[np.int64]:
    """Return the positions of the ``k`` highest scores, equal ones by document and index.

    Args:
        source: Tells where rows stand.
        rows: The rows, each once.
        scores: Their scores.
        k: The number of positions.
    """
    order = np.lexsort((rows, -scores))
    if not len(order):
        return order
    in_order = scores[order]
    is_equal = in_order[1:] == in_order[:-1]
    is_tied = np.concatenate([is_equal, [False]]) | np.concatenate([[False], is_equal])
    # What is worse than the last one is left out whatever its place is.
    is_tied &= in_order >= in_order[min(k, len(order)) - 1]
    tied = order[is_tied]
    if len(tied):
        places = reads.places_of(source.execute, rows[tied].tolist())
        by_place = sorted(tied.tolist(), key=lambda at: (-scores[at], places.get(int(rows[at]), ("", 0))))
        order[is_tied] = by_place
    return np.asarray(order[:k])


def _texts(
    snapshot: Snapshot, found: reads.FoundRows, starts: Indexes, ends: Indexes, allowed: Rows | None
) -> tuple[JoinedTexts, Indexes, Indexes]:
    """Return the texts of candidates and their neighbors, and the positions of those before and after each."""
    is_sentence, size = found.section_keys != reads.NONE, len(found.rows)
    wanted = is_sentence & (starts < found.indexes), is_sentence & (found.indexes + 1 < ends)
    held = [np.flatnonzero(found.sizes[side] != reads.NONE) for side in _SIDES]
    # All texts that were read, those of candidates first, in their order; and where each of them stands.
    owners = np.concatenate([np.arange(size), *held])
    steps = np.repeat([0, *_STEPS], [size, *map(len, held)])
    rows, indexes = found.rows[owners] + steps, found.indexes[owners] + steps
    columns = [
        np.concatenate([column[0], *(column[side][at] for side, at in zip(_SIDES, held, strict=True))])
        for column in (found.starts, found.sizes)
    ]
    joined, (begins, sizes) = found.stored.decode(*TEXT), columns
    ends_at = begins + sizes
    if len(joined) < len(found.stored):
        is_first = (np.frombuffer(found.stored, dtype=np.uint8) & 0xC0) != 0x80  # noqa: PLR2004 - bytes that begin a character
        characters = np.concatenate([[0], np.cumsum(is_first)])
        begins, ends_at = characters[begins], characters[ends_at]
    texts = JoinedTexts(joined, begins, ends_at)
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
            is_there &= reads.are_in(found.rows + step, allowed)
        column[is_there] = at[is_there]
        lacking.append(wants & ~is_there)
    if lacking[0].any() or lacking[1].any():
        texts = _with_others(snapshot, found, (texts, owners, steps), beside, lacking=lacking, allowed=allowed)
    return texts, beside[0], beside[1]


def _with_others(
    snapshot: Snapshot,
    found: reads.FoundRows,
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
    known: dict[reads.Place, int] = {}
    is_sentence = (found.section_keys[owners] != reads.NONE).tolist()
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


def _read(
    snapshot: Snapshot, wanted: Sequence[tuple[int, reads.Place]], allowed: Rows | None
) -> dict[reads.Place, bytes]:
    """Read texts: first from the rows where they likely are, then by looking the others up."""

    def of_rows(rows: set[int]) -> dict[reads.Place, bytes]:
        in_order = np.array(sorted(rows), dtype=np.int64)
        return reads.texts_by_place(
            snapshot.execute, (in_order if allowed is None else in_order[reads.are_in(in_order, allowed)]).tolist()
        )

    read = of_rows({row for row, _ in wanted})
    missing = {place[:2] for _, place in wanted if place not in read}
    return {**of_rows(set(reads.rows_at(snapshot.execute, list(missing)))), **read} if missing else read
