"""Search the candidates of questions, to fit a ranking to them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from tqdm.auto import tqdm

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.fitting_examples import FittingExample
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.ranking.candidates import NO_TEXT, Candidates
from langchain_sentence_window.ranking.fusion import CANDIDATES, LEXICAL_WEIGHT
from langchain_sentence_window.ranking.ranking import Ranking, Reordered
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.search import find_sentences

_NOWHERE = -1_000_000_000
"""The start of a sentence that was deleted while it was searched, so that it holds no gold."""


async def find_examples(
    io: IO, retriever: SentenceWindowRetriever, questions: Iterable[Question], *, show_progress: bool
) -> list[FittingExample]:
    """Search the candidates of questions as a retriever does before it reorders them.

    Raises:
        InvalidInputError: The retriever isn't a `SentenceWindowRetriever`.
    """
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(
            f"the retriever is {shown(retriever)}; give a SentenceWindowRetriever, whose ranking can be fitted"
        )
    return [
        await _example(io, retriever, question)
        for question in tqdm(list(questions), desc="Searching", disable=not show_progress)
    ]


async def _example(io: IO, retriever: SentenceWindowRetriever, question: Question) -> FittingExample:
    seen: list[Candidates] = []

    def observe(candidates: Candidates, _: Reordered) -> None:
        seen.append(candidates)

    request = retriever._request(question.question, {})
    search = replace(request.search, ranking=Ranking({}), observe=observe)
    found, _ = await find_sentences(io, request.scope, search, max(request.fetch_k, CANDIDATES))
    candidates = seen[-1] if seen else _nothing()
    keys = _keys_of_texts(candidates)
    fetched = await request.scope.fetch(io, list(dict.fromkeys(keys)))
    read = found if fetched is None else [request.scope.adapter.read(document) for document in fetched]
    starts = _starts(read)
    known = np.array([key in starts for key in keys] + [False])  # the last one is no text
    candidates = replace(candidates, after=np.where(known[candidates.after], candidates.after, NO_TEXT))
    word_weight = search.lexical_weight / LEXICAL_WEIGHT
    return FittingExample(question, candidates, [starts.get(key, _NOWHERE) for key in keys], word_weight)


def _keys_of_texts(candidates: Candidates) -> list[SentenceKey]:
    keys: list[SentenceKey] = [("", NO_TEXT)] * len(candidates.texts)
    for step, positions in ((-1, candidates.before), (1, candidates.after)):
        for (document, index), position in zip(candidates.keys, positions.tolist(), strict=True):
            if position != NO_TEXT:
                keys[position] = document, index + step
    keys[: len(candidates)] = candidates.keys
    return keys


def _starts(sentences: Sequence[StoredSentence]) -> dict[SentenceKey, int]:
    around = (other for sentence in sentences for other in (*sentence.window, sentence))
    return {(sentence.doc_id, sentence.index): sentence.start for sentence in around}


def _nothing() -> Candidates:
    indexes, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Candidates([], indexes, indexes, numbers, numbers, [], indexes, indexes, [], [])
