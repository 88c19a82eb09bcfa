"""Which elements of a page a reader sees as its text."""

import re
from collections.abc import Collection, Iterator
from typing import Any

# Programs, navigation, controls, pictures, and other documents.
_DROPPED_LIST = """
script style head nav noscript template iframe object embed canvas audio video svg map rp
select textarea input button datalist annotation annotation-xml
"""
_DROPPED = frozenset(_DROPPED_LIST.split())
_HIDING = re.compile(r"display\s*+:\s*+none|visibility\s*+:\s*+hidden", re.IGNORECASE)
_MARKS_OF_LINKS = frozenset({"¶", "#", "§", "🔗", "↑", "^", "↩", "↩︎", "⏎"})
"""Texts of links to a heading itself, and back from a note."""

_MAX_MARK = 2


def is_shown(element: Any) -> bool:
    """Return whether an element is text of the page: not hidden, no program, no navigation and no control."""
    if element.tag in _DROPPED or not isinstance(element.tag, str):
        return False
    if element.tag == "a" and _is_mark(element):
        return False
    attributes = element.attrib
    if element.tag == "dialog":
        return "open" in attributes
    return not attributes or not (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").lower() == "true"
        or attributes.get("role") == "navigation"
        or _HIDING.search(attributes.get("style", ""))
    )


def walk_shown(root: Any, left_out: Collection[Any] = ()) -> Iterator[tuple[str, Any]]:
    """Yield ``("start", element)`` and ``("end", element)`` of each element that is shown, in their order.

    The tail of an element that isn't shown is shown all the same: it comes as ``("tail", element)``.

    Args:
        root: The element to begin at, which is always shown.
        left_out: Elements that aren't to be shown either.
    """
    element, begins = root, True
    while True:
        if begins and element is not root and (element in left_out or not is_shown(element)):
            yield "tail", element
            begins = False
        elif begins:
            yield "start", element
            if len(element):
                element = element[0]
                continue
            yield "end", element
            begins = False
        if element is root:
            return
        following = element.getnext()
        if following is not None:
            element, begins = following, True
        else:
            element = element.getparent()
            yield "end", element


def _is_mark(link: Any) -> bool:
    """Return whether a link is only a mark that leads to its own heading, or back from a note."""
    if not link.get("href", "").startswith("#") or len(link) > 1:
        return False
    text = "".join(link.itertext()) if len(link) else link.text or ""
    return len(text) <= _MAX_MARK + 1 and text.strip() in _MARKS_OF_LINKS
