"""The labels of notes, tips and warnings that stand in a box of their own, and marks of footnotes.

The label of a box is written before its text, as in "Note: Save your work.", since a heading would hold what comes
after the box too.
"""

import re
from itertools import islice
from typing import Any

MAX_LABEL_CHARS = 80
"""Characters of the longest label."""

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

_BOXES = frozenset({"note", "tip", "hint", "warning", "caution", "important", "danger", "attention", "error"})
_BOXES_OF_ANY_NAME = ("admonition", "admonitionblock", "callout", "alert")
_LABEL = re.compile(r"(?:^|\s)(?:[\w-]+-)?(?:admonition|callout|alert)-(?:title|heading)(?:\s|$)")
_OF_TABLE = frozenset({"tr", "thead", "tbody", "table"})
_MAX_ABOVE = 5

_OF_FOOTNOTE = re.compile(r"footnote|noteref|endnote", re.IGNORECASE)
_FOOTNOTE_MARK = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])\s*")


def is_box(element: Any) -> bool:
    """Return whether an element is a box by its class."""
    names = element.get("class", "").lower().split()
    return any(name in _BOXES or name.endswith(_BOXES_OF_ANY_NAME) for name in names)


def is_label(element: Any) -> bool:
    """Return whether an element is the label of a box: it says so, or it is what the box begins with."""
    name = element.get("class", "").lower()
    if _LABEL.search(name):
        return True
    above = element.getparent()
    if element.tag == "th":  # as in boxes that DocBook draws by tables
        above = next((each for each in islice(element.iterancestors(), _MAX_ABOVE) if each.tag not in _OF_TABLE), None)
        return above is not None and is_box(above)
    if name == "title" and above is not None and above.tag == "td":
        return bool(above.get("class") == "icon")
    is_first = element.getprevious() is None and above is not None and not (above.text or "").strip()
    return is_first and element.tag in HEADINGS and is_box(above)


def is_footnote_mark(link: Any) -> bool:
    """Return whether a link leads to a footnote, and its text is the bare number or letter of that."""
    if not link.get("href", "").startswith("#") or len(link) > 1:
        return False
    above = link.getparent()
    is_raised = link.find("sup") is not None or (above is not None and above.tag == "sup")
    names = " ".join(link.get(name, "") for name in ("class", "role", "rel"))
    if not is_raised and _OF_FOOTNOTE.search(names) is None:
        return False
    return _FOOTNOTE_MARK.fullmatch("".join(link.itertext())) is not None
