"""Ends of sentences that no full stop shows: after a caption's label, a time stamp, an address, a smiley.

All of these need a capital letter after them, and all but labels have a colon in them or before them, so a text without
one is left at once.
"""

import re

LABEL_LETTERS = "ABCFT"
"""Letters with which a label begins."""

_CAPTION = re.compile(
    r"(?:Figure|Table|Box|Chart|Figura|Tabla|Tabela|Tabella|Tableau|Abbildung|Tabelle)"
    r"[ \xa0]\d+(?:\.\d+)*[ \t]+(?=[A-ZÀ-Ü])"
)
"""The label of a caption: "Figure 2.2 Copper oxide …"."""

_ARTICLE = re.compile(
    r"Art(?:igo|ículo|icolo|icle|\.)[ \xa0]\d{1,4}(?:[º°](?:-[A-Z])?(?:[ \xa0]?[-–—])?|[ \xa0]?[-–—])\s+(?=[A-ZÀ-Ü])"
)
"""The label of an article: "Art. 1º A República …", "Art. 25 - Entende-se …"."""

_STAMP = re.compile(
    r"\d{1,2}/\d{1,2}/\d{2,4},?[ \xa0]\d{1,2}:\d\d(?::\d\d)?(?:[ \xa0][AaPp]\.?[Mm]\.?)?+\s{1,3}(?=[A-ZÀ-Ü])"
)
"""The date and time that end a message's header: "08/17/2000 11:21 AM I spoke to …"."""

_SMILEY = re.compile(r"[:;](?<=\s.)-?[)(DPp]\s{1,3}(?=[A-ZÀ-Ü])")

# Each begins with letters that are found fast, and only once in a word, so that a run of them takes linear time.
_AFTER = r"(?<=[\w/>])\s{1,3}(?=[A-ZÀ-Ü][^\s:,]*+(?:\s|\Z))"
_NOT_INSIDE = r"(?<![^\s(<\"“]"
_URL = re.compile(rf"://(?:(?<=http://){_NOT_INSIDE}http://)|(?<=https://){_NOT_INSIDE}https://))[^\s(<\"“]*+{_AFTER}")
_ADDRESS = re.compile(rf"@[^\s@]*+{_AFTER}")
_MAX_LABEL_CHARS = 60
_CLOSING_MARKS = '.;:!?)"”»'


def label_end(text: str) -> int:
    """Return where the text after a caption's or an article's label begins; 0 if a paragraph begins with neither.

    The label of an article without a sentence, as in the heading "Art. 5 - Definições", stays with its title.
    """
    match = _CAPTION.match(text)
    if match is None and text.startswith("Art") and text.rstrip()[-1] in _CLOSING_MARKS:
        match = _ARTICLE.match(text)
    return match.end() if match else 0


def unmarked_starts(text: str) -> list[int]:
    """Return where sentences begin after a time stamp, a smiley, a URL or the mail address of a header.

    Args:
        text: A paragraph with a colon.
    """
    starts: list[int] = []
    if "://" in text:
        starts += [match.end() for match in _URL.finditer(text)]
    if "/" in text:
        starts += [match.end() for match in _STAMP.finditer(text)]
    starts += [match.end() for match in _SMILEY.finditer(text)]
    if "@" in text and "mail" in text:
        starts += [
            match.end()
            for match in _ADDRESS.finditer(text)
            if "mail" in text[max(0, match.start() - _MAX_LABEL_CHARS) : match.start()]
        ]
    return starts
