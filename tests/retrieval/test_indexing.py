"""LangChain's `index()` through the retriever: whole documents are added, skipped, updated and deleted."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings
from langchain_sentence_window.errors import IncompleteWindowError
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

MakeStore = Callable[[WordEmbeddings], VectorStore]

STORES: dict[str, MakeStore] = {
    "FaissStore": FaissStore,
    "InMemoryVectorStore": InMemoryVectorStore,
    "in context": lambda words: InMemoryVectorStore(NeighborMixedEmbeddings(words)),
}


@pytest.fixture(params=STORES)
def retriever(request: pytest.FixtureRequest, words: WordEmbeddings) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=STORES[request.param](words), k=10)


def page(text: str, source: str) -> Document:
    return Document(page_content=text, metadata={"source": source})


REFUND = page("# Refunds\n\nAsk for a refund. It takes days.", "refund.md")
CARD = page("# Cards\n\nPay by card. Any card will do. No cash.", "card.md")
NEW_CARD = page("# Cards\n\nPay by card. Seats are free.", "card.md")


def held(retriever: SentenceWindowRetriever) -> list[str]:
    """The text of all sentences in the store."""
    return sorted(found.page_content for found in retriever.vectorstore.similarity_search("refund", k=1000))


def sentences(*sources: Document) -> list[str]:
    return sorted(
        found.page_content
        for found in SentenceWindowRetriever.model_fields["splitter"]
        .get_default(call_default_factory=True, validated_data={})
        .split_documents(sources)
    )


@pytest.mark.parametrize("cleanup", ["incremental", "full", "scoped_full"])
async def test_documents_are_added_skipped_updated_and_deleted(
    way: Invoke, retriever: SentenceWindowRetriever, cleanup: Any, words: WordEmbeddings
) -> None:
    records = InMemoryRecordManager("docs")

    async def indexed(*documents: Document, **settings: Any) -> dict[str, int]:
        counts: dict[str, int] = dict(
            await way(
                Indexing,
                "index",
                list(documents),
                records,
                retriever.as_document_index(),
                cleanup=cleanup,
                source_id_key="source",
                key_encoder="blake2b",
                **settings,
            )
        )
        return {name.removeprefix("num_"): count for name, count in counts.items() if count}

    assert await indexed(REFUND, CARD) == {"added": 2}
    assert held(retriever) == sentences(REFUND, CARD)
    embedded = len(words.embedded)
    assert await indexed(REFUND, CARD) == {"skipped": 2}
    assert len(words.embedded) == embedded
    assert await indexed(REFUND, NEW_CARD) == {"added": 1, "skipped": 1, "deleted": 1}
    assert held(retriever) == sentences(REFUND, NEW_CARD)
    assert await indexed(REFUND, NEW_CARD, force_update=True) == {"updated": 2}
    assert held(retriever) == sentences(REFUND, NEW_CARD)
    left = {"full": [REFUND], "incremental": [REFUND, NEW_CARD], "scoped_full": [REFUND, NEW_CARD]}[cleanup]
    assert await indexed(REFUND) == ({"skipped": 1, "deleted": 1} if cleanup == "full" else {"skipped": 1})
    assert held(retriever) == sentences(*left)


async def test_documents_indexed_into_the_store_itself_are_an_error_with_a_cure(
    way: Invoke, retriever: SentenceWindowRetriever
) -> None:
    records = InMemoryRecordManager("docs")

    async def indexed(documents: list[Document], where: Any) -> tuple[int, int]:
        done = await way(Indexing, "index", documents, records, where, cleanup="full", key_encoder="blake2b")
        return done["num_added"], done["num_deleted"]

    assert await indexed([REFUND], retriever.vectorstore) == (1, 0)
    with pytest.raises(IncompleteWindowError, match="isn't a sentence") as raised:
        await way(retriever, "invoke", "refund")
    for cure in ("store.delete(['", "index([], records, store, cleanup='full')", "retriever.as_document_index())"):
        assert cure in str(raised.value)
    assert await indexed([], retriever.vectorstore) == (0, 1)
    assert await indexed([REFUND], retriever.as_document_index()) == (1, 0)
    assert held(retriever) == sentences(REFUND)
    assert (await way(retriever, "invoke", "refund"))[0].metadata["source"] == "refund.md"


async def test_a_document_index_searches_and_reads_as_its_retriever(
    way: Invoke, retriever: SentenceWindowRetriever
) -> None:
    wrapped = retriever.as_document_index()
    assert await way(wrapped, "upsert", [document("One refund.", "a"), document("A card.", "b")]) == {
        "succeeded": ["a", "b"],
        "failed": [],
    }
    assert await way(wrapped, "invoke", "refund", k=1) == await way(retriever, "invoke", "refund", k=1)
    assert await way(wrapped, "get", ["a", "b"]) == await way(retriever, "get", ["a", "b"])
    assert await way(wrapped, "delete", ["a", "none"]) == {"num_deleted": 1, "num_failed": 0, "failed": []}
    assert held(retriever) == ["A card."]


class Indexing:
    """LangChain's two functions, so that one test can call either."""

    index = staticmethod(index)
    aindex = staticmethod(aindex)
