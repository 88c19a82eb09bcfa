"""Choose what to read beside hits before they are expanded, by the hits alone: a store can read it with them."""

from collections.abc import Sequence

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import SentencesByKey
from langchain_sentence_window.retrieval.expansion import ExpansionPolicy, expand_hit
from langchain_sentence_window.retrieval.prefetch import Margin, Wanted, keys_around
from langchain_sentence_window.windows.completion import MIN_CHARS, clear_best
from langchain_sentence_window.windows.geometry import Hit


def wanted_beside(policy: ExpansionPolicy, hits: Sequence[Hit], known: SentencesByKey, margin: Margin) -> Wanted:
    """Return what to read beside hits.

    Args:
        policy: How far hits are expanded.
        hits: The hits, best first.
        known: The sentences that were hit.
        margin: What to read around the best hits in the same call.
    """
    answer = clear_best(hits)
    needed: dict[SentenceKey, None] = {}
    open_hits: list[Hit] = []
    for hit in hits:
        found = known[hit.doc_id, hit.index]
        if policy.size_of(found) is not None:
            continue
        open_hits.append(hit)
        if hit is answer or len(found.text) < MIN_CHARS:
            # Unknown sentences count as empty, so this is the farthest possible expansion.
            farthest = expand_hit(hit, None, known, is_answer=hit is answer)
            needed |= dict.fromkeys(farthest.keys if farthest.first < farthest.last else [])
    return Wanted(answer, list(needed), list(needed | dict.fromkeys(keys_around(open_hits, margin, known))))
