"""Read sentences from any store, in one state of it: around others, what leads windows in, and whole documents.

And return the names of the documents of sentences that were found.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence, by_key
from langchain_sentence_window.documents.source_parts import names_in
from langchain_sentence_window.documents.window_documents import source_document
from langchain_sentence_window.documents.window_fields import lead_in_indexes
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, StoreChangedError
from langchain_sentence_window.ranking.names import FIRST_LINES, DocumentNames, keys_in
from langchain_sentence_window.windows.geometry import Window

T = TypeVar("T")

MAX_ATTEMPTS = 10
"""The most attempts at a read of a store that can't tell whether it was written meanwhile, or lacks a sentence."""

MAX_BUSY = 100
"""The most attempts at a read of a store that can tell. Few come to the third."""


async def in_one_state(scope: Scope, read: Callable[[Scope], Awaitable[T]]) -> T:
    """Search and read one state of a store, or do it again if documents were replaced in between.

    Args:
        scope: The store, and what may be read of it.
        read: Searches and reads in the scope that it is given.

    Raises:
        IncompleteWindowError: The store lacks something, whatever is written to it.
        StoreChangedError: A state never lasts as long as it takes to search it.
    """
    attempt = 0
    while True:
        attempt += 1
        with scope.adapter.at_one_state(attempt) as adapter:
            try:
                return await read(replace(scope, adapter=adapter))
            except StoreChangedError:
                if attempt == MAX_BUSY:
                    raise
            except IncompleteWindowError:
                if adapter.reads_one_state or attempt == MAX_ATTEMPTS:
                    raise


async def fetch_sentences(
    io: IO, scope: Scope, keys: Sequence[SentenceKey], known: SentencesByKey, *, also: Sequence[SentenceKey] = ()
) -> dict[SentenceKey, StoredSentence]:
    """Read sentences by document and index, in one call; leave out those that don't exist.

    Under a filter all are fetched within it, also those of inline windows, which don't hold their sentences' metadata.

    Args:
        io: Makes the calls.
        scope: Where they are, and which of them may be read. The others are left out.
        keys: Which to read, each once.
        known: The sentences that the search found. Those of their inline windows needn't be fetched.
        also: Others to read if a call is made anyway and the store can fetch by id.

    Raises:
        IncompleteWindowError: The store can't fetch by id, and no inline window holds a sentence; or it returns
            none of those that the search found.
    """
    inline = by_key(sentence for hit in known.values() for sentence in hit.window)
    # A sentence that was found itself knows its own page, kind and lead-in.
    inline |= {key: hit for key, hit in known.items() if key in inline}
    if scope.filter is None:
        read = {key: inline[key] for key in keys if key in inline}
        missing = [key for key in keys if key not in inline]
    else:
        read, missing = {}, list(keys)
    if not missing:
        return read
    fetched = await scope.fetch(io, list(dict.fromkeys([*missing, *also])))
    if fetched is None:
        fetched = await _found_again(io, scope, missing, inline)
    if not fetched and known.keys() & set(missing):
        raise IncompleteWindowError(
            f"{scope.adapter.name} returned none of {len(missing)} sentences by their ids, though its search had "
            "found some of them; they were deleted just now, or the store doesn't keep the ids it is given: add "
            "documents through the retriever, or split them with SentenceSplitter(inline_window=2)"
        )
    return read | by_key(map(scope.adapter.read, fetched))


async def fetch_available(
    io: IO, scope: Scope, keys: Collection[SentenceKey], known: SentencesByKey
) -> tuple[dict[SentenceKey, StoredSentence], bool]:
    """Read sentences in one call, as far as they can be read; never raise for those that can't.

    Returns:
        The sentences; and whether those that are missing don't exist or are forbidden. Otherwise the store may hold
        them, but can't fetch by id, or not within the filter.
    """
    inline = by_key(sentence for hit in known.values() for sentence in hit.window)
    held = {} if scope.filter is not None else {key: known.get(key, inline[key]) for key in keys if key in inline}
    missing = [key for key in keys if key not in held]
    try:
        fetched = await scope.fetch(io, missing) if missing else []
    except InvalidInputError:  # the filter can't be enforced by id
        fetched = None
    return held | by_key(map(scope.adapter.read, fetched or [])), fetched is not None


async def _found_again(io: IO, scope: Scope, missing: Sequence[SentenceKey], inline: SentencesByKey) -> list[Document]:
    """Find sentences of inline windows by a search within the filter, in a store that can't fetch by id."""
    if scope.filter is None or not inline.keys() >= set(missing):
        beyond = [key for key in missing if key not in inline]
        raise IncompleteWindowError(_neither(scope.adapter.name, beyond[0], has_inline=bool(inline)))
    return await scope.find(io, missing, inline[missing[0]].text)


def _neither(name: str, missing: SentenceKey, *, has_inline: bool) -> str:
    doc_id, index = missing
    if has_inline:
        return (
            f"{name} can't fetch documents by id, and no inline window holds sentence {index} of document {doc_id!r}; "
            "ask with a smaller window, or index with a larger inline_window of SentenceSplitter"
        )
    return (
        f"{name} can't fetch documents by id, and its sentences carry no inline windows; use a store with get_by_ids, "
        "or index with SentenceWindowRetriever(splitter=SentenceSplitter(inline_window=2), ...)"
    )


def wanted_lead_ins(windows: Iterable[Window], sentences: SentencesByKey) -> list[SentenceKey]:
    """Return which lead-ins of windows aren't at hand, each once."""
    keys = ((window.doc_id, index) for window in windows for index in lead_in_indexes(window, sentences))
    return [key for key in dict.fromkeys(keys) if key not in sentences or not sentences[key].kind]


async def fetch_lead_ins(
    io: IO, scope: Scope, windows: Sequence[Window], sentences: Mapping[SentenceKey, StoredSentence]
) -> dict[SentenceKey, StoredSentence]:
    """Read the lead-ins that aren't at hand; leave out those that can't be read or that the filter forbids.

    Args:
        io: Makes the calls.
        scope: The store, and what may be read of it. No call is made if all lead-ins are at hand.
        windows: The windows.
        sentences: Their sentences, and others at hand.

    Raises:
        IncompleteWindowError: A document changed since its window was read.
    """
    found: dict[SentenceKey, StoredSentence] = {}
    asked: set[SentenceKey] = set()
    while True:
        have = {**sentences, **found}
        wanted = [key for key in wanted_lead_ins(windows, have) if key not in asked]
        if not wanted:
            return found
        asked.update(wanted)
        # The windows' first sentences tell whether the documents are still those that the windows are from.
        names = {doc_id for doc_id, _ in wanted}
        starts = ((window.doc_id, window.first) for window in windows if window.doc_id in names)
        first = [key for key in dict.fromkeys(starts) if key in sentences]
        try:
            documents = await scope.fetch(io, [*wanted, *first])
        except InvalidInputError:  # the filter can't be enforced by id
            return found
        if documents is None:
            return found
        read = by_key(map(scope.adapter.read, documents))
        for key in first:
            if key not in read or (read[key].text, read[key].start) != (sentences[key].text, sentences[key].start):
                raise IncompleteWindowError(
                    f"document {key[0]!r} changed between the reading of a window and of what leads it in; ask again"
                )
        found |= {key: read[key] for key in wanted if key in read}


ASK_BATCH_SIZE = 256
"""Sentences of a document in one call, after its first, when all of them are read."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document in the store.

    Attributes:
        sentences: Those of its sentences that the filter lets through, in order.
        count: The number of all its sentences.
    """

    sentences: Sequence[StoredSentence]
    count: int

    @property
    def is_whole(self) -> bool:
        """Whether the filter lets through all of them."""
        return len(self.sentences) == self.count


async def read_documents(io: IO, scope: Scope, doc_ids: Sequence[str]) -> list[Document]:
    """Join source documents from their sentences; leave out those that don't exist.

    Leave out those of which the filter forbids anything, too.

    Raises:
        IncompleteWindowError: The store can't fetch by id, or lacks sentences.
    """

    async def read(scope: Scope) -> list[Document] | None:
        stored = await _stored_within(io, scope, doc_ids)
        whole = None if stored is None else [each for each in stored.values() if each.sentences and each.is_whole]
        return None if whole is None else [source_document(each.sentences) for each in whole]

    found = await in_one_state(scope, read)
    if found is None:
        raise _unreadable(scope)
    return found


async def read_sentences(io: IO, scope: Scope, doc_id: str) -> tuple[Sequence[StoredSentence], bool]:
    """Read the sentences of a document that the filter lets through.

    Returns:
        The sentences, in order, and whether they are all that the document has. None if there is no such document.

    Raises:
        IncompleteWindowError: The store can't fetch by id.
    """
    stored = await in_one_state(scope, lambda scope: _stored_within(io, scope, [doc_id]))
    if stored is None:
        raise _unreadable(scope)
    return stored[doc_id].sentences, stored[doc_id].is_whole


async def sentences_to_change(
    io: IO, scope: Scope, doc_ids: Sequence[str]
) -> dict[str, Sequence[StoredSentence]] | None:
    """Read all sentences of documents that are to be changed, by document, in order.

    Returns:
        ``None`` if the store can't fetch by id, and there is no filter.

    Raises:
        InvalidInputError: The filter forbids one of them, or that can't be checked.
    """
    if scope.filter is None:
        stored = await _stored_within(io, scope, doc_ids)
        return None if stored is None else {name: each.sentences for name, each in stored.items()}
    found = await whole_documents(io, scope, doc_ids)
    for name, each in found.items():
        if each.count and not each.sentences:
            raise InvalidInputError(
                f"the doc_id {name!r} is the id of a document that the filter forbids; choose another. Nothing was "
                "stored."
            )
    return {name: each.sentences for name, each in found.items()}


async def whole_documents(io: IO, scope: Scope, doc_ids: Sequence[str]) -> dict[str, StoredDocument]:
    """Read all sentences of the documents, and none of those that the filter forbids whole.

    Raises:
        InvalidInputError: The filter matches only a part of a document, or the store can't fetch by id.
    """
    stored = await _stored_within(io, scope, doc_ids)
    if stored is None:
        raise InvalidInputError(
            f"{scope.adapter.name} can't fetch by id, so a retriever with a filter can't check whose documents it "
            "would replace or delete; add and delete with a retriever that has no filter"
        )
    for name, each in stored.items():
        if each.sentences and not each.is_whole:
            raise InvalidInputError(
                f"the filter lets through only a part of document {name!r}; replace or delete it with a retriever "
                "that has no filter. Nothing was changed."
            )
    return stored


async def _stored_within(io: IO, scope: Scope, doc_ids: Sequence[str]) -> dict[str, StoredDocument] | None:
    """Read documents within the filter; return ``None`` if the store can't fetch by id."""
    stored = await fetch_documents(io, scope.adapter, doc_ids)
    if stored is None:
        return None
    counts = {name: len(of_it) for name, of_it in stored.items()}
    if scope.filter is not None:
        # Read once more, within the filter. Of the others nothing is read but that they are there.
        keys = [key_of(document) for of_it in stored.values() for document in of_it]
        within = _by_document((await scope.fetch(io, keys)) if keys else [], doc_ids)
        stored = {name: within[name] for name in stored}
    return {
        name: StoredDocument([scope.adapter.read(document) for document in of_it], counts[name])
        for name, of_it in stored.items()
    }


async def fetch_documents(io: IO, adapter: StoreAdapter, doc_ids: Sequence[str]) -> dict[str, list[Document]] | None:
    """Fetch all sentence Documents of documents, in order, without any filter, and don't read what is in them."""
    has: dict[str, list[Document]] = {doc_id: [] for doc_id in doc_ids}
    first, asked, unfinished = 0, 1, list(has)  # a document without a first sentence has none
    while unfinished:
        ids = [sentence_id(doc_id, index) for doc_id in unfinished for index in range(first, first + asked)]
        found = await adapter.fetch(io, ids)
        if found is None:
            return None
        for name, of_it in _by_document(found, unfinished).items():
            has[name] += of_it
        first, asked = first + asked, ASK_BATCH_SIZE
        unfinished = [doc_id for doc_id in unfinished if has[doc_id] and key_of(has[doc_id][-1])[1] + 1 == first]
    return has


def _by_document(found: Sequence[Document] | None, doc_ids: Sequence[str]) -> dict[str, list[Document]]:
    """Return sentence Documents by the document that they belong to, in order."""
    of_each: dict[str, list[Document]] = {doc_id: [] for doc_id in doc_ids}
    for document in sorted(found or [], key=key_of):
        of_each.get(key_of(document)[0], []).append(document)
    return of_each


def _unreadable(scope: Scope) -> IncompleteWindowError:
    return IncompleteWindowError(
        f"{scope.adapter.name} can't fetch documents by id, so what it has of a source document can't be read"
    )


def names_of_documents(sentences: Sequence[StoredSentence], metadata_keys: Sequence[str]) -> DocumentNames:
    """Return the names of the documents of some sentences, as far as these hold them.

    Args:
        sentences: The sentences, in any order.
        metadata_keys: Keys of metadata that hold names, besides the title, the file name and its folder.
    """
    # All sentences of a document have the same source, as a rule, and often so as one object.
    sources = {(each.doc_id, id(each.source)): each.source for each in sentences}
    names: dict[str, list[str]] = {}
    for (doc_id, _), source in sources.items():
        names.setdefault(doc_id, []).extend(names_in(source, metadata_keys))
    first_lines: dict[str, set[str]] = {}
    for each in sentences:
        if each.start < FIRST_LINES:
            first_lines.setdefault(each.doc_id, set()).update(keys_in(each.text))
    return DocumentNames(names, first_lines)
