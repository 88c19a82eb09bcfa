"""`SentenceSplitter`: documents in, sentence Documents out.

The rules by which a language is cut are its words and its engine, chosen once for each language of a splitter.
"""

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import as_call, shown
from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError, SentenceWindowWarning
from langchain_sentence_window.splitting import languages
from langchain_sentence_window.splitting.engines import Engine, Ruleset, make_engine
from langchain_sentence_window.splitting.parsers import STRUCTURES, Structure
from langchain_sentence_window.windows.geometry import WindowSize, window_size

from .part_spans import span_at
from .source_documents import ANY_STORE, MetadataFitter, StoreLimits, sentence_documents
from .source_metadata import CONTENT_TYPE, source_of

if TYPE_CHECKING:
    from langchain_sentence_window.splitting.front_matter import FrontMatter
    from langchain_sentence_window.splitting.sentences import Sentence
    from langchain_sentence_window.splitting.source_code import Syntax

    from .part_groups import JoinParts
    from .source_parts import JoinedDocument


MAX_CHARS = 2_000
"""Characters of a sentence, about 500 tokens: embedders of BERT's family read no more."""

MIN_PIECE_CHARS = 20
"""The least ``max_piece_chars``: shorter pieces mean nothing."""

MAX_PIECE_CHARS = 400
"""Characters of a sentence that is searched as a whole. See the benchmarks page."""


class SentenceSplitter(BaseDocumentTransformer):
    """A document transformer that splits documents into sentences and keeps their positions.

    Structure decides first: a heading, a table row and a code block are one unit each, and no sentence crosses a
    paragraph or a list item. Each newline in a paragraph ends either a sentence or only a line. Then the engine
    decides about full stops. If in doubt, two sentences stay joined. A very long sentence is stored and searched in
    pieces, and windows hold it as a whole.

    Examples:
        >>> SentenceSplitter().spans("Ask Dr. Hale. She knows.")
        [(0, 13), (14, 24)]
    """

    def __init__(
        self,
        language: str = "en",
        *,
        engine: str | Engine | None = None,
        structure: Structure = "auto",
        max_chars: int | None = MAX_CHARS,
        max_piece_chars: int | None = MAX_PIECE_CHARS,
        inline_window: WindowSize | None = None,
        join_parts: "JoinParts" = True,
    ) -> None:
        """Choose how to cut.

        Args:
            language: An ISO 639 code in lower case; any code if ``engine`` is a callable. ``"auto"`` detects it for
                each document and needs the extra ``languages``; a text that is too short or too mixed is split as
                English. ``language`` in a document's own metadata comes first, see `split_documents`.
            engine: ``None`` for the rules of this package if the language is ``de``, ``en``, ``es``, ``fr``,
                ``it`` or ``pt``, else for ``"sentencex"``, which needs the extra ``languages``; or a callable that
                takes the text of a paragraph and returns ``(start, end)`` of each sentence.
            structure: ``"markdown"`` or ``"plain"``; ``"auto"`` looks in each text for Markdown's marks, and recognizes
                code by its suffix, or if its text leaves no doubt. Lines indented by four spaces are code only with
                ``"markdown"``. Or a parser of another format, which takes a text and returns its blocks, see
                `langchain_sentence_window.splitting.parsers`; a text for which it returns ``None`` is split as with
                ``"auto"``. If a loader has written blocks into the metadata, these are taken.
            max_chars: Characters; a longer sentence, code block or other unit is cut at the end of a clause, else at
                white space, because an embedder wouldn't read all of it. ``None`` for no limit.
            max_piece_chars: Characters; a longer sentence of prose is searched in pieces that end where a clause does.
                A window holds all of them, unless they take too much of ``max_tokens``. ``None`` to search it as a
                whole, as with ``inline_window``.
            inline_window: Sentences on each side, or ``(before, after)``, to write into each sentence's metadata as
                its window, for stores that can't fetch neighbors by id. Each sentence is then stored once for each
                window that holds it. See the benchmarks page. ``None`` for no windows.
            join_parts: Whether Documents of one source, such as the pages of a file, are joined to one document. A
                string names the metadata key that numbers the parts of a source, if it isn't one that loaders write.

        Raises:
            InvalidInputError: A setting isn't one of these, there is no such language, or the engine doesn't know it.
            MissingExtraError: The engine's library isn't installed, or the one that detects languages.
        """
        if not callable(structure) and not (isinstance(structure, str) and structure in STRUCTURES):
            raise InvalidInputError(
                f"structure is {shown(structure)}; it must be one of {', '.join(STRUCTURES)}, or a parser"
            )
        limits = ("max_chars", max_chars, 1), ("max_piece_chars", max_piece_chars, MIN_PIECE_CHARS)
        for name, value, least in limits:
            if value is not None and (as_integer(value) or 0) < least:
                raise InvalidInputError(
                    f"{name} is {shown(value)}; it must be a whole number of characters, {least} or more, or None"
                )
        if not isinstance(join_parts, bool | str) or join_parts == "":
            raise InvalidInputError(
                f"join_parts is {shown(join_parts)}; it must be True, False, or the metadata key that numbers parts"
            )
        self._inline_window = None if inline_window is None else window_size(inline_window)
        self._common = Ruleset(
            languages.Language(),
            structure=structure,
            max_chars=as_integer(max_chars),
            max_piece_chars=None if self._inline_window else as_integer(max_piece_chars),
        )
        self._settings: dict[str, Any] = {
            "language": language,
            "engine": engine,
            "structure": structure,
            "max_chars": max_chars,
            "max_piece_chars": max_piece_chars,
            "inline_window": self._inline_window,
            "join_parts": join_parts,
        }
        if isinstance(language, str) and language == languages.AUTO:
            languages.check_detection()
            first = languages.FALLBACK
        else:
            first = languages.check_code(language)
            if not languages.is_known(first) and not callable(engine):
                raise languages.unknown_code(first)
        self._rules = {first: _rules_of_language(self._common, first, engine)}  # by language, the others when needed

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a copy is made: by the settings, as engines can't be pickled."""
        return partial(type(self), **self._settings), ()

    def __repr__(self) -> str:
        """Return the call that makes this splitter, with the settings that aren't the default."""
        usual = inspect.signature(SentenceSplitter).parameters
        settings = self.__dict__.get("_settings", {})
        return as_call(type(self).__name__, settings, {name: usual[name].default for name in settings})

    @property
    def settings(self) -> Mapping[str, Any]:
        """A copy of the settings by name, as they were given."""
        return dict(self._settings)

    @property
    def inline_window(self) -> tuple[int, int] | None:
        """The sentences before and after each sentence that are written into its metadata; ``None`` for none."""
        return self._inline_window

    @property
    def join_parts(self) -> "JoinParts":
        """Whether the parts of a source are joined; the metadata key that numbers them, if the user gave one."""
        given: JoinParts = self._settings["join_parts"]
        return given

    def spans(self, text: str) -> list[Span]:
        """Find the sentences of a text.

        Args:
            text: Any string.

        Returns: Half-open spans ``(start, end)`` in code points, in order, disjoint, trimmed, none empty, with nothing
        but white space and markup before, between and after them, see `langchain_sentence_window.splitting.markup`.
        Front matter isn't text, so it is before them. Numbers and time codes of subtitles are between them.
        """
        sentences = self.split_text(text)
        wholes = [(index, index + 1) if one.pieces is None else one.pieces for index, one in enumerate(sentences)]
        return [(sentences[first].start, sentences[end - 1].end) for first, end in dict.fromkeys(wholes)]

    def split_text(self, text: str) -> "list[Sentence]":
        """Find the sentences of a text, with their sections, kinds, headings and lead-ins; long ones in pieces.

        Args:
            text: Any string.

        Returns:
            Sentences in order, disjoint, with nothing but white space and markup before, between and after them, and
            front matter before them. Numbers and time codes of subtitles are outside sentences, or inside one that runs
            over cues.

        Raises:
            InvalidInputError: The text isn't a string, or the engine returned a span outside its text.
        """
        from .part_groups import Group
        from .source_parts import part_of

        if not isinstance(text, str):
            raise InvalidInputError(f"the text is {shown(text)}; give a string, such as document.page_content")
        joined = Group("", [part_of(Document(page_content=text))]).joined()
        language = languages.language_of(text, (), self._settings["language"])
        sentences, _ = self._split(joined, language)
        return [_in_parts(joined, sentence) for sentence in sentences] if joined.spans else sentences

    def split_documents(self, documents: Iterable[Document], *, limits: StoreLimits = ANY_STORE) -> list[Document]:
        """Cut documents into sentence Documents for a vector store.

        Pages, elements, rows and chunks are first joined to the documents that they are parts of, as loaders write it
        in their metadata; see ``join_parts``. Warns of parts that are missing or came twice.

        Args:
            documents: Each document is named by its id, else by ``doc_id`` in its metadata, else by its source, else by
                a hash of its text. ``language`` in the metadata decides by which rules it is split; if parts differ,
                the language of most of the text. The values of front matter are metadata too, if it has no such keys of
                its own.
            limits: The metadata that the target store can hold. The rest is left out, with one warning that names the
                keys. Any store holds strings, numbers and booleans, and dates as strings.

        Returns:
            The sentences, document by document, in order; documents without text have none. Their metadata is
            described in `langchain_sentence_window.documents.keys`.

        Raises:
            InvalidInputError: Two documents have the same id, one isn't a Document, or the metadata of one names a
                unknown language.
        """
        from .part_groups import group_documents, warn_of_parts

        groups = group_documents(checked_documents(documents), self.join_parts)
        joined = [group.joined() for group in groups]
        warn_of_parts(joined)
        return self.split_joined(joined, limits)

    def split_joined(self, joined: "Iterable[JoinedDocument]", limits: StoreLimits = ANY_STORE) -> list[Document]:
        """Cut documents whose parts are joined into sentence Documents; see `split_documents`."""
        fitter, made = MetadataFitter(limits), list[Document]()
        for document in joined:
            sentences, front_matter = self._split(document)
            made += sentence_documents(document, sentences, front_matter, fitter, self._inline_window)
        fitter.warn()
        return made

    def _split(
        self, document: "JoinedDocument", language: str | None = None
    ) -> "tuple[list[Sentence], FrontMatter | None]":
        """Return the sentences of a document, and the front matter of its text.

        Args:
            document: The document.
            language: The code of its language; ``None`` for what its metadata says.
        """
        from langchain_sentence_window.splitting.front_matter import read_front_matter
        from langchain_sentence_window.splitting.sentences import Above, moved, split_text

        text = document.text
        syntax = syntax_of(document.parts[0].document.metadata) if document.parts else None
        is_code = syntax is not None
        front_matter = None if is_code else read_front_matter(text)
        if language is None:
            values = front_matter.values if front_matter else {}
            said = [({**values, **part.document.metadata}, len(part.text)) for part in document.parts]
            language = languages.language_of(text, said, self._settings["language"], doc_id=document.doc_id)
        rules = self._rules_of(language, document.doc_id)
        sentences = list["Sentence"]()
        for start, end, blocks, headings in document.segments:  # each by itself, at its place in the document
            own = None if start or is_code else front_matter if end == len(text) else read_front_matter(text[:end])
            found = split_text(text[start:end], rules, Above(headings, own), blocks=blocks, syntax=syntax)
            sentences += [moved(sentence, start, len(sentences)) for sentence in found] if start else found
        return sentences, front_matter

    def _rules_of(self, language: str, doc_id: str) -> Ruleset:
        """Return the rules of a known language; warn once if its documents are split without them."""
        if language not in self._rules:
            try:
                self._rules[language] = _rules_of_language(self._common, language, self._settings["engine"])
            except MissingExtraError as error:  # a corpus shouldn't fail for one document
                _warn_of_missing_rules(language, doc_id, error)
                self._rules[language] = replace(self._common, words=languages.language_words(language))
        return self._rules[language]

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Cut documents into sentence Documents; LangChain's name for `split_documents`."""
        return self.split_documents(documents)


def _in_parts(joined: "JoinedDocument", sentence: "Sentence") -> "Sentence":
    """Return a sentence at its place in the text that the parts of a document were cut from."""
    first, last = (span_at(joined.spans, at) for at in (sentence.start, sentence.end - 1))
    return sentence._replace(
        start=sentence.start - first.source_start + first.start,
        end=sentence.end - last.source_start + last.start,
    )


_TYPES_OF_CODE = ("functions_classes", "simplified_code")


def syntax_of(metadata: Mapping[str, Any]) -> "Syntax | None":
    """Return the syntax of a document of code, by its metadata; ``None`` for any other document.

    Args:
        metadata: LangChain's parser of languages writes ``content_type`` and ``language``; else the suffix of the file
            decides.
    """
    from langchain_sentence_window.splitting.source_code import syntax_of_language, syntax_of_source

    language = metadata.get("language")
    of_language = syntax_of_language(language) if isinstance(language, str) and language else None
    if of_language is not None and metadata.get(CONTENT_TYPE) in _TYPES_OF_CODE:
        return of_language
    return syntax_of_source(source_of(metadata) or "") or of_language


def _rules_of_language(common: Ruleset, language: str, engine: str | Engine | None) -> Ruleset:
    """Return the rules of a language: the common ones with its words and its engine.

    For a language without words of ours, sentencex is the engine.
    """
    if engine is None and language not in languages.known_languages():
        engine = "sentencex"
    made = None if engine is None else make_engine(engine, language)
    # Other engines know more languages; decisions about newlines then need typography and abbreviations alone.
    return replace(common, words=languages.language_words(language), engine=made)


def _warn_of_missing_rules(language: str, doc_id: str, error: MissingExtraError) -> None:
    name = languages.ISO_639_1.get(language, "a language of the code")
    which = f"document {doc_id!r:.80}" if doc_id else "a text"
    warnings.warn(
        f"{which} is in {name} ({language!r}), which has no word list here, so texts in this language are split "
        f"only by punctuation and capital letters. For rules of the language: {error}",
        SentenceWindowWarning,
        stacklevel=3,
    )
