"""LangChain's `index()` through the retriever: whole documents are added, skipped, updated and deleted."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_classic.indexes import SQLRecordManager
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, RecordManager, aindex, index
from langchain_core.indexing.base import DocumentIndex
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from tests.conftest import Invoke
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


@pytest.fixture(params=["memory", "sql"])
def records(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[RecordManager]:
    if request.param == "memory":
        in_memory = InMemoryRecordManager("docs")
        in_memory.create_schema()
        yield in_memory
    else:
        in_file = SQLRecordManager("docs", db_url=f"sqlite:///{tmp_path}/records.sqlite")
        in_file.create_schema()
        yield in_file
        in_file.engine.dispose()


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


async def test_windows_of_indexed_documents_are_verbatim(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    records = InMemoryRecordManager("docs")
    await way(
        Indexing, "index", [REFUND, CARD], records, retriever.as_document_index(), cleanup="full", key_encoder="blake2b"
    )
    window, *_ = await way(retriever, "invoke", "refund", k=1, window=1)
    source = REFUND.page_content
    assert window.page_content == source[window.metadata["start_index"] : window.metadata["end_index"]]
    assert window.metadata["source"] == "refund.md"


async def test_documents_that_were_indexed_into_the_store_itself_are_an_error_that_says_how_to_go_on(
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


def test_any_record_manager_will_do(retriever: SentenceWindowRetriever, records: RecordManager) -> None:
    for documents, expected in (([REFUND, CARD], (2, 0, 0)), ([NEW_CARD], (1, 0, 2)), ([NEW_CARD], (0, 1, 0))):
        counts = index(documents, records, retriever.as_document_index(), cleanup="full", key_encoder="blake2b")
        assert (counts["num_added"], counts["num_skipped"], counts["num_deleted"]) == expected
    assert held(retriever) == sentences(NEW_CARD)


async def test_documents_can_be_read_whole(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    text = "\n# A\n\n" + " ".join(f"Refund {i}." for i in range(600)) + "\n\n- card\n\n"
    await way(retriever, "add_documents", [document(text, "long", year=3), document("One card.", "short")])
    long, short = await way(retriever, "get", ["long", "none", "short"])
    assert (long.id, long.page_content) == ("long", text.strip())
    assert long.metadata == {"year": 3, "doc_id": "long", "start_index": 1, "end_index": len(text) - 2}
    assert short.page_content == "One card."
    await way(retriever, "delete", ["long"])
    assert [found.id for found in await way(retriever, "get", ["long", "short"])] == ["short"]
    assert held(retriever) == ["One card."]


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


async def test_a_document_index_refuses_keywords_that_the_retriever_lacks(
    way: Invoke, retriever: SentenceWindowRetriever
) -> None:
    wrapped = retriever.as_document_index()
    for method, given in (("upsert", [REFUND]), ("delete", ["a"]), ("get", ["a"])):
        with pytest.raises(TypeError, match="batch_size"):
            await way(wrapped, method, given, batch_size=3)
    with pytest.raises(InvalidInputError, match="can't set 'top_k'"):
        await way(wrapped, "invoke", "refund", top_k=3)
    assert held(retriever) == []


def test_the_retriever_is_no_document_index_itself(retriever: SentenceWindowRetriever) -> None:
    assert not isinstance(retriever, DocumentIndex)
    assert isinstance(retriever.as_document_index(), DocumentIndex)


async def test_deleting_needs_a_list(way: Invoke, retriever: SentenceWindowRetriever) -> None:
    for wrong in ("a", None):
        with pytest.raises(InvalidInputError, match="a list of ids"):
            await way(retriever, "delete", wrong)


class Indexing:
    """LangChain's two functions, so that one test can call either."""

    index = staticmethod(index)
    aindex = staticmethod(aindex)
