"""Windows of several queries are merged, as retrievers of LangChain ask them."""

from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever, MultiQueryRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from langchain_sentence_window import (
    CrossEncoderReranker,
    SentenceWindowRetriever,
    format_context,
    merge_windows,
)
from tests.forms import Invoke
from tests.test_langchain_fit import SharedWords
from tests.toys import PLAIN, WordEmbeddings, document

TEXT = "It is so. A refund is quick. It takes days. The card is charged. Nobody else gets it. A seat is free. The end."
DOCUMENTS = [document(TEXT, "a", source="a.md"), document("A trial is free. So is a backup.", "b", source="b.md")]
STEP: Any = RunnableLambda(merge_windows)


class Notes(BaseRetriever):
    """A retriever of other documents."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content=f"A note on {word}.", id=word) for word in query.split()]


@pytest.fixture
def retriever(words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(DOCUMENTS, words, k=1, window=1, ranking=None, **PLAIN)


def seen(documents: list[Document]) -> list[tuple[str, list[int], list[int]]]:
    """Return the document of each window, its sentences, and its hits."""
    return [
        (
            each.metadata["doc_id"],
            each.metadata["sentences"],
            [hit["sentence_index"] for hit in each.metadata["hits"]],
        )
        for each in documents
    ]


async def test_the_windows_of_many_queries_are_merged(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    model = FakeListChatModel(responses=["refund\ncard\ntrial\nseat"])
    many = MultiQueryRetriever.from_llm(retriever, model)

    found = await way(many, "invoke", "What is paid?")
    assert seen(found) == [("a", [0, 2], [1]), ("a", [2, 4], [3]), ("b", [0, 1], [0]), ("a", [4, 6], [5])]

    merged = await way(many | STEP, "invoke", "What is paid?")
    assert seen(merged) == [("a", [0, 6], [1, 3, 5]), ("b", [0, 1], [0])]
    assert merged[0].page_content == TEXT
    assert merged[0].metadata["score"] == max(each.metadata["score"] for each in found[:2] + found[3:])
    assert merged[1] == found[2]
    assert format_context(merged).count("It takes days.") == 1


async def test_an_ensemble_keeps_its_order_and_the_documents_of_others(
    retriever: SentenceWindowRetriever, way: Invoke
) -> None:
    narrow = SentenceWindowRetriever(
        vectorstore=retriever.vectorstore, k=2, window=(0, 1), lexical_weight=0, ranking=None
    )
    ensemble = EnsembleRetriever(retrievers=[retriever, Notes(), narrow], weights=[0.5, 0.3, 0.2])
    found = await way(ensemble, "invoke", "refund seat")
    merged = await way(ensemble | STEP, "invoke", "refund seat")
    runs = [each.metadata.get("sentences") or each.page_content for each in merged]
    assert len(merged) < len(found)
    assert [each for each in merged if not each.metadata] == [each for each in found if not each.metadata]
    covered = [set(range(run[0], run[1] + 1)) for run in runs if isinstance(run, list)]
    assert sum(map(len, covered)) == len(set().union(*covered))
    positions = [min(found.index(each) for each in found if is_in(each, one)) for one in merged]
    assert positions == sorted(positions)
    assert merge_windows(merged) == merged


def is_in(part: Document, whole: Document) -> bool:
    if "sentences" not in part.metadata or "sentences" not in whole.metadata:
        return part == whole
    (first, last), (low, high) = part.metadata["sentences"], whole.metadata["sentences"]
    return bool(part.metadata["doc_id"] == whole.metadata["doc_id"] and low <= first <= last <= high)


async def test_reranked_windows_are_merged_with_the_best_score(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    reranking = ContextualCompressionRetriever(
        base_retriever=retriever,
        base_compressor=DocumentCompressorPipeline(transformers=[CrossEncoderReranker(model=SharedWords())]),
    )
    many = MultiQueryRetriever.from_llm(reranking, FakeListChatModel(responses=["the card is charged\nrefund"]))
    found = await way(many, "invoke", "What is paid?")
    [merged] = await way(many | STEP, "invoke", "What is paid?")
    assert [each.metadata["relevance_score"] for each in found] == [4.0, 1.0]
    assert merged.metadata["relevance_score"] == 4.0
    assert seen([merged]) == [("a", [0, 4], [1, 3])]
