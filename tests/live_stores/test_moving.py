"""From another store to ours: its chunks become whole documents again, and its sentences keep their vectors."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import (
    FaissStore,
    SentenceWindowRetriever,
    acopy_index,
    aread_chunks,
    asurvey_chunks,
    copy_index,
    read_chunks,
    survey_chunks,
)
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.adapters.registry import adapter_of
from langchain_sentence_window.adapters.store_adapter import PAGE_SIZE
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from tests.live_stores import makers
from tests.pages import DOCS, blocks_of, read
from tests.retrieval.test_stored_chunks import SOURCES, chunks_of, sentences, shuffled, texts_in
from tests.toys import WordEmbeddings

Make = Callable[[], VectorStore]
NAMES = ["chroma", "qdrant", "lancedb", "community_faiss", "postgres", "pgvector"]
IN_ORDER = ["chroma", "lancedb", "community_faiss"]


@pytest.fixture(params=NAMES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    given: dict[str, list[Any]] = {"chroma": [tmp_path], "lancedb": [tmp_path]}
    if fixture := {"postgres": "postgres", "pgvector": "postgres_url"}.get(request.param):
        given[request.param] = [request.getfixturevalue(fixture)]
    return lambda: getattr(makers, request.param)(WordEmbeddings(), *given.get(request.param, []))


def holding(store: VectorStore, chunks: Sequence[Document]) -> VectorStore:
    store.add_documents(list(chunks))
    return store


def test_chunks_with_positions_become_the_documents_that_they_were_cut_from(make: Make) -> None:
    store = holding(make(), shuffled(chunks_of(add_start_index=True)))
    survey = survey_chunks(store)
    assert (survey.documents, survey.chunks) == (len(SOURCES), len(chunks_of()))
    assert survey.characters == sum(map(len, SOURCES.values()))
    assert not survey.remarks
    retriever = SentenceWindowRetriever.from_documents(read_chunks(store), WordEmbeddings())
    assert texts_in(retriever) == SOURCES


def test_the_async_functions_do_the_same(make: Make) -> None:
    store = holding(make(), shuffled(chunks_of(add_start_index=True)))

    async def move() -> SentenceWindowRetriever:
        assert str(await asurvey_chunks(store)) == str(survey_chunks(store))
        return await SentenceWindowRetriever.afrom_documents(aread_chunks(store), WordEmbeddings())

    assert texts_in(asyncio.run(move())) == SOURCES


@pytest.mark.parametrize("make", IN_ORDER, indirect=True)
def test_chunks_without_positions_are_joined_in_the_order_in_which_they_were_added(make: Make) -> None:
    store = holding(make(), chunks_of())
    with pytest.warns(SentenceWindowWarning, match="no number and no overlap"):
        retriever = SentenceWindowRetriever.from_documents(read_chunks(store), WordEmbeddings())
    assert {name: text.split() for name, text in texts_in(retriever).items()} == {
        name: text.split() for name, text in SOURCES.items()
    }


def test_where_all_chunks_overlap_no_order_is_needed(make: Make) -> None:
    text = " ".join(f"Clause {n} lets guest {n} return card {n}." for n in range(60))
    chunks = chunks_of({"hotel.md": text}, chunk_size=120, chunk_overlap=60)
    store = holding(make(), chunks)
    assert not survey_chunks(store).remarks
    assert [each.page_content for each in read_chunks(store)] == [each.page_content for each in chunks]
    assert texts_in(SentenceWindowRetriever.from_documents(read_chunks(store), WordEmbeddings())) == {"hotel.md": text}


def test_a_pgvector_made_for_async_calls_is_read_by_them(postgres_url: str) -> None:
    async def move() -> SentenceWindowRetriever:
        store: Any = makers.pgvector(WordEmbeddings(), postgres_url, is_async=True)
        await store.aadd_documents(shuffled(chunks_of(add_start_index=True)))
        with pytest.raises(ValueError, match="use the corresponding async method"):
            next(read_chunks(store))
        return await SentenceWindowRetriever.afrom_documents(aread_chunks(store), WordEmbeddings())

    assert texts_in(asyncio.run(move())) == SOURCES


def opened(name: str, *arguments: str) -> VectorStore:
    """The store that a function of the page opens."""
    blocks = blocks_of(read(DOCS / "how-to" / "move-an-index.md"))
    (code,) = (block.code for block in blocks if f"def {name}(" in block.code)
    names: dict[str, Any] = {"embedding": WordEmbeddings()}
    exec(code, names)  # noqa: S102
    store = names[name](*arguments)
    assert isinstance(store, VectorStore)
    return store


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_opens_each_store_as_it_is(
    tmp_path: Path, postgres: Any, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_chroma import Chroma
    from langchain_lancedb import LanceDB
    from langchain_qdrant import QdrantVectorStore

    monkeypatch.chdir(tmp_path)
    chunks, words = chunks_of(add_start_index=True), WordEmbeddings()
    holding(Chroma("handbook", words, persist_directory="chroma"), chunks)
    holding(LanceDB(words, "lancedb", "handbook"), chunks)
    QdrantVectorStore.from_documents(chunks, words, path="qdrant", collection_name="handbook").client.close()
    faiss: Any = holding(makers.community_faiss(words), chunks)
    faiss.save_local("faiss")
    postgres.init_vectorstore_table("handbook", len(words.embed_query("a")))
    in_postgres = holding(opened("open_pgvector", postgres_url), chunks)
    for store in (*map(opened, ("open_chroma", "open_lancedb", "open_qdrant", "open_faiss")), in_postgres):
        retriever = SentenceWindowRetriever.from_documents(read_chunks(store), words)
        assert texts_in(retriever) == SOURCES
        adapter_of(store).release()


def test_more_than_a_page_is_read_once_each(make: Make) -> None:
    count = 2 * PAGE_SIZE + 1
    texts = [f"Card {n}." for n in range(count)]
    store = holding(
        make(), [Document(text, metadata={"source": "a", "start_index": 9 * n}) for n, text in enumerate(texts)]
    )

    async def pages() -> list[int]:
        return [len(page) async for page in adapter_of(store).list_pages(BLOCKING)]

    assert sum(run(pages())) == count
    assert [each.page_content for each in read_chunks(store)] == texts


def test_a_store_is_not_copied_into_itself(make: Make) -> None:
    store = make()
    with pytest.raises(InvalidInputError, match="are the same"):
        copy_index(store, store)


@pytest.mark.parametrize("is_async", [False, True])
def test_sentences_keep_their_vectors(make: Make, *, is_async: bool) -> None:
    store, words = holding(make(), shuffled(sentences())), WordEmbeddings()
    target = FaissStore(words)
    if is_async:
        assert asyncio.run(acopy_index(store, target, join_parts="n")) == 8
    else:
        assert copy_index(store, target, join_parts="n") == 8
    assert len(words.embedded) <= 5, "no more than the sample"
    for documents, vectors in target.export():
        expected = np.array([words.vector(each.page_content) for each in documents])
        assert vectors == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-3)
    retriever = SentenceWindowRetriever(vectorstore=target, window=1, lexical_weight=0)
    (window,) = retriever.invoke("card", k=1, fetch_k=1)
    assert window.page_content == "It takes a week. The card was refused. An annual seat costs more."
    assert [each.page_content for each in retriever.get(["b.md"])] == [
        "Ask for a refund. It takes a week. The card was refused. An annual seat costs more."
    ]
