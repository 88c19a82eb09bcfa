"""Search the candidates of questions, to fit a ranking to them."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, as_hit, by_key
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.fitting_examples import FittingExample, WindowSpan
from langchain_sentence_window.evaluation.progress import OnProgress, counted
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.ranking.candidates import Candidates
from langchain_sentence_window.ranking.fusion import CANDIDATES, LEXICAL_WEIGHT
from langchain_sentence_window.ranking.ranking import Ranking, Reordered
from langchain_sentence_window.retrieval.expansion import ExpansionPolicy, Size, expand_hit
from langchain_sentence_window.retrieval.neighbors import fetch_available
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.windows.auto import MAX_FORWARD

_NO_WINDOW = ("", 0, 0)


async def find_examples(
    io: IO,
    retriever: SentenceWindowRetriever,
    questions: Iterable[Question],
    *,
    show_progress: bool,
    on_progress: OnProgress | None = None,
) -> list[FittingExample]:
    """Search the candidates of questions as a retriever does before it reorders them.

    Raises:
        InvalidInputError: The retriever isn't a `SentenceWindowRetriever`.
    """
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(
            f"the retriever is {shown(retriever)}; give a SentenceWindowRetriever, whose ranking can be fitted"
        )
    asked, found = list(questions), list[FittingExample]()
    with counted(len(asked), "Searching", show_progress=show_progress, on_progress=on_progress) as step:
        for question in asked:
            found.append(await _example(io, retriever, question))
            step()
    return found


async def _example(io: IO, retriever: SentenceWindowRetriever, question: Question) -> FittingExample:
    seen: list[Candidates] = []

    def observe(candidates: Candidates, _: Reordered) -> None:
        seen.append(candidates)

    request = retriever._request(question.question, {})
    search = replace(request.search, ranking=Ranking({}), names=False, min_relevance=None, observe=observe)
    found = await find_sentences(io, request.scope, search, max(request.fetch_k, CANDIDATES))
    candidates = seen[-1] if seen else _nothing()
    keys = dict.fromkeys(
        key for number in range(len(candidates)) for key in _around(candidates, number, request.policy)
    )
    read = (await fetch_available(io, request.scope, keys, by_key(found.sentences))).sentences
    windows = [_window(key, request.policy, read) for key in candidates.keys]
    return FittingExample(question, candidates, windows, search.lexical_weight / LEXICAL_WEIGHT)


def _around(candidates: Candidates, number: int, policy: ExpansionPolicy) -> list[SentenceKey]:
    """Return all sentences that the window of a candidate may hold, whatever the metadata of its document says."""
    reaches = [_reach(size) for size in (policy.default, *policy.by_value.values())]
    before, after = (max(sides) for sides in zip(*reaches, strict=True))
    document, index = candidates.keys[number]
    start = max(int(candidates.section_starts[number]), index - before)
    end = min(int(candidates.section_ends[number]), index + after + 1)
    return [(document, near) for near in range(start, end)]


def _window(key: SentenceKey, policy: ExpansionPolicy, read: SentencesByKey) -> WindowSpan:
    """Return the window that a sentence opens, as far as its neighbors could be read."""
    if key not in read:  # it was deleted just now
        return _NO_WINDOW
    document, index = key
    sentence = read[key]
    first = last = index
    while first > sentence.section_start and (document, first - 1) in read:
        first -= 1
    while last < sentence.section_end - 1 and (document, last + 1) in read:
        last += 1
    hit = replace(as_hit(sentence, 0.0), section_start=first, section_end=last + 1)
    window = expand_hit(hit, policy.size(sentence.source), read, is_answer=False)
    return document, read[document, window.first].start, read[document, window.last].end


def _reach(size: Size) -> tuple[int, int]:
    return (0, MAX_FORWARD) if size is None else size


def _nothing() -> Candidates:
    indexes, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Candidates([], indexes, indexes, numbers, numbers, [], indexes, indexes, [], [])
