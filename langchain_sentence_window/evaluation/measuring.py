"""Evaluating retrievers: one, several beside each other, or one with many settings."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_sentence_window._io import ASYNC, BLOCKING, run
from langchain_sentence_window._settings import RELATED_NAMES, likely_name
from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import gathered
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.asking import ask_all
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.evaluation.report import Comparison, Report

BUDGETS = (400, 800, 1600, 3200)
"""Characters of context."""


def evaluate(
    retriever: BaseRetriever,
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
) -> Report:
    """Ask all questions and measure what comes back.

    Args:
        retriever: Any LangChain retriever whose Documents carry ``start_index``, and ``doc_id`` or else
            ``source``. It must return enough for the largest budget: set its ``k`` to 40, say. Of a
            `SentenceWindowRetriever` the windows are taken best first, whatever its ``order`` is.
        questions: At least one.
        budgets: How much context is read; characters, or tokens if ``count_tokens`` is given.
        count_tokens: How many tokens a text has, e.g. a model's own counter.
        documents: The source documents. The questions are checked against them, and their sections are
            found by `SentenceSplitter`, for the rate of first passages from a wrong section. Without
            them the sections are read from the store of a `SentenceWindowRetriever`; of other
            retrievers the rate isn't known. A passage that runs over several sections, as fixed chunks
            do, counts as being in each of them.
        show_progress: Whether to show a progress bar.

    Raises:
        InvalidInputError: There are no questions, a budget is below 1, the documents lack one that a
            question is about, or what the retriever returns can't be placed in its source.
    """
    asked = {"": retriever}
    compared = run(ask_all(BLOCKING, asked, questions, budgets, count_tokens, documents, show_progress=show_progress))
    return compared.reports[""]


async def aevaluate(
    retriever: BaseRetriever,
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
) -> Report:
    """Do what `evaluate` does, with the retriever's async method."""
    asked = {"": retriever}
    compared = await ask_all(ASYNC, asked, questions, budgets, count_tokens, documents, show_progress=show_progress)
    return compared.reports[""]


def compare(
    retrievers: Mapping[str, BaseRetriever],
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
) -> Comparison:
    """Evaluate several retrievers on the same questions.

    Args:
        retrievers: By the names that the table is to show. If there is a `SentenceWindowRetriever` among
            them, its sections serve for all.
        questions: See `evaluate`.
        budgets: See `evaluate`.
        count_tokens: See `evaluate`.
        documents: See `evaluate`.
        show_progress: See `evaluate`.

    Raises:
        InvalidInputError: There are no retrievers, or for the reasons that `evaluate` has.
    """
    return run(ask_all(BLOCKING, retrievers, questions, budgets, count_tokens, documents, show_progress=show_progress))


async def acompare(
    retrievers: Mapping[str, BaseRetriever],
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
) -> Comparison:
    """Do what `compare` does, with the retrievers' async methods."""
    return await ask_all(ASYNC, retrievers, questions, budgets, count_tokens, documents, show_progress=show_progress)


def sweep(
    retriever: BaseRetriever,
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
    **settings: Sequence[Any],
) -> Comparison:
    """Evaluate a retriever with each combination of settings, on the index it has.

    Nothing is embedded but the questions, and the retriever itself stays as it is.

    Args:
        retriever: What the settings are changed of, in copies.
        questions: See `evaluate`.
        budgets: See `evaluate`.
        count_tokens: See `evaluate`.
        documents: See `evaluate`.
        show_progress: See `evaluate`.
        **settings: For any of the retriever's fields, the values to try: ``window=[0, 1, (0, 2)]``.

    Returns:
        Reports by settings, such as ``window=(0, 2), k=40``.

    Raises:
        InvalidInputError: A setting or one of its values doesn't exist, or for the reasons that
            `evaluate` has.
    """
    copies = _variants(retriever, settings)
    return run(ask_all(BLOCKING, copies, questions, budgets, count_tokens, documents, show_progress=show_progress))


async def asweep(
    retriever: BaseRetriever,
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
    **settings: Sequence[Any],
) -> Comparison:
    """Do what `sweep` does, with the retriever's async method."""
    copies = _variants(retriever, settings)
    return await ask_all(ASYNC, copies, questions, budgets, count_tokens, documents, show_progress=show_progress)


def _variants(retriever: BaseRetriever, settings: Mapping[str, Sequence[Any]]) -> dict[str, BaseRetriever]:
    if not isinstance(retriever, BaseRetriever):
        raise InvalidInputError(
            f"the retriever is {shown(retriever)}; give one of LangChain, not wrapped, to sweep, and the questions "
            "after it"
        )
    fields = type(retriever).model_fields
    for name, values in settings.items():
        if name not in fields:
            likely = likely_name(name, fields, RELATED_NAMES)
            raise InvalidInputError(
                f"{type(retriever).__name__} has no setting {name!r}; it has {', '.join(fields)}"
                + (f". Did you mean {likely}?" if likely else "")
            )
        if not isinstance(values, list | tuple | range) or not gathered(values):
            raise InvalidInputError(
                f"{name} is {shown(values)}; give a list of the values to try, such as {name}=[{shown(values)}]"
            )
    copies: dict[str, BaseRetriever] = {}
    seen = Counter[str]()
    for values in product(*map(gathered, settings.values())):
        chosen = dict(zip(settings, values, strict=True))
        name = ", ".join(f"{setting}={_written(value)}" for setting, value in chosen.items()) or "as it is"
        seen[name] += 1
        # Two values may be written alike, such as two rerankers of one class.
        unique = name if seen[name] == 1 else f"{name} #{seen[name]}"
        copies[unique] = retriever.model_copy(update=chosen)
    return copies


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    return shown(value)
