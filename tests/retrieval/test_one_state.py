"""A query reads one state of the store, though documents are replaced between any two of its steps.

Nor do two calls share the connection that keeps a state, though one of them is canceled while its thread reads.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import IncompleteWindowError
from langchain_sentence_window.retrieval.stored_sentences import MAX_ATTEMPTS
from tests.forms import Invoke
from tests.toys import WordEmbeddings

NAMES = tuple(f"d{number}" for number in range(4))
QUESTION = "which seat has a card in Report d3"


def version_of(name: str, version: int) -> Document:
    """Return a version of a document, each sentence of which names it. All versions are equally long."""
    mark = f"v{version:04d}"
    parts = [
        f"# Part {part} of {mark}\n\nThe card of {mark} has a seat. The seat of {mark} has a card. See {mark}, that is:"
        f"\n\n- one card of {mark}\n- two seats of {mark}\n- an annual trial of {mark}\n\nA page of {mark} follows."
        for part in range(3)
    ]
    return Document(page_content="\n\n".join(parts), id=name, metadata={"title": f"Report {name}", "tenant": "a"})


class Writer:
    """Replaces all documents each time it is called."""

    def __init__(self) -> None:
        self.retriever: SentenceWindowRetriever | None = None
        self.version = 0
        self.most = 10

    def __call__(self) -> None:
        if self.retriever is not None and self.version < self.most:
            self.version += 1
            self.retriever.add_documents([version_of(name, self.version) for name in NAMES])


class WritingReranker(BaseDocumentCompressor):
    """Replaces all documents before it ranks windows, and reverses their order."""

    write: Any

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        self.write()
        return list(reversed(documents))


class WritingEmbeddings(WordEmbeddings):
    """Replaces all documents when a question is embedded."""

    def __init__(self, write: Writer) -> None:
        super().__init__()
        self.write = write

    def embed_query(self, text: str) -> list[float]:
        self.write()
        return super().embed_query(text)


class WritingStore(FaissStore):
    """Replaces all documents before each read by id."""

    write = Writer()

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        self.write()
        return super().get_by_ids(ids)


def versions(documents: Sequence[Document]) -> set[str]:
    """Return the versions that some windows of one query, and what leads them in, are from."""
    shown = (
        f"{each.page_content} {each.metadata.get('lead_ins')} {each.metadata.get('heading')}" for each in documents
    )
    return set(re.findall(r"v\d{4}", "\n".join(shown)))


def made(write: Writer, path: Path | None, kind: type[FaissStore] = FaissStore, **settings: Any) -> Any:
    """Return a retriever, whose documents are replaced while it is used from now on."""
    retriever = SentenceWindowRetriever(vectorstore=kind(WritingEmbeddings(write), path), **settings)
    retriever.add_documents([version_of(name, 0) for name in NAMES])
    write.retriever = SentenceWindowRetriever(vectorstore=retriever.vectorstore)
    return retriever


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "few": {"k": 2, "fetch_k": 2},
    "wide": {"window": 3},
    "filter": {"filter": {"tenant": "a"}},
    "by meaning": {"lexical_weight": 0, "ranking": None},
    "relevance": {"min_relevance": "auto"},
    "many": {"k": 40},
}


@pytest.mark.slow
@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("by", ["reranker", "tokens"])
async def test_a_query_reads_one_state(name: str, by: str, in_memory: bool, way: Invoke, tmp_path: Path) -> None:
    write = Writer()

    def count(text: str) -> int:
        write()
        return len(text.split())

    writing = {"reranker": WritingReranker(write=write)} if by == "reranker" else {"count_tokens": count}
    retriever = made(write, None if in_memory else tmp_path, **writing, max_tokens=200, **SETTINGS[name])
    found = await way(retriever, "invoke", QUESTION)
    assert found
    assert len(versions(found)) == 1
    assert write.version > 1
    write.most += 10
    trace = await way(retriever, "explain", QUESTION)
    assert len(set(re.findall(r"v\d{4}", " ".join(hit.text for hit in trace.hits)))) == 1


@pytest.mark.parametrize("in_memory", [False, True], ids=["file", "memory"])
async def test_a_whole_document_is_read_in_one_state(in_memory: bool, way: Invoke, tmp_path: Path) -> None:
    write = Writer()
    retriever = made(write, None if in_memory else tmp_path, WritingStore)
    WritingStore.write = write
    (whole,) = await way(retriever, "get", ["d1"])
    assert whole.page_content == version_of("d1", int(versions([whole]).pop()[1:])).page_content
    assert len(versions(await way(retriever, "get", list(NAMES)))) == 1
    assert len(versions(await way(retriever, "invoke", QUESTION))) == 1
    assert write.version > 3
    WritingStore.write = Writer()


class BusyStore(InMemoryVectorStore):
    """Replaces all documents after each search, a number of times."""

    write = Writer()
    searches = 0

    def similarity_search_with_score(self, query: str, k: int = 4, **settings: Any) -> list[tuple[Document, float]]:
        self.searches += 1
        found = super().similarity_search_with_score(query, k, **settings)
        self.write()
        return found


def test_another_store_is_asked_again_while_it_is_busy() -> None:
    write = Writer()
    store = BusyStore(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store, names=False, window=2)
    retriever.add_documents([version_of(name, 0) for name in NAMES])
    write.retriever, store.write, write.most = retriever, write, MAX_ATTEMPTS - 1
    assert versions(retriever.invoke("card seat")) == {f"v{MAX_ATTEMPTS - 1:04d}"}


def test_missing_sentences_are_distinguished_from_concurrent_writes() -> None:
    store = BusyStore(WordEmbeddings())
    retriever = SentenceWindowRetriever(vectorstore=store, names=False, window=2)
    retriever.add_documents([version_of("d1", 0)])
    for id_ in [id_ for id_, each in store.store.items() if "trial" in each["text"]]:
        del store.store[id_]
    with pytest.raises(IncompleteWindowError, match="no sentence"):
        retriever.invoke("card seat")
    assert store.searches == MAX_ATTEMPTS
    ours = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings()), names=False, window=2)
    ours.add_documents([version_of("d1", 0)])
    lacking = [
        str(each.id) for each in ours.vectorstore.similarity_search("trial", k=3) if "trial" in each.page_content
    ]
    assert ours.vectorstore.delete(lacking)
    with pytest.raises(IncompleteWindowError, match="no sentence"):
        ours.invoke("card seat")
