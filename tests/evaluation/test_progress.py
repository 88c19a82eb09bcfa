"""How far an evaluation and a sweep are, as they tell it, and that they can be ended."""

from collections.abc import Callable
from typing import Any

import pytest

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation import (
    Question,
    acompare,
    aevaluate,
    asweep,
    compare,
    evaluate,
    sweep,
)
from tests.toys import BY_COSINE, WordEmbeddings, document

QUESTIONS = [Question("refund?", "a", ((0, 18),)), Question("card?", "a", ((19, 30),))]
OnProgress = Callable[[int, int], None]


@pytest.fixture
def retriever() -> SentenceWindowRetriever:
    return SentenceWindowRetriever.from_documents(
        [document("A refund is quick. A card is not. A seat.", "a")], WordEmbeddings(), **BY_COSINE
    )


CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "evaluate": (
        lambda given, told: evaluate(given, QUESTIONS, on_progress=told),
        lambda given, told: aevaluate(given, QUESTIONS, on_progress=told),
        2,
    ),
    "compare": (
        lambda given, told: compare({"a": given, "b": given}, QUESTIONS, on_progress=told),
        lambda given, told: acompare({"a": given, "b": given}, QUESTIONS, on_progress=told),
        4,
    ),
    "sweep": (
        lambda given, told: sweep(given, QUESTIONS, on_progress=told, window=[0, 1, 2]),
        lambda given, told: asweep(given, QUESTIONS, on_progress=told, window=[0, 1, 2]),
        6,
    ),
}


@pytest.mark.parametrize("name", CALLS)
async def test_each_question_is_told(retriever: SentenceWindowRetriever, name: str) -> None:
    blocking, asynchronous, total = CALLS[name]
    expected = [(done, total) for done in range(total + 1)]
    told: list[tuple[int, int]] = []
    blocking(retriever, lambda done, of: told.append((done, of)))
    assert told == expected
    told.clear()
    await asynchronous(retriever, lambda done, of: told.append((done, of)))
    assert told == expected


@pytest.mark.parametrize("name", CALLS)
async def test_what_the_callback_raises_ends_it(retriever: SentenceWindowRetriever, name: str) -> None:
    blocking, asynchronous, _ = CALLS[name]
    told: list[int] = []

    def stop(done: int, _: int) -> None:
        told.append(done)
        if done == 1:
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        blocking(retriever, stop)
    with pytest.raises(KeyError, match="stop"):
        await asynchronous(retriever, stop)
    assert told == [0, 1, 0, 1]


@pytest.mark.parametrize("wrong", [5, lambda done: None])
def test_another_callback_is_refused(retriever: SentenceWindowRetriever, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="on_progress"):
        evaluate(retriever, QUESTIONS, on_progress=wrong)
