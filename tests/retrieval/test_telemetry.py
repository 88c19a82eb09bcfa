"""OpenTelemetry's spans, by its real SDK."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.trace import NoOpTracerProvider, SpanKind, StatusCode

import langchain_sentence_window
from langchain_sentence_window import FaissStore, SentenceWindowRetriever, create_tools
from langchain_sentence_window.retrieval.telemetry import CAPTURE_CONTENT
from tests.conftest import Invoke
from tests.toys import WordEmbeddings, document

KNOWN = {value for key, value in vars(gen_ai_attributes).items() if key.startswith("GEN_AI_")}
TEXT = "A secret refund is annual. A card is a seat."


class ModelEmbeddings(WordEmbeddings):
    model_name = "toy-10"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Where all spans of the process go; the global provider is put back, as it can be set only once."""
    exporter = InMemorySpanExporter()
    use(monkeypatch, provider(exporter))
    return exporter


@pytest.fixture(autouse=True)
def no_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CAPTURE_CONTENT, raising=False)


def provider(exporter: InMemorySpanExporter, **settings: Any) -> TracerProvider:
    made = TracerProvider(**settings)
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


def use(monkeypatch: pytest.MonkeyPatch, provider: trace.TracerProvider | None) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def retriever(request: pytest.FixtureRequest) -> SentenceWindowRetriever:
    retriever = SentenceWindowRetriever(vectorstore=request.param(ModelEmbeddings()), k=3, name="terms")
    retriever.add_documents([document(TEXT, "a", tenant="mine"), document("A trial.", "b", tenant="mine")])
    return retriever


def only(exporter: InMemorySpanExporter) -> ReadableSpan:
    (span,) = exporter.get_finished_spans()
    return span


async def test_a_query_makes_one_span_without_content(
    retriever: SentenceWindowRetriever, exporter: InMemorySpanExporter, way: Invoke
) -> None:
    assert await way(retriever, "invoke", "secret refund")
    span = only(exporter)
    assert (span.name, span.kind) == ("retrieval terms", SpanKind.CLIENT)
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "terms",
        "gen_ai.request.model": "toy-10",
        "gen_ai.request.top_k": 3.0,
    }
    assert (span.status.status_code, span.events) == (StatusCode.UNSET, ())
    assert (span.end_time or 0) > (span.start_time or 0)
    assert span.instrumentation_scope
    assert span.instrumentation_scope.name == "langchain_sentence_window"
    assert not {"secret", "seat"} & set(span.to_json().replace('"', " ").split())


@pytest.mark.parametrize("asked", ["true", "SPAN_ONLY", "span_and_event"])
async def test_content_is_recorded_on_request_and_never_the_text_of_documents(
    retriever: SentenceWindowRetriever,
    exporter: InMemorySpanExporter,
    way: Invoke,
    asked: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(CAPTURE_CONTENT, asked)
    found: list[Document] = await way(retriever, "invoke", "refund \ud800")
    attributes = dict(only(exporter).attributes or {})
    assert attributes["gen_ai.retrieval.query.text"] == "refund ?"
    assert json.loads(str(attributes["gen_ai.retrieval.documents"])) == [
        {"id": each.id, "score": each.metadata["score"]} for each in found
    ]
    assert set(attributes) <= KNOWN
    assert "seat" not in only(exporter).to_json()


@pytest.mark.parametrize("asked", ["", "false", "no_content", "event_only", "yes please"])
def test_anything_else_records_no_content(
    retriever: SentenceWindowRetriever, exporter: InMemorySpanExporter, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE_CONTENT, asked)
    retriever.invoke("secret refund")
    assert not [key for key in only(exporter).attributes or {} if key.startswith("gen_ai.retrieval")]


class FailingEmbeddings(ModelEmbeddings):
    fails = False

    def embed_query(self, text: str) -> list[float]:
        if self.fails:
            raise TimeoutError("the server didn't answer")
        return super().embed_query(text)


async def test_an_error_is_recorded_and_raised(exporter: InMemorySpanExporter, way: Invoke) -> None:
    embedding = FailingEmbeddings()
    retriever = SentenceWindowRetriever.from_documents([document(TEXT)], embedding)
    embedding.fails = True
    with pytest.raises(TimeoutError):
        await way(retriever, "invoke", "refund")
    span = only(exporter)
    assert span.name == "retrieval"
    assert (span.attributes or {})[error_attributes.ERROR_TYPE] == "TimeoutError"
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]
    assert trace.get_current_span() is trace.INVALID_SPAN


async def test_spans_nest(exporter: InMemorySpanExporter, way: Invoke) -> None:
    class Traced(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            with trace.get_tracer("embedder").start_as_current_span("embed"):
                return super().embed_query(text)

    retriever = SentenceWindowRetriever.from_documents([document(TEXT)], Traced())
    with trace.get_tracer("program").start_as_current_span("request"):
        await way(create_tools(retriever)[0], "invoke", {"query": "refund"})
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"request", "retrieval", "embed"}
    for inner, outer in (("embed", "retrieval"), ("retrieval", "request")):
        parent, context = spans[inner].parent, spans[outer].context
        assert parent is not None
        assert context is not None
        assert parent.span_id == context.span_id


async def test_an_explanation_is_one_query(
    retriever: SentenceWindowRetriever, exporter: InMemorySpanExporter, way: Invoke
) -> None:
    await way(retriever, "explain", "refund")
    assert only(exporter).name == "retrieval terms"


async def test_queries_at_the_same_time_keep_their_spans(
    retriever: SentenceWindowRetriever, exporter: InMemorySpanExporter, way: Invoke
) -> None:
    await way(retriever, "batch", ["refund", "card", "seat"])
    spans = exporter.get_finished_spans()
    assert len(spans) == len({span.context.span_id for span in spans if span.context}) == 3
    assert all(span.parent is None for span in spans)


async def test_nothing_is_recorded_without_a_provider_or_by_one_that_samples_nothing(
    retriever: SentenceWindowRetriever, way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE_CONTENT, "true")
    exporter = InMemorySpanExporter()
    for chosen in (None, NoOpTracerProvider(), provider(exporter, sampler=ALWAYS_OFF)):
        use(monkeypatch, chosen)
        assert await way(retriever, "invoke", "refund")
    assert exporter.get_finished_spans() == ()


def test_a_provider_that_is_set_later_is_used(
    retriever: SentenceWindowRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporters = InMemorySpanExporter(), InMemorySpanExporter()
    for chosen in (None, *map(provider, exporters)):
        use(monkeypatch, chosen)
        retriever.invoke("refund")
    assert [len(each.get_finished_spans()) for each in exporters] == [1, 1]


@pytest.mark.process
@pytest.mark.slow
def test_opentelemetry_is_not_needed() -> None:
    code = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from tests.toys import WordEmbeddings, document\n"
        "from langchain_sentence_window import SentenceWindowRetriever\n"
        "retriever = SentenceWindowRetriever.from_documents([document('A refund.')], WordEmbeddings())\n"
        "print(len(retriever.invoke('refund')), [name for name in sys.modules if name.startswith('opentelemetry.')])\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1 []\n", "")


def test_the_package_imports_no_opentelemetry() -> None:
    for path in Path(langchain_sentence_window.__file__).parent.rglob("*.py"):
        imports = [line for line in path.read_text(encoding="utf-8").splitlines() if "import" in line]
        assert not [line for line in imports if re.match(r"\s*(from|import) opentelemetry", line)], path
