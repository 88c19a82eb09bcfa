"""Readers of other packages, `load_bytes` and `FileLoader`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from langchain_sentence_window.errors import DocumentReadError, InvalidInputError
from sentence_window.files import FileLoader, load_bytes, load_file
from sentence_window.files.readers import readers

METADATA = "Metadata-Version: 2.1\nName: djvu-reader\nVersion: 1.0\n"
ENTRY_POINTS = """
[sentence_window.readers]
DjVu = djvu_reader:read
text = djvu_reader:read
broken = djvu_reader:fail
absent = no_such_package:read
"""
MODULE = """
from langchain_core.documents import Document

def read(data, name):
    return [Document(f"{name.rpartition('/')[2]}: {page}") for page in data.decode().split("|")]

def fail(data, name):
    raise ValueError("no page")
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with readers for several suffixes."""
    folder = tmp_path / "packages"
    info = folder / "djvu_reader-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA, encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    (folder / "djvu_reader.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    readers.cache_clear()
    yield
    readers.cache_clear()
    sys.modules.pop("djvu_reader", None)


@pytest.mark.usefixtures("installed")
def test_a_file_is_read_by_the_reader_of_another_package(tmp_path: Path) -> None:
    path = tmp_path / "a.DJVU"
    path.write_bytes(b"Pay now.|Or later.")
    pages = load_file(path, source="terms")
    assert [page.page_content for page in pages] == ["a.DJVU: Pay now.", "a.DJVU: Or later."]
    assert {page.metadata["source"] for page in pages} == {"terms"}
    assert all(page.metadata["file_state"].startswith("18 ") for page in pages)
    assert readers()[".djvu"].content_type in ("image/vnd.djvu", "application/octet-stream")


@pytest.mark.usefixtures("installed")
def test_a_reader_of_another_package_takes_precedence_over_ours() -> None:
    assert load_bytes(b"Pay now.", "a.text")[0].page_content == "a.text: Pay now."
    assert load_bytes(b"Pay now.", "a.txt")[0].page_content == "Pay now."


@pytest.mark.usefixtures("installed")
def test_a_reader_that_raises_is_an_error_that_names_the_file() -> None:
    with pytest.raises(DocumentReadError, match=r"a\.broken can't be read \(ValueError: 'no page'\); save it again"):
        load_bytes(b"Pay now.", "a.broken")
    with pytest.raises(DocumentReadError, match=r"a\.absent can't be read \(ModuleNotFoundError: .*no_such_package"):
        load_bytes(b"Pay now.", "a.absent")


def test_bytes_and_a_loader_give_the_documents_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# Fees\n\nPay now.")
    (expected,) = load_file(path, source="terms.md")
    assert FileLoader(str(path), source="terms.md").load() == [expected]
    (document,) = load_bytes(path.read_bytes(), "terms.md")
    assert document.page_content == expected.page_content
    size, _, sha256 = expected.metadata["file_state"].split()
    assert document.metadata == expected.metadata | {"file_state": f"{size} - {sha256}"}


def test_bytes_of_another_type_or_without_a_suffix_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="data is 'Pay now.'; give the bytes of a file"):
        load_bytes("Pay now.", "a.md")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="source is 3; give the name of the file"):
        load_bytes(b"Pay now.", 3)  # type: ignore[arg-type]
    with pytest.raises(DocumentReadError, match=r"^a can't be read, as its suffix is ''; convert it to one of \.md, "):
        load_bytes(b"Pay now.", "a")
