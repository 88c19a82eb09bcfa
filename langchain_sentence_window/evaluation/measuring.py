"""Evaluate one retriever, several side by side, or one with many settings.

Each function writes its options out, so that notebooks and ``help()`` show them with their defaults.
"""

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
from langchain_sentence_window.evaluation.progress import OnProgress
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.evaluation.report import Comparison, Report

BUDGETS = (400, 800, 1600, 3200)
"""The sizes of the context to measure at, in characters."""


def evaluate(
    retriever: BaseRetriever,
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
    on_progress: OnProgress | None = None,
) -> Report:
    """Ask a retriever all questions and score the passages that it returns.

    Args:
        retriever: Any LangChain retriever whose Documents have ``start_index``, and ``doc_id`` or ``source``, in
            their metadata. It must return enough text for the largest budget; set its ``k`` to 40, say. Windows of a
            `SentenceWindowRetriever` are read best first, whatever its ``order`` is.
        questions: The questions; at least one.
        budgets: The sizes of the context to measure at, in characters, or in tokens with ``count_tokens``.
        count_tokens: Counts the tokens of a text, such as a model's own counter.
        documents: The source documents. Questions are checked against them, and `SentenceSplitter` finds their
            sections, for the rate of first passages from a wrong section. Without them, the sections are read from
            the store of a `SentenceWindowRetriever`; for other retrievers the rate is unknown. A passage that spans
            several sections, as fixed chunks do, counts as being in each of them.
        show_progress: Whether to show a progress bar.
        on_progress: Called with the number of questions asked, and of all: before the first, and after each. What it
            raises ends the evaluation.

    Raises:
        InvalidInputError: There are no questions, a budget is below 1, a question's document isn't among the
            documents, or a passage can't be located in its source.
    """
    asked = {"": retriever}
    compared = run(
        ask_all(
            BLOCKING,
            asked,
            questions,
            budgets,
            count_tokens,
            documents,
            show_progress=show_progress,
            on_progress=on_progress,
        )
    )
    return compared.reports[""]


async def aevaluate(
    retriever: BaseRetriever,
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
    on_progress: OnProgress | None = None,
) -> Report:
    """Async version of `evaluate`."""
    asked = {"": retriever}
    compared = await ask_all(
        ASYNC, asked, questions, budgets, count_tokens, documents, show_progress=show_progress, on_progress=on_progress
    )
    return compared.reports[""]


def compare(
    retrievers: Mapping[str, BaseRetriever],
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Evaluate several retrievers on the same questions.

    Args:
        retrievers: The retrievers by the names for the table. If one is a `SentenceWindowRetriever`, its sections
            are used for all.
        questions: See `evaluate`.
        budgets: See `evaluate`.
        count_tokens: See `evaluate`.
        documents: See `evaluate`.
        show_progress: See `evaluate`.
        on_progress: See `evaluate`. Each retriever is asked all questions, so they count once for each.

    Raises:
        InvalidInputError: There are no retrievers, or `evaluate` would raise.
    """
    return run(
        ask_all(
            BLOCKING,
            retrievers,
            questions,
            budgets,
            count_tokens,
            documents,
            show_progress=show_progress,
            on_progress=on_progress,
        )
    )


async def acompare(
    retrievers: Mapping[str, BaseRetriever],
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Async version of `compare`."""
    return await ask_all(
        ASYNC,
        retrievers,
        questions,
        budgets,
        count_tokens,
        documents,
        show_progress=show_progress,
        on_progress=on_progress,
    )


def sweep(
    retriever: BaseRetriever,
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Sequence[Any],
) -> Comparison:
    """Evaluate a retriever with each combination of settings, on its own index.

    Only the questions are embedded. The retriever itself isn't changed.

    Args:
        retriever: The retriever whose copies get the settings.
        questions: See `evaluate`.
        budgets: See `evaluate`.
        count_tokens: See `evaluate`.
        documents: See `evaluate`.
        show_progress: See `evaluate`.
        on_progress: See `evaluate`. Each retriever is asked all questions, so they count once for each.
        **settings: The values to try for any of the retriever's fields: ``window=[0, 1, (0, 2)]``.

    Returns:
        The reports by settings, such as ``window=(0, 2), k=40``.

    Raises:
        InvalidInputError: A setting doesn't exist, one of its values can't be used, or `evaluate` would raise.
    """
    copies = _variants(retriever, settings)
    return run(
        ask_all(
            BLOCKING,
            copies,
            questions,
            budgets,
            count_tokens,
            documents,
            show_progress=show_progress,
            on_progress=on_progress,
        )
    )


async def asweep(
    retriever: BaseRetriever,
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    *,
    count_tokens: Callable[[str], int] | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Sequence[Any],
) -> Comparison:
    """Async version of `sweep`."""
    copies = _variants(retriever, settings)
    return await ask_all(
        ASYNC, copies, questions, budgets, count_tokens, documents, show_progress=show_progress, on_progress=on_progress
    )


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
        # Two values may have one name, such as two rerankers of one class.
        unique = name if seen[name] == 1 else f"{name} #{seen[name]}"
        copies[unique] = retriever.model_copy(update=chosen)
    return copies


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    return shown(value)
