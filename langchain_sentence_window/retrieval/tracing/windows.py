"""The windows of a query, as a trace shows them."""

from collections.abc import Callable, Sequence

from langchain_sentence_window.documents.keys import RELEVANCE_SCORE
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
from langchain_sentence_window.documents.window_documents import shown_lead_ins, shown_text
from langchain_sentence_window.retrieval.expansion import Expansion
from langchain_sentence_window.retrieval.pipeline import Retrieval
from langchain_sentence_window.retrieval.tracing.hits import cut_by
from langchain_sentence_window.retrieval.tracing.outcomes import Outcomes
from langchain_sentence_window.retrieval.tracing.trace import TRIMMED, WIDENED, SentenceTrace, WindowEnd, WindowTrace
from langchain_sentence_window.windows.geometry import Window

SURROUNDING_SENTENCES = 4
"""The number of sentences shown before and after a window."""


def window_traces(
    retrieval: Retrieval,
    outcomes: Outcomes,
    around: SentencesByKey,
    count_tokens: Callable[[str], int],
    *,
    reranked: bool,
) -> list[WindowTrace]:
    """Return the traces of all windows.

    Args:
        retrieval: The query.
        outcomes: The outcomes of its windows.
        around: Sentences around them; see `SURROUNDING_SENTENCES`.
        count_tokens: Counts the tokens of a text.
        reranked: Whether there was a reranker.
    """
    return [
        _window(number, window, retrieval, around, count_tokens, outcomes=outcomes, reranked=reranked)
        for number, window in enumerate(retrieval.found.windows, 1)
    ]


def _window(
    number: int,
    window: Window,
    retrieval: Retrieval,
    around: SentencesByKey,
    count_tokens: Callable[[str], int],
    *,
    outcomes: Outcomes,
    reranked: bool,
) -> WindowTrace:
    expansion = retrieval.found.expansion
    rank, back = outcomes.ranked.get(number), outcomes.returned.get(number)
    kept = None if back is None else back.sentences
    hit_ranks = sorted(outcomes.ranks[hit.key] for hit in window.hits)
    held = _held(window, retrieval, around)
    text = "".join(each.text + each.separator for each in held[:-1]) + held[-1].text
    reranked_as = None if rank is None or not reranked else retrieval.ranked[rank - 1].document
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
        heading=retrieval.sentences[window.best.key].heading,
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


def _held(window: Window, retrieval: Retrieval, around: SentencesByKey) -> list[StoredSentence]:
    """Return the sentences of a window, or its best hit if others can't be read: a window that was left out isn't."""
    found = [retrieval.sentences.get(key) or around.get(key) for key in window.keys]
    held = [each for each in found if each is not None]
    return held if len(held) == len(found) else [retrieval.sentences[window.best.key]]


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
