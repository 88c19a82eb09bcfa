"""`load_file`: what a file's Documents are, and which errors files that can't be read raise."""

import hashlib
import io
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pypdf
import pytest
from langchain_core.documents import Document

from app.tests.files.office_writing import epub, library, msg, odt, pptx, xlsx
from app.tests.files.pdf.drawing import drawn, lines, scanned
from app.tests.files.writing import archive, docx, file, paragraph
from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever, format_context
from langchain_sentence_window.documents.source_metadata import names_in
from langchain_sentence_window.errors import (
    DocumentReadError,
    InvalidInputError,
    SentenceWindowWarning,
)
from sentence_window.files import load_file
from sentence_window.files.file_state import FileState
from sentence_window.files.readers import readers
from tests.toys import WordEmbeddings

NEEDS_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def only(documents: list[Document]) -> Document:
    (document,) = documents
    return document


def failure(path: Path | str) -> str:
    """The message of the error, which names the file."""
    with pytest.raises(DocumentReadError) as error:
        load_file(path)
    assert str(path) in str(error.value)
    return str(error.value)


def test_a_markdown_file_is_one_document_with_its_source(tmp_path: Path) -> None:
    path = file(tmp_path / "terms.md", "---\ntitle: Terms of use\n---\n# Fees\n\nPay now.\r\n")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    document = only(load_file(path))
    data = path.read_bytes()
    assert document.page_content == data.decode()
    assert document.metadata == {
        "title": "Terms of use",
        "source": str(path),
        "content_type": "text/markdown",
        "file_state": f"{len(data)} 1700000000123456789 {hashlib.sha256(data).hexdigest()}",
    }
    assert FileState.read(document.metadata) == FileState(
        size=len(data), modified_ns=1_700_000_000_123_456_789, sha256=hashlib.sha256(data).hexdigest()
    )
    assert document.id is None


def test_a_source_of_ones_own_names_the_document(tmp_path: Path) -> None:
    document = only(load_file(str(file(tmp_path / "a.TXT", "Pay now.")), source="terms"))
    assert document.metadata["source"] == "terms"
    assert document.metadata["content_type"] == "text/plain"


def test_a_pdf_has_a_document_for_each_page_with_the_state_of_the_file(tmp_path: Path) -> None:
    path = file(tmp_path / "terms.pdf", drawn(lines("Pay now."), lines("Or later.")))
    pages = load_file(path)
    assert [page.page_content for page in pages] == ["Pay now.", "Or later."]
    assert [page.metadata["page"] for page in pages] == [0, 1]
    assert {page.metadata["source"] for page in pages} == {str(path)}
    assert {page.metadata["content_type"] for page in pages} == {"application/pdf"}
    states = {page.metadata["file_state"] for page in pages}
    assert [state.split()[0] for state in states] == [str(path.stat().st_size)]


@pytest.mark.parametrize("suffix", [*readers(), ".HTML"])
def test_each_suffix_is_read(tmp_path: Path, suffix: str) -> None:
    made: dict[str, Callable[[], bytes]] = {
        ".docx": lambda: docx(paragraph("Pay now.")),
        ".pdf": lambda: drawn(lines("Pay now.")),
        ".pptx": lambda: pptx("Pay now."),
        ".xlsx": lambda: xlsx({"a": [["Pay now."]]}),
        ".odt": lambda: odt("<text:p>Pay now.</text:p>"),
        ".rtf": lambda: b"{\\rtf1 Pay now.}",
        ".epub": lambda: epub({"a": "Pay now."}),
        ".ipynb": lambda: b'{"cells": [{"cell_type": "markdown", "source": "Pay now."}]}',
        ".eml": lambda: b"X: a\n\nPay now.",
        ".msg": lambda: msg("pay"),
        ".json": lambda: b'"Pay now."',
    }
    needed = {".xlsx": "openpyxl", ".rtf": "striprtf", ".msg": "oxmsg", ".pptx": "pptx"}
    if suffix in needed:
        library(needed[suffix])
    data = made.get(suffix, lambda: b"Pay now.")()
    assert [each.page_content for each in load_file(file(tmp_path / f"a{suffix}", data))] == ["Pay now."]


@pytest.mark.parametrize(
    ("name", "text", "title", "sentences"),
    [
        ("a.rst", "Seats\n=====\n\n.. a comment\n\nA seat is free.", None, "Seats|A seat is free."),
        ("a.adoc", "= The House\n:toc:\n\n== Seats\n\nTake it.", "The House", "The House|Seats|Take it."),
        ("a.org", "# a comment\n#+title: The House\n* Seats\nTake it.", "The House", "The House|Seats|Take it."),
        ("a.tex", "\\title{The\r\nHouse}\r\n\\begin{document}\r\nTake it.", "The House", "The\r\nHouse|Take it."),
        ("a.tex", "---\ntitle: Ours\n---\n\\title{Theirs}\nTake it. % a comment", "Ours", "Theirs|Take it."),
    ],
)
def test_markup_is_unchanged_and_its_title_is_metadata(
    tmp_path: Path, name: str, text: str, title: str | None, sentences: str
) -> None:
    path = file(tmp_path / name, text.encode())
    document = only(load_file(path))
    assert document.page_content == text
    assert document.metadata.get("title") == title
    assert document.metadata["content_type"] == readers()[path.suffix].content_type
    assert [each.page_content for each in SentenceSplitter().split_documents([document])] == sentences.split("|")
    named = only(load_file(path, source="the house"))
    assert [each.page_content for each in SentenceSplitter().split_documents([named])] == sentences.split("|")


def test_the_state_of_a_file_is_neither_shown_nor_a_name(tmp_path: Path, words: WordEmbeddings) -> None:
    path = file(tmp_path / "terms.md", "A refund is paid.")
    retriever = SentenceWindowRetriever.from_documents(load_file(path), words)
    (window,) = retriever.invoke("refund")
    assert window.metadata["file_state"].startswith("17 ")
    assert format_context([window]) == f"<source>\n[1] {path}, line 1\nA refund is paid.\n</source>"
    assert names_in(window.metadata) == ["terms.md", "terms", tmp_path.name]


def test_front_matter_cannot_set_the_state_of_a_file() -> None:
    text = f"---\nfile_state: 1 - {'0' * 64}\nauthor: A\n---\nPay now."
    (sentence,) = SentenceSplitter().split_documents([Document(page_content=text)])
    assert sentence.metadata["author"] == "A"
    assert FileState.read(sentence.metadata) is None


@pytest.mark.parametrize("written", [None, 3, "", "1 2", f"1 2 {'x' * 64}", f"1 2 {'0' * 64} ", f"-1 2 {'0' * 64}"])
def test_an_invalid_state_is_ignored(written: object) -> None:
    assert FileState.read({"file_state": written}) is None


def test_a_file_that_was_just_written_has_no_reliable_time(tmp_path: Path) -> None:
    path = file(tmp_path / "a.md", "Pay now.")
    state = FileState.read(only(load_file(path)).metadata)
    assert state is not None
    assert state.modified_ns is None
    os.utime(path, (1e9, 1e9))
    state = FileState.read(only(load_file(path)).metadata)
    assert state is not None
    assert state.modified_ns == 10**18


class Overwritten:
    """An open file that another program writes while it is read, as long as it has something to write."""

    def __init__(self, file: BinaryIO, path: Path, texts: Iterator[str]) -> None:
        self.file, self.path, self.texts = file, path, texts

    def __enter__(self) -> "Overwritten":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def read(self, size: int) -> bytes:
        data = self.file.read(size)
        if (text := next(self.texts, None)) is not None:
            self.path.write_text(text)
        return data


def overwrite_while_read(monkeypatch: pytest.MonkeyPatch, path: Path, texts: Iterator[str]) -> None:
    real: Any = os.fdopen
    monkeypatch.setattr(
        os, "fdopen", lambda opened, mode, **others: Overwritten(real(opened, mode, **others), path, texts)
    )


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, texts = file(tmp_path / "a.md", "One."), iter(["Two three.", "Four."])
    overwrite_while_read(monkeypatch, path, texts)
    document = only(load_file(path))
    state = FileState.read(document.metadata)
    assert state is not None
    assert (document.page_content, state.size) == ("Four.", 5)


def test_a_file_that_always_changes_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path / "a.md", "One.")
    overwrite_while_read(monkeypatch, path, ("more" * size for size in range(1, 100)))
    assert failure(path).endswith("changes while it is read; read it again when it is finished")


def test_anything_but_a_file_is_refused_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "folder.md"
    folder.mkdir()
    assert failure(folder).endswith("is a folder; give the path of a file")
    assert "No such file" in failure(tmp_path / "none.md")
    assert "its suffix is '.xyz'" in failure(file(tmp_path / "a.xyz", "x"))
    assert "its suffix is ''" in failure(file(tmp_path / "README", "x"))
    assert "is empty; write text into it" in failure(file(tmp_path / "a.md", b""))
    assert "is empty" in failure(file(tmp_path / "a.docx", b""))
    assert "is empty" in failure(file(tmp_path / "b.md", " \n\t"))
    assert "holds no text" in failure(file(tmp_path / "c.txt", b"\xef\xbb\xbf \n"))
    with pytest.raises(DocumentReadError, match=r"'a\\x00.md' can't be read \(ValueError\)"):
        load_file("a\0.md")


@NEEDS_POSIX
def test_pipes_devices_and_sockets_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")  # opening it would wait for a writer
    (tmp_path / "zero.md").symlink_to("/dev/zero")
    (tmp_path / "tty.md").symlink_to("/dev/tty")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket.md"))
        for name in ("pipe.md", "zero.md", "tty.md", "socket.md"):
            assert failure(tmp_path / name).endswith("give the path of a file on a disk")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has a file that none can read")
def test_a_file_that_the_system_wont_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "memory.md").symlink_to("/proc/self/mem")
    assert "can't be read (Input/output error)" in failure(tmp_path / "memory.md")


@NEEDS_POSIX
def test_a_file_without_permission_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path / "a.md", "Pay now.")
    path.chmod(0)
    if os.access(path, os.R_OK):  # root may read all

        def refuse(*_: object) -> int:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(os, "open", refuse)
    assert failure(path).endswith("can't be read (Permission denied); give yourself the permission to read it")


def test_a_file_that_is_too_large_isnt_read(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as written:
        written.truncate(256 * 1024 * 1024 + 1)
    assert "no more than 268,435,456 are read" in failure(path)


WRONG = {
    "pdf": (".md", b"%PDF-1.7\n", "is a PDF by its content"),
    "zip": (".html", archive({"a": b"b"}), "is a ZIP archive, as DOCX files are"),
    "doc": (".txt", b"\xd0\xcf\x11\xe0" + b"x" * 99, "is a file of an old version of Word or Excel"),
    "picture": (".md", b"\x89PNG\r\n\x1a\n", "is a picture"),
    "rtf": (".txt", rb"{\rtf1 hello}", "is a file in Rich Text Format"),
    "no pdf": (".pdf", b"Pay now.", "can't be read as a PDF"),
    "no docx": (".docx", b"Pay now.", "can't be read as DOCX (BadZipFile)"),
    "old docx": (".docx", b"\xd0\xcf\x11\xe0" + b"x" * 99, "is encrypted, or a file of an old version of Word"),
    "other zip": (".docx", archive({"a.txt": b"b"}), "can't be read as DOCX"),
    "no words": (".html", b"<script>let a = 1</script>", "holds no text"),
    "no text": (".docx", docx(""), "holds no text"),
    "nul": (".txt", b"Pay\0now.", "holds NUL characters"),
    "noise": (".txt", bytes(range(128, 256)) * 9 + b"\0", "is in an unknown encoding"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_with_a_wrong_suffix_is_an_error_that_says_what_to_do(tmp_path: Path, name: str) -> None:
    suffix, data, said = WRONG[name]
    message = failure(file(tmp_path / f"a{suffix}", data))
    assert said in message
    assert "; " in message  # the cure


def test_an_encrypted_pdf_is_an_error_with_a_cure(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(drawn(lines("Pay now."))))
    writer.encrypt("secret", algorithm="RC4-128")
    path = tmp_path / "a.pdf"
    writer.write(path)
    assert failure(path).endswith(
        "is encrypted; save it without a password, or load it with PDFLoader(path, password=...)"
    )


def test_a_damaged_pdf_is_not_called_encrypted_because_of_its_name(tmp_path: Path) -> None:
    said = failure(file(tmp_path / "what is encrypted.pdf", b"%PDF-1.7"))
    assert "damaged" in said
    assert "password" not in said


def test_a_pdf_of_pictures_says_that_its_text_must_be_recognized(tmp_path: Path) -> None:
    path = file(tmp_path / "a.pdf", drawn(lambda canvas: None))
    with pytest.warns(SentenceWindowWarning, match="has no text on pages 1 of 1"):
        assert "recognize the text first (OCR)" in failure(path)


def test_a_pdf_of_scans_says_what_its_pages_hold(tmp_path: Path) -> None:
    path = file(tmp_path / "a.pdf", drawn(scanned))
    with pytest.warns(SentenceWindowWarning, match="they show pictures"):
        assert failure(path).endswith("its pages hold images without text; recognize the text first (OCR)")


def test_an_unexpected_error_of_a_reader_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise IndexError("list index out of range")

    monkeypatch.setattr("sentence_window.files.readers.decode", fail)
    message = failure(file(tmp_path / "a.md", "Pay now."))
    assert message.endswith("can't be read (IndexError: 'list index out of range'); save it again, or leave it out")


@pytest.mark.parametrize("path", [None, 3, b"a.md", ["a.md"]])
def test_a_path_is_a_string_or_a_path(path: object) -> None:
    with pytest.raises(InvalidInputError, match="give the path of a file"):
        load_file(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["", 3, Path("a")])
def test_a_source_is_a_string(source: object) -> None:
    with pytest.raises(InvalidInputError, match="give the document a name as a string"):
        load_file("a.md", source=source)  # type: ignore[arg-type]
