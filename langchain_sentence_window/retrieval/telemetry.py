"""What a program can see of queries and of ingests: spans of OpenTelemetry, parameters in LangSmith, lines in the log.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._validation import listed
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.documents.keys import SCORE
from langchain_sentence_window.ranking.name_spans import Heard
from langchain_sentence_window.ranking.relevance import Relevance
from langchain_sentence_window.retrieval.query import ReadMore, Request, Retrieval, retrieve


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


class QuerySpan:
    """The span of a query; it tells nothing if none is recorded."""

    def __init__(self, span: Any) -> None:
        """Take a span that is recorded, or ``None``."""
        self._span = span

    def found(self, query: str, documents: Sequence[Document]) -> None:
        """Tell what a query found, if content may be told."""
        if self._span is None or os.environ.get(CAPTURE_CONTENT, "").lower() not in _ON_SPANS:
            return
        found = [{"id": document.id, "score": document.metadata.get(SCORE)} for document in documents]
        self._span.set_attribute("gen_ai.retrieval.query.text", query)
        self._span.set_attribute("gen_ai.retrieval.documents", json.dumps(found))


_NO_SPAN = QuerySpan(None)


@contextmanager
def query_span(describe: Callable[[], Mapping[str, Any]]) -> Iterator[QuerySpan]:
    """Record the block as a span, if spans are recorded at all. An error is recorded on it, and raised.

    Args:
        describe: Returns the attributes that the span begins with, see `query_attributes`.
    """
    tracer = _tracer()
    if tracer is None:
        yield _NO_SPAN
        return
    attributes = describe()
    name = " ".join(["retrieval", *filter(None, [attributes.get("gen_ai.data_source.id")])])
    kind = sys.modules["opentelemetry.trace"].SpanKind.CLIENT
    with tracer.start_as_current_span(name, kind=kind, attributes=attributes) as span:
        try:
            yield QuerySpan(span) if span.is_recording() else _NO_SPAN
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            raise


def query_attributes(k: int, name: str | None, model: str | None) -> dict[str, Any]:
    """Return the attributes of a query.

    Args:
        k: The number of windows to return.
        name: The retriever's name, which stands for what it searches; ``None`` if it has none.
        model: The name of the embedding model; ``None`` if it isn't known.
    """
    known = {"gen_ai.data_source.id": name, "gen_ai.request.model": model}
    named = {key: value for key, value in known.items() if value}
    return {"gen_ai.operation.name": "retrieval", "gen_ai.request.top_k": float(k), **named}


_known: tuple[Any, Any] | None = None
"""The latest tracer provider, and its tracer. Replaced as a whole."""


def _tracer() -> Any:
    """Return the tracer of the program's tracer provider; ``None`` if none was set."""
    global _known  # noqa: PLW0603 - a cache
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    known = _known
    if known is None or known[0] is not provider:
        _known = known = provider, provider.get_tracer(_PACKAGE, _version())
    return known[1]


def _version() -> str | None:
    try:
        return version("langchain-sentence-window")
    except PackageNotFoundError:  # it runs from a folder
        return None


LOGGER = logging.getLogger(__name__.partition(".")[0])
"""The logger ``langchain_sentence_window``."""

LOGGER.addHandler(logging.NullHandler())


def log_query(request: Request, retrieval: Retrieval) -> None:
    """Tell in one line what a query did."""
    if not LOGGER.isEnabledFor(logging.DEBUG):
        return
    found, searched = retrieval.found, retrieval.found.searched
    LOGGER.debug(
        "the query %s%s returned %s, of %s around %s, in %s%s%s",
        shown(request.search.query),
        " under a filter" if request.scope.is_bound else "",
        _count(len(retrieval.documents), "window"),
        f"{len(found.windows):,} found",
        _count(len(found.expansion.hits), "hit"),
        _times(retrieval.seconds),
        _names(searched.heard),
        _relevance(searched.relevance),
    )


def log_ingest(
    store: str, *, documents: int, sentences: int, embedded: int, replaced: int | None, seconds: float
) -> None:
    """Tell in one line what adding documents did.

    Args:
        store: The name of the store's class.
        documents: The documents that were added.
        sentences: Their sentences.
        embedded: The texts that were embedded; others had vectors.
        replaced: How many of the documents were there before; ``None`` if that isn't known.
        seconds: The time that it took.
    """
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    LOGGER.info(
        "added %s of %s to %s in %.3f s: embedded %s%s",
        _count(documents, "document"),
        _count(sentences, "sentence"),
        store,
        seconds,
        _count(embedded, "text"),
        "" if replaced is None else f", replaced {_count(replaced, 'document')}",
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _times(seconds: Mapping[str, float]) -> str:
    stages = ", ".join(f"{stage} {taken:.3f}" for stage, taken in seconds.items())
    return f"{sum(seconds.values()):.3f} s ({stages})"


def _names(heard: Heard | None) -> str:
    return "" if heard is None else f"; it names {listed([each.doc_id for each in heard.documents])}"


def _relevance(relevance: Relevance | None) -> str:
    if relevance is None:
        return ""
    return (
        f"; it supports {_count(relevance.supported, 'hit')}" if relevance.supported else "; nothing is on its subject"
    )
