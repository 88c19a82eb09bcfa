"""The parts of a document that a store holds, read back from its sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window.documents.layout import Continuation
from langchain_sentence_window.documents.parts.joined_document import shared_metadata
from langchain_sentence_window.documents.parts.joining import BLANK_LINE
from langchain_sentence_window.documents.parts.numbering import PART, Part, part_of
from langchain_sentence_window.documents.parts.spans import PartSpan, read_spans
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.splitting.blocks import MAX_LEVEL, PROSE, Block

_Name: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(slots=True)
class _Known:
    """A part, as far as sentences tell of it.

    Attributes:
        start: Where its text begins in its own text.
        metadata: The metadata of the first sentence that begins in it.
        texts: Its text in pieces.
        length: The length of its text.
        blocks: Its blocks.
        continues: How its first block begins.
    """

    start: int
    metadata: dict[str, Any] | None = None
    texts: list[str] = field(default_factory=list)
    length: int = 0
    blocks: list[Block] = field(default_factory=list)
    continues: Continuation = ""

    def add(self, text: str, separator: str, block: Block, *, begins: bool) -> None:
        """Add a stretch of text after some white space; it begins a block, or goes on in the last one."""
        if not self.texts:
            separator = ""
        self.texts += [separator, text]
        start = self.length + len(separator)
        self.length = start + len(text)
        if begins or not self.blocks:
            self.blocks.append(Block(start, self.length, block.kind, block.level))
        else:
            last = self.blocks[-1]
            self.blocks[-1] = Block(last.start, self.length, last.kind, last.level)


def stored_parts(sentences: Sequence[StoredSentence], *, with_blocks: bool, key: str | None = None) -> list[Part]:
    """Return the parts of a document.

    Args:
        sentences: All of its sentences, in order.
        with_blocks: Whether to return what kinds of blocks they were.
        key: A key of the user's own that numbers the parts.

    Returns:
        The parts, in order. A document without parts is a chunk that begins where its source does; one whose parts
        aren't numbered has none.

    Raises:
        ValueError: A sentence's metadata can't be right.
    """
    if sentences and not any(sentence.part_spans for sentence in sentences):
        return [_whole(sentences)]
    known: dict[_Name, _Known] = {}
    before: StoredSentence | None = None
    at: _Name | None = None
    for sentence in sentences:
        begins = before is None or _begins(before, sentence)
        separator = before.separator if before else ""
        end = sentence.start
        for number, span in enumerate(_spans(sentence)):
            name = tuple(span.identity.items())
            if any(key == PART for key, _ in name):
                return []
            between = sentence.text[end - sentence.start : span.source_start - sentence.start]
            part = known.setdefault(name, _Known(span.start))
            if number == 0 and part.metadata is None:
                part.metadata = dict(sentence.source)
            if number and not part.texts:
                part.continues = "+" if between else "~"
            end = span.source_end
            part.add(
                sentence.text[span.source_start - sentence.start : end - sentence.start],
                (between if number else separator) if name == at else "",
                _block(sentence),
                begins=(begins and not number) or name != at,
            )
            at = name
        before = sentence
    shared = shared_metadata([sentence.source for sentence in sentences]) if sentences else {}
    return [_as_part(name, part, shared, key, with_blocks=with_blocks) for name, part in known.items()]


def _whole(sentences: Sequence[StoredSentence]) -> Part:
    """Return a document without parts as a chunk that begins where its source does."""
    texts = [text for sentence in sentences for text in (sentence.text, sentence.separator)]
    document = Document(page_content="".join(texts[:-1]), metadata=dict(sentences[0].source))
    return Part(document, {}, start=sentences[0].start, offset=sentences[0].start)


def _as_part(name: _Name, known: _Known, shared: dict[str, Any], key: str | None, *, with_blocks: bool) -> Part:
    identity = dict(name)
    metadata = {**(shared if known.metadata is None else known.metadata), **identity}
    read = part_of(Document(page_content="", metadata=metadata), key)
    return Part(
        Document(page_content="".join(known.texts), metadata=metadata),
        identity,
        page=read.page,
        row=read.row,
        start=None if identity else known.start,
        offset=known.start,
        order=read.order,
        is_element=read.is_element,
        blocks=tuple(known.blocks) if with_blocks else None,
        continues=known.continues if with_blocks else "",
    )


def _spans(sentence: StoredSentence) -> list[PartSpan]:
    """Return where a sentence stands in parts."""
    if not sentence.part_spans:
        return []
    return read_spans(sentence.part_spans, sentence.source, sentence.text, sentence.start)


def _begins(before: StoredSentence, sentence: StoredSentence) -> bool:
    """Return whether a sentence begins a block."""
    if sentence.kind != before.kind:
        return True
    return (BLANK_LINE if sentence.kind == PROSE else "\n") in before.separator


def _block(sentence: StoredSentence) -> Block:
    return Block(0, 1, sentence.kind, min(sentence.level, MAX_LEVEL))
