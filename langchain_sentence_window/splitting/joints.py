"""What is around a joint, a place where a sentence may end.

A mark that closes a quotation or a bracket, and an emoji, belong to the sentence before them, even after white space.
If that sentence continues after them, as in "« Oui ! », dit-elle" or 「はい。」と言った, there is no joint.

All that is read are characters near the joint, so the work is the same for each.
"""

import re

from langchain_sentence_window._primitives import UNSPACED

from .blocks import has_word

CLOSING = "\"'”’»“‘«›‹)]}」』】》〉）］｝〕〗｣﹂﹄"
ALWAYS_CLOSING = ")]}」』】》〉）］｝〕〗｣﹂﹄"
OPENING = "\"'“‘„‚«»‹›([{「『【《〈（［｛〔〖｢﹁﹃¿¡"
DASHES = "-–—―─"
STOPS = ".!?…。．！？｡؟۔।॥"
CLAUSE_MARKS = ",;:，、；：،؛"
_AFTER_CLOSING = CLAUSE_MARKS + CLOSING.translate(dict.fromkeys(map(ord, "\"'“‘«‹"))) + DASHES + "!?"
_BETWEEN = " \t\n\xa0.!?…"
_NEAR = 400
"""Characters around a mark in which the one that it closes, or that closes it, is looked for."""

_EMOJI = re.compile("(?:[\u2600-\u26ff\u2728\u2763\u2764\u2b50\U0001f000-\U0001faff][\ufe0e\ufe0f\u200d\u20e3]*)+")
_EDGE = {mark: re.compile(rf"(?<!\w){mark}(?=\w)|(?<=[^\s\w]){mark}|(?<=[^\sSs]){mark}(?!\w)") for mark in "\"'"}
_EDGE_OR_LOOSE = {mark: re.compile(rf"{edge.pattern}|(?<!\S){mark}(?!\S)") for mark, edge in _EDGE.items()}

_STRONG = ("**", "__")
_LOOSE_MARK = re.compile(r"[?!](?!\S)")
_GUILLEMET = re.compile("[«»‹›]")

_UNSPACED = re.compile(f"[{UNSPACED}]")
_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60]")
_PARTICLE = re.compile(r"[のをはがにと](?=[\u30a1-\u30fa\u4e00-\u9fff])")
"""Japanese particles, which begin no sentence: モーニング娘。のファン."""

_QUOTING = re.compile(
    "と|って|という|など|なんて|の|は(?!い)|が(?!、)|を|に|も(?!う)|で(?![、もはす])|な|から(?!、)|まで|より|だ(?!か)|です"
)
"""Words that continue the sentence after a Japanese quotation: 「はい。」と言った."""


def is_small(letter: str) -> bool:
    """Return whether a letter is a small one of a script whose sentences begin with capitals, as Georgian's don't."""
    return letter.islower() and letter.title() != letter


def is_ideograph(character: str) -> bool:
    """Return whether a character is as wide as a Chinese one, and so are marks between them."""
    return _WIDE.match(character) is not None


def has_ideographs(text: str) -> bool:
    """Return whether a text has such a character."""
    return not text.isascii() and _WIDE.search(text) is not None


def unspaced_width(text: str, start: int, end: int) -> float:
    """Return the width of a line in ideographs; letters of other scripts are half as wide."""
    return (end - start + len(_WIDE.findall(text, start, end))) / 2


def settled(text: str, at: int, sentence: int, *, is_casual: bool) -> int:
    """Return where the next sentence begins after a joint; 0 if the sentence before the joint continues.

    Args:
        text: A paragraph.
        at: Where a sentence seems to begin.
        sentence: Where the sentence before it begins.
        is_casual: Whether sentences of the text begin in lower case too.
    """
    if text[at].isalnum() and text[at - 1].isspace():
        return at
    start, has_closer = _past_closers(text, at, sentence)
    if start == len(text) or text[start] in CLAUSE_MARKS or _LOOSE_MARK.match(text, start):
        return 0
    if not text[start - 1].isspace() and _goes_on_unspaced(text, start):
        return 0
    return 0 if has_closer and not is_casual and is_small(text[first_letter(text, start)]) else start


def first_letter(text: str, at: int) -> int:
    """Return where the first character of a sentence is that neither opens a quotation nor is a dash."""
    last = len(text) - 1
    while at < last and (text[at] in OPENING or text[at] in DASHES or text[at].isspace()):
        at += 1
    return at


def _past_closers(text: str, at: int, sentence: int) -> tuple[int, bool]:
    """Return the position after closing marks and emoji, and whether there are closing marks."""
    found, has_closer = at, False
    while found < len(text):
        start = found
        while found < len(text) and _closes(text, found, sentence):
            found += 1
            has_closer = True
        if text.startswith(_STRONG, found) and _closes_emphasis(text, sentence, found):
            found += 2
        emoji = _emoji(text, found)
        if emoji and not text.startswith(text[found], sentence):  # else it is a bullet
            found = emoji
        if found == start:
            break
        while found < len(text) and text[found].isspace():
            found += 1
    return found, has_closer


def _closes_emphasis(text: str, sentence: int, at: int) -> bool:
    """Return whether strong emphasis ends at a mark, as in "**Fees. **They are due"."""
    return text.count(text[at : at + 2], max(sentence, at - _NEAR), at) % 2 == 1


def _emoji(text: str, at: int) -> int:
    match = _EMOJI.match(text, at)
    return match.end() if match and "\n" not in text[max(0, at - 2) : at] else 0


def _closes(text: str, at: int, sentence: int) -> bool:
    """Return whether a mark closes, at the beginning of what seems to be a sentence."""
    mark, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if mark in ALWAYS_CLOSING or mark not in CLOSING or not before:
        return mark in ALWAYS_CLOSING
    is_loose = not after or after.isspace() or after in _AFTER_CLOSING
    if not before.isspace():  # it follows the stop, or another closing mark
        return is_loose or mark in "”’»"
    return is_loose and _closes_before(text, at, sentence)


def _closes_before(text: str, at: int, sentence: int) -> bool:
    """Return whether a mark with white space on both sides closes what comes before it."""
    mark, back = text[at], text[max(0, at - _NEAR) : at]
    if mark in _EDGE:
        if back.rstrip(_BETWEEN).endswith(mark):
            return False
        # Count loose marks, from the first of the sentence or the paragraph, to decide which one opens.
        if len(_EDGE_OR_LOOSE[mark].findall(text[max(sentence, at - _NEAR) : at])) % 2 == 1:
            return True
        edge = (_EDGE_OR_LOOSE if len(back) < _NEAR else _EDGE)[mark]
        edges = edge.findall(back) or (edge.findall(text, at, at + _NEAR) if mark == "'" else [])
        return len(edges) % 2 == 1
    if mark in "«‹":
        return _is_reversed(back)
    if mark in "»›":
        following = _GUILLEMET.search(text, at + 1, at + _NEAR)
        return not _is_reversed(back) or following is None or following[0] in "»›"
    return mark in "”’" or back.rfind("„") > back.rfind("“")


def _is_reversed(back: str) -> bool:
    """Return whether guillemets point to what they quote: »Ja!«. It is read from the first one of a paragraph."""
    return len(back) < _NEAR and (first := _GUILLEMET.search(back)) is not None and first[0] in "»›"


def _goes_on_unspaced(text: str, at: int) -> bool:
    """Return whether a sentence continues after a stop and its closing marks without white space.

    Args:
        text: A paragraph.
        at: Where the next sentence seems to begin.
    """
    before = text[at - 1]
    if before == "．":
        return text[at - 2 : at - 1].isdigit()
    if before in STOPS:
        return _PARTICLE.match(text, at) is not None
    if before not in CLOSING or text[at] in OPENING:
        return False
    if text[at] in STOPS or _QUOTING.match(text, at):
        return True
    opened = max(text.rfind(mark, max(0, at - _NEAR), at - 1) for mark in "「『“‘\"'《〈（(")
    # What a colon or a comma announces ends with its closing mark.
    before = text[max(0, opened - 1) : max(0, opened)]
    return _UNSPACED.match(text, at) is None or before not in ("：", ":", "，", "、", ",")


_MAX_SPEECH = 300
_SPEECH_OPENS = re.compile(r"""(?:(?<=[\s(\[—–-])|^)["“„«»'‘][ \xa0\u202f]?(?=[\w…¿¡])""")
_SPEECH_CLOSES = {
    mark: re.compile(closing)
    for mark, closing in (
        *(('"', '"'), ("“", "”"), ("„", "[“”]"), ("«", "»"), ("»", "«")),
        *(("'", r"(?<=[^\s\w])'|'(?!\w)"), ("‘", r"’(?!\w)")),
    )
}


def in_speech(text: str, at: int) -> bool:
    """Return whether a mark is inside short speech within a sentence.

    An example is: He called out, "Come! Be quick!" and ran.

    Args:
        text: A paragraph.
        at: The end of a mark such as "!".
    """
    found = list(_SPEECH_OPENS.finditer(text, max(0, at - _MAX_SPEECH), at))
    if not found:
        return False
    opened = found[-1]
    closed = _SPEECH_CLOSES[opened[0][0]].search(text, opened.end(), opened.start() + _MAX_SPEECH)
    if closed is None or not has_word(text, at, closed.start()):
        return False
    before = text[max(0, opened.start() - 2) : opened.start()].rstrip()
    after = text[closed.end() : closed.end() + 2].lstrip()
    return before.endswith(",") or after.startswith(tuple(CLAUSE_MARKS)) or is_small(after[:1])
