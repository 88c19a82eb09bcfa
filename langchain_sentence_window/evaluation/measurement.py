"""Evaluate one retriever, several, or one with several settings: ask all questions, and score the passages.

Each function writes its options out, so that notebooks and ``help()`` show them with their defaults.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from itertools import product
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from tqdm.auto import tqdm

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run, with_arguments_of
from langchain_sentence_window._validation import (
    as_number,
    checked_callback,
    checked_count,
    checked_function,
    checked_list,
    checking_counter,
    invalid,
    wrong_kind,
)
from langchain_sentence_window.documents.keys import END_INDEX, RELEVANCE, START_INDEX
from langchain_sentence_window.documents.source_documents import found_span
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

from .gold import DocumentText, FoundGold, GivenCorpus, LostGold, StoredCorpus, find_gold
from .metrics import Count, Passage, is_wrong_section, score, within_budget
from .questions import Question, checked_questions
from .report import Comparison, QuestionResult, Report

OnProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of completed steps and of all steps. An exception in it ends the evaluation."""

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

    Gold is found again by its text after its document was edited, and after the document moved, in the one of the same
    file name. A question whose gold isn't found isn't asked or counted: it is in `Report.lost`, with a warning.

    Args:
        retriever: Any LangChain retriever whose Documents have ``start_index``, and ``doc_id`` or ``source``, in their
            metadata. It must return enough text for the largest budget, so set its ``k`` to 40 or so. Windows of a
            `SentenceWindowRetriever` are read best first, regardless of its ``order``.
        questions: The questions; at least one.
        budgets: The sizes of the context to measure at, in characters, or in tokens with ``count_tokens``.
        count_tokens: Counts the tokens of a text, such as a model's own counter.
        documents: The source documents, in which the gold is found as it is now. `SentenceSplitter` finds their
            sections, for the rate of first passages from a wrong section. Without them, both are read from the store
            of a `SentenceWindowRetriever`; for other retrievers the gold is taken to be at its spans, and the rate is
            unknown. A passage that spans several sections, as fixed chunks do, counts as being in each of them.
        show_progress: Whether to show a progress bar.
        on_progress: Called with the number of questions asked so far and of all questions: before the first, and after
            each. An exception in it ends the evaluation.

    Raises:
        InvalidInputError: There are no questions, a budget is below 1, the gold of no question is found, or a passage
            can't be located in its source.
    """
    only = {"": retriever}
    measured = run(_measure(BLOCKING, only, questions, budgets, count_tokens, documents, show_progress, on_progress))
    return measured.reports[""]


@with_arguments_of(evaluate)
async def aevaluate(retriever: BaseRetriever, *given: Any, **settings: Any) -> Report:
    """Async version of `evaluate`."""
    return (await _measure(ASYNC, {"": retriever}, *given, **settings)).reports[""]


def suggest_min_relevance(
    retriever: SentenceWindowRetriever, questions: Iterable[Question], *, most_lost: float = 0.02
) -> float:
    """Return the highest ``min_relevance`` with which few of your questions return nothing.

    Args:
        retriever: The retriever.
        questions: Questions that your documents answer; at least one. The more there are, the more reliable is the
            result. With fewer than 50, none may be lost by default.
        most_lost: The largest share of them that may return nothing, 0 or more, below 1.

    Raises:
        InvalidInputError: There are no questions, the share is outside of that range, or a question returns a window
            without ``relevance``.
    """
    return run(_suggest_min_relevance(BLOCKING, retriever, questions, most_lost=most_lost))


@with_arguments_of(suggest_min_relevance)
async def asuggest_min_relevance(retriever: SentenceWindowRetriever, *given: Any, **settings: Any) -> float:
    """Async version of `suggest_min_relevance`."""
    return await _suggest_min_relevance(ASYNC, retriever, *given, **settings)


async def _suggest_min_relevance(
    io: IO, retriever: SentenceWindowRetriever, questions: Iterable[Question], *, most_lost: float = 0.02
) -> float:
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(f"retriever is {shown(retriever)}; give a SentenceWindowRetriever")
    asked = checked_questions(questions)
    if not asked:
        raise InvalidInputError("there are no questions; give at least one that your documents answer")
    share = as_number(most_lost)
    if not 0 <= share < 1:
        raise InvalidInputError(f"most_lost is {shown(most_lost)}; give a share from 0 to below 1, such as 0.02")
    # With a `min_relevance`, windows have a relevance even if the retriever has no ranking.
    best = retriever.model_copy(update={"k": 1, "min_relevance": 0.0})
    relevances: list[float] = []
    for question in asked:
        windows = await io.call(best.invoke, best.ainvoke, question.question)
        relevance = windows[0].metadata.get(RELEVANCE) if windows else 0.0
        if relevance is None:
            raise InvalidInputError(
                f"the first window for {shown(question.question)} has no relevance; use a FaissStore, or a bm25_index"
            )
        relevances.append(relevance)
    return sorted(relevances)[int(share * len(relevances))]


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
    return run(_measure(BLOCKING, retrievers, questions, budgets, count_tokens, documents, show_progress, on_progress))


@with_arguments_of(compare)
async def acompare(*given: Any, **settings: Any) -> Comparison:
    """Async version of `compare`."""
    return await _measure(ASYNC, *given, **settings)


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
    return run(_measure(BLOCKING, copies, questions, budgets, count_tokens, documents, show_progress, on_progress))


@with_arguments_of(sweep)
async def asweep(retriever: BaseRetriever, *given: Any, **settings: Any) -> Comparison:
    """Async version of `sweep`."""
    own = {name: settings.pop(name) for name in signature(evaluate).parameters if name in settings}
    return await _measure(ASYNC, _variants(retriever, settings), *given, **own)


def _variants(retriever: BaseRetriever, settings: Mapping[str, Sequence[Any]]) -> dict[str, BaseRetriever]:
    if not isinstance(retriever, BaseRetriever):
        raise InvalidInputError(
            f"the retriever is {shown(retriever)}; give one of LangChain, not wrapped, to sweep, and the questions "
            "after it"
        )
    fields = type(retriever).model_fields
    for name, values in settings.items():
        if name not in fields:
            raise InvalidInputError(f"{type(retriever).__name__} has no setting {name!r}; it has {', '.join(fields)}")
        if not isinstance(values, list | tuple | range) or not values:
            raise InvalidInputError(
                f"{name} is {shown(values)}; give a list of the values to try, such as {name}=[{shown(values)}]"
            )
    copies: dict[str, BaseRetriever] = {}
    for values in product(*settings.values()):
        chosen = dict(zip(settings, values, strict=True))
        name = ", ".join(f"{setting}={_format_setting(value)}" for setting, value in chosen.items()) or "as it is"
        if name in copies:  # values of one class, such as two rerankers
            name = f"{name} #{len(copies) + 1}"
        copies[name] = retriever.model_copy(update=chosen)
    return copies


def _format_setting(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    return shown(value)


async def _measure(  # noqa: PLR0917
    io: IO,
    retrievers: Mapping[str, BaseRetriever],
    questions: Iterable[Question],
    budgets: Iterable[int] = BUDGETS,
    count_tokens: Count | None = None,
    documents: Iterable[Document] | None = None,
    show_progress: bool = False,  # noqa: FBT001, FBT002
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Ask each retriever all questions, and score the passages; see `evaluate` and `compare`."""
    _check_retrievers(retrievers)
    questions = checked_questions(questions)
    if not questions:
        raise InvalidInputError("there are no questions; give at least one, e.g. from read_questions(path)")
    budgets = _checked_budgets(budgets)
    if on_progress is not None:
        checked_callback("on_progress", on_progress, "the number of steps done", "the number of all steps")
    unit = "characters"
    count: Count = len
    if count_tokens is not None:
        unit = "tokens"
        count = checking_counter("count_tokens", checked_function("count_tokens", count_tokens))
    found = await _find_gold(io, retrievers.values(), questions, documents)
    lost = tuple(each.lost for each in found if each.lost is not None)
    _check_lost(lost, len(found))
    gold = [(each.question, each.document) for each in found if each.question is not None]
    steps = list(product(retrievers, gold))
    best_first = {name: _best_first(retriever) for name, retriever in retrievers.items()}
    results: dict[str, list[QuestionResult]] = {name: [] for name in retrievers}
    if on_progress is not None:
        on_progress(0, len(steps))
    for name, (question, document) in tqdm(steps, desc="Asking", disable=not show_progress):
        returned: object = await io.call(best_first[name].invoke, best_first[name].ainvoke, question.question)
        passages = [_passage(each) for each in checked_documents(returned)]
        results[name].append(await io.in_thread(_question_result, question, passages, budgets, count, document))
        if on_progress is not None:
            on_progress(sum(map(len, results.values())), len(steps))
    reports = {name: Report(budgets, unit, tuple(each), count, lost) for name, each in results.items()}
    _warn_of_other_texts(reports.values())
    return Comparison(reports)


def _check_lost(lost: Sequence[LostGold], count: int) -> None:
    """Warn of questions whose gold isn't found.

    Raises:
        InvalidInputError: It is that of all ``count`` questions.
    """
    if not lost:
        return
    more = f"; and {len(lost) - 1:,} more" if len(lost) > 1 else ""
    if len(lost) == count:
        raise InvalidInputError(
            f"the gold of none of the {count:,} questions is found, so there is nothing to measure: {lost[0]}{more}"
        )
    warnings.warn(
        f"{len(lost):,} of {count:,} questions aren't counted, because their gold isn't found: {lost[0]}{more}. All "
        "are in `lost` of the result",
        SentenceWindowWarning,
        stacklevel=2,
    )


def _best_first(retriever: BaseRetriever) -> BaseRetriever:
    """Return the retriever with windows in the order of their scores, in place of its own order."""
    is_ours = isinstance(retriever, SentenceWindowRetriever)
    return retriever.model_copy(update={"order": "relevance"}) if is_ours else retriever


async def _find_gold(
    io: IO, retrievers: Iterable[BaseRetriever], questions: Sequence[Question], documents: Iterable[Document] | None
) -> list[FoundGold]:
    """Find gold in the documents, else in the stores of the retrievers; without either, take it to be at its spans."""
    if documents is not None:
        return await find_gold(io, [await io.in_thread(GivenCorpus, documents)], questions)
    windows = [each for each in retrievers if isinstance(each, SentenceWindowRetriever)]
    scopes = {(id(each.vectorstore), repr(each.scope().filter)): each.scope() for each in windows}
    if not scopes:
        return [FoundGold(question, None, None) for question in questions]
    return await find_gold(io, [StoredCorpus(scope) for scope in scopes.values()], questions)


def _warn_of_other_texts(reports: Iterable[Report]) -> None:
    """Warn of passages with another text than the gold at its place, as an outdated index returns them."""
    results = [result for report in reports for result in report.results]
    differing = [result.question for result in results if _differs_from_gold(result)]
    if differing:
        first = differing[0]
        warnings.warn(
            f"for {len(differing):,} of {len(results):,} questions, a retriever returned another text at the place of "
            f"the gold, such as for {shown(first.question)} at {first.spans[0][0]:,} of {shown(first.doc_id)}, so "
            "these scores are wrong; index the documents again, or give those that it was made from as documents=",
            SentenceWindowWarning,
            stacklevel=2,
        )


def _differs_from_gold(result: QuestionResult) -> bool:
    question = result.question
    passages = [each for each in result.passages if each.doc_id == question.doc_id and each.start is not None]
    for passage, ((start, end), text) in product(passages, zip(question.spans, question.texts, strict=False)):
        offset = passage.start or 0
        first, last = max(start, offset), min(end, offset + len(passage.text))
        if first < last and passage.text[first - offset : last - offset] != text[first - start : last - start]:
            return True
    return False


def _passage(document: Document) -> Passage:
    try:
        return Passage(*found_span(document), document.page_content)
    except InvalidInputError:
        raise
    except (OverflowError, TypeError, ValueError):
        start, end = (document.metadata.get(key) for key in (START_INDEX, END_INDEX))
        raise InvalidInputError(
            f"the retriever returned a document that can't be located: start_index is {shown(start)} and end_index is "
            f"{shown(end)}; both must be whole numbers"
        ) from None


def _question_result(
    question: Question,
    passages: Sequence[Passage],
    budgets: Sequence[int],
    count: Count,
    document: DocumentText | None,
) -> QuestionResult:
    contexts = [within_budget(passages, budget, count) for budget in budgets]
    scores = tuple(score(context, question.doc_id, question.spans, count) for context in contexts)
    wrong_section = None
    if document is not None:
        first = passages[0] if passages else None
        wrong_section = is_wrong_section(first, question.doc_id, question.spans, document.section_starts)
    return QuestionResult(question, tuple(passages), scores, wrong_section)


def _check_retrievers(retrievers: object) -> None:
    order = "the retriever comes first: evaluate(retriever, questions)"
    if not isinstance(retrievers, Mapping) or not retrievers:
        raise invalid("retrievers", retrievers, "give at least one by its name: {'name': retriever}")
    for retriever in retrievers.values():
        if not isinstance(retriever, Runnable):
            raise wrong_kind(
                "the retriever", retriever, f"give one of LangChain, such as store.as_retriever(); {order}"
            )


def _checked_budgets(budgets: object) -> tuple[int, ...]:
    """Return sizes of the context in rising order, each once.

    Raises:
        InvalidInputError: There are none, or one isn't a whole number above 0.
    """
    checked = tuple(sorted({checked_count("a budget", budget) for budget in checked_list("budgets", budgets)}))
    if not checked:
        raise InvalidInputError("there are no budgets; give at least one, such as [1600]")
    return checked
