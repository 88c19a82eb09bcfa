"""Stores that deviate from LangChain's interface, and what users see of it: the same results, or a clear error."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever, acopy_index, copy_index
from langchain_sentence_window.errors import EmbeddingError, IncompleteWindowError, InvalidInputError
from langchain_sentence_window.stores import BM25Index, NeighborMixedEmbeddings, StoreAdapter, register
from tests.forms import Invoke
from tests.toys import WordEmbeddings, document

TEXT = "# Billing\n\nAsk us. A refund is paid. It takes days.\n\nBye now. The end."


def over(store: Any, **settings: Any) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=store, **{"k": 1, "window": 2, "lexical_weight": 0, **settings})


class Unordered(InMemoryVectorStore):
    """Gives documents by their ids in another order, without ids, with numbers as floats and keys of its own."""

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return [self.changed(found) for found in reversed(super().get_by_ids(ids))]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return self.get_by_ids(ids)

    def similarity_search_with_score(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
        return [
            (self.changed(found), score) for found, score in super().similarity_search_with_score(*given, **settings)
        ]

    async def asimilarity_search_with_score(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
        return self.similarity_search_with_score(*given, **settings)

    def changed(self, found: Document) -> Document:
        numbers = {key: float(value) for key, value in found.metadata.items() if type(value) is int and key != "page"}
        added = {"_id": found.id, "_collection_name": "c", "pk": found.id, "author": None}
        return Document(page_content=found.page_content, metadata=found.metadata | numbers | added)


class UnorderedAdapter(StoreAdapter):
    added_keys = frozenset({"_collection_name"})

    def holds(self, key: str, value: Any) -> bool:
        return value is not None  # so an "author" of None is an empty column


register(Unordered, UnorderedAdapter)


async def test_order_ids_floats_and_added_keys_do_not_matter(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(Unordered(words))
    await way(retriever, "add_documents", [document(TEXT, page=7)])
    (window,) = await way(retriever, "invoke", "refund")
    assert window.page_content == TEXT[: TEXT.index(" The end.")]
    assert window.metadata.keys() == {
        "doc_id",
        "page",
        "start_index",
        "end_index",
        "sentences",
        "hits",
        "score",
        "window_id",
        "separator",
        "heading",
        "parts",
        "pages",
        "sentence_spans",
        "tokens",
        "relevance",
    }
    assert all(type(number) is int for number in window.metadata["sentences"])


class Distances(InMemoryVectorStore):
    """Scores by distance, as many stores do."""

    def similarity_search_with_score(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
        return [(found, 1 - score) for found, score in super().similarity_search_with_score(*given, **settings)]

    async def asimilarity_search_with_score(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
        return self.similarity_search_with_score(*given, **settings)

    def _select_relevance_score_fn(self) -> Any:
        return self._cosine_relevance_score_fn


@pytest.mark.parametrize("texts", [["A refund."], ["A refund.", "The refund."], ["A refund.", "A card."]])
async def test_distances_are_recognized_even_with_one_result_or_equal_ones(
    way: Invoke, words: WordEmbeddings, texts: list[str]
) -> None:
    retriever = over(Distances(words), k=2, window=0)
    await way(retriever, "add_documents", [document(text, f"d{place}") for place, text in enumerate(texts)])
    found = await way(retriever, "invoke", "annual refund")
    similarities = [hit["similarity"] for window in found for hit in window.metadata["hits"]]
    assert similarities == sorted(similarities, reverse=True)
    assert all(similarity < 0 for similarity in similarities)
    assert "refund" in found[0].page_content


class Forgetful(InMemoryVectorStore):
    """Gives its documents ids of its own."""

    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **settings: Any) -> list[str]:
        return super().add_documents(documents, [f"own-{id_}" for id_ in ids or []], **settings)

    async def aadd_documents(
        self, documents: list[Document], ids: list[str] | None = None, **settings: Any
    ) -> list[str]:
        return self.add_documents(documents, ids)


async def test_a_store_that_changes_ids_is_detected(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(Forgetful(words))
    await way(retriever, "add_documents", [document(TEXT)])
    with pytest.raises(IncompleteWindowError, match="doesn't keep the ids it is given"):
        await way(retriever, "invoke", "refund")


class WithoutIds(InMemoryVectorStore):
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError


async def test_without_ids_and_inline_windows_the_error_names_both_cures(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(WithoutIds(words))
    await way(retriever, "add_documents", [document(TEXT)])
    with pytest.raises(IncompleteWindowError, match=r"get_by_ids.*inline_window=2"):
        await way(retriever, "invoke", "refund")


async def test_inline_windows_give_what_reading_by_id_gives(way: Invoke, words: WordEmbeddings) -> None:
    splitter = SentenceSplitter(inline_window=(1, 2))
    by_id = over(InMemoryVectorStore(words), k=3)
    inline = over(WithoutIds(words), k=3, splitter=splitter)
    long = document("Card. Refund one.\nRefund  two.\n\n- seat\n- refund three\n\nBye. " * 3, "b")
    for retriever in (by_id, inline):
        await way(retriever, "add_documents", [document(TEXT, page=7), long])
    for window in (0, (0, 2), (1, 1), "auto"):
        assert await way(inline, "invoke", "refund", window=window) == await way(
            by_id, "invoke", "refund", window=window
        )
    # Inline windows of other hits may cover a larger window; otherwise it is an error.
    narrow = over(inline.vectorstore, fetch_k=1)
    with pytest.raises(IncompleteWindowError, match="ask with a smaller window"):
        await way(narrow, "invoke", "refund", window=3)
    assert str(await way(inline, "explain", "refund"))


async def test_a_document_too_long_to_be_deleted_again_is_refused(way: Invoke, words: WordEmbeddings) -> None:
    retriever = over(WithoutIds(words), splitter=SentenceSplitter(inline_window=0), window=0)
    await way(retriever, "add_documents", [document("Old refund.")])
    with pytest.raises(InvalidInputError, match="5,000 sentences"):
        await way(retriever, "add_documents", [document("Refund. " * 5_000)])
    assert [found.page_content for found in await way(retriever, "invoke", "refund")] == ["Old refund."]


class Copying(InMemoryVectorStore):
    """Embeds copies of its texts."""

    def add_documents(self, documents: list[Document], ids: list[str] | None = None, **settings: Any) -> list[str]:
        copies = [Document(page_content=each.page_content, metadata=each.metadata) for each in documents]
        return super().add_documents(copies, ids, **settings)

    async def aadd_documents(
        self, documents: list[Document], ids: list[str] | None = None, **settings: Any
    ) -> list[str]:
        return self.add_documents(documents, ids)


async def test_a_store_that_embeds_copies_is_detected(way: Invoke, words: WordEmbeddings) -> None:
    with pytest.raises(EmbeddingError, match="copies of 6 of 6 texts"):
        await way(over(Copying(NeighborMixedEmbeddings(words))), "add_documents", [document(TEXT)])


def ranked(retriever: SentenceWindowRetriever, query: str) -> list[tuple[str, float]]:
    return [(found.page_content, found.metadata["score"]) for found in retriever.invoke(query, k=40, window=0)]


async def test_equal_texts_keep_their_own_vectors_in_concurrent_adds() -> None:
    embedding = DeterministicFakeEmbedding(size=24)
    sources = [document(f"It is so. Case {n}. It is so. It is so. Plan {n}. It is so.", f"d{n}") for n in range(20)]
    one, many = (over(InMemoryVectorStore(NeighborMixedEmbeddings(embedding)), max_tokens=None) for _ in range(2))
    for source in sources:
        one.add_documents([source])
    threads = [threading.Thread(target=many.add_documents, args=([source],)) for source in sources[:10]]
    for thread in threads:
        thread.start()
    await asyncio.gather(*(many.aadd_documents([source]) for source in sources[10:]))
    for thread in threads:
        thread.join()
    for query in ("It is so.", "Case 3."):
        assert ranked(many, query) == ranked(one, query)


async def test_a_store_is_not_copied_into_itself(way: Invoke, words: WordEmbeddings, tmp_path: Path) -> None:
    with FaissStore(words, tmp_path / "index") as source:
        over(source).add_documents([document(TEXT)])
        (tmp_path / "link").symlink_to(tmp_path / "index")
        in_memory = InMemoryVectorStore(NeighborMixedEmbeddings(words))
        with FaissStore(words, tmp_path / "index") as again, FaissStore(words, tmp_path / "link") as by_link:
            before = source.stats().generation
            for given, target in ((source, source), (source, again), (source, by_link), (in_memory, in_memory)):
                with pytest.raises(InvalidInputError, match="are the same (FaissStore|InMemoryVectorStore), which"):
                    await way(Copy, "copy_index", given, target)
            assert source.stats().generation == before
        assert await way(Copy, "copy_index", source, FaissStore(words, tmp_path / "other")) == len(source)


class Copy:
    copy_index, acopy_index = staticmethod(copy_index), staticmethod(acopy_index)


def test_the_store_gets_search_settings_with_each_query(words: WordEmbeddings) -> None:
    seen: list[dict[str, Any]] = []

    class Noting(InMemoryVectorStore):
        def similarity_search_with_score(self, query: str, k: int = 4, **settings: Any) -> list[tuple[Document, float]]:
            seen.append(settings)
            return super().similarity_search_with_score(query, k)

    def usual(found: Document) -> bool:
        return True

    retriever = over(Noting(words), search_kwargs={"expr": "x", "filter": usual})
    retriever.add_documents([document(TEXT)])
    retriever.invoke("refund")
    retriever.invoke("refund", filter=lambda found: found.metadata["doc_id"] == "a")
    assert seen[0].keys() == {"expr", "filter"}
    assert seen[0]["filter"](document("", "b"))
    # The filter of the call narrows the other, and doesn't replace it.
    assert seen[1]["expr"] == "x"
    assert [seen[1]["filter"](document("", doc_id)) for doc_id in "ab"] == [True, False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"search_kwargs": {"k": 3}}, "or fetch_k=3 for"), ({"bm25_index": BM25Index()}, "searches by words itself")],
)
def test_settings_that_would_be_ignored_are_refused(words: WordEmbeddings, settings: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SentenceWindowRetriever(vectorstore=FaissStore(words), **settings)
