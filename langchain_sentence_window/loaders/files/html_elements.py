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
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, groupby, islice
from typing import Any, NamedTuple, TypeAlias

from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.splitting.blocks import CODE, HEADING, LIST_ITEM, TABLE_ROW, Block
from langchain_sentence_window.splitting.data_uris import without_data_uris

# Programs, navigation, controls, pictures, and other documents.
_DROPPED_LIST = """
script style head nav noscript template iframe object embed canvas audio video svg map rp
select textarea input button datalist annotation annotation-xml
"""
_DROPPED = frozenset(_DROPPED_LIST.split())

_BLOCKS_LIST = """
address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer
form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol optgroup option p pre search section summary table
tbody td tfoot th thead tr ul xmp listing plaintext
"""
BLOCKS = frozenset(_BLOCKS_LIST.split())
"""Elements that begin and end a block."""

_ZERO = r"(?:0+(?:\.0*+)?|\.0+)(?:px|pt|em|rem|%)?\s*+(?=[;!}]|\Z)"
_FAR = r"-(?:(?:\d{4,}|[5-9]\d\d)(?:\.\d*+)?px|\d{2,}(?:\.\d*+)?r?em|\d{3,}(?:\.\d*+)?(?:vw|vh|%))"
_HIDING = re.compile(
    rf"""(?<![\w-])(?:display\s*+:\s*+(?P<gone>none)|visibility\s*+:\s*+(?P<unseen>hidden|collapse)
    |opacity\s*+:\s*+(?P<faint>{_ZERO})|font-size\s*+:\s*+(?P<tiny>{_ZERO})
    |text-indent\s*+:\s*+(?P<indented>{_FAR})|(?:left|top|right)\s*+:\s*+(?P<away>{_FAR}))""",
    re.IGNORECASE | re.VERBOSE,
)
_PLACED = re.compile(r"(?<![\w-])position\s*+:\s*+(?:absolute|fixed)", re.IGNORECASE)
_MOVING = re.compile(r"(?<![\w-])(?:transform|transition|animation|will-change)", re.IGNORECASE)
_MAX_OF_TINY = 50
_HIDING_NAMES = frozenset({"hidden", "aria-hidden", "role", "style"})
_MARKS_OF_LINKS = frozenset({"¶", "#", "§", "🔗", "↑", "^", "↩", "↩︎", "⏎"})
"""Texts of links to a heading itself, and back from a note."""

_MAX_MARK = 2
_MAX_IN_MARK = 8
_MAX_TEXTS_OF_MARK = 2 * _MAX_IN_MARK


def is_shown(element: Any) -> bool:
    """Return whether an element is text of the page: not hidden, no program, no navigation and no control."""
    tag = element.tag
    if tag in _DROPPED or not isinstance(tag, str) or (tag == "a" and _is_mark(element)):
        return False
    names = element.keys()
    if tag == "dialog":
        return "open" in names
    return _HIDING_NAMES.isdisjoint(names) or not (
        "hidden" in names
        or element.get("aria-hidden", "").lower() == "true"
        or element.get("role") == "navigation"
        or ("style" in names and tag != "body" and _is_hidden(element, element.get("style")))
    )


def _is_hidden(element: Any, declared: str) -> bool:
    """Return whether declarations of a style hide an element.

    What fades in is shown in the end. Text without a size may only be the white space between blocks that have one.
    """
    ways = {found.lastgroup for found in _HIDING.finditer(declared)}
    if not ways.isdisjoint(("unseen", "faint")) and not _MOVING.search(declared):
        return True
    if not ways.isdisjoint(("gone", "indented")) or ("away" in ways and _PLACED.search(declared)):
        return True
    inside = islice(element.iterdescendants("*"), _MAX_OF_TINY + 1) if "tiny" in ways else ()
    sized = ["font-size" in each.get("style", "") or (each.tag in BLOCKS and "class" in each.attrib) for each in inside]
    return "tiny" in ways and not any(sized) and len(sized) <= _MAX_OF_TINY


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
    text = _text_of_mark(link) if len(link) else link.text or ""
    return len(text) <= _MAX_MARK + 1 and text.strip() in _MARKS_OF_LINKS


def _text_of_mark(link: Any) -> str:
    """Return the text of a link; empty if there are too many elements in it, as links in links have the same text."""
    inside = list(islice(link.iter(), _MAX_IN_MARK + 1))
    return "".join(islice(link.itertext(), _MAX_TEXTS_OF_MARK)) if len(inside) <= _MAX_IN_MARK else ""


MAX_HIDING_RULES = 16
"""Selectors that end with the same class or id; of more, text may stay that is hidden."""

MAX_HIDDEN = 1_000
"""Characters that a rule hides whatever the rest of the page holds; of more, it may hide half of that, and what isn't
opaque by its own style isn't hidden."""

_NO_CODE = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->|\"[^\"\n]*+\"|'[^'\n]*+'", re.DOTALL)
_ON_ANY_SCREEN = re.compile(r"@(?:media\s++(?:all|screen|only\s++screen)|layer|supports)\b[^,(]*+\Z", re.IGNORECASE)
_IN_PRINT = re.compile(r"@media\b.*\bprint\b", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"[.#][\w-]++")
_COMPOUND = re.compile(r"([a-zA-Z][\w-]*+)?((?:[.#][\w-]++)*+)")
_COMBINATOR = re.compile(r"[\s>+~]")
_CUES = ("none", "hidden", "collapse", "opacity", "text-indent", "absolute", "fixed", "font-size:0", "font-size: 0")
_PROPERTY = re.compile(
    r"(?<![\w-])(display|position|visibility|opacity|font-size|left|top|right|text-indent)\s*+:", re.IGNORECASE
)
_NEVER_HIDDEN = frozenset({"html", "body", "main"})
_MAX_ABOVE_HIDDEN = 32
_CODE = ("script", "style", "noscript", "template")

_Names: TypeAlias = frozenset[str]


class _Rule(NamedTuple):
    """A selector whose declarations hide.

    Attributes:
        compounds: The tag of each compound, empty for any, and its names as in ``.note``; the last one comes first.
        declared: Its declarations.
        properties: Those of them that hide.
        number: Its number in the sheets.
    """

    compounds: tuple[tuple[str, _Names], ...]
    declared: str
    properties: _Names
    number: int


def show_fading(root: Any) -> None:
    """Take the style from what isn't opaque yet if that is much of the page, as it fades in when it is scrolled to."""
    faint = [
        each
        for each in root.xpath("//*[contains(@style, 'opacity')]")
        if {found.lastgroup for found in _HIDING.finditer(each.get("style"))} == {"faint"}
    ]
    if any(chars > MAX_HIDDEN for chars in accumulate(map(_size, faint))):
        for each in faint:
            del each.attrib["style"]


SPOKEN = frozenset({"sr-only", "screen-reader-text", "visually-hidden", "visuallyhidden", "screenreader-only"})
"""Classes by which usual sheets hide what is only for screen readers, such as a link to the content."""


def hide_spoken(root: Any) -> None:
    """Set ``hidden`` on links and blocks that are only for screen readers, not on words in a line, such as units."""
    for element in root.xpath("//*[@class]"):
        is_word = element.tag not in BLOCKS and element.tag != "a"
        if not is_word and not SPOKEN.isdisjoint(element.get("class").split()):
            element.set("hidden", "")


def hide_by_sheets(root: Any) -> None:
    """Set ``hidden`` on elements whose class or id a style sheet in the page hides.

    Selectors of tags, classes, ids and descendants count. What another rule shows again, such as for the open tab, is
    content that is shown on demand, and so is most of a page, which a script shows.
    """
    sheets = "\n".join(each.text or "" for each in root.iter("style") if _is_of_screen(each))
    if not sheets:
        return
    named = [(element, _names_of(element)) for element in root.xpath("//*[@class or @id]")]
    rules = _hiding_rules(sheets, frozenset[str]().union(*(names for _, names in named)))
    hidden: dict[_Rule, list[Any]] = {}
    gone: set[Any] = set()
    for element, names in named if rules else ():
        if rules.keys().isdisjoint(names) or element.tag in _NEVER_HIDDEN:
            continue
        rule = next((each for name in names for each in rules.get(name, ()) if _hides(each, element, names)), None)
        if rule is not None and gone.isdisjoint(islice(element.iterancestors(), _MAX_ABOVE_HIDDEN)):
            hidden.setdefault(rule, []).append(element)
            gone.add(element)
    most = max(MAX_HIDDEN, _size(root) // 2)
    for elements in hidden.values():
        for element in elements if sum(map(_size, elements)) <= most else ():
            element.set("hidden", "")


def _size(element: Any) -> int:
    return int(element.xpath("string-length(.)")) - sum(len(each.text or "") for each in element.iter(*_CODE))


def _is_of_screen(sheet: Any) -> bool:
    media = sheet.get("media")
    is_used = sheet.getparent() is not None and sheet.getparent().tag != "noscript"
    return is_used and (not media or _ON_ANY_SCREEN.match(f"@media {media}") is not None)


def _hiding_rules(sheets: str, names: _Names) -> dict[str, list[_Rule]]:
    """Return the rules that hide what has some of the names, by a name in their last compound."""
    rules: dict[str, list[_Rule]] = {}
    styled = list(_rules(_NO_CODE.sub("", sheets)))
    for number, (selectors, declared, is_always) in enumerate(styled):
        if is_always and any(map(declared.lower().__contains__, _CUES)) and (hiding := _hiding_properties(declared)):
            for selector in selectors.split(","):
                _add_rule(rules, selector, _Rule((), declared, hiding, number), names)
    for number, (selectors, declared, is_always) in enumerate(styled if rules else ()):
        if not rules.keys().isdisjoint(_NAME.findall(selectors)) and not _hiding_properties(declared):
            shown = frozenset(map(str.lower, _PROPERTY.findall(declared)))
            _undo(rules, selectors, shown, number if is_always else len(styled))
    return rules


def _hiding_properties(declared: str) -> _Names:
    return frozenset(found[0].partition(":")[0].strip().lower() for found in _HIDING.finditer(declared))


def _rules(sheets: str) -> Iterator[tuple[str, str, bool]]:
    """Yield selectors and declarations of each rule but those for printing, and whether it holds on any screen."""
    opened = [(True, False)]
    for piece in sheets.split("}")[:-1]:
        *heads, declared = piece.split("{")
        if not heads:  # the end of a group of rules
            opened = opened[:-1] or opened
            continue
        is_always, is_printed = opened[-1]
        for head in heads[:-1]:
            if "@" in head:
                is_always = is_always and _ON_ANY_SCREEN.match(head.rpartition(";")[2].strip()) is not None
                is_printed = is_printed or _IN_PRINT.search(head) is not None
            opened.append((is_always, is_printed))
        if not is_printed and "@" not in heads[-1].rpartition(";")[2]:
            yield heads[-1].rpartition(";")[2], declared, is_always


def _add_rule(rules: dict[str, list[_Rule]], selector: str, rule: _Rule, used: _Names) -> None:
    parts = [_COMPOUND.fullmatch(each) for each in reversed(selector.split())]
    compounds = tuple((each[1] or "", _names(each[2])) for each in parts if each)
    if len(compounds) < len(parts) or not compounds or not compounds[0][1] or not compounds[0][1] <= used:
        return
    own = rules.setdefault(min(compounds[0][1]), [])
    if len(own) < MAX_HIDING_RULES:
        own.append(rule._replace(compounds=compounds))


def _undo(rules: dict[str, list[_Rule]], selectors: str, properties: _Names, number: int) -> None:
    """Take away the rules that another one undoes: a later one, or one that says more.

    Args:
        rules: The rules that hide.
        selectors: The selectors of the other one.
        properties: What it sets.
        number: Its number in the sheets.
    """
    for selector in map(str.strip, selectors.split(",")):
        names = _names(_COMBINATOR.split(selector)[-1].partition(":")[0])
        is_plain = _COMPOUND.fullmatch(selector) is not None
        for name in names & rules.keys():
            rules[name] = [
                each
                for each in rules[name]
                if not each.properties & properties
                or not each.compounds[0][1] <= names
                or (is_plain and each.compounds[0][1] == names and number < each.number)
            ]


def _names(compound: str) -> _Names:
    return frozenset(_NAME.findall(compound))


def _names_of(element: Any) -> _Names:
    return _named(element.get("class"), element.get("id"))


@lru_cache(4096)
def _named(classes: str | None, name: str | None) -> _Names:
    names = [f".{each}" for each in classes.split()] if classes else []
    return frozenset([*names, f"#{name}"] if name else names)


def _hides(rule: _Rule, element: Any, own: _Names) -> bool:
    if not _matches(rule, element, own) or not _is_hidden(element, rule.declared):
        return False
    return rule.properties.isdisjoint(map(str.lower, _PROPERTY.findall(element.get("style", ""))))


def _matches(rule: _Rule, element: Any, own: _Names) -> bool:
    (tag, names), *above = rule.compounds
    if tag not in ("", element.tag) or not names <= own:
        return False
    ancestors = islice(element.iterancestors(), _MAX_ABOVE_HIDDEN)
    return all(any(tag in ("", each.tag) and names <= _names_of(each) for each in ancestors) for tag, names in above)


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


def is_box_label(element: Any) -> bool:
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
    return _FOOTNOTE_MARK.fullmatch(_text_of_mark(link)) is not None


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
    lines = (" ".join(line.split()) for line in written.split("\n"))
    for has_words, paragraph in groupby(lines, key=bool):
        if has_words:
            yield list(paragraph)


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

    def end_list(self) -> None:
        """Let an item that comes next begin another list."""
        self._last = ""

    def add(self, block: WrittenBlock) -> None:
        """Add a block, unless it is blank without data URIs, which aren't text."""
        text = without_data_uris(block.text).rstrip()
        if not text:
            return
        block = replace(block, text=text)
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
