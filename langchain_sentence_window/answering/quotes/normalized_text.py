"""Text in its normalized form, without differences of white space, case, quotation marks, dashes and ligatures.

    >>> plain_text("The “ﬁnal”  fee").text
    'the "final" fee'

What the meaning depends on is kept: digits, signs, decimal points, percent, currency, superscripts, subscripts,
fractions and words. So ``m²`` isn't ``m2``, and a hyphen is dropped only where it ends a line.

Each step returns a text, and `Shift` records that map its offsets to the text before the step.

The module also finds negations, and the boundaries of words and of numbers with their signs and units. So "5 euros"
isn't in "1.5 euros".
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from langchain_sentence_window._primitives import UNSPACED
from langchain_sentence_window.answering.citation_format import CharacterTable

from .inline_markup import markup, rendered

INVISIBLE, SOFT_HYPHEN = "\x01", "\x02"
"""The characters to which `PLAIN` maps an invisible character, and a soft hyphen."""

SINGLE_MARKS = "'‘’‚‛‹›＇´ʼ′"
DOUBLE_MARKS = '"“”„‟«»〝〞〟＂″「」『』｢｣﹁﹂﹃﹄'

_UNSEEN = "`\u034f\u115f\u1160\u3164\uffa0"
_VARIATION = ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef")
_SEEN_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
_SAME = {"İ": "i", "ς": "σ", "\u2212": "-", "\u2800": " ", "\xad": SOFT_HYPHEN, "⩽": "≤", "≦": "≤", "⩾": "≥", "≧": "≥"}
_COMPATIBLE = {f"<{kind}>" for kind in ("compat", "wide", "narrow", "font", "small", "square", "vertical")} | {
    f"<{kind}>" for kind in ("isolated", "initial", "medial", "final")
}
"""Kinds of decomposition that keep the meaning, unlike superscripts, subscripts, fractions and circled digits."""

_EXPANDING = re.compile(
    "[œæß\u0132\u0133\u013f\u0140\u0149\u01c4-\u01cc\u01f1-\u01f3\u0587\u203c\u2025\u2026\u2047-\u2049\u2103\u2109\u2116"
    "\u2121\u2160-\u217f\u3371-\u33df\ufb00-\ufb17\ufb1d-\ufb4f]|[\uff66-\uff9d][\uff9e\uff9f]?"
)
_LETTER = r"[^\W\d_]"
_HIDDEN = re.compile(f"[{INVISIBLE}{SOFT_HYPHEN}]+")
_SOFT_BREAK = re.compile(rf"{SOFT_HYPHEN}[{INVISIBLE} ]*\n[{INVISIBLE} ]*(?={_LETTER})")
_HARD_BREAK = re.compile(rf"-(?<={_LETTER}-)[{INVISIBLE} ]*\n[{INVISIBLE} ]*(?={_LETTER})")
_UNSPACED_BREAK = re.compile(
    rf"(?:(?<=[{UNSPACED}])|(?<=[{UNSPACED}][,.;:!?)\]\"]))[{INVISIBLE} ]*\n[{INVISIBLE} ]*(?=[(\[\"]?[{UNSPACED}])"
)
_SPACE = re.compile("  +")
_BESIDE_DIGIT = re.compile(rf" (?:(?<=[{UNSPACED}] )(?=\d)|(?<=\d )(?=[{UNSPACED}]))")
_DOTS = re.compile(r"\.(?:\.+|(?: \.){2,})")
_DASH = re.compile(rf" (?<=\w )-{{1,3}} ?(?={_LETTER})|-(?<=\w-)(?:-{{0,2}} |--?)(?={_LETTER})")
_PRIME = re.compile(r"'(?<=\d')|\"(?<=\d\")")
_COMPARED = re.compile(r"(?:[<>!]=|\+/?-(?=\s?\d)|[±≤≥≠≈](?= \d))(?: (?=\d))?")
_COMPARISONS = {"<=": "≤", ">=": "≥", "!=": "≠", "+/-": "±", "+-": "±"}
_BOLD = re.compile(r"\*(?<![\w*]\*)\*{1,2}(?=[^\s*])|\*(?<=[^\s*]\*)\*{1,2}(?![\w*])")
_SCANNED = re.compile(rf"rn|vv|[i|](?={_LETTER})|(?<={_LETTER})[i|]|[015](?={_LETTER})|(?<={_LETTER})[015]")
_CONFUSED = {"rn": "m", "vv": "w", "i": "l", "|": "l", "0": "o", "1": "l", "5": "s"}
"""What OCR confuses with a letter. A digit counts only next to a letter, so that no number becomes another."""

_FRENCH = re.compile(r"(?<![\w.,;:!?…])«([ \u00a0\u2009\u202f])[^«»]{1,500}?([ \u00a0\u2009\u202f])»")
"""The spaces inside French quotation marks."""

_MAX_MARKS = 32
"""The longest run of combining marks that is composed; no language needs as many."""

_FIRST_JAMO, _LAST_JAMO = "\u1161", "\u11ff"


def _plain_character(character: str) -> str:
    listed = _plain_equivalent(character)
    if listed or "\uff66" <= character <= "\uff9f":  # halfwidth kana, whose marks are characters of their own
        return listed or character
    category = unicodedata.category(character)
    if category == "Pd":
        return "-"
    if _is_unseen(character, category):
        return INVISIBLE
    whole = _decomposed(character)
    lower = (whole if len(whole) == 1 else character).lower()
    return character if lower == character or len(lower) > 1 else PLAIN[ord(lower)]


def _plain_equivalent(character: str) -> str:
    """Return the plain form of a space, a quotation mark or the like; nothing for other characters."""
    if character in "\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        return "\n"
    if character.isspace():
        return " "
    if character in SINGLE_MARKS:
        return "'"
    return '"' if character in DOUBLE_MARKS else _SAME.get(character, "")


def _is_unseen(character: str, category: str) -> bool:
    if category in ("Cc", "Cf"):
        return character not in _SEEN_FORMATS
    return character in _UNSEEN or any(low <= character <= high for low, high in _VARIATION)


def _decomposed(character: str) -> str:
    """Return the decomposition of a compatible character, one step only: ``㎡`` is ``m²``."""
    kind, *codes = unicodedata.decomposition(character).split() or [""]
    parts = "".join(chr(int(code, 16)) for code in codes)
    return parts if kind in _COMPATIBLE and parts and " " not in parts else character


PLAIN = CharacterTable(_plain_character)
"""A table for `str.translate`: one plain character for each character."""


class Shift(NamedTuple):
    """Where a stretch of a text was replaced: its start and end before and after."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text as it is compared.

    Attributes:
        text: The plain text.
        steps: How its offsets are found in the text that it was made of, last step first.
    """

    text: str
    steps: tuple[Sequence[Shift], ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span, in the text that it was made of, of a stretch that isn't empty."""
        for step in self.steps:
            start, end = _old(step, start, is_end=False), _old(step, end, is_end=True)
        return start, end


def _old(step: Sequence[Shift], at: int, *, is_end: bool) -> int:
    """Map an offset of the new text to the old one: to the start of a character, or to the end of the one before."""
    found = bisect_right(step, at - is_end, key=_new_start) - 1
    if found < 0:
        return at
    shift = step[found]
    if at < shift.new_end + is_end:
        return shift.old_end if is_end else shift.old_start
    return at - shift.new_end + shift.old_end


_new_start = attrgetter("new_start")


def plain_text(text: str, compounds: Collection[str] = (), *, is_scanned: bool = False) -> PlainText:
    """Make a text plain, linear in its length.

    Args:
        text: Any text.
        compounds: Plain words with a hyphen. A hyphen that ends a line stays if the word is one of them.
        is_scanned: Whether letters that OCR confuses are made equal.
    """
    steps: list[Sequence[Shift]] = []
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        # Letters and their marks are composed, as in Unicode's form C.
        composed = ((start, end, unicodedata.normalize("NFC", text[start:end])) for start, end in _letter_spans(text))
        text, shifts = _rewritten(text, composed)
        steps.append(shifts)
    if "«" in text and "»" in text:
        inner = (found.span(side) for found in _FRENCH.finditer(text) for side in (1, 2))
        text, shifts = _rewritten(text, ((start, end, "") for start, end in inner))
        steps.append(shifts)
    plain = text.translate(PLAIN)
    text, shifts = _rewritten(plain, ((start, end, shown.translate(PLAIN)) for start, end, shown in markup(plain)))
    if shifts:
        steps.append(shifts)
    for hints, pattern, new in _STEPS:
        if not text.isascii() or any(hint in text for hint in hints):
            write = _Breaks(compounds) if new is None else new
            text, shifts = _rewritten(text, [(*found.span(), write(found)) for found in pattern.finditer(text)])
            if shifts:
                steps.append(shifts)
        if pattern is _HIDDEN:
            text = text.replace("\n", " ")
    if is_scanned:
        text, shifts = _rewritten(text, [(*found.span(), _CONFUSED[found[0]]) for found in _SCANNED.finditer(text)])
        steps.append(shifts)
    if "'" in text or '"' in text:
        text = _PRIME.sub(lambda found: "′" if found[0] == "'" else "″", text).replace("'", '"')
    return PlainText(text, tuple(reversed(steps)))


_COMPOUND = re.compile(rf"(?<!{_LETTER}){_LETTER}++(?:-{_LETTER}++)+")


def compounds_of(text: str) -> frozenset[str]:
    """Return the words of a plain text that have a hyphen, each pair of parts by itself."""
    found = set[str]()
    for word in _COMPOUND.findall(text):
        parts = word.split("-")
        found.update(f"{left}-{right}" for left, right in pairwise(parts))
    return frozenset(found)


def broken_words(text: str) -> frozenset[str]:
    """Return the words that are hyphenated at a line end, with that hyphen."""
    if "\n" not in text or ("-" not in text and text.isascii()):
        return frozenset()
    breaks = _Breaks(())
    _HARD_BREAK.sub(breaks, _EXPANDING.sub(_expand_characters, text.translate(PLAIN)))
    return frozenset(breaks.words)


_WORD_CHARS = 60
_LAST_PART = re.compile(rf"{_LETTER}+$")
_FIRST_PART = re.compile(rf"{_LETTER}+")


class _Breaks:
    """Keeps a hyphen at a line end only if the word with it is among the compounds."""

    def __init__(self, compounds: Collection[str]) -> None:
        self._compounds = compounds
        self.words: set[str] = set()

    def __call__(self, found: re.Match[str]) -> str:
        text, start, end = found.string, found.start(), found.end()
        left = _LAST_PART.search(text[max(0, start - _WORD_CHARS) : start])
        right = _FIRST_PART.match(text[end : end + _WORD_CHARS])
        word = f"{left[0] if left else ''}-{right[0] if right else ''}"
        self.words.add(word)
        return "-" if word in self._compounds else ""


def _expand_characters(found: re.Match[str]) -> str:
    """Return a ligature, or another character that represents several, as plain ones."""
    if len(found[0]) > 1:
        return unicodedata.normalize("NFKC", found[0])
    whole = _WHOLE.get(found[0]) or _decomposed(found[0])
    return whole.translate(PLAIN)


_WHOLE = {"‥": "…", "…": "…", "œ": "oe", "æ": "ae", "ß": "ss"}


_STEPS: tuple[tuple[tuple[str, ...], re.Pattern[str], Callable[[re.Match[str]], str] | None], ...] = (
    ((), _EXPANDING, _expand_characters),  # first, because other patterns ask what is a letter
    ((SOFT_HYPHEN,), _SOFT_BREAK, lambda _: ""),
    (("\n",), _HARD_BREAK, None),
    ((), _UNSPACED_BREAK, lambda _: ""),
    ((INVISIBLE, SOFT_HYPHEN), _HIDDEN, lambda _: ""),
    (("  ",), _SPACE, lambda _: " "),
    ((), _BESIDE_DIGIT, lambda _: ""),
    (("..", ". ."), _DOTS, lambda _: "…"),
    ((" -", "- ", "--"), _DASH, lambda _: "-"),
    (("**",), _BOLD, lambda _: ""),
    (("=", "+"), _COMPARED, lambda found: _COMPARISONS.get(found[0].strip(), found[0].strip())),
)
"""Strings without which an ASCII text needs no step; the pattern that it replaces, and by what.

``None`` represents the hyphens at line ends, which depend on the compounds.
"""


def _letter_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each character that has marks or isn't ASCII, with its marks."""
    start = 0
    for at, character in enumerate([*text[1:], ""], 1):
        if character and character > "\u02ff" and _is_combining_mark(character):
            continue
        if at - start <= _MAX_MARKS and (at - start > 1 or text[start] > "\x7f"):
            yield start, at
        start = at


def _is_combining_mark(character: str) -> bool:
    return _FIRST_JAMO <= character <= _LAST_JAMO or unicodedata.category(character) in ("Mn", "Mc", "Me")


def _rewritten(text: str, changes: Iterable[tuple[int, int, str]]) -> tuple[str, list[Shift]]:
    """Replace stretches of a text: the start and end of each, in order, and what is written there."""
    shifts: list[Shift] = []
    parts: list[str] = []
    at = length = 0
    for start, end, made in changes:
        if made == text[start:end]:
            continue
        parts += [text[at:start], made]
        length += start - at
        shifts.append(Shift(start, end, length, length + len(made)))
        length += len(made)
        at = end
    return ("".join([*parts, text[at:]]) if parts else text), shifts


_NEAR = 24
"""Characters on each side of a place that are looked at."""

_MAX_CLAUSE = 400
"""Characters before or after a quotation in which its sentence is looked at for negations."""

_AT = "\0"
_MONEY = "$¢£¤¥֏؋৲৳৻૱௹฿៛\u20a0-\u20cf﷼＄￠￡￥￦"
_DASHES = "\\-\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_HYPHENS = "\\-\u2010\u2011\ufe63\uff0d"
_SIGNS = "+\\-\u2013\u2212±∓~≈≤≥≠\u2010\u2011\ufe63\uff0d\uff0b"
_APOSTROPHES = "'’ʼ＇"
_BLANK = "[ \u00a0\u2009\u202f]"
_COMPARING = frozenset("±≤≥≠≈<>=")
_CUT = re.compile(
    rf"""
      \d [.,:/·٫٬{_APOSTROPHES}] {_AT} \d | \d {_AT} [.,:/·٫٬{_APOSTROPHES}] \d    # 1,000  12:30  1/2
    | (?<!\w) [.,] {_AT} \d                                                        # .5
    | (?<![\d.,]) \d{{1,3}} (?:{_BLANK}\d{{3}})*+ (?: {_BLANK} {_AT} | {_AT} {_BLANK} ) \d{{3}} (?!\d)   # 1 000
    | \d [{_DASHES}] {_AT} \d | \d {_AT} [{_DASHES}] \d                            # 5–10
    | \w [{_HYPHENS}] {_AT} \w | \w {_AT} [{_HYPHENS}] \w                          # non-refundable
    | [{_SIGNS}] {_AT} \.?\d | (?<=[^\S\n]) [<>]=? {_BLANK}? {_AT} \d | [±≤≥≠≈] {_BLANK} {_AT} \d
    | [{_MONEY}] {_AT} [\d.] | \d (?: {_AT} {_BLANK}? | {_BLANK} {_AT} ) [{_MONEY}%‰‱°％٪′″]
    | \b [nN] [{_APOSTROPHES}] {_AT} \w                                            # n'est
    | \w {_AT} [{_APOSTROPHES}] (?!s\b) \w                                         # can't
    | \w [{_APOSTROPHES}] {_AT} (?:t|re|ll|ve|d|m) \b
    """,
    re.VERBOSE,
)
_BROKEN_LINE = re.compile(rf"(?<=\w){_AT}?[{_HYPHENS}\u00ad]{_AT}?[ \t]*\r?\n[ \t]*{_AT}?(?=\w)")
_USUAL = re.compile(r"[\n -~]*")
_UNSPACED = re.compile(f"[{UNSPACED}\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uff9e-\uffdc]")
"""Letters of scripts that put no space between words, or join particles to them as Korean does."""


def is_unspaced(character: str) -> bool:
    """Return whether a letter is of a script that doesn't separate all words by spaces."""
    return _UNSPACED.match(character) is not None


def cuts_token(text: str, at: int) -> bool:
    """Return whether a place in a text is inside a word, a number, or a number with its sign or unit."""
    if at <= 0 or at >= len(text):
        return False
    left, right = text[max(0, at - _NEAR) : at], text[at : at + _NEAR]
    if left[-1] == " " and not (right[0].isdigit() or left[-2:-1].isdigit() or left[-2:-1] in _COMPARING):
        return False
    if not (_USUAL.fullmatch(left) and _USUAL.fullmatch(right)):
        left, right = _seen(left), _seen(right)
    if "\n" in left or "\n" in right:
        around = _BROKEN_LINE.sub(lambda found: _AT if _AT in found[0] else "", f"{left}{_AT}{right}")
        left, _, right = around.partition(_AT)
    left, right = left.replace("\u00ad", ""), right.replace("\u00ad", "")
    return bool(left and right) and _is_inside_token(left, right)


def _is_inside_token(left: str, right: str) -> bool:
    """Return whether the place between two texts is inside a word or a number."""
    before, after = left[-1], right[0]
    if unicodedata.category(after) in ("Mn", "Mc", "Me"):
        return True
    if _is_word_character(before) and _is_word_character(after):
        is_number = before.isnumeric() and after.isnumeric()
        return is_number or not (is_unspaced(before) or is_unspaced(after))
    return _CUT.search(f"{left}{_AT}{right}") is not None


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character) in ("Mn", "Mc")


def _seen(text: str) -> str:
    return "".join(each for each in text if PLAIN[ord(each)] != INVISIBLE)


_SECTION = re.compile(r"\[(\w+?)(?:_limits)?\]")


_MAI = r"(?<!\d\s)(?<!\d[.ºª]\s)(?<!\b(?:au|de|du|en|im|in|le)\s)mai"
"""The Italian "never", not the month of German and French."""

_PORTUGUESE = re.compile(r"[ãõ]|(?<!\w)(?:é|em|ao|aos|uma|pelo|pela)(?!\w)", re.IGNORECASE)
"""Letters and words that Spanish doesn't have. In Portuguese, "no" isn't a negation."""


@cache
def _turning() -> re.Pattern[str]:
    """Return a pattern for the words of ``negations.txt``, and for those that need more than a list."""
    words: dict[bool, list[str]] = {True: [], False: []}
    is_unspaced = False
    for line in (resources.files(__package__) / "negations.txt").read_text(encoding="utf-8").splitlines():
        if section := _SECTION.fullmatch(line):
            is_unspaced = section[1] == "unspaced"
        elif not line.startswith("#"):
            escaped = re.escape(line).replace("_", r"\s+").replace(r"\*", r"\w{0,3}")
            words[is_unspaced] += escaped.replace(r"\ ", " ").split()
    spaced = "|".join(words[False]).replace("'", "['’]")
    return re.compile(
        rf"(?<!\w)(?:{spaced}|{_MAI})(?!\w)|{'|'.join(words[True])}"
        r"|(?<!\w)n(?=['’])|n['’]t(?!\w)|非(?!常)|ぬ(?!\w)|단[,，]",
        re.IGNORECASE,
    )


_LINE_MARK = r"(?:[-*+•#|](?=[ \t])|\d{1,3}[.)](?=[ \t]))"
_SENTENCE_END = re.compile(rf"[.!?…](?=[\s\"'”’»)\]]|$)|[。！？]|\n[ \t]*(?=\n|{_LINE_MARK})|[;；]")


def turns(text: str, around: str = "") -> bool:
    """Return whether a text contains a negation or an exception, in one of the languages of ``negations.txt``.

    Args:
        text: The text.
        around: The text around it, which shows its language.
    """
    found = (each[0].lower() for each in _turning().finditer(text))
    return any(each != "no" or not _PORTUGUESE.search(around or text) for each in found)


def rest_of_sentence(text: str, at: int) -> str:
    """Return what follows a place in its sentence."""
    ahead = text[at : at + _MAX_CLAUSE]
    end = _SENTENCE_END.search(ahead)
    return ahead[: end.start()] if end else ahead


def head_of_sentence(text: str, at: int) -> str:
    """Return what precedes a place in its sentence."""
    back = text[max(0, at - _MAX_CLAUSE) : at]
    ends = [found.end() for found in _SENTENCE_END.finditer(back)]
    return back[ends[-1] :] if ends else back


_ADDED = re.compile(
    r"[)\]}\"'”’»*_]*(?:\s*[,;]\s*(?:and|und|et|y|e|en|och|og|i|и)\b"
    r"|[;；]\s*(?:(?:but|aber|jedoch|mais|pero|ma|mas|maar|men|ale|но)\b,?)?)\s*"
    r"(?P<words>\S+(?:\s+(?:no|kein\w*|aucun\w*|ning\w*|nenhum\w*|nessun\w*)\b)?)",
    re.IGNORECASE,
)
"""Matches an added clause. A negation in it belongs to the clause, unless it begins it, as in "and in no case"."""


def is_turned_after(text: str, at: int) -> bool:
    """Return whether the rest of a sentence negates or limits what precedes a place in it."""
    rest = rest_of_sentence(text, at)
    if rest[:1] in (":", "："):
        rest = rest.partition("\n")[0]
    if added := _ADDED.match(text, at, at + _MAX_CLAUSE):
        rest = added["words"]
    return turns(rest, text[max(0, at - _MAX_CLAUSE) : at + _MAX_CLAUSE])


_CLAUSE_END = re.compile(r"[,:;](?=\s|$)|[，、：；]")


def hides_negation(dropped: str) -> bool:
    """Return whether the text that an ellipsis omits has a negation or an exception that belongs to the rest.

    If whole sentences or their ends are omitted, only the adjacent clauses count.
    """
    ends = list(_SENTENCE_END.finditer(dropped))
    if not ends:
        return turns(dropped)
    before, after = dropped[: ends[0].start()], dropped[ends[-1].end() :]
    return turns(_CLAUSE_END.split(before, maxsplit=1)[0]) or turns(_CLAUSE_END.split(after)[-1])


_UNIT = re.compile(r"(?<=\d)\s*+(m(?:g|m|l|s|w|hz|pa|j|v|a|wh|bit)?|[kmgt]i?b(?:it|ps)?)(?![^\W_])", re.IGNORECASE)
_SHARP = re.compile("[ßẞ]|[sS]{2}")
_TARGET = re.compile(r"\]\(([^()\s]{1,500})")


def agree_in_detail(quote: str, text: str, start: int, end: int) -> bool:
    """Return whether a quotation and its match in a text agree in what plain text doesn't distinguish.

    These are units that differ in case, such as ``mW`` and ``MW``; ``ß``, which equals ``SS`` only in capitals; and the
    addresses of links in the quotation.

    Args:
        quote: The quotation.
        text: The text.
        start: Where the match begins.
        end: Where the match ends.
    """
    one, other = rendered(quote), rendered(text[start:end])
    ahead = text[start : end + _MAX_CLAUSE]
    are_units = _UNIT.findall(one) == _UNIT.findall(other)
    return are_units and _spell_alike(one, other) and all(each in ahead for each in _TARGET.findall(quote))


def _spell_alike(one: str, other: str) -> bool:
    if not any(each in text for each in "ßẞ" for text in (one, other)):
        return True
    pairs = zip(_SHARP.findall(one), _SHARP.findall(other), strict=False)
    return all("SS" in pair or (pair[0] in "ßẞ") == (pair[1] in "ßẞ") for pair in pairs)
