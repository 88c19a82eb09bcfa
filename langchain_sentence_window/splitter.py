"""`SentenceSplitter`: documents in, sentence Documents out."""

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_sentence_window.engines import Engine, make_engine
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.language import Language, load_language
from langchain_sentence_window.metadata import document_ids, sentence_documents
from langchain_sentence_window.sentences import Sentence, Structure, split_text
from langchain_sentence_window.spans import Span


class SentenceSplitter(BaseDocumentTransformer):
    """Cut documents into sentences that know where they stand.

    Structure decides first: a heading, a table row and a code block are a unit each, and no sentence
    crosses a paragraph or a list item. For each newline in a paragraph it is decided whether it ends
    a sentence or only a line. Then the engine decides about full stops. In doubt two sentences stay
    together.

    Example:
        >>> SentenceSplitter().spans("Ask Dr. Hale. She knows.")
        [(0, 13), (14, 24)]
    """

    def __init__(
        self, language: str = "en", *, engine: str | Engine | None = None, structure: Structure = "auto"
    ) -> None:
        """Choose how to cut.

        Args:
            language: An ISO 639-1 code. The default engine knows ``de``, ``en``, ``es``, ``fr``, ``it`` and
                ``pt``.
            engine: ``None`` for the rules of this package; ``"punkt"`` (NLTK), ``"sentencex"`` or
                ``"nupunkt"`` (each an extra of its name); or a callable that takes the text of a
                paragraph and gives ``(start, end)`` of its sentences.
            structure: ``"markdown"`` or ``"plain"`` say what the texts are; ``"auto"`` tells it for each by
                whether it has Markdown's marks.

        Raises:
            InvalidInputError: A setting isn't one of these, or the engine doesn't know the language.
            MissingExtraError: The engine's library isn't installed.
        """
        if structure not in get_args(Structure):
            raise InvalidInputError(f"structure is {structure!r}; it must be one of {', '.join(get_args(Structure))}")
        self._structure = structure
        self._engine = None if engine is None else make_engine(engine, language)
        # Engines of others know more languages; the newline layer then goes by typography alone.
        self._words = load_language(language) if engine is None or engine == "punkt" else _words_of(language)

    def spans(self, text: str) -> list[Span]:
        """Find the sentences of a text.

        Args:
            text: Any string.

        Returns:
            Half-open spans ``(start, end)`` in code points, in order, disjoint, trimmed, none empty,
            with nothing but white space before, between and after them.
        """
        return [(sentence.start, sentence.end) for sentence in self.split_text(text)]

    def split_text(self, text: str) -> list[Sentence]:
        """Find the sentences of a text, with their sections, kinds and headings."""
        return split_text(text, self._words, engine=self._engine, structure=self._structure)

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Cut documents into sentence Documents, as a vector store is to hold them.

        Args:
            documents: Each is named by its id, else by ``doc_id`` in its metadata, else by a hash of
                source and text. Of their metadata, what isn't a string, a number or a boolean is
                left out, as many stores can't hold it.

        Returns:
            The sentences, document by document, in order; documents without text have none. The
            metadata is described in `langchain_sentence_window.metadata`.

        Raises:
            InvalidInputError: Two documents have the same id.
        """
        documents = list(documents)
        return [
            made
            for document, doc_id in zip(documents, document_ids(documents), strict=True)
            for made in sentence_documents(document, doc_id, self.split_text(document.page_content))
        ]

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        """Do what `split_documents` does, as a LangChain document transformer."""
        return self.split_documents(documents)


def _words_of(language: str) -> Language:
    try:
        return load_language(language)
    except InvalidInputError:
        return Language()
