"""Links that appear while a folder is read: none leads out of it."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.tests.files.writing import file
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from sentence_window.files import file_bytes as reading_module
from sentence_window.files.file_bytes import LinkedFileError, read_file
from sentence_window.folders import SyncProgress, SyncResult, sync_files
from sentence_window.folders.found_files import served_below
from tests.toys import WordEmbeddings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")

HIDDEN = "A card is secret."
TEXT = "A refund is paid."

Swap = Callable[[Path, Path], None]


def swap_file(docs: Path, outside: Path) -> None:
    (docs / "a" / "b" / "c.md").unlink()
    (docs / "a" / "b" / "c.md").symlink_to(outside / "a" / "b" / "c.md")


def swap_folder(docs: Path, outside: Path) -> None:
    shutil.rmtree(docs / "a" / "b")
    (docs / "a" / "b").symlink_to(outside / "a" / "b")


def swap_folder_above(docs: Path, outside: Path) -> None:
    shutil.rmtree(docs / "a")
    (docs / "a").symlink_to(outside / "a")


def swap_root(docs: Path, outside: Path) -> None:
    shutil.rmtree(docs)
    docs.symlink_to(outside)


SWAPS = [swap_file, swap_folder, swap_folder_above, swap_root]


@pytest.fixture(params=[True, False], ids=["by descriptors", "by paths"])
def docs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder; files are opened as on Linux, or as on Windows, which opens nothing by a folder's descriptor."""
    monkeypatch.setattr(reading_module, "_HAS_DESCRIPTORS", request.param)
    for name, text in (("docs", TEXT), ("outside", HIDDEN)):
        file(tmp_path / name / "a" / "b" / "c.md", text)
    return tmp_path / "docs"


def texts(retriever: SentenceWindowRetriever) -> list[str]:
    return [retriever.get([each.doc_id])[0].page_content for each in retriever.documents()]


@pytest.mark.parametrize("swap", SWAPS)
def test_a_link_made_after_the_listing_isnt_followed(
    docs: Path, tmp_path: Path, words: WordEmbeddings, swap: Swap
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))

    def on_progress(progress: SyncProgress) -> None:
        if progress.current is not None and not progress.sentences:  # just before the file is read
            swap(docs, tmp_path / "outside")

    result = sync_files(retriever, docs, on_progress=on_progress)
    assert (result.added, list(result.failed)) == ((), [str(docs / "a" / "b" / "c.md")])
    (reason,) = result.failed.values()
    assert "was replaced by a link or another folder" in reason
    assert texts(retriever) == []


@pytest.mark.parametrize("swap", SWAPS[1:])
def test_a_link_made_during_the_listing_isnt_followed(
    docs: Path, tmp_path: Path, words: WordEmbeddings, swap: Swap, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    scandir, calls = os.scandir, []

    def swapping(folder: int | str) -> object:
        calls.append(folder)
        if len(calls) == 2:  # `a` is open, and `b` below it isn't yet
            swap(docs, tmp_path / "outside")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", swapping)
    result: SyncResult = sync_files(retriever, docs)
    assert len(calls) >= 2
    assert result.added == ()
    assert texts(retriever) == []


@pytest.mark.parametrize("swap", SWAPS)
def test_a_served_file_is_opened_without_links(docs: Path, tmp_path: Path, swap: Swap) -> None:
    (tmp_path / "linked").symlink_to(docs)
    name = tmp_path / "linked" / "a" / "b" / "c.md"
    path, root = served_below(name, [tmp_path / "linked"])
    assert read_file(path, "c.md", root).data == TEXT.encode()
    swap(docs, tmp_path / "outside")
    with pytest.raises(LinkedFileError):
        read_file(path, "c.md", root)


def test_a_given_file_and_a_given_folder_may_be_links(docs: Path, tmp_path: Path, words: WordEmbeddings) -> None:
    (tmp_path / "folder").symlink_to(docs)
    (tmp_path / "file.md").symlink_to(docs / "a" / "b" / "c.md")
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    result = sync_files(retriever, [tmp_path / "folder", tmp_path / "file.md"])
    assert result.added == (str(tmp_path / "file.md"), str(tmp_path / "folder" / "a" / "b" / "c.md"))
    assert texts(retriever) == [TEXT, TEXT]
