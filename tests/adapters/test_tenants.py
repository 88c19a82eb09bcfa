"""Two tenants in one index, and every road to text: what every public call returns, raises, logs or passes on.

A road is a group of such calls. It collects all that it returns or raises, all warnings, log records, spans and
callbacks, and all that functions of the caller get. All that belongs to the other tenant contains the word "Zanzi":
texts, titles, sources and values of metadata. Names of documents don't, as roads that ask for them repeat them.
"""

import json
import logging
import re
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core._api import LangChainBetaWarning
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from langchain_sentence_window import FaissStore, SentenceWindowRetriever, create_rag_chain, create_tools
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowError
from langchain_sentence_window.evaluation import Question, aevaluate, evaluate
from langchain_sentence_window.stores import IO, BM25Index, StoreAdapter, register
from tests.adapters.test_scope import BY_ID, Case, Mapped, function, mapping
from tests.forms import Invoke
from tests.toys import WordEmbeddings

MARK, THEIR_IDS = re.compile("zanzi", re.IGNORECASE), re.compile("x-000")
EQUAL = "A refund is paid in May."
LIST = "- A card is mine.\n- A seat is mine."
MINE = [
    Document(
        id="m-0001",
        page_content=f"# Terms\n\nMine is a refund page. {EQUAL} Mine ends with a card.\n\nMine lists these:\n\n{LIST}",
        metadata={"tenant": "mine", "source": "mine.md", "title": "Mine Annual Terms", "owner": "Mineral Ltd"},
    ),
    Document(
        id="m-0002",
        page_content="Mine is another page. It has a seat. It has a trial. Mine is an invoice.",
        metadata={"tenant": "mine", "source": "more.md", "title": "More of Mine", "owner": "Mineral Ltd"},
    ),
]
THEIRS = [
    Document(
        page_content=f"Zanzi is a refund page. {EQUAL} Zanzi pays a secret salary by card. A Zanzi page goes on",
        metadata={"doc_id": "x-0001", "page": 0, "total_pages": 9},
    ),
    Document(page_content="on the next page of Zanzi. Zanzi ends.", metadata={"doc_id": "x-0001", "page": 3}),
    Document(
        page_content="The Quux Agreement of Zanzi. Quux pays Zanzi a refund. Quux and Zanzi trade an annual seat.",
        metadata={"doc_id": "x-0002", "title": "Quux Agreement of Zanzi", "secret_zanzi_key": 1},
    ),
]
BOTH = (
    "Mine is a refund. Zanzi has a secret refund. Mine is annual. Zanzi has a card. Mine is a seat.\n\n"
    "Zanzi lists these pages:\n\n- Mine is an invoice.\n- Zanzi is an invoice.\n- Mine is a backup."
)
QUERIES = [
    "refund",
    "secret salary by card",
    "What does the Quux Agreement say about a seat?",
    "What does the x-0002 Agreement of zan.pdf say?",
    "invoice backup",
    EQUAL,
]


def theirs() -> list[Document]:
    common = {"tenant": "theirs", "source": "zan.pdf", "owner": "Zanzi Ltd"}
    return [each.model_copy(update={"metadata": common | each.metadata}) for each in THEIRS]


def filled(case: Case) -> SentenceWindowRetriever:
    """A retriever without a filter, over all that both tenants have."""
    make, _, settings = case
    index = None if make is FaissStore else BM25Index()
    retriever = SentenceWindowRetriever(vectorstore=make(WordEmbeddings()), bm25_index=index, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        retriever.add_documents([*MINE, *theirs()])
    sentences = [
        each.model_copy(update={"metadata": {**each.metadata, "tenant": "theirs" if "Zanzi" in text else "mine"}})
        for each in retriever.splitter.split_documents([Document(id="both", page_content=BOTH)])
        for text in [each.page_content]
    ]
    retriever.vectorstore.add_documents(sentences, ids=[str(each.id) for each in sentences])
    if index is not None:
        index.change([], sentences)
    return retriever


CASES = [BY_ID[0], *(pytest.param(*each.values, id=each.id, marks=pytest.mark.slow) for each in BY_ID[1:])]
_admins: list[tuple[Case, SentenceWindowRetriever]] = []


def admin_of(case: Case) -> SentenceWindowRetriever:
    """One retriever without a filter for all tests that only read."""
    for known, admin in _admins:
        if known is case:
            return admin
    _admins.append((case, filled(case)))
    return _admins[-1][1]


class Told(BaseCallbackHandler):
    """Collects all that a road reveals."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.spans: Callable[[], list[str]] = list
        self.logged: Callable[[], list[str]] = list
        self.warned: Callable[[], list[str]] = list

    def everything(self) -> list[str]:
        return [*self.all, *self.spans(), *self.logged(), *self.warned()]

    def add(self, *values: Any) -> None:
        for value in values:
            if hasattr(value, "to_dict"):  # a trace
                self.all += [str(value), json.dumps(value.to_dict())]
            self.all.append(repr(value))
            if isinstance(value, BaseException):
                self.add(str(value), value.__cause__, value.__context__)

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        self.add(inputs, more)

    def on_chain_end(self, outputs: Any, **more: Any) -> None:
        self.add(outputs)

    def on_retriever_start(self, serialized: Any, query: str, **more: Any) -> None:
        self.add(query, more)

    def on_retriever_end(self, documents: Any, **more: Any) -> None:
        self.add(documents)

    def on_retriever_error(self, error: BaseException, **more: Any) -> None:
        self.add(error)

    def on_tool_end(self, output: Any, **more: Any) -> None:
        self.add(output)

    def on_tool_error(self, error: BaseException, **more: Any) -> None:
        self.add(error)


@dataclass
class Road:
    """What a tenant can use.

    Attributes:
        retriever: The retriever.
        way: Calls a method in its sync or its async form.
        theirs: A filter that matches the other tenant's documents.
        anything: A filter that matches everything.
        told: All that was revealed so far.
    """

    retriever: SentenceWindowRetriever
    way: Invoke
    theirs: Any
    anything: Any
    told: Told = field(default_factory=Told)

    @property
    def config(self) -> dict[str, Any]:
        return {"callbacks": [self.told]}

    async def ask(self, of: Any, method: str, *given: Any, **settings: Any) -> Any:
        try:
            found = await self.way(of, method, *given, **settings)
        except SentenceWindowError as error:
            found = error
        self.told.add(found)
        return found

    async def invoke(self, of: Any, **settings: Any) -> None:
        for query in QUERIES:
            await self.ask(of, "invoke", query, self.config, **settings)

    def spied(self, text: object) -> int:
        self.told.add(text)
        return len(str(text))


@dataclass
class Functions:
    """A function in its two forms."""

    run: Callable[..., Any]
    arun: Callable[..., Any]


Walk = Callable[[Road], Awaitable[None]]
ROADS: dict[str, Walk] = {}


def road(walk: Walk) -> Walk:
    ROADS[walk.__name__] = walk
    return walk


SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "windows": {"window": (4, 4), "k": 50},
    "auto": {"window": "auto", "k": 3, "order": "document"},
    "by value": {"window": {"mine": (0, 9), "theirs": 9, "Zanzi Ltd": 9}},
    "meaning": {"lexical_weight": 0, "window": 2},
    "relevance": {"min_relevance": "auto", "min_score": -1},
    "names": {"names": ["owner", "title", "secret_zanzi_key"[:6]], "window": 3},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("case", CASES)
async def test_no_setting_of_a_call_widens(case: Case, settings: Mapping[str, Any], way: Invoke, told: Told) -> None:
    at = means(case, way, told)
    await at.invoke(at.retriever, **settings, count_tokens=at.spied, max_tokens=10_000)
    assert_nothing_of_theirs(told)
    assert "Mine" in told.all[-1] or any("Mine" in each for each in told.all)


@road
async def filters_of_a_call(at: Road) -> None:
    for given in (None, {}, at.theirs, at.anything, {"$or": [{"tenant": "theirs"}, {"tenant": "mine"}]}):
        await at.invoke(at.retriever, filter=given, window=3)


@road
async def functions_of_the_caller(at: Road) -> None:
    def watched(document: Any) -> bool:
        at.told.add(document)
        return True

    # An inline window is in the metadata of a sentence, which a function is handed as the store has it.
    if callable(at.anything) and not at.retriever.splitter.inline_window:
        await at.invoke(at.retriever, filter=watched, window=3)
        await at.ask(at.retriever, "documents", watched)
        await at.ask(at.retriever, "delete", ["none"], filter=watched)
    await at.invoke(at.retriever, count_tokens=at.spied, max_tokens=30)
    await at.invoke(at.retriever, count_tokens=at.spied, max_tokens=1)


@road
async def a_reranker(at: Road) -> None:
    class Spy(BaseDocumentCompressor):
        def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> Any:
            at.told.add(documents)
            return documents

    await at.invoke(at.retriever.model_copy(update={"reranker": Spy()}), window=4)


@road
async def batches_and_streams(at: Road) -> None:
    await at.ask(at.retriever, "batch", QUERIES, at.config, filter=at.theirs)
    await at.ask(at.retriever, "batch", QUERIES, at.config)
    at.told.add(list(at.retriever.stream("refund", filter=at.anything)))
    at.told.add([each async for each in at.retriever.astream("refund", filter=at.anything)])
    at.told.add([each async for each in at.retriever.astream_events("refund", version="v2", filter=at.anything)])


@road
async def what_langchain_wraps_around(at: Road) -> None:
    plain = at.retriever
    wide: RunnableConfig = {"configurable": {"filter": at.theirs, "search_kwargs": {"filter": at.theirs}}}
    for wrapped in (
        plain.bind(filter=at.theirs),
        plain.bind(filter=at.anything).with_config(wide),
        plain.with_config(wide),
        plain.with_retry().bind(filter=at.theirs),
        plain.with_fallbacks([plain.bind(filter=at.theirs)]),
        plain | RunnableLambda(lambda found: found),
        plain.configurable_fields(filter=ConfigurableField(id="filter")),
        plain.configurable_fields(search_kwargs=ConfigurableField(id="search_kwargs"), k=ConfigurableField(id="k")),
        plain.configurable_fields(filter=ConfigurableField(id="filter")).with_config(wide),
        plain.configurable_fields(search_kwargs=ConfigurableField(id="search_kwargs")).with_config(wide),
    ):
        for query in QUERIES:
            await at.ask(wrapped, "invoke", query, at.config)
            await at.ask(wrapped, "invoke", query, {**at.config, **wide})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainBetaWarning)
        tool = plain.as_tool(name="terms", description="Terms.")
    for query in QUERIES:
        await at.ask(tool, "invoke", query, {**at.config, **wide})


@road
async def explanations(at: Road) -> None:
    for query in QUERIES:
        for settings in ({}, {"window": 4, "k": 50}, {"filter": at.anything}, {"min_relevance": "auto"}):
            await at.ask(at.retriever, "explain", query, **settings)


@road
async def chains(at: Road) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("As it says [1] [2] [9].")] * 4 * len(QUERIES)))
    chain = create_rag_chain(at.retriever, model)
    for query in QUERIES:
        for given in (None, at.theirs, at.anything):
            await at.ask(chain, "invoke", query, {**at.config, "configurable": {"filter": given, "window": 9}})


@road
async def tools(at: Road) -> None:
    names = ["search", "read_around", "documents", "outline", "find"]
    search, read, documents, outline, find = create_tools(at.retriever, tools=names)
    # A run can narrow the filter, but not widen it.
    for given in (None, at.theirs, at.anything):
        run = {**at.config, "configurable": {"filter": given}}
        for query in QUERIES:
            await at.ask(search, "invoke", {"query": query, "k": 20}, run)
            await at.ask(search, "invoke", {"query": query, "filter": {"tenant": "theirs"}}, run)
        for doc_id in ("both", "m-0001"):
            for first in range(10):
                asked = {"doc_id": doc_id, "first": first, "last": first + 1, "before": 50, "after": 50}
                await at.ask(read, "invoke", asked, run)
            await at.ask(outline, "invoke", {"doc_id": doc_id}, run)
            await at.ask(find, "invoke", {"text": "seat", "doc_id": doc_id}, run)
        await at.ask(documents, "invoke", {}, run)
        await at.ask(find, "invoke", {"text": ".", "regex": True}, run)


@road
async def lists(at: Road) -> None:
    for given in ((), (at.theirs,), (at.anything,)):
        for source in (None, "mine.md", "zan.pdf"):
            await at.ask(at.retriever, "documents", *given, source=source)


@road
async def a_document_index(at: Road) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainBetaWarning)
        index = at.retriever.as_document_index()
    await at.invoke(index, filter=at.anything)
    await at.ask(index, "get", ["m-0001", "both"])


@road
async def evaluations(at: Road) -> None:
    asked = [Question(query, doc_id, ((0, 5),)) for query in QUERIES for doc_id in ("m-0001", "both")]
    report = await at.ask(Functions(evaluate, aevaluate), "run", at.retriever, asked)
    at.told.add([each.passages for each in report.results])


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """Collects all that is revealed, in logs, spans and warnings too."""
    told, exporter, provider = Told(), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(otel, "_TRACER_PROVIDER", provider)
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        told.spans = lambda: [each.to_json() for each in exporter.get_finished_spans()]
        told.logged = lambda: [f"{each.getMessage()} {each.exc_text}" for each in caplog.records]
        told.warned = lambda: [str(each.message) for each in warned]
        yield told


def means(case: Case, way: Invoke, told: Told, *, anything: Any = None, **settings: Any) -> Road:
    """What the first tenant can use."""
    admin = admin_of(case)
    of = case[1]
    retriever = admin.model_copy(update={"filter": of("mine"), "k": 20} | settings)
    usual = {"tenant": {"$exists": True}} if of is mapping else (lambda found: True)
    return Road(retriever, way, of("theirs"), usual if anything is None else anything, told)


def assert_nothing_of_theirs(told: Told) -> None:
    everything = told.everything()
    assert everything
    for each in everything:
        assert not MARK.search(each), each
        assert not THEIR_IDS.search(each.replace("the x-0002 Agreement", "")), each


@pytest.mark.parametrize("walk", ROADS.values(), ids=ROADS.keys())
@pytest.mark.parametrize("case", CASES)
async def test_a_tenant_never_sees_another_tenants_documents(case: Case, walk: Walk, way: Invoke, told: Told) -> None:
    await walk(means(case, way, told))
    assert_nothing_of_theirs(told)


@pytest.mark.slow
@pytest.mark.parametrize("walk", ROADS.values(), ids=ROADS.keys())
async def test_each_road_shows_them_without_a_filter(walk: Walk, way: Invoke, told: Told) -> None:
    """So that the test above can fail."""
    case: Case = InMemoryVectorStore, function, {}
    await walk(means(case, way, told, filter=None))
    assert any(MARK.search(each) for each in told.everything())


async def by_name(at: Road, names: Sequence[str]) -> None:
    """Ask for documents by their names."""
    for ids in (names, [names[0], "both", "m-0001"]):
        await at.ask(at.retriever, "get", ids)
        await at.ask(at.retriever, "delete", names)
        await at.ask(at.retriever, "delete", names, source="zan.pdf", filter=at.anything)
    _, read = create_tools(at.retriever)
    for name in names:
        for first in range(4):
            asked = {"doc_id": name, "first": first, "last": first, "before": 50, "after": 50}
            await at.ask(read, "invoke", asked, {**at.config, "configurable": {"filter": at.theirs}})
    questions = [Question("refund", name, ((0, 9_999),)) for name in names]
    found = await at.ask(Functions(evaluate, aevaluate), "run", at.retriever, questions)
    at.told.add([(each.passages, each.wrong_section, each.scores) for each in getattr(found, "results", ())])


@pytest.mark.parametrize("case", CASES)
async def test_another_tenants_document_is_like_one_that_does_not_exist(case: Case, way: Invoke, told: Told) -> None:
    answers = []
    for names in (["x-0001", "x-0002"], ["n-0001", "n-0002"]):
        at = means(case, way, Told())
        before = len(told.warned())
        await by_name(at, names)
        answers.append([re.sub(r"[xn]-000", "", each) for each in at.told.all + told.warned()[before:]])
    assert answers[0] == answers[1]
    assert not any(MARK.search(each) for each in answers[0])


async def test_names_show_forbidden_documents_without_a_filter(way: Invoke, told: Told) -> None:
    """So that the test above can fail."""
    case: Case = InMemoryVectorStore, function, {}
    at = Road(filled(case), way, None, None, told)
    await by_name(at, ["x-0001", "x-0002"])
    assert any(MARK.search(each) for each in told.all)


@pytest.mark.parametrize("case", BY_ID)
async def test_writing_reveals_and_changes_nothing(case: Case, way: Invoke, told: Told) -> None:
    admin = filled(case)
    before = admin.get(["m-0001", "m-0002", "x-0001", "x-0002", "both"])

    def situate(document: Document, sentence: Document) -> str:
        at.told.add(document, sentence)
        return ""

    retriever = admin.model_copy(update={"filter": case[1]("mine"), "situate": situate})
    at = Road(retriever, way, case[1]("theirs"), None, told)
    for given in ({"source": "zan.pdf"}, {"filter": at.theirs}, {"filter": at.theirs, "source": "zan.pdf"}):
        found = await at.ask(retriever, "delete", **given)
        assert found == 0 or isinstance(found, InvalidInputError)
    for metadata in (
        {"doc_id": "x-0001", "page": 1, "total_pages": 9},
        {"source": "zan.pdf", "page": 0},
        {"doc_id": "x-0001", "start_index": 0},
        {"doc_id": "x-0002"},
        {"doc_id": "both"},
    ):
        text = "Mine goes on where a page ends, and that"
        new = Document(page_content=text, metadata={"tenant": "mine", **metadata})
        if "doc_id" in metadata:
            assert isinstance(await at.ask(retriever, "add_documents", [new]), InvalidInputError)
    for each in told.everything():
        assert not MARK.search(each), each
    assert admin.get(["m-0001", "m-0002", "x-0001", "x-0002", "both"]) == before


class Forgetful(Mapped):
    """Its adapter writes into the filters that it is given."""


class ForgetfulAdapter(StoreAdapter):
    async def select(self, io: IO, ids: Sequence[str] | None, filter: dict[str, Any] | None) -> list[Document]:
        found: list[Document] = self.store.get_by_ids(ids)
        if filter is not None:
            found = [each for each in found if each.metadata["tenant"] == filter.get("tenant", "theirs")]
            filter.clear()
        return found


register(Forgetful, ForgetfulAdapter)


async def test_an_adapter_that_modifies_its_filter_reads_nothing_else(way: Invoke, told: Told) -> None:
    case: Case = Forgetful, mapping, {}
    at = means(case, way, told)
    for window in (0, 3, 9, "auto"):
        await at.invoke(at.retriever, window=window)
        await at.ask(at.retriever, "explain", "refund", window=window)
    assert_nothing_of_theirs(told)


def test_filter_and_search_kwargs_cannot_both_be_configurable() -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings()), filter={"tenant": "mine"})
    both = {name: ConfigurableField(id=name) for name in ("filter", "search_kwargs")}
    with pytest.raises(InvalidInputError, match="can't both be configurable"):
        retriever.configurable_fields(**both)
    free = retriever.model_copy(update={"filter": None}).configurable_fields(**both)
    assert {each.id for each in free.config_specs} == {"filter", "search_kwargs"}
