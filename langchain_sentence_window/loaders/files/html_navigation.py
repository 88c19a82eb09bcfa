"""Navigation that has no element of its own: menus, breadcrumbs and tables of contents that only their names tell.

A name alone isn't enough, as a dish of a menu and a note in a sidebar are content. What is left out has little text but
that of its links.
"""

import re
from dataclasses import dataclass
from typing import Any

from langchain_sentence_window.loaders.files.html_visibility import walk_shown

MAX_UNLINKED = 100
"""Letters and digits outside of links in navigation, such as the title of the page between "previous" and "next"."""

MIN_SHARE_LINKED = 0.8
"""The share of letters and digits in links from which more of them may stand outside."""

MIN_LINKS_OF_LIST = 3
MIN_SHARE_OF_LIST = 0.95
"""The same for a menu or a sidebar, which may as well be content."""

_OF = r"(?:[a-z]+[-_]|main|sub|site)?"
_NAVIGATION = re.compile(
    rf"{_OF}(?:nav|nav-?bar|navigation|nav-?header|nav-?footer|nav-?links|breadcrumbs?|pagination|pager|toc)"
    r"|table[-_]of[-_]contents"
)
_LISTS = re.compile(rf"{_OF}(?:menu|side-?bar|contents|quick-?links)")


@dataclass(slots=True)
class _Named:
    """An element whose name is that of navigation, while it is open.

    Attributes:
        element: The element.
        is_navigation: Whether its name says nothing else.
        chars: The letters and digits before it.
        linked: Those of them in links.
        links: The links before it.
    """

    element: Any
    is_navigation: bool
    chars: int
    linked: int
    links: int


def find_navigation(root: Any) -> set[Any]:
    """Return the elements below an element that are navigation by their class or id, and by what they hold."""
    found: set[Any] = set()
    opened: list[_Named] = []
    chars = linked = links = open_links = 0
    for event, element in walk_shown(root):
        if event == "start":
            name = _name(element)
            if name:
                opened.append(_Named(element, name == "navigation", chars, linked, links))
            if element.tag == "a" and element.get("href"):
                links += 1
                open_links += 1
            size = _size(element.text)
        else:
            if event == "end" and element.tag == "a" and element.get("href"):
                open_links -= 1
            if event == "end" and opened and opened[-1].element is element:
                named = opened.pop()
                if _is_navigation(named, chars - named.chars, linked - named.linked, links - named.links):
                    found.add(element)
            size = _size(element.tail) if element is not root else 0
        chars += size
        linked += size if open_links else 0
    return found - {root}


def _name(element: Any) -> str:
    """Return what the names of an element tell: ``"navigation"``, ``"list"`` or an empty string."""
    attributes = element.attrib
    names = [*attributes.get("class", "").lower().split(), attributes.get("id", "").lower()] if attributes else []
    if any(map(_NAVIGATION.fullmatch, names)):
        return "navigation"
    return "list" if any(map(_LISTS.fullmatch, names)) else ""


def _is_navigation(named: _Named, chars: int, linked: int, links: int) -> bool:
    if named.is_navigation:
        return links > 0 and (chars - linked <= MAX_UNLINKED or linked >= MIN_SHARE_LINKED * chars)
    return links >= MIN_LINKS_OF_LIST and linked >= MIN_SHARE_OF_LIST * chars


def _size(text: str | None) -> int:
    return sum(map(str.isalnum, text)) if text else 0
