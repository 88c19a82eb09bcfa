"""The rules that decide, for each newline and each full stop, whether a sentence ends there.

A newline ends a sentence, or only a line that was too long. Always joining lines is wrong, and always breaking at them
is wrong. This matters more than the full stop, which is judged by what stands before and after it.

If in doubt, join: two sentences joined lose less than one sentence cut in two.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .blocks import MAX_MARKED_HEADING_CHARS, wiki_heading
from .languages import Language

MIN_COLUMN_CHARS = 40
"""Characters of the narrowest column whose lines may be wrapped."""

MIN_WRAPPED_LINES = 5
"""Lines followed by a line in lower case that are enough to tell the width of the column."""

MARKER = re.compile(
    r"[-–—•*·+‣▪]\s"
    r"|\\?[\[(«“\"•⁃‣▪◦]?(?:\d{1,3}(?:[.-]\d{1,3})*|[a-zA-Z]|[ivxlIVXL]{1,6}|[a-z]{2})(?:-[a-z]+)?"
    r"\\?[.)\]°ºª]{1,3}(?=\s|\Z)"
    r"|[IVXLC]{1,7}\s[-–—]\s|§"
)
"""The marker of an item or a numbered paragraph: "•", "2.", "36\\.", "(a)", "iv)", "3º", "II –", "§"."""

_LINE_START = re.compile(r"[\r\n]\s*|[•⁃‣▪◦]")
_LINE_OR_COLUMN_START = re.compile(r"[\r\n]\s*|[•⁃‣▪◦]|\t\s*|[ ]{4}\s*")
_BULLETS = "•⁃‣▪◦"
_CLOSERS = "\"'”’»)]}*_"
_LINE_OPENERS = "\"'“‘«([{*_"
_MARKER_LINE = re.compile(
    r"\\?[\[(]?(?:\d{1,3}(?:[.-]\d{1,3})*\\?[.)\]°ºª]{1,3}"
    r"|\(?(?:[a-zA-Z]|[ivxlIVXL]{1,6}|[a-z]{2})(?:-[a-z]+)?\\?[.)]{1,2}|[—–•*)-])"
)
_LAST_MARKER = re.compile(r"[.:]\s+\(\w{1,3}\)\Z")
_VERSUS = re.compile(r"vs?\.[ \t]*[\r\n]")
_AND_OR = frozenset({"and", "or", "y", "o", "et", "ou", "e", "ed", "und", "oder"})
_BEFORE_WORD = re.compile(r"""(?s:.*)[\s(\[“"'«’]""")
_MAX_LAST_WORD_CHARS = 30
_MAX_WORD_CHARS = 40
_MAX_NOTES = 3
_MAX_NOTE_CHARS = 150


@dataclass(frozen=True, slots=True)
class Gap:
    """White space between two lines that aren't blank, or between two columns of one line.

    Attributes:
        line: Where the line before it begins.
        start: Where that line ends.
        end: Where the next line begins.
        is_blank: Whether it holds a blank line.
        is_column: Whether it holds a tab or four spaces instead of a newline.
    """

    line: int
    start: int
    end: int
    is_blank: bool
    is_column: bool = False


def find_gaps(text: str) -> list[Gap]:
    """Find the gaps between the lines of a text, in order. A bullet or a column inside a line counts as a line."""
    gaps: list[Gap] = []
    line = 0
    has_columns = "\t" in text or "    " in text
    for match in (_LINE_OR_COLUMN_START if has_columns else _LINE_START).finditer(text):
        start, end = match.span()
        is_bullet = text[start] in _BULLETS
        if is_bullet:
            end = start
        while start > line and text[start - 1].isspace():
            start -= 1
        if start == end:
            continue
        if start > line and end < len(text):
            white = text[start:end]
            newlines = max(white.count("\n"), white.count("\r"))
            is_column = not newlines and not is_bullet
            if is_column and not _parts_columns(text, line, start, end):
                continue
            gaps.append(Gap(line, start, end, newlines > 1, is_column))
        line = end
    return gaps


def column_width(text: str, gaps: Sequence[Gap]) -> float:
    """Estimate the length of a full line, in characters."""
    wrapped = sorted(
        gap.start - gap.line + 1 + _word_length(text, gap.end)
        for gap in gaps
        if not gap.is_blank and text[gap.end].islower() and text[gap.start - 1] not in ".!?;:,"
    )
    if len(wrapped) >= MIN_WRAPPED_LINES:
        return max(MIN_COLUMN_CHARS, 0.9 * wrapped[len(wrapped) // 10])
    lengths = sorted(gap.start - gap.line for gap in gaps)
    lengths = sorted([*lengths, len(text.rstrip()) - gaps[-1].end]) if gaps else []
    return max(MIN_COLUMN_CHARS, 0.9 * lengths[int(len(lengths) * 0.9)]) if lengths else MIN_COLUMN_CHARS


def goes_on(text: str, gap: Gap, column: float, language: Language, *, is_casual: bool) -> bool:
    """Return whether the sentence before a gap continues after it.

    Args:
        text: The text.
        gap: A gap of the text.
        column: The length of a full line in characters, see `column_width`.
        language: The words of the text's language.
        is_casual: Whether sentences of the text begin in lower case too.
    """
    line, end, start = gap.line, gap.start, gap.end
    if gap.is_column or text[start] in _BULLETS:
        return False
    if text[line] == "=" and wiki_heading(text, line, end):
        return False
    if text[start] == "=" and wiki_heading(text, start, _line_end(text, start)):
        return False
    if text[start] == "v" and not gap.is_blank and _VERSUS.match(text, start):
        return True
    if text[start].isupper() and (text.startswith("  ", end) or text[end - 1] == "\\"):
        return False  # a hard line break of Markdown
    noted = _before_notes(text, line, end) if text[end - 1] == ")" else end
    last = (text[line:noted].rstrip(_CLOSERS) or text[noted - 1])[-1]
    first = next((text[at] for at in range(start, len(text)) if text[at] not in _LINE_OPENERS), "")
    is_item = MARKER.match(text, start) is not None
    before = last_word(text, line, end)
    closers = ")]},;.!?" if gap.is_blank else ")]},;:.!?"
    if text[end - 1] in "([{\u00ad" or (first and first in closers and text[start] not in "([{.…"):
        return True
    if _MARKER_LINE.fullmatch(text, line, end) or _LAST_MARKER.search(text[max(line, end - 12) : end]):
        return True
    if last == ";":
        return not gap.is_blank or is_item or text.startswith("[...]", start)
    if last == ",":
        if text[line : end - 1].strip().lower() in language.farewells and first.isupper():
            return False
        goes_in_capitals = text[start : start + 2].isupper() and not text[start + 2 : start + 3].islower()
        return not gap.is_blank or goes_in_capitals or (first.islower() and not is_casual)
    if last in ".!?…":
        if noted < end:
            return first.islower() and not is_casual
        return (
            last == "."
            and not is_item
            and _is_open(text, line, end, language, is_name=gap.is_blank and first.isupper())
        ) or (bool(language.flags) and first.isupper() and not gap.is_blank and _is_ordinal(text, gap, language))
    if last == ":":
        return not gap.is_blank and first.islower() and not is_item and text[start] not in '"“«„'
    if is_item:
        if text[start] in "-*+":
            return False
        return before.lower() in _AND_OR or not (gap.is_blank or _fits(text, gap, column))
    if first.islower():
        # A blank line ends a sentence, unless a word on either side says that it goes on.
        following = text[start : start + _word_length(text, start)]
        return not gap.is_blank or before.lower() in language.leads or following in _AND_OR
    if last in "-–—":
        return first.isdigit() and text[line:end].strip("-–— \t") != ""  # else it is a rule
    if first.isdigit() and before.islower() and text[start + _word_length(text, start) - 1] == ",":
        return True  # "claim\n\n4, characterised …"
    if gap.is_blank or before.lower() in language.leads:
        return before.lower() in language.leads
    return text.rfind("(", line, end) > text.rfind(")", line, end) or not _fits(text, gap, column)


def last_word(text: str, low: int, end: int) -> str:
    """Return the word that ends at a position, without brackets or quotes before it; at most 30 characters."""
    low = max(low, end - _MAX_LAST_WORD_CHARS)
    match = _BEFORE_WORD.match(text, low, end)
    return text[match.end() if match else low : end]


def _parts_columns(text: str, line: int, start: int, end: int) -> bool:
    """Return whether wide white space separates two columns, and doesn't stand after a mark or in a sentence."""
    return text[start - 1] not in ".,;:([" and not text[end].islower() and not _MARKER_LINE.fullmatch(text, line, start)


def _is_open(text: str, line: int, end: int, language: Language, *, is_name: bool) -> bool:
    """Return whether the full stop at the end of a line only ends an abbreviation."""
    while end > line and text[end - 1] in _CLOSERS:
        end -= 1
    word = last_word(text, line, end - 1)
    if word.lower() in ("v", "vs"):
        return True
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    never_ends = word.lower() in language.abbreviations or word.lower() in language.numbered
    return (is_initial or never_ends) and not is_name


def _before_notes(text: str, line: int, end: int) -> int:
    """Return where a line ends before the notes in brackets after its last mark: "… by law. (Added in 1998)"."""
    at = end
    for _ in range(_MAX_NOTES):
        opened = text.rfind("(", max(line, at - _MAX_NOTE_CHARS), at) if text[at - 1] == ")" else -1
        if opened < 0 or text.find(")", opened, at) != at - 1:
            break
        at = opened
        while at > line and text[at - 1].isspace():
            at -= 1
    return at if at > line and text[at - 1] in ".!?…;:" else end


def _is_ordinal(text: str, gap: Gap, language: Language) -> bool:
    """Return whether a line ends with an ordinal, as in "am 31." before "Dezember"."""
    following = text[gap.end : gap.end + _word_length(text, gap.end)].rstrip(".,;:!?")
    return language.counts(last_word(text, gap.line, gap.start - 1), following)


def _fits(text: str, gap: Gap, column: float) -> bool:
    """Return whether the next line's first word would have fit into the line before."""
    return gap.start - gap.line + 1 + _word_length(text, gap.end) <= column


def _line_end(text: str, start: int) -> int:
    """Return where a line ends, without the white space after it; cut if it is too long for a heading."""
    stop = min(len(text), start + MAX_MARKED_HEADING_CHARS + 1)
    end = next((at for at in range(start, stop) if text[at] in "\r\n"), stop)
    return start + len(text[start:end].rstrip())


def _word_length(text: str, start: int) -> int:
    end, stop = start, min(len(text), start + _MAX_WORD_CHARS)
    while end < stop and not text[end].isspace():
        end += 1
    return end - start


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
    (?P<closers> (?:['’][ \xa0](?=["”](?:\s|$)))?(?:[ \xa0\u202f](?=»))?["'”’»“‘«)\]}*_]*)
    (?:\s?[:;]-?[)DPp](?!\w))*                                 # :-)
    (?:\s?\[\d[\d\s,–-]*\])*                                   # [17]
    (?: \s+ | (?<=[。．！？｡]) | (?:(?<=[a-z\d][.!?])|(?<=[.!?]{2}))(?=[A-Z][a-z']*(?:\s|\.\s))
      | (?<=\?)(?=[a-z][a-z']*\s) )
    """,
    re.VERBOSE,
)
_LISTED = re.compile(r"(?<=\s)(?:\d{1,2}|[a-z]|[ivx]{1,4})\.\)\s(?=[A-Z])")
"""The marker of an item inside a line: "a.) The first item b.) The second item"."""
_OPENERS = "\"'“‘«([{*_—–-¿¡ "
_ROMAN_OR_LETTER = re.compile(r"[IVXLC]+|[A-Z]")
_FOUR_SPACED = (". . . .", ".\xa0.\xa0.\xa0.")
_CAPITAL_INSIDE = re.compile("[a-z]{1,2}[A-Z]")
"""The beginning of a name such as "eBay", which may begin any sentence."""
_NEXT_CASE = re.compile(
    rf"[.!?]\s+(?!{_CAPITAL_INSIDE.pattern}|(?:[a-z]|[ivxlc]{{1,6}})[.)])(?:([a-z])|[A-Z])"  # nor the marker of an item
)
_LOWER_ROMAN = re.compile(r"[ivxlc]+")
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
    """Return whether sentences of a text begin in lower case too, so case tells nothing."""
    ends = lower = 0
    for match in _NEXT_CASE.finditer(text):
        word = last_word(text, 0, match.start())
        is_word = word.isalpha() and word.islower() and len(word) > 1 and not _LOWER_ROMAN.fullmatch(word)
        if is_word and not language.abbreviates(word):
            ends += 1
            lower += match[1] is not None
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
    if farewell := _farewell_end(text, 0, language):
        yield farewell
    if ".)" in text:
        yield from (m.start() for m in _LISTED.finditer(text) if not _is_in_brackets(text, 0, m.start()))
    for match in _CANDIDATE.finditer(text, sentence):
        if match.end() >= len(text):
            return
        if _ends(text, match, sentence, language, is_casual=is_casual):
            sentence = match.start() + len(". ") if _opens_with_ellipsis(text, match) else match.end()
            yield sentence
            if farewell := _farewell_end(text, sentence, language):
                yield farewell


def _farewell_end(text: str, start: int, language: Language) -> int:
    """Return where the name after a letter's farewell begins, as in "Regards, Debra"; 0 if there is none."""
    comma = text.find(", ", start, start + _MAX_FAREWELL_CHARS)
    is_farewell = (
        comma > 0 and text[start:comma].lower() in language.farewells and text[comma + 2 : comma + 3].isupper()
    )
    return comma + 2 if is_farewell else 0


def _ends(text: str, match: "re.Match[str]", sentence: int, language: Language, *, is_casual: bool) -> bool:
    marks, closers, following = match["marks"], match["closers"], match.end()
    if marks == ":":
        return True
    at = following
    while at < len(text) and text[at] in _OPENERS:
        at += 1
    first = text[at] if at < len(text) else ""
    if text[following] in ",;:" or _is_in_brackets(text, sentence, match.end("closers")):
        return False
    if " ." in marks or "\xa0." in marks:
        return _ellipsis_ends(text, match, sentence, first)
    word = last_word(text, sentence, match.start())
    if text[following - 1] in ".!?":
        return _ends_without_space(word, marks, _word_at(text, following).lower(), language)
    if first.islower() and not is_casual and not _CAPITAL_INSIDE.match(text, at):
        if closers:
            return False
        if set(marks) == {"?"} and text[following].islower():
            return True
        if marks != "." or language.abbreviates(word) or word.lower() in ("id", "ibid"):
            return text.startswith(("http", "www."), following)
        return len(word) > _MAX_INITIALS_CHARS and word.isalpha() and word.islower()
    if marks != ".":
        return True
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
        return not language.abbreviates(last_word(text, sentence, max(sentence, stop - 1)))
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
    next_word = _word_at(text, at)
    if _is_reporter(text, sentence, stop, whole, at, next_word):
        return False
    if language.flags and (first.isupper() or first.isdigit()) and language.counts(word, next_word):
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
        is_acronym = (
            next_word.isupper() and not text[max(sentence, stop - _MAX_FRONT_CHARS) : stop].isupper()
        )  # "art. 106 segg. LEF"
        return first.isupper() and not is_acronym and next_word.lower() not in language.abbreviations
    if lower in language.closing:
        return starts
    if lower in language.abbreviations or lower in language.numbered:
        return starts and bool(match["closers"]) and not match["closers"].startswith("'")
    if has_points and first.isdigit() and lower[-1].isalpha() and not lower[0].isdigit():
        return False
    if lower in ("id", "ibid"):
        return text[following] != "("
    if has_points and not any(map(str.isdigit, lower)):
        return starts or max(map(len, lower.split("."))) > _MAX_INITIALS_CHARS
    return True


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
    has_word = any(map(str.isalnum, text[max(sentence, start - _MAX_LEAD_CHARS) : start]))
    if first.islower() or not has_word or text[start - 1] in '"“':
        return _opens_with_ellipsis(text, match) and not match["closers"]
    if _word_at(text, match.end()) == "I":
        return len(match["marks"]) > len(". . .")
    return _opens_with_ellipsis(text, match) or first.isupper() or text[match.end()] == "["


def _opens_with_ellipsis(text: str, match: "re.Match[str]") -> bool:
    """Return whether the first of four stops ends a sentence and the rest begin the next: "of values. . . . If"."""
    return match["marks"].startswith(_FOUR_SPACED) and not text[match.start() - 1].isspace()


def _is_in_brackets(text: str, sentence: int, at: int) -> bool:
    """Return whether a position is between two brackets that aren't far apart; few stops in them end a sentence."""
    low = max(sentence, at - _MAX_BRACKET_CHARS)
    opened = max(text.rfind("(", low, at), text.rfind("[", low, at))
    if opened < 0 or text.find(")", opened, at) >= 0 or text.find("]", opened, at) >= 0:
        return False
    return text.find(")" if text[opened] == "(" else "]", at, at + _MAX_BRACKET_CHARS) >= 0


def _word_at(text: str, start: int) -> str:
    end = start
    while end < len(text) and (text[end].isalnum() or text[end] in "'’"):
        end += 1
    return text[start:end]


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
