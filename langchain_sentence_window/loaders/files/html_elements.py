"""Kinds of the elements of an HTML page: seen or hidden, navigation, labels of notes, tables of data; and their text.

Navigation that has no element of its own, such as a menu, is told by names of classes and ids, and by links to the next
page and the one before. That alone isn't enough, as a dish of a menu and a note in a sidebar are content. What is left
out has little text but that of its links.

The label of a box is written before its text, as in "Note: Save your work.", since a heading would hold what comes
after the box too.

The text is Markdown: that between two ends of blocks, and the blocks with the span of each.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from operator import add, sub
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.splitting.blocks import CODE, HEADING, LIST_ITEM, TABLE_ROW, Block

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
    elements, skipped = etree().iterwalk(root, events=("start", "end")), None
    for event, element in elements:
        if element is skipped:
            yield "tail", element
        elif event == "start" and element is not root and (element in left_out or not is_shown(element)):
            elements.skip_subtree()
            skipped = element
        else:
            yield event, element


def _is_mark(link: Any) -> bool:
    """Return whether a link is only a mark that leads to its own heading, or back from a note."""
    if not link.get("href", "").startswith("#") or len(link) > 1:
        return False
    text = "".join(link.itertext()) if len(link) else link.text or ""
    return len(text) <= _MAX_MARK + 1 and text.strip() in _MARKS_OF_LINKS


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


class _Count(NamedTuple):
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
                if _is_navigation(kind, _Count(*map(sub, count, before))):
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
    return _Count(*map(add, count, (size, size * is_linked, link is not None, turns)))


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


MIN_ROWS = MIN_COLUMNS = 2
"""The least rows and columns of a table of data; one with a head may have one column."""

_CELLS = ("td", "th")
_INNER = ("table", *HEADINGS, "pre")
_NOT_DATA = frozenset({"presentation", "none"})


def data_tables(root: Any) -> set[Any]:
    """Return the tables in an element that hold data.

    They have rows, and columns or a head, and no cell holds a heading, code or another table. They don't draw a box
    around a note.
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
    """Return whether a box holds more than the table that may draw it."""
    return next(islice(box.iterchildren("*"), 1, None), None) is not None or bool((box.text or "").strip())


@cache
def etree() -> Any:
    """Import lxml.etree.

    Raises:
        MissingExtraError: lxml isn't installed.
    """
    return of_extra("lxml.etree", "lxml", "files")


_BOLD = frozenset({"b", "strong"})
# Soft hyphens and what has no width.
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
_TO_SPACE = {ord(each): " " for each in "\t\n\r\f"}


def without_unseen(text: str) -> str:
    """Remove what takes no room on a page."""
    return text.translate(_UNSEEN)


class InlineText:
    """Collects the text of one block after the other."""

    def __init__(self) -> None:
        """Begin without text."""
        self._parts: list[str] = []
        self._chars = self._bold_chars = self._open_bold = 0
        self._footnote_mark: Any = None

    def __bool__(self) -> bool:
        """Return whether there is anything, be it white space."""
        return bool(self._parts)

    def start(self, element: Any) -> None:
        """Add what an element inside a line begins with."""
        tag = element.tag
        if tag == "br":
            self.end_line()
        elif tag == "q":
            self.add("“")
        elif tag == "sup" and self._footnote_mark is None and self._is_power(element):
            self.add("^")
        elif tag == "a" and self._footnote_mark is None and is_footnote_mark(element):
            self._footnote_mark = element
            self.add("[")
        self._open_bold += tag in _BOLD

    def end(self, element: Any) -> None:
        """Add what an element inside a line ends with."""
        self._open_bold -= element.tag in _BOLD
        if element.tag == "q":
            self.add("”")
        elif element is self._footnote_mark:
            self._footnote_mark = None
            self.add("]")

    def add(self, text: str) -> bool:
        """Add text; return whether it is more than white space."""
        text = without_unseen(text).translate(_TO_SPACE)
        chars = len(text) - text.count(" ")
        self._chars += chars
        self._bold_chars += chars if self._open_bold else 0
        self._parts.append(text)
        return chars > 0 and not text.isspace()

    def end_line(self) -> None:
        """Break the line."""
        self._parts.append("\n")

    def take(self) -> tuple[list[list[str]], bool]:
        """Return the lines of each paragraph so far, and whether all of them are bold; begin anew."""
        paragraphs = list(_paragraphs("".join(self._parts)))
        is_bold = self._chars > 0 and self._bold_chars == self._chars
        self._parts, self._chars, self._bold_chars = [], 0, 0
        return paragraphs, is_bold

    def _is_power(self, sup: Any) -> bool:
        """Return whether raised text is written as in ``10^6``, as ``106`` is another number."""
        text = (sup.text or "").lstrip()
        before = self._parts[-1][-1:] if self._parts else ""
        return (text[:1].isdigit() and before.isalnum()) or (text[:1] in "-−+" and text[1:2].isdigit())


def _paragraphs(written: str) -> Iterator[list[str]]:
    """Yield the lines of each paragraph, without needless white space; a blank line parts paragraphs."""
    lines: list[str] = []
    for line in written.split("\n"):
        words = " ".join(line.split())
        if words:
            lines.append(words)
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


# What would be a heading, a quote, code, HTML or an underline at the beginning of a line.
_MARK = re.compile(r"^(?=#{1,6}(?:\s|$)|>|`{3}|~{3}|<[a-zA-Z/!?]|(?:={3,}+|-{3,}+)\s*+$)", re.MULTILINE)
_TICKS = re.compile(r"`{3,}+")
_OF_CODE = re.compile(
    r"\b(?:code|console|example|highlight|hljs|lang|listing|prettyprint|programlisting|screen|source|src|synopsis|syntax)",
    re.IGNORECASE,
)
_NAMED_AROUND = 2  # elements around preformatted text whose names tell what it is
_ALIGNED = re.compile(r"\S {3,}\S")  # columns, or comments behind code
_PROSE_SHARE = 0.95
_MAX_ALIGNED_SHARE = 0.1
_MIN_PROSE_CHARS = 400


@dataclass(frozen=True, slots=True)
class WrittenBlock:
    """A block to write.

    Attributes:
        kind: Its kind, see `Block`.
        text: Its text.
        level: The level of a heading.
        marker: What stands before an item, such as ``"- "``; empty if the block goes on in an item.
        indent: White space before each of its lines.
        goes_on: Whether it follows the block before without a blank line.
    """

    kind: str
    text: str
    level: int = 0
    marker: str = ""
    indent: str = ""
    goes_on: bool = False


class MarkdownText:
    """A text that grows by blocks.

    Attributes:
        blocks: The blocks so far, in order.
    """

    def __init__(self) -> None:
        """Begin with an empty text."""
        self.blocks: list[Block] = []
        self._parts: list[str] = []
        self._length = 0
        self._last = ""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def add(self, block: WrittenBlock) -> None:
        """Add a block that isn't blank."""
        is_next_item = block.kind == LIST_ITEM and self._last == LIST_ITEM and bool(block.marker)
        separator = "\n" if block.goes_on or is_next_item else "\n\n"
        before = (separator if self._parts else "") + block.indent
        written = _written(block)
        start = self._length + len(before)
        self._parts += [before, written]
        self._length = start + len(written)
        self.blocks.append(Block(start, self._length, block.kind, block.level))
        self._last = block.kind


def is_code(element: Any, text: str) -> bool:
    """Return whether preformatted text is code, and not a letter or a standard that was typed with line breaks."""
    if len(text) < _MIN_PROSE_CHARS or next(element.iter("code", "samp", "kbd"), None) is not None:
        return True
    around = (element, *islice(element.iterancestors(), _NAMED_AROUND))
    if any(_OF_CODE.search(each.get(name, "")) for each in around for name in ("class", "id")):
        return True
    words = sum(each.isalpha() or each.isspace() or each in ".,'-" for each in text)
    lines = text.split("\n")
    aligned = sum(_ALIGNED.search(line) is not None for line in lines)
    return words < _PROSE_SHARE * len(text) or aligned > _MAX_ALIGNED_SHARE * len(lines)


def _written(block: WrittenBlock) -> str:
    if block.kind == CODE:
        fence = max([*(found[0] for found in _TICKS.finditer(block.text)), "``"], key=len) + "`"
        return f"{fence}\n{block.text}\n{fence}"
    if block.kind == HEADING:
        return f"{'#' * block.level} {block.text}"
    if block.kind == TABLE_ROW:
        return block.text
    text = _MARK.sub(r"\\", block.text)
    return block.marker + text.replace("\n", "\n" + block.indent + " " * len(block.marker))
