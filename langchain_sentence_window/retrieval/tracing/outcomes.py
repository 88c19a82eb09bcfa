"""What became of the hits and windows of a query, by key, which keeps the work for a trace linear; and their traces."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
from langchain_sentence_window.documents.window_documents import shown_lead_ins, shown_text
from langchain_sentence_window.retrieval.expansion import Expansion
from langchain_sentence_window.retrieval.query import Query
from langchain_sentence_window.retrieval.tracing.trace import (
    TRIMMED,
    WIDENED,
    HitTrace,
    SentenceTrace,
    WindowEnd,
    WindowTrace,
)
from langchain_sentence_window.windows.assembly import (
    DOES_NOT_FIT,
    IS_BEYOND_K,
    IS_EQUAL,
    IS_LABEL,
    IS_NEAR,
    IS_UNSUPPORTED,
)
from langchain_sentence_window.windows.geometry import Hit, Window

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
    def of(cls, query: Query) -> "Outcomes":
        """Collect the facts about a query that was run."""
        windows, expansion = query.windows, query.expansion
        numbers = {key: number for number, window in enumerate(windows, 1) for key in window.keys}
        by_place = {(window.doc_id, window.first): number for number, window in enumerate(windows, 1)}
        ranked = [by_place[each.window.doc_id, each.window.first] for each in query.ranked]
        positions = {id(document): position for position, document in enumerate(query.documents, 1)}
        returned: dict[int, Returned] = {}
        assembled = query.assembled
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


Contributions: TypeAlias = dict[SentenceKey, Mapping[str, float]]
"""The part of each signal in the score of a sentence, by the signal's name."""


Ranks: TypeAlias = Mapping[SentenceKey, tuple[int, float]]
"""Ranks, from 1, and scores by sentence."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """How sentences rank by meaning alone and by words alone, and the parts of the signals in their scores.

    Attributes:
        dense: Their ranks by meaning.
        lexical: Their ranks by words.
        contributions: The parts of the signals in their scores.
    """

    dense: Ranks
    lexical: Ranks
    contributions: Contributions


def hit_traces(
    query: Query,
    outcomes: Outcomes,
    rankings: Rankings,
    around: SentencesByKey,
) -> list[HitTrace]:
    """Return the traces of all hits, best first.

    Args:
        query: The query.
        outcomes: The outcomes of its hits.
        rankings: How they rank by meaning alone and by words alone.
        around: Sentences around them, as far as they can be read.
    """
    expansion = query.expansion
    traces = list[HitTrace]()
    for rank, hit in enumerate(expansion.hits, 1):
        key = hit.key
        sentence = query.sentences[key]
        window = outcomes.alone[key]
        before, after = cut_by(hit, expansion, around)
        dense_rank, dense_score = rankings.dense.get(key, (None, None))
        lexical_rank, lexical_score = rankings.lexical.get(key, (None, None))
        number, left_out, outcome = _outcome_of_hit(key, outcomes)
        traces.append(
            HitTrace(
                rank,
                hit.doc_id,
                hit.index,
                sentence.start,
                sentence.end,
                sentence.text,
                hit.score,
                dense_rank,
                dense_score,
                lexical_rank,
                lexical_score,
                signals=dict(rankings.contributions.get(key, {})),
                opened=(window.first, window.last),
                cut_before=before,
                cut_after=after,
                window=number,
                outcome=outcome,
                left_out=left_out,
            )
        )
    return traces


def cut_by(hit: Hit, expansion: Expansion, around: SentencesByKey) -> tuple[str | None, str | None]:
    """Return the reasons why the window of a hit alone ends early, before and after it."""
    window, unbounded = expansion.window(hit), expansion.unbounded(hit)
    before = ("section" if hit.section_start else "document") if unbounded.first < window.first else None
    ends_document = (hit.doc_id, hit.section_end) not in around
    after = ("document" if ends_document else "section") if unbounded.last > window.last else None
    if before and (hit.doc_id, hit.section_start - 1) in expansion.forbidden:
        before = "filter"
    if after and (hit.doc_id, hit.section_end) in expansion.forbidden:
        after = "filter"
    return before, after


def _outcome_of_hit(key: SentenceKey, outcomes: Outcomes) -> tuple[int | None, str | None, str]:
    number = outcomes.windows.get(key)
    if number is None:
        return None, IS_BEYOND_K, "left out, as there were k windows"
    if key in outcomes.best:
        return number, None, f"opened window {number}"
    return number, None, f"{'merged into' if key in outcomes.merged else 'already in'} window {number}"


SURROUNDING_SENTENCES = 4
"""The number of sentences shown before and after a window."""


def window_traces(
    query: Query,
    outcomes: Outcomes,
    around: SentencesByKey,
    count_tokens: Callable[[str], int],
    *,
    reranked: bool,
) -> list[WindowTrace]:
    """Return the traces of all windows.

    Args:
        query: The query.
        outcomes: The outcomes of its windows.
        around: Sentences around them; see `SURROUNDING_SENTENCES`.
        count_tokens: Counts the tokens of a text.
        reranked: Whether there was a reranker.
    """
    return [
        _window(number, window, query, around, count_tokens, outcomes=outcomes, reranked=reranked)
        for number, window in enumerate(query.windows, 1)
    ]


def _window(
    number: int,
    window: Window,
    query: Query,
    around: SentencesByKey,
    count_tokens: Callable[[str], int],
    *,
    outcomes: Outcomes,
    reranked: bool,
) -> WindowTrace:
    expansion = query.expansion
    rank, back = outcomes.ranked.get(number), outcomes.returned.get(number)
    kept = None if back is None else back.sentences
    hit_ranks = sorted(outcomes.ranks[hit.key] for hit in window.hits)
    held = _held(window, query, around)
    text = "".join(each.text + each.separator for each in held[:-1]) + held[-1].text
    reranked_as = None if rank is None or not reranked else query.ranked[rank - 1].document
    score = None if reranked_as is None else reranked_as.metadata.get(RELEVANCE_SCORE)
    ends = _ends(window, outcomes, expansion, around)
    joined = () if back is None else tuple(other for other in back.together if other != number)
    change = None if kept is None else _change(window, kept, joined)
    left_out, reason = outcomes.reason(number) if back is None else (None, "")
    return WindowTrace(
        number,
        window.doc_id,
        sentences=(window.first, window.last),
        start=held[0].start,
        end=held[-1].end,
        heading=query.sentences[window.best.key].heading,
        text=text,
        score=window.score,
        hits=tuple(hit_ranks),
        reranked=rank if reranked else None,
        relevance_score=None if score is None else float(score),
        cut=tuple(map(str, ends)),
        returned=None if back is None else back.position,
        kept=kept if kept != (window.first, window.last) else None,
        lead_ins=() if back is None else tuple(text for _, text in shown_lead_ins(back.document)),
        outcome=reason if back is None else _outcome_of_returned(back.position, joined, change),
        surroundings=_surroundings(window, kept, outcomes, around),
        tokens=count_tokens(text),
        returned_tokens=None if back is None else count_tokens(shown_text(back.document)),
        ends=ends,
        left_out=left_out,
        joined=joined,
        change=change,
    )


def _held(window: Window, query: Query, around: SentencesByKey) -> list[StoredSentence]:
    """Return the sentences of a window, or its best hit if others can't be read: a window that was left out isn't."""
    found = [query.sentences.get(key) or around.get(key) for key in window.keys]
    held = [each for each in found if each is not None]
    return held if len(held) == len(found) else [query.sentences[window.best.key]]


def _change(window: Window, kept: tuple[int, int], joined: Sequence[int]) -> str | None:
    """Return how a window that is returned differs from the one that was found, apart from those joined with it."""
    first, last = kept
    if first > window.first or last < window.last:
        return TRIMMED
    return WIDENED if kept != (window.first, window.last) and not joined else None


def _outcome_of_returned(position: int, joined: Sequence[int], change: str | None) -> str:
    trimmed = ", trimmed to fit into max_tokens" if change == TRIMMED else ""
    others = f", joined with {', '.join(map(str, joined))}" if joined else ""
    return f"returned as {position}{trimmed}{others}{', completed or widened' if change == WIDENED else ''}"


def _ends(window: Window, outcomes: Outcomes, expansion: Expansion, around: SentencesByKey) -> tuple[WindowEnd, ...]:
    """Return what ended a window early: its section or document, the filter, or a better window."""
    ends = list[WindowEnd]()
    alone = outcomes.alone[window.best.key]
    for where, is_shorter, end, first_or_last in (
        ("before", window.first > alone.first, window.first - 1, window.first),
        ("after", window.last < alone.last, window.last + 1, window.last),
    ):
        if is_shorter:
            ends.append(WindowEnd(where, "window", outcomes.windows[window.doc_id, end]))
            continue
        ending = (hit for hit in window.hits if _end(outcomes.alone[hit.key], where) == first_or_last)
        by = {cut_by(hit, expansion, around)[where == "after"] for hit in ending} - {None}
        ends += [WindowEnd(where, what) for what in sorted(map(str, by))]
    return tuple(ends)


def _end(window: Window, where: str) -> int:
    return window.first if where == "before" else window.last


def _surroundings(
    window: Window, kept: tuple[int, int] | None, outcomes: Outcomes, around: SentencesByKey
) -> tuple[SentenceTrace, ...]:
    hits = {hit.index for hit in window.hits}
    shown = range(max(0, window.first - SURROUNDING_SENTENCES), window.last + SURROUNDING_SENTENCES + 1)
    return tuple(
        SentenceTrace(
            index,
            sentence.text + sentence.separator,
            outcomes.scores.get((window.doc_id, index)),
            in_window=window.first <= index <= window.last,
            is_hit=index in hits,
            returned=kept is not None and kept[0] <= index <= kept[1],
        )
        for index in shown
        for sentence in [around.get((window.doc_id, index))]
        if sentence is not None
    )
