"""An answer whose statements quote their sources: asked for as structured output, and verified before it is shown.

A model fabricates a quote as easily as a sentence. Here it says for every statement which words of which source it
rests on. Words that aren't there don't count as evidence.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from langchain_core.documents import Document
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableLambda
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

HOW_TO_QUOTE = (
    "Answer in statements. Give for each statement the words of the sources that it rests on, copied character by "
    "character, with the number of the source."
)
"""The line of a prompt that asks for quotes."""


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


def in_schema(llm: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """Return a model that writes statements: by structured output if it has that, else as JSON."""
    if isinstance(llm, BaseChatModel):
        try:
            return llm.with_structured_output(_SCHEMA)
        except NotImplementedError:
            pass
    return RunnableLambda(_ask_for_json) | llm | JsonOutputParser()


def _ask_for_json(prompt: PromptValue | list[BaseMessage]) -> list[BaseMessage]:
    messages = prompt if isinstance(prompt, list) else prompt.to_messages()
    return [*messages, HumanMessage(_AS_JSON)]


_REFUSALS = (400, 404, 415, 422, 501)
"""HTTP status codes with which a server refuses a schema."""


def refuses_schema(error: Exception) -> bool:
    """Return whether an error says that a model has no structured output."""
    has_refused = getattr(error, "status_code", None) in _REFUSALS
    return has_refused or isinstance(error, OutputParserException | NotImplementedError)


@dataclass(slots=True)
class QuotedAnswer:
    """An answer that is put together as its statements arrive.

    Attributes:
        sources: The sources.
        unverified: How statements without a verified quote are treated.
        output: The model's latest output.
        is_begun: Whether a part of the answer has been yielded.
    """

    sources: Sequence[Document]
    unverified: Unverified
    output: object = None
    is_begun: bool = False
    _statements: int = field(default=0, init=False)
    _length: int = field(default=0, init=False)

    def read(self, output: object) -> Iterator[AddableDict]:
        """Read the output so far, of which the last statement may still grow; yield the new statements."""
        self.output = output
        statements = _field(output, "statements")
        yield from self._read(statements[:-1] if isinstance(statements, list) else [])

    def finish(self) -> Iterator[AddableDict]:
        """Yield the rest of the answer.

        Raises:
            AnswerFormatError: The output isn't in the schema.
        """
        statements, remark = _field(self.output, "statements"), _field(self.output, "remark")
        if not isinstance(statements, list):
            raise AnswerFormatError(
                f"the model wrote {shown(self.output)} instead of statements with quotes; ask again, or take a model "
                "that has structured output"
            )
        yield from self._read(statements)
        # A remark quotes nothing, so it cites nothing.
        rest = without_citations(remark).strip() if isinstance(remark, str) else ""
        yield AddableDict(answer=self._appended(rest), quotes=[])

    def _read(self, statements: Sequence[object]) -> Iterator[AddableDict]:
        for statement in statements[self._statements :]:
            self._statements += 1
            self.is_begun = True
            text = _field(statement, "text")
            own = without_citations(text).strip() if isinstance(text, str) else ""
            quotes = self._verified(_field(statement, "evidence"))
            added = self._appended(self._cited(own, quotes))
            start = end = self._length
            if added:
                start -= len(added.lstrip())
                end = start + len(own)
            yield AddableDict(answer=added, quotes=[replace(quote, start=start, end=end) for quote in quotes])

    def _verified(self, evidence: object) -> list[VerifiedQuote]:
        quotes: list[VerifiedQuote] = []
        for each in evidence if isinstance(evidence, list) else []:
            number, quote = as_integer(_field(each, "source")) or 0, _field(each, "quote")
            if isinstance(quote, str) and any(map(str.isalnum, quote)):
                cited = [number] if 1 <= number <= len(self.sources) else []
                quotes.append(verify_quote(quote, self.sources, cited))
        return quotes

    def _cited(self, text: str, quotes: Sequence[VerifiedQuote]) -> str:
        """Return a statement with the numbers of the sources that hold its quotes, else marked or empty."""
        if not text:
            return ""
        if numbers := dict.fromkeys(number for quote in quotes for number in supporting_sources(quote)):
            return f"{text} {''.join(map(source_number, numbers))}"
        return f"{text} {UNVERIFIED}" if self.unverified == "mark" else ""

    def _appended(self, text: str) -> str:
        added = f" {text}" if text and self._length else text
        self._length += len(added)
        return added


def _field(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def supporting_sources(quote: VerifiedQuote) -> tuple[int, ...]:
    """Return the numbers of the sources that hold a quote, even if it cites another source."""
    is_there = quote.verdict in ("verbatim", "normalized", "misattributed")
    return tuple(place.number for place in quote.places) if is_there else ()


def quotes_as_cited(quotes: Iterable[VerifiedQuote]) -> list[VerifiedQuote]:
    """Return the quotes that a source holds, each citing the sources that hold it."""
    return [replace(quote, cited=numbers) for quote in quotes if (numbers := supporting_sources(quote))]


def failed_quotations(quotes: Iterable[VerifiedQuote]) -> list[VerifiedQuote]:
    """Return the quotations that aren't in the sources that they cite."""
    return [each for each in quotes if each.kind == "quotation" and each.verdict not in ("verbatim", "normalized")]
