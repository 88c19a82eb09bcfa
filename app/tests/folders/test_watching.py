"""An index that is synced whenever its files change."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.tests.files.writing import file
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError
from sentence_window.folders import SyncResult, watch_files
from sentence_window.folders import file_watch as watching_module
from sentence_window.folders.file_watch import _Watched
from tests.patience import PATIENCE, until
from tests.toys import WordEmbeddings


class Heard:
    """Collect what a watch has told."""

    def __init__(self) -> None:
        self.results: list[SyncResult] = []
        self.errors: list[Exception] = []


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching_module, "DEBOUNCE_MS", 50)
    monkeypatch.setattr(watching_module, "CHECK_MS", 50)


@pytest.fixture
def retriever(words: WordEmbeddings, tmp_path: Path) -> SentenceWindowRetriever:
    return SentenceWindowRetriever(vectorstore=FaissStore(words, tmp_path / "docs" / "index"))


@contextmanager
def watching(retriever: SentenceWindowRetriever, paths: Any, **settings: Any) -> Iterator[Heard]:
    heard, stop = Heard(), threading.Event()
    settings = {"on_sync": heard.results.append, "on_error": heard.errors.append, **settings}
    thread = threading.Thread(target=watch_files, args=(retriever, paths), kwargs={"stop": stop, **settings})
    thread.start()
    try:
        until(lambda: heard.results)
        yield heard
    finally:
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def held(retriever: SentenceWindowRetriever) -> set[str]:
    return {Path(each.doc_id).name for each in retriever.documents()}


def test_files_that_appear_change_and_go_are_followed(retriever: SentenceWindowRetriever, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    file(folder / "a.md", "A refund.")
    with watching(retriever, [folder]) as heard:
        assert [len(each.added) for each in heard.results] == [1]
        file(folder / "new" / "b.md", "A seat.")
        until(lambda: held(retriever) == {"a.md", "b.md"})
        file(folder / "a.md", "A replica is kept.")
        until(lambda: retriever.get([str(folder / "a.md")])[0].page_content == "A replica is kept.")
        (folder / "new").rename(folder / "old")
        until(
            lambda: {each.doc_id for each in retriever.documents()} == {str(folder / n) for n in ("a.md", "old/b.md")}
        )
        (folder / "a.md").unlink()
        until(lambda: held(retriever) == {"b.md"})
    assert heard.errors == []
    assert all(each.has_changes for each in heard.results)


def test_documents_of_files_that_went_stay_if_that_is_wished(
    retriever: SentenceWindowRetriever, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    file(folder / "a.md", "A refund.")
    with watching(retriever, folder, delete=False):
        (folder / "a.md").unlink()
        file(folder / "b.md", "A seat.")
        until(lambda: "b.md" in held(retriever))
    assert held(retriever) == {"a.md", "b.md"}


def test_a_single_file_is_followed_when_an_editor_replaces_it(
    retriever: SentenceWindowRetriever, tmp_path: Path
) -> None:
    path = file(tmp_path / "a.md", "A refund.")
    with watching(retriever, path):
        for text in ("A seat is sold.", "A card is sent, too."):
            file(tmp_path / "a.md.tmp", text).replace(path)
            until(lambda text=text: retriever.get([str(path)])[0].page_content == text)  # type: ignore[misc]
        path.unlink()
        until(lambda: not retriever.documents())


def test_a_sync_that_fails_is_told_of_and_tried_again(
    retriever: SentenceWindowRetriever, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching_module, "RETRY_CHECKS", 2)
    folder = tmp_path / "docs"
    file(folder / "a.md", "A refund.")
    add, failures = SentenceWindowRetriever.add_documents, iter([OSError("the service is down"), OSError("still")])

    def fails_twice(self: SentenceWindowRetriever, documents: Any, **settings: Any) -> list[str]:
        for error in failures:
            raise error
        return add(self, documents, **settings)

    with watching(retriever, folder) as heard:
        monkeypatch.setattr(SentenceWindowRetriever, "add_documents", fails_twice)
        file(folder / "b.md", "A seat.")
        until(lambda: held(retriever) == {"a.md", "b.md"})
    assert [str(each) for each in heard.errors] == ["the service is down", "still"]
    assert [len(each.added) for each in heard.results] == [1, 1]


def test_a_folder_that_comes_back_is_watched_again(
    retriever: SentenceWindowRetriever, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching_module, "RETRY_CHECKS", 2)
    folder = tmp_path / "texts"
    file(folder / "a.md", "A refund.")
    with watching(retriever, folder) as heard:
        folder.rename(tmp_path / "away")
        until(lambda: heard.errors)
        assert held(retriever) == {"a.md"}
        file(folder / "b.md", "A seat.")
        until(lambda: held(retriever) == {"b.md"})
        file(folder / "c.md", "A card.")
        until(lambda: held(retriever) == {"b.md", "c.md"})
    assert "there is no file or folder" in str(heard.errors[0])


@pytest.mark.process
def test_a_file_that_cant_be_read_is_told_of_and_the_watch_goes_on(
    retriever: SentenceWindowRetriever, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    file(folder / "a.md", "A refund.")
    with watching(retriever, folder) as heard:
        file(folder / "b.pdf", "no PDF")
        until(lambda: heard.results[-1].failed)
        file(folder / "c.md", "A seat.")
        until(lambda: held(retriever) == {"a.md", "c.md"})
    assert "can't be read as a PDF" in heard.results[-1].known_failed[str(folder / "b.pdf")]


def test_what_the_index_writes_is_no_change(tmp_path: Path) -> None:
    watched = _Watched([str(tmp_path)], tmp_path / "index")
    (tmp_path / "v1.2").mkdir()
    for name in ("index", "index/a.md"):
        assert not watched._is_watched(str(tmp_path / name), is_gone=False)
        assert not watched._is_watched(str(tmp_path / name), is_gone=True)
    for name in ("picture.png", "a.md~", "gone"):
        assert not watched._is_watched(str(tmp_path / name), is_gone=False)
        assert watched._is_watched(str(tmp_path / name), is_gone=True)  # it may have been a folder
    for name in ("a.md", "index.md", "A.PDF", "v1.2"):
        assert watched._is_watched(str(tmp_path / name), is_gone=False)


def test_a_folder_that_is_moved_away_is_noticed(retriever: SentenceWindowRetriever, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    file(folder / "v1.2" / "a.md", "A refund.")
    with watching(retriever, folder):
        assert held(retriever) == {"a.md"}
        (folder / "v1.2").rename(tmp_path / "v1.2")
        until(lambda: not retriever.documents())


def test_the_first_sync_fails_as_any_other(retriever: SentenceWindowRetriever, tmp_path: Path) -> None:
    with pytest.raises(DocumentReadError, match="there is no file or folder"):
        watch_files(retriever, tmp_path / "none", on_sync=print, stop=threading.Event())


def test_a_watch_that_is_stopped_at_once_syncs_once(retriever: SentenceWindowRetriever, tmp_path: Path) -> None:
    path, stop, heard = file(tmp_path / "docs" / "a.md", "A refund."), threading.Event(), Heard()
    stop.set()
    for paths in (path, path.parent):
        watch_files(retriever, paths, on_sync=heard.results.append, stop=stop)
    assert [len(each.added) for each in heard.results] == [1, 0]


@pytest.mark.parametrize(
    "wrong", [{"stop": None}, {"stop": True}, {"on_sync": None}, {"on_error": 3}, {"delete": "yes"}, {"on_progress": 3}]
)
def test_wrong_arguments_are_told_of(
    retriever: SentenceWindowRetriever, tmp_path: Path, wrong: dict[str, object]
) -> None:
    given: dict[str, Any] = {"on_sync": lambda result: None, "stop": threading.Event(), **wrong}
    with pytest.raises(InvalidInputError, match="give|write"):
        watch_files(retriever, tmp_path, **given)
