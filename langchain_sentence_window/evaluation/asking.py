"""The loop of an evaluation: ask questions and score the passages."""

from collections.abc import Iterable, Mapping, Sequence

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import checked_counter, checked_documents
from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import checked_count, checked_list
from langchain_sentence_window.documents.keys import END_INDEX, START_INDEX
from langchain_sentence_window.documents.source_documents import found_span
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.metrics import Count, Passage, is_wrong_section, score, within_budget
from langchain_sentence_window.evaluation.progress import OnProgress, counted
from langchain_sentence_window.evaluation.questions import Question, checked_questions
from langchain_sentence_window.evaluation.report import Comparison, QuestionResult, Report
from langchain_sentence_window.evaluation.sources import (
    SectionStarts,
    sections_in_store,
    sections_of_texts,
    texts_by_name,
    warn_of_unknown,
)
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever


async def ask_all(  # noqa: PLR0917 - as the functions that call it
    io: IO,
    retrievers: Mapping[str, BaseRetriever],
    questions: Iterable[Question],
    budgets: Iterable[int],
    count_tokens: Count | None,
    documents: Iterable[Document] | None,
    *,
    show_progress: bool,
    on_progress: OnProgress | None,
) -> Comparison:
    """Ask each retriever all questions and score the passages; see `evaluate` and `compare`."""
    _check_order(retrievers, questions)
    questions, budgets = _checked_questions(questions), _checked_budgets(budgets)
    _check_retrievers(retrievers)
    unit = "characters" if count_tokens is None else "tokens"
    count = len if count_tokens is None else checked_counter("count_tokens", count_tokens)
    sections: SectionStarts | None
    if documents is not None:
        texts = texts_by_name(documents, questions)
        sections = await io.in_thread(sections_of_texts, texts)
    else:
        sections = await _stored_sections(io, retrievers.values(), questions)
    windows = [each for each in retrievers.values() if isinstance(each, SentenceWindowRetriever)]
    for store in {id(each.vectorstore): each.vectorstore for each in windows}.values():
        scopes = [each.scope() for each in windows if each.vectorstore is store]
        await warn_of_unknown(io, scopes, [question.doc_id for question in questions])
    reports: dict[str, Report] = {}
    total = len(retrievers) * len(questions)
    with counted(total, "Asking", show_progress=show_progress, on_progress=on_progress) as step:
        for name, retriever in retrievers.items():
            best_first = _best_first(retriever)
            results: list[QuestionResult] = []
            for question in questions:
                found: object = await io.call(best_first.invoke, best_first.ainvoke, question.question)
                passages = [_passage(document) for document in checked_documents(found)]
                results.append(await io.in_thread(_result, question, passages, budgets, count, sections))
                step()
            reports[name] = Report(budgets, unit, tuple(results), count)
    return Comparison(reports)


def _passage(document: Document) -> Passage:
    try:
        return Passage(*found_span(document), document.page_content)
    except (OverflowError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        start, end = (document.metadata.get(key) for key in (START_INDEX, END_INDEX))
        raise InvalidInputError(
            f"the retriever returned a document that can't be located: start_index is {shown(start)} and end_index is "
            f"{shown(end)}; both must be whole numbers"
        ) from None


def _result(
    question: Question,
    passages: Sequence[Passage],
    budgets: Sequence[int],
    count: Count,
    sections: SectionStarts | None,
) -> QuestionResult:
    contexts = [within_budget(passages, budget, count) for budget in budgets]
    # No section of a missing document can be right.
    starts = None if sections is None else sections.get(question.doc_id, ())
    first = passages[0] if passages else None
    return QuestionResult(
        question=question,
        passages=tuple(passages),
        scores=tuple(score(context, question.doc_id, question.spans, count) for context in contexts),
        wrong_section=None if starts is None else is_wrong_section(first, question.doc_id, question.spans, starts),
    )


async def _stored_sections(
    io: IO, retrievers: Iterable[BaseRetriever], questions: Iterable[Question]
) -> SectionStarts | None:
    for retriever in retrievers:
        if isinstance(retriever, SentenceWindowRetriever):
            found: SectionStarts | None = await sections_in_store(io, retriever.scope(), list(questions))
            return found
    return None


def _best_first(retriever: BaseRetriever) -> BaseRetriever:
    if isinstance(retriever, SentenceWindowRetriever):
        return retriever.model_copy(update={"order": "relevance"})
    return retriever


def _checked_questions(questions: Iterable[Question]) -> list[Question]:
    found = checked_questions(questions)
    if not found:
        raise InvalidInputError("there are no questions; give at least one, e.g. from read_questions(path)")
    return found


def _check_order(retrievers: object, questions: object) -> None:
    first = next(iter(retrievers.values()), None) if isinstance(retrievers, Mapping) else retrievers
    asked = next(iter(first), None) if isinstance(first, list | tuple) else first
    if isinstance(asked, Question):
        raise InvalidInputError(
            f"the questions are given as the retriever, and {shown(questions)} as the questions; the retriever comes "
            "first: evaluate(retriever, questions)"
        )


def _check_retrievers(retrievers: object) -> None:
    if not isinstance(retrievers, Mapping):
        raise InvalidInputError(f"retrievers is {shown(retrievers)}; give them by their names: {{'name': retriever}}")
    if not retrievers:
        raise InvalidInputError("there are no retrievers to evaluate; give at least one by its name")
    for retriever in retrievers.values():
        if not isinstance(retriever, Runnable):
            cure = "write store.as_retriever()" if isinstance(retriever, VectorStore) else "give one of LangChain"
            raise InvalidInputError(f"the retriever is {shown(retriever)}; {cure}")


def _checked_budgets(budgets: Iterable[int]) -> tuple[int, ...]:
    if isinstance(budgets, int):
        raise InvalidInputError(f"budgets is {shown(budgets)}; give a list, such as [{shown(budgets)}]")
    checked = tuple(sorted({checked_count("a budget", budget) for budget in checked_list("budgets", budgets)}))
    if not checked:
        raise InvalidInputError("there are no budgets; give at least one, such as [1600]")
    return checked
