"""A question that may name documents, with what is known of its words and of the documents."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from langchain_sentence_window.ranking.name_evidence import HEAD_CHARS, DocumentNames, Evidence
from langchain_sentence_window.ranking.name_spans import (
    Token,
    as_names,
    capitalized,
    tokens_of,
    uncapitalized,
    written_words,
)


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The words by which a document can be named.

    Attributes:
        words: The words of its head and its names, in lower case.
        capitals: Those of them that begin with a capital or a digit somewhere.
        only_capitals: Those that begin so wherever they stand in the head.
        of_names: The words of its names.
    """

    words: Set[str]
    capitals: Set[str]
    only_capitals: Set[str]
    of_names: Set[str]

    @classmethod
    def of(cls, names: DocumentNames) -> "KnownDocument":
        """Look at a head and names."""
        head = written_words(names.head[:HEAD_CHARS])
        of_names = [word for name in names.names for word in written_words(name)]
        capitals, small = capitalized([*head, *of_names]), uncapitalized(head)
        own = frozenset(map(str.lower, of_names))
        return cls(own.union(map(str.lower, head)), capitals, capitals - small, own)


class KnownDocuments(dict[str, KnownDocument]):
    """Known documents by ``doc_id``, each looked at when it is first asked for, as most questions ask for none."""

    def __init__(self, names: Mapping[str, DocumentNames]) -> None:
        """Take the names of documents."""
        super().__init__()
        self._names = names

    def __missing__(self, doc_id: str) -> KnownDocument:
        """Look at a document."""
        known = self[doc_id] = KnownDocument.of(self._names[doc_id])
        return known


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what is known of its words.

    Attributes:
        query: The question.
        tokens: Its words. If it writes none as a name, those are that a known document always writes with a capital.
        is_plain: Whether it writes none as a name.
        evidence: Where its words are, and the names of documents.
        known: The words of the known documents' heads and names, by ``doc_id``.
        written: The words of ``tokens`` that are written as names.
    """

    query: str
    tokens: Sequence[Token]
    is_plain: bool
    evidence: Evidence
    known: KnownDocuments
    written: Set[str]

    @classmethod
    def of(cls, query: str, evidence: Evidence) -> "Question":
        """Look at a question."""
        tokens = tokens_of(query)
        known = KnownDocuments(evidence.documents)
        is_plain = not any(token.is_name for token in tokens)
        if is_plain:
            # A topic, such as a plan, begins a sentence or stands in a heading too.
            tokens = as_names(tokens, {word for each in evidence.documents for word in known[each].only_capitals})
        return cls(query, tokens, is_plain, evidence, known, _as_names_written(tokens))

    def without(self, positions: Set[int]) -> "Question":
        """Return the question without the words at some positions."""
        tokens = [token for at, token in enumerate(self.tokens) if at not in positions]
        return replace(self, tokens=tokens, written=_as_names_written(tokens))


def _as_names_written(tokens: Iterable[Token]) -> Set[str]:
    return {token.word for token in tokens if token.is_name}
