"""`DeferredEmbeddings`: an embedder that is loaded on first use."""

from pathlib import Path

import pytest

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.embedding.named_embedders import DeferredEmbeddings
from langchain_sentence_window.errors import IndexMismatchError, InvalidInputError
from tests.toys import WordEmbeddings, document


class ReversedEmbeddings(WordEmbeddings):
    def vector(self, text: str) -> list[float]:
        return super().vector(text)[::-1]


@pytest.fixture
def index(tmp_path: Path, words: WordEmbeddings) -> Path:
    given = [document("A refund is quick. A card has a limit.", "a"), document("A seat is free.", "b")]
    SentenceWindowRetriever.from_documents(given, words, path=tmp_path / "index").close()
    return tmp_path / "index"


def test_documents_are_listed_read_deleted_and_copied_without_an_embedder(index: Path, tmp_path: Path) -> None:
    with FaissStore.open(index, DeferredEmbeddings()) as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        assert [each.doc_id for each in retriever.documents()] == ["a", "b"]
        assert retriever.get(["b"])[0].page_content == "A seat is free."
        assert retriever.delete(["b"]) == 1
        assert store.stats().documents == 1
        store.backup(tmp_path / "copy")
        for call in (lambda: retriever.invoke("refund"), lambda: retriever.add_documents([document("A trial.", "c")])):
            with pytest.raises(InvalidInputError, match="opened without an embedder"):
                call()


def test_the_embedder_is_loaded_once_on_first_use(index: Path) -> None:
    loaded: list[WordEmbeddings] = []

    def load() -> WordEmbeddings:
        loaded.append(WordEmbeddings())
        return loaded[-1]

    with FaissStore.open(index, DeferredEmbeddings(load)) as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        assert len(retriever.documents()) == 2
        assert loaded == []
        assert "refund" in retriever.invoke("refund", k=1)[0].page_content
        retriever.add_documents([document("An invoice is due.", "c")])
        assert "invoice" in retriever.invoke("invoice", k=1)[0].page_content
    assert len(loaded) == 1
    with FaissStore.open(index, WordEmbeddings()) as store:
        assert "invoice" in SentenceWindowRetriever(vectorstore=store).invoke("invoice", k=1)[0].page_content


def test_another_embedder_is_detected(index: Path) -> None:
    with FaissStore.open(index, DeferredEmbeddings(ReversedEmbeddings)) as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        for call in (lambda: retriever.invoke("refund"), lambda: retriever.add_documents([document("A trial.", "c")])):
            with pytest.raises(IndexMismatchError):
                call()
        assert len(retriever.documents()) == 2
