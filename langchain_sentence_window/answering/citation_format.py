"""The format of citations, such as ``[2]``: in prompts, in answers, and in text of a source that could pass for one.

To change the format, change this module alone.

Text that looks like a source's number, or like a tag around a source, is escaped.

Models overlook invisible characters, and read a character as the letter that it resembles. So texts are compared as
they look: `looks` replaces each character by one plain character, which keeps offsets true. No list of look-alikes is
ever complete. So marks are recognized by their Unicode names, and a word counts as found if half of its letters are
right, regardless of what replaces the others.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from langchain_sentence_window._primitives import Span

MARKS = "[]"
"""The characters around a source's number."""

FORGED_NUMBER = r"(?<!\\)\[[ \n]*(?:sources?[ \n]*|[#^][ \n]*)?[0-9][0-9 \n,;:&-]*\]"
"""A pattern for what may pass for a source's number, in a text as it looks; see `looks`."""

_NAMED = (
    "sources?|refs?|references?|citations?|cite|docs?|documents?|passages?|no|nr|quellen?|dokumente?|fuentes?|fontes?|fonti"
    "|documentos?|источники?|来源|來源|出典|資料|文献|출처"
)
"""Words that may precede a number in a citation."""

_AND_WORDS = "and|or|und|oder|sowie|et|ou|y|e|o|u|ed|en|of|i|oraz|lub|и|или|och|eller|og|ja|tai|ve|veya|و|أو"
_AND_SIGNS = "以及|或者|および|及び|または|又は|그리고|또는|和|与|與|及|或|跟|と|や|및|와|과"
_TO_WORDS = "to|through|thru|bis|à|a|al|até|tot|do|till|до|по|إلى"
_TO_SIGNS = "から|到|至"
_PLACES = (
    "pp?|pgs?|pages?|ll?|lines?|ch|chap|chapters?|sec|sections?|fig|figures?|tab|tables?|para|paragraphs?|art|articles?"
    "|clauses?|seiten?|zeilen?|absatz|abs|abschnitt|kap|kapitel|abb|rn|rz|lignes?|chapitres?|pág|págs|páginas?|líneas?"
    "|cap|pagg?|pagin[ae]|righ?e|riga|linhas?|blz|стр|str"
)
"""Words before a place in a source, such as a page."""

_TO = rf"\s*+(?:[\u2010-\u2015\u2212\ufe63\uff0d~\u301c\uff5e-]|\.{{2,3}}|…|\b(?:{_TO_WORDS})\b|{_TO_SIGNS})\s*+"
_NUMBERS = rf"\d{{1,9}}(?:{_TO}\d{{1,9}})?"
_ITEM = rf"(?:(?:(?:{_NAMED})(?:\b|(?=\d))[.:：]?|n[°º]|[#^№])\s*+)?{_NUMBERS}\^?"
_COMMA = "[,;&+\u060c\u061b\uff0b\uff0c\uff1b\u3001]"
_AND = (
    rf"(?:\s*+(?:{_COMMA}\s*+(?:\b(?:{_AND_WORDS})\b)?|\b(?:{_AND_WORDS})\b|{_AND_SIGNS})\s*+"
    r"|\s++(?=\d{1,2}(?!\d)))"
)
_PAGE = rf"(?:(?:{_PLACES})\b|[§¶]|[scfzс]\.?\s?\d|[pl](?=\d)|第|\d++[頁页])"
_LOCATION = rf"\s*+(?:[,;:：，；]?\s*+{_PAGE}|†)"
# What follows a place may be another number with a place, or another one after a semicolon.
_REST = (
    rf"(?:[^\[\]\uff3d\u3011\u3015\n,;，；]|[,，](?!\s{{0,8}}{_ITEM}{_LOCATION})"
    rf"|[;；](?!\s{{0,8}}{_ITEM}(?:\s{{0,8}}[\])\uff3d\u3011\u3015,;，；]|{_LOCATION})))"
)
_PLACE = rf"(?:{_LOCATION}{_REST}{{0,80}}+|\s*+\([^()\[\]\n]{{0,60}}\))"
# A backslash before the bracket means that it isn't a citation, and an address after it means a link. A number of more
# than nine digits names no source.
_CITED = rf"""
    (?<!\\)[\[\uff3b\u3010\u3014] \s*+
    (?P<cited> {_ITEM}{_PLACE}?+ (?P<more> (?:{_AND}{_ITEM}{_PLACE}?+)++ )?+ )
    \s*+ (?(more)[,;]\s*+)?+
    [\]\uff3d\u3011\u3015] (?!\()
"""
# A fence that isn't closed makes the rest of the answer code. A backtick that isn't closed makes nothing code.
_CODE_LINES = r"""
    ^[ \t>]*+(?:(?:[-*+]|\d{1,3}[.)])[ \t]++)?(?P<fence>`{3,}|~{3,})[^`\n]*$
    (?s:.*?) (?:^[ \t>]*+(?P=fence)[`~]*[ \t]*$|\Z)
"""
_CODE = r"(?<!`)(?P<ticks>`{1,20})(?!`) (?s:(?!\n[ \t]*\n).){1,2000}? (?<!`)(?P=ticks)(?!`)"
# Two backticks may be the marks of TeX, as in ``so''.
_TEX = r"(?<!`)(?P<tex>``)(?=[^`\n]{1,2000}?''(?!`))"
_CITATION = re.compile(rf"{_CODE_LINES} | {_TEX} | {_CODE} | {_CITED}", re.VERBOSE | re.MULTILINE | re.IGNORECASE)
_RANGE = re.compile(rf"(\d+)(?:{_TO}(\d+))?\^?{_PLACE}?+", re.IGNORECASE)


def source_number(number: int | str) -> str:
    """Return a source's number, or several, as the model sees it and as it is to cite it."""
    return f"[{number}]"


def opened_source(number: int) -> str:
    """Return how a source begins that is shown between tags; `SHOWN_SOURCES` finds them again."""
    return f"<source>\n{source_number(number)} "


SHOWN_SOURCES = re.compile(r"<source>\n\[(\d{1,9})\] .*?\n</source>", re.DOTALL)
"""Finds the sources that a text shows between tags, each with its number."""

HOW_TO_CITE = f"Cite the source of every statement by its number in square brackets, such as {source_number(1)}."
"""The line of a prompt that asks for citations."""


def numbers_once(ranges: Iterable[Span], count: int) -> Iterator[int]:
    """Yield the numbers of the ranges that name some of so many sources, each once, in the order of the ranges."""
    seen = MergedSpans()
    for first, last in ranges:
        if 1 <= first <= last <= count:
            for start, end in seen.add((first, last + 1)):
                yield from range(start, end)


class MergedSpans:
    """Spans of one text. Adding ``n`` of them takes ``n log n`` comparisons, in any order."""

    def __init__(self) -> None:
        """Start without spans."""
        self._starts: list[int] = []
        self._ends: list[int] = []

    def holds(self, span: Span) -> bool:
        """Return whether all of a span has been added."""
        start, end = span
        number = bisect_left(self._ends, end)
        return start >= end or (number < len(self._starts) and self._starts[number] <= start)

    def add(self, span: Span) -> list[Span]:
        """Add a span.

        Returns:
            The parts of it that are new, in order, none empty.
        """
        start, end = span
        if start >= end:
            return []
        # Spans that it overlaps or touches are merged with it, so each is visited once.
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        starts, ends = self._starts[first:last], self._ends[first:last]
        gaps = zip([start, *ends], [*starts, end], strict=True)
        self._starts[first:last] = [min([start, *starts[:1]])]
        self._ends[first:last] = [max([end, *ends[-1:]])]
        return [(left, right) for left, right in gaps if left < right]


def citation_marks(answer: str) -> Iterator[tuple[Span, tuple[Span, ...]]]:
    """Yield where an answer cites: the span of each mark with its brackets, and the ranges of numbers in it.

    A stretch of code is yielded too, without numbers, as nothing in it is a citation.
    """
    for match in _CITATION.finditer(answer):
        if match["tex"]:
            continue
        # Up to the closing bracket, which distinguishes a number from a place.
        ranges = _RANGE.finditer(answer, match.start("cited"), match.end()) if match["cited"] else ()
        yield match.span(), tuple((int(cited[1]), int(cited[2] or cited[1])) for cited in ranges)


def spliced(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """Return a text with other words in the place of stretches, which are given in order, each by its span."""
    parts, at = list[str](), 0
    for start, end, new in changes:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def without_citations(answer: str) -> str:
    """Return an answer without its citations and the spaces before them."""
    parts, end = list[str](), 0
    for (start, after), numbers in citation_marks(answer):
        if numbers:
            parts.append(answer[end:start].rstrip(" \t"))
            end = after
    return "".join([*parts, answer[end:]])


INVISIBLE = "\0"
"""Replaces an invisible character."""

_LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"

_BLANK = "\u115f\u1160\u3164\uffa0\u034f\u2800"
"""Blank characters that Unicode counts among letters and symbols."""

# From Unicode's table of confusables (UTS #39), without those that names and decompositions reveal.
_LOOK_ALIKES = {
    "s": "\u01bd\u0455\u054f\u10fd\u13d5\ua4e2\uabaa\U00010296\U00010448\U000118c1\U00016f3a",
    "o": (
        "\u03bf\u03c3\u043e\u0585\u0b20\u0c02\u0c82\u0d02\u0d20\u0d82\u101d\u10ff\u12d0\u1d11\u2c9f\u2d54"
        "\ua4f3\uab3d\U00010292\U000102ab\U0001042c\U000104ea\U00010516\U000118b5\U000118c8\U000118d7"
    ),
    "u": "\u03c5\u0446\u057d\u1200\u144c\u222a\u22c3\ua4f4\ua79f\U000104f6\U000118d8\U00016f42",
    "r": "\u01a6\u0433\u13a1\u13d2\u1587\u1d26\u2c85\ua4e3\uab47\uab48\uab81\U000104b4\U00016f35\U0001d216",
    "c": "\u03f2\u0441\u2ca5\ua4da\uabaf\U000102a2\U00010302\U0001043d\U0001051c\U0001f74c",
    "e": "\u0395\u0435\u04bd\u13ac\u212e\u22ff\u2d39\ua4f0\uab32\U00010286\U000118a6\U000118ae",
    "d": "\u0501\u13a0\u13e7\u146f\u15de\u15ea\ua4d2\ua4d3",
    "f": "\u03dc\u0584\u15b4\ua4dd\uab35\U00010287\U000102a5\U00010525\U000118c2\U0001d213",
    "i": "\u0131\u0269\u03b9\u0456\u04cf\u2373\ua647\uab75\U000118c3",
    "l": (
        "\u0196\u01c0\u0399\u0406\u04c0\u13de\u14aa\u16c1\u2223\u23fd\u2c92\u2cd0\u2d4f\ua4e1\ua4f2\uffe8"
        "\U0001028a\U00010309\U0001041b\U00010526\U000118a3\U000118b2\U00016f16\U00016f28\U0001d22a"
    ),
    "a": "\u0251\u03b1\u0430\u13aa\u15c5\u237a\ua4ee\U000102a0\U00016f40",
    "t": "\u03a4\u0422\u13a2\u22a4\u27d9\u2ca6\ua4d4\U00010297\U000102b1\U00010315\U000118bc\U00016f0a\U0001f768",
    "2": "\u01a7\u03e8\u14bf\ua644\ua75a",
    "3": "\u01b7\u021c\u0417\u04e0\u2ccc\ua76a\ua7ab\U000118ca\U00016f3b\U0001d206",
    "4": "\u13ce\U000118af",
    "5": "\u01bc\U000118bb",
    "6": "\u0431\u13ee\u2cd2\U000118d5",
    "7": "\U000104d2\U000118c6\U0001d212",
    "8": "\u0223\u0b03\U0001031a",
    "9": "\u2cca\ua76e\U000118cc\U000118d6",
    ":": "\u0589\u0903\u0a83\u16ec\u1803\u1809\u205a\ua4fd\ufe30",
    "<": "\u1438\u16b2\U0001d236",
}

_MARK_NAMES = {
    "<": r"LESS-THAN|SMALLER THAN|PRECEDES|LEFT.*(?:ANGLE (?:BRACKET|QUOTATION)|ARROWHEAD|-POINTING.*TRIANGLE)",
    "/": r"SOLIDUS|SLASH|DIAGONAL",
    "[": r"LEFT(?!.*(?:CURLY|CORNER)).*BRACKET",
    "]": r"RIGHT(?!.*(?:ANGLE|CURLY|CORNER)).*BRACKET",
    ":": r"COLON|RATIO",
}
"""Patterns for the Unicode names of characters that look like a mark."""

_NAMED_MARK = re.compile("|".join(f"(?P<m{ord(mark)}>.*(?:{names}))" for mark, names in _MARK_NAMES.items()))
_NAMED_LETTER = re.compile(r"(?:LATIN|REGIONAL|NEGATIVE|SQUARED).* LETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?")


_STRANGE = r"[^a-z\s<>/\\\[\]]"


def disguised(word: str) -> str:
    """Return a pattern for a word in which strange characters may replace letters.

    The pattern is for a text as it `looks`.

    Args:
        word: Lowercase letters; half of them must be right.
    """
    strange = len(word) // 2
    half_right = rf"(?=(?:{_STRANGE}{{0,{strange}}}[{word}]){{{len(word) - strange}}})"
    return half_right + "".join(f"(?:{letter}|{_STRANGE})" for letter in word)


# A few characters may be between the bracket and the word. One may be a letter that looks like a slash.
_TAG = re.compile(rf"<(?=[\s/\\]*+[^\w<]{{0,4}}[^a-z0-9<]?[^\w<]{{0,2}}{disguised('source')}(?!\w))")
_NUMBER = re.compile(FORGED_NUMBER)
_LINE_HEAD = re.compile(rf"^(?:{FORGED_NUMBER}|[\d_]|[^\w\n])++", re.MULTILINE)


class CharacterTable(dict[int, str]):
    """A table for `str.translate` that finds what replaces a character on first use."""

    def __init__(self, find: Callable[[str], str]) -> None:
        """Begin without characters."""
        super().__init__()
        self._find = find

    def __missing__(self, code: int) -> str:
        """Find what replaces a character."""
        found = self[code] = self._find(chr(code))
        return found


def _look(character: str) -> str:
    if character.isspace():
        return "\n" if character in _LINE_ENDS else " "
    category = unicodedata.category(character)
    if character in _BLANK or category in ("Cc", "Cf", "Cs", "Mn", "Me", "Cn", "Co"):
        return INVISIBLE
    if category == "Pd":
        return "-"
    value = unicodedata.numeric(character, None)
    if value is not None and value >= 0 and value.is_integer():
        return str(int(value))[0]
    if look := _LISTED.get(character) or _LISTED.get(character.lower()):
        return look
    plain = "".join(each for each in unicodedata.normalize("NFKD", character) if not unicodedata.combining(each))
    # A character that becomes several, such as a ligature, looks like none of them.
    plain = plain.lower() if len(plain) == 1 and len(plain.lower()) == 1 else character
    return plain if plain.isascii() else _LISTED.get(plain) or _letter_from_name(plain)


def _letter_from_name(character: str) -> str:
    """Return the look of a character by its name, such as a letter with a hook."""
    name = unicodedata.name(character, "")
    if letter := _NAMED_LETTER.fullmatch(name):
        return letter[1].lower()
    mark = _NAMED_MARK.match(name)
    return chr(int(str(mark.lastgroup)[1:])) if mark else character


_LISTED = {each: look for look, characters in _LOOK_ALIKES.items() for each in characters}
_LOOKS = CharacterTable(_look)


def looks(text: str) -> str:
    r"""Return a text of the same length as a reader sees it, in plain lowercase letters.

    Line ends become ``\n``, other white space a space, digits and dashes plain ones, and invisible characters
    `INVISIBLE`. Characters that look like no plain one stay.
    """
    return text.translate(_LOOKS)


def visible(text: str) -> tuple[str, Sequence[int]]:
    """Return the visible characters of a text as it `looks`, and the offset of each in the text."""
    look = looks(text)
    if INVISIBLE not in look:
        return look, range(len(look))
    return look.replace(INVISIBLE, ""), [offset for offset, each in enumerate(look) if each != INVISIBLE]


def escape_tags(text: str) -> str:
    """Write ``&lt;`` for the ``<`` of anything that looks like the beginning of a tag ``<source>`` or ``</source>``."""
    return spliced(text, ((at, at + 1, "&lt;") for at in _found(_TAG, text)))


def escape_leading_numbers(text: str) -> str:
    """Put a backslash before anything that looks like a source's number, such as ``[2]``, at the beginning of a line.

    The beginning is all that precedes the line's first letter: Markdown marks, digits, other such numbers.
    """
    look, offsets = visible(text)
    numbers = (number for head in _LINE_HEAD.finditer(look) for number in _NUMBER.finditer(look, *head.span()))
    starts = (offsets[number.start()] for number in numbers)
    return spliced(text, ((at, at, "\\") for at in starts))


def escape_numbers(text: str) -> str:
    """Put a backslash before anything that looks like a source's number."""
    return spliced(text, ((at, at, "\\") for at in _found(_NUMBER, text)))


def escaped_offsets(text: str) -> set[int]:
    """Return where `escape_tags` and `escape_numbers` change a text."""
    return {*_found(_TAG, text), *_found(_NUMBER, text)}


def on_one_line(text: str, max_chars: int) -> str:
    """Return a text on one line, cut to a length."""
    part = text[: 2 * max_chars]
    line = "".join(" " if look in "\n " else each for each, look in zip(part, looks(part), strict=True))
    line = " ".join("".join(each for each in line if each.isprintable() or each > "\x9f").split())
    return line[: max_chars - 1] + "…" if len(line) > max_chars or len(text) > len(part) else line


def _found(pattern: re.Pattern[str], text: str) -> list[int]:
    """Return the offsets in a text at which a pattern is found in its look."""
    look, offsets = visible(text)
    return [offsets[match.start()] for match in pattern.finditer(look)]
