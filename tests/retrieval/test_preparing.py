"""Plain functions from documents to rows, which other processes call."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import NeighborMixedEmbeddings, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.distributed import DocumentRows
from langchain_sentence_window.documents.source_documents import ANY_STORE
from langchain_sentence_window.embedding import embedder
from langchain_sentence_window.embedding.contextual_vectors import Situate
from tests.toys import WordEmbeddings, document

TEXTS = ["# Cards\n\nA card is red. It has a seat.\n\n- One page.\n- Two pages.", "", "A refund. A seat! No card?"]
DOCUMENTS = [document(text, f"d{number}", tag=number) for number, text in enumerate(TEXTS)]


def line(_: Document, sentence: Document) -> str:
    return f"About {len(sentence.page_content)} characters."


EMBEDDING = NeighborMixedEmbeddings(DeterministicFakeEmbedding(size=8))


def rows(situate: Situate | None = None, splitter: SentenceSplitter | None = None) -> DocumentRows:
    return DocumentRows(EMBEDDING, splitter=splitter, situate=situate, limits=ANY_STORE)


@pytest.mark.parametrize("situate", [None, line])
def test_rows_are_what_a_store_gets(situate: Situate | None) -> None:
    made = rows(situate)
    sentences, vectors = made(DOCUMENTS)
    store = InMemoryVectorStore(EMBEDDING)
    SentenceWindowRetriever(vectorstore=store, situate=situate).add_documents(DOCUMENTS)
    assert [each.id for each in sentences] == list(store.store)
    held = [each["vector"] for each in store.store.values()]
    assert vectors == pytest.approx(np.array(held))
    assert [each.page_content for each in sentences] == [each["text"] for each in store.store.values()]


def test_documents_without_text_have_no_rows() -> None:
    sentences, vectors = rows()([document("", "a")])
    assert (sentences, vectors.shape) == ([], (0, 0))


@pytest.mark.process
@pytest.mark.slow
def test_another_process_makes_the_same_rows() -> None:
    made = rows(line, SentenceSplitter(language="de", min_chars=3))
    sentences, vectors = made(DOCUMENTS)
    again: DocumentRows = pickle.loads(pickle.dumps(made))  # noqa: S301
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        others, other_vectors = pool.submit(again, DOCUMENTS).result()
    assert others == sentences
    assert np.array_equal(other_vectors, vectors)


# How texts are handed to an embedder


@pytest.mark.parametrize("several", [False, True])
def test_texts_of_a_long_call_come_by_length(monkeypatch: pytest.MonkeyPatch, several: bool) -> None:
    monkeypatch.setattr(embedder, "EMBED_BATCH_SIZE", 4)
    texts = ["A card.", "A refund of a seat.", "A page.", "One seat."] + ["An annual invoice."] * several
    words = WordEmbeddings()
    retriever = SentenceWindowRetriever.from_documents([document(text, f"{n}") for n, text in enumerate(texts)], words)
    by_length = ["A refund of a seat.", "An annual invoice.", "One seat.", "A card.", "A page."]
    assert words.embedded == (by_length if several else texts)
    assert words.calls == 1 + several
    for text in texts:
        assert retriever.invoke(text, k=1)[0].page_content == text


def test_an_embedder_of_several_processes_gets_more_texts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "EMBED_BATCH_SIZE", 4)

    class Pool(WordEmbeddings):
        multi_process = True

    words = Pool()
    text = " ".join(f"The card has {number} sides." for number in range(30))
    SentenceWindowRetriever.from_documents([document(text)], words)
    assert (words.calls, len(words.embedded)) == (1, 30)
