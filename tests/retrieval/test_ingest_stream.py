"""Adding documents from iterators: in batches, beside each other, and whole whatever happens."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, NeighborMixedEmbeddings, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.documents.part_groups import Batches
from langchain_sentence_window.embedding.embedder import on_embedded_texts
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError
from langchain_sentence_window.store.tables import Transaction
from langchain_sentence_window.store.writing import Replacement
from tests.conftest import Invoke
from tests.patience import PATIENCE
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


async def test_no_more_than_three_batches_are_held(words: WordEmbeddings, way: Invoke) -> None:
    read, embedded_at = 0, list[int]()

    class Noting(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            embedded_at.append(read)
            return super().embed_documents(texts)

    def counted() -> Iterator[Document]:
        nonlocal read
        for each in documents(60):
            read += 1
            yield each

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(Noting()))
    await way(retriever, "add_documents", counted())
    assert [at - before for before, at in pairwise(embedded_at)].count(3) >= 17
    assert embedded_at[0] <= 7
    assert texts_in(retriever) == all_texts(60)


async def test_batches_are_split_and_written_while_another_is_embedded(way: Invoke, tmp_path: Path) -> None:
    split, written = threading.Event(), threading.Event()

    class Waiting(WordEmbeddings):
        """Embeds the second batch only when it is written what the first holds, and split what the third holds."""

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if any("number 4." in text for text in texts):
                assert split.wait(PATIENCE)
                assert written.wait(PATIENCE)
            return super().embed_documents(texts)

    def engine(given: str) -> list[tuple[int, int]]:
        if "number 7" in given:
            split.set()
        return [(0, len(given))]

    class Store(FaissStore):
        def prepare_replacement(self, *given: Any) -> Any:
            threading.Thread(target=self._look, daemon=True).start()
            return super().prepare_replacement(*given)

        def _look(self) -> None:
            while not len(self):
                pass
            written.set()

    with Store(Waiting(), tmp_path) as store:
        retriever = SentenceWindowRetriever(vectorstore=store, splitter=SentenceSplitter(engine=engine))
        await way(retriever, "add_documents", documents())
        assert texts_in(retriever) == all_texts()


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
    assert "3 documents, the last of them 'd2'" in caught.value.__notes__[0]
    assert texts_in(retriever) == all_texts(3)


async def test_a_write_that_fails_is_told_and_nothing_after_it_is_written(
    words: WordEmbeddings, way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, calls = Transaction.finish, 0

    def failing(transaction: Transaction) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ZeroDivisionError
        finish(transaction)

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    monkeypatch.setattr(Transaction, "finish", failing)
    with pytest.raises(ZeroDivisionError) as caught:
        await way(retriever, "add_documents", documents())
    monkeypatch.undo()
    assert "6 documents, the last of them 'd5'" in caught.value.__notes__[0]
    assert texts_in(retriever) == all_texts(6)


@pytest.mark.parametrize("bad", [None, "text", 3, [document("A card.")]])
async def test_what_is_no_document_is_told_by_its_place(words: WordEmbeddings, way: Invoke, bad: Any) -> None:
    def mixed() -> Iterator[Any]:
        yield from documents(10)
        yield bad

    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    with pytest.raises(InvalidInputError, match=r"documents\[10\] is") as caught:
        await way(retriever, "add_documents", mixed())
    assert "documents, the last of them" in caught.value.__notes__[0]
    with pytest.raises(InvalidInputError, match=r"documents\[0\] is"):
        SentenceWindowRetriever.from_documents(iter([bad]), words)


async def test_async_cancelling_leaves_whole_batches(tmp_path: Path) -> None:
    begun = asyncio.Event()

    class Slow(WordEmbeddings):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            if any("number 10." in text for text in texts):
                begun.set()
                await asyncio.sleep(PATIENCE)
            return self.embed_documents(texts)

    with FaissStore(Slow(), tmp_path) as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        adding = asyncio.ensure_future(retriever.aadd_documents(documents()))
        await begun.wait()
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert texts_in(retriever) == all_texts(9)


async def test_a_call_that_is_canceled_again_and_again_ends_after_its_threads(
    words: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, goes_on = threading.Event(), threading.Event()
    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store)
    write = Replacement.write

    def slow_write(self: Replacement, **settings: Any) -> None:
        writes.set()
        assert goes_on.wait(PATIENCE)
        write(self, **settings)

    monkeypatch.setattr(Replacement, "write", slow_write)
    adding = asyncio.ensure_future(retriever.aadd_documents(documents()))
    assert await asyncio.to_thread(writes.wait, PATIENCE)
    for _ in range(5):  # as an anyio scope does until the task has ended
        adding.cancel()
        await asyncio.sleep(0)
    assert not adding.done()
    goes_on.set()
    with pytest.raises(asyncio.CancelledError) as caught:
        await adding
    stored = len(texts_in(retriever))
    assert stored
    assert f"The batches before were stored: {stored} documents" in caught.value.__notes__[0]


# Names and parts


def pages(name: str, count: int) -> list[Document]:
    """Pages that have no line in common, which would be taken for a running title."""
    return [
        Document(page_content=f"{chr(65 + at) * 9} has {'a ' * at} card.", metadata={"source": name, "page": at})
        for at in range(count)
    ]


async def test_lines_for_sentences_are_asked_for_in_the_callers_thread(words: WordEmbeddings) -> None:
    """So that Ctrl-C needn't wait for a model."""
    threads = set[str]()

    def situate(_: Document, __: Document) -> str:
        threads.add(threading.current_thread().name)
        return "A refund."

    store = FaissStore(words)
    SentenceWindowRetriever(vectorstore=store, situate=situate).add_documents(documents())
    assert threads == {threading.current_thread().name}
    assert len(store) == 40


def test_no_document_is_split(words: WordEmbeddings) -> None:
    given = [*pages("a", 2), *pages("b", 30), *pages("c", 3)]
    of_list, of_iterator = (SentenceWindowRetriever(vectorstore=FaissStore(words)) for _ in range(2))
    of_list.add_documents(given)
    assert of_iterator.add_documents(iter(given)) == [each.metadata["source"] for each in given]
    assert texts_in(of_iterator) == texts_in(of_list)
    assert texts_in(of_iterator).keys() == {"a", "b", "c"}


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


def test_two_documents_of_a_batch_with_one_id_are_refused(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    same = [Document(page_content="One.", id="a"), Document(page_content="Two.", id="a")]
    with pytest.raises(InvalidInputError, match="two documents of this call have the doc_id 'a'"):
        retriever.add_documents(iter(same))
    assert texts_in(retriever) == {}


@pytest.mark.parametrize("join", [True, False, "part"])
def test_names_are_those_of_a_list(words: WordEmbeddings, join: Any) -> None:
    nameless = [Document(page_content=each) for each in ["A card.", "", "A seat.", ""] * 8]
    sources = [Document(page_content=f"Row {n}.", metadata={"source": f"{n // 3}", "row": n % 3}) for n in range(12)]
    given = [*nameless, *sources, *documents(), *nameless]
    splitter = SentenceSplitter(join_parts=join)
    of_list, of_iterator = (SentenceWindowRetriever(vectorstore=FaissStore(words), splitter=splitter) for _ in range(2))
    if join == "part":
        given = [*nameless, *documents()]
    assert of_iterator.add_documents(iter(given)) == of_list.add_documents(given)
    assert texts_in(of_iterator) == texts_in(of_list)


def test_a_batch_is_as_long_as_it_must_be() -> None:
    batches = Batches(True)
    made = [batches.put(each) for each in documents()]
    sizes = [len(batch.names) for batch in made if batch]
    rest = batches.rest()
    assert sizes == [3] * 6
    assert rest is not None
    assert rest.names == ["d18", "d19"]
    assert batches.rest() is None


# What is told


def test_one_line_is_logged(words: WordEmbeddings, caplog: pytest.LogCaptureFixture) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    retriever.add_documents(list(documents(5)))
    caplog.clear()
    with caplog.at_level(logging.INFO, "langchain_sentence_window"):
        retriever.add_documents(documents())
    (record,) = caplog.records
    assert record.getMessage().startswith("added 20 documents of 40 sentences to FaissStore in ")
    assert record.getMessage().endswith("embedded 30 texts, replaced 5 documents")


def test_progress_and_listeners_hear_of_all_batches(words: WordEmbeddings, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[int] = []
    with on_embedded_texts(heard.append):
        SentenceWindowRetriever.from_documents(documents(), words, show_progress=True)
    assert sum(heard) == 40
    assert "Embedding: 40 sentences" in capsys.readouterr().err


def test_texts_of_two_batches_are_embedded_once(words: WordEmbeddings) -> None:
    same = (document(f"The same card. Number {n}.", f"d{n}") for n in range(30))
    SentenceWindowRetriever(vectorstore=FaissStore(words)).add_documents(same)
    assert words.embedded.count("The same card.") == 1


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


def test_an_embedder_that_returns_nonsense_is_told(tmp_path: Path) -> None:
    class Wrong(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            vectors = super().embed_documents(texts)
            return vectors[1:] if any("number 10." in text for text in texts) else vectors

    with FaissStore(Wrong(), tmp_path) as store:
        retriever = SentenceWindowRetriever(vectorstore=store)
        with pytest.raises(EmbeddingError):
            retriever.add_documents(documents())
        assert texts_in(retriever) == all_texts(9)
