"""Search a question's sentences in any store, and read around the best of them."""

from dataclasses import dataclass, replace

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.adapters.store_adapter import StoreAdapter

from .expansion import Expansion, expand_hits, read_expansion
from .hits import Hits
from .named_search import named_search
from .request import Request
from .window_reader import WindowReader


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, and the sentences around them.

    Attributes:
        found: The hits.
        are_all: Whether the store has no more that count.
        expansion: How far those that count are expanded.
        reader: Reads sentences around them, and has read those that their windows will probably need.
    """

    found: Hits
    are_all: bool
    expansion: Expansion
    reader: WindowReader


async def search(io: IO, adapter: StoreAdapter, *, scope: Scope, request: Request, fetch_k: int) -> SearchResult:
    """Search sentences, and read around the best of them, as `StoreAdapter.in_search` lets it do.

    Args:
        io: Makes the calls.
        adapter: That of the state of the store to read.
        scope: Which sentences may be found.
        request: The question.
        fetch_k: The most sentences to find in one search.
    """
    within = replace(scope, adapter=adapter)
    found = await named_search(io, within, request, fetch_k)
    hits = found.counting(request.min_score)
    are_all = len(found.hits) < fetch_k or len(hits) < len(found.hits)
    reader = WindowReader(io, within, found.sentences)
    policy = read_expansion(request.window, request.window_key)
    expansion = expand_hits(hits, policy, reader.sentences, are_all=are_all)
    expansion = await reader.read_around(expansion, request.k, request.max_tokens)
    return SearchResult(found, are_all, expansion, reader)
