"""Hears which documents a question names: "In the agreement between Zebra and Motorola, who pays for the audit?".

A *name word* of a document stands in its head or in one of its names, and most sentences of the collection that hold
the word are in that document. A question names a document by two of its name words, by one that hardly any other
document holds, or by a whole name such as a title or a file name. At least one of the words must be written as a name,
which topics rarely are. A name is left out of the question, as it attracts all sentences that repeat it.

What is known of words and documents is an `Evidence`, which a store collects for the words of a question; see
`query_words`. Nothing here reads a store.
"""

from langchain_sentence_window.ranking.name_evidence import (
    HEAD_CHARS,
    MAX_NAMED,
    MAX_WORDS,
    MIN_SENTENCES,
    MIN_SHARE,
    DocumentNames,
    Evidence,
    Heard,
    NamedDocument,
    QueryWords,
    WordUse,
)
from langchain_sentence_window.ranking.name_question import Question
from langchain_sentence_window.ranking.name_rules import named_alone, named_by_words, whole_names
from langchain_sentence_window.ranking.name_spans import left_out, tokens_of

__all__ = [
    "HEAD_CHARS",
    "MAX_NAMED",
    "MAX_WORDS",
    "MIN_SENTENCES",
    "MIN_SHARE",
    "DocumentNames",
    "Evidence",
    "Heard",
    "NamedDocument",
    "QueryWords",
    "WordUse",
    "hear",
    "query_words",
]


def query_words(query: str) -> QueryWords:
    """Return the words of a question that may name a document.

    There are none if the question has more than `MAX_WORDS` different words.
    """
    tokens = [token for token in tokens_of(query) if len(token.word) > 1]
    written = dict.fromkeys(token.word for token in tokens if token.is_name)
    others = dict.fromkeys(token.word for token in tokens if token.word not in written)
    return QueryWords(tuple(written), tuple(others)) if len(written) + len(others) <= MAX_WORDS else QueryWords((), ())


def hear(query: str, evidence: Evidence) -> Heard | None:
    """Find out which documents a question names.

    Args:
        query: The question.
        evidence: Where its words are, and the names of documents.

    Returns:
        The documents that it names; ``None`` if it names no document for sure, or more than `MAX_NAMED`.
    """
    question = Question.of(query, evidence)
    whole = whole_names(question)
    of_whole = {at for each in whole for at in range(each.first, each.end)}
    if whole:
        named = [NamedDocument(doc_id, each.words, each.name) for each in whole for doc_id in each.doc_ids]
        others = named_alone(question.without(of_whole), beside_name=True)
        named += [each for each in others if each.doc_id not in {known.doc_id for known in named}]
    else:
        named = named_by_words(question)
    if not 0 < len(named) <= MAX_NAMED:
        return None
    if len(named) > 1:  # a word that is left would favor its document
        alone = {each.words for each in named if len(each.words) == 1}
        of_whole |= {at for at, token in enumerate(question.tokens) if (token.word,) in alone}
    naming = [(question.known[each.doc_id].words, frozenset(each.words)) for each in named]
    without, removed = left_out(query, question.tokens, naming, of_whole)
    return Heard(tuple(named), without, removed)
