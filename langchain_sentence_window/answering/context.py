"""Windows as sources for a prompt: `format_context` as numbered text, `as_search_results` as blocks for Anthropic.

An API cites such blocks by the numbers of the search result and of its text blocks. So a text block for each sentence
makes it cite single sentences.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._primitives import encodable
from langchain_sentence_window.documents.window_documents import read_lead_ins, shown_lead_ins
from langchain_sentence_window.documents.window_runs import source_span

from .citation_format import (
    MergedSpans,
    escape_leading_numbers,
    escape_numbers,
    escape_tags,
    opened_source,
)
from .conversation import numbers_of
from .locations import (
    Stretch,
    also_in,
    describe_location,
    lead_in_stretch,
    offsets_key,
    sentences_of,
    source_address,
    source_name,
    source_title,
    stretch_of,
)

GAP = "\n[...]\n"
"""Marks where text is left out because an earlier source shows it."""


def format_context(documents: Iterable[Document]) -> str:
    """Format documents as numbered sources for a prompt; no text is repeated.

    Args:
        documents: Windows, or any Documents. Text that an earlier Document of the same source shows is left out, if
            both carry ``start_index``. Of the others, equal texts are shown once.

    Returns: One block for each document, between tags that separate it from instructions. ``[n]`` is the n-th document,
    or, in a conversation, the one with that number in its metadata (``citation_number``). A number is missing if
    earlier sources show all of its text. A window's lead-ins are above its text, each on a line, unless an earlier
    source shows them. See `tagged` for what is escaped.

    Raises:
        InvalidInputError: The documents aren't a list of Documents.
    """
    spans: dict[str, MergedSpans] = {}
    led: dict[str, MergedSpans] = {}
    begun: dict[tuple[str, int], str] = {}
    texts: set[str] = set()
    blocks: list[str] = []
    sources = checked_documents(documents)
    for number, document in zip(numbers_of(sources), sources, strict=True):
        span = source_span(document)
        if span:
            # Not by file: the pages of one file are documents of their own, each counted from 0.
            key = offsets_key(document, span[0], begun)
            known = spans.setdefault(key, MergedSpans())
            parts = (document.page_content[start - span[0] : end - span[0]] for start, end in known.add(span))
            text = GAP.join(part.strip() for part in parts if part.strip())
            leads = _new_lead_ins(document, known, led.setdefault(key, MergedSpans())) if text else []
            text = "\n".join([*leads, text])
        else:
            text = "" if document.page_content in texts else document.page_content
            texts.add(document.page_content)
        if text.strip():
            others = also_in(document)
            blocks.append(tagged(number, describe_location(document) + (others and f", also in {others}"), text))
    return "\n\n".join(blocks)


def as_search_results(windows: Iterable[Document]) -> list[dict[str, Any]]:
    r"""Write windows as `search_result` blocks for Anthropic's API, which then cites single sentences by itself.

    Put the blocks into a user message, ``HumanMessage([*as_search_results(windows), question])``, or return them from a
    tool. `find_citations` reads the citations of the answer. Give it the windows of all blocks of a request, in order,
    because the API numbers all blocks.

    OpenAI's APIs don't support such blocks. Chat Completions refuses them. For the Responses API, ``ChatOpenAI``
    silently drops them from a user message, and writes those of a tool as JSON. `format_context` suits any model.

    Args:
        windows: Windows, or any Documents.

    Returns:
        A block for each window that has text, in the same order. ``source`` is the document's address or name,
        ``title`` its title, pages and heading, each on one line. ``content`` has a text block for each sentence, with
        the white space after it: joined, they are the window's text. Before them is a block for each of the window's
        lead-ins, which ends with ``\n[...]\n``. Lone surrogates, which can't be sent, are replaced by ``?``.

    Raises:
        InvalidInputError: The windows aren't a list of Documents.

    Examples:
        >>> as_search_results(windows)  # doctest: +SKIP
        [{"type": "search_result", "source": "policy.md", "title": "policy.md (Annual plans)",
          "content": [{"type": "text", "text": "It is refused once full.\n\n"}], "citations": {"enabled": True}}]
    """
    return [
        {
            "type": "search_result",
            "source": result.source,
            "title": result.title,
            "content": [{"type": "text", "text": text} for text in result.blocks],
            "citations": {"enabled": True},
        }
        for result in search_results(checked_documents(windows))
    ]


def _new_lead_ins(document: Document, known: MergedSpans, led: MergedSpans) -> list[str]:
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

    Anything that looks like ``<source`` or ``</source`` is escaped (``&lt;source``), even with invisible characters,
    other letters or white space in it. Anything that looks like a source's number gets a backslash (``\[2]``): anywhere
    in the label, and at the beginning of a line of the text.

    Args:
        number: The source's number.
        label: One line that says where the source is from.
        text: The source's text.
    """
    # Together, as a tag could begin in the label and end in the text.
    label, _, text = escape_tags(encodable(f"{label}\n{text}")).partition("\n")
    return f"{opened_source(number)}{escape_numbers(label)}\n{escape_leading_numbers(text)}\n</source>"


class ResultBlock:
    """A source as the block that an API is sent.

    Attributes:
        number: The source's number.
        document: The source.
        source: Its address or name.
        title: Its title.
        blocks: The texts of its blocks: the lead-ins, then the sentences.
        lead_ins: Span in the source document and text of each lead-in.
        sentences: Its sentences.
    """

    def __init__(self, number: int, document: Document) -> None:
        """Cut a source into its blocks."""
        self.number, self.document = number, document
        self.source = encodable(source_address(document) or source_name(document))
        self.title = encodable(source_title(document))
        self.lead_ins, self.sentences = read_lead_ins(document), sentences_of(document)
        text = document.page_content
        # Each block goes on to where the next sentence begins, the first one from the beginning of the text.
        edges = [0, *(low for low, _ in self.sentences.spans[1:]), len(text)]
        blocks = [lead_in + GAP for _, lead_in in self.lead_ins] + [text[low:high] for low, high in pairwise(edges)]
        self.blocks = list(map(encodable, blocks))

    def stretches(self, first: int, end: int) -> list[Stretch]:
        """Return the text of some of its blocks: a stretch for each lead-in, and one for all sentences.

        Args:
            first: The first block, from 0.
            end: One past the last block.
        """
        before = len(self.lead_ins)
        found = [lead_in_stretch(self.document, *each) for each in self.lead_ins[first : min(end, before)]]
        if sentences := self.sentences.spans[max(0, first - before) : max(0, end - before)]:
            found.append(stretch_of(self.document, sentences[0][0], sentences[-1][1], self.sentences))
        return found


def search_results(documents: Sequence[Document]) -> list[ResultBlock]:
    """Return the sources that `as_search_results` writes: those with text, in their order, each with its number."""
    sources = zip(numbers_of(documents), documents, strict=True)
    return [ResultBlock(number, document) for number, document in sources if document.page_content.strip()]
