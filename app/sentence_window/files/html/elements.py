"""Elements of an HTML page by their meaning: blocks, headings, boxes, footnote marks, tables of data, and code."""

import re
from itertools import islice
from typing import Any

_BLOCKS_LIST = """
address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer
form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol optgroup option p pre search section summary table
tbody td tfoot th thead tr ul xmp listing plaintext
"""
BLOCKS = frozenset(_BLOCKS_LIST.split())
"""Elements that begin and end a block of text."""

MAX_LABEL_CHARS = 80
"""Characters of the longest label of a box, such as ``Note``."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

_BOXES = frozenset({"note", "tip", "hint", "warning", "caution", "important", "danger", "attention", "error"})
_BOXES_OF_ANY_NAME = ("admonition", "admonitionblock", "callout", "alert")
_LABEL = re.compile(r"(?:^|\s)(?:[\w-]+-)?(?:admonition|callout|alert)-(?:title|heading)(?:\s|$)")
_TABLE_PARTS = frozenset({"tr", "thead", "tbody", "table"})
_MAX_ABOVE = 5

_FOOTNOTE_NAMES = re.compile(r"footnote|noteref|endnote", re.IGNORECASE)
_FOOTNOTE_MARK = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])\s*")


def is_box(element: Any) -> bool:
    """Return whether an element is a box by its class, such as a note or a warning."""
    names = element.get("class", "").lower().split()
    return any(name in _BOXES or name.endswith(_BOXES_OF_ANY_NAME) for name in names)


def is_box_label(element: Any) -> bool:
    """Return whether an element is the label of a box: by its class, or because the box begins with it.

    A label is written before its text, as in "Note: Save your work.", since a heading would also head what follows the
    box.
    """
    name = element.get("class", "").lower()
    if _LABEL.search(name):
        return True
    above = element.getparent()
    if element.tag == "th":  # DocBook draws boxes as tables
        above = next(
            (each for each in islice(element.iterancestors(), _MAX_ABOVE) if each.tag not in _TABLE_PARTS), None
        )
        return above is not None and is_box(above)
    if name == "title" and above is not None and above.tag == "td":
        return bool(above.get("class") == "icon")
    is_first = element.getprevious() is None and above is not None and not (above.text or "").strip()
    return is_first and element.tag in HEADINGS and is_box(above)


def is_footnote_mark(link: Any) -> bool:
    """Return whether a link leads to a footnote, and its text is only the number or letter of that note."""
    if not link.get("href", "").startswith("#") or len(link) > 1:
        return False
    above = link.getparent()
    is_raised = link.find("sup") is not None or (above is not None and above.tag == "sup")
    names = " ".join(link.get(name, "") for name in ("class", "role", "rel"))
    if not is_raised and _FOOTNOTE_NAMES.search(names) is None:
        return False
    return _FOOTNOTE_MARK.fullmatch(mark_text(link)) is not None


MIN_ROWS = MIN_COLUMNS = 2
"""The fewest rows and columns of a data table; with ``<thead>`` one column is enough."""

_CELLS = ("td", "th")
_INNER = ("table", *HEADINGS, "pre")
_NOT_DATA = frozenset({"presentation", "none"})


def data_tables(root: Any) -> set[Any]:
    """Return the tables in an element that hold data, as opposed to tables that arrange a page or draw a box.

    A data table has several rows and columns, and no cell holds a heading, code or another table.
    """
    return {each for each in root.iter("table") if _is_data(each)}


def _is_data(table: Any) -> bool:
    if any(next(cell.iter(*_INNER), None) is not None for cell in table.iter(*_CELLS)):
        return False
    rows = list(table.iter("tr"))
    is_wide = any(len(row) >= MIN_COLUMNS for row in rows) or next(table.iter("thead"), None) is not None
    if len(rows) < MIN_ROWS or not is_wide or table.get("role") in _NOT_DATA:
        return False
    above = table.getparent()
    return above is None or not is_box(above) or _holds_more(above)


def _holds_more(box: Any) -> bool:
    """Return whether a box holds anything besides one table, which may only draw the box."""
    return next(islice(box.iterchildren("*"), 1, None), None) is not None or bool((box.text or "").strip())


def mark_text(link: Any) -> str:
    """Return the text of a link that may be a mark; empty if it holds too many elements to be one.

    The limit keeps the work linear where damaged pages nest links.
    """
    inside = list(islice(link.iter(), _MAX_IN_MARK + 1))
    return "".join(islice(link.itertext(), _MAX_TEXTS_OF_MARK)) if len(inside) <= _MAX_IN_MARK else ""


_MAX_IN_MARK = 8
_MAX_TEXTS_OF_MARK = 2 * _MAX_IN_MARK
_CODE_NAMES = re.compile(
    r"\b(?:code|console|example|highlight|hljs|lang|listing|prettyprint|programlisting|screen|source|src|synopsis|syntax)",
    re.IGNORECASE,
)
_MAX_OUTER = 2  # elements around preformatted text whose class or id may name a language
_ALIGNED = re.compile(r"\S {3,}\S")  # columns, or comments after code
_PROSE_SHARE = 0.95
_MAX_ALIGNED_SHARE = 0.1
_MIN_PROSE_CHARS = 400


def is_code(element: Any, text: str) -> bool:
    """Return whether preformatted text is code, rather than prose with typed line breaks, such as a standard."""
    if len(text) < _MIN_PROSE_CHARS or next(element.iter("code", "samp", "kbd"), None) is not None:
        return True
    around = (element, *islice(element.iterancestors(), _MAX_OUTER))
    if any(_CODE_NAMES.search(each.get(name, "")) for each in around for name in ("class", "id")):
        return True
    words = sum(each.isalpha() or each.isspace() or each in ".,'-" for each in text)
    lines = text.split("\n")
    aligned = sum(_ALIGNED.search(line) is not None for line in lines)
    return words < _PROSE_SHARE * len(text) or aligned > _MAX_ALIGNED_SHARE * len(lines)
