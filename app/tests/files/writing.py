"""Files as programs write them, made from little."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_PARTS = {"styles": "styles.xml", "numbering": "numbering.xml", "footnotes": "footnotes.xml"}
RELATIONS = (
    f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{OFFICE}/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
STYLES = "".join(
    f'<w:style w:type="paragraph" w:styleId="{id_}"><w:name w:val="{name}"/></w:style>'
    for id_, name in (("Titel", "Title"), ("berschrift1", "heading 1"), ("berschrift2", "heading 2"))
)
NUMBERING = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl><w:lvl w:ilvl="1">'
    '<w:numFmt w:val="decimal"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
)


def paragraph(text: str, style: str = "", *, item: int | None = None) -> str:
    """A paragraph; with ``item``, an item of a list at that level."""
    properties = f'<w:pStyle w:val="{style}"/>' if style else ""
    if item is not None:
        properties += f'<w:numPr><w:ilvl w:val="{item}"/><w:numId w:val="1"/></w:numPr>'
    return f"<w:p><w:pPr>{properties}</w:pPr>{run(text)}</w:p>"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def table(*rows: tuple[str, ...]) -> str:
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"


def docx(body: str, *, title: str = "", footnotes: str = "", prolog: str = "", more: Mapping[str, bytes] = {}) -> bytes:
    """A DOCX file with a body of WordprocessingML."""
    relations = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{name}" Target="{part}"/>' for name, part in _PARTS.items()
    )
    parts = {
        "_rels/.rels": RELATIONS,
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>',
        "word/styles.xml": f"<w:styles {WORD}>{STYLES}</w:styles>",
        "word/numbering.xml": f"<w:numbering {WORD}>{NUMBERING}</w:numbering>",
        "word/footnotes.xml": f"<w:footnotes {WORD}>{footnotes}</w:footnotes>",
        "word/document.xml": f'<?xml version="1.0"?>{prolog}<w:document {WORD}><w:body>{body}</w:body></w:document>',
    }
    if title:
        parts["docProps/core.xml"] = (
            f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{escape(title)}</dc:title></cp:coreProperties>'
        )
    return archive({**{name: text.encode() for name, text in parts.items()}, **more})


def archive(parts: Mapping[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return written.getvalue()


def file(path: Path, data: bytes | str) -> Path:
    """Write a file that is there at once and as a whole, as others may watch its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data if isinstance(data, bytes) else data.encode())
    return part.replace(path)
