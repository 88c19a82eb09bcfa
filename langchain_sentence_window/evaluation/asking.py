"""Asking questions and scoring what comes back: the loop of an evaluation."""

from collections.abc import Iterable, Mapping, Sequence

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from tqdm.auto import tqdm

from langchain_sentence_window.calls import Call, Steps, in_thread
from langchain_sentence_window.errors import InvalidInputError, checked_count
from langchain_sentence_window.evaluation.metrics import Count, Passage, is_elsewhere, score, within_budget
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.evaluation.report import Comparison, QuestionResult, Report
from langchain_sentence_window.evaluation.sources import (
    SectionStarts,
    sections_in_store,
    sections_of_texts,
    texts_by_name,
)
from langchain_sentence_window.metadata.source_documents import found_span
from langchain_sentence_window.retriever import SentenceWindowRetriever


def ask_all(
    retrievers: Mapping[str, BaseRetriever],
    questions: Iterable[Question],
    budgets: Iterable[int],
    count_tokens: Count | None,
    documents: Iterable[Document] | None,
    *,
    show_progress: bool,
) -> Steps[Comparison]:
    """Ask each retriever all questions and score what comes back; see `langchain_sentence_window.evaluation`."""
    questions, budgets = _checked_questions(questions), _checked_budgets(budgets)
    if not retrievers:
        raise InvalidInputError("there are no retrievers to evaluate; give at least one by its name")
    sections: SectionStarts | None
    if documents is not None:
        texts = texts_by_name(documents, questions)
        sections = yield in_thread(sections_of_texts, texts)
    else:
        sections = yield from _stored_sections(retrievers.values(), questions)
    unit = "characters" if count_tokens is None else "tokens"
    count = len if count_tokens is None else count_tokens
    reports: dict[str, Report] = {}
    with tqdm(total=len(retrievers) * len(questions), desc="Asking", disable=not show_progress) as bar:
        for name, retriever in retrievers.items():
            best_first = _best_first(retriever)
            results: list[QuestionResult] = []
            for question in questions:
                found: list[Document] = yield Call(best_first.invoke, best_first.ainvoke, (question.question,))
                passages = [Passage(*found_span(document), document.page_content) for document in found]
                results.append((yield in_thread(_result, question, passages, budgets, count, sections)))
                bar.update()
            reports[name] = Report(budgets, unit, tuple(results), count)
    return Comparison(reports)


def _result(
    question: Question,
    passages: Sequence[Passage],
    budgets: Sequence[int],
    count: Count,
    sections: SectionStarts | None,
) -> QuestionResult:
    contexts = [within_budget(passages, budget, count) for budget in budgets]
    # Of a document that isn't there, no section can be right.
    starts = None if sections is None else sections.get(question.doc_id, ())
    first = passages[0] if passages else None
    return QuestionResult(
        question=question,
        passages=tuple(passages),
        scores=tuple(score(context, question.doc_id, question.spans, count) for context in contexts),
        wrong_section=None if starts is None else is_elsewhere(first, question.doc_id, question.spans, starts),
    )


def _stored_sections(retrievers: Iterable[BaseRetriever], questions: Iterable[Question]) -> Steps[SectionStarts | None]:
    for retriever in retrievers:
        if isinstance(retriever, SentenceWindowRetriever):
            doc_ids = dict.fromkeys(question.doc_id for question in questions)
            found: SectionStarts | None = yield from sections_in_store(retriever.vectorstore, doc_ids)
            return found
    return None


def _best_first(retriever: BaseRetriever) -> BaseRetriever:
    if isinstance(retriever, SentenceWindowRetriever):
        return retriever.model_copy(update={"order": "relevance"})
    return retriever


def _checked_questions(questions: Iterable[Question]) -> list[Question]:
    questions = list(questions)
    if not questions:
        raise InvalidInputError("there are no questions; give at least one, e.g. from read_questions(path)")
    wrong = next((question for question in questions if not isinstance(question, Question)), None)
    if wrong is not None:
        raise InvalidInputError(f"{wrong!r} is not a Question; make one of it, or read_questions(path)")
    return questions


def _checked_budgets(budgets: Iterable[int]) -> tuple[int, ...]:
    if isinstance(budgets, int):
        raise InvalidInputError(f"budgets is {budgets!r}; give a list, such as [{budgets!r}]")
    checked = tuple(sorted({checked_count("a budget", budget) for budget in budgets}))
    if not checked:
        raise InvalidInputError("there are no budgets; give at least one, such as [1600]")
    return checked
