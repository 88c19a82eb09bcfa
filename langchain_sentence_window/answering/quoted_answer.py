"""Answers whose statements quote their sources: asked for as structured output, and verified before they are shown.

A model fabricates a quote as easily as a sentence. Here it says for every statement which words of which source it
rests on. The words are looked up. What isn't there doesn't count as evidence. A model may be told which quotes failed,
and answer again. One that writes no statements answers with numbers.

An answer with numbers has quotations too. Those that fail can be treated alike, see `answer_with_numbers`.
"""

import json
import warnings
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig, RunnableGenerator, RunnableLambda, RunnablePassthrough
from langchain_core.runnables.utils import AddableDict

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import AnswerFormatError, SentenceWindowWarning

from .citation_format import source_number, without_citations
from .quotes.answer_quotes import without_sentences
from .quotes.verification import VerifiedQuote, verify_quote, verify_quotes

Unverified: TypeAlias = Literal["mark", "drop"]
"""How a statement without a verified quote is treated: it is marked with `UNVERIFIED`, or dropped."""

FailedQuotes: TypeAlias = Literal["keep", "retry", "drop"]
"""How an answer is treated with quotes that don't stand in their sources, see `create_rag_chain`."""

UNVERIFIED = "[unverified]"
"""The mark after a statement for which no quote was verified."""


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _string_schema(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _array(description: str, items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": items}


_QUOTE = _object(
    source={"type": "integer", "description": "The number of the source."},
    quote=_string_schema("Words of that source, copied exactly: a sentence, or a part of it."),
)
_STATEMENT = _object(
    text=_string_schema("One statement of the answer: a sentence or two, without source numbers."),
    evidence=_array("The quotes that the statement rests on. At least one.", _QUOTE),
)
_SCHEMA: dict[str, Any] = {
    "title": "quoted_answer",
    "description": "An answer in statements, each with the words of the sources that it rests on.",
    **_object(
        statements=_array(
            "The answer, one statement after the other. Empty if the sources don't hold the answer.", _STATEMENT
        ),
        remark=_string_schema("What the sources don't answer, in the language of the question. Empty if nothing."),
    ),
}

_AS_JSON = """\
Write nothing but JSON of this form:
{"statements": [{"text": "...", "evidence": [{"source": 1, "quote": "..."}]}], "remark": ""}
A statement is a sentence or two of the answer. If the sources don't hold the answer, give no statements, and say so in
the remark, in the language of the question."""


@dataclass(slots=True)
class QuotedAnswer:
    """An answer that is put together as its statements arrive.

    Attributes:
        windows: The sources.
        unverified: What becomes of statements without a verified quote.
    """

    windows: Sequence[Document]
    unverified: Unverified
    _statements: int = 0
    _length: int = 0

    def read(self, output: object) -> Iterator[AddableDict]:
        """Read the model's output so far, of which the last statement may still grow; yield what it adds."""
        yield from self._read(_list_or_empty(_get_field(output, "statements"))[:-1])

    def finish(self, output: object) -> Iterator[AddableDict]:
        """Read the whole output; yield what it adds.

        Raises:
            AnswerFormatError: It isn't in the schema.
        """
        statements, remark = _get_field(output, "statements"), _get_field(output, "remark")
        if not isinstance(statements, list):
            raise AnswerFormatError(
                f"the model wrote {shown(output)} instead of statements with quotes; ask again, or take a model that "
                "has structured output"
            )
        yield from self._read(statements)
        # It quotes nothing, so it cites nothing.
        rest = without_citations(remark).strip() if isinstance(remark, str) else ""
        yield AddableDict(answer=self._added(rest), quotes=[])

    def _read(self, statements: Sequence[object]) -> Iterator[AddableDict]:
        for statement in statements[self._statements :]:
            self._statements += 1
            text = _get_field(statement, "text")
            own = without_citations(text).strip() if isinstance(text, str) else ""
            quotes = self._verified(_get_field(statement, "evidence"))
            added = self._added(self._cited(own, quotes))
            end = self._length - (len(added.lstrip()) - len(own)) if added else self._length
            start = end - len(own) if added else end
            yield AddableDict(answer=added, quotes=[replace(quote, start=start, end=end) for quote in quotes])

    def _verified(self, evidence: object) -> list[VerifiedQuote]:
        found: list[VerifiedQuote] = []
        for each in _list_or_empty(evidence):
            source, quote = _get_field(each, "source"), _get_field(each, "quote")
            if isinstance(quote, str) and any(map(str.isalnum, quote)):
                number = as_integer(source) or 0
                cited = [number] if 1 <= number <= len(self.windows) else []
                found.append(verify_quote(quote, self.windows, cited))
        return found

    def _cited(self, text: str, quotes: Sequence[VerifiedQuote]) -> str:
        """Return a statement with the sources that hold its quotes, or what becomes of one without."""
        if not text:
            return ""
        if sources := dict.fromkeys(number for quote in quotes for number in _sources_of(quote)):
            return f"{text} {''.join(map(source_number, sources))}"
        return f"{text} {UNVERIFIED}" if self.unverified == "mark" else ""

    def _added(self, text: str) -> str:
        added = f" {text}" if text and self._length else text
        self._length += len(added)
        return added


def quotes_as_cited(quotes: Iterable[VerifiedQuote]) -> list[VerifiedQuote]:
    """Return the quotes for which an answer in quotes cites a source, each with the sources where it stands.

    A quote that the model took for another source's is cited where it stands. One that stands nowhere cites nothing.
    """
    return [replace(quote, cited=sources) for quote in quotes if (sources := _sources_of(quote))]


def failed_quotations(quotes: Iterable[VerifiedQuote]) -> list[VerifiedQuote]:
    """Return the quotations of an answer with numbers that don't stand in the sources that they cite."""
    return [each for each in quotes if each.kind == "quotation" and each.verdict not in ("verbatim", "normalized")]


def answer_with_numbers(
    prompt: Runnable[Any, PromptValue], llm: Runnable[Any, Any], failed_quotes: FailedQuotes
) -> Runnable[Any, str]:
    """Return a Runnable from a chain's state, whose ``context`` holds the sources, to an answer with numbers.

    Args:
        prompt: Makes the prompt from the state.
        llm: Answers.
        failed_quotes: What becomes of quotations that fail. If they aren't kept, the answer isn't streamed.
    """
    ask: Runnable[Any, str] = prompt | llm | StrOutputParser()
    if failed_quotes == "keep":
        return ask
    again: Runnable[Any, str] = _asked_again(prompt) | llm | StrOutputParser()

    async def checked(io: IO, state: dict[str, Any], config: RunnableConfig) -> str:
        answer = await io.call(ask.invoke, ask.ainvoke, state, config)
        failed = failed_quotations(await io.compute(verify_quotes, answer, state["context"]))
        if failed and failed_quotes == "drop":
            return without_sentences(answer, [(quote.start, quote.end) for quote in failed])
        if failed:
            told = {**state, _TOLD: (answer, [quote.text for quote in failed])}
            answer = await io.call(again.invoke, again.ainvoke, told, config)
        return answer

    def invoke(state: dict[str, Any], config: RunnableConfig) -> str:
        return run(checked(BLOCKING, state, config))

    async def ainvoke(state: dict[str, Any], config: RunnableConfig) -> str:
        return await checked(ASYNC, state, config)

    return RunnableLambda(cast("Any", invoke), cast("Any", ainvoke))


def answer_in_quotes(
    prompt: Runnable[Any, PromptValue],
    llm: Runnable[Any, Any],
    unverified: Unverified,
    numbered: Runnable[Any, str],
    failed_quotes: FailedQuotes = "keep",
) -> Runnable[Any, dict[str, Any]]:
    """Return a Runnable that adds ``answer`` and ``quotes`` to a chain's state, statement by statement.

    Args:
        prompt: Makes the prompt from the state, whose ``context`` holds the sources.
        llm: Answers, by structured output if it can, else in JSON that the prompt asks for.
        unverified: What becomes of statements without a verified quote.
        numbered: Answers with numbers if the model writes no statements. One warning says so.
        failed_quotes: With ``retry``, the model is told once which quotes failed, and the answer isn't streamed.
            ``drop`` drops their statements.
    """
    model = _in_schema(llm)
    asking = _Asking(
        ask=prompt | model,
        again=_asked_again(prompt) | model,
        numbered=numbered,
        unverified="drop" if failed_quotes == "drop" else unverified,
        retries=failed_quotes == "retry",
    )
    # It passes the configuration on to functions that take it, which its types don't say.
    return RunnableGenerator(cast("Any", asking.stream), cast("Any", asking.astream))


@dataclass(slots=True)
class _Asking:
    """Ask for statements, for statements again, and for an answer with numbers."""

    ask: Runnable[Any, Any]
    again: Runnable[Any, Any]
    numbered: Runnable[Any, str]
    unverified: Unverified
    retries: bool
    has_warned: bool = False

    def stream(self, chunks: Iterator[dict[str, Any]], config: RunnableConfig) -> Iterator[AddableDict]:
        state = AddableDict()
        for chunk in chunks:
            state += AddableDict(chunk)
            yield AddableDict(chunk)
        turn = _Turn(self, state)
        while turn.step is not None:
            try:
                for output in turn.step.stream(turn.given, config):
                    yield from turn.read(output)
            except Exception as error:
                if not turn.may_go_on(error):
                    raise
            yield from turn.finish()

    async def astream(
        self, chunks: AsyncIterator[dict[str, Any]], config: RunnableConfig
    ) -> AsyncIterator[AddableDict]:
        state = AddableDict()
        async for chunk in chunks:
            state += AddableDict(chunk)
            yield AddableDict(chunk)
        turn = _Turn(self, state)
        while turn.step is not None:
            try:
                async for output in turn.step.astream(turn.given, config):
                    for part in turn.read(output):
                        yield part
            except Exception as error:
                if not turn.may_go_on(error):
                    raise
            for part in turn.finish():
                yield part

    def warn(self, output: object) -> None:
        """Say once that the model answers with numbers."""
        if not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"the model wrote {shown(output)} instead of statements with quotes, so it answers with numbers; take "
                "a model that has structured output, or citations='numbers'",
                SentenceWindowWarning,
                stacklevel=2,
            )


class _Turn:
    """An answer as its steps go on: ``step`` is asked for next, with ``given``, until it is ``None``."""

    def __init__(self, asking: _Asking, state: dict[str, Any]) -> None:
        self._asking, self._state, self._is_held = asking, state, asking.retries
        self.step: Runnable[Any, Any] | None = asking.ask
        self.given: dict[str, Any] = state
        self._first = list[AddableDict]()
        self._begin()

    def _begin(self) -> None:
        self._answer = QuotedAnswer(self._state["context"], self._asking.unverified)
        self._output: object = None
        self._text = ""
        self._parts = list[AddableDict]()

    def read(self, output: object) -> Iterator[AddableDict]:
        """Read what a step has written so far; yield what can be shown."""
        if self.step is self._asking.numbered:
            self._text += str(output)
            yield AddableDict(answer=str(output))
        else:
            self._output = output
            yield from self._shown(self._answer.read(output))

    def may_go_on(self, error: Exception) -> bool:
        """Return whether an error says that the model has no structured output, and nothing is shown yet."""
        is_refusal = getattr(error, "status_code", None) in _REFUSALS
        is_known = is_refusal or isinstance(error, OutputParserException | NotImplementedError)
        return is_known and self.step is not self._asking.numbered and (self._is_held or not self._parts)

    def finish(self) -> Iterator[AddableDict]:
        """End a step; yield what can be shown, and choose the next one."""
        has_statements = isinstance(_get_field(self._output, "statements"), list)
        if self.step is self._asking.numbered:
            self.step = None
            yield AddableDict(answer="", quotes=verify_quotes(self._text, self._state["context"]))
        elif has_statements or (self._parts and not self._is_held):
            yield from self._shown(self._answer.finish(self._output))
            yield from self._ended()
        elif self.step is self._asking.again:
            self.step = None
            yield from self._first
        else:
            self._asking.warn(self._output)
            self.step, self.given = self._asking.numbered, self._state

    def _shown(self, parts: Iterable[AddableDict]) -> Iterator[AddableDict]:
        for part in parts:
            self._parts.append(part)
            if not self._is_held:
                yield part

    def _ended(self) -> Iterator[AddableDict]:
        """Yield an answer that was held back, or ask again if quotes of the first one failed."""
        quotes = [quote for part in self._parts for quote in part.get("quotes", [])]
        failed = [quote.text for quote in quotes if not _sources_of(quote)]
        if self._is_held and failed and self.step is self._asking.ask:
            self.step = self._asking.again
            self.given = {**self._state, _TOLD: (json.dumps(self._output, ensure_ascii=False), failed)}
            self._first = self._parts
            self._begin()
            return
        self.step = None
        if self._is_held:
            yield from self._parts


_TOLD, _ASKED = "_told", "_asked"
_REFUSALS = (400, 404, 415, 422, 501)
"""Codes of HTTP with which a server refuses a schema."""

_COMPLAINT = """\
These quotes of your answer don't stand in the sources that you gave for them:
{}
Write the whole answer again, in the same form and language. Quote only words that are copied from a source, and give
its number. Say in words of your own, without quotation marks, what no source says in these words."""


def _asked_again(prompt: Runnable[Any, PromptValue]) -> Runnable[Any, list[BaseMessage]]:
    """Return a Runnable from a state, with an answer and its quotes that failed, to the messages that ask again."""
    return RunnablePassthrough.assign(**{_ASKED: prompt}) | RunnableLambda(_with_complaint)


def _with_complaint(state: Mapping[str, Any]) -> list[BaseMessage]:
    answer, failed = state[_TOLD]
    said = _COMPLAINT.format("\n".join(f"- {text}" for text in failed))
    return [*state[_ASKED].to_messages(), AIMessage(answer), HumanMessage(said)]


def _in_schema(llm: Runnable[Any, Any]) -> Runnable[Any, Any]:
    if isinstance(llm, BaseChatModel):
        try:
            return llm.with_structured_output(_SCHEMA)
        except NotImplementedError:
            pass
    return RunnableLambda(_ask_for_json) | llm | JsonOutputParser()


def _ask_for_json(prompt: PromptValue | list[BaseMessage]) -> list[BaseMessage]:
    messages = prompt if isinstance(prompt, list) else prompt.to_messages()
    return [*messages, HumanMessage(_AS_JSON)]


def _sources_of(quote: VerifiedQuote) -> tuple[int, ...]:
    """Return the numbers of the sources that hold a quote; of a misattributed one, those that really do."""
    is_there = quote.verdict in ("verbatim", "normalized", "misattributed")
    return tuple(place.number for place in quote.places) if is_there else ()


def _get_field(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _list_or_empty(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []
