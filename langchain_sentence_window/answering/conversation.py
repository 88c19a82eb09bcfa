"""Conversations: from a follow-up to a question that stands alone, and the earlier turns that a model is shown.

"And when?" finds nothing in an index. The model rewrites it first, with what was said before in view. The numbers of
sources count anew in each turn, so those of earlier answers are left out of what the model is shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableBranch, RunnableLambda, RunnablePassthrough

from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import gathered
from langchain_sentence_window.answering.citation_format import without_citations
from langchain_sentence_window.errors import InvalidInputError

MAX_MESSAGES = 20
"""The latest messages of a conversation that the model is shown."""

HISTORY = "history"
QUESTION = "question"
STANDALONE = "standalone_question"
_MESSAGES = "messages"

_REWRITE = ChatPromptTemplate.from_messages(
    [
        MessagesPlaceholder(HISTORY),
        (
            "human",
            "Rewrite my next question so that it is understood without our conversation. Put names and things in place "
            "of words that refer to them. Keep its language, and add nothing. If it is understood alone, repeat it. "
            "Write the question and nothing else. Don't answer it.\n\nMy next question: {question}",
        ),
    ]
)


def read_conversation(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chain's input with the question, and with the messages before it as the model is shown them.

    Args:
        given: ``question`` and, after the first turn, ``history``; or ``messages``, of which the last one is the
            question. Messages are in any form that LangChain takes.

    Raises:
        InvalidInputError: The messages can't be read, or the last one isn't a question.
    """
    if _MESSAGES not in given:
        return {**given, HISTORY: _as_shown(_messages(HISTORY, given.get(HISTORY, [])))}
    messages = _messages(_MESSAGES, given[_MESSAGES])
    if not messages or not isinstance(messages[-1], HumanMessage):
        last = shown(messages[-1]) if messages else "missing"
        raise InvalidInputError(f"the last of the messages is {last}; end them with the question, as a HumanMessage")
    others = {key: value for key, value in given.items() if key != _MESSAGES}
    return {**others, QUESTION: messages[-1].text, HISTORY: _as_shown(messages[:-1])}


def rewriter(llm: Runnable[Any, Any]) -> Runnable[Any, str]:
    """Return a Runnable from a question and the messages before it to the question to search with.

    A first question is taken as it is, without a call of the model. So is one for which the model writes nothing.
    """
    rewritten = RunnablePassthrough.assign(rewritten=_REWRITE | llm | StrOutputParser()) | RunnableLambda(_chosen)
    return RunnableBranch((_is_first, RunnableLambda(_chosen)), rewritten)


def _is_first(state: Mapping[str, Any]) -> bool:
    return not state[HISTORY]


def _chosen(state: Mapping[str, Any]) -> str:
    question: str = state.get("rewritten", "").strip() or state[QUESTION]
    return question


def _messages(name: str, given: object) -> list[BaseMessage]:
    if isinstance(given, str | bytes | Mapping | BaseMessage) or not isinstance(given, Sequence):
        raise InvalidInputError(f"{name} is {shown(given)}; give a list of messages")
    try:
        return convert_to_messages(gathered(given))
    except (ValueError, TypeError, NotImplementedError, AttributeError) as error:
        raise InvalidInputError(f"{name} is {shown(given)}, which can't be read as messages: {error}") from None


def _as_shown(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the questions and answers of earlier turns as text, without what tools and systems said in between."""
    kept = [each for each in messages if isinstance(each, HumanMessage | AIMessage) and each.text.strip()]
    return [
        HumanMessage(each.text) if isinstance(each, HumanMessage) else AIMessage(without_citations(each.text))
        for each in kept[-MAX_MESSAGES:]
    ]
