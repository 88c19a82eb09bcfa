"""The rules that decide for each full stop, and for marks like it, whether a sentence ends there.

If in doubt, join: two sentences joined lose less than one sentence cut in two.
"""

import re
from collections.abc import Iterator

from .blocks import has_word
from .joints import CLAUSE_MARKS, in_speech, is_small, settled
from .languages import Language

MARKER = re.compile(
    r"[-–—•*·+‣▪]\s"
    r"|\\?[\[(«“\"•⁃‣▪◦]?(?:\d{1,3}(?:[.-]\d{1,3})*|[a-zA-Z]|[ivxlIVXL]{1,6}|[a-z]{2})(?:-[a-z]+)?"
    r"\\?[.)\]°ºª]{1,3}(?=\s|\Z)"
    r"|[IVXLC]{1,7}\s[-–—]\s|§"
)
"""The marker of an item or a numbered paragraph: "•", "2.", "36\\.", "(a)", "iv)", "3º", "II –", "§"."""

# A possible end: its marks, closing quotes and brackets, and the white space after; East Asian text may have
# none. It begins with a set of characters, which the matcher finds fast. A run of marks is possessive and matched
# only from its beginning, so long runs take linear time.
_CANDIDATE = re.compile(
    r"""
    (?P<marks> [.!?…:。．！？｡؟۔।॥။።։] (?<![.!?…。．！？｡]{2}) [.!?…。．！？｡]*+
        (?<!\.[ \xa0]\.)(?: (?<=[.?!])(?:[ \xa0]\.)++ | (?<=[?!])[ \xa0](?:\.{3}|…) )?+ )  # a spaced ellipsis
    (?: (?<!:) | (?=\s+(?:\d{1,2}|A)\.(?:[a-z]\.?)?\s+[A-ZÀ-Ü]) )  # "decides: 1. The …"
    (?P<note> (?<=[a-zà-ÿ)"”’]\.)\d{1,3}(?:[ ,–-]\d{1,3})*(?=\s+[A-ZÀ-Ü]))?   # a footnote's number
    (?P<dash> (?<=\.)\s?[-–—]+(?=\s))?                         # "Segundo.- …"
    (?P<closers> (?:['’][ \xa0](?=["”](?:\s|$)))?(?:[ \xa0\u202f](?=»))?["'”’»“‘«)\]}*_`]*)
    (?:\s?[:;]-?[)DPp](?!\w))*                                 # :-)
    (?:\s?\[\d[\d\s,–-]*\])*                                   # [17]
    (?: \s+ | (?<=[。．！？｡]) | (?:(?<=[a-z\d][.!?])|(?<=[.!?]{2}))(?=[A-Z][a-z']*(?:\s|\.\s))
      | (?<=\?)(?=[a-z][a-z']*\s) )
    """,
    re.VERBOSE,
)
LABEL = re.compile(
    r"(?:fig(?:ur[ae]?|uur|ure)?|tab(?:l[ae]|le|leau|ella|ell?|elle|ela|elul|ulka|lo)?|chap(?:ter|itre)|chart|box|plate|exhibit|abb"
    r"(?:ildung)?|kapit(?:el|ola)|cap[ií]t(?:ulo|olo|olul)|gr[aá]fico|quadro|afbeelding|hoofdstuk|rys(?:unek)?|rozdział"
    r"|obr(?:ázek)?|kuva|taulukko|luku|şekil|bölüm|рис(?:унок)?|табл(?:ица|иця)?|глава|схема|мал(?:юнок)?|розділ|gambar|bab"
    r"|hình|bảng|chương)\.?[ \xa0]\d{1,3}(?:[.–-]\d{1,3}){0,3}",
    re.IGNORECASE,
)
"""The number of a figure, a table or a chapter before its title, such as "Figure 7-26."."""

_NOTE = re.compile(r"\d{1,2}\s+(?=[A-Z][a-z]*[\s,'’])")
"""A footnote's number on its own: "… due to minority rights. 4 Even though …"."""

_LISTED = re.compile(r"(?<=\s)(?:\d{1,2}|[a-z]|[ivx]{1,4})\.\)\s(?=[A-Z])")
"""The marker of an item inside a line: "a.) The first item b.) The second item"."""
_OPENERS = "\"'“‘«([{*_—–-¿¡ "
_ROMAN_OR_LETTER = re.compile(r"[IVXLC]+|[A-Z]")
_BROKEN_OFF = re.compile(r"[ \xa0][—–]\s{1,3}(?=[A-Z])")
_FOUR_SPACED = (". . . .", ".\xa0.\xa0.\xa0.")
_CAPITAL_INSIDE = re.compile("[a-z]{1,2}[A-Z]")
"""The beginning of a name such as "eBay", which may begin any sentence."""
_NEXT_CASE = re.compile(
    rf"[.!?]\s+(?!{_CAPITAL_INSIDE.pattern}|(?:[a-z]|[ivxlc]{{1,6}})[.)])([^\W\d_])"  # nor the marker of an item
)
_WORD = re.compile(r"(?:[^\W_]|['’])*")
_PRONOUN = re.compile(r"I(?![^\W_])")
_LOWER_ROMAN = re.compile(r"[ivxlc]+")
_BEFORE_WORD = re.compile(r"""(?s:.*)[\s(\[“"'«’]""")
_MAX_LAST_WORD_CHARS = 30
_CASUAL_SHARE = 0.3
_MIN_FRONT_WORDS = 4
_MAX_FAREWELL_CHARS = 20
_MAX_FRONT_CHARS = 60
_MAX_REPORTER_CHARS = 8
_MAX_BRACKET_CHARS = 200
_MAX_LEAD_CHARS = 30
_MAX_INITIALS_CHARS = 3
_INFLECTIONS = frozenset({"a)", "as)", "o)", "os)"})


def is_casual(text: str, language: Language) -> bool:
    """Return whether sentences of a text begin in lower case too, so that case says nothing."""
    next_letters = list(_NEXT_CASE.finditer(text))
    if not any(match[1].islower() for match in next_letters):
        return False
    ends = lower = 0
    for match in next_letters:
        word = last_word(text, 0, match.start())
        is_word = word.isalpha() and word.islower() and len(word) > 1 and not _LOWER_ROMAN.fullmatch(word)
        if is_word and not language.abbreviates(word):
            ends += 1
            lower += is_small(match[1])
    # A single lowercase letter may follow an unknown abbreviation; other carelessness confirms casual text.
    is_careless = lower > 1 or text.lstrip()[:1].islower() or ".." in text or "!!" in text
    return lower >= 1 and is_careless and lower >= _CASUAL_SHARE * ends


def sentence_starts(text: str, language: Language, *, is_casual: bool) -> Iterator[int]:
    """Yield where the second sentence of a paragraph begins, and each one after it.

    Args:
        text: A paragraph.
        language: The words of its language.
        is_casual: Whether sentences of the text begin in lower case too.
    """
    sentence = 0
    if text[:1] in _LABEL_LETTERS:
        label = _CAPTION.match(text)
        if label is None and text.startswith("Art") and text.rstrip()[-1] in _CLOSING_MARKS:
            label = _ARTICLE.match(text)  # of an article without a sentence, such as a heading, it stays with its title
        if label:
            sentence = label.end()
            yield sentence
    if ":" in text:
        yield from unmarked_starts(text)
    if language.hanging and (" —" in text or " –" in text):
        yield from (m.end() for m in _BROKEN_OFF.finditer(text) if _breaks_off(text, m, language))
    has_farewells = bool(language.farewells) and ", " in text
    if has_farewells and (farewell := _farewell_end(text, 0, language)):
        yield farewell
    if ".)" in text:
        yield from (m.start() for m in _LISTED.finditer(text) if not _is_in_brackets(text, 0, m.start()))
    for match in _CANDIDATE.finditer(text, sentence):
        if match.end() >= len(text):
            return
        if _ends_sentence(text, match, sentence, language, is_casual=is_casual):
            at = match.start() + len(". ") if _opens_with_ellipsis(text, match) else match.end()
            at = settled(text, at, sentence, is_casual=is_casual)
            if not at:
                continue
            if text[at].isdigit() and (note := _NOTE.match(text, at)) and not text[0].isdigit():
                at = note.end() if _word_at(text, note.end()).lower() in language.starters else at
            sentence = at
            yield sentence
            if has_farewells and (farewell := _farewell_end(text, sentence, language)):
                yield farewell


def last_word(text: str, low: int, end: int) -> str:
    """Return the word that ends at a position, without brackets or quotes before it; at most 30 characters."""
    low = max(low, end - _MAX_LAST_WORD_CHARS)
    match = _BEFORE_WORD.match(text, low, end)
    return text[match.end() if match else low : end]


def _breaks_off(text: str, dash: "re.Match[str]", language: Language) -> bool:
    """Return whether speech breaks off at a dash: "We need a — Do you have any?"."""
    starter = _word_at(text, dash.end()).partition("'")[0].partition("’")[0].lower()
    broken = last_word(text, 0, dash.start()).lower().replace("’", "'")
    return starter in language.starters and broken in language.hanging


def _farewell_end(text: str, start: int, language: Language) -> int:
    """Return where the name after a letter's farewell begins, as in "Regards, Debra"; 0 without one."""
    comma = text.find(", ", start, start + _MAX_FAREWELL_CHARS)
    name, is_farewell = comma + 2, comma > 0 and text[start:comma].lower() in language.farewells
    return name if is_farewell and text[name : name + 1].isupper() else 0


def _ends_sentence(text: str, match: "re.Match[str]", sentence: int, language: Language, *, is_casual: bool) -> bool:
    """Return whether a mark ends a sentence."""
    marks, closers, following = match["marks"], match["closers"], match.end()
    if marks == ":":
        return True
    at = following
    while at < len(text) and text[at] in _OPENERS:
        at += 1
    first = text[at] if at < len(text) else ""
    if text[following] in CLAUSE_MARKS or _is_in_brackets(text, sentence, match.end("closers")):
        return False
    if " ." in marks or "\xa0." in marks:
        return _ellipsis_ends(text, match, sentence, first)
    word = last_word(text, sentence, match.start())
    if text[following - 1] in ".!?":
        return _ends_without_space(word, marks, _word_at(text, following).lower(), language)
    if first.islower() and not is_casual and not _CAPITAL_INSIDE.match(text, at):
        if closers:
            return False
        if set(marks) == {"?"} and text[following].islower() and not text.startswith("! ", match.start() - 2):
            return True
        if marks != "." or language.abbreviates(word) or word.lower() in ("id", "ibid"):
            return text.startswith(("http", "www."), following)
        is_new = "careless" in language.flags or text.startswith(")", at + 1)  # "b) the second item"
        return is_new and len(word) > _MAX_INITIALS_CHARS and word.isalpha() and word.islower()
    if marks != ".":
        if marks in ("...", "…") and "pronoun" in language.flags and not closers and _PRONOUN.match(text, at):
            return False
        return marks not in "!?" or not in_speech(text, match.end("marks"))
    return _full_stop_ends(text, match, sentence, word, at, language)


def _ends_without_space(word: str, marks: str, next_word: str, language: Language) -> bool:
    """Return whether a space was forgotten, as in "the end.Our room" or "1,000.That is", but not in "asp.Net"."""
    if marks.endswith("?"):
        return word.isalpha()
    is_word = (word.isalpha() and len(word) > _MAX_INITIALS_CHARS) or word[:1].isdigit()
    return is_word and (len(marks) > 1 or next_word in language.starters or next_word in language.abbreviations)


def _full_stop_ends(text: str, match: "re.Match[str]", sentence: int, word: str, at: int, language: Language) -> bool:
    """Return whether a single full stop after a word ends a sentence; the next word begins at ``at``."""
    first = text[at] if at < len(text) else ""
    stop, following = match.start(), match.end()
    if not word:  # "Mr . Robinson"
        word = last_word(text, sentence, max(sentence, stop - 1)).rpartition("/")[2]
        return not (language.abbreviates(word) or _is_acronym(word))
    if match["note"]:
        return True
    if word in _INFLECTIONS:  # "Dr(a). Reis"
        word = last_word(text, sentence, stop - len(word) - 1) or word
    whole = word
    if language.endings or "-" in word:
        word = language.core(word)
    lower = word.lower().strip("*_")
    if match["dash"]:
        return len(word) > 2 and word.isalpha() and first.isupper() and lower not in language.abbreviations  # noqa: PLR2004
    if stop - len(whole) <= sentence and (marker := MARKER.match(text, sentence)) and marker.end() > stop:
        return False  # "2. The second item"
    if word[-1].isdigit() and LABEL.fullmatch(text, sentence, stop):
        return False  # "Figure 7-26. The hall"
    next_word = _word_at(text, at)
    if _is_reporter(text, sentence, stop, whole, at, next_word):
        return False
    if "ordinals" in language.flags and (first.isupper() or first.isdigit()) and language.counts(word, next_word):
        return False  # "12. Juni"
    starts = next_word.lower() in language.starters and text[at + len(next_word) : at + len(next_word) + 1] != "."
    has_points = "." in lower[:-1]
    if match["closers"] == ")" and _LISTED.match(text, stop - len(whole)) and not _is_in_brackets(text, sentence, stop):
        return False
    if first in "§¶&" and (len(lower) <= _MAX_INITIALS_CHARS or has_points or language.abbreviates(lower)):
        return False
    if len(word) == 1 and word.isalpha() and word.isupper():
        return starts and word in "IOQUXYZ"
    has_number = any(map(str.isdigit, next_word)) or first in "§([" or _ROMAN_OR_LETTER.fullmatch(next_word)
    if word[0].isupper() and lower in language.capitalized:
        return starts
    if lower in language.numbered and not has_number:
        return True
    if lower in language.times and next_word.lower() in language.zones:
        return False
    if lower in language.times:
        return first.isupper() and (starts or not _is_front(text, sentence, stop, language))
    if lower in language.soft:
        before = text[max(sentence, stop - _MAX_FRONT_CHARS) : stop]
        is_acronym = next_word.isupper() and not before.isupper()  # "art. 106 segg. LEF"
        return first.isupper() and not is_acronym and next_word.lower() not in language.abbreviations
    if lower in language.closing:
        return starts
    if lower in language.abbreviations or lower in language.numbered:
        return starts and bool(match["closers"]) and not match["closers"].startswith("'")
    if has_points and first.isdigit() and lower[-1].isalpha() and not lower[0].isdigit():
        return False
    if lower in ("id", "ibid"):
        return text[following] != "(" and not (first.isdigit() and not word.isupper())
    if has_points and not any(map(str.isdigit, lower)):
        return starts or not _is_acronym(lower)
    return True


def _is_acronym(word: str) -> bool:
    """Return whether a word is one of initials with points, such as "U.S"."""
    return "." in word[:-1] and max(map(len, word.split("."))) <= _MAX_INITIALS_CHARS


def _is_reporter(text: str, sentence: int, stop: int, word: str, at: int, next_word: str) -> bool:
    """Return whether a word abbreviates a source cited by volume: "116 Wash. 2d 853", "37 Am. L. Rev. 191"."""
    if not word[0].isupper() or len(word) > _MAX_REPORTER_CHARS:
        return False
    is_abbreviated = next_word[:1].isupper() and text.startswith(".", at + len(next_word))
    if not next_word[:1].isdigit() and not (is_abbreviated and len(next_word) <= _MAX_REPORTER_CHARS):
        return False
    before = text[max(sentence, stop - len(word) - 20) : stop - len(word)].rstrip()
    return last_word(before, 0, len(before)).isdigit()


def _is_front(text: str, sentence: int, stop: int, language: Language) -> bool:
    """Return whether the text up to a time is only a phrase before a sentence: "At 5 a.m. Mr. Smith …"."""
    if stop - sentence > _MAX_FRONT_CHARS:
        return False
    words = text[sentence:stop].rpartition(":")[2].split()
    return len(words) < _MIN_FRONT_WORDS or words[0].lower() in language.fronts


def _ellipsis_ends(text: str, match: "re.Match[str]", sentence: int, first: str) -> bool:
    """Return whether a spaced ellipsis ends a sentence; ``first`` is the next letter."""
    start = match.start()
    is_led = has_word(text, max(sentence, start - _MAX_LEAD_CHARS), start)
    if first.islower() or not is_led or text[start - 1] in '"“':
        return _opens_with_ellipsis(text, match) and not match["closers"]
    if _word_at(text, match.end()) == "I":
        return len(match["marks"]) > len(". . .")
    return _opens_with_ellipsis(text, match) or first.isupper() or text[match.end()] == "["


def _opens_with_ellipsis(text: str, match: "re.Match[str]") -> bool:
    """Return whether the first of four stops ends a sentence and the rest begin the next: "of values. . . . If"."""
    return match["marks"].startswith(_FOUR_SPACED) and not text[match.start() - 1].isspace()


def _is_in_brackets(text: str, sentence: int, at: int) -> bool:
    """Return whether a position is between two brackets that aren't far apart; few stops in them end a sentence."""
    low = sentence if at - sentence < _MAX_BRACKET_CHARS else at - _MAX_BRACKET_CHARS
    opened = text.rfind("(", low, at)
    square = text.rfind("[", low, at)
    opened = square if square > opened else opened
    if opened < 0 or text.find(")", opened, at) >= 0 or text.find("]", opened, at) >= 0:
        return False
    return text.find(")" if text[opened] == "(" else "]", at, at + _MAX_BRACKET_CHARS) >= 0


def _word_at(text: str, start: int) -> str:
    word = _WORD.match(text, start)
    return word[0] if word else ""


_LABEL_LETTERS = "ABCFT"
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


def unmarked_starts(text: str) -> list[int]:
    """Return where sentences begin after a time stamp, a smiley, a URL or the mail address of a header.

    Args:
        text: A paragraph with a colon.
    """
    starts = [match.end() for pattern in (_URL, _STAMP, _SMILEY) for match in pattern.finditer(text)]
    if "@" in text and "mail" in text:
        for match in _ADDRESS.finditer(text):
            label = text[max(0, match.start() - _MAX_LABEL_CHARS) : match.start()]
            starts += [match.end()] if "mail" in label else []
    return starts
