"""Navigation that has no element of its own: menus, breadcrumbs, tables of contents, links to the pages around.

It is told by names of classes and ids, and by links to the next page and the one before. That alone isn't enough, as a
dish of a menu and a note in a sidebar are content. What is left out has little text but that of its links.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from langchain_sentence_window.loaders.files.html_visibility import walk_shown

MAX_UNLINKED = 100
"""Letters and digits outside of links in navigation, such as the title of the page between "previous" and "next"."""

MIN_SHARE_LINKED = 0.8
"""The share of letters and digits in links from which more of them may stand outside."""

MIN_LINKS_OF_LIST = 3
MIN_SHARE_OF_LIST = 0.95
"""The same for a menu or a sidebar, which may as well be content."""

MIN_TURNS = 2
"""Links to the next page, the one before, the contents and the like that make a paragraph navigation without a name."""

MAX_UNLINKED_AT_TURNS = 40
"""Letters and digits outside of links beside them."""

_OF = r"(?:[a-z]+[-_]|main|sub|site)?"
_NAVIGATION = re.compile(
    rf"{_OF}(?:nav|nav-?bar|navigation|nav-?header|nav-?footer|nav-?links|nav-?panel|breadcrumbs?|pagination|pager|toc)"
    r"|table[-_]of[-_]contents|prev-next(?:-[a-z]+)?|related-pages"
)
_LISTS = re.compile(rf"{_OF}(?:menu|side-?bar|contents|quick-?links)")
_NAMED_BY_ID = frozenset({"div", "p", "ul", "ol", "dl", "table", "td"})
_MAY_TURN = frozenset({"p", "div", "table", "ul"})
_TURNS = frozenset({"next", "prev", "previous", "up", "first", "last", "start", "contents", "index"})

_Kind: TypeAlias = Literal["navigation", "list", "turns"]


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts of what was read so far.

    Attributes:
        chars: Letters and digits.
        linked: Those of them in links.
        links: Links.
        turns: Those of them to the next page, the one before, the contents and the like.
    """

    chars: int = 0
    linked: int = 0
    links: int = 0
    turns: int = 0

    def __sub__(self, other: "_Count") -> "_Count":
        return _Count(
            self.chars - other.chars, self.linked - other.linked, self.links - other.links, self.turns - other.turns
        )


def find_navigation(root: Any) -> set[Any]:
    """Return the elements below an element that are navigation by their class or id, or their links to other pages."""
    found: set[Any] = set()
    opened: list[tuple[Any, _Kind, _Count]] = []
    count, open_links = _Count(), 0
    for event, element in walk_shown(root):
        is_link = element.tag == "a" and bool(element.get("href")) and event != "tail"
        if event == "start":
            kind = _kind(element)
            if kind and element is not root:
                opened.append((element, kind, count))
            open_links += is_link
            text = element.text
        else:
            open_links -= is_link
            if event == "end" and opened and opened[-1][0] is element:
                _, kind, before = opened.pop()
                if _is_navigation(kind, count - before):
                    found.add(element)
                    count = before  # as if it weren't there
            text = element.tail if element is not root else None
        count = _counted(count, element if is_link and event == "start" else None, text, is_linked=open_links > 0)
    return found


def _counted(count: _Count, link: Any, text: str | None, *, is_linked: bool) -> _Count:
    size = sum(map(str.isalnum, text)) if text else 0
    if link is None and not size:
        return count
    turns = link is not None and not _TURNS.isdisjoint(link.get("rel", "").lower().split())
    return _Count(
        count.chars + size,
        count.linked + size * is_linked,
        count.links + (link is not None),
        count.turns + turns,
    )


def _kind(element: Any) -> "_Kind | None":
    """Return what an element may be by its names, or by its tag.

    The id of a heading or a section is made of its title, as in "Pagination".
    """
    attributes = element.attrib
    names = attributes.get("class", "").lower().split() if attributes else []
    if attributes and element.tag in _NAMED_BY_ID and "section" not in names:
        names.append(attributes.get("id", "").lower())
    if any(map(_NAVIGATION.fullmatch, names)):
        return "navigation"
    if any(map(_LISTS.fullmatch, names)):
        return "list"
    return "turns" if element.tag in _MAY_TURN else None


def _is_navigation(kind: _Kind, held: _Count) -> bool:
    if kind == "list":
        return held.links >= MIN_LINKS_OF_LIST and held.linked >= MIN_SHARE_OF_LIST * held.chars
    unlinked = held.chars - held.linked
    if kind == "turns":
        return held.turns >= MIN_TURNS and unlinked <= MAX_UNLINKED_AT_TURNS
    return held.links > 0 and (unlinked <= MAX_UNLINKED or held.linked >= MIN_SHARE_LINKED * held.chars)
