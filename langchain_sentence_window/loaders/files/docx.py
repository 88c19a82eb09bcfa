"""DOCX as Markdown: mammoth makes HTML of it, which is read as any other.

A DOCX file is a ZIP archive of XML, whose parts may have any name. mammoth gets another archive, which holds only the
XML that was checked: without document type definitions, which can make entities grow without end, and within bounds.
What is left out, such as pictures, isn't there for mammoth, so no name makes it read that.

Equations, which mammoth doesn't know, become runs before it reads them, in the linear form in which Word lets one type
them: ``x=(-b±√(b^2-4ac))/2a``.

The work of mammoth grows with the number of elements, and with the square of some lengths. Such lengths are bounded, or
what has them is left out if no text depends on it.
"""

import io
import posixpath
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.errors import DocumentReadError, MissingExtraError, SentenceWindowWarning
from langchain_sentence_window.loaders.file_bytes import clean_text

from .html_elements import etree
from .html_pages import MAX_ATTRIBUTES, MAX_TITLE_CHARS, HtmlPage, read_html, title_of

MAX_XML_BYTES = 64 * 1024 * 1024
"""Bytes of all XML in a file, unpacked."""

MAX_XML_TAGS = 2_000_000
"""Tags of all XML in a file."""

MAX_ELEMENTS = 500_000
"""Elements of all XML in a file, without those that only lay out."""

MAX_XML_CHARS = 1_000_000
"""Characters of one text, or of one tag."""

MAX_LIST_STEPS = 10_000_000
"""Items of lists times links from list to list, as each item may follow all of them."""

MAX_PARTS = 10_000
"""Parts of the archive."""

CORE = "docProps/core.xml"
"""The part with the properties of an Office file."""

_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_HEAD_BYTES = 64
_BEFORE_XML = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
_TYPE = (b"<!DOCTYPE", "<!DOCTYPE".encode("utf-16-le"), "<!DOCTYPE".encode("utf-16-be"))
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_PICTURE_DATA = "{urn:schemas-microsoft-com:office:office}gfxdata"
_MAX_STYLE_NAME = 255
_MAX_DEPTH = 256  # of libxml2
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='heading 7'] => h6:fresh
p[style-name='heading 8'] => h6:fresh
p[style-name='heading 9'] => h6:fresh
"""


_MATH_SPACES = (
    "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "http://purl.oclc.org/ooxml/officeDocument/math",
)
_WORD_SPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)


def _word(names: str, spaces: tuple[str, ...] = _WORD_SPACES) -> list[str]:
    """Return names of WordprocessingML, in its transitional and its strict form."""
    return [f"{{{space}}}{name}" for space in spaces for name in names.split()]


_UNREAD = _word("""
fldChar instrText bookmarkStart bookmarkEnd proofErr lastRenderedPageBreak sectPr rFonts sz szCs color lang spacing ind
jc kern shd noProof tcW tcBorders tcMar vAlign tblW tblLook tblGrid tblBorders tblPrEx trHeight pBdr tabs
""") + [f"{{urn:schemas-microsoft-com:vml}}{name}" for name in ("stroke", "path", "fill", "formulas", "handles")]
_UNREAD += _word("oMathParaPr", _MATH_SPACES)
"""Codes of fields, whose results are runs, and what only lays out."""

_LINKS = _word("hyperlink")
_NOTES = _word("footnoteReference endnoteReference")
_IDS = _word("id")
_STYLE_NAMES = _word("name")
_VALUES = _word("val")
_ITEMS = _word("numPr")
_LIST_LINKS = _word("numStyleLink")
_SAME = {**dict.fromkeys(_word("ptab"), "tab"), **dict.fromkeys(_word("cr"), "br")}
"""Elements that mammoth doesn't know, and those that are the same in text."""

_EQUATIONS = _word("oMath", _MATH_SPACES)
_LINES_OF_EQUATIONS = _word("oMathPara", _MATH_SPACES)
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_APPLIED_TO = "\u2061"  # between a function and what follows, and not seen
_SCRIPTS = frozenset({"sSup", "sSub", "sSubSup"})
_MAX_TOLD = 3


def read_docx(data: bytes, name: str) -> HtmlPage:
    """Read a DOCX file.

    Args:
        data: Its bytes.
        name: Its name in messages.

    Raises:
        DocumentReadError: It is damaged, encrypted, of another type or too large.
        MissingExtraError: mammoth or lxml isn't installed.
    """
    library = _mammoth()
    try:
        checked, title = _checked(Package(data, name))
        html = library.convert_to_html(
            io.BytesIO(checked), style_map=_STYLES, include_embedded_style_map=False, convert_image=lambda _: []
        )
    except (DocumentReadError, MissingExtraError):
        raise
    except Exception as error:
        # ZIP, XML and what holds them fail in very many ways; RecursionError is one.
        raise DocumentReadError(
            f"{name} can't be read as DOCX ({type(error).__name__}): it is damaged or of another type; save it anew as "
            ".docx"
        ) from error
    _warn_of_ignored([each.message for each in html.messages], name)
    page = read_html(html.value, name)
    return page._replace(title=title)


def _warn_of_ignored(messages: list[str], name: str) -> None:
    """Warn once of what mammoth leaves out; of styles without a meaning of their own, the text is read."""
    ignored = sorted({each.rpartition("}")[2] for each in messages if "ignored" in each})
    if ignored:
        told = "; ".join(clean_text(each)[:MAX_TITLE_CHARS] for each in ignored[:_MAX_TOLD])
        more = f"; and {len(ignored) - _MAX_TOLD} more" if len(ignored) > _MAX_TOLD else ""
        warnings.warn(
            f"{name} holds what can't be read: {told}{more}; if text is missing, save it anew as .docx, or as a PDF",
            SentenceWindowWarning,
            stacklevel=2,
        )


@cache
def _mammoth() -> Any:
    return of_extra("mammoth", "mammoth", "files")


def _checked(package: "Package") -> tuple[bytes, str]:
    """Return an archive of what is XML in a file, and the title in its properties."""
    title, name = "", package.name
    counts: Counter[str] = Counter()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as copy:
        for part, content in package.parts.items():
            counts["tags"] += content.count(b"<")
            if counts["tags"] > MAX_XML_TAGS:
                raise _too_large(name, f"{MAX_XML_TAGS:,} tags of XML")
            root = parsed_xml(content, name, part)
            if root is None:  # it may be no part of the text; else mammoth finds that it is damaged
                copy.writestr(part, b"")
                continue
            title = title_in(root) if part == CORE else title
            _reduce(root)
            _check(root, name, counts)
            copy.writestr(part, etree().tostring(root, encoding="utf-8"))
    return written.getvalue(), title


class Package:
    """The XML of a ZIP archive, such as of an Office file.

    Attributes:
        name: The name of the file in messages.
        parts: The parts that weren't read yet, as each is read once, however many others refer to it.
    """

    def __init__(self, data: bytes, name: str) -> None:
        """Unpack the parts that begin as XML does; of all others, no more than the beginning.

        Args:
            data: The bytes of the file.
            name: Its name in messages.

        Raises:
            DocumentReadError: It is encrypted, or no such archive; its parts are too many or too large, or packed in
                an odd way.
        """
        if data.startswith(_OLD_OFFICE):
            raise DocumentReadError(
                f"{name} is encrypted, or a file of an old version of Word, Excel or PowerPoint; save it anew as "
                f"{Path(name).suffix} without a password"
            )
        self.name = name
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.parts = {part.filename: archive.read(part) for part in _xml_parts(archive, name)}

    def xml(self, part: str) -> Any:
        """Return the root element of a part; ``None`` if it isn't there, was read, or is damaged."""
        return parsed_xml(self.parts.pop(part, b""), self.name, part)

    def needed(self, part: str, found: Any = None) -> Any:
        """Return what was found of a part without which there is no text, or else its root element.

        Raises:
            DocumentReadError: There is none.
        """
        found = self.xml(part) if found is None else found
        if found is None:
            raise DocumentReadError(
                f"{self.name} is encrypted, damaged or of another type, as its part {part!r} can't be read; save it "
                "anew without a password"
            )
        return found

    def related(self, part: str, *kinds: str) -> dict[str, str]:
        """Return the parts of some kinds that a part of an Office file refers to, by the ids of its references."""
        folder, _, own = part.rpartition("/")
        root = self.xml(posixpath.join(folder, "_rels", f"{own}.rels"))
        return {
            each.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, each.get("Target", "")))[1:]
            for each in (() if root is None else root.iter("{*}Relationship"))
            if each.get("Type", "").rpartition("/")[2] in kinds and each.get("TargetMode") != "External"
        }


def title_in(root: Any) -> str:
    """Return the title in the properties of a file; empty if there is none."""
    found = None if root is None else next(root.iter(_TITLE), None)
    return title_of("" if found is None else found.text or "")


def _xml_parts(archive: zipfile.ZipFile, name: str) -> Iterator[zipfile.ZipInfo]:
    parts = {part.filename: part for part in archive.infolist() if not part.is_dir()}
    if len(archive.infolist()) > MAX_PARTS:
        raise _too_large(name, f"{MAX_PARTS:,} parts")
    size = 0
    for part in parts.values():
        if part.compress_type not in _PACKINGS:
            raise DocumentReadError(
                f"{name} packs {part.filename!r} in a way that no {_kind(name)} file does; save it anew"
            )
        with archive.open(part) as file:
            head = file.read(_HEAD_BYTES).lstrip(_BEFORE_XML)
        if head[:1] not in (b"", b"<") or part.filename.lower().endswith(".svg"):
            continue
        size += part.file_size  # no more is unpacked of a part than it says here
        if size > MAX_XML_BYTES:
            raise DocumentReadError(
                f"{name} unpacks to more than {MAX_XML_BYTES:,} bytes of XML; split it into files, or save it as text"
            )
        yield part


def parsed_xml(content: bytes, name: str, part: str) -> Any:
    """Return the root element of a part; ``None`` if it is damaged.

    Raises:
        DocumentReadError: It has a document type definition, or goes beyond the bounds of libxml2.
    """
    library = etree()
    parser = library.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    check_type(content, name, part)
    try:
        root: Any = library.fromstring(content, parser)
    except library.XMLSyntaxError as error:
        if error.code == library.ErrorTypes.ERR_RESOURCE_LIMIT:
            bounds = f"{MAX_XML_CHARS:,} characters without a tag, or in one, or {_MAX_DEPTH} elements in each other"
            raise _too_large(name, bounds) from error
        return None
    # An encoding may hide the mark.
    if root.getroottree().docinfo.internalDTD is not None:
        raise _with_type(name, part)
    return root


def check_type(content: bytes, name: str, part: str) -> None:
    """Check that a part has no document type definition, as entities in one can grow without end.

    Raises:
        DocumentReadError: It has one.
    """
    if any(mark in content for mark in _TYPE):
        raise _with_type(name, part)


def _with_type(name: str, part: str) -> DocumentReadError:
    return DocumentReadError(
        f"{name} has a document type definition in {part!r}, which no {_kind(name)} file has; save it anew"
    )


def _kind(name: str) -> str:
    return Path(name).suffix[1:].upper()


def _reduce(root: Any) -> None:
    """Leave out what no text depends on, and what would be written again for each place that names it."""
    library = etree()
    equations = list(root.iter(*_EQUATIONS))
    follow = {each for each in equations if each.getprevious() is not None and each.getprevious().tag in _EQUATIONS}
    for equation in equations:
        _to_run(equation, " " if equation in follow else "")
    for element in root.iter(*_SAME):
        element.tag = element.tag.partition("}")[0] + "}" + _SAME[element.tag]
    library.strip_tags(root, *_LINES_OF_EQUATIONS)
    library.strip_elements(root, *_UNREAD, with_tail=False)
    library.strip_tags(root, *_LINKS)
    library.strip_attributes(root, _PICTURE_DATA)
    library.cleanup_namespaces(root)
    noted = set()
    for note in list(root.iter(*_NOTES)):
        named = note.tag, *map(note.get, _IDS)
        if named in noted:
            note.getparent().remove(note)
        noted.add(named)
    for style_name in root.iter(*_STYLE_NAMES):
        for key in _VALUES:
            if len(style_name.get(key, "")) > _MAX_STYLE_NAME:
                style_name.set(key, style_name.get(key)[:_MAX_STYLE_NAME])


def _check(root: Any, name: str, counts: Counter[str]) -> None:
    """Count what is in a part, and refuse the file if there is too much in it."""
    counts["elements"] += int(root.xpath("count(//*)"))
    if counts["elements"] > MAX_ELEMENTS:
        raise _too_large(name, f"{MAX_ELEMENTS:,} elements of XML")
    if root.xpath(f"boolean(//*[count(@*) > {MAX_ATTRIBUTES}])"):
        raise _too_large(name, f"{MAX_ATTRIBUTES:,} attributes in a tag")
    for element in root.iter():
        tag = len(element.tag) + sum(len(key) + len(value) for key, value in element.attrib.items())
        if max(tag, len(element.text or ""), len(element.tail or "")) > MAX_XML_CHARS:
            raise _too_large(name, f"{MAX_XML_CHARS:,} characters without a tag, or in one")
    counts["items"] += sum(1 for _ in root.iter(*_ITEMS))
    counts["links"] += sum(1 for _ in root.iter(*_LIST_LINKS))
    if counts["items"] * counts["links"] > MAX_LIST_STEPS:
        raise _too_large(name, f"{MAX_LIST_STEPS:,} steps from items of lists to their styles")


def _too_large(name: str, bound: str) -> DocumentReadError:
    return DocumentReadError(f"{name} has more than {bound}; split it into files, or save it as text")


def _to_run(equation: Any, before: str) -> None:
    """Make an equation a run of text, after what stands before it."""
    space = _WORD_SPACES[_EQUATIONS.index(equation.tag)]
    text = " ".join(_linear(equation).replace(_APPLIED_TO, " ").split())
    for child in list(equation):
        equation.remove(child)
    equation.tag = f"{{{space}}}r"
    etree().SubElement(equation, f"{{{space}}}t", {_SPACE: "preserve"}).text = before + text


def _linear(element: Any) -> str:
    """Return the text of an equation, or of a part of it; what has no form of its own is the text of its parts."""
    name = local_name(element)
    if name in ("t", "br", "tab"):
        return (element.text or "") if name == "t" else " "
    if name.endswith("Pr"):
        return ""
    write = _FORMS.get(name)
    if write:
        return write(element)
    written, has_script = "", False
    for child in element.iterchildren("*"):
        text = _linear(child)
        written += (" " if has_script and text[:1].isalnum() else "") + text
        has_script = local_name(child) in _SCRIPTS if text else has_script
    return written


def local_name(element: Any) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _parts(element: Any, name: str) -> list[str]:
    return [_linear(each).strip() for each in element.iterchildren("*") if local_name(each) == name]


def _part(element: Any, name: str) -> str:
    return "".join(_parts(element, name))


def _option(element: Any, name: str, usual: str) -> str:
    """Return an option of a form, such as the sign of a sum."""
    found = [
        each
        for each in element.iterfind("*/*")
        if local_name(each) == name and local_name(each.getparent()).endswith("Pr")
    ]
    values = [value for each in found[:1] for key, value in each.attrib.items() if key.endswith("}val")]
    return values[0] if values else usual


def _whole(text: str) -> str:
    """Put a part that isn't one number, word or parenthesis into parentheses."""
    if not text[1:] or text.isalpha() or text.replace(".", "").isdecimal():
        return text
    depth = 0
    for place, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if not depth:
            return text if place == len(text) - 1 else f"({text})"
    return f"({text})"


def _scripts(element: Any, *, below: str = "sub", above: str = "sup") -> str:
    lower, upper = _part(element, below), _part(element, above)
    raised = upper if upper and set(upper) <= set("′″‴'") else f"^{_whole(upper)}"
    return (f"_{_whole(lower)}" if lower else "") + (raised if upper else "")


def _fraction(element: Any) -> str:
    bar = "¦" if _option(element, "type", "bar") == "noBar" else "/"
    return f"{_whole(_part(element, 'num'))}{bar}{_whole(_part(element, 'den'))}"


def _root(element: Any) -> str:
    degree, inside = _part(element, "deg"), _part(element, "e")
    return f"√({degree}&{inside})" if degree else f"√({inside})"


def _function(element: Any) -> str:
    name, inside = _part(element, "fName"), _part(element, "e")
    return f"{name}{inside}" if name.isalpha() and inside.startswith("(") else f"{name} {inside}"


def _enclosed(element: Any) -> str:
    inside = _option(element, "sepChr", "|").join(_parts(element, "e"))
    return f"{_option(element, 'begChr', '(')}{inside}{_option(element, 'endChr', ')')}"


def _matrix(element: Any) -> str:
    rows = [each for each in element.iterchildren("*") if local_name(each) == "mr"]
    return "[" + "; ".join(", ".join(_parts(row, "e")) for row in rows) + "]"


def _barred(element: Any) -> str:
    return _whole(_part(element, "e")) + ("\u0305" if _option(element, "pos", "bot") == "top" else "\u0332")


_FORMS: dict[str, Callable[[Any], str]] = {
    "f": _fraction,
    **dict.fromkeys(_SCRIPTS, lambda element: _whole(_part(element, "e")) + _scripts(element)),
    "sPre": lambda element: f"{_scripts(element)} {_part(element, 'e')}",
    "limLow": lambda element: _part(element, "e") + _scripts(element, below="lim"),
    "limUpp": lambda element: _part(element, "e") + _scripts(element, above="lim"),
    "nary": lambda element: f"{_option(element, 'chr', '∫')}{_scripts(element)} {_part(element, 'e')}",
    "rad": _root,
    "func": _function,
    "d": _enclosed,
    "m": _matrix,
    "eqArr": lambda element: "; ".join(_parts(element, "e")),
    "acc": lambda element: _whole(_part(element, "e")) + _option(element, "chr", "\u0302"),
    "bar": _barred,
}
