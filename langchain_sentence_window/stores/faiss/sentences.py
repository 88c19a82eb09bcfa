"""Sentences of the store, made of its columns without making Documents of them first."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from langchain_sentence_window._types import Rows
from langchain_sentence_window.documents.found_sentences import Beside, FoundSentences
from langchain_sentence_window.documents.ids import sentence_id
from langchain_sentence_window.documents.json_values import own_values
from langchain_sentence_window.documents.keys import (
    HEADING_LEVEL,
    KIND,
    LEAD_IN,
    PART_SPANS,
    PIECES_START,
    SEPARATOR,
    WINDOW_SPANS,
)
from langchain_sentence_window.documents.sentence_documents import LateSentence, StoredSentence, read_parts
from langchain_sentence_window.ranking.candidates import Indexes
from langchain_sentence_window.splitting.blocks import PROSE
from langchain_sentence_window.stores.faiss.candidates import Best, Section, sections_of
from langchain_sentence_window.stores.faiss.conversion import read_metadata
from langchain_sentence_window.stores.faiss.database.found import NONE, FoundRows
from langchain_sentence_window.stores.faiss.database.of_rows import are_in
from langchain_sentence_window.stores.faiss.database.schema import loaded_text
from langchain_sentence_window.stores.faiss.database.snapshot import Snapshot

_RARE_KEYS = (KIND, LEAD_IN, SEPARATOR, HEADING_LEVEL, PART_SPANS, PIECES_START, WINDOW_SPANS)
_RARE_IN_JSON = tuple(f'"{key}"' for key in _RARE_KEYS)


def found_sentences(snapshot: Snapshot, best: Best, beside: Beside) -> FoundSentences:
    """Make sentences of the best candidates, and read those that are wanted beside them.

    Args:
        snapshot: The state that was searched.
        best: The best candidates.
        beside: Returns which others to read.

    Raises:
        IncompleteWindowError: The metadata of a sentence isn't what the splitter writes.
    """
    if best.found is None:
        return FoundSentences([], [], [])
    sentences = _sentences(snapshot, best.found, best.sections, best.order)
    made = FoundSentences(sentences, best.scores.tolist(), best.cosines.tolist())
    known = {sentence.key: sentence for sentence in sentences}
    wanted = dict.fromkeys(beside(made))
    read = {key: known[key] for key in wanted if key in known}
    missing = [key for key in wanted if key not in known]
    if missing:
        names = (best.found.names[at] for at in best.order.tolist())
        numbers = dict(zip(names, best.found.documents[best.order].tolist(), strict=True))
        others = _read(snapshot, [(numbers[name], index) for name, index in missing if name in numbers], best.allowed)
        read |= {sentence.key: sentence for sentence in others if sentence.key in wanted}
    return FoundSentences(made.sentences, made.scores, made.similarities, read)


def _read(snapshot: Snapshot, places: Sequence[tuple[int, int]], allowed: Rows | None) -> list[StoredSentence]:
    """Read sentences by document and index."""
    rows = np.unique(np.array(snapshot.rows_at(places), dtype=np.int64))
    if allowed is not None:
        rows = rows[are_in(rows, allowed)]
    if not len(rows):
        return []
    read = snapshot.found_rows(rows, beside=False)
    return _sentences(snapshot, read, sections_of(read), np.arange(len(read)))


def _sentences(
    snapshot: Snapshot, found: FoundRows, sections: Sequence[Section], positions: Indexes
) -> list[StoredSentence]:
    columns = positions, found.indexes, found.section_keys, found.source_keys, *found.spans
    lines = list(zip(*((each if each is positions else each[positions]).tolist() for each in columns), strict=True))
    sources = _Sources(snapshot.source_metadata_of(sorted({line[3] for line in lines} - {NONE})))
    sentences: list[StoredSentence] = []
    for at, index, key, source_key, start, end in lines:
        name, own, text = found.names[at], found.own[at], loaded_text(found.text(at))
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
    for each in read_metadata([found.section_metadata[at] or "{}", found.metadata(at)]):
        metadata |= each
    return read_parts(metadata, text, id_)
