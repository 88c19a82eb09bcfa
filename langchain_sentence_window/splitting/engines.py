"""Sentence engines: NLTK's Punkt, sentencex, or a function of the user, which split one paragraph into sentences.

Sentences of sentencex are joined where one clearly continues: before a small letter, after an abbreviation, and around
quotations.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window._primitives import Span, encodable
from langchain_sentence_window._validation import as_integer, checked_callback
from langchain_sentence_window.errors import InvalidInputError

from .joints import CLOSING, OPENING, STOPS, first_letter, in_speech, is_small, settled
from .languages import Language, is_known, known_languages, language_words, unknown_code
from .parsers import Structure
from .rules import LABEL, MARKER, is_casual, last_word

Engine: TypeAlias = Callable[[str], Iterable[Span]]
"""A sentence engine: takes the text of one paragraph and returns ``(start, end)`` of each sentence."""


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The rules by which texts of one language are split.

    Attributes:
        words: The words of the language, which decide about newlines, and about full stops if there is no engine.
            Empty if this package has no list of them.
        engine: Finds the sentences of a paragraph; ``None`` for the rules of this package.
        structure: The structure of a text, or a parser that finds its blocks.
        max_chars: Characters; a longer sentence is cut, see `langchain_sentence_window.splitting.lengths`. ``None`` for
            no limit.
        max_piece_chars: Characters; a longer sentence of prose is cut into pieces, unless it introduces others.
            ``None`` for no pieces.
    """

    words: Language
    engine: Engine | None = None
    structure: Structure = "auto"
    max_chars: int | None = None
    max_piece_chars: int | None = None


MAX_PIECE_CHARS = 10_000
"""Characters given at once to an engine whose work grows faster than its text."""

# The next piece begins at a sentence that begins between these. The rest shows where brackets and quotes close.
_MIN_ADVANCE, _MAX_ADVANCE = 2_500, 7_500


def _sentencex(language: str) -> Engine:
    """Make an engine of Wikimedia's sentencex, which has rules for some 240 languages.

    Raises:
        InvalidInputError: It has no rules for the language or a similar one.
        MissingExtraError: It isn't installed.
    """
    if not is_known(language):
        raise unknown_code(language)
    find = of_extra("sentencex", "sentencex", "languages").get_sentence_boundaries
    words = language_words(language)

    def cut(text: str) -> Iterable[Span]:
        starts = [found["start_index"] for found in find(language, encodable(text))]
        return list(pairwise([*_mended_starts(text, starts, words), len(text)]))

    return in_pieces(cut)


_MARKER_BEFORE = re.compile(r"(?<=[.!?]\s)\d{1,2}\.\s\Z")
_MAX_MARKER_CHARS = 8
_NUMBER_AT_END = re.compile(r"\d[\d.,]*\.\s+(?=[^\W\d_])")


def _mended_starts(text: str, starts: Sequence[int], words: Language) -> Iterator[int]:
    """Yield sentence starts that don't continue an earlier sentence."""
    casual = is_casual(text, words)
    sentence = 0
    yield from starts[:1]
    for found in starts[1:]:
        at = found
        while at < len(text) and text[at].isspace():
            at += 1
        while at > sentence + 1 and text[at - 1] in OPENING and text[at - 2].isspace():
            at -= 1  # an opening mark belongs to the sentence after it
        marker = _MARKER_BEFORE.search(text, max(sentence, at - _MAX_MARKER_CHARS), at)
        if marker and not _sentence_goes_on(text, sentence, marker.start(), words, casual=casual):
            at = marker.start()  # the marker of an item belongs to the sentence after it
        at = at and settled(text, at, sentence, is_casual=casual)
        if at > sentence and _sentence_goes_on(text, sentence, at, words, casual=casual):
            number = _NUMBER_AT_END.match(text, at)  # it was taken for a marker: "Fig. 2. The end."
            at = number.end() if number else 0
            at = 0 if at and _sentence_goes_on(text, sentence, at, words, casual=casual) else at
        if at > sentence:
            sentence = at
            yield at


def _sentence_goes_on(text: str, sentence: int, at: int, words: Language, *, casual: bool) -> bool:
    """Return whether a sentence continues: before a small letter, or after a stop that only ends an abbreviation."""
    end = at
    while text[end - 1].isspace():
        end -= 1
    stop = end
    while stop > 1 and text[stop - 1] in CLOSING:
        stop -= 1
    mark, first = text[stop - 1], first_letter(text, at)
    if mark not in STOPS:
        return False
    if is_small(text[first]) and not casual:
        return mark != "?" or stop < end or first > at
    if mark in "!?" and stop == end:
        return in_speech(text, stop)
    is_single = mark == "." and stop == end and text[stop - 2 : stop - 1] != "."
    return is_single and _abbreviates(text, sentence, stop, at, words)


def _abbreviates(text: str, sentence: int, stop: int, at: int, words: Language) -> bool:
    """Return whether a full stop ends an abbreviation, the marker of an item or a label alone: "Fig. 3. The hall"."""
    marker = MARKER.match(text, sentence)
    if (marker and marker.end() >= stop) or LABEL.fullmatch(text, sentence, stop - 1):
        return True
    word = last_word(text, sentence, stop - 1)
    if text[first_letter(text, at)].isdigit():
        return words.abbreviates(word) or ("." in word and word[-1:].isalpha())
    return words.abbreviates(word) and word.lower() not in words.numbered


def _punkt(language: str) -> Engine:
    """Make an engine of NLTK's Punkt with the abbreviations of this package, so nothing is downloaded.

    Kiss & Strunk, "Unsupervised Multilingual Sentence Boundary Detection", Computational Linguistics 32:4, 2006.

    Raises:
        InvalidInputError: This package has no abbreviations of the language.
    """
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    if language not in known_languages():
        raise InvalidInputError(
            f'engine="punkt" has abbreviations for {", ".join(known_languages())}, and language is {shown(language)}; '
            'use engine="sentencex"'
        )
    words = language_words(language)

    def cut(text: str) -> Iterable[Span]:
        # Made for each paragraph: reading adds to the parameters, so if they were shared, a text's sentences would
        # depend on earlier texts and on other threads.
        parameters = PunktParameters()
        parameters.abbrev_types = set(words.abbreviations | words.closing | words.times | words.soft)
        parameters.sent_starters = set(words.starters)
        spans: Iterable[Span] = PunktSentenceTokenizer(parameters).span_tokenize(text)
        return spans

    return cut


_ENGINES: Mapping[str, Callable[[str], Engine]] = {"punkt": _punkt, "sentencex": _sentencex}


def make_engine(engine: str | Engine, language: str) -> Engine:
    """Make the engine of a name for a language, or wrap a callable so that its spans are checked.

    Raises:
        InvalidInputError: There is no such engine, or it doesn't support the language.
        MissingExtraError: sentencex isn't installed.
    """
    if callable(engine):
        return partial(_checked_spans, checked_callback("engine", engine, "a text"))
    if not isinstance(engine, str) or engine not in _ENGINES:
        names = ", ".join(_ENGINES)
        raise InvalidInputError(f"engine is {shown(engine)}; it must be one of {names}, a callable or None")
    return _ENGINES[engine](language)


def _checked_spans(engine: Engine, text: str) -> Iterator[Span]:
    """Yield the spans that a user's engine returns, after checking them."""
    returned: object = engine(text)
    if isinstance(returned, str | bytes | Mapping) or not isinstance(returned, Iterable):
        raise _no_spans(returned)
    for span in returned:
        ends = list(map(as_integer, span)) if isinstance(span, Iterable) else []
        if len(ends) != 2 or ends[0] is None or ends[1] is None:  # noqa: PLR2004
            raise _no_spans(span)
        start, end = ends[0], ends[1]
        if not 0 <= start <= end <= len(text):
            raise InvalidInputError(
                f"the sentence engine returned the span ({shown(start)}, {shown(end)}) for a text of {len(text)} "
                "characters; spans are (start, end) with 0 <= start <= end <= len(text)"
            )
        yield start, end


def _no_spans(returned: object) -> InvalidInputError:
    return InvalidInputError(
        f"the sentence engine returned {shown(returned)}; it must return (start, end) of each sentence as whole numbers"
    )


def in_pieces(cut: Engine) -> Engine:
    """Make an engine that gives a long paragraph to another one in pieces.

    A piece begins at the last sentence that began well inside the piece before. If there is no such sentence, it
    begins at white space, and no sentence begins there.
    """

    def cut_pieces(text: str) -> Iterator[Span]:
        at, goes_on = 0, False
        while at < len(text):
            piece = text[at : at + MAX_PIECE_CHARS]
            is_last = at + len(piece) == len(text)
            spans = [span for span in cut(piece) if span[0] > 0 or not goes_on]
            later = [start for start, _ in spans if _MIN_ADVANCE <= start <= _MAX_ADVANCE]
            advance = len(piece) if is_last else max(later, default=0)
            goes_on = not advance
            # Without a sentence that may begin the next piece, it begins at white space, or inside a word.
            advance = (
                advance or max(piece.rfind(space, _MIN_ADVANCE, _MAX_ADVANCE) for space in " \n") + 1 or _MAX_ADVANCE
            )
            yield from ((at + start, at + min(end, advance)) for start, end in spans if start < advance)
            at += advance

    return cut_pieces
