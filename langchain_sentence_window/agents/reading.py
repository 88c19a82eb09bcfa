"""Reading an index without a search: around a passage, one document, or all documents that a filter allows."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from unicodedata import normalize

from langchain_core.documents import Document
from langchain_core.tools import ToolException
from pydantic_core import SchemaError, SchemaValidator, core_schema

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import MAX_INDEX, STORABLE_ID, SentenceKey, Span, encodable, runs_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, as_hit
from langchain_sentence_window.documents.window_documents import unsearched
from langchain_sentence_window.retrieval.stored_sentences import in_one_state
from langchain_sentence_window.retrieval.window_reader import WindowReader
from langchain_sentence_window.windows.geometry import Window

from .source_labels import read_doc_id
from .tool_errors import no_document, quoted

MAX_GAP_CHARS = 1_500
"""The most characters between two sentences that are read in one call; a picture in base64 has more."""

MAX_SENTENCES = 50
"""The most sentences that an agent may read on each side in one call."""

MAX_FOUND = 20
"""The most passages that exact words are shown in."""

MAX_FOUND_SENTENCES = 5
"""The most sentences of such a passage."""

MAX_FOUND_CHARS = 20_000
"""The most characters of all of them."""

_MAX_GAP = 20_000
"""The most sentences in a row that a filter may forbid in the middle of a document."""

_BATCH_SIZE = 1_000


async def read_around(
    io: IO, scope: Scope, doc_id: str, *, first: int, last: int, before: int, after: int
) -> list[Document]:
    """Read sentences of a document and those around them, as far as it goes, as one Document.

    Args:
        io: Makes the calls.
        scope: The store, and what of it may be read.
        doc_id: The document's name, also as a label quotes it.
        first: The first sentence of the passage.
        last: Its last one.
        before: How many sentences to read before it.
        after: How many to read after it.

    Raises:
        ToolException: There is no such passage, or none that may be read.
    """
    if last < first:
        raise ToolException(f"first is {first} and last is {last}; give the numbers as the search gave them")
    if last - first > 2 * MAX_SENTENCES:
        raise ToolException(f"{first} to {last} are more than {2 * MAX_SENTENCES} sentences; read a part at a time")
    for name in names_meant(doc_id):
        wanted = range(max(0, first - before), last + after + 1)
        found = await in_one_state(scope, partial(_read_run, io, doc_id=name, sentences=(first, last), wanted=wanted))
        if found is not None:
            return [found]
    raise ToolException(
        f"There is no document {quoted(doc_id)} with a sentence {first}. Search first, and use the doc_id "
        "and the sentence numbers of a passage that was found."
    )


def names_meant(given: str) -> list[str]:
    """Return what a model may mean by a ``doc_id``: labels quote unusual ones, and some contain quotes themselves."""
    return [each for each in dict.fromkeys([read_doc_id(given), given]) if STORABLE_ID.fullmatch(each)]


async def _read_run(io: IO, scope: Scope, *, doc_id: str, sentences: Span, wanted: range) -> Document | None:
    read = await read_sentences(io, scope, [(doc_id, index) for index in wanted])
    run = _run_of([index for _, index in read], sentences, bound=scope.filter is not None)
    if not run:
        return None
    ends = [index for index in run[:-1] if len(read[doc_id, index].separator) > MAX_GAP_CHARS]
    begin = next((end for end in reversed(ends) if end < sentences[0]), -1)
    stop = next((end for end in ends if end >= sentences[0]), run[-1])
    run = [index for index in run if begin < index <= stop]
    hits = tuple(as_hit(read[doc_id, index], 0.0) for index in run if sentences[0] <= index <= sentences[1])
    return await unsearched_window(io, scope, Window(doc_id, run[0], run[-1], hits), read)


async def read_sentences(io: IO, scope: Scope, keys: Sequence[SentenceKey]) -> SentencesByKey:
    """Read those of some sentences that exist and may be read.

    Raises:
        ToolException: The store can't fetch by id.
    """
    found = await scope.sentences(io, keys)
    if found is None:
        raise ToolException("This index can't be read sentence by sentence. Search again instead.")
    return found


async def unsearched_window(io: IO, scope: Scope, window: Window, read: SentencesByKey) -> Document:
    """Return the Document of a window that was read without a search, so that it has neither hits nor scores.

    Args:
        io: Makes the calls.
        scope: The store, and what may be read of it.
        window: The window; the hits that it needs are any of its sentences.
        read: Its sentences.
    """
    (document,) = await WindowReader(io, scope, read, read).documents([window])
    return unsearched(document)


def _run_of(found: Sequence[int], sentences: Span, *, bound: bool) -> list[int]:
    """Return which of the indexes that were read are shown; none if no wanted one is among them.

    Under a filter it is the first unbroken run, as a missing sentence may be forbidden. Without one a gap is damage,
    which raises an error later.
    """
    there = sorted(found)
    inside = [index for index in there if sentences[0] <= index <= sentences[1]]
    if not inside or not bound:
        return there if inside else []
    return next(run for run in runs_of(there) if inside[0] in run)


async def read_document(io: IO, scope: Scope, given: str) -> SentencesByKey:
    """Read a document as far as it may be read, in order.

    Args:
        io: Makes the calls.
        scope: The store, and what of it may be read.
        given: Its ``doc_id``, also as a label quotes it.

    Raises:
        ToolException: There is no such document, none that may be read, or the store can't fetch by id.
    """
    for doc_id in names_meant(given):
        if read := await read_documents(io, scope, {doc_id: MAX_INDEX}):
            return read
    raise no_document(given)


async def read_documents(io: IO, scope: Scope, counts: Mapping[str, int]) -> SentencesByKey:
    """Read documents, of each as many sentences as it has at most, in order.

    Raises:
        ToolException: The store can't fetch by id.
    """
    read: dict[SentenceKey, StoredSentence] = {}
    # Of each document the indexes to read next, how many sentences are missing, and after which index they are.
    waiting = {doc_id: (range(min(count, _BATCH_SIZE)), count, -1) for doc_id, count in counts.items()}
    while waiting:
        keys = [(doc_id, index) for doc_id, (indexes, *_) in waiting.items() for index in indexes]
        found = await read_sentences(io, scope, keys)
        read |= found
        asked, waiting = waiting, {}
        for doc_id, (indexes, missing, last) in asked.items():
            there = [index for index in indexes if (doc_id, index) in found]
            rest, last = missing - len(there), max([last, *there])
            # Under a filter, sentences may be missing from the middle; without one, only the end has none after it.
            gap = _MAX_GAP if scope.filter is not None else 0
            if rest and indexes.stop - 1 - last <= gap:
                waiting[doc_id] = range(indexes.stop, indexes.stop + _BATCH_SIZE), rest, last
    return {key: read[key] for key in sorted(read)}


async def find_passages(
    io: IO, scope: Scope, *, matches: Callable[[str], bool], doc_id: str
) -> tuple[list[Document], int]:
    """Find the sentences that match, or do so together with the next one.

    Args:
        io: Makes the calls.
        scope: The store, and what of it may be read, in one state.
        matches: Returns whether a text matches.
        doc_id: The document to look in; empty for all.

    Returns:
        The first `MAX_FOUND` passages, each of sentences that follow each other, and how many more there are.

    Raises:
        ToolException: There is no such document, or the store can't be read.
    """
    passages: list[Document] = []
    others, room = 0, MAX_FOUND_CHARS
    async for read in _read_batches(io, scope, doc_id):
        for name, run in await io.compute(_matching_runs, read, matches):
            size = read[name, run[-1]].end - read[name, run[0]].start
            if len(passages) == MAX_FOUND or size > room:
                others += 1
                continue
            room -= size
            hits = tuple(as_hit(read[name, index], 0.0) for index in run)
            passages.append(await unsearched_window(io, scope, Window(name, run[0], run[-1], hits), read))
    return passages, others


async def _read_batches(io: IO, scope: Scope, doc_id: str) -> AsyncIterator[SentencesByKey]:
    """Yield the sentences of a document, or of all, those of each document together."""
    if doc_id:
        yield await read_document(io, scope, doc_id)
        return
    batch, size = dict[str, int](), 0
    for each in await scope.adapter.list_documents(io, scope.filter):
        batch[each.doc_id] = each.sentences
        size += each.sentences
        if size >= _BATCH_SIZE:
            yield await read_documents(io, scope, batch)
            batch, size = {}, 0
    yield await read_documents(io, scope, batch)


def _matching_runs(read: SentencesByKey, matches: Callable[[str], bool]) -> list[tuple[str, list[int]]]:
    """Return unbroken runs of sentences that match, at most `MAX_FOUND_SENTENCES` long, each with its document."""
    found: list[tuple[str, list[int]]] = []
    for name, sentences in groupby(read.values(), key=lambda sentence: sentence.doc_id):
        for run in runs_of(_matching(list(sentences), matches)):
            starts = range(0, len(run), MAX_FOUND_SENTENCES)
            found += [(name, run[start : start + MAX_FOUND_SENTENCES]) for start in starts]
    return found


def _matching(sentences: Sequence[StoredSentence], matches: Callable[[str], bool]) -> list[int]:
    """Return the indexes of the sentences that match, or that do together with the next one, in order."""
    found = {sentence.index for sentence in sentences if matches(sentence.text)}
    pairs = set[int]()
    for one, two in pairwise(sentences):
        if found.isdisjoint((one.index, two.index)) and one.index == two.index - 1:
            pairs |= {one.index, two.index} if matches(one.text + one.separator + two.text) else set()
    return sorted(found | pairs)


_TYPED = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014", "''\"\"----")
"""Quotation marks and dashes as they are typed."""


def words_matcher(words: str) -> Callable[[str], bool]:
    """Return a function that finds words in a text, regardless of case and white space.

    Raises:
        ToolException: There are none.
    """

    def plain(text: str) -> str:
        return " ".join(normalize("NFC", text.translate(_TYPED)).casefold().split())

    wanted = plain(words)
    if not wanted:
        raise ToolException("There are no words to find. Give some, as they appear in a document.")
    return lambda text: wanted in plain(text)


def pattern_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that matches a text on one line with a regular expression, in linear time.

    The expression is one of Rust, which pydantic brings: without look-around and backreferences.

    Raises:
        ToolException: It can't be read.
    """
    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError as error:
        problem = re.sub(r"\s+", " ", str(error)).partition("SchemaError: ")[2]
        raise ToolException(
            f"{quoted(pattern)} can't be read as a regular expression ({problem}). Look-around and backreferences "
            "aren't supported."
        ) from None
    return lambda text: validator.isinstance_python(" ".join(encodable(text).split()))


async def read_sections(io: IO, scope: Scope, given: str) -> list[list[StoredSentence]]:
    """Read the sections of a document: the sentences below each heading.

    Raises:
        ToolException: There is no such document, none that may be read, or the store can't fetch by id.
    """
    read = await in_one_state(scope, lambda scope: read_document(io, scope, given))
    return [list(section) for _, section in groupby(read.values(), key=lambda sentence: sentence.section_start)]
