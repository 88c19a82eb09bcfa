"""Slides of PPTX files, one Document a slide: titles, lists, tables, charts, diagrams and notes."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import zip_longest
from typing import Any

from langchain_core.documents import Document
from lxml import etree

from langchain_sentence_window.documents import SLIDE, TOTAL_PAGES
from sentence_window.files.html.parts import document_of, rename_elements, table_html

from .package import CORE, Package, local_name, title_in

_TITLES = frozenset({"title", "ctrTitle"})
_LISTS = frozenset({"", "body", "obj"})
_REPEATED = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_SLIDE_TAGS = {each: each for each in ("h1", "ul", "li", "p", "br", "tr")} | {"tbl": "table", "tc": "td"}


def read_slides(data: bytes, name: str) -> Iterator[Document]:
    """Read a PPTX file as one Document a slide, without slides that hold no text.

    Raises:
        DocumentReadError: It is encrypted, damaged, or too large.
    """
    package = Package(data, name)
    main = next(iter(package.related("", "officeDocument").values()), "ppt/presentation.xml")
    title = title_in(package.xml(CORE))
    named = package.related(main, "slide")
    ids = [value for each in package.needed(main).iter("{*}sldId") for key, value in each.items() if key[-3:] == "}id"]
    slides = [named[each] for each in dict.fromkeys(ids) if each in named]
    for number, slide in enumerate(slides, 1):
        page = document_of(name, _parts_of_slide(package, slide), title, **{SLIDE: number, TOTAL_PAGES: len(slides)})
        if page.page_content:
            yield page


def _parts_of_slide(package: Package, slide: str) -> Iterator[Any]:
    for part in (slide, *package.related(slide, "chart", "diagramData", "notesSlide").values()):
        root = package.xml(part)
        if root is None:
            continue
        if local_name(root) == "chartSpace":
            yield _chart_html(root)
            continue
        etree.strip_elements(root, "{*}Fallback", "{*}extLst")
        for shape in list(root.iter("{*}sp")):
            _mark_shape(root, shape, is_notes=local_name(root) == "notes")
        for each in root.iter():
            each.tail, each.text = None, each.text if local_name(each) == "t" else None
        yield rename_elements(root, lambda each: _SLIDE_TAGS.get(local_name(each), "span"))


def _mark_shape(root: Any, shape: Any, *, is_notes: bool) -> None:
    """Mark a shape as a heading or a list; remove dates, footers and slide numbers."""
    holder = next(shape.iter("{*}ph"), None)
    kind = None if holder is None else holder.get("type", "")
    paragraphs = [each for each in shape.iter("{*}p") if any(text.text for text in each.iter("{*}t"))]
    if kind in _REPEATED or not paragraphs:
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
            _nest_items(paragraphs)


def _nest_items(paragraphs: Sequence[Any]) -> None:
    """Turn paragraphs into items of lists, nested by their levels."""
    lists = [paragraphs[0].makeelement("ul")]
    paragraphs[0].addprevious(lists[0])
    for each in paragraphs:
        level = next((properties.get("lvl", "0") for properties in each.iterchildren("{*}pPr")), "0")
        del lists[(int(level) if level.isdecimal() else 0) + 1 :]
        if level.isdecimal() and int(level) >= len(lists) and len(lists[-1]):
            lists.append(etree.SubElement(lists[-1][-1], "ul"))
        each.tag = "li"
        lists[-1].append(each)


def _chart_html(root: Any) -> str:
    """Return the title of a chart and a table of its values, as HTML."""
    title = " ".join(text.text or "" for each in root.iter("{*}title") for text in each.iter("{*}t"))
    columns: list[list[str]] = []
    for series in root.iter("{*}ser"):
        names, labels, values = (
            [value.text or "" for each in series.iterchildren(*tags) for value in each.iter("{*}v")]
            for tags in (("{*}tx",), ("{*}cat", "{*}xVal"), ("{*}val", "{*}yVal"))
        )
        columns += [] if columns else [["", *labels]]
        columns.append([" ".join(names), *values])
    return f"<p>{escape(title)}</p>{table_html(zip_longest(*columns, fillvalue=''))}"
