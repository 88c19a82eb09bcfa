"""OpenTelemetry: one span for each query, in programs that have set a tracer provider.

Names and values are those of the semantic conventions for generative AI, operation ``retrieval``, as
opentelemetry-semantic-conventions 0.66b2 has them. The question and the ids of what was found are content, so they are
recorded only if the environment variable `CAPTURE_CONTENT` asks for it, and texts of documents never.

OpenTelemetry isn't imported here: a program that has a tracer provider has imported it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.documents.keys import SCORE

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
