"""A model for tests that quotes the sentence that answers a question, if it is shown it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from langchain_sentence_window.evaluation import read_questions

EXAMPLES = Path(__file__).parents[2] / "examples"
POLICY = (EXAMPLES / "documents" / "billing-policy.md").read_text(encoding="utf-8")
ANSWERS: Mapping[str, str] = {
    each.question: POLICY[slice(*each.spans[0])]
    for each in read_questions(EXAMPLES / "questions.jsonl")
    if "billing" in each.doc_id
}
"""The sentence of the policy that answers each question."""

QUESTIONS = [[*ANSWERS][at] for at in (0, 3, 4, 5, 6)]
"""Those whose answers a search for them finds."""
_SOURCE = re.compile(r"<source>\n\[(\d+)\] [^\n]*\n(.*?)\n</source>", re.DOTALL)


def policy(tenant: str = "") -> Document:
    """Return the policy as a document of a tenant."""
    return Document(POLICY, id=f"{tenant}policy", metadata={"source": f"{tenant}policy.md", "tenant": tenant})


def sources_in(messages: Sequence[BaseMessage]) -> list[tuple[int, str]]:
    """Return the number and the text of each source that messages show."""
    return [(int(number), text) for message in messages for number, text in _SOURCE.findall(message.text)]


def tokens_in(messages: Sequence[BaseMessage]) -> int:
    """Estimate the tokens of messages."""
    return sum(len(message.text) for message in messages) // 4


class Clerk(BaseChatModel):
    """Searches until it reads the answer to the last question, and quotes it."""

    parallel: tuple[ToolCall, ...] = ()
    """Calls that it makes in parallel to each search."""

    task: str | None = None
    """The name of a subagent that searches in its place."""

    read: list[list[BaseMessage]] = Field(default_factory=list)
    """The messages that it read at each call."""

    @property
    def _llm_type(self) -> str:
        return "clerk"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Self:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.read.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.say(messages))])

    def say(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Answer the last question, or call tools."""
        at, question = max((at, each) for at, each in enumerate(messages) if isinstance(each, HumanMessage))
        asked = next((each for each in ANSWERS if each in question.text), question.text)
        wanted = ANSWERS.get(asked, asked)
        reported = [re.search(rf"“{re.escape(wanted)}” \[(\d+)\]", each.text) for each in messages[at:]]
        numbers = [number for number, text in sources_in(messages) if wanted in text]
        numbers += [int(found[1]) for found in reported if found]
        if numbers:
            return AIMessage(f"The policy says: “{wanted}” [{numbers[-1]}].")
        searched = sum(isinstance(each, ToolMessage) for each in messages[at:])
        if searched > 3:
            return AIMessage("The documents don't say it.")
        name, args = "search", {"query": asked}
        if self.task is not None:
            name, args = "task", {"description": asked, "subagent_type": self.task}
        call = ToolCall(name=name, args=args, id=f"c{len(self.read)}")
        parallel = [ToolCall(**{**each, "id": f"{each['id']}{len(self.read)}"}) for each in self.parallel]
        return AIMessage("", tool_calls=[call, *parallel])
