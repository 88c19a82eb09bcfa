"""PDFs that make PDFium crash, or take all memory or time."""

from collections.abc import Sequence

_HEAD = (
    b"<</Type/Catalog/Pages 2 0 R/PageLabels 4 0 R>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 5 0 R/Resources<</XObject<</F 6 0 R>>>>>>",
)


def endless_labels() -> bytes:
    """A PDF whose tree of page labels holds itself, on which PDFium overflows its stack."""
    return _written([*_HEAD, b"<</Kids[4 0 R]/Limits[0 0]>>", _stream(b"", b""), _form(b"")])


def endless_form() -> bytes:
    """A PDF with a form that draws itself three times, which grows until it is stopped."""
    return _written([*_HEAD, b"<</Nums[]>>", _stream(b"", b"/F Do /F Do"), _form(b"/F Do /F Do /F Do")])


def _form(drawing: bytes) -> bytes:
    resources = b"/Resources<</XObject<</F 6 0 R>>>>"
    return _stream(b"/Type/XObject/Subtype/Form/BBox[0 0 200 200]" + resources, drawing)


def _stream(entries: bytes, content: bytes) -> bytes:
    return b"<<%s/Length %d>>\nstream\n%s\nendstream" % (entries, len(content), content)


def _written(objects: Sequence[bytes]) -> bytes:
    written, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, b"".join(places))
    return b"%s%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (written, table, size, len(written))
