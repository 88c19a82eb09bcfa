"""Slides, texts of OpenDocument, Rich Text, e-books, notebooks, messages and JSON as Markdown.

Each is made HTML, or has its elements renamed to those of HTML, and is read as any other page. So all have the same
headings, lists and tables, and none knows how they are written. Rows of sheets are told in `sheets`.

An archive is unpacked within the bounds of a DOCX file, and only its parts that are XML. Nothing is run and nothing is
fetched: macros, formulas and links are only text, or aren't read.

=========  ==========================================================================
suffix     what its Documents are
=========  ==========================================================================
.pptx      one a slide: title, text, tables, charts, SmartArt and notes
.odt       one: the text with its notes; no comments, no changes that were deleted
.rtf       one: paragraphs and tables
.epub      one: the chapters in their order, without the table of contents
.ipynb     one: texts, code and what that wrote; no pictures
.eml .msg  one: the subject, who wrote when to whom, and the text; no attachments
.json      one: a list of keys and values, nested as they are
=========  ==========================================================================
"""

import codecs
import io
import json
import posixpath
import re
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from html import escape
from itertools import groupby, zip_longest
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.documents.source_parts import LAYOUT, SLIDE, TITLE, TOTAL_PAGES, write_layout
from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from langchain_sentence_window.loaders.file_bytes import clean_text
from langchain_sentence_window.splitting.blocks import HEADING, MAX_LEVEL, Block

from .docx import OLD_OFFICE, local_name, parsed_xml, xml_parts
from .html_elements import etree
from .html_pages import MAX_ROW_CHARS, MAX_TITLE_CHARS, BlockWriter, HtmlPage, read_html
from .sheets import read_csv, read_xlsx

HEAD_BYTES = 1_024
"""Bytes in which Rich Text Format says its encoding."""

MAX_FONT_STEPS = 100_000_000
"""Fonts of a file in Rich Text Format times the bytes of their table, as each may be looked for in all of it."""

MAX_FIELD_CHARS = 20_000
"""Characters of the longest field of a message that is decoded; a longer one stays as it is written."""


class Package:
    """The XML of a ZIP archive. Each part is read once, however many others refer to it."""

    def __init__(self, data: bytes, name: str) -> None:
        """Unpack it.

        Args:
            data: The bytes of the file.
            name: Its name in messages.

        Raises:
            DocumentReadError: It is encrypted, too large, or no such archive.
        """
        if data.startswith(OLD_OFFICE):
            raise DocumentReadError(
                f"{name} is encrypted, or a file of an old version of Office; save it anew without a password"
            )
        self._name = name
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.parts = {part.filename: archive.read(part) for part in xml_parts(archive, name)}

    def xml(self, part: str) -> Any:
        """Return the root element of a part; ``None`` if it isn't there, was read, or is damaged."""
        return parsed_xml(self.parts.pop(part, b""), self._name, part)

    def needed(self, part: str) -> Any:
        """Return the root element of a part without which there is no text.

        Raises:
            DocumentReadError: It isn't there, or is damaged.
        """
        root = self.xml(part)
        if root is None:
            raise DocumentReadError(
                f"{self._name} is encrypted, damaged or of another type, as its part {part!r} can't be read; save it "
                "anew without a password"
            )
        return root

    def related(self, part: str, *kinds: str) -> dict[str, str]:
        """Return the parts of some kinds that a part of an Office file refers to, by the ids of its references."""
        folder, _, own = part.rpartition("/")
        root = self.xml(posixpath.join(folder, "_rels", f"{own}.rels"))
        return {
            each.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, each.get("Target", "")))[1:]
            for each in (() if root is None else root.iter("{*}Relationship"))
            if each.get("Type", "").rpartition("/")[2] in kinds and each.get("TargetMode") != "External"
        }

    def title(self, part: str) -> str:
        """Return the title that a part with properties holds; empty if it holds none."""
        return _title(self.xml(part))


def _title(root: Any) -> str:
    found = None if root is None else next(root.iter("{http://purl.org/dc/elements/1.1/}title"), None)
    return "" if found is None else clean_text(" ".join((found.text or "").split()))[:MAX_TITLE_CHARS]


def _renamed(root: Any, tags: Mapping[str, str]) -> Any:
    """Give elements the tags of HTML, by their local names, and no attributes; others become spans."""
    for each in root.iter():
        each.tag = tags.get(local_name(each), "span")
        each.attrib.clear()
    return root


def _written(root: Any) -> HtmlPage:
    written = BlockWriter().write(root)
    return HtmlPage(written.text, written.blocks, "")


def _joined(pages: Iterable[HtmlPage], title: str = "") -> HtmlPage:
    """Return texts as one, with a blank line between them."""
    parts: list[str] = []
    blocks: list[Block] = []
    at = 0
    for page in pages:
        if page.text:
            at += 2 if parts else 0
            blocks += [replace(each, start=each.start + at, end=each.end + at) for each in page.blocks]
            parts.append(page.text)
            at += len(page.text)
    return HtmlPage("\n\n".join(parts), blocks, title)


def _document(page: HtmlPage, **metadata: Any) -> Document:
    titled = {TITLE: page.title} if page.title else {}
    return Document(page.text, metadata={**titled, **metadata, LAYOUT: write_layout(page.blocks)})


_TITLES = frozenset({"title", "ctrTitle"})
_LISTS = frozenset({"", "body", "obj"})
_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_SLIDE_TAGS = {
    "headline": "h1",
    "list": "ul",
    "item": "li",
    "p": "p",
    "br": "br",
    "tbl": "table",
    "tr": "tr",
    "tc": "td",
}


def _read_slides(data: bytes, name: str) -> Iterator[Document]:
    package = Package(data, name)
    (main,) = [*package.related("", "officeDocument").values()][:1] or ["ppt/presentation.xml"]
    title = package.title("docProps/core.xml")
    named = package.related(main, "slide")
    ids = [
        value for each in package.needed(main).iter("{*}sldId") for key, value in each.items() if key.endswith("}id")
    ]
    slides = [named[each] for each in dict.fromkeys(ids) if each in named]
    for number, slide in enumerate(slides, 1):
        page = _joined(_pages_of_slide(package, slide), title)
        if page.text:
            yield _document(page, **{SLIDE: number, TOTAL_PAGES: len(slides)})


def _pages_of_slide(package: Package, slide: str) -> Iterator[HtmlPage]:
    others = package.related(slide, "chart", "diagramData", "notesSlide")
    for part in (slide, *others.values()):
        root = package.xml(part)
        if root is None:
            continue
        if local_name(root) == "chartSpace":
            yield read_html(_chart(root), slide)
            continue
        for each in list(root.iter("{*}Fallback", "{*}extLst")):
            each.getparent().remove(each)
        for shape in list(root.iter("{*}sp")):
            _mark_shape(root, shape, is_notes=local_name(root) == "notes")
        for each in root.iter():
            each.tail = None
            each.text = each.text if local_name(each) == "t" else None
        yield _written(_renamed(root, _SLIDE_TAGS))


def _mark_shape(root: Any, shape: Any, *, is_notes: bool) -> None:
    """Make a shape a heading or a list if it is one; leave out what stands on every slide."""
    holder = next(shape.iter("{*}ph"), None)
    kind = None if holder is None else holder.get("type", "")
    paragraphs = [each for each in shape.iter("{*}p") if any(text.text for text in each.iter("{*}t"))]
    if kind in _FURNITURE or not paragraphs:
        shape.getparent().remove(shape)
    elif is_notes:
        first = next(text for text in paragraphs[0].iter("{*}t") if text.text)
        first.text = f"Notes: {first.text.lstrip()}"
    elif kind in _TITLES:
        root.insert(0, shape)
        shape.tag = "headline"
        for each in paragraphs:
            each.tag = "line"
            each.insert(0, each.makeelement("br"))
    elif len(paragraphs) > 1 and (kind in _LISTS or all(map(_has_bullet, paragraphs))):
        _nest(paragraphs)


def _has_bullet(paragraph: Any) -> bool:
    return next(paragraph.iter("{*}buChar", "{*}buAutoNum"), None) is not None


def _nest(paragraphs: Sequence[Any]) -> None:
    """Make paragraphs the items of lists, nested by their levels."""
    lists = [paragraphs[0].makeelement("list")]
    paragraphs[0].addprevious(lists[0])
    for each in paragraphs:
        levels = [properties.get("lvl", "0") for properties in each.iterchildren("{*}pPr")]
        level = int(levels[0]) if levels and levels[0].isdecimal() else 0
        del lists[level + 1 :]
        if level >= len(lists) and len(lists[-1]):
            lists.append(etree().SubElement(lists[-1][-1], "list"))
        each.tag = "item"
        lists[-1].append(each)


def _chart(root: Any) -> str:
    """Return a chart as HTML: its title, and a table of its values."""
    title = " ".join(text.text or "" for each in root.iter("{*}title") for text in each.iter("{*}t"))
    columns: list[list[str]] = []
    for series in root.iter("{*}ser"):
        names, labels, values = (
            [value.text or "" for each in series.iterchildren(*tags) for value in each.iter("{*}v")]
            for tags in (("{*}tx",), ("{*}cat", "{*}xVal"), ("{*}val", "{*}yVal"))
        )
        columns += [] if columns else [["", *labels]]
        columns.append([" ".join(names), *values])
    rows = zip_longest(*columns, fillvalue="")
    return f"<p>{escape(title)}</p>{_table_html(rows)}"


def _table_html(rows: Iterable[Iterable[str]]) -> str:
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _text_html(text: str) -> str:
    """Return text as HTML, with its paragraphs and lines."""
    return "<p>".join(escape(each).replace("\n", "<br>") for each in re.split(r"\n[ \t\r]*+\n\s*+", text.strip()))


_TEXT_TAGS = {
    "p": "p", "numbers": "ol", "list": "ul", "list-item": "li", "list-header": "li", "table": "table", "br": "br",
    "table-row": "tr", "table-header-rows": "thead", "table-cell": "td", "covered-table-cell": "td", "text-box": "div",
    **{f"h{level}": f"h{level}" for level in range(1, 7)},
}  # fmt: skip
_NO_TEXT_OF_ODT = (
    "{*}tracked-changes", "{*}annotation", "{*}table-of-content", "{*}forms",
    *(f"{{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}}{each}" for each in ("title", "desc")),
)  # fmt: skip


def _read_odt(data: bytes, name: str) -> Iterator[Document]:
    package = Package(data, name)
    if b":encryption-data" in package.parts.pop("META-INF/manifest.xml", b""):
        raise DocumentReadError(f"{name} is encrypted; save it anew without a password")
    content = package.needed("content.xml")
    root = content.find("{*}body/{*}text")
    if root is None:
        raise DocumentReadError(f"{name} is no text of OpenDocument; save it as .odt, or leave it out")
    numbered = {
        (_value(style, "name"), _value(level, "level"))
        for style in content.iter("{*}list-style")
        for level in style.iterchildren("{*}list-level-style-number")
    }
    titles = {"Title", *(_value(style, "name") for style in content.iter("{*}style") if _is_title(style))}
    etree().strip_elements(root, *_NO_TEXT_OF_ODT, with_tail=False)
    notes = etree().SubElement(root, "numbers")
    for each in list(root.iter("{*}h", "{*}p", "{*}line-break", "{*}s", "{*}tab", "{*}list", "{*}note")):
        if _value(each, "style-name") in titles:
            each.tag = "h1"
        else:
            _mark_odt(each, notes, numbered)
    yield _document(_written(_renamed(root, _TEXT_TAGS))._replace(title=package.title("meta.xml")))


def _value(element: Any, name: str) -> str:
    """Return the value of an attribute by its local name; empty if there is none."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _is_title(style: Any) -> bool:
    return _value(style, "parent-style-name") == "Title"


def _mark_odt(element: Any, notes: Any, numbered: Collection[tuple[str, str]]) -> None:
    """Give an element that says more than its tag what HTML has for it; move a note to the end."""
    kind = local_name(element)
    if kind == "h":
        level = _value(element, "outline-level")
        element.tag = f"h{max(1, min(int(level), MAX_LEVEL))}" if level.isdecimal() else "h1"
    elif kind == "line-break":
        element.tag = "br"
    elif kind == "list":
        around = [element, *element.iterancestors("{*}list", "numbers")]
        style = next(filter(None, (_value(each, "style-name") for each in around)), "")
        element.tag = "numbers" if (style, str(len(around))) in numbered else element.tag
    elif kind == "note":
        item = etree().SubElement(notes, "list-item")
        item.extend(each for body in element.iterchildren("{*}note-body") for each in list(body))
        element[:] = []
        element.text = f"[{len(notes)}]"
    elif kind != "p":
        element.text = " "


# Up to where something else begins, as the braces of a damaged table aren't closed.
_FONTS = re.compile(rb"\\fonttbl.*?(?:\\(?:colortbl|stylesheet|pard)|\Z)", re.DOTALL)


def _read_rtf(data: bytes, name: str) -> Iterator[Document]:
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentReadError(f"{name} is no file in Rich Text Format; give it the suffix of its kind")
    fonts = _FONTS.search(data)
    if fonts and len(re.findall(rb"\\f\d", fonts[0])) * len(fonts[0]) > MAX_FONT_STEPS:
        raise DocumentReadError(f"{name} has too large a table of fonts, so it is damaged; save it anew as .rtf")
    read = of_extra("striprtf.striprtf", "striprtf", "office").rtf_to_text
    declared = re.search(rb"\\ansicpg(\d{3,5})", data[:HEAD_BYTES])
    encoding = f"cp{declared[1].decode()}" if declared else "cp1252"
    try:
        written = data.decode(encoding, "replace")
    except LookupError:
        written = data.decode("cp1252", "replace")
    html = []
    # Characters beyond the first plane are written as two.
    text = read(written, errors="replace").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for is_table, lines in groupby(text.split("\n"), lambda line: line.endswith("|")):
        if is_table:  # a row has a bar behind each cell
            html.append(_table_html(line[:-1].split("|") for line in lines))
        else:
            html += [f"<p>{escape(line)}</p>" for line in lines]
    yield _document(read_html("".join(html), name))


_CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def _read_epub(data: bytes, name: str) -> Iterator[Document]:
    package = Package(data, name)
    container = package.needed("META-INF/container.xml")
    path = next((each.get("full-path", "") for each in container.iter("{*}rootfile")), "")
    book = package.needed(path)
    items = {each.get("id"): each for each in book.iter("{*}item")}
    chapters = [items[each.get("idref")] for each in book.iter("{*}itemref") if each.get("idref") in items]
    pages: list[HtmlPage] = []
    for each in dict.fromkeys(chapters):
        if each.get("media-type") in _CHAPTERS and "nav" not in each.get("properties", "").split():
            part = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(each.get("href", ""))))
            if part not in package.parts:
                package.needed(part)
            written = package.parts.pop(part)
            is_wide = written.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            pages.append(read_html(written.decode("utf-16" if is_wide else "utf-8-sig", "replace"), name))
    yield _document(_joined(pages, _title(book)))


_COLOR = re.compile(r"\x1b\[[\d;]*+m")


def _read_notebook(text: str, name: str) -> Iterator[Document]:
    book = _parsed_json(text, name)
    cells = book.get("cells") if isinstance(book, dict) else None
    if cells is None and isinstance(book, dict):  # before version 4
        cells = [cell for sheet in book.get("worksheets", ()) for cell in sheet.get("cells", ())]
    if not isinstance(cells, list):
        raise DocumentReadError(f"{name} has no cells, so it is no notebook; save it anew from Jupyter")
    language = str(book.get("metadata", {}).get("language_info", {}).get("name", ""))
    written = "\n\n".join(part for cell in cells for part in _parts_of_cell(cell, language) if part.strip())
    yield Document(written)


def _parts_of_cell(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield the text of a cell as Markdown, and what it wrote."""
    kind, text = cell.get("cell_type"), _lines(cell.get("source", cell.get("input")))
    if kind == HEADING:
        text = f"{'#' * int(cell.get('level', 1))} {text}"
    yield _fenced(text, language) if kind == "code" else text
    for output in cell.get("outputs", ()):
        given = {**output, **output.get("data", {})}
        if any(key.startswith("image/") for key in given):
            continue  # its text only says that it is a picture
        best = next((given[key] for key in ("text/markdown", "text/plain", "text", "evalue") if given.get(key)), "")
        yield _lines(best) if given.get("text/markdown") else _fenced(_COLOR.sub("", _lines(best)))


def _lines(text: object) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")


def _fenced(text: str, language: str = "") -> str:
    """Return code between fences that it doesn't hold; nothing of blank text."""
    fence = "`" * (1 + max((len(each) for each in re.findall("`{2,}", text)), default=2))
    language = language if language.isalnum() else ""
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}" if text.strip() else ""


def _read_json(text: str, name: str) -> Iterator[Document]:
    yield _document(read_html("".join(_json_html(_parsed_json(text, name))), name))


def _parsed_json(text: str, name: str) -> Any:
    """Return what JSON says, with its numbers as they are written."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise DocumentReadError(f"{name} is no JSON ({error}); mend it, or save it as text") from error


def _json_html(value: Any) -> Iterator[str]:
    """Yield a value as HTML: keys and values, or values, are the items of a list; equal records the rows of a table."""
    if isinstance(value, list) and _are_rows(value):
        yield _table_html([value[0], *([_scalar(record[key]) for key in value[0]] for record in value)])
    elif isinstance(value, dict | list):
        # Numbers part records from each other.
        tag = "ol" if isinstance(value, list) and any(isinstance(each, dict | list) for each in value) else "ul"
        yield f"<{tag}>"
        for key, each in value.items() if isinstance(value, dict) else (("", each) for each in value):
            yield f"<li>{escape(key)}: " if key else "<li>"
            yield from _json_html(each)
            yield "</li>"
        yield f"</{tag}>"
    else:
        yield _text_html(_scalar(value))


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _are_rows(records: Sequence[Any]) -> bool:
    """Return whether values are records with the same keys that fit on a line each."""
    keys = records[0].keys() if len(records) > 1 and isinstance(records[0], dict) else ()
    return len(keys) > 1 and all(
        isinstance(each, dict)
        and each.keys() == keys
        and not any(isinstance(item, dict | list) for item in each.values())
        and sum(len(_scalar(item)) for item in each.values()) <= MAX_ROW_CHARS
        for each in records
    )


_ADDRESSED = ("From", "To", "Cc", "Date")
_ORDERS = ("utf-16-le", "utf-16-be")


def _read_eml(data: bytes, name: str) -> Iterator[Document]:
    if b"\0" in data[:4]:
        order = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else _ORDERS[data[:1] == b"\0"]
        data = data.decode(order, "replace").encode()
    message = message_from_bytes(data)
    if not message.keys():
        raise DocumentReadError(f"{name} has no header, so it is no message; save it anew, or as .txt")
    attached: list[str] = []
    yield _document(_joined(_pages_of_message(message, attached, name), _field(message, "Subject")))
    _warn_of_attachments(name, attached)


def _pages_of_message(message: Message, attached: list[str], name: str) -> Iterator[HtmlPage]:
    fields = {key: _field(message, key) for key in _ADDRESSED}
    yield _message_head(_field(message, "Subject"), fields, name)
    yield from _pages_of_body(message, attached, name)


def _message_head(subject: str, fields: Mapping[str, str], name: str) -> HtmlPage:
    items = "".join(f"<li>{key}: {escape(value)}</li>" for key, value in fields.items() if value)
    return read_html(f"<h1>{escape(subject)}</h1><ul>{items}</ul>", name)


def _pages_of_body(part: Message, attached: list[str], name: str) -> Iterator[HtmlPage]:
    """Yield the texts of a part of a message; of alternatives the last that has any, which is the richest."""
    held = part.get_payload()
    if isinstance(held, list) and part.get_content_type() == "multipart/alternative":
        choices = ([*_pages_of_body(each, attached, name)] for each in reversed(held) if isinstance(each, Message))
        yield from next((pages for pages in choices if any(page.text for page in pages)), ())
    elif isinstance(held, list):
        is_message = part.get_content_type() == "message/rfc822"
        for each in held:
            if isinstance(each, Message):
                yield from (_pages_of_message if is_message else _pages_of_body)(each, attached, name)
    elif part.get_filename() or part.get_content_maintype() != "text" or part.get_content_disposition() == "attachment":
        attached.append(part.get_filename() or part.get_content_type())
    else:
        text = _text_of_part(part)
        yield read_html(text if part.get_content_subtype() == "html" else _text_html(text), name)


def _text_of_part(part: Message) -> str:
    data = part.get_payload(decode=True)
    given = data if isinstance(data, bytes) else b""
    for encoding in (part.get_content_charset(), "utf-8"):
        with suppress(LookupError, ValueError):
            return given.decode(encoding or "utf-8")
    return given.decode("cp1252", "replace")


def _field(message: Message, key: str) -> str:
    return _decoded(message.get(key, ""))


def _decoded(given: Any) -> str:
    """Return the value of a field of a message's head, decoded if it can be."""
    try:
        decoded = str(make_header(decode_header(given))) if len(str(given)) <= MAX_FIELD_CHARS else str(given)
    except (LookupError, ValueError):
        decoded = str(given)
    return clean_text(" ".join(decoded.split()))


def _read_msg(data: bytes, name: str) -> Iterator[Document]:
    message = of_extra("oxmsg", "python-oxmsg", "office").Message.load(io.BytesIO(data))
    people = ", ".join(f"{each.name} <{each.email_address}>" for each in message.recipients if each.email_address)
    known = {"From": message.sender, "To": people, "Date": message.sent_date, **message.message_headers}
    fields = {key: _decoded(str(known.get(key) or "")) for key in _ADDRESSED}
    body = message.html_body or _text_html(message.body or "")
    subject = clean_text(message.subject or "")
    yield _document(_joined((_message_head(subject, fields, name), read_html(body, name)), subject))
    _warn_of_attachments(name, [(each.file_name or "unnamed").strip() for each in message.attachments])


def _warn_of_attachments(name: str, attached: Sequence[str]) -> None:
    if attached:
        warnings.warn(
            f"{name} has attachments, which aren't read: {', '.join(map(shown, attached))}; save them as files",
            SentenceWindowWarning,
            stacklevel=3,
        )


def _read_sheets(data: bytes, name: str) -> Iterator[Document]:
    package = Package(data, name)
    title = package.title("docProps/core.xml")
    return read_xlsx(package.parts, name, title)


READERS: Mapping[str, Callable[[bytes, str], Iterator[Document]]] = MappingProxyType(
    {
        ".pptx": _read_slides,
        ".xlsx": _read_sheets,
        ".odt": _read_odt,
        ".rtf": _read_rtf,
        ".epub": _read_epub,
        ".eml": _read_eml,
        ".msg": _read_msg,
    }
)
"""Readers of the bytes of a file, by its suffix."""

TEXT_READERS: Mapping[str, Callable[[str, str], Iterator[Document]]] = MappingProxyType(
    {".csv": read_csv, ".tsv": read_csv, ".ipynb": _read_notebook, ".json": _read_json}
)
"""Readers of the text of a file, by its suffix."""
