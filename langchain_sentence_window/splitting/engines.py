"""Sentence engines of other libraries, behind the structure layer of this package.

Each takes the text of one paragraph and gives the spans of its sentences.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from langchain_sentence_window._showing import shown
from langchain_sentence_window._text import encodable
from langchain_sentence_window._types import Span
from langchain_sentence_window._validation import as_integer, checked_callback
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError
from langchain_sentence_window.splitting.codes import is_known, unknown_code
from langchain_sentence_window.splitting.language import load_language

Engine: TypeAlias = Callable[[str], Iterable[Span]]
"""A sentence engine: takes the text of one paragraph and gives ``(start, end)`` of its sentences."""

LONGEST_PIECE = 10_000
"""Characters of a paragraph that an engine whose work grows faster than its text is given at once."""

# A piece goes on from a sentence that begins between these. What follows it shows where brackets and quotes close.
_SMALLEST_ADVANCE, _LARGEST_ADVANCE = 2_500, 7_500


def punkt(language: str) -> Engine:
    """NLTK's Punkt, with the abbreviations of this package, so that nothing is downloaded.

    Kiss & Strunk, "Unsupervised Multilingual Sentence Boundary Detection", Computational
    Linguistics 32:4, 2006.
    """
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    words = load_language(language)

    def cut(text: str) -> Iterable[Span]:
        # Made anew for each paragraph: parameters grow when they are read, so shared ones would cut
        # a text otherwise after another text, or in another thread.
        parameters = PunktParameters()
        parameters.abbrev_types = set(words.abbreviations | words.closing | words.times | words.soft)
        parameters.sent_starters = set(words.starters)
        spans: Iterable[Span] = PunktSentenceTokenizer(parameters).span_tokenize(text)
        return spans

    return cut


def sentencex(language: str) -> Engine:
    """Wikimedia's sentencex: rules for some 240 languages.

    Raises:
        InvalidInputError: It has no rules for the language, nor for one near to it.
    """
    if not is_known(language):
        raise unknown_code(language)
    find = _imported("sentencex").get_sentence_boundaries

    def cut(text: str) -> Iterable[Span]:
        return [(found["start_index"], found["end_index"]) for found in find(language, encodable(text))]

    return in_pieces(cut)


def nupunkt(language: str) -> Engine:
    """Punkt with abbreviations of American legal texts; English only."""
    if language != "en":
        raise InvalidInputError(f'engine="nupunkt" knows English only, and language is {language!r}')
    return in_pieces(_imported("nupunkt").sent_spans)


ENGINES: dict[str, Callable[[str], Engine]] = {"punkt": punkt, "sentencex": sentencex, "nupunkt": nupunkt}


def make_engine(engine: str | Engine, language: str) -> Engine:
    """Make the engine of a name, or take a callable as it is.

    Raises:
        InvalidInputError: There is no engine of that name, or it doesn't know the language.
        MissingExtraError: Its library isn't installed.
    """
    if callable(engine):
        return _Checked(checked_callback("engine", engine, "a text"))
    if not isinstance(engine, str) or engine not in ENGINES:
        raise InvalidInputError(f"engine is {shown(engine)}; there are {', '.join(ENGINES)}, and any callable")
    return ENGINES[engine](language)


@dataclass(frozen=True)
class _Checked:
    """An engine of a user's own, whose answer is seen to be spans."""

    engine: Engine

    def __call__(self, text: str) -> Iterator[Span]:
        found: object = self.engine(text)
        if isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
            raise _no_spans(found)
        for span in found:
            ends = list(map(as_integer, span)) if isinstance(span, Iterable) else []
            if len(ends) != 2 or ends[0] is None or ends[1] is None:  # noqa: PLR2004
                raise _no_spans(span)
            yield ends[0], ends[1]


def _no_spans(given: object) -> InvalidInputError:
    return InvalidInputError(
        f"the sentence engine gave {shown(given)}; it must give the (start, end) of each sentence, in whole numbers"
    )


def in_pieces(cut: Engine) -> Engine:
    """Give an engine a long paragraph in pieces, each from the beginning of a sentence on.

    A piece begins with the last sentence that the piece before showed to begin well inside it. Where there is
    none, the text is taken up again at white space, where no sentence begins.
    """

    def cut_pieces(text: str) -> Iterator[Span]:
        at, goes_on = 0, False
        while at < len(text):
            piece = text[at : at + LONGEST_PIECE]
            is_last = at + len(piece) == len(text)
            spans = [span for span in cut(piece) if span[0] > 0 or not goes_on]
            advance = len(piece) if is_last else _last_start(spans)
            goes_on = not advance
            advance = advance or _last_space(piece)
            yield from ((at + start, at + min(end, advance)) for start, end in spans if start < advance)
            at += advance

    return cut_pieces


def _last_start(spans: Sequence[Span]) -> int:
    """Where the last sentence of a piece begins that may begin the next one; 0 if there is none."""
    return max((start for start, _ in spans if _SMALLEST_ADVANCE <= start <= _LARGEST_ADVANCE), default=0)


def _last_space(piece: str) -> int:
    """One past the last white space of a piece that may end it, else where it must end."""
    return max(piece.rfind(space, _SMALLEST_ADVANCE, _LARGEST_ADVANCE) for space in " \n") + 1 or _LARGEST_ADVANCE


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError(name, name) from error
