"""Test what a real tracer records of a retrieval."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_classic.retrievers.document_compressors import LLMChainExtractor
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langchain_core.tracers.schemas import Run
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import CrossEncoderReranker, SentenceWindowRetriever
from tests.forms import Invoke
from tests.reranking.test_cross_encoder import Scorer
from tests.toys import WordEmbeddings, document

DOCUMENTS = [document("A refund.", "short"), document("This is a long refund of a seat, on a card.", "long")]
QUESTION = "refund"


class Failing(BaseDocumentCompressor):
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        raise TimeoutError("the service didn't answer")


async def traced(retriever: SentenceWindowRetriever, way: Invoke, error: type[Exception] | None = None) -> Run:
    """The retriever's run."""
    tracer = RunCollectorCallbackHandler()
    if error:
        with pytest.raises(error):
            await way(retriever, "invoke", QUESTION, config={"callbacks": [tracer]})
    else:
        await way(retriever, "invoke", QUESTION, config={"callbacks": [tracer]})
    (run,) = tracer.traced_runs
    assert (run.run_type, run.name) == ("retriever", "SentenceWindowRetriever")
    return run


def reranking(reranker: BaseDocumentCompressor) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings(), k=1, reranker=reranker)


def doc_ids(documents: Any) -> list[str]:
    return [each.metadata["doc_id"] for each in documents]


async def test_a_reranker_is_a_run_of_its_own_that_shows_both_ranks(way: Invoke) -> None:
    run = await traced(reranking(CrossEncoderReranker(model=Scorer())), way)
    (child,) = run.child_runs
    assert (child.name, child.parent_run_id, child.error) == ("CrossEncoderReranker", run.id, None)
    assert child.inputs["query"] == QUESTION
    assert doc_ids(child.inputs["documents"]) == ["short", "long"]
    assert child.outputs is not None
    assert doc_ids(child.outputs["documents"]) == ["long", "short"]
    assert child.outputs["search_ranks"] == [2, 1]
    # The best of them is what the retriever returned, with its tokens and the relevance, which are added last.
    best = child.outputs["documents"][0]
    assert run.outputs is not None
    (returned,) = run.outputs["documents"]
    added = {"tokens": 11, "relevance": returned.metadata["relevance"]}
    assert returned == best.model_copy(update={"metadata": best.metadata | added})


async def test_what_a_reranker_does_is_shown_below_it(way: Invoke) -> None:
    extractor = LLMChainExtractor.from_llm(FakeListChatModel(responses=["the short of it"]))
    (child,) = (await traced(reranking(extractor), way)).child_runs
    assert child.name == "LLMChainExtractor"
    models = [each for chain in child.child_runs for each in chain.child_runs if each.run_type == "llm"]
    assert len(models) == 2


async def test_an_error_of_a_reranker_is_recorded_in_its_run(way: Invoke) -> None:
    run = await traced(reranking(Failing()), way, TimeoutError)
    (child,) = run.child_runs
    assert child.name == "Failing"
    for each in (run, child):
        assert "the service didn't answer" in (each.error or "")


@pytest.mark.parametrize("store", ["FaissStore", "InMemoryVectorStore"])
async def test_langsmith_shows_what_was_searched(minilm: Embeddings, way: Invoke, store: str) -> None:
    if store == "FaissStore":
        retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, minilm)
    else:
        retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(minilm))
        retriever.add_documents(DOCUMENTS)
    shown = (await traced(retriever, way)).extra["metadata"]
    # What LangChain says of its own retriever over the same store, and the model.
    own = retriever.vectorstore.as_retriever()._get_ls_params()
    assert shown.items() >= {**own, "ls_retriever_name": "sentencewindow"}.items()
    assert shown["ls_vector_store_provider"] == store
    assert shown["ls_embedding_provider"] == "HuggingFaceEmbeddings"
    assert shown["ls_embedding_model"] == minilm.model_name  # type: ignore[attr-defined]
