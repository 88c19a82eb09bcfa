"""`create_rag_chain`: from a question to an answer with its sources."""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import BasePromptTemplate, ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    Runnable,
    RunnableConfig,
    RunnableLambda,
    RunnablePassthrough,
    RunnableSerializable,
)
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window._arguments import checked_documents, checked_language_model, not_a_question
from langchain_sentence_window._settings import RELATED_NAMES
from langchain_sentence_window._showing import shown
from langchain_sentence_window.answering.citations import Citation, find_citations
from langchain_sentence_window.answering.context import format_context
from langchain_sentence_window.answering.prompt import PROMPT
from langchain_sentence_window.errors import InvalidInputError, SentenceWindowWarning


def create_rag_chain(
    retriever: BaseRetriever | Runnable[str, list[Document]],
    llm: BaseLanguageModel[Any] | Runnable[Any, Any],
    prompt: BasePromptTemplate[Any] | str | None = None,
) -> Runnable[Any, dict[str, Any]]:
    """Create a chain that retrieves sources, answers from them and cites them.

    Args:
        retriever: The retriever that finds the sources.
        llm: The model that answers.
        prompt: A prompt with ``{context}``, for the numbered sources as text, and ``{question}``; a string or a
            template. ``None`` for the package's own.

    Returns:
        A Runnable from a question to a dict. The question is a string, or a mapping with ``question``, whose other
        entries the prompt can use. The dict has

        - ``question``: the question,
        - ``context``: the Documents that were retrieved,
        - ``answer``: the model's answer,
        - ``citations``: the sources that the answer cites, as `Citation`.

        ``stream`` yields parts of that dict: the context first, then the answer as it is written, then the
        citations.

        ``k``, ``filter`` and ``window`` can be set at run time if the retriever takes them with a call:
        ``chain.invoke(question, {"configurable": {"k": 2, "filter": {"source": "a.md"}}})``.

    Raises:
        InvalidInputError: The prompt lacks ``{context}`` or ``{question}``, or an argument can't be used.
    """
    retriever, prompt = _checked_retriever(retriever), _checked_prompt(prompt)
    llm = checked_language_model("llm", llm)
    retrieve = RunnableLambda(_question) | _Retrieval(retriever=retriever).configurable_fields(
        k=ConfigurableField(id="k", name="k", description="How many windows to return."),
        filter=ConfigurableField(id="filter", name="filter", description="Which documents to search, as metadata."),
        window=ConfigurableField(id="window", name="window", description="Sentences on each side of a hit."),
    )
    answer = RunnableLambda(_prompt_values) | prompt | llm | StrOutputParser()
    known = frozenset(spec.id for each in (retrieve, answer) for spec in each.config_specs)
    return (
        RunnableLambda(partial(_with_question, known=known), name="_with_question")
        | RunnablePassthrough.assign(context=retrieve)
        | RunnablePassthrough.assign(answer=answer)
        | RunnablePassthrough.assign(citations=RunnableLambda(_citations))
    ).with_config(run_name="sentence_window_rag")


class _Retrieval(RunnableSerializable[str, list[Document]]):
    """Calls a retriever with the settings of a run, without a run of its own."""

    # Not typed: the retriever checks them, with clearer errors.
    retriever: Any
    k: Any = None
    filter: Any = None
    window: Any = None

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        return checked_documents(self.retriever.invoke(input, config, **self._given(), **kwargs))

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        return checked_documents(await self.retriever.ainvoke(input, config, **self._given(), **kwargs))

    def _given(self) -> dict[str, Any]:
        settings = {"k": self.k, "filter": self.filter, "window": self.window}
        return {name: value for name, value in settings.items() if value is not None}


def _checked_retriever(retriever: object) -> Runnable[str, list[Document]]:
    if isinstance(retriever, BaseLanguageModel):
        raise InvalidInputError(
            f"retriever is {shown(retriever)}; the retriever comes first: create_rag_chain(retriever, llm)"
        )
    if isinstance(retriever, Runnable) and not isinstance(retriever, BasePromptTemplate):
        return retriever
    cure = (
        "SentenceWindowRetriever(vectorstore=store)"
        if isinstance(retriever, VectorStore)
        else "a retriever, such as SentenceWindowRetriever.from_documents(documents, embedding)"
    )
    raise InvalidInputError(f"retriever is {shown(retriever)}; give {cure}")


def _checked_prompt(prompt: object) -> BasePromptTemplate[Any]:
    if prompt is None:
        return PROMPT
    if isinstance(prompt, str):
        try:
            prompt = ChatPromptTemplate.from_template(prompt)
        except (ValueError, KeyError, IndexError) as error:
            raise InvalidInputError(
                f"the prompt {shown(prompt)} can't be read ({error}); write {{context}} and {{question}} where they "
                "go, and {{ and }} for braces"
            ) from None
    if not isinstance(prompt, BasePromptTemplate):
        raise InvalidInputError(
            f"the prompt is {shown(prompt)}; give ChatPromptTemplate.from_template(...) or from_messages([...]), with "
            "{context} and {question} in it"
        )
    if missing := {"context", "question"} - set(prompt.input_variables):
        raise InvalidInputError(f"the prompt has no place for {sorted(missing)}; it needs {{context}} and {{question}}")
    return prompt


def _with_question(given: str | Mapping[str, Any], config: RunnableConfig, *, known: frozenset[str]) -> dict[str, Any]:
    _warn_of_configured(config.get("configurable", {}), known)
    if isinstance(given, str):
        return {"question": given}
    if isinstance(given, Mapping) and isinstance(given.get("question"), str):
        return dict(given)
    if isinstance(given, Mapping) and "question" not in given:
        texts = [key for key, value in given.items() if isinstance(value, str)]
        value = f"given[{shown(texts[0])}]" if len(texts) == 1 else "..."
        raise InvalidInputError(
            f"the chain takes a question, or a mapping with 'question', not {shown(given)}; write "
            f"{{'question': {value}}}"
        )
    asked = given["question"] if isinstance(given, Mapping) else given
    raise InvalidInputError(
        f"the chain takes a question, or a mapping with 'question', not {shown(given)}; {not_a_question(asked)}"
    )


def _warn_of_configured(configurable: Mapping[str, Any], known: frozenset[str]) -> None:
    """Warn of a setting under the name that other retrievers use, as LangChain drops it silently."""
    for name in configurable.keys() - known:
        meant = RELATED_NAMES.get(name)
        if meant in ("k", "filter", "window"):
            warnings.warn(
                f"the chain takes no {shown(name)} in its configuration, so it is ignored; did you mean {meant!r}?",
                SentenceWindowWarning,
                stacklevel=2,
            )


def _question(state: Mapping[str, Any]) -> str:
    question: str = state["question"]
    return question


def _prompt_values(state: Mapping[str, Any]) -> dict[str, Any]:
    documents: list[Document] = state["context"]
    return {**state, "context": format_context(documents)}


def _citations(state: Mapping[str, Any]) -> list[Citation]:
    return find_citations(state["answer"], state["context"])
