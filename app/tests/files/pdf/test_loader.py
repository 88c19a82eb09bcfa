import io
import pickle
import shutil
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from pypdf.constants import PageLabelStyle
from reportlab.pdfgen.canvas import Canvas

from app.tests.files.pdf.drawing import both, drawn, lines, scanned
from langchain_sentence_window.documents.part_blocks import read_layout
from langchain_sentence_window.errors import (
    DocumentReadError,
    InvalidInputError,
    SentenceWindowWarning,
)
from sentence_window.files import PDFLoader, load_pdf, locate
from sentence_window.files.pdf import pdf_file as reading
from sentence_window.files.pdf.page_layout import PageLayout, PageRuns, lay_out

SECRET = "abracadabra!"  # noqa: S105
HELLO = drawn(lines("Hello world."))


def empty(canvas: Canvas) -> None:
    del canvas


def scanned_in_a_form(canvas: Canvas) -> None:
    canvas.beginForm("scan")
    scanned(canvas)
    canvas.endForm()
    canvas.doForm("scan")


def outlined(canvas: Canvas) -> None:
    """Draw text as curves."""
    for number in range(100):
        canvas.circle(72 + 4 * (number % 50), 700 - 15 * (number // 50), 2)


def framed(canvas: Canvas) -> None:
    canvas.rect(10, 10, 500, 700)


def encrypted(password: str) -> bytes:
    writer = pypdf.PdfWriter(io.BytesIO(HELLO))
    writer.encrypt(password)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_a_page_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "two.pdf"
    path.write_bytes(drawn(lines("Hello world."), lines("The second page.")))
    loader = PDFLoader(path)
    assert isinstance(loader, BaseLoader)
    documents = list(loader.lazy_load())
    assert texts(documents) == ["Hello world.", "The second page."]
    expected = {"source": str(path), "page": 1, "total_pages": 2, "layout": '["", [0, 16, "prose", 0, null, null]]'}
    assert documents[1].metadata.items() >= expected.items()
    assert "page_label" not in documents[1].metadata
    assert load_pdf(str(path)) == documents


def test_metadata_is_flat_and_says_what_the_file_says_of_itself() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setTitle("Supply \x00Agreement")
        canvas.setAuthor("Dr. Hale")
        canvas.setSubject("")
        canvas.drawString(72, 700, "Hello.")

    (document,) = load_pdf(drawn(draw), source="agreement")
    assert document.metadata["title"] == "Supply Agreement"
    assert document.metadata["author"] == "Dr. Hale"
    assert document.metadata["source"] == "agreement"
    assert document.metadata["creationdate"].startswith("D:")
    assert all(type(value) in (str, int) for value in document.metadata.values())


def test_bytes_are_named_by_their_content() -> None:
    (one,), (other,) = load_pdf(HELLO), load_pdf(drawn(lines("Hello you.")))
    assert one.metadata["source"] != other.metadata["source"]
    assert load_pdf(HELLO)[0].metadata["source"] == one.metadata["source"]


def test_page_labels(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(io.BytesIO(drawn(*[lines(f"Text {word}.") for word in ("a", "b", "c")])))
    writer.set_page_label(0, 1, style=PageLabelStyle.LOWERCASE_ROMAN)
    writer.set_page_label(2, 2, style=PageLabelStyle.DECIMAL, start=1)
    path = tmp_path / "labels.pdf"
    writer.write(path)
    pages = load_pdf(path)
    assert [page.metadata["page_label"] for page in pages] == ["i", "ii", "1"]
    assert [locate(page)[0].boxes[0].page_label for page in pages] == ["i", "ii", "1"]


def test_a_folder_is_loaded_in_the_order_of_its_paths(tmp_path: Path) -> None:
    for name in ("b.pdf", "a/z.PDF", "c.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(drawn(lines(f"This is {name}.")))
    (tmp_path / "note.txt").write_text("no PDF")
    assert texts(load_pdf(tmp_path)) == ["This is a/z.PDF.", "This is b.pdf.", "This is c.pdf."]
    assert load_pdf(tmp_path / "a")[0].metadata["source"] == str(tmp_path / "a" / "z.PDF")


def test_a_bad_file_of_a_folder_is_named_and_the_others_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(HELLO)
    (tmp_path / "b.pdf").write_bytes(b"no PDF at all")
    (tmp_path / "c.pdf").write_bytes(encrypted(SECRET))
    (tmp_path / "d.pdf").write_bytes(b"")
    (tmp_path / "e.pdf").write_bytes(HELLO)
    with pytest.warns(SentenceWindowWarning) as caught:
        documents = load_pdf(tmp_path)
    assert [Path(document.metadata["source"]).name for document in documents] == ["a.pdf", "e.pdf"]
    said = sorted(str(warning.message) for warning in caught)
    assert [name in message for name, message in zip(("b.pdf", "c.pdf", "d.pdf"), said, strict=True)] == [True] * 3


@pytest.mark.parametrize("content", [b"", b"no PDF", HELLO[:40], b"%PDF-1.7\n%%EOF"])
def test_a_file_that_is_not_a_pdf_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.pdf"
    path.write_bytes(content)
    with pytest.raises(DocumentReadError, match=r"bad\.pdf"):
        load_pdf(path)
    with pytest.raises(DocumentReadError, match="upload"):
        load_pdf(content, source="upload")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentReadError, match=r"none\.pdf .*check the path"):
        load_pdf(tmp_path / "none.pdf")
    with pytest.raises(DocumentReadError, match="check the path"):
        load_pdf("nul\x00.pdf")


def test_an_encrypted_file_needs_its_password(tmp_path: Path) -> None:
    path = tmp_path / "secret.pdf"
    path.write_bytes(encrypted(SECRET))
    with pytest.raises(DocumentReadError, match=r"secret\.pdf is encrypted; give its password, password="):
        load_pdf(path)
    with pytest.raises(DocumentReadError, match="the password= is wrong"):
        load_pdf(path, password=SECRET[::-1])
    assert texts(load_pdf(path, password=SECRET)) == ["Hello world."]


@pytest.mark.parametrize(
    "arguments", [{"path": 7}, {"path": "a", "password": 7}, {"path": "a", "source": "b"}, {"path": HELLO, "source": 7}]
)
def test_arguments_of_other_types_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="give"):
        PDFLoader(**arguments)


def test_pages_that_show_pictures_without_text_are_named_once_a_file() -> None:
    data = drawn(lines("Hello world."), scanned, empty, scanned_in_a_form, outlined)
    with pytest.warns(SentenceWindowWarning, match="scan has no text on pages 2, 4, 5 of 5.*OCR") as caught:
        documents = load_pdf(data, source="scan")
    assert len(caught) == 1
    assert [document.metadata["page"] for document in documents] == [0]


def test_blank_pages_of_a_file_with_text_are_not_reported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        documents = load_pdf(drawn(empty, lines("Hello world."), framed, empty))
    assert [document.metadata["page"] for document in documents] == [1]


def test_a_file_without_any_text_is_named() -> None:
    with pytest.warns(SentenceWindowWarning, match="pages 1 of 1.*empty"):
        assert load_pdf(drawn(empty)) == []
    with pytest.warns(SentenceWindowWarning, match="pages 1, 2 of 2.*OCR"):
        assert load_pdf(drawn(empty, scanned)) == []


def test_a_page_with_nothing_but_a_running_head_has_no_document_and_no_warning() -> None:
    head = lines("Supply Agreement", y=780)
    pages = [*(both(head, lines(f"Its {word} text.")) for word in ("first", "second", "third")), head]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [document.metadata["page"] for document in load_pdf(drawn(*pages))] == [0, 1, 2]


def continuation(document: Document) -> str:
    """How the first block of a page begins."""
    read = read_layout(document.metadata["layout"], len(document.page_content))
    assert read is not None
    return read[1]


@pytest.mark.parametrize(
    ("ends", "begins", "text", "continues"),
    [
        ("This sentence, which is a long one by now, does not end on", "this page.", None, "+"),
        ("This sentence ends.", "Another one begins.", None, ""),
        ("The parties have reached an agree-", "ment on the price.", "The parties have reached an agree", "~"),
        ("They have to pay what a third-", "party claims of them.", None, "~"),
        ("They sell the goods at pre-", "and post-war prices.", None, "+"),
    ],
)
def test_a_sentence_or_word_continues_on_the_next_page(
    ends: str, begins: str, text: str | None, continues: str
) -> None:
    one, other = load_pdf(drawn(lines(ends), lines(begins)))
    assert (one.page_content, other.page_content) == (text or ends, begins)
    assert (continuation(one), continuation(other)) == ("", continues)


def stamped(canvas: Canvas) -> None:
    canvas.drawString(72, 780, "Received by the court")


@pytest.mark.parametrize("between", [empty, stamped])
def test_each_page_between_two_with_text_is_laid_out_once(
    monkeypatch: pytest.MonkeyPatch, between: Callable[[Canvas], None]
) -> None:
    laid_out: Counter[int] = Counter()

    def counting(page: PageRuns, *given: Any, **named: Any) -> PageLayout:
        laid_out[page.characters.number] += 1
        return lay_out(page, *given, **named)

    monkeypatch.setattr(reading, "lay_out", counting)
    blank = range(1, 61)
    head = "The parties agree that this sentence, which is a long one, does not end on"
    texts = (head, "this page but on the next.", "Another begins.")
    first, second, third = (both(between, lines(text)) for text in texts)
    data = drawn(first, *[between] * len(blank), second, third)
    documents = load_pdf(data)
    assert [document.metadata["page"] for document in documents] == [0, 61, 62]
    assert [continuation(document) for document in documents] == ["", "+", ""]
    assert max(laid_out[number] for number in blank) <= 1
    laid_out.clear()
    assert locate(documents[0], data)[0].text == head
    assert sum(laid_out[number] for number in blank) == 0


def test_loading_starts_before_the_whole_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(HELLO)
    (tmp_path / "b.pdf").write_bytes(b"no PDF")
    loading = PDFLoader(tmp_path).lazy_load()
    assert next(loading).page_content == "Hello world."
    with pytest.warns(SentenceWindowWarning, match=r"b\.pdf"):
        assert list(loading) == []


def test_a_loader_is_copied_and_loads_again() -> None:
    loader = pickle.loads(pickle.dumps(PDFLoader(HELLO)))  # noqa: S301
    assert loader.load() == loader.load() == load_pdf(HELLO)


def test_threads_may_load_at_once() -> None:
    data = drawn(*[lines(f"Page {word} of the text.") for word in "abcdefgh"])
    expected = load_pdf(data)
    found: list[list[Document]] = []
    threads = [threading.Thread(target=lambda: found.append(load_pdf(data))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(drawn(*[both(lines("Old head", y=780), lines(word)) for word in "abcd"]))
    assert texts(load_pdf(path)) == ["a", "b", "c", "d"]
    path.write_bytes(drawn(lines("A new text that is longer.")))
    assert texts(load_pdf(path)) == ["A new text that is longer."]


LONG = drawn(*[lines(*[f"Line {i} of page {page}, with a few words." for i in range(30)]) for page in range(4)])


@given(st.data())
def test_damaged_files_are_loaded_or_refused(data: st.DataObject) -> None:
    damaged = bytearray(LONG[: data.draw(st.integers(0, len(LONG)))] if data.draw(st.booleans()) else LONG)
    for at in data.draw(st.lists(st.integers(0, max(0, len(damaged) - 1)), max_size=30)) if damaged else ():
        damaged[at] = data.draw(st.integers(0, 255))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentenceWindowWarning)
        try:
            documents = load_pdf(bytes(damaged))
        except DocumentReadError:
            return
    for document in documents:
        document.page_content.encode()
        assert read_layout(document.metadata["layout"], len(document.page_content)) is not None


def test_folders_are_not_followed_forever(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(HELLO)
    shutil.copy(tmp_path / "a.pdf", tmp_path / "b.pdf")
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert len(load_pdf(tmp_path)) == 2
