"""Checks of an agent's answer: whether it needs a citation, and whether its quotes and claims are in the sources.

Without a judge, an answer needs a citation if it repeats a sentence or a number of a source, or if it follows a search
and contains no negation. So "the documents don't say it" is an answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.messages.content import Citation as CitationBlock
from langchain_core.runnables import Runnable

from langchain_sentence_window._io import IO
from langchain_sentence_window.answering.citations import answer_text, find_citations
from langchain_sentence_window.answering.content_blocks import citation_blocks, with_marks
from langchain_sentence_window.answering.conversation import number_of
from langchain_sentence_window.answering.quoted_answer import failed_quotations
from langchain_sentence_window.answering.quotes.answer_quotes import without_sentences
from langchain_sentence_window.answering.quotes.verification import VerifiedQuote, states_something, verify_quotes

Quotes: TypeAlias = Literal["mark", "drop", "keep"]
"""What happens to quotations that fail, see `SentenceWindowMiddleware`."""

Judge: TypeAlias = Runnable[Any, Any]
"""A `BaseDecisionModel` of `langchain_core.decisions`."""

NOTHING_VERIFIED = "Nothing in the answer could be verified."
"""Replaces an answer whose sentences were all dropped."""

_NEEDS_CITATION = (
    "Does the answer state something that it takes from the sources? No if it says that the sources don't say it, asks "
    "back, or is only polite."
)
_SUPPORTS = "Do the sources with these numbers support the claim, without anything that they don't say?"
_LIKELY = 0.5


async def lacks_citation(
    io: IO, answer: AIMessage, question: str, sources: Sequence[Document], *, has_searched: bool, judge: Judge | None
) -> bool:
    """Return whether an answer states something of its sources and cites none of them.

    Args:
        io: Makes the calls.
        answer: The answer.
        question: The question.
        sources: The sources of the conversation, with their numbers.
        has_searched: Whether some of them were shown since the question.
        judge: Decides; ``None`` to compare words.
    """
    if not sources or find_citations(answer, sources):
        return False
    text = answer_text(answer)
    if judge is None:
        return await io.compute(states_something, text, question, sources, has_searched=has_searched)
    state = {"question": question, "answer": text, "sources": _texts(sources)}
    return (await _judged(io, judge, state, {"cite": _NEEDS_CITATION}))["cite"]


async def check_quotes(
    io: IO, answer: AIMessage, sources: Sequence[Document], quotes: Quotes, judge: Judge | None
) -> tuple[AIMessage, list[CitationBlock]]:
    """Verify the quotations of an answer, and the claims if there is a judge.

    Args:
        io: Makes the calls.
        answer: The answer.
        sources: The sources that it may cite, with their numbers.
        quotes: Whether those that fail are marked or dropped; ``keep`` to verify nothing.
        judge: Checks the claims.

    Returns:
        The answer, which carries its citations if it has any, and the citations with their verdicts.
    """
    if quotes == "keep":
        return answer, citation_blocks(answer, sources)
    text = answer_text(answer)
    verified = await io.compute(verify_quotes, text, sources)
    if judge is not None:
        verified = await _with_support(io, judge, verified, sources)
    failed = [*failed_quotations(verified), *(each for each in verified if each.verdict == "unsupported")]
    # An API that cites by itself counts in the text as it is.
    if any(block.get("annotations") for block in answer.content_blocks):
        failed = []
    if failed and quotes == "drop":
        text = without_sentences(text, [(each.start, each.end) for each in failed]) or NOTHING_VERIFIED
        judged = {(each.text, each.cited): each.verdict for each in verified if each.kind == "claim"}
        left = await io.compute(verify_quotes, text, sources)
        verified = [replace(each, verdict=judged.get((each.text, each.cited), each.verdict)) for each in left]
        blocks = citation_blocks(text, sources, quotes=verified)
    else:
        blocks = citation_blocks(answer, sources, quotes=verified)
        text, blocks = with_marks(text, failed, blocks) if failed else (text, blocks)
    if not blocks and text == answer_text(answer):
        return answer, []
    others = [block for block in answer.content_blocks if block["type"] != "text"]
    checked = answer.model_copy(
        update={
            "content": [*others, {"type": "text", "text": text, "annotations": blocks}],
            "response_metadata": {**answer.response_metadata, "output_version": "v1"},
        }
    )
    return checked, blocks


async def _with_support(
    io: IO, judge: Judge, verified: Sequence[VerifiedQuote], sources: Sequence[Document]
) -> list[VerifiedQuote]:
    """Return the quotes, with a judge's verdict for the claims that aren't quotations."""
    asked = {
        str(at): {"question": _SUPPORTS, "claim": each.text, "numbers": list(each.cited)}
        for at, each in enumerate(verified)
        if each.verdict == "paraphrase"
    }
    if not asked:
        return list(verified)
    cited = {number for each in verified for number in each.cited}
    found = await _judged(io, judge, {"sources": _texts(each for each in sources if number_of(each) in cited)}, asked)
    return [
        replace(each, verdict="supported" if found[str(at)] else "unsupported") if str(at) in found else each
        for at, each in enumerate(verified)
    ]


def _texts(sources: Iterable[Document]) -> dict[str, str]:
    return {str(number_of(source)): source.page_content for source in sources}


async def _judged(io: IO, judge: Judge, state: dict[str, Any], asked: Mapping[str, Any]) -> Mapping[str, bool]:
    """Ask a judge yes-or-no questions; return which answers are likely yes."""
    from langchain_core.decisions import Noul

    questions = {name: Noul(instructions=instructions) for name, instructions in asked.items()}
    response = await io.call(judge.invoke, judge.ainvoke, {"state": state, "questions": questions})
    return {name: answer.noul >= _LIKELY for name, answer in response.nouls.items()}
