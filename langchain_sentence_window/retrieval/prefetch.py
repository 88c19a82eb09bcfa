"""What windows will probably need, so that one call reads it, and what stands in for sentences that aren't read yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM
from langchain_sentence_window.windows.completion import Line, complete
from langchain_sentence_window.windows.geometry import Hit, expand

UNREAD = Line("A sentence of the usual length stands for one that isn't read yet, as its text decides about little.")


@dataclass(frozen=True, slots=True)
class Margin:
    """What is read around hits in advance, as the windows around them will probably need it.

    Attributes:
        windows: The number of windows, best first. Hits near a better one are read around as well, but don't count.
        before: Sentences before each hit.
        after: Sentences after each hit.
    """

    windows: int
    before: int
    after: int


def line_of(sentence: StoredSentence) -> Line:
    """Return what matters of a sentence for the windows around it."""
    return Line(sentence.text, sentence.kind == HEADING, sentence.kind == LIST_ITEM, sentence.lead_in is not None)


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
    windows = 0
    for rank, hit in enumerate(hits):
        windows += (hit.doc_id, hit.index) not in keys
        if windows > margin.windows:
            return list(keys | _completing(hits[rank:], known))
        first, last = max(hit.index - margin.before, hit.section_start), hit.index + margin.after
        keys |= dict.fromkeys((hit.doc_id, index) for index in range(first, min(last + 1, hit.section_end)))
        lead_in = known[hit.doc_id, hit.index].lead_in
        keys |= {} if lead_in is None else {(hit.doc_id, lead_in): None}
    return list(keys)


def _completing(hits: Sequence[Hit], known: Mapping[SentenceKey, StoredSentence]) -> dict[SentenceKey, None]:
    wanted: dict[SentenceKey, None] = {}

    def line(key: SentenceKey) -> Line:
        if key in known:
            return line_of(known[key])
        wanted[key] = None
        return UNREAD

    for hit in hits:
        complete(expand(hit, 0, 0), line)
    return wanted
