"""`format_context`: windows as numbered sources for a prompt."""

from collections.abc import Iterable

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._text import encodable
from langchain_sentence_window.answering.citation_format import source_number
from langchain_sentence_window.answering.escaping import escape_leading_numbers, escape_numbers, escape_tags
from langchain_sentence_window.answering.locations import describe_location, text_key
from langchain_sentence_window.answering.shown_spans import ShownSpans
from langchain_sentence_window.documents.lead_ins import shown_lead_ins
from langchain_sentence_window.documents.window_slices import source_span

GAP = "\n[...]\n"
"""Marks where text is left out because an earlier source shows it."""


def format_context(documents: Iterable[Document]) -> str:
    """Format documents as numbered sources for a prompt; no text is repeated.

    Args:
        documents: Windows, or any Documents. Text that an earlier Document of the same source shows is left out, if
            both carry ``start_index``. Of the others, equal texts are shown once.

    Returns:
        One block for each document, between tags that separate it from instructions. ``[n]`` is the n-th document.
        A number is missing if earlier sources show all of its text. A window's lead-ins stand above its text, each on
        a line, unless an earlier source shows them. See `tagged` for what is escaped.

    Raises:
        InvalidInputError: The documents aren't a list of Documents.
    """
    spans: dict[str, ShownSpans] = {}
    led: dict[str, ShownSpans] = {}
    begun: dict[tuple[str, int], str] = {}
    texts: set[str] = set()
    blocks: list[str] = []
    for number, document in enumerate(checked_documents(documents), 1):
        span = source_span(document)
        if span:
            # Not by file: the pages of one file are documents of their own, each counted from 0.
            key = text_key(document, span[0], begun)
            known = spans.setdefault(key, ShownSpans())
            parts = (document.page_content[start - span[0] : end - span[0]] for start, end in known.add(span))
            text = GAP.join(part.strip() for part in parts if part.strip())
            leads = _new_lead_ins(document, known, led.setdefault(key, ShownSpans())) if text else []
            text = "\n".join([*leads, text])
        else:
            text = "" if document.page_content in texts else document.page_content
            texts.add(document.page_content)
        if text.strip():
            blocks.append(tagged(number, describe_location(document), text))
    return "\n\n".join(blocks)


def _new_lead_ins(document: Document, known: ShownSpans, led: ShownSpans) -> list[str]:
    """Return the lead-ins that aren't shown yet, each on one line.

    They don't count as shown text, as a later source of that text would lack its own beginning.
    """
    lines: list[str] = []
    for span, text in shown_lead_ins(document):
        if not known.holds(span) and not led.holds(span):
            led.add(span)
            lines.append(text)
    return lines


def tagged(number: int, label: str, text: str) -> str:
    r"""Put a source between tags that its own text can't open, close or imitate.

    Whatever looks like ``<source`` or ``</source`` is escaped (``&lt;source``), even with unseen characters, other
    letters or white space in it. Whatever looks like a source's number gets a backslash (``\[2]``): anywhere in the
    label, and at the beginning of a line of the text.

    Args:
        number: The source's number.
        label: One line that says where the source is from.
        text: The source's text.
    """
    # Together, as a tag could begin in the label and end in the text.
    label, _, text = escape_tags(encodable(f"{label}\n{text}")).partition("\n")
    return f"<source>\n{source_number(number)} {escape_numbers(label)}\n{escape_leading_numbers(text)}\n</source>"
