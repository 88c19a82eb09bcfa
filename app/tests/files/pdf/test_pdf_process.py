"""PDFs that are read in a child process: with the same result, and without harm to this one."""

import hashlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from app.tests.files.pdf.drawing import HEIGHT, WIDTH, drawn, lines, scanned
from app.tests.files.pdf.hostile import endless_form, endless_labels
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import DocumentReadError, InvalidInputError, SentenceWindowWarning
from sentence_window.files import load_pdf, locate
from sentence_window.files.file_bytes import FileBytes
from sentence_window.files.file_state import FileState
from sentence_window.files.pdf.page_documents import sentences_on_pages
from sentence_window.files.pdf.pdf_file import open_pdf
from sentence_window.files.pdf.pdf_process import PdfBytes, PdfProcess, PdfProcessError
from tests.patience import PATIENCE, until
from tests.toys import WordEmbeddings

ROOT = Path(__file__).parents[4]
MIB = 1024**2

PDF = drawn(lines("A refund is paid. A seat", "is booked."), lines("A card is sent."))

NEEDS_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
NEEDS_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither forks nor these signals")


@pytest.fixture
def process() -> Iterator[PdfProcess]:
    with PdfProcess() as made:
        yield made


def file_of(data: bytes) -> FileBytes:
    return FileBytes(data, FileState(size=len(data), modified_ns=None, sha256=hashlib.sha256(data).hexdigest()))


def pdf_of(data: bytes) -> PdfBytes:
    return PdfBytes("a.pdf", hashlib.sha256(data).hexdigest(), lambda: data, len(data))


def texts(process: PdfProcess, data: bytes) -> list[str]:
    return [each.page_content for each in process.load(file_of(data), "a.pdf")]


@pytest.mark.process
def test_a_file_of_scans_is_a_failure_and_not_an_empty_file(process: PdfProcess) -> None:
    warns = pytest.warns(SentenceWindowWarning, match="they show pictures")
    with warns, pytest.raises(DocumentReadError, match="hold images without text"):
        process.load(file_of(drawn(scanned)), "a.pdf")


def test_everything_is_the_same_as_in_this_process(process: PdfProcess) -> None:
    assert process.load(file_of(PDF), "a.pdf") == load_pdf(PDF, source="a.pdf")
    assert process.page_sizes(pdf_of(PDF)) == [(WIDTH, HEIGHT), (WIDTH, HEIGHT)]
    picture = Image.open(io.BytesIO(process.picture(pdf_of(PDF), 1, 300, 1_000_000)))
    with open_pdf(PDF) as file:
        assert picture.tobytes() == file.render(1, 300, 1_000_000).convert("RGB").tobytes()
    retriever = SentenceWindowRetriever.from_documents(load_pdf(PDF), WordEmbeddings())
    (window,) = retriever.invoke("seat", k=1)
    assert process.boxes(pdf_of(PDF), sentences_on_pages(window)) == [
        [[box.x0, box.y0, box.x1, box.y1] for box in place.boxes] for place in locate(window, PDF)
    ]


@pytest.mark.process
def test_errors_and_warnings_come_here(process: PdfProcess) -> None:
    with pytest.raises(DocumentReadError, match=r"^a\.pdf can't be read as a PDF"):
        texts(process, b"no PDF")
    with pytest.raises(InvalidInputError, match="has 2 pages"):
        process.picture(pdf_of(PDF), 2, 300, 1_000_000)
    other = drawn(lines("Another text."))
    with pytest.raises(InvalidInputError, match="doesn't have the text of the window"):
        process.boxes(pdf_of(other), sentences_on_pages(load_pdf(PDF)[0]))
    with pytest.warns(SentenceWindowWarning, match="no text"):
        assert texts(process, drawn(lambda canvas: None)) == []
    assert texts(process, other) == ["Another text."]


@pytest.mark.process
@pytest.mark.slow
def test_a_file_that_crashes_its_reader_is_an_error_and_the_next_is_read(process: PdfProcess) -> None:
    assert len(texts(process, PDF)) == 2
    for _ in range(2):
        with pytest.raises(DocumentReadError, match=r"^a\.pdf can't be read: it crashes its reader"):
            texts(process, endless_labels())
        assert len(texts(process, PDF)) == 2


@pytest.mark.process
@pytest.mark.slow
@NEEDS_LINUX
def test_a_file_that_takes_all_memory_is_an_error_and_the_next_is_read() -> None:
    with PdfProcess(memory_bytes=300 * MIB) as process:
        with pytest.raises(DocumentReadError, match="takes more than 300 MiB of memory"):
            texts(process, endless_form())
        assert len(texts(process, PDF)) == 2


@pytest.mark.process
def test_a_file_that_takes_too_long_is_an_error_and_the_next_is_read() -> None:
    with PdfProcess(memory_bytes=2_000_000 * MIB, min_seconds=0.3) as process:
        with pytest.raises(DocumentReadError, match="takes more than 0 seconds"):
            texts(process, endless_form())
        process.min_seconds = PATIENCE
        assert len(texts(process, PDF)) == 2


@pytest.mark.process
@NEEDS_POSIX
def test_an_interrupt_ends_what_is_read(process: PdfProcess) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    texts(process, PDF)
    usual = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            texts(process, endless_form())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    assert len(texts(process, PDF)) == 2


@pytest.mark.process
def test_a_file_is_sent_once(process: PdfProcess) -> None:
    reads: list[int] = []

    def read() -> bytes:
        reads.append(1)
        return PDF

    pdf = PdfBytes("a.pdf", "the key", read, len(PDF))
    for page in (0, 1, 0):
        process.picture(pdf, page, 200, 1_000_000)
    assert len(reads) == 1
    process.page_sizes(pdf_of(drawn(lines("A seat."))))
    process.page_sizes(pdf)
    assert len(reads) == 2


@pytest.mark.process
def test_threads_share_a_process(process: PdfProcess) -> None:
    files = {word: drawn(lines(f"A {word} is here.")) for word in ("refund", "seat", "card", "trial")}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda word: texts(process, files[word]), list(files) * 5))
    assert found == [[f"A {word} is here."] for word in files] * 5


@pytest.mark.process
def test_a_process_that_cannot_be_started_is_a_different_error(
    process: PdfProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(Path(sys.executable).with_name("nothing")))
    with pytest.raises(PdfProcessError, match="can't be started"):
        texts(process, PDF)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(PdfProcessError, match="ended with 1 before the first file"):
        texts(process, PDF)
    monkeypatch.undo()
    assert len(texts(process, PDF)) == 2


@pytest.mark.process
def test_nothing_is_imported_from_the_working_folder(
    process: PdfProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("signal", "json", "langchain_sentence_window", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert len(texts(process, PDF)) == 2
    assert not (tmp_path / "imported").exists()


@pytest.mark.process
@pytest.mark.slow
@NEEDS_POSIX
def test_a_process_ends_with_its_caller_and_a_fork_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "good.pdf").write_bytes(PDF)
    (tmp_path / "endless.pdf").write_bytes(endless_form())
    program = """
import os, sys
from pathlib import Path
from app.tests.files.pdf.test_pdf_process import PdfProcess, texts
process, folder = PdfProcess(), Path(sys.argv[1])
good = (folder / "good.pdf").read_bytes()
assert len(texts(process, good)) == 2
first = process._child._process.pid
if os.fork() == 0:
    assert len(texts(process, good)) == 2
    assert process._child._process.pid != first
    os._exit(7)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert len(texts(process, good)) == 2
print(process._child._process.pid == first, first, flush=True)
texts(process, (folder / "endless.pdf").read_bytes())
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as started:
        assert started.stdout is not None
        is_same, pid = started.stdout.readline().split()
        started.kill()
    assert is_same == "True"
    until(lambda: not _runs(int(pid)))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # an ended process stays in the table until its parent waits for it
    return not (status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")
