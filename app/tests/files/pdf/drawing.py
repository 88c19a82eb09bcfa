"""PDFs that tests draw, and what can be read back from them, by other ways than the package's own."""

import ctypes
import io
from collections.abc import Callable, Iterable
from typing import Any

import pypdf
import pypdfium2
from PIL import Image
from pypdfium2 import raw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from sentence_window.files import PageBox

WIDTH, HEIGHT = 600, 800
DEVICE = 10_000_000


def drawn(*pages: Callable[[Canvas], None], size: tuple[float, float] = (WIDTH, HEIGHT), **options: Any) -> bytes:
    """A PDF of pages, each drawn by a function of the canvas."""
    written = io.BytesIO()
    canvas = Canvas(written, pagesize=size, invariant=1, **options)
    for draw in pages:
        canvas.setFont("Helvetica", 12)
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return written.getvalue()


def lines(*texts: str, x: float = 72, y: float = 700, pitch: float = 15, size: float = 12) -> Callable[[Canvas], None]:
    """Draw texts below each other; ``y`` is the first one's base line, from the lower end of the page."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        for number, text in enumerate(texts):
            canvas.drawString(x, y - pitch * number, text)

    return draw


def scanned(canvas: Canvas) -> None:
    """Draw a picture that fills the page, as scanners do."""
    canvas.drawImage(ImageReader(Image.new("L", (60, 60), 200)), 0, 0, 500, 700)


def both(*draws: Callable[[Canvas], None]) -> Callable[[Canvas], None]:
    """Draw several things on one page."""

    def draw(canvas: Canvas) -> None:
        for each in draws:
            each(canvas)

    return draw


def turned(pdf: bytes, degrees: int) -> bytes:
    """A PDF whose pages are shown turned clockwise."""
    writer = pypdf.PdfWriter(io.BytesIO(pdf))
    for page in writer.pages:
        page.rotate(degrees)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def mapped(content: bytes, unicode: dict[str, str]) -> bytes:
    """A PDF whose font says that some of its codes, as two hexadecimal digits, mean other text."""
    pairs = "\n".join(f"<{code}> <{text.encode('utf-16-be').hex()}>" for code, text in unicode.items())
    codes = f"begincmap\n1 begincodespacerange <00> <FF> endcodespacerange\n{len(unicode)} beginbfchar\n"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources 7 0 R >>",
        _stream(content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>",
        _stream(f"{codes}{pairs}\nendbfchar\nendcmap".encode()),
        b"<< /Font << /F 5 0 R >> >>",
    ]
    written = b"%PDF-1.7\n"
    table = b"0000000000 65535 f \n"
    for number, each in enumerate(objects, 1):
        table += b"%010d 00000 n \n" % len(written)
        written += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    count = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(written))
    return written + b"xref\n0 %d\n%b%b" % (count, table, trailer)


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content)


def read_back(pdf: bytes, boxes: Iterable[PageBox]) -> str:
    """Return what PDFium finds in boxes, without white space; PDFium itself places the boxes on the page."""
    found = ""
    document = pypdfium2.PdfDocument(pdf)
    for box in boxes:
        page = document[box.page]
        (x0, y0), (x1, y1) = to_page(page, box.x0, box.y0), to_page(page, box.x1, box.y1)
        text = page.get_textpage()
        found += text.get_text_bounded(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    document.close()
    return squeezed(found)


def squeezed(text: str) -> str:
    return "".join(text.split())


def to_page(page: Any, x: float, y: float) -> tuple[float, float]:
    """Where a fraction of the page as it is shown lies in the PDF's own coordinates, by PDFium."""
    left, top = ctypes.c_double(), ctypes.c_double()
    raw.FPDF_DeviceToPage(page, 0, 0, DEVICE, DEVICE, 0, round(x * DEVICE), round(y * DEVICE), left, top)
    return left.value, top.value
