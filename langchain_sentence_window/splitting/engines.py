"""Sentence engines of other libraries, behind the structure layer of this package.

Each takes the text of one paragraph and returns the spans of its sentences.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window._primitives import Span, encodable
from langchain_sentence_window._validation import as_integer, checked_callback
from langchain_sentence_window.errors import InvalidInputError

from .languages import is_known, known_languages, load_language, unknown_code

Engine: TypeAlias = Callable[[str], Iterable[Span]]
"""A sentence engine: takes the text of one paragraph and returns ``(start, end)`` of each sentence."""


MAX_PIECE_CHARS = 10_000
"""Characters given at once to an engine whose work grows faster than its text."""

# The next piece begins at a sentence that begins between these. The rest shows where brackets and quotes close.
_MIN_ADVANCE, _MAX_ADVANCE = 2_500, 7_500


def punkt(language: str) -> Engine:
    """Make an engine of NLTK's Punkt with the abbreviations of this package, so nothing is downloaded.

    Kiss & Strunk, "Unsupervised Multilingual Sentence Boundary Detection", Computational
    Linguistics 32:4, 2006.
    """
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    words = load_language(language)

    def cut(text: str) -> Iterable[Span]:
        # Made for each paragraph: parameters grow when they are read. If they were shared, a text's sentences would
        # depend on earlier texts and on other threads.
        parameters = PunktParameters()
        parameters.abbrev_types = set(words.abbreviations | words.closing | words.times | words.soft)
        parameters.sent_starters = set(words.starters)
        spans: Iterable[Span] = PunktSentenceTokenizer(parameters).span_tokenize(text)
        return spans

    return cut


def sentencex(language: str) -> Engine:
    """Make an engine of Wikimedia's sentencex, which has rules for some 240 languages.

    Raises:
        InvalidInputError: It has no rules for the language, nor for one near to it.
        MissingExtraError: It isn't installed.
    """
    if not is_known(language):
        raise unknown_code(language)
    find = of_extra("sentencex", "sentencex", "sentencex").get_sentence_boundaries

    def cut(text: str) -> Iterable[Span]:
        return [(found["start_index"], found["end_index"]) for found in find(language, encodable(text))]

    return in_pieces(cut)


def nupunkt(language: str) -> Engine:
    """Make an engine of nupunkt: Punkt with abbreviations of American legal texts, for English only.

    Raises:
        InvalidInputError: The language isn't English.
        MissingExtraError: It isn't installed.
    """
    if language != "en":
        raise InvalidInputError(
            f'engine="nupunkt" knows English only, and language is {language!r}; use engine="sentencex"'
        )
    return in_pieces(of_extra("nupunkt", "nupunkt", "nupunkt").sent_spans)


def knows(engine: str | None, language: str) -> bool:
    """Return whether the engine of a name has rules for a language."""
    return (engine != "punkt" or language in known_languages()) and (engine != "nupunkt" or language == "en")


def make_engine(engine: str | Engine, language: str) -> Engine:
    """Make the engine of a name, or wrap a callable so that its spans are checked.

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
    """A user's engine, whose results are checked."""

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
        f"the sentence engine returned {shown(given)}; it must return (start, end) of each sentence as whole numbers"
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
            advance = len(piece) if is_last else _last_start(spans)
            goes_on = not advance
            advance = advance or _last_space(piece)
            yield from ((at + start, at + min(end, advance)) for start, end in spans if start < advance)
            at += advance

    return cut_pieces


def _last_start(spans: Sequence[Span]) -> int:
    """Return where the last sentence begins that may begin the next piece; 0 if there is none."""
    return max((start for start, _ in spans if _MIN_ADVANCE <= start <= _MAX_ADVANCE), default=0)


def _last_space(piece: str) -> int:
    """Return the end of the last white space that may end a piece, else where the piece must end."""
    return max(piece.rfind(space, _MIN_ADVANCE, _MAX_ADVANCE) for space in " \n") + 1 or _MAX_ADVANCE


ENGINES: dict[str, Callable[[str], Engine]] = {"punkt": punkt, "sentencex": sentencex, "nupunkt": nupunkt}
