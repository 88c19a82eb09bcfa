"""Records of names: the words of a question, the names of documents, and the documents that a question names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEAD_CHARS = 1_500
"""The characters at the beginning of a document in which its names are looked for."""

MAX_WORDS = 64
"""The most words of a question that are looked up; a longer question is a text, and names nothing by itself."""

MAX_NAMED = 3
"""The most documents that a question names, or that share a name, as versions do."""

MIN_SHARE = 0.8
"""The least share of the sentences with a name word that are in its documents."""

MIN_SENTENCES = 2
"""The least number of sentences of a document that hold a name word."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of a question in lower case, each once.

    Attributes:
        written: Those that it writes as names; see `langchain_sentence_window.ranking.name_spans.Token`.
        others: The others.
    """

    written: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """All words, those written as names first."""
        return self.written + self.others


@dataclass(frozen=True, slots=True)
class WordUse:
    """Where the sentences are that hold a word.

    Attributes:
        sentences: The number of sentences that hold it, or of a sample of them.
        documents: How many of these are in a document, by ``doc_id``, for the documents with the most of them.
    """

    sentences: int
    documents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The names of a document.

    Attributes:
        head: Its first characters; see `HEAD_CHARS`.
        names: Its title, its file name and folder, and other values of metadata.
    """

    head: str
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts that tell which documents a question names.

    Attributes:
        words: Where the sentences are that hold a word, by the word in lower case. A word that is too common for a
            name is left out. One that no sentence holds has no ``sentences``, and the documents of which a name holds
            it, with 0.
        documents: The names of documents by ``doc_id``: of those in ``words``, and of those with a name that shares
            words with the question.
        is_complete: Whether the sentences are those of the collection, and not only what a search found. Of a few
            sentences, those with a word may be in one document by chance. Then no word names a document alone, and two
            must be written as names.
    """

    words: Mapping[str, WordUse]
    documents: Mapping[str, DocumentNames]
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that a question names.

    Attributes:
        doc_id: The document.
        words: The words that name it, in the order of the question, in lower case.
        name: The name that the question holds as a whole, or all of it but its first or last word; ``None`` if it was
            named by words alone.
    """

    doc_id: str
    words: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """The documents that a question names.

    Attributes:
        documents: The documents, the one with the most words first.
        question: The question without their names; the question itself if nothing could be left out.
        left_out: The parts of the question that were left out, verbatim.
    """

    documents: tuple[NamedDocument, ...]
    question: str
    left_out: tuple[str, ...]
