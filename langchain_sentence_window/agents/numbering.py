"""The numbers of sources in an agent: each passage has one, and keeps it when messages are dropped.

Parallel calls of a message don't see each other's results, and neither do subagents. So they divide the free numbers
among them: of ``n`` calls, each takes every n-th number, and a subagent uses the numbers of the call that started it.
This needs no shared memory, works across processes and survives a restart. `SourceNumbers` also remembers what parallel
calls found, so that a passage that two of them find has one number.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from langchain_sentence_window.answering.citation_format import SHOWN_SOURCES
from langchain_sentence_window.answering.conversation import (
    Conversation,
    NumberedSource,
    NumberSeries,
    merge_sources,
    number_of,
    shown_sources,
)

SOURCES = "sources"
"""The sources of a conversation, in the state of an agent with the middleware."""

NOTES = "sentence_window_notes"
"""What the middleware notes of a conversation, in the state of an agent."""

READ = "read"
"""The key of the note that holds the numbers of the sources in the last request."""

SHARE = "sentence_window_share"
"""The numbers that a subagent may give, set by the call that started it: the first, the step, and `AgentCall.group`."""

MAX_CONVERSATIONS = 1_000
"""How many conversations without messages, and how many messages with calls, are remembered."""


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call of a tool in an agent.

    Attributes:
        sources: The sources of the conversation.
        read: The numbers of those that the model can read.
        series: The numbers that the call may give.
        group: Identifies calls that run concurrently: by the message of the main agent that made them. Empty for a call
            that runs alone.
    """

    sources: Sequence[Document]
    read: Iterable[int]
    series: NumberSeries
    group: str

    @classmethod
    def of(cls, state: object, call_id: object) -> "AgentCall | None":
        """Read a call from the state of an agent or a graph; ``None`` if the state has no messages."""
        messages, given = _value(state, "messages"), _value(state, SOURCES)
        if not isinstance(messages, list):
            return None
        sources = merge_sources(given if isinstance(given, list) else (), shown_sources(messages))
        series, group = NumberSeries(), ""
        match _value(state, SHARE):
            case [int(first), int(every), str(group)]:
                series = NumberSeries(first, every)
        # Also of messages whose artifacts are lost, as a client may keep texts alone.
        in_messages = numbers_shown(messages)
        series = series.after(max([0, *in_messages, *filter(None, map(number_of, sources))]))
        last = next((each for each in reversed(messages) if isinstance(each, AIMessage)), AIMessage(""))
        calls: list[object] = [call["id"] for call in last.tool_calls]
        if call_id in calls:
            series = series.share(calls.index(call_id), len(calls))
            # Not by the id alone: programs that set their own ids repeat them.
            group = group or f"{last.id} {last.tool_calls!r}"
        shown = (_value(state, NOTES) or {}).get(READ, in_messages)
        return cls(sources, shown, series, group)


def _value(state: object, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def numbers_shown(messages: Iterable[object]) -> list[int]:
    """Return the numbers of the sources in messages of tools and users."""
    texts = (message.text for message in messages if isinstance(message, ToolMessage | HumanMessage))
    return sorted({int(number) for text in texts for number in SHOWN_SOURCES.findall(text)})


class SourceNumbers:
    """Numbers sources for the tools of one index."""

    def __init__(self) -> None:
        """Start without conversations."""
        self._threads: OrderedDict[str, Conversation] = OrderedDict()
        self._groups: OrderedDict[tuple[str, str], dict[str, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        """Pickle without the conversations, which belong to the process."""
        return (SourceNumbers, ())

    def add(
        self,
        documents: Iterable[Document],
        config: RunnableConfig,
        call: AgentCall | None = None,
        *,
        whole: bool = False,
    ) -> list[NumberedSource]:
        """Number sources that are to be shown.

        Args:
            documents: The sources. They aren't changed.
            config: The configuration of the run. Without an agent, its ``thread_id`` names the conversation.
            call: The call of an agent; ``None`` elsewhere.
            whole: Whether all of each source is shown, regardless of what the conversation has shown before.
        """
        thread = config.get("configurable", {}).get("thread_id", "")
        with self._lock:
            if call is not None:
                concurrent = _recent(self._groups, (str(thread), call.group), {}) if call.group else {}
                conversation = Conversation(call.sources, shown=call.read, series=call.series, concurrent=concurrent)
            elif thread is not None:
                conversation = _recent(self._threads, str(thread), Conversation())
            else:
                conversation = Conversation()
            found = conversation.add(documents, whole=whole)
        # A model that searches again for what it was shown may not see it any more: `ContextEditingMiddleware` clears
        # messages that the state has. It would search again and again for a passage that it is said to have.
        if call is None or any(each.is_new for each in found):
            return found
        return [replace(each, is_new=True) for each in found]


def _recent(kept: OrderedDict[Any, Any], key: object, new: object) -> Any:
    """Return the value of a key, or a new one, and drop the least recently used one."""
    found = kept.setdefault(key, new)
    kept.move_to_end(key)
    if len(kept) > MAX_CONVERSATIONS:
        kept.popitem(last=False)
    return found
