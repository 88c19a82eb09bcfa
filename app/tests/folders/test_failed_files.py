"""Files that can't be read: the others are indexed, and such a file isn't read again until it changes."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.tests.files.office_writing import pptx, xlsx
from app.tests.files.pdf.drawing import drawn, lines, scanned
from app.tests.files.pdf.hostile import endless_labels
from app.tests.files.writing import docx
from app.tests.folders.test_syncing import held, write
from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import SentenceWindowWarning
from sentence_window.folders import SyncResult, sync_files
from sentence_window.folders.found_files import FAILED_FILES
from tests.toys import WordEmbeddings

GOOD = drawn(lines("A refund is paid."))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "docs"


@pytest.fixture
def retriever(tmp_path: Path, words: WordEmbeddings) -> Iterator[SentenceWindowRetriever]:
    with FaissStore(words, tmp_path / "index") as store:
        yield SentenceWindowRetriever(vectorstore=store)


def kinds(result: SyncResult) -> dict[str, list[str]]:
    """The names of files, by what became of them."""
    names = ("added", "updated", "unchanged", "deleted", "empty", "failed", "known_failed")
    found = {name: [Path(each).name for each in getattr(result, name)] for name in names}
    return {name: files for name, files in found.items() if files}


@pytest.mark.process
@pytest.mark.slow
def test_a_pdf_that_kills_its_reader_fails_alone_and_once(retriever: SentenceWindowRetriever, folder: Path) -> None:
    killer = write(folder / "b.pdf", endless_labels())
    for name in ("a.pdf", "c.pdf"):
        write(folder / name, GOOD)
    result = sync_files(retriever, folder)
    assert kinds(result) == {"added": ["a.pdf", "c.pdf"], "failed": ["b.pdf"]}
    assert result.failed[killer].startswith(f"{killer} can't be read: it crashes its reader")
    again = sync_files(retriever, folder)
    assert kinds(again) == {"unchanged": ["a.pdf", "c.pdf"], "known_failed": ["b.pdf"]}
    assert again.known_failed == result.failed
    # It isn't read: other bytes of the same size, written at the same time, aren't noticed.
    write(folder / "b.pdf", GOOD[:-1].ljust(len(endless_labels()), b"\n")[: len(endless_labels())])
    assert kinds(sync_files(retriever, folder))["known_failed"] == ["b.pdf"]
    write(folder / "b.pdf", GOOD, age=1)
    assert kinds(sync_files(retriever, folder)) == {"unchanged": ["a.pdf", "c.pdf"], "added": ["b.pdf"]}
    assert "known_failed" not in kinds(sync_files(retriever, folder))


def test_a_file_that_was_only_touched_is_known_by_its_bytes(retriever: SentenceWindowRetriever, folder: Path) -> None:
    for age in range(3):
        write(folder / "a.docx", "This is no Word file.", age=age)
        kind = "known_failed" if age else "failed"
        assert kinds(sync_files(retriever, folder)) == {kind: ["a.docx"]}
    write(folder / "a.docx", "This is no Word file, either.", age=3)
    assert kinds(sync_files(retriever, folder)) == {"failed": ["a.docx"]}


@pytest.mark.process
@pytest.mark.slow
def test_a_failure_that_depends_on_more_than_the_file_is_tried_again(
    retriever: SentenceWindowRetriever, folder: Path
) -> None:
    write(folder / "a.pdf", drawn(lines("A refund is paid."), lines("A seat is free.")))
    apart = retriever.model_copy(update={"splitter": SentenceSplitter(join_parts=False)})
    assert kinds(sync_files(apart, folder)) == {"failed": ["a.pdf"]}
    assert kinds(sync_files(apart, folder)) == {"known_failed": ["a.pdf"]}
    assert kinds(sync_files(retriever, folder)) == {"added": ["a.pdf"]}


@pytest.mark.process
@pytest.mark.slow
def test_the_old_text_of_a_file_stays(retriever: SentenceWindowRetriever, folder: Path) -> None:
    name = write(folder / "a.pdf", GOOD)
    sync_files(retriever, folder)
    write(folder / "a.pdf", endless_labels(), age=1)
    for kind in ("failed", "known_failed"):
        assert kinds(sync_files(retriever, folder, delete=True)) == {kind: ["a.pdf"]}
        assert held(retriever) == {name: "A refund is paid."}


@pytest.mark.process
def test_files_that_have_gone_are_forgotten(retriever: SentenceWindowRetriever, folder: Path, tmp_path: Path) -> None:
    bad, other = write(folder / "a.pdf", b"no PDF"), write(tmp_path / "other" / "b.pdf", b"no PDF")
    sync_files(retriever, [folder, tmp_path / "other"])
    remembered = tmp_path / "index" / FAILED_FILES
    assert set(json.loads(remembered.read_text(encoding="utf-8"))["files"]) == {bad, other}
    os.remove(bad)  # noqa: PTH107 - a string
    sync_files(retriever, folder)
    assert set(json.loads(remembered.read_text(encoding="utf-8"))["files"]) == {other}


WITHOUT_TEXT: dict[str, tuple[str, bytes | Callable[[], bytes]]] = {
    "nothing": ("a.md", b""),
    "white space": ("a.txt", b" \n\t"),
    "a byte order mark": ("a.txt", b"\xef\xbb\xbf\n"),
    "one of UTF-16": ("a.txt", b"\xff\xfe"),
    "front matter": ("a.md", b"---\nlayout: redirect\nto: /fees\n---\n"),
    "a page that leads elsewhere": (
        "a.html",
        b'<title>Moved</title><meta http-equiv="refresh" content="0; url=/fees">',
    ),
    "a script": ("a.html", b"<script>location = '/fees'</script>"),
    "a Word file": ("a.docx", docx("")),
    "a sheet": ("a.xlsx", lambda: xlsx({"Fees": []})),
    "a deck": ("a.pptx", pptx),
    "a notebook": ("a.ipynb", b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'),
    "a table": ("a.csv", b",,\n,,\n"),
    "an object": ("a.json", b"{}"),
}


@pytest.mark.parametrize("name", WITHOUT_TEXT)
def test_a_file_without_text_is_empty_and_is_read_once(
    retriever: SentenceWindowRetriever, folder: Path, name: str
) -> None:
    file, given = WITHOUT_TEXT[name]
    data = given() if callable(given) else given
    write(folder / file, data)
    assert kinds(sync_files(retriever, folder)) == {"empty": [file]}
    assert kinds(sync_files(retriever, folder)) == {"unchanged": [file]}
    # It isn't read: other bytes of the same size, written at the same time, aren't noticed.
    write(folder / file, b"x" * len(data))
    assert kinds(sync_files(retriever, folder)) == {"unchanged": [file]}
    write(folder / file, data, age=1)  # only touched
    assert kinds(sync_files(retriever, folder)) == {"unchanged": [file]}
    write(folder / "b.md", "A refund is paid.")
    assert kinds(sync_files(retriever, folder)) == {"added": ["b.md"], "unchanged": [file]}


@pytest.mark.process
def test_a_pdf_of_blank_pages_is_empty_and_one_of_scans_fails(retriever: SentenceWindowRetriever, folder: Path) -> None:
    write(folder / "blank.pdf", drawn(lambda canvas: None))
    name = write(folder / "scan.pdf", GOOD)
    with pytest.warns(SentenceWindowWarning, match="they are empty"):
        assert kinds(sync_files(retriever, folder)) == {"added": ["scan.pdf"], "empty": ["blank.pdf"]}
    write(folder / "scan.pdf", drawn(scanned), age=1)
    with pytest.warns(SentenceWindowWarning, match="they show pictures"):
        result = sync_files(retriever, folder)
    assert kinds(result) == {"unchanged": ["blank.pdf"], "failed": ["scan.pdf"]}
    assert "recognize the text first (OCR)" in result.failed[name]
    assert held(retriever) == {name: "A refund is paid."}  # as of every file that can't be read


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff{",
        b"[" * 100_000,
        b'{"version": "0", "files": {}}',
        b'{"version": "VERSION", "files": []}',
        b'{"version": "VERSION", "files": {"NAME": {"reason": 1}}}',
    ],
)
def test_a_damaged_memory_is_none(
    retriever: SentenceWindowRetriever, folder: Path, tmp_path: Path, content: bytes
) -> None:
    name = write(folder / "a.docx", "This is no Word file.")
    sync_files(retriever, folder)
    remembered = tmp_path / "index" / FAILED_FILES
    version = json.loads(remembered.read_text(encoding="utf-8"))["version"]
    remembered.write_bytes(content.replace(b"VERSION", version.encode()).replace(b"NAME", name.encode()))
    assert kinds(sync_files(retriever, folder)) == {"failed": ["a.docx"]}
    assert kinds(sync_files(retriever, folder)) == {"known_failed": ["a.docx"]}


def test_an_index_elsewhere_remembers_nothing(words: WordEmbeddings, folder: Path) -> None:
    write(folder / "a.docx", "This is no Word file.")
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    for _ in range(2):
        assert kinds(sync_files(retriever, folder)) == {"failed": ["a.docx"]}
