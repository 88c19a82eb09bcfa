r"""Boundaries that a quotation keeps: words, numbers with their signs and units, and negations.

"lawful" doesn't stand in "unlawful", nor "5 euros" in "1.5 euros", though all their characters do.
"""

import re
import unicodedata

from langchain_sentence_window.answering.quotes.plain_text import INVISIBLE, PLAIN

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
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff]"
)
"""Letters of scripts that put no space between words, or join particles to them as Korean does."""


def is_unspaced(character: str) -> bool:
    """Return whether a letter is of a script that doesn't part all words by spaces."""
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
    return bool(left and right) and _cuts(left, right)


def _cuts(left: str, right: str) -> bool:
    before, after = left[-1], right[0]
    if unicodedata.category(after) in ("Mn", "Mc", "Me"):
        return True
    if _is_wordy(before) and _is_wordy(after):
        is_number = before.isnumeric() and after.isnumeric()
        return is_number or not (is_unspaced(before) or is_unspaced(after))
    return _CUT.search(f"{left}{_AT}{right}") is not None


def _is_wordy(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character) in ("Mn", "Mc")


def _seen(text: str) -> str:
    return "".join(each for each in text if PLAIN[ord(each)] != INVISIBLE)


_NEGATIONS = re.compile(
    r"""(?<!\w) (?:
      not | no | never | nor | neither | none | nothing | nobody | nowhere | without | cannot | hardly | unless
    | nicht | nichts | kein\w{0,2} | nie | niemals | niemand | weder | ohne | nirgends
    | ne | n(?=['’]) | pas | jamais | aucun\w? | sans | ni | rien | personne | non | nul(?:le)?
    | nunca | jamás | ning[uú]n\w? | sin | nada | nadie | tampoco
    | mai | nessun\w? | senza | né | niente | nulla
    | não | jamais | nenhum\w? | sem | nem | ninguém
    | niet | geen | nooit | zonder | inte | icke | ikke | ej | aldrig | aldri | ingen | inget | inga | uden | utan
    | nie | bez | nigdy | żaden | не | нет | ни | никогда | без | нельзя
    ) (?!\w)
    | n['’]t (?!\w) | [不没沒未无無勿莫] | 非(?!常) | ない | なく | ません | ぬ(?!\w) | 않 | 없 | 아니 | 못""",
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?…](?=[\s\"'”’»)\]]|$)|[。！？]|\n[ \t]*\n|[;；]")


def negates(text: str) -> bool:
    """Return whether a text holds a negation, in one of the languages that are known here."""
    return _NEGATIONS.search(text) is not None


def rest_of_sentence(text: str, at: int) -> str:
    """Return what follows a place up to the end of its sentence."""
    ahead = text[at : at + _MAX_CLAUSE]
    end = _SENTENCE_END.search(ahead)
    return ahead[: end.start()] if end else ahead


def head_of_sentence(text: str, at: int) -> str:
    """Return what stands before a place from the beginning of its sentence."""
    back = text[max(0, at - _MAX_CLAUSE) : at]
    ends = [found.end() for found in _SENTENCE_END.finditer(back)]
    return back[ends[-1] :] if ends else back


_CLAUSE_END = re.compile(r"[,:;](?=\s|$)|[，、：；]")
_UNIT = re.compile(r"(?<=\d)\s*+(m(?:g|m|l|s|w|hz|pa|j|v|a|wh|bit)?|[kmgt]i?b(?:it|ps)?)(?![^\W_])", re.IGNORECASE)


def units(text: str) -> list[str]:
    """Return the units of numbers that are others in capitals, such as ``mW`` and ``MW``, in order."""
    return _UNIT.findall(text)


def hides_negation(dropped: str) -> bool:
    """Return whether what an ellipsis leaves out has a negation that belongs to what is kept.

    If whole sentences or their ends are left out, it is one in the clause before or after.
    """
    ends = list(_SENTENCE_END.finditer(dropped))
    if not ends:
        return negates(dropped)
    before, after = dropped[: ends[0].start()], dropped[ends[-1].end() :]
    return negates(_CLAUSE_END.split(before, maxsplit=1)[0]) or negates(_CLAUSE_END.split(after)[-1])
