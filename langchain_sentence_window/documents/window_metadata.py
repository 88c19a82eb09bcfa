"""The metadata of window Documents: each key, and how its value is made.

===================  =================================================
key                  meaning
===================  =================================================
``doc_id``           the source document
``start_index``      first code point in the source
``end_index``        one past the last code point
``heading``          titles of the headings above, joined by `` > ``
``sentences``        ``[first, last]`` sentence index, both included
``hits``             the sentences found: index, span and score
``score``            the best hit's score
``window_id``        equal for the same sentences of the same document
``relevance_score``  a reranker's score
===================  =================================================
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from langchain_sentence_window.documents.ids import window_id
from langchain_sentence_window.documents.keys import (
    DOC_ID,
    END_INDEX,
    HEADING,
    SENTENCE_INDEX,
    SENTENCE_KEYS,
    START_INDEX,
)
from langchain_sentence_window.windows.geometry import Hit, Window

if TYPE_CHECKING:  # at run time it would be a cycle: that module needs the keys below
    from langchain_sentence_window.documents.sentence_documents import SentencesByKey

SENTENCES = "sentences"
HITS = "hits"
SCORE = "score"
WINDOW_ID = "window_id"
RELEVANCE_SCORE = "relevance_score"


def _hit(hit: Hit, sentences: "SentencesByKey") -> dict[str, Any]:
    found = sentences[hit.doc_id, hit.index]
    return {SENTENCE_INDEX: hit.index, START_INDEX: found.start, END_INDEX: found.end, SCORE: hit.score}


WINDOW_METADATA: Mapping[str, Callable[[Window, "SentencesByKey"], Any]] = {
    DOC_ID: lambda window, _: window.doc_id,
    START_INDEX: lambda window, sentences: sentences[window.doc_id, window.first].start,
    END_INDEX: lambda window, sentences: sentences[window.doc_id, window.last].end,
    SENTENCES: lambda window, _: [window.first, window.last],
    HITS: lambda window, sentences: [_hit(hit, sentences) for hit in window.hits],
    SCORE: lambda window, _: window.score,
    WINDOW_ID: lambda window, _: window_id(window.doc_id, window.first, window.last),
    HEADING: lambda window, sentences: sentences[window.doc_id, window.best.index].heading or None,
}
"""The value of each key, from a window and its sentences; a key whose value is ``None`` is left out."""

CONTRACT_KEYS = SENTENCE_KEYS | WINDOW_METADATA.keys() | {RELEVANCE_SCORE}
"""The keys of sentence Documents and window Documents. A source document's own keys among them are renamed."""
