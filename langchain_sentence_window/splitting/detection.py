"""The language of a text: what its metadata says, else what its letters show.

Detection is offline: py3langid holds its model, a naive Bayes classifier over byte n-grams. Lui & Baldwin,
"langid.py: An Off-the-shelf Language Identification Tool", ACL 2012.
"""

import functools
import math
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from langchain_sentence_window.errors import MissingExtraError
from langchain_sentence_window.splitting.codes import ISO_639_1, plain_code, unknown_code

AUTO = "auto"
"""The language of a splitter that detects it where the metadata doesn't say."""

FALLBACK = "en"
"""The language of a text that is too short or too mixed to tell."""

MIN_PROBABILITY = 0.5
"""Below it, a text's language isn't taken for detected. Titles, names and tables of numbers stay below it."""

SAMPLE_CHARS = 1_000
"""Characters that detection reads of a text's beginning, as many of its middle, and of its end."""

_NO_LANGUAGE = "zxx"
_LISTS = (list, tuple, set, frozenset)

# What stands in metadata where nothing is known: codes of ISO 639-2 for undetermined, several and none, and words of
# loaders, such as LangChain's for web pages.
_SAYS_NOTHING = frozenset(
    {"", "und", "mul", "mis", "zxx", "auto", "none", "null", "n/a", "unknown", "no language found", "x-default"}
)
# LangChain's loaders of source code write the programming language under the same key.
_PROGRAMMING_LIST = """
c cobol cpp csharp elixir go haskell html java javascript js json jsx kotlin latex lua markdown perl php powershell
proto python r rst ruby rust scala sol sql swift tsx typescript visualbasic6
"""
_PROGRAMMING = frozenset(_PROGRAMMING_LIST.split())


def language_of(text: str, metadata: Mapping[str, Any], language: str, *, doc_id: str = "") -> str:
    """Tell the language of a document.

    ``language`` in its metadata decides: an ISO 639 code, also as loaders write it, such as ``en-US`` or ``deu``, or a
    list of one. Else ``languages`` decides if it is a list of one code, as unstructured writes it.

    Args:
        text: The whole text of the document.
        metadata: Its metadata.
        language: The language if the metadata doesn't say; `AUTO` to detect it.
        doc_id: The document's name, for messages.

    Returns:
        An ISO 639 code in lower case.

    Raises:
        InvalidInputError: The metadata names a language that isn't known.
        MissingExtraError: The language must be detected, and py3langid isn't installed.
    """
    return language_of_parts(text, [(metadata, len(text))], language, doc_id=doc_id)


def language_of_parts(
    text: str, parts: Iterable[tuple[Mapping[str, Any], int]], language: str, *, doc_id: str = ""
) -> str:
    """Tell the language of a document of parts, such as elements of a page whose languages were detected one by one.

    Args:
        text: The whole text of the document.
        parts: The metadata of each part, and its characters.
        language: The language if the metadata doesn't say; `AUTO` to detect it.
        doc_id: The document's name, for messages.

    Returns:
        The code that the metadata gives most of the text, see `language_of`; of equals, the first.

    Raises:
        InvalidInputError: The metadata of a part names a language that isn't known.
        MissingExtraError: The language must be detected, and py3langid isn't installed.
    """
    chars: dict[str, int] = {}
    for metadata, size in parts:
        said = said_language(metadata, language, doc_id=doc_id) if metadata else None
        if said is not None:
            chars[said] = chars.get(said, 0) + size
    if chars:
        return max(chars, key=lambda code: chars[code])
    return language if language != AUTO else detected_language(text) or FALLBACK


def said_language(metadata: Mapping[str, Any], language: str, *, doc_id: str = "") -> str | None:
    """Return the language that a document's metadata names; ``None`` if it names none, or several.

    Args:
        metadata: The metadata.
        language: The splitter's language, which is known to its engine even if nobody else knows it.
        doc_id: The document's name, for messages.

    Raises:
        InvalidInputError: It names a language that isn't known.
    """
    said = _single(metadata.get("language"))
    if isinstance(said, str) and said == language:
        return language
    if said is not None:
        code = plain_code(said) if isinstance(said, str) else None
        if code is None:
            raise unknown_code(said, doc_id=doc_id)
        return code
    among = _single(metadata.get("languages"))
    return plain_code(among) if isinstance(among, str) else None


def detected_language(text: str) -> str | None:
    """Detect the language of a text from a sample of its beginning, middle and end.

    Args:
        text: Any string.

    Returns:
        Its code of ISO 639-1; ``None`` if the text is too short, too mixed or no natural language.

    Raises:
        MissingExtraError: py3langid isn't installed.
    """
    code, probability = _identifier().classify(_sample(text))
    return None if code == _NO_LANGUAGE or probability < MIN_PROBABILITY else str(code)


def check_detection() -> None:
    """Check that languages can be detected here.

    Raises:
        MissingExtraError: py3langid isn't installed.
    """
    _langid()


def _single(value: object) -> object:
    """Return what a value of metadata says, without the list around it; ``None`` if it says nothing, or several."""
    if type(value) in _LISTS and isinstance(value, list | tuple | set | frozenset):
        value = next(iter(value)) if len(value) == 1 else None
    if isinstance(value, str):
        value = str.__str__(value)
        word = value.strip().lower().rstrip(".")
        return None if word in _SAYS_NOTHING or word in _PROGRAMMING else value
    is_nan = isinstance(value, float) and math.isnan(value)  # pandas writes it for nothing
    return None if is_nan else value


def _sample(text: str) -> str:
    if len(text) <= 3 * SAMPLE_CHARS:
        return text
    middle = (len(text) - SAMPLE_CHARS) // 2
    return "\n".join((text[:SAMPLE_CHARS], text[middle : middle + SAMPLE_CHARS], text[-SAMPLE_CHARS:]))


@functools.cache
def _identifier() -> Any:
    """Make a classifier of the languages that have a code of two letters; others are hardly told from them."""
    langid = _langid()
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    identifier.set_languages({_NO_LANGUAGE, *ISO_639_1}.intersection(identifier.nb_classes))
    return identifier


def _langid() -> Any:
    try:
        return import_module("py3langid.langid")
    except ModuleNotFoundError as error:
        raise MissingExtraError("py3langid", "languages") from error
