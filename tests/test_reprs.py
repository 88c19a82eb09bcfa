"""The ``repr`` of objects: where they are, their contents and settings; never a secret or an error."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import SecretStr

from langchain_sentence_window import (
    CrossEncoderReranker,
    FaissStore,
    LateInteractionReranker,
    SentenceSplitter,
    SentenceWindowRetriever,
)
from langchain_sentence_window.stores import BM25Index, NeighborMixedEmbeddings
from tests.reranking.test_cross_encoder import Scorer
from tests.toys import WordEmbeddings, document

KEY = "sk-" + "9" * 30
DOCUMENTS = [document("A refund. It is so.", "a"), document("A card.", "b")]
IN_MEMORY = "<FaissStore in memory: documents=2, sentences=3, index='exact', embedding=WordEmbeddings>"


class KeyedEmbeddings(WordEmbeddings):
    """An embedder that shows its key."""

    def __init__(self) -> None:
        super().__init__()
        self.api_key = KEY

    def __repr__(self) -> str:
        return f"KeyedEmbeddings({self.api_key})"


class KeyedStore(InMemoryVectorStore):
    """A store that shows its key, and takes any argument of a search."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        return super().similarity_search_with_score(query, k)

    def __repr__(self) -> str:
        return f"KeyedStore({KEY})"


class Encoder:
    """What late interaction needs of a SentenceTransformer, with a long ``repr``."""

    encode = tokenizer = max_seq_length = None

    def __repr__(self) -> str:
        return "a layer\n" * 100


def cut_at_commas(text: str) -> list[tuple[int, int]]:
    return [(0, len(text))]


def stored(tmp_path: Path, **settings: Any) -> FaissStore:
    store = FaissStore(WordEmbeddings(), tmp_path / "index", **settings)
    SentenceWindowRetriever(vectorstore=store).add_documents(DOCUMENTS)
    return store


# Stores


def test_a_store_shows_its_path_and_contents(tmp_path: Path) -> None:
    path = str(tmp_path / "index")
    store = stored(tmp_path, index="codes", neighbor_weights=(1, 0.5))
    held = "documents=2, sentences=3, index='exact', embedding=WordEmbeddings, neighbor_weights=(1.0, 0.5)"
    assert repr(store) == str(store) == f"<FaissStore at {path!r}: {held}>"
    store.close()
    with FaissStore.open(path, WordEmbeddings(), read_only=True) as reading:
        assert repr(reading) == f"<FaissStore at {path!r}: {held}, read_only=True>"
        SentenceWindowRetriever.open(path, WordEmbeddings()).delete(["a"])
        assert "documents=1, sentences=1" in repr(reading)


def test_a_closed_store_shows_that_it_is_closed(tmp_path: Path) -> None:
    on_disk, in_memory = stored(tmp_path), FaissStore(WordEmbeddings())
    on_disk.close()
    in_memory.close()
    assert repr(on_disk) == f"<FaissStore at {str(tmp_path / 'index')!r}: closed>"
    assert repr(in_memory) == "<FaissStore in memory: closed>"
    retriever = SentenceWindowRetriever(vectorstore=in_memory)
    assert repr(retriever) == "SentenceWindowRetriever(vectorstore=<FaissStore in memory: closed>)"


def test_a_damaged_store_shows_that_it_cannot_be_read(tmp_path: Path) -> None:
    store = stored(tmp_path)
    shutil.rmtree(tmp_path / "index")
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "sentences.sqlite3").write_bytes(b"another file")
    assert repr(store) == f"<FaissStore at {str(tmp_path / 'index')!r}: can't be read>"


# Retrievers


def test_a_retriever_shows_its_store_and_the_settings_that_are_not_the_default() -> None:
    retriever = SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings())
    assert repr(retriever) == f"SentenceWindowRetriever(vectorstore={IN_MEMORY})"
    other = retriever.model_copy(
        update={
            "k": 3,
            "window": (1, 3),
            "max_tokens": 500,
            "count_tokens": len,
            "filter": {"tenant": "a"},
            "reranker": CrossEncoderReranker(model=Scorer(), top_n=2),
            "splitter": SentenceSplitter("de"),
        }
    )
    assert repr(other) == (
        f"SentenceWindowRetriever(vectorstore={IN_MEMORY}, k=3, window=(1, 3), max_tokens=500, count_tokens=len, "
        "filter={'tenant': …}, reranker=CrossEncoderReranker(top_n=2, model=Scorer), "
        "splitter=SentenceSplitter(language='de'))"
    )
    other.k = 10
    assert " k=" not in repr(other)


def test_no_secret_of_an_embedder_or_a_store_is_shown() -> None:
    ours = SentenceWindowRetriever(vectorstore=FaissStore(KeyedEmbeddings()))
    theirs = SentenceWindowRetriever(
        vectorstore=KeyedStore(NeighborMixedEmbeddings(KeyedEmbeddings())),
        search_kwargs={"token": KEY, "password": SecretStr(KEY)},
        bm25_index=BM25Index(),
        tags=[KEY],
    )
    for each in (ours, theirs, ours.vectorstore, theirs.vectorstore.embeddings):
        assert KEY not in repr(each)
        assert KEY not in str(each)
    assert "embedding=KeyedEmbeddings>" in repr(ours)
    assert repr(theirs) == (
        "SentenceWindowRetriever(tags=[a string that looks like a key], vectorstore=KeyedStore, "
        "bm25_index=<BM25Index in memory>, search_kwargs={'token': …, 'password': …})"
    )


# What a retriever is made of


def test_rerankers_show_the_class_of_their_model() -> None:
    assert repr(CrossEncoderReranker(model=Scorer())) == "CrossEncoderReranker(model=Scorer)"
    assert repr(CrossEncoderReranker(model=Scorer(), score_on="hit", max_length=64, min_score=0.5)) == (
        "CrossEncoderReranker(min_score=0.5, model=Scorer, score_on='hit', max_length=64)"
    )
    assert repr(NeighborMixedEmbeddings(WordEmbeddings(), (1, 0.5))) == (
        "NeighborMixedEmbeddings(WordEmbeddings, neighbor_weights=(1.0, 0.5))"
    )
    assert repr(LateInteractionReranker(model=Encoder(), weight=0.25)) == (
        "LateInteractionReranker(model=Encoder, weight=0.25)"
    )


@pytest.mark.parametrize(
    ("splitter", "said"),
    [
        (SentenceSplitter(), "SentenceSplitter()"),
        (SentenceSplitter("de", structure="plain"), "SentenceSplitter(language='de', structure='plain')"),
        (SentenceSplitter("hi"), "SentenceSplitter(language='hi')"),
        (SentenceSplitter(engine="sentencex", max_chars=None), "SentenceSplitter(engine='sentencex', max_chars=None)"),
        (SentenceSplitter(engine=cut_at_commas), "SentenceSplitter(engine=cut_at_commas)"),
        (SentenceSplitter(max_chars=5, inline_window=2), "SentenceSplitter(max_chars=5, inline_window=(2, 2))"),
    ],
)
def test_a_splitter_shows_the_call_that_makes_it(splitter: SentenceSplitter, said: str) -> None:
    assert repr(splitter) == said
    if "cut_at" not in said:
        assert repr(eval(said, {"SentenceSplitter": SentenceSplitter})) == said  # noqa: S307
