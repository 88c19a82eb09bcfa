"""Markup of documentation generators in Markdown, which is blanked, so that spans leave it out.

=====================================================  ===========================================
markup                                                 from
=====================================================  ===========================================
``{ #anchor }``, ``{: .class }``, ``{#id}``            MkDocs, Jekyll, Docusaurus, Pandoc
``!!! note "Title"``, ``??? tip``, ``=== "Tab"``       Material for MkDocs; the text is indented
``/// tip | Title``, ``:::tip[Title]``, ``::: info``   pymdownx, Docusaurus, VitePress, Quarto
``:::{note}``                                          MyST, for Sphinx
``::: module.Class``                                   mkdocstrings
``--8<-- "file"``, ``{* file *}``, ``{!file!}``        includes
``{% tag %}``, ``{{< shortcode >}}``, ``{# … #}``      Liquid, Jinja, Hugo
``<div>``, ``<Tabs>``, ``import … from``, ``export``   HTML and MDX
``[label]: address``, ``<!-- … -->``                   Markdown
``> [!NOTE]``                                          GitHub, Obsidian, Hugo
=====================================================  ===========================================

The title and the text of an admonition are text. Markup inside a sentence or in code stays, as a
sentence is one slice. Blanks keep each line and each position. What may be text is text.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from langchain_sentence_window._primitives import Span

from .blocks import LINE, has_word

MAX_MARKUP_CHARS = 1_500
"""Characters of the longest piece of markup, such as a tag with its attributes. A longer one is text."""

_EOL = r"[ \t]*+(?=\n|\Z)"
_BRACES = r"\{[^{}]*+(?:\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}[^{}]*+)*+\}"
_ATTRIBUTES = rf"(?:[^<>\"'{{}}\n]|\n(?![ \t]*\n)|\"[^\"<]*+\"|'[^'<]*+'|{_BRACES})*+"
_LAYOUT_NAMES = (
    r"(?:(?:div|section|article|aside|main|header|footer|nav|details|summary|center|figure|figcaption|picture|source|p"
    r"|span|br|hr|img|input|a|iframe|button|template|blockquote|fieldset|form)(?![\w.-])|[a-z]++-[\w-]++|[A-Z][\w.]*+)"
)
_TAG = rf"</?(?:{_LAYOUT_NAMES}(?=[\s/>]){_ATTRIBUTES})?>"
_BLOCK_NAMES = r"(?:div|section|details|summary|center|figcaption|p)"
_NAMES_AND_CLASSES = r"\{(?::[^{}\n]*+|[ \t]*+(?:#[\w:]|\.[a-zA-Z_-])[^{}\n]*+)\}"
_PAIRS = r"\{[ \t]*+[\w-]++=(?=[\"'\w])[^{}\n]*+\}"
_LIST_OF_ATTRIBUTES = f"{_NAMES_AND_CLASSES}|{_PAIRS}"
_LIQUID = r"\{%(?:[^%\n]|%(?!\}))*+%\}|\{\{<[^<>{}]*+>\}\}|\{\{%[^%{}]*+%\}\}"
_LIQUID += r"|\{#(?![\w:])[^#\n]*+#\}|\{/\*(?:[^*{]|\*(?!/))*+\*/\}"
_INCLUDE = r"\{\*[^*\n]++\*\}|\{![^!\n]++!\}|\{\{#[^{}\n]++\}\}"
# What is computed has a dot, a filter or a call; a plain name may be a blank of a form or of a prompt.
_COMPUTED = r"\{\{-?[ \t]*+\$?[a-z_][\w-]*+[ \t]*+[.|(][^{}\n]*+\}\}"
_OPTIONS = r"(?:\n[ \t]*+:[\w-]++:[^\n]*+|\n(?:[ ]{4}|\t)[ \t]*+(?:[\w-]++:|-[ ])[^\n]*+)*+"
_INDENTED = r"(?=(?:\n[ \t]*+)?\n(?:[ ]{4}|\t)|\s*+\Z)"
_CONTAINERS = (
    r"(?:abstract|attention|bug|card|caution|code-group|column|columns|danger|deprecated|details|error|example|failure"
    r"|grid|hint|important|info|note|question|quote|raw|row|seealso|success|summary|tab|tabs|tip|todo|v-pre|warn|warning)"
)

_LINE_OF_MARKUP = re.compile(
    rf"(?:(?:{_LIST_OF_ATTRIBUTES}|{_LIQUID}|{_INCLUDE}|{_COMPUTED}|{_TAG})[ \t]*+)++(?=\n|\Z)"
)
_ADMONITION = re.compile(
    r"(?:!{3}|\?{3}\+?)[ \t]++[\w-]++(?:[ \t]++[\w-]++)*+(?:[ \t]++\"(?P<title>[^\"\n]*+)\"?+)?" + _EOL + _INDENTED
)
_EMPTY_ITEM = re.compile(rf"[*+-][ \t]++(?:<a\s[^<>\n]*+>[ \t]*+</a>|<a\s[^<>\n]*+(?<=/)>){_EOL}")
_VALUE = re.compile(_COMPUTED)
# By the first character of a line. The group `title` of a pattern is text.
_RULES: dict[str, tuple["re.Pattern[str]", ...]] = {
    "!": (_ADMONITION,),
    "?": (_ADMONITION,),
    "=": (re.compile(rf"===[!+]*+[ \t]++\"(?P<title>[^\"\n]*+)\"?+{_EOL}"),),
    "/": (
        re.compile(rf"/{{3,}}{_EOL}"),
        re.compile(rf"/{{3,}}[ \t]++[\w-]++[ \t]*+(?:\|[ \t]*+(?P<title>[^\n]*+))?(?=\n|\Z){_OPTIONS}"),
    ),
    ":": (
        re.compile(
            rf":{{3,}}(?:[ \t]*+(?:\{{[^{{}}\n]*+\}}|[\w.:-]++))?(?:[ \t]*+\{{[^{{}}\n]*+\}})?+{_EOL}{_OPTIONS}"
        ),
        re.compile(rf":{{3,}}[\w-]++\[(?P<title>[^\]\n]*+)\]?+(?:\{{[^{{}}\n]*+\}})?{_EOL}"),
        re.compile(
            rf":{{3,}}(?:[ \t]*+{_CONTAINERS}|[\w-]++|[ \t]*+\{{[\w:-]++\}})[ \t]++"
            rf"(?P<title>[^\n{{]*+)(?:\{{[^{{}}\n]*+\}})?{_EOL}{_OPTIONS}"
        ),
    ),
    "{": (
        re.compile(
            rf"\{{%-?[ \t]*+comment\b[^\n%]*+%\}}(?:[^{{]|\{{(?!%-?[ \t]*+(?:end)?comment))*+"
            rf"\{{%-?[ \t]*+endcomment[ \t]*+-?%\}}{_EOL}"
        ),
        _LINE_OF_MARKUP,
        re.compile(r"(?:(?:\{%(?:[^%\n]|%(?!\}))*+%\}|\{\{%[^{}%\n]*+%\}\})[ \t]*+)++(?=\S)"),
    ),
    "-": (
        _EMPTY_ITEM,
        re.compile(
            rf"--8<--(?:[ \t]++\"[^\"\n]*+\")?{_EOL}"
            rf"(?:(?:\n[ \t]*+(?!--8<--)[^\s][^\n]*+){{1,99}}?\n[ \t]*+--8<--{_EOL})?"
        ),
    ),
    ";": (re.compile(r";--8<--[^\n]*+"),),
    "<": (
        _LINE_OF_MARKUP,
        re.compile(
            rf"(?:<{_BLOCK_NAMES}(?=[\s>]){_ATTRIBUTES}>[ \t]*+)++(?=[^\s<]|<(?:strong|em|b|i|a|code|small)[\s>])"
        ),
        re.compile(rf"<(?P<name>[A-Z][\w.]*+)(?=[\s>]){_ATTRIBUTES}>(?P<title>[^<\n]++)</(?P=name)>{_EOL}"),
        re.compile(r"<<<[ \t]*+@?[./][^\n]*+"),
    ),
    "i": (
        re.compile(rf"import[ \t]+(?:[\w*{{][^;'\"<>()]{{0,400}}?[\s}}]from[ \t]+)?(?:'[^'\n]+'|\"[^\"\n]+\");?{_EOL}"),
    ),
    "e": (
        re.compile(
            r"export[ \t]+(?:default\b|const\b|let\b|function\b)(?=[^\n]*[={(])[^\n]*+(?:\n(?![ \t]*\n)[^\n]++)*+"
        ),
    ),
    "(": (re.compile(rf"\([\w.:/-]++\)={_EOL}"),),
    "[": (
        re.compile(rf"(?:\[TOC\]|\[\[_?toc_?\]\]){_EOL}", re.IGNORECASE),
        re.compile(
            r"\[(?!\^)[^\[\]\n]++\]:[ \t]*+(?:<[^<>\n]++>|(?=\S*[/#@]|\S*\w\.\w)\S++)"
            rf"(?:[ \t]++(?:\"[^\"\n]*+\"|'[^'\n]*+'|\([^()\n]*+\)))?+{_EOL}"
        ),
    ),
    ">": (re.compile(r">[ \t]*+\[![\w-]++\][+-]?+"),),
    "*": (_EMPTY_ITEM,),
    "+": (_EMPTY_ITEM,),
}
# Modules of JavaScript are markup in MDX, and code elsewhere.
_MDX = re.compile(
    r"\n[ \t]*+</?[A-Z][\w.]*+[\s/>]|\nimport[ \t][^\n]*['\"](?:@theme|@site|@components|[.~@]*/)[^\n]*['\"]"
)
_STARTS = (
    r"[!?]{3}|=== \"|===[!+]|\([\w.:/-]++\)=|///|:::|\{|;?--8<--|</?[a-zA-Z>!]|<<<|import[ \t]|export[ \t]"
    r"|>[ \t]*\[!|[*+-][ \t]+<a\s|\[[^\[\]\n]+\]:"
)
_CANDIDATE = re.compile(
    rf"\n[ \t]*+(?=(?:{_STARTS}|```|~~~|\[TOC|\[\[_?toc|#{{1,6}}[ \t][^\n{{<]*[{{<]))", re.IGNORECASE
)
_SIGNS = re.compile(
    rf"\n[ \t]*+(?:(?:!!!|\?\?\?\+?)[ \t]++[\w-]++[^\n]*+{_INDENTED}(?!\s*\Z)|===[ \t]\""
    rf"|:{{3,}}[ \t]*[\w{{]|/{{3,}}[ \t][\w-]++"
    r"(?:[ \t]*\||[ \t]*\n)|\{%-?[ \t]*\w[^\n%]*%\}|\{\{[<%][ \t/]|--8<--|\{\*[ \t][^\n*]*\*\}|\{:[ \t]*[.#])"
)

_FENCE = re.compile(r"(?P<marks>`{3,}|~{3,})[^\n]*+")
_NAME_OF_CODE = r"(?:highlight|codeblock|code-block|code-toggle|code|prism)"
_CODE = (  # what begins code, and what closes it
    (
        re.compile(r":{3,}[ \t]*+\{(?:code|code-block|code-cell|sourcecode|math|mermaid|literalinclude)\}[^\n]*+"),
        r"\n[ \t]*:{3,}" + _EOL,
    ),
    (
        re.compile(rf"\{{%-?[ \t]*+{_NAME_OF_CODE}\b[^\n%]*+%\}}{_EOL}"),
        rf"\n[ \t]*\{{%-?[ \t]*end{_NAME_OF_CODE}[^\n%]*%\}}{_EOL}",
    ),
    (
        re.compile(rf"\{{\{{[<%][ \t]*+{_NAME_OF_CODE}(?![\w-])[^\n{{}}]*+(?<=[>%])(?<!/[>%])\}}\}}{_EOL}"),
        rf"\n[ \t]*\{{\{{[<%][ \t]*/[ \t]*{_NAME_OF_CODE}[^\n{{}}]*\}}\}}{_EOL}",
    ),
)
_REGION = re.compile(
    r"<(?P<name>table|pre|ul|ol|dl|script|style|svg|textarea|select)(?=[\s>])|<(?P<comment>!--)", re.IGNORECASE
)
_ANY_TAG = re.compile(r"<(?:style|script)\b[^<>]*+>[^<]*+|<[^<>]*+>", re.IGNORECASE)
_IN_HEADING = re.compile(
    r"`[^`\n]*+`|(?P<mark>"
    + _LIQUID
    + r"|<a\s[^<>\n]*+>[ \t]*+</a>|<[A-Z][\w.]*+[^<>\n]*+(?<=/)>|"
    + _LIST_OF_ATTRIBUTES
    + ")"
)
_LINE_TAIL = re.compile(r"[}>][ \t]*+(?=\n|\Z)")
# A run of markup, which is read once, wherever it ends.
_TAIL = re.compile(
    rf"(?:(?:{_NAMES_AND_CLASSES}|(?<=[)\]`*]){_PAIRS}|\{{%-?[ \t]*+end\w*[ \t]*+-?%\}}"
    rf"|\{{\{{[<%][ \t]*+/[^{{}}\n]*+\}}\}}|{_INCLUDE}|</(?:{_BLOCK_NAMES}|[A-Z][\w.]*+)>)[ \t]*+)++"
)
_BLANKED = re.compile(r"[^\r\n]")


class Stripped(NamedTuple):
    """A text whose markup is blanked.

    Attributes:
        text: The text, as long as before.
        layout: The same with lines that a parser of Markdown cuts as they are meant: the text of an admonition isn't
            indented, a title is between rules, and tags around code are fences. It has as many lines.
    """

    text: str
    layout: str


def has_markup(lines: str) -> bool:
    """Return whether a text, with a newline before it, has marks of generators that are rare in plain text."""
    return _SIGNS.search(lines) is not None


def strip_markup(text: str) -> Stripped:
    """Blank the markup of a Markdown text. A text that would then hold no word stays as it is."""
    found = _Finder(text)
    stripped = _blank_spans(text, found.blanks)
    if not has_word(stripped) or not (found.blanks or found.rules):
        return Stripped(text, text)
    return Stripped(stripped, _layout(stripped, found))


_TAG_WITH_STRING = re.compile(r"<[a-zA-Z][\w.:-]*+(?=\s)[^<>\"']*+(?:(?<==)(?:\"[^\"<]*+\"|'[^'<]*+')[^<>\"']*+)++>")
_END_IN_TAG = re.compile(r"[.!?…:;。！？]\W|[\r\n]|[。！？]")
_TAG_OF_TEMPLATE = re.compile(r"\{[{%][^{}\n]*+[}%]\}")


def shield_tags(text: str) -> str:
    """Return a text, as long as before, in which no tag holds anything that could end a sentence."""
    if '="' in text or "='" in text:
        text = _TAG_WITH_STRING.sub(_shielded, text)
    return _TAG_OF_TEMPLATE.sub(_shielded, text) if "{{" in text or "{%" in text else text


def _shielded(match: "re.Match[str]") -> str:
    tag = match[0]
    if not _END_IN_TAG.search(tag):
        return tag
    return tag[:2] + "_" * (len(tag) - 3) + tag[-1]


class _Finder:
    """Finds the markup of a text.

    Attributes:
        text: The text.
        blanks: Spans of markup, in order.
        rules: What the parser reads, by where a line begins: a rule for one with a title, a fence for a tag around
            code.
        boxes: Where the lines begin whose text is indented below them.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.blanks: list[Span] = []
        self.rules: dict[int, str] = {}
        self.boxes: set[int] = set()
        self._lines = "\n" + text  # with plain newlines
        if "\r" in text:
            self._lines = self._lines.replace("\r\n", " \n").replace("\r", "\n")
        self._kept: list[Span] = []  # code, and HTML that is left to the parser
        self._unclosed: set[str] = set()
        at = 0
        while match := _CANDIDATE.search(self._lines, at):
            at = max(self._read_line(match.end()), match.end())
        self._read_tails()
        self.blanks = sorted((max(0, start - 1), end - 1) for start, end in self.blanks)

    @functools.cached_property
    def _is_mdx(self) -> bool:
        return _MDX.search(self._lines) is not None

    def _read_line(self, at: int) -> int:
        """Read what begins at the first mark of a line, and return where to continue."""
        lines, first = self._lines, self._lines[at]
        if first in "`~":
            return self._read_fence(at)
        if first == "#":
            return self._read_heading(at)
        for pattern, closing in _CODE if first in ":{" else ():
            if (match := pattern.match(lines, at)) and (end := self._closing(closing, match.end())):
                self.rules |= {self._line_start(at): "```", end[0]: "```"}
                self._kept.append((at, end[1]))
                return end[1]
        if first == "<" and (region := _REGION.match(lines, at)):
            end = self._closing("-->" if region["comment"] else f"(?i:</{region['name']})", at)
            stop = end[1] if end else self._line_end(at)
            self._kept.append((at, stop))
            if end and (region["comment"] or not has_word(_ANY_TAG.sub("", lines[at:stop]))):
                self.blanks.append((at, stop))
            return stop
        stop = min(len(lines), at + MAX_MARKUP_CHARS)
        rules = () if first in "ie" and not self._is_mdx else _RULES.get(first, ())
        matches = (pattern.match(lines, at, stop) for pattern in rules)
        if match := next(filter(None, matches), None):
            self._blank_but_title(match)
            return match.end()
        return at

    def _blank_but_title(self, match: "re.Match[str]") -> None:
        start, end = match.span()
        title = match.span("title") if "title" in match.re.groupindex else (-1, -1)
        if title[0] >= 0 and has_word(self._lines, *title):
            self.blanks += [(start, title[0]), (title[1], end)]
            self.rules[self._line_start(start)] = "***"
        else:
            rule = _RULE_BELOW.match(self._lines, end)
            self.blanks.append((start, rule.end() if rule else end))
        if match[0][0] in "!?=":
            self.boxes.add(self._line_start(start))

    def _read_fence(self, at: int) -> int:
        fence = _FENCE.match(self._lines, at)
        if fence is None:
            return at
        mark, length = fence["marks"][0], min(len(fence["marks"]), 99)
        closing = self._closing(rf"\n[ \t]*{mark}{{{length},}}{_EOL}", fence.end())
        stop = closing[1] if closing else len(self._lines)
        self._kept.append((at, stop))
        return stop

    def _read_heading(self, at: int) -> int:
        end = self._line_end(at)
        marks = [match.span() for match in _IN_HEADING.finditer(self._lines, at, end) if match["mark"]]
        line = self._lines[at:end]
        rest = _VALUE.sub("", _blank_spans(line, [(start - at, stop - at) for start, stop in marks]))
        self.blanks += marks if rest == line or has_word(rest) else [(at, end)]
        return end

    def _read_tails(self) -> None:
        """Find markup at the ends of lines, behind a word."""
        kept = [start for start, _ in self._kept]
        for line_end in _LINE_TAIL.finditer(self._lines):
            line = self._line_start(line_end.end()) + 1
            number = bisect_right(kept, line_end.start()) - 1
            if number >= 0 and line_end.start() < self._kept[number][1]:
                continue
            for tail in _TAIL.finditer(self._lines, line, line_end.end()):
                if tail.end() == line_end.end() and has_word(self._lines, line, tail.start()):
                    self.blanks.append(tail.span())

    def _closing(self, pattern: str, at: int) -> Span | None:
        """Return the span of what closes something; what nothing closes once isn't looked for again."""
        match = None if pattern in self._unclosed else re.compile(pattern).search(self._lines, at)
        if match is None:
            self._unclosed.add(pattern)
        return match.span() if match else None

    def _line_start(self, at: int) -> int:
        """Return where the line of a position begins in the text, which is one before its place in the lines."""
        return self._lines.rfind("\n", 0, at)

    def _line_end(self, at: int) -> int:
        end = self._lines.find("\n", at)
        return len(self._lines) if end < 0 else end


_RULE_BELOW = re.compile(r"(?=\n)(?:[ \t]*+\n)++[ ]{0,3}(?:-{3,}|\*{3,}|_{3,})" + _EOL)


def _blank_spans(text: str, spans: Sequence[Span]) -> str:
    made: list[str] = []
    at = 0
    for start, end in spans:
        if end > at:
            start = max(at, start)
            made += [text[at:start], _BLANKED.sub(" ", text[start:end])]
            at = end
    return "".join((*made, text[at:]))


_INDENT = 4
_TAB = 4


def _layout(stripped: str, found: _Finder) -> str:
    """Return the lines that the parser reads."""
    open_boxes: list[int] = []  # their indents
    made: list[str] = []
    for match in LINE.finditer(stripped):
        line, (start, end) = match[0], match.span()
        was = found.text[start:end]
        indent = was[: len(was) - len(was.lstrip())]
        width = len(indent.expandtabs(_TAB))
        if was.strip():
            while open_boxes and width < open_boxes[-1] + _INDENT:
                open_boxes.pop()
        kept = indent.expandtabs(_TAB)[_INDENT * len(open_boxes) :] if open_boxes else indent
        if start in found.boxes:
            open_boxes.append(width)
        if start in found.rules:
            line = _replace_line_text(kept + found.rules[start], line)
        elif line.strip() and (kept != indent or line[len(indent) :][:1] in (" ", "\t")):
            line = _replace_line_text(kept + line.strip(), line)
        made.append(line)
    return "".join(made)


def _replace_line_text(body: str, line: str) -> str:
    """Return a line with another text, as long as before."""
    length = len(line.rstrip("\r\n"))
    return body.ljust(length)[:length] + line[length:]
