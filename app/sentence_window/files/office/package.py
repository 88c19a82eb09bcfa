"""The XML parts of a ZIP archive, such as a DOCX, PPTX, XLSX, ODT or EPUB file, unpacked within limits.

Only parts that begin as XML does are unpacked, and none with a document type definition, whose entities can grow
without end. Nothing is run or fetched: macros, formulas and links are text, or aren't read.
"""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from langchain_sentence_window.errors import DocumentReadError
from sentence_window.files.html.reader import title_of

MAX_XML_BYTES = 64 * 1024 * 1024
"""Bytes of all XML in a file, unpacked."""

MAX_XML_CHARS = 1_000_000
"""Characters of one text or of one tag."""

MAX_PARTS = 10_000
"""Parts of the archive."""

CORE = "docProps/core.xml"
"""The part of an Office file with its title and other properties."""

_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_HEAD_BYTES = 64
_BEFORE_XML = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
_TYPE = (b"<!DOCTYPE", "<!DOCTYPE".encode("utf-16-le"), "<!DOCTYPE".encode("utf-16-be"))
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_MAX_DEPTH = 256  # of libxml2


class Package:
    """The XML parts of a file.

    Attributes:
        name: The name of the file in messages.
        parts: The parts that weren't read yet. Each is read once, even if many others refer to it.
    """

    def __init__(self, data: bytes, name: str) -> None:
        """Unpack the XML parts.

        Args:
            data: The bytes of the file.
            name: Its name in messages.

        Raises:
            DocumentReadError: It is encrypted, its parts are too many or too large, or they are packed in an unusual
                way.
            zipfile.BadZipFile: It isn't a ZIP archive.
        """
        if data.startswith(_OLD_OFFICE):
            raise DocumentReadError(
                f"{name} is encrypted, or a file of an old version of Word, Excel or PowerPoint; save it again as "
                f"{Path(name).suffix} without a password"
            )
        self.name = name
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.parts = {part.filename: archive.read(part) for part in _xml_parts(archive, name)}

    def xml(self, part: str) -> Any:
        """Return the root element of a part; ``None`` if it is missing, damaged, or was read before."""
        return parsed_xml(self.parts.pop(part, b""), self.name, part)

    def needed(self, part: str) -> Any:
        """Return the root element of a part without which there is no text.

        Raises:
            DocumentReadError: It is missing, damaged, or was read before.
        """
        root = self.xml(part)
        if root is None:
            raise self.unreadable(part)
        return root

    def unreadable(self, part: str) -> DocumentReadError:
        """Return the error that a part without which there is no text can't be read."""
        return DocumentReadError(
            f"{self.name} is encrypted, damaged or of another type, as its part {part!r} can't be read; save it again "
            "without a password"
        )

    def related(self, part: str, *kinds: str) -> dict[str, str]:
        """Return the parts of some kinds to which a part of an Office file refers, by the ids of the references."""
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
        raise too_large(name, f"{MAX_PARTS:,} parts")
    size = 0
    for part in parts.values():
        if part.compress_type not in _PACKINGS:
            raise DocumentReadError(
                f"{name} packs {part.filename!r} in a way that no {_kind(name)} file does; save it again"
            )
        with archive.open(part) as file:
            head = file.read(_HEAD_BYTES).lstrip(_BEFORE_XML)
        if head[:1] not in (b"", b"<") or part.filename.lower().endswith(".svg"):
            continue
        size += part.file_size  # `read` never unpacks more than this
        if size > MAX_XML_BYTES:
            raise DocumentReadError(
                f"{name} unpacks to more than {MAX_XML_BYTES:,} bytes of XML; split it into files, or save it as text"
            )
        yield part


def parsed_xml(content: bytes, name: str, part: str) -> Any:
    """Return the root element of a part; ``None`` if it is damaged.

    Raises:
        DocumentReadError: It has a document type definition, or exceeds a limit of libxml2.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    check_type(content, name, part)
    try:
        root: Any = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
            limits = f"{MAX_XML_CHARS:,} characters without a tag, or in one, or {_MAX_DEPTH} nested elements"
            raise too_large(name, limits) from error
        return None
    # The encoding of a part may hide the mark from `check_type`.
    if root.getroottree().docinfo.internalDTD is not None:
        raise _has_type_error(name, part)
    return root


def check_type(content: bytes, name: str, part: str) -> None:
    """Check that a part has no document type definition, whose entities could grow without end.

    Raises:
        DocumentReadError: It has one.
    """
    if any(mark in content for mark in _TYPE):
        raise _has_type_error(name, part)


def _has_type_error(name: str, part: str) -> DocumentReadError:
    return DocumentReadError(
        f"{name} has a document type definition in {part!r}, which no {_kind(name)} file has; save it again"
    )


def _kind(name: str) -> str:
    return Path(name).suffix[1:].upper()


def too_large(name: str, limit: str) -> DocumentReadError:
    """Return the error that a file exceeds a limit, which is given in words."""
    return DocumentReadError(f"{name} has more than {limit}; split it into files, or save it as text")


def local_name(element: Any) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition("}")[2]
