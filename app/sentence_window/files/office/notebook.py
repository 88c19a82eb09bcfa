"""Notebooks of Jupyter as Markdown: text, code, and the output of code."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.errors import DocumentReadError
from langchain_sentence_window.splitting import HEADING, without_data_uris
from sentence_window.files.text_encoding import decode

from .json_file import parsed_json

_COLOR = re.compile(r"\x1b\[[\d;]*+m")


def read_notebook(data: bytes, name: str) -> Iterator[Document]:
    """Read a notebook as one Document.

    Raises:
        DocumentReadError: It isn't JSON, or isn't a notebook.
    """
    book = parsed_json(decode(data, name), name)
    if not isinstance(book, dict) or not {"cells", "worksheets"} & book.keys():
        raise DocumentReadError(f"{name} has no cells, so it isn't a notebook; save it again from Jupyter")
    language = str(book.get("metadata", {}).get("language_info", {}).get("name", ""))
    sheets = book, *book.get("worksheets", ())  # before version 4
    cells = (cell for sheet in sheets for cell in sheet.get("cells", ()))
    parts = (without_data_uris(part) for cell in cells for part in _parts_of_cell(cell, language))
    yield Document("\n\n".join(part for part in parts if part.strip()))


def _parts_of_cell(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield the text of a cell as Markdown, and its outputs."""
    kind, text = cell.get("cell_type"), _lines(cell.get("source", cell.get("input")))
    if kind == HEADING:
        text = f"{'#' * int(cell.get('level', 1))} {text}"
    yield _fenced(text, language) if kind == "code" else text
    for output in cell.get("outputs", ()):
        given = {**output, **output.get("data", {})}
        if any(key.startswith("image/") for key in given):
            continue  # the text of a picture is only its name
        best = next((given[key] for key in ("text/markdown", "text/plain", "text", "evalue") if given.get(key)), "")
        yield _lines(best) if given.get("text/markdown") else _fenced(_COLOR.sub("", _lines(best)))


def _lines(text: object) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text or "")


def _fenced(text: str, language: str = "") -> str:
    """Return code between fences longer than any inside it; empty if the code is blank."""
    fence = "`" * (1 + max((len(each) for each in re.findall("`{2,}", text)), default=2))
    language = language if language.isalnum() else ""
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}" if text.strip() else ""
