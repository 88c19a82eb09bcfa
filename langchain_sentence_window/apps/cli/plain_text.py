"""Text of documents for a terminal: nothing in it moves the cursor, opens a link or turns the direction of a line."""

import json
import re

CUT = "…"
"""Stands for what is left out of a text."""

_REPLACEMENT = "\ufffd"
_LINE_ENDS = "\x0b\x0c\x85\u2028\u2029"
_DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that show the text after them in another order than it stands."""

_ESCAPE = re.compile(
    r"""\\(?:[abfnrtv'"\\]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})""", re.ASCII
)
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_INVISIBLE = (*range(0x206A, 0x2070), *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080))
_TABLE: dict[int, str | None] = {
    **dict.fromkeys((*_CONTROLS, *_INVISIBLE, *map(ord, _DIRECTIONS))),
    **dict.fromkeys(map(ord, _LINE_ENDS), "\n"),
    **dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT),
    ord("\t"): "    ",
    ord("\n"): "\n",
    ord("\r"): "\n",
}


def printable(text: str) -> str:
    """Return a text without control characters, with plain line ends, and spaces for tabs.

    Escape sequences lose what makes them one, so the rest of them is shown. Lone surrogates become U+FFFD.
    """
    return text.replace("\r\n", "\n").translate(_TABLE)


def one_line(text: str) -> str:
    """Return a printable text on one line, with single spaces."""
    return " ".join(printable(text).split())


def visibly_escaped(text: str) -> str:
    r"""Return a text on one line in which escapes such as ``\n`` stand for what can't be printed."""
    if "\n" not in text and "\t" not in text and printable(text) == text:
        return text
    return "".join(
        each if printable(each) == each and each not in "\n\t\\" else each.encode("unicode_escape").decode()
        for each in text
    )


def unescaped(text: str) -> str:
    """Return a text without the escapes that a message, JSON or `visibly_escaped` writes."""
    plain = _ESCAPE.sub(lambda found: found[0].encode().decode("unicode_escape"), text)
    # JSON writes two escapes for some characters.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def escaped(document: str) -> str:
    """Escape what a terminal would interpret in a JSON document; it says the same as before."""
    return document.translate(_ESCAPES)


# JSON escapes the controls below itself.
_ESCAPES = {code: json.dumps(chr(code))[1:-1] for code in _TABLE if code > ord("~")}
