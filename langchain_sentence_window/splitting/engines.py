"""Sentence engines of other libraries, behind the structure layer of this package.

Each takes the text of one paragraph and gives the spans of its sentences.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeAlias

from langchain_sentence_window.errors import InvalidInputError, MissingExtraError
from langchain_sentence_window.spans import Span, encodable
from langchain_sentence_window.splitting.language import load_language

Engine: TypeAlias = Callable[[str], Iterable[Span]]
"""A sentence engine: takes the text of one paragraph and gives ``(start, end)`` of its sentences."""


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
    """Wikimedia's sentencex: rules for some 240 languages."""
    find = _imported("sentencex").get_sentence_boundaries

    def cut(text: str) -> Iterable[Span]:
        return [(found["start_index"], found["end_index"]) for found in find(language, encodable(text))]

    return cut


def nupunkt(language: str) -> Engine:
    """Punkt with abbreviations of American legal texts; English only."""
    if language != "en":
        raise InvalidInputError(f'engine="nupunkt" knows English only, and language is {language!r}')
    cut: Engine = _imported("nupunkt").sent_spans
    return cut


ENGINES: dict[str, Callable[[str], Engine]] = {"punkt": punkt, "sentencex": sentencex, "nupunkt": nupunkt}


def make_engine(engine: str | Engine, language: str) -> Engine:
    """Make the engine of a name, or take a callable as it is.

    Raises:
        InvalidInputError: There is no engine of that name, or it doesn't know the language.
        MissingExtraError: Its library isn't installed.
    """
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise InvalidInputError(f"engine is {engine!r}; there are {', '.join(ENGINES)}, and any callable")
    return ENGINES[engine](language)


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError(name, name) from error
