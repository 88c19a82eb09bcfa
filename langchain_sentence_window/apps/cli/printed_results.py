"""Results as text for a terminal: windows with their hits marked, traces, and answers with their citations."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from rich.text import Text

from langchain_sentence_window._display import milliseconds, named, ranked, shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window.answering.chain import create_rag_chain
from langchain_sentence_window.answering.citations import Citation
from langchain_sentence_window.answering.locations import describe_location, doubt_about
from langchain_sentence_window.answering.quotes.verification import QuotedPlace, VerifiedQuote, verify_quotes
from langchain_sentence_window.documents import keys
from langchain_sentence_window.documents.window_documents import brief_values
from langchain_sentence_window.documents.window_runs import sentence_numbers, source_span
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.tracing.trace import (
    SentenceTrace,
    Trace,
    WindowTrace,
    cut_by,
    largest_signals,
    name_line,
)

from .opened_index import nearer, nothing_found, written
from .output import MARKED, STRONG, WEAK, Output, counted, one_line, printable, shortened

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


INDENT = 4
_OPEN, _CLOSE = "«", "»"


def show_windows(out: Output, windows: Sequence[Document]) -> None:
    """Write windows, numbered from 1, below a doubt whether they answer, if there is one."""
    if doubt := doubt_about(windows):
        out.line(doubt)
        out.line()
    for number, window in enumerate(windows, 1):
        if number > 1:
            out.line()
        out.line(_place(window, number))
        for lead_in in window.metadata.get(keys.LEAD_INS, []):
            out.line(Text(f"{one_line(lead_in[keys.TEXT])} …", style=WEAK), indent=INDENT)
        out.line(marked(out, window), indent=INDENT)
        others = window.metadata.get(keys.ALSO_IN, [])
        if others:
            places = counted(len(others), "other place")
            out.line(Text(f"the same text stands in {places}", style=WEAK), indent=INDENT)


def as_dict(number: int, window: Document) -> dict[str, Any]:
    """Return a window for JSON."""
    return {
        "number": number,
        "location": describe_location(window),
        "text": window.page_content,
        "metadata": dict(window.metadata),
    }


def marked(out: Output, window: Document) -> Text:
    """Return a window's text, its hits in bold and underlined, or between « and » where there is no style."""
    made, end = Text(), 0
    text = window.page_content
    for left, right in _hits(window):
        made.append(printable(text[end:left]))
        hit = printable(text[left:right])
        made.append(hit if out.is_styled else f"{_OPEN}{hit}{_CLOSE}", style=MARKED)
        end = right
    return made.append(printable(text[end:]))


def _hits(window: Document) -> list[tuple[int, int]]:
    """Return the spans of a window's hits in its text, in order and disjoint."""
    own = source_span(window)
    if own is None:
        return []
    spans = sorted(
        (hit[keys.START_INDEX] - own[0], hit[keys.END_INDEX] - own[0]) for hit in window.metadata.get(keys.HITS, [])
    )
    found: list[tuple[int, int]] = []
    for left, right in spans:
        if (found[-1][1] if found else 0) <= left < right <= len(window.page_content):
            found.append((left, right))
    return found


def _place(window: Document, number: int) -> Text:
    made = Text.assemble((f"{number:<2}", STRONG), "  ", (printable(nearer(describe_location(window))), STRONG))
    numbers = sentence_numbers(window)
    if numbers is not None:
        first, last = numbers
        made.append(f" · sentence {first}" if first == last else f" · sentences {first}–{last}", style=WEAK)
    for said in brief_values(window):
        made.append(f" · {printable(said)}", style=WEAK)
    return made


_LINE = 120
"""The columns of a sentence where there is no terminal."""

_MAX_SIGNALS = 4


def show_trace(out: Output, trace: Trace) -> None:
    """Write a trace."""
    out.line(Text(one_line(trace.query), style=STRONG))
    out.line(Text(one_line(named(trace.settings)), style=WEAK))
    for each in trace.named:
        out.line(name_line(replace(each, doc_id=written(each.doc_id)), trace))
    if trace.relevance:
        out.line(f"relevance: {', '.join(f'{name} {value:.3g}' for name, value in trace.relevance.items())}")
    out.line()
    out.line(Text("Windows", style=STRONG))
    for window in trace.windows:
        _show(out, window.number, _window(window), window.outcome, window.text)
    out.line()
    out.line(Text("Hits", style=STRONG))
    for hit in trace.hits:
        _show(out, hit.rank, _hit(hit), hit.outcome, hit.text)
    out.line()
    out.line(Text(milliseconds(trace.seconds), style=WEAK))


def _show(out: Output, number: int, facts: str, outcome: str, text: str) -> None:
    out.line(Text.assemble((f"{number:>3}", STRONG), " ", one_line(facts), " · ", (one_line(outcome), STRONG)))
    columns = out.columns or _LINE
    out.line(Text(shortened(one_line(text), columns - INDENT), style=WEAK), indent=INDENT)


def _window(window: WindowTrace) -> str:
    first, last = window.sentences
    score = "" if window.relevance_score is None else f" ({window.relevance_score:.3f})"
    facts = [
        f"{written(window.doc_id)} {first if first == last else f'{first}–{last}'}",
        f"score {window.score:.2f}",
        f"hits {', '.join(map(str, window.hits))}",
        "" if window.reranked is None else f"reranked {window.reranked}{score}",
        cut_by(window.ends),
    ]
    return " · ".join(filter(None, facts))


def _hit(hit: SentenceTrace) -> str:
    facts = [
        f"{written(hit.doc_id)} {hit.index}",
        f"score {hit.score:.2f}",
        f"by meaning {ranked(hit.dense_rank, hit.dense_score, 3)}",
        f"by words {ranked(hit.lexical_rank, hit.lexical_score, 1)}",
        largest_signals(hit.signals, _MAX_SIGNALS),
    ]
    return " · ".join(filter(None, facts))


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
    if doubt := doubt_about(windows):
        out.line()
        out.line(doubt)
    _show_citations(out, citations)
    _show_verdicts(out, quotes)
    out.document(
        {
            "question": question,
            "answer": text,
            # Without its source, which is among the windows.
            "citations": [_fields(each, "document") for each in citations],
            "quotes": [_quote(each) for each in quotes],
            "windows": [as_dict(number, each) for number, each in enumerate(windows, 1)],
        }
    )
    if not windows:
        out.end_without(nothing_found(retriever, "Nothing was found, so the answer rests on nothing."))
    out.note(f"{counted(len(windows), 'source')}, {out.elapsed()}")


def chat_model(name: str) -> "BaseChatModel":
    """Make a chat model by its name.

    Raises:
        MissingExtraError: LangChain isn't installed.
        SentenceWindowError: The provider can't make it.
    """
    library = of_extra("langchain.chat_models", "langchain", "agents")
    try:
        model: BaseChatModel = library.init_chat_model(name)
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
            out.line(Text(one_line(nearer(place)), style=WEAK), indent=INDENT)


def _quote(quote: VerifiedQuote) -> dict[str, Any]:
    places = [_fields(place, "document") for place in quote.places]
    closest = quote.closest and _fields(quote.closest, "document")
    return _fields(quote, "places") | {"places": places, "closest": closest}


def _fields(record: Citation | VerifiedQuote | QuotedPlace, but: str) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name != but}
