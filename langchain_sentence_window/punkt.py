"""The default sentence engine: NLTK's Punkt with abbreviations of our own.

Punkt (Kiss & Strunk, "Unsupervised Multilingual Sentence Boundary Detection", Computational
Linguistics 32:4, 2006) decides for every full stop whether it ends a sentence. Its parameters are
built here from a word list in the package, so nothing is downloaded and no pickle is read.
"""

import functools
from collections.abc import Callable, Iterable
from importlib import resources
from typing import TypeAlias

from langchain_sentence_window.spans import Span

Engine: TypeAlias = Callable[[str], Iterable[Span]]
"""A sentence engine: takes the text of one paragraph and gives the spans of its sentences."""


def punkt_engine() -> Engine:
    """Make an engine of its own for one document.

    Not to be shared: Punkt's parameters grow when they are read, so an engine that has seen one
    document could cut the next one differently, and two threads could break each other's.
    """
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = set(word_list("abbreviations/en.txt"))
    parameters.sent_starters = set(word_list("sentence_starters/en.txt"))
    engine: Engine = PunktSentenceTokenizer(parameters).span_tokenize
    return engine


@functools.cache
def word_list(name: str) -> frozenset[str]:
    """Read a word list of the package: words between white space, ``#`` to the line's end is a comment."""
    text = resources.files(__package__).joinpath("data", name).read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() for word in line.partition("#")[0].split())
