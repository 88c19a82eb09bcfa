"""`as_search_results`: windows as `search_result` blocks, one text block a sentence, for Anthropic's own citations.

An API that cites such a block names the search result and the text blocks, by number. So a text block for each sentence
makes it cite single sentences. `search_results` tells which blocks there are, for those who write them and for those
who read citations of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._arguments import checked_documents
from langchain_sentence_window._text import encodable
from langchain_sentence_window._types import Span
from langchain_sentence_window.answering.context import GAP
from langchain_sentence_window.answering.source_names import source_address, source_name, source_title
from langchain_sentence_window.answering.source_stretches import (
    SourceSentences,
    Stretch,
    lead_in_stretch,
    sentences_of,
    stretch_of,
)
from langchain_sentence_window.documents.lead_ins import read_lead_ins


def as_search_results(windows: Iterable[Document]) -> list[dict[str, Any]]:
    r"""Write windows as `search_result` blocks for Anthropic's API, which then cites single sentences by itself.

    The blocks can stand in a user message, ``HumanMessage([*as_search_results(windows), question])``, or be what a tool
    returns. `find_citations` reads the citations of the answer. Give it the windows of all blocks of a request, in
    their order, as the API counts them through.

    OpenAI's APIs know no such blocks. Chat Completions refuses them. For the Responses API ``ChatOpenAI`` leaves them
    out of a user message without a word, and writes those of a tool as JSON. `format_context` suits any model.

    Args:
        windows: Windows, or any Documents.

    Returns:
        A block for each window that has text, in the same order::

            {"type": "search_result", "source": "policy.md", "title": "policy.md (Annual plans)",
             "content": [{"type": "text", "text": "It is refused once full.\n\n"}], "citations": {"enabled": True}}

        ``source`` is the document's address or name, ``title`` its title, pages and heading, each on one line.
        ``content`` has a text block for each sentence, with the white space after it: joined they are the window's
        text. Before them stands a block for each of the window's lead-ins, which ends with ``\n[...]\n``. Lone
        surrogates, which can't be sent, are replaced by ``?``.

    Raises:
        InvalidInputError: The windows aren't a list of Documents.
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


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A source as the block that an API is sent.

    Attributes:
        number: The source's number, from 1.
        document: The source.
        source: Its address or name.
        title: Its title.
        blocks: The texts of its blocks: the lead-ins, then the sentences.
        lead_ins: Span in the source document and text of each lead-in.
        sentences: Its sentences.
    """

    number: int
    document: Document
    source: str
    title: str
    blocks: Sequence[str]
    lead_ins: Sequence[tuple[Span, str]]
    sentences: SourceSentences

    def stretches(self, first: int, end: int) -> list[Stretch]:
        """Return what stands in some of its blocks: a stretch for each lead-in, and one for all sentences.

        Args:
            first: The first block, from 0.
            end: One past the last block.
        """
        before = len(self.lead_ins)
        found = [lead_in_stretch(self.document, *each) for each in self.lead_ins[first : min(end, before)]]
        if sentences := self.sentences.spans[max(0, first - before) : max(0, end - before)]:
            found.append(stretch_of(self.document, sentences[0][0], sentences[-1][1], self.sentences))
        return found


def search_results(documents: Sequence[Document]) -> list[SearchResult]:
    """Return the sources that `as_search_results` writes: those with text, in their order."""
    return [
        _search_result(number, document)
        for number, document in enumerate(documents, 1)
        if document.page_content.strip()
    ]


def _search_result(number: int, document: Document) -> SearchResult:
    text, sentences, lead_ins = document.page_content, sentences_of(document), read_lead_ins(document)
    # Each block goes on to where the next sentence begins, the first one from the beginning of the text.
    edges = [0, *(low for low, _ in sentences.spans[1:]), len(text)]
    blocks = [lead_in + GAP for _, lead_in in lead_ins] + [text[low:high] for low, high in pairwise(edges)]
    return SearchResult(
        number,
        document,
        encodable(source_address(document) or source_name(document)),
        encodable(source_title(document)),
        list(map(encodable, blocks)),
        lead_ins,
        sentences,
    )
