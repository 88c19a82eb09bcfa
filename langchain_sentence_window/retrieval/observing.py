"""A query that can be watched: recorded as a span, where spans are recorded, and told to the logger."""

from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor

from langchain_sentence_window._io import IO
from langchain_sentence_window.retrieval.callback_runs import search_params
from langchain_sentence_window.retrieval.logs import log_query
from langchain_sentence_window.retrieval.pipeline import ReadMore, Request, Retrieval, retrieve
from langchain_sentence_window.retrieval.telemetry import query_attributes, query_span


async def observed(
    io: IO,
    request: Request,
    reranker: BaseDocumentCompressor | None,
    callbacks: Callbacks,
    read_more: ReadMore | None = None,
) -> Retrieval:
    """Run all stages of a query; see `retrieve`.

    Raises:
        StoreUnavailableError: The store's server doesn't answer.
    """

    def describe() -> dict[str, Any]:
        model = search_params(request.scope.adapter.store).get("ls_embedding_model")
        return query_attributes(request.k, request.name, model)

    with query_span(describe) as span:
        with request.scope.adapter.reached():
            retrieval = await retrieve(io, request, reranker, callbacks, read_more)
        span.found(request.search.query, retrieval.documents)
    log_query(request, retrieval)
    return retrieval
