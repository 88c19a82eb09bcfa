"""`SentenceSplitter`: documents in, sentence Documents out."""

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document

from langchain_sentence_window.metadata import document_ids, sentence_documents
from langchain_sentence_window.punkt import punkt_engine
from langchain_sentence_window.sentences import Sentence, split_text
from langchain_sentence_window.spans import Span


class SentenceSplitter(BaseDocumentTransformer):
    """Cut documents into sentences that know where they stand.

    Markdown structure decides first: a heading, a table row and a code block are a unit each, and
    no sentence crosses a paragraph or a list item. Inside a paragraph, NLTK's Punkt decides, with
    abbreviations that come with this package. In doubt two sentences stay together.

    Example:
        >>> SentenceSplitter().spans("Ask Dr. Hale. She knows.")
        [(0, 13), (14, 24)]
    """

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
        return split_text(text, punkt_engine())

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
