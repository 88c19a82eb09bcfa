"""The words of a text, and which words and word pairs of a query stand in which of many texts, and how rare they are.

A word is a run of letters and digits, with the marks that belong to letters, such as the vowels of Hindi. Some scripts
put no spaces between words: those of Chinese, Japanese, Thai, Lao, Khmer and Burmese. Korean puts none before endings.
There, each pair of neighboring characters is a word, as in Lucene's ``CJKAnalyzer``; a character that stands alone is
one, too.

Words are matched in lower case and without accents, as in the lexical index. All texts are read at once as one array of
characters, so that the time hardly depends on how many texts and words there are.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .candidates import JoinedTexts

_UNSPACED = (
    # All but their digits, which are words as other digits are.
    "\u0e00-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1780-\u17df\u17ea-\u17ff"  # Thai, Lao, Khmer
    "\u1000-\u103f\u104a-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9ff\uaa60-\uaa7f"  # Burmese
    "\u3000-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"  # Japanese
    "\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # ideographs
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdf"  # Korean
)
UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
"""A run of characters of these scripts, once all that is in no word is left out."""

_RUN = re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|[^ {_UNSPACED}]+")
END_OF_LETTERS = 0x40000
"""The planes from this code point on hold no letters."""

_SENTENCE_END = re.compile(r"[.?!]\s|[\n:]")

_STYLES = frozenset([*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
"""Marks that say how the character before is drawn, as in emoji."""


class Run(NamedTuple):
    """A run of letters and digits.

    Attributes:
        text: The run.
        start: Where it starts.
        end: Where it ends, exclusive.
        is_unspaced: Whether it is of a script without spaces between words.
    """

    text: str
    start: int
    end: int
    is_unspaced: bool


def runs_of(text: str) -> Iterator[Run]:
    """Yield the runs of letters and digits of a text, each either in scripts with spaces between words or in others."""
    for run in _RUN.finditer(_blanked(text)):
        yield Run(run[0], *run.span(), run["unspaced"] is not None)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a question.

    Attributes:
        word: The word in lower case.
        start: Where it starts in the question.
        end: Where it ends, exclusive.
        is_name: Whether it is written as a name: with a capital that isn't the first of a sentence, with one inside,
            all in capitals, with a digit, or in a script without capitals.
    """

    word: str
    start: int
    end: int
    is_name: bool


def tokens_of(query: str) -> list[Token]:
    """Return the words of a question: its runs of letters and digits, those of scripts without spaces as wholes.

    If all letters are capitals, they tell nothing, and only words with a digit are written as names.
    """
    tokens: list[Token] = []
    is_shouted = query.isupper()
    end = 0
    for text, start, stop, _ in runs_of(query):
        begins = not tokens or _SENTENCE_END.search(query, end, start) is not None
        end = stop
        is_large = not (is_shouted or is_small(text)) and (not begins or (len(text) > 1 and not text[1:].islower()))
        tokens.append(Token(text.lower(), start, end, is_large or any(map(str.isdigit, text))))
    return tokens


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return [run.text.lower() for run in runs_of(text)]


def is_small(word: str) -> bool:
    """Return whether a word is written with a small letter first, and without a capital."""
    return word[0].islower() and not any(map(str.isupper, word))  # "eBay" is written as a name


def separated(text: str) -> str:
    """Return the words of a text with spaces between them, for an index that knows nothing else of words."""
    blanked = _blanked(text)
    return blanked if text.isascii() else UNSPACED_RUN.sub(_pairs, blanked)


_COMPOUND = re.compile(r"(?<![\w-])([^\W\d_]{1,30})[-\u2010\u2011]([^\W\d_]{1,30})(?![\w-])")


def indexed(text: str) -> str:
    """Return the words of a text as an index holds them, with spaces between them.

    They are in lower case, letters of Latin and Greek without accents. A word with a hyphen is there in parts and as
    one.
    """
    if "-" in text or not text.isascii():
        text = _COMPOUND.sub(r"\g<0> \1\2", text)
    return plain(text)


def plain(text: str) -> str:
    """Return the words of a text as `indexed` does, with a compound in parts alone."""
    words = separated(text)
    return words.lower() if words.isascii() else words.translate(_PLAIN)


class _Plain(dict[int, str]):
    """Letters in lower case, and without accents, by code points; filled as texts need them."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_accent = "\u0300" <= character < "\u0370"
        found = self[code] = "" if is_accent else _DOUBLE.get(character.lower()) or _lower(character)
        return found


_DOUBLE = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"}
_SINGLE = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i"}
_PLAIN = _Plain()


def in_other_number(word: str) -> str:
    """Return the plural of an English word in lower case, or the singular of one with the ending of a plural."""
    if len(word) > len("fee") and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in ("", *"aeou") else f"{word}s"


def is_of_word(character: str) -> bool:
    """Return whether a character may be in a word: a letter, a digit, or a mark that belongs to a letter."""
    return character.isalnum() or (unicodedata.category(character) in {"Mn", "Mc"} and ord(character) not in _STYLES)


def _blanked(text: str) -> str:
    """Return a text of the same length, with spaces for all that is in no word."""
    if text.isascii():
        return text.encode().translate(_ASCII_BLANKS).decode()  # in a third of the time that ``str.translate`` takes
    return text.translate(_BLANKS)


def _pairs(run: re.Match[str]) -> str:
    return f" {' '.join(map(''.join, pairwise(run[0]))) or run[0]} "


class _Blanks(dict[int, int]):
    """Code points by themselves, and a space for each that is in no word; filled as texts need them."""

    def __missing__(self, code: int) -> int:
        blank = code if is_of_word(chr(code)) else ord(" ")
        if code < END_OF_LETTERS:
            self[code] = blank
        return blank


_BLANKS = _Blanks()
_ASCII_BLANKS = bytes(map(_BLANKS.__getitem__, range(128))).ljust(256)


Flags: TypeAlias = npt.NDArray[np.bool_]
_Codes: TypeAlias = npt.NDArray[Any]
_Indexes: TypeAlias = npt.NDArray[np.int64]

MAX_QUERY_WORDS = 64
"""Different words of a query that count: the first ones."""

MAX_WORDS_READ = 256
"""Words of a query that are read, repeated ones counted; what follows them is ignored."""

_ASCII, _BASIC, _ALL = 0x80, 0x10000, 0x110000  # ends of ranges of code points
_ENCODINGS = {_ASCII: "ascii", _BASIC: "utf-16-le", _ALL: "utf-32-le"}
_TYPES: Mapping[int, np.dtype[Any]] = {_ASCII: np.dtype("u1"), _BASIC: np.dtype("<u2"), _ALL: np.dtype("<u4")}
_BEGINNING = 8
_PADDING = "\n" * _BEGINNING
_SLOT_BITS = 12
_SLOTS = 1 << _SLOT_BITS
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # spreads numbers evenly over the slots
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_BEGINNING + 1)], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The words of a query, and its pairs of adjacent words.

    Attributes:
        words: Its different words in lower case, in the order in which they come first.
        pairs: The different pairs of adjacent words, as indexes in ``words``.
        capitalized: For each word, whether it stands with a capital letter somewhere behind the query's first word.
    """

    words: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    capitalized: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class WordMatches:
    """The words and pairs of words of a query that texts hold.

    Attributes:
        words: Of shape ``(texts, words)``, whether a text holds a word.
        pairs: Of shape ``(texts, pairs)``, whether it holds a pair: both words with no other word between them.
    """

    words: Flags
    pairs: Flags


def query_terms(query: str) -> QueryTerms:
    """Read a query: at most `MAX_QUERY_WORDS` different words among the first `MAX_WORDS_READ`, and their pairs."""
    positions: dict[str, int] = {}
    pairs: dict[tuple[int, int], None] = {}
    names: set[int] = set()
    before = None
    for number, written in enumerate(islice(separated(query).split(), MAX_WORDS_READ)):
        word = _lower(written)
        if word not in positions and len(positions) == MAX_QUERY_WORDS:
            before = None
            continue
        position = positions.setdefault(word, len(positions))
        if number and written[0].isupper():
            names.add(position)
        if before is not None:
            pairs[before, position] = None
        before = position
    return QueryTerms(tuple(positions), tuple(pairs), tuple(position in names for position in range(len(positions))))


def find_words(query: QueryTerms, texts: Sequence[str]) -> WordMatches:
    """Find the words and the pairs of a query in texts, in time linear in the texts; quickest if they are joined."""
    parts = texts if isinstance(texts, JoinedTexts) else JoinedTexts.of(texts)
    held = np.zeros((len(parts.starts), len(query.words)), dtype=np.bool_)
    paired = np.zeros((len(parts.starts), len(query.pairs)), dtype=np.bool_)
    if not held.size:
        return WordMatches(held, paired)
    # Each text ends at a character that is in no word, and so does what stands before the first text.
    text = f"\n{parts.joined}\n{_PADDING}"
    kind = _ASCII if text.isascii() else _BASIC
    encoded = text.encode(_ENCODINGS[kind], "surrogatepass")
    if len(encoded) > 2 * len(text):  # characters beyond the basic plane take two units
        kind, encoded = _ALL, text.encode(_ENCODINGS[_ALL], "surrogatepass")
    # Each character's code in lower case, or 0 for one that is in no word.
    folded: _Codes = (
        np.frombuffer(encoded.translate(_ascii_letters()), dtype=_TYPES[kind])  # much faster
        if kind == _ASCII
        else _letters(kind)[np.frombuffer(encoded, dtype=_TYPES[kind])]
    )
    starts, ends = _word_spans(folded)
    ordinals, found = _matches(query.words, folded, starts, ends, _ENCODINGS[kind])
    # Of texts that start at one place, all but the last are empty.
    places, order = starts[ordinals] - 1, np.argsort(parts.starts, kind="stable")
    owners = order[np.maximum(np.searchsorted(parts.starts[order], places, side="right") - 1, 0)]
    inside = (parts.starts[owners] <= places) & (places < parts.ends[owners])
    if not inside.all():
        ordinals, found, owners = ordinals[inside], found[inside], owners[inside]
    held[owners, found] = True
    if query.pairs:
        numbers = np.full((len(query.words), len(query.words)), -1)
        numbers[tuple(np.array(query.pairs).T)] = range(len(query.pairs))
        pair = numbers[found[:-1], found[1:]]
        adjacent = (pair >= 0) & (np.diff(ordinals) == 1) & (owners[1:] == owners[:-1])
        paired[owners[1:][adjacent], pair[adjacent]] = True
    return WordMatches(held, paired)


def inverse_document_frequency(counts: npt.ArrayLike, total: int) -> npt.NDArray[np.float64]:
    """Return the idf of BM25 for words: higher the fewer texts hold a word, and above 0.

    See Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.

    Args:
        counts: How many texts hold each word; what lies outside of 0 to ``total`` counts as the nearer end.
        total: The number of texts.
    """
    held = np.clip(counts, 0, total)
    return np.asarray(np.log1p((total - held + 0.5) / (held + 0.5)))


def _word_spans(folded: _Codes) -> tuple[_Indexes, _Indexes]:
    """Return where each word starts and ends, in order."""
    in_word = folded != 0
    if folded.itemsize == 1:
        edges = np.flatnonzero(in_word[1:] != in_word[:-1]) + 1
        return edges[::2], edges[1::2]
    is_unspaced = in_word & _unspaced(_BASIC if folded.itemsize == 2 else _ALL)[folded]  # noqa: PLR2004 - bytes
    edges = np.flatnonzero((in_word[1:] != in_word[:-1]) | (is_unspaced[1:] != is_unspaced[:-1])) + 1
    inside = in_word[edges[:-1]]
    starts, ends = edges[:-1][inside], edges[1:][inside]
    # A run of a script without spaces has a word for each two neighboring characters.
    pairs = np.where(is_unspaced[starts], ends - starts - 1, 0)
    if not pairs.any():
        return starts, ends
    counts = np.maximum(pairs, 1)
    runs = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(runs)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = starts[runs] + within
    return starts, np.where(pairs[runs] > 0, starts + 2, ends[runs])


@cache
def _ascii_letters() -> bytes:
    return _letters(_ASCII).tobytes().ljust(256, b"\0")


@cache
def _letters(end: int) -> _Codes:
    """Return each code point below an end in lower case, or 0 for one that is in no word."""
    if end == _ALL:
        # No character there has a lower case of several characters, or one that depends on its neighbors.
        text = _characters(_BASIC, END_OF_LETTERS)
        lower = np.frombuffer(text.lower().encode(_ENCODINGS[_ALL]), dtype=_TYPES[_ALL])
        beyond = np.zeros(_ALL - END_OF_LETTERS, dtype=_TYPES[_ALL])
        return np.concatenate([_letters(_BASIC).astype(_TYPES[_ALL]), lower * _in_words(text), beyond])
    text = _characters(0, end)
    lower = np.array([ord(_lower(character)) for character in text], dtype=_TYPES[end])
    return np.asarray(lower * _in_words(text))


@cache
def _unspaced(end: int) -> Flags:
    """Return for each code point below an end whether it may be of a script without spaces between words."""
    flags = np.zeros(end, dtype=np.bool_)
    for run in UNSPACED_RUN.finditer(_characters(0, min(end, END_OF_LETTERS))):
        flags[run.start() : run.end()] = True
    return flags


def _in_words(text: str) -> Flags:
    return np.array([*map(is_of_word, text)])


def _characters(start: int, end: int) -> str:
    return "".join(map(chr, range(start, end)))


def _lower(word: str) -> str:
    # Character by character, as "Σ" would depend on its neighbors, and "İ" would become two characters.
    return word.lower() if word.isascii() else "".join(map(_plain_letter, word))


def _plain_letter(character: str) -> str:
    """Return a letter in lower case, one of Latin or Greek without accents."""
    small = character.lower()[0]
    base = _SINGLE.get(small) or unicodedata.normalize("NFD", small)[0]
    return base if base.isascii() or "\u0370" <= base < "\u0400" else small


def _matches(
    words: Sequence[str], folded: _Codes, starts: _Indexes, ends: _Indexes, encoding: str
) -> tuple[_Indexes, _Indexes]:
    """Find words of the query among the words between starts and ends.

    Returns:
        The numbers of the words that are of the query, ascending, and the index in ``words`` of each.
    """
    width = folded.itemsize
    fitting = [word.isascii() if width == 1 else width == 4 or max(word) < chr(_BASIC) for word in words]  # noqa: PLR2004
    encoded = {number: words[number].encode(encoding, "surrogatepass") for number in np.flatnonzero(fitting).tolist()}
    # Words are compared by their first eight bytes, which are all of most words. Those behind the end of a word are 0.
    # Behind the last word stands the padding, so each of these numbers ends inside the array.
    overlapping = np.ndarray((folded.nbytes - _BEGINNING + 1,), dtype="<u8", buffer=folded.data, strides=(1,))
    sizes = (ends - starts) * width
    beginnings = overlapping[starts * width] & _MASKS[np.minimum(sizes, _BEGINNING)]
    known, known_sizes = np.zeros(len(words), dtype=np.uint64), np.zeros(len(words), dtype=np.int64)
    for number, word in encoded.items():
        known[number], known_sizes[number] = int.from_bytes(word[:_BEGINNING], "little"), len(word)
    shift = np.uint64(64 - _SLOT_BITS)
    holders = np.full(_SLOTS, -1, dtype=np.int64)
    held = list(encoded)
    slots = ((known * _FACTOR) >> shift).astype(np.int64)[held]
    holders[slots] = held
    has_rivals = (holders[slots] != held).any()
    guessed = holders[((beginnings * _FACTOR) >> shift).astype(np.int64)]
    likely = np.flatnonzero(guessed >= 0)
    guessed = guessed[likely]
    is_same = (beginnings[likely] == known[guessed]) & (sizes[likely] == known_sizes[guessed])
    found = np.where(is_same & (sizes[likely] <= _BEGINNING), guessed, -1)
    unsure = np.flatnonzero((found < 0) & ((sizes[likely] > _BEGINNING) | has_rivals))
    if len(unsure):
        data, numbers = folded.tobytes(), {word: number for number, word in encoded.items()}
        at = likely[unsure]
        spans = zip((starts[at] * width).tolist(), (starts[at] * width + sizes[at]).tolist(), strict=True)
        found[unsure] = [numbers.get(data[start:end], -1) for start, end in spans]
    return likely[found >= 0], found[found >= 0]
