"""Answer a question with a chat model, and say what the answer cites and whether its quotations are right."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import typer
from langchain_core.documents import Document
from rich.text import Text

from langchain_sentence_window._showing import shown
from langchain_sentence_window.answering.chain import create_rag_chain
from langchain_sentence_window.answering.citations import Citation
from langchain_sentence_window.answering.quotes.verification import QuotedPlace, VerifiedQuote, verify_quotes
from langchain_sentence_window.cli.exit_codes import NOTHING
from langchain_sentence_window.cli.names import nearer
from langchain_sentence_window.cli.opening import nothing_told
from langchain_sentence_window.cli.output import STRONG, WEAK, Output, counted
from langchain_sentence_window.cli.plain_text import one_line
from langchain_sentence_window.cli.windows import as_dict
from langchain_sentence_window.errors import MissingExtraError, SentenceWindowError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_INDENT = 4


def answer(
    out: Output, retriever: SentenceWindowRetriever, model: str, question: str, settings: Mapping[str, Any]
) -> None:
    """Answer a question, writing the answer as it comes.

    Args:
        out: Takes the answer, what it cites, and the verdicts of its quotations.
        retriever: Finds the sources.
        model: The name of the chat model for LangChain's ``init_chat_model``.
        question: The question.
        settings: The settings of the search.

    Raises:
        MissingExtraError: LangChain isn't installed.
        Exit: Nothing was found to answer from.
    """
    chain = create_rag_chain(retriever.bind(**settings), chat_model(model))
    text, windows, citations = "", list[Document](), list[Citation]()
    for part in chain.stream(question):
        windows = part.get("context", windows)
        citations = part.get("citations", citations)
        out.piece(part.get("answer", ""))
        text += part.get("answer", "")
    out.piece("\n")
    quotes = verify_quotes(text, windows)
    _show_citations(out, citations)
    _show_verdicts(out, quotes)
    out.document(
        {
            "question": question,
            "answer": text,
            "citations": [_citation(each) for each in citations],
            "quotes": [_quote(each) for each in quotes],
            "windows": [as_dict(number, each) for number, each in enumerate(windows, 1)],
        }
    )
    if not windows:
        out.complain(nothing_told(retriever, "Nothing was found, so the answer rests on nothing."))
        raise typer.Exit(NOTHING)
    out.note(f"{counted(len(windows), 'source')}, {out.elapsed()}")


def chat_model(name: str) -> "BaseChatModel":
    """Make a chat model by its name.

    Raises:
        MissingExtraError: LangChain isn't installed.
        SentenceWindowError: The provider can't make it.
    """
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise MissingExtraError("langchain", "agents") from error
    try:
        model: BaseChatModel = init_chat_model(name)
    except ImportError:
        raise
    except Exception as error:  # a provider may raise anything
        raise SentenceWindowError(
            f"--model is {shown(name)}, which can't be made: {error}; give a provider and its model, such as "
            "openai:gpt-5-mini, and set what the provider asks for"
        ) from error
    return model


def _show_citations(out: Output, citations: Sequence[Citation]) -> None:
    if citations:
        out.line()
    for number, location in dict.fromkeys((each.number, each.location) for each in citations):
        out.line(Text.assemble((f"[{number}]", STRONG), f" {one_line(nearer(location))}"))


def _show_verdicts(out: Output, quotes: Sequence[VerifiedQuote]) -> None:
    quotations = [quote for quote in quotes if quote.kind == "quotation"]
    if quotations:
        out.line()
    for quote in quotations:
        verdict = quote.verdict.replace("_", " ")
        out.line(Text.assemble((f"{verdict}:", STRONG), f" {one_line(quote.text)}"))
        for place in dict.fromkeys(place.location for place in quote.places):
            out.line(Text(one_line(nearer(place)), style=WEAK), indent=_INDENT)


def _citation(citation: Citation) -> dict[str, Any]:
    """Return a citation for JSON, without its source, which is among the windows."""
    return _fields(citation, "document")


def _quote(quote: VerifiedQuote) -> dict[str, Any]:
    return _fields(quote, "places") | {"places": [_fields(place, "document") for place in quote.places]}


def _fields(record: Citation | VerifiedQuote | QuotedPlace, but: str) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name != but}
