"""Results as text: windows with their hits marked, numbered sentences, and answers with their citations."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from rich.text import Text

from langchain_sentence_window import SentenceWindowRetriever, create_rag_chain, describe_location, verify_quotes
from langchain_sentence_window.citations import Citation, VerifiedQuote, doubt_about
from langchain_sentence_window.errors import MissingExtraError
from sentence_window.cli.opened_index import nothing_found, written
from sentence_window.cli.output import MARKED, STRONG, WEAK, Output, counted, one_line, printable

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


_INDENT = 4


def show_windows(out: Output, windows: Sequence[Document]) -> None:
    """Write windows, numbered from 1; above them, that they may not answer the question, if they are unlikely to."""
    if doubt := doubt_about(windows):
        out.line(doubt)
        out.line()
    for number, window in enumerate(windows, 1):
        if number > 1:
            out.line()
        out.line(_heading(window, number))
        for lead_in in window.metadata.get("lead_ins", []):
            out.line(Text(f"{one_line(lead_in['text'])} …", style=WEAK), indent=_INDENT)
        out.line(_marked(out, window), indent=_INDENT)
        if others := window.metadata.get("also_in"):
            out.line(Text(f"the same text is in {counted(len(others), 'other place')}", style=WEAK), indent=_INDENT)


def as_dict(number: int, window: Document) -> dict[str, Any]:
    """Return a window for JSON."""
    return {
        "number": number,
        "location": describe_location(window),
        "text": window.page_content,
        "metadata": dict(window.metadata),
    }


def sentences_of(document: Document) -> list[dict[str, Any]]:
    """Return the sentences of a whole document in order, with their numbers and spans."""
    first, begin = document.metadata["sentences"][0], document.metadata["start_index"]
    return [
        {"number": number, "start": start, "end": end, "text": document.page_content[start - begin : end - begin]}
        for number, (start, end) in enumerate(document.metadata["sentence_spans"], first)
    ]


def show_sentences(out: Output, sentences: Sequence[Mapping[str, Any]]) -> None:
    """Write sentences, each with its number."""
    width = len(str(sentences[-1]["number"]))
    for each in sentences:
        first, *others = printable(each["text"]).split("\n")
        out.line(Text.assemble((f"{each['number']:>{width}}", WEAK), "  ", first))
        for line in others:
            out.line(line, indent=width + 2)


def _marked(out: Output, window: Document) -> Text:
    """Return a window's text with its hits in bold and underlined, or between « and » where there is no style."""
    marked, end, text = Text(), 0, window.page_content
    start = window.metadata["start_index"]
    for each in window.metadata["hits"]:
        left, right = each["start_index"] - start, each["end_index"] - start
        marked.append(printable(text[end:left]))
        hit = printable(text[left:right])
        marked.append(hit if out.is_styled else f"«{hit}»", style=MARKED)
        end = right
    return marked.append(printable(text[end:]))


def _heading(window: Document, number: int) -> Text:
    """Return the line above a window: its number, location, sentences and score."""
    heading = Text.assemble((f"{number:<2}  {written(describe_location(window))}", STRONG))
    first, last = window.metadata["sentences"]
    heading.append(f" · sentence {first}" if first == last else f" · sentences {first}–{last}", style=WEAK)
    score = window.metadata.get("relevance_score", window.metadata.get("score"))
    if score is not None:
        heading.append(f" · score {score:.2f}", style=WEAK)
    return heading


def answer(
    out: Output, retriever: SentenceWindowRetriever, model: str, question: str, settings: Mapping[str, Any]
) -> None:
    """Answer a question, and write the answer as it arrives.

    Args:
        out: Receives the answer, its citations, and the verdicts on its quotations.
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
    if doubt := doubt_about(windows):
        out.line()
        out.line(doubt)
    _show_citations(out, citations)
    _show_verdicts(out, quotes)
    out.document(
        {
            "question": question,
            "answer": text,
            "citations": citations,
            "quotes": quotes,
            "windows": [as_dict(number, each) for number, each in enumerate(windows, 1)],
        }
    )
    if not windows:
        out.end_without(nothing_found(retriever, "Nothing was found, so the answer has no sources."))
    out.note(f"{counted(len(windows), 'source')}, {out.elapsed()}")


def chat_model(name: str) -> "BaseChatModel":
    """Make a chat model by its name.

    Raises:
        MissingExtraError: LangChain isn't installed.
    """
    try:
        from langchain.chat_models import init_chat_model
    except ModuleNotFoundError as error:
        raise MissingExtraError("langchain", "openai") from error
    model: BaseChatModel = init_chat_model(name)
    return model


def _show_citations(out: Output, citations: Sequence[Citation]) -> None:
    if citations:
        out.line()
    for number, location in dict.fromkeys((each.number, each.location) for each in citations):
        out.line(Text.assemble((f"[{number}]", STRONG), f" {written(location)}"))


def _show_verdicts(out: Output, quotes: Sequence[VerifiedQuote]) -> None:
    quotations = [quote for quote in quotes if quote.kind == "quotation"]
    if quotations:
        out.line()
    for quote in quotations:
        verdict = quote.verdict.replace("_", " ")
        out.line(Text.assemble((f"{verdict}:", STRONG), f" {one_line(quote.text)}"))
        for place in dict.fromkeys(place.location for place in quote.places):
            out.line(Text(written(place), style=WEAK), indent=_INDENT)
