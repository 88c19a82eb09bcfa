"""Traces of queries and of ingests for a program: spans of OpenTelemetry, parameters in LangSmith, lines in the log.

Names and values of a span are those of the semantic conventions for generative AI, operation ``retrieval``, as
opentelemetry-semantic-conventions 0.66b2 has them. The question and the ids of what was found are content, so they are
recorded only if the environment variable `CAPTURE_CONTENT` asks for it, and texts of documents never. OpenTelemetry
isn't imported here: a program that has a tracer provider has imported it.

The logger is silent until the program configures logging: a query at DEBUG, adding documents at INFO. A record shows
the question, shortened, and the names of documents, but none of their texts.
"""

import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.keys import SCORE
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings
from langchain_sentence_window.ranking.names import Naming
from langchain_sentence_window.ranking.relevance import Relevance

from .query import Query
from .request import Request


@contextmanager
def observed(query: Query) -> Iterator[None]:
    """Run a query in the block, as a span where spans are recorded; and write to the log what it did.

    Raises:
        StoreUnavailableError: The store's server doesn't answer.
    """
    request, tracer = query.request, _tracer()
    with nullcontext() if tracer is None else _query_span(tracer, request) as span:
        with request.scope.adapter.reached():
            yield
        if span is not None:
            _record_content(span, query)
    if LOGGER.isEnabledFor(logging.DEBUG):
        _log_query(query)


def search_params(store: VectorStore) -> LangSmithRetrieverParams:
    """Return the parameters that LangSmith shows of a store and its embedder, as far as they are known."""
    params = LangSmithRetrieverParams(ls_vector_store_provider=type(store).__name__)
    embedding = adapter_of(store).embedding
    if embedding is not None:
        params["ls_embedding_provider"] = type(embedding).__name__
        # The first name is langchain-huggingface's, the second that of most others.
        model = getattr(embedding, "model_name", None) or getattr(embedding, "model", None)
        if isinstance(model, str):
            params["ls_embedding_model"] = model
    return params


CAPTURE_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Records content if it is ``true``, ``span_only`` or ``span_and_event``, in any case."""

_PACKAGE = __name__.partition(".")[0]
_ON_SPANS = frozenset({"true", "span_only", "span_and_event"})


@contextmanager
def _query_span(tracer: Any, request: Request) -> Iterator[Any]:
    """Record the block as a span. An error is recorded on it, and raised.

    Args:
        tracer: Makes the span.
        request: The query. The retriever's name, if it has one, stands for what it searches.

    Yields:
        The span; ``None`` if this one isn't recorded.
    """
    known = {
        "gen_ai.data_source.id": request.name,
        "gen_ai.request.model": search_params(request.scope.adapter.store).get("ls_embedding_model"),
    }
    named = {key: value for key, value in known.items() if value}
    attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.request.top_k": float(request.k), **named}
    name = " ".join(["retrieval", *filter(None, [request.name])])
    kind = sys.modules["opentelemetry.trace"].SpanKind.CLIENT
    with tracer.start_as_current_span(name, kind=kind, attributes=attributes) as span:
        try:
            yield span if span.is_recording() else None
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            raise


def _record_content(span: Any, query: Query) -> None:
    """Record the question and what was found, if content may be recorded."""
    if os.environ.get(CAPTURE_CONTENT, "").lower() in _ON_SPANS:
        found = [{"id": document.id, "score": document.metadata.get(SCORE)} for document in query.documents]
        span.set_attribute("gen_ai.retrieval.query.text", query.request.query)
        span.set_attribute("gen_ai.retrieval.documents", json.dumps(found))


def _tracer() -> Any:
    """Return the tracer of the program's tracer provider; ``None`` if none was set."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return _tracer_of(provider)


@lru_cache(maxsize=1)  # a provider makes a new one at each call
def _tracer_of(provider: Any) -> Any:
    return provider.get_tracer(_PACKAGE, sys.modules[_PACKAGE].__version__)


LOGGER = logging.getLogger(__name__.partition(".")[0])
"""The logger ``langchain_sentence_window``."""

LOGGER.addHandler(logging.NullHandler())


def _log_query(query: Query) -> None:
    """Write in one line what a query did."""
    request, found = query.request, query.found
    LOGGER.debug(
        "the query %s%s returned %s, of %s around %s, in %s%s%s",
        shown(request.query),
        " under a filter" if request.scope.filter is not None else "",
        _count(len(query.documents), "window"),
        f"{len(query.windows):,} found",
        _count(len(query.expansion.hits), "hit"),
        _format_seconds(query.seconds),
        _describe_naming(found.named),
        _relevance(found.relevance),
    )


def log_ingest(
    adapter: StoreAdapter, *, documents: int, sentences: int, embedded: int, replaced: int | None, seconds: float
) -> None:
    """Tell in one line what adding documents did.

    Args:
        adapter: That of the store.
        documents: The documents that were added.
        sentences: Their sentences.
        embedded: The texts that were embedded, unless the store embeds, which embeds all; others had vectors.
        replaced: How many of the documents were there before; ``None`` if that isn't known.
        seconds: The time that it took.
    """
    embeds_here = adapter.mixes_neighbors or isinstance(adapter.embedding, NeighborMixedEmbeddings)
    LOGGER.info(
        "added %s of %s to %s in %.3f s: embedded %s%s",
        _count(documents, "document"),
        _count(sentences, "sentence"),
        adapter.name,
        seconds,
        _count(embedded if embeds_here else sentences, "text"),
        "" if replaced is None else f", replaced {_count(replaced, 'document')}",
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _format_seconds(seconds: Mapping[str, float]) -> str:
    stages = ", ".join(f"{stage} {taken:.3f}" for stage, taken in seconds.items())
    return f"{sum(seconds.values()):.3f} s ({stages})"


def _describe_naming(named: Naming | None) -> str:
    return "" if named is None else f"; it names {listed([each.doc_id for each in named.documents])}"


def _relevance(relevance: Relevance | None) -> str:
    if relevance is None or relevance.probability is None:
        return ""
    return f"; relevance {relevance.probability:.2f}" + ("" if relevance.supported else ", so nothing is returned")
