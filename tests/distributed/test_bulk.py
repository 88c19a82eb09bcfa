"""`BulkWriter` over a store in memory: what it checks, replaces and deletes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, NeighborMixedEmbeddings, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.distributed import BulkWriter
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError
from tests.conftest import Invoke
from tests.properties import examples
from tests.toys import WordEmbeddings, document


class Refusing(Embeddings):
    """Fails if it is asked for the vector of a sentence."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError(texts)

    def embed_query(self, text: str) -> list[float]:
        return WordEmbeddings().vector(text)


def store() -> InMemoryVectorStore:
    return InMemoryVectorStore(NeighborMixedEmbeddings(Refusing()))


def sentences_of(text: str, name: str = "a") -> list[Document]:
    return SentenceSplitter().split_documents([document(text, name)])


def vectors_of(sentences: Sequence[Document]) -> list[list[float]]:
    return WordEmbeddings().embed_documents([each.page_content for each in sentences])


def texts_in(made: InMemoryVectorStore) -> list[str]:
    return sorted(each["text"] for each in made.store.values())


async def test_a_retriever_finds_what_was_written(way: Invoke) -> None:
    made = store()
    sentences = [*sentences_of("A refund is paid. A seat is not."), *sentences_of("A card is sent.", "b")]
    before = [each.model_copy(deep=True) for each in sentences]
    assert await way(BulkWriter(made), "write", sentences, vectors_of(sentences)) == 3
    assert sentences == before
    retriever = SentenceWindowRetriever(vectorstore=made, k=1, window=1, lexical_weight=0, ranking=None)
    (window,) = await way(retriever, "invoke", "seat")
    assert window.page_content == "A refund is paid. A seat is not."


async def test_vectors_are_stored_as_they_were_given() -> None:
    made, sentences = store(), sentences_of("A refund is paid. A seat is not.")
    vectors = np.arange(22).reshape(2, 11)
    BulkWriter(made).write(sentences, vectors)
    assert [made.store[str(each.id)]["vector"] for each in sentences] == vectors.tolist()


@examples(25)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=4))
def test_a_document_replaces_its_earlier_versions(counts: list[int]) -> None:
    made = store()
    writer = BulkWriter(made)
    other = sentences_of("A card is sent.", "b")
    writer.write(other, vectors_of(other))
    for version, count in enumerate(counts):
        sentences = sentences_of(" ".join(f"A seat {number} of {version}." for number in range(count)))
        assert len(sentences) == count
        for _ in range(2):
            assert writer.write(sentences, vectors_of(sentences)) == count
            assert texts_in(made) == sorted(each.page_content for each in [*sentences, *other])


async def test_both_forms_of_the_context_manager() -> None:
    made, sentences = store(), sentences_of("A refund is paid.")
    with BulkWriter(made) as writer:
        writer.write(sentences, vectors_of(sentences))
    other = sentences_of("A card is sent.", "b")
    async with BulkWriter(made) as writer:
        await writer.awrite(other, vectors_of(other))
    with pytest.raises(LookupError), BulkWriter(made):
        raise LookupError
    assert texts_in(made) == ["A card is sent.", "A refund is paid."]


def changed(sentences: list[Document], **changes: Any) -> list[Document]:
    return [sentences[0].model_copy(update=changes), *sentences[1:]]


TWO = sentences_of("A refund is paid. A seat is not.")


@pytest.mark.parametrize(
    ("sentences", "told"),
    [
        (TWO[1:], "sentence 1 of document 'a' was given after 0 of its sentences; give all"),
        (TWO[::-1], "sentence 1 of document 'a' was given after 0"),
        ([*TWO, *TWO], "sentence 0 of document 'a' was given after 2"),
        (changed(TWO, id="1"), "sentence 0 of document 'a' has the id '1'; give sentence Documents"),
        ([Document("A seat.", id="a")], "sentence -1 of document 'None'"),
        ("A seat.", "give a list of Documents"),
        ([1], "document"),
    ],
)
def test_what_are_no_sentences_of_whole_documents_is_refused(sentences: Any, told: str) -> None:
    made = store()
    with pytest.raises(InvalidInputError, match=told):
        BulkWriter(made).write(sentences, [[1.0]] * len(sentences))
    assert texts_in(made) == []


@pytest.mark.parametrize(
    "vectors",
    [[], [[1.0]], [[1.0], [1.0, 2.0]], [[1.0], [float("nan")]], [[1.0], [1e300]], [["a"], ["b"]], None, "ab"],
)
def test_vectors_that_do_not_fit_are_refused(vectors: Any) -> None:
    made = store()
    with pytest.raises(EmbeddingError):
        BulkWriter(made).write(TWO, vectors)
    assert texts_in(made) == []


def test_nothing_is_nothing() -> None:
    assert BulkWriter(store()).write([], []) == 0


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (InMemoryVectorStore(WordEmbeddings()), "InMemoryVectorStore takes no vectors .* NeighborMixedEmbeddings"),
        (FaissStore(WordEmbeddings()), "FaissStore embeds and mixes itself, .* add_embeddings"),
    ],
    ids=["plain", "FaissStore"],
)
def test_a_store_that_takes_no_vectors_is_refused(made: VectorStore, told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        BulkWriter(made)


def test_settings_are_checked() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'index'"):
        BulkWriter(store(), index=None)


class WithoutIds(InMemoryVectorStore):
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError


def test_a_store_that_cannot_fetch_by_id_is_refused() -> None:
    made = WithoutIds(NeighborMixedEmbeddings(Refusing()))
    with pytest.raises(InvalidInputError, match="WithoutIds can't fetch by id.* Nothing was written"):
        BulkWriter(made).write(TWO, vectors_of(TWO))
    assert texts_in(made) == []
