"""Read the sentences around those that were found: by id where the store can, else from inline windows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import (
    SentencesByKey,
    StoredSentence,
    by_key,
)
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError


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
    if not scope.is_bound:
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
            f"{scope.adapter.name} gave back none of {len(missing)} sentences by their ids, though its search "
            "had found some of them; they were deleted just now, or the store doesn't keep the ids it is given: add "
            "documents through the retriever, or split them with SentenceSplitter(inline_window=2)"
        )
    return read | by_key(map(scope.adapter.read, fetched))


@dataclass(frozen=True, slots=True)
class Available:
    """Sentences that could be read.

    Attributes:
        sentences: The sentences.
        is_complete: Whether those that are missing don't exist or are forbidden. Otherwise the store may hold them, but
            can't fetch by id, or not within the filter.
    """

    sentences: dict[SentenceKey, StoredSentence]
    is_complete: bool


async def fetch_available(io: IO, scope: Scope, keys: Collection[SentenceKey], known: SentencesByKey) -> Available:
    """Read sentences in one call, as far as they can be read; never raise for those that can't."""
    inline = by_key(sentence for hit in known.values() for sentence in hit.window)
    held = {} if scope.is_bound else {key: known.get(key, inline[key]) for key in keys if key in inline}
    missing = [key for key in keys if key not in held]
    try:
        fetched = await scope.fetch(io, missing) if missing else []
    except InvalidInputError:  # the filter can't be enforced by id
        fetched = None
    found = held | by_key(map(scope.adapter.read, fetched or []))
    return Available(found, is_complete=fetched is not None)


async def _found_again(io: IO, scope: Scope, missing: Sequence[SentenceKey], inline: SentencesByKey) -> list[Document]:
    """Find sentences of inline windows by a search within the filter, in a store that can't fetch by id."""
    if not scope.is_bound or not inline.keys() >= set(missing):
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
