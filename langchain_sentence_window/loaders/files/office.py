"""Slides, texts of OpenDocument, Rich Text, e-books, notebooks, messages and JSON as Markdown.

Each is made HTML, or has its elements renamed to those of HTML, and is read as any other page. So all have the same
headings, lists and tables, and none knows how they are written. Rows of sheets are told in `sheets`.

An archive is unpacked within the bounds of a DOCX file, and only its parts that are XML. Nothing is run and nothing is
fetched: macros, formulas and links are only text, or aren't read.
"""

import io
import json
import posixpath
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from html import escape
from itertools import chain, groupby, zip_longest
from typing import Any
from urllib.parse import unquote

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.documents.part_blocks import LAYOUT, write_layout
from langchain_sentence_window.documents.source_metadata import SLIDE, TITLE, TOTAL_PAGES
from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from langchain_sentence_window.loaders.file_bytes import clean_text
from langchain_sentence_window.splitting.blocks import HEADING, MAX_LEVEL
from langchain_sentence_window.splitting.data_uris import without_data_uris

from .docx import CORE, Package, local_name, title_in
from .html_elements import MarkdownText, etree
from .html_pages import MAX_ROW_CHARS, BlockWriter, write_html
from .sheets import read_csv, read_xlsx

HEAD_BYTES = 1_024
"""Bytes in which Rich Text Format says its encoding."""

MAX_FONT_STEPS = 100_000_000
"""Fonts of a file in Rich Text Format times the bytes of their table, as each may be looked for in all of it."""

MAX_FIELD_CHARS = 20_000
"""Characters of the longest field of a message that is decoded; a longer one stays as it is written."""


def _document(name: str, parts: Iterable[Any], title: str = "", **metadata: Any) -> Document:
    """Return a Document of parts: HTML, trees with its tags, and lists of alternatives, of which the first counts."""
    text = MarkdownText()
    _write(parts, name, text)
    titled = {TITLE: title} if title else {}
    return Document(text.text, metadata={**titled, **metadata, LAYOUT: write_layout(text.blocks)})


def _write(parts: Iterable[Any], name: str, text: MarkdownText) -> None:
    for part in parts:
        text.end_list()
        if isinstance(part, list):
            before = len(text.blocks)
            for each in part:
                _write(each if len(text.blocks) == before else (), name, text)
        elif isinstance(part, str):
            write_html(part, name, text)
        else:
            BlockWriter(text).write(part)


def _renamed(root: Any, tag: Callable[[Any], str]) -> Any:
    """Give elements the tags of HTML and no attributes, those in others first."""
    for each in reversed(list(root.iter())):
        each.tag = tag(each)
        each.attrib.clear()
    return root


def _table_html(rows: Iterable[Iterable[str]]) -> str:
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _text_html(text: str) -> str:
    """Return text as HTML, with its paragraphs and lines."""
    return "<p>".join(escape(each).replace("\n", "<br>") for each in re.split(r"\n[ \t\r]*+\n\s*+", text.strip()))


_TITLES = frozenset({"title", "ctrTitle"})
_LISTS = frozenset({"", "body", "obj"})
_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_SLIDE_TAGS = {each: each for each in ("h1", "ul", "li", "p", "br", "tr")} | {"tbl": "table", "tc": "td"}


def _read_slides(data: bytes, name: str) -> Iterator[Document]:
    package = Package(data, name)
    main = next(iter(package.related("", "officeDocument").values()), "ppt/presentation.xml")
    title = title_in(package.xml(CORE))
    named = package.related(main, "slide")
    ids = [value for each in package.needed(main).iter("{*}sldId") for key, value in each.items() if key[-3:] == "}id"]
    slides = [named[each] for each in dict.fromkeys(ids) if each in named]
    for number, slide in enumerate(slides, 1):
        page = _document(name, _parts_of_slide(package, slide), title, **{SLIDE: number, TOTAL_PAGES: len(slides)})
        if page.page_content:
            yield page


def _parts_of_slide(package: Package, slide: str) -> Iterator[Any]:
    for part in (slide, *package.related(slide, "chart", "diagramData", "notesSlide").values()):
        root = package.xml(part)
        if root is None:
            continue
        if local_name(root) == "chartSpace":
            yield _chart(root)
            continue
        etree().strip_elements(root, "{*}Fallback", "{*}extLst")
        for shape in list(root.iter("{*}sp")):
            _mark_shape(root, shape, is_notes=local_name(root) == "notes")
        for each in root.iter():
            each.tail, each.text = None, each.text if local_name(each) == "t" else None
        yield _renamed(root, lambda each: _SLIDE_TAGS.get(local_name(each), "span"))


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
        shape.tag = "h1"
        for each in paragraphs:
            each.tag = "line"
            each.insert(0, each.makeelement("br"))
    elif len(paragraphs) > 1:
        bullets = (next(each.iter("{*}buChar", "{*}buAutoNum"), None) for each in paragraphs)
        if kind in _LISTS or None not in bullets:
            _nest(paragraphs)


def _nest(paragraphs: Sequence[Any]) -> None:
    """Make paragraphs the items of lists, nested by their levels."""
    lists = [paragraphs[0].makeelement("ul")]
    paragraphs[0].addprevious(lists[0])
    for each in paragraphs:
        level = next((properties.get("lvl", "0") for properties in each.iterchildren("{*}pPr")), "0")
        del lists[(int(level) if level.isdecimal() else 0) + 1 :]
        if level.isdecimal() and int(level) >= len(lists) and len(lists[-1]):
            lists.append(etree().SubElement(lists[-1][-1], "ul"))
        each.tag = "li"
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
    return f"<p>{escape(title)}</p>{_table_html(zip_longest(*columns, fillvalue=''))}"


_TEXT_TAGS = {
    "numbers": "ol", "list": "ul", "list-item": "li", "list-header": "li", "table-row": "tr", "line-break": "br",
    "table-header-rows": "thead", "table-cell": "td", "covered-table-cell": "td", "text-box": "div",
    "p": "p", "table": "table",
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
        raise DocumentReadError(f"{name} isn't an OpenDocument text; save it as .odt, or leave it out")
    numbered = {
        (_value(style, "name"), _value(level, "level"))
        for style in content.iter("{*}list-style")
        for level in style.iterchildren("{*}list-level-style-number")
    }
    styles = ((_value(each, "name"), _value(each, "parent-style-name")) for each in content.iter("{*}style"))
    titles = {"Title", *(style for style, parent in styles if parent == "Title")}
    etree().strip_elements(root, *_NO_TEXT_OF_ODT, with_tail=False)
    notes = etree().SubElement(root, "numbers")
    for number, note in enumerate(list(root.iter("{*}note")), 1):
        bodies = [each for body in note.iterchildren("{*}note-body") for each in body]
        etree().SubElement(notes, "list-item").extend(bodies)
        note[:], note.text = [], f"[{number}]"

    def tag(element: Any) -> str:
        kind, style = local_name(element), _value(element, "style-name")
        if kind in ("h", "p") and style in titles:
            return "h1"
        if kind == "h":
            level = _value(element, "outline-level")
            return f"h{max(1, min(int(level), MAX_LEVEL))}" if level.isdecimal() else "h1"
        if kind == "list":
            around = [element, *element.iterancestors("{*}list", "numbers")]
            style = next(filter(None, (_value(each, "style-name") for each in around)), "")
            return "ol" if (style, str(len(around))) in numbered else "ul"
        if kind in ("s", "tab"):
            element.text = " "
        return _TEXT_TAGS.get(kind, "span")

    yield _document(name, [_renamed(root, tag)], title_in(package.xml("meta.xml")))


def _value(element: Any, name: str) -> str:
    """Return the value of an attribute by its local name; empty if there is none."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


# Up to where something else begins, as the braces of a damaged table aren't closed.
_FONTS = re.compile(rb"\\fonttbl.*?(?:\\(?:colortbl|stylesheet|pard)|\Z)", re.DOTALL)


def _read_rtf(data: bytes, name: str) -> Iterator[Document]:
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentReadError(f"{name} isn't a file in Rich Text Format; give it the suffix of its kind")
    fonts = _FONTS.search(data)
    if fonts and len(re.findall(rb"\\f\d", fonts[0])) * len(fonts[0]) > MAX_FONT_STEPS:
        raise DocumentReadError(f"{name} has too large a table of fonts, so it is damaged; save it anew as .rtf")
    read = of_extra("striprtf.striprtf", "striprtf", "files").rtf_to_text
    declared = re.search(rb"\\ansicpg(\d{3,5})", data[:HEAD_BYTES])
    text = read(_decoded(data, f"cp{declared[1].decode()}" if declared else None, errors="replace"), errors="replace")
    # Characters beyond the first plane are written as two.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    html = []
    for is_table, lines in groupby(text.split("\n"), lambda line: line.endswith("|")):
        if is_table:  # a row has a bar behind each cell
            html.append(_table_html(line[:-1].split("|") for line in lines))
        else:
            html += [f"<p>{escape(line)}</p>" for line in lines]
    yield _document(name, ["".join(html)])


def _decoded(data: bytes, *encodings: str | None, errors: str = "strict") -> str:
    """Return text in the first encoding that is known and fits; else in that of Windows."""
    for each in filter(None, encodings):
        with suppress(LookupError, ValueError):
            return data.decode(each, errors)
    return data.decode("cp1252", "replace")


_CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def _read_epub(data: bytes, name: str) -> Iterator[Document]:
    package = Package(data, name)
    container = package.needed("META-INF/container.xml")
    path = next((each.get("full-path", "") for each in container.iter("{*}rootfile")), "")
    book = package.needed(path)
    items = {each.get("id"): each for each in book.iter("{*}item")}
    chapters = [items[each.get("idref")] for each in book.iter("{*}itemref") if each.get("idref") in items]
    pages: list[str] = []
    for each in dict.fromkeys(chapters):
        if each.get("media-type") in _CHAPTERS and "nav" not in each.get("properties", "").split():
            part = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(each.get("href", ""))))
            written = package.needed(part, package.parts.pop(part, None))
            pages.append(written.decode(json.detect_encoding(written), "replace"))
    yield _document(name, pages, title_in(book))


_COLOR = re.compile(r"\x1b\[[\d;]*+m")


def _read_notebook(text: str, name: str) -> Iterator[Document]:
    book = _parsed_json(text, name)
    if not isinstance(book, dict) or not {"cells", "worksheets"} & book.keys():
        raise DocumentReadError(f"{name} has no cells, so it isn't a notebook; save it anew from Jupyter")
    language = str(book.get("metadata", {}).get("language_info", {}).get("name", ""))
    sheets = book, *book.get("worksheets", ())  # before version 4
    cells = (cell for sheet in sheets for cell in sheet.get("cells", ()))
    parts = (without_data_uris(part) for cell in cells for part in _parts_of_cell(cell, language))
    yield Document("\n\n".join(part for part in parts if part.strip()))


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
    yield _document(name, ["".join(_json_html(_parsed_json(text, name)))])


def _parsed_json(text: str, name: str) -> Any:
    """Return what JSON says, with its numbers as they are written."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise DocumentReadError(f"{name} isn't JSON ({error}); correct it, or save it as text") from error


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


def _read_eml(data: bytes, name: str) -> Iterator[Document]:
    if b"\0" in data[:4]:
        data = data.decode(json.detect_encoding(data), "replace").encode()
    message = message_from_bytes(data)
    if not message.keys():
        raise DocumentReadError(f"{name} has no header, so it isn't a message; save it anew, or as .txt")
    attached: list[str] = []
    yield _message(name, _field(message.get("Subject", "")), _parts_of_message(message, attached), attached)


def _parts_of_message(message: Message, attached: list[str]) -> Iterator[Any]:
    yield _message_head(_field(message.get("Subject", "")), message)
    yield from _parts_of_body(message, attached)


def _message_head(subject: str, fields: Any) -> str:
    items = ((key, _field(fields.get(key) or "")) for key in ("From", "To", "Cc", "Date"))
    people = "".join(f"<li>{key}: {escape(value)}</li>" for key, value in items if value)
    return f"<h1>{escape(subject)}</h1><ul>{people}</ul>"


def _field(given: Any) -> str:
    """Return the value of a field of a message's head, decoded if it can be."""
    decoded = str(given)
    with suppress(LookupError, ValueError):
        decoded = str(make_header(decode_header(decoded))) if len(decoded) <= MAX_FIELD_CHARS else decoded
    return clean_text(" ".join(decoded.split()))


def _parts_of_body(part: Message, attached: list[str]) -> Iterator[Any]:
    """Yield the texts of a part of a message, and of alternatives the last one first, as it is the richest."""
    held, kind = part.get_payload(), part.get_content_type()
    if isinstance(held, list):
        read = _parts_of_message if kind == "message/rfc822" else _parts_of_body
        inner = [read(each, attached) for each in held if isinstance(each, Message)]
        yield from [inner[::-1]] if kind == "multipart/alternative" else chain.from_iterable(inner)
    elif part.get_filename() or part.get_content_maintype() != "text" or part.get_content_disposition() == "attachment":
        attached.append(part.get_filename() or kind)
    else:
        data = part.get_payload(decode=True)
        text = _decoded(data, part.get_content_charset(), "utf-8") if isinstance(data, bytes) else ""
        yield text if part.get_content_subtype() == "html" else _text_html(text)


def _read_msg(data: bytes, name: str) -> Iterator[Document]:
    message = of_extra("oxmsg", "python-oxmsg", "files").Message.load(io.BytesIO(data))
    people = ", ".join(f"{each.name} <{each.email_address}>" for each in message.recipients if each.email_address)
    known = {"From": message.sender, "To": people, "Date": message.sent_date, **message.message_headers}
    subject = clean_text(message.subject or "")
    parts = [_message_head(subject, known), message.html_body or _text_html(message.body or "")]
    yield _message(name, subject, parts, ((each.file_name or "unnamed").strip() for each in message.attachments))


def _message(name: str, subject: str, parts: Iterable[Any], attached: Iterable[str]) -> Document:
    """Return a message as a Document, and warn of what is attached to it, which is known when it is read."""
    document, names = _document(name, parts, subject), ", ".join(map(shown, attached))
    if names:
        message = f"{name} has attachments, which aren't read: {names}; save them as files"
        warnings.warn(message, SentenceWindowWarning, stacklevel=3)
    return document


READERS: dict[str, Callable[[bytes, str], Iterator[Document]]] = {
    ".pptx": _read_slides, ".odt": _read_odt, ".rtf": _read_rtf, ".epub": _read_epub, ".eml": _read_eml,
    ".msg": _read_msg, ".xlsx": lambda data, name: read_xlsx(Package(data, name)),
}  # fmt: skip
"""Readers of the bytes of a file, by its suffix."""

TEXT_READERS: dict[str, Callable[[str, str], Iterator[Document]]] = {
    ".csv": read_csv, ".tsv": read_csv, ".ipynb": _read_notebook, ".json": _read_json,
}  # fmt: skip
"""Readers of the text of a file, by its suffix."""
