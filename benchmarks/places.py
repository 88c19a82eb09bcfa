"""Check the places of sentences in real PDFs, and measure what reading them costs.

    python -m benchmarks.places FOLDER [--pages 1000] [--json PATH]

Each PDF of FOLDER is loaded, split and indexed as sentences, each sentence is located as a window of its own, and what
PDFium finds in its boxes is compared to it, white space aside. Sentences that differ are listed. Where a file prints
characters several times in one place, as some do for bold type, its boxes hold them all; such sentences are counted
apart.

Seconds are of the processor. The last part makes a PDF of so many pages out of those of FOLDER, and reads it page by
page in another process, whose highest memory is shown.
"""

import argparse
import ctypes
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from benchmarks.results import Results, make_parser
from langchain_sentence_window import SentenceSplitter
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, by_key, read_sentence
from langchain_sentence_window.documents.window_documents import window_document
from langchain_sentence_window.windows.geometry import Hit, Window
from sentence_window.files import PDFLoader, SentencePlace
from sentence_window.files.pdf.drawings import read_rules
from sentence_window.files.pdf.inks import page_inks
from sentence_window.files.pdf.lines import find_runs
from sentence_window.files.pdf.page_documents import sentences_on_pages
from sentence_window.files.pdf.pdf_file import open_pdf
from sentence_window.files.pdf.pdfium import pdfium, pdfium_raw, read_frame
from sentence_window.files.pdf.ruled_tables import find_tables
from sentence_window.files.pdf.sentence_places import locate_in

DEVICE = 10_000_000
"""Steps into which PDFium divides the sides of a page to place a fraction of it."""

SAME_PLACE = 1.0
"""Points between the middles of equal characters that are printed in one place."""

SHOWN = 160


def main() -> None:
    """Read the command line, and print and write the figures."""
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--pages", type=int, default=1000, help="pages of the PDF whose memory is measured; 0 for none")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(read_alone(options.child))
        return
    files = sorted(path for path in options.folder.rglob("*") if path.suffix.lower() == ".pdf")
    if not files:
        sys.exit(f"there is no PDF in {options.folder}")
    totals, seconds = measure(files)
    results = Results("places", options)
    pages = totals["pages"]
    results.note("pages", pages)
    results.note("sentences", totals["sentences"])
    results.note("boxes", totals["boxes"])
    results.note("sentences that differ from what is in their boxes", totals["different"], most=0)
    results.note("sentences with characters that are printed several times", totals["repeated"])
    results.note("rows of tables", totals["rows"])
    results.note("text and layout", 1e3 * seconds["text"] / pages, "ms a page", most=10)
    results.note("of it: rules and tables", 1e3 * seconds["tables"] / pages, "ms a page")
    results.note("locating a window of a whole section", 1e3 * seconds["locating"] / totals["windows"], "ms")
    if options.pages:
        name = f"peak memory, {options.pages} pages"
        results.note(name, peak_memory(files, options.pages), "MB", most=300)
    results.save()


def measure(files: Iterable[Path]) -> tuple[Counter[str], Counter[str]]:
    """Count what the files hold, and the processor's seconds of each step."""
    totals: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    splitter = SentenceSplitter()
    for path in files:
        with timed(seconds, "text"):
            pages = list(PDFLoader(path).lazy_load())
        sentences = by_key(map(read_sentence, splitter.split_documents(pages)))
        places = []
        with open_pdf(path) as pdf:
            totals["pages"] += pdf.page_count
            pdf.facts()
            for window in windows_of(sentences):
                with timed(seconds, "locating"):
                    places += locate_in(pdf, sentences_on_pages(window))
                totals["windows"] += 1
        totals["rows"] += count_rows(path, seconds)
        totals["sentences"] += len(places)
        totals["boxes"] += sum(len(place.boxes) for place in places)
        for place, found, is_repeated in differences(path, places):
            totals["repeated" if is_repeated else "different"] += 1
            page = place.boxes[0].page if place.boxes else "no page"
            kind = "printed several times" if is_repeated else "DIFFERENT"
            print(f"{path.name}, page {page}, {kind}:\n  {place.text[:SHOWN]!r}\n  {found[:SHOWN]!r}", flush=True)
    return totals, seconds


@contextmanager
def timed(seconds: Counter[str], name: str) -> Iterator[None]:
    """Add the processor's seconds of a block to those of its name."""
    began = time.process_time()
    yield
    seconds[name] += time.process_time() - began  # type: ignore[assignment]


def windows_of(sentences: SentencesByKey) -> Iterator[Document]:
    """Yield the windows of a hit in each section that holds the whole section, as a retriever would return them."""
    for (doc_id, index), each in sentences.items():
        if index == each.section_start:
            hit = Hit(doc_id, index, each.section_start, each.section_end, score=1.0)
            yield window_document(Window(doc_id, index, each.section_end - 1, (hit,)), sentences)


def count_rows(path: Path, seconds: Counter[str]) -> int:
    """Count the rows of the tables of a file, and add the seconds that finding them takes."""
    count = 0
    with open_pdf(path) as pdf:
        for number in range(pdf.page_count):
            characters = pdf.read_characters(number)
            inks = [(ink, find_runs(ink)) for ink in page_inks(characters)]
            with pdf.open_page(number) as (page, _), timed(seconds, "tables"):
                rules = read_rules(page, read_frame(page))
                found = [find_tables(characters, ink, runs, rules)[0] for ink, runs in inks]
            count += sum(len(table.rows) for tables in found for table in tables)
    return count


def differences(path: Path, places: Iterable[SentencePlace]) -> Iterator[tuple[SentencePlace, str, bool]]:
    """Yield the sentences that differ from what is in their boxes, and whether because it is printed several times."""
    document = pdfium().PdfDocument(path)
    open_page: tuple[int, Any, Any] | None = None
    for place in places:
        found: list[str] = []
        looked: list[tuple[Any, Sequence[float]]] = []
        for box in place.boxes:
            if open_page is None or open_page[0] != box.page:
                open_page = box.page, document[box.page], document[box.page].get_textpage()
            _, page, text = open_page
            (x0, y0), (x1, y1) = on_page(page, box.x0, box.y0), on_page(page, box.x1, box.y1)
            sides = min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
            found.append(text.get_text_bounded(*sides))
            looked.append((text, sides))
        if squeezed("".join(found)) != squeezed(place.text):
            once = "".join(printed_once(text, sides) for text, sides in looked)
            yield place, squeezed("".join(found)), squeezed(once) == squeezed(place.text)
    document.close()


def on_page(page: Any, x: float, y: float) -> tuple[float, float]:
    """Return where PDFium places a fraction of the page as it is shown, in the PDF's own coordinates."""
    left, top = ctypes.c_double(), ctypes.c_double()
    raw = pdfium_raw()
    raw.FPDF_DeviceToPage(page, 0, 0, DEVICE, DEVICE, 0, round(x * DEVICE), round(y * DEVICE), left, top)
    return left.value, top.value


def printed_once(text: Any, box: Sequence[float]) -> str:
    """Return the characters whose middle is in a box, without those that are printed again in one place."""
    raw = pdfium_raw()
    seen: list[tuple[str, float, float]] = []
    for index in range(text.count_chars()):
        left, bottom, right, top = text.get_charbox(index)
        x, y, each = (left + right) / 2, (bottom + top) / 2, chr(raw.FPDFText_GetUnicode(text, index))
        if not (box[0] <= x <= box[2] and box[1] <= y <= box[3]) or each.isspace():
            continue
        if not any(each == other and abs(x - a) + abs(y - b) < SAME_PLACE for other, a, b in seen):
            seen.append((each, x, y))
    return "".join(each for each, _, _ in seen)


def squeezed(text: str) -> str:
    """Return a text without white space; PDFium writes a control character for a hyphen at the end of a line."""
    return "".join(text.replace("\x02", "-").replace("\ufffe", "-").split())


def peak_memory(files: Sequence[Path], count: int) -> float:
    """Return the highest memory, in MB, of a process that reads a PDF of so many pages."""
    library = pdfium()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.pdf"
        long = library.PdfDocument.new()
        while len(long) < count:
            for each in files:
                source = library.PdfDocument(each)
                long.import_pages(source, list(range(min(len(source), count - len(long)))))
                source.close()
        long.save(path)
        long.close()
        command = [sys.executable, "-m", "benchmarks.places", str(folder), "--child", str(path)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def read_alone(path: Path) -> float:
    """Read a PDF page by page, and return the highest memory of this process in MB."""
    import resource

    for _ in PDFLoader(path).lazy_load():
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    main()
