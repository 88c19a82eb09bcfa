"""Texts of OpenDocument (ODT), whose elements are renamed to those of HTML."""

from collections.abc import Iterator
from typing import Any

from langchain_core.documents import Document
from lxml import etree

from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.splitting import MAX_LEVEL
from sentence_window.files.html.parts import document_of, rename_elements

from .package import Package, local_name, title_in

_TEXT_TAGS = {
    "numbers": "ol", "list": "ul", "list-item": "li", "list-header": "li", "table-row": "tr", "line-break": "br",
    "table-header-rows": "thead", "table-cell": "td", "covered-table-cell": "td", "text-box": "div",
    "p": "p", "table": "table",
}  # fmt: skip
_WITHOUT_TEXT = (
    "{*}tracked-changes", "{*}annotation", "{*}table-of-content", "{*}forms",
    *(f"{{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}}{each}" for each in ("title", "desc")),
)  # fmt: skip


def read_odt(data: bytes, name: str) -> Iterator[Document]:
    """Read an ODT file as one Document.

    Raises:
        DocumentReadError: It is encrypted, damaged, of another type, or too large.
    """
    package = Package(data, name)
    if b":encryption-data" in package.parts.pop("META-INF/manifest.xml", b""):
        raise DocumentReadError(f"{name} is encrypted; save it again without a password")
    content = package.needed("content.xml")
    root = content.find("{*}body/{*}text")
    if root is None:
        raise DocumentReadError(f"{name} isn't an OpenDocument text; save it as .odt, or leave it out")
    numbered = {
        (_attribute(style, "name"), _attribute(level, "level"))
        for style in content.iter("{*}list-style")
        for level in style.iterchildren("{*}list-level-style-number")
    }
    styles = ((_attribute(each, "name"), _attribute(each, "parent-style-name")) for each in content.iter("{*}style"))
    titles = {"Title", *(style for style, parent in styles if parent == "Title")}
    etree.strip_elements(root, *_WITHOUT_TEXT, with_tail=False)
    notes = etree.SubElement(root, "numbers")
    for number, note in enumerate(list(root.iter("{*}note")), 1):
        bodies = [each for body in note.iterchildren("{*}note-body") for each in body]
        etree.SubElement(notes, "list-item").extend(bodies)
        note[:], note.text = [], f"[{number}]"

    def tag(element: Any) -> str:
        kind, style = local_name(element), _attribute(element, "style-name")
        if kind in ("h", "p") and style in titles:
            return "h1"
        if kind == "h":
            level = _attribute(element, "outline-level")
            return f"h{max(1, min(int(level), MAX_LEVEL))}" if level.isdecimal() else "h1"
        if kind == "list":
            around = [element, *element.iterancestors("{*}list", "numbers")]
            style = next(filter(None, (_attribute(each, "style-name") for each in around)), "")
            return "ol" if (style, str(len(around))) in numbered else "ul"
        if kind in ("s", "tab"):
            element.text = " "
        return _TEXT_TAGS.get(kind, "span")

    yield document_of(name, [rename_elements(root, tag)], title_in(package.xml("meta.xml")))


def _attribute(element: Any, name: str) -> str:
    """Return an attribute by its local name; empty if it is missing."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")
