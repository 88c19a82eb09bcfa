"""An index as a whole: opened with what it remembers, closed, counted, copied, measured and checked."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError, StoreError
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.retrieval import retriever as index_methods
from langchain_sentence_window.retrieval.index_settings import (
    IndexSettings,
    check_index,
    read_index_settings,
    write_index_settings,
)
from tests.toys import WordEmbeddings, document

RANKING = Ranking({"dense_rank": 1.0})
DOCUMENTS = [document("A card. A seat.", "a", tenant="x"), document("A trial. A page.", "b", tenant="y")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An index that remembers an embedder by name and some settings."""
    path = tmp_path / "index"
    with SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings(), path=path):
        pass
    settings = IndexSettings(embedding="minilm", retriever={"k": 1, "window": [0, 0], "ranking": RANKING})
    write_index_settings(path, settings)
    return path


@pytest.fixture
def by_name(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Loads toy embeddings by any name, and lists the names."""
    names: list[str | None] = []

    def load(name: str | None = None) -> Embeddings:
        names.append(name)
        return WordEmbeddings()

    monkeypatch.setattr(index_methods, "load_embedding", load)
    return names


def list_of(window: Any) -> list[int]:
    return list(window)


# Opening


async def test_remembered_embedder_and_settings_are_used(folder: Path, by_name: list[str | None]) -> None:
    with SentenceWindowRetriever.open(folder) as retriever:
        assert by_name == ["minilm"]
        assert (retriever.k, list_of(retriever.window), retriever.ranking) == (1, [0, 0], RANKING)
        assert [each.page_content for each in retriever.invoke("seat")] == ["A seat."]
    with await SentenceWindowRetriever.aopen(folder, k=2) as retriever:
        assert (retriever.k, list_of(retriever.window)) == (2, [0, 0])


def test_given_embedder_and_settings_come_first(folder: Path, by_name: list[str | None]) -> None:
    with SentenceWindowRetriever.open(folder, WordEmbeddings(), k=3, ranking=None) as retriever:
        assert (retriever.k, list_of(retriever.window), retriever.ranking) == (3, [0, 0], None)
    assert by_name == []


def test_index_that_remembers_no_embedder(tmp_path: Path) -> None:
    SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings(), path=tmp_path).close()
    with pytest.raises(InvalidInputError, match=r"embedding is None, and the index .* doesn't remember"):
        SentenceWindowRetriever.open(tmp_path)


def test_read_only(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with SentenceWindowRetriever.open(folder, WordEmbeddings(), read_only=True) as retriever:
        assert retriever.invoke("seat")
        with pytest.raises(StoreError, match="reading only"):
            retriever.add_documents(DOCUMENTS)
        with pytest.raises(StoreError, match="reading only"):
            retriever.delete(["a"])
        assert retriever.check().is_sound
    assert {name: (folder / name).read_bytes() for name in before} == before


# Closing and counting


def test_closed_at_the_end_of_a_block(words: WordEmbeddings) -> None:
    with SentenceWindowRetriever.from_documents(DOCUMENTS, words) as retriever:
        assert retriever.model_copy(update={"k": 1}).invoke("seat")
    with pytest.raises(StoreError, match="closed"):
        retriever.invoke("seat")
    retriever.close()  # again


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
def test_length_is_the_number_of_documents(kind: Any, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=kind(words))
    assert len(retriever) == 0
    assert retriever
    retriever.add_documents(DOCUMENTS)
    assert len(retriever) == len(retriever.documents()) == 2
    assert len(retriever.model_copy(update={"filter": {"tenant": "x"}})) == 1
    assert len(retriever.model_copy(update={"filter": {"tenant": "z"}})) == 0
    assert len(retriever.model_copy(update={"filter": {"sentence_index": {"$gt": 0}}})) == 2


# Copying, measuring, checking


def test_backup_takes_settings_along(folder: Path, tmp_path: Path) -> None:
    with SentenceWindowRetriever.open(folder, WordEmbeddings()) as retriever:
        retriever.backup(tmp_path / "backup")
        with pytest.raises(StoreError, match="holds an index already"):
            retriever.backup(tmp_path / "backup")
    assert read_index_settings(tmp_path / "backup") == read_index_settings(folder)
    with SentenceWindowRetriever.open(tmp_path / "backup", WordEmbeddings()) as retriever:
        assert retriever.ranking == RANKING
        assert len(retriever) == 2


def test_restored_index_remembers_what_the_backup_did(folder: Path, tmp_path: Path) -> None:
    with SentenceWindowRetriever.open(folder, WordEmbeddings()) as retriever:
        retriever.backup(tmp_path / "backup")
        retriever.delete(["a"])
    write_index_settings(folder, IndexSettings(retriever={"k": 7}))
    SentenceWindowRetriever.restore(tmp_path / "backup", folder)
    with SentenceWindowRetriever.open(folder, WordEmbeddings()) as retriever:
        assert (len(retriever), retriever.k, retriever.ranking) == (2, 1, RANKING)
        assert retriever.check().is_sound
    SentenceWindowRetriever.restore(tmp_path / "backup", tmp_path / "new")
    assert read_index_settings(tmp_path / "new").embedding == "minilm"


def test_check_of_a_sound_index(folder: Path) -> None:
    everything = ("database", "documents", "vectors", "words", "settings")
    with SentenceWindowRetriever.open(folder, WordEmbeddings()) as retriever:
        result = retriever.check()
    assert (result.problems, result.documents, result.sentences, result.checked) == ((), 2, 4, everything)
    assert str(result) == f"no problems in 2 documents, 4 sentences\nchecked: {', '.join(everything)}"
    assert result == check_index(folder)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "settings.json' can't be used: it isn't JSON"),
        ('{"retriever": {"ranking": {"cosine": 1}}}', "'cosine' isn't the name of a signal"),
    ],
)
def test_check_finds_damaged_settings(folder: Path, content: str, problem: str) -> None:
    (folder / "settings.json").write_text(content)
    (found,) = check_index(folder).problems
    assert pytest.RaisesExc(AssertionError, match=problem).matches(AssertionError(found))


@pytest.mark.parametrize("method", ["stats", "check", "backup"])
def test_methods_for_the_whole_index_need_a_faiss_store_without_a_filter(
    method: str, words: WordEmbeddings, tmp_path: Path
) -> None:
    given = [tmp_path / "copy"] if method == "backup" else []
    other = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(words))
    with pytest.raises(InvalidInputError, match=f"{method} needs a FaissStore"):
        getattr(other, method)(*given)
    with SentenceWindowRetriever.from_documents(DOCUMENTS, words, filter=None) as retriever:
        bound = retriever.model_copy(update={"filter": {"tenant": "x"}})
        with pytest.raises(InvalidInputError, match=f"{method} reads the whole index, and this retriever's filter"):
            getattr(bound, method)(*given)
    assert not (tmp_path / "copy").exists()
