"""A search that goes to the documents which the query names first.

A store with a lexical index hears names before the query is embedded; then what it names is searched alone, with the
query without the names. For another store, names are heard from what a search found, and one more search follows.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.indexed_documents import names_in
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.ranking.name_spans import (
    HEAD_CHARS,
    MAX_NAMED,
    DocumentNames,
    Evidence,
    Heard,
    WordUse,
    words_of,
)
from langchain_sentence_window.ranking.names import hear, query_words
from langchain_sentence_window.windows.geometry import Hit

FoundSentences: TypeAlias = tuple[Sequence[StoredSentence], Sequence[Hit]]
"""Sentences, and a hit for each, best first."""

Find: TypeAlias = Callable[[str, Scope, int], Awaitable[FoundSentences]]
"""Searches for a text in a scope, for at most so many sentences."""


@dataclass(frozen=True, slots=True)
class NamedSearch:
    """The result of a search that listens for names.

    Attributes:
        sentences: The sentences, best first: those of the named documents, then others.
        hits: A hit for each.
        heard: The documents that the query names, and by which words; ``None`` if it names none.
    """

    sentences: Sequence[StoredSentence]
    hits: Sequence[Hit]
    heard: Heard | None = None


async def named_search(
    io: IO, scope: Scope, query: str, find: Find, *, k: int, names: bool | Sequence[str] = True
) -> NamedSearch:
    """Search, first in the documents that the query names.

    Args:
        io: Makes the calls.
        scope: Where the sentences are, and which of them may be found. It binds what may be heard, too.
        query: The question.
        find: Searches for a text. It is called once if the query names nothing, and at most twice.
        k: The number of sentences that are enough.
        names: Whether to listen for names; keys of metadata that hold names, beside the title, the file name and its
            folder.

    Returns:
        The sentences that were found. One of another document has at most the score of the last one of those named.
    """
    words = query_words(query)
    if names is False or not words.all:
        return NamedSearch(*await find(query, scope, k))
    keys = () if names is True else tuple(names)
    evidence = await scope.adapter.name_evidence(io, words, keys, scope.filter)
    if evidence is not None:
        heard = hear(query, evidence)
        inside = None if heard is None else _within(scope, heard)
        if heard is None or inside is None:
            return NamedSearch(*await find(query, scope, k))
        found = await _find_named(find, heard, inside, k)
        if len(found[1]) < k:
            found = _joined(found, await find(query, scope, k), heard)
        return NamedSearch(*found, heard)
    everywhere = await find(query, scope, k)
    # Of what was found, two words tell a document, both written as names; a whole name is told by the names alone.
    telling = () if len(words.written) == 1 else words.all
    heard = hear(query, found_evidence(telling, everywhere[0], keys))
    if heard is None:
        return NamedSearch(*everywhere)
    inside = _within(scope, heard)
    first = everywhere if inside is None else await _find_named(find, heard, inside, k)
    return NamedSearch(*_joined(first, everywhere, heard), heard)


async def _find_named(find: Find, heard: Heard, inside: Scope, k: int) -> FoundSentences:
    """Search the named documents. Of several, each is as likely to hold a part of the answer, as in a comparison."""
    if len(heard.documents) == 1:
        return await find(heard.question, inside, k)
    sentences, hits = await find(heard.question, inside, max(k, CANDIDATES))
    best: dict[str, float] = {}
    places: Counter[str] = Counter()
    raised: list[tuple[StoredSentence, Hit, int]] = []
    for sentence, hit in zip(sentences, hits, strict=True):
        missing = hits[0].score - best.setdefault(hit.doc_id, hit.score)
        raised.append((sentence, replace(hit, score=hit.score + missing), places[hit.doc_id]))
        places[hit.doc_id] += 1
    raised = sorted(raised, key=lambda each: (-each[1].score, each[2]))[:k]
    return [sentence for sentence, _, _ in raised], [hit for _, hit, _ in raised]


def found_evidence(words: Collection[str], sentences: Iterable[StoredSentence], keys: Sequence[str] = ()) -> Evidence:
    """Collect what sentences that a search found tell about the names of their documents.

    Args:
        words: The words of the question that may tell a document, in lower case; none to collect the names alone.
        sentences: The sentences, in any order.
        keys: Keys of metadata that hold names, beside the title, the file name and its folder.
    """
    uses: dict[str, dict[str, int]] = {}
    heads: dict[str, list[StoredSentence]] = {}
    names: dict[str, dict[str, None]] = {}
    asked = frozenset(words)
    source: Mapping[str, Any] = {}
    for sentence in sorted(sentences, key=lambda each: each.key):
        for word in asked and asked.intersection(words_of(f"{sentence.heading}\n{sentence.text}")):
            of_word = uses.setdefault(word, {})
            of_word[sentence.doc_id] = of_word.get(sentence.doc_id, 0) + 1
        if sentence.start < HEAD_CHARS:
            heads.setdefault(sentence.doc_id, []).append(sentence)
        if sentence.doc_id not in names or sentence.source != source:  # all of a document have the same, as a rule
            names.setdefault(sentence.doc_id, {}).update(dict.fromkeys(names_in(sentence.source, keys)))
            source = sentence.source
    if len(names) <= 1:
        return Evidence({}, {})  # all words of a single document are its own
    in_names: dict[str, dict[str, int]] = {}
    for doc_id, of_it in names.items():
        for word in asked.intersection(word for name in of_it for word in words_of(name)) - uses.keys():
            in_names.setdefault(word, {})[doc_id] = 0
    return Evidence(
        {word: WordUse(sum(of_it.values()), _most_used(of_it)) for word, of_it in uses.items()}
        | {word: WordUse(0, of_it) for word, of_it in in_names.items()},
        {
            doc_id: DocumentNames("\n".join(each.text for each in heads.get(doc_id, ())), tuple(of_it))
            for doc_id, of_it in names.items()
        },
        is_complete=False,
    )


def _most_used(counts: dict[str, int]) -> dict[str, int]:
    """Return the `MAX_NAMED` largest counts, the largest first."""
    if len(counts) == 1:  # the usual case, told quickly
        return counts
    return dict(sorted(counts.items(), key=lambda each: -each[1])[:MAX_NAMED])


def _within(scope: Scope, heard: Heard) -> Scope | None:
    """Return the scope with a filter for the named documents; ``None`` if the store has no such filter."""
    of_named = scope.adapter.of_documents([each.doc_id for each in heard.documents])
    if of_named is None:
        return None
    filters = [*scope.filters, of_named]
    return replace(scope, filter=scope.adapter.join(filters), filters=filters)


def _joined(first: FoundSentences, others: FoundSentences, heard: Heard) -> FoundSentences:
    """Put sentences of named documents before others."""
    named = {each.doc_id for each in heard.documents}
    inside = [pair for pair in zip(*first, strict=True) if pair[0].doc_id in named]
    known = {sentence.key for sentence, _ in inside}
    lowest = min((hit.score for _, hit in inside), default=float("inf"))
    outside = [
        (sentence, replace(hit, score=min(hit.score, lowest)))
        for sentence, hit in zip(*others, strict=True)
        if sentence.key not in known
    ]
    joined = inside + outside
    return [sentence for sentence, _ in joined], [hit for _, hit in joined]
