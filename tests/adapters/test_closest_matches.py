"""How close sentences of a store come to others elsewhere in it, as the retriever asks for it."""

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window._io import ASYNC, BLOCKING, IO
from langchain_sentence_window.adapters.registry import adapter_of
from tests.toys import WordEmbeddings

DOCUMENTS = [Document(f"The refund of {n}. " + "Annual. " * 9 + f"The invoice of {n}.", id=str(n)) for n in range(9)]


def filled(store: VectorStore) -> VectorStore:
    SentenceWindowRetriever(vectorstore=store).add_documents(DOCUMENTS)
    return store


@pytest.mark.parametrize("io", [BLOCKING, ASYNC])
async def test_the_embedded_store_says_what_it_finds(io: IO, words: WordEmbeddings) -> None:
    store = filled(FaissStore(words, neighbor_weights=(1,)))
    before = words.calls
    found = await adapter_of(store).closest_matches(io)
    assert words.calls == before + 1
    assert isinstance(store, FaissStore)
    assert found.tolist() == store.closest_matches().tolist()
    # Refunds and invoices are said in other words elsewhere; of "Annual.", there are only copies.
    assert found == pytest.approx([1] * 18, abs=1e-3)
    assert words.calls == before + 1


@pytest.mark.parametrize("io", [BLOCKING, ASYNC])
async def test_other_stores_cannot_say(io: IO, words: WordEmbeddings) -> None:
    found = await adapter_of(filled(InMemoryVectorStore(words))).closest_matches(io)
    assert found.shape == (0,)
