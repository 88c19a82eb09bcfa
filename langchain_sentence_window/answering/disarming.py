"""Keeping the text of a source from passing for anything else: for a tag around it, or another source's label.

Models overlook what isn't seen, and read what looks like a letter as that letter. So a text is compared as it
looks: `looks` puts one character in the place of each, so that places stay true.
"""

import re
import unicodedata

NOTHING = "\0"
"""Stands in the place of a character that isn't seen."""

_LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"

_UNSEEN = "\u115f\u1160\u3164\uffa0\u034f\u2800"
"""What is blank, though Unicode counts it among letters and symbols."""

_ANGLES = "<\u2039\u276e\u2329\u27e8\u3008\u02c2\u1438\ufe3f\ufe64\uff1c\u00ab\u226a\u2770\u29fc"
_SLASHES = "/\\\u2044\u2215\u29f8\u29f9\u2571\u2572\ufe68\uff0f\uff3c\u27cb\u27cd"
_BRACKETS = {"[": "[\u3010\u301a\u3014\u27e6\u2045\uff3b\u298b", "]": "]\u3011\u301b\u3015\u27e7\u2046\uff3d\u298c"}
_LETTERS = {
    "s": "\u0455\ua731\u0282\u01bd\u10fd\u054f\u0405",
    "o": "\u043e\u03bf\u0585\u1d0f\u0d20\u0966\u2134\u041e\u039f\u0555",
    "u": "\u03c5\u057d\u1d1c\u0446\u028b\u222a\u054d\u22c3",
    "r": "\u0433\u1d26\u0280\u027e\u1d63",
    "c": "\u0441\u03f2\u1d04\u0421\u03f9\u217d\u216d",
    "e": "\u0435\u04bd\u1d07\u212e\u0415\u0395\u22ff",
}

_TAG = re.compile(r"<(?=[\s\0/]*s\0*o\0*u\0*r\0*c\0*e(?!\0*\w))")
_LABEL_LINE = re.compile(r"^[ \0]*(?=\[[ \0]*[0-9][0-9 ,;\0-]*\])", re.MULTILINE)
_LABEL = re.compile(r"(?=\[[ \0]*[0-9][0-9 ,;\0-]*\])")


class _Looks(dict[int, str]):
    """What each character looks like; worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        look = self[code] = _look(chr(code))
        return look


def _look(character: str) -> str:
    if character in _LINE_ENDS:
        return "\n"
    if character.isspace():
        return " "
    if character in _UNSEEN or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Mn", "Me", "Cn", "Co"):
        return NOTHING
    digit = unicodedata.digit(character, None)
    if digit is not None:
        return str(digit)
    plain = "".join(each for each in unicodedata.normalize("NFKD", character) if not unicodedata.combining(each))
    # What becomes several, such as a ligature, looks like none of them.
    return plain.lower() if len(plain) == 1 and len(plain.lower()) == 1 else character


_LOOKS = _Looks(
    {
        ord(each): look
        for looks in ({"<": _ANGLES, "/": _SLASHES}, _BRACKETS, _LETTERS)
        for look, characters in looks.items()
        for each in characters
    }
)


def looks(text: str) -> str:
    r"""What a text looks like: as long as it is, in plain small letters where it looks like these.

    Line ends are ``\n``, other white space is a space, and what isn't seen is `NOTHING`.
    """
    return text.translate(_LOOKS)


def without_tags(text: str) -> str:
    """Escape whatever looks like the beginning of a tag ``<source>`` or ``</source>``: its ``<`` becomes ``&lt;``."""
    places = [match.start() for match in _TAG.finditer(looks(text))]
    return _changed(text, places, "&lt;", 1)


def without_label_lines(text: str) -> str:
    """Put a backslash before what looks like a source's number, such as ``[2]``, where a line begins with it."""
    return _changed(text, [match.end() for match in _LABEL_LINE.finditer(looks(text))], "\\", 0)


def without_labels(text: str) -> str:
    """Put a backslash before all that looks like a source's number."""
    return _changed(text, [match.start() for match in _LABEL.finditer(looks(text))], "\\", 0)


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
