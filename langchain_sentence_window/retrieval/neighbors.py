"""Reading the sentences around those that were found: by id where the store can, else from inline windows."""

from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import (
    SentencesByKey,
    StoredSentence,
    by_key,
    read_sentence,
)
from langchain_sentence_window.errors import IncompleteWindowError


async def fetch_sentences(
    io: IO, scope: Scope, places: Sequence[tuple[str, int]], known: SentencesByKey
) -> dict[tuple[str, int], StoredSentence]:
    """Read sentences by document and index, in one call; those that don't exist are left out.

    Under a filter each is read within it, also what inline windows hold, as they don't say what their sentences'
    own metadata is.

    Args:
        io: Makes the calls.
        scope: Where they are, and which of them may be read; the others are left out.
        places: Which to read, each once.
        known: What the search found; what their inline windows hold needs no reading.

    Raises:
        IncompleteWindowError: The store can't fetch by id, and no inline window holds a sentence; or it gives back
            none of those that the search found.
    """
    inline = by_key(sentence for hit in known.values() for sentence in hit.window)
    if not scope.is_bound:
        read = {place: inline[place] for place in places if place in inline}
        missing = [place for place in places if place not in inline]
    else:
        read, missing = {}, list(places)
    if not missing:
        return read
    fetched = await scope.fetch(io, missing)
    if fetched is None:
        fetched = await _found_again(io, scope, missing, inline)
    if not fetched and known.keys() & set(missing):
        raise IncompleteWindowError(
            f"{type(scope.store).__name__} gave back none of {len(missing)} sentences by their ids, though its search "
            "had found some of them; they were deleted just now, or the store doesn't keep the ids it is given: add "
            "documents through the retriever, or split them with SentenceSplitter(inline_window=2)"
        )
    return read | by_key(map(read_sentence, fetched))


async def _found_again(
    io: IO, scope: Scope, missing: Sequence[tuple[str, int]], inline: SentencesByKey
) -> list[Document]:
    """Find sentences of inline windows by a search within the filter, in a store that can't fetch by id."""
    if not scope.is_bound or not inline.keys() >= set(missing):
        beyond = [place for place in missing if place not in inline]
        raise IncompleteWindowError(_neither(scope.store, beyond, has_inline=bool(inline)))
    return await scope.find(io, missing, inline[missing[0]].text)


def _neither(store: VectorStore, missing: Sequence[tuple[str, int]], *, has_inline: bool) -> str:
    name, (doc_id, index) = type(store).__name__, missing[0]
    if has_inline:
        return (
            f"{name} can't fetch documents by id, and no inline window holds sentence {index} of document {doc_id!r}; "
            "ask with a smaller window, or index with a larger inline_window of SentenceSplitter"
        )
    return (
        f"{name} can't fetch documents by id, and its sentences carry no inline windows; use a store with get_by_ids, "
        "or index with SentenceWindowRetriever(splitter=SentenceSplitter(inline_window=2), ...)"
    )
