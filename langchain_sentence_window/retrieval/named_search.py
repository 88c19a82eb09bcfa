"""Search the documents that a question names by themselves, and join what is found with what is found everywhere.

If the question is limited to them, their sentences come first; if it only mentions them, they get a bonus. A store
that keeps names knows which documents are named before anything is searched. For another store, names are recognized
in what a search found.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from itertools import chain, zip_longest

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.source_metadata import names_in
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.ranking.names import (
    FIRST_LINES,
    DocumentNames,
    Naming,
    find_names,
    keys_in,
    read_question,
)
from langchain_sentence_window.ranking.relevance import Relevance
from langchain_sentence_window.windows.geometry import Hit

from .hits import Hits, find_hits
from .request import Request

NAME_BONUS = 0.1
"""What is added to the scores of a document's sentences if the question mentions it; a ranking scores in ``[-1, 1]``.

Putting them before all others lost up to 15 points of recall where the answer is in two documents (HotpotQA). The
number was chosen there: recall at 800 characters is 71.7 without names, 72.0 with .05, 73.8 with .1 and 72.6 with .2.
"""


async def named_search(io: IO, scope: Scope, request: Request, k: int) -> Hits:
    """Search once, or at most twice if the question names documents, and prefer their sentences.

    Args:
        io: Makes the calls.
        scope: Where the sentences are, and which of them may be found. It binds what may be known of names, too.
        request: The question.
        k: The number of sentences that are enough.
    """
    query = request.query
    if request.names is False or not (question := read_question(query)).phrases:
        return await find_hits(io, scope, request, query, k)
    everywhere, metadata_keys = None, () if request.names is True else tuple(request.names)
    documents = await scope.adapter.document_names(io, question.keys, metadata_keys, scope.filter)
    if documents is None:
        everywhere = await find_hits(io, scope, request, query, k)
        documents = names_of_documents(everywhere.sentences.values(), metadata_keys)
    named = find_names(question, documents)
    if named is None:
        return everywhere or await find_hits(io, scope, request, query, k)
    of_named = scope.adapter.of_documents([each.doc_id for each in named.documents])
    if of_named is None:  # the store has no such filter
        if everywhere is None:
            return await find_hits(io, scope, request, query, k)
        return replace(_join_hits(named, everywhere, everywhere, k), searches=everywhere.searches)
    filters = [each for each in (scope.filter, of_named) if each is not None]
    inside = replace(scope, filter=scope.adapter.join(filters))
    # Some sentences of each document are to be among the best.
    depth = k if len(named.documents) == 1 else max(k, CANDIDATES)
    first = await find_hits(io, inside, request, named.question, depth)
    needs_others = not named.is_limited or named.asks_twice or len(first.hits) < k
    if everywhere is None and needs_others:
        everywhere = await find_hits(io, scope, request, query, k)
    return _join_hits(named, first, everywhere, k)


def names_of_documents(sentences: Iterable[StoredSentence], metadata_keys: Sequence[str]) -> DocumentNames:
    """Return the names of the documents of some sentences, as far as these hold them.

    Args:
        sentences: The sentences, in any order.
        metadata_keys: Keys of metadata that hold names, besides the title, the file name and its folder.
    """
    names: dict[str, list[str]] = {}
    first_lines: dict[str, set[str]] = {}
    seen: set[tuple[str, int]] = set()
    for each in sentences:
        # All sentences of a document have the same source, as a rule, and often so as one object.
        if (each.doc_id, id(each.source)) not in seen:
            seen.add((each.doc_id, id(each.source)))
            names.setdefault(each.doc_id, []).extend(names_in(each.source, metadata_keys))
        if each.start < FIRST_LINES:
            first_lines.setdefault(each.doc_id, set()).update(keys_in(each.text))
    return DocumentNames(names, first_lines)


def _join_hits(named: Naming, first: Hits, others: Hits | None, k: int) -> Hits:
    """Join what was found in the documents that a question names with what was found everywhere.

    Args:
        named: The documents that the question names.
        first: The result of a search in them.
        others: The result of a search everywhere; ``None`` if ``first`` is enough.
        k: The most sentences of both, unless documents that the question is limited to come first.
    """
    doc_ids = {each.doc_id for each in named.documents}
    inside = _balanced(first.hits, named)[:k] if named.is_limited else first.hits
    searches, sentences = first.searches, first.sentences
    if others is None:
        hits = inside
    else:
        searches, sentences = [*first.searches, *others.searches], {**others.sentences, **first.sentences}
        inside = [hit for hit in inside if hit.doc_id in doc_ids]
        if not named.is_limited:
            # Scores that a store gave by itself may be on any scale.
            highest = 1.0 if others.searches else max((abs(hit.score) for hit in others.hits), default=1.0)
            hits = _with_bonus(doc_ids, [*others.hits, *inside], NAME_BONUS * highest)[:k]
        elif named.asks_twice:
            # In turns, as the second part of a question may be answered by another document.
            outside = [hit for hit in others.hits if hit.doc_id not in doc_ids]
            turns = chain.from_iterable(zip_longest(inside, outside))
            hits = _in_this_order(hit for hit in turns if hit is not None)[:k]
        else:
            hits = _in_this_order([*inside, *others.hits])
    return Hits(hits, {hit.key: sentences[hit.key] for hit in hits}, searches, named, _likelier(first, others))


def _balanced(hits: Sequence[Hit], named: Naming) -> Sequence[Hit]:
    """Order the hits of documents that the question is limited to.

    Each of several is as likely to hold a part of the answer, as in a comparison, so the best hits of each get the same
    scores. A document is left as it is if all the words that name it name another one too, as the name of a company
    names all of its reports.
    """
    words = {each.doc_id: frozenset(each.words) for each in named.documents}
    like_others = {
        doc_id
        for doc_id, own in words.items()
        if any(own <= of_it for other, of_it in words.items() if other != doc_id)
    }
    best: dict[str, float] = {}
    places: Counter[str] = Counter()
    raised: list[tuple[int, Hit]] = []
    for hit in hits:
        behind = hits[0].score - best.setdefault(hit.doc_id, hit.score)
        raised.append((places[hit.doc_id], hit if hit.doc_id in like_others else _raised(hit, behind)))
        places[hit.doc_id] += 1
    if len(best) > 1:
        raised.sort(key=lambda each: (-each[1].score, each[0]))
    return [hit for _, hit in raised]


def _with_bonus(doc_ids: Set[str], hits: Iterable[Hit], bonus: float) -> list[Hit]:
    """Order sentences by the better of their two scores, with a bonus for those of documents that are mentioned."""
    best: dict[SentenceKey, Hit] = {}
    for hit in hits:
        if hit.key not in best or best[hit.key].score < hit.score:
            best[hit.key] = hit
    raised = [_raised(hit, bonus) if hit.doc_id in doc_ids else hit for hit in best.values()]
    return sorted(raised, key=lambda hit: -hit.score)


def _in_this_order(hits: Iterable[Hit]) -> list[Hit]:
    """Take each sentence once, and lower scores so that they fall."""
    once: dict[SentenceKey, Hit] = {}
    lowest = math.inf
    for hit in hits:
        if hit.key not in once:
            # Strictly below, so that of equal texts the first is returned.
            lowest = min(hit.score, math.nextafter(lowest, -math.inf))
            once[hit.key] = replace(hit, score=lowest)
    return list(once.values())


def _raised(hit: Hit, added: float) -> Hit:
    return replace(hit, score=hit.score + added)


def _likelier(first: Hits, others: Hits | None) -> Relevance | None:
    """Return the relevance of the search that more likely answers; all hits of both stay.

    A question that names a document is of the collection's subject.
    """
    both = [first] if others is None else [first, others]
    known = [found.relevance for found in both if found.relevance is not None]
    if not known:
        return None
    best = max(known, key=lambda each: each.probability or 0.0)
    numbers = {key: each for key, each in best.numbers.items() if key != "needed"}
    return Relevance(best.probability, sum(len(found.hits) for found in both), numbers)
