"""`Outcomes`: what became of hits and windows, by key, which keeps the work for a trace linear."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.retrieval.pipeline import Retrieval
from langchain_sentence_window.windows.assembly import (
    DOES_NOT_FIT,
    IS_BEYOND_K,
    IS_EQUAL,
    IS_LABEL,
    IS_NEAR,
    IS_UNSUPPORTED,
)
from langchain_sentence_window.windows.geometry import Window

BEYOND_FETCH_K = "fetch_k"
BELOW_MIN_SCORE = "score"
BY_RERANKER = "reranker"

LEFT_OUT: Mapping[str, str] = {
    IS_NEAR: "it is near a better window",
    IS_LABEL: "it is no more than a heading",
    IS_EQUAL: "its text is that of a better window",
    DOES_NOT_FIT: "it doesn't fit into max_tokens",
    IS_BEYOND_K: "there were k better ones",
    IS_UNSUPPORTED: "the question doesn't support it",
    BEYOND_FETCH_K: "there were fetch_k better ones",
    BELOW_MIN_SCORE: "its similarity is below min_score",
    BY_RERANKER: "the reranker left it out",
}
"""Why a candidate, a hit or a window was left out, by the codes that traces hold."""


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
        left_out: Why ranked windows weren't returned, as codes of `LEFT_OUT`, by their numbers.
        equal: The numbers of the better windows that have the text of others, by these.
        returned: The Documents that hold windows, by the windows' numbers.
    """

    windows: Mapping[SentenceKey, int]
    alone: Mapping[SentenceKey, Window]
    best: Collection[SentenceKey]
    merged: Collection[SentenceKey]
    ranks: Mapping[SentenceKey, int]
    scores: Mapping[SentenceKey, float]
    ranked: Mapping[int, int]
    left_out: Mapping[int, str]
    equal: Mapping[int, int]
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
            left_out={ranked[rank]: code for rank, code in sorted(assembled.assembly.left_out.items(), reverse=True)},
            equal={ranked[rank]: ranked[each.better] for rank, each in assembled.assembly.equal.items()},
            returned=returned,
        )

    def reason(self, number: int) -> tuple[str, str]:
        """Return the code and the phrase that say why a window wasn't returned."""
        code = self.left_out.get(number, BY_RERANKER)
        if code == BY_RERANKER:
            return code, "left out by the reranker"
        if code == IS_EQUAL:
            return code, f"left out, as its text is that of window {self.equal[number]}"
        return code, f"left out, as {LEFT_OUT[code]}"
