"""Candidates for tests, written as documents of sections."""

from collections.abc import Mapping, Sequence

import numpy as np

from langchain_sentence_window.ranking.candidates import NO_TEXT, Candidates, DocumentFrequency
from langchain_sentence_window.ranking.questions import needs_of
from langchain_sentence_window.ranking.signals import CandidateFacts

Sections = Sequence[Sequence[str]]


def candidates_of(
    documents: Mapping[str, Sections],
    found: Sequence[tuple[str, int]],
    dense: Sequence[float] | None = None,
    lexical: Sequence[float] | None = None,
    *,
    headings: Mapping[tuple[str, int], str] | None = None,
    kinds: Mapping[tuple[str, int], str] | None = None,
    document_frequency: DocumentFrequency | None = None,
) -> Candidates:
    """Make candidates of sentences that were found, with all neighbors' texts."""
    texts, bounds = {}, {}
    for document, sections in documents.items():
        index = 0
        for section in sections:
            for place, text in enumerate(section):
                texts[document, index + place] = text
                bounds[document, index + place] = (index, index + len(section))
            index += len(section)
    positions = {key: number for number, key in enumerate(found)}
    beside: dict[int, list[int]] = {}
    for step in (-1, 1):
        beside[step] = []
        for document, index in found:
            start, end = bounds[document, index]
            known = start <= index + step < end
            key = (document, index + step)
            beside[step].append(positions.setdefault(key, len(positions)) if known else NO_TEXT)
    return Candidates(
        keys=list(found),
        section_starts=np.array([bounds[key][0] for key in found], dtype=np.int64),
        section_ends=np.array([bounds[key][1] for key in found], dtype=np.int64),
        dense=np.array(dense if dense is not None else np.zeros(len(found)), dtype=np.float64),
        lexical=np.array(lexical if lexical is not None else np.zeros(len(found)), dtype=np.float64),
        texts=[texts[key] for key in positions],
        before=np.array(beside[-1], dtype=np.int64),
        after=np.array(beside[1], dtype=np.int64),
        headings=[(headings or {}).get(key, "") for key in found],
        kinds=[(kinds or {}).get(key, "") for key in found],
        document_frequency=document_frequency,
    )


def facts(query: str, candidates: Candidates) -> CandidateFacts:
    return CandidateFacts(query, candidates, needs_of(query))


def taken(candidates: Candidates, order: Sequence[int]) -> Candidates:
    """Put candidates into another order; the texts of their neighbors stay."""
    size, rows = len(candidates), np.array(order, dtype=np.int64)
    moved = np.full(len(candidates.texts) + 1, NO_TEXT)
    moved[: len(candidates.texts)] = np.arange(len(candidates.texts))
    moved[rows] = np.arange(size)
    return Candidates(
        keys=[candidates.keys[row] for row in order],
        section_starts=candidates.section_starts[rows],
        section_ends=candidates.section_ends[rows],
        dense=candidates.dense[rows],
        lexical=candidates.lexical[rows],
        texts=[*(candidates.texts[row] for row in order), *candidates.texts[size:]],
        before=moved[candidates.before[rows]],
        after=moved[candidates.after[rows]],
        headings=[candidates.headings[row] for row in order],
        kinds=[candidates.kinds[row] for row in order],
        document_frequency=candidates.document_frequency,
    )
