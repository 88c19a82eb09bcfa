"""Documents of Word (DOCX): mammoth converts them to HTML, which is read as any other.

A DOCX file is a ZIP archive of XML whose parts may have any name. mammoth gets a copy of the archive that holds only
checked XML, so no name in the file makes it read anything else. Equations, which mammoth doesn't know, are converted to
text first.

The work of mammoth grows with the number of elements, and with the square of some lengths. These lengths are limited;
elements that have them but don't affect the text are left out.
"""

import io
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import mammoth
from langchain_core.documents import Document
from lxml import etree

from langchain_sentence_window.errors import DocumentReadError, SentenceWindowWarning
from sentence_window.files.file_bytes import clean_text
from sentence_window.files.html.parts import document_of
from sentence_window.files.html.reader import MAX_ATTRIBUTES, MAX_TITLE_CHARS

from .equations import linear_form
from .package import CORE, MAX_XML_CHARS, Package, parsed_xml, title_in, too_large

MAX_XML_TAGS = 2_000_000
"""Tags of all XML in a file."""

MAX_ELEMENTS = 500_000
"""Elements of all XML in a file, without those that only affect the layout."""

MAX_LIST_STEPS = 10_000_000
"""List items times links from list to list, as each item may follow every link."""

_PICTURE_DATA = "{urn:schemas-microsoft-com:office:office}gfxdata"
_MAX_STYLE_NAME = 255
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
    """Return names of WordprocessingML in its transitional and its strict namespace."""
    return [f"{{{space}}}{name}" for space in spaces for name in names.split()]


_WITHOUT_TEXT = _word("""
fldChar instrText bookmarkStart bookmarkEnd proofErr lastRenderedPageBreak sectPr rFonts sz szCs color lang spacing ind
jc kern shd noProof tcW tcBorders tcMar vAlign tblW tblLook tblGrid tblBorders tblPrEx trHeight pBdr tabs
""") + [f"{{urn:schemas-microsoft-com:vml}}{name}" for name in ("stroke", "path", "fill", "formulas", "handles")]
_WITHOUT_TEXT += _word("oMathParaPr", _MATH_SPACES)
"""Field codes, whose results are runs of text, and elements that only affect the layout."""

_LINKS = _word("hyperlink")
_NOTES = _word("footnoteReference endnoteReference")
_IDS = _word("id")
_STYLE_NAMES = _word("name")
_VALUES = _word("val")
_ITEMS = _word("numPr")
_LIST_STYLE_LINKS = _word("numStyleLink")
_EQUIVALENTS = {**dict.fromkeys(_word("ptab"), "tab"), **dict.fromkeys(_word("cr"), "br")}
"""Elements that mammoth doesn't know, and the ones with the same text that it knows."""

_EQUATIONS = _word("oMath", _MATH_SPACES)
_EQUATION_LINES = _word("oMathPara", _MATH_SPACES)
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_APPLIED_TO = "\u2061"  # between a function and what follows, and not seen
_MAX_LISTED = 3


def read_docx(data: bytes, name: str) -> Iterator[Document]:
    """Read a DOCX file.

    Args:
        data: Its bytes.
        name: Its name in messages.

    Raises:
        DocumentReadError: It is damaged, encrypted, of another type, or too large.
    """
    try:
        checked, title = _checked(Package(data, name))
        html = mammoth.convert_to_html(
            io.BytesIO(checked), style_map=_STYLES, include_embedded_style_map=False, convert_image=lambda _: []
        )
    except DocumentReadError:
        raise
    except Exception as error:
        # ZIP, XML and mammoth fail in very many ways; RecursionError is one.
        raise DocumentReadError(
            f"{name} can't be read as DOCX ({type(error).__name__}): it is damaged, or isn't a DOCX file; save it "
            "again as .docx"
        ) from error
    _warn_of_ignored([each.message for each in html.messages], name)
    yield document_of(name, [html.value], title)


def _warn_of_ignored(messages: list[str], name: str) -> None:
    """Warn once of elements that mammoth ignored. Its other messages are of unknown styles, whose text is read."""
    ignored = sorted({each.rpartition("}")[2] for each in messages if "ignored" in each})
    if ignored:
        listed = "; ".join(clean_text(each)[:MAX_TITLE_CHARS] for each in ignored[:_MAX_LISTED])
        more = f"; and {len(ignored) - _MAX_LISTED} more" if len(ignored) > _MAX_LISTED else ""
        warnings.warn(
            f"{name} has elements that can't be read: {listed}{more}; if text is missing, save it again as .docx or "
            "as a PDF",
            SentenceWindowWarning,
            stacklevel=2,
        )


def _checked(package: Package) -> tuple[bytes, str]:
    """Return an archive of the checked XML of a file, and the title in its properties."""
    title, name = "", package.name
    counts: Counter[str] = Counter()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as copy:
        for part, content in package.parts.items():
            counts["tags"] += content.count(b"<")
            if counts["tags"] > MAX_XML_TAGS:
                raise too_large(name, f"{MAX_XML_TAGS:,} tags of XML")
            root = parsed_xml(content, name, part)
            if root is None:  # if the text needs it, mammoth raises
                copy.writestr(part, b"")
                continue
            title = title_in(root) if part == CORE else title
            _reduce(root)
            _count(root, name, counts)
            copy.writestr(part, etree.tostring(root, encoding="utf-8"))
    return written.getvalue(), title


def _reduce(root: Any) -> None:
    """Remove elements that don't affect the text, and notes that would be written once for each reference to them."""
    equations = list(root.iter(*_EQUATIONS))
    follow = {each for each in equations if each.getprevious() is not None and each.getprevious().tag in _EQUATIONS}
    for equation in equations:
        _to_run(equation, " " if equation in follow else "")
    for element in root.iter(*_EQUIVALENTS):
        element.tag = element.tag.partition("}")[0] + "}" + _EQUIVALENTS[element.tag]
    etree.strip_tags(root, *_EQUATION_LINES)
    etree.strip_elements(root, *_WITHOUT_TEXT, with_tail=False)
    etree.strip_tags(root, *_LINKS)
    etree.strip_attributes(root, _PICTURE_DATA)
    etree.cleanup_namespaces(root)
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


def _count(root: Any, name: str, counts: Counter[str]) -> None:
    """Add a part to the counts.

    Raises:
        DocumentReadError: The file exceeds a limit.
    """
    counts["elements"] += int(root.xpath("count(//*)"))
    if counts["elements"] > MAX_ELEMENTS:
        raise too_large(name, f"{MAX_ELEMENTS:,} elements of XML")
    if root.xpath(f"boolean(//*[count(@*) > {MAX_ATTRIBUTES}])"):
        raise too_large(name, f"{MAX_ATTRIBUTES:,} attributes in a tag")
    for element in root.iter():
        tag = len(element.tag) + sum(len(key) + len(value) for key, value in element.attrib.items())
        if max(tag, len(element.text or ""), len(element.tail or "")) > MAX_XML_CHARS:
            raise too_large(name, f"{MAX_XML_CHARS:,} characters without a tag, or in one")
    counts["items"] += sum(1 for _ in root.iter(*_ITEMS))
    counts["links"] += sum(1 for _ in root.iter(*_LIST_STYLE_LINKS))
    if counts["items"] * counts["links"] > MAX_LIST_STEPS:
        raise too_large(name, f"{MAX_LIST_STEPS:,} steps from items of lists to their styles")


def _to_run(equation: Any, before: str) -> None:
    """Replace an equation by a run of text.

    Args:
        equation: The element, which is changed in place.
        before: The text to begin with.
    """
    space = _WORD_SPACES[_EQUATIONS.index(equation.tag)]
    text = " ".join(linear_form(equation).replace(_APPLIED_TO, " ").split())
    for child in list(equation):
        equation.remove(child)
    equation.tag = f"{{{space}}}r"
    etree.SubElement(equation, f"{{{space}}}t", {_SPACE: "preserve"}).text = before + text
