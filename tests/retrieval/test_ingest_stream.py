"""Adding documents from iterators: in batches, beside each other, and whole whatever happens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.embedding.embedder import on_embedded_texts
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

COUNT = 20


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three documents of `documents` make a batch."""
    monkeypatch.setattr("langchain_sentence_window.documents.part_groups.MAX_BATCH_CHARS", 600)


def text(number: int) -> str:
    return f"A refund of {number} cards. The seat is number {number}."


def documents(count: int = COUNT) -> Iterator[Document]:
    for number in range(count):
        yield document(text(number), f"d{number}")


def texts_in(retriever: SentenceWindowRetriever) -> dict[str, str]:
    names = [each.doc_id for each in retriever.documents()]
    return {str(each.metadata["doc_id"]): each.page_content for each in retriever.get(names)}


def all_texts(count: int = COUNT) -> dict[str, str]:
    return {f"d{number}": text(number) for number in range(count)}


def writes_of(store: FaissStore) -> int:
    return store.stats().generation


STORES: dict[str, Callable[[WordEmbeddings], Any]] = {
    "FaissStore": FaissStore,
    "other": lambda words: InMemoryVectorStore(NeighborMixedEmbeddings(words)),
}


@pytest.mark.parametrize("kind", STORES)
async def test_an_iterator_leaves_what_a_list_leaves(words: WordEmbeddings, way: Invoke, kind: str) -> None:
    of_list, of_iterator = (SentenceWindowRetriever(vectorstore=STORES[kind](words)) for _ in range(2))
    names = await way(of_list, "add_documents", list(documents()))
    assert await way(of_iterator, "add_documents", documents()) == names == list(all_texts())
    assert texts_in(of_iterator) == texts_in(of_list) == all_texts()
    for query in ("refund", "seat number 7"):
        assert of_iterator.invoke(query) == of_list.invoke(query)


async def test_each_batch_is_one_transaction(words: WordEmbeddings, way: Invoke, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path / "list") as store:
        await way(SentenceWindowRetriever(vectorstore=store), "add_documents", list(documents()))
        assert writes_of(store) == 1
    with FaissStore(words, tmp_path / "iterator") as store:
        await way(SentenceWindowRetriever(vectorstore=store), "add_documents", documents())
        assert writes_of(store) == 7


async def test_async_iterators_are_read(words: WordEmbeddings, tmp_path: Path) -> None:
    async def read() -> AsyncIterator[Document]:
        for each in documents():
            await asyncio.sleep(0)
            yield each

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    assert await retriever.aadd_documents(read()) == list(all_texts())
    assert texts_in(retriever) == all_texts()
    made = await SentenceWindowRetriever.afrom_documents(read(), words, path=tmp_path)
    assert texts_in(made) == all_texts()
    with pytest.raises(InvalidInputError, match="collect them first"):
        retriever.add_documents(read())  # type: ignore[arg-type]


# Errors


class Interrupted(BaseException):
    """As Ctrl-C, which pytest would take for its own."""


@pytest.mark.parametrize("error", [Interrupted, ZeroDivisionError])
async def test_an_error_leaves_whole_batches_and_the_call_goes_on(
    way: Invoke, tmp_path: Path, error: type[BaseException]
) -> None:
    class Failing(WordEmbeddings):
        client_fails = True

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.client_fails and any("number 10." in text for text in texts):
                raise error
            return super().embed_documents(texts)

    words = Failing()
    with FaissStore(words, tmp_path) as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        with pytest.raises(error) as caught:
            await way(retriever, "add_documents", documents())
        assert texts_in(retriever) == all_texts(9)
        (note,) = caught.value.__notes__
        assert note.startswith("The batches before were stored: 9 documents, the last of them 'd8'.")
        words.client_fails = False
        embedded = list(words.embedded)
        assert await way(retriever, "add_documents", documents()) == list(all_texts())
        assert texts_in(retriever) == all_texts()
        assert not set(words.embedded[len(embedded) :]) & set(embedded)


async def test_an_error_of_the_iterator_is_raised_with_a_note(words: WordEmbeddings, way: Invoke) -> None:
    def failing(after: int) -> Iterator[Document]:
        yield from documents(after)
        raise OSError("the drive is gone")

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    with pytest.raises(OSError, match="gone") as caught:
        await way(retriever, "add_documents", failing(2))
    assert not hasattr(caught.value, "__notes__")
    assert texts_in(retriever) == {}
    with pytest.raises(OSError, match="gone") as caught:
        await way(retriever, "add_documents", failing(8))
    assert "6 documents, the last of them 'd5'" in caught.value.__notes__[0]
    assert texts_in(retriever) == all_texts(6)


@pytest.mark.parametrize("bad", [None, "text", 3, [document("A card.")]])
async def test_an_invalid_document_is_reported_by_its_position(words: WordEmbeddings, way: Invoke, bad: Any) -> None:
    def mixed() -> Iterator[Any]:
        yield from documents(10)
        yield bad

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    with pytest.raises(InvalidInputError, match=r"documents\[10\] is") as caught:
        await way(retriever, "add_documents", mixed())
    assert "documents, the last of them" in caught.value.__notes__[0]
    with pytest.raises(InvalidInputError, match=r"documents\[0\] is"):
        SentenceWindowRetriever.from_documents(iter([bad]), words)


# Names and parts


def pages(name: str, count: int) -> list[Document]:
    """Pages that have no line in common, which would be taken for a running title."""
    return [
        Document(page_content=f"{chr(65 + at) * 9} has {'a ' * at} card.", metadata={"source": name, "page": at})
        for at in range(count)
    ]


def test_numbered_parts_that_come_apart_are_joined(words: WordEmbeddings) -> None:
    first, others = pages("a", 6), list(documents())
    retriever, whole = (SentenceWindowRetriever(vectorstore=FaissStore(words)) for _ in range(2))
    retriever.add_documents(iter([*first[:2], *others, *first[2:]]))
    whole.add_documents([*first, *others])
    assert texts_in(retriever) == texts_in(whole)


def test_other_parts_that_come_apart_are_refused(words: WordEmbeddings) -> None:
    apart = [document("One.", "a"), *documents(), document("Two.", "a"), document("Three.", "z")]
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    with pytest.raises(InvalidInputError, match="'a' comes again, long after other documents"):
        retriever.add_documents(iter(apart))
    assert texts_in(retriever)["a"] == "One."


# Progress


def test_progress_and_listeners_hear_of_all_batches(words: WordEmbeddings, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[int] = []
    with on_embedded_texts(heard.append):
        SentenceWindowRetriever.from_documents(documents(), words, show_progress=True)
    assert sum(heard) == 40
    assert "Embedding: 40 sentences" in capsys.readouterr().err


def test_an_iterator_without_text_makes_no_index(words: WordEmbeddings, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="nothing to index: 9 documents were given"):
        SentenceWindowRetriever.from_documents((document(" ", str(n)) for n in range(9)), words, path=tmp_path / "x")
    assert not (tmp_path / "x").exists()
    retriever = SentenceWindowRetriever.from_documents(iter([document(""), *documents(3)]), words)
    assert texts_in(retriever) == all_texts(3)


def test_a_filter_binds_each_batch(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    bound = SentenceWindowRetriever(vectorstore=store, search_kwargs={"filter": {"team": "a"}})
    ours = [document(text(n), f"d{n}", team="a") for n in range(8)]
    bound.add_documents(iter(ours))
    with pytest.raises(InvalidInputError, match="the filter doesn't let through document 'x'"):
        bound.add_documents(iter([*ours, document("A card.", "x", team="b")]))
    assert texts_in(bound) == all_texts(8)
