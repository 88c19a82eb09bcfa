"""`Outcomes`: what became of hits and windows, by key, which keeps the work for a trace linear."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.retrieval.pipeline import Retrieval
from langchain_sentence_window.windows.assembly import (
    DOES_NOT_FIT,
    IS_BEYOND_K,
    IS_EQUAL,
    IS_LABEL,
    IS_NEAR,
    IS_UNSUPPORTED,
    Assembly,
)
from langchain_sentence_window.windows.geometry import Window

_REASONS = {
    IS_NEAR: "left out, as it is near a better window",
    IS_LABEL: "left out, as it is no more than a heading",
    DOES_NOT_FIT: "left out, as it doesn't fit into max_tokens",
    IS_BEYOND_K: "left out, as there were k better ones",
    IS_UNSUPPORTED: "left out, as the question doesn't support it",
}


@dataclass(frozen=True, slots=True)
class Returned:
    """A Document that holds a window.

    Attributes:
        position: Its position in the result, from 1.
        sentences: The index of its first and last sentence.
        document: The Document.
        together: The numbers of the windows that it was made of, best first.
    """

    position: int
    sentences: tuple[int, int]
    document: Document
    together: Sequence[int]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Facts about the hits and windows of a query.

    Attributes:
        windows: The number of the window that a sentence is in, from 1.
        alone: The window of each hit alone.
        best: The windows' best hits.
        merged: All hits that are hits of a window.
        ranks: The rank of each hit, from 1.
        scores: The score of each hit.
        ranked: The rank of each window after reranking, from 1, by its number.
        reasons: Why windows weren't returned, by their numbers.
        returned: The Documents that hold windows, by the windows' numbers.
    """

    windows: Mapping[SentenceKey, int]
    alone: Mapping[SentenceKey, Window]
    best: Collection[SentenceKey]
    merged: Collection[SentenceKey]
    ranks: Mapping[SentenceKey, int]
    scores: Mapping[SentenceKey, float]
    ranked: Mapping[int, int]
    reasons: Mapping[int, str]
    returned: Mapping[int, Returned]

    @classmethod
    def of(cls, retrieval: Retrieval) -> "Outcomes":
        """Collect the facts about a query that was run."""
        windows, expansion = retrieval.found.windows, retrieval.found.expansion
        numbers = {key: number for number, window in enumerate(windows, 1) for key in window.keys}
        by_place = {(window.doc_id, window.first): number for number, window in enumerate(windows, 1)}
        ranked = [by_place[each.window.doc_id, each.window.first] for each in retrieval.ranked]
        positions = {id(document): position for position, document in enumerate(retrieval.documents, 1)}
        returned: dict[int, Returned] = {}
        assembled = retrieval.assembly
        for each, document in zip(assembled.assembly.windows, assembled.documents, strict=True):
            together = [ranked[rank] for rank in each.ranks]
            for number in together:
                place = Returned(positions[id(document)], (each.window.first, each.window.last), document, together)
                returned.setdefault(number, place)
        ranks: dict[int, int] = {}
        for rank, number in enumerate(ranked, 1):
            ranks.setdefault(number, rank)
        return cls(
            windows=numbers,
            alone={hit.key: expansion.window(hit) for hit in expansion.hits},
            best={window.best.key for window in windows},
            merged={hit.key for window in windows for hit in window.hits},
            ranks={hit.key: rank for rank, hit in enumerate(expansion.hits, 1)},
            scores={hit.key: hit.score for hit in expansion.hits},
            ranked=ranks,
            reasons={
                ranked[rank]: _reason(rank, assembled.assembly, ranked)
                for rank in sorted(assembled.assembly.left_out, reverse=True)
            },
            returned=returned,
        )


def _reason(rank: int, assembly: Assembly, ranked: Sequence[int]) -> str:
    """Return why a ranked window was left out."""
    reason = assembly.left_out[rank]
    if reason == IS_EQUAL:
        return f"left out, as its text is that of window {ranked[assembly.equal[rank].better]}"
    return _REASONS[reason]
