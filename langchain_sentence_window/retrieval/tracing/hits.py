"""The hits of a query, as a trace shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.retrieval.expansion import Expansion
from langchain_sentence_window.retrieval.pipeline import Retrieval
from langchain_sentence_window.retrieval.tracing.candidates import Ranks
from langchain_sentence_window.retrieval.tracing.outcomes import Outcomes
from langchain_sentence_window.retrieval.tracing.trace import HitTrace
from langchain_sentence_window.windows.assembly import IS_BEYOND_K
from langchain_sentence_window.windows.geometry import Hit

Contributions: TypeAlias = dict[SentenceKey, Mapping[str, float]]
"""The part of each signal in the score of a sentence, by the signal's name."""


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
    retrieval: Retrieval,
    outcomes: Outcomes,
    rankings: Rankings,
    around: SentencesByKey,
) -> list[HitTrace]:
    """Return the traces of all hits, best first.

    Args:
        retrieval: The query.
        outcomes: The outcomes of its hits.
        rankings: How they rank by meaning alone and by words alone.
        around: Sentences around them, as far as they can be read.
    """
    expansion = retrieval.found.expansion
    traces = list[HitTrace]()
    for rank, hit in enumerate(expansion.hits, 1):
        key = hit.key
        sentence = retrieval.sentences[key]
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
