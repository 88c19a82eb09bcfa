"""Check a quotation against an index: find the windows that it may be from, and verify it in them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import ASYNC, arun
from langchain_sentence_window.answering.mcp.reading import read_runs
from langchain_sentence_window.answering.quotes.verification import QuotedPlace, VerifiedQuote, verify_quote
from langchain_sentence_window.answering.tools import no_document, read_doc_id
from langchain_sentence_window.documents.ids import is_storable_id
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.window_merging import merge_windows
from langchain_sentence_window.documents.window_metadata import RELEVANCE_SCORE, SCORE, SENTENCES
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

MAX_SEARCHES = 8
"""The most sentences of a quote that are searched for."""

SEARCH: Mapping[str, Any] = {
    "k": 8,
    "window": 3,
    "max_tokens": None,
    "min_score": None,
    "min_relevance": None,
    "order": "relevance",
}
"""The settings of a search for a quote: it must find the place rather than save tokens."""

NOT_IN_DOCUMENT = (
    "The quote stands neither in that document nor in the passages that a search for it finds. Don't use it as a "
    "quotation. Search for what it says, and quote the text of a result."
)
"""The explanation of ``not_found`` where a document was named."""

EXPLANATIONS: Mapping[str, str] = {
    "verbatim": "The quote stands there word for word.",
    "normalized": "The quote stands there but for white space, case, quotation marks or hyphens. To quote it word for "
    "word, take the text from the places.",
    "stitched": "The quote is made of pieces that don't stand together. Quote each piece by itself, from the places.",
    "misattributed": "The quote doesn't stand in that document, but in the places. Cite these instead.",
    "not_found": "The quote stands in none of the passages that a search for it finds. Don't use it as a quotation. "
    "Search for what it says, and quote the text of a result.",
}


async def verified(retriever: SentenceWindowRetriever, quote: str, given: str | None) -> VerifiedQuote:
    """Verify a quote in what a search for it finds, and in all of a document if one is named.

    Args:
        retriever: Finds and reads; its filter binds.
        quote: The quote.
        given: The name of the document that it is said to be from, also as a label quotes it; ``None`` for none.

    Raises:
        ToolException: There is no such document, or none that may be read.
    """
    own = [] if given is None else await _document(retriever, given)
    names = {document.metadata[DOC_ID] for document in own}
    others: list[Document] = []
    for document in await _search(retriever, quote):
        # A part of the document beyond what was read of it is of the document too.
        (own if document.metadata.get(DOC_ID) in names else others).append(document)
    # A thread, as an event loop has others to serve meanwhile.
    return await ASYNC.in_thread(verify_quote, quote, [*own, *others], tuple(range(1, len(own) + 1)))


def place_document(place: QuotedPlace) -> Document:
    """Return the text that stands at a place as a Document that says where it is from."""
    narrowed = place.window()
    metadata = {key: value for key, value in narrowed.metadata.items() if key not in (SCORE, RELEVANCE_SCORE)}
    first, last = place.first_sentence, place.last_sentence
    if first is not None and last is not None:
        metadata[SENTENCES] = [first, last]
    return narrowed.model_copy(update={"metadata": metadata})


async def _document(retriever: SentenceWindowRetriever, given: str) -> list[Document]:
    for doc_id in filter(is_storable_id, dict.fromkeys([given, read_doc_id(given)])):
        if found := await arun(partial(read_runs, scope=retriever.scope(), doc_id=doc_id)):
            return found
    raise no_document(given)


async def _search(retriever: SentenceWindowRetriever, quote: str) -> Sequence[Document]:
    """Search for each sentence of a quote, and join what is found in one place."""
    splitter = retriever.splitter
    sentences = [quote[start:end] for start, end in await ASYNC.in_thread(splitter.spans, quote)]
    queries = dict.fromkeys(text for text in sentences or [quote] if text.strip())
    found = [await retriever.ainvoke(query, **SEARCH) for query in [*queries][:MAX_SEARCHES]]
    return merge_windows([document for windows in found for document in windows])
