"""Which files are found below some paths."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from app.tests.files.writing import file
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from sentence_window.folders import found_files as walking_module
from sentence_window.folders import sync_files
from sentence_window.folders.found_files import FoundFiles, find_files
from tests.toys import WordEmbeddings

NEEDS_LINKS = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")


def found(*paths: Path, leave_out: Path | None = None) -> FoundFiles:
    return find_files([str(path) for path in paths], leave_out)


def names(files: FoundFiles, root: Path) -> list[str]:
    return [Path(each).relative_to(root).as_posix() for each in files.files]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("b.md", "a/z.txt", "a/b/c.htm", "B.PDF", "a.docx", "picture.png", "README", "a.md~", "a/x.doc"):
        file(tmp_path / "docs" / name, "A refund.")
    return tmp_path / "docs"


def test_files_are_found_in_order_with_sizes_and_times_and_others_are_counted(root: Path) -> None:
    os.utime(root / "b.md", ns=(0, 1_234_567_890_123_456_789))
    files = found(root)
    assert names(files, root) == sorted(["B.PDF", "a.docx", "a/b/c.htm", "a/z.txt", "b.md"])
    assert list(files.files) == sorted(files.files)
    one = files.files[str(root / "b.md")]
    assert (one.source, one.size, one.modified_ns) == (str(root / "b.md"), 9, 1_234_567_890_123_456_789)
    assert (files.skipped, files.failed, files.missing) == ({"": 1, ".doc": 1, ".md~": 1, ".png": 1}, {}, [])


def test_hidden_files_and_folders_and_locks_are_left_out_unless_they_are_given(root: Path) -> None:
    for name in (".git/a.md", ".hidden.md", "a/.cache/b.md", "~$a.docx", "..md"):
        file(root / name, "A refund.")
    assert len(found(root).files) == 5
    assert found(root).skipped.total() == 4
    assert names(found(root / ".git", root / ".hidden.md"), root) == [".git/a.md", ".hidden.md"]


def test_paths_that_overlap_give_each_file_once(root: Path) -> None:
    assert names(found(root / "a", root, root / "b.md"), root) == names(found(root), root)


def test_a_given_file_is_read_only_by_its_suffix(root: Path) -> None:
    files = found(root / "picture.png", root / "b.md")
    assert (names(files, root), files.skipped) == (["b.md"], {".png": 1})


@NEEDS_LINKS
def test_links_inside_a_folder_arent_followed_and_a_given_link_is(root: Path, tmp_path: Path) -> None:
    secret = file(tmp_path / "secret" / "key.md", "A refund.")
    (root / "out.md").symlink_to(secret)
    (root / "out").symlink_to(secret.parent)
    (root / "in.md").symlink_to(root / "b.md")
    (root / "loop").symlink_to(root)
    (root / "nowhere.md").symlink_to(root / "nothing")
    files = found(root)
    assert len(files.files) == 5
    assert (files.failed, files.skipped.total()) == ({}, 4)
    (tmp_path / "current").symlink_to(root)
    assert names(found(tmp_path / "current"), tmp_path)[0] == "current/B.PDF"


@NEEDS_LINKS
def test_pipes_and_sockets_are_counted_and_not_opened(root: Path) -> None:
    os.mkfifo(root / "pipe.md")
    files = found(root)
    assert (len(files.files), files.skipped.total()) == (5, 5)
    assert found(root / "pipe.md").skipped == {".md": 1}


def test_the_folder_of_the_index_is_left_out(root: Path, words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words, root / "index"))
    file(root / "index" / "notes.md", "A seat.")
    shutil.rmtree(root / "a")
    (root / "B.PDF").unlink()
    (root / "a.docx").unlink()
    assert sync_files(retriever, root).added == (str(root / "b.md"),)


def test_a_folder_that_cant_be_read_is_told_of_and_nothing_below_it_is_lost(
    root: Path, words: WordEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("B.PDF", "a.docx"):
        (root / name).unlink()
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    sync_files(retriever, root)
    scandir, refused = os.scandir, (root / "a").stat()

    def refuse(folder: int | str) -> object:
        if os.path.samestat(os.stat(folder), refused):  # noqa: PTH116 - a descriptor
            raise PermissionError(13, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    shutil.rmtree(root / "a" / "b")
    (root / "b.md").unlink()
    result = sync_files(retriever, root, delete=True)
    assert result.deleted == (str(root / "b.md"),)
    assert list(result.failed.values()) == [
        f"{root / 'a'} can't be read (Permission denied); give yourself the permission to read it"
    ]
    assert {each.doc_id for each in retriever.documents()} == {str(root / "a" / "z.txt"), str(root / "a/b/c.htm")}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems allow no such names")
def test_a_name_that_is_no_text_is_told_of(root: Path, words: WordEmbeddings) -> None:
    odd = os.fsencode(root) + b"/caf\xe9.md"
    os.close(os.open(odd, os.O_CREAT | os.O_WRONLY))
    files = found(root)
    assert list(files.failed) == [f"{root}/caf\\xe9.md"]
    assert files.failed[f"{root}/caf\\xe9.md"].endswith("has a name that can't be written as text; rename it")


@pytest.mark.parametrize("name", ["a b.md", "ü–日本.md", "a'\"<b>.md", "%2e%2e.md", "-rf.md", "a\n b.md", "$(x).md"])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows allows no such names")
def test_odd_names_are_names(tmp_path: Path, words: WordEmbeddings, name: str) -> None:
    path = file(tmp_path / "docs" / name, "A refund.")
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    assert sync_files(retriever, tmp_path / "docs").added == (str(path),)
    assert sync_files(retriever, tmp_path / "docs").unchanged == (str(path),)
    assert [each.doc_id for each in retriever.documents()] == [str(path)]


def test_folders_nested_very_deep_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking_module, "MAX_DEPTH", 3)
    file(tmp_path / "a/b/c/yes.md", "A refund.")
    file(tmp_path / "a/b/c/d/no.md", "A refund.")
    files = found(tmp_path)
    assert names(files, tmp_path) == ["a/b/c/yes.md"]
    assert files.failed[str(tmp_path / "a/b/c/d")].endswith("is nested too deep; give its own path")


def test_a_path_that_cant_be_looked_at_is_told_of(tmp_path: Path) -> None:
    below_a_file = file(tmp_path / "a.md", "A refund.") / "b.md"
    assert "can't be read" in found(below_a_file).failed[str(below_a_file)]
    assert found(tmp_path / "none").missing == [str(tmp_path / "none")]
