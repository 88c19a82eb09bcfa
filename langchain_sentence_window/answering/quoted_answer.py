"""Answers whose statements quote their sources: asked for as structured output, and verified before they are shown.

A model fabricates a quote as easily as a sentence. Here it says for every statement which words of which source it
rests on. The words are looked up. What isn't there doesn't count as evidence.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig, RunnableGenerator, RunnableLambda
from langchain_core.runnables.utils import AddableDict

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.errors import AnswerFormatError

from .citation_format import source_number, without_citations
from .quotes.verification import VerifiedQuote, verify_quote

Unverified: TypeAlias = Literal["mark", "drop"]
"""How a statement without a verified quote is treated: it is marked with `UNVERIFIED`, or dropped."""

UNVERIFIED = "[unverified]"
"""The mark after a statement for which no quote was verified."""


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _string(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _array(description: str, items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "description": description, "items": items}


_QUOTE = _object(
    source={"type": "integer", "description": "The number of the source."},
    quote=_string("Words of that source, copied exactly: a sentence, or a part of it."),
)
_STATEMENT = _object(
    text=_string("One statement of the answer: a sentence or two, without source numbers."),
    evidence=_array("The quotes that the statement rests on. At least one.", _QUOTE),
)
_SCHEMA: dict[str, Any] = {
    "title": "quoted_answer",
    "description": "An answer in statements, each with the words of the sources that it rests on.",
    **_object(
        statements=_array(
            "The answer, one statement after the other. Empty if the sources don't hold the answer.", _STATEMENT
        ),
        remark=_string("What the sources don't answer, in the language of the question. Empty if nothing."),
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
        yield from self._read(_list(_entry(output, "statements"))[:-1])

    def finish(self, output: object) -> Iterator[AddableDict]:
        """Read the whole output; yield what it adds.

        Raises:
            AnswerFormatError: It isn't in the schema.
        """
        statements, remark = _entry(output, "statements"), _entry(output, "remark")
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
            text = _entry(statement, "text")
            own = without_citations(text).strip() if isinstance(text, str) else ""
            quotes = self._verified(_entry(statement, "evidence"))
            added = self._added(self._cited(own, quotes))
            end = self._length - (len(added.lstrip()) - len(own)) if added else self._length
            start = end - len(own) if added else end
            yield AddableDict(answer=added, quotes=[replace(quote, start=start, end=end) for quote in quotes])

    def _verified(self, evidence: object) -> list[VerifiedQuote]:
        found: list[VerifiedQuote] = []
        for each in _list(evidence):
            source, quote = _entry(each, "source"), _entry(each, "quote")
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


def answer_in_quotes(
    prompt: Runnable[Any, PromptValue], llm: Runnable[Any, Any], unverified: Unverified
) -> Runnable[Any, dict[str, Any]]:
    """Return a Runnable that adds ``answer`` and ``quotes`` to a chain's state, statement by statement.

    Args:
        prompt: Makes the prompt from the state, whose ``context`` holds the sources.
        llm: Answers, by structured output if it can, else in JSON that the prompt asks for.
        unverified: What becomes of statements without a verified quote.
    """
    asked = prompt | _in_schema(llm)

    def stream(chunks: Iterator[dict[str, Any]], config: RunnableConfig) -> Iterator[AddableDict]:
        state = AddableDict()
        for chunk in chunks:
            state += AddableDict(chunk)
            yield AddableDict(chunk)
        answer, output = QuotedAnswer(state["context"], unverified), None
        for output in asked.stream(state, config):
            yield from answer.read(output)
        yield from answer.finish(output)

    async def astream(chunks: AsyncIterator[dict[str, Any]], config: RunnableConfig) -> AsyncIterator[AddableDict]:
        state = AddableDict()
        async for chunk in chunks:
            state += AddableDict(chunk)
            yield AddableDict(chunk)
        answer, output = QuotedAnswer(state["context"], unverified), None
        async for output in asked.astream(state, config):
            for part in answer.read(output):
                yield part
        for part in answer.finish(output):
            yield part

    # It passes the configuration on to functions that take it, which its types don't say.
    return RunnableGenerator(cast("Any", stream), cast("Any", astream))


def _in_schema(llm: Runnable[Any, Any]) -> Runnable[PromptValue, Any]:
    if isinstance(llm, BaseChatModel):
        try:
            return llm.with_structured_output(_SCHEMA)
        except NotImplementedError:
            pass
    return RunnableLambda(_ask_for_json) | llm | JsonOutputParser()


def _ask_for_json(prompt: PromptValue) -> list[BaseMessage]:
    return [*prompt.to_messages(), HumanMessage(_AS_JSON)]


def _sources_of(quote: VerifiedQuote) -> tuple[int, ...]:
    """Return the numbers of the sources that hold a quote; of a misattributed one, those that really do."""
    is_there = quote.verdict in ("verbatim", "normalized", "misattributed")
    return tuple(place.number for place in quote.places) if is_there else ()


def _entry(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []
