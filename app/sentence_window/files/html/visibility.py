"""Which elements of an HTML page are shown: what its markup, its styles and its style sheets hide is left out."""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, NamedTuple, TypeAlias

from lxml import etree

from .elements import BLOCKS, mark_text

# Scripts, navigation, controls, pictures, and embedded documents.
_DROPPED_LIST = """
script style head nav noscript template iframe object embed canvas audio video svg map rp
select textarea input button datalist annotation annotation-xml
"""
_DROPPED = frozenset(_DROPPED_LIST.split())

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
_LINK_MARKS = frozenset({"¶", "#", "§", "🔗", "↑", "^", "↩", "↩︎", "⏎"})
"""Texts of links from a heading to itself, and from a note back to the text."""

_MAX_MARK = 2


def is_shown(element: Any) -> bool:
    """Return whether an element may hold visible text: it isn't hidden, a script, navigation or a control."""
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
    """Return whether the declarations of a style hide an element.

    Text that fades in becomes visible. A font size of zero may only remove the white space between blocks, whose own
    text has another size.
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
    """Yield ``("start", element)`` and ``("end", element)`` for each visible element in document order.

    A hidden element yields ``("tail", element)``, as the text after it is visible.

    Args:
        root: The element to begin at, which counts as visible.
        left_out: More elements to leave out.
    """
    elements, skipped = etree.iterwalk(root, events=("start", "end")), None
    for event, element in elements:
        if element is skipped:
            yield "tail", element
        elif event == "start" and element is not root and (element in left_out or not is_shown(element)):
            elements.skip_subtree()
            skipped = element
        else:
            yield event, element


def _is_mark(link: Any) -> bool:
    """Return whether a link is only a mark, such as ``¶``, that leads to its own heading or back from a note."""
    if not link.get("href", "").startswith("#") or len(link) > 1:
        return False
    text = mark_text(link) if len(link) else link.text or ""
    return len(text) <= _MAX_MARK + 1 and text.strip() in _LINK_MARKS


MAX_HIDING_RULES = 16
"""Hiding selectors that are tried per class or id; the rest are ignored, so hidden text may stay."""

MAX_HIDDEN = 1_000
"""Characters that a rule may hide on any page; it may hide more if that is at most half of the page. If inline styles
make more characters transparent, they fade in and are shown."""

_COMMENTS_AND_STRINGS = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->|\"[^\"\n]*+\"|'[^'\n]*+'", re.DOTALL)
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
    """A selector whose declarations hide elements.

    Attributes:
        compounds: For each compound selector, from the last to the first, the tag (empty for any tag) and the classes
            and ids, such as ``.note``.
        declared: Its declarations.
        properties: The names of the properties that hide.
        number: The number of the rule in the style sheets.
    """

    compounds: tuple[tuple[str, _Names], ...]
    declared: str
    properties: _Names
    number: int


def show_fading(root: Any) -> None:
    """Remove inline styles that make elements transparent, if these are a large part of the page.

    Such elements fade in when the reader scrolls to them.
    """
    faint = [
        each
        for each in root.xpath("//*[contains(@style, 'opacity')]")
        if {found.lastgroup for found in _HIDING.finditer(each.get("style"))} == {"faint"}
    ]
    if any(chars > MAX_HIDDEN for chars in accumulate(map(_size, faint))):
        for each in faint:
            del each.attrib["style"]


SPOKEN = frozenset({"sr-only", "screen-reader-text", "visually-hidden", "visuallyhidden", "screenreader-only"})
"""Classes with which common style sheets hide text for screen readers, such as a link to the content."""


def hide_spoken(root: Any) -> None:
    """Set ``hidden`` on links and blocks for screen readers, but not on words in a line, such as units."""
    for element in root.xpath("//*[@class]"):
        is_word = element.tag not in BLOCKS and element.tag != "a"
        if not is_word and not SPOKEN.isdisjoint(element.get("class").split()):
            element.set("hidden", "")


def hide_by_sheets(root: Any) -> None:
    """Set ``hidden`` on elements that a style sheet inside the page hides by their class or id.

    Only selectors of tags, classes, ids and descendants are understood. Elements that another rule shows again, such as
    tabs, are content that is shown on demand. So is a large part of a page, which a script will show.
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
    """Return the hiding rules that may apply to elements with the given classes and ids, by one of these names."""
    rules: dict[str, list[_Rule]] = {}
    styled = list(_rules(_COMMENTS_AND_STRINGS.sub("", sheets)))
    for number, (selectors, declared, is_always) in enumerate(styled):
        if is_always and any(map(declared.lower().__contains__, _CUES)) and (hiding := _hiding_properties(declared)):
            for selector in selectors.split(","):
                _add_rule(rules, selector, _Rule((), declared, hiding, number), names)
    for number, (selectors, declared, is_always) in enumerate(styled if rules else ()):
        if not rules.keys().isdisjoint(_NAME.findall(selectors)) and not _hiding_properties(declared):
            shown = frozenset(map(str.lower, _PROPERTY.findall(declared)))
            _override(rules, selectors, shown, number if is_always else len(styled))
    return rules


def _hiding_properties(declared: str) -> _Names:
    return frozenset(found[0].partition(":")[0].strip().lower() for found in _HIDING.finditer(declared))


def _rules(sheets: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the selectors and declarations of each rule, and whether it applies on every screen; skip print rules."""
    opened = [(True, False)]
    for piece in sheets.split("}")[:-1]:
        *heads, declared = piece.split("{")
        if not heads:  # the end of an at-rule
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


def _override(rules: dict[str, list[_Rule]], selectors: str, properties: _Names, number: int) -> None:
    """Remove the hiding rules that another rule overrides: a later or a more specific one.

    Args:
        rules: The hiding rules, by name.
        selectors: The selectors of the other rule.
        properties: The properties that it sets.
        number: Its number in the style sheets.
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
