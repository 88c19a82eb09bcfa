"""By which rules a language is cut: its word list and its engine, chosen once for each language of a splitter."""

import warnings
from dataclasses import dataclass

from langchain_sentence_window.errors import MissingExtraError, SentenceWindowWarning
from langchain_sentence_window.splitting.codes import ISO_639_1, check_code, is_known, unknown_code
from langchain_sentence_window.splitting.detection import AUTO, FALLBACK, check_detection
from langchain_sentence_window.splitting.engines import Engine, knows, make_engine
from langchain_sentence_window.splitting.language import Language, known_languages, load_language


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The rules that cut the texts of one language.

    Attributes:
        words: The words of the language, which decide about newlines, and about full stops if there is no engine.
            Empty if this package has no list of them.
        engine: Finds the sentences of a paragraph; ``None`` for the rules of this package.
    """

    words: Language
    engine: Engine | None


class Rulesets:
    """The rulesets of a splitter, by language."""

    def __init__(self, language: str, engine: str | Engine | None) -> None:
        """Make the ruleset of the splitter's own language.

        Args:
            language: A code that `check_code` lets pass, or ``auto``.
            engine: See `SentenceSplitter`.

        Raises:
            InvalidInputError: There is no such language or engine, or the engine doesn't know the language.
            MissingExtraError: The engine's library isn't installed, or for ``auto`` the one that detects languages.
        """
        self._engine = engine
        self._made: dict[str, Ruleset] = {}
        if isinstance(language, str) and language == AUTO:
            check_detection()
            if engine is not None:
                make_engine(engine, FALLBACK)
            return
        if not is_known(check_code(language)) and not callable(engine):
            raise unknown_code(language)
        self._made[language] = _ruleset(language, engine)

    def of(self, language: str, doc_id: str = "") -> Ruleset:
        """Return the ruleset of a language; warn when the first document of a language is cut without its rules.

        Documents of other languages than the splitter's are cut by the splitter's engine if that knows their language,
        else as without an engine.

        Args:
            language: The code of a known language.
            doc_id: The document to be cut, for the warning.
        """
        if language not in self._made:
            self._made[language] = self._found(language, doc_id)
        return self._made[language]

    def _found(self, language: str, doc_id: str) -> Ruleset:
        engine = self._engine if callable(self._engine) or knows(self._engine, language) else None
        try:
            return _ruleset(language, engine)
        except MissingExtraError as error:
            return _general(language, doc_id, error)


def _ruleset(language: str, engine: str | Engine | None) -> Ruleset:
    has_words = language in known_languages()
    if engine is None and not has_words:
        engine = "sentencex"
    made = None if engine is None else make_engine(engine, language)
    # Other engines know more languages; decisions about newlines are then based on typography alone.
    return Ruleset(load_language(language) if has_words else Language(), made)


def _general(language: str, doc_id: str, error: MissingExtraError) -> Ruleset:
    """Return the ruleset for a language without rules here, and say so, as a corpus shouldn't fail for one document."""
    name = ISO_639_1.get(language, "a language of the code")
    which = f"document {doc_id!r:.80}" if doc_id else "a text"
    warnings.warn(
        f"{which} is in {name} ({language!r}), for which there is no word list here, so texts of this language are cut "
        f"by marks and capital letters alone. For its rules: {error}",
        SentenceWindowWarning,
        stacklevel=2,
    )
    return Ruleset(Language(), None)
