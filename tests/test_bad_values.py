"""Values that nobody should pass, at every parameter: each works, or is an error of this package."""

from collections.abc import Callable
from enum import IntFlag
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import (
    BM25Index,
    CrossEncoderReranker,
    FaissStore,
    LateInteractionReranker,
    SentenceSplitter,
    SentenceTransformerCrossEncoder,
    SentenceWindowRetriever,
    copy_index,
    create_rag_chain,
    create_tools,
    evaluation,
    find_citations,
    format_context,
    read_chunks,
    survey_chunks,
)
from langchain_sentence_window.answering import content_blocks
from langchain_sentence_window.answering import context as search_results
from langchain_sentence_window.answering.locations import describe_location
from langchain_sentence_window.answering.quotes import verification as quotes_verify
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation import Question
from langchain_sentence_window.ranking import candidates as fusion
from langchain_sentence_window.windows import geometry
from tests.reranking.test_cross_encoder import Lengths
from tests.toys import WordEmbeddings, document


def deep(levels: int = 100_000) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


def endless() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


class Word(str):
    """Is a string, and does nothing as one."""

    __slots__ = ()

    def __len__(self) -> int:
        raise RuntimeError("len")

    def __str__(self) -> str:
        raise RuntimeError("str")

    __repr__ = __str__


class Mode(IntFlag):
    A = 1


BAD: dict[str, Any] = {
    "None": None,
    "5": 5,
    "blank": "",
    "x": "x",
    "bytes": b"x",
    "list": [],
    "dict": {},
    "object": object(),
    "nan": float("nan"),
    "inf": float("inf"),
    "huge": 10**30,
    "vast": 10**5000,
    "-1": -1,
    "True": True,
    "NUL": "\x00",
    "surrogate": "\ud800",
    "-vast": -(10**5000),
    "deep": deep(),
    "endless": endless(),
    "set": {1},
    "class": int,
    "list of None": [None],
    "list of lists": [[]],
    "complex": 1j,
}

DOCUMENT = document("A refund is quick. It takes days.", "a")
RETRIEVER = SentenceWindowRetriever.from_documents([DOCUMENT], WordEmbeddings(), k=1)
MEASURED = SentenceWindowRetriever.from_documents([DOCUMENT], WordEmbeddings(), k=1)  # nothing deletes from it
LLM = FakeListChatModel(responses=["So it is [1]."])
QUESTION = Question("refund", "a", ((0, 18),))
ENCODER = SimpleNamespace(encode=None, tokenizer=None, max_seq_length=9)
RERANKER = CrossEncoderReranker(model=Lengths())
HOLDING = InMemoryVectorStore.from_texts(["A card."], WordEmbeddings(), [{"source": "a.md", "n": 1}])
REPORT = evaluation.evaluate(MEASURED, [QUESTION])


def chained(**given: Any) -> object:
    return create_rag_chain(**{"retriever": RETRIEVER, "llm": LLM, **given}).invoke("refund")


def asked(**given: Any) -> object:
    return create_rag_chain(RETRIEVER, LLM).invoke(given["question"], {"configurable": given.get("configurable", {})})


def invoked(query: Any, **given: Any) -> object:
    return RETRIEVER.invoke(query, **given)


def compared(**given: Any) -> object:
    return evaluation.compare(**{**given, "retrievers": {"one": given["retrievers"]}})


def scored_by(**given: Any) -> object:
    class Giving(Lengths):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return given["scores"]  # type: ignore[no-any-return]

    return CrossEncoderReranker(model=Giving()).compress_documents([DOCUMENT], "refund")


def marked(**metadata: Any) -> list[Document]:
    return [Document(DOCUMENT.page_content, metadata={**DOCUMENT.metadata, **metadata})]


def contexts(**metadata: Any) -> object:
    found = [*marked(**metadata), *marked(**metadata)]
    return format_context(found), find_citations("[1]", found), describe_location(found[0])


def reranked(**metadata: Any) -> object:
    return RERANKER.compress_documents([*marked(**metadata), DOCUMENT], "refund")


def sourced(**metadata: Any) -> object:
    """A document is added, and what is left of it is read."""
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(WordEmbeddings()))
    ids = retriever.add_documents([Document("A refund. A card.", metadata=metadata)])
    store = FaissStore(WordEmbeddings())
    try:
        SentenceWindowRetriever(vectorstore=store).add_documents([Document("A refund.", metadata=metadata)])
    finally:
        store.add_texts(["It works still."])
    evaluation.evaluate(MEASURED, [QUESTION], documents=[Document(DOCUMENT.page_content, metadata=metadata), DOCUMENT])
    return retriever.get(ids), retriever.invoke("refund")


def stored(method: str, **given: Any) -> object:
    """A store is called, and works still."""
    store = FaissStore(WordEmbeddings())
    store.add_texts(["A refund."], ids=["a"])
    try:
        return getattr(store, method)(**given)
    finally:
        assert [each.page_content for each in store.get_by_ids(["a"])] == ["A refund."]
        store.add_texts(["A card."], ids=["b"])


def in_store(method: str) -> Callable[..., object]:
    return partial(stored, method)


def counted(**given: Any) -> object:
    return evaluation.evaluate(MEASURED, [QUESTION], count_tokens=lambda text: given["tokens"])


PLACES: dict[str, Any] = {"start_index": 0, "end_index": len(DOCUMENT.page_content), "heading": "Plans"}
HITS: dict[str, Any] = {**PLACES, "hits": [], "score": 0.5, "sentences": [0, 1], "relevance_score": 1.0}
EVALUATING: dict[str, Any] = {
    "retriever": MEASURED,
    "questions": [QUESTION],
    "budgets": [100],
    "count_tokens": len,
    "documents": [DOCUMENT],
}
FIELDS: dict[str, Any] = {
    name: value for name, value in dict(RETRIEVER).items() if name in SentenceWindowRetriever.__annotations__
}
"""The retriever's settings; `sweep` has a `count_tokens` of its own."""

CALLS: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
    "SentenceWindowRetriever": (SentenceWindowRetriever, FIELDS),
    "from_documents": (
        SentenceWindowRetriever.from_documents,
        {"documents": [DOCUMENT], "embedding": WordEmbeddings(), "neighbor_weights": (1,)},
    ),
    "invoke": (
        invoked,
        {"query": "refund", "k": 1, "fetch_k": 5, "window": 1, "window_key": None, "max_tokens": 99}
        | {"count_tokens": len, "order": "edges", "lexical_weight": 0.5, "min_score": 0.0},
    ),
    "from_texts": (
        SentenceWindowRetriever.from_texts,
        {"texts": ["A card."], "embedding": WordEmbeddings(), "metadatas": [{}], "ids": ["x"]},
    ),
    "explain": (RETRIEVER.explain, {"query": "refund", "k": 1, "window": 1}),
    "add_documents": (RETRIEVER.add_documents, {"documents": [DOCUMENT]}),
    "get": (RETRIEVER.delete, {"ids": ["a"]}),
    "CrossEncoderReranker": (
        CrossEncoderReranker,
        {"model": Lengths(), "top_n": 1, "min_score": 0.0, "score_on": "both", "max_length": 99}
        | {"splitter": SentenceSplitter()},
    ),
    "compress_documents": (RERANKER.compress_documents, {"documents": [DOCUMENT], "query": "refund"}),
    "score": (scored_by, {"scores": [1.0]}),
    "metadata of what is reranked": (reranked, HITS),
    "LateInteractionReranker": (
        LateInteractionReranker,
        {"model": ENCODER, "weight": 1, "top_n": 1, "min_score": 0.0, "batch_size": 1, "splitter": SentenceSplitter()},
    ),
    "format_context": (format_context, {"documents": [DOCUMENT]}),
    "metadata of a document": (
        sourced,
        {"source": "a.md", "doc_id": "a", "start_index": 0, "end_index": 17, "category": "NarrativeText"}
        | {"heading": "Plans", "hits": 1, "score": 0.5, "sentence_index": 1, "relevance_score": 1.0},
    ),
    "add_texts": (in_store("add_texts"), {"texts": ["A card."], "metadatas": [{}], "ids": ["x"]}),
    "add_documents of a store": (in_store("add_documents"), {"documents": [DOCUMENT], "ids": ["x"]}),
    "add_embeddings": (in_store("add_embeddings"), {"documents": [DOCUMENT], "vectors": [[1.0] * 11]}),
    "replace_documents": (
        in_store("replace_documents"),
        {"sentences": [], "doc_ids": ["none"], "contexts": [], "within": {"doc_id": "none"}},
    ),
    "FaissStore": (
        FaissStore,
        {"embedding": WordEmbeddings(), "index": "exact", "neighbor_weights": (1,)},
    ),
    "similarity_search": (in_store("similarity_search"), {"query": "refund", "k": 1, "filter": {"page": {"$ne": 1}}}),
    "hybrid_search": (in_store("hybrid_search"), {"query": "refund", "k": 1, "lexical_weight": 0.5}),
    "lexical_search": (in_store("lexical_search"), {"query": "refund", "k": 1}),
    "mmr": (
        in_store("max_marginal_relevance_search"),
        {"query": "refund", "k": 1, "fetch_k": 2, "lambda_mult": 0.5},
    ),
    "similarity_search_by_vector": (in_store("similarity_search_by_vector"), {"embedding": [1.0] * 11, "k": 1}),
    "get_by_ids_within": (in_store("get_by_ids_within"), {"ids": ["a"], "filter": {"page": 1}}),
    "copy_index": (copy_index, {"source": RETRIEVER.vectorstore, "target": FaissStore(WordEmbeddings())}),
    "copy_index of another store": (
        lambda **given: copy_index(HOLDING, FaissStore(WordEmbeddings()), **given),
        {"source_key": "source", "join_parts": "n"},
    ),
    "read_chunks": (
        lambda **given: list(read_chunks(**given)),
        {"store": HOLDING, "source_key": "source", "join_parts": "n"},
    ),
    "survey_chunks": (survey_chunks, {"store": HOLDING, "source_key": "source", "join_parts": "n"}),
    "metadata of a chunk": (
        lambda **metadata: survey_chunks(
            InMemoryVectorStore.from_documents([Document("A card.", metadata=metadata)], WordEmbeddings())
        ),
        {"source": "a.md", "start_index": 0, "end_index": 7, "doc_id": "a", "page": 1},
    ),
    "change of words": (BM25Index().change, {"removed": [], "added": []}),
    "create_tools": (create_tools, {"retriever": RETRIEVER, "prefix": "terms_"}),
    "BM25Index": (BM25Index, {"path": "words"}),
    "SentenceSplitter": (
        SentenceSplitter,
        {"language": "en", "engine": None, "structure": "auto", "min_chars": 0, "max_chars": 99, "inline_window": 1},
    ),
    "engine": (
        lambda found: SentenceSplitter(engine=lambda text: found).spans("A refund."),
        {"found": [(0, 9)]},
    ),
    "span of an engine": (
        lambda start: SentenceSplitter(engine=lambda text: [(start, 9)]).spans("A refund."),
        {"start": 0},
    ),
    "situate": (
        lambda line: SentenceWindowRetriever(
            vectorstore=FaissStore(WordEmbeddings()), situate=lambda document, sentence: line
        ).add_documents([DOCUMENT]),
        {"line": "A line."},
    ),
    "metadata of a source": (contexts, {**PLACES, "source": "a.md", "doc_id": "a"}),
    "verify_quotes": (quotes_verify.verify_quotes, {"text": 'It "holds" [1].', "windows": [DOCUMENT]}),
    "verify_quote": (quotes_verify.verify_quote, {"quote": "holds", "windows": [DOCUMENT], "cited": [1]}),
    "cited_message": (content_blocks.cited_message, {"answer": "It holds [1].", "windows": [DOCUMENT], "quotes": []}),
    "citation_blocks": (
        content_blocks.citation_blocks,
        {"answer": "It holds [1].", "windows": [DOCUMENT], "quotes": []},
    ),
    "as_search_results": (search_results.as_search_results, {"windows": [DOCUMENT]}),
    "find_citations": (find_citations, {"answer": "[1]", "documents": [DOCUMENT]}),
    "create_rag_chain": (chained, {"retriever": RETRIEVER, "llm": LLM, "prompt": "{context} {question}"}),
    "chain": (asked, {"question": "refund"}),
    "configurable": (
        lambda **given: asked(question="refund", configurable=given),
        {"k": 1, "window": 1},
    ),
    "Question": (Question, {"question": "refund", "doc_id": "a", "spans": [(0, 1)]}),
    "span": (lambda start, end: Question("refund", "a", ((start, end),)), {"start": 0, "end": 1}),
    "evaluate": (evaluation.evaluate, EVALUATING),
    "count_tokens": (counted, {"tokens": 1}),
    "compare": (compared, {"retrievers": MEASURED, "questions": [QUESTION], "budgets": [9]}),
    "retrievers": (evaluation.compare, {"retrievers": {"one": MEASURED}, "questions": [QUESTION]}),
    "sweep": (evaluation.sweep, {**EVALUATING, "k": [1], "window": [0, 1]}),
    "swept": (
        lambda **given: evaluation.sweep(MEASURED, [QUESTION], **given),
        {name: [value] for name, value in FIELDS.items() if name != "count_tokens"},
    ),
    "read_questions": (evaluation.read_questions, {"path": "none.jsonl"}),
    "write_questions": (evaluation.write_questions, {"path": "some.jsonl", "questions": [QUESTION]}),
    "at": (REPORT.at, {"budget": 400}),
    "values": (REPORT.values, {"metric": "recall", "budget": 400}),
    "plot": (REPORT.plot, {"path": "recall.png"}),
    "difference": (
        evaluation.compare({"one": MEASURED}, [QUESTION]).difference,
        {"one": "one", "other": "one", "budget": 400, "metric": "recall"},
    ),
    "fuse, by row": (
        lambda cosine, score: fusion.fuse({1: 0.5, 2: cosine}, {1: 2.0, 2: score}, 0.5),
        {"cosine": 0.5, "score": 1.0},
    ),
    "window_size": (geometry.window_size, {"value": 1}),
}
MAY_BE_FILES = {"read_questions", "write_questions"}
"""Those that may find no file at all."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::langchain_sentence_window.errors.SentenceWindowWarning")
@pytest.mark.parametrize(("call", "parameter"), [(call, name) for call, (_, given) in CALLS.items() for name in given])
def test_a_bad_value_works_or_is_an_error_of_this_package(
    call: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, given = CALLS[call]
    if call not in MAY_BE_FILES:
        function(**given)  # what is right works, so that it is the bad value that is told
    raw: dict[str, BaseException] = {}
    for name, value in BAD.items():
        try:
            function(**{**given, parameter: value})
        except SentenceWindowError as error:
            assert len(str(error)) < 1_000, name  # noqa: PT017
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told below
            raw[name] = error
    assert not raw, _told(raw)


@pytest.mark.parametrize("parameter", ["name_or_path", "batch_size", "max_length", "scale"])
def test_a_cross_encoder_is_loaded_or_an_error_says_why_not(parameter: str, tiny_model: Path) -> None:
    raw: dict[str, BaseException] = {}
    # Other names are looked for on the hub.
    for name, value in (each for each in BAD.items() if parameter != "name_or_path" or each[0] != "x"):
        try:
            SentenceTransformerCrossEncoder(**{"name_or_path": str(tiny_model), parameter: value})
        except SentenceWindowError:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told below
            raw[name] = error
    assert not raw, _told(raw)


def _told(raw: dict[str, BaseException]) -> dict[str, str]:
    return {name: f"{type(error).__name__}: {str(error)[:200]}" for name, error in raw.items()}


@pytest.mark.parametrize("make", [FaissStore, InMemoryVectorStore])
def test_what_a_string_does_of_its_own_is_not_stored(make: Any) -> None:
    retriever = SentenceWindowRetriever(vectorstore=make(WordEmbeddings()))
    metadata = {"page": Word("iv"), "source": Word("a.md"), "heading": Word("Plans"), "mode": Mode.A}
    retriever.add_documents([Document("A refund.", id="a", metadata=metadata)])
    (found,) = retriever.invoke("refund")
    told = {key: found.metadata[key] for key in ("page", "source", "source_heading", "mode")}
    assert told == {"page": "iv", "source": "a.md", "source_heading": "Plans", "mode": 1}
    assert {type(value) for value in told.values()} == {str, int}
