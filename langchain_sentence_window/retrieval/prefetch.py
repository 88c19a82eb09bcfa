"""Read in one call what windows will probably need; another sentence stands for each that isn't read yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM
from langchain_sentence_window.windows.completion import Line, complete, needs_nothing
from langchain_sentence_window.windows.geometry import Hit, expand
from langchain_sentence_window.windows.growth import NEAR

UNREAD = Line("A sentence of the usual length stands for one that isn't read yet, as its text decides about little.")


_REACH = NEAR + 1
"""Sentences on each side of a hit within which other hits are in the same window, as a rule."""


@dataclass(frozen=True, slots=True)
class Margin:
    """How much is read around hits in advance, as the windows around them will probably need it.

    Attributes:
        windows: The number of windows, best first. Hits near a better one are read around as well, but don't count.
        before: Sentences before each hit, beside those that complete it or join it with others.
        after: Sentences after each hit, likewise.
    """

    windows: int
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Sentences to read before hits are expanded.

    Attributes:
        answer: The hit that is clearly the best; ``None`` if there is none.
        needed: The sentences that decide how far hits are expanded.
        asked: Those, and others that windows will probably need.
    """

    answer: Hit | None
    needed: Sequence[SentenceKey]
    asked: Sequence[SentenceKey]


def line_of(sentence: StoredSentence) -> Line:
    """Return what matters of a sentence for the windows around it."""
    return Line(
        sentence.text,
        sentence.kind == HEADING,
        sentence.kind == LIST_ITEM,
        sentence.lead_in is not None,
        sentence.pieces,
    )


def keys_around(hits: Sequence[Hit], margin: Margin, known: Mapping[SentenceKey, StoredSentence]) -> list[SentenceKey]:
    """Return the keys of the sentences that windows will probably need: of some that are known as well.

    Args:
        hits: The hits that may be joined and completed, best first.
        margin: What to read around the best. Around the others it is only what completes them.
        known: The sentences that were hit.
    """
    if not margin.windows:
        return []
    keys: dict[SentenceKey, None] = {}
    near: set[SentenceKey] = set()
    windows = 0
    for rank, hit in enumerate(hits):
        windows += (hit.doc_id, hit.index) not in near
        if windows > margin.windows:
            return list(keys | _between(hits[:rank]) | _completing(hits[rank:], known))
        near.update(_around(hit, _REACH, _REACH))
        needs_more = bool(_completing([hit], known))
        before, after = (max(side, _REACH if needs_more else 0) for side in (margin.before, margin.after))
        keys |= dict.fromkeys(_around(hit, before, after))
        lead_in = known[hit.doc_id, hit.index].lead_in
        keys |= {} if lead_in is None else {(hit.doc_id, lead_in): None}
    return list(keys | _between(hits))


def _around(hit: Hit, before: int, after: int) -> list[SentenceKey]:
    first, end = max(hit.index - before, hit.section_start), min(hit.index + after + 1, hit.section_end)
    return [(hit.doc_id, index) for index in range(first, end)]


def _between(hits: Sequence[Hit]) -> dict[SentenceKey, None]:
    """Return the keys of sentences between hits that may come into one window."""
    between: dict[SentenceKey, None] = {}
    in_order = sorted(hits, key=lambda hit: (hit.doc_id, hit.index))
    for hit, after in pairwise(in_order):
        is_one_section = (hit.doc_id, hit.section_start) == (after.doc_id, after.section_start)
        if is_one_section and after.index - hit.index <= 2 * _REACH:
            between |= dict.fromkeys((hit.doc_id, index) for index in range(hit.index + 1, after.index))
    return between


def _completing(hits: Sequence[Hit], known: Mapping[SentenceKey, StoredSentence]) -> dict[SentenceKey, None]:
    wanted: dict[SentenceKey, None] = {}

    def line(key: SentenceKey) -> Line:
        if key in known:
            return line_of(known[key])
        wanted[key] = None
        return UNREAD

    for hit in hits:
        own = line_of(known[hit.doc_id, hit.index])
        if not needs_nothing(own, own):
            complete(expand(hit, 0, 0), line)
    return wanted
