"""Keeping the text of a source from passing for anything else: for a tag around it, or another source's label.

Models overlook what isn't seen, and read what looks like a letter as that letter. So a text is compared as it
looks: `looks` puts one character in the place of each, so that places stay true. No list of what looks like what is
ever complete. So marks are told by their names in Unicode, and a word in which half of the letters are right is read
as that word, whatever strange characters stand for the others.
"""

import re
import unicodedata
from collections.abc import Sequence

NOTHING = "\0"
"""Stands in the place of a character that isn't seen."""

_LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"

_UNSEEN = "\u115f\u1160\u3164\uffa0\u034f\u2800"
"""What is blank, though Unicode counts it among letters and symbols."""

# What Unicode's table of confusables (UTS #39) holds for these, as far as names and decompositions don't tell it.
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
"""What the names of characters say that look like a mark."""

_NAMED_MARK = re.compile("|".join(f"(?P<m{ord(mark)}>.*(?:{names}))" for mark, names in _MARK_NAMES.items()))
_NAMED_LETTER = re.compile(r"(?:LATIN|REGIONAL|NEGATIVE|SQUARED).* LETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH .*)?")


_STRANGE = r"[^a-z\s<>/\\\[\]]"


def disguised(word: str) -> str:
    """Make a pattern, over what a text `looks` like, for a word in which strange characters may stand for letters.

    Args:
        word: Small letters, of which half must be right.
    """
    strange = len(word) // 2
    half_right = rf"(?=(?:{_STRANGE}{{0,{strange}}}[{word}]){{{len(word) - strange}}})"
    return half_right + "".join(f"(?:{letter}|{_STRANGE})" for letter in word)


# Between the bracket and the word may stand a few characters, of which one may be a letter that looks like a slash.
_TAG = re.compile(rf"<(?=[\s/\\]*+[^\w<]{{0,4}}[^a-z0-9<]?[^\w<]{{0,2}}{disguised('source')}(?!\w))")
_NUMBERED = r"(?<!\\)\[ *(?:sources? *|[#^] *)?[0-9][0-9 ,;:&-]*\]"
_NUMBER = re.compile(_NUMBERED)
_LINE_HEAD = re.compile(rf"^(?:{_NUMBERED}|[\d_]|[^\w\n])++", re.MULTILINE)


class _Looks(dict[int, str]):
    """What each character looks like; worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        look = self[code] = _look(chr(code))
        return look


def _look(character: str) -> str:
    if character.isspace():
        return "\n" if character in _LINE_ENDS else " "
    category = unicodedata.category(character)
    if character in _UNSEEN or category in ("Cc", "Cf", "Cs", "Mn", "Me", "Cn", "Co"):
        return NOTHING
    if category == "Pd":
        return "-"
    value = unicodedata.numeric(character, None)
    if value is not None and value >= 0 and value.is_integer():
        return str(int(value))[0]
    if look := _LISTED.get(character) or _LISTED.get(character.lower()):
        return look
    plain = "".join(each for each in unicodedata.normalize("NFKD", character) if not unicodedata.combining(each))
    # What becomes several, such as a ligature, looks like none of them.
    plain = plain.lower() if len(plain) == 1 and len(plain.lower()) == 1 else character
    return plain if plain.isascii() else _LISTED.get(plain) or _named(plain)


def _named(character: str) -> str:
    """What a character looks like by what its name says, such as a letter with a hook."""
    name = unicodedata.name(character, "")
    if letter := _NAMED_LETTER.fullmatch(name):
        return letter[1].lower()
    mark = _NAMED_MARK.match(name)
    return chr(int(str(mark.lastgroup)[1:])) if mark else character


_LISTED = {each: look for look, characters in _LOOK_ALIKES.items() for each in characters}
_LOOKS = _Looks()


def looks(text: str) -> str:
    r"""What a text looks like: as long as it is, in plain small letters where it looks like these.

    Line ends are ``\n``, other white space is a space, digits and dashes are plain, and what isn't seen is `NOTHING`.
    """
    return text.translate(_LOOKS)


def seen(text: str) -> tuple[str, Sequence[int]]:
    """What is seen of a text, as it `looks`, and where each of these characters stands in the text."""
    look = looks(text)
    if NOTHING not in look:
        return look, range(len(look))
    return look.replace(NOTHING, ""), [at for at, each in enumerate(look) if each != NOTHING]


def without_tags(text: str) -> str:
    """Escape whatever looks like the beginning of a tag ``<source>`` or ``</source>``: its ``<`` becomes ``&lt;``."""
    read, places = seen(text)
    return _changed(text, [places[match.start()] for match in _TAG.finditer(read)], "&lt;", 1)


def without_label_lines(text: str) -> str:
    """Put a backslash before what looks like a source's number, such as ``[2]``, where a line begins with it.

    A line begins with all that stands before its first letter: marks of Markdown, digits, other such numbers.
    """
    read, places = seen(text)
    numbers = (number for head in _LINE_HEAD.finditer(read) for number in _NUMBER.finditer(read, *head.span()))
    return _changed(text, [places[number.start()] for number in numbers], "\\", 0)


def without_labels(text: str) -> str:
    """Put a backslash before all that looks like a source's number."""
    read, places = seen(text)
    return _changed(text, [places[number.start()] for number in _NUMBER.finditer(read)], "\\", 0)


def on_one_line(text: str, most: int) -> str:
    """Write a text on one line, whatever it holds, and cut it to a length."""
    part = text[: 2 * most]
    line = "".join(" " if look in "\n " else each for each, look in zip(part, looks(part), strict=True))
    line = " ".join("".join(each for each in line if each.isprintable() or each > "\x9f").split())
    return line[: most - 1] + "…" if len(line) > most or len(text) > len(part) else line


def _changed(text: str, places: list[int], new: str, dropped: int) -> str:
    """Put something at places, instead of so many characters there."""
    if not places:
        return text
    parts: list[str] = []
    at = 0
    for place in places:
        parts += [text[at:place], new]
        at = place + dropped
    return "".join([*parts, text[at:]])
