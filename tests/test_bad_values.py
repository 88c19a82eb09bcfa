"""Invalid values for every parameter: each works, or raises an error of this package."""

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
    verify_quotes,
)
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation import Question
from langchain_sentence_window.stores import BM25Index
from tests.reranking.test_cross_encoder import Scorer
from tests.toys import WordEmbeddings, document, nested_list


def endless() -> list[Any]:
    nested: list[Any] = []
    nested.append(nested)
    return nested


class Word(str):
    """A string whose methods raise."""

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
    "x": "x",
    "bytes": b"x",
    "list": [],
    "object": object(),
    "nan": float("nan"),
    "vast": 10**5000,
    "-1": -1,
    "True": True,
    "NUL": "\x00",
    "surrogate": "\ud800",
    "-vast": -(10**5000),
    "deep": nested_list(100_000),
    "endless": endless(),
    "class": int,
    "list of None": [None],
    "complex": 1j,
}

DOCUMENT = document("A refund is quick. It takes days.", "a")
RETRIEVER = SentenceWindowRetriever.from_documents([DOCUMENT], WordEmbeddings(), k=1)
MEASURED = SentenceWindowRetriever.from_documents([DOCUMENT], WordEmbeddings(), k=1)  # nothing deletes from it
LLM = FakeListChatModel(responses=["So it is [1]."])
QUESTION = Question("refund", "a", ((0, 18),))
ENCODER = SimpleNamespace(encode=None, tokenizer=None, max_seq_length=9)
RERANKER = CrossEncoderReranker(model=Scorer())
REPORT = evaluation.evaluate(MEASURED, [QUESTION])


def chained(**given: Any) -> object:
    return create_rag_chain(**{"retriever": RETRIEVER, "llm": LLM, **given}).invoke("refund")


def invoked(query: Any, **given: Any) -> object:
    return RETRIEVER.invoke(query, **given)


def marked(**metadata: Any) -> list[Document]:
    return [Document(DOCUMENT.page_content, metadata={**DOCUMENT.metadata, **metadata})]


def contexts(**metadata: Any) -> object:
    found = [*marked(**metadata), *marked(**metadata)]
    return format_context(found), find_citations("[1]", found)


def sourced(**metadata: Any) -> object:
    """Add a document, and read it."""
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(WordEmbeddings()))
    ids = retriever.add_documents([Document("A refund. A card.", metadata=metadata)])
    store = FaissStore(WordEmbeddings())
    try:
        SentenceWindowRetriever(vectorstore=store).add_documents([Document("A refund.", metadata=metadata)])
    finally:
        store.add_texts(["It still works."])
    evaluation.evaluate(MEASURED, [QUESTION], documents=[Document(DOCUMENT.page_content, metadata=metadata), DOCUMENT])
    return retriever.get(ids), retriever.invoke("refund")


def stored(method: str, **given: Any) -> object:
    """Call a store, which still works afterwards."""
    store = FaissStore(WordEmbeddings())
    store.add_texts(["A refund."], ids=["a"])
    try:
        return getattr(store, method)(**given)
    finally:
        assert [each.page_content for each in store.get_by_ids(["a"])] == ["A refund."]
        store.add_texts(["A card."], ids=["b"])


def in_store(method: str) -> Callable[..., object]:
    return partial(stored, method)


PLACES: dict[str, Any] = {"start_index": 0, "end_index": len(DOCUMENT.page_content), "heading": "Plans"}
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
    "invoke": (
        invoked,
        {"query": "refund", "k": 1, "fetch_k": 5, "window": 1, "window_key": None, "max_tokens": 99}
        | {"count_tokens": len, "order": "edges", "lexical_weight": 0.5, "min_score": 0.0},
    ),
    "add_documents": (RETRIEVER.add_documents, {"documents": [DOCUMENT]}),
    "CrossEncoderReranker": (
        CrossEncoderReranker,
        {"model": Scorer(), "top_n": 1, "min_score": 0.0, "score_on": "both", "max_length": 99}
        | {"splitter": SentenceSplitter()},
    ),
    "compress_documents": (RERANKER.compress_documents, {"documents": [DOCUMENT], "query": "refund"}),
    "LateInteractionReranker": (
        LateInteractionReranker,
        {"model": ENCODER, "weight": 1, "top_n": 1, "min_score": 0.0, "batch_size": 1, "splitter": SentenceSplitter()},
    ),
    "format_context": (format_context, {"documents": [DOCUMENT]}),
    "metadata of a document": (
        sourced,
        {"source": "a.md", "doc_id": "a", "start_index": 0, "end_index": 17, "category": "NarrativeText"}
        | {"heading": "Plans", "hits": 1, "score": 0.5, "sentence_index": 1},
    ),
    "add_texts": (in_store("add_texts"), {"texts": ["A card."], "metadatas": [{}], "ids": ["x"]}),
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
    "lexical_search": (in_store("lexical_search"), {"query": "refund", "k": 1}),
    "copy_index": (copy_index, {"source": RETRIEVER.vectorstore, "target": FaissStore(WordEmbeddings())}),
    "create_tools": (create_tools, {"retriever": RETRIEVER, "prefix": "terms_"}),
    "BM25Index": (BM25Index, {"path": "words"}),
    "SentenceSplitter": (
        SentenceSplitter,
        {"language": "en", "engine": None, "structure": "auto", "max_chars": 99, "inline_window": 1},
    ),
    "metadata of a source": (contexts, {**PLACES, "source": "a.md", "doc_id": "a"}),
    "verify_quotes": (verify_quotes, {"text": 'It "holds" [1].', "windows": [DOCUMENT]}),
    "find_citations": (find_citations, {"answer": "[1]", "documents": [DOCUMENT]}),
    "create_rag_chain": (chained, {"retriever": RETRIEVER, "llm": LLM, "prompt": "{context} {question}"}),
    "Question": (Question, {"question": "refund", "doc_id": "a", "spans": [(0, 1)]}),
    "evaluate": (evaluation.evaluate, EVALUATING),
    "sweep": (evaluation.sweep, {**EVALUATING, "k": [1], "window": [0, 1]}),
    "read_questions": (evaluation.read_questions, {"path": "none.jsonl"}),
    "write_questions": (evaluation.write_questions, {"path": "some.jsonl", "questions": [QUESTION]}),
    "difference": (
        evaluation.compare({"one": MEASURED}, [QUESTION]).difference,
        {"one": "one", "other": "one", "budget": 400, "metric": "recall"},
    ),
}
MAY_BE_FILES = {"read_questions", "write_questions"}
"""Calls that may not find a file."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::langchain_sentence_window.errors.SentenceWindowWarning")
@pytest.mark.parametrize(("call", "parameter"), [(call, name) for call, (_, given) in CALLS.items() for name in given])
def test_a_bad_value_works_or_is_an_error_of_this_package(
    call: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, given = CALLS[call]
    if call not in MAY_BE_FILES:
        function(**given)  # a valid call works, so any error is about the invalid value
    raw: dict[str, BaseException] = {}
    for name, value in BAD.items():
        try:
            function(**{**given, parameter: value})
        except SentenceWindowError as error:
            assert len(str(error)) < 1_000, name  # noqa: PT017
        except Exception as error:  # noqa: BLE001 - reported below
            raw[name] = error
    assert not raw, _summary(raw)


@pytest.mark.parametrize("parameter", ["name_or_path", "batch_size", "max_length", "scale"])
def test_a_cross_encoder_is_loaded_or_an_error_says_why_not(parameter: str, tiny_model: Path) -> None:
    raw: dict[str, BaseException] = {}
    # Any other name is looked up on the hub.
    for name, value in (each for each in BAD.items() if parameter != "name_or_path" or each[0] != "x"):
        try:
            SentenceTransformerCrossEncoder(**{"name_or_path": str(tiny_model), parameter: value})
        except SentenceWindowError:
            pass
        except Exception as error:  # noqa: BLE001 - reported below
            raw[name] = error
    assert not raw, _summary(raw)


def _summary(raw: dict[str, BaseException]) -> dict[str, str]:
    return {name: f"{type(error).__name__}: {str(error)[:200]}" for name, error in raw.items()}


@pytest.mark.parametrize("make", [FaissStore, InMemoryVectorStore])
def test_values_of_subclasses_are_stored_as_plain_values(make: Any) -> None:
    retriever = SentenceWindowRetriever(vectorstore=make(WordEmbeddings()))
    metadata = {"page": Word("iv"), "source": Word("a.md"), "heading": Word("Plans"), "mode": Mode.A}
    retriever.add_documents([Document("A refund.", id="a", metadata=metadata)])
    (window,) = retriever.invoke("refund")
    stored = {key: window.metadata[key] for key in ("page", "source", "source_heading", "mode")}
    assert stored == {"page": "iv", "source": "a.md", "source_heading": "Plans", "mode": 1}
    assert {type(value) for value in stored.values()} == {str, int}
