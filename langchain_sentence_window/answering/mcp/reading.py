"""Read documents for `fetch` and `verify_quote`, within what the retriever's filter allows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.answering.mcp.passage_ids import Sentences
from langchain_sentence_window.answering.tools import no_reading, unsearched_window
from langchain_sentence_window.documents.sentence_documents import StoredSentence, as_hit, by_key
from langchain_sentence_window.retrieval.one_state import in_one_state
from langchain_sentence_window.windows.geometry import Window

MAX_FETCHED_CHARS = 30_000
"""The most characters of a document that one call returns, unless a single sentence is longer."""

MAX_FETCHED_SENTENCES = 500
"""The most sentences on each side of a passage that one call returns."""

MAX_DOCUMENT_SENTENCES = 20_000
"""The most sentences of a document in which a quote is looked for."""

_BATCH_SIZE = 1_000

Read = Mapping[SentenceKey, StoredSentence]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some sentences of a document.

    Attributes:
        document: The sentences as a window Document, without hits and scores.
        goes_on_before: Whether more of the document may be read before them.
        goes_on_after: Whether more of it may be read after them.
    """

    document: Document
    goes_on_before: bool
    goes_on_after: bool


async def read_excerpt(io: IO, scope: Scope, doc_id: str, passage: Sentences | None) -> Excerpt | None:
    """Read a document around a passage, or from its beginning, as far as the limits allow.

    Args:
        io: Makes the calls.
        scope: The store, and what of it may be read.
        doc_id: The document.
        passage: The passage, which is read first; ``None`` to begin with the document.

    Returns:
        ``None`` if there is no such passage, or none that may be read.

    Raises:
        ToolException: The store can't fetch by id.
    """
    return await in_one_state(scope, lambda scope: _excerpt(io, scope, doc_id, passage))


async def _excerpt(io: IO, scope: Scope, doc_id: str, passage: Sentences | None) -> Excerpt | None:
    first, last = passage or (0, MAX_FETCHED_SENTENCES)
    last = min(last, first + MAX_FETCHED_SENTENCES)
    margin = MAX_FETCHED_SENTENCES + 1 if passage else 1  # one more tells whether the document goes on
    read = await _sentences(io, scope, doc_id, range(max(0, first - margin), last + margin + 1))
    there = sorted(index for _, index in read if first <= index <= last)
    if not there:
        return None
    run = next(_runs(there)) if passage else there[:1]
    chosen = _grown(read, doc_id, (run[0], run[-1]), MAX_FETCHED_SENTENCES - (0 if passage else run[0]))
    document = await _window(io, scope, read, doc_id, chosen)
    before, after = (doc_id, chosen[0] - 1) in read, (doc_id, chosen[1] + 1) in read
    return Excerpt(document, before, after)


async def read_runs(io: IO, scope: Scope, doc_id: str) -> list[Document]:
    """Read a document up to `MAX_DOCUMENT_SENTENCES`, as one Document for each unbroken run that may be read.

    Raises:
        ToolException: The store can't fetch by id.
    """
    return await in_one_state(scope, lambda scope: _all_runs(io, scope, doc_id))


async def _all_runs(io: IO, scope: Scope, doc_id: str) -> list[Document]:
    read: dict[SentenceKey, StoredSentence] = {}
    for start in range(0, MAX_DOCUMENT_SENTENCES, _BATCH_SIZE):
        found = await _sentences(io, scope, doc_id, range(start, start + _BATCH_SIZE))
        read |= found
        # Under a filter, sentences may be missing from the middle; without one, only the end has none after it.
        if len(found) < _BATCH_SIZE and not scope.is_bound:
            break
    return [
        await _window(io, scope, read, doc_id, (run[0], run[-1])) for run in _runs(sorted(index for _, index in read))
    ]


async def _sentences(io: IO, scope: Scope, doc_id: str, indexes: range) -> dict[SentenceKey, StoredSentence]:
    documents = await scope.fetch(io, [(doc_id, index) for index in indexes])
    if documents is None:
        raise no_reading()
    return by_key(map(scope.adapter.read, documents))


async def _window(io: IO, scope: Scope, read: Read, doc_id: str, sentences: Sentences) -> Document:
    hits = tuple(as_hit(read[doc_id, index], 0.0) for index in range(sentences[0], sentences[1] + 1))
    return await unsearched_window(io, scope, Window(doc_id, *sentences, hits), read)


def _grown(read: Read, doc_id: str, passage: Sentences, most: int) -> Sentences:
    """Return the sentences around a passage that fit into `MAX_FETCHED_CHARS`, as many on both sides, if possible."""
    (first, last), (begin, end) = passage, passage

    def fits(left: int, right: int) -> bool:
        return read[doc_id, right].end - read[doc_id, left].start <= MAX_FETCHED_CHARS

    while last > first and not fits(first, last):
        last -= 1
    # A passage that was cut goes on after its end, so nothing is added before it.
    forward, backward = last == end, last == end
    while forward or backward:
        forward = forward and (doc_id, last + 1) in read and last + 1 <= end + most and fits(first, last + 1)
        last += forward
        backward = backward and (doc_id, first - 1) in read and first - 1 >= begin - most and fits(first - 1, last)
        first -= backward
    return first, last


def _runs(indexes: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the unbroken runs of sorted numbers."""
    begin = 0
    for position in range(1, len(indexes) + 1):
        if position == len(indexes) or indexes[position] != indexes[position - 1] + 1:
            yield indexes[begin:position]
            begin = position
