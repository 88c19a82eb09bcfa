"""An index as a whole: opened with what it remembers, closed, counted, copied, measured and checked."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.embedding import named_embedders as named
from langchain_sentence_window.errors import IndexNotFoundError, InvalidInputError, StoreError
from langchain_sentence_window.ranking.ranking import Ranking
from langchain_sentence_window.retrieval import retriever as index_methods
from langchain_sentence_window.retrieval.index_settings import (
    IndexSettings,
    check_index,
    read_index_settings,
    write_index_settings,
)
from tests.conftest import Invoke
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


def test_real_embedder_is_remembered(tmp_path: Path, minilm: Embeddings) -> None:
    with SentenceWindowRetriever.from_documents(DOCUMENTS, minilm, path=tmp_path):
        write_index_settings(tmp_path, IndexSettings(embedding=named.DEFAULT_EMBEDDING))
    with SentenceWindowRetriever.open(tmp_path, k=1) as retriever:
        assert "A seat." in retriever.invoke("Where does one sit?")[0].page_content


def test_index_that_remembers_no_embedder(tmp_path: Path) -> None:
    SentenceWindowRetriever.from_documents(DOCUMENTS, WordEmbeddings(), path=tmp_path).close()
    with pytest.raises(InvalidInputError, match=r"embedding is None, and the index .* doesn't remember"):
        SentenceWindowRetriever.open(tmp_path)


def test_nothing_is_loaded_where_there_is_no_index(tmp_path: Path, by_name: list[str | None]) -> None:
    write_index_settings(tmp_path, IndexSettings(embedding="minilm"))
    with pytest.raises(IndexNotFoundError, match="there is no index"):
        SentenceWindowRetriever.open(tmp_path)
    assert by_name == []


def test_damaged_settings_are_not_passed_over(folder: Path) -> None:
    (folder / "settings.json").write_text('{"retriever": {"ranking": {"cosine": 1}}}')
    with pytest.raises(StoreError, match="settings.json' can't be used: 'cosine' isn't the name of a signal; give"):
        SentenceWindowRetriever.open(folder, WordEmbeddings())
    (folder / "settings.json").write_text("{")
    with pytest.raises(StoreError, match="settings.json' can't be used: it isn't JSON.*delete it"):
        SentenceWindowRetriever.open(folder, WordEmbeddings())


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


def test_store_that_cannot_be_closed(words: WordEmbeddings) -> None:
    with SentenceWindowRetriever(vectorstore=InMemoryVectorStore(words)) as retriever:
        retriever.add_documents(DOCUMENTS)
    assert retriever.invoke("seat")


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


async def test_backup_takes_settings_along(folder: Path, tmp_path: Path, way: Invoke) -> None:
    with SentenceWindowRetriever.open(folder, WordEmbeddings()) as retriever:
        await way(retriever, "backup", tmp_path / "backup")
        with pytest.raises(StoreError, match="holds an index already"):
            await way(retriever, "backup", tmp_path / "backup")
    assert read_index_settings(tmp_path / "backup") == read_index_settings(folder)
    with SentenceWindowRetriever.open(tmp_path / "backup", WordEmbeddings()) as retriever:
        assert retriever.ranking == RANKING
        assert len(retriever) == 2


def test_backup_of_damaged_settings_copies_nothing(folder: Path, tmp_path: Path) -> None:
    with SentenceWindowRetriever.open(folder, WordEmbeddings()) as retriever:
        (folder / "settings.json").write_text("{")
        with pytest.raises(StoreError, match="settings.json"):
            retriever.backup(tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


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


def test_store_itself_leaves_settings_alone(folder: Path, tmp_path: Path) -> None:
    kept = (folder / "settings.json").read_bytes()
    with FaissStore.open(folder, WordEmbeddings()) as store:
        store.backup(tmp_path / "backup")
        store.save()
    FaissStore.restore(tmp_path / "backup", folder)
    assert not (tmp_path / "backup" / "settings.json").exists()
    assert (folder / "settings.json").read_bytes() == kept
    SentenceWindowRetriever.restore(tmp_path / "backup", folder)
    assert (folder / "settings.json").read_bytes() == kept


async def test_stats_are_those_of_the_store(folder: Path, way: Invoke) -> None:
    with SentenceWindowRetriever.open(folder, WordEmbeddings()) as retriever:
        stats = await way(retriever, "stats")
        assert (stats.documents, stats.sentences) == (2, 4)


async def test_check_of_a_sound_index(folder: Path, way: Invoke) -> None:
    everything = ("database", "documents", "vectors", "words", "settings")
    with SentenceWindowRetriever.open(folder, WordEmbeddings()) as retriever:
        result = await way(retriever, "check")
    assert (result.problems, result.documents, result.sentences, result.checked) == ((), 2, 4, everything)
    assert str(result) == f"no problems in 2 documents, 4 sentences\nchecked: {', '.join(everything)}"
    assert result == check_index(folder)
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()


def test_check_in_memory(words: WordEmbeddings) -> None:
    with SentenceWindowRetriever.from_documents(DOCUMENTS, words) as retriever:
        assert retriever.check().checked == ("database", "documents")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "settings.json' can't be used: it isn't JSON"),
        ('{"version": 0}', "version is 0"),
        ('{"retriever": {"ranking": {"cosine": 1}}}', "'cosine' isn't the name of a signal"),
    ],
)
def test_check_finds_damaged_settings(folder: Path, content: str, problem: str) -> None:
    (folder / "settings.json").write_text(content)
    (found,) = check_index(folder).problems
    assert pytest.RaisesExc(AssertionError, match=problem).matches(AssertionError(found))


def test_check_where_there_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFoundError, match="there is no index"):
        check_index(tmp_path)


@pytest.mark.parametrize("method", ["stats", "check", "backup"])
def test_what_reads_all_needs_the_store_and_no_filter(method: str, words: WordEmbeddings, tmp_path: Path) -> None:
    given = [tmp_path / "copy"] if method == "backup" else []
    other = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(words))
    with pytest.raises(InvalidInputError, match=f"{method} needs a FaissStore"):
        getattr(other, method)(*given)
    with SentenceWindowRetriever.from_documents(DOCUMENTS, words, filter=None) as retriever:
        bound = retriever.model_copy(update={"filter": {"tenant": "x"}})
        with pytest.raises(InvalidInputError, match=f"{method} reads the whole index, and this retriever's filter"):
            getattr(bound, method)(*given)
    assert not (tmp_path / "copy").exists()


def test_copied_folder_is_an_index_too(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    assert check_index(tmp_path / "copy").is_sound
