"""Copies of retrievers and stores share open files; a refused copy says how to open them again."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import ConfigurableField, Runnable
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import (
    CrossEncoderReranker,
    SentenceSplitter,
    SentenceWindowRetriever,
    create_rag_chain,
    create_tools,
)
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError, StoreError
from langchain_sentence_window.stores import BM25Index
from tests.forms import Invoke
from tests.reranking.test_cross_encoder import Scorer
from tests.retrieval.test_callback_runs import Failing
from tests.toys import BY_COSINE, WordEmbeddings, document


def parted(text: str) -> list[tuple[int, int]]:
    """Split in two halves."""
    return [(0, len(text) // 2), (len(text) // 2, len(text))]


DOCUMENTS = [document("A refund. It is so.", "a"), document("A refund, a card.", "b")]


@pytest.fixture
def retriever() -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings(), k=2, window=0, **BY_COSINE)


@pytest.mark.parametrize("copied", [copy.copy, lambda each: each.model_copy(), lambda each: each.model_copy(update={})])
async def test_a_copy_shares_the_store_and_has_its_own_settings(
    retriever: SentenceWindowRetriever, way: Invoke, copied: Callable[[Any], SentenceWindowRetriever]
) -> None:
    other = copied(retriever)
    other.k = 1
    assert retriever.k == 2
    assert other.vectorstore is retriever.vectorstore
    assert [each.metadata["doc_id"] for each in await way(other, "invoke", "refund")] == ["a"]
    await way(other, "add_documents", [document("Refund refund.", "c")])
    assert {each.metadata["doc_id"] for each in await way(retriever, "invoke", "refund")} == {"a", "c"}


COPIES: list[tuple[str, Callable[[Any], object]]] = [
    ("pickled", pickle.dumps),
    ("deep-copied", copy.deepcopy),
]


@pytest.mark.parametrize(("how", "take"), COPIES)
@pytest.mark.parametrize("whole", [True, False])
def test_deep_copies_of_open_files_are_refused_with_the_cure(
    how: str, take: Callable[[Any], object], whole: bool, tmp_path: Path
) -> None:
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings(), path=tmp_path / "index")
    memory = SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings())
    cures = {r"FaissStore\.open\('.*index', embedding\)": retriever, r"with backup\(path\), then": memory}
    for cure, each in cures.items():
        with pytest.raises(StoreError, match=f"a FaissStore can't be {how}, because it holds open files; .*{cure}"):
            take(each if whole else each.vectorstore)
        assert len(each.invoke("refund")) == 2


@pytest.mark.parametrize("path", [None, "words"])
def test_a_bm25_index_is_shared_by_copies_and_refuses_deep_ones(path: str | None, tmp_path: Path) -> None:
    words = BM25Index(None if path is None else tmp_path / path)
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(WordEmbeddings()), bm25_index=words)
    cure = (
        r"make one at a path, BM25Index\(path\), and add the documents again"
        if path is None
        else r"BM25Index\('.*words'\)"
    )
    for how, take in COPIES:
        for each in (words, retriever):
            with pytest.raises(StoreError, match=f"a BM25Index can't be {how}, because it holds open files; .*{cure}"):
                take(each)
    retriever.add_documents(DOCUMENTS)
    other = copy.copy(retriever)
    assert other.bm25_index is words
    assert len(copy.copy(words).scores("card", [])) == 0
    assert other.invoke("card", k=1)[0].metadata["doc_id"] == "b"


TEXT = "Dr. Hale asks. She knows. 「はい。」 そうです。"


@pytest.mark.parametrize(
    "settings",
    [
        {"engine": "punkt"},
        {"language": "de"},
        {"engine": parted, "max_chars": 9},
    ],
)
def test_a_splitter_is_pickled_with_its_engine(settings: dict[str, Any]) -> None:
    splitter = SentenceSplitter(**settings)
    for other in (copy.copy(splitter), copy.deepcopy(splitter), pickle.loads(pickle.dumps(splitter))):  # noqa: S301
        assert repr(other) == repr(splitter)
        assert other.spans(TEXT) == splitter.spans(TEXT)


async def test_tools_and_scopes_are_copied_with_their_store(way: Invoke) -> None:
    store = InMemoryVectorStore(WordEmbeddings())
    SentenceWindowRetriever(vectorstore=store).add_documents(DOCUMENTS)
    bound = SentenceWindowRetriever(vectorstore=store, filter={"doc_id": "a"})
    takes: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]  # noqa: S301
    for take in takes:
        search, read = (take(tool) for tool in create_tools(bound))
        assert "A refund. It is so." in await way(search, "invoke", {"query": "refund"})
        assert "card" not in await way(search, "invoke", {"query": "card"})
        assert "It is so." in await way(read, "invoke", {"doc_id": "a", "first": 0, "last": 0})
        for scope in (bound.scope(), bound.scope({"doc_id": "b"})):
            other = take(scope)
            for held in store.store.values():
                found = Document(held["text"], metadata=held["metadata"])
                assert other.matcher
                assert scope.matcher
                assert other.matcher(found) == scope.matcher(found)


def test_an_error_is_copied_and_pickled() -> None:
    error = MissingExtraError("ray", "ray")
    for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301
        assert (str(other), other.package, other.extra) == (str(error), "ray", "ray")


async def test_configurable_fields_make_copies(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    fields: Any = retriever.configurable_fields(
        k=ConfigurableField(id="k"), window=ConfigurableField(id="window"), reranker=ConfigurableField(id="reranker")
    )
    found = await way(fields, "invoke", "refund", {"configurable": {"k": 1, "window": (0, 1)}})
    assert [each.page_content for each in found] == ["A refund. It is so."]
    assert len(await way(fields, "invoke", "refund")) == 2
    with pytest.raises(InvalidInputError, match="k is 'x'"):
        await way(fields, "invoke", "refund", {"configurable": {"k": "x"}})
    max_chars = await way(
        fields, "invoke", "refund", {"configurable": {"k": 1, "reranker": CrossEncoderReranker(model=Scorer())}}
    )
    assert [each.metadata["doc_id"] for each in max_chars] == ["b"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda each: each.with_config(tags=["t"], configurable={"thread_id": "1"}),
        lambda each: each.with_retry(stop_after_attempt=2),
        lambda each: each.with_fallbacks([each]),
        lambda each: each.configurable_alternatives(ConfigurableField(id="which"), default_key="ours", other=each),
    ],
)
async def test_wrappers_of_langchain_work(
    retriever: SentenceWindowRetriever, way: Invoke, wrap: Callable[[Any], Runnable[str, Any]]
) -> None:
    wrapped = wrap(retriever)
    expected = retriever.invoke("refund")
    assert await way(wrapped, "invoke", "refund") == expected
    assert await way(wrapped, "batch", ["refund"]) == [expected]
    chain = create_rag_chain(wrapped, FakeListChatModel(responses=["So it is [2]."]))
    answer = await way(chain, "invoke", "refund")
    assert [each.document for each in answer["citations"]] == expected[1:]


async def test_a_fallback_replaces_a_failing_retriever(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    closed = SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings(), reranker=Failing())
    safe = closed.with_fallbacks([retriever])
    assert await way(safe, "invoke", "refund") == retriever.invoke("refund")
