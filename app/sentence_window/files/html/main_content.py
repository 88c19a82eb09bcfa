"""The main content of an HTML page, without navigation, teasers, share bars, forms and footers.

Navigation without ``<nav>`` is recognized by class names and ids such as ``menu``, and by links to the next and the
previous page. Names alone aren't enough, as the dishes of a menu and the notes of a sidebar are content; so navigation
must also have little text outside its links.

Other boilerplate is only removed from pages with running text, and by comparison with that: an element whose name says
boilerplate must hold little of it, and a list of links must be outside the element that holds most of it. So a page
that is a form or a list of links stays whole, and so does an element of any name that holds the text. Comments below an
article are text.
"""

import re
from bisect import bisect
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from operator import sub
from typing import Any, NamedTuple

from .elements import BLOCKS, HEADINGS
from .visibility import is_shown, walk_shown

MAX_UNLINKED = 100
"""Letters and digits outside links in navigation, such as the page title between "previous" and "next"."""

MIN_SHARE_LINKED = 0.8
"""The share of letters and digits in links from which navigation may have more outside."""

MIN_LINKS_OF_LIST = 3
MIN_SHARE_OF_LIST = 0.95
"""The fewest links, and the same share, for a menu or a sidebar, which may also be content."""

MIN_TURNS = 2
"""Links with ``rel`` values such as ``next`` and ``prev`` from which a block is navigation without such a name."""

MAX_UNLINKED_AT_TURNS = 40
"""Letters and digits outside links in such a block."""

MIN_PROSE_OF_BLOCK = 60
"""Letters and digits outside links from which a block is running text; Chinese and Japanese ones count twice."""

MIN_PROSE = 300
"""Letters and digits of running text from which a page is searched for boilerplate."""

MIN_PROSE_OF_MAIN = 0.1
MIN_SHARE_OF_MAIN = 0.25
"""The share of the running text, or of the letters and digits outside links, from which ``<main>`` or ``<article>`` is
accepted as the content. Comments may be much longer than an article, but hardly ten times."""

MIN_SHARE_OF_BODY = 0.75
"""The share of running text in the element outside which lists of links aren't content."""

MAX_SHARE_OF_TOOLS = 0.1
"""The largest share of running text in bars, forms and notices."""

MAX_SHARE_OF_TEASERS = 0.3
"""The largest share of running text in teasers of other pages."""

MIN_LINKED_INSIDE = 0.3
MIN_LINKED_OUTSIDE = 0.1
"""The smallest share of letters and digits in links of teasers, inside and outside the body."""

MIN_LINKED_OF_LIST = 0.6
"""The same for a list of links outside the body, regardless of names."""

MAX_COPYRIGHT = 400
"""Letters and digits of the longest copyright notice, outside the body or below all running text."""

MAX_UNLINKED_AT_SHARES = 30
"""Letters and digits outside links in a block of share links, or next to a link to another article."""

_OF = r"(?:[a-z]+[-_]|main|sub|site)?"
_NAVIGATION = re.compile(
    rf"{_OF}(?:nav|nav-?bar|navigation|nav-?header|nav-?footer|nav-?links|nav-?panel|pagination|pager|toc)"
    r"|(?:[a-z]+[-_])?breadcrumbs?(?:(?:--|__)[a-z-]+)?|table[-_]of[-_]contents|prev-next(?:-[a-z]+)?|related-pages"
)
_LISTS = re.compile(rf"{_OF}(?:menu|side-?bar|contents|quick-?links)")
_TOOLS_LIST = """
share shares sharing sharethis sharedaddy sharebar sharetools social socials addthis addtoany followus newsletter
newsletters subscribe subscription signup optin login signin paywall donate donation cookie cookies consent gdpr ad ads
advert advertisement adsense adslot sponsored sponsors outbrain taboola disqus respond commentform toolbar skip
masthead copyright modal popup lightbox overlay banner promo promos promotion printfooter
"""
_TEASERS_LIST = """
related recommended recommendation recommendations recirc recirculation trending popular most mostread mostpopular
latest recent breaking ticker newsticker more readmore upnext next blogroll sidebar aside rail widget widgets
secondary teaser teasers headlines stories newswire archive archives tag tags taglist topics sponsor header topbar
menu footer foot
"""
_OF_FORM = frozenset(
    {"must-log-in", "logged-in-as", "comment-notes"}
)  # names that WordPress uses around its comment form
_SHARE = re.compile(
    r"(?:https?:)?//(?:[a-z]{1,3}\.|api\.)?(?:facebook\.com/(?:sharer?\b|dialog/)|(?:twitter|x)\.com/(?:intent/|share\b|home\?)"
    r"|linkedin\.com/(?:share|cws/)|plus\.google\.com/share|pinterest\.[a-z.]+/pin/create|reddit\.com/submit|tumblr\.com/share"
    r"|wa\.me/|whatsapp\.com/send|(?:t|telegram)\.me/share|vk\.com/share|xing\.com/(?:spi|app|social)/)"
    r"|[^#]*+#(?:comments|respond|disqus_thread)\Z|mailto:\?|whatsapp:|javascript:(?:window\.)?print"
)
_READ_ALSO_LIST = """
related(?: (?:articles?|content|coverage|news|posts?|reading|stor(?:y|ies)|videos?))?|read (?:also|more|next)|also read
lesen sie (?:auch|dazu|hier|mehr)|lies auch|mehr (?:dazu|zum thema)|auch interessant|passend dazu|zum weiterlesen
(?:à )?lire (?:aussi|également|plus)|voir aussi|sur le même sujet|le[ae]r? (?:también|además|más)|te puede interesar
le(?:ia|r) (?:também|mais)|(?:saiba|veja) (?:também|mais)|leggi anche|lees (?:ook|meer)|les (?:også|mer)
(?:prze)?czytaj (?:też|także|również|więcej)|zobacz (?:też|także)|läs (?:också|även|mer)|læs (?:også|mere)|lue myös
читайте (?:также|також)|смотрите также|čtěte (?:také|též)|olvassa el|ilgili haber|baca juga|xem thêm|citește și
関連記事|あわせて読みたい|相关(?:阅读|报道|新闻)|延伸阅读|相關(?:新聞|報導)|延伸閱讀|관련기사|اقرأ أيضا
"""
_CUE = rf"\W*(?:{_READ_ALSO_LIST.strip().replace(chr(10), '|')})"
_READ_ALSO = re.compile(rf"{_CUE}\s*[:：]|{_CUE}\W*\Z", re.IGNORECASE)
_QUOTED = frozenset({"embed", "embedded", "tweet", "quote"})  # quoted from elsewhere, such as a social network
_NAMED_BY_ID = frozenset({"aside", "div", "form", "p", "ul", "ol", "dl", "table", "td"})
_MAY_TURN = frozenset({"p", "div", "table", "ul"})
_TURNS = frozenset({"next", "prev", "previous", "up", "first", "last", "start", "contents", "index"})
_UNCOUNTED = frozenset({"dt", "dd", "tr", *HEADINGS})
_BODIES = frozenset({"article", "body", "center", "div", "main", "section", "td"})
_MAY_LIST = _BODIES | {"aside", "dl", "footer", "form", "header", "ol", "table", "ul"}
_SOLID = frozenset({"h1", "pre"})
_ANCHORED = frozenset({"section", *HEADINGS}) - _SOLID
_FIELDS = frozenset({"input", "textarea", "button"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_COPYRIGHT = re.compile(r"©\s*(?:copyright[\s,]*)?(?:19|20)\d\d", re.IGNORECASE)
_FIRST_WIDE = "\u2e80"

_NAV, _LIST, _TOOLS, _TEASERS, _FORM = "navigation", "list", "tools", "teasers", "form"
_KINDS = {**dict.fromkeys(_TEASERS_LIST.split(), _TEASERS), **dict.fromkeys(_TOOLS_LIST.split(), _TOOLS)}
_KINDS_OF_TAGS = {"footer": _TEASERS, "aside": _TEASERS, "form": _FORM}


class Content(NamedTuple):
    """The main content of a page.

    Attributes:
        main: The element that holds it.
        left_out: Elements inside it that aren't content.
    """

    main: Any
    left_out: set[Any]


def find_content(root: Any) -> Content:
    """Find the main content of a page.

    It is ``<main>``, or the only ``<article>``, if that holds enough of the page's running text; else the whole page.
    """
    walk = _Walk(root)
    main = walk.elements[-1]
    whole = main.held
    for element in _main_parts(root):
        # An unclosed element that isn't read, such as a button, may hold it.
        own = walk if element in walk.read else _Walk(element)
        found = next((each for each in own.elements if each.element is element), None)
        if found is not None and _holds_enough(found.held, whole):
            main, walk = found, own
            break
    left_out = walk.navigation
    if main.held.prose >= MIN_PROSE:
        inside = [each for each in walk.elements if main.start < each.start <= main.end]
        body = _body(main, inside)
        unwanted = [each for each in inside if not each.held.solid and _is_boilerplate(each, main, body)]
        left_out |= {*(each.element for each in unwanted), *_empty_headings(walk, main, unwanted)}
    return Content(main.element, left_out)


def _main_parts(root: Any) -> Iterator[Any]:
    """Yield the elements that may hold the main content."""
    named = (each for each in root.iter() if each.tag == "main" or each.get("role") == "main")
    yield from islice(filter(is_shown, named), 1)
    articles = list(islice(filter(is_shown, root.iter("article")), 2))
    yield from articles if len(articles) == 1 else ()


def _holds_enough(main: "_Count", whole: "_Count") -> bool:
    if whole.prose and main.prose >= MIN_PROSE_OF_MAIN * whole.prose:
        return True
    all_of_it = whole.chars - whole.linked
    is_short = not whole.prose and all_of_it < MIN_PROSE and main.chars > 0
    return is_short or main.chars - main.linked >= MIN_SHARE_OF_MAIN * all_of_it


class _Count(NamedTuple):
    """Counts of the content of an element, without navigation.

    Attributes:
        turns: Links to the next or previous page, the contents and the like.
        shares: Links that share the page.
        teasers: Blocks with a link to another article and a cue such as "Read also".
        copyrights: Copyright notices.
        chars: Letters and digits.
        linked: Letters and digits in links.
        links: Links.
        prose: Letters and digits of running text outside links.
        solid: Titles and code.
        anchors: Headings and sections with an id.
        fields: Form fields.
    """

    turns: int
    shares: int
    teasers: int
    copyrights: int
    chars: int
    linked: int
    links: int
    prose: int
    solid: int
    anchors: int
    fields: int


class _Element(NamedTuple):
    """An element with its counts.

    Attributes:
        element: The element of lxml.
        kind: Its possible kind by its names or its tag; empty for none.
        start: Its number in document order.
        end: The number of the last element inside it.
        last: The letters and digits of the page up to its end.
        read: The running text of the page up to its end, in letters and digits.
        held: The counts of its content.
    """

    element: Any
    kind: str
    start: int
    end: int
    last: int
    read: int
    held: _Count


class _Heading(NamedTuple):
    """A heading.

    Attributes:
        element: The element.
        level: Its level; 0 for the end of the page.
        start: Its number in document order.
        before: The letters and digits before it.
        after: The letters and digits up to its end.
    """

    element: Any
    level: int
    start: int
    before: int
    after: int = 0


_TURNED, _SHARES, _READ_ON, _COPYRIGHTS, _CHARS, _LINKED, _LINKS, _PROSE, _SOLIDS, _ANCHORS, _FIELD = range(11)
_MARKS = slice(_CHARS)
"""Counts by which an element without such a name may be recognized."""


class _Walk:
    """Counts the content of all elements in one pass.

    Attributes:
        elements: Elements with text, inner ones first; the last one is the root.
        navigation: Elements that are navigation.
        headings: Headings outside navigation.
        read: Visible elements that may hold the main content.
    """

    def __init__(self, root: Any) -> None:
        self.elements: list[_Element] = []
        self.navigation: set[Any] = set()
        self.read: set[Any] = set()
        self.headings: list[_Heading] = []
        self._opened: list[tuple[Any, str, int, tuple[int, ...]]] = []
        self._count = [0] * len(_Count._fields)
        self._number = 0
        self._open_links = 0
        self._of_block = [0, 0]  # letters and digits outside and inside links
        self._texts: tuple[list[str], list[str]] = [], []
        for event, element in walk_shown(root):
            if event == "start":
                self._number += 1
                self._start(element, element.tag)
                text = element.text
            else:
                if event == "end":
                    self._end(element, element.tag)
                elif element.tag in _FIELDS:
                    self._count[_FIELD] += 1
                text = element.tail if element is not root else None
            if text and not text.isspace():
                self._add(text)

    def _start(self, element: Any, tag: str) -> None:
        if tag == "a" and element.get("href"):
            self._open_links += 1
            self._count[_LINKS] += 1
            self._count[_SHARES] += _SHARE.match(element.get("href")) is not None
            self._count[_TURNED] += not _TURNS.isdisjoint(element.get("rel", "").lower().split())
        elif tag in BLOCKS:
            self._end_block()
            if tag in ("main", "article") or element.get("role") == "main":
                self.read.add(element)
            if tag not in _UNCOUNTED:
                self._opened.append((element, _kind(element), self._number, tuple(self._count)))
            if tag in HEADINGS:
                self.headings.append(_Heading(element, int(tag[1]), self._number, self._count[_CHARS]))
            if tag in _SOLID:
                self._count[_SOLIDS] += 1
            elif tag in _ANCHORED and element.get("id"):
                self._count[_ANCHORS] += 1

    def _end(self, element: Any, tag: str) -> None:
        if tag == "a" and element.get("href"):
            self._open_links -= 1
        elif tag in BLOCKS:
            self._end_block(is_code=tag == "pre")
            if tag in HEADINGS:
                heading = self.headings[-1]
                self.headings[-1] = heading._replace(after=self._count[_CHARS])
            if tag not in _UNCOUNTED:
                self._close(tag)

    def _close(self, tag: str) -> None:
        element, kind, start, before = self._opened.pop()
        count = self._count
        if not kind and tag not in _MAY_LIST and tuple(count[_MARKS]) == before[_MARKS] and self._opened:
            return
        held = _Count._make(map(sub, count, before))
        if self._opened and _is_navigation(kind, tag, held):
            self.navigation.add(element)
            while self.headings and self.headings[-1].start >= start:
                self.headings.pop()
            count[:] = before  # navigation isn't counted
        elif held.chars or not self._opened:
            self.elements.append(_Element(element, kind, start, self._number, count[_CHARS], count[_PROSE], held))

    def _end_block(self, *, is_code: bool = False) -> None:
        unlinked, linked = self._of_block
        if unlinked >= MIN_PROSE_OF_BLOCK and unlinked >= linked and not is_code:
            self._count[_PROSE] += unlinked
        if linked and unlinked <= MAX_UNLINKED_AT_SHARES:
            text = "".join(self._texts[not unlinked])
            may_read_on = unlinked > 0 or ":" in text or "：" in text
            self._count[_READ_ON] += may_read_on and _READ_ALSO.match(text) is not None
        if unlinked or linked:
            self._of_block[:] = 0, 0
            self._texts = [], []

    def _add(self, text: str) -> None:
        size = sum(map(str.isalnum, text))
        is_linked = self._open_links > 0
        self._count[_CHARS] += size
        self._count[_LINKED] += size * is_linked
        if not text.isascii():
            self._count[_COPYRIGHTS] += "©" in text and _COPYRIGHT.search(text) is not None
            size += sum(each >= _FIRST_WIDE for each in text)
        self._of_block[is_linked] += size
        self._texts[is_linked].append(text)


def _kind(element: Any) -> str:
    """Return the possible kind of an element by its names or its tag.

    Ids of headings and sections are ignored, as they are made from titles such as "Pagination".
    """
    tag, classes = element.tag, element.get("class", "")
    name = element.get("id", "") if tag in _NAMED_BY_ID else ""
    if classes or name:
        kind = _kind_of_names(classes, name)
        if kind and (tag != "p" or kind not in (_TOOLS, _TEASERS)):
            return kind
    return _KINDS_OF_TAGS.get(tag, "")


@lru_cache(4096)
def _kind_of_names(classes: str, name: str) -> str:
    names = classes.split()
    if name and "section" not in names:
        names.append(name)
    lower = [each.lower() for each in names]
    if any(map(_NAVIGATION.fullmatch, lower)):
        return _NAV
    if any(map(_LISTS.fullmatch, lower)):
        return _LIST
    if not _OF_FORM.isdisjoint(names):
        return _FORM
    words = {word.lower() for each in names if each != "ad" for word in _WORD.findall(each)}
    if not words.isdisjoint(_QUOTED):
        return ""
    kinds = {_KINDS.get(word, "") for word in words}
    return next((kind for kind in (_TOOLS, _TEASERS) if kind in kinds), "")


def _is_navigation(kind: str, tag: str, held: _Count) -> bool:
    unlinked = held.chars - held.linked
    if kind == _LIST:
        return held.links >= MIN_LINKS_OF_LIST and held.linked >= MIN_SHARE_OF_LIST * held.chars
    if kind == _NAV:
        return held.links > 0 and (unlinked <= MAX_UNLINKED or held.linked >= MIN_SHARE_LINKED * held.chars)
    return tag in _MAY_TURN and held.turns >= MIN_TURNS and unlinked <= MAX_UNLINKED_AT_TURNS


def _body(main: _Element, inside: list[_Element]) -> _Element:
    """Return the innermost element with most of the running text."""
    least = MIN_SHARE_OF_BODY * main.held.prose
    holders = [each for each in inside if each.held.prose >= least and each.element.tag in _BODIES]
    return max(holders, key=lambda each: each.start, default=main)


def _is_boilerplate(element: _Element, main: _Element, body: _Element) -> bool:
    kind, count, prose = element.kind, element.held, main.held.prose
    unlinked = count.chars - count.linked
    has_form = count.fields > 0 and not count.prose
    is_bar = 0 < count.links == count.shares + count.teasers and unlinked <= MAX_UNLINKED_AT_SHARES
    if is_bar or (kind and has_form and unlinked <= 2 * MAX_SHARE_OF_TOOLS * prose):
        return True
    if kind == _TOOLS or (kind == _FORM and (count.fields or element.element.tag != "form")):
        most = 1 if kind == _TOOLS and has_form else 2 * MAX_SHARE_OF_TOOLS
        return count.prose <= MAX_SHARE_OF_TOOLS * prose and unlinked <= most * prose
    is_outside = element.end < body.start or body.end < element.start
    is_last = element.read == main.read and not count.prose
    is_notice = count.copyrights and count.chars <= MAX_COPYRIGHT and (is_last or (is_outside and not count.prose))
    least = MIN_LINKED_OUTSIDE if is_outside else MIN_LINKED_INSIDE
    if is_notice or (kind == _TEASERS and count.links and count.linked >= least * count.chars):
        return count.prose <= MAX_SHARE_OF_TEASERS * prose
    is_list = element.element.tag in _MAY_LIST and element.element.getparent().tag not in HEADINGS
    is_linked = count.links >= MIN_LINKS_OF_LIST and count.linked >= MIN_LINKED_OF_LIST * count.chars
    return is_outside and is_list and is_linked and not count.anchors


def _empty_headings(walk: _Walk, main: _Element, unwanted: list[_Element]) -> Iterator[Any]:
    """Yield headings all of whose text is left out."""
    outer: list[_Element] = []
    for each in sorted(unwanted, key=lambda each: each.start):
        if not outer or each.start > outer[-1].end:
            outer.append(each)
    starts = [each.start for each in outer]
    sizes = [0, *accumulate(each.held.chars for each in outer)]
    own = [each for each in walk.headings if main.start < each.start <= main.end]
    left = [each for each in own if not (place := bisect(starts, each.start)) or outer[place - 1].end < each.start]
    for heading, after in pairwise([*left, _Heading(None, 0, main.end + 1, main.last)]):
        gone = sizes[bisect(starts, after.start)] - sizes[bisect(starts, heading.start)]
        is_over = after.level <= heading.level and after.before - heading.after <= gone
        if gone and is_over and heading.level > 1:
            yield heading.element
